/* rt/math_root.h — 1/sqrt of vectors of floats: two operations, each rounded correctly. Needs math_base.h. */
HNR HNK_F HNK(rsqrt)(HNK_F x) {
#if HNK_W == 1
    return 1.0f / sqrtf(x);
#else
    return 1.0f / HNK(sqrt)(x);
#endif
}
