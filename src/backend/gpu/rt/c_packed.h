/* rt/c_packed.h — 32 floats as bytes with a scale: as rt/packed.h of the CPU backend has them. Behind c_base.h. */
HNR void hnr_quantize_32(HNR_GLOBAL const float *x, HNR_GLOBAL int8_t *q, HNR_GLOBAL float *d) {
    uint32_t most = 0;
    for (int i = 0; i < 32; i++) {
        uint32_t y = hnr_float_bits(x[i]) & 0x7fffffffu; /* ordered as the floats are */
        most = y > most ? y : most;
    }
    float largest = hnr_bits_float(most), by = largest > 0 ? 127.0f / largest : 0;
    if (!(by < INFINITY)) by = 0;
    *d = by > 0 ? largest / 127.0f : 0;
    for (int i = 0; i < 32; i++) q[i] = (int8_t)((int32_t)hnr_float_bits(x[i] * by + 12582912.0f) - 0x4b400000);
}
