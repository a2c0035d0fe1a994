/* rt/c_cuda.h — the language CUDA C++ as kernels are printed: types, address spaces, ids, barriers.
 *
 * Text in front of every CUDA module. It needs no header under NVRTC; nvcc and clang bring theirs.
 */
#define HNR_CUDA 1
#define HNR_DOUBLES 1
#if defined(__CUDACC_RTC__)
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
#define INT64_C(x) x##LL
#define INT64_MAX 9223372036854775807LL
#define INT64_MIN (-9223372036854775807LL - 1)
#define UINT64_MAX 18446744073709551615ULL
#define INT32_MAX 2147483647
#define INT32_MIN (-2147483647 - 1)
#else
#include <math.h>
#include <stdint.h>
#endif
#ifndef NULL
#define NULL 0
#endif
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fc00000)
#endif

#define HNR static __device__ inline __attribute__((unused))
#define HNR_GLOBAL
#define HNR_CONSTANT
#define HNR_TABLE static __device__ const
#define HNR_SHARED __shared__
#define HNR_SHARED_MEMORY /* behind a pointer */
/* Shared memory as large as the launch says. */
#if defined(HONE_CUDA_SHIM)
#define HNR_POOL(name) HONE_DYNAMIC_SHARED(char, name)
#else
#define HNR_POOL(name) extern __shared__ __attribute__((aligned(16))) char name[]
#endif
#define HNR_KERNEL(name, threads) extern "C" __global__ void __launch_bounds__(threads) name
/* Blocks in clusters of n neighbours. */
#define HNR_KERNEL_OF_CLUSTERS(name, threads, n)                                                                       \
    extern "C" __global__ void __cluster_dims__(n, 1, 1) __launch_bounds__(threads) name
#define HNR_MEM(name) char *name
#define HNR_AT(name) (name)
#define HNR_MAKE(type) type
#define HNR_RESTRICT __restrict__

/* In front of a loop of many, some, few multiply-adds: how often its body may stand. */
#define HNR_UNROLL_NOT _Pragma("unroll 1")
#define HNR_UNROLL_1 _Pragma("unroll 4")
#define HNR_UNROLL_2 _Pragma("unroll 4")
#define HNR_UNROLL_4 _Pragma("unroll 8")
#define HNR_ALIGNED __attribute__((aligned(16)))
/* Accesses of 4, 8 and 16 bytes. */
typedef uint32_t hnr_w1;
typedef struct __attribute__((aligned(8))) hnr_w2 {
    uint32_t x, y;
} hnr_w2;
typedef struct __attribute__((aligned(16))) hnr_w4 {
    uint32_t x, y, z, w;
} hnr_w4;
#define HNR_W2(a, b)                                                                                                   \
    hnr_w2 { a, b }
#define HNR_W4(a, b, c, d)                                                                                             \
    hnr_w4 { a, b, c, d }

#define HNR_THREAD ((int)threadIdx.x)
#define HNR_ITEM ((int64_t)blockIdx.x * blockDim.x + threadIdx.x)
#define HNR_ITEMS ((int64_t)gridDim.x * blockDim.x)
#define HNR_BLOCK ((int64_t)blockIdx.x)
#define HNR_BLOCKS ((int64_t)gridDim.x)
#define HNR_BARRIER() __syncthreads()
#define HNR_CLUSTER(n) ((int64_t)blockIdx.x / (n))
#define HNR_CLUSTERS(n) ((int64_t)gridDim.x / (n))
#define HNR_RANK(n) ((int)(blockIdx.x % (n)))

HNR uint32_t hnr_float_bits(float x) { return __float_as_uint(x); }
HNR float hnr_bits_float(uint32_t x) { return __uint_as_float(x); }
/* Every thread that fails stores the same number. */
HNR void hnr_fail(int64_t *s) { atomicExch((unsigned long long *)s, 4ull); }
/* IEEE halves, rounded to nearest even. */
#if defined(__CUDA_ARCH__)
HNR float hnr_f16_float(uint16_t x) {
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x));
    return y;
}
HNR uint16_t hnr_float_f16(float x) {
    uint16_t y;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x));
    return y;
}
#else
HNR float hnr_f16_float(uint16_t x) {
    uint32_t sign = (uint32_t)(x & 0x8000) << 16, rest = x & 0x7fff;
    if (rest >= 0x7c00) return hnr_bits_float(sign | 0x7f800000 | (rest & 0x3ff) << 13);
    return hnr_bits_float(sign | 0x3f800000) * (hnr_bits_float(rest << 13) * 5192296858534827628530496329220096.0f);
}
HNR uint16_t hnr_float_f16(float x) {
    uint32_t b = hnr_float_bits(x), sign = b >> 16 & 0x8000, e = b >> 23 & 255, m = (b & 0x7fffff) | 0x800000;
    if (e == 255) return (uint16_t)(sign | 0x7c00 | (b & 0x7fffff ? 0x200 : 0));
    if (e < 102) return (uint16_t)sign;
    int drop = e < 113 ? 126 - (int)e : 13; /* bits of the fraction that are lost */
    uint32_t rest = m & ((1u << drop) - 1), middle = 1u << (drop - 1),
             code = (m >> drop) + (e < 113 ? 0 : (e - 113) << 10);
    code += rest > middle || (rest == middle && (code & 1));
    return (uint16_t)(sign | (code > 0x7c00 ? 0x7c00 : code));
}
#endif

/* Copies from global to shared memory that go on beside the thread, and products of tiles by warps. The shim has
 * functions of its own for them. */
#if !defined(HONE_CUDA_SHIM)
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
HNR uint32_t hnr_shared_at(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }
/* `bytes` of 16 (4, 8), the rest zeros. */
#define HNR_CP_ASYNC(size, how)                                                                                        \
    HNR void hnr_cp_async##size##_guard(void *to, const void *from, int bytes) {                                       \
        asm volatile("cp.async." how ".shared.global [%0], [%1], " #size ", %2;" ::"r"(hnr_shared_at(to)), "l"(from),  \
                     "r"(bytes)                                                                                        \
                     : "memory");                                                                                      \
    }
HNR_CP_ASYNC(4, "ca")
HNR_CP_ASYNC(8, "ca")
HNR_CP_ASYNC(16, "cg")
HNR void hnr_cp_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int n> static __device__ inline void hnr_cp_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory");
}
/* Gates: mbarriers. */
HNR void hnr_mbar_init(uint64_t *at, int count) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(hnr_shared_at(at)), "r"(count) : "memory");
}
HNR void hnr_mbar_end(uint64_t *at) {
    asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(hnr_shared_at(at)) : "memory");
}
HNR void hnr_mbar_arrive(uint64_t *at) {
    asm volatile("{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [%0]; }" ::"r"(hnr_shared_at(at)) : "memory");
}
HNR void hnr_mbar_arrive_copies(uint64_t *at) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(hnr_shared_at(at)) : "memory");
}
#if __CUDA_ARCH__ >= 900
#define HNR_MBAR_TEST "try_wait"
#else
#define HNR_MBAR_TEST "test_wait"
#endif
HNR void hnr_mbar_wait(uint64_t *at, int phase) {
    uint32_t over;
    do {
        asm volatile("{ .reg .pred p; mbarrier." HNR_MBAR_TEST ".parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(over)
                     : "r"(hnr_shared_at(at)), "r"(phase)
                     : "memory");
    } while (!over);
}
#define HNR_MMA(name, n_a, form)                                                                                       \
    HNR void hnr_mma_##name(float *d, const uint32_t *a, const uint32_t *b) { HNR_MMA_##n_a(form); }
#define HNR_MMA_4(form)                                                                                                \
    asm volatile("mma.sync.aligned." form " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"           \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                                      \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
HNR_MMA(m16n8k16_f16, 4, "m16n8k16.row.col.f32.f16.f16.f32")
HNR_MMA(m16n8k16_bf16, 4, "m16n8k16.row.col.f32.bf16.bf16.f32")
HNR_MMA(m16n8k8_tf32, 4, "m16n8k8.row.col.f32.tf32.tf32.f32")
#undef HNR_MMA
#undef HNR_MMA_4
#undef HNR_CP_ASYNC
#if __CUDA_ARCH__ >= 900
/* Clusters of blocks: barriers, and writes to the shared memory of the others. */
HNR void hnr_cluster_barrier() {
    asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
}
HNR uint32_t hnr_shared_of(uint32_t at, int rank) {
    uint32_t there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at), "r"(rank));
    return there;
}
HNR void hnr_put4(uint32_t at, const uint32_t *x) {
    asm volatile("st.shared::cluster.b32 [%0], %1;" ::"r"(at), "r"(x[0]) : "memory");
}
HNR void hnr_put8(uint32_t at, const uint32_t *x) {
    asm volatile("st.shared::cluster.v2.b32 [%0], {%1, %2};" ::"r"(at), "r"(x[0]), "r"(x[1]) : "memory");
}
HNR void hnr_put16(uint32_t at, const uint32_t *x) {
    asm volatile("st.shared::cluster.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(x[0]), "r"(x[1]), "r"(x[2]),
                 "r"(x[3])
                 : "memory");
}
#define HNR_PUSH_OF(size, type, ...)                                                                                   \
    template <int n> static __device__ inline void hnr_push##size(const void *p) {                                     \
        const type v = *(const type *)p;                                                                               \
        const uint32_t x[] = {__VA_ARGS__}, at = hnr_shared_at(p);                                                     \
        _Pragma("unroll") for (int k = 1; k < n; k++) hnr_put##size(hnr_shared_of(at, (HNR_RANK(n) + k) % n), x);      \
    }
HNR_PUSH_OF(4, hnr_w1, v)
HNR_PUSH_OF(8, hnr_w2, v.x, v.y)
HNR_PUSH_OF(16, hnr_w4, v.x, v.y, v.z, v.w)
#undef HNR_PUSH_OF
#else
HNR void hnr_cluster_barrier() {}
template <int n> static __device__ inline void hnr_push4(const void *) {}
template <int n> static __device__ inline void hnr_push8(const void *) {}
template <int n> static __device__ inline void hnr_push16(const void *) {}
#endif
#else
HNR void hnr_cluster_barrier() {}
template <int n> static __device__ inline void hnr_push4(const void *) {}
template <int n> static __device__ inline void hnr_push8(const void *) {}
template <int n> static __device__ inline void hnr_push16(const void *) {}
HNR void hnr_cp_part(void *to, const void *from, int size, int bytes) {
    for (int i = 0; i < size; i++) ((char *)to)[i] = i < bytes ? ((const char *)from)[i] : 0;
}
HNR void hnr_cp_async4_guard(void *to, const void *from, int bytes) { hnr_cp_part(to, from, 4, bytes); }
HNR void hnr_cp_async8_guard(void *to, const void *from, int bytes) { hnr_cp_part(to, from, 8, bytes); }
HNR void hnr_cp_async16_guard(void *to, const void *from, int bytes) { hnr_cp_part(to, from, 16, bytes); }
HNR void hnr_cp_commit() {}
template <int n> static __device__ inline void hnr_cp_wait() {}
#endif
#else
#define hnr_cp_async8_guard(to, from, bytes) shim_copy_async(to, from, 8, bytes, __FILE__, __LINE__)
#endif
#if defined(HONE_CUDA_SHIM)
#define HNR_PUSH(size, n, at) shim_push(at, size, n, __FILE__, __LINE__)
#define HNR_CLUSTER_BARRIER() shim_cluster_barrier(__FILE__, __LINE__)
#else
#define HNR_PUSH(size, n, at) hnr_push##size<n>(at)
#define HNR_CLUSTER_BARRIER() hnr_cluster_barrier()
#endif
#define HNR_COPY(size, to, from, holds)                                                                                \
    hnr_cp_async##size##_guard(to, (holds) ? (const void *)(from) : (const void *)(to), (holds) ? size : 0)
#define HNR_GATE_OPEN(at, count) hnr_mbar_init(at, count)
#define HNR_GATE_CLOSE(at) hnr_mbar_end(at)
#define HNR_ARRIVE(at) hnr_mbar_arrive(at)
#define HNR_ARRIVE_COPIES(at) hnr_mbar_arrive_copies(at)
#define HNR_AWAIT(at, phase) hnr_mbar_wait(at, phase)
#define HNR_COMMIT() hnr_cp_commit()
#define HNR_WAIT(n) hnr_cp_wait<n>()
