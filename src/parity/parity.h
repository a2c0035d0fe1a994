/* parity/parity.h — one kernel compared with the interpreter; used by parity.c in a child process.
 *
 * A trial is a set of symbol values and a set of inputs. Owns: everything in the arena handed in.
 */
#ifndef HN_PARITY_H
#define HN_PARITY_H

#include "artifact/artifact.h"
#include "backend/place.h"
#include "base/rng.h"
#include "ir/interp.h"

typedef enum hn_fill {
    HN_FILL_RANDOM,   /* N(0, 1) */
    HN_FILL_EDGE,     /* zeros of both signs, ones, denormals, the largest where no sum can overflow */
    HN_FILL_SPECIAL,  /* random with a few NaN and infinities */
    HN_FILL_POSITIVE, /* inside the domain of roots and logarithms */
    HN_N_FILLS
} hn_fill;

enum { HN_GUARD_B = 64 }; /* pattern on both sides of what a kernel writes */
/* Where a model's kernels run. */
typedef struct hn_ground {
    const hn_place *place;
    void *state; /* of the place */
} hn_ground;

typedef struct hn_trial {
    const hn_model *m;
    const hn_kernel *k;
    hn_ground where;
    hn_code code; /* the kernel there */
    hn_arena *a;
    hn_rng rng;
    int64_t *symbol; /* symbol[-1] is the error slot */
    size_t n_symbols;
    hn_tensor *in, *want, *got;
    uint32_t n_in, n_out;
    int64_t cost;
    double rtol, atol;
    bool underflows; /* infinite inputs may meet weights that are 0 in the element type, not in double */
    hn_parity *result;
} hn_trial;

/* Properties of a body that its inputs must respect. */
typedef struct hn_traits {
    bool sums, orders, domain; /* adds up; compares for order or is opaque; has roots or logarithms */
    int64_t *low, *high;       /* by parameter: range of integers; low > high: any */
    double eps;                /* largest of the float types inside */
    double length;             /* longest reduction, at these sizes */
    double n_float;            /* operations that give floats */
    double bound;              /* what results may differ by, as a part of their root mean square; 0: as sums do */
    double n_functions;        /* of those, functions that are no single rounding: exp, erf, sin … */
} hn_traits;

/* parity.c: fills kernel[i].parity for all i that are not done, from the library at `path`. */
hone_rc hn_parity_run(hn_model *m, const char *path, hone_err *err);
/* One kernel, of a library that exports it as `hone_kernel`. */
hone_rc hn_parity_one(const hn_model *m, const hn_kernel *k, const char *path, hn_parity *out, hone_err *err);

/* Symbol values of size set `set`: false where no legal ones are found. The last ones are large, for
 * kernels that the others leave without any. */
enum { HN_ALL_SIZES = 10 };
bool hn_trial_sizes(hn_trial *t, unsigned set);
hone_rc hn_trial_traits(hn_trial *t, hn_traits *out);
bool hn_trial_inputs(hn_trial *t, const hn_traits *traits, hn_fill fill);
/* Runs the kernel and the interpreter, compares; false: result says what differs. */
bool hn_trial_check(hn_trial *t, const hn_traits *traits, hn_fill fill);

/* remote.c: the program that runs kernels of a library for another processor, once. */
hone_rc hn_remote_build(hn_library *l, hone_err *err);
/* Opens the place of a library's kernels; close it with where.place->close. */
hone_rc hn_ground_open(const hn_model *m, const char *library, hn_ground *out, hone_err *err);

#endif
