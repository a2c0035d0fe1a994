/* rt/attend.h — attention over keys and values that lie in blocks of a pool. Needs base.h.
 *
 * A work item is a few tokens and one head of keys; the heads of queries that share it are rows beside each other. A
 * block of keys and values is widened to f32 in scratch once per item, unless it is f32 already. The softmax is the
 * online one (Milakov & Gimelshein 2018), a step per block.
 *
 * The order of every sum follows from the token's position alone, never from what is computed beside it: a product with
 * a key is 16 sums of every 16th element, folded by halves; the exponentials of a block are 16 sums folded so; values
 * are added key by key. Blocks begin at multiples of their length. Keys that a row does not see have the exponential 0,
 * and adding 0 changes nothing. So a token's result has the same bits alone, in a prompt and among others.
 */
#ifndef HNR_ATTEND_H
#define HNR_ATTEND_H

#if defined(__AVX512F__)
#define HNR_AW 16
#elif defined(__AVX__)
#define HNR_AW 8
#else
#define HNR_AW 4
#endif
#define HNR_AN (16 / HNR_AW)
enum { HNR_ATTEND_TOKENS = 8, HNR_ATTEND_ROWS = 4, HNR_ATTEND_WIDE = 4, HNR_ATTEND_FEW = 8 };
typedef float __attribute__((vector_size(4 * HNR_AW), aligned(4), may_alias)) hnr_aw;
typedef int32_t __attribute__((vector_size(4 * HNR_AW), aligned(4), may_alias)) hnr_awi;
typedef uint16_t __attribute__((vector_size(2 * HNR_AW), aligned(1), may_alias)) hnr_awh;
typedef int8_t __attribute__((vector_size(HNR_AW), aligned(1), may_alias)) hnr_awb;
/* 16 lanes on every machine. */
typedef struct hnr_a16 {
    hnr_aw p[HNR_AN];
} hnr_a16;
#define HNR_EACH _Pragma("GCC unroll 4") for (int v = 0; v < HNR_AN; v++)

HNR hnr_aw hnr_aw_all(float x) { return x - (hnr_aw){0}; }
HNR hnr_aw hnr_aw_madd(hnr_aw a, hnr_aw b, hnr_aw c) {
#if defined(__AVX512F__)
    return __builtin_ia32_vfmaddps512_mask(a, b, c, -1, 4);
#elif defined(__FMA__)
    return __builtin_ia32_vfmaddps256(a, b, c);
#elif defined(__aarch64__) && !defined(__clang__)
    return __builtin_aarch64_fmav4sf(a, b, c);
#else
    return a * b + c;
#endif
}
HNR hnr_aw hnr_aw_choose(hnr_awi m, hnr_aw a, hnr_aw b) { return (hnr_aw)((m & (hnr_awi)a) | (~m & (hnr_awi)b)); }

HNR hnr_a16 hnr_a16_all(float x) {
    hnr_a16 r;
    HNR_EACH r.p[v] = hnr_aw_all(x);
    return r;
}
HNR hnr_a16 hnr_a16_load(const float *x) {
    hnr_a16 r;
    HNR_EACH r.p[v] = *(const hnr_aw *)(x + v * HNR_AW);
    return r;
}
HNR void hnr_a16_store(float *x, hnr_a16 a) { HNR_EACH *(hnr_aw *)(x + v * HNR_AW) = a.p[v]; }
HNR hnr_a16 hnr_a16_add(hnr_a16 a, hnr_a16 b) {
    HNR_EACH a.p[v] = a.p[v] + b.p[v];
    return a;
}
HNR hnr_a16 hnr_a16_mul(hnr_a16 a, hnr_a16 b) {
    HNR_EACH a.p[v] = a.p[v] * b.p[v];
    return a;
}
HNR hnr_a16 hnr_a16_madd(hnr_a16 a, hnr_a16 b, hnr_a16 c) {
    HNR_EACH c.p[v] = hnr_aw_madd(a.p[v], b.p[v], c.p[v]);
    return c;
}

/* exp(x) for x <= 0, and 0 below -87: as rt/math_exp.h has it. */
HNR hnr_aw hnr_aw_exp(hnr_aw x) {
    hnr_aw low = hnr_aw_all(-87.0f), y = hnr_aw_choose(x < low, low, x);
    hnr_aw t = hnr_aw_madd(y, hnr_aw_all(0x1.715476p0f), hnr_aw_all(0x1.8p23f)), n = t - 0x1.8p23f;
    hnr_aw r = hnr_aw_madd(n, hnr_aw_all(-0x1.62e4p-1f), y);
    r = hnr_aw_madd(n, hnr_aw_all(-0x1.7f7d1cp-20f), r);
    hnr_aw q = hnr_aw_madd(hnr_aw_all(0x1.6ab89cp-10f), r, hnr_aw_all(0x1.123d7p-7f));
    q = hnr_aw_madd(q, r, hnr_aw_all(0x1.55585ap-5f));
    q = hnr_aw_madd(q, r, hnr_aw_all(0x1.55548cp-3f));
    q = hnr_aw_madd(q, r, hnr_aw_all(0x1.fffffcp-2f));
    q = hnr_aw_madd(hnr_aw_madd(q, r, hnr_aw_all(1.0f)), r, hnr_aw_all(1.0f));
    q = q * (hnr_aw)(((hnr_awi)t << 23) + (127 << 23));
    return hnr_aw_choose(x < low, hnr_aw_all(0.0f), q);
}
HNR hnr_a16 hnr_a16_exp(hnr_a16 a) {
    HNR_EACH a.p[v] = hnr_aw_exp(a.p[v]);
    return a;
}
/* cap * tanh(x / cap) */
HNR hnr_a16 hnr_a16_cap(hnr_a16 a, float cap) {
    HNR_EACH {
        hnr_aw y = a.p[v] / cap, size = (hnr_aw)((hnr_awi)y & 0x7fffffff), e = hnr_aw_exp(size * -2.0f);
        hnr_aw t = (1.0f - e) / (1.0f + e) * cap;
        a.p[v] = (hnr_aw)((hnr_awi)t | ((hnr_awi)y & (-0x7fffffff - 1)));
    }
    return a;
}

/* The sum of 16 lanes by halves. */
HNR float hnr_a16_sum(hnr_a16 a) {
    float x[16];
    hnr_a16_store(x, a);
    for (int half = 8; half; half /= 2)
        for (int l = 0; l < half; l++) x[l] = x[l] + x[l + half];
    return x[0];
}
HNR float hnr_a16_top(hnr_a16 a, float top) {
    float x[16];
    hnr_a16_store(x, a);
    for (int l = 0; l < 16; l++) top = x[l] > top ? x[l] : top;
    return top;
}

/* Sixteen such sums side by side. */
#if defined(__AVX512F__)
HNR hnr_aw hnr_fold8(hnr_aw a, hnr_aw b) {
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23) +
           __builtin_shufflevector(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
}
HNR hnr_aw hnr_fold4(hnr_aw a, hnr_aw b) {
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27) +
           __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
}
HNR hnr_aw hnr_fold2(hnr_aw a, hnr_aw b) {
    return __builtin_shufflevector(a, b, 0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 21, 24, 25, 28, 29) +
           __builtin_shufflevector(a, b, 2, 3, 6, 7, 10, 11, 14, 15, 18, 19, 22, 23, 26, 27, 30, 31);
}
HNR hnr_aw hnr_fold1(hnr_aw a, hnr_aw b) {
    return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30) +
           __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
}
HNR hnr_aw hnr_fold_four(const hnr_a16 *x) {
    return hnr_fold4(hnr_fold8(x[0].p[0], x[1].p[0]), hnr_fold8(x[2].p[0], x[3].p[0]));
}
HNR hnr_a16 hnr_a16_sums(const hnr_a16 x[16]) {
    hnr_aw a = hnr_fold2(hnr_fold_four(x), hnr_fold_four(x + 4));
    return (hnr_a16){{hnr_fold1(a, hnr_fold2(hnr_fold_four(x + 8), hnr_fold_four(x + 12)))}};
}
#else
HNR hnr_a16 hnr_a16_sums(const hnr_a16 x[16]) {
    float sum[16];
    for (int k = 0; k < 16; k++) sum[k] = hnr_a16_sum(x[k]);
    return hnr_a16_load(sum);
}
#endif

/* --- widening --- */
enum { HNR_ATTEND_F32, HNR_ATTEND_F16, HNR_ATTEND_BF16, HNR_ATTEND_I8 };

HNR hnr_aw hnr_aw_f16(const uint16_t *x) {
    hnr_awh h = *(const hnr_awh *)x;
#if defined(__AVX512F__)
    typedef int16_t __attribute__((vector_size(32))) words;
    return __builtin_ia32_vcvtph2ps512_mask((words)h, (hnr_aw){0}, -1, 4);
#elif defined(__F16C__)
    typedef int16_t __attribute__((vector_size(16))) words;
    return __builtin_ia32_vcvtph2ps256((words)h);
#else
    typedef uint32_t __attribute__((vector_size(4 * HNR_AW))) bits;
    bits b = __builtin_convertvector(h, bits), a = (b & 0x7fff) << 13, e = a & 0x0f800000, n = a + 0x38000000;
    bits top = (bits)(e == 0x0f800000), tiny = (bits)(e == 0);
    bits t = (bits)((hnr_aw)(n + 0x00800000) - 0x1p-14f);
    n += top & 0x38000000;
    return (hnr_aw)((tiny & t) | (~tiny & n) | (b & 0x8000) << 16);
#endif
}
HNR hnr_aw hnr_aw_bf16(const uint16_t *x) {
    return (hnr_aw)(__builtin_convertvector(*(const hnr_awh *)x, hnr_awi) << 16);
}
HNR hnr_aw hnr_aw_i8(const int8_t *x) {
    return __builtin_convertvector(__builtin_convertvector(*(const hnr_awb *)x, hnr_awi), hnr_aw);
}

/* 16 elements from element `at` on, as f32. */
__attribute__((always_inline)) HNR hnr_a16 hnr_a16_load_as(const void *from, const int type, int64_t at) {
    hnr_a16 r;
    HNR_EACH {
        int64_t i = at + v * HNR_AW;
        if (type == HNR_ATTEND_F16)
            r.p[v] = hnr_aw_f16((const uint16_t *)from + i);
        else if (type == HNR_ATTEND_BF16)
            r.p[v] = hnr_aw_bf16((const uint16_t *)from + i);
        else if (type == HNR_ATTEND_I8)
            r.p[v] = hnr_aw_i8((const int8_t *)from + i);
        else
            r.p[v] = *(const hnr_aw *)((const float *)from + i);
    }
    return r;
}

/* n elements from element `at` on, as f32; the last ones singly. */
__attribute__((always_inline)) HNR void hnr_attend_widen(const void *from, const int type, int64_t at, int64_t n,
                                                         float *to) {
    int64_t i = 0;
    if (type == HNR_ATTEND_F16)
        for (; i + HNR_AW <= n; i += HNR_AW) *(hnr_aw *)(to + i) = hnr_aw_f16((const uint16_t *)from + at + i);
    else if (type == HNR_ATTEND_BF16)
        for (; i + HNR_AW <= n; i += HNR_AW) *(hnr_aw *)(to + i) = hnr_aw_bf16((const uint16_t *)from + at + i);
    else if (type == HNR_ATTEND_I8)
        for (; i + HNR_AW <= n; i += HNR_AW) *(hnr_aw *)(to + i) = hnr_aw_i8((const int8_t *)from + at + i);
    else
        for (; i + HNR_AW <= n; i += HNR_AW) *(hnr_aw *)(to + i) = *(const hnr_aw *)((const float *)from + at + i);
    for (; i < n; i++)
        to[i] = type == HNR_ATTEND_F16    ? (float)hnr_get_f16(((const hnr_f16 *)from)[at + i])
                : type == HNR_ATTEND_BF16 ? (float)hnr_get_bf16(((const hnr_bf16 *)from)[at + i])
                : type == HNR_ATTEND_I8   ? (float)((const hnr_i8 *)from)[at + i]
                                          : ((const hnr_f32 *)from)[at + i];
}

/* --- one item --- */
typedef struct hnr_attend {
    const hnr_f32 *q;          /* [n, heads, size] */
    const void *keys, *values; /* [rows, kv_heads, size] */
    int type;
    const hnr_f32 *key_scale, *value_scale; /* [rows, kv_heads]; NULL: none */
    const hnr_i64 *table, *sequence, *position;
    hnr_f32 *out;
    int64_t n, heads, kv_heads, size, rows, sequences, blocks, block, window;
    float cap;
    const int64_t *s;
} hnr_attend;

/* What an item works on. */
typedef struct hnr_attend_item {
    const hnr_attend *j;
    int64_t kv, group, wide, first, n; /* rows n: tokens from `first` on times group; wide: size in whole vectors */
    float *q, *keys, *values, *scores, *mixed, *top, *sum, *keep;
    const void *k, *v; /* the block's keys and values, of type `as` from element k_at on, a row every k_step elements */
    int as;
    int64_t k_at;
    int64_t k_step, at, from, until; /* its row in the pool; its keys' positions, as far as there are any */
} hnr_attend_item;

HNR int64_t hnr_attend_wide(int64_t size) { return (size + 15) / 16 * 16; }
/* Floats of scratch. */
HNR int64_t hnr_attend_room(int64_t group, int64_t kv_heads, int64_t size, int64_t block) {
    int64_t rows = HNR_ATTEND_TOKENS * group, wide = hnr_attend_wide(size);
    return kv_heads * (2 * rows * wide + 3 * hnr_attend_wide(rows)) + 2 * (block + 16) * wide +
           rows * hnr_attend_wide(block);
}

HNR int64_t hnr_attend_position(const hnr_attend *j, int64_t token) {
    int64_t p = j->position[token];
    if (p >= 0 && p < j->blocks * j->block) return p;
    hnr_fail(j->s);
    return -1;
}

/* Rows r to r + R with 16 keys from k on. */
__attribute__((always_inline)) HNR void hnr_attend_scores(hnr_attend_item *t, int64_t r, int64_t k, const int R,
                                                          const int as) {
    int64_t step = hnr_attend_wide(t->j->block);
    for (int i = 0; i < R; i++) {
        hnr_a16 sum[16];
        const float *q = t->q + (r + i) * t->wide;
        int64_t key = t->k_at + k * t->k_step;
        for (int x = 0; x < 16; x++) sum[x] = hnr_a16_all(0);
        for (int64_t d = 0; d < t->wide; d += 16) {
            hnr_a16 a = hnr_a16_load(q + d);
            _Pragma("GCC unroll 16") for (int x = 0; x < 16; x++) sum[x] =
                hnr_a16_madd(a, hnr_a16_load_as(t->k, as, key + x * t->k_step + d), sum[x]);
        }
        hnr_a16_store(t->scores + (r + i) * step + k, hnr_a16_sums(sum));
    }
}

/* Scores of row r become exponentials. */
HNR void hnr_attend_softmax(hnr_attend_item *t, int64_t r) {
    const hnr_attend *j = t->j;
    int64_t step = hnr_attend_wide(j->block), last = hnr_attend_position(j, t->first + r / t->group);
    int64_t low = j->window > 0 ? last - j->window + 1 : 0;
    float *x = t->scores + r * step, top = t->top[r];
    hnr_a16 most = hnr_a16_all(-INFINITY), sum = hnr_a16_all(0);
    for (int64_t k = 0; j->key_scale && t->from + k <= t->until; k++)
        x[k] *= j->key_scale[(t->at + k) * j->kv_heads + t->kv];
    for (int64_t k = 0; j->cap > 0 && k < step; k += 16) hnr_a16_store(x + k, hnr_a16_cap(hnr_a16_load(x + k), j->cap));
    int64_t seen = last + 1 - t->from < j->block ? last + 1 - t->from : j->block; /* keys low - from … seen - 1 */
    for (int64_t k = 0; k < low - t->from && k < step; k++) x[k] = -INFINITY;
    for (int64_t k = seen > 0 ? seen : 0; k < step; k++) x[k] = -INFINITY;
    for (int64_t k = 0; k < step; k += 16) {
        hnr_a16 y = hnr_a16_load(x + k);
        HNR_EACH most.p[v] = hnr_aw_choose(most.p[v] < y.p[v], y.p[v], most.p[v]);
    }
    top = hnr_a16_top(most, top);
    if (top == -INFINITY) { /* no key so far */
        memset(x, 0, (size_t)step * sizeof *x);
        t->keep[r] = 1;
        return;
    }
    for (int64_t k = 0; k < step; k += 16) {
        hnr_a16 y = hnr_a16_load(x + k), all = hnr_a16_all(top);
        HNR_EACH y.p[v] = y.p[v] - all.p[v];
        y = hnr_a16_exp(y);
        hnr_a16_store(x + k, y);
        sum = hnr_a16_add(sum, y);
    }
    float old[16] = {t->top[r] - top};
    hnr_a16_store(old, hnr_a16_exp(hnr_a16_load(old)));
    t->keep[r] = old[0];
    t->sum[r] = t->sum[r] * old[0];
    t->sum[r] = t->sum[r] + hnr_a16_sum(sum);
    t->top[r] = top;
    for (int64_t k = 0; j->value_scale && t->from + k <= t->until; k++)
        x[k] *= j->value_scale[(t->at + k) * j->kv_heads + t->kv];
}

/* R rows from r on and C times 16 columns from d on. */
__attribute__((always_inline)) HNR void hnr_attend_mix(hnr_attend_item *t, int64_t r, int64_t d, const int R,
                                                       const int C, const int as) {
    hnr_a16 sum[HNR_ATTEND_ROWS][HNR_ATTEND_WIDE];
    int64_t step = hnr_attend_wide(t->j->block), n = t->until - t->from + 1;
    const float *x = t->scores + r * step;
    const int64_t v_at = t->k_at + d;
    float *mixed = t->mixed + r * t->wide + d;
    _Pragma("GCC unroll 4") for (int i = 0; i < R; i++) {
        hnr_a16 keep = hnr_a16_all(t->keep[r + i]);
        _Pragma("GCC unroll 4") for (int c = 0; c < C; c++) sum[i][c] =
            hnr_a16_mul(hnr_a16_load(mixed + i * t->wide + 16 * c), keep);
    }
    for (int64_t k = 0; k < n; k++) {
        hnr_a16 y[HNR_ATTEND_WIDE];
        _Pragma("GCC unroll 4") for (int c = 0; c < C; c++) y[c] =
            hnr_a16_load_as(t->v, as, v_at + k * t->k_step + 16 * c);
        _Pragma("GCC unroll 4") for (int i = 0; i < R; i++) {
            hnr_a16 e = hnr_a16_all(x[i * step + k]);
            _Pragma("GCC unroll 4") for (int c = 0; c < C; c++) sum[i][c] = hnr_a16_madd(e, y[c], sum[i][c]);
        }
    }
    _Pragma("GCC unroll 4") for (int i = 0; i < R; i++) _Pragma("GCC unroll 4") for (int c = 0; c < C; c++)
        hnr_a16_store(mixed + i * t->wide + 16 * c, sum[i][c]);
}
__attribute__((always_inline)) HNR void hnr_attend_mix_rows(hnr_attend_item *t, int64_t r, int64_t d, const int C,
                                                            const int as) {
    for (; r + 4 <= t->n; r += 4) hnr_attend_mix(t, r, d, 4, C, as);
    for (; r + 3 <= t->n; r += 3) hnr_attend_mix(t, r, d, 3, C, as);
    for (; r < t->n; r++) hnr_attend_mix(t, r, d, 1, C, as);
}

/* The keys and values of a block as rows of f32. */
__attribute__((always_inline)) HNR void hnr_attend_bring_as(hnr_attend_item *t, const int type) {
    const hnr_attend *j = t->j;
    int64_t step = j->kv_heads * j->size, first = (t->at * j->kv_heads + t->kv) * j->size;
    for (int64_t k = 0; t->from + k <= t->until; k++) {
        hnr_attend_widen(j->keys, type, first + k * step, j->size, t->keys + k * t->wide);
        hnr_attend_widen(j->values, type, first + k * step, j->size, t->values + k * t->wide);
    }
}
/* Few rows read the pool as it is; many share what is widened once. */
HNR void hnr_attend_bring(hnr_attend_item *t) {
    const hnr_attend *j = t->j;
    int whole = t->wide == j->size && j->block % 16 == 0;
    if (whole && (j->type == HNR_ATTEND_F32 || t->n <= HNR_ATTEND_FEW)) {
        t->k = j->keys, t->v = j->values, t->as = j->type;
        t->k_step = j->kv_heads * j->size, t->k_at = (t->at * j->kv_heads + t->kv) * j->size;
        return;
    }
    t->k = t->keys, t->v = t->values, t->as = HNR_ATTEND_F32, t->k_step = t->wide, t->k_at = 0;
    if (j->type == HNR_ATTEND_F16)
        hnr_attend_bring_as(t, HNR_ATTEND_F16);
    else if (j->type == HNR_ATTEND_BF16)
        hnr_attend_bring_as(t, HNR_ATTEND_BF16);
    else if (j->type == HNR_ATTEND_I8)
        hnr_attend_bring_as(t, HNR_ATTEND_I8);
    else
        hnr_attend_bring_as(t, HNR_ATTEND_F32);
}

__attribute__((always_inline)) HNR void hnr_attend_block_as(hnr_attend_item *t, const int as) {
    for (int64_t r = 0; r < t->n; r++)
        for (int64_t k = 0; t->from + k <= t->until; k += 16) hnr_attend_scores(t, r, k, 1, as);
    for (int64_t r = 0; r < t->n; r++) hnr_attend_softmax(t, r);
    int64_t d = 0;
    for (; d + 64 <= t->wide; d += 64) hnr_attend_mix_rows(t, 0, d, 4, as);
    for (; d < t->wide; d += 16) hnr_attend_mix_rows(t, 0, d, 1, as);
}
HNR void hnr_attend_block(hnr_attend_item *t) {
    hnr_attend_bring(t);
    if (t->as == HNR_ATTEND_F16)
        hnr_attend_block_as(t, HNR_ATTEND_F16);
    else if (t->as == HNR_ATTEND_BF16)
        hnr_attend_block_as(t, HNR_ATTEND_BF16);
    else if (t->as == HNR_ATTEND_I8)
        hnr_attend_block_as(t, HNR_ATTEND_I8);
    else
        hnr_attend_block_as(t, HNR_ATTEND_F32);
}

/* One head of keys of an item: what stays with it from block to block. */
HNR void hnr_attend_head(hnr_attend_item *t, int64_t kv, int64_t first_kv, float *room) {
    int64_t rows = HNR_ATTEND_TOKENS * t->group, few = hnr_attend_wide(rows);
    t->kv = kv;
    t->q = room + (kv - first_kv) * (2 * rows * t->wide + 3 * few);
    t->mixed = t->q + rows * t->wide, t->top = t->mixed + rows * t->wide;
    t->sum = t->top + few, t->keep = t->sum + few;
}

HNR void hnr_attend_begin(hnr_attend_item *t) {
    const hnr_attend *j = t->j;
    for (int64_t r = 0; r < t->n; r++) {
        int64_t token = t->first + r / t->group, head = t->kv * t->group + r % t->group;
        float *q = t->q + r * t->wide;
        memcpy(q, j->q + (token * j->heads + head) * j->size, (size_t)j->size * sizeof *q);
        memset(q + j->size, 0, (size_t)(t->wide - j->size) * sizeof *q);
        memset(t->mixed + r * t->wide, 0, (size_t)t->wide * sizeof *q);
        t->top[r] = -INFINITY, t->sum[r] = 0;
    }
}

HNR void hnr_attend_end(const hnr_attend_item *t) {
    const hnr_attend *j = t->j;
    for (int64_t r = 0; r < t->n; r++) {
        int64_t token = t->first + r / t->group, head = t->kv * t->group + r % t->group;
        for (int64_t d = 0; d < j->size; d++)
            j->out[(token * j->heads + head) * j->size + d] =
                t->sum[r] > 0 ? t->mixed[r * t->wide + d] / t->sum[r] : 0.0f;
    }
}

/* Asks for the keys and values of a block of these heads. */
HNR void hnr_attend_ask(const hnr_attend *j, int64_t block, int64_t kv, int64_t end) {
    const int64_t size_b = j->size * (j->type == HNR_ATTEND_F32 ? 4 : j->type == HNR_ATTEND_I8 ? 1 : 2);
    for (int64_t k = block * j->block; k < (block + 1) * j->block; k++)
        for (int64_t b = (k * j->kv_heads + kv) * size_b, last = b + (end - kv) * size_b; b < last; b += 64) {
            __builtin_prefetch((const char *)j->keys + b);
            __builtin_prefetch((const char *)j->values + b);
        }
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
        if ((b + 1) * j->block <= last)
            hnr_attend_ask(j, hnr_index(j->s, j->table[sequence * j->blocks + b + 1], j->rows / j->block), kv, end);
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
    float *room = scratch + 2 * (j->block + 16) * t.wide + rows * hnr_attend_wide(j->block);
    t.keys = scratch, t.values = t.keys + (j->block + 16) * t.wide, t.scores = t.values + (j->block + 16) * t.wide;
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
