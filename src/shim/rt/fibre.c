/* fibre.c — the threads of a block are fibres on one thread of the CPU; blocks, or clusters of them, run one after the
 * other. */
#include "rt.h"

#include <stdlib.h>
#include <string.h>

hs_state hs;
hs_uint3 threadIdx, blockIdx, blockDim, gridDim;

#if defined(__x86_64__)
/* hs_switch(&save, load): keeps the registers that a call keeps, and changes stacks. */
void hs_switch(void **save, void *load);
__asm__(".text\n"
        ".type hs_switch, @function\n"
        "hs_switch:\n"
        "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n    pushq %r13\n    pushq %r14\n    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n    popq %r14\n    popq %r13\n    popq %r12\n    popq %rbx\n    popq %rbp\n"
        "    ret\n"
        ".size hs_switch, .-hs_switch\n");
static void to_main(hs_fibre *f) { hs_switch(&f->sp, hs.main_sp); }
static void to_fibre(hs_fibre *f) { hs_switch(&hs.main_sp, f->sp); }
static void set_up(hs_fibre *f, char *top, void (*begin)(void)) {
    void **sp = (void **)(void *)top - 1; /* as after a call: 8 bytes off a multiple of 16 */
    *--sp = (void *)(uintptr_t)begin;
    for (int k = 0; k < 6; k++) *--sp = NULL;
    f->sp = sp;
}
#else
#include <ucontext.h>
static ucontext_t contexts[HS_RANKS_MOST][HS_THREADS_MOST], main_context;
static void to_main(hs_fibre *f) { swapcontext(f->context, &main_context); }
static void to_fibre(hs_fibre *f) { swapcontext(&main_context, f->context); }
static void set_up(hs_fibre *f, char *top, void (*begin)(void)) {
    ucontext_t *c = &contexts[hs.at_rank][f - hs.fibre];
    f->context = c;
    getcontext(c);
    c->uc_stack.ss_sp = top - HS_STACK_B;
    c->uc_stack.ss_size = HS_STACK_B;
    c->uc_link = NULL;
    makecontext(c, begin, 0);
}
#endif

static uint64_t random_word(void) {
    hs.options.seed += 0x9e3779b97f4a7c15u;
    uint64_t z = hs.options.seed;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void arrange(unsigned *list, unsigned n) {
    for (unsigned i = 0; i < n; i++) list[i] = hs.options.order == HS_BACKWARDS ? n - 1 - i : i;
    for (unsigned i = n; hs.options.order == HS_PERMUTED && i > 1; i--) {
        unsigned j = (unsigned)(random_word() % i), t = list[i - 1];
        list[i - 1] = list[j];
        list[j] = t;
    }
}

static char *stack_of(unsigned i) { return hs.stacks + i * (size_t)(HS_STACK_B + HS_GUARD_B) + HS_GUARD_B; }

void hs_swap_out(hs_fibre *f) { to_main(f); }

void hs_give_up(void) {
    hs_fibre *f = hs_me();
    f->state = HS_ENDED;
    to_main(f);
    abort(); /* an ended fibre is not run again */
}

static void fibre_main(void) {
    hs.call(hs.arg);
    hs_give_up();
}

static void resume(unsigned i) {
    hs_fibre *f = &hs.fibre[i];
    hs.current = i;
    hs.stack = (uintptr_t)stack_of(i);
    threadIdx = f->thread;
    hs.running = true;
    to_fibre(f);
    hs.running = false;
}

/* Runs the threads of a warp until each has ended or waits for other warps: it gets as far ahead of the others as the
 * barriers let it, so that what a barrier should have kept apart meets. */
static void run_warp(unsigned first) {
    unsigned list[HS_LANES];
    const unsigned n = hs.n_threads - first < HS_LANES ? hs.n_threads - first : HS_LANES;
    for (bool any = true; any && !hs.report.kind;) {
        any = false;
        arrange(list, n);
        for (unsigned k = 0; k < n && !hs.report.kind; k++)
            if (hs.fibre[first + list[k]].state == HS_READY) resume(first + list[k]);
        for (unsigned i = first; i < first + n && !hs.report.kind; i++) {
            if (hs.fibre[i].state == HS_IN_WARP) hs_release_warp(i);
            any |= hs.fibre[i].state == HS_READY;
        }
    }
}

/* Lets threads go on that wait for more than their warp; false when none can. */
static bool release(bool *all_ended) {
    bool any = false;
    *all_ended = true;
    for (unsigned i = 0; i < hs.n_threads; i++) {
        hs_fibre *f = &hs.fibre[i];
        if (f->state == HS_PAUSED) f->state = HS_READY;
        *all_ended &= f->state == HS_ENDED;
    }
    for (unsigned i = 0; i < hs.n_threads; i++) {
        if (hs.fibre[i].state == HS_AT_MBAR || hs.fibre[i].state == HS_AT_NAMED) hs_release_wide(i);
        any |= hs.fibre[i].state == HS_READY;
    }
    return any || hs_release_block();
}

static void start_block(unsigned number) {
    blockIdx = (hs_uint3){number % gridDim.x, number / gridDim.x % gridDim.y, number / (gridDim.x * gridDim.y)};
    hs_start_block();
    hs.rank[hs.at_rank].ended = false;
    hs.rank[hs.at_rank].reached = 0;
    for (unsigned i = 0; i < hs.n_threads; i++) {
        hs_fibre *f = &hs.fibre[i];
        f->state = HS_READY;
        f->thread = (hs_uint3){i % blockDim.x, i / blockDim.x % blockDim.y, i / (blockDim.x * blockDim.y)};
        set_up(f, stack_of(i) + HS_STACK_B, fibre_main);
    }
}

/* Until all threads of the block have ended (true), or wait for other blocks, or there is a report. */
static bool run_block(void) {
    unsigned list[HS_THREADS_MOST / HS_LANES];
    for (bool ended = false;;) {
        const unsigned n_warps = (hs.n_threads + HS_LANES - 1) / HS_LANES;
        arrange(list, n_warps);
        for (unsigned k = 0; k < n_warps && !hs.report.kind; k++) run_warp(list[k] * HS_LANES);
        if (hs.report.kind || !release(&ended)) return ended;
    }
}

/* Each block gets as far as it may in front of the others. */
static void run_cluster(unsigned first) {
    unsigned list[HS_RANKS_MOST];
    for (unsigned k = 0; k < hs.n_ranks; k++) {
        hs_enter(k);
        start_block(first + k);
    }
    for (bool ended = false; !ended && !hs.report.kind;) {
        ended = true;
        arrange(list, hs.n_ranks);
        for (unsigned k = 0; k < hs.n_ranks && !hs.report.kind; k++) {
            if (hs.rank[list[k]].ended) continue;
            hs_enter(list[k]);
            if (!run_block())
                ended = false;
            else if (!hs.report.kind)
                hs_end_rank();
        }
        if (!ended && !hs.report.kind && !hs_release_cluster()) hs_explain_cluster();
    }
    hs_enter(0);
}

static bool check_limits(hs_uint3 grid, hs_uint3 block, size_t dynamic_b) {
    const uint64_t threads = (uint64_t)block.x * block.y * block.z, blocks = (uint64_t)grid.x * grid.y * grid.z;
    if (!threads || threads > HS_THREADS_MOST)
        hs_say(HS_LIMIT, "%llu threads in a block: 1 to %d are possible", (unsigned long long)threads, HS_THREADS_MOST);
    else if (!blocks)
        hs_say(HS_LIMIT, "no block in the grid");
    else if (blocks > UINT32_MAX)
        hs_say(HS_LIMIT, "%llu blocks in the grid: too many to run on a CPU", (unsigned long long)blocks);
    else if (hs.options.cluster > HS_RANKS_MOST || (hs.options.cluster && grid.x % hs.options.cluster))
        hs_say(HS_LIMIT, "clusters of %u blocks in a grid of %u: they have up to %d, and the grid has whole clusters",
               hs.options.cluster, grid.x, HS_RANKS_MOST);
    else if (dynamic_b > HS_SHARED_MOST_B)
        hs_say(HS_LIMIT, "%zu bytes of shared memory: %d are possible", dynamic_b, HS_SHARED_MOST_B);
    return !hs.report.kind;
}

static bool run_grid(void) {
    const unsigned n = gridDim.x * gridDim.y * gridDim.z / hs.n_ranks;
    unsigned *list = malloc(n * sizeof *list);
    if (!list) return false;
    arrange(list, n);
    for (unsigned k = 0; k < n && !hs.report.kind; k++) run_cluster(list[k] * hs.n_ranks);
    free(list);
    return !hs.report.kind;
}

bool shim_launch_call(const char *name, hs_uint3 grid, hs_uint3 block, size_t dynamic_b, void (*call)(void *),
                      void *arg, const void *code) {
    memset(&hs.report, 0, sizeof hs.report);
    hs.kernel = name ? name : "";
    blockIdx = (hs_uint3){0, 0, 0};
    if (!check_limits(grid, block, dynamic_b)) return false;
    blockDim = block;
    gridDim = grid;
    hs.n_threads = block.x * block.y * block.z;
    hs.call = call;
    hs.arg = arg;
    hs.dynamic_b = dynamic_b;
    hs.steps = 0;
    hs.steps_most = hs.options.steps_most ? hs.options.steps_most : 20000000000u;
    hs.n_blocks = 0;
    hs_forget_flags();
    hs.launch_first = hs.interval = ++hs.last_interval;
    if (!hs_prepare_module(code) || !hs_open_ranks(hs.options.cluster ? hs.options.cluster : 1)) {
        if (!hs.report.kind) hs_say(HS_LIMIT, "out of memory");
        return false;
    }
    const bool good = run_grid();
    hs_close_ranks();
    return good;
}

typedef void any_kernel(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, double, double, double, double,
                        double, double, double, double, const uint64_t[]);
struct words {
    any_kernel *kernel;
    uint64_t whole[96];
    double real[8];
    size_t n_whole;
};

#define W(n) w->whole[n]
#define TEN(n) W(n), W(n + 1), W(n + 2), W(n + 3), W(n + 4), W(n + 5), W(n + 6), W(n + 7), W(n + 8), W(n + 9)
#define FIRST W(0), W(1), W(2), W(3), W(4), W(5), r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7]
/* Whole numbers beyond those in registers lie on the stack in order, so that more of them do no harm. */
static void call_words(void *arg) {
    struct words *w = arg;
    const double *r = w->real;
    if (w->n_whole <= 6)
        ((void (*)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, double, double, double, double, double,
                   double, double, double))(uintptr_t)w->kernel)(FIRST);
    else if (w->n_whole <= 16)
        ((void (*)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, double, double, double, double, double,
                   double, double, double, ...))(uintptr_t)w->kernel)(FIRST, TEN(6));
    else
        ((void (*)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, double, double, double, double, double,
                   double, double, double, ...))(uintptr_t)w->kernel)(FIRST, TEN(6), TEN(16), TEN(26), TEN(36), TEN(46),
                                                                      TEN(56), TEN(66), TEN(76), TEN(86));
}

bool shim_launch(void *kernel, const char *name, hs_uint3 grid, hs_uint3 block, size_t dynamic_b, const uint64_t *word,
                 const bool *is_float, size_t n) {
    struct words w = {.kernel = (any_kernel *)(uintptr_t)kernel};
    size_t n_real = 0;
    for (size_t i = 0; i < n; i++) {
        const bool real = is_float && is_float[i];
        if (real ? n_real == 8 : w.n_whole == 96) {
            memset(&hs.report, 0, sizeof hs.report);
            hs_say(HS_LIMIT, "the kernel has more arguments than the shim passes: 96 whole numbers and 8 others");
            return false;
        }
        if (real)
            memcpy(&w.real[n_real++], &word[i], sizeof *word);
        else
            w.whole[w.n_whole++] = word[i];
    }
    return shim_launch_call(name, grid, block, dynamic_b, call_words, &w, kernel);
}
