/* rt/c_rates.h — kernels that measure what a device does at most. Text behind a prelude; place_rates.c launches it.
 *
 * All take two buffers and a count, which decide what is computed, so that no compiler leaves it out.
 */
#if defined(HNR_OPENCL)
#define HNQ_LANES 16
typedef float16 hnq_f;
#if defined(FP_FAST_FMAF)
#define HNQ_FMA(x, m, c) fma(x, m, c)
#else
#define HNQ_FMA(x, m, c) mad(x, m, c)
#endif
#define HNQ_SUM(x) ((x).s0 + (x).s7 + (x).sf)
#else
#define HNQ_LANES 1
typedef float hnq_f;
#define HNQ_FMA(x, m, c) fmaf(x, m, c)
#define HNQ_SUM(x) (x)
#endif

HNR_KERNEL(hnq_none, 64)(HNR_MEM(a), HNR_MEM(b), int64_t n) {
    if (n < 0) *(HNR_GLOBAL uint32_t *)HNR_AT(b) = *(HNR_GLOBAL uint32_t *)HNR_AT(a);
}

/* n words of 16 bytes */
HNR_KERNEL(hnq_read, 256)(HNR_MEM(a), HNR_MEM(b), int64_t n) {
    const HNR_GLOBAL hnr_w4 *from = (const HNR_GLOBAL hnr_w4 *)HNR_AT(a);
    uint32_t all = 0;
    for (int64_t i = HNR_ITEM; i < n; i += HNR_ITEMS) {
        hnr_w4 x = from[i];
        all |= x.x ^ x.y ^ x.z ^ x.w;
    }
    if (all == 0x5A17C0DEu) *(HNR_GLOBAL uint32_t *)HNR_AT(b) = all;
}

HNR_KERNEL(hnq_copy, 256)(HNR_MEM(a), HNR_MEM(b), int64_t n) {
    const HNR_GLOBAL hnr_w4 *from = (const HNR_GLOBAL hnr_w4 *)HNR_AT(a);
    HNR_GLOBAL hnr_w4 *to = (HNR_GLOBAL hnr_w4 *)HNR_AT(b);
    for (int64_t i = HNR_ITEM; i < n; i += HNR_ITEMS) to[i] = from[i];
}

/* Eight chains of n multiply-adds of HNQ_LANES floats. */
HNR_KERNEL(hnq_f32, 256)(HNR_MEM(a), HNR_MEM(b), int64_t n) {
    hnq_f x0 = (hnq_f)(1.0f), x1 = (hnq_f)(1.1f), x2 = (hnq_f)(1.2f), x3 = (hnq_f)(1.3f), x4 = (hnq_f)(1.4f),
          x5 = (hnq_f)(1.5f), x6 = (hnq_f)(1.6f), x7 = (hnq_f)(1.7f);
    const hnq_f m = (hnq_f)(1.0f - 0.001f * (float)(n & 7)), c = (hnq_f)((float)(HNR_ITEM & 15));
    HNR_UNROLL_4
    for (int64_t i = 0; i < n; i++) {
        x0 = HNQ_FMA(x0, m, c);
        x1 = HNQ_FMA(x1, m, c);
        x2 = HNQ_FMA(x2, m, c);
        x3 = HNQ_FMA(x3, m, c);
        x4 = HNQ_FMA(x4, m, c);
        x5 = HNQ_FMA(x5, m, c);
        x6 = HNQ_FMA(x6, m, c);
        x7 = HNQ_FMA(x7, m, c);
    }
    hnq_f all = ((x0 + x1) + (x2 + x3)) + ((x4 + x5) + (x6 + x7));
    if (HNQ_SUM(all) == 12345.678f) *(HNR_GLOBAL float *)HNR_AT(b) = *(const HNR_GLOBAL float *)HNR_AT(a);
}

/* Halves: products of tiles by warps (mma.sync) on CUDA, multiply-adds in OpenCL. */
#if defined(HNR_CUDA) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800 && !defined(HONE_CUDA_SHIM)
HNR_KERNEL(hnq_f16, 256)(HNR_MEM(a), HNR_MEM(b), int64_t n) {
    float d[8][4];
    uint32_t x[4], y[2];
    for (int k = 0; k < 4; k++) x[k] = 0x3C003800u + (uint32_t)HNR_THREAD * 0x10001u;
    for (int k = 0; k < 2; k++) y[k] = 0xB8003C00u + (uint32_t)HNR_THREAD * 0x10001u;
    _Pragma("unroll") for (int k = 0; k < 8; k++) for (int j = 0; j < 4; j++) d[k][j] = 0;
    for (int64_t i = 0; i < n; i++) {
        _Pragma("unroll") for (int k = 0; k < 8; k++) hnr_mma_m16n8k16_f16(d[k], x, y);
    }
    float all = 0;
    _Pragma("unroll") for (int k = 0; k < 8; k++) for (int j = 0; j < 4; j++) all += d[k][j];
    if (all == 12345.678f) *(float *)HNR_AT(b) = *(const float *)HNR_AT(a);
}
#elif defined(HNR_OPENCL) && defined(cl_khr_fp16)
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#undef half
HNR_KERNEL(hnq_f16, 256)(HNR_MEM(a), HNR_MEM(b), int64_t n) {
    half16 x0 = (half16)(1.0f), x1 = (half16)(1.1f), x2 = (half16)(1.2f), x3 = (half16)(1.3f), x4 = (half16)(1.4f),
           x5 = (half16)(1.5f), x6 = (half16)(1.6f), x7 = (half16)(1.7f);
    const half16 m = (half16)(1.0f - 0.01f * (float)(n & 7)), c = (half16)((float)(HNR_ITEM & 3));
    for (int64_t i = 0; i < n; i++) {
        x0 = mad(x0, m, c);
        x1 = mad(x1, m, c);
        x2 = mad(x2, m, c);
        x3 = mad(x3, m, c);
        x4 = mad(x4, m, c);
        x5 = mad(x5, m, c);
        x6 = mad(x6, m, c);
        x7 = mad(x7, m, c);
    }
    half16 all = ((x0 + x1) + (x2 + x3)) + ((x4 + x5) + (x6 + x7));
    if ((float)all.s0 == 12345.678f) *(HNR_GLOBAL float *)HNR_AT(b) = *(const HNR_GLOBAL float *)HNR_AT(a);
}
#endif
