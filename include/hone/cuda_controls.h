/* clang-format off */
/* hone/cuda_controls.h — controls that stand in a CUDA kernel's source. The kernel uses each macro once, where it acts;
 * a build sets it by -D. With nothing set the code is exactly the plain code. docs/cuda-controls.md has an example.
 *
 *   in the kernel                     set by                       plain
 *   HONE_LAUNCH(threads)              -DHONE_BOUNDS=1              0; 1: __launch_bounds__(threads)
 *                                     -DHONE_MIN_BLOCKS=2          0; n: __launch_bounds__(threads, n)
 *                                     -DHONE_MAXNREG=64            0; n: __maxnreg__(n), not beside the other two
 *   HONE_KERNEL_NAME(softmax)         -DHONE_NAME_PREFIX=cutlass_  none: softmax; else cutlass_softmax
 *   HONE_KERNEL_TEXT(softmax)                                      that name as a text, for the launch
 *   HONE_KERNEL_BEGIN()               -DHONE_SMEM_SPILL=1          0; 1: registers are spilled to shared memory
 *   HONE_RESTRICT                     -DHONE_ADD_RESTRICT=1        0; 1: __restrict__
 *   HONE_UNROLL(K) before a loop      -DHONE_UNROLL_K=4            0: no pragma; full; 1 to 16, 20, 24, 28, 32,
 *                                                                  40, 48, 56, 64, 96, 128
 *   HONE_LOAD(A, &a[i])               -DHONE_LOAD_A=cg             plain: a[i]
 *   HONE_STORE(Y, &y[i], v)           -DHONE_STORE_Y=cs            plain: y[i] = v
 *   HONE_SIZE(TILE, 32);              -DHONE_SIZE_TILE=64          a constant TILE, 32 unless set
 *   HONE_DYNAMIC_SHARED(float, tile);                              extern __shared__ float tile[]
 *
 * K, A, Y and TILE are names of the kernel's own. A kernel whose plain code has one of them, such as __restrict__,
 * defines the macro before the include unless a build has. A build that sets a macro to a value that is not listed
 * fails, except an unroll factor, which is then left out.
 *
 * HONE_LOAD and HONE_STORE take pointers to global memory, to values of 1, 2, 4, 8 or 16 bytes that are aligned to
 * their size. HONE_LOAD is for memory that no thread writes while the kernel runs: such loads may be moved, joined and
 * cached.
 *   loads:   ca cg cs lu cv (PTX cache operators), nc (what __ldg does), evict_first evict_last no_allocate (priority
 *            in L1), nc_evict_first nc_evict_last nc_no_allocate, l2_64b l2_128b l2_256b (how much L2 fetches)
 *   stores:  wb cg cs wt, evict_first evict_last evict_unchanged no_allocate
 *
 * Compilers: nvcc, NVRTC (this header includes nothing) and clang, with CUDA's headers or without (-nocudainc
 * -nocudalib; include <__clang_cuda_builtin_vars.h> for threadIdx). clang has no __maxnreg__: HONE_MAXNREG is an error
 * there. On other compilers all macros are plain, so that a program for the host can share the source. HONE_SIZE,
 * HONE_LOAD and HONE_STORE are for C++. */
/* clang-format on */
#ifndef HONE_CUDA_CONTROLS_H
#define HONE_CUDA_CONTROLS_H

enum { HONE_CUDA_CONTROLS = 1 }; /* version of these macros */

#define HN_CUDA_JOIN_(a, b) a##b
#define HN_CUDA_JOIN(a, b) HN_CUDA_JOIN_(a, b)
#define HN_CUDA_TEXT_(...) #__VA_ARGS__
#define HN_CUDA_TEXT(...) HN_CUDA_TEXT_(__VA_ARGS__)
/* A row of a table is a macro that expands to "~, replacement". What is joined with a word that is no row stays one
 * argument, and the second one is then the plain code. */
#define HN_CUDA_SECOND_(a, b, ...) b
#define HN_CUDA_SECOND(...) HN_CUDA_SECOND_(__VA_ARGS__, ~, ~)
#define HN_CUDA_THIRD_(a, b, c, ...) c
#define HN_CUDA_THIRD(...) HN_CUDA_THIRD_(__VA_ARGS__, ~, ~)

/* --- what kind of compiler this is */
#if defined(__CUDACC__) || defined(__CUDACC_RTC__) || (defined(__clang__) && defined(__CUDA__))
#define HN_CUDA_DEVICE 1
#else
#define HN_CUDA_DEVICE 0
#endif

#if HN_CUDA_DEVICE && defined(__clang__) && !defined(__CLANG_CUDA_RUNTIME_WRAPPER_H__)
/* clang without CUDA's headers knows attributes only. */
#ifndef __global__
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#endif
#ifndef __forceinline__
#define __forceinline__ inline __attribute__((always_inline))
#endif
#ifndef __launch_bounds__
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#endif
#endif

/* --- launch bounds, registers */
#ifndef HONE_BOUNDS
#define HONE_BOUNDS 0
#endif
#ifndef HONE_MIN_BLOCKS
#define HONE_MIN_BLOCKS 0
#endif
#ifndef HONE_MAXNREG
#define HONE_MAXNREG 0
#endif
#if HONE_MAXNREG && (HONE_BOUNDS || HONE_MIN_BLOCKS)
#error "HONE_MAXNREG beside HONE_BOUNDS or HONE_MIN_BLOCKS: __launch_bounds__ excludes __maxnreg__, set one of them"
#endif
#if !HN_CUDA_DEVICE
#define HONE_LAUNCH(threads)
#elif HONE_MAXNREG
#ifdef __clang__
#error "HONE_MAXNREG is set, but clang has no __maxnreg__: use HONE_MIN_BLOCKS, or ptxas's -maxrregcount"
#endif
#define HONE_LAUNCH(threads) __maxnreg__(HONE_MAXNREG)
#elif HONE_MIN_BLOCKS
#define HONE_LAUNCH(threads) __launch_bounds__(threads, HONE_MIN_BLOCKS)
#elif HONE_BOUNDS
#define HONE_LAUNCH(threads) __launch_bounds__(threads)
#else
#define HONE_LAUNCH(threads)
#endif

/* --- name; spilling; aliasing */
#ifndef HONE_NAME_PREFIX
#define HONE_NAME_PREFIX none
#endif
#define HN_CUDA_NAME_none ~,
#define HONE_KERNEL_NAME(name)                                                                                         \
    HN_CUDA_JOIN(HN_CUDA_SECOND(HN_CUDA_JOIN(HN_CUDA_NAME_, HONE_NAME_PREFIX), HONE_NAME_PREFIX), name)
#define HONE_KERNEL_TEXT(name) HN_CUDA_TEXT(HONE_KERNEL_NAME(name))

#ifndef HONE_SMEM_SPILL
#define HONE_SMEM_SPILL 0
#endif
#if HN_CUDA_DEVICE && HONE_SMEM_SPILL
#define HONE_KERNEL_BEGIN() asm volatile(".pragma \"enable_smem_spilling\";")
#else
#define HONE_KERNEL_BEGIN() ((void)0)
#endif

#ifndef HONE_ADD_RESTRICT
#define HONE_ADD_RESTRICT 0
#endif
#if HONE_ADD_RESTRICT
#define HONE_RESTRICT __restrict__
#else
#define HONE_RESTRICT
#endif

#ifndef HONE_DYNAMIC_SHARED /* a CPU shim brings its own */
#define HONE_DYNAMIC_SHARED(type, name) extern __shared__ type name[]
#endif

/* --- unroll factors */
#if HN_CUDA_DEVICE
#define HONE_UNROLL(name) HN_CUDA_SECOND(HN_CUDA_JOIN(HN_CUDA_UNROLL_, HONE_UNROLL_##name), )
#else
#define HONE_UNROLL(name)
#endif
#define HN_CUDA_UNROLL_1 ~, _Pragma("unroll 1")
#define HN_CUDA_UNROLL_2 ~, _Pragma("unroll 2")
#define HN_CUDA_UNROLL_3 ~, _Pragma("unroll 3")
#define HN_CUDA_UNROLL_4 ~, _Pragma("unroll 4")
#define HN_CUDA_UNROLL_5 ~, _Pragma("unroll 5")
#define HN_CUDA_UNROLL_6 ~, _Pragma("unroll 6")
#define HN_CUDA_UNROLL_7 ~, _Pragma("unroll 7")
#define HN_CUDA_UNROLL_8 ~, _Pragma("unroll 8")
#define HN_CUDA_UNROLL_9 ~, _Pragma("unroll 9")
#define HN_CUDA_UNROLL_10 ~, _Pragma("unroll 10")
#define HN_CUDA_UNROLL_11 ~, _Pragma("unroll 11")
#define HN_CUDA_UNROLL_12 ~, _Pragma("unroll 12")
#define HN_CUDA_UNROLL_13 ~, _Pragma("unroll 13")
#define HN_CUDA_UNROLL_14 ~, _Pragma("unroll 14")
#define HN_CUDA_UNROLL_15 ~, _Pragma("unroll 15")
#define HN_CUDA_UNROLL_16 ~, _Pragma("unroll 16")
#define HN_CUDA_UNROLL_20 ~, _Pragma("unroll 20")
#define HN_CUDA_UNROLL_24 ~, _Pragma("unroll 24")
#define HN_CUDA_UNROLL_28 ~, _Pragma("unroll 28")
#define HN_CUDA_UNROLL_32 ~, _Pragma("unroll 32")
#define HN_CUDA_UNROLL_40 ~, _Pragma("unroll 40")
#define HN_CUDA_UNROLL_48 ~, _Pragma("unroll 48")
#define HN_CUDA_UNROLL_56 ~, _Pragma("unroll 56")
#define HN_CUDA_UNROLL_64 ~, _Pragma("unroll 64")
#define HN_CUDA_UNROLL_96 ~, _Pragma("unroll 96")
#define HN_CUDA_UNROLL_128 ~, _Pragma("unroll 128")
#define HN_CUDA_UNROLL_full ~, _Pragma("unroll")

#ifdef __cplusplus
/* --- sizes: the text of the macro is read by the compiler, so that one that is not set needs no definition */
#if HN_CUDA_DEVICE
#define HN_CUDA_BOTH __host__ __device__
#else
#define HN_CUDA_BOTH
#endif
HN_CUDA_BOTH constexpr bool hn_cuda_digit(char c) { return c >= '0' && c <= '9'; }
HN_CUDA_BOTH constexpr int hn_cuda_number(const char *s, int sum) {
    return hn_cuda_digit(*s) ? hn_cuda_number(s + 1, sum * 10 + (*s - '0')) : *s ? -1 : sum;
}
HN_CUDA_BOTH constexpr bool hn_cuda_same(const char *a, const char *b) {
    return *a == *b && (!*a || hn_cuda_same(a + 1, b + 1));
}
HN_CUDA_BOTH constexpr int hn_cuda_size(const char *text, const char *name, int plain) {
    return hn_cuda_same(text, name) ? plain : *text ? hn_cuda_number(text, 0) : -1;
}
#define HONE_SIZE(name, plain)                                                                                         \
    constexpr int name = hn_cuda_size(HN_CUDA_TEXT(HONE_SIZE_##name), "HONE_SIZE_" #name, plain);                      \
    static_assert(name > 0, "HONE_SIZE_" #name " is set to something that is no whole number above 0")

/* --- loads and stores */
template <bool known> struct hn_cuda_hint {
    static_assert(known, "a HONE_LOAD or HONE_STORE macro is set to what is no cache hint (hone/cuda_controls.h)");
};
HN_CUDA_BOTH constexpr bool hn_cuda_known(const char *text, const char *name) {
    return hn_cuda_same(text, name) || hn_cuda_same(text, "plain");
}
#define HN_CUDA_CHECK(row, value, text) ((void)sizeof(hn_cuda_hint<HN_CUDA_THIRD(row, ~, hn_cuda_known(value, text))>))
#if HN_CUDA_DEVICE
#define HN_CUDA_ASSIGN(p, v) ((void)(*(p) = (v)))
#define HONE_LOAD(name, p)                                                                                             \
    (HN_CUDA_CHECK(HN_CUDA_JOIN(HN_CUDA_LOAD_, HONE_LOAD_##name), HN_CUDA_TEXT(HONE_LOAD_##name), "HONE_LOAD_" #name), \
     HN_CUDA_SECOND(HN_CUDA_JOIN(HN_CUDA_LOAD_, HONE_LOAD_##name), *)(p))
#define HONE_STORE(name, p, v)                                                                                         \
    (HN_CUDA_CHECK(HN_CUDA_JOIN(HN_CUDA_STORE_, HONE_STORE_##name), HN_CUDA_TEXT(HONE_STORE_##name),                   \
                   "HONE_STORE_" #name),                                                                               \
     HN_CUDA_SECOND(HN_CUDA_JOIN(HN_CUDA_STORE_, HONE_STORE_##name), HN_CUDA_ASSIGN)(p, v))

#ifdef __CUDACC_RTC__
#define HN_CUDA_COPY memcpy /* known without a header */
#else
#define HN_CUDA_COPY __builtin_memcpy
#endif
template <unsigned size_b> struct hn_cuda_bytes {};
#define HN_CUDA_ONE_LOAD(NAME, ASM, OP, SIZE, TYPE, LETTER, UNIT)                                                      \
    __device__ __forceinline__ void hn_cuda_##NAME(void *to, const void *p, hn_cuda_bytes<SIZE>) {                     \
        TYPE x;                                                                                                        \
        ASM("ld.global" OP "." UNIT " %0, [%1];" : "=" LETTER(x) : "l"(p));                                            \
        HN_CUDA_COPY(to, &x, SIZE);                                                                                    \
    }
#define HN_CUDA_LOADS(NAME, ASM, OP)                                                                                   \
    HN_CUDA_ONE_LOAD(NAME, ASM, OP, 1, unsigned short, "h", "u8")                                                      \
    HN_CUDA_ONE_LOAD(NAME, ASM, OP, 2, unsigned short, "h", "u16")                                                     \
    HN_CUDA_ONE_LOAD(NAME, ASM, OP, 4, unsigned, "r", "u32")                                                           \
    HN_CUDA_ONE_LOAD(NAME, ASM, OP, 8, unsigned long long, "l", "u64")                                                 \
    __device__ __forceinline__ void hn_cuda_##NAME(void *to, const void *p, hn_cuda_bytes<16>) {                       \
        unsigned long long x[2];                                                                                       \
        ASM("ld.global" OP ".v2.u64 {%0, %1}, [%2];" : "=l"(x[0]), "=l"(x[1]) : "l"(p));                               \
        HN_CUDA_COPY(to, x, 16);                                                                                       \
    }                                                                                                                  \
    template <class T> __device__ __forceinline__ T hn_cuda_##NAME(const T *p) {                                       \
        T x;                                                                                                           \
        hn_cuda_##NAME(&x, p, hn_cuda_bytes<sizeof(T)>());                                                             \
        return x;                                                                                                      \
    }
#define HN_CUDA_ONE_STORE(NAME, OP, SIZE, TYPE, LETTER, UNIT)                                                          \
    __device__ __forceinline__ void hn_cuda_##NAME(void *p, const void *from, hn_cuda_bytes<SIZE>) {                   \
        TYPE x = 0;                                                                                                    \
        HN_CUDA_COPY(&x, from, SIZE);                                                                                  \
        asm volatile("st.global" OP "." UNIT " [%0], %1;" ::"l"(p), LETTER(x) : "memory");                             \
    }
#define HN_CUDA_STORES(NAME, OP)                                                                                       \
    HN_CUDA_ONE_STORE(NAME, OP, 1, unsigned short, "h", "u8")                                                          \
    HN_CUDA_ONE_STORE(NAME, OP, 2, unsigned short, "h", "u16")                                                         \
    HN_CUDA_ONE_STORE(NAME, OP, 4, unsigned, "r", "u32")                                                               \
    HN_CUDA_ONE_STORE(NAME, OP, 8, unsigned long long, "l", "u64")                                                     \
    __device__ __forceinline__ void hn_cuda_##NAME(void *p, const void *from, hn_cuda_bytes<16>) {                     \
        unsigned long long x[2];                                                                                       \
        HN_CUDA_COPY(x, from, 16);                                                                                     \
        asm volatile("st.global" OP ".v2.u64 [%0], {%1, %2};" ::"l"(p), "l"(x[0]), "l"(x[1]) : "memory");              \
    }                                                                                                                  \
    template <class T, class V> __device__ __forceinline__ void hn_cuda_##NAME(T *p, V v) {                            \
        T x = v;                                                                                                       \
        hn_cuda_##NAME(p, &x, hn_cuda_bytes<sizeof(T)>());                                                             \
    }

HN_CUDA_LOADS(ld_ca, asm, ".ca")
HN_CUDA_LOADS(ld_cg, asm, ".cg")
HN_CUDA_LOADS(ld_cs, asm, ".cs")
HN_CUDA_LOADS(ld_lu, asm volatile, ".lu")
HN_CUDA_LOADS(ld_cv, asm volatile, ".cv")
HN_CUDA_LOADS(ld_nc, asm, ".nc")
HN_CUDA_LOADS(ld_evict_first, asm, ".L1::evict_first")
HN_CUDA_LOADS(ld_evict_last, asm, ".L1::evict_last")
HN_CUDA_LOADS(ld_no_allocate, asm, ".L1::no_allocate")
HN_CUDA_LOADS(ld_nc_evict_first, asm, ".nc.L1::evict_first")
HN_CUDA_LOADS(ld_nc_evict_last, asm, ".nc.L1::evict_last")
HN_CUDA_LOADS(ld_nc_no_allocate, asm, ".nc.L1::no_allocate")
HN_CUDA_LOADS(ld_l2_64b, asm, ".L2::64B")
HN_CUDA_LOADS(ld_l2_128b, asm, ".L2::128B")
HN_CUDA_LOADS(ld_l2_256b, asm, ".L2::256B")
#define HN_CUDA_LOAD_ca ~, hn_cuda_ld_ca, true
#define HN_CUDA_LOAD_cg ~, hn_cuda_ld_cg, true
#define HN_CUDA_LOAD_cs ~, hn_cuda_ld_cs, true
#define HN_CUDA_LOAD_lu ~, hn_cuda_ld_lu, true
#define HN_CUDA_LOAD_cv ~, hn_cuda_ld_cv, true
#define HN_CUDA_LOAD_nc ~, hn_cuda_ld_nc, true
#define HN_CUDA_LOAD_evict_first ~, hn_cuda_ld_evict_first, true
#define HN_CUDA_LOAD_evict_last ~, hn_cuda_ld_evict_last, true
#define HN_CUDA_LOAD_no_allocate ~, hn_cuda_ld_no_allocate, true
#define HN_CUDA_LOAD_nc_evict_first ~, hn_cuda_ld_nc_evict_first, true
#define HN_CUDA_LOAD_nc_evict_last ~, hn_cuda_ld_nc_evict_last, true
#define HN_CUDA_LOAD_nc_no_allocate ~, hn_cuda_ld_nc_no_allocate, true
#define HN_CUDA_LOAD_l2_64b ~, hn_cuda_ld_l2_64b, true
#define HN_CUDA_LOAD_l2_128b ~, hn_cuda_ld_l2_128b, true
#define HN_CUDA_LOAD_l2_256b ~, hn_cuda_ld_l2_256b, true

HN_CUDA_STORES(st_wb, ".wb")
HN_CUDA_STORES(st_cg, ".cg")
HN_CUDA_STORES(st_cs, ".cs")
HN_CUDA_STORES(st_wt, ".wt")
HN_CUDA_STORES(st_evict_first, ".L1::evict_first")
HN_CUDA_STORES(st_evict_last, ".L1::evict_last")
HN_CUDA_STORES(st_evict_unchanged, ".L1::evict_unchanged")
HN_CUDA_STORES(st_no_allocate, ".L1::no_allocate")
#define HN_CUDA_STORE_wb ~, hn_cuda_st_wb, true
#define HN_CUDA_STORE_cg ~, hn_cuda_st_cg, true
#define HN_CUDA_STORE_cs ~, hn_cuda_st_cs, true
#define HN_CUDA_STORE_wt ~, hn_cuda_st_wt, true
#define HN_CUDA_STORE_evict_first ~, hn_cuda_st_evict_first, true
#define HN_CUDA_STORE_evict_last ~, hn_cuda_st_evict_last, true
#define HN_CUDA_STORE_evict_unchanged ~, hn_cuda_st_evict_unchanged, true
#define HN_CUDA_STORE_no_allocate ~, hn_cuda_st_no_allocate, true
#else
#define HONE_LOAD(name, p) (*(p))
#define HONE_STORE(name, p, v) ((void)(*(p) = (v)))
#endif
#endif
#endif
