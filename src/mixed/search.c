/* search.c — the space of what is narrow, its sensitivities, and the engine's part.
 *
 * Errors add up about in squares as long as they are small, so products are ordered by latency saved for squared error
 * added, and the prefixes of that order are a front already where they do. The engine begins with them and looks for
 * what they miss: errors that cancel or amplify each other, and another way to take ranges.
 *
 * Where time is limited each part of the search has until a part of it to begin anything new. In any case nothing
 * narrow, everything narrow and a few prefixes are evaluated, so that there is a front.
 */
#include "mixed/mixed.h"

#include "base/clock.h"
#include "base/err.h"

#include <hone/search.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

/* N_PREFIXES: the engine's first points. N_POINTS: that it is asked for unless said otherwise. LEAST_PREFIXES:
 * evaluated even if time is over: all, a half, a quarter and three quarters of the order. */
enum { N_PREFIXES = 16, N_POINTS = 64, LEAST_PREFIXES = 4 };
/* Until when, as a part of all time, another way to take ranges is begun, each of which takes a compilation, and
 * another product alone. Prefixes of a poor order cost more than a few products that were not tried. */
static const double ranges_part = .3, alone_part = .6;

/* --- time ----------------------------------------------------------------------------------------------------------
 */

static double now_s(const hn_mixed_problem *p) { return p->now_s ? p->now_s(p->arg) : hn_now_s(); }

bool hn_mixed_late(const hn_mixed_problem *p, double part, double more_s) {
    return p->until_s > 0 && now_s(p) + more_s >= p->start_s + part * (p->until_s - p->start_s);
}

/* --- points --------------------------------------------------------------------------------------------------------
 */

static hn_mixed_point *find(const hn_mixed *m, const bool *narrow, uint32_t ranges) {
    for (size_t i = 0; i < m->n; i++)
        if (m->point[i].ranges == ranges && !memcmp(m->point[i].narrow, narrow, m->of->n * sizeof *narrow))
            return &m->point[i];
    return NULL;
}

static void fill(const hn_mixed_problem *p, hn_mixed_point *x) {
    x->latency = 1;
    for (uint32_t i = 0; i < p->n; i++) {
        x->latency += x->narrow[i] ? p->change[i] : 0;
        x->weights_b += x->narrow[i] ? p->slim[i] : p->wide[i];
    }
}

/* Where nothing is narrow, ranges say nothing: such points are those of the first way. */
static hone_rc evaluate(hn_mixed *m, const bool *narrow, uint32_t ranges, const hn_mixed_point **out, hone_err *err) {
    const hn_mixed_problem *p = m->of;
    if (!memchr(narrow, true, p->n * sizeof *narrow)) ranges = 0;
    if ((*out = find(m, narrow, ranges))) return HONE_OK;
    hn_mixed_point x = {.narrow = HN_NEW_N(&m->arena, bool, p->n + 1), .ranges = ranges};
    if (!x.narrow) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    memcpy(x.narrow, narrow, p->n * sizeof *narrow);
    hone_rc rc = p->error(p->arg, narrow, ranges, &x.error, err);
    if (rc) return rc;
    fill(p, &x);
    hn_mixed_point *grown = hn_arena_grow(&m->arena, m->point, m->n, &m->room, sizeof *m->point);
    if (!grown) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    m->point = grown;
    m->point[m->n] = x;
    *out = &m->point[m->n++];
    return HONE_OK;
}

static void tell(const hn_mixed *m, const char *stage, size_t done, size_t total) {
    if (m->of->told) m->of->told(m->of->arg, stage, done, total);
}

/* What is known costs nothing, however late it is. */
static bool is_left_out(const hn_mixed *m, const bool *narrow, uint32_t ranges, double part, double more_s) {
    const hn_mixed_problem *p = m->of;
    return hn_mixed_late(p, part, more_s) && !(p->known && p->known(p->arg, narrow, ranges));
}

/* --- each product alone --------------------------------------------------------------------------------------------
 */

/* Nothing narrow, then everything by each way. */
static hone_rc try_ends(hn_mixed *m, bool *narrow, hone_err *err) {
    const hn_mixed_problem *p = m->of;
    const hn_mixed_point *x;
    double least = INFINITY;
    memset(narrow, false, p->n);
    hone_rc rc = evaluate(m, narrow, 0, &x, err);
    memset(narrow, true, p->n);
    for (uint32_t k = 0; k < p->n_ranges && !rc; k++) {
        if (k && is_left_out(m, narrow, k, ranges_part, 0)) continue;
        tell(m, "ranges", k, p->n_ranges);
        rc = evaluate(m, narrow, k, &x, err);
        if (!rc && x->error < least) least = x->error, m->ranges = k;
        m->n_ranges++;
    }
    return rc;
}

/* By what they save: what there is no time for matters least. */
static void sort_by_latency(const hn_mixed_problem *p, uint32_t *order) {
    for (uint32_t i = 0; i < p->n; i++) {
        uint32_t k = i;
        for (; k && p->change[order[k - 1]] > p->change[i]; k--) order[k] = order[k - 1];
        order[k] = i;
    }
}

static hone_rc try_alone(hn_mixed *m, bool *narrow, double *alone, hone_err *err) {
    const hn_mixed_problem *p = m->of;
    const hn_mixed_point *x;
    hone_rc rc = HONE_OK;
    sort_by_latency(p, m->order);
    for (uint32_t k = 0; k < p->n; k++) alone[k] = NAN;
    for (uint32_t k = 0; k < p->n && !rc; k++) {
        uint32_t i = m->order[k];
        memset(narrow, false, p->n);
        narrow[i] = true;
        if (is_left_out(m, narrow, m->ranges, alone_part, 0)) continue;
        tell(m, "products", k, p->n);
        rc = evaluate(m, narrow, m->ranges, &x, err);
        if (!rc) alone[i] = x->error - m->point[0].error;
        m->n_alone++;
    }
    return rc;
}

/* What a product costs for what it brings. Behind those come products that were not tried, by what they save, then
 * what brings no time, by its error. */
static double worth(const hn_mixed_problem *p, const double *alone, uint32_t i) {
    if (isnan(alone[i])) return p->change[i] < 0 ? 1e29 / -p->change[i] : INFINITY;
    double cost = alone[i] > 0 ? alone[i] * alone[i] : 0;
    return p->change[i] < 0 ? cost / -p->change[i] : 1e30 * (1 + (isfinite(cost) ? cost : 1e30));
}

static void sort_products(hn_mixed *m, const double *alone) {
    for (uint32_t i = 0; i < m->of->n; i++) {
        uint32_t k = i;
        double w = worth(m->of, alone, i);
        for (; k && worth(m->of, alone, m->order[k - 1]) > w; k--) m->order[k] = m->order[k - 1];
        m->order[k] = i;
    }
}

/* --- the engine ----------------------------------------------------------------------------------------------------
 */

static hone_rc make_space(const hn_mixed_problem *p, const char *const *ways, hone_space **out, hone_err *err) {
    hone_space *s;
    hone_rc rc = hone_space_new("precision", &s, err);
    if (rc) return rc;
    hone_param ranges = {.name = "ranges", .kind = HONE_CHOICE, .values = ways, .n_values = p->n_ranges};
    rc = hone_space_add(s, &ranges, err);
    for (uint32_t i = 0; i < p->n && !rc; i++) {
        char name[24];
        snprintf(name, sizeof name, "p%u", i);
        hone_param flag = {.name = name, .kind = HONE_FLAG};
        rc = hone_space_add(s, &flag, err);
    }
    if (!rc) rc = hone_space_seal(s, err);
    if (rc)
        hone_space_free(s);
    else
        *out = s;
    return rc;
}

static void to_slots(const hn_mixed_problem *p, const hn_mixed_point *x, double *slot) {
    slot[0] = x->ranges;
    for (uint32_t i = 0; i < p->n; i++) slot[i + 1] = x->narrow[i];
}

static hone_rc tell_engine(const hn_mixed_problem *p, hone_search *s, const double *slot, const hn_mixed_point *x,
                           hone_err *err) {
    hone_outcome seen = {.cls = isfinite(x->error) ? HONE_RUN_OK : HONE_WRONG_RESULT,
                         .value = {x->error, x->latency, (double)x->weights_b}};
    (void)p;
    return hone_search_tell(s, slot, &seen, err);
}

static bool no_worse(const hn_mixed_point *a, const hn_mixed_point *b) {
    return a->error <= b->error && a->latency <= b->latency && a->weights_b <= b->weights_b;
}

/* Of equal points the first stays. */
static bool dominated(const hn_mixed *m, size_t i) {
    if (!isfinite(m->point[i].error)) return true;
    for (size_t k = 0; k < m->n; k++)
        if (k != i && no_worse(&m->point[k], &m->point[i]) && (!no_worse(&m->point[i], &m->point[k]) || k < i))
            return true;
    return false;
}

/* What proving today's front would take. */
static double proof_s(const hn_mixed *m) {
    size_t n_front = 1;
    if (m->of->until_s <= 0 || !m->of->proof_s) return 0;
    for (size_t i = 1; i < m->n; i++) n_front += !dominated(m, i);
    return (double)n_front * m->of->proof_s(m->of->arg);
}

static hone_rc search(hn_mixed *m, hone_search *s, size_t n_first, double *slot, bool *narrow, hone_err *err) {
    const hn_mixed_problem *p = m->of;
    size_t n = p->n_points ? p->n_points : N_POINTS;
    hone_rc rc = HONE_OK;
    for (size_t i = 0; i < m->n && !rc; i++) {
        to_slots(p, &m->point[i], slot);
        rc = tell_engine(p, s, slot, &m->point[i], err);
    }
    for (size_t k = 0, least = n_first < LEAST_PREFIXES ? n_first : LEAST_PREFIXES; k < n && !rc; k++) {
        const hn_mixed_point *x;
        tell(m, "points", k, n);
        rc = hone_search_ask(s, slot, err);
        if (rc == HONE_E_EXHAUSTED) return HONE_OK;
        for (uint32_t i = 0; i < p->n; i++) narrow[i] = slot[i + 1] > 0;
        if (!rc && k >= least && is_left_out(m, narrow, (uint32_t)slot[0], 1, proof_s(m)))
            return m->late = true, HONE_OK;
        if (!rc) rc = evaluate(m, narrow, (uint32_t)slot[0], &x, err);
        if (!rc) rc = tell_engine(p, s, slot, x, err);
        m->n_asked += !rc;
    }
    return rc;
}

static void set_prefix(const hn_mixed *m, size_t length, double *slot) {
    slot[0] = m->ranges;
    for (size_t i = 0; i < length; i++) slot[m->order[i] + 1] = 1;
}

/* The engine's first points, so that each halves what lies between those before it: time may end them. */
static size_t prefixes(const hn_mixed *m, double *slot) {
    const hn_mixed_problem *p = m->of;
    size_t n = p->n < N_PREFIXES ? p->n : N_PREFIXES, at = 0;
    for (size_t step = N_PREFIXES; step; step /= 2)
        for (size_t k = step; k <= n; k += 2 * step) set_prefix(m, k * p->n / n, slot + at++ * (p->n + 1));
    return n;
}

static hone_rc run_engine(hn_mixed *m, bool *narrow, hone_err *err) {
    const hn_mixed_problem *p = m->of;
    hone_search_options o = hone_search_defaults();
    hone_space *space;
    hone_search *s;
    const char *ways[HN_N_CALIBRATIONS + 1] = {0};
    for (uint32_t k = 0; k < p->n_ranges; k++) ways[k] = hn_format(&m->arena, "r%u", k);
    double *slot = HN_NEW_N(&m->arena, double, p->n + 1);
    double *seeds = HN_NEW_N(&m->arena, double, (size_t)N_PREFIXES *(p->n + 1));
    if (!hn_arena_ok(&m->arena)) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    o.engine = p->engine, o.seed = p->seed, o.n_objectives = 3, o.no_default = true;
    o.budget = m->n + (p->n_points ? p->n_points : N_POINTS);
    o.n_seeds = prefixes(m, seeds), o.seeds = seeds;
    hone_rc rc = make_space(p, ways, &space, err);
    if (rc) return rc;
    rc = hone_search_open(space, &o, &s, err);
    if (!rc) {
        rc = search(m, s, o.n_seeds, slot, narrow, err);
        hone_search_close(s);
    }
    hone_space_free(space);
    return rc;
}

hone_rc hn_mixed_run(const hn_mixed_problem *problem, hn_mixed *out, hone_err *err) {
    hn_mixed m = {.of = problem};
    bool *narrow = HN_NEW_N(&m.arena, bool, problem->n + 1);
    double *alone = HN_NEW_N(&m.arena, double, problem->n + 1);
    m.order = HN_NEW_N(&m.arena, uint32_t, problem->n + 1);
    hone_rc rc = hn_arena_ok(&m.arena) ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!rc) rc = try_ends(&m, narrow, err);
    if (!rc) rc = try_alone(&m, narrow, alone, err);
    if (!rc) {
        sort_products(&m, alone);
        rc = run_engine(&m, narrow, err);
    }
    if (rc)
        hn_mixed_free(&m);
    else
        *out = m;
    return rc;
}

void hn_mixed_free(hn_mixed *m) {
    hn_arena_free(&m->arena);
    *m = (hn_mixed){0};
}

/* --- the front -----------------------------------------------------------------------------------------------------
 */

hone_rc hn_mixed_front(hn_mixed *m, size_t **front, size_t *n, hone_err *err) {
    size_t *list = HN_NEW_N(&m->arena, size_t, m->n + 1), count = 1;
    if (!list) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    for (size_t i = 1; i < m->n; i++) {
        if (dominated(m, i)) continue;
        size_t k = count++;
        for (; k > 1 && m->point[list[k - 1]].error > m->point[i].error; k--) list[k] = list[k - 1];
        list[k] = i;
    }
    *front = list, *n = count;
    return HONE_OK;
}
