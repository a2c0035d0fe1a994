/* shim/rt/shim.cuh — CUDA C for g++: what stands before a kernel's source so that it runs on the CPU (docs/race.md).
 *
 *     g++ -std=c++17 -O1 -g1 -fPIC -fsanitize=thread,bounds -fno-extern-tls-init -include shim.cuh -x c++ softmax.cu
 *
 * No library of sanitizers is linked: hone-shim.so has the functions that instrumented code calls. Shared variables become
 * variables of a thread of the CPU (thread_local), of which there is one: so `extern __shared__` arrays and those of
 * templates are told from all others. C++ programs (tests) call shim::launch.
 *
 * Not here: textures, tensor cores beyond mma.sync m16n8k16 and m16n8k8, inline PTX, cooperative groups; of clusters
 * what hone's own kernels take. */
#ifndef HONE_SHIM_CUH
#define HONE_SHIM_CUH

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HONE_CUDA_SHIM 1
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __constant__ static
#define __managed__
#define __launch_bounds__(...)
#define __cluster_dims__(...) /* the launch says it: shim_options()->cluster */
#define __maxnreg__(n)
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))
#define __shared__ __attribute__((used)) thread_local
#define HONE_DYNAMIC_SHARED(type, name) type *name = static_cast<type *>(shim_dynamic())
#define alignas(...) __attribute__((aligned(__VA_ARGS__))) /* may stand behind __shared__ */
#define HS_PLAIN __attribute__((no_sanitize("thread", "bounds"), noinline))
#define HS_SITE __builtin_return_address(0)

/* --- types and built-in variables */
#define HS_VECTORS(T, name)                                                                                            \
    struct name##1 {                                                                                                   \
        T x;                                                                                                           \
    };                                                                                                                 \
    struct alignas(2 * sizeof(T)) name##2 {                                                                            \
        T x, y;                                                                                                        \
    };                                                                                                                 \
    struct name##3 {                                                                                                   \
        T x, y, z;                                                                                                     \
    };                                                                                                                 \
    struct alignas(4 * sizeof(T) > 16 ? 16 : 4 * sizeof(T)) name##4 {                                                  \
        T x, y, z, w;                                                                                                  \
    };                                                                                                                 \
    static inline name##2 make_##name##2(T x, T y) { return {x, y}; }                                                  \
    static inline name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }                                          \
    static inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
HS_VECTORS(signed char, char)
HS_VECTORS(unsigned char, uchar)
HS_VECTORS(short, short)
HS_VECTORS(unsigned short, ushort)
HS_VECTORS(int, int)
HS_VECTORS(unsigned, uint)
HS_VECTORS(long, long)
HS_VECTORS(unsigned long, ulong)
HS_VECTORS(long long, longlong)
HS_VECTORS(unsigned long long, ulonglong)
HS_VECTORS(float, float)
HS_VECTORS(double, double)

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
/* Const: the same for all of a thread's life, so that the compiler need not ask each time. */
extern "C" const uint3 threadIdx, blockIdx;
extern "C" const struct hs_dims {
    unsigned x, y, z;
    operator dim3() const { return dim3(x, y, z); }
} blockDim, gridDim;
static const int warpSize = 32;

#include "shim_ops.h"

/* --- barriers, warps */
#define __syncthreads() shim_barrier("__syncthreads", __FILE__, __LINE__)
#define __syncthreads_count(v) shim_block_sum((v) ? 1 : 0, "__syncthreads_count", __FILE__, __LINE__)
#define __syncthreads_or(v) (shim_block_sum((v) ? 1 : 0, "__syncthreads_or", __FILE__, __LINE__) != 0)
#define __syncthreads_and(v) (shim_block_sum((v) ? 0 : 1, "__syncthreads_and", __FILE__, __LINE__) == 0)
#define HS_MASK_(mask, ...) mask
#define HS_MASK(...) HS_MASK_(__VA_ARGS__ __VA_OPT__(, ) 0xffffffffu)
#define __syncwarp(...) shim_syncwarp(HS_MASK(__VA_ARGS__), __FILE__, __LINE__)
#define __activemask() 0xffffffffu
#define __nanosleep(ns) shim_pause(__FILE__, __LINE__)
#define __threadfence() shim_fence()
#define __threadfence_block() ((void)0)
#define __threadfence_system() shim_fence()

template <class T> static inline uint64_t hs_pack(T v) {
    static_assert(sizeof(T) <= 8, "a shuffle moves 8 bytes at most");
    uint64_t w = 0;
    memcpy(&w, &v, sizeof v);
    return w;
}
template <class T>
static inline T hs_shuffle(unsigned mask, T v, int j, int width, bool index, const char *what, const char *file, int line) {
    const int l = static_cast<int>(shim_lane()), low = l & ~(width - 1), high = low + width - 1;
    if (index) j = low | (j & (width - 1));
    const uint64_t w = shim_shuffle(mask, hs_pack(v), static_cast<unsigned>(j < low || j > high ? l : j), what, file, line);
    T out;
    memcpy(static_cast<void *>(&out), &w, sizeof out);
    return out;
}
static inline int hs_width(int width = 32) { return width; }
#define HS_SHUFFLE(what, mask, v, j, index, ...)                                                                       \
    hs_shuffle(mask, v, j, hs_width(__VA_ARGS__), index, what, __FILE__, __LINE__)
#define HS_LANE static_cast<int>(shim_lane())
#define __shfl_sync(mask, v, j, ...) HS_SHUFFLE("__shfl_sync", mask, v, static_cast<int>(j), true, __VA_ARGS__)
#define __shfl_up_sync(mask, v, n, ...)                                                                                \
    HS_SHUFFLE("__shfl_up_sync", mask, v, HS_LANE - static_cast<int>(n), false, __VA_ARGS__)
#define __shfl_down_sync(mask, v, n, ...)                                                                              \
    HS_SHUFFLE("__shfl_down_sync", mask, v, HS_LANE + static_cast<int>(n), false, __VA_ARGS__)
#define __shfl_xor_sync(mask, v, n, ...)                                                                               \
    HS_SHUFFLE("__shfl_xor_sync", mask, v, HS_LANE ^ static_cast<int>(n), false, __VA_ARGS__)
#define __ballot_sync(mask, v) shim_ballot(mask, (v) ? 1 : 0, "__ballot_sync", __FILE__, __LINE__)
#define __any_sync(mask, v) (shim_ballot(mask, (v) ? 1 : 0, "__any_sync", __FILE__, __LINE__) != 0)
#define __all_sync(mask, v) (shim_ballot(mask, (v) ? 0 : 1, "__all_sync", __FILE__, __LINE__) == 0)
#define __match_any_sync(mask, v) shim_match(mask, hs_pack(v), __FILE__, __LINE__)
#define HS_REDUCE(what, mask, v, op) static_cast<decltype(+(v))>(shim_reduce(mask, v, op, what, __FILE__, __LINE__))
#define __reduce_add_sync(mask, v) HS_REDUCE("__reduce_add_sync", mask, v, '+')
#define __reduce_max_sync(mask, v) HS_REDUCE("__reduce_max_sync", mask, v, '>')
#define __reduce_min_sync(mask, v) HS_REDUCE("__reduce_min_sync", mask, v, '<')
#define __reduce_and_sync(mask, v) HS_REDUCE("__reduce_and_sync", mask, v, '&')
#define __reduce_or_sync(mask, v) HS_REDUCE("__reduce_or_sync", mask, v, '|')
#define __reduce_xor_sync(mask, v) HS_REDUCE("__reduce_xor_sync", mask, v, '^')

/* --- atomics: fibres change only where they wait */
template <class T> struct hs_same {
    using type = T;
};
template <class T> using hs_of = typename hs_same<T>::type;
#define HS_ATOMIC(name, value)                                                                                         \
    template <class T> HS_PLAIN static T name(T *p, hs_of<T> v) {                                                      \
        shim_atomic(p, sizeof *p, HS_SITE);                                                                            \
        T old = *p;                                                                                                    \
        return *p = value, old;                                                                                        \
    }
HS_ATOMIC(atomicAdd, old + v)
HS_ATOMIC(atomicSub, old - v)
HS_ATOMIC(atomicMax, old > v ? old : v)
HS_ATOMIC(atomicMin, old < v ? old : v)
HS_ATOMIC(atomicOr, old | v)
HS_ATOMIC(atomicAnd, old &v)
HS_ATOMIC(atomicXor, old ^ v)
HS_ATOMIC(atomicExch, v)
HS_ATOMIC(atomicInc, old >= v ? 0 : old + 1)
HS_ATOMIC(atomicDec, !old || old > v ? v : old - 1)
template <class T> HS_PLAIN static T atomicCAS(T *p, hs_of<T> want, hs_of<T> v) {
    shim_atomic(p, sizeof *p, HS_SITE);
    T old = *p;
    return *p = old == want ? v : old, old;
}
#define atomicAdd_block atomicAdd
#define atomicAdd_system atomicAdd

/* --- functions of the device */
template <class T> static inline T __ldg(const T *p) { return *p; }
template <class T> static inline T __ldcg(const T *p) { return *p; }
template <class T> static inline T __ldcs(const T *p) { return *p; }
template <class T> static inline void __stcs(T *p, T v) { *p = v; }
template <class T> static inline void __stcg(T *p, T v) { *p = v; }
static inline int min(int a, int b) { return a < b ? a : b; }
static inline int max(int a, int b) { return a > b ? a : b; }
static inline unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }
static inline unsigned max(unsigned a, unsigned b) { return a > b ? a : b; }
static inline long long min(long long a, long long b) { return a < b ? a : b; }
static inline long long max(long long a, long long b) { return a > b ? a : b; }
static inline float min(float a, float b) { return fminf(a, b); }
static inline float max(float a, float b) { return fmaxf(a, b); }
static inline double min(double a, double b) { return fmin(a, b); }
static inline double max(double a, double b) { return fmax(a, b); }
#define __expf(x) expf(x) /* the C library has declared that name */
#define __exp10f(x) exp10f(x)
#define __logf(x) logf(x)
#define __log2f(x) log2f(x)
#define __log10f(x) log10f(x)
#define __sinf(x) sinf(x)
#define __cosf(x) cosf(x)
#define __tanf(x) tanf(x)
#define __powf(x, y) powf(x, y)
static inline float __fdividef(float a, float b) { return a / b; }
static inline float __fadd_rn(float a, float b) { return a + b; }
static inline float __fsub_rn(float a, float b) { return a - b; }
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline float __fdiv_rn(float a, float b) { return a / b; }
static inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
static inline float __fsqrt_rn(float x) { return sqrtf(x); }
static inline float __frcp_rn(float x) { return 1 / x; }
static inline double __dadd_rn(double a, double b) { return a + b; }
static inline double __dsub_rn(double a, double b) { return a - b; }
static inline double __dmul_rn(double a, double b) { return a * b; }
static inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
static inline float __saturatef(float x) { return x > 0 ? x < 1 ? x : 1 : 0; }
static inline float rsqrtf(float x) { return 1 / sqrtf(x); }
static inline double rsqrt(double x) { return 1 / sqrt(x); }
static inline void sincospif(float x, float *s, float *c) {
    *s = static_cast<float>(sin(M_PI * static_cast<double>(x)));
    *c = static_cast<float>(cos(M_PI * static_cast<double>(x)));
}
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clz(int x) { return x ? __builtin_clz(static_cast<unsigned>(x)) : 32; }
static inline int __clzll(long long x) { return x ? __builtin_clzll(static_cast<unsigned long long>(x)) : 64; }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline unsigned __brev(unsigned x) {
    unsigned r = 0;
    for (int i = 0; i < 32; i++) r |= (x >> i & 1) << (31 - i);
    return r;
}
static inline unsigned __byte_perm(unsigned a, unsigned b, unsigned s) {
    const uint64_t both = static_cast<uint64_t>(b) << 32 | a;
    unsigned r = 0;
    for (int i = 0; i < 4; i++) r |= static_cast<unsigned>(both >> 8 * (s >> 4 * i & 7) & 255) << 8 * i;
    return r;
}
static inline int __mul24(int a, int b) { return a * b; }
static inline int __mulhi(int a, int b) { return static_cast<int>(static_cast<int64_t>(a) * b >> 32); }
static inline unsigned __umulhi(unsigned a, unsigned b) {
    return static_cast<unsigned>(static_cast<uint64_t>(a) * b >> 32);
}
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
static inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned n) {
    return static_cast<unsigned>((static_cast<uint64_t>(high) << 32 | low) << (n & 31) >> 32);
}
static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned n) {
    return static_cast<unsigned>((static_cast<uint64_t>(high) << 32 | low) >> (n & 31));
}
template <class To, class From> static inline To hs_bits(From x) {
    static_assert(sizeof(To) == sizeof(From), "bits of one size");
    To y;
    return memcpy(static_cast<void *>(&y), &x, sizeof y), y;
}
static inline int __float_as_int(float x) { return hs_bits<int>(x); }
static inline unsigned __float_as_uint(float x) { return hs_bits<unsigned>(x); }
static inline float __int_as_float(int x) { return hs_bits<float>(x); }
static inline float __uint_as_float(unsigned x) { return hs_bits<float>(x); }
static inline long long __double_as_longlong(double x) { return hs_bits<long long>(x); }
static inline double __longlong_as_double(long long x) { return hs_bits<double>(x); }
static inline int __float2int_rn(float x) { return static_cast<int>(rintf(x)); }
static inline int __float2int_rz(float x) { return static_cast<int>(x); }
static inline int __float2int_rd(float x) { return static_cast<int>(floorf(x)); }
static inline int __float2int_ru(float x) { return static_cast<int>(ceilf(x)); }
static inline float __int2float_rn(int x) { return static_cast<float>(x); }
static inline int __dp4a(int a, int b, int c) {
    for (int i = 0; i < 4; i++)
        c += static_cast<signed char>(static_cast<unsigned>(a) >> 8 * i) *
             static_cast<signed char>(static_cast<unsigned>(b) >> 8 * i);
    return c;
}
static inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
    for (int i = 0; i < 4; i++) c += (a >> 8 * i & 255) * (b >> 8 * i & 255);
    return c;
}
static inline size_t __cvta_generic_to_shared(const void *p) { return reinterpret_cast<size_t>(p); }

/* --- half and bfloat16: stored in 16 bits, calculated in float, rounded to nearest even */
static inline float hs_half_value(unsigned short h) {
    const unsigned sign = (h >> 15 & 1u) << 31, exponent = h >> 10 & 31u, fraction = h & 1023u;
    if (!exponent) return (sign ? -1.0f : 1.0f) * static_cast<float>(fraction) * 0x1p-24f;
    return hs_bits<float>(exponent == 31 ? sign | 0x7f800000u | fraction << 13 : sign | (exponent + 112) << 23 | fraction << 13);
}
static inline unsigned short hs_half_bits(float x) {
    const unsigned u = hs_bits<unsigned>(x), sign = u >> 16 & 0x8000u, a = u & 0x7fffffffu;
    if (a > 0x7f800000u) return static_cast<unsigned short>(0x7fffu);
    if (a >= 0x477ff000u) return static_cast<unsigned short>(sign | 0x7c00u);
    if (a < 0x38800000u) /* subnormal: a multiple of 2^-24 */
        return static_cast<unsigned short>(sign | static_cast<unsigned>(rintf(hs_bits<float>(a) * 0x1p24f)));
    return static_cast<unsigned short>(sign | ((a + 0xfffu + (a >> 13 & 1u) - 0x38000000u) >> 13));
}
static inline float hs_bf16_value(unsigned short h) { return hs_bits<float>(static_cast<unsigned>(h) << 16); }
static inline unsigned short hs_bf16_bits(float x) {
    const unsigned u = hs_bits<unsigned>(x);
    if ((u & 0x7fffffffu) > 0x7f800000u) return static_cast<unsigned short>(0x7fffu);
    return static_cast<unsigned short>((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}
#define HS_NARROW(name, value, bits_of)                                                                                \
    struct name {                                                                                                      \
        unsigned short bits;                                                                                           \
        constexpr name() : bits(0) {} /* as a constant: shared variables of it need no code that runs before */        \
        name(float x) : bits(bits_of(x)) {}                                                                            \
        operator float() const { return value(bits); }                                                                 \
        name &operator+=(name o) { return *this = name(value(bits) + value(o.bits)); }                                 \
        name &operator-=(name o) { return *this = name(value(bits) - value(o.bits)); }                                 \
        name &operator*=(name o) { return *this = name(value(bits) * value(o.bits)); }                                 \
    };                                                                                                                 \
    struct alignas(4) name##2 {                                                                                        \
        name x, y;                                                                                                     \
    };
HS_NARROW(__half, hs_half_value, hs_half_bits)
HS_NARROW(__nv_bfloat16, hs_bf16_value, hs_bf16_bits)
using half = __half;
using half2 = __half2;
using nv_bfloat16 = __nv_bfloat16;
static inline float __half2float(__half h) { return h; }
static inline __half __float2half(float x) { return x; }
static inline __half __float2half_rn(float x) { return x; }
static inline float __bfloat162float(__nv_bfloat16 h) { return h; }
static inline __nv_bfloat16 __float2bfloat16(float x) { return x; }
static inline __nv_bfloat16 __float2bfloat16_rn(float x) { return x; }
static inline __half __hadd(__half a, __half b) { return __half(float(a) + float(b)); }
static inline __half __hmul(__half a, __half b) { return __half(float(a) * float(b)); }
static inline __half __hfma(__half a, __half b, __half c) { return __half(fmaf(a, b, c)); }
static inline __half __ushort_as_half(unsigned short u) { return hs_bits<__half>(u); }
static inline unsigned short __half_as_ushort(__half h) { return h.bits; }
static inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short u) { return hs_bits<__nv_bfloat16>(u); }
static inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 h) { return h.bits; }
static inline __half2 __floats2half2_rn(float a, float b) { return {a, b}; }
static inline float2 __half22float2(__half2 h) { return {h.x, h.y}; }

/* --- asynchronous copies and matrix products, as hone's kernels spell them; cuda_pipeline_primitives.h's names */
#define hnr_cp_async16(to, from) shim_copy_async(to, from, 16, 16, __FILE__, __LINE__)
#define hnr_cp_async16_guard(to, from, bytes) shim_copy_async(to, from, 16, bytes, __FILE__, __LINE__)
#define hnr_cp_async8(to, from) shim_copy_async(to, from, 8, 8, __FILE__, __LINE__)
#define hnr_cp_async8_guard(to, from, bytes) shim_copy_async(to, from, 8, bytes, __FILE__, __LINE__)
#define hnr_cp_async4(to, from) shim_copy_async(to, from, 4, 4, __FILE__, __LINE__)
#define hnr_cp_async4_guard(to, from, bytes) shim_copy_async(to, from, 4, bytes, __FILE__, __LINE__)
#define hnr_cp_commit() shim_copy_commit()
template <int LEFT> static inline void hnr_cp_wait() { shim_copy_wait(LEFT); }
#define hnr_cp_wait_all() shim_copy_wait(-1)
#define hnr_ldmatrix_x4(out, row) shim_ldmatrix(out, row, 4, 0, __FILE__, __LINE__)
#define hnr_ldmatrix_x2(out, row) shim_ldmatrix(out, row, 2, 0, __FILE__, __LINE__)
#define hnr_ldmatrix_x1(out, row) shim_ldmatrix(out, row, 1, 0, __FILE__, __LINE__)
#define hnr_ldmatrix_x4_trans(out, row) shim_ldmatrix(out, row, 4, 1, __FILE__, __LINE__)
#define hnr_ldmatrix_x2_trans(out, row) shim_ldmatrix(out, row, 2, 1, __FILE__, __LINE__)
#define hnr_mma_m16n8k16_f16(d, a, b) shim_mma_16816(d, a, b, 0, __FILE__, __LINE__)
#define hnr_mma_m16n8k8_tf32(d, a, b) shim_mma_1688(d, a, b, __FILE__, __LINE__)
#define hnr_mma_m16n8k16_bf16(d, a, b) shim_mma_16816(d, a, b, 1, __FILE__, __LINE__)
#define HS_MBAR(bar) reinterpret_cast<uint64_t *>(bar)
#define hnr_mbar_init(bar, count) shim_mbar_init(HS_MBAR(bar), count, __FILE__, __LINE__)
#define hnr_mbar_arrive(bar) shim_mbar_arrive(HS_MBAR(bar), __FILE__, __LINE__)
#define hnr_mbar_expect(bar, bytes) shim_mbar_expect(HS_MBAR(bar), bytes, __FILE__, __LINE__)
#define hnr_mbar_wait(bar, phase) shim_mbar_wait(HS_MBAR(bar), phase, __FILE__, __LINE__)
#define hnr_mbar_arrive_copies(bar) shim_mbar_arrive_copies(HS_MBAR(bar), __FILE__, __LINE__)
#define hnr_mbar_end(bar) shim_mbar_end(HS_MBAR(bar), __FILE__, __LINE__)
#define hnr_bulk_copy(to, from, bytes, bar) shim_bulk_copy(to, from, bytes, HS_MBAR(bar), __FILE__, __LINE__)
#define hnr_fence_async() ((void)0)
#define hnr_named_barrier(id, threads) shim_named_barrier(id, threads, __FILE__, __LINE__)
#define __pipeline_memcpy_async(to, from, n, ...) shim_copy_async(to, from, n, n, __FILE__, __LINE__)
#define __pipeline_commit() shim_copy_commit()
#define __pipeline_wait_prior(n) shim_copy_wait(n)

/* --- for C++ programs that run kernels */
#include "shim.h"
namespace shim {
enum run_order { FORWARDS, BACKWARDS, PERMUTED };
static run_order order = FORWARDS;
static uint64_t seed = 1;
static const char *fault = "";
template <class F> static void call(void *f) { (*static_cast<F *>(f))(); }
/* Runs kernel(), a call of the kernel with its arguments, for every thread of the grid; false: shim::fault says what
 * was wrong. */
template <class F> static bool launch(dim3 grid, dim3 block, size_t dynamic_b, F kernel) {
    shim_options()->order = static_cast<hs_order>(order);
    shim_options()->seed = seed;
    const bool good = shim_launch_call("", {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, dynamic_b, call<F>, &kernel,
                                       reinterpret_cast<const void *>(call<F>));
    seed = shim_options()->seed;
    fault = shim_fault();
    return good;
}
} // namespace shim
#endif
