/* tune/elite.c — the best so far, and the table of known objects. */
#include "tune/tuner.h"

#include "base/err.h"
#include "base/hash.h"

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

/* Is the newcomer beaten by, or the same object as, something kept? */
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

/* --- known objects ---------------------------------------------------------------------------------------------------
 */

static hn_known_entry *slot_of(hn_known_entry *entry, size_t room, uint64_t key) {
    size_t i = (size_t)hn_mix64(key) & (room - 1);
    while (entry[i].trial && entry[i].key != key) i = (i + 1) & (room - 1);
    return &entry[i];
}

const hn_known_entry *hn_known_find(const hn_known *k, uint64_t key) {
    if (!k->room) return NULL;
    const hn_known_entry *x = slot_of(k->entry, k->room, key);
    return x->trial ? x : NULL;
}

static bool grow(hn_known *k) {
    size_t room = k->room ? 2 * k->room : 64;
    hn_known_entry *entry = calloc(room, sizeof *entry);
    if (!entry) return false;
    for (size_t i = 0; i < k->room; i++)
        if (k->entry[i].trial) *slot_of(entry, room, k->entry[i].key) = k->entry[i];
    free(k->entry);
    k->entry = entry;
    k->room = room;
    return true;
}

hone_rc hn_known_add(hn_known *k, uint64_t key, int64_t trial, const hone_outcome *seen, hone_err *err) {
    if (2 * (k->n + 1) > k->room && !grow(k)) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    hn_known_entry *x = slot_of(k->entry, k->room, key);
    if (x->trial) return HONE_OK;
    *x = (hn_known_entry){key, trial, *seen};
    k->n++;
    return HONE_OK;
}

void hn_known_free(hn_known *k) {
    free(k->entry);
    *k = (hn_known){0};
}
