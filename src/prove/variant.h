/* prove/variant.h — one side of a validation: the same recipe built several times, with different layouts.
 *
 * Variant 0 is the build as it ships. The others get flags in front of the recipe's own (so that an explicit flag
 * of the recipe wins) and, through a small linker script, bytes before the sections; both sides of a pair get the same.
 * What a build does not accept is omitted in all variants of the side. With little time a side has fewer of them.
 * Owns: the folders, until hn_side_close.   Borrows: the recipe.   Errors: as hn_build_all; E_IO (scripts).
 */
#ifndef HN_VARIANT_H
#define HN_VARIANT_H

#include "target/layout.h"
#include "tune/run.h"

typedef struct hn_side {
    const char *name; /* of its folders; unique */
    const hn_recipe *recipe;
    hn_arena arena;
    hn_recipe *variant; /* n; they share the strings of recipe */
    hn_build *build;    /* n; those built are HONE_RUN_OK */
    size_t n;
    hn_code_layout layout;
} hn_side;

typedef struct hn_variants {
    const hn_build_config *builder;
    const hn_run_config *run; /* to see that a variant still works: with references */
    const char *script_dir;
    uint64_t seed;
    double until_s; /* monotonic: beyond the least of a side no further build begins after it; 0: whenever */
    void (*built)(void *ctx, size_t done, size_t total); /* may be NULL */
    void *ctx;
} hn_variants;

/* Builds variant 0 alone; its failure is in side->build[0].cls. */
hone_rc hn_side_open(const hn_variants *v, hn_side *side, const char *name, const hn_recipe *recipe, size_t n,
                     hone_err *err);
/* The others, by the strongest layout, from `at_least` on, that builds, runs and gives other objects. side->n: how many
 * there are then. */
hone_rc hn_side_vary(const hn_variants *v, hn_side *side, hn_code_layout at_least, hone_err *err);
void hn_side_close(hn_side *side, bool keep);

#endif
