/* backend/gpu/print_stmt.c — statements of a nest in a device's language, lanes in lockstep. */
#include "backend/gpu/print.h"

#include <string.h>

static bool list(hn_gp *c, hn_st first);

static bool refuse(hn_gp *c, const char *why) {
    if (!c->why) c->why = why;
    return false;
}

/* Calls write for every combination of the lanes in mask. */
static void for_lanes(hn_gp *c, uint32_t mask, int k, const hn_stmt *s, void (*write)(hn_gp *, const hn_stmt *)) {
    if (k == c->n_lane) {
        write(c, s);
        return;
    }
    hn_gpu_lane *l = &c->lane[k];
    int64_t n = mask >> k & 1 ? l->n : 1;
    for (l->at = 0; l->at < n; l->at++) for_lanes(c, mask, k + 1, s, write);
    l->at = 0;
}

static void declare(hn_gp *c, const hn_stmt *s) {
    const hn_nbuf *b = &c->n->buf[s->buf];
    int64_t n = 0;
    hn_dim_is_int(c->n->dims, b->size, &n);
    for (int64_t k = 0; k < n; k++) {
        hn_str name = {0};
        hn_gp_reg(c, &name, s->buf, hn_ix_int(c->n, k));
        hn_gp_line(c, "%s %s;", hn_gp_type(b->dtype), name.text ? name.text : "");
        hn_str_free(&name);
    }
}

/* -- stores and updates */
/* "if (…) " where the statement has conditions, those of being done by one thread among them. False: it never runs. */
static bool condition(hn_gp *c, const hn_stmt *s, hn_str *out) {
    hn_str one = {0}, guards = {0};
    int known = hn_gp_known_guards(c, s->n_guard, s->guard);
    bool memory = c->n->buf[s->buf].space != HN_REG;
    if (memory && hn_gp_first_thread(c, &one, (hn_st)(s - c->n->st))) hn_str_add(&guards, one.text);
    if (known < 0) {
        if (guards.n) hn_str_add(&guards, " && ");
        hn_gp_guards(c, &guards, s->n_guard, s->guard);
    }
    if (guards.n) hn_str_addf(out, "if (%s) ", guards.text);
    hn_str_free(&one);
    hn_str_free(&guards);
    return known != 0;
}

static void store(hn_gp *c, const hn_stmt *s) {
    const hn_nbuf *b = &c->n->buf[s->buf];
    hn_str to = {0}, name = {0}, put = {0}, only = {0};
    if (!condition(c, s, &only)) return;
    hn_gp_name(c, &name, s->value);
    if (b->space == HN_REG) {
        hn_gp_reg(c, &to, s->buf, s->at);
        hn_str_add(&put, name.text ? name.text : "0");
    } else {
        hn_gp_access(c, &to, s->buf, s->at);
        hn_gp_put(c, &put, b->dtype, name.text ? name.text : "0");
    }
    hn_gp_line(c, "%s%s = %s;", only.text ? only.text : "", to.text ? to.text : "", put.text ? put.text : "0");
    hn_str_free(&to);
    hn_str_free(&name);
    hn_str_free(&put);
    hn_str_free(&only);
}

static uint32_t store_mask(const hn_gp *c, const hn_stmt *s) {
    uint32_t mask = hn_gp_ix_mask(c, s->at) | c->sv_mask[s->value] | c->buf_mask[s->buf];
    for (uint32_t k = 0; k < s->n_guard; k++) mask |= hn_gp_ix_mask(c, s->guard[k]);
    return mask;
}

/* The product that an update may fuse with its addition; a product picked against 0 gives its guards. */
static const hn_scalar *product_of(const hn_gp *c, const hn_stmt *s, const hn_scalar **pick) {
    const hn_scalar *x = &c->n->sv[s->value];
    *pick = NULL;
    if (s->op != HN_OP_ADD || !c->inlined[s->value]) return NULL;
    if (x->kind == HN_SV_PICK) {
        *pick = x;
        x = &c->n->sv[x->arg[0]];
    }
    return x;
}

/* to = to op value, where every lane has its own register or adds in order. */
static void update_one(hn_gp *c, const hn_stmt *s) {
    const hn_scalar *pick, *x = product_of(c, s, &pick);
    hone_dtype t = c->n->buf[s->buf].dtype;
    hn_str to = {0}, a = {0}, b = {0}, value = {0}, guards = {0};
    int known = pick ? hn_gp_known_guards(c, pick->n_guard, pick->guard) : 1;
    if (!known || !condition(c, s, &guards)) return;
    hn_gp_reg(c, &to, s->buf, s->at);
    const char *reg = to.text ? to.text : "";
    if (x) {
        hn_gp_name(c, &a, x->arg[0]);
        hn_gp_name(c, &b, x->arg[1]);
        if (x->bytes)
            hn_str_addf(&value, "hnr_dot4(%s, %s, %s)", reg, a.text, b.text);
        else if (t == HONE_F32 || t == HONE_F64)
            hn_str_addf(&value, "fma(%s, %s, %s)", a.text, b.text, reg);
        else
            hn_str_addf(&value, "%s + %s * %s", reg, a.text, b.text);
    } else {
        hn_gp_name(c, &a, s->value);
        hn_gp_fold(c, &value, s->op, t, reg, a.text ? a.text : "0");
    }
    if (known < 0) {
        hn_str_add(&guards, "if (");
        hn_gp_guards(c, &guards, pick->n_guard, pick->guard);
        hn_str_add(&guards, ") ");
    }
    hn_gp_line(c, "%s%s = %s;", guards.text ? guards.text : "", reg, value.text ? value.text : "0");
    hn_str_free(&to);
    hn_str_free(&a);
    hn_str_free(&b);
    hn_str_free(&value);
    hn_str_free(&guards);
}

/* The lanes from `at` on, `n` of them with steps of `step`, of vector lane k folded in halves: one expression. */
static void folded(hn_gp *c, hn_str *out, const hn_stmt *s, int k, int64_t at, int64_t step, int64_t n) {
    hone_dtype t = c->n->buf[s->buf].dtype;
    hn_str a = {0}, b = {0};
    if (n == 1) {
        c->lane[k].at = at;
        hn_gp_name(c, out, s->value);
        c->lane[k].at = 0;
        return;
    }
    folded(c, &a, s, k, at, 2 * step, n / 2);
    folded(c, &b, s, k, at + step, 2 * step, n / 2);
    hn_gp_fold(c, out, s->op, t, a.text ? a.text : "0", b.text ? b.text : "0");
    hn_str_free(&a);
    hn_str_free(&b);
}

/* A register that the lanes of the vector loop at place k share takes their values folded in halves. */
static void update_folded(hn_gp *c, const hn_stmt *s) {
    int k = 0;
    while (!c->lane[k].vector) k++;
    hn_str to = {0}, lanes = {0}, value = {0}, only = {0};
    if (!condition(c, s, &only)) return;
    hn_gp_reg(c, &to, s->buf, s->at);
    folded(c, &lanes, s, k, 0, 1, c->lane[k].n);
    hn_gp_fold(c, &value, s->op, c->n->buf[s->buf].dtype, to.text ? to.text : "", lanes.text ? lanes.text : "0");
    hn_gp_line(c, "%s%s = %s;", only.text ? only.text : "", to.text ? to.text : "", value.text ? value.text : "0");
    hn_str_free(&to);
    hn_str_free(&lanes);
    hn_str_free(&value);
    hn_str_free(&only);
}

static void update(hn_gp *c, const hn_stmt *s) {
    uint32_t all = (1u << c->n_lane) - 1, own = hn_gp_ix_mask(c, s->at) | c->buf_mask[s->buf];
    int k = 0;
    while (k < c->n_lane && !c->lane[k].vector) k++;
    bool folds = k < c->n_lane && !(own >> k & 1) && c->sv_mask[s->value] >> k & 1 && !c->inlined[s->value];
    for (uint32_t g = 0; folds && g < s->n_guard; g++) folds = !(hn_gp_ix_mask(c, s->guard[g]) >> k & 1);
    if (hn_gp_sharers(c, s))
        for_lanes(c, all, 0, s, hn_gp_fold_threads);
    else if (folds)
        for_lanes(c, all & ~(1u << k), 0, s, update_folded);
    else
        for_lanes(c, all, 0, s, update_one); /* every iteration counts */
}

/* -- loops */
static bool lanes(hn_gp *c, const hn_stmt *s) {
    int64_t n = 0;
    if (c->n_lane == HN_GPU_LANES_MAX) return refuse(c, "loops unrolled too deep");
    if (!hn_ix_is_int(c->n, c->n->extent[s->var], &n)) return refuse(c, "an unrolled loop of unknown length");
    if (s->loop == HN_VECTOR && (n < 1 || (n & (n - 1)))) return refuse(c, "a vector whose length is no power of two");
    c->lane[c->n_lane++] = (hn_gpu_lane){s->var, s->loop == HN_VECTOR, n, 0};
    hn_gp_line(c, "{");
    c->indent++;
    bool fine = list(c, s->body);
    c->indent--;
    hn_gp_line(c, "}");
    c->n_lane--;
    return fine;
}

/* Updates that a list without further loops writes for one iteration, in its lanes; else far less than none. */
static int64_t updates(const hn_gp *c, hn_st first) {
    int64_t sum = 0, n;
    for (hn_st id = first; id; id = c->n->st[id].next) {
        const hn_stmt *s = &c->n->st[id];
        if (s->kind == HN_ST_UPDATE) sum++;
        if (s->kind != HN_ST_LOOP) continue;
        bool lanes = s->loop == HN_UNROLL || s->loop == HN_VECTOR;
        if (!lanes) return INT32_MIN;
        sum += updates(c, s->body) * (lanes && hn_ix_is_int(c->n, c->n->extent[s->var], &n) ? n : 1);
    }
    for (int k = 0; k < c->n_lane; k++) sum *= c->lane[k].n;
    return sum;
}

static bool has_barrier(const hn_nest *n, hn_st first) {
    while (first && n->st[first].kind != HN_ST_BARRIER && n->st[first].kind != HN_ST_AWAIT) first = n->st[first].next;
    return first != 0;
}

/* A register tile's reduction, and the loop over tiles around it: compilers unroll them further until registers do not
 * do. */
static void limit_unrolling(hn_gp *c, const hn_stmt *s) {
    int64_t n = updates(c, s->body);
    if (has_barrier(c->n, s->body)) hn_gp_line(c, "HNR_UNROLL_NOT");
    if (n >= 4) hn_gp_line(c, "HNR_UNROLL_%s", n >= 64 ? "1" : n >= 32 ? "2" : "4");
}

static bool loop(hn_gp *c, const hn_stmt *s) {
    hn_str extent = {0};
    hn_ix e = c->n->extent[s->var];
    if (s->loop == HN_UNROLL || s->loop == HN_VECTOR) return lanes(c, s);
    if (s->loop == HN_GROUP) {
        hn_gp_line(c, "{");
        c->indent++;
        hn_gp_group_var(c, (hn_st)(s - c->n->st));
        bool inside = list(c, s->body);
        c->indent--;
        hn_gp_line(c, "}");
        return inside;
    }
    if (s->loop == HN_ROLE) {
        bool fine = hn_gp_role_begin(c, (hn_st)(s - c->n->st)) && list(c, s->body);
        hn_gp_role_end(c);
        return fine;
    }
    if (s->loop == HN_CLUSTER) {
        hn_gp_line(c, "const %s i%u = HNR_RANK(%lld);", hn_gp_ix_type(c), s->var, (long long)c->cluster);
        return list(c, s->body);
    }
    if (s->loop != HN_SERIAL) return refuse(c, "a loop that has no form on a device");
    if (hn_gp_ix_mask(c, e)) return refuse(c, "lanes with loops of different lengths");
    hn_gp_ix(c, &extent, e);
    limit_unrolling(c, s);
    hn_gp_line(c, "for (%s i%u = 0, n%u = %s; i%u < n%u; i%u++) {", hn_gp_ix_type(c), s->var, s->var,
               extent.text ? extent.text : "0", s->var, s->var, s->var);
    hn_str_free(&extent);
    c->indent++;
    bool fine = list(c, s->body);
    c->indent--;
    hn_gp_line(c, "}");
    return fine;
}

/* Lanes that a copy or a product depends on. */
static uint32_t tile_mask(const hn_gp *c, const hn_stmt *s, int n_from) {
    uint32_t mask = hn_gp_ix_mask(c, s->at) | c->buf_mask[s->buf];
    for (int k = 0; k < n_from; k++) mask |= hn_gp_ix_mask(c, s->from_at[k]) | c->buf_mask[s->from[k]];
    for (uint32_t k = 0; k < s->n_guard; k++) mask |= hn_gp_ix_mask(c, s->guard[k]);
    return mask;
}

static bool one(hn_gp *c, const hn_stmt *s) {
    switch (s->kind) {
    case HN_ST_LOOP: return loop(c, s);
    case HN_ST_LET: hn_gp_let(c, s->value); break;
    case HN_ST_BARRIER: hn_gp_line(c, s->cluster ? "HNR_CLUSTER_BARRIER();" : "HNR_BARRIER();"); break;
    case HN_ST_PUSH: for_lanes(c, tile_mask(c, s, 0), 0, s, hn_gp_push); break;
    case HN_ST_COPY: for_lanes(c, tile_mask(c, s, 1), 0, s, hn_gp_copy); break;
    case HN_ST_COMMIT: hn_gp_line(c, "HNR_COMMIT();"); break;
    case HN_ST_WAIT: hn_gp_line(c, "HNR_WAIT(%lld);", (long long)s->count); break;
    case HN_ST_ARRIVE:
    case HN_ST_AWAIT: hn_gp_gate(c, s); break;
    case HN_ST_MMA: for_lanes(c, tile_mask(c, s, 2), 0, s, hn_gp_mma); break;
    case HN_ST_STORE:
        if (!hn_gp_wide_store(c, s)) for_lanes(c, store_mask(c, s), 0, s, store);
        break;
    case HN_ST_UPDATE: update(c, s); break;
    case HN_ST_PREFETCH: break; /* caches of devices are asked by many threads at once */
    case HN_ST_REG:
        c->buf_mask[s->buf] = (1u << c->n_lane) - 1;
        for_lanes(c, c->buf_mask[s->buf], 0, s, declare);
        break;
    default: return refuse(c, "a statement that has no form on a device");
    }
    return true;
}

static bool list(hn_gp *c, hn_st first) {
    bool fine = true;
    for (hn_st id = first; id && fine && !c->why; id = c->n->st[id].next) fine = one(c, &c->n->st[id]);
    return fine && !c->why;
}

/* -- before writing: what is used how */
static void count(hn_gp *c, hn_st first) {
    for (hn_st id = first; id; id = c->n->st[id].next) {
        const hn_stmt *s = &c->n->st[id];
        if (s->kind == HN_ST_LOOP) count(c, s->body);
        if (s->kind == HN_ST_STORE || s->kind == HN_ST_UPDATE) c->uses[s->value]++;
        if (s->kind != HN_ST_LET) continue;
        for (uint32_t k = 0; k < c->n->sv[s->value].n_arg; k++) c->uses[c->n->sv[s->value].arg[k]]++;
    }
}

static bool is_zero(const hn_scalar *x) { return x->kind == HN_SV_CONST && x->f == 0 && x->i == 0; }

/* A product that only one update uses is written there. v: the vector loop's variable. */
static void find_products(hn_gp *c, hn_st first, hn_var v) {
    hn_nest *n = c->n;
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_stmt *s = &n->st[id];
        if (s->kind == HN_ST_LOOP) find_products(c, s->body, s->loop == HN_VECTOR ? s->var : v);
        if (s->kind != HN_ST_UPDATE || s->op != HN_OP_ADD || c->uses[s->value] != 1) continue;
        if (hn_gp_sharers(c, s)) continue;
        hn_sv x = s->value;
        bool picked = n->sv[x].kind == HN_SV_PICK && is_zero(&n->sv[n->sv[x].arg[1]]);
        for (uint32_t k = 0; picked && k < n->sv[x].n_guard; k++)
            picked = !v || !hn_ix_depends(n, n->sv[x].guard[k], v);
        hn_sv p = picked ? n->sv[x].arg[0] : x;
        if (n->sv[p].kind != HN_SV_OP || !n->sv[p].fused || c->uses[p] != 1) continue;
        if (hn_is_float(n->sv[p].dtype) && n->sv[p].dtype != HONE_F32 && n->sv[p].dtype != HONE_F64) continue;
        c->inlined[p] = c->inlined[x] = true;
    }
}

/* -- the whole */
/* The place of item w in parallel loops, one inside the other, then the body of the innermost. */
static bool items(hn_gp *c, hn_st first) {
    hn_nest *n = c->n;
    hn_var var[HN_RANK_MAX + 4];
    int depth = 0;
    const char *type = hn_gp_ix_type(c);
    for (hn_st at = first; at && n->st[at].kind == HN_ST_LOOP && n->st[at].loop == HN_PARALLEL; depth++) {
        if (depth == HN_RANK_MAX + 4) return refuse(c, "too many parallel loops");
        var[depth] = n->st[at].var;
        at = n->st[at].body;
        while (at && n->st[at].kind == HN_ST_LET) at = n->st[at].next;
    }
    hn_gp_line(c, c->narrow ? "int32_t w_ = (int32_t)w;" : "int64_t w_ = w;");
    for (int k = depth; k-- > 1;) {
        hn_str extent = {0};
        hn_gp_ix(c, &extent, n->extent[var[k]]);
        const char *by = extent.text ? extent.text : "1";
        if (c->narrow) {
            hn_gp_line(c, "const %s i%u = w_ %% (%s);", type, var[k], by);
            hn_gp_line(c, "w_ /= (%s);", by);
        } else {
            hn_gp_line(c, "const %s i%u = hnr_rest(w_, %s);", type, var[k], by);
            hn_gp_line(c, "w_ = hnr_quotient(w_, %s);", by);
        }
        hn_str_free(&extent);
    }
    hn_gp_line(c, "const %s i%u = w_;", type, var[0]);
    bool fine = true;
    hn_st at = first;
    for (int k = 0; k < depth && fine; k++) { /* definitions between the parallel loops, then the innermost body */
        at = n->st[at].body;
        if (k + 1 == depth)
            fine = list(c, at);
        else
            for (; n->st[at].kind == HN_ST_LET; at = n->st[at].next) hn_gp_let(c, n->st[at].value);
    }
    return fine;
}

/* Writes the statement to local memory, which other statements read? */
static bool fills(const hn_nest *n, hn_st id) {
    const hn_stmt *s = &n->st[id];
    if (s->kind == HN_ST_LOOP)
        for (hn_st k = s->body; k; k = n->st[k].next)
            if (fills(n, k)) return true;
    return s->kind == HN_ST_STORE && n->buf[s->buf].space == HN_LOCAL;
}

/* Statements beside the parallel loops: results are written by item 0 alone. */
static bool beside(hn_gp *c, hn_st id, bool several) {
    hn_stmt *s = &c->n->st[id];
    hn_st next = s->next;
    bool once = several && s->kind == HN_ST_LOOP && !fills(c->n, id);
    if (once) {
        hn_gp_line(c, "if (w == 0) {");
        c->indent++;
    }
    s->next = 0; /* this one alone */
    bool fine = list(c, id);
    c->n->st[id].next = next;
    if (once) {
        c->indent--;
        hn_gp_line(c, "}");
    }
    return fine;
}

/* Memory that the threads of a block share from one item to the next. */
static bool has_memory(const hn_nest *n) {
    for (hn_buf b = 1; b < n->n_buf; b++)
        if (n->buf[b].space == HN_SHARED || n->buf[b].space == HN_LOCAL) return true;
    return false;
}

/* The loop over work items. */
static void open_items(hn_gp *c) {
    long long n = c->cluster;
    if (n > 1) {
        hn_gp_line(c, "HNR_CLUSTER_BARRIER(); /* all blocks of the cluster have begun */");
        hn_gp_line(c, "for (int64_t w = begin + HNR_CLUSTER(%lld); w < end; w += HNR_CLUSTERS(%lld)) {", n, n);
    } else {
        hn_gp_line(c, c->group ? "for (int64_t w = begin + HNR_BLOCK; w < end; w += HNR_BLOCKS) {"
                               : "for (int64_t w = begin + HNR_ITEM; w < end; w += HNR_ITEMS) {");
    }
}

bool hn_gp_nest(hn_gp *c) {
    hn_nest *n = c->n;
    bool fine = true, several = false;
    if (!hn_gp_group_set_up(c)) return false;
    count(c, n->first);
    find_products(c, n->first, 0);
    c->narrow = hn_gp_narrow(n);
    for (hn_st id = n->first; id; id = n->st[id].next)
        several |= n->st[id].kind == HN_ST_LOOP && n->st[id].loop == HN_PARALLEL;
    open_items(c);
    c->indent++;
    hn_gp_gates_open(c);
    for (hn_st id = n->first; id && fine && !c->why; id = n->st[id].next) {
        const hn_stmt *s = &n->st[id];
        fine = s->kind == HN_ST_LOOP && s->loop == HN_PARALLEL ? items(c, id) : beside(c, id, several);
    }
    if (c->cluster > 1)
        hn_gp_line(c, "HNR_CLUSTER_BARRIER(); /* no block ends before others have written to it */");
    else if (c->group && has_memory(n))
        hn_gp_line(c, "HNR_BARRIER(); /* the next item takes the same memory */");
    hn_gp_gates_close(c);
    c->indent--;
    hn_gp_line(c, "}");
    return fine && !c->why;
}
