/* tune/elite.c — the best so far. */
#include "tune/tuner.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

/* --- elite -------------------------------------------------------------------------------------------------------- */

static bool dominates(const double *a, const double *b, size_t m) {
    bool better = false;
    for (size_t k = 0; k < m; k++) {
        if (a[k] > b[k]) return false;
        better |= a[k] < b[k];
    }
    return better;
}

static void drop_entry(hn_elite *e, size_t i) {
    free(e->entry[i].point);
    memmove(&e->entry[i], &e->entry[i + 1], (--e->n - i) * sizeof e->entry[0]);
}

bool hn_elite_takes(const hn_elite *e, const double *value) {
    for (size_t i = 0; i < e->n; i++)
        if (dominates(e->entry[i].value, value, e->n_objectives)) return false;
    return true;
}

/* Is the new point worse than a kept one, or the same object as it? */
static bool is_beaten(const hn_elite *e, uint64_t key, const double *value) {
    for (size_t i = 0; i < e->n; i++) {
        const hn_elite_entry *x = &e->entry[i];
        if (x->key == key && !dominates(value, x->value, e->n_objectives)) return true;
    }
    return e->n_objectives > 1 && !hn_elite_takes(e, value);
}

static bool is_displaced(const hn_elite *e, const hn_elite_entry *x, uint64_t key, const double *value) {
    return x->key == key || (e->n_objectives > 1 && dominates(value, x->value, e->n_objectives));
}

hone_rc hn_elite_add(hn_elite *e, const double *point, uint64_t key, const double *value, hone_err *err) {
    if (is_beaten(e, key, value)) return HONE_OK;
    for (size_t i = e->n; i-- > 0;)
        if (is_displaced(e, &e->entry[i], key, value)) drop_entry(e, i);
    double *copy = malloc((e->n_slots + 1) * sizeof *copy);
    if (!copy) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    memcpy(copy, point, e->n_slots * sizeof *copy);
    size_t at = e->n;
    while (at > 0 && e->entry[at - 1].value[0] > value[0]) at--;
    memmove(&e->entry[at + 1], &e->entry[at], (e->n++ - at) * sizeof e->entry[0]);
    e->entry[at] = (hn_elite_entry){.point = copy, .key = key};
    memcpy(e->entry[at].value, value, e->n_objectives * sizeof *value);
    size_t most = e->n_objectives > 1 ? HN_ELITE_MOST : HN_ELITE_ONE;
    while (e->n > most) drop_entry(e, e->n - 1);
    return HONE_OK;
}

void hn_elite_free(hn_elite *e) {
    while (e->n) drop_entry(e, e->n - 1);
}
