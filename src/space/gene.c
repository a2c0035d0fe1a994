/* space/gene.c — one parameter's values: levels, uniform draws, neighbours. */
#include "space/space_int.h"

#include <math.h>

double hn_gene_level(const hone_space *space, size_t i, double value) {
    const hn_gene *g = &space->gene[i];
    if (isnan(value) || g->step == 0) return value;
    double k = floor((value - g->lo) / g->step + 0.5);
    return k < 0 ? 0 : k > g->levels - 1 ? g->levels - 1 : k;
}

double hn_gene_value(const hone_space *space, size_t i, double level) {
    const hn_gene *g = &space->gene[i];
    if (isnan(level)) return level;
    if (g->step == 0) return fmin(fmax(level, g->lo), g->hi);
    return fmin(fmax(g->lo + g->step * floor(level + 0.5), g->lo), g->hi);
}

double hn_gene_unit(const hone_space *space, size_t i, double value) {
    const hn_gene *g = &space->gene[i];
    if (isnan(value)) return value;
    if (g->hi <= g->lo) return 0.5;
    double u = g->log ? log(value / g->lo) / log(g->hi / g->lo) : (value - g->lo) / (g->hi - g->lo);
    return fmin(fmax(u, 0), 1);
}

static double snap(const hn_gene *g, double x) {
    if (g->step > 0) x = g->lo + g->step * floor((x - g->lo) / g->step + 0.5);
    return x <= g->lo ? g->lo : x >= g->hi ? g->hi : x;
}

double hn_gene_from_unit(const hone_space *space, size_t i, double unit) {
    const hn_gene *g = &space->gene[i];
    if (isnan(unit)) return unit;
    unit = fmin(fmax(unit, 0), 1);
    return snap(g, g->log ? g->lo * pow(g->hi / g->lo, unit) : g->lo + unit * (g->hi - g->lo));
}

/* --- draws --------------------------------------------------------------------------------------------------- */

/* Uniform in lo..hi (both on the grid). Logarithmic: each level gets the weight of the interval that rounds to it,
 * half a step beyond the ends included. */
static double draw_range(const hn_gene *g, double lo, double hi, hn_rng *rng) {
    if (!g->log) {
        if (g->step == 0) return lo + (hi - lo) * hn_rng_unit(rng);
        uint64_t n = (uint64_t)floor((hi - lo) / g->step + 0.5) + 1;
        return fmin(g->lo + g->step * (floor((lo - g->lo) / g->step + 0.5) + (double)hn_rng_below(rng, n)), g->hi);
    }
    double a = fmax(lo - g->step / 2, lo / 2), b = hi + g->step / 2;
    double x = snap(g, a * pow(b / a, hn_rng_unit(rng)));
    return fmin(fmax(x, lo), hi);
}

static void draw_permutation(const hn_gene *g, hn_rng *rng, double *slot) {
    for (uint32_t k = 0; k < g->n_slots; k++) { /* Fisher-Yates, inside out (Durstenfeld 1964) */
        uint64_t j = hn_rng_below(rng, k + 1);
        slot[k] = slot[j];
        slot[j] = k;
    }
}

static void draw_value(const hn_gene *g, hn_rng *rng, bool initial, double *slot) {
    if (g->kind == HONE_PERMUTATION)
        draw_permutation(g, rng, slot);
    else if (hn_gene_is_indexed(g))
        *slot = g->levels > 1 ? (double)hn_rng_below(rng, (uint64_t)g->levels) : 0;
    else if (initial && g->has_seed)
        *slot = draw_range(g, g->seed_lo, g->seed_hi, rng);
    else
        *slot = draw_range(g, g->lo, g->hi, rng);
}

void hn_gene_random(const hone_space *space, size_t i, hn_rng *rng, bool initial, double *point) {
    const hn_gene *g = &space->gene[i];
    double *slot = point + g->slot;
    if (g->knockout > 0 && hn_rng_unit(rng) < g->knockout)
        for (uint32_t k = 0; k < g->n_slots; k++) slot[k] = NAN;
    else
        draw_value(g, rng, initial, slot);
}

/* --- neighbours ---------------------------------------------------------------------------------------------- */

/* Levels at distances 1, 2, 4 … on both sides. */
static size_t spread_levels(const hone_space *s, size_t i, double x, double *out, size_t n, size_t room) {
    const hn_gene *g = &s->gene[i];
    double level = isnan(x) ? floor(g->levels / 2) : hn_gene_level(s, i, x);
    for (double d = isnan(x) ? 0 : 1; d < g->levels && n<room; d = d> 0 ? 2 * d : 1) {
        if (level + d < g->levels) out[n++] = hn_gene_value(s, i, level + d);
        if (d > 0 && level - d >= 0 && n < room) out[n++] = hn_gene_value(s, i, level - d);
    }
    return n;
}

/* The same on the scaled range of a stepless float: distances 1/2, 1/4 … towards the value. */
static size_t spread_units(const hone_space *s, size_t i, double x, double *out, size_t n, size_t room) {
    double u = isnan(x) ? 0.5 : hn_gene_unit(s, i, x);
    double d = ldexp(1, room - n < 40 ? -(int)((room - n + 1) / 2) : -20);
    for (; d <= 0.5 && n < room; d *= 2) {
        if (u + d <= 1) out[n++] = hn_gene_from_unit(s, i, u + d);
        if (u - d >= 0 && n < room) out[n++] = hn_gene_from_unit(s, i, u - d);
    }
    return n;
}

size_t hn_gene_others(const hone_space *space, size_t i, const double *point, double *out, size_t room) {
    const hn_gene *g = &space->gene[i];
    double x = point[g->slot];
    size_t n = 0;
    if (g->kind == HONE_PERMUTATION) return 0;
    if (g->optional && !isnan(x) && room) out[n++] = NAN;
    if (g->step == 0) return spread_units(space, i, x, out, n, room);
    if (g->levels - !isnan(x) > (double)(room - n)) return spread_levels(space, i, x, out, n, room);
    for (double k = 0; k < g->levels; k++) {
        double v = hn_gene_value(space, i, k);
        if (v != x) out[n++] = v;
    }
    return n;
}
