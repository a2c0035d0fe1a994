/* context.c — what a lowering sees of its node: inputs, outputs, attributes, subgraphs. */
#include "base/err.h"
#include "onnx/import_int.h"
#include "onnx/lower_vec.h"

#include <onnx.pb-c.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

hn_builder *hn_lower_builder(hn_lower *c) { return &c->b; }
int hn_lower_opset(const hn_lower *c) { return c->opset; }
int hn_lower_arg(const hn_lower *c) { return c->row->arg; }
const char *hn_lower_op(const hn_lower *c) { return c->node->op_type; }

void hn_refuse(hn_lower *c, const char *reason, ...) {
    char text[500];
    va_list ap;
    if (c->refused || c->im->err.rc) return; /* one reason per node */
    va_start(ap, reason);
    vsnprintf(text, sizeof text, reason, ap);
    va_end(ap);
    const char *domain = hn_domain(c->node->domain);
    hn_import_refuse(c->im, "%s, opset %d of %s: %s", c->shown, c->opset, domain[0] ? domain : "ai.onnx", text);
    c->refused = true;
}

void hn_wrong(hn_lower *c, const char *what, ...) {
    char text[700];
    va_list ap;
    va_start(ap, what);
    vsnprintf(text, sizeof text, what, ap);
    va_end(ap);
    hn_import_wrong(c->im, HONE_E_INPUT, "%s: %s", c->shown, text);
}

bool hn_lower_failed(const hn_lower *c) { return c->refused || !hn_import_ok(c->im); }

/* --- inputs and outputs ---------------------------------------------------------------------------------------------
 */

size_t hn_n_in(const hn_lower *c) { return c->node->n_input; }
size_t hn_n_out(const hn_lower *c) { return c->node->n_output; }
const hn_bound *hn_in_bound(hn_lower *c, size_t i) { return i < c->node->n_input ? c->in[i] : NULL; }

hn_val hn_in(hn_lower *c, size_t i) {
    const hn_bound *b = hn_in_bound(c, i);
    if (!b) return 0;
    if (b->kind == HN_BOUND_OPTIONAL && b->n) b = b->item[0];
    if (b->kind == HN_BOUND_TENSOR) return b->v;
    hn_refuse(c, "input %zu is %s", i, b->kind == HN_BOUND_SEQUENCE ? "a sequence" : "an empty optional");
    return 0;
}

bool hn_has_in(hn_lower *c, size_t i) { return hn_in_bound(c, i) != NULL; }
bool hn_wants(const hn_lower *c, size_t i) { return i < c->node->n_output && c->node->output[i][0]; }

const char *hn_out_name(const hn_lower *c, size_t i) { return c->node->output[i]; }

void hn_out_bound(hn_lower *c, size_t i, const hn_bound *b) {
    if (i < c->node->n_output) c->out[i] = b;
}

void hn_out(hn_lower *c, size_t i, hn_val v) {
    if (v && i < c->node->n_output) c->out[i] = hn_bound_tensor(c->im, v);
}

bool hn_declared(hn_lower *c, size_t i, hn_type *out) {
    const char *why;
    if (!hn_wants(c, i)) return false;
    const HnOnnx__Type *t = hn_names_get(&c->scope->hint, c->node->output[i]);
    return t && hn_import_type(c->im, t, NULL, out, &why);
}

/* --- attributes ------------------------------------------------------------------------------------------------------
 */

enum { A_FLOAT = 1, A_INT, A_STRING, A_TENSOR, A_GRAPH, A_FLOATS, A_INTS, A_STRINGS };

/* Old files leave `type` out: it follows from what is there. */
static bool is_kind(const HnOnnx__Attribute *a, int kind) {
    if (a->has_type && a->type) return a->type == kind;
    switch (kind) {
    case A_FLOAT: return a->has_f;
    case A_INT: return a->has_i;
    case A_STRING: return a->has_s;
    case A_TENSOR: return a->t;
    case A_GRAPH: return a->g;
    case A_FLOATS: return a->n_floats;
    case A_INTS: return a->n_ints;
    default: return a->n_strings;
    }
}

static const HnOnnx__Attribute *attribute(hn_lower *c, const char *name, int kind) {
    static const char *const kinds[] = {"?", "FLOAT", "INT", "STRING", "TENSOR", "GRAPH", "FLOATS", "INTS", "STRINGS"};
    const HnOnnx__Attribute *a = hn_attribute(c->scope->frame, c->node, name);
    if (!a || is_kind(a, kind)) return a;
    hn_wrong(c, "attribute '%s' is of kind %d, not %s", name, a->type, kinds[kind]);
    return NULL;
}

bool hn_has(const hn_lower *c, const char *name) { return hn_attribute(c->scope->frame, c->node, name) != NULL; }

int64_t hn_int(hn_lower *c, const char *name, int64_t otherwise) {
    const HnOnnx__Attribute *a = attribute(c, name, A_INT);
    return a ? a->i : otherwise;
}

double hn_float(hn_lower *c, const char *name, double otherwise) {
    const HnOnnx__Attribute *a = attribute(c, name, A_FLOAT);
    return a ? (double)a->f : otherwise;
}

static const char *text_of(hn_lower *c, const ProtobufCBinaryData *s) {
    const char *text = hn_strndup(c->im->arena, s->len ? (const char *)s->data : "", s->len);
    return text ? text : "";
}

const char *hn_string(hn_lower *c, const char *name, const char *otherwise) {
    const HnOnnx__Attribute *a = attribute(c, name, A_STRING);
    return a ? text_of(c, &a->s) : otherwise;
}

size_t hn_ints(hn_lower *c, const char *name, const int64_t **out) {
    const HnOnnx__Attribute *a = attribute(c, name, A_INTS);
    *out = a ? a->ints : NULL;
    return a ? a->n_ints : 0;
}

size_t hn_floats(hn_lower *c, const char *name, const float **out) {
    const HnOnnx__Attribute *a = attribute(c, name, A_FLOATS);
    *out = a ? a->floats : NULL;
    return a ? a->n_floats : 0;
}

size_t hn_strings(hn_lower *c, const char *name, const char *const **out) {
    const HnOnnx__Attribute *a = attribute(c, name, A_STRINGS);
    size_t n = a ? a->n_strings : 0;
    const char **list = HN_NEW_N(c->im->arena, const char *, n);
    *out = NULL;
    if (!list) return 0;
    for (size_t i = 0; i < n; i++) list[i] = text_of(c, &a->strings[i]);
    *out = list;
    return n;
}

const hn_tensor *hn_tensor_attr(hn_lower *c, const char *name) {
    const HnOnnx__Attribute *a = attribute(c, name, A_TENSOR);
    hone_err err = {0};
    if (!a || !a->t) return NULL;
    hn_tensor *t = HN_NEW(c->im->arena, hn_tensor);
    const char *what = hn_format(c->im->arena, "attribute '%s'", name);
    if (!t || !what) return NULL;
    hone_rc rc = hn_onnx_tensor(c->im->m, a->t, what, t, &err);
    if (rc == HONE_E_UNSUPPORTED)
        hn_refuse(c, "%s", err.text);
    else if (rc)
        hn_wrong(c, "%s", err.text);
    return rc ? NULL : t;
}

bool hn_sparse_attr(hn_lower *c, const char *name, hn_tensor *out) {
    const HnOnnx__Attribute *a = hn_attribute(c->scope->frame, c->node, name);
    hone_err err = {0};
    if (!a || !a->sparse_tensor) {
        hn_wrong(c, "attribute '%s' is no sparse tensor", name);
        return false;
    }
    hone_rc rc = hn_onnx_sparse(c->im->m, a->sparse_tensor, "its sparse value", out, &err);
    if (rc == HONE_E_UNSUPPORTED)
        hn_refuse(c, "%s", err.text);
    else if (rc)
        hn_wrong(c, "%s", err.text);
    return rc == HONE_OK;
}

bool hn_dtype_attr(hn_lower *c, const char *name, hone_dtype *out) {
    const HnOnnx__Attribute *a = attribute(c, name, A_INT);
    if (!a) return false;
    if (a->i > 0 && a->i < 100 && hn_dtype_from_onnx((int)a->i, out)) return true;
    hn_refuse(c, "attribute '%s' is element type %s (%lld)", name,
              a->i > 0 && a->i < 100 ? hn_onnx_dtype_name((int)a->i) : "unknown", (long long)a->i);
    return false;
}

/* --- subgraphs ---------------------------------------------------------------------------------------------------- */

const HnOnnx__Graph *hn_graph_attr(hn_lower *c, const char *name) {
    const HnOnnx__Attribute *a = attribute(c, name, A_GRAPH);
    if (a && a->g) return a->g;
    hn_wrong(c, "attribute '%s', a graph, is missing", name);
    return NULL;
}

size_t hn_subgraph_inputs(hn_lower *c, const char *name, hn_type *type, size_t room) {
    const HnOnnx__Graph *g = hn_graph_attr(c, name);
    const char *why;
    for (size_t i = 0; g && i < g->n_input && i < room; i++)
        if (!hn_import_type(c->im, g->input[i]->type, NULL, &type[i], &why)) type[i] = (hn_type){.dtype = HONE_F32};
    return g ? g->n_input : 0;
}

bool hn_subgraph_bound(hn_lower *c, const char *name, hn_block block, size_t n_param, const hn_bound *const *param,
                       size_t room, const hn_bound **result, size_t *n_result) {
    const HnOnnx__Graph *g = hn_graph_attr(c, name);
    if (!g) return false;
    hn_scope s = {.parent = c->scope, .frame = c->scope->frame, .block = block};
    if (g->n_input != n_param || g->n_output > room)
        hn_wrong(c, "graph '%s' has %zu inputs and %zu outputs; %zu inputs are expected", name, g->n_input, g->n_output,
                 n_param);
    for (size_t i = 0; i < n_param && hn_import_ok(c->im); i++)
        hn_scope_bind(c->im, &s, g->input[i]->name ? g->input[i]->name : "", param[i]);
    if (!hn_import_ok(c->im)) return false;
    size_t refused = c->im->n_refused;
    hn_import_graph(c->im, &s, g);
    for (size_t i = 0; i < g->n_output && hn_import_ok(c->im); i++) {
        const char *of = g->output[i]->name ? g->output[i]->name : "";
        result[i] = hn_scope_find(&s, of);
        if (!result[i] || result[i]->kind == HN_BOUND_ABSENT)
            hn_wrong(c, "graph '%s' does not define its output '%s'", name, hn_shown(c->im->arena, of));
    }
    *n_result = g->n_output;
    if (c->im->n_refused > refused) c->refused = true; /* said already, node by node */
    return !hn_lower_failed(c);
}

bool hn_subgraph(hn_lower *c, const char *name, hn_block block, size_t n_param, const hn_val *param, size_t room,
                 hn_val *result, size_t *n_result) {
    const hn_bound **in = HN_NEW_N(c->im->arena, const hn_bound *, n_param);
    const hn_bound **out = HN_NEW_N(c->im->arena, const hn_bound *, room);
    if (!in || !out) return false;
    for (size_t i = 0; i < n_param; i++) in[i] = hn_bound_tensor(c->im, param[i]);
    if (!hn_subgraph_bound(c, name, block, n_param, in, room, out, n_result)) return false;
    for (size_t i = 0; i < *n_result; i++) {
        if (out[i]->kind != HN_BOUND_TENSOR) {
            hn_refuse(c, "output %zu of graph '%s' is no tensor", i, name);
            return false;
        }
        result[i] = out[i]->v;
    }
    return true;
}

/* --- helpers ------------------------------------------------------------------------------------------------------ */

int64_t hn_axis(hn_lower *c, int64_t axis, size_t rank) {
    if (axis >= -(int64_t)rank && axis < (int64_t)rank) return axis < 0 ? axis + (int64_t)rank : axis;
    hn_wrong(c, "axis %lld is out of range for rank %zu", (long long)axis, rank);
    return 0;
}

static const char *input_name(hn_lower *c, size_t i) { return hn_shown(c->im->arena, c->node->input[i]); }

const hn_tensor *hn_in_const(hn_lower *c, size_t i) {
    hn_val v = hn_in(c, i);
    const hn_tensor *t = v ? hn_known_tensor(&c->b, v) : NULL;
    if (!t && v) hn_refuse(c, "input %zu ('%s') has to be known at compile time", i, input_name(c, i));
    return t;
}

bool hn_in_dims(hn_lower *c, size_t i, hn_dim *out, size_t room, size_t *n) {
    hn_val v = hn_in(c, i);
    if (!v) return false;
    if (hn_known_dims(&c->b, v, out, room, n)) return true;
    const hn_type *t = hn_t(&c->b, v);
    int64_t length = 1;
    if (hn_lower_failed(c)) return false;
    if (hn_is_float(t->dtype) || t->rank > 1) {
        hn_wrong(c, "input %zu ('%s') is no vector of integers", i, input_name(c, i));
        return false;
    }
    if (t->rank == 1 && (!hn_dim_is_int(c->im->g->dims, t->dim[0], &length) || (size_t)length > room)) {
        hn_refuse(c, "input %zu ('%s') has a length that is not known at compile time", i, input_name(c, i));
        return false;
    }
    if (hn_bind_dims(&c->b, v, "n", out, room, n)) return true;
    if (!hn_lower_failed(c)) hn_refuse(c, "input %zu ('%s') cannot be read as sizes", i, input_name(c, i));
    return false;
}

static void sort_axes(hn_lower *c, int64_t *axes, size_t n, size_t rank) {
    for (size_t i = 0; i < n; i++) {
        int64_t a = hn_axis(c, axes[i], rank);
        size_t k = i;
        for (; k > 0 && axes[k - 1] > a; k--) axes[k] = axes[k - 1];
        axes[k] = a;
        if (k > 0 && axes[k - 1] == a && !hn_lower_failed(c)) hn_wrong(c, "axis %lld is given twice", (long long)a);
    }
}

bool hn_axes(hn_lower *c, size_t input, size_t rank, int64_t *axes, size_t *n) {
    const int64_t *list;
    size_t count = hn_ints(c, "axes", &list);
    *n = 0;
    if (!count && hn_in_bound(c, input)) {
        const hn_tensor *t = hn_in_const(c, input);
        if (!t) return false;
        int64_t *copy = HN_NEW_N(c->im->arena, int64_t, (size_t)hn_tensor_n(t));
        if (!copy) return false;
        count = (size_t)hn_tensor_n(t);
        for (size_t i = 0; i < count; i++) copy[i] = hn_get_i(t, (int64_t)i);
        list = copy;
    }
    if (count > rank) {
        hn_wrong(c, "%zu axes for rank %zu", count, rank);
        return false;
    }
    for (size_t i = 0; i < count; i++) axes[i] = list[i];
    sort_axes(c, axes, count, rank);
    *n = count;
    return !hn_lower_failed(c);
}
