/* ir/public.c — the calls of hone/ir.h over ir/graph.h and the interpreter. */
#include "base/err.h"
#include "base/fs.h"
#include "base/str.h"
#include "ir/interp.h"

#include <stdlib.h>
#include <string.h>

enum { SIDE_ABOVE = 256 }; /* elements */

hone_rc hone_graph_parse(const char *text, size_t n, hone_graph **out, hone_err *err) {
    hone_rc rc = hn_parse(text, n, NULL, out, err);
    if (!rc) hn_graph_seal(*out);
    return rc;
}

hone_rc hone_graph_read(const char *path, hone_graph **out, hone_err *err) {
    char *text;
    size_t n;
    hone_rc rc = hn_read_file(path, &text, &n, err);
    if (rc) return rc;
    rc = hn_parse(text, n, path, out, err);
    if (!rc) hn_graph_seal(*out);
    free(text);
    return rc;
}

static hone_rc take_text(hn_str *s, char **out, hone_err *err) {
    char *text = hn_str_take(s);
    if (!text) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    *out = text;
    return HONE_OK;
}

hone_rc hone_graph_print(const hone_graph *g, char **out, hone_err *err) {
    hn_str s = {0};
    hn_print(g, &s);
    return take_text(&s, out, err);
}

hone_rc hone_graph_print_weights(const hone_graph *g, const char *weights, char **out, hone_err *err) {
    const char *slash = strrchr(weights, '/'), *name = slash ? slash + 1 : weights;
    if (!*name) return hn_fail(err, HONE_E_USAGE, "'%s' is not the name of a file", weights);
    hone_rc rc = hn_write_weights(g, SIDE_ABOVE, weights, err);
    if (rc) return rc;
    hn_str s = {0};
    hn_print_weights(g, SIDE_ABOVE, name, &s);
    return take_text(&s, out, err);
}

hone_rc hone_graph_verify(const hone_graph *g, hone_err *err) { return hn_verify(g, err); }
void hone_graph_free(hone_graph *g) { hn_graph_free(g); }

/* --- ports ------------------------------------------------------------------------------------------------------ */

void hn_port_shape(const hn_graph *g, hn_val v, hn_str *out) {
    const hn_value *x = &g->value[v];
    bool input = !x->node && !x->block;
    hn_str_add(out, "[");
    for (size_t i = 0; i < x->type.rank; i++) {
        hn_symbol own;
        hn_dim d = x->type.dim[i];
        if (i) hn_str_add(out, ", ");
        if (input && !hn_dim_is_int(g->dims, d, NULL) && hn_dim_is_symbol(g->dims, d, &own))
            hn_str_add(out, hn_symbol_name(g->dims, own));
        else
            hn_dim_print(g->dims, d, out);
    }
    hn_str_add(out, "]");
}

static const char *shape_text(hn_graph *g, hn_val v) {
    hn_str s = {0};
    hn_port_shape(g, v, &s);
    if (s.failed) g->arena.failed = true;
    const char *text = hn_strdup(&g->arena, s.failed ? "[]" : s.text);
    hn_str_free(&s);
    return text;
}

void hn_graph_seal(hn_graph *g) {
    const hn_blk *k = &g->block[0];
    g->port_shape = HN_NEW_N(&g->arena, const char *, k->n_param + (size_t)k->n_result);
    if (!g->port_shape) return;
    for (uint32_t i = 0; i < k->n_param; i++) g->port_shape[i] = shape_text(g, k->param[i]);
    for (uint32_t i = 0; i < k->n_result; i++) g->port_shape[k->n_param + i] = shape_text(g, k->result[i]);
}

size_t hone_graph_inputs(const hone_graph *g) { return g->block[0].n_param; }
size_t hone_graph_outputs(const hone_graph *g) { return g->block[0].n_result; }

static hone_rc port_of(const hone_graph *g, size_t at, hn_val v, const char *name, hone_graph_port *out,
                       hone_err *err) {
    if (!g->port_shape) hn_graph_seal((hn_graph *)g); /* of a graph in the making */
    if (!g->port_shape || !g->port_shape[at]) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    const hn_type *t = &g->value[v].type;
    *out = (hone_graph_port){.name = name, .dtype = t->dtype, .rank = t->rank, .shape = g->port_shape[at]};
    for (size_t i = 0; i < t->rank; i++)
        if (!hn_dim_is_int(g->dims, t->dim[i], &out->dim[i])) out->dim[i] = -1;
    return HONE_OK;
}

hone_rc hone_graph_input(const hone_graph *g, size_t i, hone_graph_port *out, hone_err *err) {
    const hn_blk *k = &g->block[0];
    if (i >= k->n_param) return hn_fail(err, HONE_E_USAGE, "the graph has %u inputs, no input %zu", k->n_param, i);
    return port_of(g, i, k->param[i], g->value[k->param[i]].name, out, err);
}

hone_rc hone_graph_output(const hone_graph *g, size_t i, hone_graph_port *out, hone_err *err) {
    const hn_blk *k = &g->block[0];
    if (i >= k->n_result) return hn_fail(err, HONE_E_USAGE, "the graph has %u outputs, no output %zu", k->n_result, i);
    return port_of(g, k->n_param + i, k->result[i], g->output_name[i], out, err);
}

/* --- running ---------------------------------------------------------------------------------------------------- */

hone_rc hn_array_tensor(const hone_array *a, hn_tensor *out, hone_err *err) {
    int64_t n;
    if (a->rank <= HN_RANK_MAX && hn_dtype_of(a->dtype)) {
        *out = (hn_tensor){.dtype = a->dtype, .rank = (uint8_t)a->rank, .data = a->data};
        memcpy(out->dim, a->dim, a->rank * sizeof *out->dim);
        if (hn_tensor_count(out, &n)) return HONE_OK;
    }
    return hn_fail(err, HONE_E_INPUT, "an array has no legal type or shape");
}

hone_rc hone_array_compare(const hone_array *got, const hone_array *want, double rtol, double atol,
                           hone_array_difference *out, hone_err *err) {
    hn_tensor a, b;
    hone_rc rc = hn_array_tensor(got, &a, err);
    if (!rc) rc = hn_array_tensor(want, &b, err);
    if (rc) return rc;
    hn_match m = hn_tensor_compare(&a, &b, (hn_match_rule){rtol, atol});
    *out = (hone_array_difference){m.same, m.max_abs, m.max_rel, m.n_wrong, m.at};
    return HONE_OK;
}

static hone_rc check_array(size_t i, const hone_array *in, hn_tensor *out, hone_err *err) {
    int64_t n;
    if (!hn_dtype_of(in->dtype)) return hn_fail(err, HONE_E_USAGE, "input %zu has no element type", i);
    if (in->rank > HONE_RANK_MAX)
        return hn_fail(err, HONE_E_USAGE, "input %zu has rank %u; at most %d", i, in->rank, HONE_RANK_MAX);
    hn_tensor t = {.dtype = in->dtype, .rank = (uint8_t)in->rank, .data = in->data};
    memcpy(t.dim, in->dim, in->rank * sizeof *t.dim);
    if (!hn_tensor_count(&t, &n)) return hn_fail(err, HONE_E_USAGE, "input %zu has an impossible size", i);
    if (n && !in->data) return hn_fail(err, HONE_E_USAGE, "input %zu has no data", i);
    *out = t;
    return HONE_OK;
}

static hone_rc give_array(const hn_tensor *t, hone_array *out, hone_err *err) {
    size_t size_b = (size_t)hn_tensor_n(t) * hn_dtype_of(t->dtype)->size_b;
    hone_array a = {.dtype = t->dtype, .rank = t->rank, .data = malloc(size_b ? size_b : 1)};
    if (!a.data) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (size_b) memcpy(a.data, t->data, size_b);
    memcpy(a.dim, t->dim, t->rank * sizeof *t->dim);
    *out = a;
    return HONE_OK;
}

static hone_rc give_all(const hn_tensor *t, hone_array *out, size_t n, hone_err *err) {
    hone_array *made = calloc(n + 1, sizeof *made);
    hone_rc rc = made ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
    for (size_t i = 0; i < n && !rc; i++) rc = give_array(&t[i], &made[i], err);
    for (size_t i = 0; i < n && made; i++) {
        if (rc)
            free(made[i].data);
        else
            out[i] = made[i];
    }
    free(made);
    return rc;
}

hone_rc hone_graph_run(const hone_graph *g, const hone_array *in, size_t n_in, hone_array *out, size_t n_out,
                       hone_err *err) {
    const hn_blk *k = &g->block[0];
    if (n_in != k->n_param || n_out != k->n_result)
        return hn_fail(err, HONE_E_USAGE, "the graph has %u inputs and %u outputs, not %zu and %zu", k->n_param,
                       k->n_result, n_in, n_out);
    hn_arena a = {0};
    hn_tensor *from = HN_NEW_N(&a, hn_tensor, n_in), *to = HN_NEW_N(&a, hn_tensor, n_out);
    hone_rc rc = from && to ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
    for (size_t i = 0; i < n_in && !rc; i++) rc = check_array(i, &in[i], &from[i], err);
    if (!rc) rc = hn_interpret(g, from, &a, to, NULL, err);
    if (!rc) rc = give_all(to, out, n_out, err);
    hn_arena_free(&a);
    return rc;
}
