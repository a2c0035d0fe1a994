/* engine/pool.c — candidate generation; no gradients, as the spaces have none. */
#include "engine/pool.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

enum { ELITE = 10, TRIES = 6, SLACK = 64 }; /* SLACK: room for a model's own candidates */

void hn_pool_free(hn_pool *p) {
    free(p->x);
    free(p->code);
    free(p->hash);
    free(p->table);
    free(p->work);
    *p = (hn_pool){0};
}

hone_rc hn_pool_clear(hn_pool *p, const hn_view *v, size_t most, hone_err *err) {
    p->n = 0;
    if (most > p->room) {
        hn_pool_free(p);
        p->slots = v->genes->slots;
        p->n_features = v->genes->n;
        for (p->table_n = 64; p->table_n < 2 * most;) p->table_n *= 2;
        p->x = malloc(most * p->slots * sizeof *p->x + 1);
        p->code = malloc(most * p->n_features + 1);
        p->hash = malloc(most * sizeof *p->hash);
        p->table = malloc(p->table_n * sizeof *p->table);
        p->work = malloc((p->slots + 1) * sizeof *p->work);
        if (!p->x || !p->code || !p->hash || !p->table || !p->work) {
            hn_pool_free(p);
            return hn_fail(err, HONE_E_NOMEM, "out of memory for %zu candidates", most);
        }
        p->room = most;
    }
    memset(p->table, 0, p->table_n * sizeof *p->table);
    return HONE_OK;
}

bool hn_pool_offer(hn_pool *p, const hn_view *v, double *x) {
    uint64_t hash;
    if (p->n == p->room) return false;
    hn_genes_settle(v->genes, x);
    hash = hone_point_hash(v->space, x);
    size_t i = (size_t)hn_mix64(hash) & (p->table_n - 1);
    for (; p->table[i]; i = (i + 1) & (p->table_n - 1))
        if (p->hash[p->table[i] - 1] == hash) return false;
    if (!hn_view_fresh_as(v, x, hash)) return false;
    memcpy(p->x + p->n * p->slots, x, p->slots * sizeof *x);
    hn_genes_code(v->genes, x, p->code + p->n * p->n_features);
    p->hash[p->n] = hash;
    p->table[i] = (uint32_t)++p->n;
    return true;
}

static const double *best(const hn_sample *s, const hn_view *v, size_t k) { return hn_sample_point(s, v, s->order[k]); }

static size_t min_z(size_t a, size_t b) { return a < b ? a : b; }

static size_t count_moves(const hn_view *v, const double *x) {
    size_t n = 0;
    for (size_t k = 0; k < v->genes->n; k++) n += hn_genes_n_moves(v->genes, k, x);
    return n;
}

static void all_neighbours(hn_pool *p, const hn_view *v, const double *centre, hn_rng *rng) {
    for (size_t k = 0; k < v->genes->n; k++) {
        size_t n = hn_genes_n_moves(v->genes, k, centre);
        for (size_t j = 0; j < n; j++) {
            memcpy(p->work, centre, p->slots * sizeof *centre);
            hn_genes_move(v->genes, k, j, rng, p->work);
            hn_pool_offer(p, v, p->work);
        }
    }
}

static void add_neighbours(hn_pool *p, const hn_view *v, const hn_sample *s, const hn_pool_spec *spec, hn_rng *rng) {
    size_t centres = min_z(spec->centres, s->n_feasible), total = 0;
    for (size_t c = 0; c < centres; c++) {
        size_t n = count_moves(v, best(s, v, c));
        if (total + n <= spec->neighbours) {
            all_neighbours(p, v, best(s, v, c), rng);
            total += n;
            continue;
        }
        for (; total < spec->neighbours * (c + 1) / centres; total++) {
            size_t k = v->genes->free_gene[hn_rng_below(rng, v->genes->n_free)];
            memcpy(p->work, best(s, v, c), p->slots * sizeof *p->work);
            hn_genes_mutate(v->genes, k, rng, p->work);
            hn_pool_offer(p, v, p->work);
        }
    }
}

static void add_moves(hn_pool *p, const hn_view *v, const hn_sample *s, const hn_pool_spec *spec, hn_rng *rng) {
    size_t centres = min_z(spec->centres, s->n_feasible), added = 0;
    for (size_t i = 0; i < TRIES * spec->moves && added < spec->moves && centres && v->genes->n_free; i++) {
        memcpy(p->work, best(s, v, (size_t)hn_rng_below(rng, centres)), p->slots * sizeof *p->work);
        for (size_t n = 2 + (hn_rng_next(rng) & 1); n; n--)
            hn_genes_step(v->genes, v->genes->free_gene[hn_rng_below(rng, v->genes->n_free)], rng, p->work);
        added += hn_pool_offer(p, v, p->work);
    }
}

void hn_cross(const hn_genes *g, const double *a, const double *b, hn_rng *rng, double *out) {
    memcpy(out, a, g->slots * sizeof *out);
    for (size_t k = 0; k < g->n; k++) {
        const hn_feature *e = &g->gene[k];
        if ((e->kind == HONE_PERMUTATION && e->item) || hn_rng_next(rng) & 1) continue;
        size_t n = e->kind == HONE_PERMUTATION ? e->n_levels : 1;
        memcpy(out + e->slot, b + e->slot, n * sizeof *out);
    }
}

static void add_crosses(hn_pool *p, const hn_view *v, const hn_sample *s, const hn_pool_spec *spec, hn_rng *rng) {
    size_t elite = min_z(ELITE, s->n_feasible), added = 0;
    for (size_t i = 0; i < TRIES * spec->crosses && added < spec->crosses && elite > 1; i++) {
        size_t a = (size_t)hn_rng_below(rng, elite), b = (size_t)hn_rng_below(rng, elite - 1);
        hn_cross(v->genes, best(s, v, a), best(s, v, b + (b >= a)), rng, p->work);
        if (hn_rng_next(rng) & 1 && v->genes->n_free)
            hn_genes_step(v->genes, v->genes->free_gene[hn_rng_below(rng, v->genes->n_free)], rng, p->work);
        added += hn_pool_offer(p, v, p->work);
    }
}

hone_rc hn_pool_fill(hn_pool *p, const hn_view *v, const hn_sample *s, const hn_pool_spec *spec, hn_rng *rng,
                     hone_err *err) {
    size_t most = spec->neighbours + spec->moves + spec->crosses + spec->randoms + SLACK;
    hone_rc rc = hn_pool_clear(p, v, most, err);
    if (rc) return rc;
    for (size_t i = 0; i < spec->randoms; i++) {
        rc = hn_view_draw(v, rng, false, p->work, err);
        if (rc) return rc;
        hn_pool_offer(p, v, p->work);
    }
    add_neighbours(p, v, s, spec, rng);
    add_moves(p, v, s, spec, rng);
    add_crosses(p, v, s, spec, rng);
    return HONE_OK;
}
