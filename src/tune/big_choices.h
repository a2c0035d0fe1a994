/* tune/big_choices.h — the big choices of a search: compiler, floating-point contract, level, and what the compilers'
 * families name (vector width, unrolling, link-time optimisation, profiles), BOLT where it is offered, crossed in a
 * small designed experiment (experiment/factorial.h) with everything else as in the baseline.
 *
 * Level 0 of every choice is the baseline's. A control of one name is one choice, whichever compilers have it.
 * Owns: nothing of the plan.   Errors: E_NOMEM.
 */
#ifndef HN_BIG_CHOICES_H
#define HN_BIG_CHOICES_H

#include "experiment/factorial.h"
#include "tune/plan.h"

typedef enum hn_big_choice_kind {
    HN_CHOICE_COMPILER,
    HN_CHOICE_FP,
    HN_CHOICE_LEVEL,
    HN_CHOICE_CONTROL,   /* a row of the family's `choices`, lto, pgo */
    HN_CHOICE_POST_LINK, /* BOLT with its first combination of options (post_link.h) */
    HN_CHOICE_OTHERS,    /* the baseline's other controls: kept, or left out */
} hn_big_choice_kind;
typedef struct hn_big_choice {
    hn_big_choice_kind kind;
    const char *name; /* stored: "compiler", "fp", "level", "others", "post.bolt", a control's name */
    size_t n;
    const char *value[HN_LEVELS]; /* "": absent */
} hn_big_choice;

enum { HN_DESIGN_MOST = 40 };
typedef struct hn_big_choices {
    const hn_plan *plan;
    hn_arena arena;
    hn_big_choice item[HN_FACTORS];
    hn_factors factors; /* factors.n choices */
    hn_part_points *level;
    hn_combination *all; /* every combination that can be built, the baseline's left out */
    double *cost;        /* of each, in builds and measurements */
    size_t n_all;
} hn_big_choices;
hone_rc hn_big_choices_open(const hn_plan *plan, hn_big_choices *out, hone_err *err);
void hn_big_choices_close(hn_big_choices *c);

/* The point of a combination; false: no compiler can build it. */
bool hn_big_choices_point(const hn_big_choices *c, const hn_combination *x, double *point);
/* The combinations to measure, in order: the baseline under each other contract, the loosest first, then what tells the
 * most. At most HN_DESIGN_MOST. */
size_t hn_big_choices_design(const hn_big_choices *c, hn_combination out[HN_DESIGN_MOST]);
/* Unmeasured combinations that may beat `best` (a logarithm; lower is better), the most promising first. Levels that
 * failed whenever they were tried are left out. */
size_t hn_big_choices_promising(const hn_big_choices *c, const hn_effects *e, const hn_combination *seen,
                                const bool *failed, size_t n_seen, double best, size_t most, hn_combination *out);

/* What each level brought, as it is recorded and told: in the arena of c, the largest first. y: logarithms, lower is
 * better; NAN: that combination failed. */
hone_rc hn_big_choices_effects(hn_big_choices *c, const hn_effects *e, const hn_combination *seen, const bool *failed,
                               size_t n, hone_effect **out, size_t *n_out, hone_err *err);

#endif
