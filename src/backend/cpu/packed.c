/* backend/cpu/packed.c — products with packed weights in panels (ir/packed.h) as calls of rt/packed.h, which is made
 * for the codec and the length of a row. No loop nest: the unpacking of a codec is text of the runtime. */
#include "ir/packed.h"
#include "backend/cpu/cpu.h"
#include "base/err.h"

#include <inttypes.h>
#include <stdlib.h>

/* The body's only node besides constants, where it is a product with panels whose operands are parameters. */
static const hn_node *product_of(const hn_graph *g, hn_block body) {
    const hn_blk *b = &g->block[body];
    const hn_node *n = b->n_node == 1 ? &g->node[b->node[0]] : NULL;
    if (!n || n->op != HN_OP_PACKED_DOT || b->n_result != 1 || b->result[0] != n->out[0]) return NULL;
    if (hn_attr_i(n, HN_A_PANEL, 0) != HN_PANEL) return NULL;
    for (size_t i = 0; i < n->n_in; i++)
        if (g->value[n->in[i]].node || g->value[n->in[i]].block != body) return NULL;
    return n;
}

static int64_t size_of(const hn_graph *g, hn_val v, size_t d) {
    int64_t n = 0;
    hn_dim_is_int(g->dims, hn_type_of(g, v)->dim[d], &n);
    return n;
}

/* Where the buffer of input i is. */
static unsigned at(const hn_graph *g, const hn_node *n, size_t i) { return g->value[n->in[i]].index; }

static void add_dim(const hn_graph *g, hn_dim d, hn_str *out) {
    bool *used = calloc(hn_dims_symbols(g->dims) + 1, sizeof *used);
    if (!used) out->failed = true;
    if (used) hn_dim_mark(g->dims, d, used);
    for (size_t i = 0; used && i < hn_dims_symbols(g->dims); i++)
        if (used[i]) hn_str_addf(out, "    const int64_t s%zu = s[%zu];\n", i, i);
    hn_str_add(out, "    const int64_t rows = ");
    hn_dim_print_c(g->dims, d, "s", out);
    hn_str_add(out, ";\n");
    free(used);
}

/* The functions for this codec and length, once in a file. */
static void add_functions(const hn_codec *c, int digits, int64_t blocks, hn_str *out) {
    const char *f = digits == 2 ? "_2" : digits ? "" : "_F";
    bool bytes = digits > 0;
    hn_str_addf(out, "#ifndef HNR_DOT%s_%s_%" PRId64 "\n#define HNR_DOT%s_%s_%" PRId64 "\n", f, c->text, blocks, f,
                c->text, blocks);
    if (!bytes && c->groups)
        hn_str_addf(out, "#ifndef HNR_VALUE_%s\n#define HNR_VALUE_%s\nHNR_NO_VALUE(%s)\n#endif\n", c->text, c->text,
                    c->text);
    hn_str_addf(out, "HNR_DOT%s%s(%s, %" PRId64 ", %d, %d, %d, %d, %d, %d)\n#endif\n",
                bytes && c->most < 64 ? "_SMALL" : "", f, c->text, blocks, c->groups, c->off, c->min, c->most,
                (int)c->size_b, (int)(c->elements / 32));
}

/* Does each row choose its matrix? */
static bool chooses_each(const hn_graph *g, const hn_node *n) {
    return hn_dot_chooses(g, n) && hn_type_of(g, n->in[n->n_in - 1])->rank;
}

/* The index of matrices as `which`. */
static void add_index(const hn_graph *g, const hn_node *n, hn_str *out) {
    const char *type = hn_dtype_of(hn_type_of(g, n->in[n->n_in - 1])->dtype)->text;
    hn_str_addf(out, "    const hnr_%s *which = buf[%u];\n", type, at(g, n, n->n_in - 1u));
}

static void add_call(const hn_graph *g, const hn_node *n, const hn_codec *c, int64_t k, hn_str *out) {
    bool bytes = hn_dot_of_bytes(g, n), two = hn_dot_digits(g, n) == 2, each = chooses_each(g, n),
         one = !each && hn_dot_chooses(g, n);
    int64_t columns = size_of(g, n->out[0], 1), panels = (columns + HN_PANEL - 1) / HN_PANEL;
    int64_t matrix_b = panels * HN_PANEL * hn_codec_row_b(c, k), matrices = each || one ? size_of(g, n->in[0], 0) : 1;
    const char *f = two ? "_2" : bytes ? "" : "_f";
    if (each || one) add_index(g, n, out);
    hn_str_addf(out, "    const hnr_packed a = {.w = (const uint8_t *)buf[%u]", at(g, n, 0));
    if (one) hn_str_addf(out, " + hnr_index(s, which[0], %" PRId64 ") * %" PRId64, matrices, matrix_b);
    if (bytes)
        hn_str_addf(out, ", .q = buf[%u], .d = buf[%u], ", at(g, n, 1), at(g, n, 2));
    else
        hn_str_addf(out, ", .x = buf[%u], ", at(g, n, 1));
    if (two) hn_str_add(out, ".two = 1, ");
    hn_str_addf(out, ".y = buf[%u], .rows = rows, .columns = %" PRId64 "};\n",
                g->block[g->value[n->out[0]].block].n_param, columns);
    if (each)
        hn_str_addf(out,
                    "    HNR_CHOSEN(hnr_dot%s_%s_%" PRId64 ", a, %" PRId64 ", %" PRId64 ", %" PRId64
                    ", which, s, begin, end, scratch)\n",
                    f, c->text, k / 32, k, matrix_b, matrices);
    else
        hn_str_addf(out, "    hnr_dot%s_%s_%" PRId64 "(&a, begin, end, scratch);\n", f, c->text, k / 32);
}

bool hn_cpu_is_packed(const hn_graph *g, hn_block body) { return product_of(g, body) != NULL; }

hone_rc hn_cpu_packed(hn_graph *g, hn_block body, const char *name, hn_arena *a, hn_kernel_code *out, hone_err *err) {
    const hn_node *n = product_of(g, body);
    hn_str text = {0};
    const hn_codec *c = hn_codec_of(n);
    bool bytes = hn_dot_of_bytes(g, n), each = chooses_each(g, n);
    int digits = bytes ? hn_dot_digits(g, n) : 0;
    int64_t k = hn_dot_length(g, n), columns = size_of(g, n->out[0], 1);
    hn_dims *t = g->dims;
    hn_dim rows = hn_type_of(g, n->out[0])->dim[0];
    add_functions(c, digits, k / 32, &text);
    hn_str_addf(&text, HN_KERNEL_HEAD, name);
    hn_str_add(&text, "    (void)buf, (void)s, (void)scratch;\n");
    add_dim(g, rows, &text);
    add_call(g, n, c, k, &text);
    hn_str_add(&text, "}\n");
    *out = (hn_kernel_code){.helpers = "base packed"};
    hn_dim panels = hn_dim_int(t, (columns + HN_PANEL - 1) / HN_PANEL);
    out->work = hn_dim_mul(t, panels, each ? rows : hn_dim_ceildiv(t, rows, hn_dim_int(t, 64)));
    /* Sums of groups of 64 rows; words with high bytes (hnr_high_in of rt/packed.h): listed in 16 bytes each, of 64
     * rows and of a tile's 16, and ten words on where they begin; in one byte each, and how many of 8 tiles. */
    out->scratch_b = hn_dim_int(t, (bytes ? 2 * 4 * 64 * (k / 32) * c->groups : 0) +
                                       (digits == 2 ? (16 * (64 + 16) + 8 * 64 + 8) * (k / 32) + 8 * 10 * 4 : 0));
    out->text = text.failed ? NULL : hn_strdup(a, text.text);
    hn_str_free(&text);
    return out->text ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory in writing kernel '%s'", name);
}
