/* rt/attend.h — attention over keys and values that lie in blocks of a pool. Needs base.h, convert.h and lanes.h.
 *
 * A work item is a few tokens and one head of keys; the heads of queries that share it are rows beside each other. The
 * keys of a block lie transposed in the pool, [kv heads, size, block], so that a lane is a key and no sum crosses
 * lanes; values lie as rows. The softmax is the online one (Milakov & Gimelshein 2018), a step per block.
 *
 * The order of every sum follows from the token's position alone, never from what is computed beside it: a product with
 * a key is added up element by element; exponentials are 16 sums of every 16th, folded by
 * halves at the end; values are added key by key. Blocks begin at multiples of their length. Keys that a row does not
 * see have the exponential 0, and adding 0 changes nothing. So a token's result has the same bits alone, in a prompt
 * and among others.
 */
#ifndef HNR_ATTEND_H
#define HNR_ATTEND_H

#define HNR_AN (16 / HNR_L)
enum { HNR_ATTEND_TOKENS = 8, HNR_ATTEND_ROWS = 4, HNR_ATTEND_WIDE = 4 };
/* Rows and vectors of keys whose products are made side by side: as many as there are registers for. */
#if HNR_L == 16
enum { HNR_SCORE_ROWS = 8, HNR_SCORE_KEYS = 2 };
#elif HNR_L == 8 || defined(__aarch64__)
enum { HNR_SCORE_ROWS = 4, HNR_SCORE_KEYS = 1 };
#else
enum { HNR_SCORE_ROWS = 2, HNR_SCORE_KEYS = 1 };
#endif
/* 16 lanes on every machine. */
typedef struct hnr_a16 {
    hnr_lf p[HNR_AN];
} hnr_a16;
#define HNR_EACH _Pragma("GCC unroll 4") for (int v = 0; v < HNR_AN; v++)

HNR hnr_a16 hnr_a16_all(float x) {
    hnr_a16 r;
    HNR_EACH r.p[v] = hnr_l_all(x);
    return r;
}
HNR hnr_a16 hnr_a16_load(const float *x) {
    hnr_a16 r;
    HNR_EACH r.p[v] = *(const hnr_lf_any *)(x + v * HNR_L);
    return r;
}
HNR void hnr_a16_store(float *x, hnr_a16 a) { HNR_EACH *(hnr_lf_any *)(x + v * HNR_L) = a.p[v]; }
HNR hnr_a16 hnr_a16_add(hnr_a16 a, hnr_a16 b) {
    HNR_EACH a.p[v] = a.p[v] + b.p[v];
    return a;
}
HNR hnr_a16 hnr_a16_mul(hnr_a16 a, hnr_a16 b) {
    HNR_EACH a.p[v] = a.p[v] * b.p[v];
    return a;
}
HNR hnr_a16 hnr_a16_madd(hnr_a16 a, hnr_a16 b, hnr_a16 c) {
    HNR_EACH c.p[v] = hnr_l_fma(a.p[v], b.p[v], c.p[v]);
    return c;
}

/* exp(x) for x <= 0, and 0 below -87: as rt/math_exp.h has it. */
HNR hnr_lf hnr_l_exp(hnr_lf x) {
    hnr_lf low = hnr_l_all(-87.0f), y = hnr_l_choose(x < low, low, x);
    hnr_lf t = hnr_l_fma(y, hnr_l_all(0x1.715476p0f), hnr_l_all(0x1.8p23f)), n = t - 0x1.8p23f;
    hnr_lf r = hnr_l_fma(n, hnr_l_all(-0x1.62e4p-1f), y);
    r = hnr_l_fma(n, hnr_l_all(-0x1.7f7d1cp-20f), r);
    hnr_lf q = hnr_l_fma(hnr_l_all(0x1.6ab89cp-10f), r, hnr_l_all(0x1.123d7p-7f));
    q = hnr_l_fma(q, r, hnr_l_all(0x1.55585ap-5f));
    q = hnr_l_fma(q, r, hnr_l_all(0x1.55548cp-3f));
    q = hnr_l_fma(q, r, hnr_l_all(0x1.fffffcp-2f));
    q = hnr_l_fma(hnr_l_fma(q, r, hnr_l_all(1.0f)), r, hnr_l_all(1.0f));
    q = q * (hnr_lf)(((hnr_li)t << 23) + (127 << 23));
    return hnr_l_choose(x < low, hnr_l_all(0.0f), q);
}
HNR hnr_a16 hnr_a16_exp(hnr_a16 a) {
    HNR_EACH a.p[v] = hnr_l_exp(a.p[v]);
    return a;
}
/* cap * tanh(x / cap) */
HNR hnr_a16 hnr_a16_cap(hnr_a16 a, float cap) {
    HNR_EACH {
        hnr_lf y = a.p[v] / cap, size = (hnr_lf)((hnr_li)y & 0x7fffffff), e = hnr_l_exp(size * -2.0f);
        hnr_lf t = (1.0f - e) / (1.0f + e) * cap;
        a.p[v] = (hnr_lf)((hnr_li)t | ((hnr_li)y & (-0x7fffffff - 1)));
    }
    return a;
}

/* The sum of 16 lanes by halves, and the largest of them and `top`. */
HNR float hnr_a16_sum(hnr_a16 a) {
    float x[16];
    for (int n = HNR_AN / 2; n; n /= 2)
        for (int v = 0; v < n; v++) a.p[v] = a.p[v] + a.p[v + n];
#if HNR_L == 16
    a.p[0] += __builtin_shufflevector(a.p[0], a.p[0], 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
    a.p[0] += __builtin_shufflevector(a.p[0], a.p[0], 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3);
#elif HNR_L == 8
    a.p[0] += __builtin_shufflevector(a.p[0], a.p[0], 4, 5, 6, 7, 0, 1, 2, 3);
#endif
    hnr_a16_store(x, a);
    return (x[0] + x[2]) + (x[1] + x[3]);
}
/* The largest of the lanes, in every lane. */
HNR hnr_lf hnr_l_top(hnr_lf top) {
#if HNR_L == 16
    top = hnr_l_max(top, __builtin_shufflevector(top, top, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
    top = hnr_l_max(top, __builtin_shufflevector(top, top, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11));
    top = hnr_l_max(top, __builtin_shufflevector(top, top, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13));
    return hnr_l_max(top, __builtin_shufflevector(top, top, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14));
#elif HNR_L == 8
    top = hnr_l_max(top, __builtin_shufflevector(top, top, 4, 5, 6, 7, 0, 1, 2, 3));
    top = hnr_l_max(top, __builtin_shufflevector(top, top, 2, 3, 0, 1, 6, 7, 4, 5));
    return hnr_l_max(top, __builtin_shufflevector(top, top, 1, 0, 3, 2, 5, 4, 7, 6));
#else
    top = hnr_l_max(top, __builtin_shufflevector(top, top, 2, 3, 0, 1));
    return hnr_l_max(top, __builtin_shufflevector(top, top, 1, 0, 3, 2));
#endif
}

/* --- widening --- */
enum { HNR_ATTEND_F32, HNR_ATTEND_F16, HNR_ATTEND_BF16, HNR_ATTEND_I8 };

/* A vector from element i on, as f32. */
HNR_ALWAYS hnr_lf hnr_attend_get(const void *from, const int type, int64_t i) {
    if (type == HNR_ATTEND_F16) return hnr_l_half((const uint16_t *)from + i);
    if (type == HNR_ATTEND_BF16) return hnr_l_brain((const uint16_t *)from + i);
    if (type == HNR_ATTEND_I8) return hnr_l_signed((const int8_t *)from + i);
    return *(const hnr_lf_any *)((const float *)from + i);
}
HNR_ALWAYS float hnr_attend_get_one(const void *from, const int type, int64_t i) {
    if (type == HNR_ATTEND_F16) return (float)hnr_get_f16(((const hnr_f16 *)from)[i]);
    if (type == HNR_ATTEND_BF16) return (float)hnr_get_bf16(((const hnr_bf16 *)from)[i]);
    return type == HNR_ATTEND_I8 ? (float)((const hnr_i8 *)from)[i] : ((const hnr_f32 *)from)[i];
}
HNR_ALWAYS hnr_a16 hnr_attend_get16(const void *from, const int type, int64_t i) {
    hnr_a16 r;
    HNR_EACH r.p[v] = hnr_attend_get(from, type, i + v * HNR_L);
    return r;
}

/* --- one item --- */
typedef struct hnr_attend {
    const hnr_f32 *q;          /* [n, heads, size] */
    const void *keys, *values; /* [rows / block, kv_heads, size, block]; [rows, kv_heads, size] */
    int type;
    const hnr_f32 *key_scale, *value_scale; /* [rows, kv_heads]; NULL: none */
    const hnr_i64 *table, *sequence, *position;
    hnr_f32 *out;
    int64_t n, heads, kv_heads, size, rows, sequences, blocks, block, window;
    float cap;
    const int64_t *s;
    /* Knobs, none of which changes a bit: up to how many rows keys and values are read as they are, not widened for all
     * rows first; the most rows whose products are made side by side; whether the next block is touched in advance. */
    int64_t few, tile;
    int touch;
} hnr_attend;

/* What an item works on. */
typedef struct hnr_attend_item {
    const hnr_attend *j;
    int64_t kv, group, wide, first, n; /* rows n: tokens from `first` on times group; wide: size in whole vectors */
    float *q, *keys, *values, *scores, *key_scale, *value_scale, *mixed, *top, *sum, *keep;
    /* The block's keys, of type k_as, an element of all of them every k_step from k_at on; its values, of type `as`, a
     * row every v_step elements from v_at on. */
    const void *k, *v;
    int k_as, as;
    int64_t k_at, k_step, v_at, v_step;
    int64_t at, from, until; /* its row in the pool; its keys' positions, as far as there are any */
} hnr_attend_item;

HNR int64_t hnr_attend_wide(int64_t size) { return (size + 15) / 16 * 16; }
/* Floats of scratch. */
HNR int64_t hnr_attend_room(int64_t group, int64_t kv_heads, int64_t size, int64_t block) {
    int64_t rows = HNR_ATTEND_TOKENS * group, wide = hnr_attend_wide(size);
    return kv_heads * (2 * rows * wide + 18 * hnr_attend_wide(rows)) + 2 * (block + 16) * wide +
           (rows + 2) * hnr_attend_wide(block);
}

HNR int64_t hnr_attend_position(const hnr_attend *j, int64_t token) {
    int64_t p = j->position[token];
    if (p >= 0 && p < j->blocks * j->block) return p;
    hnr_fail(j->s);
    return -1;
}

/* Rows r to r + R with C times 16 keys from k on. */
HNR_ALWAYS void hnr_attend_scores(hnr_attend_item *t, int64_t r, int64_t k, const int R, const int C, const int as) {
    hnr_a16 sum[HNR_SCORE_ROWS][HNR_SCORE_KEYS];
    int64_t step = hnr_attend_wide(t->j->block), at = t->k_at + k;
    const float *q = t->q + r * t->wide;
    HNR_UNROLL for (int i = 0; i < R; i++) HNR_UNROLL for (int c = 0; c < C; c++) sum[i][c] = hnr_a16_all(0);
    for (int64_t d = 0; d < t->j->size; d++, at += t->k_step) {
        hnr_a16 x[HNR_SCORE_KEYS];
        HNR_UNROLL for (int c = 0; c < C; c++) x[c] = hnr_attend_get16(t->k, as, at + 16 * c);
        HNR_UNROLL for (int i = 0; i < R; i++) {
            hnr_a16 a = hnr_a16_all(q[i * t->wide + d]);
            HNR_UNROLL for (int c = 0; c < C; c++) sum[i][c] = hnr_a16_madd(a, x[c], sum[i][c]);
        }
    }
    HNR_UNROLL for (int i = 0; i < R; i++) HNR_UNROLL for (int c = 0; c < C; c++)
        hnr_a16_store(t->scores + (r + i) * step + k + 16 * c, sum[i][c]);
}
HNR_ALWAYS void hnr_attend_scores_of(hnr_attend_item *t, int64_t k, const int C, const int as) {
    const int64_t tile = t->j->tile;
    int64_t r = 0;
    for (; HNR_SCORE_ROWS >= 8 && tile >= 8 && r + 8 <= t->n; r += 8) hnr_attend_scores(t, r, k, 8, C, as);
    for (; HNR_SCORE_ROWS >= 4 && tile >= 4 && r + 4 <= t->n; r += 4) hnr_attend_scores(t, r, k, 4, C, as);
    for (; HNR_SCORE_ROWS >= 4 && tile >= 4 && r + 3 <= t->n; r += 3) hnr_attend_scores(t, r, k, 3, C, as);
    for (; tile >= 2 && r + 2 <= t->n; r += 2) hnr_attend_scores(t, r, k, 2, C, as);
    for (; r < t->n; r++) hnr_attend_scores(t, r, k, 1, C, as);
}
HNR_ALWAYS void hnr_attend_products_as(hnr_attend_item *t, const int as) {
    int64_t k = 0, n = t->until - t->from + 1;
    for (; k + 16 * (HNR_SCORE_KEYS - 1) < n; k += 16 * HNR_SCORE_KEYS) hnr_attend_scores_of(t, k, HNR_SCORE_KEYS, as);
    for (; k < n; k += 16) hnr_attend_scores_of(t, k, 1, as);
}
HNR void hnr_attend_products(hnr_attend_item *t) {
    if (t->k_as == HNR_ATTEND_F16)
        hnr_attend_products_as(t, HNR_ATTEND_F16);
    else if (t->k_as == HNR_ATTEND_BF16)
        hnr_attend_products_as(t, HNR_ATTEND_BF16);
    else if (t->k_as == HNR_ATTEND_I8)
        hnr_attend_products_as(t, HNR_ATTEND_I8);
    else
        hnr_attend_products_as(t, HNR_ATTEND_F32);
}

/* Keys that row r does not see. */
HNR_ALWAYS void hnr_attend_hide(const hnr_attend_item *t, int64_t r, float *x) {
    const hnr_attend *j = t->j;
    int64_t step = hnr_attend_wide(j->block), last = hnr_attend_position(j, t->first + r / t->group);
    int64_t low = j->window > 0 ? last - j->window + 1 : 0, seen = last + 1 - t->from; /* keys low - from to seen */
    for (int64_t k = 0; k < low - t->from && k < step; k++) x[k] = -INFINITY;
    for (int64_t k = seen > 0 ? seen < j->block ? seen : j->block : 0; k < step; k++) x[k] = -INFINITY;
}
/* Scores of row r become exponentials. */
HNR void hnr_attend_softmax(hnr_attend_item *t, int64_t r) {
    const hnr_attend *j = t->j;
    int64_t step = hnr_attend_wide(j->block);
    float *x = t->scores + r * step;
    hnr_a16 sum = hnr_a16_all(0);
    hnr_lf was = hnr_l_all(t->top[r]), top = was;
    for (int64_t k = 0; j->key_scale && k < step; k += 16)
        hnr_a16_store(x + k, hnr_a16_mul(hnr_a16_load(x + k), hnr_a16_load(t->key_scale + k)));
    for (int64_t k = 0; j->cap > 0 && k < step; k += 16) hnr_a16_store(x + k, hnr_a16_cap(hnr_a16_load(x + k), j->cap));
    hnr_attend_hide(t, r, x);
    for (int64_t k = 0; k < step; k += 16) {
        hnr_a16 y = hnr_a16_load(x + k);
        HNR_EACH top = hnr_l_max(top, y.p[v]);
    }
    top = hnr_l_top(top);
    t->top[r] = top[0];
    t->keep[r] = 1;
    if (t->top[r] == -INFINITY) { /* no key so far */
        memset(x, 0, (size_t)step * sizeof *x);
        return;
    }
    for (int64_t k = 0; k < step; k += 16) {
        hnr_a16 y = hnr_a16_load(x + k);
        HNR_EACH y.p[v] = hnr_l_exp(y.p[v] - top);
        sum = hnr_a16_add(sum, y);
        if (j->value_scale) y = hnr_a16_mul(y, hnr_a16_load(t->value_scale + k));
        hnr_a16_store(x + k, y);
    }
    if (was[0] != t->top[r]) { /* else the exponential is 1 */
        hnr_lf keep = hnr_l_exp(was - top);
        t->keep[r] = keep[0];
        hnr_a16_store(t->sum + 16 * r, hnr_a16_mul(hnr_a16_load(t->sum + 16 * r), hnr_a16_all(keep[0])));
    }
    hnr_a16_store(t->sum + 16 * r, hnr_a16_add(hnr_a16_load(t->sum + 16 * r), sum));
}

/* R rows from r on and C times 16 columns from d on. */
HNR_ALWAYS void hnr_attend_mix(hnr_attend_item *t, int64_t r, int64_t d, const int R, const int C, const int as) {
    hnr_a16 sum[HNR_ATTEND_ROWS][HNR_ATTEND_WIDE];
    int64_t step = hnr_attend_wide(t->j->block), n = t->until - t->from + 1;
    const float *x = t->scores + r * step;
    float *mixed = t->mixed + r * t->wide + d;
    _Pragma("GCC unroll 4") for (int i = 0; i < R; i++) {
        hnr_a16 keep = hnr_a16_all(t->keep[r + i]);
        _Pragma("GCC unroll 4") for (int c = 0; c < C; c++) sum[i][c] =
            hnr_a16_mul(hnr_a16_load(mixed + i * t->wide + 16 * c), keep);
    }
    for (int64_t k = 0; k < n; k++) {
        hnr_a16 y[HNR_ATTEND_WIDE];
        _Pragma("GCC unroll 4") for (int c = 0; c < C; c++) y[c] =
            hnr_attend_get16(t->v, as, t->v_at + d + k * t->v_step + 16 * c);
        _Pragma("GCC unroll 4") for (int i = 0; i < R; i++) {
            hnr_a16 e = hnr_a16_all(x[i * step + k]);
            _Pragma("GCC unroll 4") for (int c = 0; c < C; c++) sum[i][c] = hnr_a16_madd(e, y[c], sum[i][c]);
        }
    }
    _Pragma("GCC unroll 4") for (int i = 0; i < R; i++) _Pragma("GCC unroll 4") for (int c = 0; c < C; c++)
        hnr_a16_store(mixed + i * t->wide + 16 * c, sum[i][c]);
}
HNR_ALWAYS void hnr_attend_mix_rows(hnr_attend_item *t, int64_t r, int64_t d, const int C, const int as) {
    for (; r + 4 <= t->n; r += 4) hnr_attend_mix(t, r, d, 4, C, as);
    for (; r + 3 <= t->n; r += 3) hnr_attend_mix(t, r, d, 3, C, as);
    for (; r < t->n; r++) hnr_attend_mix(t, r, d, 1, C, as);
}

/* Keys and values of a block as f32 in scratch, where they are not read as they are. */
HNR_ALWAYS void hnr_attend_bring_keys(hnr_attend_item *t, const int type) {
    const hnr_attend *j = t->j;
    const int64_t block = j->block, size = j->size, wide = hnr_attend_wide(block);
    int64_t first = (t->at * j->kv_heads + t->kv * block) * size;
    float *to = t->keys;
    for (int64_t d = 0; d < size; d++, first += block, to += wide) {
        int64_t k = 0;
        for (; k + HNR_L <= block; k += HNR_L) *(hnr_lf_any *)(to + k) = hnr_attend_get(j->keys, type, first + k);
        for (; k < block; k++) to[k] = hnr_attend_get_one(j->keys, type, first + k);
    }
}
HNR_ALWAYS void hnr_attend_bring_values(hnr_attend_item *t, const int type) {
    const hnr_attend *j = t->j;
    const int64_t size = j->size, step = j->kv_heads * size, n = t->until - t->from + 1;
    int64_t from = (t->at * j->kv_heads + t->kv) * size;
    float *to = t->values;
    for (int64_t k = 0; k < n; k++, from += step, to += t->wide) {
        int64_t i = 0;
        for (; i + HNR_L <= size; i += HNR_L) *(hnr_lf_any *)(to + i) = hnr_attend_get(j->values, type, from + i);
        for (; i < size; i++) to[i] = hnr_attend_get_one(j->values, type, from + i);
    }
}
HNR_ALWAYS void hnr_attend_bring_as(hnr_attend_item *t, const int type) {
    if (t->k == t->keys) hnr_attend_bring_keys(t, type);
    if (t->v == t->values) hnr_attend_bring_values(t, type);
}
/* Few rows read keys and values as they are, many share what is widened once. */
HNR void hnr_attend_bring(hnr_attend_item *t) {
    const hnr_attend *j = t->j;
    int as_is = j->type == HNR_ATTEND_F32 || t->n <= j->few;
    for (int64_t k = 0; j->key_scale && t->from + k <= t->until; k++) {
        t->key_scale[k] = j->key_scale[(t->at + k) * j->kv_heads + t->kv];
        t->value_scale[k] = j->value_scale[(t->at + k) * j->kv_heads + t->kv];
    }
    t->k = t->keys, t->k_as = HNR_ATTEND_F32, t->k_step = hnr_attend_wide(j->block), t->k_at = 0;
    t->v = t->values, t->as = HNR_ATTEND_F32, t->v_step = t->wide, t->v_at = 0;
    if (as_is && j->block % 16 == 0) {
        t->k = j->keys, t->k_as = j->type, t->k_step = j->block;
        t->k_at = (t->at * j->kv_heads + t->kv * j->block) * j->size;
    }
    if (as_is && t->wide == j->size) {
        t->v = j->values, t->as = j->type, t->v_step = j->kv_heads * j->size;
        t->v_at = (t->at * j->kv_heads + t->kv) * j->size;
    }
    if (j->type == HNR_ATTEND_F16)
        hnr_attend_bring_as(t, HNR_ATTEND_F16);
    else if (j->type == HNR_ATTEND_BF16)
        hnr_attend_bring_as(t, HNR_ATTEND_BF16);
    else if (j->type == HNR_ATTEND_I8)
        hnr_attend_bring_as(t, HNR_ATTEND_I8);
    else
        hnr_attend_bring_as(t, HNR_ATTEND_F32);
}

HNR_ALWAYS void hnr_attend_mixed_as(hnr_attend_item *t, const int as) {
    int64_t d = 0;
    for (; d + 64 <= t->wide; d += 64) hnr_attend_mix_rows(t, 0, d, 4, as);
    for (; d < t->wide; d += 16) hnr_attend_mix_rows(t, 0, d, 1, as);
}
HNR void hnr_attend_block(hnr_attend_item *t) {
    hnr_attend_bring(t);
    hnr_attend_products(t);
    for (int64_t r = 0; r < t->n; r++) hnr_attend_softmax(t, r);
    if (t->as == HNR_ATTEND_F16)
        hnr_attend_mixed_as(t, HNR_ATTEND_F16);
    else if (t->as == HNR_ATTEND_BF16)
        hnr_attend_mixed_as(t, HNR_ATTEND_BF16);
    else if (t->as == HNR_ATTEND_I8)
        hnr_attend_mixed_as(t, HNR_ATTEND_I8);
    else
        hnr_attend_mixed_as(t, HNR_ATTEND_F32);
}

/* One head of keys of an item: what stays with it from block to block. */
HNR void hnr_attend_head(hnr_attend_item *t, int64_t kv, int64_t first_kv, float *room) {
    int64_t rows = HNR_ATTEND_TOKENS * t->group, few = hnr_attend_wide(rows);
    t->kv = kv;
    t->q = room + (kv - first_kv) * (2 * rows * t->wide + 18 * few);
    t->mixed = t->q + rows * t->wide, t->top = t->mixed + rows * t->wide;
    t->keep = t->top + few, t->sum = t->keep + few;
}

HNR void hnr_attend_begin(hnr_attend_item *t) {
    const hnr_attend *j = t->j;
    for (int64_t r = 0; r < t->n; r++) {
        int64_t token = t->first + r / t->group, head = t->kv * t->group + r % t->group;
        float *q = t->q + r * t->wide;
        memcpy(q, j->q + (token * j->heads + head) * j->size, (size_t)j->size * sizeof *q);
        memset(q + j->size, 0, (size_t)(t->wide - j->size) * sizeof *q);
        memset(t->mixed + r * t->wide, 0, (size_t)t->wide * sizeof *q);
        t->top[r] = -INFINITY;
        hnr_a16_store(t->sum + 16 * r, hnr_a16_all(0));
    }
}

HNR void hnr_attend_end(const hnr_attend_item *t) {
    const hnr_attend *j = t->j;
    for (int64_t r = 0; r < t->n; r++) {
        int64_t token = t->first + r / t->group, head = t->kv * t->group + r % t->group;
        float sum = hnr_a16_sum(hnr_a16_load(t->sum + 16 * r));
        for (int64_t d = 0; d < j->size; d++)
            j->out[(token * j->heads + head) * j->size + d] = sum > 0 ? t->mixed[r * t->wide + d] / sum : 0.0f;
    }
}

HNR_ALWAYS void hnr_attend_touch_bytes(const void *from, int64_t first, int64_t last) {
    for (int64_t b = first; b < last; b += 64) __asm__ __volatile__("" ::"r"(((const char *)from)[b]));
}
/* Reads a block of the pool, of heads kv to end, in its order, a word of each line: heads read it in pieces too short
 * for a processor to see where they lead, and requests in advance (prefetch instructions) were measured to do little.
 */
HNR void hnr_attend_touch(const hnr_attend *j, int64_t at, int64_t kv, int64_t end) {
    const int64_t head_b = j->size * (j->type == HNR_ATTEND_F32 ? 4 : j->type == HNR_ATTEND_I8 ? 1 : 2);
    const int64_t first = at * j->block * j->kv_heads;
    hnr_attend_touch_bytes(j->keys, (first + kv * j->block) * head_b, (first + end * j->block) * head_b);
    for (int64_t row = at * j->block; row < (at + 1) * j->block; row++)
        hnr_attend_touch_bytes(j->values, (row * j->kv_heads + kv) * head_b, (row * j->kv_heads + end) * head_b);
}

/* The item's tokens, all of one sequence, with heads of keys kv to end: block by block, so that the rows of the pool
 * are read in their order. */
HNR void hnr_attend_run(hnr_attend_item *t, int64_t kv, int64_t end, float *room) {
    const hnr_attend *j = t->j;
    int64_t low = INT64_MAX, last = -1, sequence = hnr_index(j->s, j->sequence[t->first], j->sequences);
    for (int64_t token = t->first; token < t->first + t->n / t->group; token++) {
        int64_t p = hnr_attend_position(j, token), from = j->window > 0 && p >= j->window ? p - j->window + 1 : 0;
        low = from < low ? from : low;
        last = p > last ? p : last;
    }
    for (int64_t h = kv; h < end; h++) {
        hnr_attend_head(t, h, kv, room);
        hnr_attend_begin(t);
    }
    for (int64_t b = low / j->block; sequence >= 0 && b * j->block <= last; b++) {
        int64_t at = hnr_index(j->s, j->table[sequence * j->blocks + b], j->rows / j->block);
        if (at < 0) break;
        t->at = at * j->block, t->from = b * j->block;
        t->until = t->from + j->block - 1 < last ? t->from + j->block - 1 : last;
        int64_t next = (b + 1) * j->block <= last ? j->table[sequence * j->blocks + b + 1] : -1;
        if (j->touch && next >= 0 && next < j->rows / j->block) hnr_attend_touch(j, next, kv, end);
        for (int64_t h = kv; h < end; h++) {
            hnr_attend_head(t, h, kv, room);
            hnr_attend_block(t);
        }
    }
    for (int64_t h = kv; h < end; h++) {
        hnr_attend_head(t, h, kv, room);
        hnr_attend_end(t);
    }
}

/* Items begin .. end of ceil(n / HNR_ATTEND_TOKENS) * kv_heads. */
HNR void hnr_attend_items(const hnr_attend *j, int64_t begin, int64_t end, float *scratch) {
    hnr_attend_item t = {.j = j, .group = j->heads / j->kv_heads, .wide = hnr_attend_wide(j->size)};
    int64_t rows = HNR_ATTEND_TOKENS * t.group;
    const int64_t step = hnr_attend_wide(j->block);
    float *room = scratch + 2 * (j->block + 16) * t.wide + (rows + 2) * step;
    t.keys = scratch, t.values = t.keys + (j->block + 16) * t.wide, t.scores = t.values + (j->block + 16) * t.wide;
    t.key_scale = t.scores + rows * step, t.value_scale = t.key_scale + step;
    memset(t.key_scale, 0, 2 * (size_t)step * sizeof *t.keys);
    memset(t.keys, 0, (size_t)(2 * (j->block + 16) * t.wide) * sizeof *t.keys);
    for (int64_t i = begin; i < end;) {
        int64_t from = i / j->kv_heads * HNR_ATTEND_TOKENS, until = from + HNR_ATTEND_TOKENS, kv = i % j->kv_heads;
        int64_t heads = end - i < j->kv_heads - kv ? end - i : j->kv_heads - kv;
        if (until > j->n) until = j->n;
        while (from < until) {
            int64_t to = from + 1;
            while (to < until && j->sequence[to] == j->sequence[from]) to++;
            t.first = from, t.n = (to - from) * t.group;
            hnr_attend_run(&t, kv, kv + heads, room);
            from = to;
        }
        i += heads;
    }
}

#endif
