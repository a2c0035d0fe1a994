/* sketch/gpu_product.c — is a nest a sum of products, and of what: rows, columns, batches. */
#include "sketch/gpu_product.h"
#include "nest/schedule.h"

static int64_t length(const hn_nest *n, hn_var v) {
    int64_t e;
    return hn_ix_is_int(n, n->extent[v], &e) ? e : 0;
}

/* -- form */
static bool loop_of_sum(hn_nest *n, hn_st loop, hn_product_sum *s) {
    hn_st in = loop;
    for (;;) {
        if (s->n == HN_PRODUCT_LOOPS || n->st[in].loop != HN_SERIAL || !hn_ix_is_dim(n, n->extent[n->st[in].var], NULL))
            return false;
        s->var[s->n++] = n->st[in].var;
        hn_st deeper = hn_lone_loop(n, n->st[in].body);
        if (!deeper) break;
        in = deeper;
    }
    hn_st update = 0;
    for (hn_st id = n->st[in].body; id; id = n->st[id].next) {
        if (n->st[id].kind == HN_ST_LET) continue;
        if (n->st[id].kind != HN_ST_UPDATE || update) return false;
        update = id;
    }
    if (!update || n->st[update].op != HN_OP_ADD || n->st[update].at != hn_ix_int(n, 0)) return false;
    s->acc = n->st[update].buf;
    s->product = s->whole = n->st[update].value;
    return true;
}

/* A product, or one that is 0 where conditions do not hold: then its first factor is. */
static bool factors(hn_nest *n, hn_product_sum *s) {
    const hn_scalar top = n->sv[s->product];
    hn_sv mul = s->product;
    if (top.kind == HN_SV_PICK) {
        const hn_scalar *other = &n->sv[top.arg[1]];
        if (other->kind != HN_SV_CONST || other->f != 0 || other->i != 0) return false;
        mul = top.arg[0];
    }
    const hn_scalar x = n->sv[mul];
    if (x.kind != HN_SV_OP || x.op != HN_OP_MUL || x.bytes) return false;
    s->product = mul;
    s->x = x.arg[0], s->y = x.arg[1];
    return true;
}

/* Where the product has conditions: the factor that they speak of is 0 where they do not hold. */
static hn_sv with_conditions(hn_nest *n, hn_sv factor, const hn_scalar *pick) {
    hn_sv zero = hn_nest_scalar(n, &(hn_scalar){.kind = HN_SV_CONST, .dtype = n->sv[factor].dtype});
    hn_scalar x = {.kind = HN_SV_PICK, .dtype = n->sv[factor].dtype, .n_arg = 2, .arg = {factor, zero}};
    x.n_guard = pick->n_guard, x.guard = pick->guard;
    return hn_nest_scalar(n, &x);
}

static bool guards_depend(const hn_nest *n, const hn_scalar *x, hn_var v) {
    for (uint32_t k = 0; k < x->n_guard; k++)
        if (hn_ix_depends(n, x->guard[k], v)) return true;
    return false;
}

/* Which loops are rows, which columns: of the first sum. */
static void divide(hn_product *p) {
    for (int k = 0; k < p->c.n; k++) {
        hn_var v = p->n->st[p->c.loop[k]].var;
        bool x = hn_sv_depends(p->n, p->s[0].x, v), y = hn_sv_depends(p->n, p->s[0].y, v);
        if (x && !y)
            p->row[p->n_row++] = v;
        else if (y && !x)
            p->col[p->n_col++] = v;
        else
            p->batch[p->n_batch++] = v;
    }
}

static bool depends_on(const hn_nest *n, hn_sv x, const hn_var *v, int many) {
    for (int k = 0; k < many; k++)
        if (hn_sv_depends(n, x, v[k])) return true;
    return false;
}

/* Is the factor's load contiguous along v? */
static bool unit(hn_nest *n, hn_sv x, hn_var v) {
    const hn_scalar s = n->sv[x];
    int64_t step;
    if (s.kind == HN_SV_LOAD) return hn_ix_step(n, s.at, v, &step) && step == 1;
    for (uint32_t k = 0; k < s.n_arg; k++)
        if (unit(n, s.arg[k], v)) return true;
    return false;
}

static bool from_constant_memory(const hn_nest *n, hn_sv x) {
    const hn_scalar *s = &n->sv[x];
    if (s->kind == HN_SV_LOAD && !hn_nest_constant(n, s->buf)) return false;
    for (uint32_t k = 0; k < s->n_arg; k++)
        if (!from_constant_memory(n, s->arg[k])) return false;
    return true;
}

/* Registers, sums, definitions and stores of results; each sum's register is set once before and read once behind. */
static bool take_list(hn_product *p) {
    hn_nest *n = p->n;
    bool stores = false;
    for (hn_st id = p->list; id; id = n->st[id].next) {
        const hn_stmt s = n->st[id];
        if (s.kind == HN_ST_STORE && n->buf[s.buf].space == HN_RESULT) {
            stores = true;
        } else if (s.kind == HN_ST_LOOP) {
            if (p->n_sum == HN_PRODUCT_SUMS || stores) return false;
            hn_product_sum *x = &p->s[p->n_sum];
            *x = (hn_product_sum){.n = 0};
            if (!loop_of_sum(n, id, x)) return false;
            p->n_sum++;
        } else if (s.kind != HN_ST_LET && s.kind != HN_ST_REG && s.kind != HN_ST_STORE) {
            return false;
        }
    }
    for (int k = 0; k < p->n_sum; k++) {
        hn_product_sum *x = &p->s[k];
        for (hn_st id = p->list; id; id = n->st[id].next) {
            const hn_stmt s = n->st[id];
            bool load = s.kind == HN_ST_LET && n->sv[s.value].kind == HN_SV_LOAD && n->sv[s.value].buf == x->acc;
            if (s.kind == HN_ST_STORE && s.buf == x->acc) {
                if (x->start) return false;
                x->start = s.value;
            }
            if (load && x->done) return false;
            if (load) x->done = s.value;
        }
        if (!x->start || !x->done || n->sv[x->start].kind != HN_SV_CONST) return false;
    }
    return stores && p->n_sum > 0;
}

/* Factors of every sum on their sides. */
static bool take_sides(hn_product *p) {
    hn_nest *n = p->n;
    for (int k = 0; k < p->n_sum; k++) {
        hn_product_sum *s = &p->s[k];
        const hn_scalar top = n->sv[s->product];
        if (!factors(n, s)) return false;
        if (top.kind == HN_SV_PICK) {
            bool second = false;
            for (int i = 0; i < p->c.n && !second; i++) {
                hn_var v = n->st[p->c.loop[i]].var;
                second = guards_depend(n, &top, v) && !hn_sv_depends(n, s->x, v);
            }
            hn_sv *side = second ? &s->y : &s->x;
            *side = with_conditions(n, *side, &top);
        }
        if (!from_constant_memory(n, s->x) || !from_constant_memory(n, s->y)) return false;
        if (k == 0) divide(p);
        if (depends_on(n, s->x, p->col, p->n_col) && depends_on(n, s->y, p->row, p->n_row)) {
            hn_sv x = s->x;
            s->x = s->y, s->y = x;
        }
        if (depends_on(n, s->x, p->col, p->n_col) || depends_on(n, s->y, p->row, p->n_row)) return false;
        s->fast_x = unit(n, s->x, s->var[s->n - 1]);
        s->fast_y = unit(n, s->y, s->var[s->n - 1]);
    }
    return p->n_row > 0 && p->n_col > 0;
}

static int64_t product_of(const hn_product *p, const hn_var *v, int many) {
    int64_t all = 1;
    for (int k = 0; k < many; k++) all *= length(p->n, v[k]);
    return all;
}

bool hn_product_match(hn_nest *n, hn_product *p) {
    *p = (hn_product){.n = n};
    hn_nest_tidy(n);
    p->c = hn_chain_of(n, n->first);
    if (p->c.n < 2) return false;
    for (int k = 0; k < p->c.n; k++)
        if (!hn_ix_is_dim(n, n->extent[n->st[p->c.loop[k]].var], NULL)) return false;
    p->list = n->st[p->c.loop[p->c.n - 1]].body;
    if (!take_list(p) || !take_sides(p)) return false;
    /* columns are along what is contiguous in the results, if one side is */
    p->m = product_of(p, p->row, p->n_row), p->n_ = product_of(p, p->col, p->n_col);
    p->b = product_of(p, p->batch, p->n_batch), p->k = product_of(p, p->s[0].var, p->s[0].n);
    return true;
}

/* Threads next to each other write what lies next to each other: the sides change places where rows are contiguous. */
void hn_product_orient(hn_product *p) {
    hn_nest *n = p->n;
    for (hn_st id = p->list; id; id = n->st[id].next) {
        const hn_stmt s = n->st[id];
        int64_t step;
        if (s.kind != HN_ST_STORE || n->buf[s.buf].space != HN_RESULT) continue;
        if (!hn_ix_step(n, s.at, p->row[p->n_row - 1], &step) || step != 1) return;
        hn_product q = *p;
        for (int k = 0; k < q.n_col; k++) p->row[k] = q.col[k];
        for (int k = 0; k < q.n_row; k++) p->col[k] = q.row[k];
        p->n_row = q.n_col, p->n_col = q.n_row, p->m = q.n_, p->n_ = q.m;
        for (int k = 0; k < p->n_sum; k++) {
            p->s[k].x = q.s[k].y, p->s[k].y = q.s[k].x;
            p->s[k].fast_x = q.s[k].fast_y, p->s[k].fast_y = q.s[k].fast_x;
        }
        return;
    }
}

/* -- writing */
/* The loops' variables of element x of all their iterations. */
hn_ix hn_product_spread(hn_writer *w, const hn_var *v, int many, hn_ix x) {
    hn_nest *n = w->n;
    hn_dim all = hn_dim_int(n->dims, 1);
    hn_ix at = x;
    for (int k = many; k-- > 0;) {
        hn_dim e = hn_dim_int(n->dims, 1);
        hn_ix_is_dim(n, n->extent[v[k]], &e);
        w->var[v[k]] = k ? hn_ix_mod(n, at, e) : at;
        at = hn_ix_div(n, at, e);
        all = hn_dim_mul(n->dims, all, e);
    }
    return hn_ix_sub(n, hn_ix_dim(n, hn_dim_sub(n->dims, all, hn_dim_int(n->dims, 1))), x); /* how many are left */
}

hn_ix hn_product_count(hn_nest *n, const hn_var *v, int many) {
    hn_dim all = hn_dim_int(n->dims, 1), e;
    for (int k = 0; k < many; k++)
        if (hn_ix_is_dim(n, n->extent[v[k]], &e)) all = hn_dim_mul(n->dims, all, e);
    return hn_ix_dim(n, all);
}

hn_ix hn_product_tiles(hn_nest *n, hn_ix all, int64_t by) {
    return hn_ix_div(n, hn_ix_add(n, all, hn_ix_int(n, by - 1)), hn_dim_int(n->dims, by));
}

/* Conditions on all that was written to the innermost open list behind `from` (0: from its start). */
void hn_product_guard(hn_writer *w, hn_st from, hn_ix a, hn_ix b) {
    const hn_ix guard[] = {a, b};
    hn_st first = from ? w->n->st[from].next : w->head[w->depth];
    if (!first) return;
    hn_device_guard(w->n, first, 2, guard);
    hn_st last = first;
    while (w->n->st[last].next) last = w->n->st[last].next;
    w->tail[w->depth] = last;
}

hn_sv hn_product_zero(hn_writer *w, hn_sv x, hn_ix where) {
    hn_nest *n = w->n;
    if (hn_ix_never_negative(n, where)) return x;
    hn_ix *guard = HN_NEW(n->a, hn_ix);
    if (!guard) return x;
    *guard = where;
    hn_sv zero = hn_write_scalar(w, &(hn_scalar){.kind = HN_SV_CONST, .dtype = n->sv[x].dtype});
    hn_scalar pick = {.kind = HN_SV_PICK, .dtype = n->sv[x].dtype, .n_arg = 2, .arg = {x, zero}};
    pick.n_guard = 1, pick.guard = guard;
    return hn_write_scalar(w, &pick);
}

/* -- clusters */
void hn_product_clusters(const hn_machine *m, bool copies, hn_knob *out) {
    hn_knob_add(out, 1);
    for (int64_t k = 2; m->clusters && copies && k <= 8; k *= 2) hn_knob_add(out, k);
}

bool hn_product_cluster(hn_nest *n, const hn_st blocks[2], int64_t cluster, const char **why) {
    int64_t cols;
    bool few = hn_ix_is_int(n, n->extent[n->st[blocks[1]].var], &cols) && cols < cluster;
    return hn_device_cluster(n, blocks[few ? 0 : 1], cluster, why);
}
