/* lower_slice.c — Slice, Split, Pad. Bounds that are known as dimension expressions give slices; others are clamped by
 * arithmetic in the graph, the lengths bound to symbols, and the elements gathered. */
#include "onnx/lower_fns.h"

enum { FAR = 0x7fffffff }; /* what exporters write for "to the end" */

/* --- Slice, known bounds ------------------------------------------------------------------------------------------ */

typedef struct cut {
    hn_dim start, length;
    int64_t step;
} cut;

/* One bound of a dimension n: negative counts from the end, then clamped to low..high. False where the sign is not
 * known. A walk backwards starts at 0 at the least (numpy: -1, which is nowhere). */
static bool bound(hn_builder *b, hn_dim x, hn_dim n, hn_dim low, hn_dim high, hn_dim *out) {
    hn_dims *d = b->g->dims;
    int64_t k, least, most;
    if (hn_dim_is_int(d, x, &k) && (k >= FAR || k <= -FAR)) {
        *out = k > 0 ? high : low;
        return true;
    }
    hn_dim_range(d, x, &least, &most);
    if (most < 0)
        x = hn_dim_add(d, x, n);
    else if (least < 0)
        return false;
    *out = hn_dim_max(d, hn_dim_min(d, x, high), low);
    return true;
}

static bool cut_of(hn_builder *b, hn_dim start, hn_dim end, int64_t step, hn_dim n, cut *out) {
    hn_dims *d = b->g->dims;
    hn_dim zero = hn_lit(b, 0), last = hn_dim_sub(d, n, hn_lit(b, 1)), s, e;
    hn_dim low = step > 0 ? zero : hn_lit(b, -1), high = step > 0 ? n : last;
    if (!bound(b, start, n, zero, high, &s) || !bound(b, end, n, low, high, &e)) return false;
    hn_dim gap = step > 0 ? hn_dim_sub(d, e, s) : hn_dim_sub(d, s, e);
    hn_dim length = hn_dim_max(d, hn_dim_ceildiv(d, gap, hn_lit(b, step > 0 ? step : -step)), zero);
    *out = (cut){s, step > 0 ? length : hn_dim_min(d, length, n), step};
    return true;
}

static hn_val slice_by(hn_builder *b, hn_val x, const cut *cuts) {
    hn_type t = *hn_t(b, x);
    hn_dim shape[HN_RANK_MAX], start[HN_RANK_MAX];
    int64_t step[HN_RANK_MAX], length;
    for (size_t i = 0; i < t.rank; i++) {
        shape[i] = cuts[i].length, start[i] = cuts[i].start, step[i] = cuts[i].step;
        if (hn_dim_is_int(b->g->dims, shape[i], &length) && length == 0) start[i] = hn_lit(b, 0), step[i] = 1;
    }
    hn_attr attr[] = {hn_a_dims(HN_A_SHAPE, t.rank, shape), hn_a_dims(HN_A_START, t.rank, start),
                      hn_a_ints(HN_A_STEP, t.rank, step)};
    return hn_emit(b->g, b->b, HN_OP_SLICE, 1, &x, 3, attr, 1);
}

static void whole(const hn_type *t, hn_builder *b, cut *cuts) {
    for (size_t i = 0; i < t->rank; i++) cuts[i] = (cut){hn_lit(b, 0), t->dim[i], 1};
}

void hn_lower_slice_attr(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val x = hn_in(c, 0);
    const int64_t *start, *end, *axis;
    size_t n = hn_ints(c, "starts", &start), n_end = hn_ints(c, "ends", &end), n_axis = hn_ints(c, "axes", &axis);
    cut cuts[HN_RANK_MAX];
    if (!x) return;
    hn_type t = *hn_t(b, x);
    if (n != n_end || (n_axis && n_axis != n) || n > t.rank) hn_wrong(c, "starts, ends and axes differ in length");
    whole(&t, b, cuts);
    for (size_t i = 0; i < n && !hn_lower_failed(c); i++) {
        int64_t a = hn_axis(c, n_axis ? axis[i] : (int64_t)i, t.rank);
        cut_of(b, hn_lit(b, start[i]), hn_lit(b, end[i]), 1, t.dim[a], &cuts[a]);
    }
    if (!hn_lower_failed(c)) hn_out(c, 0, slice_by(b, x, cuts));
}

/* --- Slice, bounds as inputs -------------------------------------------------------------------------------------- */

typedef struct bounds {
    hn_val start, end, axis, step; /* i64 vectors of length n */
    size_t n;
    bool axes_known;
    int64_t axes[HN_RANK_MAX];
} bounds;

static hn_val ramp(hn_builder *b, size_t n) {
    int64_t list[2 * HN_RANK_MAX];
    for (size_t i = 0; i < n; i++) list[i] = (int64_t)i;
    return hn_const_ints(b, n, list);
}

static bool read_axes(hn_lower *c, size_t input, size_t rank, bounds *r) {
    hn_builder *b = hn_lower_builder(c);
    size_t n = r->n;
    r->axis = hn_has_in(c, input) ? hn_vec_input(c, input, &n) : ramp(b, r->n);
    if (!r->axis) return false;
    if (n != r->n || n > rank) {
        hn_wrong(c, "%zu axes for %zu entries and rank %zu", n, r->n, rank);
        return false;
    }
    const hn_tensor *t = hn_known_tensor(b, r->axis);
    r->axes_known = t != NULL;
    for (size_t i = 0; t && i < n; i++) r->axes[i] = hn_axis(c, hn_get_i(t, (int64_t)i), rank);
    return !hn_lower_failed(c);
}

static bool read_bounds(hn_lower *c, size_t rank, bounds *r) {
    hn_builder *b = hn_lower_builder(c);
    size_t n_end = 0, n_step;
    r->start = hn_vec_input(c, 1, &r->n);
    r->end = r->start ? hn_vec_input(c, 2, &n_end) : 0;
    if (!r->end || !read_axes(c, 3, rank, r)) return false;
    n_step = r->n;
    hn_dim shape = hn_lit(b, (int64_t)r->n);
    r->step = hn_has_in(c, 4) ? hn_vec_input(c, 4, &n_step) : hn_full(b, HONE_I64, 1, &shape, 1);
    if (r->step && (n_end != r->n || n_step != r->n)) hn_wrong(c, "starts, ends, axes and steps differ in length");
    return r->step && !hn_lower_failed(c);
}

/* False where not all is known as expressions (nothing is emitted then). */
static bool known_cuts(hn_lower *c, const hn_type *t, const bounds *r, cut *cuts) {
    hn_builder *b = hn_lower_builder(c);
    hn_dim start[2 * HN_RANK_MAX], end[2 * HN_RANK_MAX];
    size_t n;
    const hn_tensor *step = hn_known_tensor(b, r->step);
    if (!r->axes_known || !step || !hn_known_dims(b, r->start, start, 2 * HN_RANK_MAX, &n) ||
        !hn_known_dims(b, r->end, end, 2 * HN_RANK_MAX, &n))
        return false;
    whole(t, b, cuts);
    for (size_t i = 0; i < r->n; i++) {
        int64_t s = hn_get_i(step, (int64_t)i), a = r->axes[i];
        if (s == 0) hn_wrong(c, "a step of 0");
        if (s > FAR) s = FAR;
        if (s < -FAR) s = -FAR;
        if (s == 0 || !cut_of(b, start[i], end[i], s, t->dim[a], &cuts[a])) return false;
    }
    return true;
}

/* Clamped start and length per dimension, as vectors. */
typedef struct spans {
    hn_val start, length, step;
} spans;

static hn_val clamped(hn_builder *b, hn_val x, hn_val n, hn_val low, hn_val high) {
    hn_val negative = hn_bin(b, HN_OP_LT, x, hn_const_i(b, HONE_I64, 0));
    x = hn_where(b, negative, hn_bin(b, HN_OP_ADD, x, n), x);
    return hn_bin(b, HN_OP_MAX, hn_bin(b, HN_OP_MIN, x, high), low);
}

static spans spans_of(hn_builder *b, hn_val x, const bounds *r) {
    hn_val n = hn_shape_value(b, x), zero = hn_const_i(b, HONE_I64, 0), one = hn_const_i(b, HONE_I64, 1);
    hn_val none = hn_bin(b, HN_OP_MUL, n, zero);
    hn_val start = hn_vec_spread(b, r->axis, r->start, none), end = hn_vec_spread(b, r->axis, r->end, n);
    hn_val step = hn_vec_spread(b, r->axis, r->step, hn_bin(b, HN_OP_ADD, none, one));
    step =
        hn_bin(b, HN_OP_MAX, hn_bin(b, HN_OP_MIN, step, hn_const_i(b, HONE_I64, FAR)), hn_const_i(b, HONE_I64, -FAR));
    hn_val forward = hn_bin(b, HN_OP_LT, zero, step);
    hn_val low = hn_where(b, forward, zero, hn_const_i(b, HONE_I64, -1));
    hn_val high = hn_where(b, forward, n, hn_bin(b, HN_OP_SUB, n, one));
    start = clamped(b, start, n, zero, high);
    end = clamped(b, end, n, low, high);
    hn_val gap = hn_where(b, forward, hn_bin(b, HN_OP_SUB, end, start), hn_bin(b, HN_OP_SUB, start, end));
    hn_val by = hn_un(b, HN_OP_ABS, step);
    hn_val length = hn_bin(b, HN_OP_DIV, hn_bin(b, HN_OP_SUB, hn_bin(b, HN_OP_ADD, gap, by), one), by);
    length = hn_bin(b, HN_OP_MIN, hn_bin(b, HN_OP_MAX, length, zero), n);
    return (spans){start, length, step};
}

static bool names_axis(const bounds *r, size_t axis) {
    for (size_t i = 0; i < r->n; i++)
        if (!r->axes_known || r->axes[i] == (int64_t)axis) return true;
    return false;
}

static void slice_at_run_time(hn_lower *c, hn_val x, const bounds *r) {
    hn_builder *b = hn_lower_builder(c);
    hn_type t = *hn_t(b, x);
    hn_dim length[HN_RANK_MAX];
    spans s = spans_of(b, x, r);
    if (!hn_vec_dims(c, s.length, t.rank, length)) return;
    for (size_t i = 0; i < t.rank; i++) {
        if (!names_axis(r, i)) continue;
        hn_val at = hn_bin(b, HN_OP_MUL, hn_iota(b, HONE_I64, 1, &length[i], 0), hn_vec_at(b, s.step, i));
        x = hn_gather(b, x, hn_bin(b, HN_OP_ADD, at, hn_vec_at(b, s.start, i)), (int64_t)i);
    }
    hn_out(c, 0, x);
}

void hn_lower_slice(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val x = hn_in(c, 0);
    bounds r = {0};
    cut cuts[HN_RANK_MAX];
    if (!x) return;
    hn_type t = *hn_t(b, x);
    if (!read_bounds(c, t.rank, &r)) return;
    if (known_cuts(c, &t, &r, cuts))
        hn_out(c, 0, slice_by(b, x, cuts));
    else if (!hn_lower_failed(c))
        slice_at_run_time(c, x, &r);
}

/* --- Split -------------------------------------------------------------------------------------------------------- */

/* Lengths of the parts from the attribute or input `split`, or equal ones, the last smaller where it must be. */
static bool split_lengths(hn_lower *c, hn_dim size, size_t n, hn_dim *out) {
    hn_builder *b = hn_lower_builder(c);
    const int64_t *list;
    size_t given = hn_ints(c, "split", &list), got = 0;
    if (given == n && n) {
        for (size_t i = 0; i < n; i++) out[i] = hn_lit(b, list[i]);
        return true;
    }
    if (!given && hn_has_in(c, 1)) {
        if (!hn_in_dims(c, 1, out, n, &got)) return false;
        given = got;
        if (got == n) return true;
    }
    if (given) {
        hn_wrong(c, "%zu lengths for %zu outputs", given, n);
        return false;
    }
    hn_dim part = hn_dim_ceildiv(b->g->dims, size, hn_lit(b, (int64_t)n)), all = hn_lit(b, 0);
    for (size_t i = 0; i + 1 < n; i++) {
        out[i] = part;
        all = hn_dim_add(b->g->dims, all, part);
    }
    out[n - 1] = hn_dim_sub(b->g->dims, size, all);
    return true;
}

void hn_lower_split(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val x = hn_in(c, 0);
    size_t n = hn_n_out(c);
    hn_dim *length = hn_alloc_n(&b->g->arena, n, sizeof *length), at = hn_lit(b, 0);
    if (!x || !length || !n) return;
    int64_t axis = hn_axis(c, hn_int(c, "axis", 0), hn_rank(b, x));
    if (hn_lower_failed(c) || !split_lengths(c, hn_dim_of(b, x, (size_t)axis), n, length)) return;
    for (size_t i = 0; i < n; i++) {
        hn_out(c, i, hn_slice_axis(b, x, axis, at, length[i], 1));
        at = hn_dim_add(b->g->dims, at, length[i]);
    }
}

/* --- Pad
 * --------------------------------------------------------------------------------------------------------------------
 */

typedef struct padding {
    const char *mode;
    hn_val value;
    hn_dim low[HN_RANK_MAX], high[HN_RANK_MAX];           /* >= 0 */
    hn_dim crop_low[HN_RANK_MAX], crop_high[HN_RANK_MAX]; /* >= 0, what negative padding takes away */
} padding;

static bool read_mode(hn_lower *c, padding *p) {
    static const char *const modes[] = {"constant", "reflect", "edge", "wrap"};
    const char *mode = hn_string(c, "mode", "constant");
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
        if (!strcmp(mode, modes[i])) p->mode = modes[i];
    if (!p->mode) hn_wrong(c, "an unknown mode");
    return p->mode != NULL;
}

static void pad_by(hn_lower *c, hn_val x, padding *p) {
    hn_builder *b = hn_lower_builder(c);
    hn_type t = *hn_t(b, x);
    cut cuts[HN_RANK_MAX];
    bool crops = false;
    for (size_t i = 0; i < t.rank; i++) {
        hn_dim left = hn_dim_sub(b->g->dims, hn_dim_sub(b->g->dims, t.dim[i], p->crop_low[i]), p->crop_high[i]);
        cuts[i] = (cut){p->crop_low[i], left, 1};
        crops |= left != t.dim[i];
    }
    if (crops) x = slice_by(b, x, cuts);
    hn_val in[] = {x, p->value};
    hn_attr attr[] = {hn_a_dims(HN_A_LOW, t.rank, p->low), hn_a_dims(HN_A_HIGH, t.rank, p->high),
                      hn_a_word(HN_A_MODE, p->mode)};
    bool has_value = p->value && !strcmp(p->mode, "constant");
    hn_out(c, 0, hn_emit(b->g, b->b, HN_OP_PAD, has_value ? 2 : 1, in, 3, attr, 1));
}

static void set_side(hn_builder *b, hn_dim k, hn_dim *grow, hn_dim *crop) {
    hn_dim zero = hn_lit(b, 0);
    *grow = hn_dim_max(b->g->dims, k, zero);
    *crop = hn_dim_max(b->g->dims, hn_dim_sub(b->g->dims, zero, k), zero);
}

void hn_lower_pad_attr(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val x = hn_in(c, 0);
    const int64_t *pads;
    padding p = {0};
    size_t n = hn_ints(c, "pads", &pads);
    if (!x || !read_mode(c, &p)) return;
    hn_type t = *hn_t(b, x);
    if (n != 2u * t.rank) {
        hn_wrong(c, "%zu pads for rank %d", n, t.rank);
        return;
    }
    for (size_t i = 0; i < t.rank; i++) {
        set_side(b, hn_lit(b, pads[i]), &p.low[i], &p.crop_low[i]);
        set_side(b, hn_lit(b, pads[i + t.rank]), &p.high[i], &p.crop_high[i]);
    }
    p.value = hn_const_f(b, t.dtype, hn_float(c, "value", 0));
    pad_by(c, x, &p);
}

/* One side of all dimensions: entries from..from+n of the pads, spread over the axes. */
static bool read_side(hn_lower *c, const bounds *r, hn_val pads, size_t from, size_t rank, hn_dim *grow, hn_dim *crop) {
    hn_builder *b = hn_lower_builder(c);
    hn_dim known[2 * HN_RANK_MAX], shape = hn_lit(b, (int64_t)rank), n = hn_lit(b, (int64_t)r->n);
    size_t got;
    if (r->axes_known && hn_known_dims(b, pads, known, 2 * HN_RANK_MAX, &got)) {
        for (size_t i = 0; i < rank; i++) grow[i] = crop[i] = hn_lit(b, 0);
        for (size_t i = 0; i < r->n; i++) set_side(b, known[from + i], &grow[r->axes[i]], &crop[r->axes[i]]);
        return true;
    }
    hn_val side = hn_slice_axis(b, pads, 0, hn_lit(b, (int64_t)from), n, 1), zero = hn_const_i(b, HONE_I64, 0);
    side = hn_vec_spread(b, r->axis, side, hn_full(b, HONE_I64, 1, &shape, 0));
    return hn_vec_dims(c, hn_bin(b, HN_OP_MAX, side, zero), rank, grow) &&
           hn_vec_dims(c, hn_bin(b, HN_OP_MAX, hn_un(b, HN_OP_NEG, side), zero), rank, crop);
}

void hn_lower_pad(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val x = hn_in(c, 0);
    padding p = {0};
    bounds r = {0};
    size_t n = 0;
    if (!x || !read_mode(c, &p)) return;
    size_t rank = hn_rank(b, x);
    hn_val pads = hn_vec_input(c, 1, &n);
    if (!pads) return;
    r.n = n / 2;
    if (n % 2 || (!hn_has_in(c, 3) && r.n != rank)) hn_wrong(c, "%zu pads for rank %zu", n, rank);
    if (hn_lower_failed(c) || !read_axes(c, 3, rank, &r)) return;
    if (!read_side(c, &r, pads, 0, rank, p.low, p.crop_low) || !read_side(c, &r, pads, r.n, rank, p.high, p.crop_high))
        return;
    if (hn_has_in(c, 2)) {
        hn_val value = hn_in(c, 2);
        p.value = value ? hn_scalar(b, value) : 0;
    }
    pad_by(c, x, &p);
}
