/* engine/mutant.c — moves of a point, drawn by what they are likely to do. */
#include "engine/mutant.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

void hn_mutants_free(hn_mutants *m) {
    free(m->move);
    free(m->taken);
    *m = (hn_mutants){0};
}

static hone_rc make_room(hn_mutants *m, const hn_genes *g, hone_err *err) {
    size_t n = 0;
    for (size_t k = 0; k < g->n_free; k++) n += hn_genes_n_leaps(g, g->free_gene[k]);
    if (n <= m->room) return HONE_OK;
    hn_mutants_free(m);
    m->move = malloc(n * sizeof *m->move);
    m->taken = malloc(g->n + 1);
    m->room = m->move && m->taken ? n : 0;
    return m->room ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory for %zu moves", n);
}

/* Those of one gene; each has its share of the gene's chance. Items of a permutation move together: its first item
 * stands for all, and no order of them is ever cleared. */
static void list_gene(hn_mutants *m, const hn_view *v, const uint64_t *class, size_t i, bool cleared, hn_rng *rng,
                      double *x) {
    const hn_feature *g = &v->genes->gene[i];
    double keep = x[g->slot];
    size_t first = m->n;
    unsigned char now, level;
    if (g->kind == HONE_PERMUTATION) {
        if (!g->item && !cleared) m->move[m->n++] = (hn_move){0, (uint32_t)i, hn_active_chance(v->active, i)};
        return;
    }
    hn_genes_code_one(v->genes, i, x, &now);
    for (size_t j = 0, n = hn_genes_n_leaps(v->genes, i); j < n; j++) {
        x[g->slot] = keep;
        hn_genes_leap(v->genes, i, j, rng, x);
        hn_genes_code_one(v->genes, i, x, &level);
        if (level == now || hn_active_cleared(class, i, level) != cleared) continue;
        m->move[m->n++] = (hn_move){x[g->slot], (uint32_t)i, 0};
    }
    x[g->slot] = keep;
    for (size_t j = first; j < m->n; j++) m->move[j].weight = hn_active_chance(v->active, i) / (float)(m->n - first);
}

hone_rc hn_mutants_list(hn_mutants *m, const hn_view *v, size_t row, bool cleared, hn_rng *rng, double *spare,
                        bool *any, hone_err *err) {
    const hn_genes *g = v->genes;
    m->n = 0;
    m->total = 0;
    *any = false;
    const uint64_t *class = hn_active_class(v->active, v->history->code[row]);
    if (!class) return HONE_OK;
    hone_rc rc = make_room(m, g, err);
    if (rc) return rc;
    memcpy(spare, hn_row(v->history, row), g->slots * sizeof *spare);
    for (size_t k = 0; k < g->n_free; k++) list_gene(m, v, class, g->free_gene[k], cleared, rng, spare);
    for (size_t i = 0; i < m->n; i++) m->total += m->move[i].weight;
    *any = m->n > 0;
    return HONE_OK;
}

static void take(const hn_move *move, const hn_view *v, hn_rng *rng, double *x) {
    const hn_feature *g = &v->genes->gene[move->gene];
    if (g->kind == HONE_PERMUTATION)
        hn_genes_leap(v->genes, move->gene, 0, rng, x);
    else
        x[g->slot] = move->value;
}

void hn_mutants_draw(hn_mutants *m, const hn_view *v, double expected, hn_rng *rng, double *x) {
    double left = m->total, sum = 0;
    memset(m->taken, 0, v->genes->n * sizeof *m->taken);
    while ((sum == 0 || sum < expected) && left > m->total * 1e-6) {
        double at = hn_rng_unit(rng) * left;
        size_t i = 0, last = SIZE_MAX;
        for (; i < m->n; i++) {
            if (m->taken[m->move[i].gene]) continue;
            last = i;
            if ((at -= m->move[i].weight) < 0) break;
        }
        if (last == SIZE_MAX) break;
        uint32_t gene = m->move[last].gene;
        take(&m->move[last], v, rng, x);
        m->taken[gene] = true;
        for (size_t j = 0; j < m->n; j++)
            if (m->move[j].gene == gene) left -= m->move[j].weight;
        sum += hn_active_chance(v->active, gene);
    }
}

void hn_mutants_sweep(hn_mutants *m, const hn_view *v, hn_rng *rng, double *x) {
    for (size_t i = 0; i < m->n;) {
        size_t n = 1;
        while (i + n < m->n && m->move[i + n].gene == m->move[i].gene) n++;
        if (hn_rng_next(rng) & 1) take(&m->move[i + (size_t)hn_rng_below(rng, n)], v, rng, x);
        i += n;
    }
}
