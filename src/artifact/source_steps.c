/* source_steps.c — the function that runs a model: one statement per node, control flow as C's.
 *
 * hnm_bind reads the symbols off the inputs' sizes and checks the relations between them; hnm_item_sizes gives the
 * arena items of open sizes; hnm_steps launches the kernels, and checks every other relation where the last of its
 * symbols is defined: everything behind relies on it. S_i is symbol i, v[i] slot i, R(x) returns when x fails.
 */
#include "artifact/artifact.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct steps {
    const hn_model *m;
    hn_graph *g;
    hn_str *out;
    bool *known; /* by symbol: defined in front of the statement being written */
} steps;

static const hn_storage *root_of(const steps *w, hn_val v) { return &w->m->layout.slot[w->m->layout.slot[v].root]; }
static uint32_t slot_of(const steps *w, hn_val v) { return v ? w->m->layout.slot[v].root : 0; }

static void add_bytes(const steps *w, const hn_type *t) {
    for (size_t d = 0; d < t->rank; d++) hn_str_add(w->out, "hnm_mul(");
    hn_str_addf(w->out, "%u", hn_dtype_of(t->dtype)->size_b);
    for (size_t d = 0; d < t->rank; d++) {
        hn_str_add(w->out, ", ");
        hn_dim_c(w->g, t->dim[d], w->out);
        hn_str_add(w->out, ")");
    }
}

static void add_value_bytes(const steps *w, hn_val v) { add_bytes(w, hn_type_of(w->g, v)); }

/* Room for a value of its own that grows; bytes of `sized`'s type (or of the kernel's own bound). */
static void add_room(const steps *w, hn_val v, hn_val sized) {
    const hn_storage *s = &w->m->layout.slot[v];
    if (s->where != HN_AT_GROWN) return;
    hn_str_addf(w->out, "    R(hnm_grow(m, %u, %d, ", v, s->index);
    if (!s->room || sized != v) {
        add_value_bytes(w, sized);
    } else {
        hn_str_addf(w->out, "hnm_mul(%u, ", hn_dtype_of(hn_type_of(w->g, v)->dtype)->size_b);
        hn_dim_c(w->g, s->room, w->out);
        hn_str_add(w->out, ")");
    }
    hn_str_add(w->out, "));\n");
}

static void add_copy(const steps *w, uint32_t to, hn_val from) {
    hn_str_addf(w->out, "    hnm_copy(v[%u], v[%u], ", to, slot_of(w, from));
    add_value_bytes(w, from);
    hn_str_add(w->out, ");\n");
}

static void add_define(const steps *w, hn_symbol s, const char *value, hn_dim d) {
    int64_t low, high;
    hn_symbol_range(w->g->dims, s, &low, &high);
    hn_str_addf(w->out, "    R(hnm_define(m, %u, ", s);
    if (value)
        hn_str_add(w->out, value);
    else
        hn_dim_c(w->g, d, w->out);
    hn_str_addf(w->out, ", %lld, ", (long long)(low < 0 ? 0 : low));
    hn_str_addf(w->out, high == INT64_MAX ? "INT64_MAX));\n" : "%lld));\n", (long long)high);
}

/* --- before the kernels ----------------------------------------------------------------------------------------------
 */

static void add_bind_input(const steps *w, uint32_t i, bool *bound) {
    hn_type t = *hn_type_of(w->g, w->g->block[0].param[i]);
    for (size_t d = 0; d < t.rank; d++) {
        hn_symbol s;
        if (hn_dim_is_int(w->g->dims, t.dim[d], NULL)) continue;
        if (hn_dim_is_symbol(w->g->dims, t.dim[d], &s) && !bound[s]) {
            bound[s] = true;
            hn_str_addf(w->out, "    S_%u = in[%u].dim[%zu];\n", s, i, d);
            hn_str_addf(
                w->out,
                "    if (S_%u > INT32_MAX) return hnm_fail(m, HONE_MODEL_SHAPE, \"input %%d: dimension %%d is too "
                "large\", %u, %zu);\n",
                s, i, d);
        }
    }
}

/* " (past)" where the model's file calls a size `past` and `text`, what it must equal, does not. */
static void add_own_name(const steps *w, hn_dim d, const char *text) {
    hn_str own = {0};
    hn_symbol s;
    if (hn_dim_is_symbol(w->g->dims, d, &s) && text && strcmp(text, hn_symbol_name(w->g->dims, s)) != 0)
        hn_str_addf(&own, " (%s)", hn_symbol_name(w->g->dims, s));
    hn_c_string(w->out, own.text ? own.text : "");
    hn_str_free(&own);
}

static void add_check_input(const steps *w, uint32_t i) {
    hn_type t = *hn_type_of(w->g, w->g->block[0].param[i]);
    for (size_t d = 0; d < t.rank; d++) {
        hn_str text = {0};
        if (hn_dim_is_int(w->g->dims, t.dim[d], NULL)) continue;
        hn_dim_print(w->g->dims, t.dim[d], &text);
        hn_str_addf(w->out, "    if (in[%u].dim[%zu] != ", i, d);
        hn_dim_c(w->g, t.dim[d], w->out);
        hn_str_addf(
            w->out,
            ")\n        return hnm_fail(m, HONE_MODEL_SHAPE, \"input '%%.80s': dimension %zu%%.60s is %%lld, but "
            "%%.60s is %%lld\", hnm_input[%u].name, ",
            d, i);
        add_own_name(w, t.dim[d], text.text);
        hn_str_addf(w->out, ", (long long)in[%u].dim[%zu], ", i, d);
        hn_c_string(w->out, text.text);
        hn_str_add(w->out, ", (long long)");
        hn_dim_c(w->g, t.dim[d], w->out);
        hn_str_add(w->out, ");\n");
        hn_str_free(&text);
    }
}

/* late: of symbols that the run computes. Printed as it was stated: what follows from it must not decide it. */
static void add_relation(const steps *w, const hn_relation *r, bool late) {
    hn_str text = {0};
    hn_dim_print(w->g->dims, r->a, &text);
    hn_str_add(&text, r->b ? " = " : " divisible by ");
    if (r->b)
        hn_dim_print(w->g->dims, r->b, &text);
    else
        hn_str_addf(&text, "%lld", (long long)r->by);
    hn_str_add(w->out, "    if (");
    hn_dim_print_c(w->g->dims, r->a, "S_", w->out);
    hn_str_add(w->out, r->b ? " != " : " % ");
    if (r->b)
        hn_dim_print_c(w->g->dims, r->b, "S_", w->out);
    else
        hn_str_addf(w->out, "%lld != 0", (long long)r->by);
    hn_str_addf(w->out, ") return hnm_fail(m, HONE_MODEL_%s, \"the sizes %s contradict the model: it needs %%.150s\", ",
                late ? "INDEX" : "SHAPE", late ? "computed from data" : "of the inputs");
    hn_c_string(w->out, text.text);
    hn_str_add(w->out, ");\n");
    hn_str_free(&text);
}

/* Is every symbol of relation r known, and one of them in `fresh` (NULL: any)? */
static bool is_due(const steps *w, const hn_relation *r, const bool *fresh, bool *used) {
    size_t n = hn_dims_symbols(w->g->dims);
    bool due = fresh == NULL;
    memset(used, 0, n * sizeof *used);
    hn_dim_mark(w->g->dims, r->a, used);
    if (r->b) hn_dim_mark(w->g->dims, r->b, used);
    for (size_t s = 0; s < n; s++) {
        if (used[s] && !w->known[s]) return false;
        due = due || (used[s] && fresh[s]);
    }
    return due;
}

/* These symbols are known from here: the relations that they complete. */
static void add_late_relations(const steps *w, const hn_symbol *list, size_t n_list) {
    const hn_relation *r;
    size_t n_relation = hn_dim_relations(w->g->dims, &r), n = hn_dims_symbols(w->g->dims);
    bool *used = calloc(2 * n + 1, sizeof *used), *fresh = used + n;
    if (!used) w->out->failed = true;
    for (size_t i = 0; used && i < n_list; i++) w->known[list[i]] = fresh[list[i]] = true;
    for (size_t i = 0; used && i < n_relation; i++)
        if ((r[i].b || r[i].by) && is_due(w, &r[i], fresh, used)) add_relation(w, &r[i], true);
    free(used);
}

enum { MAX_DEFINED = 64 };

/* Symbols number [from, to) that node n defines; those of a kernel are in its body. */
static void add_defined(const steps *w, const hn_node *n, uint32_t from, uint32_t to) {
    hn_symbol list[MAX_DEFINED];
    const hn_attr *defines = hn_attr_get(n, HN_A_DEFINES);
    size_t n_list = 0;
    if (n->op == HN_OP_KERNEL)
        n_list = hn_body_symbols(w->g, hn_attr_get(n, HN_A_BODY)->blocks[0], list, MAX_DEFINED);
    else
        for (uint32_t i = from; defines && i < defines->n && i < to && n_list < MAX_DEFINED; i++)
            if (hn_dim_is_symbol(w->g->dims, defines->dims[i], &list[n_list])) n_list++;
    if (n_list) add_late_relations(w, list, n_list);
}

static void add_bind(const steps *w) {
    hn_dims *dims = w->g->dims;
    const hn_relation *r;
    size_t n = hn_dim_relations(dims, &r);
    bool *bound = hn_alloc_n((hn_arena *)&w->m->arena, hn_dims_symbols(dims) + 1, sizeof *bound);
    hn_str_add(w->out,
               "static hone_model_rc hnm_bind(hone_model_instance *m, const hone_model_tensor *in) {\n    (void)in;\n");
    for (uint32_t i = 0; bound && i < w->g->block[0].n_param; i++) add_bind_input(w, i, bound);
    for (uint32_t i = 0; i < w->g->block[0].n_param; i++) add_check_input(w, i);
    bool *used = calloc(hn_dims_symbols(dims) + 1, sizeof *used);
    if (!bound || !used) w->out->failed = true;
    if (bound) memcpy(w->known, bound, hn_dims_symbols(dims) * sizeof *bound);
    for (size_t i = 0; used && i < n; i++)
        if ((r[i].by || r[i].b) && is_due(w, &r[i], NULL, used)) add_relation(w, &r[i], false);
    free(used);
    hn_str_add(w->out, "    return m->rc = HONE_MODEL_OK;\n}\n");
}

static void add_item_sizes(const steps *w) {
    const hn_layout *l = &w->m->layout;
    hn_str_add(
        w->out,
        "HNR void hnm_item_sizes(const hone_model_instance *m, hn_plan_item *item) {\n    (void)m, (void)item;\n");
    for (int32_t i = 0; i < l->n_item && l->sizes == HN_SIZES_OPEN; i++) {
        hn_val v = l->owner[i], typed = hn_slot_type(w->g, l, v);
        hn_type t = *hn_type_of(w->g, typed);
        hn_str_addf(w->out, "    item[%d].size_b = ", i);
        if (!l->slot[v].room) {
            add_bytes(w, &t);
        } else {
            hn_str_addf(w->out, "hnm_mul(%u, ", hn_dtype_of(t.dtype)->size_b);
            hn_dim_c(w->g, l->slot[v].room, w->out);
            hn_str_add(w->out, ")");
        }
        hn_str_add(w->out, ";\n");
    }
    hn_str_add(w->out, "}\n");
}

/* --- nodes -----------------------------------------------------------------------------------------------------------
 */

static void add_block(const steps *w, hn_block b);

static bool never_negative(const steps *w, hn_dim d) {
    int64_t low, high;
    hn_dim_range(w->g->dims, d, &low, &high);
    return low >= 0;
}

/* Elements first, first + step, ... of a dimension of n, count of them: inside it, whatever the symbols are? */
static bool stays_inside(const steps *w, hn_dim first, int64_t step, hn_dim count, hn_dim n) {
    hn_dims *t = w->g->dims;
    hn_dim one = hn_dim_int(t, 1), end = hn_dim_sub(t, n, one);
    hn_dim last = hn_dim_add(t, first, hn_dim_mul(t, hn_dim_sub(t, count, one), hn_dim_int(t, step)));
    hn_dim low = step > 0 ? first : last, high = step > 0 ? last : first;
    return never_negative(w, low) && never_negative(w, hn_dim_sub(t, end, high));
}

static void add_slice_check(const steps *w, const hn_node *n) {
    const hn_type *in = hn_type_of(w->g, n->in[0]), *out = hn_type_of(w->g, n->out[0]);
    const hn_attr *start = hn_attr_get(n, HN_A_START), *step = hn_attr_get(n, HN_A_STEP);
    for (size_t d = 0; d < in->rank; d++) {
        int64_t by = step ? step->ints[d] : 1;
        hn_dim first = start ? start->dims[d] : hn_dim_int(w->g->dims, 0);
        if (stays_inside(w, first, by, out->dim[d], in->dim[d])) continue;
        hn_str_add(w->out, "    if (!hnr_inside(");
        hn_dim_c(w->g, first, w->out);
        hn_str_addf(w->out, ", %lld, ", (long long)by);
        hn_dim_c(w->g, out->dim[d], w->out);
        hn_str_add(w->out, ", ");
        hn_dim_c(w->g, in->dim[d], w->out);
        hn_str_add(w->out,
                   "))\n        return hnm_fail(m, HONE_MODEL_INDEX, \"a slice leaves the elements there are\");\n");
    }
}

static void add_pad_check(const steps *w, const hn_node *n) {
    static const hn_attr_id side[] = {HN_A_LOW, HN_A_HIGH};
    for (size_t i = 0; i < 2; i++) {
        const hn_attr *a = hn_attr_get(n, side[i]);
        for (uint32_t d = 0; a && d < a->n; d++) {
            if (never_negative(w, a->dims[d])) continue;
            hn_str_add(w->out, "    if (");
            hn_dim_c(w->g, a->dims[d], w->out);
            hn_str_add(w->out, " < 0) return hnm_fail(m, HONE_MODEL_INDEX, \"padding by less than nothing\");\n");
        }
    }
}

/* What kernels rely on and no type says: movement stays inside its input. */
static void add_bounds(const steps *w, hn_block body) {
    for (uint32_t i = 0; i < w->g->block[body].n_node; i++) {
        const hn_node *n = &w->g->node[w->g->block[body].node[i]];
        if (n->op == HN_OP_SLICE) add_slice_check(w, n);
        if (n->op == HN_OP_PAD) add_pad_check(w, n);
    }
}

static void add_work(const steps *w, const hn_kernel_code *code) {
    if (code->work) {
        hn_dim_c(w->g, code->work, w->out);
        return;
    }
    for (uint32_t i = 0; i < code->n_work_by; i++) hn_str_add(w->out, "hnm_mul(");
    hn_str_add(w->out, "1");
    for (uint32_t i = 0; i < code->n_work_by; i++) {
        hn_str_add(w->out, ", ");
        hn_dim_c(w->g, code->work_by[i], w->out);
        hn_str_add(w->out, ")");
    }
}

static void add_kernel(const steps *w, uint32_t id) {
    const hn_node *n = &w->g->node[id];
    const hn_kernel *k = &w->m->kernel[w->m->kernel_of[id] - 1];
    hn_symbol list[64];
    size_t n_symbols = hn_body_symbols(w->g, hn_attr_get(n, HN_A_BODY)->blocks[0], list, 64);
    add_bounds(w, hn_attr_get(n, HN_A_BODY)->blocks[0]);
    for (uint32_t i = 0; i < n->n_out; i++) add_room(w, n->out[i], n->out[i]);
    hn_str_add(w->out, "    { void *b[] = {");
    for (uint32_t i = 0; i < n->n_in; i++) hn_str_addf(w->out, n->in[i] ? "v[%u], " : "NULL, ", slot_of(w, n->in[i]));
    for (uint32_t i = 0; i < n->n_out; i++) hn_str_addf(w->out, "v[%u], ", slot_of(w, n->out[i]));
    for (size_t i = 0; i < n_symbols; i++) hn_str_addf(w->out, "&S_%u, ", list[i]);
    hn_str_add(w->out, "NULL};\n");
    hn_source_time_begin(w->m, w->out);
    hn_str_addf(w->out, "      R(hnm_launch(m, %s, b, ", hn_kernel_symbol(w->m, k));
    add_work(w, &k->code);
    hn_str_add(w->out, ", ");
    if (k->cost.steps)
        hn_dim_c(w->g, k->cost.steps, w->out);
    else
        hn_str_add(w->out, "INT32_MAX"); /* too long an expression */
    hn_str_add(w->out, ", ");
    if (k->code.scratch_b)
        hn_dim_c(w->g, k->code.scratch_b, w->out);
    else
        hn_str_add(w->out, "0");
    hn_str_add(w->out, "));\n");
    hn_source_time_end(w->m, id, w->out);
    hn_str_add(w->out, "    }\n");
    for (size_t i = 0; i < n_symbols; i++) {
        char value[32];
        snprintf(value, sizeof value, "S_%u", list[i]);
        add_define(w, list[i], value, 0);
    }
}

static void add_dims(const steps *w, const hn_node *n) {
    const hn_attr *shape = hn_attr_get(n, HN_A_SHAPE);
    add_room(w, n->out[0], n->out[0]);
    for (uint32_t i = 0; i < shape->n; i++) {
        hn_str_addf(w->out, "    ((int64_t *)v[%u])[%u] = ", slot_of(w, n->out[0]), i);
        hn_dim_c(w->g, shape->dims[i], w->out);
        hn_str_add(w->out, ";\n");
    }
}

static void add_bind_node(const steps *w, const hn_node *n) {
    const hn_attr *defines = hn_attr_get(n, HN_A_DEFINES);
    for (uint32_t i = 0; defines && i < defines->n; i++) {
        hn_symbol s;
        char value[64];
        snprintf(value, sizeof value, "((const int64_t *)v[%u])[%u]", slot_of(w, n->in[0]), i);
        if (hn_dim_is_symbol(w->g->dims, defines->dims[i], &s)) add_define(w, s, value, 0);
    }
}

/* Is d one of the symbols that node n defines, from number `from` on? */
static bool defined_by(const steps *w, const hn_node *n, uint32_t from, hn_dim d, hn_symbol *s) {
    const hn_attr *defines = hn_attr_get(n, HN_A_DEFINES);
    hn_symbol x;
    if (!hn_dim_is_symbol(w->g->dims, d, s)) return false;
    for (uint32_t i = from; defines && i < defines->n; i++)
        if (hn_dim_is_symbol(w->g->dims, defines->dims[i], &x) && x == *s) return true;
    return false;
}

/* Symbols in `to`'s type that n defines take the sizes of `from`. */
static void add_sizes_of(const steps *w, const hn_node *n, uint32_t first, hn_val to, hn_val from) {
    hn_type t = *hn_type_of(w->g, to), f = *hn_type_of(w->g, from);
    for (size_t d = 0; d < t.rank; d++) {
        hn_symbol s;
        if (t.dim[d] != f.dim[d] && defined_by(w, n, first, t.dim[d], &s)) add_define(w, s, NULL, f.dim[d]);
    }
}

static void add_branch(const steps *w, const hn_node *n, hn_block b) {
    add_block(w, b);
    for (uint32_t i = 0; i < n->n_out; i++) add_sizes_of(w, n, 0, n->out[i], w->g->block[b].result[i]);
    for (uint32_t i = 0; i < n->n_out; i++) {
        add_room(w, n->out[i], w->g->block[b].result[i]);
        add_copy(w, slot_of(w, n->out[i]), w->g->block[b].result[i]);
    }
}

static void add_if(const steps *w, const hn_node *n) {
    const hn_block *body = hn_attr_get(n, HN_A_BODY)->blocks;
    hn_str_addf(w->out, "    if (*(const uint8_t *)v[%u]) {\n", slot_of(w, n->in[0]));
    add_branch(w, n, body[0]);
    hn_str_add(w->out, "    } else {\n");
    add_branch(w, n, body[1]);
    hn_str_add(w->out, "    }\n");
}

/* The end of a turn: carried values move to the parameters, all at once in effect; then symbols that changed. */
static void add_carry(const steps *w, const hn_node *n, uint32_t id, const hn_blk *b) {
    uint32_t n_carried = n->n_in - 2u, staging = w->m->layout.staging[id];
    for (uint32_t k = 0; k < n_carried && staging; k++) {
        const hn_storage *s = &w->m->layout.slot[staging + k];
        if (s->where == HN_AT_GROWN) {
            hn_str_addf(w->out, "    R(hnm_grow(m, %u, %d, ", staging + k, s->index);
            add_value_bytes(w, b->result[1 + k]);
            hn_str_add(w->out, "));\n");
        }
        add_copy(w, staging + k, b->result[1 + k]);
    }
    for (uint32_t k = 0; k < n_carried; k++) {
        add_room(w, b->param[2 + k], b->result[1 + k]);
        hn_str_addf(w->out, "    hnm_copy(v[%u], v[%u], ", b->param[2 + k],
                    staging ? staging + k : slot_of(w, b->result[1 + k]));
        add_value_bytes(w, b->result[1 + k]);
        hn_str_add(w->out, ");\n");
    }
    hn_str_add(w->out, "    {\n");
    for (int pass = 0; pass < 2; pass++) /* all are computed with the old values */
        for (uint32_t k = 0; k < n_carried; k++) {
            hn_type t = *hn_type_of(w->g, b->param[2 + k]), f = *hn_type_of(w->g, b->result[1 + k]);
            for (size_t d = 0; d < t.rank; d++) {
                hn_symbol s;
                char value[32];
                if (t.dim[d] == f.dim[d] || !defined_by(w, n, 1, t.dim[d], &s)) continue;
                snprintf(value, sizeof value, "d%u_%zu", k, d);
                if (pass) {
                    add_define(w, s, value, 0);
                } else {
                    hn_str_addf(w->out, "    int64_t %s = ", value);
                    hn_dim_c(w->g, f.dim[d], w->out);
                    hn_str_add(w->out, ";\n");
                }
            }
        }
    hn_str_add(w->out, "    }\n");
}

static void add_stacks(const steps *w, const hn_node *n, const hn_blk *b) {
    uint32_t n_carried = n->n_in - 2u;
    for (uint32_t k = n_carried; k < n->n_out; k++) {
        const hn_storage *s = root_of(w, n->out[k]);
        hn_val from = b->result[1 + k];
        hn_str_addf(w->out, "    R(hnm_stack(m, %u, %d, turn, v[%u], ", slot_of(w, n->out[k]),
                    s->where == HN_AT_GROWN ? s->index : -1, slot_of(w, from));
        add_value_bytes(w, from);
        hn_str_add(w->out, "));\n");
    }
}

static void add_loop(const steps *w, uint32_t id) {
    hn_node n = w->g->node[id];
    hn_block body = hn_attr_get(&n, HN_A_BODY)->blocks[0];
    hn_blk b = w->g->block[body];
    uint32_t n_carried = n.n_in - 2u;
    const hn_attr *defines = hn_attr_get(&n, HN_A_DEFINES);
    hn_symbol turns;
    for (uint32_t k = 0; k < n_carried; k++) add_sizes_of(w, &n, 1, b.param[2 + k], n.in[2 + k]);
    add_defined(w, &n, 1, UINT32_MAX);
    for (uint32_t k = 0; k < n_carried; k++) {
        add_room(w, b.param[2 + k], n.in[2 + k]);
        add_copy(w, b.param[2 + k], n.in[2 + k]);
    }
    hn_str_addf(w->out,
                n.in[0] ? "    { int64_t turn = 0; const int64_t turns = *(const int64_t *)v[%u];\n"
                        : "    { int64_t turn = 0; const int64_t turns = INT64_MAX;\n",
                slot_of(w, n.in[0]));
    hn_str_addf(w->out, n.in[1] ? "    uint8_t go = *(const uint8_t *)v[%u];\n" : "    uint8_t go = 1;\n",
                slot_of(w, n.in[1]));
    hn_str_addf(w->out,
                "    for (; turn < turns && go; turn++) {\n    *(int64_t *)v[%u] = turn; *(uint8_t *)v[%u] = go;\n",
                b.param[0], b.param[1]);
    add_block(w, body);
    hn_str_addf(w->out, "    go = *(const uint8_t *)v[%u];\n", slot_of(w, b.result[0]));
    add_stacks(w, &n, &b);
    add_carry(w, &n, id, &b);
    add_defined(w, &n, 1, UINT32_MAX);
    hn_str_add(w->out, "    }\n");
    if (defines && defines->n && hn_dim_is_symbol(w->g->dims, defines->dims[0], &turns))
        add_define(w, turns, "turn", 0);
    add_defined(w, &n, 0, 1);
    hn_str_add(w->out, "    }\n");
    for (uint32_t k = 0; k < n_carried; k++) add_sizes_of(w, &n, 1, n.out[k], b.param[2 + k]);
    for (uint32_t k = 0; k < n.n_out; k++) {
        if (k >= n_carried) { /* no turn at all: the slot must point somewhere */
            if (root_of(w, n.out[k])->where == HN_AT_GROWN)
                hn_str_addf(w->out, "    R(hnm_grow(m, %u, %d, 0));\n", slot_of(w, n.out[k]),
                            root_of(w, n.out[k])->index);
            continue;
        }
        add_room(w, n.out[k], b.param[2 + k]);
        add_copy(w, slot_of(w, n.out[k]), b.param[2 + k]);
    }
}

static void add_node(const steps *w, uint32_t id) {
    const hn_node *n = &w->g->node[id];
    switch (n->op) {
    case HN_OP_KERNEL: add_kernel(w, id); break;
    case HN_OP_DIMS: add_dims(w, n); break;
    case HN_OP_BIND: add_bind_node(w, n); break;
    case HN_OP_IF: add_if(w, n); break;
    case HN_OP_LOOP: add_loop(w, id); return;
    default: break; /* constants and views */
    }
    add_defined(w, n, 0, UINT32_MAX);
}

static void add_block(const steps *w, hn_block b) {
    for (uint32_t i = 0; i < w->g->block[b].n_node; i++) add_node(w, w->g->block[b].node[i]);
}

/* --- outputs ---------------------------------------------------------------------------------------------------------
 */

static void add_output_dims(const steps *w, uint32_t j) {
    hn_type t = *hn_type_of(w->g, w->g->block[0].result[j]);
    hn_str_addf(w->out, "    out[%u].dtype = %d;\n    out[%u].rank = %d;\n", j, (int)t.dtype, j, (int)t.rank);
    for (size_t d = 0; d < t.rank; d++) {
        hn_str_addf(w->out, "    out[%u].dim[%zu] = ", j, d);
        hn_dim_c(w->g, t.dim[d], w->out);
        hn_str_add(w->out, ";\n");
    }
    hn_str_addf(w->out, "    R(hnm_check_output(m, in, &out[%u], %u));\n", j, j);
}

static void add_outputs_before(const steps *w) {
    const hn_blk *b = &w->g->block[0];
    for (uint32_t j = 0; j < b->n_result; j++) {
        if (!hn_type_is_early(w->g, &w->m->layout, hn_type_of(w->g, b->result[j]))) continue;
        add_output_dims(w, j);
        if (root_of(w, b->result[j])->output == (int32_t)j)
            hn_str_addf(w->out, "    if (out[%u].data) v[%u] = out[%u].data;\n", j, slot_of(w, b->result[j]), j);
    }
}

static void add_outputs_after(const steps *w) {
    const hn_blk *b = &w->g->block[0];
    for (uint32_t j = 0; j < b->n_result; j++) {
        if (!hn_type_is_early(w->g, &w->m->layout, hn_type_of(w->g, b->result[j]))) add_output_dims(w, j);
        hn_str_addf(w->out, "    hnm_give_output(m, &out[%u], %u);\n", j, slot_of(w, b->result[j]));
    }
}

void hn_steps_text(const hn_model *m, hn_str *out) {
    steps w = {m, m->g, out, hn_alloc((hn_arena *)&m->arena, hn_dims_symbols(m->g->dims) + 1)};
    if (!w.known) {
        out->failed = true;
        return;
    }
    hn_str_add(out, "#define R(x) do { hone_model_rc rc_ = (x); if (rc_) return rc_; } while (0)\n");
    add_bind(&w);
    add_item_sizes(&w);
    hn_str_add(out,
               "static hone_model_rc hnm_steps(hone_model_instance *m, const hone_model_tensor *in, hone_model_tensor "
               "*out) {\n    void **v = m->v;\n    (void)v, (void)in, (void)out;\n");
    for (uint32_t i = 0; i < m->g->block[0].n_param; i++)
        hn_str_addf(out, "    v[%u] = in[%u].data;\n", m->g->block[0].param[i], i);
    add_outputs_before(&w);
    add_block(&w, 0);
    add_outputs_after(&w);
    hn_str_add(out, "    return HONE_MODEL_OK;\n}\n");
}
