/* rt/c_quantize.h — 32 floats as bytes with a scale: as rt/quantize.h of the CPU backend has them. Behind c_base.h. */
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

/* The largest magnitude of n floats, as its bits; those of words of four whose largest is `below` or more do not count
 * where below > 0. */
HNR uint32_t hnr_most(HNR_GLOBAL const float *x, int64_t n, uint32_t below) {
    uint32_t most = 0;
    for (int64_t i = 0; i < n; i += 4) {
        uint32_t word = 0;
        for (int k = 0; k < 4; k++) {
            uint32_t y = hnr_float_bits(x[i + k]) & 0x7fffffffu;
            word = y > word ? y : word;
        }
        if (below && word >= below) continue;
        most = word > most ? word : most;
    }
    return most;
}
/* A row of blocks in two bytes an element: `always`, or the words of four that are far larger than the rest of their
 * block. */
HNR void hnr_quantize_row(HNR_GLOBAL const float *x, int64_t blocks, int always, HNR_GLOBAL int8_t *q,
                          HNR_GLOBAL float *d) {
    const float row = always ? 0.0f : hnr_bits_float(hnr_most(x, 32 * blocks, 0));
    for (int64_t b = 0; b < blocks; b++, x += 32, q += 32) {
        const uint32_t largest = hnr_most(x, 32, 0);
        const float most = hnr_bits_float(largest), rest = hnr_bits_float(largest ? hnr_most(x, 32, largest) : 0);
        const int apart = !always && most >= 2 * rest && most >= 0.25f * row;
        float unit = always ? most / 128.0f : apart && most / 128.0f > rest ? most / 128.0f : apart ? rest : most;
        float by = unit > 0 ? 127.0f / unit : 0;
        if (!(by < INFINITY)) by = 0;
        d[b] = by > 0 ? unit / 127.0f : 0;
        for (int i = 0; i < 32; i += 4) {
            const int two = always || (apart && hnr_most(x + i, 4, 0) >= largest);
            for (int k = i; k < i + 4; k++) {
                const int32_t v = (int32_t)hnr_float_bits(x[k] * by + 12582912.0f) - 0x4b400000;
                const int32_t up = two ? (v + 64) >> 7 : 0;
                q[k] = (int8_t)(v - up * 128);
                q[32 * blocks + k] = (int8_t)up;
            }
        }
    }
}
