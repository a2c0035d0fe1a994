/* Leaps: every value of a gene, or the ends of its range and a few between; absent comes last. */
#include "../tap.h"

#include <hone/space.h>

#include "engine/genes.h"

#include <math.h>
#include <stdlib.h>

static const char text[] = "hone-space: 1\n"
                           "parameters:\n"
                           "  wide: {type: int, range: [1, 10000], log: true, optional: true}\n"
                           "  twenty: {type: int, range: [0, 20]}\n"
                           "  float: {type: float, range: [-1, 1]}\n"
                           "  word: {type: choice, values: [a, b, c], optional: true}\n";

typedef struct expected {
    const char *name;
    size_t n;
    double value[9]; /* NAN: absent */
} expected;

static bool same(double a, double b) { return isnan(a) ? isnan(b) : fabs(a - b) < 1e-9 * (1 + fabs(b)); }

static void leaps_of(const hone_space *space, const hn_genes *genes, const expected *e) {
    hn_rng rng = hn_rng_make(1, 1);
    hone_err err;
    double *x = calloc(hone_space_slots(space), sizeof *x);
    size_t k = 0, slot = hone_space_param(space, hone_space_find(space, e->name))->slot;
    while (genes->gene[k].slot != slot) k++;
    hone_space_default(space, x);
    bool fine = hn_genes_n_leaps(genes, k) == e->n;
    for (size_t j = 0; j < e->n && fine; j++) {
        hn_genes_leap(genes, k, j, &rng, x);
        hn_genes_settle(genes, x);
        fine &= same(x[slot], e->value[j]) && hone_point_legal(space, x, &err);
    }
    ok(fine, "genes/leaps_of_%s", e->name);
    free(x);
}

int main(void) {
    static const expected row[] = {
        {"wide", 9, {1, 4, 14, 52, 193, 720, 2683, 10000, NAN}},
        {"twenty", 8, {0, 3, 6, 9, 11, 14, 17, 20}},
        {"float", 8, {-1, -5.0 / 7, -3.0 / 7, -1.0 / 7, 1.0 / 7, 3.0 / 7, 5.0 / 7, 1}},
        {"word", 4, {0, 1, 2, NAN}},
    };
    hone_space *space = NULL;
    hn_genes *genes = NULL;
    hone_err err = {0};
    hone_rc rc = hone_space_parse(text, sizeof text - 1, "test", &space, &err);
    if (!rc) rc = hn_genes_new(space, &genes, &err);
    ok(!rc, "genes/space (%s)", err.text);
    for (size_t i = 0; !rc && i < sizeof row / sizeof *row; i++) leaps_of(space, genes, &row[i]);
    hn_genes_free(genes);
    hone_space_free(space);
    return done_testing();
}
