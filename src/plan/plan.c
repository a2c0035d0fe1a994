/* plan.c — how small an arena could be: the largest sum of sizes that are alive at one step.
 *
 * Sweep over the starts and ends of lifetimes in time order. Items that share memory count once, from the first to the
 * last of them.
 */
#include "plan/plan.h"

#include <stdlib.h>

typedef struct event {
    int32_t step;
    int64_t change_b; /* of what is alive, from this step on */
} event;

static int by_step(const void *a, const void *b) {
    const event *x = a, *y = b;
    if (x->step != y->step) return x->step < y->step ? -1 : 1;
    return (x->change_b > y->change_b) -
           (x->change_b < y->change_b); /* at one step, memory is freed before it is taken */
}

static int64_t largest_sum(event *e, int32_t n) {
    int64_t alive = 0, most = 0;
    qsort(e, (size_t)n, sizeof *e, by_step);
    for (int32_t i = 0; i < n; i++) {
        alive += e[i].change_b;
        if (alive > most) most = alive;
    }
    return most;
}

int64_t hn_plan_lower_bound(const hn_plan_item *item, int32_t n) {
    event *e = n > 0 ? calloc(2 * (size_t)n, sizeof *e) : NULL;
    if (n <= 0) return 0;
    if (!e) return -1;
    for (int32_t i = 0; i < n; i++) { /* e[2r], e[2r + 1]: birth of group r, and the step after its last */
        int64_t size_b = item[i].shares < 0 ? (item[i].size_b + 63) / 64 * 64 : 0;
        e[2 * i] = (event){item[i].first, size_b};
        e[2 * i + 1] = (event){item[i].last + 1, -size_b};
    }
    for (int32_t i = 0; i < n; i++) {
        int32_t r = i;
        while (item[r].shares >= 0) r = item[r].shares;
        if (item[i].first < e[2 * r].step) e[2 * r].step = item[i].first;
        if (item[i].last + 1 > e[2 * r + 1].step) e[2 * r + 1].step = item[i].last + 1;
    }
    int64_t most = largest_sum(e, 2 * n);
    free(e);
    return most;
}
