/* experiment/known.c — the table of known programs. */
#include "experiment/known.h"

#include "base/err.h"
#include "base/hash.h"

#include <stdio.h>
#include <stdlib.h>

static hn_known_entry *slot_of(hn_known_entry *entry, size_t room, uint64_t key) {
    size_t i = (size_t)hn_mix64(key) & (room - 1);
    while (entry[i].id && entry[i].key != key) i = (i + 1) & (room - 1);
    return &entry[i];
}

const hn_known_entry *hn_known_find(const hn_known *k, uint64_t key) {
    if (!k->room) return NULL;
    const hn_known_entry *x = slot_of(k->entry, k->room, key);
    return x->id ? x : NULL;
}

static bool grow(hn_known *k) {
    size_t room = k->room ? 2 * k->room : 64;
    hn_known_entry *entry = calloc(room, sizeof *entry);
    if (!entry) return false;
    for (size_t i = 0; i < k->room; i++)
        if (k->entry[i].id) *slot_of(entry, room, k->entry[i].key) = k->entry[i];
    free(k->entry);
    k->entry = entry;
    k->room = room;
    return true;
}

hone_rc hn_known_add(hn_known *k, uint64_t key, int64_t id, const hone_outcome *seen, hone_err *err) {
    if (2 * (k->n + 1) > k->room && !grow(k)) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    hn_known_entry *x = slot_of(k->entry, k->room, key);
    if (x->id) return HONE_OK;
    *x = (hn_known_entry){key, id, *seen};
    k->n++;
    return HONE_OK;
}

void hn_known_free(hn_known *k) {
    free(k->entry);
    *k = (hn_known){0};
}

uint64_t hn_key_of(const char *hash) {
    char half[17];
    snprintf(half, sizeof half, "%.16s", hash);
    return strtoull(half, NULL, 16);
}
