/* rt/c_fold.h — one value of each of n neighbouring threads, a power of two, folded for all of them: in halves of every
 * 32 neighbours, then in halves of what those gave. All threads of the block come by. Behind c_base.h and c_scalar.h.
 *
 * room: shared memory, HNR_FOLD_ROOM(threads of the block) entries.
 */
#ifdef HNR_OPENCL
/* No language of warps: a tree through shared memory, of the same order. It must become a part of the kernel at once: a
 * compiler that takes the shared array for a constant of the function leaves it where PoCL 3.1 does not look for it
 * (docs/gpu-compiler.md). */
#define HNR_FOLD_ROOM(threads) threads
#define HNR_FOLD_STEP(type, op)                                                                                        \
    {                                                                                                                  \
        type other = room[t ^ step];                                                                                   \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                                  \
        v = op(v, other);                                                                                              \
        room[t] = v;                                                                                                   \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                                  \
    }
#define HNR_FOLD(name, type, op)                                                                                       \
    HNR __attribute__((always_inline)) type hnr_fold_##name(type v, int n, __local uint64_t *memory) {                 \
        __local type *room = (__local type *)memory;                                                                   \
        int t = HNR_THREAD;                                                                                            \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                                  \
        room[t] = v;                                                                                                   \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                                  \
        for (int step = n < 32 ? n / 2 : 16; step; step /= 2) HNR_FOLD_STEP(type, op)                                  \
        for (int step = n / 2; step >= 32; step /= 2) HNR_FOLD_STEP(type, op)                                          \
        return v;                                                                                                      \
    }
#else
#define HNR_FOLD_ROOM(threads) 32
#define HNR_FOLD(name, type, op)                                                                                       \
    HNR type hnr_fold_##name(type v, int n, uint64_t *memory) {                                                        \
        type *room = (type *)memory, other;                                                                            \
        int t = HNR_THREAD, warps = n / 32;                                                                            \
        for (int step = n < 32 ? n / 2 : 16; step; step /= 2) {                                                        \
            other = __shfl_xor_sync(0xffffffffu, v, step);                                                             \
            v = op(v, other);                                                                                          \
        }                                                                                                              \
        if (n <= 32) return v;                                                                                         \
        __syncthreads();                                                                                               \
        if (t % 32 == 0) room[t / 32] = v;                                                                             \
        __syncthreads();                                                                                               \
        v = room[t / n * warps + (t & (warps - 1))];                                                                   \
        for (int step = warps / 2; step; step /= 2) {                                                                  \
            other = __shfl_xor_sync(0xffffffffu, v, step);                                                             \
            v = op(v, other);                                                                                          \
        }                                                                                                              \
        return v;                                                                                                      \
    }
#endif

#define HNR_PLUS(a, b) ((a) + (b))
#define HNR_TIMES(a, b) ((a) * (b))
#define HNR_LESS(a, b) ((b) < (a) ? (b) : (a))
#define HNR_MORE(a, b) ((b) > (a) ? (b) : (a))
HNR_FOLD(add_f32, float, HNR_PLUS)
HNR_FOLD(mul_f32, float, HNR_TIMES)
HNR_FOLD(min_f32, float, hnr_min_f32)
HNR_FOLD(max_f32, float, hnr_max_f32)
HNR_FOLD(add_i32, uint32_t, HNR_PLUS)
HNR_FOLD(mul_i32, uint32_t, HNR_TIMES)
HNR_FOLD(min_i32, int32_t, HNR_LESS)
HNR_FOLD(max_i32, int32_t, HNR_MORE)
HNR_FOLD(min_u32, uint32_t, HNR_LESS)
HNR_FOLD(max_u32, uint32_t, HNR_MORE)
HNR_FOLD(add_i64, uint64_t, HNR_PLUS)
HNR_FOLD(mul_i64, uint64_t, HNR_TIMES)
HNR_FOLD(min_i64, int64_t, HNR_LESS)
HNR_FOLD(max_i64, int64_t, HNR_MORE)
HNR_FOLD(min_u64, uint64_t, HNR_LESS)
HNR_FOLD(max_u64, uint64_t, HNR_MORE)
#ifdef HNR_DOUBLES
HNR_FOLD(add_f64, double, HNR_PLUS)
HNR_FOLD(mul_f64, double, HNR_TIMES)
HNR_FOLD(min_f64, double, hnr_min_f)
HNR_FOLD(max_f64, double, hnr_max_f)
#endif
