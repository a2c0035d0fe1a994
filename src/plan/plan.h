/* plan/plan.h — the static memory plan: lifetimes become offsets in one arena.
 *
 * Greedy with best fit (Pisarchyk & Lee 2020, "Efficient memory management for deep neural net inference"), in several
 * orders; the smallest result is taken. The lower bound is the largest sum of sizes alive at one step. hn_plan_place is
 * plain C without dependencies: the artifact carries the same text to plan at run time when sizes are symbolic.
 */
#ifndef HN_PLAN_H
#define HN_PLAN_H

#include <stdint.h>

typedef struct hn_plan_item {
    int64_t size_b;      /* >= 0 */
    int32_t first, last; /* steps in which it is alive, both included */
    int32_t shares;      /* index of the item whose memory it takes over (in place), or -1; no cycles */
    int64_t offset;      /* result, a multiple of 64 */
} hn_plan_item;
/* Returns the arena's size in bytes. An item that shares is no larger than what it takes over. scratch: 4 * n entries.
 */
int64_t hn_plan_place(hn_plan_item *item, int32_t n, int32_t *scratch);
/* Whatever the offsets: no arena is smaller. -1: out of memory. */
int64_t hn_plan_lower_bound(const hn_plan_item *item, int32_t n);

#endif
