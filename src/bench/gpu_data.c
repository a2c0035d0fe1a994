/* bench/gpu_data.c — element types and random data.
 *
 * Random numbers are counted, not carried on: element i is splitmix64 of the seed and i (Steele, Lea & Flood 2014), so
 * that data is the same everywhere.
 */
#include "gpu_int.h"

#include <string.h>

/* bytes; floating point; least and greatest value of integers */
static const struct {
    unsigned char size_b;
    bool is_float;
    double lo, hi;
} types[] = {
    [HONE_GPU_F32] = {4, true, 0, 0},
    [HONE_GPU_F64] = {8, true, 0, 0},
    [HONE_GPU_F16] = {2, true, 0, 0},
    [HONE_GPU_BF16] = {2, true, 0, 0},
    [HONE_GPU_I8] = {1, false, -128, 127},
    [HONE_GPU_U8] = {1, false, 0, 255},
    [HONE_GPU_I16] = {2, false, -32768, 32767},
    [HONE_GPU_U16] = {2, false, 0, 65535},
    [HONE_GPU_I32] = {4, false, -0x1p31, 0x1p31 - 1},
    [HONE_GPU_U32] = {4, false, 0, 0x1p32 - 1},
    [HONE_GPU_I64] = {8, false, -0x1p63, 0x1p62},
    [HONE_GPU_U64] = {8, false, 0, 0x1p63},
};

size_t hone_gpu_type_size(hone_gpu_type type) {
    return (unsigned)type < sizeof types / sizeof *types ? types[type].size_b : 0;
}

bool hn_gpu_is_float(hone_gpu_type type) { return types[type].is_float; }

static uint64_t bits_at(uint64_t seed, uint64_t i) {
    uint64_t x = seed * 0xD1342543DE82EF95u + (i + 1) * 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

static double unit_at(uint64_t seed, uint64_t i) { return (double)(bits_at(seed, i) >> 11) * 0x1p-53; }

/* Round to nearest even; too large becomes infinite. */
static uint16_t to_f16(float x) {
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    uint32_t sign = u >> 16 & 0x8000u, mag = u & 0x7FFFFFFFu;
    if (mag > 0x7F800000u) return (uint16_t)(sign | 0x7E00u);
    if (mag >= 0x477FF000u) return (uint16_t)(sign | 0x7C00u);
    if (mag < 0x38800000u) { /* subnormal: add what moves the last bit to its place */
        float y, magic = 0.5f;
        memcpy(&y, &mag, sizeof y);
        y += magic;
        memcpy(&u, &y, sizeof u);
        return (uint16_t)(sign | (u - 0x3F000000u));
    }
    return (uint16_t)(sign | ((mag + 0xC8000FFFu + (mag >> 13 & 1)) >> 13));
}

static uint16_t to_bf16(float x) {
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    if ((u & 0x7FFFFFFFu) > 0x7F800000u) return (uint16_t)(u >> 16 | 0x40u);
    return (uint16_t)((u + 0x7FFFu + (u >> 16 & 1)) >> 16);
}

static float from_f16(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, e = h >> 10 & 31, m = h & 1023, u;
    if (e == 0) {
        float y = (float)m * 0x1p-24f;
        memcpy(&u, &y, sizeof u);
        u |= sign;
    } else {
        u = sign | (e == 31 ? 0x7F800000u : (e + 112) << 23) | m << 13;
    }
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static float from_bf16(uint16_t h) {
    uint32_t u = (uint32_t)h << 16;
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static void put(void *data, hone_gpu_type type, size_t i, double x) {
    switch (type) {
    case HONE_GPU_F32: ((float *)data)[i] = (float)x; break;
    case HONE_GPU_F64: ((double *)data)[i] = x; break;
    case HONE_GPU_F16: ((uint16_t *)data)[i] = to_f16((float)x); break;
    case HONE_GPU_BF16: ((uint16_t *)data)[i] = to_bf16((float)x); break;
    case HONE_GPU_I8: ((int8_t *)data)[i] = (int8_t)x; break;
    case HONE_GPU_U8: ((uint8_t *)data)[i] = (uint8_t)x; break;
    case HONE_GPU_I16: ((int16_t *)data)[i] = (int16_t)x; break;
    case HONE_GPU_U16: ((uint16_t *)data)[i] = (uint16_t)x; break;
    case HONE_GPU_I32: ((int32_t *)data)[i] = (int32_t)x; break;
    case HONE_GPU_U32: ((uint32_t *)data)[i] = (uint32_t)x; break;
    case HONE_GPU_I64: ((int64_t *)data)[i] = (int64_t)x; break;
    case HONE_GPU_U64: ((uint64_t *)data)[i] = (uint64_t)x; break;
    }
}

static double whole_down(double x) {
    double y = (double)(int64_t)x;
    return y > x ? y - 1 : y;
}

void hone_gpu_fill_uniform(void *data, hone_gpu_type type, size_t n, double lo, double hi, uint64_t seed) {
    double least = types[type].lo, most = types[type].hi;
    for (size_t i = 0; i < n; i++) {
        double x = lo + (hi - lo) * unit_at(seed, i);
        if (!types[type].is_float) x = x < least ? least : x > most ? most : whole_down(x);
        put(data, type, i, x);
    }
}

/* The sum of twelve uniform numbers less six: its moments up to the third are those of the normal distribution. */
void hone_gpu_fill_normal(void *data, hone_gpu_type type, size_t n, uint64_t seed) {
    for (size_t i = 0; i < n; i++) {
        double sum = -6;
        for (uint64_t k = 0; k < 12; k++) sum += unit_at(seed, 12 * i + k);
        put(data, type, i, sum);
    }
}

void hone_gpu_fill_constant(void *data, hone_gpu_type type, size_t n, double value) {
    for (size_t i = 0; i < n; i++) put(data, type, i, value);
}

void hn_gpu_fill_any(void *data, hone_gpu_type type, size_t n, uint64_t seed) {
    size_t size = hone_gpu_type_size(type);
    if (types[type].is_float) {
        hone_gpu_fill_uniform(data, type, n, -1, 1, seed);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t x = bits_at(seed, i);
        memcpy((char *)data + i * size, &x, size); /* little endian, as all hosts of GPUs that hone knows */
    }
}

bool hn_gpu_one_value(const void *data, size_t n, size_t size) {
    return n > 1 && memcmp(data, (const char *)data + size, (n - 1) * size) == 0;
}

void hn_gpu_widen(const void *data, hone_gpu_type type, size_t n, float *out) {
    const uint16_t *h = data;
    for (size_t i = 0; i < n; i++) out[i] = type == HONE_GPU_F16 ? from_f16(h[i]) : from_bf16(h[i]);
}
