/* tune/by_file.c — see by_file.h. */
#include "tune/by_file.h"

#include "base/err.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the space ---------------------------------------------------------------------------------------------------- */

/* What no name of a parameter may have, such as the slash of a path, becomes "_". */
static const char *prefix_of(const hn_plan *plan, hn_arena *a, size_t t, size_t file) {
    char *name = hn_strdup(a, plan->file[file]);
    for (char *c = name; c && *c; c++) {
        bool plain = (*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z');
        if (!plain && !strchr("_-.+=", *c)) *c = '_';
    }
    return name ? hn_format(a, "file.%s.%s", name, plan->prefix[t]) : NULL;
}

/* The controls of every file under their names, as they stand in the plan's space; when: NULL: always. */
static hone_rc include(hn_plan *plan, hone_space *space, size_t t, const char *when, hone_err *err) {
    hone_rc rc = HONE_OK;
    for (size_t f = 0; !rc && f < plan->n_files; f++) {
        const char *prefix = prefix_of(plan, &plan->arena, t, f);
        rc = prefix ? hone_space_include(space, plan->own[t].control, prefix, when, err)
                    : hn_fail(err, HONE_E_NOMEM, "out of memory");
    }
    return rc;
}

static hone_rc add_target(hn_plan *plan, size_t t, const hone_target_options *of_target, hone_space *space,
                          hone_err *err) {
    hone_target_options own = *of_target;
    char when[300];
    own.own = true;
    own.numeric = false;
    snprintf(when, sizeof when, "compiler == '%s'", plan->w->compiler[t]);
    hone_rc rc = hone_target_space(plan->target[t], &own, &plan->own[t].control, err);
    if (!rc) rc = hone_space_new(plan->w->name, &plan->own[t].space, err);
    if (!rc) rc = include(plan, plan->own[t].space, t, NULL, err);
    if (!rc) rc = hone_space_seal(plan->own[t].space, err);
    plan->own[t].first = hone_space_n_params(space);
    return rc ? rc : include(plan, space, t, plan->n_targets > 1 ? when : NULL, err);
}

hone_rc hn_by_file_add(hn_plan *plan, const hone_target_options *of_target, hone_err *err) {
    hone_space *all = NULL;
    plan->own = HN_NEW_N(&plan->arena, hn_own_space, plan->n_targets + 1);
    hone_rc rc = plan->own ? hone_space_new(plan->w->name, &all, err) : hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!rc) rc = hone_space_include(all, plan->space, NULL, NULL, err);
    for (size_t t = 0; !rc && t < plan->n_targets; t++) rc = add_target(plan, t, of_target, all, err);
    if (!rc) rc = hone_space_seal(all, err);
    if (rc) {
        hone_space_free(all);
        return rc;
    }
    plan->global = plan->space;
    plan->space = all;
    return HONE_OK;
}

void hn_by_file_close(hn_plan *plan) {
    for (size_t t = 0; plan->own && t < plan->n_targets; t++) {
        hone_space_free(plan->own[t].control);
        hone_space_free(plan->own[t].space);
    }
    hone_space_free(plan->global);
    plan->own = NULL;
    plan->global = NULL;
}

const hone_space *hn_by_file_space(const hn_plan *plan, size_t t, size_t *at, size_t *n) {
    *at = hone_space_param(plan->space, plan->own[t].first)->slot;
    *n = hone_space_slots(plan->own[t].space);
    return plan->own[t].space;
}

bool hn_by_file_used(const hn_plan *plan, const double *point) {
    size_t from = plan->own ? hone_space_slots(plan->global) : SIZE_MAX;
    size_t end = plan->opt ? plan->first_pass_slot : hone_space_slots(plan->space);
    for (size_t i = from; i < end; i++)
        if (!isnan(point[i])) return true;
    return false;
}

/* --- recipes ------------------------------------------------------------------------------------------------------ */

hone_rc hn_by_file_apply(const hn_plan *plan, size_t t, const double *point, hn_recipe *r, hone_err *err) {
    if (!plan->own || !point || !hn_by_file_used(plan, point)) return HONE_OK;
    r->file = HN_NEW_N(&r->arena, hn_file_flags, plan->n_files);
    for (size_t f = 0; r->file && f < plan->n_files; f++) {
        const char *prefix = prefix_of(plan, &r->arena, t, f);
        hn_flags words = {.a = &r->arena};
        if (prefix) hn_target_words(plan->target[t], plan->space, prefix, point, &words);
        if (words.n) r->file[r->n_files++] = (hn_file_flags){plan->file[f], words.word, words.n};
    }
    return hn_arena_ok(&r->arena) ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
}

/* --- seeds -------------------------------------------------------------------------------------------------------- */

/* Points of the controls of one file, each laid into that file's place. */
static void lay(const double *from, size_t n_from, size_t slots, size_t file, size_t n_slots, double *to) {
    for (size_t k = 0; k < n_from; k++) {
        double *point = to + k * n_slots;
        for (size_t i = 0; i < n_slots; i++) point[i] = NAN;
        memcpy(point + file * slots, from + k * slots, slots * sizeof *point);
    }
}

hone_rc hn_by_file_seeds(const hn_plan *plan, size_t t, double **points, size_t *n, hone_err *err) {
    const hn_own_space *own = &plan->own[t];
    size_t slots = hone_space_slots(own->control), all = hone_space_slots(own->space), n_level = 0, n_rule = 0;
    double *level = NULL, *rule = NULL;
    hone_rc rc = hone_target_levels(plan->target[t], own->control, &level, &n_level, err);
    if (!rc) rc = hone_target_seeds(plan->target[t], own->control, &rule, &n_rule, err);
    double *out = rc ? NULL : malloc(((n_level + n_rule) * plan->n_files * all + 1) * sizeof *out);
    if (!rc && !out) rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
    size_t at = 0;
    for (size_t f = 0; out && f < plan->n_files; f++) {
        lay(level, n_level, slots, f, all, out + at * all);
        at += n_level;
        lay(rule, n_rule, slots, f, all, out + at * all);
        at += n_rule;
    }
    hone_free(level);
    hone_free(rule);
    if (rc) return rc;
    *points = out;
    *n = at;
    return HONE_OK;
}
