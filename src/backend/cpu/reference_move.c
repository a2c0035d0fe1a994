/* backend/cpu/reference_move.c — sources and movement: raw bits, one element of the result after the other. */
#include "backend/cpu/reference_int.h"

#include <string.h>

static const char *fmt_axis(hn_ref *e, const char *name, size_t i) { return hn_format(e->a, "%s%zu", name, i); }

/* out[i] = in[offset], with the result's index in x0, x1, …; pre: conditions were given by hn_ref_guard. */
static void copy_elements(hn_ref *e, hn_val in, const char *const *index) {
    hn_val out = e->n->out[0];
    hn_ref_loop(e, out, true);
    const char *from = hn_ref_offset(e, hn_ref_type(e, in), index);
    hn_ref_add(e, "%s = %s;\n", hn_ref_raw(e, out, "i"), hn_ref_raw(e, in, from));
    hn_ref_end(e, out, true);
}

void hn_ref_iota(hn_ref *e) {
    hn_val out = e->n->out[0];
    hn_ref_kind d = hn_ref_domain(hn_ref_type(e, out)->dtype);
    size_t axis = (size_t)hn_attr_i(e->n, HN_A_AXIS, 0);
    bool scalar = hn_ref_type(e, out)->rank == 0;
    hn_ref_loop(e, out, true);
    const char *x = scalar ? "0" : fmt_axis(e, "x", axis);
    hn_ref_store(e, out, "i", d, hn_format(e->a, "(%s)%s", hn_ref_c_type(d), x));
    hn_ref_end(e, out, true);
}

void hn_ref_dims(hn_ref *e) {
    hn_val out = e->n->out[0];
    const hn_attr *shape = hn_attr_get(e->n, HN_A_SHAPE);
    hn_ref_loop(e, out, false);
    hn_ref_add(e, "switch (i) {\n");
    for (uint32_t k = 0; shape && k < shape->n; k++)
        hn_ref_add(e, "case %u: %s[i] = %s; break;\n", k, e->at[out], hn_ref_dim(e, shape->dims[k]));
    hn_ref_add(e, "default: break;\n}\n");
    hn_ref_end(e, out, false);
}

void hn_ref_random(hn_ref *e) {
    hn_val out = e->n->out[0];
    const hn_attr *mode = hn_attr_get(e->n, HN_A_MODE);
    const char *seed = hn_ref_int(e, hn_attr_i(e->n, HN_A_SEED, 0));
    hn_ref_loop(e, out, false);
    if (mode && !strcmp(mode->name, "normal"))
        hn_ref_store(e, out, "i", HN_DOM_F, hn_format(e->a, "hnr_philox_normal(%s, i)", seed));
    else
        hn_ref_store(
            e, out, "i", HN_DOM_F,
            hn_format(e->a, "hnr_philox_uniform(%s, i, %d)", seed, hn_random_bits(hn_ref_type(e, out)->dtype)));
    hn_ref_end(e, out, false);
}

void hn_ref_reshape(hn_ref *e) {
    hn_val in = e->n->in[0], out = e->n->out[0];
    const hn_type *a = hn_ref_type(e, in), *b = hn_ref_type(e, out);
    hn_ref_guard_equal(e, hn_ref_product(e, a, 0, a->rank), hn_ref_product(e, b, 0, b->rank));
    hn_ref_loop(e, out, false);
    hn_ref_add(e, "%s = %s;\n", hn_ref_raw(e, out, "i"), hn_ref_raw(e, in, "i"));
    hn_ref_end(e, out, false);
}

void hn_ref_transpose(hn_ref *e) {
    hn_val in = e->n->in[0];
    const int64_t *perm = hn_attr_get(e->n, HN_A_PERM)->ints;
    const hn_type *t = hn_ref_type(e, in), *out = hn_ref_type(e, e->n->out[0]);
    const char *index[HN_RANK_MAX];
    for (size_t i = 0; i < t->rank; i++) {
        index[perm[i]] = fmt_axis(e, "x", i);
        hn_ref_guard_equal(e, t->dim[perm[i]], out->dim[i]);
    }
    copy_elements(e, in, index);
}

void hn_ref_broadcast(hn_ref *e) {
    hn_val in = e->n->in[0], out = e->n->out[0];
    const hn_type *t = hn_ref_type(e, in), *to = hn_ref_type(e, out);
    const hn_attr *map = hn_attr_get(e->n, HN_A_MAP);
    const char *index[HN_RANK_MAX];
    int64_t n;
    for (size_t i = 0; i < t->rank; i++) {
        size_t k = (size_t)map->ints[i];
        const char *x = fmt_axis(e, "x", k);
        hn_known_equal same = hn_dim_equal(e->g->dims, t->dim[i], to->dim[k]);
        if (hn_dim_is_int(e->g->dims, t->dim[i], &n) && n == 1) {
            index[i] = "0";
        } else if (same == HN_EQUAL) {
            index[i] = x;
        } else {
            const char *d = hn_ref_dim(e, t->dim[i]);
            hn_ref_guard(e, "%s == 1 || %s == %s", d, d, hn_ref_dim(e, to->dim[k]));
            index[i] = hn_format(e->a, "(%s == 1 ? 0 : %s)", d, x);
        }
    }
    copy_elements(e, in, index);
}

void hn_ref_slice(hn_ref *e) {
    hn_val in = e->n->in[0];
    const hn_type *t = hn_ref_type(e, in), *to = hn_ref_type(e, e->n->out[0]);
    const hn_attr *start = hn_attr_get(e->n, HN_A_START), *step = hn_attr_get(e->n, HN_A_STEP);
    const char *index[HN_RANK_MAX];
    for (size_t i = 0; i < t->rank; i++) {
        hn_dim first = start ? start->dims[i] : hn_dim_int(e->g->dims, 0);
        const char *by = hn_ref_int(e, step ? step->ints[i] : 1), *from = hn_ref_dim(e, first);
        int64_t a, n, m;
        bool known = hn_dim_is_int(e->g->dims, first, &a) && hn_dim_is_int(e->g->dims, t->dim[i], &n) &&
                     hn_dim_is_int(e->g->dims, to->dim[i], &m);
        bool whole = hn_dim_is_int(e->g->dims, first, &a) && a == 0 && (!step || step->ints[i] == 1) &&
                     hn_dim_equal(e->g->dims, t->dim[i], to->dim[i]) == HN_EQUAL;
        if (!whole && !known)
            hn_ref_guard(e, "hnr_inside(%s, %s, %s, %s)", from, by, hn_ref_dim(e, to->dim[i]),
                         hn_ref_dim(e, t->dim[i]));
        index[i] = whole ? fmt_axis(e, "x", i) : hn_format(e->a, "(%s + x%zu * %s)", from, i, by);
    }
    copy_elements(e, in, index);
}

/* One dimension of a padded position: declares q<i>, the position in the input, and may clear `in`. */
static void pad_axis(hn_ref *e, size_t i, const char *mode, hn_dim low) {
    const char *n = hn_ref_dim(e, hn_ref_type(e, e->n->in[0])->dim[i]), *at = hn_ref_dim(e, low);
    if (!strcmp(mode, "constant")) {
        hn_ref_add(e, "const int64_t q%zu = x%zu - %s;\nin = in && q%zu >= 0 && q%zu < %s;\n", i, i, at, i, i, n);
        return;
    }
    const char *how = !strcmp(mode, "edge") ? "edge" : !strcmp(mode, "reflect") ? "reflect" : "wrap";
    hn_ref_add(e, "const int64_t q%zu = hnr_pad_%s(x%zu - %s, %s);\n", i, how, i, at, n);
}

void hn_ref_pad(hn_ref *e) {
    hn_val in = e->n->in[0], out = e->n->out[0], value = e->n->n_in > 1 ? e->n->in[1] : 0;
    const hn_attr *low = hn_attr_get(e->n, HN_A_LOW), *mode = hn_attr_get(e->n, HN_A_MODE);
    const char *name = mode ? mode->name : "constant", *index[HN_RANK_MAX];
    const hn_type *t = hn_ref_type(e, in);
    bool constant = !strcmp(name, "constant");
    for (size_t i = 0; i < t->rank; i++) {
        index[i] = fmt_axis(e, "q", i);
        int64_t n;
        if (!constant && !(hn_dim_is_int(e->g->dims, t->dim[i], &n) && n > 0))
            hn_ref_guard(e, "%s > 0", hn_ref_dim(e, t->dim[i]));
    }
    hn_ref_loop(e, out, true);
    if (constant) hn_ref_add(e, "int in = 1;\n");
    for (size_t i = 0; i < t->rank; i++) pad_axis(e, i, name, low->dims[i]);
    const char *from = hn_ref_raw(e, in, hn_ref_offset(e, t, index));
    if (constant)
        hn_ref_add(e, "%s = in ? %s : %s;\n", hn_ref_raw(e, out, "i"), from, value ? hn_ref_raw(e, value, "0") : "0");
    else
        hn_ref_add(e, "%s = %s;\n", hn_ref_raw(e, out, "i"), from);
    hn_ref_end(e, out, true);
}

void hn_ref_concat(hn_ref *e) {
    hn_val out = e->n->out[0];
    size_t axis = (size_t)hn_attr_i(e->n, HN_A_AXIS, 0);
    const char *index[HN_RANK_MAX];
    const hn_type *to = hn_ref_type(e, out);
    hn_dim total = hn_dim_int(e->g->dims, 0);
    for (size_t k = 0; k < e->n->n_in; k++) {
        const hn_type *t = hn_ref_type(e, e->n->in[k]);
        total = hn_dim_add(e->g->dims, total, t->dim[axis]);
        for (size_t i = 0; i < t->rank; i++)
            if (i != axis) hn_ref_guard_equal(e, t->dim[i], to->dim[i]);
    }
    hn_ref_guard_equal(e, total, to->dim[axis]);
    hn_ref_index(e, to, index);
    hn_ref_loop(e, out, true);
    hn_ref_add(e, "int64_t at = x%zu;\n", axis);
    index[axis] = "at";
    for (size_t k = 0; k < e->n->n_in; k++) {
        const hn_type *t = hn_ref_type(e, e->n->in[k]);
        const char *from = hn_ref_raw(e, e->n->in[k], hn_ref_offset(e, t, index));
        if (k + 1 < e->n->n_in) hn_ref_add(e, "if (at < %s) {\n", hn_ref_dim(e, t->dim[axis]));
        hn_ref_add(e, "%s = %s;\n", hn_ref_raw(e, out, "i"), from);
        if (k + 1 < e->n->n_in) hn_ref_add(e, "} else {\nat -= %s;\n", hn_ref_dim(e, t->dim[axis]));
    }
    for (size_t k = 1; k < e->n->n_in; k++) hn_ref_add(e, "}\n");
    hn_ref_end(e, out, true);
}
