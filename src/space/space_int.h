/* space/space_int.h — inside a sealed space: its tables, and what works on them without allocation.
 *
 * Words: a parameter's *level* is the number of one of its values, 0 .. levels-1, in ascending order (choice,
 * ordinal: the index; flag: 0, 1; int: (value-lo)/step; a stepless float has INFINITY levels and its level is its
 * value; a permutation has n! levels and no level numbers, use hn_gene_random). "Absent" is NAN.
 * Nothing here allocates unless it says so. Points handed in are canonical unless the function says otherwise.
 * Owns: a space owns all its strings and tables.   Threads: a sealed space is read-only and may be shared.
 * Invariants of a sealed space: 1 gene[i] describes param[i];  2 cond[] is in topological order: the parameters a
 * condition reads are under conditions before it;  3 every constraint belongs to exactly one component, every
 * parameter to at most one, and a component holds all parameters that its constraints and conditions read.
 */
#ifndef HN_SPACE_INT_H
#define HN_SPACE_INT_H

#include "base/arena.h"
#include "base/rng.h"
#include "space/expr.h"
#include "space/withheld.h"

#include <hone/space.h>

enum {
    HN_MAX_PARAMS = 65536,      /* also slots */
    HN_MAX_VALUES = 65536,      /* of one parameter */
    HN_MAX_CONSTRAINTS = 65536, /* of one space */
    HN_MAX_NAME_B = 200,
    HN_MAX_PERMUTATION = 64,
    HN_MAX_SPACE_B = 256 << 20 /* texts and tables of one space */
};
#define HN_NO_COND UINT32_MAX
#define HN_NO_COMPONENT UINT32_MAX

/* A parameter in the form that the hot loops read. */
typedef struct hn_gene {
    uint32_t slot, n_slots;
    hone_kind kind;
    bool optional, log, has_seed;
    double lo, hi, step;       /* hi is on the grid; index kinds: 0 .. n-1 step 1; step 0: continuous */
    double levels;             /* number of values, INFINITY for a stepless float, n! for a permutation */
    double dflt, knockout;     /* dflt of a permutation: NAN when absent, else 0 */
    double seed_lo, seed_hi;   /* snapped to the grid inwards */
    uint32_t cond;             /* index into cond[], HN_NO_COND = always active */
    uint32_t component;        /* index into component[], HN_NO_COMPONENT = in no constraint */
    uint64_t key;              /* hash of the name */
    const uint64_t *level_key; /* index kinds and permutations: hash per value */
} hn_gene;

/* A distinct condition and the parameters under it. */
typedef struct hn_cond {
    hn_prog prog;
    const uint32_t *param;
    size_t n_params;
} hn_cond;

/* Parameters tied together by constraints: drawn, repaired and counted apart from all others. */
typedef struct hn_component {
    const uint32_t *param, *constraint, *cond; /* cond: in topological order */
    size_t n_params, n_constraints, n_conds;
    double density; /* share of uniform draws found legal at sealing, 0 = none seen */
} hn_component;

struct hone_space {
    hn_arena arena;
    const char *name;
    bool sealed;
    hone_param *param;
    size_t n_params, room_params;
    const char **constraint;
    size_t n_constraints, room_constraints;
    uint32_t *name_table; /* open addressing: parameter index + 1, 0 = free */
    size_t name_room;
    size_t n_slots, n_values;
    const char *withheld[HN_WITHHELD_MOST], *withheld_why[HN_WITHHELD_MOST]; /* prefixes, reasons: withheld.h */
    size_t n_withheld;
    /* set by seal */
    hn_gene *gene;
    hn_cond *cond;
    size_t n_conds;
    hn_prog *rule; /* the constraints' programs */
    hn_component *component;
    size_t n_components;
    uint32_t *slot_param;               /* which parameter owns a slot */
    uint32_t *first_rule_of, *rules_of; /* constraints that read a parameter: rules_of[first[i] .. first[i+1]) */
};

/* --- conditions and constraints ------------------------------------------------------------------------------ */

/* Do all constraints hold (none false)? Only constraints are looked at: use it on canonical points. */
bool hn_point_holds(const hone_space *space, const double *point);
/* First broken constraint, or SIZE_MAX. */
size_t hn_point_broken(const hone_space *space, const double *point);
static inline bool hn_constraint_holds(const hone_space *space, size_t i, const double *point) {
    return hn_prog_eval(&space->rule[i], point) != 0; /* true for NAN, too: unknown does not bind */
}
/* Constraints that read parameter i. */
static inline const uint32_t *hn_gene_constraints(const hone_space *space, size_t i, size_t *n) {
    *n = space->first_rule_of[i + 1] - space->first_rule_of[i];
    return space->rules_of + space->first_rule_of[i];
}

/* --- genes --------------------------------------------------------------------------------------------------- */

static inline bool hn_gene_is_indexed(const hn_gene *g) { return g->kind != HONE_INT && g->kind != HONE_FLOAT; }
/* Number of values, INFINITY for a stepless float; absence is not counted. */
static inline double hn_gene_levels(const hone_space *space, size_t i) { return space->gene[i].levels; }
/* value <-> level; NAN (absent) maps to NAN. The value must be in the domain, or is moved to its nearest. Not for
 * permutations. */
double hn_gene_level(const hone_space *space, size_t i, double value);
double hn_gene_value(const hone_space *space, size_t i, double level);
/* Position of a value in 0..1 (logarithmic for log parameters; index / (n-1) otherwise), and back to the nearest
 * legal value. NAN stays. Not for permutations. */
double hn_gene_unit(const hone_space *space, size_t i, double value);
double hn_gene_from_unit(const hone_space *space, size_t i, double unit);
/* Sets parameter i's slots to its default. */
void hn_gene_default(const hone_space *space, size_t i, double *point);
/* Draws parameter i's slots uniformly over its domain, knock-out applied; activity is not looked at. */
void hn_gene_random(const hone_space *space, size_t i, hn_rng *rng, bool initial, double *point);
/* Other states of active parameter i, in a fixed order, at most `room`: every value (plus absent when optional)
 * when they fit, else those nearest, at doubling distances on both sides. Permutations give none. */
size_t hn_gene_others(const hone_space *space, size_t i, const double *point, double *out, size_t room);

/* --- points -------------------------------------------------------------------------------------------------- */

/* As hone_space_sample and hone_point_repair, from a stream that goes on. */
hone_rc hn_space_sample(const hone_space *space, hn_rng *rng, bool initial, double *point, hone_err *err);
hone_rc hn_point_repair(const hone_space *space, hn_rng *rng, double *point, hone_err *err);
/* A uniform draw made canonical; constraints are not looked at. */
void hn_space_draw(const hone_space *space, hn_rng *rng, bool initial, double *point);
/* Draws component c's parameters and applies its conditions; constraints are not looked at. */
void hn_component_draw(const hone_space *space, size_t c, hn_rng *rng, bool initial, double *point);
/* Applies the conditions of component c to legal values of its parameters: inactive ones become absent, active ones
 * that must not be absent get their default. */
void hn_component_activate(const hone_space *space, size_t c, double *point);
bool hn_component_holds(const hone_space *space, size_t c, const double *point);

/* --- building (src/space only) ------------------------------------------------------------------------------- */

uint64_t hn_text_key(uint64_t seed, const char *text); /* 64-bit hash of a text, the same everywhere */
/* Which part of the space a failure of sealing is about: a parameter's condition or a constraint. */
typedef struct hn_blame {
    enum { HN_BLAME_NONE, HN_BLAME_PARAM, HN_BLAME_WHEN, HN_BLAME_CONSTRAINT } part;
    size_t index;
} hn_blame;
hone_rc hn_space_seal(hone_space *space, hn_blame *blame, hone_err *err);
hone_rc hn_space_genes(hone_space *space, hone_err *err);      /* part of seal: gene[] */
hone_rc hn_space_components(hone_space *space, hone_err *err); /* part of seal: component[] */

#endif
