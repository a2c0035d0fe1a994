/* backend/cpu/reference_attend.c — attention over keys and values in blocks of a pool: the work is in
 * src/backend/cpu/rt/attend.h. It is no nest: what it reads follows from a table, and the order of its sums must not
 * follow from how much is computed at once (docs/design.md). */
#include "backend/cpu/cpu.h"
#include "backend/cpu/reference_int.h"

#include <string.h>

enum { TOKENS = 8, SPAN_KEYS = 128 }; /* HNR_ATTEND_TOKENS, HNR_ATTEND_KEYS */

static hn_dim lit(hn_ref *e, int64_t n) { return hn_dim_int(e->g->dims, n); }
static hn_dim up_to_16(hn_ref *e, hn_dim n) {
    return hn_dim_mul(e->g->dims, hn_dim_ceildiv(e->g->dims, n, lit(e, 16)), lit(e, 16));
}

hn_dim hn_ref_attend_work(hn_ref *e, const hn_node *n) {
    const hn_type *q = hn_ref_type(e, n->in[0]), *k = hn_ref_type(e, n->in[1]);
    return hn_dim_mul(e->g->dims, hn_dim_ceildiv(e->g->dims, q->dim[0], lit(e, TOKENS)), k->dim[1]);
}

/* Keys of a span, each block's padded to whole vectors: as hnr_attend_span. */
static int64_t span_keys(int64_t block) {
    int64_t step = (block + 15) / 16 * 16, n = SPAN_KEYS / step;
    return (n < 1 ? 1 : n) * step;
}

/* As hnr_attend_share, or the most that it can be. */
static int64_t items(const hn_ref *e, hn_dim group) {
    int64_t n = 1;
    hn_dim_is_int(e->g->dims, group, &n);
    return n > 4 ? 1 : n > 2 ? 2 : 4;
}

/* As hnr_attend_room. */
static hn_dim room_b(hn_ref *e, const hn_type *q, const hn_type *k, int64_t block) {
    hn_dims *t = e->g->dims;
    hn_dim group = hn_dim_floordiv(t, q->dim[1], k->dim[1]),
           rows = hn_dim_mul(t, lit(e, items(e, group) * TOKENS), group);
    hn_dim wide = up_to_16(e, q->dim[2]);
    hn_dim each = hn_dim_mul(t, hn_dim_mul(t, lit(e, 2), rows), wide);
    each = hn_dim_add(t, each, hn_dim_mul(t, lit(e, 18), up_to_16(e, rows)));
    hn_dim n = hn_dim_add(t, hn_dim_mul(t, k->dim[1], each), hn_dim_mul(t, lit(e, 2 * (block + 16)), wide));
    n = hn_dim_add(t, n, hn_dim_mul(t, hn_dim_add(t, rows, lit(e, 2)), lit(e, span_keys(block))));
    return hn_dim_mul(t, n, lit(e, 4));
}

/* --- knobs ----------------------------------------------------------------------------------------------------------
 */

enum { FEW, TILE, TOUCH, N_KNOBS };
/* As rt/attend.h says. */
static const hn_knob knobs[N_KNOBS] = {[FEW] = {"few", 5, {0, 4, 8, 32, 1 << 20}, 8},
                                       [TILE] = {"tile", 4, {1, 2, 4, 8}, 8},
                                       [TOUCH] = {"touch", 3, {0, 1, 2}, 2}};

static int64_t knob_of(const hn_ref *e, int i) {
    return e->language->attend_setting ? e->language->attend_setting[i] : knobs[i].model;
}

void hn_cpu_attend_knobs(hn_knobs *out) {
    out->n = N_KNOBS;
    memcpy(out->knob, knobs, sizeof knobs);
}

hone_rc hn_cpu_attend(hn_graph *g, hn_block body, const char *name, const int64_t *setting, hn_arena *a,
                      hn_kernel_code *out, hone_err *err) {
    hn_ref_language c = hn_ref_c;
    c.attend_setting = setting;
    return hn_reference(g, body, name, &c, a, out, err);
}

/* --- the job --------------------------------------------------------------------------------------------------------
 */

void hn_ref_attend(hn_ref *e) {
    const hn_val *in = e->n->in;
    const hn_type *q = hn_ref_type(e, in[0]), *k = hn_ref_type(e, in[1]), *table = hn_ref_type(e, in[3]);
    const hn_attr *cap = hn_attr_get(e->n, HN_A_SOFTCAP);
    int64_t block = hn_attr_i(e->n, HN_A_BLOCK, 1);
    const char *type = k->dtype == HONE_F32    ? "F32"
                       : k->dtype == HONE_F16  ? "F16"
                       : k->dtype == HONE_BF16 ? "BF16"
                                               : "I8";
    hn_ref_scratch(e, "room", room_b(e, q, k, block));
    hn_ref_guard_equal(e, q->dim[2], k->dim[2]);
    hn_ref_guarded_open(e);
    hn_ref_add(e, "const hnr_attend job = {.q = %s, .keys = %s, .values = %s,\n", e->at[in[0]], e->at[in[1]],
               e->at[in[2]]);
    if (e->n->n_in > 6) hn_ref_add(e, ".key_scale = %s, .value_scale = %s,\n", e->at[in[6]], e->at[in[7]]);
    hn_ref_add(e, ".table = %s, .sequence = %s, .position = %s, .out = %s,\n", e->at[in[3]], e->at[in[4]], e->at[in[5]],
               e->at[e->n->out[0]]);
    hn_ref_add(e, ".n = %s, .heads = %s, .kv_heads = %s, .size = %s, .rows = %s,\n", hn_ref_dim(e, q->dim[0]),
               hn_ref_dim(e, q->dim[1]), hn_ref_dim(e, k->dim[1]), hn_ref_dim(e, q->dim[2]), hn_ref_dim(e, k->dim[0]));
    hn_ref_add(e, ".sequences = %s, .blocks = %s, .block = %s,\n", hn_ref_dim(e, table->dim[0]),
               hn_ref_dim(e, table->dim[1]), hn_ref_int(e, block));
    hn_ref_add(e, ".window = %s, .cap = (float)%a, .s = s,\n", hn_ref_int(e, hn_attr_i(e->n, HN_A_WINDOW, 0)),
               cap ? cap->f : 0.0);
    hn_ref_add(e, ".few = %s, .tile = %s, .touch = %s};\n", hn_ref_int(e, knob_of(e, FEW)),
               hn_ref_int(e, knob_of(e, TILE)), hn_ref_int(e, knob_of(e, TOUCH)));
    const char *all = hn_ref_dim(e, hn_ref_attend_work(e, e->n));
    hn_ref_add(e, "hnr_attend_items(&job, %s, %s, (float *)(void *)room, HNR_ATTEND_%s);\n", e->split ? "begin" : "0",
               e->split ? "end" : all, type);
    hn_ref_add(e, "}\n");
}
