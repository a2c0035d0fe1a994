/* sketch/sketch_attention_match.c — is the nest attention? The statements that lowering (nest/body.c) makes of
 * contraction, softmax, contraction: per query, in rows of local memory, the scores, their maximum, the exponentials,
 * their sum, the quotients; then per column the sum over the keys. */
#include "sketch/sketch_attention.h"

#include <math.h>

/* The next statement of the list that is no definition. */
static hn_st act(const hn_nest *n, hn_st id) {
    while (id && n->st[id].kind == HN_ST_LET) id = n->st[id].next;
    return id;
}
static hn_st after(const hn_nest *n, hn_st id) { return id ? act(n, n->st[id].next) : 0; }
static bool is(const hn_nest *n, hn_st id, hn_st_kind kind) { return id && n->st[id].kind == kind; }

static bool is_const(const hn_nest *n, hn_sv x, double value) {
    return n->sv[x].kind == HN_SV_CONST && n->sv[x].dtype == HONE_F32 && n->sv[x].f == value;
}
/* A load of row b at loop variable v. */
static bool is_element(hn_nest *n, hn_sv x, hn_buf b, hn_var v) {
    return n->sv[x].kind == HN_SV_LOAD && n->sv[x].buf == b && n->sv[x].at == hn_ix_var(n, v);
}

/* REG, its first value, a loop over updates of it; then its load. */
typedef struct fold {
    hn_buf acc;
    hn_var var;
    hn_sv value, done; /* what is added; the load behind the loop */
    hn_op op;
    hn_st last; /* the loop */
} fold;

static hn_sv load_of(const hn_nest *n, hn_st from, hn_buf b) {
    for (hn_st id = from; id && n->st[id].kind == HN_ST_LET; id = n->st[id].next)
        if (n->sv[n->st[id].value].kind == HN_SV_LOAD && n->sv[n->st[id].value].buf == b) return n->st[id].value;
    return 0;
}
static bool match_fold(const hn_nest *n, hn_st reg, double first, fold *f) {
    hn_st set = after(n, reg), loop = after(n, set);
    if (!is(n, reg, HN_ST_REG) || !is(n, set, HN_ST_STORE) || !is(n, loop, HN_ST_LOOP)) return false;
    hn_st update = act(n, n->st[loop].body);
    if (!is(n, update, HN_ST_UPDATE) || after(n, update) || n->st[update].buf != n->st[reg].buf) return false;
    if (n->st[set].buf != n->st[reg].buf || !is_const(n, n->st[set].value, first)) return false;
    *f = (fold){n->st[reg].buf, n->st[loop].var, n->st[update].value, 0, n->st[update].op, loop};
    f->done = load_of(n, n->st[loop].next, f->acc);
    return f->done && n->sv[f->done].dtype == HONE_F32;
}

/* A sum of products and one store of what becomes of it: the whole body of a loop. */
static bool match_contraction(const hn_nest *n, hn_st loop, fold *f, hn_st *store) {
    if (!is(n, loop, HN_ST_LOOP) || !match_fold(n, act(n, n->st[loop].body), 0, f) || f->op != HN_OP_ADD) return false;
    const hn_scalar *product = &n->sv[f->value];
    *store = after(n, f->last);
    return product->kind == HN_SV_OP && product->op == HN_OP_MUL && product->fused && is(n, *store, HN_ST_STORE) &&
           !after(n, *store);
}

static bool match_scores(const hn_nest *n, hn_st loop, hn_attention *x, hn_buf *row) {
    fold f;
    hn_st store;
    if (!match_contraction(n, loop, &f, &store) || n->buf[n->st[store].buf].space != HN_LOCAL) return false;
    x->key = n->st[loop].var;
    x->depth = f.var;
    x->q = n->sv[f.value].arg[0];
    x->k = n->sv[f.value].arg[1];
    x->sum = f.done;
    x->score = n->st[store].value;
    *row = n->st[store].buf;
    return n->buf[*row].dtype == HONE_F32;
}

/* for v { row to at v = a value of element v of row from }; *value is what is stored. */
static bool match_map(hn_nest *n, hn_st loop, hn_buf *to, hn_sv *value) {
    if (!is(n, loop, HN_ST_LOOP)) return false;
    hn_st store = act(n, n->st[loop].body);
    if (!is(n, store, HN_ST_STORE) || after(n, store) || n->buf[n->st[store].buf].space != HN_LOCAL) return false;
    *to = n->st[store].buf;
    *value = n->st[store].value;
    return n->st[store].at == hn_ix_var(n, n->st[loop].var);
}
static bool is_op(const hn_nest *n, hn_sv x, hn_op op) { return n->sv[x].kind == HN_SV_OP && n->sv[x].op == op; }

/* From the loop over the scores on: maximum, exponentials, sum, quotients. *last: the loop of the quotients. */
static bool match_softmax(hn_nest *n, hn_st scores, hn_buf row, hn_buf *quotients, hn_st *last) {
    fold top, total;
    hn_buf e;
    hn_sv x;
    if (!match_fold(n, after(n, scores), -(double)INFINITY, &top) || top.op != HN_OP_MAX) return false;
    if (!is_element(n, top.value, row, top.var)) return false;
    hn_st loop = after(n, top.last);
    if (!match_map(n, loop, &e, &x) || !is_op(n, x, HN_OP_EXP)) return false;
    hn_sv less = n->sv[x].arg[0];
    if (!is_op(n, less, HN_OP_SUB) || !is_element(n, n->sv[less].arg[0], row, n->st[loop].var)) return false;
    if (n->sv[less].arg[1] != top.done) return false;
    if (!match_fold(n, after(n, loop), 0, &total) || total.op != HN_OP_ADD) return false;
    if (!is_element(n, total.value, e, total.var)) return false;
    *last = after(n, total.last);
    if (!match_map(n, *last, quotients, &x) || !is_op(n, x, HN_OP_DIV) || n->sv[x].arg[1] != total.done) return false;
    return is_element(n, n->sv[x].arg[0], e, n->st[*last].var);
}

static bool match_values(hn_nest *n, hn_st loop, hn_buf quotients, hn_attention *x) {
    fold f;
    hn_st store;
    while (is(n, loop, HN_ST_LOOP) && !after(n, loop) && n->extent[n->st[loop].var] == hn_ix_int(n, 1))
        loop = act(n, n->st[loop].body);
    if (!match_contraction(n, loop, &f, &store) || after(n, loop)) return false;
    const hn_scalar product = n->sv[f.value];
    int side = is_element(n, product.arg[0], quotients, f.var) ? 0 : 1;
    if (!is_element(n, product.arg[side], quotients, f.var)) return false;
    x->column = n->st[loop].var;
    x->key_v = f.var;
    x->v = product.arg[!side];
    x->mixed = f.done;
    x->out = n->st[store].value;
    x->result = n->st[store].buf;
    x->out_at = n->st[store].at;
    return n->buf[x->result].space == HN_RESULT && n->buf[x->result].dtype == HONE_F32;
}

/* Walks through the loops around, each of which has nothing but definitions and the next loop. */
static hn_st row_list(hn_nest *n, hn_var *loop, int *n_loop) {
    hn_st list = n->first, id = act(n, list);
    *n_loop = 0;
    while (is(n, id, HN_ST_LOOP) && !after(n, id) && *n_loop < HN_ATTENTION_LOOPS) {
        hn_st in = act(n, n->st[id].body);
        loop[(*n_loop)++] = n->st[id].var;
        if (!hn_ix_is_dim(n, n->extent[n->st[id].var], NULL)) return 0;
        list = n->st[id].body;
        id = in;
    }
    return list;
}

static bool constant_loop(const hn_nest *n, hn_var v) {
    int64_t e;
    return hn_ix_is_int(n, n->extent[v], &e) && e >= 1;
}
static double length(const hn_nest *n, hn_var v) {
    int64_t e;
    return hn_ix_is_int(n, n->extent[v], &e) ? (double)e : 1e18;
}

/* The loop over the queries: the longest of those that neither the keys nor the values depend on. */
static void choose_query(hn_nest *n, const hn_var *loop, int n_loop, hn_attention *x) {
    int found = -1;
    for (int i = 0; i < n_loop; i++) {
        if (hn_sv_depends(n, x->k, loop[i]) || hn_sv_depends(n, x->v, loop[i])) continue;
        if (!hn_sv_depends(n, x->q, loop[i])) continue;
        if (found < 0 || length(n, loop[i]) >= length(n, loop[found])) found = i;
    }
    x->query = found < 0 ? hn_nest_var(n, hn_ix_int(n, 1)) : loop[found]; /* one query has no loop */
    x->n_outer = 0;
    for (int i = 0; i < n_loop; i++)
        if (i != found) x->outer[x->n_outer++] = loop[i];
}

bool hn_attention_match(hn_nest *n, hn_attention *x) {
    hn_var loop[HN_ATTENTION_LOOPS];
    int n_loop;
    hn_buf row, quotients;
    hn_st list = row_list(n, loop, &n_loop), scores = act(n, list), last;
    *x = (hn_attention){0};
    if (!scores || !match_scores(n, scores, x, &row) || !match_softmax(n, scores, row, &quotients, &last)) return false;
    if (!match_values(n, after(n, last), quotients, x)) return false;
    if (!hn_ix_is_dim(n, n->extent[x->key], NULL) || n->extent[x->key] != n->extent[x->key_v]) return false;
    if (!constant_loop(n, x->depth) || !constant_loop(n, x->column)) return false;
    if (hn_sv_depends(n, x->q, x->key)) return false;
    bool columns = hn_attend_unit_stride(n, x->v, x->column);
    if (columns) choose_query(n, loop, n_loop, x);
    return columns;
}
