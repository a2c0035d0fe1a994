/* reduce/reduce_same.c — removes parts that leave the program unchanged, without measuring.
 *
 * Group testing (Dorfman 1943) by halving: groups of parts are left out and the program is built; a group that changes
 * nothing is removed, any other is halved. Neighbours are in one group, as controls of one kind are often all without
 * effect. Each round's groups are built side by side. Where most parts do something a group tells little, so that the
 * number of builds is bounded; the rest is tested later, when few parts remain.
 */
#include "base/err.h"
#include "reduce/reduce_int.h"

#include <string.h>

enum { GROUPS = 16, BUILDS_LEAST = 32, PARTS_PER_BUILD = 4 };

typedef struct group {
    size_t first, n; /* of `part` */
    hn_subset *without;
} group;

typedef struct halving {
    hn_trials *t;
    hn_subset *whole; /* the program that is to stay */
    bool *keep, *again;
    size_t *part, n_parts, n_left; /* builds */
    group *now, *next;
    size_t n_now, n_next;
} halving;

static bool make_room(halving *h) {
    hn_arena *a = h->t->arena;
    size_t n = h->t->lab->n;
    h->again = HN_NEW_N(a, bool, n + 1);
    h->part = HN_NEW_N(a, size_t, n + 1);
    h->now = HN_NEW_N(a, group, n + 1);
    h->next = HN_NEW_N(a, group, n + 1);
    return hn_arena_ok(a);
}

static hone_rc subset_without(halving *h, const group *g, hn_subset **out, hone_err *err) {
    memcpy(h->again, h->keep, h->t->lab->n * sizeof *h->keep);
    for (size_t i = 0; i < g->n; i++) h->again[h->part[g->first + i]] = false;
    return hn_subset_of(h->t, h->again, out, err);
}

/* Are all parts of the group removed already, together with parts they need? */
static bool is_gone(const halving *h, const group *g) {
    for (size_t i = 0; i < g->n; i++)
        if (h->keep[h->part[g->first + i]]) return false;
    return true;
}

static bool same(const halving *h, const hn_subset *s) { return s->key && s->key == h->whole->key; }

/* Removes all groups of the round at once; if together they have an effect, one after the other. */
static hone_rc drop_same(halving *h, hone_err *err) {
    hn_subset *s;
    size_t n = 0;
    memcpy(h->again, h->keep, h->t->lab->n * sizeof *h->keep);
    for (size_t i = 0; i < h->n_now; i++) {
        const group *g = &h->now[i];
        if (!same(h, g->without)) continue;
        n++;
        for (size_t k = 0; k < g->n; k++) h->again[h->part[g->first + k]] = false;
    }
    if (n == 0) return HONE_OK;
    hone_rc rc = hn_subset_of(h->t, h->again, &s, err);
    if (!rc) rc = hn_identify(h->t, &s, 1, err);
    if (rc) return rc;
    if (same(h, s)) {
        memcpy(h->keep, s->keep, h->t->lab->n * sizeof *h->keep);
        return HONE_OK;
    }
    for (size_t i = 0; !rc && n > 1 && i < h->n_now; i++) {
        if (!same(h, h->now[i].without)) continue;
        rc = subset_without(h, &h->now[i], &s, err);
        if (!rc) rc = hn_identify(h->t, &s, 1, err);
        if (!rc && same(h, s)) memcpy(h->keep, s->keep, h->t->lab->n * sizeof *h->keep);
    }
    return rc;
}

static void halve(halving *h, const group *g) {
    if (g->n < 2) return;
    h->next[h->n_next++] = (group){.first = g->first, .n = g->n / 2};
    h->next[h->n_next++] = (group){.first = g->first + g->n / 2, .n = g->n - g->n / 2};
}

static hone_rc one_round(halving *h, hone_err *err) {
    size_t n = 0;
    hone_rc rc = HONE_OK;
    hn_subset **all = HN_NEW_N(h->t->arena, hn_subset *, h->n_now + 1);
    if (!all) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    for (size_t i = 0; !rc && i < h->n_now && n < h->n_left; i++) {
        if (is_gone(h, &h->now[i])) continue;
        h->now[n] = h->now[i];
        rc = subset_without(h, &h->now[n], &all[n], err);
        h->now[n].without = all[n];
        n++;
    }
    h->n_now = n;
    h->n_left -= n;
    h->n_next = 0;
    if (!rc) rc = hn_identify(h->t, all, n, err);
    for (size_t i = 0; !rc && i < n; i++)
        if (!same(h, all[i])) halve(h, &h->now[i]);
    if (!rc) rc = drop_same(h, err);
    group *done = h->now;
    h->now = h->next;
    h->n_now = h->n_next;
    h->next = done;
    return rc;
}

static void first_groups(halving *h) {
    size_t size = h->n_parts <= h->n_left ? 1 : (h->n_parts + GROUPS - 1) / GROUPS;
    for (size_t at = 0; at < h->n_parts; at += size)
        h->now[h->n_now++] = (group){.first = at, .n = h->n_parts - at < size ? h->n_parts - at : size};
}

hone_rc hn_drop_same(hn_trials *t, bool *keep, hone_err *err) {
    halving h = {.t = t, .keep = keep};
    if (!t->lab->identify) return HONE_OK;
    if (!make_room(&h)) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    for (size_t i = 0; i < t->lab->n; i++)
        if (keep[i]) h.part[h.n_parts++] = i;
    h.n_left = h.n_parts / PARTS_PER_BUILD;
    if (h.n_left < BUILDS_LEAST) h.n_left = BUILDS_LEAST;
    hone_rc rc = hn_subset_of(t, keep, &h.whole, err);
    if (!rc) rc = hn_identify(t, &h.whole, 1, err);
    first_groups(&h);
    while (!rc && h.n_now && h.n_left && h.whole->key) rc = one_round(&h, err);
    return rc;
}
