/* engine/genes.c — level codes, unit positions, derived products, single-gene moves. */
#include "engine/genes.h"

#include "base/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDE_MOVES = 10, SPOTS = 8 };

/* --- building ------------------------------------------------------------------------------------------------ */

static void describe_number(hn_feature *g, const hone_param *p) {
    g->ordered = true;
    g->lo = p->log ? log(p->lo) : p->lo;
    g->hi = p->log ? log(p->hi) : p->hi;
    g->step = p->step > 0 ? p->step : p->kind == HONE_INT ? 1 : 0;
    double n = g->step > 0 ? floor((p->hi - p->lo) / g->step + 1e-9) + 1 : p->hi > p->lo ? INFINITY : 1;
    g->n_levels = n < HN_ABSENT ? (size_t)n : 0;
}

static void describe(hn_feature *g, const hone_param *p) {
    g->param = p;
    g->kind = p->kind;
    g->slot = p->slot;
    g->optional = p->optional;
    switch (p->kind) {
    case HONE_FLAG: g->n_levels = 2, g->ordered = true; break;
    case HONE_CHOICE: g->n_levels = p->n_values; break;
    case HONE_ORDINAL:
    case HONE_PERMUTATION: g->n_levels = p->n_values, g->ordered = true; break;
    default: describe_number(g, p); break;
    }
}

static bool has_choice(const hn_feature *g) { return g->n_levels != 1 || g->optional; }

static void gather(hn_genes *g, const hone_space *space) {
    for (size_t i = 0; i < hone_space_n_params(space); i++) {
        const hone_param *p = hone_space_param(space, i);
        g->conditions |= p->when != NULL;
        if (p->kind == HONE_LITERAL) continue;
        hn_feature one = {.index = i};
        describe(&one, p);
        size_t items = p->kind == HONE_PERMUTATION ? p->n_values : 1;
        for (size_t k = 0; k < items; k++) {
            one.item = k;
            g->gene[g->n] = one;
            if (has_choice(&one)) g->free_gene[g->n_free++] = g->n;
            g->n++;
        }
    }
}

hone_rc hn_genes_new(const hone_space *space, hn_genes **out, hone_err *err) {
    hn_genes *g = calloc(1, sizeof *g);
    if (!g) return hn_fail(err, HONE_E_NOMEM, "out of memory for the search's genes");
    g->space = space;
    g->slots = hone_space_slots(space);
    g->gene = HN_NEW_N(&g->arena, hn_feature, g->slots);
    g->free_gene = HN_NEW_N(&g->arena, size_t, g->slots);
    if (hn_arena_ok(&g->arena)) gather(g, space);
    g->ordered = HN_NEW_N(&g->arena, bool, g->slots);
    if (!hn_arena_ok(&g->arena)) {
        hn_genes_free(g);
        return hn_fail(err, HONE_E_NOMEM, "out of memory for the search's genes");
    }
    for (size_t i = 0; i < g->n; i++) g->ordered[i] = g->gene[i].ordered;
    *out = g;
    return HONE_OK;
}

void hn_genes_free(hn_genes *g) {
    if (!g) return;
    hn_arena_free(&g->arena);
    free(g);
}

/* --- looking ------------------------------------------------------------------------------------------------- */

static size_t item_position(const hn_feature *g, const double *x) {
    for (size_t k = 0; k < g->n_levels; k++)
        if (x[g->slot + k] == (double)g->item) return k;
    return 0;
}

static double scaled(const hn_feature *g, double v) { return g->param->log ? log(v) : v; }

double hn_genes_unit(const hn_genes *genes, size_t k, const double *x) {
    const hn_feature *g = &genes->gene[k];
    double v = x[g->slot];
    if (isnan(v)) return NAN;
    switch (g->kind) {
    case HONE_FLAG: return v;
    case HONE_PERMUTATION: return g->n_levels > 1 ? (double)item_position(g, x) / (double)(g->n_levels - 1) : 0;
    case HONE_CHOICE: return v;
    case HONE_ORDINAL: return g->n_levels > 1 ? v / (double)(g->n_levels - 1) : 0;
    default: return g->hi > g->lo ? (scaled(g, v) - g->lo) / (g->hi - g->lo) : 0;
    }
}

static unsigned char quantised(double unit) {
    return (unsigned char)(unit <= 0 ? 0 : unit >= 1 ? HN_ABSENT - 1 : unit * HN_ABSENT);
}

static unsigned char level_code(const hn_genes *genes, size_t k, const double *x) {
    const hn_feature *g = &genes->gene[k];
    double v = x[g->slot];
    if (isnan(v)) return HN_ABSENT;
    switch (g->kind) {
    case HONE_FLAG: return v != 0;
    case HONE_CHOICE: return (unsigned char)((size_t)v % HN_ABSENT);
    case HONE_PERMUTATION:
        if (g->n_levels <= HN_ABSENT) return (unsigned char)item_position(g, x);
        break;
    case HONE_ORDINAL:
        if (g->n_levels <= HN_ABSENT) return (unsigned char)v;
        break;
    default:
        if (g->n_levels) return (unsigned char)llround((v - g->param->lo) / g->step);
    }
    return quantised(hn_genes_unit(genes, k, x));
}

void hn_genes_code_one(const hn_genes *g, size_t k, const double *x, unsigned char *code) {
    *code = level_code(g, k, x);
}

void hn_genes_code(const hn_genes *g, const double *x, unsigned char *code) {
    for (size_t k = 0; k < g->n; k++) code[k] = level_code(g, k, x);
}

void hn_genes_units(const hn_genes *g, const double *x, float *unit) {
    for (size_t k = 0; k < g->n; k++) {
        double u = hn_genes_unit(g, k, x);
        unit[k] = isnan(u) ? -1.0f : (float)u;
    }
}

size_t hn_genes_distance(const hn_genes *g, const double *a, const double *b) {
    size_t n = 0;
    for (size_t i = 0; i < g->slots; i++) n += a[i] != b[i] && !(isnan(a[i]) && isnan(b[i]));
    return n;
}

/* --- moving -------------------------------------------------------------------------------------------------- */

static double level_value(const hn_feature *g, size_t level) {
    bool number = g->kind == HONE_INT || g->kind == HONE_FLOAT;
    return number ? g->param->lo + (double)level * g->step : (double)level;
}

static size_t level_of(const hn_feature *g, double v) {
    bool number = g->kind == HONE_INT || g->kind == HONE_FLOAT;
    return (size_t)(number ? llround((v - g->param->lo) / g->step) : llround(v));
}

/* A value at a unit position of a wide int or float; hone_point_canon snaps it. */
static double at_unit(const hn_feature *g, double unit) {
    double u = unit < 0 ? 0 : unit > 1 ? 1 : unit, v = g->lo + u * (g->hi - g->lo);
    if (g->param->log) v = exp(v);
    return v < g->param->lo ? g->param->lo : v > g->param->hi ? g->param->hi : v;
}

/* The nearest value that there is: its code is what the settled point will have. */
static double on_grid(const hn_feature *g, double v) {
    double next = g->step > 0 ? g->param->lo + round((v - g->param->lo) / g->step) * g->step : v;
    return next > g->param->hi ? next - g->step : next;
}

static void swap_item(const hn_feature *g, size_t to, double *x) {
    size_t from = item_position(g, x);
    double t = x[g->slot + to];
    x[g->slot + to] = x[g->slot + from];
    x[g->slot + from] = t;
}

static void set_absent(const hn_feature *g, double *x) {
    size_t n = g->kind == HONE_PERMUTATION ? g->n_levels : 1;
    for (size_t i = 0; i < n; i++) x[g->slot + i] = NAN;
}

static void shuffle(const hn_feature *g, hn_rng *rng, double *x) {
    for (size_t i = 0; i < g->n_levels; i++) x[g->slot + i] = (double)i;
    for (size_t i = g->n_levels; i > 1; i--) {
        size_t j = (size_t)hn_rng_below(rng, i);
        double t = x[g->slot + i - 1];
        x[g->slot + i - 1] = x[g->slot + j];
        x[g->slot + j] = t;
    }
}

static void mutate_wide(const hn_feature *g, hn_rng *rng, double spread, double *x) {
    double v = x[g->slot];
    double u = isnan(v) || spread >= 1 ? hn_rng_unit(rng)
                                       : (scaled(g, v) - g->lo) / (g->hi - g->lo) + spread * hn_rng_normal(rng);
    double next = at_unit(g, u);
    if (g->step > 0 && !isnan(v) && fabs(next - v) < g->step) {
        next = v + (hn_rng_next(rng) & 1 ? g->step : -g->step);
        if (next < g->param->lo || next > g->param->hi) next = 2 * v - next;
    }
    x[g->slot] = next;
}

void hn_genes_mutate(const hn_genes *genes, size_t k, hn_rng *rng, double *x) {
    const hn_feature *g = &genes->gene[k];
    bool absent = isnan(x[g->slot]);
    if (g->optional && !absent) {
        double p = g->param->knockout > 0 ? g->param->knockout : 1.0 / (double)(g->n_levels ? g->n_levels + 1 : 8);
        if (g->n_levels == 1 || hn_rng_unit(rng) < p) {
            set_absent(g, x);
            return;
        }
    }
    if (g->kind == HONE_PERMUTATION) {
        if (absent)
            shuffle(g, rng, x);
        else if (g->n_levels > 1)
            swap_item(g, (size_t)hn_rng_below(rng, g->n_levels), x);
    } else if (!g->n_levels) {
        mutate_wide(g, rng, 1, x);
    } else if (absent) {
        x[g->slot] = level_value(g, (size_t)hn_rng_below(rng, g->n_levels));
    } else if (g->n_levels > 1) {
        size_t now = level_of(g, x[g->slot]), next = (size_t)hn_rng_below(rng, g->n_levels - 1);
        x[g->slot] = level_value(g, next + (next >= now));
    }
}

void hn_genes_step(const hn_genes *genes, size_t k, hn_rng *rng, double *x) {
    const hn_feature *g = &genes->gene[k];
    bool near = g->ordered && g->kind != HONE_PERMUTATION && g->n_levels != 1 && !isnan(x[g->slot]);
    if (!near || hn_rng_next(rng) & 1) {
        hn_genes_mutate(genes, k, rng, x);
    } else if (!g->n_levels) {
        mutate_wide(g, rng, 0.1, x);
    } else {
        size_t now = level_of(g, x[g->slot]);
        bool up = now == 0 || (now + 1 < g->n_levels && hn_rng_next(rng) & 1);
        x[g->slot] = level_value(g, up ? now + 1 : now - 1);
    }
}

size_t hn_genes_n_moves(const hn_genes *genes, size_t k, const double *x) {
    const hn_feature *g = &genes->gene[k];
    bool absent = isnan(x[g->slot]);
    if (absent && !g->optional) return 0;
    if (g->kind == HONE_PERMUTATION) return absent ? 1 : g->n_levels - 1 + (g->optional && g->item == 0);
    size_t values = g->n_levels ? g->n_levels : WIDE_MOVES + 1;
    return absent ? values : values - 1 + g->optional;
}

void hn_genes_move(const hn_genes *genes, size_t k, size_t j, hn_rng *rng, double *x) {
    const hn_feature *g = &genes->gene[k];
    bool absent = isnan(x[g->slot]);
    if (g->kind == HONE_PERMUTATION) {
        if (absent)
            shuffle(g, rng, x);
        else if (j + 1 >= g->n_levels)
            set_absent(g, x);
        else
            swap_item(g, j + (j >= item_position(g, x)), x);
        return;
    }
    size_t values = g->n_levels ? g->n_levels : WIDE_MOVES + 1;
    if (!absent && j + 1 >= values) {
        set_absent(g, x);
    } else if (!g->n_levels) {
        static const double spread[WIDE_MOVES] = {.003, .01, .02, .03, .06, .1, .2, 1, 1, 1};
        mutate_wide(g, rng, spread[j % WIDE_MOVES], x);
    } else {
        size_t now = absent ? g->n_levels : level_of(g, x[g->slot]);
        x[g->slot] = level_value(g, j + (j >= now));
    }
}

static size_t count_spots(const hn_feature *g) {
    return g->ordered && (!g->n_levels || g->n_levels > SPOTS) ? SPOTS : g->n_levels;
}

size_t hn_genes_n_leaps(const hn_genes *genes, size_t k) {
    const hn_feature *g = &genes->gene[k];
    return g->kind == HONE_PERMUTATION ? 1 : count_spots(g) + g->optional;
}

void hn_genes_leap(const hn_genes *genes, size_t k, size_t j, hn_rng *rng, double *x) {
    const hn_feature *g = &genes->gene[k];
    size_t spots = count_spots(g), n = g->n_levels;
    if (g->kind == HONE_PERMUTATION) {
        hn_genes_mutate(genes, k, rng, x);
    } else if (j >= spots) {
        set_absent(g, x);
    } else if (!n) {
        x[g->slot] = on_grid(g, at_unit(g, (double)j / (SPOTS - 1)));
    } else {
        x[g->slot] = level_value(g, spots < n ? (j * (n - 1) + (SPOTS - 1) / 2) / (SPOTS - 1) : j);
    }
}

void hn_genes_settle(const hn_genes *g, double *x) {
    for (size_t k = 0; g->conditions && k < g->n; k++) {
        const hn_feature *e = &g->gene[k];
        if (!e->param->when || e->optional || !isnan(x[e->slot])) continue;
        if (e->kind == HONE_PERMUTATION) {
            for (size_t i = 0; i < e->n_levels; i++) x[e->slot + i] = (double)i;
        } else {
            x[e->slot] = e->param->dflt;
        }
    }
    hone_point_canon(g->space, x);
}
