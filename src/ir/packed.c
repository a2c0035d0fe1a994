/* packed.c — the table of codecs, panels, and rows as floats. */
#include "ir/packed.h"
#include "ir/block_decode.h"

#include <string.h>

static const hn_codec codecs[] = {
#define HN_CODEC(TEXT, BLOCK, VALUES, BYTES, DECODE, GROUPS, OFF, MIN, MOST, ...)                                      \
    {TEXT, BLOCK, VALUES, BYTES, DECODE, #DECODE, GROUPS, OFF, MIN, MOST, __VA_ARGS__},
#include "ir/packed.def"
#undef HN_CODEC
};

const hn_codec *hn_codec_at(size_t i) { return i < sizeof codecs / sizeof *codecs ? &codecs[i] : NULL; }

const hn_codec *hn_codec_named(const char *text) {
    const hn_codec *c;
    for (size_t i = 0; (c = hn_codec_at(i)); i++)
        if (!strcmp(c->text, text)) return c;
    return NULL;
}

const hn_codec *hn_codec_of_block(const char *block_name) {
    const hn_codec *c;
    for (size_t i = 0; (c = hn_codec_at(i)); i++)
        if (*c->block && !strcmp(c->block, block_name)) return c;
    return NULL;
}

const hn_codec *hn_codec_of(const hn_node *n) {
    const hn_attr *a = hn_attr_get(n, HN_A_CODEC);
    return a ? hn_codec_named(a->name) : NULL;
}

bool hn_dot_of_bytes(const hn_graph *g, const hn_node *n) { return hn_type_of(g, n->in[1])->dtype == HONE_I8; }

static int64_t last_of(const hn_graph *g, hn_val v) {
    const hn_type *t = hn_type_of(g, v);
    int64_t n = -1;
    return hn_dim_is_int(g->dims, t->dim[t->rank - 1u], &n) ? n : -1;
}
int hn_dot_digits(const hn_graph *g, const hn_node *n) {
    return hn_dot_of_bytes(g, n) && last_of(g, n->in[1]) == 64 * last_of(g, n->in[2]) ? 2 : 1;
}
int64_t hn_dot_length(const hn_graph *g, const hn_node *n) {
    int64_t k = last_of(g, n->in[1]);
    return k < 0 ? k : k / hn_dot_digits(g, n);
}
hn_digits hn_digits_of(const hn_node *n) {
    const hn_attr *mode = hn_attr_get(n, HN_A_MODE);
    return !mode ? HN_DIGITS_ONE : !strcmp(mode->name, "auto") ? HN_DIGITS_AUTO : HN_DIGITS_TWO;
}
bool hn_dot_chooses(const hn_graph *g, const hn_node *n) { return n->n_in == (hn_dot_of_bytes(g, n) ? 4 : 3); }

int64_t hn_codec_row_b(const hn_codec *c, int64_t elements) {
    return elements % c->elements ? 0 : elements / c->elements * c->size_b;
}

void hn_codec_pack(const hn_codec *c, const uint8_t *rows, int64_t n, int64_t row_b, uint8_t *out) {
    int64_t panels = (n + HN_PANEL - 1) / HN_PANEL, blocks = row_b / c->size_b;
    memset(out, 0, (size_t)(panels * HN_PANEL * row_b));
    for (int64_t i = 0; i < n; i++)
        for (int64_t b = 0; b < blocks; b++) {
            const uint8_t *from = rows + i * row_b + b * c->size_b;
            uint8_t *to = out + i / HN_PANEL * HN_PANEL * row_b + b * HN_PANEL * c->size_b;
            for (int u = 0; u < HN_UNITS_MAX && c->unit[u][0]; u++)
                for (int k = 0; k < c->unit[u][1]; k++, from += c->unit[u][0], to += HN_PANEL * c->unit[u][0])
                    memcpy(to + i % HN_PANEL * c->unit[u][0], from, c->unit[u][0]);
        }
}

void hn_codec_row(const hn_codec *c, const uint8_t *data, int64_t panel, int64_t row_b, int64_t i, float *out) {
    const hn_dec_matrix m = {data, panel, row_b, c->size_b, c->elements, c->unit, c->decode};
    hn_dec_row(&m, i, out);
}
