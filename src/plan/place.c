/* place.c — offsets in the arena. Artifacts carry this text, so it includes nothing but plan.h.
 *
 * Greedy placement after Pisarchyk & Lee (2020): take the items in some order, put each into the smallest gap that the
 * items alive at the same time leave (best fit), else behind them. Which order is best differs from model to model, so
 * four are tried and the smallest arena is taken. Quadratic in the number of items, without memory of its own.
 */
#include "plan/plan.h"

typedef struct placer {
    hn_plan_item *item;
    int32_t n, n_group;
    int32_t *order, *first, *last, *placed; /* first, last: of the group whose root has that index */
} placer;

static int32_t root_of(const hn_plan_item *item, int32_t i) {
    while (item[i].shares >= 0) i = item[i].shares;
    return i;
}

static int64_t round_up(int64_t n) { return (n + 63) / 64 * 64; }

/* Items that share memory are one: alive from the first to the last of them. */
static void make_groups(placer *p) {
    p->n_group = 0;
    for (int32_t i = 0; i < p->n; i++) {
        if (p->item[i].shares < 0) p->order[p->n_group++] = i;
        p->first[i] = p->item[i].first;
        p->last[i] = p->item[i].last;
    }
    for (int32_t i = 0; i < p->n; i++) {
        int32_t r = root_of(p->item, i);
        if (p->item[i].first < p->first[r]) p->first[r] = p->item[i].first;
        if (p->item[i].last > p->last[r]) p->last[r] = p->item[i].last;
    }
}

typedef enum rule { BY_SIZE, BY_START, BY_AREA, BY_END, N_RULES } rule;

static double weight(const placer *p, rule r, int32_t i) {
    double size = (double)p->item[i].size_b, span = 1.0 + p->last[i] - p->first[i];
    switch (r) {
    case BY_SIZE: return size;
    case BY_AREA: return size * span;
    case BY_END: return p->last[i];
    default: return -p->first[i];
    }
}

/* Heaviest first, equals by size, then by index: the order is one whatever was in the array before. */
static int before(const placer *p, rule r, int32_t a, int32_t b) {
    double x = weight(p, r, a), y = weight(p, r, b);
    if (x != y) return x > y;
    if (p->item[a].size_b != p->item[b].size_b) return p->item[a].size_b > p->item[b].size_b;
    return a < b;
}

static void sift(placer *p, rule r, int32_t at, int32_t n) {
    for (int32_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && before(p, r, p->order[child], p->order[child + 1])) child++;
        if (!before(p, r, p->order[at], p->order[child])) return;
        int32_t t = p->order[at];
        p->order[at] = p->order[child];
        p->order[child] = t;
    }
}

static void sort(placer *p, rule r) { /* heapsort: no stack, no library */
    for (int32_t i = p->n_group / 2; i-- > 0;) sift(p, r, i, p->n_group);
    for (int32_t n = p->n_group; n-- > 1;) {
        int32_t t = p->order[0];
        p->order[0] = p->order[n];
        p->order[n] = t;
        sift(p, r, 0, n);
    }
}

/* The lowest offset of the smallest gap that holds item i between those placed already, which lie in `placed` by
 * offset. */
static int64_t best_fit(const placer *p, int32_t n_placed, int32_t i) {
    int64_t size = p->item[i].size_b, end = 0, best = -1, best_gap = INT64_MAX;
    for (int32_t k = 0; k < n_placed; k++) {
        int32_t j = p->placed[k];
        if (p->last[j] < p->first[i] || p->first[j] > p->last[i]) continue;
        int64_t gap = p->item[j].offset - end, top = round_up(p->item[j].offset + p->item[j].size_b);
        if (gap >= size && gap < best_gap) best = end, best_gap = gap;
        if (top > end) end = top;
    }
    return best >= 0 ? best : end;
}

static int64_t place_all(placer *p, rule r) {
    int64_t arena_b = 0;
    sort(p, r);
    for (int32_t k = 0; k < p->n_group; k++) {
        int32_t i = p->order[k], at = k;
        int64_t offset = best_fit(p, k, i), top;
        p->item[i].offset = offset;
        for (; at > 0 && p->item[p->placed[at - 1]].offset > offset; at--) p->placed[at] = p->placed[at - 1];
        p->placed[at] = i;
        top = round_up(offset + p->item[i].size_b);
        if (top > arena_b) arena_b = top;
    }
    return arena_b;
}

int64_t hn_plan_place(hn_plan_item *item, int32_t n, int32_t *scratch) {
    placer p = {item, n, 0, scratch, scratch + n, scratch + 2 * (int64_t)n, scratch + 3 * (int64_t)n};
    int64_t arena_b = INT64_MAX;
    rule best = BY_SIZE, last = BY_SIZE;
    make_groups(&p);
    for (int r = 0; r < N_RULES; r++) {
        int64_t size_b = place_all(&p, (rule)r);
        last = (rule)r;
        if (size_b < arena_b) arena_b = size_b, best = last;
    }
    if (best != last) place_all(&p, best);
    for (int32_t i = 0; i < n; i++) item[i].offset = item[root_of(item, i)].offset;
    return n ? arena_b : 0;
}
