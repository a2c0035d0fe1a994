/* lower_ml_text.c — TfIdfVectorizer over integers.
 *
 * For every length of n-gram and every distance between its items, all windows of a row are compared with all n-grams
 * of that length at once and the hits counted; the counts go to the columns that the model names.
 */
#include "onnx/lower_ml_int.h"

#include <string.h>

enum { SKIPS_MOST = 64, LENGTH_MOST = 64 };

typedef struct grams {
    hn_lower *c;
    hn_builder *b;
    hn_val x; /* [rows, length] i64 */
    hn_dim rows;
    const int64_t *pool, *column;
    int64_t least, most, skips, width;
} grams;

/* Item j of each n-gram: i64 [1, 1, count]. */
static hn_val items(const grams *g, const int64_t *pool, int64_t size, int64_t count, int64_t j) {
    hn_tensor t;
    if (!hn_tensor_new(&g->b->g->arena, HONE_I64, 3, (int64_t[]){1, 1, count}, &t)) return 0;
    for (int64_t i = 0; i < count; i++) ((int64_t *)t.data)[i] = pool[i * size + j];
    return hn_const(g->b, &t);
}

/* How often each of `count` n-grams occurs with its items `step` apart: i64 [rows, count]. */
static hn_val count_hits(const grams *g, const int64_t *pool, int64_t size, int64_t count, int64_t step) {
    hn_builder *b = g->b;
    hn_dims *t = b->g->dims;
    hn_dim places = hn_dim_max(t, hn_dim_sub(t, hn_dim_of(b, g->x, 1), hn_lit(b, (size - 1) * step)), hn_lit(b, 0));
    int64_t known;
    if (hn_dim_known(b, places, &known) && known == 0) return 0;
    hn_val all = 0;
    for (int64_t j = 0; j < size; j++) {
        hn_val x = hn_unsqueeze(b, hn_slice_axis(b, g->x, 1, hn_lit(b, j * step), places, 1), 2);
        hn_val is = hn_bin(b, HN_OP_EQ, x, items(g, pool, size, count, j));
        all = all ? hn_bin(b, HN_OP_AND, all, is) : is;
    }
    return hn_reduce1(b, HN_OP_RSUM, hn_cast(b, all, HONE_I64), 1, false);
}

/* Adds the counts of n-grams of one length to the result [rows, width]. */
static hn_val add_grams(const grams *g, hn_val y, const int64_t *pool, int64_t size, int64_t first, int64_t count) {
    hn_builder *b = g->b;
    hn_val sum = 0;
    for (int64_t step = 1; step <= (size == 1 ? 1 : g->skips + 1); step++) {
        hn_val hits = count_hits(g, pool, size, count, step);
        if (hits) sum = sum ? hn_bin(b, HN_OP_ADD, sum, hits) : hits;
    }
    if (!sum) return y;
    hn_dim shape[] = {g->rows, hn_lit(b, count)};
    hn_val column = hn_broadcast_to(b, hn_const_ints(b, (size_t)count, g->column + first), 2, shape);
    hn_val in[] = {y, column, hn_broadcast_to(b, sum, 2, shape)};
    hn_attr attr[] = {hn_a_int(HN_A_AXIS, 1), hn_a_word(HN_A_MODE, "add")};
    return hn_emit(b->g, b->b, HN_OP_SCATTER_ELEMENTS, 3, in, 2, attr, 1);
}

static hn_val weighted(hn_lower *c, hn_val counts, int64_t width) {
    hn_builder *b = hn_lower_builder(c);
    const char *mode = hn_string(c, "mode", "TF");
    const float *w;
    size_t n = hn_floats(c, "weights", &w);
    hn_val y = hn_cast(b, counts, HONE_F32);
    if (!strcmp(mode, "IDF"))
        y = hn_cast(b, hn_bin(b, HN_OP_LT, hn_const_i(b, HONE_I64, 0), counts), HONE_F32);
    else if (strcmp(mode, "TF") != 0 && strcmp(mode, "TFIDF") != 0) {
        hn_wrong(c, "mode '%s'", mode);
        return 0;
    }
    if (!n || !strcmp(mode, "TF")) return y;
    if ((int64_t)n != width) {
        hn_wrong(c, "%zu weights for %lld columns", n, (long long)width);
        return 0;
    }
    return hn_bin(b, HN_OP_MUL, y, hn_ml_floats(c, n, w, HONE_F32));
}

static bool read_grams(grams *g, size_t *n_pool, size_t *n_column) {
    hn_lower *c = g->c;
    const char *const *strings;
    if (!hn_need(c, 1) || !hn_need_rank(c, 0, 0, 2)) return false;
    if (hn_strings(c, "pool_strings", &strings)) {
        hn_refuse(c, "n-grams of strings");
        return false;
    }
    *n_pool = hn_ints(c, "pool_int64s", &g->pool);
    *n_column = hn_ints(c, "ngram_indexes", &g->column);
    g->least = hn_int(c, "min_gram_length", 1);
    g->most = hn_int(c, "max_gram_length", 1);
    g->skips = hn_int(c, "max_skip_count", 0);
    for (size_t i = 0; i < *n_column; i++) {
        if (g->column[i] < 0 || g->column[i] > INT32_MAX)
            hn_wrong(c, "ngram_indexes holds %lld", (long long)g->column[i]);
        if (g->column[i] >= g->width) g->width = g->column[i] + 1;
    }
    if (g->skips > SKIPS_MOST || g->most > LENGTH_MOST)
        hn_refuse(c, "n-grams of up to %lld items, %lld skipped; at most %d and %d", (long long)g->most,
                  (long long)g->skips, LENGTH_MOST, SKIPS_MOST);
    if (!*n_column || g->least < 1 || g->most < g->least || g->skips < 0)
        hn_wrong(c, "lengths, skips or ngram_indexes");
    return !hn_lower_failed(c);
}

void hn_lower_tfidf(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    grams g = {.c = c, .b = b};
    const int64_t *start;
    size_t n_pool, n_column, n = hn_ints(c, "ngram_counts", &start);
    if (!read_grams(&g, &n_pool, &n_column)) return;
    hn_val x = hn_cast(b, hn_in(c, 0), HONE_I64);
    size_t rank = hn_rank(b, x);
    for (size_t r = rank; r < 2; r++) x = hn_unsqueeze(b, x, 0);
    g.x = x;
    g.rows = hn_dim_of(b, x, 0);
    hn_dim shape[] = {g.rows, hn_lit(b, g.width)};
    hn_val y = hn_full(b, HONE_I64, 2, shape, 0);
    int64_t first = 0;
    for (size_t i = 0; i < n && !hn_lower_failed(c); i++) {
        int64_t size = (int64_t)i + 1, from = start[i], to = i + 1 < n ? start[i + 1] : (int64_t)n_pool;
        if (from < 0 || to < from || to > (int64_t)n_pool || first + (to - from) / size > (int64_t)n_column)
            hn_wrong(c, "ngram_counts does not fit the pool");
        else if (to > from && size >= g.least && size <= g.most)
            y = add_grams(&g, y, g.pool + from, size, first, (to - from) / size);
        first += (to - from) / size;
    }
    if (hn_lower_failed(c)) return;
    y = weighted(c, y, g.width);
    if (y) hn_out(c, 0, rank == 2 ? y : hn_squeeze(b, y, 0));
}
