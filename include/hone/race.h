/* hone/race.h — a CUDA kernel run on the CPU with every access checked: races, bounds, barriers (docs/race.md).
 *
 * Owns: a result, until hone_race_free.   Units: seconds.   Threads: any; each call compiles and runs in processes of
 * its own. Errors: E_TOOL with the compiler's first error, or where there is no g++; E_INPUT for a description or an
 * argument that is wrong. A fault of the kernel is a result.
 */
#ifndef HONE_RACE_H
#define HONE_RACE_H

#include <hone/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_race_options {
    size_t size;              /* of this struct */
    const char *description;  /* a file (docs/harness-gpu.md); NULL: NAME.kernel beside NAME.cu */
    const char *text;         /* the description itself, instead of a file */
    const char *const *set;   /* "name=value" of the description's parameters; NULL-terminated; NULL: none */
    const char *const *flags; /* of g++: -D, -I; NULL-terminated; NULL: none */
    unsigned runs;            /* each in another order of threads: forwards, backwards, permuted; 0: 3 */
    double limit_s;           /* of a run; 0: 60 */
    const volatile int *stop; /* non-zero: ends early with E_STOPPED; NULL: never */
} hone_race_options;
HONE_API hone_race_options hone_race_defaults(void);

typedef struct hone_race_place {
    char file[200], does[80]; /* "writes shared 'tile' + 4" */
    int line;                 /* 0: not known */
    unsigned block[3], thread[3];
} hone_race_place;

typedef struct hone_race_result {
    bool clean;
    unsigned runs;            /* that were made */
    char kind[32], order[32]; /* "race", "bounds", …; of which run */
    char kernel[80];
    char *text; /* the fault in one line; NULL when clean */
    hone_race_place place[2];
    unsigned n_places;
} hone_race_result;

/* Compiles the CUDA source and runs what the description says, until a run has a fault. */
HONE_API hone_rc hone_race_run(const char *source, const hone_race_options *options, hone_race_result *out,
                               hone_err *err);
HONE_API void hone_race_free(hone_race_result *result); /* accepts zeroes */

#ifdef __cplusplus
}
#endif
#endif
