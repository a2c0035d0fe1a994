/* ir/print.c — the text form, see docs/ir.md. Values are numbered as they are defined, so that equal code gives equal
 * text whatever its values are called inside. */
#include "ir/graph.h"

#include "base/err.h"
#include "base/str.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INLINE_MAX = 16, ALIGN_B = 64 }; /* longer constants are printed as bytes in hex */

typedef struct printer {
    const hn_graph *g;
    hn_str *out;
    uint32_t *number, next; /* value -> number + 1 */
    bool sources;
    const char *side; /* name of the side file, NULL: none */
    int64_t above;
    uint64_t offset;
} printer;

static uint64_t aligned(uint64_t n) { return (n + ALIGN_B - 1) / ALIGN_B * ALIGN_B; }

/* --- words ------------------------------------------------------------------------------------------------------ */

static void put_quoted(hn_str *out, const char *text) {
    hn_str_add(out, "\"");
    for (const unsigned char *c = (const unsigned char *)(text ? text : ""); *c; c++) {
        if (*c == '"' || *c == '\\')
            hn_str_addf(out, "\\%c", *c);
        else if (*c < ' ' || *c == 0x7f)
            hn_str_addf(out, "\\x%02x", *c);
        else
            hn_str_add_n(out, (const char *)c, 1);
    }
    hn_str_add(out, "\"");
}

static void put_val(printer *p, hn_val v) {
    if (v < p->g->n_value && p->number[v])
        hn_str_addf(p->out, "%%%u", p->number[v] - 1);
    else
        hn_str_addf(p->out, "%%outer%u", v); /* of a block printed on its own */
}

static void define(printer *p, hn_val v) {
    p->number[v] = ++p->next;
    put_val(p, v);
}

static void put_vals(printer *p, const hn_val *v, size_t n) {
    for (size_t i = 0; i < n; i++) {
        hn_str_add(p->out, i ? ", " : " ");
        put_val(p, v[i]);
    }
}

/* --- constants -------------------------------------------------------------------------------------------------- */

/* As a number where that reads back to the same bits, else as bits: NaNs with a payload, bytes that are no value. */
static void put_element(hn_str *out, const hn_tensor *t, int64_t i) {
    const hn_dtype_info *info = hn_dtype_of(t->dtype);
    uint64_t bits = 0, back = 0;
    memcpy(&bits, (const char *)t->data + i * info->size_b, info->size_b);
    hn_tensor one = {.dtype = t->dtype, .data = &back};
    if (info->cls == HN_CLASS_FLOAT)
        hn_set_f(&one, 0, isnan(hn_get_f(t, i)) ? NAN : hn_get_f(t, i));
    else
        hn_set_i(&one, 0, hn_get_i(t, i));
    if (bits != back)
        hn_str_addf(out, "bits 0x%llx", (unsigned long long)bits);
    else if (info->cls == HN_CLASS_FLOAT)
        hn_str_addf(out, "%a", hn_get_f(t, i));
    else if (info->cls == HN_CLASS_BOOL)
        hn_str_add(out, bits ? "true" : "false");
    else if (info->cls == HN_CLASS_UINT)
        hn_str_addf(out, "%llu", (unsigned long long)hn_get_i(t, i));
    else
        hn_str_addf(out, "%lld", (long long)hn_get_i(t, i));
}

static void put_bytes(hn_str *out, const unsigned char *data, size_t n) {
    static const char digit[] = "0123456789abcdef";
    char chunk[512];
    for (size_t i = 0; i < n;) {
        size_t m = 0;
        for (; m < sizeof chunk && i < n; i++) {
            chunk[m++] = digit[data[i] >> 4];
            chunk[m++] = digit[data[i] & 15];
        }
        hn_str_add_n(out, chunk, m);
    }
}

static void put_elements(hn_str *out, const hn_tensor *t, int64_t n) {
    hn_str_add(out, " (");
    for (int64_t i = 0; i < n; i++) {
        if (i) hn_str_add(out, ", ");
        put_element(out, t, i);
    }
    hn_str_add(out, ")");
}

static void put_tensor(printer *p, const hn_tensor *t) {
    const hn_dtype_info *info = hn_dtype_of(t->dtype);
    int64_t n = hn_tensor_n(t);
    uint64_t size_b = (uint64_t)n * info->size_b;
    hn_str_addf(p->out, "%s[", info->text);
    for (size_t i = 0; i < t->rank; i++) hn_str_addf(p->out, i ? ", %lld" : "%lld", (long long)t->dim[i]);
    hn_str_add(p->out, "]");
    if (p->side && n > p->above) {
        hn_str_addf(p->out, " @%llu", (unsigned long long)p->offset);
        p->offset = aligned(p->offset + size_b);
    } else if (n <= INLINE_MAX)
        put_elements(p->out, t, n);
    else {
        hn_str_add(p->out, " x\"");
        put_bytes(p->out, t->data, (size_t)size_b);
        hn_str_add(p->out, "\"");
    }
}

/* --- attributes ------------------------------------------------------------------------------------------------- */

static void put_list(printer *p, const hn_attr *a) {
    hn_str_add(p->out, "[");
    for (uint32_t i = 0; i < a->n; i++) {
        if (i) hn_str_add(p->out, ", ");
        hn_symbol own;
        if (a->id == HN_A_DEFINES && hn_dim_is_symbol(p->g->dims, a->dims[i], &own))
            hn_str_add(p->out, hn_symbol_name(p->g->dims, own));
        else if (a->kind == HN_K_DIMS)
            hn_dim_print(p->g->dims, a->dims[i], p->out);
        else
            hn_str_addf(p->out, "%lld", (long long)a->ints[i]);
    }
    hn_str_add(p->out, "]");
}

static bool is_word(const char *s) {
    if (!*s || (*s >= '0' && *s <= '9')) return false;
    return s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] == 0;
}

static void put_attr(printer *p, const hn_attr *a) {
    hn_str_addf(p->out, "%s = ", hn_attr_of(a->id)->text);
    switch (a->kind) {
    case HN_K_INT: hn_str_addf(p->out, "%lld", (long long)a->i); break;
    case HN_K_FLOAT: hn_str_addf(p->out, "%a", a->f); break;
    case HN_K_DTYPE: hn_str_add(p->out, hn_dtype_of((hone_dtype)a->i)->text); break;
    case HN_K_TENSOR: put_tensor(p, a->tensor); break;
    case HN_K_NAME:
        if (is_word(a->name))
            hn_str_add(p->out, a->name);
        else
            put_quoted(p->out, a->name);
        break;
    default: put_list(p, a);
    }
}

static void put_attrs(printer *p, const hn_node *n) {
    bool any = false;
    for (size_t i = 0; i < n->n_attr; i++) {
        if (n->attr[i].kind == HN_K_BLOCKS) continue;
        hn_str_add(p->out, any ? ", " : " {");
        put_attr(p, &n->attr[i]);
        any = true;
    }
    if (any) hn_str_add(p->out, "}");
}

/* --- nodes and blocks ------------------------------------------------------------------------------------------- */

static void indent(printer *p, unsigned depth) {
    for (unsigned i = 0; i < depth; i++) hn_str_add(p->out, "  ");
}

static void put_nodes(printer *p, hn_block b, unsigned depth);

/* (params) { … } */
static void put_region(printer *p, hn_block b, unsigned depth) {
    const hn_blk *k = &p->g->block[b];
    hn_str_add(p->out, "(");
    for (uint32_t i = 0; i < k->n_param; i++) {
        if (i) hn_str_add(p->out, ", ");
        define(p, k->param[i]);
        hn_str_add(p->out, " : ");
        hn_type_print(p->g, &p->g->value[k->param[i]].type, p->out);
    }
    hn_str_add(p->out, ") {\n");
    put_nodes(p, b, depth + 1);
    indent(p, depth + 1);
    hn_str_add(p->out, "yield");
    put_vals(p, k->result, k->n_result);
    hn_str_add(p->out, "\n");
    indent(p, depth);
    hn_str_add(p->out, "}");
}

static void put_types(printer *p, const hn_node *n) {
    for (size_t i = 0; n->op != HN_OP_CONST && i < n->n_out; i++) {
        hn_str_add(p->out, i ? ", " : " : ");
        hn_type_print(p->g, &p->g->value[n->out[i]].type, p->out);
    }
}

static void put_node(printer *p, const hn_node *n, unsigned depth) {
    /* results are numbered before the values of regions, though they come into being after them */
    indent(p, depth);
    for (size_t i = 0; i < n->n_out; i++) {
        if (i) hn_str_add(p->out, ", ");
        define(p, n->out[i]);
    }
    hn_str_addf(p->out, "%s%s", n->n_out ? " = " : "", hn_op_of(n->op)->text);
    put_vals(p, n->in, n->n_in);
    put_attrs(p, n);
    put_types(p, n);
    if (p->sources && n->source) {
        hn_str_add(p->out, " from ");
        put_quoted(p->out, p->g->source[n->source - 1]);
    }
    const hn_attr *body = hn_attr_get(n, HN_A_BODY);
    for (uint32_t i = 0; body && i < body->n; i++) {
        hn_str_add(p->out, " do ");
        put_region(p, body->blocks[i], depth);
    }
    hn_str_add(p->out, "\n");
}

static void put_nodes(printer *p, hn_block b, unsigned depth) {
    const hn_blk *k = &p->g->block[b];
    for (uint32_t i = 0; i < k->n_node; i++) put_node(p, &p->g->node[k->node[i]], depth);
}

static void put_symbols(printer *p) {
    const hn_dims *t = p->g->dims;
    for (hn_symbol s = 0; s < hn_dims_symbols(t); s++) {
        int64_t low, high;
        hn_symbol_range(t, s, &low, &high);
        hn_str_addf(p->out, "symbol %s in %lld..", hn_symbol_name(t, s), (long long)low);
        if (high != INT64_MAX) hn_str_addf(p->out, "%lld", (long long)high);
        hn_str_add(p->out, "\n");
    }
    const hn_relation *r;
    size_t n = hn_dim_relations(t, &r);
    for (size_t i = 0; i < n; i++) {
        hn_str_add(p->out, r[i].b ? "equal " : "divisible ");
        hn_dim_print(t, r[i].a, p->out);
        hn_str_add(p->out, ", ");
        if (r[i].b)
            hn_dim_print(t, r[i].b, p->out);
        else
            hn_str_addf(p->out, "%lld", (long long)r[i].by);
        hn_str_add(p->out, "\n");
    }
}

static void put_inputs(printer *p) {
    const hn_blk *k = &p->g->block[0];
    for (uint32_t i = 0; i < k->n_param; i++) {
        const hn_value *v = &p->g->value[k->param[i]];
        hn_str_add(p->out, "input ");
        define(p, k->param[i]);
        hn_str_add(p->out, " : ");
        hn_type_print(p->g, &v->type, p->out);
        hn_str_add(p->out, " ");
        put_quoted(p->out, v->name);
        hn_str_add(p->out, "\n");
    }
}

static void put_graph(printer *p) {
    const hn_blk *k = &p->g->block[0];
    hn_str_add(p->out, "ir 1\n");
    if (p->side) {
        hn_str_add(p->out, "weights ");
        put_quoted(p->out, p->side);
        hn_str_add(p->out, "\n");
    }
    put_symbols(p);
    put_inputs(p);
    put_nodes(p, 0, 0);
    for (uint32_t i = 0; i < k->n_result; i++) {
        hn_str_add(p->out, "output");
        put_vals(p, &k->result[i], 1);
        hn_str_add(p->out, " ");
        put_quoted(p->out, p->g->output_name[i]);
        hn_str_add(p->out, "\n");
    }
}

static bool open_printer(printer *p) {
    p->number = calloc(p->g->n_value, sizeof *p->number);
    if (!p->number) p->out->failed = true;
    return p->number != NULL;
}

void hn_print_weights(const hn_graph *g, int64_t above, const char *name, hn_str *out) {
    printer p = {.g = g, .out = out, .sources = true, .side = name, .above = above};
    if (open_printer(&p)) put_graph(&p);
    free(p.number);
}

void hn_print(const hn_graph *g, hn_str *out) { hn_print_weights(g, 0, NULL, out); }

void hn_print_block(const hn_graph *g, hn_block b, hn_str *out) {
    printer p = {.g = g, .out = out};
    if (open_printer(&p)) put_region(&p, b, 0);
    free(p.number);
}

/* --- the side file ---------------------------------------------------------------------------------------------- */

typedef struct side_writer {
    const hn_graph *g;
    int64_t above;
    FILE *f;
    uint64_t offset;
    bool failed;
} side_writer;

static void write_tensor(side_writer *w, const hn_tensor *t) {
    static const char zeros[ALIGN_B];
    int64_t n = hn_tensor_n(t);
    size_t size_b = (size_t)n * hn_dtype_of(t->dtype)->size_b;
    if (n <= w->above) return;
    uint64_t end = aligned(w->offset + size_b);
    size_t gap = (size_t)(end - w->offset - size_b);
    w->failed |= fwrite(t->data, 1, size_b, w->f) != size_b || fwrite(zeros, 1, gap, w->f) != gap;
    w->offset = end;
}

/* The same walk as printing. */
static void write_block(side_writer *w, hn_block b) {
    const hn_blk *k = &w->g->block[b];
    for (uint32_t i = 0; i < k->n_node; i++) {
        const hn_node *n = &w->g->node[k->node[i]];
        const hn_attr *value = hn_attr_get(n, HN_A_VALUE), *body = hn_attr_get(n, HN_A_BODY);
        if (value) write_tensor(w, value->tensor);
        for (uint32_t j = 0; body && j < body->n; j++) write_block(w, body->blocks[j]);
    }
}

hone_rc hn_write_weights(const hn_graph *g, int64_t above, const char *path, hone_err *err) {
    side_writer w = {.g = g, .above = above, .f = fopen(path, "wb")};
    if (!w.f) return hn_fail(err, HONE_E_IO, "cannot write '%s': %s", path, strerror(errno));
    write_block(&w, 0);
    w.failed |= fclose(w.f) != 0;
    return w.failed ? hn_fail(err, HONE_E_IO, "cannot write '%s': %s", path, strerror(errno)) : HONE_OK;
}
