/* nest/nest_verify.c — the invariants of nest/nest.h, by one walk that keeps what is in scope. */
#include "base/err.h"
#include "nest/nest_int.h"

typedef struct verifier {
    hn_nest *n;
    bool *sv, *var, *reg; /* in scope */
    hn_var serial[64];    /* serial and parallel loops around */
    uint32_t n_serial, n_vector;
    int n_not_parallel;
    hone_err *err;
} verifier;

static hone_rc broken(const verifier *v, int invariant, const char *what) {
    return hn_fail(v->err, HONE_E_INPUT, "loop nest, invariant %d: %s", invariant, what);
}

static bool ix_in_scope(const verifier *v, hn_ix i) {
    const hn_linear *f = &v->n->ix[i];
    for (uint32_t t = 0; t < f->n; t++) {
        const hn_atom *x = &v->n->atom[f->term[t].atom];
        if (x->kind == HN_AT_VAR && !v->var[x->id]) return false;
        if (x->kind == HN_AT_VALUE && !v->sv[x->id]) return false;
        if (x->a && !ix_in_scope(v, x->a)) return false;
        if (x->b && !ix_in_scope(v, x->b)) return false;
    }
    return true;
}

/* Registers are indexed by lanes alone. */
static bool reg_index_fine(verifier *v, hn_ix at) {
    for (uint32_t k = 0; k < v->n_serial; k++)
        if (hn_ix_depends(v->n, at, v->serial[k])) return false;
    return true;
}

static bool types_fine(const hn_nest *n, const hn_scalar *x) {
    hone_dtype a = x->n_arg > 0 ? n->sv[x->arg[0]].dtype : x->dtype;
    hone_dtype b = x->n_arg > 1 ? n->sv[x->arg[1]].dtype : a, c = x->n_arg > 2 ? n->sv[x->arg[2]].dtype : b;
    switch (x->kind) {
    case HN_SV_CONST: return x->n_arg == 0;
    case HN_SV_LOAD: return x->n_arg == 0 && x->dtype == n->buf[x->buf].dtype;
    case HN_SV_INDEX: return x->n_arg == 0 && x->dtype == HONE_I64;
    case HN_SV_WRAP: return x->n_arg == 1 && x->dtype == HONE_I64 && a == HONE_I64 && x->below;
    case HN_SV_PICK: return x->n_arg == 2 && a == x->dtype && b == x->dtype && x->n_guard;
    case HN_SV_OP: break;
    }
    const hn_op_info *op = hn_op_of(x->op);
    if (x->bytes && (x->op != HN_OP_MUL || x->dtype != HONE_I32)) return false;
    if (x->pairs) return x->op == HN_OP_MUL && x->n_arg == 2 && x->dtype == HONE_F32 && a == HONE_I32 && b == HONE_I32;
    bool compares = x->op == HN_OP_EQ || x->op == HN_OP_NE || x->op == HN_OP_LT || x->op == HN_OP_LE;
    if (x->n_arg != op->in_min) return false;
    if (x->op == HN_OP_CAST || x->op == HN_OP_BITCAST) return true;
    if (x->op == HN_OP_SELECT) return a == HONE_BOOL && b == x->dtype && c == x->dtype;
    if (compares) return a == b && x->dtype == HONE_BOOL;
    if (x->op == HN_OP_ISNAN || x->op == HN_OP_ISINF) return x->dtype == HONE_BOOL;
    return a == x->dtype && (op->in_min < 2 || b == x->dtype || x->op == HN_OP_POW);
}

static hone_rc check_let(verifier *v, hn_sv id) {
    hn_nest *n = v->n;
    const hn_scalar x = n->sv[id];
    if (!id || v->sv[id]) return broken(v, 1, "a scalar is defined twice");
    for (uint32_t k = 0; k < x.n_arg; k++)
        if (!v->sv[x.arg[k]]) return broken(v, 1, "a scalar is used outside its scope");
    for (uint32_t k = 0; k < x.n_guard; k++)
        if (!ix_in_scope(v, x.guard[k])) return broken(v, 1, "a condition uses what is not in scope");
    if (x.at && !ix_in_scope(v, x.at)) return broken(v, 1, "an index uses what is not in scope");
    if (!types_fine(n, &x)) return broken(v, 3, hn_op_of(x.op)->text);
    if (x.kind == HN_SV_LOAD) {
        hn_space space = n->buf[x.buf].space;
        if (space == HN_RESULT) return broken(v, 2, "a result is read");
        if (space == HN_GATE) return broken(v, 13, "a gate is read");
        if (space == HN_REG && !v->reg[x.buf]) return broken(v, 1, "a register is used outside its scope");
        if (space == HN_REG && !reg_index_fine(v, x.at)) return broken(v, 6, "a register's index depends on a loop");
    }
    v->sv[id] = true;
    return HONE_OK;
}

static hone_rc check_write(verifier *v, const hn_stmt *s) {
    const hn_nbuf *b = &v->n->buf[s->buf];
    if (hn_nest_constant(v->n, s->buf)) return broken(v, 2, "a parameter is written");
    if (b->space == HN_GATE) return broken(v, 13, "a gate is written");
    if (b->space == HN_REG && !v->reg[s->buf]) return broken(v, 1, "a register is used outside its scope");
    if (!v->sv[s->value]) return broken(v, 1, "a scalar is used outside its scope");
    if (!ix_in_scope(v, s->at)) return broken(v, 1, "an index uses what is not in scope");
    if (v->n->sv[s->value].dtype != b->dtype) return broken(v, 3, "a value is stored into a buffer of another type");
    if (b->space == HN_REG && !reg_index_fine(v, s->at)) return broken(v, 6, "a register's index depends on a loop");
    if (s->kind == HN_ST_UPDATE && b->space != HN_REG) return broken(v, 2, "an update of what is no register");
    for (uint32_t k = 0; k < s->n_guard; k++)
        if (!ix_in_scope(v, s->guard[k])) return broken(v, 1, "a condition uses what is not in scope");
    return HONE_OK;
}

static hone_rc check_prefetch(verifier *v, const hn_stmt *s) {
    if (!ix_in_scope(v, s->at)) return broken(v, 1, "an index uses what is not in scope");
    if (v->n->buf[s->buf].space == HN_REG) return broken(v, 2, "a prefetch of a register");
    return HONE_OK;
}

/* What a copy, a push or a tile product names is in scope; the rest is checked with the threads. */
static hone_rc check_transfer(verifier *v, const hn_stmt *s) {
    const hn_buf buf[3] = {s->buf, s->from[0], s->from[1]};
    const hn_ix at[3] = {s->at, s->from_at[0], s->from_at[1]};
    if (s->kind == HN_ST_AWAIT && !ix_in_scope(v, s->from_at[0]))
        return broken(v, 1, "a phase uses what is not in scope");
    for (int k = 0; k < 3; k++) {
        if (!buf[k]) continue;
        if (!ix_in_scope(v, at[k])) return broken(v, 1, "an index uses what is not in scope");
        if (v->n->buf[buf[k]].space != HN_REG) continue;
        if (!v->reg[buf[k]]) return broken(v, 1, "a register is used outside its scope");
        if (!reg_index_fine(v, at[k])) return broken(v, 6, "a register's index depends on a loop");
    }
    for (uint32_t k = 0; k < s->n_guard; k++)
        if (!ix_in_scope(v, s->guard[k])) return broken(v, 1, "a condition uses what is not in scope");
    return HONE_OK;
}

static hone_rc check_list(verifier *v, hn_st first);

static hone_rc check_loop(verifier *v, const hn_stmt *s) {
    int64_t e;
    bool lanes = s->loop == HN_VECTOR || s->loop == HN_UNROLL;
    bool threads = s->loop == HN_GROUP || s->loop == HN_ROLE;
    hn_ix extent = v->n->extent[s->var];
    if (v->var[s->var]) return broken(v, 1, "a variable has two loops");
    if (!ix_in_scope(v, extent)) return broken(v, 1, "an extent uses what is not in scope");
    if (s->loop == HN_PARALLEL && v->n_not_parallel) return broken(v, 4, "a parallel loop inside another kind");
    if (lanes && (!hn_ix_is_int(v->n, extent, &e) || e < 1 || e > 1024))
        return broken(v, 5, "lanes without a constant number");
    if (s->loop == HN_VECTOR && v->n_vector) return broken(v, 5, "a vector loop inside another");
    if (!lanes && v->n_serial == 64) return broken(v, 5, "more than 64 loops inside each other");
    if (threads && v->n_vector) return broken(v, 7, "a group or role loop inside a vector");
    if (s->loop == HN_CLUSTER && v->n_not_parallel)
        return broken(v, 14, "a cluster loop is not directly inside parallel loops");
    if (!lanes) v->serial[v->n_serial++] = s->var;
    v->n_vector += s->loop == HN_VECTOR;
    v->n_not_parallel += s->loop != HN_PARALLEL;
    v->var[s->var] = true;
    hone_rc rc = check_list(v, s->body);
    v->var[s->var] = false;
    v->n_not_parallel -= s->loop != HN_PARALLEL;
    v->n_vector -= s->loop == HN_VECTOR;
    if (!lanes) v->n_serial--;
    return rc;
}

static hone_rc check_list(verifier *v, hn_st first) {
    hone_rc rc = HONE_OK;
    for (hn_st id = first; id && rc == HONE_OK; id = v->n->st[id].next) {
        const hn_stmt s = v->n->st[id];
        int64_t size;
        if (s.kind == HN_ST_LOOP)
            rc = check_loop(v, &s);
        else if (s.kind == HN_ST_LET)
            rc = check_let(v, s.value);
        else if (s.kind == HN_ST_PREFETCH)
            rc = check_prefetch(v, &s);
        else if (s.kind == HN_ST_STORE || s.kind == HN_ST_UPDATE)
            rc = check_write(v, &s);
        else if (s.kind == HN_ST_COPY || s.kind == HN_ST_MMA || s.kind == HN_ST_ARRIVE || s.kind == HN_ST_AWAIT ||
                 s.kind == HN_ST_PUSH)
            rc = check_transfer(v, &s);
        else if (s.kind == HN_ST_BARRIER || s.kind == HN_ST_COMMIT || s.kind == HN_ST_WAIT)
            continue;
        else if (!hn_dim_is_int(v->n->dims, v->n->buf[s.buf].size, &size) || size < 1 || size > 4096)
            rc = broken(v, 6, "a register without a constant size");
        else
            v->reg[s.buf] = true;
    }
    for (hn_st id = first; id; id = v->n->st[id].next) { /* the scope ends */
        if (v->n->st[id].kind == HN_ST_LET) v->sv[v->n->st[id].value] = false;
        if (v->n->st[id].kind == HN_ST_REG) v->reg[v->n->st[id].buf] = false;
    }
    return rc;
}

hone_rc hn_nest_verify(hn_nest *n, hone_err *err) {
    hn_arena a = {0};
    verifier v = {.n = n, .err = err};
    v.sv = HN_NEW_N(&a, bool, n->n_sv + 1);
    v.var = HN_NEW_N(&a, bool, n->n_var + 1);
    v.reg = HN_NEW_N(&a, bool, n->n_buf + 1);
    hone_rc rc = hn_arena_ok(&a) ? check_list(&v, n->first) : hn_fail(err, HONE_E_NOMEM, "out of memory");
    hn_arena_free(&a);
    return rc ? rc : hn_nest_verify_threads(n, err);
}
