/* inspect.c — what is in a model file, as JSON. The verdict is the importer's own. */
#include "base/err.h"
#include "base/yaml.h"
#include "onnx/import_int.h"

#include <inttypes.h>
#include <onnx.pb-c.h>
#include <stdlib.h>
#include <string.h>

typedef struct op_count {
    const char *domain, *op;
    uint64_t n;
    int opset;
    bool function;
} op_count;

typedef struct inspection {
    hn_onnx *m;
    hn_arena *arena;
    hn_importer names; /* for hn_function_of alone */
    hn_names seen;     /* "domain\nop" -> op_count * */
    op_count **op;
    size_t n_op, room_op;
    uint64_t n_nodes, n_parameters, n_elements;
} inspection;

static void quoted(hn_str *s, inspection *in, const char *text) { hn_yaml_add_quoted(s, hn_shown(in->arena, text)); }

/* --- operators ------------------------------------------------------------------------------------------------------
 */

static int opset_of(HnOnnx__Opset *const *list, size_t n, const char *domain) {
    for (size_t i = 0; i < n; i++)
        if (!strcmp(hn_domain(list[i]->domain), domain) && list[i]->version >= 0 && list[i]->version < 1000000)
            return (int)list[i]->version;
    return 0;
}

static op_count *count_of(inspection *in, const char *domain, const char *op) {
    char *key = hn_format(in->arena, "%s\n%s", domain, op);
    op_count *c = key ? hn_names_get(&in->seen, key) : NULL;
    if (c || !key) return c;
    if (in->n_op == in->room_op) {
        size_t room = in->room_op ? 2 * in->room_op : 32;
        op_count **list = HN_NEW_N(in->arena, op_count *, room);
        if (!list) return NULL;
        if (in->n_op) memcpy(list, in->op, in->n_op * sizeof(op_count *));
        in->op = list;
        in->room_op = room;
    }
    if (!(c = HN_NEW(in->arena, op_count))) return NULL;
    c->domain = domain;
    c->op = op;
    hn_names_put(&in->seen, in->arena, key, c);
    return in->op[in->n_op++] = c;
}

static void count_nodes(inspection *in, HnOnnx__Node *const *node, size_t n, HnOnnx__Opset *const *opset,
                        size_t n_opset);

static void count_parameters(inspection *in, const HnOnnx__Graph *g) {
    for (size_t i = 0; i < g->n_initializer; i++) {
        const HnOnnx__Tensor *t = g->initializer[i];
        uint64_t n = 1;
        for (size_t d = 0; d < t->n_dims; d++)
            if (t->dims[d] < 0 || __builtin_mul_overflow(n, (uint64_t)t->dims[d], &n)) n = 0;
        in->n_elements += n;
        in->n_parameters++;
    }
    in->n_parameters += g->n_sparse_initializer;
}

static void count_nodes(inspection *in, HnOnnx__Node *const *node, size_t n, HnOnnx__Opset *const *opset,
                        size_t n_opset) {
    for (size_t i = 0; i < n; i++) {
        const char *domain = hn_domain(node[i]->domain);
        op_count *c = count_of(in, domain, node[i]->op_type ? node[i]->op_type : "");
        if (!c) return;
        if (!c->n++) {
            c->opset = opset_of(opset, n_opset, domain);
            c->function = hn_function_of(&in->names, node[i]) != NULL;
        }
        in->n_nodes++;
        for (size_t k = 0; k < node[i]->n_attribute; k++) {
            const HnOnnx__Graph *g = node[i]->attribute[k]->g;
            if (!g) continue;
            count_parameters(in, g);
            count_nodes(in, g->node, g->n_node, opset, n_opset);
        }
    }
}

static int by_count(const void *a, const void *b) {
    const op_count *x = *(op_count *const *)a, *y = *(op_count *const *)b;
    if (x->n != y->n) return x->n < y->n ? 1 : -1;
    int order = strcmp(x->domain, y->domain);
    return order ? order : strcmp(x->op, y->op);
}

static void add_operators(inspection *in, hn_str *s) {
    if (in->n_op) qsort(in->op, in->n_op, sizeof *in->op, by_count);
    hn_str_add(s, "\"operators\":[");
    for (size_t i = 0; i < in->n_op; i++) {
        const op_count *c = in->op[i];
        bool supported = c->function || (c->opset && hn_row_find(c->domain, c->op, c->opset));
        hn_str_add(s, i ? ",{\"domain\":" : "{\"domain\":");
        quoted(s, in, c->domain);
        hn_str_add(s, ",\"name\":");
        quoted(s, in, c->op);
        hn_str_addf(s, ",\"count\":%" PRIu64 ",\"function\":%s,\"supported\":%s}", c->n, c->function ? "true" : "false",
                    supported ? "true" : "false");
    }
    hn_str_add(s, "]");
}

/* --- types
 * ------------------------------------------------------------------------------------------------------------ */

static void add_shape(inspection *in, hn_str *s, const HnOnnx__Shape *shape) {
    if (!shape) {
        hn_str_add(s, "null");
        return;
    }
    hn_str_add(s, "[");
    for (size_t i = 0; i < shape->n_dim; i++) {
        const HnOnnx__Dim *d = shape->dim[i];
        if (i) hn_str_add(s, ",");
        if (d->has_dim_value)
            hn_str_addf(s, "%" PRId64, d->dim_value);
        else if (d->dim_param && d->dim_param[0])
            quoted(s, in, d->dim_param);
        else
            hn_str_add(s, "null");
    }
    hn_str_add(s, "]");
}

static void add_value(inspection *in, hn_str *s, const HnOnnx__ValueInfo *v) {
    const HnOnnx__TensorType *t = v->type ? v->type->tensor_type : NULL;
    hn_str_add(s, "{\"name\":");
    quoted(s, in, v->name);
    hn_str_addf(s, ",\"type\":\"%s\",\"shape\":",
                t                                   ? hn_onnx_dtype_name(t->elem_type)
                : v->type && v->type->sequence_type ? "sequence"
                : v->type && v->type->optional_type ? "optional"
                                                    : "other");
    add_shape(in, s, t ? t->shape : NULL);
    hn_str_add(s, "}");
}

static void add_inputs(inspection *in, hn_str *s, const HnOnnx__Graph *g) {
    hn_names set = {0};
    bool some = false;
    for (size_t i = 0; i < g->n_initializer; i++)
        if (g->initializer[i]->name) hn_names_put(&set, in->arena, g->initializer[i]->name, g->initializer[i]);
    hn_str_add(s, "\"inputs\":[");
    for (size_t i = 0; i < g->n_input; i++) {
        if (g->input[i]->name && hn_names_get(&set, g->input[i]->name)) continue;
        if (some) hn_str_add(s, ",");
        add_value(in, s, g->input[i]);
        some = true;
    }
    hn_str_add(s, "],\"outputs\":[");
    for (size_t i = 0; i < g->n_output; i++) {
        if (i) hn_str_add(s, ",");
        add_value(in, s, g->output[i]);
    }
    hn_str_add(s, "],");
}

/* --- the whole
 * --------------------------------------------------------------------------------------------------------- */

static void add_head(inspection *in, hn_str *s, const char *path) {
    const HnOnnx__Model *m = hn_onnx_model(in->m);
    hn_str_add(s, "{\"file\":");
    quoted(s, in, path);
    hn_str_addf(s, ",\"ir_version\":%" PRId64 ",\"producer\":", m->ir_version);
    quoted(s, in, m->producer_name);
    hn_str_add(s, ",\"producer_version\":");
    quoted(s, in, m->producer_version);
    hn_str_add(s, ",\"opsets\":[");
    for (size_t i = 0; i < m->n_opset_import; i++) {
        hn_str_add(s, i ? ",{\"domain\":" : "{\"domain\":");
        quoted(s, in, hn_domain(m->opset_import[i]->domain));
        hn_str_addf(s, ",\"version\":%" PRId64 "}", m->opset_import[i]->version);
    }
    hn_str_add(s, "],");
}

static void count_all(inspection *in) {
    const HnOnnx__Model *m = hn_onnx_model(in->m);
    in->names = (hn_importer){.m = in->m, .arena = in->arena};
    hn_list_functions(&in->names);
    count_parameters(in, m->graph);
    count_nodes(in, m->graph->node, m->graph->n_node, m->opset_import, m->n_opset_import);
    for (size_t i = 0; i < m->n_functions; i++)
        count_nodes(in, m->functions[i]->node, m->functions[i]->n_node, m->functions[i]->opset_import,
                    m->functions[i]->n_opset_import);
}

/* Imports the model for its verdict: lines of the report, or the one error. */
static void add_verdict(hn_str *s, const char *path) {
    hone_graph *g = NULL;
    char *report = NULL;
    hone_err err = {0};
    hone_rc rc = hone_import_onnx(path, NULL, &g, &report, &err);
    hn_str_addf(s, "\"supported\":%s,\"refusals\":[", rc ? "false" : "true");
    bool some = false;
    for (char *line = report ? report : NULL, *end; line && *line; line = end + 1) {
        if (!(end = strchr(line, '\n'))) break;
        *end = 0;
        if (some) hn_str_add(s, ",");
        hn_yaml_add_quoted(s, line);
        some = true;
    }
    if (rc && !some) hn_yaml_add_quoted(s, err.text);
    hn_str_add(s, "]}");
    hone_free(report);
    hone_graph_free(g);
}

hone_rc hone_import_inspect(const char *path, char **json, hone_err *err) {
    inspection in = {0};
    hn_str s = {0};
    hone_rc rc = hn_onnx_open(path, 0, &in.m, err);
    if (rc) return rc;
    in.arena = hn_onnx_arena(in.m);
    count_all(&in);
    add_head(&in, &s, path);
    add_inputs(&in, &s, hn_onnx_model(in.m)->graph);
    hn_str_addf(&s, "\"nodes\":%" PRIu64 ",\"parameters\":{\"tensors\":%" PRIu64 ",\"elements\":%" PRIu64 "},",
                in.n_nodes, in.n_parameters, in.n_elements);
    add_operators(&in, &s);
    hn_str_add(&s, ",");
    bool whole = hn_arena_ok(in.arena);
    hn_onnx_close(in.m); /* before the importer takes as much memory again */
    add_verdict(&s, path);
    whole &= !s.failed;
    char *text = hn_str_take(&s);
    if (!whole || !text) {
        free(text);
        return hn_fail(err, HONE_E_NOMEM, "out of memory inspecting '%s'", path);
    }
    *json = text;
    return HONE_OK;
}
