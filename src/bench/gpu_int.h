/* bench/gpu_int.h — private parts of the GPU harness (docs/harness-gpu.md). Like all of bench it stands alone.
 *
 * gpu.c: what a program says (buffers, launches). gpu_run.c: how a call is timed and checked, the same for all devices.
 * A kind of device is a row of hn_gpu_apis: gpu_cuda.c (with gpu_nvml.c for clocks), gpu_opencl.c.
 * Errors: hn_gpu_fault ends the program. Invariant: device memory of a buffer lies between two guards.
 */
#ifndef HN_GPU_INT_H
#define HN_GPU_INT_H

#include "bench_int.h"

#include <hone/bench_gpu.h>

enum {
    HN_GPU_GUARD_B = 4096, /* before and behind each buffer; a multiple of every alignment in use */
    HN_GPU_SETS_MOST = 256,
    HN_GPU_ARGS_MOST = 128,
    HN_GPU_GUARD = 0xC3,
    HN_GPU_POISON = 0xFF /* NaN in every floating-point type */
};

/* Classes of what can go wrong, as stored in records (hone_outcome_class). */
typedef enum hn_gpu_class {
    HN_GPU_MEMORY_FAULT,
    HN_GPU_LAUNCH_REFUSED,
    HN_GPU_DEVICE_FAULT,
    HN_GPU_NO_DEVICE,
    HN_GPU_THROTTLED,
    HN_GPU_RUN_CRASH
} hn_gpu_class;

/* A piece of device memory: an address (CUDA) or an object (OpenCL). */
typedef struct hn_gpu_mem {
    unsigned long long at;
    void *object, *part; /* OpenCL: the whole, and what kernels get */
} hn_gpu_mem;

typedef struct hn_gpu_buffer {
    char name[64];
    hone_gpu_use use;
    hone_gpu_type type;
    size_t n, size_b;
    void *data; /* what an input holds; NULL for outputs */
    bool constant_ok;
    hn_gpu_mem mem[HN_GPU_SETS_MOST]; /* one for each set of operands */
    size_t n_mem;
} hn_gpu_buffer;

typedef struct hn_gpu_launch {
    char *entry;
    unsigned grid[3], block[3];
    size_t shared_b, n_args;
    hone_gpu_arg *arg; /* values point into `values` */
    unsigned char *values;
    void *kernel;
} hn_gpu_launch;

typedef struct hn_gpu_info {
    char name[128], arch[128], driver[64], version[160], bus[32];
    uint64_t cache_b, memory_b; /* the last-level cache; free memory */
    double clock_mhz;           /* the default clock; 0: unknown */
} hn_gpu_info;

/* One sample. */
typedef struct hn_gpu_reading {
    double s;   /* per call */
    double ran; /* calls that ran for it, timed or not */
    double clock_mhz;
    unsigned long long throttle;
    bool clock_known;
} hn_gpu_reading;

struct hn_gpu_api;

struct hone_gpu {
    hone_bench *b;
    const struct hn_gpu_api *api;
    void *state; /* of the api */
    int index;   /* of the device */
    char wanted[32];
    hn_gpu_info info;
    char line[640];
    hn_gpu_buffer *buffer;
    size_t n_buffers;
    hn_gpu_launch *launch;
    size_t n_launches;
    size_t n_sets; /* sets of operands that calls rotate over */
    bool announced;
};

/* How calls of one sample are laid out. */
typedef struct hn_gpu_plan {
    uint64_t calls; /* a multiple of the sets where the api wants that, unless cold */
    bool cold;      /* evict the cache before each call, outside the timed region */
} hn_gpu_plan;

typedef struct hn_gpu_api {
    const char *name;
    bool whole_sets; /* a sample uses each set of operands equally often; else rotation goes on in the next sample */
    bool (*takes)(const void *image, size_t size);
    /* Prints one line for each device: api, index, name, arch, driver, version. False with why where there are none.
     * NULL: no device of this machine. */
    bool (*list)(FILE *f, char *why, size_t n);
    void (*open)(hone_gpu *g);
    void (*close)(hone_gpu *g);
    void (*load)(hone_gpu *g, const void *image, size_t size, const char *options);
    void *(*kernel)(hone_gpu *g, const hn_gpu_launch *l);
    hn_gpu_mem (*alloc)(hone_gpu *g, size_t size_b); /* between guards */
    void (*release)(hone_gpu *g, hn_gpu_mem *m);
    /* Offsets count from the start of the buffer: from -GUARD to size + GUARD. */
    void (*write)(hone_gpu *g, const hn_gpu_mem *m, ptrdiff_t at, const void *from, size_t n);
    void (*read)(hone_gpu *g, const hn_gpu_mem *m, ptrdiff_t at, void *to, size_t n);
    void (*fill)(hone_gpu *g, const hn_gpu_mem *m, ptrdiff_t at, size_t n, unsigned char byte);
    void (*call)(hone_gpu *g, size_t set); /* one call, waited for */
    void (*sample)(hone_gpu *g, const hn_gpu_plan *plan, hn_gpu_reading *out);
    double (*energy)(hone_gpu *g); /* joules since some time; NAN: not known. NULL: never */
} hn_gpu_api;

extern const hn_gpu_api hn_gpu_cuda, hn_gpu_opencl, hn_gpu_shim;
extern const hn_gpu_api *const hn_gpu_apis[]; /* NULL-terminated */

const char *hn_gpu_class_name(hn_gpu_class c);
/* Reports the fault, writes what is left and ends the program. */
_Noreturn void hn_gpu_fault(hone_gpu *g, hn_gpu_class c, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void *hn_gpu_memory(hone_gpu *g, size_t n, size_t size); /* zeroed; never NULL */

/* Opens a library and fills a table of functions. False with why: which library or function is missing. */
typedef struct hn_gpu_symbol {
    const char *name, *older; /* older: another name to try; NULL */
    size_t at;                /* offset of the pointer in the table */
    bool may_miss;
} hn_gpu_symbol;
void *hn_gpu_library(const char *const *names, const hn_gpu_symbol *symbol, size_t n, void *table, char *why,
                     size_t n_why);

/* Clocks of an NVIDIA device by NVML, read only. NULL when the library or the device is not there. */
typedef struct hn_nvml hn_nvml;
hn_nvml *hn_nvml_open(const char *bus, char driver[64]);
bool hn_nvml_clock(const hn_nvml *v, double *mhz, unsigned long long *reasons);
double hn_nvml_energy(const hn_nvml *v); /* joules; NAN */
void hn_nvml_close(hn_nvml *v);

void hn_gpu_launches_free(hone_gpu *g);

bool hn_gpu_is_float(hone_gpu_type type);
/* Are all n > 1 elements the same? */
bool hn_gpu_one_value(const void *data, size_t n, size_t size);
/* Uniform in [-1, 1), integers of any value. */
void hn_gpu_fill_any(void *data, hone_gpu_type type, size_t n, uint64_t seed);
/* F16 and BF16 as F32, exactly. */
void hn_gpu_widen(const void *data, hone_gpu_type type, size_t n, float *out);

#endif
