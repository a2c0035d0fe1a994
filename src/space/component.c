/* space/component.c — components: the parameters that constraints connect, and how often a uniform draw satisfies them.
 */
#include "base/err.h"
#include "space/space_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TRIAL_DRAWS = 200, TRIAL_WORK = 2000000 };

static uint32_t root(uint32_t *up, uint32_t i) {
    while (up[i] != i) i = up[i] = up[up[i]];
    return i;
}

static void join(uint32_t *up, uint32_t a, uint32_t b) {
    a = root(up, a);
    b = root(up, b);
    if (a < b)
        up[b] = a;
    else
        up[a] = b;
}

/* Marks and joins the parameters on which the activity of a constrained parameter depends. Conditions are visited from
 * last to first, so a mark set on a parameter is seen when its own condition is visited. */
static void join_conditions(const hone_space *s, uint32_t *up, bool *in) {
    for (size_t c = s->n_conds; c-- > 0;) {
        const hn_cond *cond = &s->cond[c];
        bool bound = false;
        for (size_t k = 0; k < cond->n_params; k++) {
            if (!in[cond->param[k]]) continue;
            if (cond->prog.n_params) join(up, cond->param[k], cond->prog.param[0]);
            bound = true;
        }
        for (size_t j = 0; bound && j < cond->prog.n_params; j++) {
            in[cond->prog.param[j]] = true;
            join(up, cond->prog.param[0], cond->prog.param[j]);
        }
    }
}

/* Counting sort of items 0..n-1 by group into one array; groups[i] == HN_NO_COMPONENT is left out. */
static uint32_t *grouped(hn_arena *a, const uint32_t *group, size_t n, size_t n_groups, uint32_t *start) {
    uint32_t *all = HN_NEW_N(a, uint32_t, n);
    if (!all) return NULL;
    memset(start, 0, (n_groups + 2) * sizeof *start);
    for (size_t i = 0; i < n; i++)
        if (group[i] != HN_NO_COMPONENT) start[group[i] + 2]++;
    for (size_t g = 0; g < n_groups; g++) start[g + 2] += start[g + 1];
    for (size_t i = 0; i < n; i++)
        if (group[i] != HN_NO_COMPONENT) all[start[group[i] + 1]++] = (uint32_t)i;
    return all;
}

static int ascending(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* A condition belongs to the component of the constrained parameters under it (they share one: its own reads). A
 * condition without parameters read (a constant) may serve several components and is listed in each. */
static bool list_conds(hone_space *s, hn_component *c) {
    uint32_t *list = HN_NEW_N(&s->arena, uint32_t, c->n_params);
    if (!list) return false;
    for (size_t k = 0; k < c->n_params; k++) {
        uint32_t cond = s->gene[c->param[k]].cond;
        if (cond == HN_NO_COND) continue;
        list[c->n_conds++] = cond;
    }
    qsort(list, c->n_conds, sizeof *list, ascending);
    size_t n = 0;
    for (size_t i = 0; i < c->n_conds; i++)
        if (!n || list[n - 1] != list[i]) list[n++] = list[i];
    c->n_conds = n;
    c->cond = list;
    return true;
}

static void measure_density(const hone_space *s, size_t c, double *point) {
    hn_component *x = &s->component[c];
    hn_rng rng = hn_rng_make(0x5eed, c);
    size_t cost = 8 * x->n_params + 1, hits = 0;
    for (size_t k = 0; k < x->n_constraints; k++) cost += s->rule[x->constraint[k]].n;
    size_t n = TRIAL_WORK / cost;
    n = n < 16 ? 16 : n > TRIAL_DRAWS ? TRIAL_DRAWS : n;
    for (size_t k = 0; k < n; k++) {
        hn_component_draw(s, c, &rng, false, point);
        hits += hn_component_holds(s, c, point);
    }
    x->density = (double)hits / (double)n;
}

typedef struct work {
    uint32_t *up, *group, *rule_group, *start;
    bool *in;
    double *point;
} work;

/* Numbers the components by their first parameter; constraints without parameters make one of their own. */
static void number(hone_space *s, work *w) {
    uint32_t n = 0, constant = HN_NO_COMPONENT;
    for (uint32_t i = 0; i < s->n_params; i++) {
        w->group[i] = HN_NO_COMPONENT;
        if (!w->in[i]) continue;
        uint32_t r = root(w->up, i);
        w->group[i] = r == i ? n++ : w->group[r]; /* the root is the smallest: numbered before */
        s->gene[i].component = w->group[i];
    }
    for (size_t c = 0; c < s->n_constraints; c++) {
        if (!s->rule[c].n_params && constant == HN_NO_COMPONENT) constant = n++;
        w->rule_group[c] = s->rule[c].n_params ? w->group[s->rule[c].param[0]] : constant;
    }
    s->n_components = n;
}

static bool build(hone_space *s, work *w) {
    size_t n = s->n_components;
    s->component = HN_NEW_N(&s->arena, hn_component, n);
    uint32_t *params = grouped(&s->arena, w->group, s->n_params, n, w->start);
    if (!s->component || !params) return false;
    for (size_t c = 0; c < n; c++) {
        size_t from = c ? w->start[c] : 0;
        s->component[c].param = params + from;
        s->component[c].n_params = w->start[c + 1] - from;
    }
    uint32_t *rules = grouped(&s->arena, w->rule_group, s->n_constraints, n, w->start);
    if (!rules) return false;
    for (size_t c = 0; c < n; c++) {
        size_t from = c ? w->start[c] : 0;
        s->component[c].constraint = rules + from;
        s->component[c].n_constraints = w->start[c + 1] - from;
        if (!list_conds(s, &s->component[c])) return false;
    }
    for (size_t c = 0; c < n; c++) measure_density(s, c, w->point);
    return true;
}

hone_rc hn_space_components(hone_space *s, hone_err *err) {
    hn_arena scratch = {0};
    size_t n = s->n_params;
    work w = {.up = HN_NEW_N(&scratch, uint32_t, n),
              .group = HN_NEW_N(&scratch, uint32_t, n),
              .rule_group = HN_NEW_N(&scratch, uint32_t, s->n_constraints),
              .start = HN_NEW_N(&scratch, uint32_t, n + 4),
              .in = HN_NEW_N(&scratch, bool, n),
              .point = HN_NEW_N(&scratch, double, s->n_slots)};
    bool good = hn_arena_ok(&scratch);
    if (good) {
        for (uint32_t i = 0; i < n; i++) w.up[i] = i;
        for (size_t c = 0; c < s->n_constraints; c++)
            for (size_t k = 0; k < s->rule[c].n_params; k++) {
                w.in[s->rule[c].param[k]] = true;
                join(w.up, s->rule[c].param[0], s->rule[c].param[k]);
            }
        join_conditions(s, w.up, w.in);
        number(s, &w);
        good = build(s, &w);
    }
    hn_arena_free(&scratch);
    return good ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory sealing space '%s'", s->name);
}

void hn_component_activate(const hone_space *space, size_t c, double *point) {
    const hn_component *x = &space->component[c];
    for (size_t k = 0; k < x->n_params; k++) {
        const hn_gene *g = &space->gene[x->param[k]];
        if (!g->optional && isnan(point[g->slot])) hn_gene_default(space, x->param[k], point);
    }
    for (size_t k = 0; k < x->n_conds; k++) {
        const hn_cond *cond = &space->cond[x->cond[k]];
        double truth = hn_prog_eval(&cond->prog, point);
        if (truth == truth && truth != 0) continue;
        for (size_t i = 0; i < cond->n_params; i++) {
            const hn_gene *g = &space->gene[cond->param[i]];
            if (g->component != c) continue;
            for (size_t j = 0; j < g->n_slots; j++) point[g->slot + j] = NAN;
        }
    }
}

void hn_component_draw(const hone_space *space, size_t c, hn_rng *rng, bool initial, double *point) {
    const hn_component *x = &space->component[c];
    for (size_t k = 0; k < x->n_params; k++) hn_gene_random(space, x->param[k], rng, initial, point);
    hn_component_activate(space, c, point);
}

bool hn_component_holds(const hone_space *space, size_t c, const double *point) {
    const hn_component *x = &space->component[c];
    for (size_t k = 0; k < x->n_constraints; k++)
        if (!hn_constraint_holds(space, x->constraint[k], point)) return false;
    return true;
}
