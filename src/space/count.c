/* space/count.c — how many legal points a space has.
 *
 * Exact: model counting by branching with component splitting, as #SAT solvers do (Bayardo & Pehoushek 2000), over
 * propagated domains: parameters that no open constraint or condition ties together multiply; the others are branched
 * on, those first that conditions read. Beyond the effort limit: Monte-Carlo, each top-level component apart. A raw
 * draw with the active set A stands for prod over A of |domain| canonical points, so the mean of that weight over
 * legal draws is the count; equal weights give Wilson's interval (1927), unequal ones the normal interval.
 */
#include "base/err.h"
#include "space/solve.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EFFORT_COUNT 6e7 /* operations */
enum { MOST_DEPTH = 1500, MOST_DRAWS = 40000 };
#define EFFORT_DRAWS 5e7
#define LEAST_EFFORT 1e5 /* for each part, however much the others took */

typedef struct counter {
    hn_solver z;
    uint32_t *up;         /* union-find over variables */
    uint32_t *watcher_of; /* condition -> watcher, by index in the space */
    bool failed;          /* over the limit or out of memory */
} counter;

static double factorial(size_t n) {
    double f = 1;
    for (size_t i = 2; i <= n; i++) f *= (double)i;
    return f;
}

/* Points that a variable nothing else hangs on stands for. */
static double states(const counter *c, const hn_domain *d) {
    const hn_gene *g = &c->z.space->gene[d->param];
    if (g->kind == HONE_PERMUTATION && d->lo <= d->hi) return factorial(g->n_slots) + d->absent;
    return hn_domain_states(&c->z, d);
}

static bool open_var(const counter *c, uint32_t v) { return hn_domain_states(&c->z, &c->z.var[v]) > 1; }

static uint32_t root(uint32_t *up, uint32_t i) {
    while (up[i] != i) i = up[i] = up[up[i]];
    return i;
}

static void join(counter *c, uint32_t a, uint32_t b) {
    a = root(c->up, a);
    b = root(c->up, b);
    if (a != b) c->up[a > b ? a : b] = a > b ? b : a;
}

static bool spend(counter *c, double effort) {
    c->z.effort += effort;
    if (c->z.effort > c->z.limit || c->z.cut || c->z.no_memory) c->failed = true;
    return !c->failed;
}

/* Joins v with all open variables of an unsettled watcher. */
static void join_watcher(counter *c, uint32_t v, uint32_t w) {
    const hn_solver *z = &c->z;
    const hn_prog *p = w < z->n_rules ? &z->space->rule[z->rule[w]] : &z->space->cond[z->cond[w - z->n_rules]].prog;
    c->z.effort += (double)p->n;
    if (hn_solver_settled(z, w)) return;
    for (size_t k = 0; k < p->n_params; k++) {
        uint32_t u = z->var_of[p->param[k]];
        if (u != v && open_var(c, u)) join(c, v, u);
    }
}

static void join_all(counter *c, const uint32_t *set, size_t n) {
    for (size_t k = 0; k < n; k++) c->up[set[k]] = set[k];
    for (size_t k = 0; k < n && spend(c, 1); k++) {
        uint32_t v = set[k];
        for (uint32_t i = c->z.first_watch[v]; i < c->z.first_watch[v + 1]; i++) join_watcher(c, v, c->z.watch[i]);
        uint32_t cond = c->z.space->gene[c->z.var[v].param].cond;
        if (cond != HN_NO_COND) join_watcher(c, v, c->watcher_of[cond]);
    }
}

static double count_set(counter *c, uint32_t *set, size_t n, unsigned depth);

/* What conditions read first, then what stands in most constraints, then the smallest domain. */
static size_t choose(const counter *c, const uint32_t *set, size_t n) {
    size_t best = 0;
    double best_score = INFINITY;
    for (size_t k = 0; k < n; k++) {
        const hn_domain *d = &c->z.var[set[k]];
        double watchers = c->z.first_watch[set[k] + 1] - c->z.first_watch[set[k]];
        double score = fmin(hn_domain_states(&c->z, d), 1e6) / (watchers + 1) + (d->drives ? 0 : 1e9);
        if (score >= best_score) continue;
        best_score = score;
        best = k;
    }
    return best;
}

static double count_state(counter *c, uint32_t v, double level, uint32_t *rest, size_t n, unsigned depth) {
    const hn_domain *d = &c->z.var[v];
    bool permutation = c->z.space->gene[d->param].kind == HONE_PERMUTATION && !isnan(level);
    double weight = permutation ? factorial(c->z.space->gene[d->param].n_slots) : 1;
    size_t mark = hn_solver_mark(&c->z);
    hn_solver_assign(&c->z, v, level);
    double points = 0;
    if (hn_solver_propagate(&c->z))
        points = weight * count_set(c, rest, n, depth + 1);
    else
        spend(c, 0);
    hn_solver_undo(&c->z, mark);
    return points;
}

/* Variables tied together: branch on one. `set` may be reordered. */
static double count_tied(counter *c, uint32_t *set, size_t n, unsigned depth) {
    size_t at = choose(c, set, n);
    uint32_t v = set[at];
    set[at] = set[0];
    set[0] = v;
    const hn_domain d = c->z.var[v];
    if (c->z.space->gene[d.param].step == 0 || (!d.alive && d.hi - d.lo > c->z.limit)) {
        c->failed = true;
        return 0;
    }
    double points = d.absent ? count_state(c, v, NAN, set + 1, n - 1, depth) : 0;
    for (double k = d.lo; k <= d.hi && spend(c, 1); k++)
        if (!d.alive || d.alive[(size_t)k]) points += count_state(c, v, k, set + 1, n - 1, depth);
    return points;
}

typedef struct member {
    uint32_t root, var;
} member;

static int by_root(const void *a, const void *b) {
    const member *x = a, *y = b;
    if (x->root != y->root) return x->root < y->root ? -1 : 1;
    return x->var < y->var ? -1 : x->var > y->var;
}

/* Is its number of states all that counts: no open rule on it, no open condition over what is already fixed? */
static bool is_plain(counter *c, uint32_t v) {
    for (uint32_t i = c->z.first_watch[v]; i < c->z.first_watch[v + 1]; i++)
        if (!hn_solver_settled(&c->z, c->z.watch[i])) return false;
    return true;
}

/* Sorts the open variables of a set into its connected parts, as (part, variable) pairs. */
static member *split(counter *c, const uint32_t *set, size_t n, size_t *n_open) {
    uint32_t *open = HN_NEW_N(&c->z.arena, uint32_t, n);
    member *m = HN_NEW_N(&c->z.arena, member, n);
    if (!open || !m) {
        c->failed = true;
        return NULL;
    }
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (open_var(c, set[i])) open[k++] = set[i];
    join_all(c, open, k);
    for (size_t i = 0; i < k; i++) m[i] = (member){root(c->up, open[i]), open[i]};
    qsort(m, k, sizeof *m, by_root);
    *n_open = k;
    return m;
}

static double count_part(counter *c, const member *m, size_t n, unsigned depth) {
    if (n == 1 && is_plain(c, m->var)) return states(c, &c->z.var[m->var]);
    uint32_t *part = HN_NEW_N(&c->z.arena, uint32_t, n);
    if (!part || depth > MOST_DEPTH) {
        c->failed = true;
        return 0;
    }
    for (size_t i = 0; i < n; i++) part[i] = m[i].var;
    return count_tied(c, part, n, depth);
}

/* Points over the variables of a set whose domains are propagated: the product over its connected parts. */
static double count_set(counter *c, uint32_t *set, size_t n, unsigned depth) {
    if (!n || !spend(c, (double)n)) return 1;
    hn_mark mark = hn_arena_mark(&c->z.arena);
    double points = 1;
    size_t n_open = 0, from = 0;
    member *m = split(c, set, n, &n_open);
    /* fixed permutations still have their orders */
    for (size_t i = 0; i < n; i++)
        if (!open_var(c, set[i])) points *= fmax(states(c, &c->z.var[set[i]]), 1);
    while (m && from < n_open && points > 0 && !c->failed) {
        size_t to = from + 1;
        while (to < n_open && m[to].root == m[from].root) to++;
        points *= count_part(c, m + from, to - from, depth);
        from = to;
    }
    hn_arena_release(&c->z.arena, mark);
    return points;
}

/* --- the whole ----------------------------------------------------------------------------------------------- */

typedef struct part {
    uint32_t *param; /* ascending */
    size_t n;
} part;

typedef struct sizing {
    const hone_space *s;
    hn_arena arena;
    uint32_t *param, *rule, *cond; /* 0, 1, 2 … */
    size_t n_rules;                /* counted with: all, or none */
    double draw_effort;            /* left for estimates */
    hone_err *err;
} sizing;

static uint32_t *iota(hn_arena *a, size_t n) {
    uint32_t *x = HN_NEW_N(a, uint32_t, n);
    for (size_t i = 0; x && i < n; i++) x[i] = (uint32_t)i;
    return x;
}

static hone_rc open_counter(sizing *w, counter *c) {
    *c = (counter){0};
    hone_rc rc =
        hn_solver_open(w->s, w->param, w->s->n_params, w->rule, w->n_rules, w->cond, w->s->n_conds, &c->z, w->err);
    if (rc) return rc;
    c->up = HN_NEW_N(&c->z.arena, uint32_t, w->s->n_params);
    c->watcher_of = HN_NEW_N(&c->z.arena, uint32_t, w->s->n_conds);
    if (!c->up || !c->watcher_of) {
        hn_solver_close(&c->z);
        return hn_fail(w->err, HONE_E_NOMEM, "out of memory counting space '%s'", w->s->name);
    }
    for (uint32_t i = 0; i < w->s->n_conds; i++) c->watcher_of[i] = (uint32_t)w->n_rules + i;
    c->z.limit = EFFORT_COUNT;
    return HONE_OK;
}

/* Monte-Carlo over one connected part; its draws cover the part's parameters, conditions and rules. */
typedef struct estimate {
    double n, lo, hi;
} estimate;

static void draw_state(const hone_space *s, uint32_t i, hn_rng *rng, double *point) {
    const hn_gene *g = &s->gene[i];
    bool huge = g->levels > 0x1p53; /* absence would not be drawn anyway */
    double k = huge ? 0 : (double)hn_rng_below(rng, (uint64_t)g->levels + g->optional);
    bool absent = k >= g->levels;
    point[g->slot] = absent ? NAN : g->kind == HONE_PERMUTATION ? 0 : hn_gene_value(s, i, k);
}

/* Makes inactive members absent and gives the weight of the draw, 0 when a rule is broken. */
static double draw_weight(const hone_space *s, const part *p, const uint32_t *cond, size_t n_conds,
                          const uint32_t *rule, size_t n_rules, double *point) {
    for (size_t c = 0; c < n_conds; c++) {
        const hn_cond *x = &s->cond[cond[c]];
        double truth = hn_prog_eval(&x->prog, point);
        if (truth == truth && truth != 0) continue;
        for (size_t k = 0; k < x->n_params; k++) point[s->gene[x->param[k]].slot] = NAN;
    }
    for (size_t r = 0; r < n_rules; r++)
        if (!hn_constraint_holds(s, rule[r], point)) return 0;
    double weight = 1;
    for (size_t k = 0; k < p->n; k++)
        if (hone_point_active(s, point, p->param[k]))
            weight *= s->gene[p->param[k]].levels + s->gene[p->param[k]].optional;
    return weight;
}

static estimate interval(double hits, double n, double sum, double sum2, double most, bool equal) {
    const double z2 = 1.959963985 * 1.959963985;
    double share = hits / n;
    if (hits == 0) return (estimate){0, 0, most * z2 / (n + z2)};
    if (equal) {
        double mid = (share + z2 / (2 * n)) / (1 + z2 / n);
        double half = sqrt(z2) / (1 + z2 / n) * sqrt(share * (1 - share) / n + z2 / (4 * n * n));
        return (estimate){share * most, fmax(mid - half, 0) * most, fmin(mid + half, 1) * most};
    }
    double mean = sum / n, sd = sqrt(fmax(sum2 / n - mean * mean, 0)), half = sqrt(z2 / n) * sd;
    return (estimate){mean, fmax(mean - half, 0), mean + half};
}

static uint32_t *touching_rules(sizing *w, const bool *in, size_t *n) {
    const hone_space *s = w->s;
    uint32_t *list = HN_NEW_N(&w->arena, uint32_t, w->n_rules);
    *n = 0;
    for (uint32_t r = 0; list && r < w->n_rules; r++)
        if (s->rule[r].n_params && in[s->rule[r].param[0]]) list[(*n)++] = r;
    return list;
}

static uint32_t *touching_conds(sizing *w, const bool *in, size_t *n) {
    const hone_space *s = w->s;
    uint32_t *list = HN_NEW_N(&w->arena, uint32_t, s->n_conds);
    *n = 0;
    for (uint32_t c = 0; list && c < s->n_conds; c++)
        if (in[s->cond[c].param[0]]) list[(*n)++] = c;
    return list;
}

static bool estimate_part(sizing *w, const part *p, uint64_t seed, estimate *out) {
    const hone_space *s = w->s;
    bool *in = HN_NEW_N(&w->arena, bool, s->n_params);
    double *point = HN_NEW_N(&w->arena, double, s->n_slots);
    if (!in || !point) return false;
    for (size_t k = 0; k < p->n; k++) in[p->param[k]] = true;
    size_t n_rules, n_conds, cost = 20 * p->n + 1;
    uint32_t *rule = touching_rules(w, in, &n_rules), *cond = touching_conds(w, in, &n_conds);
    if (!rule || !cond) return false;
    for (size_t r = 0; r < n_rules; r++) cost += s->rule[rule[r]].n;
    for (size_t c = 0; c < n_conds; c++) cost += s->cond[cond[c]].prog.n;
    double n = fmin(fmax(floor(w->draw_effort / 2 / (double)cost), 100), MOST_DRAWS), hits = 0, sum = 0, sum2 = 0,
           most = 0;
    bool equal = true;
    w->draw_effort = fmax(w->draw_effort - n * (double)cost, LEAST_EFFORT);
    hn_rng rng = hn_rng_make(seed, p->param[0]);
    for (double k = 0; k < n; k++) {
        for (size_t i = 0; i < p->n; i++) draw_state(s, p->param[i], &rng, point);
        double weight = draw_weight(s, p, cond, n_conds, rule, n_rules, point);
        if (weight == 0) continue;
        if (most > 0 && weight != most) equal = false;
        most = fmax(most, weight);
        hits++;
        sum += weight;
        sum2 += weight * weight;
    }
    if (most == 0) {
        most = 1;
        for (size_t i = 0; i < p->n; i++) most *= s->gene[p->param[i]].levels + s->gene[p->param[i]].optional;
    }
    *out = interval(hits, n, sum, sum2, most, equal && n_conds == 0);
    return true;
}

/* Static parts: parameters tied by a constraint or a condition, whatever its state. */
static member *static_parts(sizing *w, counter *c) {
    const hone_space *s = w->s;
    member *m = HN_NEW_N(&w->arena, member, s->n_params);
    if (!m) return NULL;
    for (uint32_t v = 0; v < s->n_params; v++) c->up[v] = v;
    for (size_t r = 0; r < s->n_constraints; r++)
        for (size_t k = 1; k < s->rule[r].n_params; k++) join(c, s->rule[r].param[0], s->rule[r].param[k]);
    for (size_t i = 0; i < s->n_conds; i++) {
        const hn_cond *x = &s->cond[i];
        for (size_t k = 0; k < x->prog.n_params; k++) join(c, x->param[0], x->prog.param[k]);
        for (size_t k = 1; k < x->n_params; k++) join(c, x->param[0], x->param[k]);
    }
    for (uint32_t v = 0; v < s->n_params; v++) m[v] = (member){root(c->up, v), v};
    qsort(m, s->n_params, sizeof *m, by_root);
    return m;
}

static void multiply(estimate *all, estimate one) {
    all->n *= one.n;
    all->lo *= one.lo;
    all->hi *= one.hi;
}

/* One static part: exactly if its share of the effort allows, else estimated. */
static bool count_static(sizing *w, counter *c, const part *p, uint64_t seed, estimate *all, bool *exact) {
    c->z.limit = fmax(EFFORT_COUNT, c->z.effort + LEAST_EFFORT);
    c->failed = c->z.cut = false;
    double n = count_set(c, p->param, p->n, 0);
    if (!c->failed) {
        multiply(all, (estimate){n, n, n});
        return true;
    }
    if (c->z.no_memory || !hn_arena_ok(&c->z.arena)) return false;
    estimate e;
    *exact = false;
    c->failed = c->z.cut = false;
    if (!estimate_part(w, p, seed, &e)) return false;
    multiply(all, e);
    return true;
}

static bool count_parts(sizing *w, counter *c, uint64_t seed, estimate *all, bool *exact) {
    member *m = static_parts(w, c);
    uint32_t *set = m ? HN_NEW_N(&w->arena, uint32_t, w->s->n_params) : NULL;
    if (!set) return false;
    *all = (estimate){1, 1, 1};
    *exact = true;
    for (size_t from = 0, to; from < w->s->n_params; from = to) {
        for (to = from; to < w->s->n_params && m[to].root == m[from].root; to++) set[to] = m[to].var;
        if (!count_static(w, c, &(part){set + from, to - from}, seed, all, exact)) return false;
    }
    return true;
}

static hone_rc count_with(sizing *w, size_t n_rules, uint64_t seed, estimate *all, bool *exact) {
    counter c;
    w->n_rules = n_rules;
    hone_rc rc = open_counter(w, &c);
    if (rc) return rc;
    bool good = true;
    if (hn_solver_propagate(&c.z)) {
        good = count_parts(w, &c, seed, all, exact);
    } else if (!c.z.cut && !c.z.no_memory) {
        *all = (estimate){0, 0, 0};
        *exact = true;
    } else if (!c.z.no_memory) { /* not even one propagation within the effort: estimate on full domains */
        hn_solver_undo(&c.z, 0);
        good = count_parts(w, &c, seed, all, exact);
        *exact = false;
    } else {
        good = false;
    }
    hn_solver_close(&c.z);
    return good ? HONE_OK : hn_fail(w->err, HONE_E_NOMEM, "out of memory counting space '%s'", w->s->name);
}

static bool is_infinite(const hone_space *s) {
    for (size_t i = 0; i < s->n_params; i++)
        if (isinf(s->gene[i].levels) && s->gene[i].kind == HONE_FLOAT) return true;
    return false;
}

/* Share of legal draws, from sealing. */
static double drawn_density(const hone_space *s) {
    double d = 1;
    for (size_t c = 0; c < s->n_components; c++) d *= s->component[c].density;
    return d;
}

/* 1: has a legal point, 0: proved to have none, -1: none was found. */
static hone_rc probe(const hone_space *s, uint64_t seed, int *found, hone_err *err) {
    double *point = malloc((s->n_slots + 1) * sizeof *point);
    if (!point) return hn_fail(err, HONE_E_NOMEM, "out of memory counting space '%s'", s->name);
    hone_err why = {0};
    hone_rc rc = hone_space_sample(s, seed, false, point, &why);
    free(point);
    *found = rc == HONE_OK ? 1 : strstr(why.text, "(proved)") ? 0 : -1;
    return rc == HONE_E_NOMEM ? hn_fail(err, rc, "%s", why.text) : HONE_OK;
}

static hone_rc size_finite(sizing *w, uint64_t seed, hone_count *out) {
    estimate legal, all;
    bool exact, all_exact;
    hone_rc rc = count_with(w, w->s->n_constraints, seed, &legal, &exact);
    if (!rc) rc = count_with(w, 0, seed, &all, &all_exact);
    if (rc) return rc;
    bool usable = exact && all_exact && isfinite(all.n) && all.n > 0;
    hone_count c = {legal.n, legal.lo, legal.hi, exact, usable ? legal.n / all.n : drawn_density(w->s)};
    if (!exact && legal.lo < 1) {
        int found;
        rc = probe(w->s, seed, &found, w->err);
        if (rc) return rc;
        if (found > 0) c.lo = 1;
        if (found == 0) c = (hone_count){.exact = true};
        c.n = fmax(c.n, c.lo);
        c.hi = fmax(c.hi, c.n);
    }
    *out = c;
    return HONE_OK;
}

static hone_rc size_infinite(const hone_space *s, uint64_t seed, hone_count *out, hone_err *err) {
    int found;
    hone_rc rc = probe(s, seed, &found, err);
    if (rc) return rc;
    if (found == 0)
        *out = (hone_count){.exact = true};
    else
        *out = (hone_count){INFINITY, found > 0 ? INFINITY : 0, INFINITY, found > 0, drawn_density(s)};
    return HONE_OK;
}

hone_rc hone_space_size(const hone_space *space, uint64_t seed, hone_count *out, hone_err *err) {
    if (is_infinite(space)) return size_infinite(space, seed, out, err);
    sizing w = {.s = space, .draw_effort = EFFORT_DRAWS, .err = err};
    w.param = iota(&w.arena, space->n_params);
    w.rule = iota(&w.arena, space->n_constraints);
    w.cond = iota(&w.arena, space->n_conds);
    hone_rc rc = hn_arena_ok(&w.arena) ? size_finite(&w, seed, out)
                                       : hn_fail(err, HONE_E_NOMEM, "out of memory counting space '%s'", space->name);
    hn_arena_free(&w.arena);
    return rc;
}
