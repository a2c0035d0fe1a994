/* tests/gpu/shim.h — runs CUDA C kernels on the CPU, in tests. Included before the kernel's source, compiled as C++17
 * by g++:
 *
 *     #include "shim.h"
 *     #include "softmax.cu"
 *     shim::launch(dim3(rows), dim3(128), 0, [&] { softmax(x, y, rows, cols); });
 *
 * Blocks run one after the other on one thread of the CPU. The threads of a block are fibres: each runs until it ends
 * or waits at
 * __syncthreads, at an operation of its warp (shuffles, votes, __syncwarp) or in __nanosleep. shim::order says in which
 * order blocks and threads run: forwards, backwards, or permuted anew in every phase (shim::seed). A kernel that lacks
 * a barrier gives other results in one of them: shared memory holds only NaNs (all bits set) when a block starts.
 *
 * Reported, as false from launch and a text in shim::fault: a barrier that not all threads of the block reach or that
 * they reach at different lines; an operation of a warp that lanes of its mask do not reach; a shuffle from a lane
 * outside of it; more threads, or more shared memory, than a block may have. With -fsanitize=address
 * -fsanitize-sections=shim_shared, AddressSanitizer sees accesses beyond shared arrays, and beyond what the test
 * allocated exactly.
 *
 * g++ before 14 leaves shared arrays of templates out of that section: they keep what the last block left.
 *
 * Not here: what one block tells another while it runs, textures, inline PTX, tensor cores, cp.async and TMA.
 * State: all of it in namespace shim, for one launch at a time; one .cpp of a program includes this. */
#ifndef HONE_GPU_SHIM_H
#define HONE_GPU_SHIM_H

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HONE_CUDA_SHIM 1
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __constant__ static
#define __launch_bounds__(...)
#define __maxnreg__(n)
#define __grid_constant__
#define __shared__ static __attribute__((section("shim_shared")))
#define HONE_DYNAMIC_SHARED(type, name) type *name = reinterpret_cast<type *>(shim::dynamic)

/* --- types and built-in variables */
#define SHIM_VECTORS(T, name)                                                                                          \
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
SHIM_VECTORS(signed char, char)
SHIM_VECTORS(unsigned char, uchar)
SHIM_VECTORS(short, short)
SHIM_VECTORS(unsigned short, ushort)
SHIM_VECTORS(int, int)
SHIM_VECTORS(unsigned, uint)
SHIM_VECTORS(long long, longlong)
SHIM_VECTORS(unsigned long long, ulonglong)
SHIM_VECTORS(float, float)
SHIM_VECTORS(double, double)

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
    unsigned count() const { return x * y * z; }
};
static uint3 threadIdx, blockIdx;
static dim3 blockDim, gridDim;
static const int warpSize = 32;

#if defined(__SANITIZE_ADDRESS__)
#define SHIM_ASAN 1
extern "C" void __sanitizer_start_switch_fiber(void **fake, const void *bottom, size_t size);
extern "C" void __sanitizer_finish_switch_fiber(void *fake, const void **bottom, size_t *size);
extern "C" void __asan_unpoison_memory_region(const volatile void *p, size_t size);
#else
#define SHIM_ASAN 0
#endif

#if defined(__x86_64__)
/* shim_switch(&save, load): keeps the registers that a call keeps, and changes stacks. */
extern "C" void shim_switch(void **save, void *load);
asm(R"(
    .text
    .globl shim_switch
    .type shim_switch, @function
shim_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size shim_switch, .-shim_switch
)");
#else
#include <ucontext.h>
#endif

namespace shim {
enum run_order { FORWARDS, BACKWARDS, PERMUTED };
enum thread_state { READY, AT_BARRIER, IN_WARP, PAUSED, ENDED };
static const unsigned MOST_THREADS = 1024;
static const size_t STACK_B = SHIM_ASAN ? 256 << 10 : 64 << 10, GUARD_B = 4096, MOST_SHARED_B = 227 << 10;

static run_order order = FORWARDS;
static uint64_t seed = 1;
static char fault[400];
static char *dynamic; /* this launch's dynamic shared memory, exactly as large as asked for */
static unsigned long long n_switches;

struct fibre {
#if defined(__x86_64__)
    void *sp;
#else
    ucontext_t context;
#endif
    void *fake; /* of AddressSanitizer */
    uint3 thread;
    thread_state state;
    const char *what, *file; /* where it waits */
    int line;
    unsigned mask;         /* lanes that take part in what it waits for */
    uint64_t give;         /* its value in that operation, or of __syncthreads_count */
    uint64_t got[32];      /* what the lanes gave */
    unsigned participated; /* which lanes did */
};
static fibre fibres[MOST_THREADS];
static unsigned n_threads, current;
static bool deserted; /* a launch was given up: its stacks hold frames */
static char *stacks;
static void (*entry_call)(void *);
static void *entry_arg;
#if defined(__x86_64__)
static void *main_sp;
#else
static ucontext_t main_context;
#endif
static const void *main_bottom;
static size_t main_size;

__attribute__((format(printf, 1, 2))) static inline void report(const char *format, ...) {
    if (fault[0]) return; /* the first one counts */
    va_list ap;
    va_start(ap, format);
    vsnprintf(fault, sizeof fault, format, ap);
    va_end(ap);
}

static inline uint64_t random_word() {
    seed += 0x9e3779b97f4a7c15u;
    uint64_t z = seed;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline void arrange(unsigned *list, unsigned n) {
    for (unsigned i = 0; i < n; i++) list[i] = order == BACKWARDS ? n - 1 - i : i;
    for (unsigned i = n; order == PERMUTED && i > 1; i--) {
        unsigned j = static_cast<unsigned>(random_word() % i), t = list[i - 1];
        list[i - 1] = list[j];
        list[j] = t;
    }
}

/* --- stacks */
static inline char *stack_of(unsigned i) { return stacks + i * (STACK_B + GUARD_B) + GUARD_B; }

static inline void swap_out(fibre *f) { /* from a fibre to the scheduler */
    n_switches++;
#if SHIM_ASAN
    __sanitizer_start_switch_fiber(f->state == ENDED ? nullptr : &f->fake, main_bottom, main_size);
#endif
#if defined(__x86_64__)
    shim_switch(&f->sp, main_sp);
#else
    swapcontext(&f->context, &main_context);
#endif
#if SHIM_ASAN
    __sanitizer_finish_switch_fiber(f->fake, &main_bottom, &main_size);
#endif
}

static inline void fibre_main() {
#if SHIM_ASAN
    __sanitizer_finish_switch_fiber(nullptr, &main_bottom, &main_size);
#endif
    entry_call(entry_arg);
    fibres[current].state = ENDED;
    swap_out(&fibres[current]);
    abort(); /* an ended fibre is not run again */
}

static inline void prepare(unsigned i) {
    fibre *f = &fibres[i];
    f->fake = nullptr;
    f->state = READY;
    char *top = stack_of(i) + STACK_B;
#if SHIM_ASAN
    const size_t left_b = deserted ? STACK_B : 4096; /* frames that were never left are still marked */
    __asan_unpoison_memory_region(top - left_b, left_b);
#endif
#if defined(__x86_64__)
    void **sp = reinterpret_cast<void **>(top) - 1; /* as after a call: 8 bytes off a multiple of 16 */
    *--sp = reinterpret_cast<void *>(fibre_main);
    for (int k = 0; k < 6; k++) *--sp = nullptr;
    f->sp = sp;
#else
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = top - STACK_B;
    f->context.uc_stack.ss_size = STACK_B;
    f->context.uc_link = nullptr;
    makecontext(&f->context, fibre_main, 0);
#endif
}

static inline void resume(unsigned i) {
    fibre *f = &fibres[i];
    current = i;
    threadIdx = f->thread;
#if SHIM_ASAN
    void *fake = nullptr;
    __sanitizer_start_switch_fiber(&fake, stack_of(i), STACK_B);
#endif
#if defined(__x86_64__)
    shim_switch(&main_sp, f->sp);
#else
    swapcontext(&main_context, &f->context);
#endif
#if SHIM_ASAN
    __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
}

/* --- what threads wait for */
static inline void wait(thread_state state, const char *what, const char *file, int line) {
    fibre *f = &fibres[current];
    f->state = state;
    f->what = what;
    f->file = file;
    f->line = line;
    swap_out(f);
}

static inline bool same_place(const fibre *a, const fibre *b) {
    return a->line == b->line && a->what == b->what && !strcmp(a->file, b->file);
}

static inline void say_place(char *to, size_t size, unsigned i) {
    const fibre *f = &fibres[i];
    const char *base = f->state == ENDED || !f->file ? nullptr : strrchr(f->file, '/');
    if (f->state == ENDED)
        snprintf(to, size, "thread %u has ended", i);
    else
        snprintf(to, size, "thread %u waits in %s at %s:%d", i, f->what, base ? base + 1 : f->file, f->line);
}

static inline void report_two(const char *problem, unsigned a, unsigned b) {
    char one[120], two[120];
    say_place(one, sizeof one, a);
    say_place(two, sizeof two, b);
    report("%s in block %u,%u,%u: %s, %s", problem, blockIdx.x, blockIdx.y, blockIdx.z, one, two);
}

/* The operation of a warp that lane i waits for takes place when all lanes of its mask that have not ended wait there.
 */
static inline bool release_warp(unsigned i) {
    fibre *f = &fibres[i];
    const unsigned first = i & ~31u;
    unsigned there = 0;
    uint64_t value[32] = {0};
    for (unsigned l = 0; l < 32 && first + l < n_threads; l++) {
        const fibre *g = &fibres[first + l];
        if (!(f->mask >> l & 1) || g->state == ENDED) continue;
        if (g->state != IN_WARP || g->mask != f->mask || !same_place(f, g)) return false;
        there |= 1u << l;
        value[l] = g->give;
    }
    for (unsigned l = 0; l < 32; l++) {
        if (!(there >> l & 1)) continue;
        fibre *g = &fibres[first + l];
        memcpy(g->got, value, sizeof value);
        g->participated = there;
        g->state = READY;
    }
    return true;
}

static inline bool release_barrier() {
    for (unsigned i = 0; i < n_threads; i++)
        if (fibres[i].state != AT_BARRIER || !same_place(&fibres[i], &fibres[0])) return false;
    for (unsigned i = 0; i < n_threads; i++) fibres[i].state = READY;
    return true;
}

static inline void explain_stuck() {
    for (unsigned i = 0; i < n_threads; i++) {
        if (fibres[i].state != IN_WARP) continue;
        for (unsigned l = 0; l < 32 && (i & ~31u) + l < n_threads; l++) {
            const unsigned j = (i & ~31u) + l;
            if (!(fibres[i].mask >> l & 1) || fibres[j].state == ENDED || j == i) continue;
            if (fibres[j].state == IN_WARP && fibres[j].mask == fibres[i].mask && same_place(&fibres[i], &fibres[j]))
                continue;
            report_two("lanes of a mask do not meet", i, j);
            return;
        }
    }
    for (unsigned i = 0; i < n_threads; i++)
        for (unsigned j = 0; fibres[i].state == AT_BARRIER && j < n_threads; j++) {
            if (fibres[j].state == AT_BARRIER && same_place(&fibres[i], &fibres[j])) continue;
            report_two("divergent barrier", i, j);
            return;
        }
    report("threads of block %u,%u,%u wait for each other for ever", blockIdx.x, blockIdx.y, blockIdx.z);
}

/* Runs the threads of a warp until each has ended or waits for other warps: it gets as far ahead of the others as the
 * barriers let it, so that what a barrier should have kept apart meets. */
static inline void run_warp(unsigned first) {
    unsigned list[32];
    const unsigned n = n_threads - first < 32 ? n_threads - first : 32;
    for (bool any = true; any && !fault[0];) {
        any = false;
        arrange(list, n);
        for (unsigned k = 0; k < n && !fault[0]; k++)
            if (fibres[first + list[k]].state == READY) resume(first + list[k]);
        for (unsigned i = first; i < first + n && !fault[0]; i++) {
            if (fibres[i].state == IN_WARP) release_warp(i);
            any |= fibres[i].state == READY;
        }
    }
}

/* Lets threads go on that wait for more than their warp; false when none can. */
static inline bool release(bool *all_ended) {
    bool any = false;
    *all_ended = true;
    for (unsigned i = 0; i < n_threads; i++) {
        fibre *f = &fibres[i];
        if (f->state == PAUSED) f->state = READY;
        any |= f->state == READY;
        *all_ended &= f->state == ENDED;
    }
    return any || release_barrier();
}

static inline void run_block() {
    static unsigned list[MOST_THREADS / 32];
    for (unsigned i = 0; i < n_threads; i++) {
        prepare(i);
        fibres[i].thread = {i % blockDim.x, i / blockDim.x % blockDim.y, i / (blockDim.x * blockDim.y)};
    }
    for (bool ended = false; !ended && !fault[0];) {
        const unsigned n_warps = (n_threads + 31) / 32;
        arrange(list, n_warps);
        for (unsigned k = 0; k < n_warps && !fault[0]; k++) run_warp(list[k] * 32);
        if (!fault[0] && !release(&ended) && !ended) explain_stuck();
    }
}

/* --- shared memory: the variables of a section of their own */
extern "C" {
extern char __start_shim_shared[] __attribute__((weak, visibility("hidden")));
extern char __stop_shim_shared[] __attribute__((weak, visibility("hidden")));
}
__attribute__((no_sanitize("address", "undefined"), noinline)) static void poison_shared(size_t dynamic_b) {
    for (volatile char *p = __start_shim_shared; p && p < __stop_shim_shared; p++) *p = static_cast<char>(0xff);
    memset(dynamic, 0xff, dynamic_b);
}

template <class F> static void call(void *f) { (*static_cast<F *>(f))(); }

/* Runs kernel(), a call of the kernel with its arguments, for every thread of the grid; false: shim::fault says what
 * was wrong. */
template <class F> static bool launch(dim3 grid, dim3 block, size_t dynamic_b, F kernel) {
    fault[0] = 0;
    n_threads = block.count();
    if (!n_threads || n_threads > MOST_THREADS)
        report("%u threads in a block: 1 to %u are possible", n_threads, MOST_THREADS);
    if (!grid.count()) report("no block in the grid");
    if (dynamic_b > MOST_SHARED_B) report("%zu bytes of shared memory: %zu are possible", dynamic_b, MOST_SHARED_B);
    if (fault[0]) return false;
    const size_t all = MOST_THREADS * (STACK_B + GUARD_B);
    if (!stacks) {
        void *p = mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED) abort();
        stacks = static_cast<char *>(p);
        for (unsigned i = 0; i < MOST_THREADS; i++) mprotect(stacks + i * (STACK_B + GUARD_B), GUARD_B, PROT_NONE);
    }
    entry_call = call<F>;
    entry_arg = &kernel;
    blockDim = block;
    gridDim = grid;
    dynamic = static_cast<char *>(malloc(dynamic_b ? dynamic_b : 1));
    unsigned *list = static_cast<unsigned *>(malloc(grid.count() * sizeof *list));
    if (!dynamic || !list) abort();
    arrange(list, grid.count());
    for (unsigned k = 0; k < grid.count() && !fault[0]; k++) {
        blockIdx = {list[k] % grid.x, list[k] / grid.x % grid.y, list[k] / (grid.x * grid.y)};
        poison_shared(dynamic_b);
        run_block();
    }
    deserted = fault[0];
    free(list);
    free(dynamic);
    dynamic = nullptr;
    return !fault[0];
}

/* --- operations of a block and of a warp */
static inline unsigned lane() { return current & 31; }

static inline fibre *meet(unsigned mask, uint64_t give, const char *what, const char *file, int line) {
    fibre *f = &fibres[current];
    if (!(mask >> lane() & 1)) {
        report("thread %u is not in its own mask %08x in %s at line %d", current, mask, what, line);
        f->state = ENDED;
        swap_out(f);
    }
    f->mask = mask;
    f->give = give;
    wait(IN_WARP, what, file, line);
    return f;
}

template <class T> static inline uint64_t pack(T v) {
    static_assert(sizeof(T) <= 8, "a shuffle moves 8 bytes at most");
    uint64_t w = 0;
    memcpy(&w, &v, sizeof v);
    return w;
}

template <class T>
static inline T shuffle(unsigned mask, T v, unsigned from, const char *what, const char *file, int line) {
    const fibre *f = meet(mask, pack(v), what, file, line);
    if (from >= 32 || !(f->participated >> from & 1))
        report("thread %u of block %u,%u,%u reads lane %u, which takes no part, in %s at line %d", current, blockIdx.x,
               blockIdx.y, blockIdx.z, from, what, line);
    T out;
    memcpy(&out, &f->got[from & 31], sizeof out);
    return out;
}
template <class T>
static inline T shuffle_to(unsigned mask, T v, int j, int width, bool index, const char *what, const char *file,
                           int line) {
    const int l = static_cast<int>(lane()), low = l & ~(width - 1), high = low + width - 1;
    if (index) j = low | (j & (width - 1));
    return shuffle(mask, v, static_cast<unsigned>(j < low || j > high ? l : j), what, file, line);
}
static inline int width_of(int width = 32) { return width; }

static inline unsigned votes(const fibre *f) {
    unsigned set = 0;
    for (unsigned l = 0; l < 32; l++) set |= ((f->participated >> l & 1) && f->got[l] ? 1u : 0u) << l;
    return set;
}
template <class T, class Op> static inline T reduce(const fibre *f, Op op) {
    T sum{};
    bool first = true;
    for (unsigned l = 0; l < 32; l++) {
        if (!(f->participated >> l & 1)) continue;
        T v;
        memcpy(&v, &f->got[l], sizeof v);
        sum = first ? v : op(sum, v);
        first = false;
    }
    return sum;
}
/* The sum of v over the block, for each of its threads. */
static inline int block_sum(int v, const char *what, const char *file, int line) {
    fibres[current].give = static_cast<uint64_t>(v);
    wait(AT_BARRIER, what, file, line);
    int sum = 0;
    for (unsigned i = 0; i < n_threads; i++) sum += static_cast<int>(fibres[i].give);
    wait(AT_BARRIER, what, file, line);
    return sum;
}
} // namespace shim

#define __syncthreads() shim::wait(shim::AT_BARRIER, "__syncthreads", __FILE__, __LINE__)
#define __syncthreads_count(v) shim::block_sum((v) ? 1 : 0, "__syncthreads_count", __FILE__, __LINE__)
#define __syncthreads_or(v) (shim::block_sum((v) ? 1 : 0, "__syncthreads_or", __FILE__, __LINE__) != 0)
#define __syncthreads_and(v) (shim::block_sum((v) ? 0 : 1, "__syncthreads_and", __FILE__, __LINE__) == 0)
#define SHIM_MASK_(mask, ...) mask
#define SHIM_MASK(...) SHIM_MASK_(__VA_ARGS__ __VA_OPT__(, ) 0xffffffffu)
#define __syncwarp(...) ((void)shim::meet(SHIM_MASK(__VA_ARGS__), 0, "__syncwarp", __FILE__, __LINE__))
#define SHIM_SHUFFLE(what, mask, v, j, index, ...)                                                                     \
    shim::shuffle_to(mask, v, j, shim::width_of(__VA_ARGS__), index, what, __FILE__, __LINE__)
#define SHIM_LANE static_cast<int>(shim::lane())
#define __shfl_sync(mask, v, j, ...) SHIM_SHUFFLE("__shfl_sync", mask, v, static_cast<int>(j), true, __VA_ARGS__)
#define __shfl_up_sync(mask, v, n, ...)                                                                                \
    SHIM_SHUFFLE("__shfl_up_sync", mask, v, SHIM_LANE - static_cast<int>(n), false, __VA_ARGS__)
#define __shfl_down_sync(mask, v, n, ...)                                                                              \
    SHIM_SHUFFLE("__shfl_down_sync", mask, v, SHIM_LANE + static_cast<int>(n), false, __VA_ARGS__)
#define __shfl_xor_sync(mask, v, n, ...)                                                                               \
    SHIM_SHUFFLE("__shfl_xor_sync", mask, v, SHIM_LANE ^ static_cast<int>(n), false, __VA_ARGS__)
#define __ballot_sync(mask, v) shim::votes(shim::meet(mask, (v) ? 1 : 0, "__ballot_sync", __FILE__, __LINE__))
#define __any_sync(mask, v) (__ballot_sync(mask, v) != 0)
#define __all_sync(mask, v) (__ballot_sync(mask, !(v)) == 0)
#define SHIM_REDUCE(what, mask, v, op)                                                                                 \
    shim::reduce<decltype(v)>(shim::meet(mask, shim::pack(v), what, __FILE__, __LINE__),                               \
                              [](decltype(v) a, decltype(v) b) { return op; })
#define __reduce_add_sync(mask, v) SHIM_REDUCE("__reduce_add_sync", mask, v, a + b)
#define __reduce_max_sync(mask, v) SHIM_REDUCE("__reduce_max_sync", mask, v, a > b ? a : b)
#define __reduce_min_sync(mask, v) SHIM_REDUCE("__reduce_min_sync", mask, v, a < b ? a : b)
#define __nanosleep(ns) shim::wait(shim::PAUSED, "__nanosleep", __FILE__, __LINE__)
static inline void __threadfence() {}
static inline void __threadfence_block() {}
static inline unsigned __match_any_of(const shim::fibre *f, uint64_t v) {
    unsigned same = 0;
    for (unsigned l = 0; l < 32; l++) same |= ((f->participated >> l & 1) && f->got[l] == v ? 1u : 0u) << l;
    return same;
}
#define __match_any_sync(mask, v)                                                                                      \
    __match_any_of(shim::meet(mask, shim::pack(v), "__match_any_sync", __FILE__, __LINE__), shim::pack(v))

/* --- atomics: fibres change only where they wait */
template <class T> static inline T atomicAdd(T *p, T v) {
    T old = *p;
    return *p = old + v, old;
}
template <class T> static inline T atomicSub(T *p, T v) {
    T old = *p;
    return *p = old - v, old;
}
template <class T> static inline T atomicMax(T *p, T v) {
    T old = *p;
    return *p = old > v ? old : v, old;
}
template <class T> static inline T atomicMin(T *p, T v) {
    T old = *p;
    return *p = old < v ? old : v, old;
}
template <class T> static inline T atomicOr(T *p, T v) {
    T old = *p;
    return *p = old | v, old;
}
template <class T> static inline T atomicAnd(T *p, T v) {
    T old = *p;
    return *p = old & v, old;
}
template <class T> static inline T atomicXor(T *p, T v) {
    T old = *p;
    return *p = old ^ v, old;
}
template <class T> static inline T atomicExch(T *p, T v) {
    T old = *p;
    return *p = v, old;
}
template <class T> static inline T atomicCAS(T *p, T want, T v) {
    T old = *p;
    return *p = old == want ? v : old, old;
}

/* --- functions of the device */
template <class T> static inline T __ldg(const T *p) { return *p; }
static inline int min(int a, int b) { return a < b ? a : b; }
static inline int max(int a, int b) { return a > b ? a : b; }
static inline unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }
static inline unsigned max(unsigned a, unsigned b) { return a > b ? a : b; }
static inline float min(float a, float b) { return fminf(a, b); }
static inline float max(float a, float b) { return fmaxf(a, b); }
#define __expf(x) expf(x) /* the C library has declared that name */
#define __logf(x) logf(x)
#define __log2f(x) log2f(x)
#define __sinf(x) sinf(x)
#define __cosf(x) cosf(x)
static inline float __fdividef(float a, float b) { return a / b; }
static inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
static inline float __fsqrt_rn(float x) { return sqrtf(x); }
static inline float rsqrtf(float x) { return 1 / sqrtf(x); }
static inline void sincospif(float x, float *s, float *c) {
    *s = static_cast<float>(sin(M_PI * static_cast<double>(x)));
    *c = static_cast<float>(cos(M_PI * static_cast<double>(x)));
}
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __clz(int x) { return x ? __builtin_clz(static_cast<unsigned>(x)) : 32; }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __mul24(int a, int b) { return a * b; }
static inline int __float_as_int(float x) {
    int i;
    return memcpy(&i, &x, sizeof i), i;
}
static inline unsigned __float_as_uint(float x) {
    unsigned i;
    return memcpy(&i, &x, sizeof i), i;
}
static inline float __int_as_float(int i) {
    float x;
    return memcpy(&x, &i, sizeof x), x;
}
static inline float __uint_as_float(unsigned i) {
    float x;
    return memcpy(&x, &i, sizeof x), x;
}
static inline int __dp4a(int a, int b, int c) {
    for (int i = 0; i < 4; i++)
        c += static_cast<signed char>(static_cast<unsigned>(a) >> 8 * i) *
             static_cast<signed char>(static_cast<unsigned>(b) >> 8 * i);
    return c;
}
#endif
