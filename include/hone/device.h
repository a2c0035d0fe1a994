/* hone/device.h — what this machine can do at most: read by schedules, cost models and rooflines.
 *
 * Sizes and instruction sets are looked up; rates are measured once (`hone doctor --measure`) and kept in a file.
 * Nothing keys on a processor's name. Units: bytes, operations and bytes per second (a fused multiply-add is two
 * operations).
 */
#ifndef HONE_DEVICE_H
#define HONE_DEVICE_H

#include <hone/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_device {
    char isa[16]; /* the best row of hone's instruction sets that runs here: "generic", "x86-64-v3", … */
    char key[33]; /* hash of what is looked up but n_cores, which a process's affinity decides, and l1d_ways; a table
                     with another key belongs to another machine */
    uint32_t vector_b;                  /* width of a vector register */
    uint32_t n_registers;               /* vector registers */
    uint32_t n_cores;                   /* usable by this process */
    uint64_t line_b, l1d_b, l2_b, l3_b; /* 0: not known */
    uint32_t l1d_ways;                  /* lines in a set of the first-level cache; 0: not known */
    /* measured, of one core unless said otherwise; 0: not measured, or not offered by the processor */
    double f32_flops, f64_flops, bf16_flops, i8_ops; /* multiply-add chains out of registers */
    double l1_bps, l2_bps, l3_bps, memory_bps; /* reading; l3 0 also where there is no third level, or none to tell */
    double copy_bps;                           /* memory to memory; bytes read plus bytes written */
    double all_f32_flops, all_memory_bps;      /* all_cores cores together */
    uint32_t all_cores;                        /* that were usable when the table was measured; 0: not measured */
} hone_device;

/* What can be looked up; rates are 0. Never fails. */
HONE_API void hone_device_detect(hone_device *out);
/* Measures the rates with small programs that `cc` (NULL: cc) compiles; the best of several repeats counts, so a busy
 * machine costs time before it costs accuracy. They run in a child process under a time limit. Takes some seconds.
 * Failures: E_TOOL, E_IO, E_NOMEM. */
HONE_API hone_rc hone_device_measure(const char *cc, hone_device *out, hone_err *err);
/* Where the table is kept: device.yaml in $XDG_CACHE_HOME/hone, else ~/.cache/hone. Free with hone_free. */
HONE_API char *hone_device_path(void);
/* path NULL: hone_device_path. Reading fails with E_NOTFOUND where there is no file and E_MISMATCH where it is another
 * machine's. */
HONE_API hone_rc hone_device_write(const hone_device *d, const char *path, hone_err *err);
HONE_API hone_rc hone_device_read(const char *path, hone_device *out, hone_err *err);
/* The table to work with: read, else what can be looked up. */
HONE_API void hone_device_get(hone_device *out);

/* A device of CUDA or OpenCL, or (index -1) why an api has none: the reason stands in name. */
typedef struct hone_device_gpu {
    char api[16]; /* "cuda", "opencl" */
    int index;    /* "cuda:0" names it in a workload and in HONE_GPU_DEVICE */
    char name[400], arch[128], driver[64], version[160];
} hone_device_gpu;
/* Asks the drivers, in a child under a time limit. Free with hone_free. E_TOOL where it fails, E_UNSUPPORTED in builds
 * without the program that asks. */
HONE_API hone_rc hone_device_gpus(hone_device_gpu **out, size_t *n, hone_err *err);

#ifdef __cplusplus
}
#endif
#endif
