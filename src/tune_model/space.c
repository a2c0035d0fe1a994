/* tune_model/space.c — a kernel's candidates as a space of the tuner: which sketch, its knobs while it is chosen, which
 * compiler, and its flags. Seeds: every sketch as its cost model has it, every compiler alone, one step aside in each
 * knob, every flag alone.
 */
#include "base/locale.h"
#include "compile/winner.h"
#include "tune_model/tune_model_int.h"

#include <hone/target.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_B = 96 };

/* --- parameters ----------------------------------------------------------------------------------------------------
 */

static hone_rc add_sketches(hn_tune_space *s, size_t dflt, hone_err *err) {
    const char *names[HN_TUNE_SKETCHES];
    for (size_t i = 0; i < s->n_fits; i++) names[i] = s->fit[i].sketch->name;
    const hone_param p = {
        .name = "sketch", .kind = HONE_CHOICE, .values = names, .n_values = s->n_fits, .dflt = (double)dflt};
    return hone_space_add(s->space, &p, err);
}

static hone_rc add_knob(hn_tune_space *s, const hn_sketch_fit *f, const hn_knob *k, hone_err *err) {
    char name[NAME_MAX_B], when[NAME_MAX_B], text[HN_KNOB_VALUES_MAX][24];
    const char *values[HN_KNOB_VALUES_MAX];
    int dflt = 0;
    snprintf(name, sizeof name, "%s.%s", f->sketch->name, k->name);
    snprintf(when, sizeof when, "sketch == '%s'", f->sketch->name);
    for (int i = 0; i < k->n; i++) {
        snprintf(text[i], sizeof text[i], "%lld", (long long)k->value[i]);
        values[i] = text[i];
        if (k->value[i] == k->model) dflt = i;
    }
    const hone_param p = {.name = name,
                          .kind = HONE_ORDINAL,
                          .values = values,
                          .n_values = (size_t)k->n,
                          .dflt = dflt,
                          .when = s->n_fits > 1 ? when : NULL};
    return hone_space_add(s->space, &p, err);
}

static hone_rc add_compilers(hn_tune_space *s, hone_err *err) {
    const char *names[HN_TUNE_COMPILERS];
    for (size_t i = 0; i < s->n_cc; i++) names[i] = *s->cc[i] ? s->cc[i] : "default";
    const hone_param p = {.name = "cc", .kind = HONE_CHOICE, .values = names, .n_values = s->n_cc};
    return hone_space_add(s->space, &p, err);
}

/* "compiler.flag", a compiler's flags while it is chosen. */
static void flag_name(const hn_tune_space *s, size_t cc, const char *flag, char name[NAME_MAX_B]) {
    snprintf(name, NAME_MAX_B, "%s.%s", *s->cc[cc] ? s->cc[cc] : "default", flag);
}

static hone_rc add_flags(hn_tune_space *s, size_t cc, hone_err *err) {
    char name[NAME_MAX_B], when[NAME_MAX_B];
    snprintf(when, sizeof when, "cc == '%s'", *s->cc[cc] ? s->cc[cc] : "default");
    for (const char *const *flag = hone_family_kernel_flags(s->family[cc]); flag && *flag; flag++) {
        flag_name(s, cc, *flag, name);
        const hone_param p = {.name = name, .kind = HONE_FLAG, .when = s->n_cc > 1 ? when : NULL};
        hone_rc rc = hone_space_add(s->space, &p, err);
        if (rc) return rc;
    }
    return HONE_OK;
}

/* --- compilers -----------------------------------------------------------------------------------------------------
 */

/* The newest of each other family; not where code is made for another machine. */
static void find_compilers(hn_model *m, hn_tune_space *s) {
    s->cc[0] = "", s->family[0] = m->family, s->identity[0] = "";
    s->n_cc = 1;
    hone_family_info info;
    for (size_t i = 0; hone_family_at(i, &info) && s->n_cc < HN_TUNE_COMPILERS; i++) {
        char **names = NULL, family[16];
        size_t n = 0;
        if (!hone_family_kernel_flags(info.name) || !strcmp(info.name, m->family)) continue;
        if (hone_family_installed(info.name, &names, &n, NULL)) continue;
        const char *cc = n ? hn_strdup(&m->arena, names[n - 1]) : NULL;
        const char *identity = cc ? hn_identity_text(&m->arena, cc, family, NULL) : NULL;
        hone_free(names);
        if (!identity || strchr(cc, '/')) continue;
        s->cc[s->n_cc] = cc, s->identity[s->n_cc] = identity, s->family[s->n_cc++] = info.name;
    }
}

/* --- seeds ---------------------------------------------------------------------------------------------------------
 */

static double *new_seed(hn_tune_space *s, size_t *room) {
    size_t n = hone_space_slots(s->space);
    if (s->n_seeds == *room) {
        size_t more = 2 * *room + 16;
        double *list = realloc(s->seeds, more * n * sizeof *list);
        if (!list) return NULL;
        s->seeds = list;
        *room = more;
    }
    double *seed = s->seeds + s->n_seeds * n;
    hone_space_default(s->space, seed);
    return seed;
}

static void keep(hn_tune_space *s, double *seed) {
    hone_point_canon(s->space, seed);
    s->n_seeds++;
}

static double *param_slot(hn_tune_space *s, double *point, const char *name) {
    size_t i = hone_space_find(s->space, name);
    return i == SIZE_MAX ? NULL : &point[hone_space_param(s->space, i)->slot];
}

static bool seed_knob(hn_tune_space *s, size_t fit, const hn_knob *k, size_t *room) {
    char name[NAME_MAX_B];
    snprintf(name, sizeof name, "%s.%s", s->fit[fit].sketch->name, k->name);
    for (int step = -1; step <= 1; step += 2) {
        double *seed = new_seed(s, room), *at = seed ? param_slot(s, seed, name) : NULL, *sketch;
        if (!at) return seed != NULL;
        if ((sketch = param_slot(s, seed, "sketch"))) *sketch = (double)fit;
        int i = 0;
        while (i < k->n && k->value[i] != k->model) i++;
        if (i + step < 0 || i + step >= k->n) continue;
        *at = i + step;
        keep(s, seed);
    }
    return true;
}

static bool make_seeds(hn_tune_space *s, size_t dflt) {
    size_t room = 0;
    for (size_t i = 0; i < s->n_fits; i++) {
        double *seed = new_seed(s, &room), *at = seed ? param_slot(s, seed, "sketch") : NULL;
        if (!seed) return false;
        if (i != dflt && at) *at = (double)i, keep(s, seed);
    }
    for (size_t c = 0; c < s->n_cc; c++) {
        double *seed = new_seed(s, &room), *at = seed ? param_slot(s, seed, "cc") : NULL;
        if (!seed) return false;
        if (c && at) *at = (double)c, keep(s, seed);
    }
    for (size_t i = 0; i < s->n_fits; i++)
        for (int k = 0; k < s->fit[i].knobs.n; k++)
            if (i == dflt && !seed_knob(s, i, &s->fit[i].knobs.knob[k], &room)) return false;
    for (const char *const *flag = hone_family_kernel_flags(s->family[0]); flag && *flag; flag++) {
        char name[NAME_MAX_B];
        double *seed = new_seed(s, &room);
        if (!seed) return false;
        flag_name(s, 0, *flag, name);
        double *at = param_slot(s, seed, name);
        if (at) *at = 1, keep(s, seed);
    }
    return true;
}

/* --- the whole -----------------------------------------------------------------------------------------------------
 */

static size_t default_fit(const hn_tune_space *s, const char *schedule) {
    size_t n = strcspn(schedule, " ");
    for (size_t i = 0; i < s->n_fits; i++)
        if (strlen(s->fit[i].sketch->name) == n && !strncmp(s->fit[i].sketch->name, schedule, n)) return i;
    return s->n_fits;
}

static hone_rc add_params(hn_tune_space *s, size_t dflt, hone_err *err) {
    hone_rc rc = s->n_fits > 1 ? add_sketches(s, dflt, err) : HONE_OK;
    for (size_t i = 0; i < s->n_fits && !rc; i++)
        for (int k = 0; k < s->fit[i].knobs.n && !rc; k++)
            if (s->fit[i].knobs.knob[k].n > 1) rc = add_knob(s, &s->fit[i], &s->fit[i].knobs.knob[k], err);
    if (!rc && s->n_cc > 1) rc = add_compilers(s, err);
    for (size_t c = 0; c < s->n_cc && !rc; c++) rc = add_flags(s, c, err);
    return rc ? rc : hone_space_seal(s->space, err);
}

hone_rc hn_tune_space_make(hn_model *m, const hn_kernel *k, hn_tune_space *out, hone_err *err) {
    hn_tune_space s = {0};
    const hn_emit_how how = {.dialect = m->dialect, .machine = m->machine, .relaxed = m->options->relaxed};
    hn_arena a = {0};
    if (!k->reference) s.n_fits = hn_emit_sketches(m->g, k->body, k->kind, &how, &a, s.fit, HN_TUNE_SKETCHES);
    hn_arena_free(&a);
    size_t dflt = k->code.schedule ? default_fit(&s, k->code.schedule) : s.n_fits;
    if (dflt == s.n_fits)
        return hn_fail(err, HONE_E_UNSUPPORTED, "kernel '%s' has no schedules to choose from", k->name);
    find_compilers(m, &s);
    hone_rc rc = hone_space_new(k->name, &s.space, err);
    if (!rc) rc = add_params(&s, dflt, err);
    if (!rc && !make_seeds(&s, dflt)) rc = hn_fail(err, HONE_E_NOMEM, "out of memory for the space of a kernel");
    if (rc) {
        hn_tune_space_free(&s);
        return rc;
    }
    *out = s;
    return HONE_OK;
}

void hn_tune_space_free(hn_tune_space *s) {
    hone_space_free(s->space);
    free(s->seeds);
    *s = (hn_tune_space){0};
}

static double value_of(const hn_tune_space *s, const double *point, const char *name) {
    size_t i = hone_space_find(s->space, name);
    return i == SIZE_MAX ? NAN : point[hone_space_param(s->space, i)->slot];
}

void hn_tune_space_setting(const hn_tune_space *s, const double *point, hn_setting *out) {
    char name[NAME_MAX_B];
    double fit = value_of(s, point, "sketch"), cc = value_of(s, point, "cc");
    const hn_sketch_fit *f = &s->fit[isnan(fit) ? 0 : (size_t)fit];
    size_t c = isnan(cc) ? 0 : (size_t)cc, used = 0;
    int64_t setting[HN_KNOBS_MAX] = {0};
    for (int k = 0; k < f->knobs.n; k++) {
        snprintf(name, sizeof name, "%s.%s", f->sketch->name, f->knobs.knob[k].name);
        double i = value_of(s, point, name);
        setting[k] = isnan(i) ? f->knobs.knob[k].model : f->knobs.knob[k].value[(int)i];
    }
    hn_sketch_text(f->sketch, &f->knobs, setting, out->schedule);
    out->cc = s->cc[c];
    out->flags[0] = 0;
    for (const char *const *flag = hone_family_kernel_flags(s->family[c]); flag && *flag; flag++) {
        flag_name(s, c, *flag, name);
        if (value_of(s, point, name) == 1 && used < HN_FLAGS_MAX)
            used += (size_t)snprintf(out->flags + used, HN_FLAGS_MAX - used, "%s%s", used ? " " : "", *flag);
    }
}

/* --- from kernel to kernel -----------------------------------------------------------------------------------------
 */

static size_t nearest_value(const hone_param *p, const char *text) {
    size_t best = 0;
    char *end;
    double wanted = hn_strtod(text, &end), gap = INFINITY;
    for (size_t i = 0; i < p->n_values; i++) {
        double g = fabs(hn_strtod(p->values[i], &end) - wanted);
        if (g < gap) gap = g, best = i;
    }
    return best;
}

static void carry_param(const hn_tune_space *from, const double *point, const hone_param *p, double *out) {
    size_t j = hone_space_find(from->space, p->name);
    const hone_param *q = j == SIZE_MAX ? NULL : hone_space_param(from->space, j);
    if (!q || isnan(point[q->slot])) return;
    if (p->kind == HONE_FLAG) out[p->slot] = point[q->slot];
    if (p->kind == HONE_ORDINAL) out[p->slot] = (double)nearest_value(p, q->values[(size_t)point[q->slot]]);
    for (size_t i = 0; p->kind == HONE_CHOICE && i < p->n_values; i++)
        if (!strcmp(p->values[i], q->values[(size_t)point[q->slot]])) out[p->slot] = (double)i;
}

bool hn_tune_space_carry(const hn_tune_space *from, const double *point, const hn_tune_space *to, double *out) {
    double fit = value_of(from, point, "sketch");
    const char *name = from->fit[isnan(fit) ? 0 : (size_t)fit].sketch->name;
    size_t at = 0, sketch = hone_space_find(to->space, "sketch");
    while (at < to->n_fits && strcmp(to->fit[at].sketch->name, name) != 0) at++;
    if (at == to->n_fits) return false;
    hone_space_default(to->space, out);
    for (size_t i = 0; i < hone_space_n_params(to->space); i++)
        carry_param(from, point, hone_space_param(to->space, i), out);
    if (sketch != SIZE_MAX) out[hone_space_param(to->space, sketch)->slot] = (double)at;
    hone_point_canon(to->space, out);
    return true;
}
