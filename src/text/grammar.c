/* grammar.c — places in a text that a grammar describes: automata with stacks, made deterministic as far as texts go.
 *
 * A stack is a list of nodes to go on at when the rule that is being read ends; stacks with the same tail share it, and
 * each is kept once. Rules that a rule ends with are called without a stack entry, so right recursion needs none. A
 * place is the set of (node, stack) from which a byte is read next. */
#include "base/err.h"
#include "base/hash.h"
#include "text/grammar_int.h"
#include "text/grammar_places.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_WAYS = 1 << 16,   /* to read one text */
    MANY_PLACES = 1 << 16, /* then hn_places_trim forgets */
    MANY_STACKS = 1 << 20
};

/* --- tables that grow -------------------------------------------------------------------------------------------- */

static bool room_for(void **p, size_t *room, size_t n, size_t size) {
    if (n < *room) return true;
    size_t more = *room ? 2 * *room : 64;
    while (more <= n) more *= 2;
    void *grown = realloc(*p, more * size);
    if (!grown) return false;
    *p = grown;
    *room = more;
    return true;
}

/* Open addressing of numbers + 1; twice as large when half full. */
static bool more_slots(uint32_t **slot, size_t *n_slot, size_t n, const uint64_t *hash) {
    if (2 * n < *n_slot) return true;
    size_t room = *n_slot ? 2 * *n_slot : 256;
    uint32_t *grown = calloc(room, sizeof *grown);
    if (!grown) return false;
    for (size_t i = 0; i < n; i++) {
        size_t at = (size_t)hash[i] & (room - 1);
        while (grown[at]) at = (at + 1) & (room - 1);
        grown[at] = (uint32_t)i + 1;
    }
    free(*slot);
    *slot = grown;
    *n_slot = room;
    return true;
}

/* --- stacks ------------------------------------------------------------------------------------------------------ */

static uint64_t stack_hash(uint32_t node, uint32_t below) { return hn_mix64((uint64_t)node << 32 | below); }

/* The stack with this node on top of another; 0 is the empty one, and a failure. */
static uint32_t push(hn_places *p, uint32_t node, uint32_t below) {
    uint64_t h = stack_hash(node, below);
    if (!more_slots(&p->stack_slot, &p->n_stack_slot, p->n_stack, p->stack_hash)) return p->nomem = true, 0;
    size_t at = (size_t)h & (p->n_stack_slot - 1);
    for (; p->stack_slot[at]; at = (at + 1) & (p->n_stack_slot - 1)) {
        const hn_way *s = &p->stack[p->stack_slot[at] - 1];
        if (s->node == node && s->stack == below) return p->stack_slot[at] - 1;
    }
    size_t room = p->stack_room;
    if (!room_for((void **)&p->stack, &room, p->n_stack, sizeof *p->stack)) return p->nomem = true, 0;
    room = p->stack_room;
    if (!room_for((void **)&p->stack_hash, &room, p->n_stack, sizeof *p->stack_hash)) return p->nomem = true, 0;
    p->stack_room = room;
    p->stack[p->n_stack] = (hn_way){node, below};
    p->stack_hash[p->n_stack] = h;
    return (p->stack_slot[at] = (uint32_t)++p->n_stack) - 1;
}

/* --- a set of ways ----------------------------------------------------------------------------------------------- */

static void begin_set(hn_places *p) {
    p->n_seen = p->n_next = 0;
    p->next_ends = false;
    if (++p->round) return;
    memset(p->seen_round, 0, p->n_seen_slot * sizeof *p->seen_round);
    p->round = 1;
}

static bool more_seen(hn_places *p) {
    if (2 * (p->n_seen + 1) < p->n_seen_slot) return true;
    size_t room = p->n_seen_slot ? 2 * p->n_seen_slot : 256;
    uint32_t *slot = calloc(room, sizeof *slot), *round = calloc(room, sizeof *round);
    if (!slot || !round) {
        free(slot);
        free(round);
        return false;
    }
    free(p->seen_slot);
    free(p->seen_round);
    p->seen_slot = slot;
    p->seen_round = round;
    p->n_seen_slot = room;
    p->round = 1;
    for (size_t i = 0; i < p->n_seen; i++) {
        size_t at = (size_t)stack_hash(p->seen[i].node, p->seen[i].stack) & (room - 1);
        while (round[at]) at = (at + 1) & (room - 1);
        round[at] = 1;
        slot[at] = (uint32_t)i;
    }
    return true;
}

/* Takes a way in once. */
static void see(hn_places *p, uint32_t node, uint32_t stack) {
    if (p->nomem || p->too_many) return;
    if (!more_seen(p) || !room_for((void **)&p->seen, &p->seen_room, p->n_seen, sizeof *p->seen)) {
        p->nomem = true;
        return;
    }
    size_t at = (size_t)stack_hash(node, stack) & (p->n_seen_slot - 1);
    for (; p->seen_round[at] == p->round; at = (at + 1) & (p->n_seen_slot - 1)) {
        const hn_way *w = &p->seen[p->seen_slot[at]];
        if (w->node == node && w->stack == stack) return;
    }
    if (p->n_seen >= MOST_WAYS) {
        p->too_many = true;
        return;
    }
    p->seen_round[at] = p->round;
    p->seen_slot[at] = (uint32_t)p->n_seen;
    p->seen[p->n_seen++] = (hn_way){node, stack};
}

/* Follows what needs no byte from all ways that were seen; those that wait for a byte are the next place's. */
static void follow(hn_places *p) {
    const hn_grammar *g = p->grammar;
    for (size_t i = 0; i < p->n_seen && !p->nomem && !p->too_many; i++) {
        hn_way w = p->seen[i];
        bool waits = false;
        if (g->is_end[w.node]) {
            if (w.stack)
                see(p, p->stack[w.stack].node, p->stack[w.stack].stack);
            else
                p->next_ends = true;
        }
        for (size_t k = g->first[w.node]; k < g->first[w.node + 1]; k++) {
            const hn_edge *e = &g->edge[k];
            waits |= !e->kind;
            if (e->kind == HN_EDGE_FREE) see(p, e->to, w.stack);
            if (e->kind == HN_EDGE_CALL)
                see(p, g->start[e->rule], g->is_end[e->to] ? w.stack : push(p, e->to, w.stack));
        }
        if (!waits) continue;
        if (!room_for((void **)&p->next, &p->next_room, p->n_next, sizeof *p->next))
            p->nomem = true;
        else
            p->next[p->n_next++] = w;
    }
}

static hone_rc failure(const hn_places *p, hone_err *err) {
    if (p->nomem) return hn_fail(err, HONE_E_NOMEM, "out of memory following the grammar");
    return hn_fail(
        err, HONE_E_LIMIT,
        "the grammar can read this text in more than %d ways at once; write rules that say the same in one way",
        MOST_WAYS);
}

static int by_way(const void *a, const void *b) {
    const hn_way *x = a, *y = b;
    if (x->node != y->node) return x->node < y->node ? -1 : 1;
    return (x->stack > y->stack) - (x->stack < y->stack);
}

/* --- places ------------------------------------------------------------------------------------------------------ */

static uint64_t place_hash(const hn_way *way, size_t n, bool ends) {
    uint64_t h = hn_mix64(n + ends);
    for (size_t i = 0; i < n; i++) h = hn_mix64(h ^ stack_hash(way[i].node, way[i].stack));
    return h;
}

/* A place of the ways in p->next. */
static hone_rc place_of(hn_places *p, int32_t *out, hone_err *err) {
    if (p->nomem || p->too_many) {
        hone_rc rc = failure(p, err);
        p->nomem = p->too_many = false;
        return rc;
    }
    if (p->n_next) qsort(p->next, p->n_next, sizeof *p->next, by_way);
    uint64_t h = place_hash(p->next, p->n_next, p->next_ends);
    hone_rc no = HONE_E_NOMEM;
    if (!more_slots(&p->place_slot, &p->n_place_slot, p->n_place, p->place_hash))
        return hn_fail(err, no, "out of memory following the grammar");
    size_t at = (size_t)h & (p->n_place_slot - 1);
    for (; p->place_slot[at]; at = (at + 1) & (p->n_place_slot - 1)) {
        const hn_place_set *s = &p->place[p->place_slot[at] - 1];
        if (s->n == p->n_next && s->ends == p->next_ends &&
            (!s->n || !memcmp(s->way, p->next, s->n * sizeof *s->way))) {
            *out = (int32_t)p->place_slot[at] - 1;
            return HONE_OK;
        }
    }
    size_t room = p->place_room;
    bool fine = room_for((void **)&p->place, &room, p->n_place, sizeof *p->place);
    room = p->place_room;
    fine = fine && room_for((void **)&p->place_hash, &room, p->n_place, sizeof *p->place_hash);
    if (fine) p->place_room = room;
    hn_place_set s = {.n = p->n_next, .ends = p->next_ends};
    s.way = fine ? HN_NEW_N(&p->arena, hn_way, s.n) : NULL;
    s.next = s.way ? HN_NEW_N(&p->arena, int32_t, p->grammar->n_class) : NULL;
    if (!s.next) {
        p->arena.failed = false;
        return hn_fail(err, no, "out of memory following the grammar");
    }
    if (s.n) memcpy(s.way, p->next, s.n * sizeof *s.way);
    for (size_t i = 0; i < p->grammar->n_class; i++) s.next[i] = -1;
    p->place[p->n_place] = s;
    p->place_hash[p->n_place] = h;
    p->place_slot[at] = (uint32_t)++p->n_place;
    *out = (int32_t)p->n_place - 1;
    return HONE_OK;
}

/* Place 0 is the empty set, place 1 the beginning (the empty set again, where the grammar has no text: no grammar has).
 */
static hone_rc first_places(hn_places *p, hone_err *err) {
    int32_t place;
    if (!push(p, UINT32_MAX, UINT32_MAX) && p->nomem) return failure(p, err); /* stack 0, the empty one */
    begin_set(p);
    hone_rc rc = place_of(p, &place, err);
    if (rc) return rc;
    begin_set(p);
    see(p, p->grammar->start[0], 0);
    follow(p);
    return place_of(p, &place, err);
}

hone_rc hn_places_new(const hn_grammar *g, hn_places **out, hone_err *err) {
    hn_places *p = calloc(1, sizeof *p);
    if (!p) return hn_fail(err, HONE_E_NOMEM, "out of memory following the grammar");
    p->grammar = g;
    hone_rc rc = first_places(p, err);
    if (rc) {
        hn_places_free(p);
        return rc;
    }
    *out = p;
    return HONE_OK;
}

static void free_tables(hn_places *p) {
    hn_masks_free(p);
    free(p->stack);
    free(p->stack_hash);
    free(p->stack_slot);
    free(p->place);
    free(p->place_hash);
    free(p->place_slot);
    hn_arena_free(&p->arena);
}

void hn_places_free(hn_places *p) {
    if (!p) return;
    free_tables(p);
    free(p->seen);
    free(p->seen_slot);
    free(p->seen_round);
    free(p->next);
    free(p->walk);
    free(p);
}

hone_rc hn_place_step(hn_places *p, int32_t place, uint8_t byte, int32_t *out, hone_err *err) {
    const hn_grammar *g = p->grammar;
    uint8_t class = g->class_of[byte];
    int32_t known = p->place[place].next[class];
    if (known >= 0) return *out = known, HONE_OK;
    begin_set(p);
    for (size_t i = 0; i < p->place[place].n; i++) {
        hn_way w = p->place[place].way[i];
        for (size_t k = g->first[w.node]; k < g->first[w.node + 1]; k++) {
            const hn_edge *e = &g->edge[k];
            if (!e->kind && byte >= e->low && byte <= e->high) see(p, e->to, w.stack);
        }
    }
    follow(p);
    hone_rc rc = place_of(p, out, err);
    if (!rc) p->place[place].next[class] = *out;
    return rc;
}

hone_rc hn_places_read(hn_places *p, int32_t place, const char *text, size_t n, int32_t *out, hone_err *err) {
    hone_rc rc = HONE_OK;
    for (size_t i = 0; !rc && place && i < n; i++) rc = hn_place_step(p, place, (uint8_t)text[i], &place, err);
    if (!rc) *out = place;
    return rc;
}

bool hn_places_may_end(const hn_places *p, int32_t place) { return p->place[place].ends; }
bool hn_places_must_end(const hn_places *p, int32_t place) { return p->place[place].ends && !p->place[place].n; }

/* --- forgetting -------------------------------------------------------------------------------------------------- */

/* A stack of the old table in the new one. Its entries are made from the lowest up. */
static uint32_t move_stack(hn_places *p, const hn_way *old, uint32_t stack, uint32_t *path) {
    size_t n = 0;
    for (; stack; stack = old[stack].stack) path[n++] = old[stack].node;
    uint32_t made = 0;
    while (n) made = push(p, path[--n], made);
    return made;
}

static hone_rc move_place(hn_places *p, const hn_places *old, int32_t *place, uint32_t *path, hone_err *err) {
    const hn_place_set *s = &old->place[*place];
    begin_set(p);
    for (size_t i = 0; i < s->n && !p->nomem; i++) {
        uint32_t stack = move_stack(p, old->stack, s->way[i].stack, path);
        if (!room_for((void **)&p->next, &p->next_room, p->n_next, sizeof *p->next))
            p->nomem = true;
        else
            p->next[p->n_next++] = (hn_way){s->way[i].node, stack};
    }
    p->next_ends = s->ends;
    return place_of(p, place, err);
}

hone_rc hn_places_trim(hn_places *p, int32_t *place, size_t n, hone_err *err) {
    if (p->n_place < MANY_PLACES && p->n_stack < MANY_STACKS && p->arena.total_b < 256u << 20) return HONE_OK;
    hn_places *fresh = NULL;
    uint32_t *path = malloc((p->n_stack + 1) * sizeof *path);
    hone_rc rc = path ? hn_places_new(p->grammar, &fresh, err)
                      : hn_fail(err, HONE_E_NOMEM, "out of memory following the grammar");
    for (size_t i = 0; !rc && i < n; i++) rc = move_place(fresh, p, &place[i], path, err);
    free(path);
    if (rc) {
        hn_places_free(fresh);
        return rc;
    }
    hn_places old = *p;
    *p = *fresh;
    *fresh = old;
    hn_places_free(fresh);
    return HONE_OK;
}
