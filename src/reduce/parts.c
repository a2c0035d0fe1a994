/* reduce/parts.c — differences between two points of a space, with its conditions observed. */
#include "reduce/parts.h"

#include "base/err.h"
#include "base/str.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void copy_gene(const hone_param *p, const double *from, double *to) {
    memcpy(to + p->slot, from + p->slot, p->n_slots * sizeof *to);
}

/* --- values to go back to -------------------------------------------------------------------------------------------
 */

/* "-march" of "gcc-12.-march"; NULL when the name has none of the prefixes. */
static const char *own_name(const char *name, const char *const *prefix, size_t n) {
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(prefix[i]);
        if (hn_starts_with(name, prefix[i]) && name[len] == '.') return name + len + 1;
    }
    return NULL;
}

static bool same_kind(const hone_param *a, const hone_param *b) {
    return a->kind == b->kind && a->n_slots == 1 && b->n_slots == 1;
}

/* The gene of `from` as a gene of `to`: the same number, or the value of the same text. NAN when there is none. */
static double translate(const hone_param *from, double gene, const hone_param *to) {
    if (isnan(gene)) return NAN;
    if (from->kind == HONE_INT || from->kind == HONE_FLOAT) return gene >= to->lo && gene <= to->hi ? gene : NAN;
    if (from->kind == HONE_FLAG) return gene;
    for (size_t i = 0; i < to->n_values; i++)
        if (!strcmp(from->values[(size_t)gene], to->values[i])) return (double)i;
    return NAN;
}

static double borrowed(const hone_space *s, const double *base, size_t i, const char *const *prefix, size_t n) {
    const hone_param *to = hone_space_param(s, i);
    const char *own = own_name(to->name, prefix, n);
    for (size_t j = 0; own && j < hone_space_n_params(s); j++) {
        const hone_param *from = hone_space_param(s, j);
        const char *name = own_name(from->name, prefix, n);
        if (!name || strcmp(name, own) != 0 || !same_kind(from, to) || !hone_point_active(s, base, j)) continue;
        return translate(from, base[from->slot], to);
    }
    return NAN;
}

static void fill_back(const hone_space *s, const double *base, const double *winner, const char *const *prefix,
                      size_t n, double *back) {
    memcpy(back, base, hone_space_slots(s) * sizeof *back);
    for (size_t i = 0; i < hone_space_n_params(s); i++) {
        const hone_param *p = hone_space_param(s, i);
        if (!hone_point_active(s, winner, i) || hone_point_active(s, base, i)) continue;
        if (p->n_slots == 1 && p->kind != HONE_LITERAL) back[p->slot] = borrowed(s, base, i, prefix, n);
    }
}

/* --- parts ----------------------------------------------------------------------------------------------------------
 */

/* The winner with one parameter reset. */
static void without(const hn_parts *p, size_t param, double *point) {
    memcpy(point, p->winner, hone_space_slots(p->space) * sizeof *point);
    copy_gene(hone_space_param(p->space, param), p->back, point);
    hone_point_canon(p->space, point);
}

/* Is part b inactive when part a is reset? */
static bool needs(const hn_parts *p, size_t b, size_t a, double *scratch) {
    without(p, p->param[a], scratch);
    return !hone_point_active(p->space, scratch, p->param[b]);
}

/* Puts parents before what needs them; conditions have no cycle, so each round places at least one. */
static void order_parts(hn_parts *p, double *scratch) {
    for (size_t i = 0; i < p->n; i++)
        for (size_t j = i + 1; j < p->n; j++) {
            if (!needs(p, i, j, scratch)) continue;
            size_t parent = p->param[j];
            memmove(&p->param[i + 1], &p->param[i], (j - i) * sizeof *p->param);
            p->param[i] = parent;
            j = i; /* the part just placed may itself need a later one */
        }
}

hone_rc hn_parts_find(const hone_space *space, const double *base, const double *winner, const char *const *prefix,
                      size_t n_prefixes, hn_arena *a, hn_parts *out, hone_err *err) {
    size_t n = hone_space_n_params(space), slots = hone_space_slots(space);
    hn_parts p = {.space = space, .winner = winner};
    p.back = HN_NEW_N(a, double, slots + 1);
    p.param = HN_NEW_N(a, size_t, n + 1);
    p.parent = HN_NEW_N(a, size_t, n + 1);
    double *scratch = HN_NEW_N(a, double, slots + 1);
    if (!hn_arena_ok(a)) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    fill_back(space, base, winner, prefix, n_prefixes, p.back);
    for (size_t i = 0; i < n; i++) {
        if (!hone_point_active(space, winner, i)) continue;
        without(&p, i, scratch);
        if (!hone_point_equal(space, scratch, winner)) p.param[p.n++] = i;
    }
    order_parts(&p, scratch);
    for (size_t i = 0; i < p.n; i++) {
        p.parent[i] = SIZE_MAX;
        for (size_t j = 0; j < i && p.parent[i] == SIZE_MAX; j++)
            if (needs(&p, i, j, scratch)) p.parent[i] = j;
    }
    *out = p;
    return HONE_OK;
}

/* The part of this parameter, or n. */
static size_t part_of(const hn_parts *p, size_t param) {
    size_t k = 0;
    while (k < p->n && p->param[k] != param) k++;
    return k;
}

void hn_parts_point(const hn_parts *p, const bool *keep, double *point) {
    memcpy(point, p->back, hone_space_slots(p->space) * sizeof *point);
    for (size_t i = 0; i < hone_space_n_params(p->space); i++) {
        size_t k = part_of(p, i);
        if (k < p->n ? keep[k] : hone_point_active(p->space, p->winner, i))
            copy_gene(hone_space_param(p->space, i), p->winner, point);
    }
    hone_point_canon(p->space, point);
}
