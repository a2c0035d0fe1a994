/* hone/space.h — search spaces: parameters, conditions, constraints, points.
 *
 * A space is a list of parameters, conditions under which each is active, and constraints between them. A point
 * is `double[hone_space_slots(space)]`, owned by the caller. Each parameter owns one slot, a permutation of n
 * items n slots. A slot holds
 *     flag          0 or 1                       int, float    the value itself
 *     choice        index into values            ordinal       index into values, in their order
 *     permutation   item index at each position  literal       0
 * and NAN stands for *absent*: the parameter is inactive (its `when` is not true) or knocked out (left to the
 * compiler's own default). A canonical point has NAN in every inactive slot; only canonical points are hashed,
 * compared and stored, so that nothing is measured twice.
 *
 * Expressions (conditions and constraints) work over parameters by name: numbers, 'strings', true/false,
 * + - * / % (floored), comparison, and or not, min(a,b,...) max(...), abs(x), parentheses, `defined(p)`.
 * An absent parameter makes an operand unknown; and/or/not are Kleene's. A condition holds only when true; a
 * constraint is broken only when false (so one about an absent parameter does not bind).
 *
 * Owns:    a space owns all its strings (one arena).     Borrows: nothing after a call returns.
 * Threads: a sealed space is read-only and may be shared.
 * Errors:  E_INPUT (text, with line and column), E_EMPTY, E_NOTFOUND, E_NOMEM, E_IO.
 */
#ifndef HONE_SPACE_H
#define HONE_SPACE_H

#include <hone/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_space hone_space;

typedef enum hone_kind {
    HONE_FLAG,
    HONE_INT,
    HONE_FLOAT,
    HONE_CHOICE,
    HONE_ORDINAL,
    HONE_PERMUTATION,
    HONE_LITERAL,
} hone_kind;

/* One parameter. Zero-initialise, set what applies, hand to hone_space_add (which copies everything).
 * Ranges are inclusive. `step` > 0 restricts an int or float to lo + k*step. `log` needs lo > 0. */
typedef struct hone_param {
    const char *name; /* letters, digits and _ - . + = ; a dot nests: "gcc.-funroll-loops" */
    hone_kind kind;
    double lo, hi, step;       /* int, float */
    bool log;                  /* int, float: sample and scale logarithmically */
    const char *const *values; /* choice, ordinal, permutation: texts; literal: one text */
    size_t n_values;
    double dflt;     /* default gene (index for choice/ordinal); NAN = absent, needs `optional` */
    bool optional;   /* may be absent while active (knock-out) */
    double knockout; /* probability that a uniform sample leaves an optional parameter out, 0..1 */
    bool has_seed;   /* initial samples of int/float are drawn from seed_lo..seed_hi instead */
    double seed_lo, seed_hi;
    const char *when;     /* condition expression, NULL = always active */
    const char *doc;      /* one line, may be NULL */
    const char *tag;      /* free class name, e.g. "codegen", "numeric", "application"; may be NULL */
    size_t slot, n_slots; /* set by hone_space_add */
} hone_param;

/* --- building ------------------------------------------------------------------------------------------------ */

/* An empty, unsealed space. `name` labels it in messages and files (copied). Free with hone_space_free. */
HONE_API hone_rc hone_space_new(const char *name, hone_space **out, hone_err *err);
HONE_API hone_rc hone_space_add(hone_space *space, const hone_param *param, hone_err *err);
HONE_API hone_rc hone_space_constrain(hone_space *space, const char *expression, hone_err *err);
/* Copies every parameter and constraint of `part` into `space` under `prefix.` (NULL: no prefix), each active
 * only when `when` (NULL: always) holds too. Names inside part's expressions are prefixed alike; `when` is an
 * expression over `space`. */
HONE_API hone_rc hone_space_include(hone_space *space, const hone_space *part, const char *prefix, const char *when,
                                    hone_err *err);
/* Checks everything (names resolve, conditions have no cycle, defaults are legal values) and makes the space
 * read-only. Must be called once before anything below. E_INPUT names the parameter or expression at fault. */
HONE_API hone_rc hone_space_seal(hone_space *space, hone_err *err);
HONE_API void hone_space_free(hone_space *space);

/* Reads a space from YAML (docs/space-file.md); the result is sealed. `label` names the text in messages. */
HONE_API hone_rc hone_space_load(const char *path, hone_space **out, hone_err *err);
HONE_API hone_rc hone_space_parse(const char *text, size_t n, const char *label, hone_space **out, hone_err *err);
/* Prints YAML that parses back to an equal space. Free *text with hone_free. */
HONE_API hone_rc hone_space_print(const hone_space *space, char **text, hone_err *err);

/* --- looking ------------------------------------------------------------------------------------------------- */

HONE_API const char *hone_space_name(const hone_space *space);
HONE_API size_t hone_space_n_params(const hone_space *space);
HONE_API const hone_param *hone_space_param(const hone_space *space, size_t i);
/* Index of a parameter, or SIZE_MAX. */
HONE_API size_t hone_space_find(const hone_space *space, const char *name);
HONE_API size_t hone_space_slots(const hone_space *space);
HONE_API size_t hone_space_n_constraints(const hone_space *space);
HONE_API const char *hone_space_constraint(const hone_space *space, size_t i);
/* Stable 128-bit hash of everything that gives points their meaning (names, kinds, ranges, values, conditions,
 * constraints; not docs, tags, defaults, seed windows or knock-out): 32 hex digits. */
HONE_API void hone_space_hash(const hone_space *space, char hex[33]);

/* Number of legal canonical points. exact: lo == n == hi. Otherwise an estimate with a 95 % interval.
 * A space with a stepless float counts as infinite (n = INFINITY, exact) unless empty; n is INFINITY, too, beyond
 * the largest double. */
typedef struct hone_count {
    double n, lo, hi;
    bool exact;
    double density; /* estimated share of the unconstrained product that is legal, 0..1 */
} hone_count;
HONE_API hone_rc hone_space_size(const hone_space *space, uint64_t seed, hone_count *out, hone_err *err);

/* --- points -------------------------------------------------------------------------------------------------- */

/* The default point, canonical. The default may break a constraint; the caller may then repair it (hone_point_repair).
 */
HONE_API void hone_space_default(const hone_space *space, double *point);
/* Puts NAN into inactive slots and snaps genes to their legal grid (nearest); an active parameter that is absent but
 * not optional gets its default. Idempotent. Takes any doubles. */
HONE_API void hone_point_canon(const hone_space *space, double *point);
/* Is parameter i active at this canonical point? */
HONE_API bool hone_point_active(const hone_space *space, const double *point, size_t i);
/* True when canonical, within every domain, and no constraint is false. `why` (may be NULL) says what is wrong. */
HONE_API bool hone_point_legal(const hone_space *space, const double *point, hone_err *why);
/* 64-bit hash of a canonical point, from the names and values of present parameters: stable across runs, machines,
 * orders of parameters, and parameters added that are absent in the point. */
HONE_API uint64_t hone_point_hash(const hone_space *space, const double *point);
HONE_API bool hone_point_equal(const hone_space *space, const double *a, const double *b);

/* Draws a legal canonical point: uniform over each gene's domain (knock-out applied), `initial` uses the seed
 * windows. Rejection first, then constructive search with backtracking, so it ends: E_EMPTY when the space is
 * proved empty or no legal point was found within the effort (the text says which). The point is a pure
 * function of `seed`. */
HONE_API hone_rc hone_space_sample(const hone_space *space, uint64_t seed, bool initial, double *point, hone_err *err);
/* Makes a point legal by resampling as few genes as it can, starting with those in broken constraints. Pure
 * function of (point, seed). E_EMPTY as for sample. */
HONE_API hone_rc hone_point_repair(const hone_space *space, uint64_t seed, double *point, hone_err *err);

/* Text of one parameter's gene ("16", "0.5", "avx2", "on", "[b, a, c]", "absent"), snprintf-like: returns the
 * length needed without the terminator. */
HONE_API size_t hone_point_text(const hone_space *space, const double *point, size_t i, char *buf, size_t n);
/* The number that a choice's or ordinal's text stands for, in expressions as in JSON; false when it is not a finite
 * number. */
HONE_API bool hone_space_number(const char *text, double *out);
/* The point as one line of JSON, {"name": value, ...}: absent parameters are left out; round-trips exactly
 * through hone_point_from_json. Free *json with hone_free. */
HONE_API hone_rc hone_point_to_json(const hone_space *space, const double *point, char **json, hone_err *err);
/* Unknown names, wrong types and values outside the domain are E_INPUT. A parameter left out is absent if optional,
 * else has its default; a value of an inactive one is dropped. The result is canonical; constraints are not looked
 * at. */
HONE_API hone_rc hone_point_from_json(const hone_space *space, const char *json, double *point, hone_err *err);

#ifdef __cplusplus
}
#endif
#endif
