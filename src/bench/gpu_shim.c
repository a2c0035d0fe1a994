/* bench/gpu_shim.c — kernels that hone's shim has compiled for the CPU (docs/race.md): run once and checked, not timed.
 * The module brings the shim along as a library that it was linked with.
 *
 * $HONE_SHIM_ORDER: "forwards", "backwards" or a number, the seed of a permutation. $HONE_SHIM_STEPS: the most accesses
 * and waits of a launch. A fault is printed as lines that begin with "hone-shim:", their parts separated by tabs.
 */
#include "gpu_int.h"

#include "../shim/rt/shim.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FUNCTIONS(F)                                                                                                   \
    F(shim_options, hs_options *, (void))                                                                              \
    F(shim_report, const hs_report *, (void))                                                                          \
    F(shim_kind_name, const char *, (hs_kind kind))                                                                    \
    F(shim_load, hs_module *, (const char *path))                                                                      \
    F(shim_kernel, void *, (hs_module * m, const char *name))                                                          \
    F(shim_alloc, void *, (size_t size_b, const char *name))                                                           \
    F(shim_free, void, (void *p))                                                                                      \
    F(shim_written, void, (void *p, size_t size_b))                                                                    \
    F(shim_launch, bool,                                                                                               \
      (void *kernel, const char *name, hs_uint3 grid, hs_uint3 block, size_t dynamic_b, const uint64_t *word,          \
       const bool *is_float, size_t n))

typedef struct shim {
#define MEMBER(name, result, args) result(*name) args;
    FUNCTIONS(MEMBER)
#undef MEMBER
    hs_module *module;
    size_t n_allocated;
} shim;

static bool takes(const void *image, size_t size) {
    const unsigned char *e = image;
    const bool elf = size > 64 && !memcmp(e, "\177ELF", 4);
    return elf && e[16] == 3 && (e[18] | e[19] << 8) != 190; /* a library, for anything but a GPU */
}

static void open_shim(hone_gpu *g) {
    g->state = hn_gpu_memory(g, 1, sizeof(shim));
    snprintf(g->info.name, sizeof g->info.name, "shim");
    g->info.memory_b = (uint64_t)64 << 30;
}

static void close_shim(hone_gpu *g) { free(g->state); }

_Noreturn static void fault(hone_gpu *g) {
    const shim *s = g->state;
    const hs_report *r = s->shim_report();
    printf("hone-shim:fault\t%s\t%s\t%s\n", s->shim_kind_name(r->kind), r->kernel, r->text);
    for (int i = 0; i < r->n_spot; i++) {
        const hs_spot *p = &r->spot[i];
        printf("hone-shim:spot\t%s\t%d\t%u,%u,%u\t%u,%u,%u\t%s\n", p->file, p->line, p->block.x, p->block.y, p->block.z,
               p->thread.x, p->thread.y, p->thread.z, p->does);
    }
    fflush(stdout);
    hn_gpu_fault(g,
                 r->kind == HS_BOUNDS  ? HN_GPU_MEMORY_FAULT
                 : r->kind == HS_LIMIT ? HN_GPU_LAUNCH_REFUSED
                                       : HN_GPU_DEVICE_FAULT,
                 "%s", r->text);
}

/* The module is linked with the shim, which therefore comes with it. */
static void load(hone_gpu *g, const void *image, size_t size, const char *options) {
    shim *s = g->state;
    char path[64];
    const int fd = (int)syscall(SYS_memfd_create, "module.so", 0);
    const char *order = getenv("HONE_SHIM_ORDER"), *steps = getenv("HONE_SHIM_STEPS");
    (void)options;
    if (fd < 0 || write(fd, image, size) != (ssize_t)size) hn_bench_die(g->b, "no room for the module");
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), fd);
    void *h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!h) hn_gpu_fault(g, HN_GPU_LAUNCH_REFUSED, "%s", dlerror());
#define FETCH(name, result, args)                                                                                      \
    *(void **)(void *)&s->name = dlsym(h, #name);                                                                      \
    if (!s->name) hn_gpu_fault(g, HN_GPU_LAUNCH_REFUSED, "this library was not made by hone-shim-cc: no " #name);
    FUNCTIONS(FETCH)
#undef FETCH
    hs_options *o = s->shim_options();
    if (order && *order >= '0' && *order <= '9') o->seed = strtoull(order, NULL, 10);
    if (order) o->order = *order == 'b' ? HS_BACKWARDS : *order == 'f' ? HS_FORWARDS : HS_PERMUTED;
    if (steps) o->steps_most = strtoull(steps, NULL, 10);
    s->module = s->shim_load(path);
    if (!s->module) fault(g);
}

static void *kernel(hone_gpu *g, const hn_gpu_launch *l) {
    shim *s = g->state;
    void *k = s->shim_kernel(s->module, l->entry);
    if (!k) hn_bench_die(g->b, "there is no kernel '%s' in the source", l->entry);
    return k;
}

static hn_gpu_mem alloc(hone_gpu *g, size_t size_b) {
    shim *s = g->state;
    const char *name = s->n_allocated < g->n_buffers ? g->buffer[s->n_allocated].name : "";
    s->n_allocated++;
    void *p = s->shim_alloc(size_b, name);
    if (!p) hn_bench_die(g->b, "out of memory for buffer '%s'", name);
    return (hn_gpu_mem){.at = (uintptr_t)p, .object = p};
}

static void release(hone_gpu *g, hn_gpu_mem *m) { ((shim *)g->state)->shim_free(m->object); }

static void write_to(hone_gpu *g, const hn_gpu_mem *m, ptrdiff_t at, const void *from, size_t n) {
    memcpy((char *)m->object + at, from, n);
    ((shim *)g->state)->shim_written((char *)m->object + at, n);
}

static size_t size_of(const hone_gpu *g, const hn_gpu_mem *m) {
    for (size_t i = 0; i < g->n_buffers; i++)
        if (m >= g->buffer[i].mem && m < g->buffer[i].mem + HN_GPU_SETS_MOST) return g->buffer[i].size_b;
    return 0;
}

/* The guards are the shim's own business: no kernel writes there. */
static void read_from(hone_gpu *g, const hn_gpu_mem *m, ptrdiff_t at, void *to, size_t n) {
    if (at < 0 || (size_t)at + n > size_of(g, m))
        memset(to, HN_GPU_GUARD, n);
    else
        memcpy(to, (const char *)m->object + at, n);
}

static void fill(hone_gpu *g, const hn_gpu_mem *m, ptrdiff_t at, size_t n, unsigned char byte) {
    if (at >= 0 && (size_t)at + n <= size_of(g, m)) memset((char *)m->object + at, byte, n);
}

static void call(hone_gpu *g, size_t set) {
    const shim *s = g->state;
    for (size_t i = 0; i < g->n_launches; i++) {
        const hn_gpu_launch *l = &g->launch[i];
        uint64_t word[HN_GPU_ARGS_MOST] = {0};
        bool real[HN_GPU_ARGS_MOST] = {0};
        for (size_t k = 0; k < l->n_args; k++) {
            const hone_gpu_arg *a = &l->arg[k];
            if (a->buffer >= 0)
                word[k] = g->buffer[a->buffer].mem[set].at;
            else if (!a->value || a->size > sizeof *word)
                hn_gpu_fault(g, HN_GPU_LAUNCH_REFUSED, "argument %zu of '%s' cannot be passed on the shim", k + 1,
                             l->entry);
            else
                memcpy(&word[k], a->value, a->size);
            real[k] = a->real;
        }
        const hs_uint3 grid = {l->grid[0], l->grid[1], l->grid[2]}, block = {l->block[0], l->block[1], l->block[2]};
        if (!s->shim_launch(l->kernel, l->entry, grid, block, l->shared_b, word, real, l->n_args)) fault(g);
    }
}

static void sample(hone_gpu *g, const hn_gpu_plan *plan, hn_gpu_reading *out) {
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (uint64_t i = 0; i < plan->calls; i++) call(g, (size_t)(i % g->n_sets));
    clock_gettime(CLOCK_MONOTONIC, &to);
    const double s = (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
    *out = (hn_gpu_reading){.s = s / (double)plan->calls, .ran = (double)plan->calls};
}

const hn_gpu_api hn_gpu_shim = {
    .name = "shim",
    .takes = takes,
    .open = open_shim,
    .close = close_shim,
    .load = load,
    .kernel = kernel,
    .alloc = alloc,
    .release = release,
    .write = write_to,
    .read = read_from,
    .fill = fill,
    .call = call,
    .sample = sample,
};
