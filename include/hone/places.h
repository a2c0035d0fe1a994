/* hone/places.h — where compiled models run: the host's processors, and the devices that drivers find here.
 *
 * A place has a name ("host", "opencl:0", "cuda:0", "shim": CUDA kernels checked on the processor) and a target, which
 * a model is compiled for. A library for devices runs on its driver's first device, or on the place that the
 * environment variable HONE_MODEL_PLACE names when an instance is created. Drivers are asked in a child process. Sizes
 * in bytes; 0: not known.
 */
#ifndef HONE_PLACES_H
#define HONE_PLACES_H

#include <hone/base.h>

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

#ifdef __cplusplus
}
#endif
#endif
