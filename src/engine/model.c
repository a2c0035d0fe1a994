/* engine/model.c — initial design, candidates, choice: the frame of every model-based engine. */
#include "engine/model.h"

#include "base/err.h"
#include "engine/active.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    INIT_LOW = 10,
    INIT_HIGH = 20,
    SPREAD_DRAWS = 12,
    INIT_TRIES = 100,
    DUPLICATES = 50, /* candidates passed over that are presumed to become a program that was seen */
};

hone_rc hn_frame_open(hn_surrogate_frame *f, const hn_view *v, hone_err *err) {
    bool high = v->genes->n_free > HN_HIGH_DIMENSION;
    *f = (hn_surrogate_frame){0};
    f->n_init = high ? INIT_HIGH : INIT_LOW;
    f->max_rows = high ? 400 : 1000;
    f->spec = high ? (hn_pool_spec){5, 200, 100, 60, 40} : (hn_pool_spec){5, 400, 100, 60, 200};
    f->spare = malloc((v->genes->slots + 1) * sizeof *f->spare);
    return f->spare ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory for the search");
}

void hn_frame_free(hn_surrogate_frame *f) {
    hn_sample_free(&f->sample);
    hn_pool_free(&f->pool);
    hn_feasible_free(&f->feasible);
    free(f->score);
    free(f->spare);
}

/* --- initial design -------------------------------------------------------------------------------------------- */

/* 3 to 20 per cent of the genes away from the default. */
static hone_rc sparse_step(const hn_view *v, hn_rng *rng, double *point) {
    for (int i = 0; i < INIT_TRIES && v->genes->n_free; i++) {
        double share = 0.03 + 0.17 * hn_rng_unit(rng);
        size_t n = (size_t)ceil(share * (double)v->genes->n_free);
        memcpy(point, v->start, v->genes->slots * sizeof *point);
        while (n--) hn_genes_mutate(v->genes, v->genes->free_gene[hn_rng_below(rng, v->genes->n_free)], rng, point);
        hn_genes_settle(v->genes, point);
        if (!hn_view_legal(v, point) && hone_point_repair(v->space, hn_rng_next(rng), point, NULL)) continue;
        if (hn_view_fresh(v, point)) return HONE_OK;
    }
    return HONE_E_EXHAUSTED;
}

static double unit_gap(const hn_genes *g, const double *a, const double *b) {
    double sum = 0;
    for (size_t k = 0; k < g->n_free; k++) {
        size_t i = g->free_gene[k];
        double u = hn_genes_unit(g, i, a), w = hn_genes_unit(g, i, b);
        if (isnan(u) || isnan(w))
            sum += isnan(u) != isnan(w);
        else
            sum += g->gene[i].ordered ? fabs(u - w) : u != w;
    }
    return sum;
}

static double nearest_gap(const hn_view *v, const double *x) {
    double least = INFINITY;
    const hn_history *h = v->history;
    for (size_t i = 0; i < h->n; i++) least = fmin(least, unit_gap(v->genes, x, hn_row(h, i)));
    for (size_t i = 0; i < v->pending->n; i++) least = fmin(least, unit_gap(v->genes, x, v->pending->x + i * h->slots));
    return least;
}

/* The most distant of a few draws (best candidate sampling, Mitchell 1991). */
static hone_rc spread_draw(hn_surrogate_frame *f, const hn_view *v, hn_rng *rng, double *point, hone_err *err) {
    double best = -1;
    for (int i = 0; i < SPREAD_DRAWS; i++) {
        hone_rc rc = hn_view_draw_fresh(v, rng, true, INIT_TRIES, f->spare, err);
        if (rc) return rc;
        double gap = nearest_gap(v, f->spare);
        if (gap <= best) continue;
        best = gap;
        memcpy(point, f->spare, v->genes->slots * sizeof *point);
        if (isinf(gap)) break;
    }
    return HONE_OK;
}

hone_rc hn_frame_init(hn_surrogate_frame *f, const hn_view *v, hn_rng *rng, double *point, bool *done, hone_err *err) {
    size_t n = v->history->n_told + v->pending->n;
    *done = n >= f->n_init;
    if (*done) return HONE_OK;
    bool sparse = !v->config->no_default && n % 2 == 0;
    if (sparse && !sparse_step(v, rng, point)) return HONE_OK;
    return spread_draw(f, v, rng, point, err);
}

/* --- asking ---------------------------------------------------------------------------------------------------- */

static hone_rc score_room(hn_surrogate_frame *f, hone_err *err) {
    if (f->pool.room <= f->score_room) return HONE_OK;
    free(f->score);
    f->score = malloc(f->pool.room * sizeof *f->score);
    f->score_room = f->score ? f->pool.room : 0;
    return f->score ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory for candidates");
}

static size_t best_of(const float *score, size_t n, hn_rng *rng) {
    size_t best = 0, ties = 1;
    for (size_t i = 1; i < n; i++) {
        if (score[i] > score[best])
            best = i, ties = 1;
        else if (score[i] == score[best] && hn_rng_below(rng, ++ties) == 0)
            best = i;
    }
    return best;
}

hone_rc hn_frame_ask(hn_surrogate_frame *f, const hn_surrogate *m, void *model, const hn_view *v, hn_rng *rng,
                     double *point, hone_err *err) {
    hone_rc rc = hn_sample_update(&f->sample, v, f->max_rows, rng, err);
    if (!rc && f->sample.n_feasible < 2) return hn_view_draw_fresh(v, rng, false, INIT_TRIES, point, err);
    if (!rc) rc = hn_pool_fill(&f->pool, v, &f->sample, &f->spec, rng, err);
    if (!rc) rc = score_room(f, err);
    if (!rc) rc = m->score(model, v, &f->sample, &f->pool, rng, f->score, err);
    if (!rc && !m->learns_failures)
        rc = hn_feasible_penalize(&f->feasible, v, &f->sample, &f->pool, rng, f->score, err);
    if (rc) return rc;
    if (!f->pool.n) return hn_fail(err, HONE_E_EXHAUSTED, "no new candidate");
    size_t best = best_of(f->score, f->pool.n, rng);
    for (size_t i = 0; i < DUPLICATES && hn_active_seen(v->active, v->genes, f->pool.x + best * f->pool.slots); i++) {
        f->score[best] = -INFINITY;
        best = best_of(f->score, f->pool.n, rng);
    }
    memcpy(point, f->pool.x + best * f->pool.slots, f->pool.slots * sizeof *point);
    return HONE_OK;
}

/* --- engines of one model -------------------------------------------------------------------------------------- */

hone_rc hn_single_open(const hn_surrogate *m, const hn_view *view, const double *option, void **state, hone_err *err) {
    hn_single *s = calloc(1, sizeof *s);
    if (!s) return hn_fail(err, HONE_E_NOMEM, "out of memory for engine '%s'", m->name);
    s->model = m;
    hone_rc rc = hn_frame_open(&s->frame, view, err);
    if (!rc) rc = m->open(view, option, &s->state, err);
    if (!rc && m->rows_option >= 0) s->frame.max_rows = (size_t)option[m->rows_option];
    if (rc)
        hn_single_close(s);
    else
        *state = s;
    return rc;
}

hone_rc hn_single_ask(void *state, const hn_view *view, hn_rng *rng, double *point, const char **origin,
                      hone_err *err) {
    hn_single *s = state;
    bool done;
    hone_rc rc = hn_frame_init(&s->frame, view, rng, point, &done, err);
    if (rc || !done) {
        *origin = "init";
        return rc;
    }
    return hn_frame_ask(&s->frame, s->model, s->state, view, rng, point, err);
}

void hn_single_close(void *state) {
    hn_single *s = state;
    if (!s) return;
    s->model->close(s->state);
    hn_frame_free(&s->frame);
    free(s);
}
