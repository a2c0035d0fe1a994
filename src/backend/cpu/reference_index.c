/* backend/cpu/reference_index.c — gather and scatter. Every index goes through hnr_index: out of range sets the error
 * slot and is clamped; -1, where there is nothing to take, gives 0 or writes nothing. */
#include "backend/cpu/reference_int.h"

#include <string.h>

static const char *fmt_axis(hn_ref *e, const char *name, size_t i) { return hn_format(e->a, "%s%zu", name, i); }

/* Index value idx of the index input, checked against dimension `axis` of t: declares `const int64_t name`. */
static void checked(hn_ref *e, const char *name, hn_val indices, const char *idx, const hn_type *t, size_t axis) {
    hn_ref_add(e, "const int64_t %s = hnr_index(s, (int64_t)%s, %s);\n", name, hn_ref_load(e, indices, idx),
               hn_ref_dim(e, t->dim[axis]));
}

/* out[i] = ok ? data[from] : 0 */
static void take(hn_ref *e, hn_val data, const char *ok, const char *from) {
    hn_val out = e->n->out[0];
    hn_ref_add(e, "%s = %s ? %s : 0;\n", hn_ref_raw(e, out, "i"), ok, hn_ref_raw(e, data, from));
}

void hn_ref_gather(hn_ref *e) {
    hn_val data = e->n->in[0], indices = e->n->in[1], out = e->n->out[0];
    const hn_type *t = hn_ref_type(e, data), *it = hn_ref_type(e, indices), *to = hn_ref_type(e, out);
    size_t axis = (size_t)hn_attr_i(e->n, HN_A_AXIS, 0), batch = (size_t)hn_attr_i(e->n, HN_A_BATCH, 0);
    size_t mid = it->rank - batch; /* index dimensions in the result's middle */
    const char *at[HN_RANK_MAX], *index[HN_RANK_MAX];
    for (size_t i = 0; i < t->rank; i++) {
        size_t x = i < axis ? i : i - 1 + mid; /* dimension of the result */
        index[i] = i == axis ? "at" : fmt_axis(e, "x", x);
        if (i != axis) hn_ref_guard_equal(e, t->dim[i], to->dim[x]);
    }
    for (size_t i = 0; i < it->rank; i++) {
        size_t x = i < batch ? i : axis + i - batch;
        at[i] = fmt_axis(e, "x", x);
        hn_ref_guard_equal(e, it->dim[i], to->dim[x]);
    }
    hn_ref_loop(e, out, true);
    checked(e, "at", indices, hn_ref_offset(e, it, at), t, axis);
    take(e, data, "at >= 0", hn_ref_offset(e, t, index));
    hn_ref_end(e, out, true);
}

/* Index per dimension of the data for an element of the indices whose own index is in x<i>; text of the condition. */
static void element_index(hn_ref *e, hn_val data, hn_val indices, const char **index, const char *flat) {
    const hn_type *t = hn_ref_type(e, data), *it = hn_ref_type(e, indices);
    size_t axis = (size_t)hn_attr_i(e->n, HN_A_AXIS, 0);
    hn_ref_add(e, "int ok = 1;\n");
    for (size_t i = 0; i < t->rank; i++) {
        index[i] = fmt_axis(e, "x", i);
        int64_t n, m;
        bool fits = hn_dim_equal(e->g->dims, t->dim[i], it->dim[i]) == HN_EQUAL ||
                    (hn_dim_is_int(e->g->dims, t->dim[i], &n) && hn_dim_is_int(e->g->dims, it->dim[i], &m) && m <= n);
        if (i != axis && fits) continue;
        index[i] = fmt_axis(e, "at", i);
        if (i == axis)
            checked(e, index[i], indices, flat, t, i);
        else
            hn_ref_add(e, "const int64_t at%zu = hnr_index(s, x%zu, %s);\n", i, i, hn_ref_dim(e, t->dim[i]));
        hn_ref_add(e, "ok = ok && at%zu >= 0;\n", i);
    }
}

void hn_ref_gather_elements(hn_ref *e) {
    hn_val data = e->n->in[0], indices = e->n->in[1], out = e->n->out[0];
    const char *index[HN_RANK_MAX];
    hn_ref_loop(e, out, true);
    element_index(e, data, indices, index, "i");
    take(e, data, "ok", hn_ref_offset(e, hn_ref_type(e, data), index));
    hn_ref_end(e, out, true);
}

/* Length of the last dimension of nd indices, which must be constant. */
static size_t tuple(hn_ref *e, hn_val indices) {
    const hn_type *it = hn_ref_type(e, indices);
    int64_t k;
    if (it->rank && hn_dim_is_int(e->g->dims, it->dim[it->rank - 1], &k) && k >= 0 && k <= HN_RANK_MAX)
        return (size_t)k;
    hn_ref_decline(e, "the length of the index tuples is not constant");
    return 0;
}

/* The tuple at flat position `first`: declares at<i> and ok, and fills index[batch … batch + k). */
static void tuple_index(hn_ref *e, hn_val data, hn_val indices, size_t batch, size_t k, const char *first,
                        const char **index) {
    hn_ref_add(e, "int ok = 1;\n");
    for (size_t i = 0; i < k; i++) {
        index[batch + i] = fmt_axis(e, "at", batch + i);
        checked(e, index[batch + i], indices, hn_format(e->a, "%s + %zu", first, i), hn_ref_type(e, data), batch + i);
        hn_ref_add(e, "ok = ok && %s >= 0;\n", index[batch + i]);
    }
}

void hn_ref_gather_nd(hn_ref *e) {
    hn_val data = e->n->in[0], indices = e->n->in[1], out = e->n->out[0];
    const hn_type *t = hn_ref_type(e, data), *it = hn_ref_type(e, indices), *to = hn_ref_type(e, out);
    size_t batch = (size_t)hn_attr_i(e->n, HN_A_BATCH, 0), k = tuple(e, indices), lead = it->rank - 1u;
    const char *at[HN_RANK_MAX], *index[HN_RANK_MAX];
    if (e->rc) return;
    for (size_t i = 0; i < lead; i++) {
        at[i] = fmt_axis(e, "x", i);
        hn_ref_guard_equal(e, it->dim[i], to->dim[i]);
    }
    at[lead] = "0";
    for (size_t i = 0; i < t->rank; i++) {
        if (i >= batch && i < batch + k) continue;
        size_t x = i < batch ? i : lead + i - batch - k;
        index[i] = fmt_axis(e, "x", x);
        hn_ref_guard_equal(e, t->dim[i], to->dim[x]);
    }
    hn_ref_loop(e, out, true);
    tuple_index(e, data, indices, batch, k, hn_ref_offset(e, it, at), index);
    take(e, data, "ok", hn_ref_offset(e, t, index));
    hn_ref_end(e, out, true);
}

/* Floats collect in double, beside the result, and are rounded once. */
static const char *mode_of(const hn_ref *e) {
    const hn_attr *mode = hn_attr_get(e->n, HN_A_MODE);
    return mode ? mode->name : "set";
}
static bool sets(const hn_ref *e) { return !strcmp(mode_of(e), "set") || !strcmp(mode_of(e), "none"); }
static bool collects(const hn_ref *e) { return !sets(e) && hn_is_float(hn_ref_type(e, e->n->out[0])->dtype); }

/* out[at] op= updates[from], in the domain of the element type. */
static void combine(hn_ref *e, hn_val updates, const char *at, const char *from) {
    hn_val out = e->n->out[0];
    const char *name = mode_of(e);
    hn_ref_kind d = hn_ref_domain(hn_ref_type(e, out)->dtype);
    if (sets(e)) {
        hn_ref_add(e, "%s = %s;\n", hn_ref_raw(e, out, at), hn_ref_raw(e, updates, from));
        return;
    }
    const char *y = hn_ref_load(e, updates, from), *type = hn_ref_c_type(d), *wide = d == HN_DOM_F ? type : "uint64_t";
    const char *x = d == HN_DOM_F ? hn_format(e->a, "sum[%s]", at) : hn_ref_load(e, out, at), *z;
    if (!strcmp(name, "add") || !strcmp(name, "mul"))
        z = hn_format(e->a, "(%s)((%s)%s %c (%s)%s)", type, wide, x, *name == 'a' ? '+' : '*', wide, y);
    else
        z = hn_format(e->a, "hnr_%s_%c(%s, %s)", name, "fiu"[d], x, y);
    if (d == HN_DOM_F)
        hn_ref_add(e, "%s = %s;\n", x, z);
    else
        hn_ref_store(e, out, at, d, z);
}

/* Loops over dimensions [from, to) of t. */
static void loops(hn_ref *e, const hn_type *t, size_t from, size_t to) {
    for (size_t k = from; k < to; k++)
        hn_ref_add(e, "for (int64_t x%zu = 0; x%zu < %s; x%zu++)\n", k, k, hn_ref_dim(e, t->dim[k]), k);
}

/* The result starts as the data; then a loop over the first `lead` dimensions of t with index x0, x1, …, if it has
 * elements. `i` is for the caller to count. */
static void scatter_open(hn_ref *e, const hn_type *t, size_t lead) {
    hn_val data = e->n->in[0], out = e->n->out[0];
    const hn_type *dt = hn_ref_type(e, data);
    const char *n = hn_ref_count(e, dt);
    if (e->language->device)
        hn_ref_add(e, "for (int64_t j = 0; j < %s; j++) %s = %s;\n", n, hn_ref_raw(e, out, "j"),
                   hn_ref_raw(e, data, "j"));
    else
        hn_ref_add(e, "if ((const char *)%s != (const char *)%s) memcpy(%s, %s, (size_t)%s * %zu);\n", e->at[out],
                   e->at[data], e->at[out], e->at[data], n, hn_ref_size_b(e, data));
    if (collects(e)) {
        hn_dim eight = hn_dim_int(e->g->dims, 8);
        hn_ref_scratch(e, "wide", hn_dim_mul(e->g->dims, hn_ref_product(e, dt, 0, dt->rank), eight));
        hn_ref_add(e, "%sdouble *const sum = (%sdouble *)%swide;\n", e->language->global, e->language->global,
                   e->language->device ? "" : "(void *)");
        hn_ref_add(e, "for (int64_t j = 0; j < %s; j++) sum[j] = %s;\n", n, hn_ref_load(e, data, "j"));
    }
    hn_ref_guarded_open(e);
    hn_ref_add(e, "int64_t i = 0;\n");
    if (lead < t->rank) hn_ref_add(e, "if (%s > 0)\n", hn_ref_count(e, t));
    loops(e, t, 0, lead);
    hn_ref_add(e, "{\n");
}
static void scatter_end(hn_ref *e) {
    hn_val out = e->n->out[0];
    hn_ref_add(e, "}\n}\n");
    if (!collects(e)) return;
    hn_ref_add(e, "for (int64_t j = 0; j < %s; j++) ", hn_ref_count(e, hn_ref_type(e, out)));
    hn_ref_store(e, out, "j", HN_DOM_F, "sum[j]");
}
void hn_ref_scatter_elements(hn_ref *e) {
    hn_val data = e->n->in[0], indices = e->n->in[1], updates = e->n->in[2];
    const hn_type *it = hn_ref_type(e, indices);
    const char *index[HN_RANK_MAX];
    for (size_t i = 0; i < it->rank; i++) hn_ref_guard_equal(e, it->dim[i], hn_ref_type(e, updates)->dim[i]);
    hn_ref_add(e, "{\n");
    scatter_open(e, it, it->rank);
    element_index(e, data, indices, index, "i");
    hn_ref_add(e, "if (ok) {\n");
    hn_ref_add(e, "const int64_t at = %s;\n", hn_ref_offset(e, hn_ref_type(e, data), index));
    combine(e, updates, "at", "i");
    hn_ref_add(e, "}\ni++;\n");
    scatter_end(e);
    hn_ref_add(e, "}\n");
}

/* Rows of blocks that lie transposed: row r is element r % block of each row of block r / block. */
static void scatter_turned(hn_ref *e, int64_t block) {
    hn_val data = e->n->in[0], indices = e->n->in[1], updates = e->n->in[2];
    const hn_type *t = hn_ref_type(e, data), *it = hn_ref_type(e, indices), *ut = hn_ref_type(e, updates);
    const char *at[HN_RANK_MAX], *b = hn_ref_int(e, block);
    size_t lead = it->rank - 1u;
    for (size_t i = 0; i < lead; i++) at[i] = fmt_axis(e, "x", i), hn_ref_guard_equal(e, it->dim[i], ut->dim[i]);
    for (size_t i = 1; i < t->rank; i++) hn_ref_guard_equal(e, t->dim[i], ut->dim[lead + i - 1]);
    at[lead] = "0";
    hn_ref_add(e, "{\n");
    scatter_open(e, ut, lead);
    hn_ref_add(e, "const int64_t rest = %s;\n", hn_ref_dim(e, hn_ref_product(e, t, 1, t->rank)));
    hn_ref_add(e, "const int64_t row = hnr_index(s, (int64_t)%s, %s / %s * %s);\n",
               hn_ref_load(e, indices, hn_ref_offset(e, it, at)), hn_ref_dim(e, t->dim[0]), b, b);
    hn_ref_add(e, "const int64_t first = row / %s * %s * rest + row %% %s;\n", b, b, b);
    hn_ref_add(e, "if (row < 0)\ni += rest;\nelse\nfor (int64_t j = 0; j < rest; j++) {\n");
    hn_ref_add(e, "const int64_t at = first + j * %s;\n", b);
    combine(e, updates, "at", "i");
    hn_ref_add(e, "i++;\n}\n");
    scatter_end(e);
    hn_ref_add(e, "}\n");
}

void hn_ref_scatter_nd(hn_ref *e) {
    hn_val data = e->n->in[0], indices = e->n->in[1], updates = e->n->in[2];
    int64_t block = hn_attr_i(e->n, HN_A_BLOCK, 0);
    if (block) {
        scatter_turned(e, block);
        return;
    }
    const hn_type *t = hn_ref_type(e, data), *it = hn_ref_type(e, indices), *ut = hn_ref_type(e, updates);
    size_t k = tuple(e, indices), lead = it->rank - 1u;
    const char *at[HN_RANK_MAX], *index[HN_RANK_MAX];
    if (e->rc) return;
    for (size_t i = 0; i < lead; i++) {
        at[i] = fmt_axis(e, "x", i);
        hn_ref_guard_equal(e, it->dim[i], ut->dim[i]);
    }
    at[lead] = "0";
    for (size_t i = k; i < t->rank; i++) {
        index[i] = fmt_axis(e, "x", lead + i - k);
        hn_ref_guard_equal(e, t->dim[i], ut->dim[lead + i - k]);
    }
    hn_ref_add(e, "{\n");
    scatter_open(e, ut, lead);
    tuple_index(e, data, indices, 0, k, hn_ref_offset(e, it, at), index);
    hn_ref_add(e, "if (!ok)\ni += %s;\nelse\n", hn_ref_dim(e, hn_ref_product(e, ut, lead, ut->rank)));
    loops(e, ut, lead, ut->rank);
    hn_ref_add(e, "{\nconst int64_t at = %s;\n", hn_ref_offset(e, t, index));
    combine(e, updates, "at", "i");
    hn_ref_add(e, "i++;\n}\n");
    scatter_end(e);
    hn_ref_add(e, "}\n");
}
