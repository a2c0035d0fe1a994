/* names.c — open addressing with linear probing; the hash is FNV-1a, mixed. */
#include "base/names.h"
#include "base/hash.h"

#include <string.h>

static size_t slot_of(const hn_names *t, const char *key) {
    uint64_t h = 0xcbf29ce484222325u;
    for (const char *p = key; *p; p++) h = (h ^ (unsigned char)*p) * 0x100000001b3u;
    size_t i = (size_t)hn_mix64(h) & (t->room - 1);
    while (t->slot[i].key && strcmp(t->slot[i].key, key)) i = (i + 1) & (t->room - 1);
    return i;
}

void *hn_names_get(const hn_names *t, const char *key) { return t->n ? t->slot[slot_of(t, key)].value : NULL; }

static bool grow(hn_names *t, hn_arena *a) {
    hn_names bigger = {.room = t->room ? 2 * t->room : 16};
    if (!(bigger.slot = HN_NEW_N(a, hn_name_slot, bigger.room))) return false;
    for (size_t i = 0; i < t->room; i++)
        if (t->slot[i].key) bigger.slot[slot_of(&bigger, t->slot[i].key)] = t->slot[i];
    bigger.n = t->n;
    *t = bigger;
    return true;
}

bool hn_names_put(hn_names *t, hn_arena *a, const char *key, void *value) {
    if (2 * (t->n + 1) > t->room && !grow(t, a)) return true; /* the arena's failure is sticky */
    size_t i = slot_of(t, key);
    if (t->slot[i].key) return false;
    t->slot[i] = (hn_name_slot){key, value};
    t->n++;
    return true;
}
