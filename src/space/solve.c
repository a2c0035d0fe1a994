/* space/solve.c — propagation: constraint-wise value consistency by interval evaluation.
 *
 * For each constraint that is not settled, every value of every open parameter in it is assumed in turn and removed
 * when the constraint is then certainly false ("shaving" restricted to one constraint; Mackworth's AC-3 worklist,
 * 1977). Large domains are shaved at their ends by chunks of halving size.
 */
#include "space/solve.h"

#include "base/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

enum { FEW_LEVELS = 12, MOST_FILTER = 200000 }; /* values x program length beyond which only the ends are shaved */

struct hn_trail {
    uint32_t var;
    bool bit; /* one level removed from the bitmap (lo), else the scalars as they were */
    bool absent;
    uint32_t n_alive;
    double lo, hi;
};

/* --- ranges of domains --------------------------------------------------------------------------------------- */

static double value_of(const hn_gene *g, double level) {
    return g->step == 0 ? level : fmin(g->lo + g->step * level, g->hi);
}

static hn_range range_over_table(const hn_domain *d, const double *table, double lo, double hi, bool unknown) {
    hn_range r = {INFINITY, -INFINITY, unknown};
    for (size_t k = (size_t)lo; k <= (size_t)hi; k++) {
        if (d->alive && !d->alive[k]) continue;
        double x = table[k];
        r.unknown |= x != x;
        r.lo = x < r.lo ? x : r.lo;
        r.hi = x > r.hi ? x : r.hi;
    }
    return r;
}

static hn_range range_of(const void *ctx, uint32_t slot, const double *table) {
    const hn_solver *z = ctx;
    uint32_t v = z->var_of[z->space->slot_param[slot]];
    const hn_domain *d = &z->var[v];
    const hn_gene *g = &z->space->gene[d->param];
    bool probed = v == z->probe;
    double lo = probed ? z->probe_lo : d->lo, hi = probed ? z->probe_hi : d->hi;
    bool absent = probed ? z->probe_absent : d->absent;
    if (lo > hi) return (hn_range){1, 0, absent};
    if (table) return range_over_table(d, table, lo, hi, absent);
    return (hn_range){value_of(g, lo), value_of(g, hi), absent};
}

static const hn_prog *program(const hn_solver *z, uint32_t w) {
    return w < z->n_rules ? &z->space->rule[z->rule[w]] : &z->space->cond[z->cond[w - z->n_rules]].prog;
}

static hn_range evaluate(hn_solver *z, const hn_prog *prog) {
    z->effort += (double)prog->n + 1;
    return hn_prog_range(prog, range_of, z);
}

/* --- open, close --------------------------------------------------------------------------------------------- */

static void init_var(hn_solver *z, size_t v, uint32_t param) {
    hn_domain *d = &z->var[v];
    const hn_gene *g = &z->space->gene[param];
    d->param = param;
    d->absent = g->optional || g->cond != HN_NO_COND;
    bool atom = g->kind == HONE_PERMUTATION; /* present or absent is all that an expression can ask */
    d->lo = g->step == 0 ? g->lo : 0;
    d->hi = atom ? 0 : g->step == 0 ? g->hi : g->levels - 1;
    if (g->step == 0 || d->hi >= HN_SMALL_DOMAIN) return;
    d->n_alive = (uint32_t)d->hi + 1;
    d->alive = hn_alloc(&z->arena, d->n_alive);
    if (d->alive) memset(d->alive, 1, d->n_alive);
}

static void fill_watchers(hn_solver *z, size_t n_watchers) {
    uint32_t *first = z->first_watch;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t w = 0; w < n_watchers; w++) {
            const hn_prog *p = program(z, w);
            for (size_t k = 0; k < p->n_params; k++) {
                uint32_t v = z->var_of[p->param[k]];
                if (pass)
                    z->watch[first[v + 1]++] = w;
                else
                    first[v + 2]++;
                if (w >= z->n_rules) z->var[v].drives = true;
            }
        }
        for (size_t v = 0; !pass && v < z->n_vars; v++) first[v + 2] += first[v + 1];
    }
}

static void enqueue(hn_solver *z, uint32_t w) {
    if (z->queued[w]) return;
    z->queued[w] = true;
    z->queue[z->n_queue++] = w;
}

hone_rc hn_solver_open(const hone_space *space, const uint32_t *param, size_t n, const uint32_t *rule, size_t n_rules,
                       const uint32_t *cond, size_t n_conds, hn_solver *out, hone_err *err) {
    hn_solver z = {.space = space,
                   .n_vars = n,
                   .rule = rule,
                   .n_rules = n_rules,
                   .cond = cond,
                   .n_conds = n_conds,
                   .limit = INFINITY,
                   .probe = NONE};
    size_t n_watchers = n_rules + n_conds, n_edges = 0;
    for (uint32_t w = 0; w < n_watchers; w++) n_edges += program(&z, w)->n_params;
    z.var = HN_NEW_N(&z.arena, hn_domain, n);
    z.var_of = HN_NEW_N(&z.arena, uint32_t, space->n_params);
    z.first_watch = HN_NEW_N(&z.arena, uint32_t, n + 2);
    z.watch = HN_NEW_N(&z.arena, uint32_t, n_edges);
    z.queue = HN_NEW_N(&z.arena, uint32_t, n_watchers);
    z.queued = HN_NEW_N(&z.arena, bool, n_watchers);
    if (hn_arena_ok(&z.arena)) {
        memset(z.var_of, 0xff, space->n_params * sizeof *z.var_of);
        for (size_t v = 0; v < n; v++) z.var_of[param[v]] = (uint32_t)v;
        for (size_t v = 0; v < n; v++) init_var(&z, v, param[v]);
    }
    if (!hn_arena_ok(&z.arena)) {
        hn_arena_free(&z.arena);
        return hn_fail(err, HONE_E_NOMEM, "out of memory searching space '%s'", space->name);
    }
    fill_watchers(&z, n_watchers);
    for (uint32_t w = 0; w < n_watchers; w++) enqueue(&z, w);
    *out = z;
    return HONE_OK;
}

void hn_solver_close(hn_solver *z) {
    hn_arena_free(&z->arena);
    free(z->trail);
}

/* --- changing domains ---------------------------------------------------------------------------------------- */

static bool record(hn_solver *z, hn_trail t) {
    if (z->n_trail == z->room_trail) {
        size_t room = z->room_trail ? 2 * z->room_trail : 256;
        hn_trail *p = realloc(z->trail, room * sizeof *p);
        if (!p) return !(z->no_memory = true);
        z->trail = p;
        z->room_trail = room;
    }
    z->trail[z->n_trail++] = t;
    return true;
}

/* Before a change of the scalars: saves them, and queues the watchers. */
static bool save_state(hn_solver *z, uint32_t v) {
    const hn_domain *d = &z->var[v];
    for (uint32_t k = z->first_watch[v]; k < z->first_watch[v + 1]; k++) enqueue(z, z->watch[k]);
    return record(z, (hn_trail){.var = v, .absent = d->absent, .n_alive = d->n_alive, .lo = d->lo, .hi = d->hi});
}

static void kill_level(hn_solver *z, uint32_t v, size_t level) {
    if (record(z, (hn_trail){.var = v, .bit = true, .lo = (double)level})) z->var[v].alive[level] = 0;
}

void hn_solver_undo(hn_solver *z, size_t mark) {
    while (z->n_trail > mark) {
        hn_trail t = z->trail[--z->n_trail];
        hn_domain *d = &z->var[t.var];
        if (t.bit) {
            d->alive[(size_t)t.lo] = 1;
            continue;
        }
        d->lo = t.lo;
        d->hi = t.hi;
        d->n_alive = t.n_alive;
        d->absent = t.absent;
    }
    while (z->n_queue) z->queued[z->queue[--z->n_queue]] = false;
}

/* Keeps levels lo..hi; the bitmap is left as it is, for it is only read within the bounds. */
static void set_bounds(hn_solver *z, uint32_t v, double lo, double hi, bool absent) {
    if (!save_state(z, v)) return;
    hn_domain *d = &z->var[v];
    d->absent = absent;
    if (!d->alive) {
        d->lo = lo;
        d->hi = hi;
        return;
    }
    while (lo <= hi && !d->alive[(size_t)lo]) lo++;
    while (lo <= hi && !d->alive[(size_t)hi]) hi--;
    d->lo = lo;
    d->hi = hi;
    d->n_alive = 0;
    for (double k = lo; k <= hi; k++) d->n_alive += d->alive[(size_t)k];
}

void hn_solver_narrow(hn_solver *z, uint32_t var, double lo, double hi) { set_bounds(z, var, lo, hi, false); }

void hn_solver_assign(hn_solver *z, uint32_t var, double level) {
    if (isnan(level))
        set_bounds(z, var, 1, 0, true);
    else
        set_bounds(z, var, level, level, false);
}

double hn_domain_states(const hn_solver *z, const hn_domain *d) {
    double n = d->absent;
    if (d->lo > d->hi) return n;
    if (d->alive) return n + d->n_alive;
    bool wide = z->space->gene[d->param].step == 0 && d->lo < d->hi;
    return wide ? INFINITY : n + (z->space->gene[d->param].step == 0 ? 1 : d->hi - d->lo + 1);
}

/* --- propagation --------------------------------------------------------------------------------------------- */

/* Is the rule surely false when variable v takes a level in lo..hi (lo > hi: is absent)? */
static bool refuted(hn_solver *z, const hn_prog *rule, uint32_t v, double lo, double hi) {
    z->probe = v;
    z->probe_lo = lo;
    z->probe_hi = hi;
    z->probe_absent = lo > hi;
    bool no = hn_range_always_false(evaluate(z, rule));
    z->probe = NONE;
    return no;
}

/* Shaves one end; `up`: the lower. Chunks halve until one level (or 2^-40 of the width) is left. */
static void shave(hn_solver *z, const hn_prog *rule, uint32_t v, double *lo, double *hi, bool up) {
    bool continuous = z->space->gene[z->var[v].param].step == 0;
    double width = *hi - *lo, least = continuous ? width * 0x1p-40 : 1;
    for (double w = continuous ? width / 2 : floor(width / 2) + 1; w >= least && *lo <= *hi;) {
        double a = up ? *lo : fmax(*hi - w, *lo), b = up ? fmin(*lo + w, *hi) : *hi;
        if (!refuted(z, rule, v, a, b)) {
            w = continuous ? w / 2 : floor(w / 2);
            if (w == 0) break;
        } else if (a <= *lo && b >= *hi) {
            *lo = 1;
            *hi = 0;
        } else if (up) {
            *lo = continuous ? nextafter(b, INFINITY) : b + 1;
        } else {
            *hi = continuous ? nextafter(a, -INFINITY) : a - 1;
        }
    }
}

/* The ends by bisection first: where the constraint is monotone that leaves little to try one by one. */
static void filter_small(hn_solver *z, const hn_prog *rule, uint32_t v, bool absent) {
    hn_domain *d = &z->var[v];
    size_t mark = z->n_trail;
    double lo = d->lo, hi = d->hi;
    if (hi - lo >= FEW_LEVELS) shave(z, rule, v, &lo, &hi, true);
    if (hi - lo >= FEW_LEVELS) shave(z, rule, v, &lo, &hi, false);
    for (double k = lo; k <= hi; k++)
        if (d->alive[(size_t)k] && refuted(z, rule, v, k, k)) kill_level(z, v, (size_t)k);
    if (z->n_trail != mark || lo != d->lo || hi != d->hi || absent != d->absent) set_bounds(z, v, lo, hi, absent);
}

static void filter_large(hn_solver *z, const hn_prog *rule, uint32_t v, bool absent) {
    hn_domain *d = &z->var[v];
    double lo = d->lo, hi = d->hi;
    if (lo <= hi && refuted(z, rule, v, lo, hi)) {
        lo = 1;
        hi = 0;
    }
    if (lo < hi) shave(z, rule, v, &lo, &hi, true);
    if (lo < hi) shave(z, rule, v, &lo, &hi, false);
    if (lo != d->lo || hi != d->hi || absent != d->absent) set_bounds(z, v, lo, hi, absent);
}

static bool filter(hn_solver *z, const hn_prog *rule, uint32_t v) {
    hn_domain *d = &z->var[v];
    bool absent = d->absent && !refuted(z, rule, v, 1, 0);
    if (d->alive && (double)d->n_alive * (double)rule->n <= MOST_FILTER)
        filter_small(z, rule, v, absent);
    else
        filter_large(z, rule, v, absent);
    return d->absent || d->lo <= d->hi;
}

static bool run_rule(hn_solver *z, const hn_prog *rule) {
    hn_range r = evaluate(z, rule);
    if (hn_range_always_false(r)) return false;
    if (hn_range_never_false(r)) return true;
    for (size_t k = 0; k < rule->n_params; k++) {
        uint32_t v = z->var_of[rule->param[k]];
        if (hn_domain_states(z, &z->var[v]) <= 1) continue;
        if (!filter(z, rule, v)) return false;
        if (z->effort > z->limit) return true;
    }
    return true;
}

static bool run_cond(hn_solver *z, const hn_cond *cond) {
    hn_range r = evaluate(z, &cond->prog);
    bool on = hn_range_always_true(r), off = hn_range_never_true(r);
    if (!on && !off) return true;
    for (size_t k = 0; k < cond->n_params; k++) {
        uint32_t v = z->var_of[cond->param[k]];
        if (v == NONE) continue;
        hn_domain *d = &z->var[v];
        if (on && d->absent && !z->space->gene[d->param].optional) set_bounds(z, v, d->lo, d->hi, false);
        if (off && d->lo <= d->hi) set_bounds(z, v, 1, 0, d->absent);
        if (!d->absent && d->lo > d->hi) return false;
    }
    return true;
}

bool hn_solver_propagate(hn_solver *z) {
    while (z->n_queue) {
        uint32_t w = z->queue[--z->n_queue];
        z->queued[w] = false;
        bool good = w < z->n_rules ? run_rule(z, program(z, w)) : run_cond(z, &z->space->cond[z->cond[w - z->n_rules]]);
        if (z->effort > z->limit) z->cut = true;
        if (!good || z->cut || z->no_memory) return false;
    }
    return true;
}

bool hn_solver_settled(const hn_solver *z, uint32_t w) {
    hn_range r = hn_prog_range(program(z, w), range_of, z);
    return w < z->n_rules ? hn_range_never_false(r) : hn_range_always_true(r) || hn_range_never_true(r);
}
