/* weights.c — see weights.h. */
#include "front/weights.h"
#include "base/err.h"
#include "compose/packed.h"
#include "ir/packed.h"

#include <stdlib.h>
#include <string.h>

enum { LINE_B = 64 };

void *hn_weights_room(hn_weights *w, uint64_t size_b) {
    if (w->n == w->room) {
        size_t room = w->room ? 2 * w->room : 64;
        void **more = realloc(w->made, room * sizeof *more);
        if (!more) return NULL;
        w->made = more;
        w->room = room;
    }
    void *out = aligned_alloc(LINE_B, (size_b + LINE_B) / LINE_B * LINE_B);
    return out ? w->made[w->n++] = out : NULL;
}

void hn_weights_free(hn_weights *w) {
    for (size_t i = 0; i < w->n; i++) free(w->made[i]);
    free(w->made);
}

static hn_val no_memory(hn_builder *b, const hn_weight *t) {
    return hn_graph_fail(b->g, HONE_E_NOMEM, "out of memory for the weights '%s'", t->name);
}

/* The tensor's sizes, behind `lead` others. */
static size_t sizes(const hn_weight *t, size_t lead, int64_t *dim) {
    for (size_t d = 0; d < t->rank; d++) dim[lead + d] = (int64_t)t->dim[d];
    return lead + t->rank;
}

static hn_val packed(hn_builder *b, const hn_codec *c, const void *data, size_t rank, const int64_t *dim,
                     hn_activations how) {
    hn_tensor bytes = {.dtype = HONE_U8, .rank = (uint8_t)rank, .data = (void *)(uintptr_t)data}; /* never written */
    hn_dim shape[HN_RANK_MAX];
    for (size_t d = 0; d < rank; d++) {
        bytes.dim[d] = dim[d];
        shape[d] = hn_lit(b, dim[d]);
    }
    bytes.dim[rank - 1] = hn_codec_row_b(c, dim[rank - 1]);
    return hn_unpack(b, hn_const(b, &bytes), c, rank, shape, how);
}

/* The codec that holds the tensor's rows as they are; NULL: none. */
static const hn_codec *codec_of(const hn_weight *t) {
    const hn_codec *c = hn_codec_of_block(t->type->name);
    return c && t->rank >= 2 && hn_codec_row_b(c, (int64_t)t->dim[t->rank - 1]) ? c : NULL;
}

hn_val hn_weight_packed(hn_builder *b, const hn_weight *t, hn_activations how) {
    const hn_codec *c = t->rank <= 3 ? codec_of(t) : NULL;
    int64_t dim[HN_RANK_MAX];
    return c ? packed(b, c, t->data, sizes(t, 0, dim), dim, how) : 0;
}

hone_rc hn_weight_readable(hn_weights *w, hn_weight *t, hone_err *err) {
    const hn_block_type *two = hn_block_type_named("TQ2_0");
    if (strcmp(t->type->name, "TQ1_0") != 0) return HONE_OK;
    uint64_t n = t->n_elements / two->elements;
    uint8_t *data = hn_weights_room(w, n * two->size_b);
    if (!data) return hn_fail(err, HONE_E_NOMEM, "out of memory for the weights '%s'", t->name);
    hn_block_two_bits(t->data, n, data);
    t->type = two;
    t->data = data;
    return HONE_OK;
}

static hn_val floats(hn_builder *b, const float *data, size_t rank, const int64_t *dim) {
    hn_tensor c = {.dtype = HONE_F32, .rank = (uint8_t)rank, .data = (void *)(uintptr_t)data};
    memcpy(c.dim, dim, rank * sizeof *dim);
    return hn_const(b, &c);
}

hn_val hn_weight_floats(hn_weights *w, hn_builder *b, const hn_weight *t, float add) {
    int64_t dim[HN_RANK_MAX];
    bool there = !strcmp(t->type->name, "F32") && (uintptr_t)t->data % 16 == 0 && !(add > 0);
    float *data = there ? NULL : hn_weights_room(w, t->n_elements * sizeof *data);
    if (!there && !data) return no_memory(b, t);
    if (data) hn_block_decode(t->type, t->data, t->n_elements, data);
    for (uint64_t i = 0; add > 0 && i < t->n_elements; i++) data[i] += add;
    return floats(b, there ? t->data : data, sizes(t, 0, dim), dim);
}

hn_val hn_weight_stack(hn_weights *w, hn_builder *b, const hn_weight *t, uint64_t n, hn_activations how) {
    const hn_codec *c = t->rank == 2 ? codec_of(t) : NULL;
    int64_t dim[HN_RANK_MAX] = {(int64_t)n};
    for (uint64_t i = 0; i < n; i++) {
        if (t[i].rank != 2 || t[i].dim[0] != t->dim[0] || t[i].dim[1] != t->dim[1])
            return hn_graph_fail(b->g, HONE_E_INPUT, "tensor '%s' is of another shape than those of other experts",
                                 t[i].name);
        if (t[i].type != t->type) c = NULL;
    }
    uint64_t each = c ? t->dim[0] * (uint64_t)hn_codec_row_b(c, (int64_t)t->dim[1]) : t->n_elements * sizeof(float);
    uint8_t *all = hn_weights_room(w, n * each);
    if (!all) return no_memory(b, t);
    for (uint64_t i = 0; i < n; i++) {
        if (c)
            memcpy(all + i * each, t[i].data, each);
        else
            hn_block_decode(t[i].type, t[i].data, t[i].n_elements, (float *)(void *)(all + i * each));
    }
    size_t rank = sizes(t, 1, dim);
    return c ? packed(b, c, all, rank, dim, how) : floats(b, (float *)(void *)all, rank, dim);
}
