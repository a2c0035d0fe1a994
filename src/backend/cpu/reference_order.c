/* backend/cpu/reference_order.c — operations that sort, search or count: the work is in
 * src/backend/cpu/rt/{order,odd}.h, on keys and doubles gathered in scratch. */
#include "backend/cpu/reference_int.h"

static hn_dim lit(hn_ref *e, int64_t n) { return hn_dim_int(e->g->dims, n); }
static hn_dim times(hn_ref *e, hn_dim a, int64_t n) { return hn_dim_mul(e->g->dims, a, lit(e, n)); }

/* Scratch for n elements of a C type. */
static void array(hn_ref *e, const char *type, const char *name, hn_dim n, int64_t size_b) {
    const char *raw = hn_format(e->a, "%s_b", name);
    hn_ref_scratch(e, raw, times(e, n, size_b));
    const char *space = e->language->global;
    hn_ref_add(e, "%s%s *const %s = (%s%s *)%s%s;\n", space, type, name, space, type,
               e->language->device ? "" : "(void *)", raw);
}

static const char *key_of(hn_ref *e, hn_val v, const char *idx) {
    hn_ref_kind d = hn_ref_domain(hn_ref_type(e, v)->dtype);
    return hn_format(e->a, "hnr_key_%c(%s)", "fiu"[d], hn_ref_load(e, v, idx));
}

/* The k first of a line are kept in a heap. What is no better than its last, as numbers, does not get there: later ones
 * of equals are behind. NaN is equal to none, and compares as a key. */
static void keep_first(hn_ref *e, hn_val in, const char *n, const char *k, const char *inner) {
    hn_ref_kind d = hn_ref_domain(hn_ref_type(e, in)->dtype);
    static const char *const type[] = {[HN_DOM_F] = "double", [HN_DOM_I] = "int64_t", [HN_DOM_U] = "uint64_t"};
    bool largest = hn_attr_i(e->n, HN_A_LARGEST, 1) != 0;
    hn_ref_add(e, "%s worst = 0;\nfor (int64_t j = 0; j < %s && %s > 0; j++) {\n", type[d], n, k);
    hn_ref_add(e, "const %s x = %s;\n", type[d], hn_ref_load(e, in, hn_format(e->a, "first + j * %s", inner)));
    hn_ref_add(e, "if (j >= %s && x %s worst) continue;\n", k, largest ? "<=" : ">=");
    hn_ref_add(e, "hnr_keep(pair, j, %s, %shnr_pair%s{%shnr_key_%c(x), j});\n", k, e->language->make[0],
               e->language->make[1], largest ? "~" : "", "fiu"[d]);
    hn_ref_add(e, "worst = %s;\n}\nhnr_in_order(pair, %s);\n",
               hn_ref_load(e, in, hn_format(e->a, "first + pair[0].at * %s", inner)), k);
}

void hn_ref_topk(hn_ref *e) {
    hn_val in = e->n->in[0], value = e->n->out[0], where = e->n->out[1];
    const hn_type *t = hn_ref_type(e, in), *to = hn_ref_type(e, value);
    size_t axis = (size_t)hn_attr_i(e->n, HN_A_AXIS, 0);
    const char *n = hn_ref_dim(e, t->dim[axis]), *k = hn_ref_dim(e, to->dim[axis]),
               *inner = hn_ref_dim(e, hn_ref_product(e, t, axis + 1, t->rank));
    int64_t a, b;
    if (!(hn_dim_is_int(e->g->dims, t->dim[axis], &a) && hn_dim_is_int(e->g->dims, to->dim[axis], &b) && b <= a))
        hn_ref_guard(e, "%s <= %s", k, n);
    array(e, "hnr_pair", "pair", to->dim[axis], 16);
    hn_ref_guarded_open(e);
    hn_ref_lines(e, in, axis);
    keep_first(e, in, n, k, inner);
    hn_ref_add(e, "const int64_t to = line / %s * %s * %s + line %% %s;\n", inner, inner, k, inner);
    hn_ref_add(e, "for (int64_t j = 0; j < %s; j++) {\n", k);
    const char *at = hn_format(e->a, "to + j * %s", inner);
    hn_ref_add(e, "%s = %s;\n", hn_ref_raw(e, value, at),
               hn_ref_raw(e, in, hn_format(e->a, "first + pair[j].at * %s", inner)));
    hn_ref_store(e, where, at, HN_DOM_I, "pair[j].at");
    hn_ref_add(e, "}\n");
    hn_ref_lines_end(e);
    hn_ref_add(e, "}\n");
}

void hn_ref_det(hn_ref *e) {
    hn_val in = e->n->in[0], out = e->n->out[0];
    const hn_type *t = hn_ref_type(e, in);
    hn_dim size = hn_dim_mul(e->g->dims, t->dim[t->rank - 1], t->dim[t->rank - 1]);
    const char *n = hn_ref_dim(e, t->dim[t->rank - 1]), *nn = hn_ref_dim(e, size);
    array(e, "double", "matrix", size, 8);
    hn_ref_guard_equal(e, t->dim[t->rank - 1], t->dim[t->rank - 2]);
    hn_ref_loop(e, out, false);
    hn_ref_add(e, "for (int64_t j = 0; j < %s; j++) matrix[j] = %s;\n", nn,
               hn_ref_load_f(e, in, hn_format(e->a, "i * %s + j", nn)));
    hn_ref_store(e, out, "i", HN_DOM_F, hn_format(e->a, "hnr_det(matrix, %s)", n));
    hn_ref_end(e, out, false);
}

/* The symbol's value goes into the buffer behind the outputs. */
static void define(hn_ref *e, const char *expr) { hn_ref_add(e, "*defined = %s;\n", expr); }

void hn_ref_nonzero(hn_ref *e) {
    hn_val in = e->n->in[0], out = e->n->out[0];
    const hn_type *t = hn_ref_type(e, in);
    hn_ref_add(e, "int64_t found = 0, to = 0;\nfor (int64_t i = 0; i < %s; i++) found += %s != 0;\n",
               hn_ref_count(e, t), hn_ref_load(e, in, "i"));
    define(e, "found");
    hn_ref_add(e, "for (int64_t i = 0; i < %s; i++) {\nif (!(%s != 0)) continue;\n", hn_ref_count(e, t),
               hn_ref_load(e, in, "i"));
    for (size_t i = 0; i < t->rank; i++)
        hn_ref_add(e, "%s[found * %zu + to] = i / %s %% %s;\n", e->at[out], i,
                   hn_ref_dim(e, hn_ref_product(e, t, i + 1, t->rank)), hn_ref_dim(e, t->dim[i]));
    hn_ref_add(e, "to++;\n}\n");
}

void hn_ref_unique(hn_ref *e) {
    const hn_val in = e->n->in[0], *out = e->n->out;
    const hn_type *t = hn_ref_type(e, in);
    size_t axis = (size_t)hn_attr_i(e->n, HN_A_AXIS, 0);
    hn_dim all = hn_ref_product(e, t, 0, t->rank), n_dim = t->dim[axis];
    const char *outer = hn_ref_dim(e, hn_ref_product(e, t, 0, axis)), *n = hn_ref_dim(e, n_dim);
    const char *inner = hn_ref_dim(e, hn_ref_product(e, t, axis + 1, t->rank));
    array(e, "uint64_t", "key", all, 8);
    array(e, "int64_t", "order", n_dim, 8);
    hn_ref_add(e, "for (int64_t i = 0; i < %s; i++) key[i] = %s;\n", hn_ref_dim(e, all), key_of(e, in, "i"));
    hn_ref_add(e, "const hnr_slices slices = {key, %s, %s, %s};\n", outer, n, inner);
    hn_ref_add(e, "const int64_t found = hnr_unique(&slices, %d, order, %s, %s, %s);\n",
               hn_attr_i(e->n, HN_A_SORTED, 1) != 0, e->at[out[1]], e->at[out[2]], e->at[out[3]]);
    define(e, "found");
    hn_ref_add(e, "for (int64_t o = 0; o < %s; o++)\nfor (int64_t j = 0; j < found; j++)\n", outer);
    hn_ref_add(e, "for (int64_t i = 0; i < %s; i++)\n", inner);
    const char *from = hn_format(e->a, "(o * %s + %s[j]) * %s + i", n, e->at[out[1]], inner);
    hn_ref_add(e, "%s = %s;\n", hn_ref_raw(e, out[0], hn_format(e->a, "(o * found + j) * %s + i", inner)),
               hn_ref_raw(e, in, from));
}

void hn_ref_nms(hn_ref *e) {
    const hn_val *in = e->n->in, out = e->n->out[0];
    const hn_type *bt = hn_ref_type(e, in[0]), *st = hn_ref_type(e, in[1]);
    const char *n = hn_ref_dim(e, bt->dim[1]), *classes = hn_ref_dim(e, st->dim[1]);
    hn_ref_guard_equal(e, bt->dim[0], st->dim[0]);
    hn_ref_guard_equal(e, bt->dim[1], st->dim[2]);
    hn_ref_guard_equal(e, bt->dim[2], lit(e, 4));
    array(e, "double", "box", times(e, bt->dim[1], 4), 8);
    array(e, "double", "score", bt->dim[1], 8);
    array(e, "hnr_pair", "order", bt->dim[1], 16);
    array(e, "int64_t", "kept", bt->dim[1], 8);
    define(e, "0");
    hn_ref_guarded_open(e);
    hn_ref_add(e, "int64_t to = 0;\nconst int64_t limit = (int64_t)%s;\n", hn_ref_load(e, in[2], "0"));
    hn_ref_add(e, "for (int64_t b = 0; b < %s; b++) {\n", hn_ref_dim(e, bt->dim[0]));
    hn_ref_add(e, "for (int64_t j = 0; j < %s * 4; j++) box[j] = %s;\n", n,
               hn_ref_load_f(e, in[0], hn_format(e->a, "b * %s * 4 + j", n)));
    hn_ref_add(e, "for (int64_t c = 0; c < %s; c++) {\n", classes);
    hn_ref_add(e, "for (int64_t j = 0; j < %s; j++) score[j] = %s;\n", n,
               hn_ref_load_f(e, in[1], hn_format(e->a, "(b * %s + c) * %s + j", classes, n)));
    hn_ref_add(e, "const int64_t k = hnr_nms(box, score, %s, limit, %s, %s, %d, order, kept);\n", n,
               hn_ref_load_f(e, in[3], "0"), hn_ref_load_f(e, in[4], "0"), hn_attr_i(e->n, HN_A_CENTER, 0) != 0);
    hn_ref_add(e, "for (int64_t j = 0; j < k; j++) {\n%s[to++] = b;\n%s[to++] = c;\n%s[to++] = kept[j];\n}\n}\n}\n",
               e->at[out], e->at[out], e->at[out]);
    define(e, "to / 3");
    hn_ref_add(e, "}\n");
}
