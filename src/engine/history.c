/* engine/history.c — bounded rows, the set of all hashes, pending points. */
#include "engine/history.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

enum { MIN_ROWS = 512 };

/* --- the set of all points ------------------------------------------------------------------------------------- */

void hn_seen_free(hn_seen_points *s) {
    free(s->key);
    free(s->value);
    *s = (hn_seen_points){0};
}

/* Slot of a key or the free slot where it belongs; a free slot has state HN_UNSEEN. */
static size_t seen_slot(const hn_seen_points *s, uint64_t hash) {
    size_t i = (size_t)hn_mix64(hash) & (s->room - 1);
    while (s->value[i] >> 30 != HN_UNSEEN && s->key[i] != hash) i = (i + 1) & (s->room - 1);
    return i;
}

static hone_rc seen_grow(hn_seen_points *s, hone_err *err) {
    size_t room = s->room ? s->room * 2 : 1024;
    hn_seen_points next = {calloc(room, sizeof *next.key), calloc(room, sizeof *next.value), room, s->used};
    if (!next.key || !next.value) {
        hn_seen_free(&next);
        return hn_fail(err, HONE_E_NOMEM, "out of memory for the set of proposed points");
    }
    for (size_t i = 0; i < s->room; i++) {
        if (s->value[i] >> 30 == HN_UNSEEN) continue;
        size_t k = seen_slot(&next, s->key[i]);
        next.key[k] = s->key[i];
        next.value[k] = s->value[i];
    }
    hn_seen_free(s);
    *s = next;
    return HONE_OK;
}

hn_seen_state hn_seen_get(const hn_seen_points *s, uint64_t hash, uint32_t *row) {
    if (!s->room) return HN_UNSEEN;
    uint32_t v = s->value[seen_slot(s, hash)];
    if (row) *row = v & HN_NO_ROW;
    return (hn_seen_state)(v >> 30);
}

hone_rc hn_seen_put(hn_seen_points *s, uint64_t hash, hn_seen_state state, uint32_t row, hone_err *err) {
    if (s->used * 3 >= s->room * 2) {
        hone_rc rc = seen_grow(s, err);
        if (rc) return rc;
    }
    size_t i = seen_slot(s, hash);
    s->used += s->value[i] >> 30 == HN_UNSEEN;
    s->key[i] = hash;
    s->value[i] = (uint32_t)state << 30 | row;
    return HONE_OK;
}

/* --- rows ------------------------------------------------------------------------------------------------------ */

void hn_history_init(hn_history *h, size_t slots, size_t m, size_t n_constraints, size_t memory_b) {
    size_t row_b = slots * sizeof(double) + m * sizeof(double) + sizeof(double) + 1 + 2 * sizeof(uint64_t);
    size_t cap = (memory_b ? memory_b : (size_t)64 << 20) / row_b;
    if (cap < MIN_ROWS) cap = MIN_ROWS;
    if (cap >= HN_NO_ROW) cap = HN_NO_ROW - 1;
    *h = (hn_history){.slots = slots, .m = m, .n_constraints = n_constraints, .cap = cap};
}

void hn_history_free(hn_history *h) {
    free(h->x);
    free(h->y);
    free(h->violation);
    free(h->cls);
    free(h->hash);
    free(h->code);
    memset(h, 0, sizeof *h);
}

static bool regrow(void *field, size_t n, size_t size) {
    void *old, *p;
    memcpy(&old, field, sizeof old);
    if (size && n > SIZE_MAX / size) return false;
    size_t bytes = n * size;
    p = realloc(old, bytes > 0 ? bytes : 1);
    if (p) memcpy(field, &p, sizeof p);
    return p != NULL;
}

static hone_rc history_grow(hn_history *h, hone_err *err) {
    size_t room = h->room ? h->room + h->room / 2 : 64;
    if (room > h->cap) room = h->cap;
    if (!regrow(&h->x, room, h->slots * sizeof(double)) || !regrow(&h->y, room, h->m * sizeof(double)) ||
        !regrow(&h->violation, room, sizeof(double)) || !regrow(&h->cls, room, 1) ||
        !regrow(&h->hash, room, sizeof(uint64_t)) || !regrow(&h->code, room, sizeof(uint64_t)))
        return hn_fail(err, HONE_E_NOMEM, "out of memory for %zu observations", room);
    h->room = room;
    return HONE_OK;
}

typedef struct worth {
    double key;
    uint32_t row;
} worth;
static int by_key(const void *a, const void *b) {
    const worth *p = a, *q = b;
    return p->key != q->key ? (p->key < q->key ? -1 : 1) : p->row < q->row ? -1 : p->row > q->row;
}

static void move_row(hn_history *h, size_t to, size_t from) {
    memmove(h->x + to * h->slots, h->x + from * h->slots, h->slots * sizeof(double));
    memmove(h->y + to * h->m, h->y + from * h->m, h->m * sizeof(double));
    h->violation[to] = h->violation[from];
    h->cls[to] = h->cls[from];
    h->hash[to] = h->hash[from];
    h->code[to] = h->code[from];
}

/* Marks the best quarter of the cap for each objective in turn and the most recent half; the rest is chosen at random.
 */
static hone_rc choose_rows(const hn_history *h, uint64_t seed, unsigned char *keep, hone_err *err) {
    worth *w = calloc(h->n, sizeof *w);
    if (!w) return hn_fail(err, HONE_E_NOMEM, "out of memory while forgetting old observations");
    for (size_t k = 0; k < h->m; k++) {
        for (size_t i = 0; i < h->n; i++)
            w[i] = (worth){hn_row_feasible(h, i) ? h->y[i * h->m + k] : INFINITY, (uint32_t)i};
        qsort(w, h->n, sizeof *w, by_key);
        for (size_t i = 0; i < h->n / 8 / h->m + 1 && i < h->n; i++) keep[w[i].row] = 1;
    }
    free(w);
    for (size_t i = h->n - h->n / 4; i < h->n; i++) keep[i] = 1;
    hn_rng rng = hn_rng_make(seed, h->n_told);
    for (size_t i = 0; i < h->n; i++)
        if (!keep[i]) keep[i] = hn_rng_unit(&rng) < 0.5;
    return HONE_OK;
}

/* Drops rows to make room; what is dropped stays in the set of seen points. */
static hone_rc history_compact(hn_history *h, hn_seen_points *seen, uint64_t seed, hone_err *err) {
    unsigned char *keep = calloc(h->n, 1);
    if (!keep) return hn_fail(err, HONE_E_NOMEM, "out of memory while forgetting old observations");
    hone_rc rc = choose_rows(h, seed, keep, err);
    size_t to = 0;
    for (size_t i = 0; !rc && i < h->n; i++) {
        uint64_t hash = h->hash[i];
        if (keep[i]) move_row(h, to, i);
        rc = hn_seen_put(seen, hash, HN_IS_TOLD, keep[i] ? (uint32_t)to : (uint32_t)HN_NO_ROW, err);
        to += keep[i];
    }
    free(keep);
    if (rc) return rc;
    h->n = to;
    h->epoch++;
    return HONE_OK;
}

hone_rc hn_history_put(hn_history *h, hn_seen_points *seen, uint64_t seed, const double *x, uint64_t hash,
                       const double *y, double violation, hone_outcome_class cls, uint64_t code, hone_err *err) {
    uint32_t row = HN_NO_ROW;
    bool known = hn_seen_get(seen, hash, &row) == HN_IS_TOLD;
    hone_rc rc = HONE_OK;
    if (!known || row == HN_NO_ROW) {
        if (h->n == h->cap) rc = history_compact(h, seen, seed, err);
        if (!rc && h->n == h->room) rc = history_grow(h, err);
        if (!rc) rc = hn_seen_put(seen, hash, HN_IS_TOLD, (uint32_t)h->n, err);
        if (rc) return rc;
        row = (uint32_t)h->n++;
        h->n_told += !known;
    } else {
        h->epoch++;
    }
    memcpy(h->x + row * h->slots, x, h->slots * sizeof *x);
    memcpy(h->y + row * h->m, y, h->m * sizeof *y);
    h->violation[row] = violation;
    h->cls[row] = (unsigned char)cls;
    h->hash[row] = hash;
    h->code[row] = code;
    h->n_coded += code != 0;
    return HONE_OK;
}

/* --- pending --------------------------------------------------------------------------------------------------- */

hone_rc hn_pending_add(hn_pending *p, size_t slots, const double *x, uint64_t hash, hone_err *err) {
    if (p->n == p->room) {
        size_t room = p->room ? p->room * 2 : 16;
        if (!regrow(&p->x, room, slots * sizeof(double)) || !regrow(&p->hash, room, sizeof(uint64_t)))
            return hn_fail(err, HONE_E_NOMEM, "out of memory for %zu pending points", room);
        p->room = room;
    }
    memcpy(p->x + p->n * slots, x, slots * sizeof *x);
    p->hash[p->n++] = hash;
    return HONE_OK;
}

void hn_pending_remove(hn_pending *p, size_t slots, uint64_t hash) {
    for (size_t i = 0; i < p->n; i++) {
        if (p->hash[i] != hash) continue;
        size_t after = p->n - i - 1;
        memmove(p->x + i * slots, p->x + (i + 1) * slots, after * slots * sizeof(double));
        memmove(p->hash + i, p->hash + i + 1, after * sizeof(uint64_t));
        p->n--;
        return;
    }
}

void hn_pending_free(hn_pending *p) {
    free(p->x);
    free(p->hash);
    *p = (hn_pending){0};
}
