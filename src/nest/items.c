/* nest/items.c — which loops become the kernel's work items. */
#include "nest/chain.h"
#include "nest/nest_int.h"
#include "nest/schedule.h"

/* An item costs some 20 ns to start and has its index taken apart by divisions: below this many innermost iterations
 * several of them go together. */
enum { ITEM_MIN = 2048 };

/* Innermost iterations of a list, at most and ITEM_MIN at most; a length without a known bound counts as long. */
static int64_t size_of(hn_nest *n, hn_st first) {
    int64_t sum = 0, e;
    for (hn_st id = first; id && sum < ITEM_MIN; id = n->st[id].next) {
        if (n->st[id].kind != HN_ST_LOOP) continue;
        hn_dim most = hn_ix_high(n, n->extent[n->st[id].var]);
        if (!most || !hn_dim_is_int(n->dims, most, &e)) return ITEM_MIN;
        int64_t inner = size_of(n, n->st[id].body);
        sum += e * (inner > 1 ? inner : 1) < ITEM_MIN ? e * (inner > 1 ? inner : 1) : ITEM_MIN;
    }
    return sum < ITEM_MIN ? sum : ITEM_MIN;
}

/* The loop's iterations, several to an item where they are short. False: it stays as it is. */
static bool make_items(hn_nest *n, hn_st loop) {
    int64_t e, size = size_of(n, n->st[loop].body), many = size ? ITEM_MIN / size : 1;
    if (many > 1) {
        if (hn_ix_is_int(n, n->extent[n->st[loop].var], &e) && e <= many) return false;
        if (!hn_loop_chunk(n, loop, many, NULL, NULL)) return false;
    }
    return hn_loop_parallelise(n, loop, NULL) && many <= 1;
}

void hn_nest_items(hn_nest *n) {
    hn_st at = n->first;
    while (at && n->st[at].kind == HN_ST_LET) at = n->st[at].next;
    while (at && n->st[at].kind == HN_ST_LOOP && n->st[at].loop == HN_SERIAL) {
        if (!hn_has_loop(n, n->st[at].body) || !make_items(n, at)) return;
        at = hn_lone_loop(n, n->st[at].body);
    }
}
