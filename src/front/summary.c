/* summary.c — see summary.h. */
#include "front/front.h"

#include "base/yaml.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void add_quoted(hn_model_summary *s, hn_str *out, const char *text) {
    hn_yaml_add_quoted(out, hn_shown(&s->arena, text));
}

void hn_summary_about(hn_model_summary *s, const char *label, const char *text) {
    hn_str_add(&s->about, s->about.n ? ",[" : "[");
    add_quoted(s, &s->about, label);
    hn_str_add(&s->about, ",");
    add_quoted(s, &s->about, text);
    hn_str_add(&s->about, "]");
}

void hn_summary_fact(hn_model_summary *s, const char *key, const char *text) {
    hn_str_addf(&s->facts, "\"%s\":", key);
    add_quoted(s, &s->facts, text);
    hn_str_add(&s->facts, ",");
}

/* --- of a graph --------------------------------------------------------------------------------------------------- */

static hn_summary_port port_of(const hn_graph *g, hn_val v, const char *name, hn_arena *a) {
    const hn_type *t = hn_type_of(g, v);
    hn_summary_port p = {.name = hn_strdup(a, name ? name : ""),
                         .type = hn_dtype_of(t->dtype)->text,
                         .ranked = true,
                         .rank = t->rank,
                         .dim = HN_NEW_N(a, hn_summary_dim, t->rank + (size_t)1)};
    for (size_t i = 0; i < t->rank && p.dim; i++) {
        hn_str text = {0};
        if (hn_dim_is_int(g->dims, t->dim[i], &p.dim[i].size)) continue;
        hn_dim_print(g->dims, t->dim[i], &text);
        p.dim[i].name = hn_strdup(a, text.failed ? "?" : text.text);
        hn_str_free(&text);
    }
    return p;
}

static int by_count(const void *a, const void *b) {
    const hn_summary_operator *x = a, *y = b;
    return x->count != y->count ? (x->count < y->count) - (x->count > y->count) : strcmp(x->name, y->name);
}

static void count_nodes(const hn_graph *g, hn_model_summary *out) {
    uint64_t count[HN_N_OPS] = {0};
    for (uint32_t b = 0; b < g->n_block; b++)
        for (uint32_t i = 0; i < g->block[b].n_node; i++) {
            const hn_node *n = &g->node[g->block[b].node[i]];
            const hn_attr *value = n->op == HN_OP_CONST ? hn_attr_get(n, HN_A_VALUE) : NULL;
            if (value) {
                out->n_tensors++;
                out->n_elements += (uint64_t)hn_tensor_n(value->tensor);
                continue;
            }
            count[n->op]++;
            out->n_nodes++;
        }
    if (!(out->op = HN_NEW_N(&out->arena, hn_summary_operator, HN_N_OPS))) return;
    for (size_t op = 0; op < HN_N_OPS; op++)
        if (count[op])
            out->op[out->n_op++] = (hn_summary_operator){"", hn_op_of((hn_op)op)->text, count[op], false, true};
    qsort(out->op, out->n_op, sizeof *out->op, by_count);
}

void hn_summary_of_graph(const hn_graph *g, hn_model_summary *out) {
    const hn_blk *k = &g->block[0];
    out->input = HN_NEW_N(&out->arena, hn_summary_port, k->n_param + (size_t)1);
    out->output = HN_NEW_N(&out->arena, hn_summary_port, k->n_result + (size_t)1);
    if (!out->input || !out->output) return;
    for (; out->n_input < k->n_param; out->n_input++)
        out->input[out->n_input] =
            port_of(g, k->param[out->n_input], g->value[k->param[out->n_input]].name, &out->arena);
    for (; out->n_output < k->n_result; out->n_output++)
        out->output[out->n_output] = port_of(g, k->result[out->n_output], g->output_name[out->n_output], &out->arena);
    count_nodes(g, out);
}

/* --- as JSON ------------------------------------------------------------------------------------------------------ */

static void print_shape(hn_model_summary *s, const hn_summary_port *p, hn_str *out) {
    hn_str_add(out, p->ranked ? "[" : "null");
    for (size_t i = 0; i < p->rank && p->ranked; i++) {
        if (i) hn_str_add(out, ",");
        if (p->dim[i].name)
            add_quoted(s, out, p->dim[i].name);
        else if (p->dim[i].size >= 0)
            hn_str_addf(out, "%" PRId64, p->dim[i].size);
        else
            hn_str_add(out, "null");
    }
    if (p->ranked) hn_str_add(out, "]");
}

static void print_ports(hn_model_summary *s, const char *key, const hn_summary_port *p, size_t n, hn_str *out) {
    hn_str_addf(out, "\"%s\":[", key);
    for (size_t i = 0; i < n; i++) {
        hn_str_add(out, i ? ",{\"name\":" : "{\"name\":");
        add_quoted(s, out, p[i].name);
        hn_str_addf(out, ",\"type\":\"%s\",\"shape\":", p[i].type);
        print_shape(s, &p[i], out);
        hn_str_add(out, "}");
    }
    hn_str_add(out, "],");
}

void hn_summary_print(hn_model_summary *s, hn_str *out) {
    if (s->facts.n) hn_str_add_n(out, s->facts.text, s->facts.n);
    hn_str_addf(out, "\"about\":[%s],", s->about.n ? s->about.text : "");
    print_ports(s, "inputs", s->input, s->n_input, out);
    print_ports(s, "outputs", s->output, s->n_output, out);
    hn_str_addf(out, "\"nodes\":%" PRIu64 ",\"parameters\":{\"tensors\":%" PRIu64 ",\"elements\":%" PRIu64 "},",
                s->n_nodes, s->n_tensors, s->n_elements);
    hn_str_add(out, "\"operators\":[");
    for (size_t i = 0; i < s->n_op; i++) {
        const hn_summary_operator *op = &s->op[i];
        hn_str_add(out, i ? ",{\"domain\":" : "{\"domain\":");
        add_quoted(s, out, op->domain);
        hn_str_add(out, ",\"name\":");
        add_quoted(s, out, op->name);
        hn_str_addf(out, ",\"count\":%" PRIu64 ",\"function\":%s,\"supported\":%s}", op->count,
                    op->function ? "true" : "false", op->supported ? "true" : "false");
    }
    hn_str_add(out, "]");
    if (!hn_arena_ok(&s->arena) || s->facts.failed || s->about.failed) out->failed = true;
}

void hn_summary_free(hn_model_summary *s) {
    hn_str_free(&s->facts);
    hn_str_free(&s->about);
    hn_arena_free(&s->arena);
}
