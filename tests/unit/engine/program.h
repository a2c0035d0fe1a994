/* program.h — a made-up program and its compiler: of hundreds of controls a tenth does something, some only at their
 * ends, two only together; points that differ in the others become the same program. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include "synthetic.h"

enum { N_CONTROLS = 300, N_SWITCHES = 240, ALONE = 3, PAIR_A = 17, PAIR_B = 101 };

/* Switches (absent, off, on) and numbers, all optional, as a compiler's. */
static inline hone_space *controls_space(void) {
    static const char *const values[] = {"off", "on"};
    hone_space *s;
    hone_space_new("controls", &s, NULL);
    for (size_t i = 0; i < N_CONTROLS; i++) {
        char name[16];
        snprintf(name, sizeof name, "c%zu", i);
        hone_param p = {.name = name, .optional = true, .dflt = NAN, .knockout = 0.3};
        if (i < N_SWITCHES)
            p.kind = HONE_CHOICE, p.values = values, p.n_values = 2;
        else
            p.kind = HONE_INT, p.lo = 0, p.hi = 1000;
        hone_space_add(s, &p, NULL);
    }
    hone_space_seal(s, NULL);
    return s;
}

static inline double part(uint64_t seed, size_t i, uint64_t what) {
    return (double)(hn_mix64(seed * 1000003 + i * 7 + what) >> 11) * 0x1p-53;
}

/* What control i comes to: 0 as by default, 1 otherwise. */
static inline unsigned level_in_effect(uint64_t seed, const double *x, size_t i) {
    if (isnan(x[i])) return 0;
    if (i >= N_SWITCHES) return x[i] > 100 + 850 * part(seed, i, 1);
    return (x[i] != 0) != (part(seed, i, 2) < 0.5);
}

static inline bool is_pair(size_t i) { return i == PAIR_A || i == PAIR_B; }
static inline bool does_something(uint64_t seed, size_t i) {
    return !is_pair(i) && (i == ALONE || part(seed, i, 3) < 0.1);
}

/* Log of the cost, and the program. A third of what does something gains, the rest loses; neighbours interact. */
static inline double program_cost(uint64_t seed, const double *x, uint64_t *code) {
    double sum = 0, before = 0;
    uint64_t h = seed + 1;
    for (size_t i = 0; i < N_CONTROLS; i++) {
        if (!does_something(seed, i)) continue;
        double v = level_in_effect(seed, x, i);
        double size = 0.06 * part(seed, i, 4) * part(seed, i, 5);
        sum += v * (part(seed, i, 6) < 0.35 ? -size : size);
        sum += v * before * 0.04 * (part(seed, i, 7) - 0.5);
        before = v;
        h = hn_mix64(h * 2 + (uint64_t)v);
    }
    bool both = level_in_effect(seed, x, PAIR_A) && level_in_effect(seed, x, PAIR_B);
    *code = hn_mix64(h * 2 + both) | 1;
    return sum - 0.1 * both;
}

#endif
