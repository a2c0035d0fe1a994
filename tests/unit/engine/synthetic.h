/* tests/unit/engine/synthetic.h — spaces of every kind and cost models whose optimum lies where the seed says. */
#ifndef SYNTHETIC_H
#define SYNTHETIC_H

#include <hone/search.h>

#include "base/rng.h"
#include "tap.h"

#include <math.h>

static hone_space *space_from(const char *yaml_name, const hone_param *param, size_t n, const char *const *constraint) {
    hone_space *s = NULL;
    hone_err err;
    hone_rc rc = hone_space_new(yaml_name, &s, &err);
    for (size_t i = 0; !rc && i < n; i++) rc = hone_space_add(s, &param[i], &err);
    for (; !rc && constraint && *constraint; constraint++) rc = hone_space_constrain(s, *constraint, &err);
    if (!rc) rc = hone_space_seal(s, &err);
    if (rc) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
    return s;
}

static const char *const tile_text[] = {"1", "2", "4", "8", "16", "32"};
static const char *const isa_text[] = {"plain", "avx2", "avx512"};
static const char *const order_text[] = {"m", "n", "k", "b"};

/* Every kind of parameter, a condition, knock-out, two constraints. */
static inline hone_space *mixed_space(void) {
    const hone_param p[] = {
        {.name = "unroll", .kind = HONE_FLAG, .dflt = 0},
        {.name = "fuse", .kind = HONE_FLAG, .dflt = NAN, .optional = true, .knockout = 0.4},
        {.name = "tm", .kind = HONE_ORDINAL, .values = tile_text, .n_values = 6, .dflt = 1},
        {.name = "tn", .kind = HONE_ORDINAL, .values = tile_text, .n_values = 6, .dflt = 1},
        {.name = "isa", .kind = HONE_CHOICE, .values = isa_text, .n_values = 3, .dflt = 0},
        {.name = "wide", .kind = HONE_INT, .lo = 1, .hi = 100000, .log = true, .dflt = 100},
        {.name = "depth", .kind = HONE_INT, .lo = 0, .hi = 64, .step = 8, .dflt = 8, .has_seed = true, .seed_hi = 16},
        {.name = "ratio", .kind = HONE_FLOAT, .lo = 0.1, .hi = 10, .log = true, .dflt = 1},
        {.name = "zmm", .kind = HONE_CHOICE, .values = isa_text, .n_values = 3, .dflt = 1, .when = "isa == 'avx512'"},
        {.name = "loops", .kind = HONE_PERMUTATION, .values = order_text, .n_values = 4},
        {.name = "lit", .kind = HONE_LITERAL, .values = isa_text, .n_values = 1},
    };
    static const char *const constraint[] = {"tm * tn <= 256", "unroll or depth <= 32", NULL};
    return space_from("mixed", p, sizeof p / sizeof *p, constraint);
}

/* 3 * 3 * 2 combinations; b is 1, 2 or 4: those with a + b > 4 break the constraint. */
enum { TINY_POINTS = 14 };
static inline hone_space *tiny_space(void) {
    const hone_param p[] = {
        {.name = "a", .kind = HONE_INT, .lo = 0, .hi = 2},
        {.name = "b", .kind = HONE_ORDINAL, .values = tile_text, .n_values = 3},
        {.name = "c", .kind = HONE_FLAG},
    };
    static const char *const constraint[] = {"a + b <= 4", NULL};
    return space_from("tiny", p, 3, constraint);
}

static inline hone_space *ordinal_space(size_t n) {
    hone_param p[64];
    static char name[64][24];
    for (size_t i = 0; i < n; i++) {
        snprintf(name[i], sizeof name[i], "p%zu", i);
        p[i] = (hone_param){.name = name[i], .kind = HONE_ORDINAL, .values = tile_text, .n_values = 6};
    }
    return space_from("ordinals", p, n, NULL);
}

static inline hone_space *flag_space(size_t n) {
    hone_param p[512];
    static char name[512][24];
    for (size_t i = 0; i < n; i++) {
        snprintf(name[i], sizeof name[i], "f%zu", i);
        p[i] = (hone_param){.name = name[i], .kind = HONE_FLAG, .dflt = NAN, .optional = true, .knockout = 0.5};
    }
    return space_from("flags", p, n, NULL);
}

/* A positive cost with its optimum at random values: each slot adds what its value is worth, pairs interact. */
static inline double synthetic_cost(const hone_space *space, uint64_t seed, const double *x) {
    size_t n = hone_space_slots(space);
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        hn_rng r = hn_rng_make(seed, i);
        double weight = hn_rng_unit(&r), centre = hn_rng_unit(&r) * 5, v = isnan(x[i]) ? -1 : x[i];
        double bend = fabs(v - centre) < 8 ? v - centre : 8;
        sum += weight * weight * bend * bend;
        if (i && !isnan(x[i - 1])) sum += 0.3 * weight * fabs(bend - (x[i - 1] < 8 ? x[i - 1] : 8) / 2);
    }
    return 1 + sum;
}

static inline hone_search *open_search(const hone_space *space, hone_search_options c) {
    hone_search *s = NULL;
    hone_err err;
    if (hone_search_open(space, &c, &s, &err)) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
    return s;
}

static inline double *point_of(const hone_space *space) {
    return malloc((hone_space_slots(space) + 1) * sizeof(double));
}

#endif
