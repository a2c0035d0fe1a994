/* backend/cpu/reference_sum.c — everything with one accumulator per result element: reductions, arg and prefix
 * operations, contractions, windows. Terms are taken in the interpreter's order, sums in double or modulo 2^64. */
#include "backend/cpu/reference_int.h"

#include <string.h>

static const char *fmt_axis(hn_ref *e, const char *name, size_t i) { return hn_format(e->a, "%s%zu", name, i); }

static void open_loop(hn_ref *e, const char *name, const char *n) {
    hn_ref_add(e, "for (int64_t %s = 0; %s < %s; %s++) {\n", name, name, n, name);
}
static void close_loops(hn_ref *e, size_t n) {
    for (size_t i = 0; i < n; i++) hn_ref_add(e, "}\n");
}

static bool listed(const hn_attr *a, size_t axis) {
    for (uint32_t i = 0; a && i < a->n; i++)
        if (a->ints[i] == (int64_t)axis) return true;
    return false;
}

/* --- reductions -------------------------------------------------------------------------------------------------- */

static const char *first_value(hn_ref *e, hn_op op, hone_dtype t) {
    int bits = hn_dtype_of(t)->bits;
    bool min = op == HN_OP_RMIN, max = op == HN_OP_RMAX || op == HN_OP_WMAX || op == HN_OP_WARGMAX;
    if (t == HONE_F8E8M0 && (min || max)) return min ? "0x1p127" : "0x1p-127"; /* no infinity, no sign */
    switch (hn_ref_domain(t)) {
    case HN_DOM_F: return op == HN_OP_RPROD ? "1" : min ? "(double)INFINITY" : max ? "-(double)INFINITY" : "0";
    case HN_DOM_I:
        if (min || max) return hn_format(e->a, "%s >> %d", min ? "INT64_MAX" : "INT64_MIN", 64 - bits);
        break;
    default:
        if (min) return hn_format(e->a, "UINT64_MAX >> %d", 64 - bits);
    }
    return op == HN_OP_RPROD ? "1" : "0";
}

/* acc = acc op x */
static void step(hn_ref *e, hn_op op, hn_ref_kind d, const char *x) {
    char letter = "fiu"[d];
    switch (op) {
    case HN_OP_RMIN: hn_ref_add(e, "acc = hnr_min_%c(acc, %s);\n", letter, x); break;
    case HN_OP_RMAX:
    case HN_OP_WMAX: hn_ref_add(e, "acc = hnr_max_%c(acc, %s);\n", letter, x); break;
    default: {
        char c = op == HN_OP_RPROD ? '*' : '+';
        if (d == HN_DOM_I)
            hn_ref_add(e, "acc = (int64_t)((uint64_t)acc %c (uint64_t)%s);\n", c, x);
        else
            hn_ref_add(e, "acc %c= %s;\n", c, x);
    }
    }
}

void hn_ref_reduce(hn_ref *e) {
    hn_val in = e->n->in[0], out = e->n->out[0];
    const hn_type *t = hn_ref_type(e, in);
    const hn_attr *axes = hn_attr_get(e->n, HN_A_AXES);
    bool keep = hn_attr_i(e->n, HN_A_KEEP, 0) != 0;
    hn_ref_kind d = hn_ref_domain(t->dtype);
    const char *index[HN_RANK_MAX];
    size_t kept = 0, n_loops = 0;
    for (size_t i = 0; i < t->rank; i++) {
        bool reduced = listed(axes, i);
        index[i] = reduced ? fmt_axis(e, "k", i) : fmt_axis(e, "x", keep ? i : kept);
        kept += !reduced;
    }
    hn_ref_loop(e, out, true);
    hn_ref_add(e, "%s acc = %s;\n", hn_ref_c_type(d), first_value(e, e->n->op, t->dtype));
    for (size_t i = 0; i < t->rank; i++) {
        if (!listed(axes, i)) continue;
        open_loop(e, index[i], hn_ref_dim(e, t->dim[i]));
        n_loops++;
    }
    step(e, e->n->op, d, hn_ref_load(e, in, hn_ref_offset(e, t, index)));
    close_loops(e, n_loops);
    hn_ref_store(e, out, "i", d, "acc");
    hn_ref_end(e, out, true);
}

void hn_ref_arg(hn_ref *e) {
    hn_val in = e->n->in[0], out = e->n->out[0];
    const hn_type *t = hn_ref_type(e, in);
    size_t axis = (size_t)hn_attr_i(e->n, HN_A_AXIS, 0);
    bool keep = hn_attr_i(e->n, HN_A_KEEP, 0) != 0;
    hn_ref_kind d = hn_ref_domain(t->dtype);
    const char *index[HN_RANK_MAX], *type = hn_ref_c_type(d);
    for (size_t i = 0; i < t->rank; i++) index[i] = i == axis ? "k" : fmt_axis(e, "x", keep || i < axis ? i : i - 1);
    hn_ref_loop(e, out, true);
    hn_ref_add(e, "int64_t best = 0;\n%s top_value = 0;\n", type);
    open_loop(e, "k", hn_ref_dim(e, t->dim[axis]));
    hn_ref_add(e, "const %s x = %s;\n", type, hn_ref_load(e, in, hn_ref_offset(e, t, index)));
    hn_ref_add(e, "if (k == 0 || hnr_better_%c(x, top_value, %d, %d)) {\nbest = k;\ntop_value = x;\n}\n}\n", "fiu"[d],
               e -> n -> op == HN_OP_ARGMAX, hn_attr_i(e->n, HN_A_LAST, 0) != 0);
    hn_ref_store(e, out, "i", HN_DOM_I, "best");
    hn_ref_end(e, out, true);
}

/* Line `line` of the input along AXIS starts at `first` and goes in steps of `inner`. */
void hn_ref_prefix(hn_ref *e) {
    hn_val in = e->n->in[0], out = e->n->out[0];
    const hn_type *t = hn_ref_type(e, in);
    size_t axis = (size_t)hn_attr_i(e->n, HN_A_AXIS, 0);
    hn_ref_kind d = hn_ref_domain(t->dtype);
    const char *n = hn_ref_dim(e, t->dim[axis]), *inner = hn_ref_dim(e, hn_ref_product(e, t, axis + 1, t->rank));
    bool exclusive = hn_attr_i(e->n, HN_A_EXCLUSIVE, 0) != 0, reverse = hn_attr_i(e->n, HN_A_REVERSE, 0) != 0;
    hn_ref_lines(e, in, axis);
    hn_ref_add(e, "%s acc = %d;\n", hn_ref_c_type(d), e->n->op == HN_OP_CUMPROD);
    open_loop(e, "k", n);
    hn_ref_add(e, "const int64_t at = first + %s * %s;\n", reverse ? hn_format(e->a, "(%s - 1 - k)", n) : "k", inner);
    hn_ref_add(e, "const %s x = %s;\n", hn_ref_c_type(d), hn_ref_load(e, in, "at"));
    if (exclusive) hn_ref_store(e, out, "at", d, "acc");
    step(e, e->n->op == HN_OP_CUMPROD ? HN_OP_RPROD : HN_OP_RSUM, d, "x");
    if (!exclusive) hn_ref_store(e, out, "at", d, "acc");
    hn_ref_add(e, "}\n");
    hn_ref_lines_end(e);
}

/* --- contraction ------------------------------------------------------------------------------------------------- */

/* An operand as the accumulator takes it: double or uint64_t. */
static const char *factor(hn_ref *e, hn_val v, bool is_float, const char *idx) {
    if (is_float) return hn_ref_load_f(e, v, idx);
    const char *x = hn_ref_load(e, v, idx);
    if (hn_ref_domain(hn_ref_type(e, v)->dtype) == HN_DOM_F)
        x = hn_format(e->a, "hnr_f_to_i(%s, INT64_MIN, INT64_MAX)", x);
    return hn_format(e->a, "(uint64_t)%s", x);
}

static const char *label_index(hn_ref *e, const hn_attr *out, int64_t label) {
    for (uint32_t i = 0; i < out->n; i++)
        if (out->ints[i] == label) return fmt_axis(e, "x", i);
    return hn_format(e->a, "k%lld", (long long)label);
}

static bool has_label(const hn_attr *list, uint32_t n, int64_t label) {
    for (uint32_t i = 0; list && i < n; i++)
        if (list->ints[i] == label) return true;
    return false;
}

/* Every label has one size, whoever bears it. */
static void guard_labels(hn_ref *e, const hn_attr *l, const hn_attr *r, const hn_attr *o) {
    const hn_type *a = hn_ref_type(e, e->n->in[0]), *b = hn_ref_type(e, e->n->in[1]), *y = hn_ref_type(e, e->n->out[0]);
    for (uint32_t i = 0; i < l->n; i++)
        for (uint32_t k = 0; k < r->n; k++)
            if (l->ints[i] == r->ints[k]) hn_ref_guard_equal(e, a->dim[i], b->dim[k]);
    for (uint32_t i = 0; i < o->n; i++) {
        for (uint32_t k = 0; k < l->n; k++)
            if (o->ints[i] == l->ints[k]) hn_ref_guard_equal(e, a->dim[k], y->dim[i]);
        for (uint32_t k = 0; k < r->n; k++)
            if (o->ints[i] == r->ints[k]) hn_ref_guard_equal(e, b->dim[k], y->dim[i]);
    }
}

void hn_ref_contract(hn_ref *e) {
    const hn_attr *l = hn_attr_get(e->n, HN_A_LHS), *r = hn_attr_get(e->n, HN_A_RHS), *o = hn_attr_get(e->n, HN_A_OUT);
    const hn_attr none = {.kind = HN_K_INTS};
    hn_val out = e->n->out[0];
    const hn_type *a = hn_ref_type(e, e->n->in[0]), *b = hn_ref_type(e, e->n->in[1]);
    bool is_float = hn_is_float(hn_ref_type(e, out)->dtype);
    const char *ia[HN_RANK_MAX], *ib[HN_RANK_MAX];
    size_t n_loops = 0;
    if (!l) l = &none;
    if (!r) r = &none;
    if (!o) o = &none;
    for (uint32_t i = 0; i < l->n; i++) ia[i] = label_index(e, o, l->ints[i]);
    for (uint32_t i = 0; i < r->n; i++) ib[i] = label_index(e, o, r->ints[i]);
    guard_labels(e, l, r, o);
    hn_ref_loop(e, out, true);
    hn_ref_add(e, "%s acc = 0;\n", is_float ? "double" : "uint64_t");
    for (uint32_t i = 0; i < l->n; i++) {
        if (has_label(o, o->n, l->ints[i])) continue;
        open_loop(e, ia[i], hn_ref_dim(e, a->dim[i]));
        n_loops++;
    }
    for (uint32_t i = 0; i < r->n; i++) {
        if (has_label(o, o->n, r->ints[i]) || has_label(l, l->n, r->ints[i])) continue;
        open_loop(e, ib[i], hn_ref_dim(e, b->dim[i]));
        n_loops++;
    }
    hn_ref_add(e, "acc += %s * %s;\n", factor(e, e->n->in[0], is_float, hn_ref_offset(e, a, ia)),
               factor(e, e->n->in[1], is_float, hn_ref_offset(e, b, ib)));
    close_loops(e, n_loops);
    hn_ref_store(e, out, "i", is_float ? HN_DOM_F : HN_DOM_U, "acc");
    hn_ref_end(e, out, true);
}

/* --- windows ----------------------------------------------------------------------------------------------------- */

static int64_t at_or_1(const hn_attr *a, size_t i) { return a ? a->ints[i] : 1; }

static bool channels_last(const hn_ref *e) { return hn_attr_i(e->n, HN_A_CHANNELS_LAST, 0) != 0; }

/* Loops over the window's elements: k2, k3, …; inside, q2, q3, … are the positions in the image, and all are inside it.
 * Gives the number of braces to close. */
static size_t window_loops(hn_ref *e, const hn_type *image, const char *const *size) {
    const hn_attr *stride = hn_attr_get(e->n, HN_A_STRIDE), *dilation = hn_attr_get(e->n, HN_A_DILATION),
                  *inflate = hn_attr_get(e->n, HN_A_INFLATE), *low = hn_attr_get(e->n, HN_A_LOW);
    for (size_t i = 2, from = hn_spatial_dim(channels_last(e)); i < image->rank; i++) {
        const char *k = fmt_axis(e, "k", i), *by = hn_ref_int(e, at_or_1(inflate, i - 2));
        open_loop(e, k, size[i - 2]);
        hn_ref_add(e, "int64_t q%zu = x%zu * %s + k%zu * %s", i, i - 2 + from, hn_ref_int(e, at_or_1(stride, i - 2)), i,
                   hn_ref_int(e, at_or_1(dilation, i - 2)));
        if (low) hn_ref_add(e, " - %s", hn_ref_dim(e, low->dims[i - 2]));
        hn_ref_add(e, ";\n");
        if (at_or_1(inflate, i - 2) != 1)
            hn_ref_add(e, "if (q%zu < 0 || q%zu %% %s != 0) continue;\nq%zu /= %s;\n", i, i, by, i, by);
        hn_ref_add(e, "if (q%zu < 0 || q%zu >= %s) continue;\n", i, i, hn_ref_dim(e, image->dim[i - 2 + from]));
    }
    return image->rank - 2u;
}

void hn_ref_conv(hn_ref *e) {
    hn_val x = e->n->in[0], w = e->n->in[1], out = e->n->out[0];
    const hn_type *xt = hn_ref_type(e, x), *wt = hn_ref_type(e, w);
    hn_dims *dims = e->g->dims;
    int64_t groups = hn_attr_i(e->n, HN_A_GROUPS, 1);
    hn_dim g = hn_dim_int(dims, groups), per = hn_dim_floordiv(dims, wt->dim[0], g);
    bool is_float = hn_is_float(hn_ref_type(e, out)->dtype);
    size_t channel = hn_channel_dim(channels_last(e), xt->rank), from = hn_spatial_dim(channels_last(e));
    const char *ix[HN_RANK_MAX], *iw[HN_RANK_MAX], *size[HN_RANK_MAX], *out_channel = fmt_axis(e, "x", channel);
    ix[0] = "x0";
    ix[channel] = "c";
    iw[0] = out_channel;
    iw[1] = "k1";
    for (size_t i = 2; i < xt->rank; i++) {
        ix[i - 2 + from] = fmt_axis(e, "q", i);
        iw[i] = fmt_axis(e, "k", i);
        size[i - 2] = hn_ref_dim(e, wt->dim[i]);
    }
    hn_ref_guard_equal(e, xt->dim[channel], hn_dim_mul(dims, wt->dim[1], g));
    hn_ref_guard_equal(e, wt->dim[0], hn_dim_mul(dims, per, g));
    hn_ref_guard_equal(e, wt->dim[0], hn_ref_type(e, out)->dim[channel]);
    hn_ref_guard_equal(e, xt->dim[0], hn_ref_type(e, out)->dim[0]);
    hn_ref_loop(e, out, true);
    hn_ref_add(e, "%s acc = 0;\n", is_float ? "double" : "uint64_t");
    open_loop(e, "k1", hn_ref_dim(e, wt->dim[1]));
    if (groups == 1)
        hn_ref_add(e, "const int64_t c = k1;\n");
    else
        hn_ref_add(e, "const int64_t c = %s / %s * %s + k1;\n", out_channel, hn_ref_dim(e, per),
                   hn_ref_dim(e, wt->dim[1]));
    size_t n_loops = window_loops(e, xt, size);
    hn_ref_add(e, "acc += %s * %s;\n", factor(e, w, is_float, hn_ref_offset(e, wt, iw)),
               factor(e, x, is_float, hn_ref_offset(e, xt, ix)));
    close_loops(e, n_loops + 1);
    hn_ref_store(e, out, "i", is_float ? HN_DOM_F : HN_DOM_U, "acc");
    hn_ref_end(e, out, true);
}

/* Sum, maximum, or the place of the maximum in its plane. */
void hn_ref_window(hn_ref *e) {
    hn_val in = e->n->in[0], out = e->n->out[0];
    const hn_type *t = hn_ref_type(e, in);
    const hn_attr *kernel = hn_attr_get(e->n, HN_A_KERNEL);
    bool arg = e->n->op == HN_OP_WARGMAX;
    hn_ref_kind d = hn_ref_domain(t->dtype);
    const char *index[HN_RANK_MAX], *size[HN_RANK_MAX];
    const size_t kept[] = {0, hn_channel_dim(channels_last(e), t->rank)}, from = hn_spatial_dim(channels_last(e));
    for (size_t i = 0; i < 2; i++) {
        index[kept[i]] = fmt_axis(e, "x", kept[i]);
        hn_ref_guard_equal(e, t->dim[kept[i]], hn_ref_type(e, out)->dim[kept[i]]);
    }
    for (size_t i = 2; i < t->rank; i++) {
        index[i - 2 + from] = fmt_axis(e, "q", i);
        size[i - 2] = hn_ref_int(e, kernel->ints[i - 2]);
    }
    hn_ref_loop(e, out, true);
    hn_ref_add(e, "%s acc = %s;\n", hn_ref_c_type(d), first_value(e, e->n->op, t->dtype));
    if (arg) hn_ref_add(e, "int64_t best = -1;\n");
    size_t n_loops = window_loops(e, t, size);
    const char *x = hn_ref_load(e, in, hn_ref_offset(e, t, index));
    if (arg) {
        index[0] = index[1] = "0";
        hn_ref_add(e, "const %s x = %s;\nif (best < 0 || hnr_better_%c(x, acc, 1, 0)) {\nbest = %s;\nacc = x;\n}\n",
                   hn_ref_c_type(d), x, "fiu"[d], hn_ref_offset(e, t, index));
    } else {
        step(e, e->n->op == HN_OP_WSUM ? HN_OP_RSUM : HN_OP_WMAX, d, x);
    }
    close_loops(e, n_loops);
    if (arg)
        hn_ref_store(e, out, "i", HN_DOM_I, "best < 0 ? 0 : best");
    else
        hn_ref_store(e, out, "i", d, "acc");
    hn_ref_end(e, out, true);
}
