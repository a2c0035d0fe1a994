/* rt/base.h — what every generated file starts with: element types in memory, dimension arithmetic, checked indices.
 *
 * Text carried into artifacts (src/backend/cpu/runtime.c): C11 with GNU builtins, libc and libm, everything static,
 * prefix hnr_ (dimension helpers: hn_, as hn_dim_print_c spells them). A loaded element is a `double` (floats),
 * `int64_t` (signed integers) or `uint64_t` (unsigned, bool): its domain.
 */
#ifndef HNR_BASE_H
#define HNR_BASE_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define HNR static inline __attribute__((unused))
/* Some texts serve devices, too (backend/gpu), whose language may tell memories apart. */
#define HNR_GLOBAL
#define HNR_MAKE(type) (type)

/* Elements in memory; may_alias, because movement copies them as plain bits. */
#define HNR_STORE(name, type) typedef type __attribute__((may_alias)) hnr_##name;
HNR_STORE(f32, float)
HNR_STORE(f64, double)
HNR_STORE(f16, uint16_t)
HNR_STORE(bf16, uint16_t)
HNR_STORE(i8, int8_t)
HNR_STORE(i16, int16_t)
HNR_STORE(i32, int32_t)
HNR_STORE(i64, int64_t)
HNR_STORE(u8, uint8_t)
HNR_STORE(u16, uint16_t)
HNR_STORE(u32, uint32_t)
HNR_STORE(u64, uint64_t)
HNR_STORE(bool, uint8_t)
HNR_STORE(f8e4m3fn, uint8_t)
HNR_STORE(f8e4m3fnuz, uint8_t)
HNR_STORE(f8e5m2, uint8_t)
HNR_STORE(f8e5m2fnuz, uint8_t)
HNR_STORE(u4, uint8_t)
HNR_STORE(i4, int8_t)
HNR_STORE(f4e2m1, uint8_t)
HNR_STORE(f8e8m0, uint8_t)
typedef int32_t __attribute__((may_alias, aligned(1))) hnr_word; /* four bytes, anywhere */
HNR_STORE(u2, uint8_t)
HNR_STORE(i2, int8_t)
HNR_STORE(r1, uint8_t) /* raw bits, by size */
HNR_STORE(r2, uint16_t)
HNR_STORE(r4, uint32_t)
HNR_STORE(r8, uint64_t)
#undef HNR_STORE

HNR int64_t hn_floordiv(int64_t a, int64_t b) {
    if (b == 0) return 0;
    if (b == -1) return (int64_t)(0 - (uint64_t)a);
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
HNR int64_t hn_mod(int64_t a, int64_t b) {
    if (b == 0 || b == -1) return 0;
    int64_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
HNR int64_t hn_min(int64_t a, int64_t b) { return a < b ? a : b; }
HNR int64_t hn_max(int64_t a, int64_t b) { return a > b ? a : b; }

/* The error slot s[-1] (backend/backend.h): 4 is HONE_MODEL_INDEX. */
HNR void hnr_fail(const int64_t *s) { __atomic_store_n((int64_t *)(uintptr_t)(s - 1), 4, __ATOMIC_RELAXED); }

/* An index into n elements, negative ones from the end. Out of range: the error slot is set and the nearest index is
 * given, -1 where there is no element at all. */
HNR int64_t hnr_index(const int64_t *s, int64_t i, int64_t n) {
    if (i < 0 && i >= -n) return i + n;
    if (i >= 0 && i < n) return i;
    hnr_fail(s);
    if (n <= 0) return -1;
    return i < 0 ? 0 : n - 1;
}

/* Whether start, start + step … (count of them) are inside n elements. */
HNR int hnr_inside(int64_t start, int64_t step, int64_t count, int64_t n) {
    int64_t last;
    if (count <= 0) return 1;
    if (__builtin_mul_overflow(count - 1, step, &last) || __builtin_add_overflow(last, start, &last)) return 0;
    return start >= 0 && start < n && last >= 0 && last < n;
}

/* The source of position i, which may lie outside, of n > 0 elements: the nearest; mirrored about the first and the
 * last; repeated. */
HNR int64_t hnr_pad_edge(int64_t i, int64_t n) { return i < 0 ? 0 : i < n ? i : n - 1; }
HNR int64_t hnr_pad_wrap(int64_t i, int64_t n) { return hn_mod(i, n); }
HNR int64_t hnr_pad_reflect(int64_t i, int64_t n) {
    if (n == 1) return 0;
    i = hn_mod(i, 2 * (n - 1));
    return i < n ? i : 2 * (n - 1) - i;
}

HNR int64_t hnr_round64(int64_t size_b) { return (size_b + 63) & ~(int64_t)63; }

#endif
