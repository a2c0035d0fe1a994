/* rt/c_opencl.h — the language OpenCL C 1.2 as kernels are printed: types, address spaces, ids, barriers.
 *
 * Text in front of every OpenCL program. Doubles are used where a kernel has them; halves are stored as bits.
 */
#pragma OPENCL FP_CONTRACT OFF
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define HNR_DOUBLES 1
#endif
#define HNR_OPENCL 1
typedef char int8_t;
typedef uchar uint8_t;
typedef short int16_t;
typedef ushort uint16_t;
typedef int int32_t;
typedef uint uint32_t;
typedef long int64_t;
typedef ulong uint64_t;
#define INT64_C(x) x##L
#define INT64_MAX LONG_MAX
#define INT64_MIN LONG_MIN
#define UINT64_MAX ULONG_MAX
#define INT32_MAX INT_MAX
#define INT32_MIN INT_MIN

#define HNR static inline __attribute__((unused))
#define HNR_GLOBAL __global
#define HNR_CONSTANT __constant
#define HNR_TABLE __constant
#define HNR_SHARED __local
#define HNR_SHARED_MEMORY __local /* behind a pointer */
#define HNR_KERNEL(name, threads) __kernel __attribute__((reqd_work_group_size(threads, 1, 1))) void name
#define HNR_MEM(name) __global char *name, int64_t name##_at
#define HNR_AT(name) (name + name##_at)
#define HNR_MAKE(type) (type)
#define HNR_RESTRICT restrict

/* In front of a loop of many, some, few multiply-adds: how often its body may stand. */
#define HNR_UNROLL_NOT _Pragma("unroll 1")
#define HNR_UNROLL_1 _Pragma("unroll 1")
#define HNR_UNROLL_2 _Pragma("unroll 2")
#define HNR_UNROLL_4 _Pragma("unroll 4")
#define HNR_ALIGNED __attribute__((aligned(16)))
/* Accesses of 4, 8 and 16 bytes. */
typedef uint hnr_w1;
typedef uint2 hnr_w2;
typedef uint4 hnr_w4;
#define HNR_W2(a, b) ((uint2)(a, b))
#define HNR_W4(a, b, c, d) ((uint4)(a, b, c, d))

#define HNR_THREAD ((int)get_local_id(0))
#define HNR_ITEM ((int64_t)get_global_id(0))
#define HNR_ITEMS ((int64_t)get_global_size(0))
#define HNR_BLOCK ((int64_t)get_group_id(0))
#define HNR_BLOCKS ((int64_t)get_num_groups(0))
#define HNR_BARRIER() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)

HNR uint32_t hnr_float_bits(float x) { return as_uint(x); }
HNR float hnr_bits_float(uint32_t x) { return as_float(x); }
/* Every work item that fails stores the same number. */
HNR void hnr_fail(__global int64_t *s) { *(volatile __global int64_t *)s = 4; }
/* IEEE halves, rounded to nearest even. */
HNR float hnr_f16_float(uint16_t x) { return vload_half(0, (const half *)&x); }
HNR uint16_t hnr_float_f16(float x) {
    uint16_t bits;
    vstore_half_rte(x, 0, (half *)&bits);
    return bits;
}
#define half hnr_half /* from here on a name like any other */

/* Copies from global to shared memory: at once. */
#define HNR_COPY(size, to, from, holds) HNR_COPY_##size(to, from, holds)
#define HNR_COPY_4(to, from, holds) *(__local uint *)(to) = (holds) ? *(const __global uint *)(from) : 0u
#define HNR_COPY_8(to, from, holds) *(__local uint2 *)(to) = (holds) ? *(const __global uint2 *)(from) : (uint2)(0u)
#define HNR_COPY_16(to, from, holds) *(__local uint4 *)(to) = (holds) ? *(const __global uint4 *)(from) : (uint4)(0u)
#define HNR_COMMIT()
#define HNR_WAIT(n)
