/* rt/quantize.h — floats rounded to bytes in blocks of 32, the other operand of rt/packed.h. Needs base.h and lanes.h.
 *
 * An element is d (low + 128 high) with whole numbers from -127 to 127; d is of its block. docs/ir.md (quantize_blocks)
 * says which elements have a high byte. */
/* The bits of a vector's absolute values: floats that are not negative are ordered as their bits. */
HNR_ALWAYS hnr_li hnr_p_size(const float *x) { return (hnr_li)(*(const hnr_lu_any *)(const void *)x & 0x7fffffff); }
HNR_ALWAYS hnr_li hnr_p_larger(hnr_li a, hnr_li b) {
#if defined(__clang__)
    return __builtin_elementwise_max(a, b);
#elif HNR_L == 16
    return __builtin_ia32_pmaxsd512_mask(a, b, a, -1);
#elif HNR_L == 8
    return __builtin_ia32_pmaxsd256(a, b);
#else
    hnr_li more = a > b;
    return (a & more) | (b & ~more);
#endif
}
/* Each lane becomes the largest of its four. */
HNR_ALWAYS hnr_li hnr_p_words(hnr_li x) {
#if HNR_L == 16
    x = hnr_p_larger(x, __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14));
    return hnr_p_larger(x, __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13));
#elif HNR_L == 8
    x = hnr_p_larger(x, __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6));
    return hnr_p_larger(x, __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5));
#else
    x = hnr_p_larger(x, __builtin_shufflevector(x, x, 1, 0, 3, 2));
    return hnr_p_larger(x, __builtin_shufflevector(x, x, 2, 3, 0, 1));
#endif
}
/* Of lanes of which each is the largest of its four: the largest of all, in every lane. Through memory, lane by lane,
 * this was most of the time of rounding a row. */
HNR_ALWAYS hnr_li hnr_p_of_words(hnr_li x) {
#if HNR_L == 16
    x = hnr_p_larger(x, __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11));
    x = hnr_p_larger(x, __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
#elif HNR_L == 8
    x = hnr_p_larger(x, __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3));
#endif
    return x;
}
HNR_ALWAYS float hnr_p_as_float(int32_t bits) {
    float x;
    __builtin_memcpy(&x, &bits, 4);
    return x;
}

/* Whole numbers next to the products; halves go to the even one (adding 1.5 * 2^23 rounds so). 0 where BY is, which it
 * is with infinities and NaN among the elements. */
HNR_ALWAYS hnr_li hnr_p_round(const float *x, float by) {
    return ((hnr_li)(*(const hnr_lf_any *)x * by + 12582912.0f) - 0x4b400000) & -(by != 0);
}
/* 32 numbers from -128 to 127 as bytes. */
HNR_ALWAYS void hnr_p_put_32(int8_t *q, const hnr_li x[32 / HNR_L]) {
#if HNR_L == 8
    typedef hnr_lb bytes __attribute__((aligned(1), may_alias));
    hnr_ls low = __builtin_ia32_packssdw256(x[0], x[1]), high = __builtin_ia32_packssdw256(x[2], x[3]);
    const hnr_li in_order = {0, 4, 1, 5, 2, 6, 3, 7};
    *(bytes *)q = (hnr_lb)__builtin_ia32_permvarsi256((hnr_li)__builtin_ia32_packsswb256(low, high), in_order);
#elif HNR_L == 16 && !defined(__clang__)
    typedef char bytes __attribute__((vector_size(16)));
    typedef bytes bytes_any __attribute__((aligned(1), may_alias));
    for (int i = 0; i < 2; i++) *(bytes_any *)(q + 16 * i) = __builtin_ia32_pmovdb512_mask(x[i], (bytes){0}, -1);
#else
    typedef int8_t bytes __attribute__((vector_size(HNR_L), aligned(1)));
    HNR_UNROLL for (int i = 0; i < 32 / HNR_L; i++) * (bytes *)(q + i * HNR_L) = __builtin_convertvector(x[i], bytes);
#endif
}

/* The largest absolute values of HNR_L blocks, and of one. */
HNR_ALWAYS hnr_li hnr_p_tops(const float *x) {
    hnr_li top[HNR_L];
    HNR_UNROLL for (int i = 0; i < HNR_L; i++) {
        top[i] = hnr_p_size(x + 32 * i);
        HNR_UNROLL for (int k = HNR_L; k < 32; k += HNR_L) top[i] = hnr_p_larger(top[i], hnr_p_size(x + 32 * i + k));
    }
    HNR_UNROLL for (int n = HNR_L; n > 1; n /= 2) HNR_UNROLL for (int i = 0; i < n / 2; i++) top[i] =
        hnr_p_larger(HNR_EVEN(top[2 * i], top[2 * i + 1]), HNR_ODD(top[2 * i], top[2 * i + 1]));
    return top[0];
}
HNR_ALWAYS hnr_li hnr_p_top(const float *x) {
    hnr_li top = hnr_p_size(x);
    HNR_UNROLL for (int k = HNR_L; k < 32; k += HNR_L) top = hnr_p_larger(top, hnr_p_size(x + k));
    return hnr_p_of_words(hnr_p_words(top));
}
/* What numbers of which `unit` becomes 127 are multiplied with; 0 with infinities, NaN, and where it would be infinite.
 * d: the block's scale. */
HNR_ALWAYS float hnr_p_scale(float unit, float *d) {
    float by = unit > 0 ? 127.0f / unit : 0;
    if (!(by < __builtin_inff())) by = 0;
    *d = by > 0 ? unit / 127.0f : 0;
    return by;
}

/* A block of 32: the largest absolute value is 127. */
HNR_ALWAYS void hnr_quantize_32(const float *x, int8_t *q, float *d) {
    enum { N = 32 / HNR_L };
    const float by = hnr_p_scale(hnr_p_as_float(hnr_p_top(x)[0]), d);
    hnr_li whole[N];
    HNR_UNROLL for (int i = 0; i < N; i++) whole[i] = hnr_p_round(x + i * HNR_L, by);
    hnr_p_put_32(q, whole);
}

/* Of each block into top; gives the largest of all. */
HNR_ALWAYS float hnr_p_row_top(const float *x, int64_t blocks, float *top) {
    hnr_li all = {0};
    int64_t b = 0;
    while (b < blocks && blocks >= HNR_L) { /* the last ones with some of those before */
        if (b + HNR_L > blocks) b = blocks - HNR_L;
        const hnr_li tops = hnr_p_tops(x + 32 * b);
        *(hnr_lu_any *)(top + b) = (hnr_lu)tops;
        all = hnr_p_larger(all, tops);
        b += HNR_L;
    }
    for (; b < blocks; b++) {
        const hnr_li one = hnr_p_top(x + 32 * b);
        top[b] = hnr_p_as_float(one[0]);
        all = hnr_p_larger(all, one);
    }
    return hnr_p_as_float(hnr_p_of_words(hnr_p_words(all))[0]);
}
/* The largest absolute value of a block's words but those with an element as large as `most`, whose words go into
 * apart. */
HNR_ALWAYS float hnr_p_rest(const float *x, float most, hnr_li apart[32 / HNR_L]) {
    enum { N = 32 / HNR_L };
    int32_t bits;
    hnr_li below = {0};
    __builtin_memcpy(&bits, &most, 4);
    HNR_UNROLL for (int i = 0; i < N; i++) {
        const hnr_li word = hnr_p_words(hnr_p_size(x + i * HNR_L));
        apart[i] = word >= bits;
        below = hnr_p_larger(below, word & ~apart[i]);
    }
    return hnr_p_as_float(hnr_p_of_words(below)[0]);
}

/* A row, of which elements have two bytes: all of them, or those of words that stand out in their block (docs/ir.md,
 * quantize_blocks). Floats that are not negative are ordered as their bits. */
HNR void hnr_quantize_row(const float *x, int64_t blocks, int always, int8_t *q, float *d) {
    enum { N = 32 / HNR_L };
    const float row = hnr_p_row_top(x, blocks, d);
    for (int64_t b = 0; b < blocks; b++, x += 32, q += 32) {
        hnr_li apart[N], v[N], up[N];
        const float most = d[b];
        float unit = always ? most / 128.0f : most;
        int high = always;
        HNR_UNROLL for (int i = 0; i < N; i++) apart[i] = (hnr_li){0} - 1;
        if (!always && most >= 0.25f * row) {
            const float rest = hnr_p_rest(x, most, apart);
            high = most >= 2 * rest;
            if (high) unit = most / 128.0f > rest ? most / 128.0f : rest;
        }
        const float by = hnr_p_scale(unit, d + b);
        HNR_UNROLL for (int i = 0; i < N; i++) v[i] = hnr_p_round(x + i * HNR_L, by), up[i] = (hnr_li){0};
        if (high) HNR_UNROLL for (int i = 0; i < N; i++) {
                up[i] = ((v[i] + 64) >> 7) & apart[i];
                v[i] -= up[i] << 7;
            }
        hnr_p_put_32(q, v);
        hnr_p_put_32(q + 32 * blocks, up);
    }
}
