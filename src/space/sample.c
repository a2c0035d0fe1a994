/* space/sample.c — legal points: drawn, constructed, repaired.
 *
 * Components are drawn apart, so their densities do not multiply: uniform rejection where sealing saw legal draws,
 * which is exactly uniform; else a randomised depth-first search with propagation (smallest domain first, Haralick &
 * Elliott 1980; random value order; restarts), which reaches every legal point but not all equally often.
 */
#include "base/err.h"
#include "base/str.h"
#include "space/solve.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EFFORT_CONSTRUCT 8e6 /* operations: about a tenth of a second */
#define EFFORT_REPAIR 1e6
enum { MOST_DEPTH = 4000, MOST_REJECTIONS = 4000, RESTARTS = 4 };

/* --- search -------------------------------------------------------------------------------------------------- */

typedef struct search {
    hn_solver z;
    hn_rng *rng;
    const double *want;
    const bool *late; /* per variable, may be NULL: assign after the others */
    double *point;
} search;

/* Smallest domain first; what conditions read, before what they govern; ties at random. */
static uint32_t choose(search *x) {
    uint32_t best = UINT32_MAX, ties = 0;
    double best_score = INFINITY;
    for (uint32_t v = 0; v < x->z.n_vars; v++) {
        const hn_domain *d = &x->z.var[v];
        double n = hn_domain_states(&x->z, d);
        if (n <= 1) continue;
        double score = fmin(n, 1e18) * (d->drives ? 1 : 2) + (x->late && x->late[v] ? 1e20 : 0);
        if (score > best_score) continue;
        ties = score < best_score ? 1 : ties + 1;
        best_score = score;
        if (hn_rng_below(x->rng, ties) == 0) best = v;
    }
    return best;
}

static double wanted_level(const search *x, const hn_domain *d) {
    double value = x->want[x->z.space->gene[d->param].slot];
    return x->z.space->gene[d->param].kind == HONE_PERMUTATION && !isnan(value)
               ? 0
               : hn_gene_level(x->z.space, d->param, value);
}

static bool descend(search *x, unsigned depth);

static bool try_level(search *x, uint32_t v, double level, unsigned depth) {
    size_t mark = hn_solver_mark(&x->z);
    hn_solver_assign(&x->z, v, level);
    if (descend(x, depth + 1)) return true;
    hn_solver_undo(&x->z, mark);
    return false;
}

/* Every state in random order, the wanted one first. */
static bool try_all(search *x, uint32_t v, unsigned depth) {
    const hn_domain *d = &x->z.var[v];
    double want = wanted_level(x, d);
    hn_mark mark = hn_arena_mark(&x->z.arena);
    uint32_t room = d->n_alive + 1, n = 0;
    double *order = HN_NEW_N(&x->z.arena, double, room);
    if (!order) {
        x->z.no_memory = true;
        return false;
    }
    for (double k = d->lo; k <= d->hi; k++)
        if (d->alive[(size_t)k]) order[n++] = k;
    if (d->absent) order[n++] = NAN;
    for (uint32_t k = n; k > 1; k--) {
        uint32_t j = (uint32_t)hn_rng_below(x->rng, k);
        double t = order[k - 1];
        order[k - 1] = order[j];
        order[j] = t;
    }
    for (uint32_t k = 0; k < n; k++)
        if (order[k] == want || (isnan(want) && isnan(order[k]))) {
            order[k] = order[0];
            order[0] = want;
            break;
        }
    bool found = false;
    for (uint32_t k = 0; k < n && !found && !x->z.cut && !x->z.no_memory; k++) found = try_level(x, v, order[k], depth);
    hn_arena_release(&x->z.arena, mark);
    return found;
}

static bool try_half(search *x, uint32_t v, double lo, double hi, unsigned depth) {
    size_t mark = hn_solver_mark(&x->z);
    hn_solver_narrow(&x->z, v, lo, hi);
    if (descend(x, depth + 1)) return true;
    hn_solver_undo(&x->z, mark);
    return false;
}

/* A large domain: the wanted value, a random one, absence, then both halves. */
static bool try_large(search *x, uint32_t v, unsigned depth) {
    const hn_domain d = x->z.var[v];
    const hn_gene *g = &x->z.space->gene[d.param];
    double want = wanted_level(x, &d);
    bool whole = g->step > 0;
    if (!isnan(want) && hn_domain_has(&d, want) && try_level(x, v, want, depth)) return true;
    if (x->z.cut || x->z.no_memory) return false;
    if (d.absent && try_level(x, v, NAN, depth)) return true;
    if (x->z.cut || x->z.no_memory || d.lo > d.hi) return false;
    double any = d.lo + (d.hi - d.lo) * hn_rng_unit(x->rng);
    if (try_level(x, v, whole ? floor(any) : any, depth)) return true;
    if (d.lo == d.hi || x->z.cut || x->z.no_memory) return false;
    double mid = whole ? floor(d.lo + (d.hi - d.lo) / 2) : d.lo + (d.hi - d.lo) / 2;
    if (g->log && !whole && d.lo > 0) mid = fmin(fmax(sqrt(d.lo) * sqrt(d.hi), d.lo), nextafter(d.hi, d.lo));
    double above = whole ? mid + 1 : nextafter(mid, INFINITY);
    bool low_first = hn_rng_below(x->rng, 2);
    for (int k = 0; k < 2; k++) {
        bool low = low_first == (k == 0);
        if (low ? try_half(x, v, d.lo, mid, depth) : try_half(x, v, above, d.hi, depth)) return true;
        if (x->z.cut || x->z.no_memory) return false;
    }
    return false;
}

static void write_solution(const search *x) {
    for (size_t v = 0; v < x->z.n_vars; v++) {
        const hn_domain *d = &x->z.var[v];
        const hn_gene *g = &x->z.space->gene[d->param];
        bool absent = d->lo > d->hi;
        if (g->kind == HONE_PERMUTATION) {
            for (uint32_t k = 0; k < g->n_slots; k++) x->point[g->slot + k] = absent ? NAN : x->want[g->slot + k];
            if (!absent && isnan(x->want[g->slot]))
                for (uint32_t k = 0; k < g->n_slots; k++) x->point[g->slot + k] = k;
        } else {
            x->point[g->slot] = absent ? NAN : hn_gene_value(x->z.space, d->param, d->lo);
        }
    }
}

static bool descend(search *x, unsigned depth) {
    if (depth > MOST_DEPTH) x->z.cut = true;
    if (x->z.cut || !hn_solver_propagate(&x->z)) return false;
    uint32_t v = choose(x);
    if (v == UINT32_MAX) {
        write_solution(x);
        return true;
    }
    return x->z.var[v].alive ? try_all(x, v, depth) : try_large(x, v, depth);
}

/* Restarts with a growing share of the effort: a bad first choice is abandoned early. */
static hone_rc run_search(search *x, double effort, bool *proved, hone_err *err) {
    size_t root = hn_solver_mark(&x->z);
    *proved = false;
    for (int k = RESTARTS; k-- > 0;) {
        x->z.cut = false;
        x->z.effort = 0;
        x->z.limit = ldexp(effort, -2 * k);
        if (descend(x, 0)) return HONE_OK;
        if (x->z.no_memory) return hn_fail(err, HONE_E_NOMEM, "out of memory searching space '%s'", x->z.space->name);
        if (!x->z.cut) {
            *proved = true;
            break;
        }
        hn_solver_undo(&x->z, root);
        for (uint32_t w = 0; w < x->z.n_rules + x->z.n_conds; w++) {
            x->z.queued[w] = true;
            x->z.queue[w] = w;
        }
        x->z.n_queue = x->z.n_rules + x->z.n_conds;
    }
    return hn_fail(err, HONE_E_EMPTY, "no legal point found");
}

static hone_rc solve(const hone_space *s, size_t c, hn_rng *rng, const double *want, const bool *late, double effort,
                     double *point, bool *proved, hone_err *err) {
    const hn_component *k = &s->component[c];
    search x = {.rng = rng, .want = want, .late = late, .point = point};
    hone_rc rc =
        hn_solver_open(s, k->param, k->n_params, k->constraint, k->n_constraints, k->cond, k->n_conds, &x.z, err);
    if (rc) return rc;
    rc = run_search(&x, effort, proved, err);
    hn_solver_close(&x.z);
    return rc;
}

hone_rc hn_solve(const hone_space *space, size_t c, hn_rng *rng, const double *want, double effort, double *point,
                 bool *proved, hone_err *err) {
    return solve(space, c, rng, want, NULL, effort, point, proved, err);
}

/* --- sampling ------------------------------------------------------------------------------------------------ */

/* Names a component by its constraints; a long list is cut. */
static hone_rc report_empty(const hone_space *s, size_t c, bool proved, hone_err *err) {
    const hn_component *k = &s->component[c];
    hn_str list = {0};
    for (size_t i = 0; i < k->n_constraints && list.n < 300; i++)
        hn_str_addf(&list, "%s'%.120s'", i ? ", " : "", s->constraint[k->constraint[i]]);
    if (k->n_constraints && list.n >= 300) hn_str_add(&list, " …");
    const char *text = list.text && !list.failed ? list.text : "its constraints";
    char who[220] = "the space";
    if (*s->name) snprintf(who, sizeof who, "space '%.200s'", s->name);
    hone_rc rc = proved ? hn_fail(err, HONE_E_EMPTY, "%s is empty (proved): no point satisfies %s", who, text)
                        : hn_fail(err, HONE_E_EMPTY,
                                  "%s is almost empty: no legal point found within the search effort for %s; "
                                  "loosen a constraint or narrow the ranges",
                                  who, text);
    hn_str_free(&list);
    return rc;
}

static hone_rc sample_component(const hone_space *s, size_t c, hn_rng *rng, bool initial, double *point,
                                hone_err *err) {
    double density = s->component[c].density;
    size_t n = density > 0 ? (size_t)fmin(20 / density, MOST_REJECTIONS) : 0;
    for (size_t k = 0; k < n; k++) {
        hn_component_draw(s, c, rng, initial, point);
        if (hn_component_holds(s, c, point)) return HONE_OK;
    }
    for (size_t k = 0; k < s->component[c].n_params; k++)
        hn_gene_random(s, s->component[c].param[k], rng, initial, point);
    bool proved = false;
    hone_rc rc = hn_solve(s, c, rng, point, EFFORT_CONSTRUCT, point, &proved, err);
    return rc == HONE_E_EMPTY ? report_empty(s, c, proved, err) : rc;
}

void hn_space_draw(const hone_space *space, hn_rng *rng, bool initial, double *point) {
    for (size_t i = 0; i < space->n_params; i++) hn_gene_random(space, i, rng, initial, point);
    hone_point_canon(space, point);
}

hone_rc hn_space_sample(const hone_space *space, hn_rng *rng, bool initial, double *point, hone_err *err) {
    for (size_t c = 0; c < space->n_components; c++) {
        hone_rc rc = sample_component(space, c, rng, initial, point, err);
        if (rc) return rc;
    }
    for (size_t i = 0; i < space->n_params; i++)
        if (space->gene[i].component == HN_NO_COMPONENT) hn_gene_random(space, i, rng, initial, point);
    hone_point_canon(space, point);
    return HONE_OK;
}

/* The public calls leave *point untouched on failure. */
static hone_rc on_copy(const hone_space *s, hn_rng rng, bool initial, bool repair, double *point, hone_err *err) {
    size_t n = s->n_slots;
    double *copy = malloc((n + 1) * sizeof *copy);
    if (!copy) return hn_fail(err, HONE_E_NOMEM, "out of memory drawing from space '%s'", s->name);
    if (repair && n) memcpy(copy, point, n * sizeof *copy);
    hone_rc rc = repair ? hn_point_repair(s, &rng, copy, err) : hn_space_sample(s, &rng, initial, copy, err);
    if (!rc && n) memcpy(point, copy, n * sizeof *copy);
    free(copy);
    return rc;
}

hone_rc hone_space_sample(const hone_space *space, uint64_t seed, bool initial, double *point, hone_err *err) {
    return on_copy(space, hn_rng_make(seed, initial ? 2 : 1), initial, false, point, err);
}

/* --- repair -------------------------------------------------------------------------------------------------- */

enum { TRY_VALUES = 64, TRY_PAIRS = 600 };

typedef struct repair {
    const hone_space *s;
    size_t c;
    hn_rng *rng;
    double *point, *trial; /* trial: scratch point */
    uint32_t *suspect;     /* parameters of broken constraints, and those that their activity depends on */
    size_t n_suspects;
} repair;

static bool trial_holds(const repair *r) {
    hn_component_activate(r->s, r->c, r->trial);
    return hn_component_holds(r->s, r->c, r->trial);
}

static void reset_trial(const repair *r) {
    const hn_component *k = &r->s->component[r->c];
    for (size_t i = 0; i < k->n_params; i++) {
        const hn_gene *g = &r->s->gene[k->param[i]];
        for (uint32_t j = g->slot; j < g->slot + g->n_slots; j++) r->trial[j] = r->point[j];
    }
}

/* Copies the trial's component into the point and updates parameters outside it whose activity changed. */
static void accept_trial(const repair *r) {
    const hn_component *k = &r->s->component[r->c];
    for (size_t i = 0; i < k->n_params; i++) {
        const hn_gene *g = &r->s->gene[k->param[i]];
        for (uint32_t j = g->slot; j < g->slot + g->n_slots; j++) r->point[j] = r->trial[j];
    }
    hone_point_canon(r->s, r->point);
}

static void list_suspects(repair *r) {
    const hn_component *k = &r->s->component[r->c];
    for (size_t i = 0; i < k->n_params; i++) {
        size_t n;
        const uint32_t *rule = hn_gene_constraints(r->s, k->param[i], &n);
        bool broken = n == 0; /* only drives conditions */
        for (size_t j = 0; j < n && !broken; j++) broken = !hn_constraint_holds(r->s, rule[j], r->point);
        if (broken) r->suspect[r->n_suspects++] = k->param[i];
    }
}

/* One gene: of all single changes that help, one at random (reservoir of one, Vitter 1985). */
static bool repair_one(repair *r) {
    double others[TRY_VALUES], best_value = 0;
    uint32_t best = UINT32_MAX;
    uint64_t seen = 0;
    for (size_t k = 0; k < r->n_suspects; k++) {
        uint32_t i = r->suspect[k], slot = r->s->gene[i].slot;
        size_t n = hone_point_active(r->s, r->point, i) ? hn_gene_others(r->s, i, r->point, others, TRY_VALUES) : 0;
        for (size_t j = 0; j < n; j++) {
            reset_trial(r);
            r->trial[slot] = others[j];
            if (!trial_holds(r) || hn_rng_below(r->rng, ++seen)) continue;
            best = i;
            best_value = others[j];
        }
    }
    if (best == UINT32_MAX) return false;
    r->point[r->s->gene[best].slot] = best_value;
    hone_point_canon(r->s, r->point);
    return true;
}

static bool repair_two(repair *r) {
    for (int k = 0; k < TRY_PAIRS && r->n_suspects > 1; k++) {
        reset_trial(r);
        for (int j = 0; j < 2; j++) {
            uint32_t i = r->suspect[hn_rng_below(r->rng, r->n_suspects)];
            if (hone_point_active(r->s, r->point, i)) hn_gene_random(r->s, i, r->rng, false, r->trial);
        }
        if (!trial_holds(r)) continue;
        accept_trial(r);
        return true;
    }
    return false;
}

/* Keeps the values of the rest of the component if possible, and changes the suspects. */
static hone_rc repair_many(repair *r, hone_err *err) {
    const hn_component *k = &r->s->component[r->c];
    bool *late = calloc(k->n_params + 1, sizeof *late), proved;
    if (!late) return hn_fail(err, HONE_E_NOMEM, "out of memory repairing a point");
    for (size_t i = 0, j = 0; i < k->n_params && j < r->n_suspects; i++)
        if (k->param[i] == r->suspect[j]) {
            late[i] = true;
            j++;
        }
    reset_trial(r);
    hone_rc rc = solve(r->s, r->c, r->rng, r->point, late, EFFORT_REPAIR, r->trial, &proved, err);
    free(late);
    if (rc == HONE_E_EMPTY && proved) return report_empty(r->s, r->c, true, err);
    if (rc == HONE_E_EMPTY) rc = sample_component(r->s, r->c, r->rng, false, r->trial, err);
    if (rc) return rc;
    accept_trial(r);
    return HONE_OK;
}

static hone_rc repair_component(repair *r, hone_err *err) {
    if (hn_component_holds(r->s, r->c, r->point)) return HONE_OK;
    r->n_suspects = 0;
    list_suspects(r);
    return repair_one(r) || repair_two(r) ? HONE_OK : repair_many(r, err);
}

hone_rc hn_point_repair(const hone_space *space, hn_rng *rng, double *point, hone_err *err) {
    hone_point_canon(space, point);
    if (hn_point_holds(space, point)) return HONE_OK;
    hn_arena scratch = {0};
    repair r = {.s = space,
                .rng = rng,
                .point = point,
                .trial = HN_NEW_N(&scratch, double, space->n_slots),
                .suspect = HN_NEW_N(&scratch, uint32_t, space->n_params)};
    hone_rc rc = hn_arena_ok(&scratch) ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory repairing a point");
    for (r.c = 0; !rc && r.c < space->n_components; r.c++) rc = repair_component(&r, err);
    hn_arena_free(&scratch);
    return rc;
}

hone_rc hone_point_repair(const hone_space *space, uint64_t seed, double *point, hone_err *err) {
    return on_copy(space, hn_rng_make(seed, 3), false, true, point, err);
}
