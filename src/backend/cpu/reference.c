/* backend/cpu/reference.c — a body as a C function, node by node: where values live, how the work is split, and which
 * function emits which operation.
 *
 * Results live in their buffers, parameters in theirs, constants in static tables, all else in scratch. A body that is
 * one node is split into work items by its row's unit; one whose nodes all go row by row over one outermost dimension
 * (reference_rows.c) has one item per row and keeps its intermediates for one row only; any other is one item.
 */
#include "backend/cpu/cpu.h"
#include "backend/cpu/reference_int.h"

#include <inttypes.h>
#include <string.h>

static void nothing(hn_ref *e) { (void)e; }

/* Most operations go by their class; the others have a row of their own. */
static const hn_ref_row by_class[] = {
    [HN_UNARY] = {hn_ref_unary, HN_UNIT_ELEMENT, "scalar"}, [HN_BINARY] = {hn_ref_binary, HN_UNIT_ELEMENT, "scalar"},
    [HN_TERNARY] = {hn_ref_select, HN_UNIT_ELEMENT, ""},    [HN_REDUCE] = {hn_ref_reduce, HN_UNIT_ELEMENT, "scalar"},
    [HN_ARG] = {hn_ref_arg, HN_UNIT_ELEMENT, "scalar"},     [HN_PREFIX] = {hn_ref_prefix, HN_UNIT_LINE, "scalar"},
    [HN_CONTRACT] = {hn_ref_contract, HN_UNIT_ELEMENT, ""}, [HN_KERNEL] = {NULL, HN_UNIT_NONE, NULL},
};
static const hn_ref_row by_op[HN_N_OPS] = {
    [HN_OP_CONST] = {nothing, HN_UNIT_NONE, ""},
    [HN_OP_IOTA] = {hn_ref_iota, HN_UNIT_ELEMENT, ""},
    [HN_OP_DIMS] = {hn_ref_dims, HN_UNIT_ELEMENT, ""},
    [HN_OP_RANDOM] = {hn_ref_random, HN_UNIT_ELEMENT, "philox"},
    [HN_OP_CAST] = {hn_ref_cast, HN_UNIT_ELEMENT, ""},
    [HN_OP_BITCAST] = {hn_ref_bitcast, HN_UNIT_ELEMENT, ""},
    [HN_OP_RESHAPE] = {hn_ref_reshape, HN_UNIT_ELEMENT, ""},
    [HN_OP_TRANSPOSE] = {hn_ref_transpose, HN_UNIT_ELEMENT, ""},
    [HN_OP_BROADCAST] = {hn_ref_broadcast, HN_UNIT_ELEMENT, ""},
    [HN_OP_SLICE] = {hn_ref_slice, HN_UNIT_ELEMENT, ""},
    [HN_OP_PAD] = {hn_ref_pad, HN_UNIT_ELEMENT, ""},
    [HN_OP_CONCAT] = {hn_ref_concat, HN_UNIT_ELEMENT, ""},
    [HN_OP_GATHER] = {hn_ref_gather, HN_UNIT_ELEMENT, ""},
    [HN_OP_GATHER_ELEMENTS] = {hn_ref_gather_elements, HN_UNIT_ELEMENT, ""},
    [HN_OP_GATHER_ND] = {hn_ref_gather_nd, HN_UNIT_ELEMENT, ""},
    [HN_OP_SCATTER_ELEMENTS] = {hn_ref_scatter_elements, HN_UNIT_NONE, "scalar"},
    [HN_OP_SCATTER_ND] = {hn_ref_scatter_nd, HN_UNIT_NONE, "scalar"},
    [HN_OP_CONV] = {hn_ref_conv, HN_UNIT_ELEMENT, ""},
    [HN_OP_WSUM] = {hn_ref_window, HN_UNIT_ELEMENT, "scalar"},
    [HN_OP_WMAX] = {hn_ref_window, HN_UNIT_ELEMENT, "scalar"},
    [HN_OP_WARGMAX] = {hn_ref_window, HN_UNIT_ELEMENT, "scalar"},
    [HN_OP_TOPK] = {hn_ref_topk, HN_UNIT_LINE, "order"},
    [HN_OP_ATTEND] = {hn_ref_attend, HN_UNIT_TOKENS, "attend"},
    [HN_OP_DET] = {hn_ref_det, HN_UNIT_ELEMENT, "odd"},
    [HN_OP_UNPACK] = {hn_ref_unpack, HN_UNIT_ROW, "block_decode"},
    [HN_OP_QUANTIZE_BLOCKS] = {hn_ref_quantize_blocks, HN_UNIT_ROW, "quantize"},
    [HN_OP_PACKED_DOT] = {hn_ref_packed_dot, HN_UNIT_ROW, "block_decode"},
    [HN_OP_PACKED_ROWS] = {hn_ref_packed_rows, HN_UNIT_ROW, "block_decode"},
    [HN_OP_NONZERO] = {hn_ref_nonzero, HN_UNIT_NONE, ""},
    [HN_OP_UNIQUE] = {hn_ref_unique, HN_UNIT_NONE, "order"},
    [HN_OP_NMS] = {hn_ref_nms, HN_UNIT_NONE, "odd"},
};

static const hn_ref_row *row_of(hn_op op) { return by_op[op].emit ? &by_op[op] : &by_class[hn_op_of(op)->cls]; }

static const hn_node *node_at(const hn_ref *e, uint32_t i) { return &e->g->node[e->body->node[i]]; }

/* --- where values live ------------------------------------------------------------------------------------------- */

static const char *pointer(hn_ref *e, hn_val v, const char *name, const char *from) {
    const char *space = name[0] == 'c' ? e->language->constant : e->language->global;
    hn_ref_add(e, "%shnr_%s *const %s = (%shnr_%s *)%s;\n", space, hn_ref_dtype(e, v), name, space, hn_ref_dtype(e, v),
               from);
    return name;
}

static const char *buffer(hn_ref *e, uint32_t i) {
    return hn_format(e->a, e->language->device ? "HNR_AT(b%u)" : "buf[%u]", i);
}

static void place_ports(hn_ref *e) {
    const hn_blk *b = e->body;
    for (uint32_t i = 0; i < b->n_param; i++)
        e->at[b->param[i]] = pointer(e, b->param[i], hn_format(e->a, "p%u", i), buffer(e, i));
    for (uint32_t i = 0; i < b->n_result; i++) {
        hn_val v = b->result[i];
        const hn_node *n = hn_def(e->g, v);
        if (e->at[v] || !n || n->op == HN_OP_CONST) continue;
        e->at[v] = pointer(e, v, hn_format(e->a, "r%u", i), buffer(e, b->n_param + i));
    }
}

static uint64_t bits_at(const hn_tensor *t, int64_t i) {
    uint64_t x = 0;
    size_t b = hn_dtype_of(t->dtype)->size_b;
    memcpy(&x, (const char *)t->data + (size_t)i * b, b); /* little endian, as all targets are */
    return x;
}

static void place_constant(hn_ref *e, const char *kernel, hn_val v) {
    const hn_tensor *t = hn_attr_get(e->n, HN_A_VALUE)->tensor;
    int64_t n = hn_tensor_n(t);
    const char *table = hn_format(e->a, "%s_c%u", kernel, e->n_table);
    hn_str_addf(&e->tables, "%suint%zu_t %s[] = {", e->language->table, hn_ref_size_b(e, v) * 8, table);
    for (int64_t i = 0; i < n; i++)
        hn_str_addf(&e->tables, "%s0x%" PRIx64, i == 0 ? "" : i % 8 ? ", " : ",\n    ", bits_at(t, i));
    hn_str_add(&e->tables, n ? "};\n" : "0};\n");
    const char *from = hn_format(e->a, e->language->device ? "%s" : "(void *)(uintptr_t)%s", table);
    e->at[v] = pointer(e, v, hn_format(e->a, "c%u", e->n_table++), from);
}

bool hn_ref_is_view(const hn_ref *e, const hn_node *n) {
    if (n->op != HN_OP_RESHAPE) return false;
    const hn_type *a = hn_ref_type(e, n->in[0]), *b = hn_ref_type(e, n->out[0]);
    return hn_dim_equal(e->g->dims, hn_type_count(e->g, a), hn_type_count(e->g, b)) == HN_EQUAL;
}

/* Outputs that no buffer takes: a view of the input, or scratch for all or for one row. */
static void place_outputs(hn_ref *e) {
    const hn_node *n = e->n;
    for (size_t k = 0; k < n->n_out; k++) {
        hn_val v = n->out[k];
        const hn_type *t = hn_ref_type(e, v);
        if (e->at[v]) continue;
        if (hn_ref_is_view(e, n)) {
            e->at[v] = e->at[n->in[0]];
            continue;
        }
        hn_dim count = hn_defines_sizes(n) ? hn_most_elements(e->g, n, k)
                                           : hn_ref_product(e, t, e->rows ? hn_ref_lead(e, t) + 1 : 0, t->rank);
        const char *name = hn_format(e->a, "t%u", e->n_temp), *raw = hn_format(e->a, "m%u", e->n_temp++);
        hn_dim size_b = hn_dim_mul(e->g->dims, count, hn_dim_int(e->g->dims, (int64_t)hn_ref_size_b(e, v)));
        hn_ref_scratch(e, raw, size_b);
        if (e->rows)
            raw = hn_format(
                e->a, e->language->device ? "(%s - row * %s)" : "((uintptr_t)%s - (uintptr_t)row * (uintptr_t)%s)", raw,
                hn_ref_dim(e, size_b));
        e->at[v] = pointer(e, v, name, e->rows || e->language->device ? raw : hn_format(e->a, "(void *)%s", raw));
    }
}

/* --- the function ------------------------------------------------------------------------------------------------ */

static uint32_t only_node(const hn_ref *e, uint32_t *at) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < e->body->n_node; i++) {
        if (node_at(e, i)->op == HN_OP_CONST) continue;
        *at = i;
        n++;
    }
    return n;
}

/* Every result is an output of the node, none twice. */
static bool gives_results(const hn_ref *e, const hn_node *n) {
    uint32_t seen = 0;
    for (uint32_t i = 0; i < e->body->n_result; i++) {
        hn_val v = e->body->result[i];
        if (hn_def(e->g, v) != n || seen >> e->g->value[v].index & 1) return false;
        seen |= 1u << e->g->value[v].index;
    }
    return e->body->n_result == n->n_out;
}

static uint64_t may_overwrite(const hn_ref *e, const hn_node *n) {
    hn_op_class c = hn_op_of(n->op)->cls;
    const hn_type *out = hn_ref_type(e, n->out[0]);
    bool scatter = n->op == HN_OP_SCATTER_ELEMENTS || n->op == HN_OP_SCATTER_ND;
    uint64_t bits = 0;
    if (!scatter && c != HN_UNARY && c != HN_BINARY && c != HN_TERNARY) return 0;
    for (uint32_t i = 0; i < e->body->n_param && i < 64; i++) {
        hn_val p = e->body->param[i];
        if (scatter && (p != n->in[0] || p == n->in[1] || p == n->in[2])) continue;
        if (hn_type_same(e->g, hn_ref_type(e, p), out)) bits |= UINT64_C(1) << i;
    }
    return bits;
}

/* How the body is split, and what that says of its only node. */
static void plan(hn_ref *e, hn_kernel_code *out) {
    uint32_t at = 0;
    hn_dims *t = e->g->dims;
    out->work = hn_dim_int(t, 1);
    e->alone = only_node(e, &at) == 1;
    if (e->alone && gives_results(e, node_at(e, at))) {
        const hn_node *n = node_at(e, at);
        hn_ref_unit unit = row_of(n->op)->unit;
        e->split = unit != HN_UNIT_NONE;
        if (unit == HN_UNIT_ELEMENT) {
            const hn_type *t_out = hn_ref_type(e, n->out[0]);
            hn_dim *by = hn_alloc_n(e->a, t_out->rank + 1u, sizeof *by);
            out->work = hn_type_count(e->g, t_out);
            if (by) memcpy(by, t_out->dim, t_out->rank * sizeof *by);
            out->work_by = by;
            out->n_work_by = by ? t_out->rank : 0;
        }
        if (unit == HN_UNIT_TOKENS) out->work = e->language->attend_work(e, n);
        if (unit == HN_UNIT_ROW)
            out->work = hn_ref_product(e, hn_ref_type(e, n->out[0]), 0, hn_ref_type(e, n->out[0])->rank - 1u);
        if (unit == HN_UNIT_LINE) out->work = hn_ref_n_lines(e, n->in[0], (size_t)hn_attr_i(n, HN_A_AXIS, 0));
        out->in_place = may_overwrite(e, n);
        return;
    }
    e->rows = hn_ref_by_rows(e, &out->work);
}

static void emit_nodes(hn_ref *e, const char *name) {
    for (uint32_t i = 0; i < e->body->n_node; i++) {
        e->n = node_at(e, i);
        if (e->n->op == HN_OP_CONST) place_constant(e, name, e->n->out[0]);
    }
    if (e->rows) hn_ref_add(e, "for (int64_t row = begin; row < end; row++) {\n");
    hn_ref_add(e, "%schar *top = scratch;\n(void)top;\n", e->language->global);
    for (uint32_t i = 0; i < e->body->n_node && !e->rc; i++) {
        e->n = node_at(e, i);
        const hn_ref_row *row = row_of(e->n->op);
        if (!row->emit) hn_ref_decline(e, "it is no operation of a kernel");
        if (hn_defines_sizes(e->n) && !e->alone) hn_ref_decline(e, "it decides sizes and must be a kernel of its own");
        if (e->rc) return;
        if (e->n->op == HN_OP_CONST) continue;
        place_outputs(e);
        e->parts = hn_format(e->a, "%s %s", e->parts, row->parts);
        if (hn_ref_is_view(e, e->n) && e->at[e->n->out[0]] == e->at[e->n->in[0]]) continue;
        hn_ref_add(e, "{ /* %s */\n", hn_op_of(e->n->op)->text);
        (e->n->op == HN_OP_ATTEND ? e->language->attend : row->emit)(e);
        hn_ref_add(e, "}\n");
    }
    if (e->rows) hn_ref_add(e, "}\n");
}

/* Results that are parameters, constants, views, or given twice. */
static void copy_results(hn_ref *e) {
    for (uint32_t i = 0; i < e->body->n_result; i++) {
        hn_val v = e->body->result[i];
        const char *home = e->at[v], *own = hn_format(e->a, "r%u", i);
        if (!home || !strcmp(home, own)) continue;
        const char *n = hn_ref_count(e, hn_ref_type(e, v));
        if (e->language->device)
            hn_ref_add(e, "for (int64_t i = 0; i < %s; i++) ((%shnr_r%zu *)%s)[i] = %s;\n", n, e->language->global,
                       hn_ref_size_b(e, v), buffer(e, e->body->n_param + i), hn_ref_raw(e, v, "i"));
        else
            hn_ref_add(e, "memcpy(buf[%u], %s, (size_t)%s * %zu);\n", e->body->n_param + i, home, n,
                       hn_ref_size_b(e, v));
    }
}

void hn_ref_add_indented(hn_str *out, const char *text) {
    int depth = 1;
    while (*text) {
        const char *end = strchr(text, '\n');
        size_t n = end ? (size_t)(end - text) : strlen(text);
        if (*text == '}') depth--;
        hn_str_addf(out, "%*s", 4 * depth, "");
        hn_str_add_n(out, text, n);
        hn_str_add(out, "\n");
        for (size_t i = *text == '}'; i < n; i++) depth += (text[i] == '{') - (text[i] == '}');
        text += n + (end != NULL);
    }
}

static void assemble(hn_ref *e, const char *name, hn_str *out, hn_kernel_code *code) {
    (void)code;
    hn_str_addf(out, "%s" HN_KERNEL_HEAD, e->tables.text ? e->tables.text : "", name);
    hn_str_add(out, "    (void)buf, (void)s, (void)scratch;\n    if (begin >= end) return;\n");
    for (size_t i = 0; i < hn_dims_symbols(e->g->dims); i++)
        if (e->used[i]) hn_str_addf(out, "    const int64_t s%zu = s[%zu];\n", i, i);
    hn_ref_add_indented(out, e->text.text ? e->text.text : "");
    hn_str_add(out, "}\n");
}

static hone_rc finish(hn_ref *e, const char *name, hn_kernel_code *out) {
    hn_str text = {0};
    e->language->assemble(e, name, &text, out);
    hone_rc rc = e->rc;
    bool whole = !text.failed && !e->text.failed && !e->tables.failed && !e->guard.failed;
    out->text = whole ? hn_strdup(e->a, text.text) : NULL;
    out->helpers = e->parts;
    out->scratch_b = e->scratch;
    out->schedule = "reference";
    if (!rc && (!out->text || !hn_arena_ok(e->a) || !hn_arena_ok(&e->g->arena)))
        rc = hn_fail(e->err, HONE_E_NOMEM, "no memory for the text of kernel '%s'", name);
    hn_str_free(&text);
    hn_str_free(&e->text);
    hn_str_free(&e->tables);
    hn_str_free(&e->guard);
    return rc;
}

const hn_ref_language hn_ref_c = {
    false, "", "", "static const ", {"(", ")"}, assemble, hn_ref_attend, hn_ref_attend_work, NULL};

hone_rc hn_cpu_reference(hn_graph *g, hn_block body, const char *name, hn_arena *a, hn_kernel_code *out,
                         hone_err *err) {
    return hn_reference(g, body, name, &hn_ref_c, a, out, err);
}

hone_rc hn_reference(hn_graph *g, hn_block body, const char *name, const hn_ref_language *language, hn_arena *a,
                     hn_kernel_code *out, hone_err *err) {
    hn_ref e = {.g = g,
                .language = language,
                .name = name,
                .body = &g->block[body],
                .a = a,
                .err = err,
                .parts = "base convert"};
    hn_kernel_code code = {0};
    e.at = HN_NEW_N(a, const char *, g->n_value);
    e.used = HN_NEW_N(a, bool, hn_dims_symbols(g->dims));
    e.scratch = hn_dim_int(g->dims, 0);
    if (!e.at || !e.used) return hn_fail(err, HONE_E_NOMEM, "no memory for the text of kernel '%s'", name);
    plan(&e, &code);
    place_ports(&e);
    for (uint32_t i = 0; i < e.body->n_node; i++)
        if (hn_defines_sizes(node_at(&e, i)))
            hn_ref_add(&e, "%sint64_t *const defined = (%sint64_t *)%s;\n", language->global, language->global,
                       buffer(&e, e.body->n_param + e.body->n_result));
    emit_nodes(&e, name);
    if (!e.rc) copy_results(&e);
    hone_rc rc = finish(&e, name, &code);
    if (!rc) *out = code;
    return rc;
}
