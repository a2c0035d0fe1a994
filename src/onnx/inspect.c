/* inspect.c — what is in a model file. */
#include "base/err.h"
#include "base/yaml.h"
#include "onnx/import_int.h"

#include <inttypes.h>
#include <onnx.pb-c.h>
#include <stdlib.h>
#include <string.h>

typedef struct inspection {
    hn_model_summary *s;
    hn_arena *arena;   /* of the summary, which outlives the file */
    hn_importer names; /* for hn_function_of alone */
    hn_names seen;     /* "domain\nop" -> index in s->op + 1 */
    size_t room_op;
} inspection;

/* --- operators ------------------------------------------------------------------------------------------------------
 */

static int opset_of(HnOnnx__Opset *const *list, size_t n, const char *domain) {
    for (size_t i = 0; i < n; i++)
        if (!strcmp(hn_domain(list[i]->domain), domain) && list[i]->version >= 0 && list[i]->version < 1000000)
            return (int)list[i]->version;
    return 0;
}

/* The usual name of a domain: that of the standard operators is "" in files. */
static const char *shown_domain(const char *domain) { return domain[0] ? domain : "ai.onnx"; }

static hn_summary_operator *count_of(inspection *in, const char *domain, const char *op) {
    hn_model_summary *s = in->s;
    char *key = hn_format(in->arena, "%s\n%s", domain, op);
    uintptr_t at = key ? (uintptr_t)hn_names_get(&in->seen, key) : 0;
    if (at || !key) return at ? &s->op[at - 1] : NULL;
    if (s->n_op == in->room_op) {
        size_t room = in->room_op ? 2 * in->room_op : 32;
        hn_summary_operator *list = HN_NEW_N(in->arena, hn_summary_operator, room);
        if (!list) return NULL;
        if (s->n_op) memcpy(list, s->op, s->n_op * sizeof *list);
        s->op = list;
        in->room_op = room;
    }
    s->op[s->n_op] =
        (hn_summary_operator){.domain = hn_strdup(in->arena, shown_domain(domain)), .name = hn_strdup(in->arena, op)};
    hn_names_put(&in->seen, in->arena, key, (void *)(s->n_op + 1));
    return &s->op[s->n_op++];
}

static void count_nodes(inspection *in, HnOnnx__Node *const *node, size_t n, HnOnnx__Opset *const *opset,
                        size_t n_opset);

static void count_tensor(inspection *in, const HnOnnx__Tensor *t) {
    uint64_t n = 1;
    for (size_t d = 0; d < t->n_dims; d++)
        if (t->dims[d] < 0 || __builtin_mul_overflow(n, (uint64_t)t->dims[d], &n)) n = 0;
    in->s->n_elements += n;
    in->s->n_tensors++;
}

static void count_parameters(inspection *in, const HnOnnx__Graph *g) {
    for (size_t i = 0; i < g->n_initializer; i++) count_tensor(in, g->initializer[i]);
    in->s->n_tensors += g->n_sparse_initializer;
}

static void count_nodes(inspection *in, HnOnnx__Node *const *node, size_t n, HnOnnx__Opset *const *opset,
                        size_t n_opset) {
    for (size_t i = 0; i < n; i++) {
        const char *domain = hn_domain(node[i]->domain);
        const char *op = node[i]->op_type ? node[i]->op_type : "";
        hn_summary_operator *c = count_of(in, domain, op);
        if (!c) return;
        if (!c->count++) {
            int version = opset_of(opset, n_opset, domain);
            c->function = hn_function_of(&in->names, node[i]) != NULL;
            c->supported = c->function || (version && hn_row_find(domain, op, version));
        }
        in->s->n_nodes++;
        for (size_t k = 0; k < node[i]->n_attribute; k++) {
            const HnOnnx__Graph *g = node[i]->attribute[k]->g;
            const HnOnnx__Tensor *t = node[i]->attribute[k]->t;
            if (t && !domain[0] && !strcmp(op, "Constant")) count_tensor(in, t); /* some exporters keep weights there */
            if (!g) continue;
            count_parameters(in, g);
            count_nodes(in, g->node, g->n_node, opset, n_opset);
        }
    }
}

static int by_count(const void *a, const void *b) {
    const hn_summary_operator *x = a, *y = b;
    if (x->count != y->count) return x->count < y->count ? 1 : -1;
    int order = strcmp(x->domain, y->domain);
    return order ? order : strcmp(x->name, y->name);
}

static void count_all(inspection *in, hn_onnx *m, const HnOnnx__Model *p) {
    in->names = (hn_importer){.m = m, .arena = in->arena};
    hn_list_functions(&in->names);
    count_parameters(in, p->graph);
    count_nodes(in, p->graph->node, p->graph->n_node, p->opset_import, p->n_opset_import);
    for (size_t i = 0; i < p->n_functions; i++)
        count_nodes(in, p->functions[i]->node, p->functions[i]->n_node, p->functions[i]->opset_import,
                    p->functions[i]->n_opset_import);
    if (in->s->n_op) qsort(in->s->op, in->s->n_op, sizeof *in->s->op, by_count);
}

/* --- inputs and outputs ------------------------------------------------------------------------------------------- */

static void set_shape(inspection *in, hn_summary_port *p, const HnOnnx__Shape *shape) {
    if (!shape || !(p->dim = HN_NEW_N(in->arena, hn_summary_dim, shape->n_dim + 1))) return;
    p->ranked = true;
    for (p->rank = 0; p->rank < shape->n_dim; p->rank++) {
        const HnOnnx__Dim *d = shape->dim[p->rank];
        hn_summary_dim *to = &p->dim[p->rank];
        to->size = d->has_dim_value ? d->dim_value : -1;
        if (!d->has_dim_value && hn_import_names_dim(d->dim_param)) to->name = hn_strdup(in->arena, d->dim_param);
    }
}

static hn_summary_port port_of(inspection *in, const HnOnnx__ValueInfo *v) {
    const HnOnnx__TensorType *t = v->type ? v->type->tensor_type : NULL;
    hn_summary_port p = {.name = hn_strdup(in->arena, v->name ? v->name : ""),
                         .type = t                                   ? hn_onnx_dtype_name(t->elem_type)
                                 : v->type && v->type->sequence_type ? "sequence"
                                 : v->type && v->type->optional_type ? "optional"
                                                                     : "other"};
    set_shape(in, &p, t ? t->shape : NULL);
    return p;
}

static void set_ports(inspection *in, const HnOnnx__Graph *g) {
    hn_names set = {0};
    hn_model_summary *s = in->s;
    for (size_t i = 0; i < g->n_initializer; i++)
        if (g->initializer[i]->name) hn_names_put(&set, in->arena, g->initializer[i]->name, g->initializer[i]);
    s->input = HN_NEW_N(in->arena, hn_summary_port, g->n_input + 1);
    s->output = HN_NEW_N(in->arena, hn_summary_port, g->n_output + 1);
    for (size_t i = 0; i < g->n_input && s->input; i++)
        if (!g->input[i]->name || !hn_names_get(&set, g->input[i]->name))
            s->input[s->n_input++] = port_of(in, g->input[i]);
    for (size_t i = 0; i < g->n_output && s->output; i++) s->output[s->n_output++] = port_of(in, g->output[i]);
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

/* Facts that only this format has. */
static void set_facts(inspection *in, const HnOnnx__Model *m) {
    hn_model_summary *s = in->s;
    hn_str_addf(&s->facts, "\"ir_version\":%" PRId64 ",", m->ir_version);
    hn_summary_about(s, "IR version", hn_format(in->arena, "%" PRId64, m->ir_version));
    hn_summary_fact(s, "producer", m->producer_name);
    hn_summary_fact(s, "producer_version", m->producer_version);
    const char *writer = m->producer_name ? m->producer_name : "", *version = m->producer_version;
    if (writer[0])
        hn_summary_about(s, "written by",
                         version && version[0] ? hn_format(in->arena, "%.60s %.40s", writer, version) : writer);
    hn_str_add(&s->facts, "\"opsets\":[");
    for (size_t i = 0; i < m->n_opset_import; i++) {
        const char *domain = shown_domain(hn_domain(m->opset_import[i]->domain));
        int64_t opset = m->opset_import[i]->version;
        hn_str_add(&s->facts, i ? ",{\"domain\":" : "{\"domain\":");
        hn_yaml_add_quoted(&s->facts, hn_shown(in->arena, domain));
        hn_str_addf(&s->facts, ",\"version\":%" PRId64 "}", opset);
        hn_summary_about(s, i ? "" : "opsets", hn_format(in->arena, "%.60s %" PRId64, domain, opset));
    }
    hn_str_add(&s->facts, "],");
}

hone_rc hn_onnx_inspect(const hn_front_source *from, hn_model_summary *out, hone_err *err) {
    hn_onnx *m;
    hone_rc rc = hn_onnx_open(from, &m, err);
    if (rc) return rc;
    inspection in = {.s = out, .arena = &out->arena};
    count_all(&in, m, hn_onnx_model(m));
    set_facts(&in, hn_onnx_model(m));
    set_ports(&in, hn_onnx_model(m)->graph);
    hn_onnx_close(m);
    return HONE_OK;
}
