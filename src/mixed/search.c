/* search.c — the space of what is narrow, its sensitivities, and the engine's part.
 *
 * Errors add up about in squares as long as they are small, so products are ordered by latency saved for squared error
 * added, and the prefixes of that order are a front already where they do. The engine begins with them and looks for
 * what they miss: errors that cancel or amplify each other, and another way to take ranges.
 */
#include "mixed/mixed.h"

#include "base/clock.h"
#include "base/err.h"

#include <hone/search.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N_PREFIXES = 16, N_POINTS = 64 };

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
        tell(m, "products", k, p->n_ranges + p->n);
        rc = evaluate(m, narrow, k, &x, err);
        if (!rc && x->error < least) least = x->error, m->ranges = k;
    }
    return rc;
}

static hone_rc try_alone(hn_mixed *m, bool *narrow, double *alone, hone_err *err) {
    const hn_mixed_problem *p = m->of;
    const hn_mixed_point *x;
    hone_rc rc = HONE_OK;
    for (uint32_t i = 0; i < p->n && !rc; i++) {
        tell(m, "products", p->n_ranges + i, p->n_ranges + p->n);
        memset(narrow, false, p->n);
        narrow[i] = true;
        rc = evaluate(m, narrow, m->ranges, &x, err);
        if (!rc) alone[i] = x->error - m->point[0].error;
    }
    return rc;
}

/* What a product costs for what it brings; what brings no time comes last, by its error. */
static double worth(const hn_mixed_problem *p, const double *alone, uint32_t i) {
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

static hone_rc search(hn_mixed *m, hone_search *s, size_t n_first, double *slot, bool *narrow, hone_err *err) {
    const hn_mixed_problem *p = m->of;
    size_t n = p->n_points ? p->n_points : N_POINTS;
    hone_rc rc = HONE_OK;
    for (size_t i = 0; i < m->n && !rc; i++) {
        to_slots(p, &m->point[i], slot);
        rc = tell_engine(p, s, slot, &m->point[i], err);
    }
    for (size_t k = 0; k < n && !rc; k++) {
        const hn_mixed_point *x;
        if (k >= n_first && p->until_s > 0 && hn_now_s() >= p->until_s) return HONE_OK;
        tell(m, "points", k, n);
        rc = hone_search_ask(s, slot, err);
        if (rc == HONE_E_EXHAUSTED) return HONE_OK;
        for (uint32_t i = 0; i < p->n; i++) narrow[i] = slot[i + 1] > 0;
        if (!rc) rc = evaluate(m, narrow, (uint32_t)slot[0], &x, err);
        if (!rc) rc = tell_engine(p, s, slot, x, err);
    }
    return rc;
}

/* The engine's first points. */
static size_t prefixes(const hn_mixed *m, double *slot) {
    const hn_mixed_problem *p = m->of;
    size_t n = p->n < N_PREFIXES ? p->n : N_PREFIXES, width = p->n + 1;
    for (size_t k = 0; k < n; k++) {
        double *x = slot + k * width;
        x[0] = m->ranges;
        for (uint32_t i = 0; i < (k + 1) * p->n / n; i++) x[m->order[i] + 1] = 1;
    }
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
