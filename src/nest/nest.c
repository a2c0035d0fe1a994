/* nest/nest.c — the arrays of a nest: buffers, variables, scalars, statements; copying a list of statements. */
#include "nest/nest_int.h"

bool hn_nest_grow(hn_arena *a, void **array, uint32_t n, uint32_t *room, size_t size) {
    if (n < *room) return true;
    uint32_t more = *room ? 2 * *room : 16;
    void *to = hn_alloc_n(a, more, size);
    if (!to) return false;
    if (n) memcpy(to, *array, n * size);
    *array = to;
    *room = more;
    return true;
}

hn_nest *hn_nest_new(hn_arena *a, hn_dims *dims) {
    hn_nest *n = HN_NEW(a, hn_nest);
    if (!n) return NULL;
    n->a = a;
    n->dims = dims;
    if (!HN_ROOM(n, ix) || !HN_ROOM(n, atom) || !HN_ROOM(n, buf) || !HN_ROOM(n, sv) || !HN_ROOM(n, st)) return NULL;
    n->n_ix = n->n_atom = n->n_buf = n->n_sv = n->n_st = 1; /* 0 is none */
    n->ix[0] = (hn_linear){.offset = hn_dim_int(dims, 0)};
    hn_ix_int(n, 0);
    hn_nest_var(n, 1);
    return hn_arena_ok(a) ? n : NULL;
}

hn_buf hn_nest_buf(hn_nest *n, hn_space space, hone_dtype dtype, hn_dim size) {
    if (!HN_ROOM(n, buf)) return 0;
    uint32_t index = 0;
    for (hn_buf i = 1; i < n->n_buf; i++) index += n->buf[i].space == space;
    n->buf[n->n_buf] = (hn_nbuf){space, dtype, size, index};
    n->n_in += space == HN_PARAM;
    n->n_out += space == HN_RESULT;
    return n->n_buf++;
}

hn_buf hn_nest_words(hn_nest *n, hn_buf param) {
    const hn_nbuf of = n->buf[param];
    for (hn_buf b = 1; b < n->n_buf; b++)
        if (n->buf[b].space == HN_WORDS && n->buf[b].index == of.index) return b;
    hn_dim each = hn_dim_int(n->dims, 4 / hn_dtype_of(of.dtype)->size_b);
    hn_buf words = hn_nest_buf(n, HN_WORDS, HONE_I32, hn_dim_floordiv(n->dims, of.size, each));
    if (words) n->buf[words].index = of.index;
    return words;
}

bool hn_nest_constant(const hn_nest *n, hn_buf b) { return n->buf[b].space == HN_PARAM || n->buf[b].space == HN_WORDS; }

hn_var hn_nest_var(hn_nest *n, hn_ix extent) {
    if (!hn_nest_grow(n->a, (void **)&n->extent, n->n_var, &n->room_var, sizeof *n->extent)) return 0;
    n->extent[n->n_var] = extent;
    return n->n_var++;
}

hn_sv hn_nest_scalar(hn_nest *n, const hn_scalar *x) {
    if (!HN_ROOM(n, sv)) return 0;
    n->sv[n->n_sv] = *x;
    return n->n_sv++;
}

hn_st hn_nest_stmt(hn_nest *n, const hn_stmt *x) {
    if (!HN_ROOM(n, st)) return 0;
    n->st[n->n_st] = *x;
    return n->n_st++;
}

hn_st hn_nest_store(hn_nest *n, hn_buf b, hn_ix at, hn_sv value, uint32_t n_guard, const hn_ix *guard) {
    return hn_nest_stmt(
        n, &(hn_stmt){.kind = HN_ST_STORE, .buf = b, .at = at, .value = value, .n_guard = n_guard, .guard = guard});
}

hn_st hn_nest_update(hn_nest *n, hn_buf b, hn_ix at, hn_op op, hn_sv value, uint32_t n_guard, const hn_ix *guard) {
    hn_st s = hn_nest_store(n, b, at, value, n_guard, guard);
    if (!s) return 0;
    n->st[s].kind = HN_ST_UPDATE;
    n->st[s].op = op;
    return s;
}

hn_st hn_nest_barrier(hn_nest *n) { return hn_nest_stmt(n, &(hn_stmt){.kind = HN_ST_BARRIER}); }

bool hn_nest_has_group(const hn_nest *n) {
    for (hn_st s = 1; s < n->n_st; s++)
        if (n->st[s].kind == HN_ST_LOOP &&
            (n->st[s].loop == HN_GROUP || n->st[s].loop == HN_ROLE || n->st[s].loop == HN_CLUSTER))
            return true;
    return false;
}

int64_t hn_nest_cluster(const hn_nest *n) {
    int64_t e;
    for (hn_st s = 1; s < n->n_st; s++)
        if (n->st[s].kind == HN_ST_LOOP && n->st[s].loop == HN_CLUSTER)
            return hn_ix_is_int(n, n->extent[n->st[s].var], &e) ? e : 1;
    return 1;
}

bool hn_scalar_same(const hn_scalar *a, const hn_scalar *b) {
    if (a->kind != b->kind || a->dtype != b->dtype || a->op != b->op || a->n_arg != b->n_arg || a->buf != b->buf)
        return false;
    if (a->saturate != b->saturate || a->fused != b->fused || a->bytes != b->bytes || a->pairs != b->pairs ||
        a->part != b->part || a->at != b->at || a->n_guard != b->n_guard || a->i != b->i)
        return false;
    if (memcmp(a->arg, b->arg, sizeof a->arg) || memcmp(&a->f, &b->f, sizeof a->f) || a->below != b->below)
        return false;
    return !a->n_guard || !memcmp(a->guard, b->guard, a->n_guard * sizeof *a->guard);
}

/* A copy under way: maps grow with what is renewed. */
typedef struct copy {
    hn_nest *n;
    hn_ix *var;
    hn_sv *sv;
    hn_buf *buf;
    uint32_t n_var, n_sv, n_buf; /* of the nest before the copy: only those can be met */
    hn_subst subst;
    const hn_ix *holds; /* guards that hold in the copy */
    uint32_t n_holds;
} copy;

static bool is_held(const copy *c, hn_ix guard) {
    for (uint32_t k = 0; k < c->n_holds; k++)
        if (c->holds[k] == guard) return true;
    return false;
}

/* Guards in their new ranges: those that always hold go. False: one never holds. */
static bool copy_guards(copy *c, uint32_t *n_guard, const hn_ix **from) {
    hn_nest *n = c->n;
    hn_ix *guard = HN_NEW_N(n->a, hn_ix, *n_guard);
    uint32_t kept = 0;
    for (uint32_t k = 0; guard && k < *n_guard; k++) {
        if (is_held(c, (*from)[k])) continue;
        guard[kept] = hn_ix_subst(n, (*from)[k], &c->subst);
        hn_dim high = hn_ix_high(n, guard[kept]);
        if (high && hn_dim_below(n->dims, high, hn_dim_int(n->dims, 0))) return false;
        kept += !hn_ix_never_negative(n, guard[kept]);
    }
    *from = guard;
    *n_guard = guard ? kept : 0;
    return true;
}

/* The copy's scalar; *fresh: it needs a definition (a choice that is decided is one of its operands). */
static hn_sv copy_scalar(copy *c, hn_sv id, bool *fresh) {
    hn_nest *n = c->n;
    hn_scalar x = n->sv[id];
    *fresh = true;
    for (uint32_t k = 0; k < x.n_arg; k++)
        if (c->sv[x.arg[k]]) x.arg[k] = c->sv[x.arg[k]];
    if (x.at) x.at = hn_ix_subst(n, x.at, &c->subst);
    if (x.buf && c->buf[x.buf]) x.buf = c->buf[x.buf];
    bool holds = !x.n_guard || copy_guards(c, &x.n_guard, &x.guard);
    if (x.kind == HN_SV_PICK && (!holds || !x.n_guard)) {
        *fresh = false;
        return c->sv[id] = holds ? x.arg[0] : x.arg[1];
    }
    if (x.kind == HN_SV_LOAD && !holds) x = (hn_scalar){.kind = HN_SV_CONST, .dtype = x.dtype};
    return c->sv[id] = hn_nest_scalar(n, &x);
}

/* A copy whose conditions never hold still writes zeros. */
static void copy_transfer(copy *c, hn_stmt *x) {
    x->at = hn_ix_subst(c->n, x->at, &c->subst);
    if (c->buf[x->buf]) x->buf = c->buf[x->buf];
    for (int k = 0; k < 2; k++) {
        if (x->from_at[k]) x->from_at[k] = hn_ix_subst(c->n, x->from_at[k], &c->subst);
        if (c->buf[x->from[k]]) x->from[k] = c->buf[x->from[k]];
    }
    if (!x->n_guard || copy_guards(c, &x->n_guard, &x->guard)) return;
    hn_ix *never = HN_NEW(c->n->a, hn_ix);
    if (never) *never = hn_ix_int(c->n, -1);
    x->n_guard = never != NULL, x->guard = never;
}

static hn_st copy_list(copy *c, hn_st first) {
    hn_nest *n = c->n;
    hn_st head = 0, tail = 0;
    for (hn_st s = first; s && hn_arena_ok(n->a); s = n->st[s].next) {
        hn_stmt x = n->st[s];
        bool fresh = true;
        switch (x.kind) {
        case HN_ST_LOOP: {
            hn_var v = hn_nest_var(n, hn_ix_subst(n, n->extent[x.var], &c->subst));
            c->var[x.var] = v ? hn_ix_var(n, v) : 0;
            x.var = v;
            x.body = copy_list(c, x.body);
            break;
        }
        case HN_ST_REG: {
            hn_nbuf b = n->buf[x.buf];
            x.buf = c->buf[x.buf] = hn_nest_buf(n, HN_REG, b.dtype, b.size);
            break;
        }
        case HN_ST_LET: x.value = copy_scalar(c, x.value, &fresh); break;
        case HN_ST_PREFETCH:
        case HN_ST_STORE:
        case HN_ST_UPDATE:
            x.at = hn_ix_subst(n, x.at, &c->subst);
            if (c->sv[x.value]) x.value = c->sv[x.value];
            if (c->buf[x.buf]) x.buf = c->buf[x.buf];
            fresh = !x.n_guard || copy_guards(c, &x.n_guard, &x.guard);
            break;
        case HN_ST_BARRIER:
        case HN_ST_COMMIT:
        case HN_ST_WAIT: break;
        case HN_ST_COPY:
        case HN_ST_MMA:
        case HN_ST_ARRIVE:
        case HN_ST_AWAIT:
        case HN_ST_PUSH: copy_transfer(c, &x); break;
        }
        if (!fresh) continue;
        x.next = 0;
        hn_st made = hn_nest_stmt(n, &x);
        if (tail)
            n->st[tail].next = made;
        else
            head = made;
        tail = made;
    }
    return head;
}

hn_st hn_nest_clone(hn_nest *n, hn_st first, const hn_subst *s) { return hn_nest_clone_where(n, first, s, 0, NULL); }

hn_st hn_nest_clone_where(hn_nest *n, hn_st first, const hn_subst *s, uint32_t n_holds, const hn_ix *holds) {
    copy c = {.n = n, .n_var = n->n_var, .n_sv = n->n_sv, .n_buf = n->n_buf};
    c.var = HN_NEW_N(n->a, hn_ix, c.n_var + 1);
    c.sv = HN_NEW_N(n->a, hn_sv, c.n_sv + 1);
    c.buf = HN_NEW_N(n->a, hn_buf, c.n_buf + 1);
    if (!c.var || !c.sv || !c.buf) return 0;
    if (s && s->n_var) memcpy(c.var, s->var, s->n_var * sizeof *c.var);
    if (s && s->n_sv) memcpy(c.sv, s->sv, s->n_sv * sizeof *c.sv);
    c.subst = (hn_subst){c.var, c.sv, c.n_var, c.n_sv};
    c.holds = holds;
    c.n_holds = n_holds;
    return copy_list(&c, first);
}
