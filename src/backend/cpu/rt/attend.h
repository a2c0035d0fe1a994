/* rt/attend.h — attention over keys and values that lie in blocks of a pool. Needs base.h, convert.h and lanes.h.
 *
 * A work item is a few tokens and one head of keys; the heads of queries that share it are rows beside each other. The
 * keys of a block lie transposed in the pool, [kv heads, size, block], so that a lane is a key and no sum crosses
 * lanes; values lie as rows. The softmax is the online one (Milakov & Gimelshein 2018), a step per span: the blocks of
 * about 128 keys.
 *
 * The order of every sum follows from the token's position alone, never from what is computed beside it: a product with
 * a key is added up element by element; exponentials are 16 sums of every 16th, folded by
 * halves at the end; values are added key by key. Spans begin at multiples of their length. Keys that a row does not
 * see have the exponential 0, and adding 0 changes nothing. So a token's result has the same bits alone, in a prompt
 * and among others.
 */
#ifndef HNR_ATTEND_H
#define HNR_ATTEND_H

#define HNR_AN (16 / HNR_L)
/* Tokens of an item; keys of a span, and its most blocks. */
enum { HNR_ATTEND_TOKENS = 8, HNR_ATTEND_KEYS = 128, HNR_ATTEND_SPAN = HNR_ATTEND_KEYS / 16 };
/* Rows and vectors of keys (score), or rows and vectors of columns of values (mix; few rows, wide), that are summed up
 * side by side: as many as there are registers for. */
#if HNR_L == 16
enum { HNR_SCORE_ROWS = 8, HNR_SCORE_KEYS = 2, HNR_MIX_ROWS = 8, HNR_MIX_WIDE = 2, HNR_MIX_FEW_WIDE = 4 };
#elif HNR_L == 8
enum { HNR_SCORE_ROWS = 4, HNR_SCORE_KEYS = 1, HNR_MIX_ROWS = 4, HNR_MIX_WIDE = 1, HNR_MIX_FEW_WIDE = 1 };
#elif defined(__aarch64__)
enum { HNR_SCORE_ROWS = 4, HNR_SCORE_KEYS = 1, HNR_MIX_ROWS = 4, HNR_MIX_WIDE = 1, HNR_MIX_FEW_WIDE = 1 };
#else
enum { HNR_SCORE_ROWS = 2, HNR_SCORE_KEYS = 1, HNR_MIX_ROWS = 2, HNR_MIX_WIDE = 1, HNR_MIX_FEW_WIDE = 1 };
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
    hnr_lf low = hnr_l_all(-87.0f), y = x;
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
HNR int64_t hnr_attend_type_b(const int type) { return type == HNR_ATTEND_F32 ? 4 : type == HNR_ATTEND_I8 ? 1 : 2; }

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
/* Asks for the line of element i. */
HNR_ALWAYS void hnr_attend_ask_one(const void *from, const int type, int64_t i) {
    __builtin_prefetch((const char *)from + i * hnr_attend_type_b(type), 0, 2);
}
HNR_ALWAYS hnr_a16 hnr_attend_get16(const void *from, const int type, int64_t i) {
    hnr_a16 r;
    HNR_EACH r.p[v] = hnr_attend_get(from, type, i + v * HNR_L);
    return r;
}

/* --- one item --- */
typedef struct hnr_attend {
    const hnr_f32 *q;                       /* [n, heads, size] */
    const void *keys, *values;              /* [rows / block, kv_heads, size, block]; [rows, kv_heads, size] */
    const hnr_f32 *key_scale, *value_scale; /* [rows, kv_heads]; NULL: none */
    const hnr_i64 *table, *sequence, *position;
    hnr_f32 *out;
    int64_t n, heads, kv_heads, size, rows, sequences, blocks, block, window;
    float cap;
    const int64_t *s;
    /* Knobs, none of which changes a bit: up to how many rows keys and values are read as they are, not widened for all
     * rows first; the most rows whose products are made side by side; what is done for blocks ahead: nothing (0), a
     * word of each line is read (1), lines are asked for by prefetch (2). */
    int64_t few, tile;
    int touch;
} hnr_attend;

/* What an item works on. */
typedef struct hnr_attend_item {
    const hnr_attend *j;
    int64_t kv, group, wide, first, n; /* rows n: tokens from `first` on times group; wide: size in whole vectors */
    int64_t rows;                      /* there is room for */
    float *q, *keys, *values, *scores, *key_scale, *value_scale, *mixed, *top, *sum, *keep;
    /* The block's keys, an element of all of them every k_step from k_at on; its values, a row every v_step elements
     * from v_at on. */
    const void *k, *v;
    int64_t k_at, k_step, v_at, v_step;
    int64_t at, from, until; /* its row in the pool; its keys' positions, as far as there are any */
    /* The span: how many blocks it may have (most) and has, their rows in the pool, the position of its first key; a
     * row of scores has `step` floats a block, `stride` in all; where the block's begin. */
    int64_t most, blocks, ats[HNR_ATTEND_SPAN], span_from, step, stride, column;
    int64_t ahead, next[HNR_ATTEND_SPAN]; /* the next span's blocks */
    int64_t ahead_by; /* how many elements behind the block's keys, and values, those of the next span's lie */
} hnr_attend_item;

HNR int64_t hnr_attend_wide(int64_t size) { return (size + 15) / 16 * 16; }
/* Blocks of a span. */
HNR int64_t hnr_attend_span(int64_t block) {
    int64_t n = HNR_ATTEND_KEYS / hnr_attend_wide(block);
    return n < 1 ? 1 : n;
}
/* Items of one head of keys that are worked on as one where a launch has several in a row: up to 32 tokens or 64 rows,
 * that share what is widened. */
HNR int64_t hnr_attend_share(int64_t group) { return group > 4 ? 1 : group > 2 ? 2 : 4; }
/* Floats of scratch. */
HNR int64_t hnr_attend_room(int64_t group, int64_t kv_heads, int64_t size, int64_t block) {
    int64_t rows = HNR_ATTEND_TOKENS * group * hnr_attend_share(group), wide = hnr_attend_wide(size);
    return kv_heads * (2 * rows * wide + 18 * hnr_attend_wide(rows)) + 2 * (block + 16) * wide +
           (rows + 2) * hnr_attend_wide(block) * hnr_attend_span(block);
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
    int64_t at = t->k_at + k;
    const float *q = t->q + r * t->wide;
    float *to = t->scores + r * t->stride + t->column + k;
    HNR_UNROLL for (int i = 0; i < R; i++) HNR_UNROLL for (int c = 0; c < C; c++) sum[i][c] = hnr_a16_all(0);
    for (int64_t d = 0; d < t->j->size; d++, at += t->k_step) {
        hnr_a16 x[HNR_SCORE_KEYS];
        if (as != HNR_ATTEND_F32) hnr_attend_ask_one(t->k, as, at + t->ahead_by);
        HNR_UNROLL for (int c = 0; c < C; c++) x[c] = hnr_attend_get16(t->k, as, at + 16 * c);
        HNR_UNROLL for (int i = 0; i < R; i++) {
            hnr_a16 a = hnr_a16_all(q[i * t->wide + d]);
            HNR_UNROLL for (int c = 0; c < C; c++) sum[i][c] = hnr_a16_madd(a, x[c], sum[i][c]);
        }
    }
    HNR_UNROLL for (int i = 0; i < R; i++) HNR_UNROLL for (int c = 0; c < C; c++)
        hnr_a16_store(to + i * t->stride + 16 * c, sum[i][c]);
}

/* DO(rows) for rows r to n, at most `tile` and `most` at once. */
#define HNR_ATTEND_ROWS(most, tile, r, n, DO)                                                                          \
    do {                                                                                                               \
        for (; (most) >= 8 && (tile) >= 8 && (r) + 8 <= (n); (r) += 8) DO(8);                                          \
        for (; (most) >= 8 && (tile) >= 8 && (r) + 7 <= (n); (r) += 7) DO(7);                                          \
        for (; (most) >= 8 && (tile) >= 8 && (r) + 6 <= (n); (r) += 6) DO(6);                                          \
        for (; (most) >= 8 && (tile) >= 8 && (r) + 5 <= (n); (r) += 5) DO(5);                                          \
        for (; (most) >= 4 && (tile) >= 4 && (r) + 4 <= (n); (r) += 4) DO(4);                                          \
        for (; (most) >= 4 && (tile) >= 4 && (r) + 3 <= (n); (r) += 3) DO(3);                                          \
        for (; (tile) >= 2 && (r) + 2 <= (n); (r) += 2) DO(2);                                                         \
        for (; (r) < (n); (r)++) DO(1);                                                                                \
    } while (0)
HNR_ALWAYS void hnr_attend_scores_of(hnr_attend_item *t, int64_t k, const int C, const int as) {
    int64_t r = 0;
#define HNR_DO(R) hnr_attend_scores(t, r, k, R, C, as)
    /* What is left of the keys, or of the columns below, is done in fewer forms. */
    HNR_ATTEND_ROWS(C == HNR_SCORE_KEYS || HNR_SCORE_ROWS < 4 ? HNR_SCORE_ROWS : 4, t->j->tile, r, t->n, HNR_DO);
#undef HNR_DO
}
HNR_ALWAYS void hnr_attend_products(hnr_attend_item *t, const int as) {
    int64_t k = 0, n = t->until - t->from + 1;
    for (; k + 16 * (HNR_SCORE_KEYS - 1) < n; k += 16 * HNR_SCORE_KEYS) hnr_attend_scores_of(t, k, HNR_SCORE_KEYS, as);
    for (; k < n; k += 16) hnr_attend_scores_of(t, k, 1, as);
}

/* Keys of the span that a token at `position` does not see: -INFINITY in its row. */
HNR_ALWAYS void hnr_attend_hide(const hnr_attend_item *t, int64_t position, float *x) {
    const int64_t block = t->j->block, n = t->blocks * block, from = t->span_from;
    const int64_t low = t->j->window > 0 ? position - t->j->window + 1 : 0;
    if (low <= from && position >= from + n - 1 && block == t->step) return; /* it sees them all */
    for (int64_t b = 0; b < t->blocks; b++, x += t->step) {
        const int64_t first = from + b * block, seen = position + 1 - first; /* keys low - first to seen of the block */
        for (int64_t k = 0; k < low - first && k < t->step; k++) x[k] = -INFINITY;
        for (int64_t k = seen < 0 ? 0 : seen < block ? seen : block; k < t->step; k++) x[k] = -INFINITY;
    }
}
/* Scores of row r, which sees the keys up to `position`, become exponentials. */
HNR void hnr_attend_softmax(hnr_attend_item *t, int64_t r, int64_t position) {
    const hnr_attend *j = t->j;
    const int64_t n = t->blocks * t->step;
    float *x = t->scores + r * t->stride;
    hnr_a16 sum = hnr_a16_all(0);
    hnr_lf was = hnr_l_all(t->top[r]), top = was;
    for (int64_t k = 0; j->key_scale && k < n; k += 16)
        hnr_a16_store(x + k, hnr_a16_mul(hnr_a16_load(x + k), hnr_a16_load(t->key_scale + k)));
    for (int64_t k = 0; j->cap > 0 && k < n; k += 16) hnr_a16_store(x + k, hnr_a16_cap(hnr_a16_load(x + k), j->cap));
    hnr_attend_hide(t, position, x);
    for (int64_t k = 0; k < n; k += 16) {
        hnr_a16 y = hnr_a16_load(x + k);
        HNR_EACH top = hnr_l_max(top, y.p[v]);
    }
    top = hnr_l_top(top);
    t->top[r] = top[0];
    t->keep[r] = 1;
    if (t->top[r] == -INFINITY) { /* no key so far */
        memset(x, 0, (size_t)n * sizeof *x);
        return;
    }
    for (int64_t k = 0; k < n; k += 16) {
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
/* Scores of all rows. */
HNR void hnr_attend_exponentials(hnr_attend_item *t) {
    for (int64_t i = 0, r = 0; r < t->n; i++) {
        int64_t position = hnr_attend_position(t->j, t->first + i);
        for (int64_t end = r + t->group; r < end; r++) hnr_attend_softmax(t, r, position);
    }
}

/* R rows from r on and C times 16 columns from d on. */
HNR_ALWAYS void hnr_attend_mix(hnr_attend_item *t, int64_t r, int64_t d, const int R, const int C, const int as) {
    hnr_a16 sum[HNR_MIX_ROWS][HNR_MIX_FEW_WIDE];
    int64_t step = t->stride, n = t->until - t->from + 1;
    const float *x = t->scores + r * step + t->column;
    float *mixed = t->mixed + r * t->wide + d;
    HNR_UNROLL for (int i = 0; i < R; i++) {
        hnr_a16 keep = hnr_a16_all(t->column ? 1.0f : t->keep[r + i]); /* the span's first block */
        HNR_UNROLL for (int c = 0; c < C; c++) sum[i][c] =
            hnr_a16_mul(hnr_a16_load(mixed + i * t->wide + 16 * c), keep);
    }
    for (int64_t k = 0; k < n; k++) {
        hnr_a16 y[HNR_MIX_FEW_WIDE];
        if (as != HNR_ATTEND_F32) hnr_attend_ask_one(t->v, as, t->v_at + d + k * t->v_step + t->ahead_by);
        HNR_UNROLL for (int c = 0; c < C; c++) y[c] = hnr_attend_get16(t->v, as, t->v_at + d + k * t->v_step + 16 * c);
        HNR_UNROLL for (int i = 0; i < R; i++) {
            hnr_a16 e = hnr_a16_all(x[i * step + k]);
            HNR_UNROLL for (int c = 0; c < C; c++) sum[i][c] = hnr_a16_madd(e, y[c], sum[i][c]);
        }
    }
    HNR_UNROLL for (int i = 0; i < R; i++) HNR_UNROLL for (int c = 0; c < C; c++)
        hnr_a16_store(mixed + i * t->wide + 16 * c, sum[i][c]);
}
/* Columns d to d + 16 wide of rows r to `end`. */
HNR_ALWAYS void hnr_attend_mix_columns(hnr_attend_item *t, int64_t r, int64_t end, int64_t d, const int wide,
                                       const int as) {
#define HNR_DO(R) hnr_attend_mix(t, r, d, R, wide, as)
    HNR_ATTEND_ROWS(wide == HNR_MIX_WIDE || HNR_MIX_ROWS < 4 ? HNR_MIX_ROWS : 4, 8, r, end, HNR_DO);
#undef HNR_DO
}
HNR_ALWAYS void hnr_attend_mix_rows(hnr_attend_item *t, int64_t r, int64_t end, const int wide, const int as) {
    int64_t d = 0;
    for (; d + 16 * wide <= t->wide; d += 16 * wide) hnr_attend_mix_columns(t, r, end, d, wide, as);
    for (; wide > 1 && d < t->wide; d += 16) hnr_attend_mix_columns(t, r, end, d, 1, as);
}
HNR_ALWAYS void hnr_attend_mix_all(hnr_attend_item *t, const int as) {
    /* Up to four rows that remain go wide, where there are registers for it. */
    int64_t rest = HNR_MIX_FEW_WIDE > HNR_MIX_WIDE && t->n % 8 <= 4 ? t->n % 8 : 0, many = t->n - rest;
    hnr_attend_mix_rows(t, 0, many, HNR_MIX_WIDE, as);
    if (rest) hnr_attend_mix_rows(t, many, t->n, HNR_MIX_FEW_WIDE, as);
}

/* Keys and values of a block as f32 in scratch, where they are not read as they are. */
HNR_ALWAYS void hnr_attend_widen(float *to, const void *from, const int type, int64_t first, int64_t n) {
    int64_t i = 0;
    _Pragma("GCC unroll 4") for (; i + HNR_L <= n; i += HNR_L) {
        hnr_lf x = hnr_attend_get(from, type, first + i);
        *(hnr_lf_any *)(to + i) = x;
    }
    for (; i < n; i++) to[i] = hnr_attend_get_one(from, type, first + i);
}
HNR_ALWAYS void hnr_attend_bring_keys(hnr_attend_item *t, const int type) {
    const hnr_attend *j = t->j;
    const int64_t block = j->block, size = j->size, first = (t->at * j->kv_heads + t->kv * block) * size;
    if (block == t->step)
        hnr_attend_widen(t->keys, j->keys, type, first, size * block);
    else
        for (int64_t d = 0; d < size; d++)
            hnr_attend_widen(t->keys + d * t->step, j->keys, type, first + d * block, block);
}
HNR_ALWAYS void hnr_attend_bring_values(hnr_attend_item *t, const int type) {
    const hnr_attend *j = t->j;
    const int64_t size = j->size, step = j->kv_heads * size, n = t->until - t->from + 1;
    const int64_t from = (t->at * j->kv_heads + t->kv) * size;
    for (int64_t k = 0; k < n; k++) hnr_attend_widen(t->values + k * t->wide, j->values, type, from + k * step, size);
}
/* Whether the block's keys, or values, are read where they lie in the pool: by few rows; many share what is widened
 * once. */
HNR_ALWAYS int hnr_attend_as_it_is(const hnr_attend_item *t, const int type) {
    return type == HNR_ATTEND_F32 || t->n <= t->j->few;
}
HNR_ALWAYS int hnr_attend_reads_k(const hnr_attend_item *t, const int type) {
    return t->j->block % 16 == 0 && hnr_attend_as_it_is(t, type);
}
HNR_ALWAYS int hnr_attend_reads_v(const hnr_attend_item *t, const int type) {
    return t->wide == t->j->size && hnr_attend_as_it_is(t, type);
}
/* Finds or brings them; whether that is the pool. */
HNR_ALWAYS int hnr_attend_bring_k(hnr_attend_item *t, const int type) {
    const hnr_attend *j = t->j;
    t->k = t->keys, t->k_step = t->step, t->k_at = 0;
    if (!hnr_attend_reads_k(t, type)) {
        hnr_attend_bring_keys(t, type);
        return 0;
    }
    t->k = j->keys, t->k_step = j->block, t->k_at = (t->at * j->kv_heads + t->kv * j->block) * j->size;
    return 1;
}
HNR_ALWAYS int hnr_attend_bring_v(hnr_attend_item *t, const int type) {
    const hnr_attend *j = t->j;
    t->v = t->values, t->v_step = t->wide, t->v_at = 0;
    if (!hnr_attend_reads_v(t, type)) {
        hnr_attend_bring_values(t, type);
        return 0;
    }
    t->v = j->values, t->v_step = j->kv_heads * j->size, t->v_at = (t->at * j->kv_heads + t->kv) * j->size;
    return 1;
}

/* Block i of the span becomes the one to work on. */
HNR_ALWAYS void hnr_attend_block(hnr_attend_item *t, int64_t i, int64_t last) {
    const int64_t block = t->j->block, next = t->j->touch == 2 && i < t->ahead ? t->next[i] * block : t->ats[i];
    t->ahead_by = (next - t->ats[i]) * t->j->kv_heads * t->j->size;
    t->at = t->ats[i], t->from = t->span_from + i * block, t->column = i * t->step;
    t->until = t->from + block - 1 < last ? t->from + block - 1 : last;
}
HNR void hnr_attend_scales(hnr_attend_item *t) {
    const int64_t kv_heads = t->j->kv_heads, n = t->j->key_scale ? t->until - t->from + 1 : 0;
    const int64_t first = t->at * kv_heads + t->kv;
    float *k = t->key_scale + t->column, *v = t->value_scale + t->column;
    _Pragma("GCC unroll 8") for (int64_t i = 0; i < n; i++) {
        k[i] = t->j->key_scale[first + i * kv_heads];
        v[i] = t->j->value_scale[first + i * kv_heads];
    }
}
/* Asks for the keys and values of a block of the pool, those of the head that is on, so that they come while the blocks
 * before them are worked on. On Emerald Rapids .82 of the time of reading them first, where they lie in memory. */
HNR_ALWAYS void hnr_attend_ask(const hnr_attend_item *t, int64_t at, const int type) {
    const hnr_attend *j = t->j;
    const int64_t one = j->size * hnr_attend_type_b(type), n = one * j->block;
    const char *k = (const char *)j->keys + (at * j->kv_heads + t->kv) * n;
    const char *v = (const char *)j->values + (at * j->block * j->kv_heads + t->kv) * one;
    for (int64_t b = 0; b < n; b += 64) __builtin_prefetch(k + b, 0, 2);
    for (int64_t r = 0; r < j->block; r++, v += j->kv_heads * one)
        for (int64_t b = 0; b < one; b += 64) __builtin_prefetch(v + b, 0, 2);
}
/* Do rows ask for a line whenever they read one? All lines of a block at once wait for each other. */
HNR_ALWAYS int hnr_attend_asks_meanwhile(const hnr_attend_item *t, const int type) {
    return type != HNR_ATTEND_F32 && hnr_attend_reads_k(t, type) && hnr_attend_reads_v(t, type);
}
/* Functions of their own: as parts of one large one they took gcc six times as long. */
#define HNR_ATTEND_AS(TYPE)                                                                                            \
    static __attribute__((noinline, unused)) void hnr_attend_products_##TYPE(hnr_attend_item *t) {                     \
        hnr_attend_products(t, HNR_ATTEND_##TYPE);                                                                     \
    }                                                                                                                  \
    static __attribute__((noinline, unused)) void hnr_attend_mix_##TYPE(hnr_attend_item *t) {                          \
        hnr_attend_mix_all(t, HNR_ATTEND_##TYPE);                                                                      \
    }
HNR_ATTEND_AS(F32)
HNR_ATTEND_AS(F16)
HNR_ATTEND_AS(BF16)
HNR_ATTEND_AS(I8)
#define HNR_ATTEND_CALL(what, as)                                                                                      \
    ((as) == HNR_ATTEND_F16    ? hnr_attend_##what##_F16(t)                                                            \
     : (as) == HNR_ATTEND_BF16 ? hnr_attend_##what##_BF16(t)                                                           \
     : (as) == HNR_ATTEND_I8   ? hnr_attend_##what##_I8(t)                                                             \
                               : hnr_attend_##what##_F32(t))
/* The span with the head of keys that is on. */
HNR_ALWAYS void hnr_attend_span_head(hnr_attend_item *t, int64_t last, const int type) {
    for (int64_t i = 0; i < t->blocks; i++) {
        hnr_attend_block(t, i, last);
        if (t->j->touch == 2 && i < t->ahead && !hnr_attend_asks_meanwhile(t, type))
            hnr_attend_ask(t, t->next[i], type);
        hnr_attend_scales(t);
        if (hnr_attend_bring_k(t, type))
            HNR_ATTEND_CALL(products, type);
        else
            hnr_attend_products_F32(t);
    }
    hnr_attend_exponentials(t);
    for (int64_t i = 0; i < t->blocks; i++) {
        hnr_attend_block(t, i, last);
        if (hnr_attend_bring_v(t, type))
            HNR_ATTEND_CALL(mix, type);
        else
            hnr_attend_mix_F32(t);
    }
}

/* One head of keys of an item: what stays with it from block to block. */
HNR void hnr_attend_head(hnr_attend_item *t, int64_t kv, int64_t first_kv, float *room) {
    int64_t rows = t->rows, few = hnr_attend_wide(rows);
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
        int64_t token = t->first + r / t->group, head = t->kv * t->group + r % t->group, d = 0;
        const float sum = hnr_a16_sum(hnr_a16_load(t->sum + 16 * r)), by = sum > 0 ? sum : 1.0f; /* none: zeros */
        const float *mixed = t->mixed + r * t->wide;
        float *out = j->out + (token * j->heads + head) * j->size;
        for (; d + HNR_L <= j->size; d += HNR_L)
            *(hnr_lf_any *)(out + d) = *(const hnr_lf_any *)(mixed + d) / hnr_l_all(by);
        for (; d < j->size; d++) out[d] = mixed[d] / by;
    }
}

HNR_ALWAYS void hnr_attend_touch_bytes(const void *from, int64_t first, int64_t last) {
    for (int64_t b = first; b < last; b += 64) __asm__ __volatile__("" ::"r"(((const char *)from)[b]));
}
/* Reads a block of the pool, of heads kv to end, in its order, a word of each line: heads read it in pieces too short
 * for a processor to see where they lead. */
HNR_ALWAYS void hnr_attend_touch(const hnr_attend *j, int64_t at, int64_t kv, int64_t end, const int type) {
    const int64_t head_b = j->size * hnr_attend_type_b(type);
    const int64_t first = at * j->block * j->kv_heads;
    hnr_attend_touch_bytes(j->keys, (first + kv * j->block) * head_b, (first + end * j->block) * head_b);
    for (int64_t row = at * j->block; row < (at + 1) * j->block; row++)
        hnr_attend_touch_bytes(j->values, (row * j->kv_heads + kv) * head_b, (row * j->kv_heads + end) * head_b);
}

/* The span from block b on; the row of the table is the sequence's. Whether all its blocks are in the pool. */
HNR_ALWAYS int hnr_attend_find(hnr_attend_item *t, const hnr_i64 *table, int64_t b, int64_t last, int64_t kv,
                               int64_t end, const int type) {
    const hnr_attend *j = t->j;
    const int64_t pool = j->rows / j->block, n = t->most - b % t->most;
    t->span_from = b * j->block;
    t->blocks = b + n - 1 <= last ? n : last - b + 1;
    for (int64_t i = 0; i < t->blocks; i++) {
        int64_t at = hnr_index(j->s, table[b + i], pool);
        if (at < 0) return 0;
        t->ats[i] = at * j->block;
    }
    t->ahead = 0;
    for (int64_t i = b + t->blocks; j->touch && i < b + t->blocks + t->most && i <= last; i++) {
        if (table[i] < 0 || table[i] >= pool) continue;
        t->next[t->ahead++] = table[i];
        if (j->touch == 1) hnr_attend_touch(j, table[i], kv, end, type);
    }
    return 1;
}

/* The item's tokens, all of one sequence, with heads of keys kv to end: block by block, so that the rows of the pool
 * are read in their order. */
HNR_ALWAYS void hnr_attend_run(hnr_attend_item *t, int64_t kv, int64_t end, float *room, const int type) {
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
    for (int64_t b = low / j->block; sequence >= 0 && b * j->block <= last; b += t->blocks) {
        if (!hnr_attend_find(t, j->table + sequence * j->blocks, b, last / j->block, kv, end, type)) break;
        for (int64_t h = kv; h < end; h++) {
            hnr_attend_head(t, h, kv, room);
            hnr_attend_span_head(t, last, type);
        }
    }
    for (int64_t h = kv; h < end; h++) {
        hnr_attend_head(t, h, kv, room);
        hnr_attend_end(t);
    }
}

/* Items begin .. end of ceil(n / HNR_ATTEND_TOKENS) * kv_heads; type: of keys and values, known when this is compiled.
 */
HNR_ALWAYS void hnr_attend_items(const hnr_attend *j, int64_t begin, int64_t end, float *scratch, const int type) {
    hnr_attend_item t = {.j = j, .group = j->heads / j->kv_heads, .wide = hnr_attend_wide(j->size)};
    const int64_t share = hnr_attend_share(t.group), rows = t.rows = HNR_ATTEND_TOKENS * t.group * share;
    t.step = hnr_attend_wide(j->block), t.most = hnr_attend_span(j->block), t.stride = t.most * t.step;
    float *room = scratch + 2 * (j->block + 16) * t.wide + (rows + 2) * t.stride;
    t.keys = scratch, t.values = t.keys + (j->block + 16) * t.wide, t.scores = t.values + (j->block + 16) * t.wide;
    t.key_scale = t.scores + rows * t.stride, t.value_scale = t.key_scale + t.stride;
    memset(t.key_scale, 0, 2 * (size_t)t.stride * sizeof *t.keys);
    memset(t.keys, 0, (size_t)(2 * (j->block + 16) * t.wide) * sizeof *t.keys);
    for (int64_t i = begin; i < end;) {
        int64_t from = i / j->kv_heads * HNR_ATTEND_TOKENS, until = from + HNR_ATTEND_TOKENS, kv = i % j->kv_heads;
        int64_t heads = end - i < j->kv_heads - kv ? end - i : j->kv_heads - kv, n = heads;
        for (int64_t k = 1; heads == j->kv_heads && k < share && end - i - n >= heads; k++)
            until += HNR_ATTEND_TOKENS, n += heads;
        if (until > j->n) until = j->n;
        while (from < until) {
            int64_t to = from + 1;
            while (to < until && j->sequence[to] == j->sequence[from]) to++;
            t.first = from, t.n = (to - from) * t.group;
            hnr_attend_run(&t, kv, kv + heads, room, type);
            from = to;
        }
        i += n;
    }
}

#endif
