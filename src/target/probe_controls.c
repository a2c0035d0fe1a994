/* target/probe_controls.c — the plan of probing: which values of which control are tried, and what follows. */
#include "base/err.h"
#include "target/probe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_VALUES = 64, SHRINKS = 6 };

static bool special(const hn_control *c) {
    return !strcmp(c->name, "lto") || !strcmp(c->name, "pgo") || hn_control_takes_file(c);
}
static bool choice(const hn_control *c) { return c->form == HN_CHOICE && !special(c) && c->cls != HN_IRRELEVANT; }
static bool ranged(const hn_control *c) { return c->form == HN_RANGE && c->cls != HN_IRRELEVANT; }

/* The k-th value of every choice in one batch, so that no command line names a control twice; refused values are
 * removed. */
static hone_rc probe_choices(hn_prober *p, hn_controls *list, hn_probe_trial *trial, size_t *back, hone_err *err) {
    for (size_t k = 0; k < MAX_VALUES; k++) {
        size_t n = 0;
        for (size_t i = 0; i < list->n; i++)
            if (choice(&list->item[i]) && k < list->item[i].n_values) {
                back[n] = i;
                trial[n++] = (hn_probe_trial){.name = list->item[i].name, .value = list->item[i].value[k]};
            }
        if (!n) return HONE_OK;
        hone_rc rc = hn_probe_trials(p, trial, n, err);
        if (rc) return rc;
        for (size_t i = 0; i < n; i++)
            if (!trial[i].ok) list->item[back[i]].value[k] = NULL;
    }
    return HONE_OK;
}

static void close_gaps(hn_controls *list) {
    for (size_t i = 0; i < list->n; i++) {
        hn_control *c = &list->item[i];
        if (!choice(c)) continue;
        size_t kept = 0;
        for (size_t k = 0; k < c->n_values && k < MAX_VALUES; k++)
            if (c->value[k]) c->value[kept++] = c->value[k];
        c->n_values = kept;
        if (!kept) c->cls = HN_IRRELEVANT;
    }
}

/* --- ranges ----------------------------------------------------------------------------------------------------- */

typedef enum point { AT_HI, AT_LO, AT_MID } point;

static double place(const hn_control *c, point at) {
    if (at == AT_HI) return c->hi;
    if (at == AT_LO) return c->lo;
    return floor(c->lo > 0 ? sqrt(c->lo * c->hi) : (c->lo + c->hi) / 2);
}

/* A refused bound moves towards the default, or towards the other bound where that is unknown. */
static void shrink_range(hn_control *c, point at) {
    double hold = isnan(c->dflt) ? (at == AT_HI ? fmax(c->lo, 1) : fmax(c->hi / 16, c->lo)) : c->dflt;
    if (at == AT_HI)
        c->hi = hold > 0 ? floor(sqrt(fmax(c->hi, 1) * hold)) : floor(c->hi / 4);
    else if (at == AT_LO)
        c->lo = c->lo > 0 ? ceil(sqrt(c->lo * fmax(hold, 1))) : ceil(hold / 8) + (hold <= 0);
    if (!(c->lo <= c->hi)) c->cls = HN_IRRELEVANT;
}

static hone_rc probe_point(hn_prober *p, hn_arena *a, hn_controls *list, hn_probe_trial *trial, size_t *back,
                           bool *pending, point at, size_t *n_refused, hone_err *err) {
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++)
        if (pending[i] && ranged(&list->item[i])) {
            back[n] = i;
            trial[n++] =
                (hn_probe_trial){.name = list->item[i].name, .value = hn_format(a, "%.0f", place(&list->item[i], at))};
        }
    *n_refused = 0;
    if (!hn_arena_ok(a)) return hn_fail(err, HONE_E_NOMEM, "out of memory probing");
    hone_rc rc = n ? hn_probe_trials(p, trial, n, err) : HONE_OK;
    for (size_t i = 0; i < n && !rc; i++) {
        pending[back[i]] = !trial[i].ok;
        *n_refused += !trial[i].ok;
    }
    return rc;
}

static hone_rc probe_ranges(hn_prober *p, hn_arena *a, hn_controls *list, hn_probe_trial *trial, size_t *back,
                            bool *pending, hone_err *err) {
    for (point at = AT_HI; at <= AT_MID; at++) {
        size_t refused = 1;
        for (size_t i = 0; i < list->n; i++) pending[i] = ranged(&list->item[i]);
        for (int round = 0; refused && round <= SHRINKS; round++) {
            hone_rc rc = probe_point(p, a, list, trial, back, pending, at, &refused, err);
            if (rc) return rc;
            for (size_t i = 0; i < list->n; i++)
                if (pending[i] && ranged(&list->item[i]) && (at == AT_MID || round == SHRINKS))
                    list->item[i].cls = HN_IRRELEVANT;
                else if (pending[i] && ranged(&list->item[i]))
                    shrink_range(&list->item[i], at);
        }
    }
    for (size_t i = 0; i < list->n; i++)
        if (ranged(&list->item[i]) && !(list->item[i].lo < list->item[i].hi)) list->item[i].cls = HN_IRRELEVANT;
    return HONE_OK;
}

/* --- link-time and profile-guided optimisation ------------------------------------------------------------------- */

static void probe_special(hone_target *t, hn_prober *p, hn_controls *list) {
    t->lto_flags = NULL;
    for (size_t i = 0; i < 3 && t->family->lto[i] && !t->lto_flags; i++)
        if (hn_probe_link(p, t->family->lto[i], false)) t->lto_flags = t->family->lto[i];
    bool pgo = t->family->pgo_generate && hn_probe_link(p, "", true);
    for (size_t i = 0; i < list->n; i++) {
        hn_control *c = &list->item[i];
        if (!strcmp(c->name, "lto") && !t->lto_flags) c->cls = HN_IRRELEVANT;
        if (!strcmp(c->name, "pgo") && !pgo) c->cls = HN_IRRELEVANT;
    }
}

hone_rc hn_target_probe(hone_target *t, hn_arena *a, hn_controls *list, const hone_target_options *options,
                        bool *complete, hone_err *err) {
    hn_prober *p;
    hone_rc rc = hn_prober_open(t, options, &p, err);
    if (rc) return rc;
    hn_probe_trial *trial = HN_NEW_N(a, hn_probe_trial, list->n);
    size_t *back = HN_NEW_N(a, size_t, list->n);
    bool *pending = HN_NEW_N(a, bool, list->n);
    if (!trial || !back || !pending) rc = hn_fail(err, HONE_E_NOMEM, "out of memory probing '%s'", t->print.command);
    for (size_t i = 0; i < list->n; i++)
        hn_prober_expect(p, list->item[i].form == HN_CHOICE ? list->item[i].n_values : 3);
    if (!rc) rc = probe_choices(p, list, trial, back, err);
    close_gaps(list);
    if (!rc) rc = probe_ranges(p, a, list, trial, back, pending, err);
    if (!rc) probe_special(t, p, list);
    *complete = !hn_prober_late(p);
    hn_prober_close(p);
    return rc;
}
