/* rt/lanes.h — vectors as wide as the machine's, for the parts that are written with vectors of their own: their types,
 * multiply-add, and small floats widened. Needs base.h. */
#ifndef HNR_LANES_H
#define HNR_LANES_H

#if defined(__AVX512BW__)
#define HNR_L 16
#elif defined(__AVX2__)
#define HNR_L 8
#else
#define HNR_L 4
#endif
typedef float hnr_lf __attribute__((vector_size(4 * HNR_L)));
typedef int32_t hnr_li __attribute__((vector_size(4 * HNR_L)));
typedef uint32_t hnr_lu __attribute__((vector_size(4 * HNR_L)));
typedef int16_t hnr_ls __attribute__((vector_size(4 * HNR_L)));
typedef char hnr_lb __attribute__((vector_size(4 * HNR_L)));
typedef uint16_t hnr_lh __attribute__((vector_size(2 * HNR_L)));
typedef uint8_t hnr_lc __attribute__((vector_size(HNR_L)));
typedef int8_t hnr_ld __attribute__((vector_size(HNR_L)));
typedef hnr_lf hnr_lf_any __attribute__((aligned(1), may_alias));
typedef hnr_lu hnr_lu_any __attribute__((aligned(1), may_alias));
typedef hnr_lh hnr_lh_any __attribute__((aligned(1), may_alias));
typedef hnr_lc hnr_lc_any __attribute__((aligned(1), may_alias));
typedef hnr_ld hnr_ld_any __attribute__((aligned(1), may_alias));
#define HNR_UNROLL _Pragma("GCC unroll 16")
#define HNR_ALWAYS static inline __attribute__((always_inline, unused))

HNR_ALWAYS hnr_lf hnr_l_all(float x) { return x - (hnr_lf){0}; }
HNR_ALWAYS hnr_lf hnr_l_fma(hnr_lf a, hnr_lf b, hnr_lf c) {
#if defined(__AVX512BW__)
    return __builtin_ia32_vfmaddps512_mask(a, b, c, -1, 4);
#elif defined(__AVX2__) && defined(__FMA__)
    return __builtin_ia32_vfmaddps256(a, b, c);
#elif defined(__aarch64__) && !defined(__clang__)
    return __builtin_aarch64_fmav4sf(a, b, c);
#else
    return a * b + c;
#endif
}
HNR_ALWAYS hnr_lf hnr_l_choose(hnr_li m, hnr_lf a, hnr_lf b) { return (hnr_lf)((m & (hnr_li)a) | (~m & (hnr_li)b)); }
/* b where either is NaN. */
HNR_ALWAYS hnr_lf hnr_l_max(hnr_lf a, hnr_lf b) {
#if defined(__AVX512BW__) && !defined(__clang__)
    return __builtin_ia32_maxps512_mask(a, b, a, -1, 4);
#elif defined(__AVX512BW__)
    return __builtin_ia32_maxps512(a, b, 4);
#elif defined(__AVX2__)
    return __builtin_ia32_maxps256(a, b);
#else
    return hnr_l_choose(a > b, a, b);
#endif
}
HNR_ALWAYS hnr_lf hnr_l_float(hnr_li x) { return __builtin_convertvector(x, hnr_lf); }

/* Small floats and bytes from p on as floats. */
HNR_ALWAYS hnr_lf hnr_l_half(const void *p) {
    hnr_lh h = *(const hnr_lh_any *)p;
#if defined(__AVX512BW__)
    return __builtin_ia32_vcvtph2ps512_mask((__attribute__((vector_size(32))) int16_t)h, (hnr_lf){0}, -1, 4);
#elif defined(__AVX2__) && defined(__F16C__)
    return __builtin_ia32_vcvtph2ps256((__attribute__((vector_size(16))) int16_t)h);
#else
    hnr_lu w = __builtin_convertvector(h, hnr_lu), rest = w & 0x7fff, sign = (w & 0x8000) << 16;
    hnr_lu scaled = (hnr_lu)((hnr_lf)(rest << 13) * 0x1p112f), odd = 0x7f800000u | (rest & 0x3ff) << 13;
    hnr_lu is_odd = (hnr_lu)(rest >= 0x7c00);
    return (hnr_lf)(((scaled & ~is_odd) | (odd & is_odd)) | sign);
#endif
}
HNR_ALWAYS hnr_lf hnr_l_brain(const void *p) {
    return (hnr_lf)(__builtin_convertvector(*(const hnr_lh_any *)p, hnr_lu) << 16);
}
/* gcc 12 has no conversion of bytes to words of four and takes the lanes one by one. */
HNR_ALWAYS hnr_lf hnr_l_signed(const void *p) {
#if HNR_L == 16 && !defined(__clang__)
    typedef char bytes __attribute__((vector_size(16)));
    return hnr_l_float(__builtin_ia32_pmovsxbd512_mask((bytes) * (const hnr_ld_any *)p, (hnr_li){0}, -1));
#elif HNR_L == 8 && !defined(__clang__)
    typedef char bytes __attribute__((vector_size(16)));
    typedef long long two __attribute__((vector_size(16)));
    return hnr_l_float(__builtin_ia32_pmovsxbd256((bytes)(two){(long long)*(const hnr_ld_any *)p, 0}));
#else
    typedef int16_t halves __attribute__((vector_size(2 * HNR_L)));
    return hnr_l_float(__builtin_convertvector(__builtin_convertvector(*(const hnr_ld_any *)p, halves), hnr_li));
#endif
}

/* Every second lane of a and b, from the first or the second on. */
#if HNR_L == 16
#define HNR_EVEN(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
#define HNR_ODD(a, b) __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)
#elif HNR_L == 8
#define HNR_EVEN(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14)
#define HNR_ODD(a, b) __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15)
#else
#define HNR_EVEN(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6)
#define HNR_ODD(a, b) __builtin_shufflevector(a, b, 1, 3, 5, 7)
#endif
/* The lanes of two vectors in turns: of their lower halves, of their upper halves. */
HNR_ALWAYS hnr_lf hnr_l_zip(hnr_lf a, hnr_lf b) {
#if HNR_L == 16
    return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
#elif HNR_L == 8
    return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
#else
    return __builtin_shufflevector(a, b, 0, 4, 1, 5);
#endif
}
HNR_ALWAYS hnr_lf hnr_l_zip_upper(hnr_lf a, hnr_lf b) {
#if HNR_L == 16
    return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
#elif HNR_L == 8
    return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
#else
    return __builtin_shufflevector(a, b, 2, 6, 3, 7);
#endif
}
/* Rows become columns: after each step, neighbours are what lay half of the rows apart. */
HNR_ALWAYS void hnr_l_transpose(hnr_lf x[HNR_L]) {
    _Pragma("GCC unroll 4") for (int step = 1; step < HNR_L; step *= 2) {
        hnr_lf y[HNR_L];
        HNR_UNROLL for (int i = 0; i < HNR_L / 2; i++) {
            y[2 * i] = hnr_l_zip(x[i], x[i + HNR_L / 2]);
            y[2 * i + 1] = hnr_l_zip_upper(x[i], x[i + HNR_L / 2]);
        }
        HNR_UNROLL for (int i = 0; i < HNR_L; i++) x[i] = y[i];
    }
}
#endif
