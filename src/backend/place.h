/* backend/place.h — places: where compiled kernels run. This process; a process of another processor's under an
 * emulator; later a device. Parity and measurements know a kernel's memory and its time through a place alone.
 *
 * Use: open, then kernels (of the library that was opened, or loaded one by one), memory, launches.   Owns: its memory
 * and libraries, until close.   Threads: one at a time.   A kernel that crashes takes the process down that opened the
 * place, whichever place it is: callers open places in a child.
 */
#ifndef HN_PLACE_H
#define HN_PLACE_H

#include "base/err.h"

#include <hone/model.h>

/* Memory of a place: a pointer into it that only the place may follow; bytes behind it have theirs by addition. */
typedef char *hn_mem;
typedef struct hn_code { /* a kernel */
    void *library;       /* that load opened */
    hone_kernel_fn *run;
    uint32_t index; /* where it is not in this process */
} hn_code;

typedef struct hn_place_spec {
    const char *library,
        *query;      /* the path of a model's library and its function; NULL: kernels are loaded one by one */
    uint32_t target; /* whose kernels of the library */
    const int *cpu;  /* cores for the threads of a launch, the first one the caller's … */
    uint32_t n_cpu;  /* … 0: one thread, on any */
    uint64_t seed;   /* decides where memory lies */
    const char *emulator, *folder, *root; /* of another processor's library: the program that runs it, the folder that
                                             holds the library and `runner`, and that of the processor's libc */
} hn_place_spec;

typedef enum hn_mem_kind {
    HN_MEM_PLAIN,
    HN_MEM_VALUE,   /* as an instance has values and scratch: in large pages, one behind the other with small gaps */
    HN_MEM_CONSTANT /* as an instance has its weights: in small pages, as a mapped file */
} hn_mem_kind;

typedef struct hn_launch {
    hn_code code;
    hn_mem *buf; /* as backend/backend.h says; n_buf of them */
    uint32_t n_buf;
    int64_t *symbol; /* of this process; symbol[-1] is the error slot, which launches write */
    size_t n_symbol;
    int64_t begin, end;
    hn_mem scratch; /* of one thread after the other, scratch_b each */
    int64_t scratch_b;
    int64_t cost;       /* elementary operations, about: more threads than one take part where that pays … */
    uint32_t n_threads; /* … at most so many; 0: one */
} hn_launch;

typedef struct hn_place {
    int version;
    const char *name, *summary;
    hone_rc (*open)(const hn_place_spec *spec, void **state, hone_err *err); /* E_TOOL: the library does not load */
    void (*close)(void *state);                                              /* accepts NULL */
    /* Kernel `index` of the library. */
    hn_code (*find)(void *state, uint32_t index);
    /* The only kernel of a library of its own, exported as `hone_kernel`, in the place of what *code holds (0:
     * nothing). NULL: the place loads none. */
    hone_rc (*load)(void *state, const char *path, hn_code *code, hone_err *err);
    /* Zeroed unless it is plain, aligned to a cache line. NULL: there is no memory. */
    hn_mem (*alloc)(void *state, int64_t size_b, hn_mem_kind kind);
    void (*reset)(void *state); /* all plain memory is free again */
    void (*put)(void *state, hn_mem to, const void *from, int64_t size_b);
    void (*get)(void *state, void *to, hn_mem from, int64_t size_b);
    /* False: what runs kernels there has ended. */
    bool (*launch)(void *state, const hn_launch *l);
    /* Seconds of n launches on the place's clock, of list[*turn] first and then in turn of all n_list. 0: it has ended.
     */
    double (*time)(void *state, const hn_launch *list, uint32_t n_list, uint32_t *turn, int64_t n);
    /* A whole run of an instance that was made in this process, all inputs and outputs, and its seconds on the place's
     * clock. NULL: the place runs kernels alone. */
    hone_model_rc (*run)(void *state, const hone_model *m, hone_model_instance *i, const hone_model_tensor *in,
                         hone_model_tensor *out, double *time_s);
    /* Seconds since some moment, by the same clock. */
    double (*now_s)(void *state);
    /* How much longer so many work items of a launch take on n threads than an even split of them would, given equal
     * items: at least 1. */
    double (*balance)(int64_t work, int64_t cost, uint32_t n_threads);
    /* After a launch that returned false, in this process: what went wrong; "". NULL: the place cannot say. */
    const char *(*trouble)(void *state);
} hn_place;

/* For places of this process. A model's library is opened, until dlclose(*library): E_TOOL, and nothing is open. */
hone_rc hn_place_library(const hn_place_spec *s, void **library, const hone_model **out, hone_err *err);
double hn_place_now_s(void *state); /* hn_place.now_s, and run, whose outputs are the host's when it returns */
hone_model_rc hn_place_run(void *state, const hone_model *m, hone_model_instance *i, const hone_model_tensor *in,
                           hone_model_tensor *out, double *time_s);

/* Elementary operations of a launch, about, that are worth a slice of their own: fewer than two slices take one thread.
 */
enum { HN_SLICE_COST = 32768 };
enum { HN_PLACE_VERSION = 1, HN_PLACE_THREADS = HONE_MODEL_THREADS };
extern const hn_place hn_place_device;   /* a device, through its driver: backend/gpu/place_device.c */
extern const hn_place hn_place_here;     /* this process: backend/cpu/place_here.c */
extern const hn_place hn_place_emulated; /* a process under an emulator: backend/cpu/place_emulated.c */

#endif
