/* shim/rt/shim.h — the shim (docs/race.md) as programs call it: CUDA kernels compiled as C++ with shim.cuh and g++'s
 * -fsanitize=thread, run on the CPU and checked. C11 and C++.
 *
 * Owns: modules until the program ends; memory until shim_free.   Threads: one at a time.   Errors: false or NULL, with
 * shim_fault()'s report.
 */
#ifndef HONE_SHIM_H
#define HONE_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hs_uint3 {
    unsigned x, y, z;
} hs_uint3;

/* Classes of faults; their names are printed by --json. */
typedef enum hs_kind {
    HS_FINE,
    HS_RACE,
    HS_BOUNDS,
    HS_UNDEFINED, /* a read of memory that nothing was written to */
    HS_IN_FLIGHT, /* an access to what an asynchronous copy still writes */
    HS_DIVERGENT, /* a barrier that not all reach */
    HS_STUCK,     /* threads that wait for ever, or never end */
    HS_LIMIT,     /* too many threads, too much shared memory */
    HS_WARP,      /* a wrong mask or lane */
    HS_MISUSE
} hs_kind;

typedef struct hs_spot {
    char file[200], does[80]; /* "writes shared 'tile' + 4" */
    int line;                 /* 0: not known */
    hs_uint3 block, thread;
} hs_spot;

typedef struct hs_report {
    hs_kind kind;
    char kernel[80], text[900]; /* one line */
    hs_spot spot[2];
    int n_spot;
} hs_report;

typedef enum hs_order { HS_FORWARDS, HS_BACKWARDS, HS_PERMUTED } hs_order;
typedef struct hs_options {
    hs_order order; /* in which blocks, warps and lanes run */
    uint64_t seed;
    uint64_t steps_most; /* accesses, jumps and waits of a launch; 0: 20 thousand million */
    bool undefined_ok;
    unsigned cluster; /* blocks of a cluster, neighbours in x; 0: there are none */
} hs_options;
hs_options *shim_options(void);
const hs_report *shim_report(void);
const char *shim_fault(void); /* its text; "": none */
const char *shim_kind_name(hs_kind kind);

typedef struct hs_module hs_module;
hs_module *shim_load(const char *path);
/* A kernel by its name, mangled or as in the source. */
void *shim_kernel(hs_module *m, const char *name);

/* Global memory; outside of it lies nothing. name: as reports call it. */
void *shim_alloc(size_t size_b, const char *name);
void shim_free(void *p);
/* How many bytes from p on lie in its allocation. */
size_t shim_room(const void *p);
/* The host wrote there. */
void shim_written(void *p, size_t size_b);

/* Runs call(arg), a call of the kernel, for every thread of the grid. */
bool shim_launch_call(const char *name, hs_uint3 grid, hs_uint3 block, size_t dynamic_b, void (*call)(void *),
                      void *arg, const void *code);
/* The same for a kernel whose arguments are n words: floats and doubles where the bit of is_float is set (a float in
 * the low half), else integers and pointers. At most 6 + 90 integers and 8 floats. */
bool shim_launch(void *kernel, const char *name, hs_uint3 grid, hs_uint3 block, size_t dynamic_b, const uint64_t *word,
                 const bool *is_float, size_t n);

#ifdef __cplusplus
}
#endif
#endif
