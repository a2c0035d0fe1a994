/* target/target_space.c — controls as parameters of a space, and the rule seeds as its points. */
#include "base/err.h"
#include "base/locale.h"
#include "target/target_int.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double KNOCKOUT = 0.5;  /* uniform samples leave half of the optional controls to the level */
static const double SEED_FACTOR = 4; /* first samples of a wide range stay within this factor of the default */

static void range(hone_param *p, const hn_control *c) {
    p->kind = HONE_INT;
    p->lo = c->lo;
    p->hi = c->hi;
    p->log = c->lo > 0 && c->hi / c->lo >= 16;
    if (!(c->dflt > 0) || c->hi - c->lo < 16) return;
    p->has_seed = true;
    p->seed_lo = fmax(c->lo, floor(c->dflt / SEED_FACTOR));
    p->seed_hi = fmin(c->hi, c->dflt * SEED_FACTOR);
    p->has_seed = p->seed_lo < p->seed_hi;
}

/* The plain level of speed. */
static double level_default(const hn_control *c) {
    for (size_t i = 0; i < c->n_values; i++)
        if (!strcmp(c->value[i], "3")) return (double)i;
    return 0;
}

/* The row of a control that is safe for a program that does not read these; NULL: it is not. */
static const hn_unread *unread_row(const hone_target *t, const hn_control *c, unsigned unread) {
    for (const hn_unread *u = t->family->unread; u && u->name; u++)
        if (!strcmp(u->name, c->name)) return (u->what & unread) && strstr(c->doc, u->promise) ? u : NULL;
    return NULL;
}

static hone_rc add(const hone_target *t, hone_space *space, const hn_control *c, const hone_target_options *o,
                   hone_err *err) {
    bool lto = !strcmp(c->name, "lto"), pgo = !strcmp(c->name, "pgo");
    const hn_unread *unread = c->cls == HN_NUMERIC && !o->numeric ? unread_row(t, c, o->unread) : NULL;
    if ((lto && !o->lto) || (pgo && !o->pgo) || ((lto || pgo) && o->own)) return HONE_OK;
    if (c->cls == HN_NUMERIC && !o->numeric && !unread) return HONE_OK;
    bool file = hn_control_takes_file(c);
    if (file && !o->n_files) return HONE_OK;
    hone_param p = {.name = c->name,
                    .doc = c->doc[0] ? c->doc : NULL,
                    .tag = unread                 ? "unread"
                           : c->cls == HN_NUMERIC ? "numeric"
                                                  : "codegen",
                    .optional = true,
                    .knockout = KNOCKOUT,
                    .dflt = NAN};
    if (lto || pgo) {
        p.kind = HONE_FLAG;
        p.optional = false;
        p.dflt = p.knockout = 0;
    } else if (c->form == HN_RANGE) {
        range(&p, c);
    } else {
        p.kind = HONE_CHOICE;
        p.values = file ? o->files : c->value;
        p.n_values = file ? o->n_files : c->n_values;
        if (unread) p.values = &unread->value, p.n_values = 1;
        if (!strcmp(c->name, t->family->level) && !o->own) {
            p.optional = false;
            p.knockout = 0;
            p.dflt = level_default(c);
        }
    }
    return hone_space_add(space, &p, err);
}

/* PGO was asked for and the tool that merges profiles is installed. Searched each time, as it is installed
 * independently of the compiler. */
static bool offers_pgo(hone_target *t, const hone_target_options *o) {
    if (!o->pgo || !t->family->profile_tool) return o->pgo;
    char *tool = t->family->profile_tool(t);
    free(tool);
    return tool != NULL;
}

hone_rc hn_target_build_space(hone_target *t, const hn_controls *list, const hone_target_options *options,
                              hone_space **out, hone_err *err) {
    hone_target_options with = *options;
    with.pgo = offers_pgo(t, options);
    hone_space *space;
    hone_rc rc = hone_space_new(t->print.command, &space, err);
    if (rc) return rc;
    for (size_t i = 0; i < list->n && !rc; i++) rc = add(t, space, &list->item[i], &with, err);
    if (!rc) rc = hone_space_seal(space, err);
    if (rc) {
        hone_space_free(space);
        return rc;
    }
    t->stats.n_offered = hone_space_n_params(space);
    *out = space;
    return HONE_OK;
}

/* --- seeds ------------------------------------------------------------------------------------------------------ */

/* The gene for a value's text; NAN when the parameter does not have it. */
static double gene(const hone_param *p, const char *value) {
    if (p->kind == HONE_INT) {
        double x = hn_strtod(value, NULL);
        return x < p->lo ? p->lo : x > p->hi ? p->hi : x;
    }
    for (size_t i = 0; p->kind == HONE_CHOICE && i < p->n_values; i++)
        if (!strcmp(p->values[i], value)) return (double)i;
    return NAN;
}

/* "NAME VALUE; NAME VALUE": unknown ones are left out. */
static void set_genes(const hone_space *space, const char *text, double *point) {
    char name[128], value[64];
    int used;
    for (; sscanf(text, " %127s %63[^; ]%n", name, value, &used) == 2; text += used, text += strspn(text, "; ")) {
        size_t i = hone_space_find(space, name);
        if (i == SIZE_MAX) continue;
        const hone_param *p = hone_space_param(space, i);
        double g = gene(p, value);
        if (!isnan(g)) point[p->slot] = g;
    }
    hone_point_canon(space, point);
}

static bool seen(const hone_space *space, const double *points, size_t n, size_t slots, const double *point) {
    for (size_t i = 0; i < n; i++)
        if (hone_point_equal(space, points + i * slots, point)) return true;
    return false;
}

/* The points of a NULL-terminated list of rows; what is the same in this space comes once. */
static hone_rc points_of(const hone_target *t, const hone_space *space, const char *const *row, double **points,
                         size_t *n, hone_err *err) {
    size_t slots = hone_space_slots(space), most = 0, count = 0;
    while (row[most]) most++;
    double *all = malloc((most + 1) * (slots + 1) * sizeof *all);
    if (!all) return hn_fail(err, HONE_E_NOMEM, "out of memory making the seeds of '%s'", t->print.command);
    for (size_t i = 0; i < most; i++) {
        double *point = all + count * slots;
        hone_space_default(space, point);
        set_genes(space, row[i], point);
        if (!seen(space, all, count, slots, point) && hone_point_legal(space, point, NULL)) count++;
    }
    *points = all;
    *n = count;
    return HONE_OK;
}

size_t hn_learned_most(size_t budget) {
    enum { LEAST = 8, SHARE = 20 };
    size_t most = budget / SHARE;
    if (budget && budget < LEAST) return 0;
    return !budget || most > HN_LEARNED_MOST ? HN_LEARNED_MOST : most ? most : 1;
}

size_t hn_seeds_order(const hn_learned *learned, size_t most, const char *const *rule, const char *objective,
                      const char **row) {
    size_t n = 0, ahead;
    if (most > HN_LEARNED_MOST) most = HN_LEARNED_MOST;
    for (const hn_learned *l = learned; l && l->objective && n < most; l++)
        if (objective && !strcmp(l->objective, objective)) row[n++] = l->genes;
    ahead = n;
    for (size_t i = 0; rule[i]; i++) row[n++] = rule[i];
    row[n] = NULL;
    return ahead;
}

hone_rc hn_target_seeds(const hone_target *t, const hone_space *space, const char *objective, size_t most_learned,
                        double **points, size_t *n, hone_err *err) {
    size_t most = HN_LEARNED_MOST + 1;
    while (t->family->seeds[most - HN_LEARNED_MOST - 1]) most++;
    const char **row = calloc(most, sizeof *row);
    if (!row) return hn_fail(err, HONE_E_NOMEM, "out of memory making the seeds of '%s'", t->print.command);
    hn_seeds_order(t->family->learned, most_learned, t->family->seeds, objective, row);
    hone_rc rc = points_of(t, space, row, points, n, err);
    free(row);
    return rc;
}

hone_rc hone_target_seeds_for(const hone_target *t, const hone_space *space, const char *objective, double **points,
                              size_t *n, hone_err *err) {
    return hn_target_seeds(t, space, objective, HN_LEARNED_MOST, points, n, err);
}

hone_rc hone_target_seeds(const hone_target *t, const hone_space *space, double **points, size_t *n, hone_err *err) {
    return points_of(t, space, t->family->seeds, points, n, err);
}

hone_rc hone_target_levels(const hone_target *t, const hone_space *space, double **points, size_t *n, hone_err *err) {
    return points_of(t, space, t->family->levels, points, n, err);
}
