/* text/grammar_places.h — the tables behind hn_places. */
#ifndef HN_GRAMMAR_PLACES_H
#define HN_GRAMMAR_PLACES_H

#include "text/grammar_int.h"

/* A node and the stack below it; in the table of stacks: the node on top, and the stack below. */
typedef struct hn_way {
    uint32_t node, stack;
} hn_way;

typedef struct hn_place_set {
    hn_way *way; /* n of them, in order */
    size_t n;
    int32_t *next; /* by class of bytes; -1: not known yet */
    bool ends;
    uint64_t *mask; /* tokens that may come; NULL: not known yet */
} hn_place_set;

struct hn_places {
    const hn_grammar *grammar;
    hn_arena arena; /* of places */
    hn_way *stack;
    uint64_t *stack_hash;
    size_t n_stack, stack_room;
    uint32_t *stack_slot;
    size_t n_stack_slot;
    hn_place_set *place;
    uint64_t *place_hash;
    size_t n_place, place_room;
    uint32_t *place_slot;
    size_t n_place_slot;
    /* scratch: the set that is being made */
    hn_way *seen, *next;
    size_t n_seen, seen_room, n_next, next_room;
    uint32_t *seen_slot, *seen_round, round;
    size_t n_seen_slot;
    bool next_ends, nomem, too_many;
    /* masks */
    int32_t *walk; /* a place for each depth of the tree of pieces */
    size_t n_walk, n_mask;
};

hone_rc hn_place_step(hn_places *p, int32_t place, uint8_t byte, int32_t *out, hone_err *err);
void hn_masks_free(hn_places *p);

#endif
