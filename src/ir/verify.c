/* ir/verify.c — the invariants of ir/graph.h, by number. Structure and symbols are walked in the order of execution;
 * types are inferred once more in a copy of the graph and compared. */
#include "ir/graph.h"

#include "base/err.h"
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 64 };

typedef struct verifier {
    const hn_graph *g;
    hone_err *err;
    uint32_t *level; /* of a value: kernel nesting where it is defined + 1; 0: not in scope */
    bool *block_seen, *symbol, *used;
    size_t n_symbols;
    uint32_t kernels; /* kernels around the place; they see nothing of what is around them */
    unsigned depth;
} verifier;

static const char *source_of(const hn_graph *g, const hn_node *n) {
    return n->source && n->source <= g->n_source ? g->source[n->source - 1] : "unnamed";
}

static hone_rc broken(const verifier *v, int invariant, uint32_t node, const char *what) {
    const hn_node *n = &v->g->node[node];
    const hn_op_info *op = hn_op_of(n->op);
    return hn_fail(v->err, HONE_E_INPUT, "invariant %d: node %u, '%s' (%s): %s", invariant, node, op ? op->text : "?",
                   source_of(v->g, n), what);
}

/* --- 1, 2 and 4: walked in order --------------------------------------------------------------------------------- */

static bool define_value(verifier *v, hn_val x, hn_block b, uint32_t node, size_t index) {
    if (!x || x >= v->g->n_value || v->level[x]) return false;
    const hn_value *value = &v->g->value[x];
    v->level[x] = v->kernels + 1;
    return value->block == b && value->node == node && value->index == index && value->type.rank <= HN_RANK_MAX &&
           hn_dtype_of(value->type.dtype);
}

static bool in_scope(const verifier *v, hn_val x) { return x && x < v->g->n_value && v->level[x] == v->kernels + 1; }

/* Name of a symbol that d needs and nothing has defined; NULL: all are. */
static const char *undefined_symbol(verifier *v, hn_dim d) {
    const char *name = NULL;
    memset(v->used, 0, v->n_symbols * sizeof *v->used);
    hn_dim_mark(v->g->dims, d, v->used);
    for (size_t i = 0; i < v->n_symbols && !name; i++)
        if (v->used[i] && !v->symbol[i]) name = hn_symbol_name(v->g->dims, (hn_symbol)i);
    return name;
}

static hone_rc check_dims(verifier *v, uint32_t node, const hn_dim *d, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (!d[i]) return broken(v, 4, node, "a dimension is missing");
        if (hn_dim_is_int(v->g->dims, d[i], NULL)) continue;
        const char *name = undefined_symbol(v, d[i]);
        char text[200];
        if (!name) continue;
        snprintf(text, sizeof text, "symbol '%.100s' is used before anything defines it", name);
        return broken(v, 4, node, text);
    }
    return HONE_OK;
}

static hone_rc define_symbols(verifier *v, uint32_t node, const hn_attr *a) {
    for (uint32_t i = 0; a && i < a->n; i++) {
        hn_symbol s;
        if (!hn_dim_is_symbol(v->g->dims, a->dims[i], &s)) return broken(v, 4, node, "it defines what is no symbol");
        if (v->symbol[s]) return broken(v, 4, node, "it defines a symbol that is defined already");
        v->symbol[s] = true;
    }
    return HONE_OK;
}

static hone_rc check_attrs(const verifier *v, uint32_t id, const hn_node *n) {
    const hn_op_info *op = hn_op_of(n->op);
    if (n->n_in < op->in_min || (op->in_max >= 0 && n->n_in > op->in_max))
        return broken(v, 2, id, "wrong number of inputs");
    if (op->outs >= 0 && n->n_out != op->outs) return broken(v, 2, id, "wrong number of results");
    for (size_t i = 0; i < n->n_attr; i++) {
        const hn_attr *a = &n->attr[i];
        const hn_attr_info *info = hn_attr_of(a->id);
        if (!info || a->kind != info->kind) return broken(v, 2, id, "an attribute is not of its kind");
        if (i && n->attr[i - 1].id >= a->id) return broken(v, 2, id, "attributes are not ascending");
        if (!hn_op_takes(n->op, a->id)) return broken(v, 2, id, "an attribute that the operation does not take");
        if (a->kind == HN_K_DTYPE && !hn_dtype_of((hone_dtype)a->i)) return broken(v, 2, id, "no such element type");
        if (a->kind == HN_K_NAME && !a->name) return broken(v, 2, id, "an attribute is empty");
    }
    return HONE_OK;
}

static hone_rc check_block(verifier *v, hn_block b, uint32_t owner);

/* What a region defines is out of scope after it; symbols of a kernel stay in scope: they come out with its results. */
static hone_rc check_region(verifier *v, hn_block b, hn_block parent, uint32_t owner) {
    const hn_graph *g = v->g;
    bool kernel = g->node[owner].op == HN_OP_KERNEL;
    if (b >= g->n_block || v->block_seen[b] || g->block[b].parent != parent)
        return broken(v, 1, owner, "a region is used twice, or is not in this block");
    if (v->depth == DEPTH_MAX) return broken(v, 1, owner, "regions are nested too deeply");
    bool *before = kernel ? NULL : malloc(v->n_symbols + 1);
    if (!kernel && !before) return hn_fail(v->err, HONE_E_NOMEM, "out of memory");
    if (before) memcpy(before, v->symbol, v->n_symbols);
    v->depth++;
    v->kernels += kernel;
    hone_rc rc = check_block(v, b, owner);
    v->kernels -= kernel;
    v->depth--;
    if (before) memcpy(v->symbol, before, v->n_symbols);
    free(before);
    return rc;
}

static hone_rc check_node(verifier *v, hn_block b, uint32_t id) {
    const hn_graph *g = v->g;
    if (id >= g->n_node || !hn_op_of(g->node[id].op))
        return hn_fail(v->err, HONE_E_INPUT, "invariant 1: no node %u", id);
    const hn_node *n = &g->node[id];
    hone_rc rc = check_attrs(v, id, n);
    for (size_t i = 0; !rc && i < n->n_in; i++)
        if (!in_scope(v, n->in[i])) rc = broken(v, 1, id, "an input is not defined before it, or not in scope");
    const hn_attr *defines = hn_attr_get(n, HN_A_DEFINES), *body = hn_attr_get(n, HN_A_BODY);
    if (!rc) rc = define_symbols(v, id, defines);
    for (size_t i = 0; !rc && i < n->n_attr; i++)
        if (n->attr[i].kind == HN_K_DIMS && n->attr[i].id != HN_A_DEFINES)
            rc = check_dims(v, id, n->attr[i].dims, n->attr[i].n);
    for (uint32_t i = 0; !rc && body && i < body->n; i++) rc = check_region(v, body->blocks[i], b, id);
    for (size_t i = 0; !rc && i < n->n_out; i++) {
        if (!define_value(v, n->out[i], b, id + 1, i))
            return broken(v, 1, id, "a result is defined twice or elsewhere");
        rc = check_dims(v, id, g->value[n->out[i]].type.dim, g->value[n->out[i]].type.rank);
    }
    return rc;
}

static void leave_block(verifier *v, const hn_blk *k) {
    for (uint32_t i = 0; i < k->n_param; i++) v->level[k->param[i]] = 0;
    for (uint32_t i = 0; i < k->n_node; i++) {
        const hn_node *n = &v->g->node[k->node[i]];
        for (size_t j = 0; j < n->n_out; j++) v->level[n->out[j]] = 0;
    }
}

static hone_rc check_block(verifier *v, hn_block b, uint32_t owner) {
    const hn_blk *k = &v->g->block[b];
    hone_rc rc = HONE_OK;
    v->block_seen[b] = true;
    for (uint32_t i = 0; !rc && i < k->n_param; i++) {
        if (!define_value(v, k->param[i], b, 0, i))
            return broken(v, 1, owner, "a parameter is defined twice or elsewhere");
        if (b) rc = check_dims(v, owner, v->g->value[k->param[i]].type.dim, v->g->value[k->param[i]].type.rank);
    }
    for (uint32_t i = 0; !rc && i < k->n_node; i++) rc = check_node(v, b, k->node[i]);
    for (uint32_t i = 0; !rc && b && i < k->n_result; i++)
        if (!in_scope(v, k->result[i])) rc = broken(v, 1, owner, "a region yields a value that is not in scope");
    if (!rc && b) leave_block(v, k);
    return rc;
}

/* Symbols of an input's dimensions are known when a run begins, if one dimension has that symbol and no other. */
static void define_input_symbols(verifier *v) {
    const hn_blk *k = &v->g->block[0];
    for (uint32_t i = 0; i < k->n_param; i++) {
        const hn_type *t = &v->g->value[k->param[i]].type;
        for (size_t d = 0; d < t->rank; d++) {
            size_t n = 0, last = 0;
            memset(v->used, 0, v->n_symbols * sizeof *v->used);
            hn_dim_mark(v->g->dims, t->dim[d], v->used);
            for (size_t s = 0; s < v->n_symbols; s++)
                if (v->used[s]) n++, last = s;
            if (n == 1) v->symbol[last] = true;
        }
    }
}

/* --- 5 and the ports ---------------------------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

static hone_rc check_names(const verifier *v, const char **name, size_t n, const char *what) {
    const char **sorted = malloc((n + 1) * sizeof *sorted);
    if (!sorted) return hn_fail(v->err, HONE_E_NOMEM, "out of memory");
    hone_rc rc = HONE_OK;
    for (size_t i = 0; i < n && !rc; i++)
        if (!(sorted[i] = name[i])) rc = hn_fail(v->err, HONE_E_INPUT, "invariant 5: %s %zu has no name", what, i);
    if (!rc) qsort(sorted, n, sizeof *sorted, by_text);
    for (size_t i = 1; i < n && !rc; i++)
        if (!strcmp(sorted[i - 1], sorted[i]))
            rc = hn_fail(v->err, HONE_E_INPUT, "invariant 5: two %ss are called '%s'", what, sorted[i]);
    free(sorted);
    return rc;
}

static hone_rc check_ports(verifier *v) {
    const hn_graph *g = v->g;
    const hn_blk *k = &g->block[0];
    const char **name = malloc((k->n_param + 1u) * sizeof *name);
    if (!name) return hn_fail(v->err, HONE_E_NOMEM, "out of memory");
    hone_rc rc = HONE_OK;
    for (uint32_t i = 0; i < k->n_param; i++) {
        const hn_type *t = &g->value[k->param[i]].type;
        const char *loose = NULL;
        name[i] = g->value[k->param[i]].name;
        for (size_t d = 0; d < t->rank && !loose; d++)
            if (!hn_dim_is_int(g->dims, t->dim[d], NULL)) loose = undefined_symbol(v, t->dim[d]);
        if (loose && !rc)
            rc = hn_fail(v->err, HONE_E_INPUT,
                         "invariant 4: no input gives symbol '%s', which a dimension of input '%s' needs", loose,
                         name[i] ? name[i] : "");
    }
    for (uint32_t i = 0; i < k->n_result && !rc; i++)
        if (!in_scope(v, k->result[i]))
            rc = hn_fail(v->err, HONE_E_INPUT, "invariant 1: output '%s' is not defined", g->output_name[i]);
    if (!rc) rc = check_names(v, name, k->n_param, "input");
    if (!rc) rc = check_names(v, g->output_name, k->n_result, "output");
    free(name);
    return rc;
}

/* --- 3: types ----------------------------------------------------------------------------------------------------- */

static bool same_dim(const hn_graph *a, const hn_graph *b, hn_dim x, hn_dim y) {
    int64_t i, j;
    if (hn_dim_is_int(a->dims, x, &i) && hn_dim_is_int(b->dims, y, &j)) return i == j;
    hn_dim z = hn_dim_copy(b->dims, a->dims, x, NULL);
    return z == y || hn_dim_equal(b->dims, z, y) == HN_EQUAL;
}

static bool same_type(const hn_graph *a, const hn_graph *b, const hn_type *x, const hn_type *y) {
    bool same = x->dtype == y->dtype && x->rank == y->rank;
    for (size_t i = 0; same && i < x->rank; i++) same = same_dim(a, b, x->dim[i], y->dim[i]);
    return same;
}

static hone_rc compare_block(const verifier *v, const hn_graph *copy, hn_block b, hn_block c);

/* A copy has the same nodes in the same order. */
static hone_rc compare_node(const verifier *v, const hn_graph *copy, uint32_t id, uint32_t twin) {
    const hn_node *n = &v->g->node[id], *m = &copy->node[twin];
    const hn_attr *body = hn_attr_get(n, HN_A_BODY), *body2 = hn_attr_get(m, HN_A_BODY);
    hone_rc rc = HONE_OK;
    for (size_t i = 0; i < n->n_out && !rc; i++) {
        const hn_type *t = &v->g->value[n->out[i]].type, *want = &copy->value[m->out[i]].type;
        if (same_type(v->g, copy, t, want)) continue;
        hn_str s = {0};
        hn_type_print(v->g, t, &s);
        hn_str_add(&s, " is stored, the type rule gives ");
        hn_type_print(copy, want, &s);
        rc = broken(v, 3, id, s.text ? s.text : "types differ");
        hn_str_free(&s);
    }
    for (uint32_t i = 0; !rc && body && i < body->n; i++)
        rc = compare_block(v, copy, body->blocks[i], body2->blocks[i]);
    return rc;
}

static hone_rc compare_block(const verifier *v, const hn_graph *copy, hn_block b, hn_block c) {
    hone_rc rc = HONE_OK;
    const hn_blk *k = &v->g->block[b], *m = &copy->block[c];
    for (uint32_t i = 0; i < k->n_node && !rc; i++) rc = compare_node(v, copy, k->node[i], m->node[i]);
    return rc;
}

static hone_rc check_types(const verifier *v) {
    hn_graph *copy = hn_copy_graph(v->g);
    if (!copy || !hn_arena_ok(&copy->arena)) {
        hn_graph_free(copy);
        return hn_fail(v->err, HONE_E_NOMEM, "out of memory");
    }
    hone_rc rc = hn_graph_ok(copy) ? compare_block(v, copy, 0, 0)
                                   : hn_fail(v->err, HONE_E_INPUT, "invariant 3: %s", copy->err.text);
    hn_graph_free(copy);
    return rc;
}

hone_rc hn_verify(const hn_graph *g, hone_err *err) {
    if (!hn_arena_ok(&g->arena)) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (g->err.rc) return hn_fail(err, g->err.rc, "%s", g->err.text);
    verifier v = {.g = g, .err = err, .n_symbols = hn_dims_symbols(g->dims)};
    v.level = calloc(g->n_value, sizeof *v.level);
    v.block_seen = calloc(g->n_block, sizeof *v.block_seen);
    v.symbol = calloc(2 * v.n_symbols + 1, sizeof *v.symbol);
    hone_rc rc = HONE_OK;
    if (!v.level || !v.block_seen || !v.symbol)
        rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
    else {
        v.used = v.symbol + v.n_symbols;
        define_input_symbols(&v);
        rc = check_block(&v, 0, 0);
        if (!rc) rc = check_ports(&v);
        if (!rc) rc = check_types(&v);
    }
    free(v.level);
    free(v.block_seen);
    free(v.symbol);
    return rc;
}
