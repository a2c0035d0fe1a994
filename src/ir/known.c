/* ir/known.c — what is known at compile time: constants behind pure nodes, and small integer tensors as dimension
 * expressions.
 *
 * Elements are followed backwards through the nodes that compute shapes; a value is visited once per question, and at
 * most MOST_VISITS values are. A node over constants alone becomes a constant in place, which is its cache.
 */
#include "ir/build.h"
#include "ir/interp.h"

#include <stdlib.h>
#include <string.h>

enum { ELEMENTS = 256, MOST_VISITS = 400, DEPTH_MAX = 200, FOLD_MOST = 1 << 20 };

/* --- constants --------------------------------------------------------------------------------------------------- */

static const hn_tensor *known_tensor(hn_graph *g, hn_val v, unsigned depth);

static bool attrs_constant(const hn_graph *g, const hn_node *n) {
    for (size_t i = 0; i < n->n_attr; i++) {
        for (size_t k = 0; n->attr[i].kind == HN_K_DIMS && k < n->attr[i].n; k++)
            if (!hn_dim_is_int(g->dims, n->attr[i].dims[k], NULL)) return false;
    }
    return true;
}

static bool may_fold(const hn_graph *g, hn_val v) {
    const hn_node *n = hn_def(g, v);
    const hn_type *t = hn_type_of(g, v);
    hn_tensor size = {.dtype = t->dtype, .rank = t->rank};
    int64_t count;
    if (!n || n->n_out != 1 || !(hn_op_of(n->op)->flags & HN_PURE) || n->op == HN_OP_KERNEL) return false;
    if (!hn_type_static(g, t, size.dim) || !hn_tensor_count(&size, &count) || count > FOLD_MOST) return false;
    return attrs_constant(g, n);
}

/* The node becomes `const` in place. */
static const hn_tensor *become_const(hn_graph *g, hn_val v, const hn_tensor *t) {
    hn_node *n = &g->node[g->value[v].node - 1];
    hn_attr *a = HN_NEW(&g->arena, hn_attr);
    hn_tensor *kept = HN_NEW(&g->arena, hn_tensor);
    if (!a || !kept) return NULL;
    *kept = *t;
    *a = (hn_attr){.id = HN_A_VALUE, .kind = HN_K_TENSOR, .n = 1, .tensor = kept};
    n->op = HN_OP_CONST;
    n->n_in = 0;
    n->attr = a;
    n->n_attr = 1;
    return kept;
}

static const hn_tensor *fold(hn_graph *g, hn_val v, hn_tensor *in, int64_t *symbol, unsigned depth) {
    const hn_node *n = hn_def(g, v);
    hn_tensor out;
    size_t n_symbols = hn_dims_symbols(g->dims);
    for (size_t i = 0; i < n->n_in; i++) {
        const hn_tensor *t = known_tensor(g, hn_def(g, v)->in[i], depth + 1);
        if (!t) return NULL;
        in[i] = *t;
    }
    for (size_t i = 0; i < n_symbols; i++) symbol[i] = INT64_MIN;
    if (hn_interpret_node(g, hn_def(g, v), in, symbol, &g->arena, &out, NULL)) return NULL;
    return become_const(g, v, &out);
}

static const hn_tensor *known_tensor(hn_graph *g, hn_val v, unsigned depth) {
    const hn_node *n = v ? hn_def(g, v) : NULL;
    if (!n || depth > DEPTH_MAX) return NULL;
    if (n->op == HN_OP_CONST) return hn_attr_get(n, HN_A_VALUE)->tensor;
    if (!may_fold(g, v)) return NULL;
    hn_tensor *in = calloc(n->n_in + 1u, sizeof *in);
    int64_t *symbol = calloc(hn_dims_symbols(g->dims) + 1, sizeof *symbol);
    if (!in || !symbol) g->arena.failed = true;
    const hn_tensor *t = in && symbol ? fold(g, v, in, symbol, depth) : NULL;
    free(in);
    free(symbol);
    return t;
}

const hn_tensor *hn_known_tensor(hn_builder *b, hn_val v) {
    return hn_graph_ok(b->g) ? known_tensor(b->g, v, 0) : NULL;
}

/* --- elements as expressions ------------------------------------------------------------------------------------- */

/* A small tensor of expressions, row-major; 0 where an element is not known. Bools are 0 and 1. */
typedef struct elements {
    hn_val v;
    size_t rank;
    int64_t dim[HN_RANK_MAX], n;
    hn_dim e[ELEMENTS];
    struct elements *next;
} elements;

typedef struct search {
    hn_builder *b;
    hn_dims *t;
    elements *seen; /* what was found so far, by value */
    unsigned visits;
} search;

static const elements *look(search *s, hn_val v, unsigned depth);

/* Types in which sizes are computed: wide enough that no sum of sizes wraps. */
static bool is_whole(hone_dtype t) {
    return t == HONE_I64 || t == HONE_I32 || t == HONE_U64 || t == HONE_U32 || t == HONE_BOOL;
}

static void from_tensor(search *s, const hn_tensor *c, elements *out) {
    for (int64_t i = 0; i < out->n; i++) out->e[i] = hn_dim_int(s->t, hn_get_i(c, i));
}

static bool not_negative(search *s, hn_dim d) {
    int64_t low, high;
    hn_dim_range(s->t, d, &low, &high);
    return low >= 0;
}

static hn_dim truth(search *s, bool x) { return hn_dim_int(s->t, x); }

/* x <= y (or x < y) where ranges decide it, else 0. */
static hn_dim compare(search *s, hn_dim x, hn_dim y, bool strict) {
    int64_t low, high;
    hn_dim_range(s->t, hn_dim_sub(s->t, y, x), &low, &high);
    if (low >= (strict ? 1 : 0)) return truth(s, true);
    return high < (strict ? 1 : 0) ? truth(s, false) : 0;
}

static hn_dim compare_equal(search *s, hn_dim x, hn_dim y, bool same) {
    hn_known_equal k = hn_dim_equal(s->t, x, y);
    return k == HN_MAYBE ? 0 : truth(s, (k == HN_EQUAL) == same);
}

static hn_dim unary_of(search *s, hn_op op, hn_dim x) {
    int64_t n;
    switch (op) {
    case HN_OP_NEG: return hn_dim_sub(s->t, hn_dim_int(s->t, 0), x);
    case HN_OP_ABS: return not_negative(s, x) ? x : 0;
    case HN_OP_NOT: /* of bools */ return hn_dim_is_int(s->t, x, &n) && (n == 0 || n == 1) ? truth(s, !n) : 0;
    case HN_OP_FLOOR:
    case HN_OP_CEIL:
    case HN_OP_ROUND:
    case HN_OP_TRUNC: return x;
    default: return 0;
    }
}

/* Logical operations on bools: one known side may decide. */
static hn_dim logic_of(search *s, hn_op op, hn_dim x, hn_dim y) {
    int64_t a, b;
    bool has_a = x && hn_dim_is_int(s->t, x, &a), has_b = y && hn_dim_is_int(s->t, y, &b);
    bool decides = op == HN_OP_OR;
    if (op != HN_OP_XOR && ((has_a && (a != 0) == decides) || (has_b && (b != 0) == decides))) return truth(s, decides);
    if (!has_a || !has_b) return 0;
    return truth(s, op == HN_OP_XOR ? (a != 0) != (b != 0) : !decides);
}

static hn_dim binary_of(search *s, hn_op op, hn_dim x, hn_dim y) {
    bool positive = x && y && not_negative(s, x) && not_negative(s, y);
    int64_t a, b;
    if (!x || !y) return 0;
    switch (op) {
    case HN_OP_ADD: return hn_dim_add(s->t, x, y);
    case HN_OP_SUB: return hn_dim_sub(s->t, x, y);
    case HN_OP_MUL: return hn_dim_mul(s->t, x, y);
    case HN_OP_MIN: return hn_dim_min(s->t, x, y);
    case HN_OP_MAX: return hn_dim_max(s->t, x, y);
    case HN_OP_DIV: /* truncates: what floordiv does, unless a side is negative */
        if (hn_dim_is_int(s->t, x, &a) && hn_dim_is_int(s->t, y, &b) && b != 0 && b != -1)
            return hn_dim_int(s->t, a / b);
        return positive ? hn_dim_floordiv(s->t, x, y) : 0;
    case HN_OP_REM: return positive ? hn_dim_mod(s->t, x, y) : 0;
    case HN_OP_MOD: return hn_dim_mod(s->t, x, y);
    case HN_OP_EQ: return compare_equal(s, x, y, true);
    case HN_OP_NE: return compare_equal(s, x, y, false);
    case HN_OP_LT: return compare(s, x, y, true);
    case HN_OP_LE: return compare(s, x, y, false);
    default: return 0;
    }
}

/* A cast to a number gives x itself, a cast to bool whether it is not 0. */
static hn_dim cast_of(search *s, hn_dim x, bool to_bool) {
    int64_t n;
    if (!x || !to_bool) return x;
    return hn_dim_is_int(s->t, x, &n) ? truth(s, n != 0) : 0;
}

static void look_unary(search *s, const hn_node *n, elements *out, unsigned depth) {
    const elements *x = look(s, n->in[0], depth);
    bool to_bool = hn_type_of(s->b->g, out->v)->dtype == HONE_BOOL;
    if (!x || (n->op == HN_OP_NOT && !to_bool)) return;
    for (int64_t i = 0; i < out->n; i++)
        out->e[i] = n->op == HN_OP_CAST ? cast_of(s, x->e[i], to_bool) : x->e[i] ? unary_of(s, n->op, x->e[i]) : 0;
}

static void look_binary(search *s, const hn_node *n, elements *out, unsigned depth) {
    const elements *x = look(s, n->in[0], depth), *y = look(s, n->in[1], depth);
    bool logic = hn_type_of(s->b->g, n->in[0])->dtype == HONE_BOOL;
    logic &= n->op == HN_OP_AND || n->op == HN_OP_OR || n->op == HN_OP_XOR;
    for (int64_t i = 0; x && y && i < out->n; i++)
        out->e[i] = logic ? logic_of(s, n->op, x->e[i], y->e[i]) : binary_of(s, n->op, x->e[i], y->e[i]);
}

static void look_select(search *s, const hn_node *n, elements *out, unsigned depth) {
    const elements *c = look(s, n->in[0], depth), *x = look(s, n->in[1], depth), *y = look(s, n->in[2], depth);
    for (int64_t i = 0; c && i < out->n; i++) {
        int64_t yes;
        if (!c->e[i] || !hn_dim_is_int(s->t, c->e[i], &yes)) continue;
        out->e[i] = yes ? (x ? x->e[i] : 0) : (y ? y->e[i] : 0);
    }
}

/* --- movement ---------------------------------------------------------------------------------------------------- */

static void unflatten(int64_t i, const elements *of, int64_t index[HN_RANK_MAX]) {
    for (size_t k = of->rank; k-- > 0;) {
        index[k] = of->dim[k] ? i % of->dim[k] : 0;
        i = of->dim[k] ? i / of->dim[k] : 0;
    }
}

static hn_dim element(const elements *x, const int64_t index[HN_RANK_MAX]) {
    int64_t at = 0;
    for (size_t k = 0; k < x->rank; k++) {
        if (index[k] < 0 || index[k] >= x->dim[k]) return 0;
        at = at * x->dim[k] + index[k];
    }
    return x->e[at];
}

/* Where result index i of a movement node comes from; false when that is not known. */
static bool source_index(search *s, const hn_node *n, const elements *x, const int64_t *i, int64_t *from) {
    for (size_t k = 0; k < x->rank; k++) {
        int64_t start;
        switch (n->op) {
        case HN_OP_TRANSPOSE: {
            size_t to = 0;
            while (hn_attr_get(n, HN_A_PERM)->ints[to] != (int64_t)k) to++;
            from[k] = i[to];
            break;
        }
        case HN_OP_BROADCAST: from[k] = x->dim[k] == 1 ? 0 : i[hn_attr_get(n, HN_A_MAP)->ints[k]]; break;
        default:
            if (!hn_dim_is_int(s->t, hn_attr_get(n, HN_A_START)->dims[k], &start)) return false;
            from[k] = start + i[k] * hn_attr_get(n, HN_A_STEP)->ints[k];
        }
    }
    return true;
}

static void look_moved(search *s, const hn_node *n, elements *out, unsigned depth) {
    const elements *x = look(s, n->in[0], depth);
    int64_t to[HN_RANK_MAX], from[HN_RANK_MAX];
    for (int64_t i = 0; x && i < out->n; i++) {
        if (n->op == HN_OP_RESHAPE) {
            out->e[i] = i < x->n ? x->e[i] : 0;
            continue;
        }
        unflatten(i, out, to);
        if (source_index(s, n, x, to, from)) out->e[i] = element(x, from);
    }
}

static void look_concat(search *s, const hn_node *n, elements *out, unsigned depth) {
    size_t axis = (size_t)hn_attr_i(n, HN_A_AXIS, 0);
    int64_t first = 0, to[HN_RANK_MAX];
    for (size_t p = 0; p < n->n_in; p++) {
        const elements *x = look(s, n->in[p], depth);
        hn_type t = *hn_type_of(s->b->g, n->in[p]);
        int64_t length;
        if (!hn_dim_is_int(s->t, t.dim[axis], &length)) return;
        for (int64_t i = 0; x && i < out->n; i++) {
            unflatten(i, out, to);
            if (to[axis] < first || to[axis] >= first + length) continue;
            to[axis] -= first;
            out->e[i] = element(x, to);
        }
        first += length;
    }
}

static void look_gather(search *s, const hn_node *n, elements *out, unsigned depth) {
    const elements *x = look(s, n->in[0], depth), *index = look(s, n->in[1], depth);
    size_t axis = (size_t)hn_attr_i(n, HN_A_AXIS, 0);
    int64_t to[HN_RANK_MAX], from[HN_RANK_MAX], at;
    if (!x || !index || hn_attr_i(n, HN_A_BATCH, 0)) return;
    for (int64_t i = 0; i < out->n; i++) {
        unflatten(i, out, to);
        hn_dim where = element(index, to + axis);
        if (!where || !hn_dim_is_int(s->t, where, &at)) continue;
        for (size_t k = 0; k < x->rank; k++) from[k] = k < axis ? to[k] : k == axis ? 0 : to[k + index->rank - 1];
        from[axis] = at < 0 ? at + x->dim[axis] : at;
        out->e[i] = element(x, from);
    }
}

static void look_reduced(search *s, const hn_node *n, elements *out, unsigned depth) {
    static const struct {
        hn_op op, with;
    } row[] = {{HN_OP_RSUM, HN_OP_ADD}, {HN_OP_RPROD, HN_OP_MUL}, {HN_OP_RMIN, HN_OP_MIN}, {HN_OP_RMAX, HN_OP_MAX}};
    const elements *x = look(s, n->in[0], depth);
    const hn_attr *axes = hn_attr_get(n, HN_A_AXES);
    bool keep = hn_attr_i(n, HN_A_KEEP, 0), started[ELEMENTS] = {false};
    hn_op with = HN_OP_ADD;
    if (!x || x->n == 0 || hn_type_of(s->b->g, n->in[0])->dtype == HONE_BOOL) return;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (row[i].op == n->op) with = row[i].with;
    for (int64_t i = 0; i < x->n; i++) {
        int64_t from[HN_RANK_MAX], at = 0;
        unflatten(i, x, from);
        for (size_t k = 0, a = 0, to = 0; k < x->rank; k++) {
            bool gone = a < axes->n && axes->ints[a] == (int64_t)k;
            a += gone;
            if (!gone) at = at * out->dim[to] + from[k];
            to += !gone || keep;
        }
        out->e[at] = started[at] ? binary_of(s, with, out->e[at], x->e[i]) : x->e[i];
        started[at] = true;
    }
}

/* --- the search -------------------------------------------------------------------------------------------------- */

static void look_node(search *s, hn_val v, elements *out, unsigned depth) {
    const hn_tensor *c = known_tensor(s->b->g, v, 0);
    const hn_node *n = hn_def(s->b->g, v);
    if (c) {
        from_tensor(s, c, out);
        return;
    }
    if (!n || n->n_out != 1 || depth > DEPTH_MAX) return;
    switch (hn_op_of(n->op)->cls) {
    case HN_SOURCE:
        if (n->op == HN_OP_DIMS) memcpy(out->e, hn_attr_get(n, HN_A_SHAPE)->dims, (size_t)out->n * sizeof *out->e);
        break;
    case HN_UNARY: look_unary(s, n, out, depth + 1); break;
    case HN_BINARY: look_binary(s, n, out, depth + 1); break;
    case HN_TERNARY: look_select(s, n, out, depth + 1); break;
    case HN_MOVE:
        if (n->op == HN_OP_CONCAT)
            look_concat(s, n, out, depth + 1);
        else if (n->op != HN_OP_PAD)
            look_moved(s, n, out, depth + 1);
        break;
    case HN_INDEX:
        if (n->op == HN_OP_GATHER) look_gather(s, n, out, depth + 1);
        break;
    case HN_REDUCE: look_reduced(s, n, out, depth + 1); break;
    default: break;
    }
}

/* The elements of v; NULL where it is no small integer tensor of known shape. */
static const elements *look(search *s, hn_val v, unsigned depth) {
    for (const elements *x = s->seen; x; x = x->next)
        if (x->v == v) return x;
    const hn_type *t = hn_type_of(s->b->g, v);
    hn_tensor size = {.dtype = t->dtype, .rank = t->rank};
    int64_t n;
    if (!is_whole(t->dtype) || !hn_type_static(s->b->g, t, size.dim) || !hn_tensor_count(&size, &n)) return NULL;
    if (n > ELEMENTS || s->visits++ > MOST_VISITS) return NULL;
    elements *x = calloc(1, sizeof *x);
    if (!x) s->b->g->arena.failed = true;
    if (!x) return NULL;
    x->v = v;
    x->rank = t->rank;
    x->n = n;
    memcpy(x->dim, size.dim, sizeof x->dim);
    look_node(s, v, x, depth);
    x->next = s->seen;
    s->seen = x;
    return x;
}

/* The elements of v, 0 where one is not known. False: v has no known length, or more than `room` elements. */
static bool find_elements(hn_builder *b, hn_val v, hn_dim *out, size_t room, size_t *n) {
    search s = {.b = b, .t = b->g->dims};
    if (!v || !hn_graph_ok(b->g) || hn_rank(b, v) > 1) return false;
    const elements *x = look(&s, v, 0);
    bool found = x && (size_t)x->n <= room;
    if (found) {
        memcpy(out, x->e, (size_t)x->n * sizeof *out);
        *n = (size_t)x->n;
    }
    while (s.seen) {
        elements *next = s.seen->next;
        free(s.seen);
        s.seen = next;
    }
    return found;
}

bool hn_known_dims(hn_builder *b, hn_val v, hn_dim *out, size_t room, size_t *n) {
    hn_dim e[ELEMENTS];
    size_t count;
    if (!find_elements(b, v, e, ELEMENTS, &count) || count > room) return false;
    for (size_t i = 0; i < count; i++)
        if (!e[i]) return false;
    memcpy(out, e, count * sizeof *out);
    *n = count;
    return true;
}

/* --- binding ----------------------------------------------------------------------------------------------------- */

/* Is block `outer` b itself or around it? */
static bool encloses(const hn_graph *g, hn_block outer, hn_block b) {
    while (b != outer && b) b = g->block[b].parent;
    return b == outer;
}

static bool same_value(hn_builder *b, hn_val x, hn_val y) {
    const hn_node *p = hn_def(b->g, x), *q = hn_def(b->g, y);
    if (x == y) return true;
    if (!p || !q || p->op != q->op || !p->n_in) return false;
    if (p->op == HN_OP_CAST) return p->in[0] == q->in[0]; /* both to i64 */
    if (p->op != HN_OP_GATHER || !same_value(b, p->in[0], q->in[0])) return false;
    const hn_tensor *i = known_tensor(b->g, p->in[1], 0), *k = known_tensor(b->g, q->in[1], 0);
    return i && k && i->rank == 1 && k->rank == 1 && i->dim[0] == k->dim[0] &&
           !memcmp(i->data, k->data, (size_t)i->dim[0] * sizeof(int64_t));
}

/* A bind of the same elements that is in scope already, so that two uses of one shape agree. */
static const hn_node *find_bind(hn_builder *b, hn_val vector) {
    for (hn_block k = b->b;; k = b->g->block[k].parent) {
        for (uint32_t i = 0; i < b->g->block[k].n_node; i++) {
            const hn_node *n = &b->g->node[b->g->block[k].node[i]];
            if (n->op == HN_OP_BIND && same_value(b, n->in[0], vector) && encloses(b->g, k, b->b)) return n;
        }
        if (!k) return NULL;
    }
}

/* The symbols that stand for the elements of an i64 vector of length n. */
static bool bind_vector(hn_builder *b, hn_val vector, const char *hint, size_t n, hn_dim *out) {
    const hn_node *old = find_bind(b, vector);
    if (!hn_graph_ok(b->g)) return false;
    if (old) {
        memcpy(out, hn_attr_get(old, HN_A_DEFINES)->dims, n * sizeof *out);
        return true;
    }
    for (size_t i = 0; i < n; i++) {
        char *name = hn_format(&b->g->arena, "%s%zu", hint, i);
        out[i] = name ? hn_dim_symbol(b->g->dims, name, 0, INT64_MAX) : 0;
    }
    hn_attr a = {.id = HN_A_DEFINES, .kind = HN_K_DIMS, .n = (uint32_t)n, .dims = out};
    hn_emit(b->g, b->b, HN_OP_BIND, 1, &vector, 1, &a, 0);
    return hn_graph_ok(b->g);
}

bool hn_bind_dims(hn_builder *b, hn_val v, const char *hint, hn_dim *out, size_t room, size_t *n) {
    hn_dim e[ELEMENTS], symbol[ELEMENTS];
    int64_t at[ELEMENTS];
    size_t count, unknown = 0;
    if (!find_elements(b, v, e, ELEMENTS, &count) || count > room) return false;
    for (size_t i = 0; i < count; i++)
        if (!e[i]) at[unknown++] = (int64_t)i;
    if (unknown) {
        hn_dim length = hn_lit(b, (int64_t)count);
        hn_val vector = hn_reshape(b, hn_cast(b, v, HONE_I64), 1, &length);
        if (unknown < count) vector = hn_gather(b, vector, hn_const_ints(b, unknown, at), 0);
        if (!bind_vector(b, vector, hint, unknown, symbol)) return false;
    }
    for (size_t i = 0, k = 0; i < count; i++) out[i] = e[i] ? e[i] : symbol[k++];
    *n = count;
    return true;
}
