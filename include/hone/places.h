/* hone/places.h — where compiled models run: the host's processors, and the devices that drivers find here.
 *
 * A place has a name ("host", "opencl:0", "cuda:0", "shim": CUDA kernels checked on the processor) and a target, which
 * a model is compiled for. A library for devices runs on its driver's first device, or on the place that the
 * environment variable HONE_MODEL_PLACE names when an instance is created. Drivers are asked in a child process. Sizes
 * in bytes; 0: not known. What devices do at most is measured on demand (`hone doctor --measure`) and kept.
 */
#ifndef HONE_PLACES_H
#define HONE_PLACES_H

#include <hone/base.h>

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_place {
    char name[32], target[32];
    char device[128], arch[64], driver[64], version[96];
    uint64_t memory_b, alloc_most_b;                 /* all of it; one allocation at most */
    uint64_t shared_b, cache_b;                      /* shared memory of a block */
    uint32_t n_units, clock_mhz, n_threads, n_lanes; /* multiprocessors; threads of a block at most; of a warp */
    uint8_t has_f64, has_f16, is_cpu, shares_host;   /* arithmetic; the host's processor; the host's memory */
} hone_place;

/* All devices; *why (NULL is accepted): of drivers without one the reasons, a line each. Free both with hone_free. */
HONE_API hone_rc hone_places_find(hone_place **out, size_t *n, char **why, hone_err *err);
/* "opencl" is its first device. E_USAGE: no place has such a name; E_NOTFOUND: there is no such device, with the
 * reason.
 */
HONE_API hone_rc hone_place_find(const char *name, hone_place *out, hone_err *err);

/* As hone_place_find, and *split: the place shares the work with the host (hone_compile_options.split). "opencl:0+host"
 * asks for that; "auto": the first device of CUDA, or of OpenCL that is no processor, with the host; the host alone
 * where there is none. */
HONE_API hone_rc hone_place_choose(const char *name, hone_place *out, bool *split, hone_err *err);

/* What a device does at most, measured. 0: not measured, or not offered. Per second, seconds. */
typedef struct hone_place_rates {
    double f32_flops;          /* multiply-adds out of registers, two operations each; all units together */
    double f16_flops;          /* of halves: in products of tiles on CUDA (mma.sync, sm_80), multiply-adds in OpenCL */
    double read_bps, copy_bps; /* its memory: reading; memory to memory, read plus written */
    double put_bps, get_bps; /* from the host's memory to its own; back; ordinary memory of the host's, large pieces */
    double put_s, get_s;     /* four bytes there; back, with all that it waits for */
    double launch_s, wait_s; /* a kernel that does nothing: one of many behind one another; one that is waited for */
} hone_place_rates;

/* Measures with small kernels, in a child process under a time limit; takes some seconds. The best of several repeats
 * counts. E_UNSUPPORTED: the place has no times of its own (shim) or another table (host: hone_device_measure);
 * E_NOTFOUND, E_USAGE as hone_place_find; E_TOOL: the device or its compiler fails. */
HONE_API hone_rc hone_place_measure(const char *name, hone_place_rates *out, hone_err *err);
/* Where measured rates are kept: devices.yaml beside the machine's table (hone_device_path), by device, architecture,
 * driver and version. Free with hone_free. */
HONE_API char *hone_place_rates_path(void);
/* path NULL: hone_place_rates_path. Reading: E_NOTFOUND where this device under this driver was not measured, E_INPUT
 * where the file is damaged. Writing keeps what the file says of other devices; a damaged file is written anew. */
HONE_API hone_rc hone_place_rates_read(const hone_place *place, const char *path, hone_place_rates *out, hone_err *err);
HONE_API hone_rc hone_place_rates_write(const hone_place *place, const hone_place_rates *rates, const char *path,
                                        hone_err *err);

#ifdef __cplusplus
}
#endif
#endif
