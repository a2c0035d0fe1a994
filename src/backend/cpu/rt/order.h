/* rt/order.h — sorting by 64-bit keys (convert.h, hnr_key_*): the k first of a line, distinct slices. Equal keys keep
 * their order. Needs base.h. */
#ifndef HNR_ORDER_H
#define HNR_ORDER_H

typedef struct hnr_pair {
    uint64_t key;
    int64_t at;
} hnr_pair;
HNR int hnr_before(hnr_pair a, hnr_pair b) { return a.key < b.key || (a.key == b.key && a.at < b.at); }

/* p[0 … n) is a heap, the last of all on top, but for p[i]. */
HNR void hnr_pair_sift(HNR_GLOBAL hnr_pair *p, int64_t i, int64_t n) {
    hnr_pair x = p[i];
    for (int64_t j; (j = 2 * i + 1) < n; i = j) {
        if (j + 1 < n && hnr_before(p[j], p[j + 1])) j++;
        if (!hnr_before(x, p[j])) break;
        p[i] = p[j];
    }
    p[i] = x;
}
/* p holds the k first of those given so far (k > 0), from the k-th on as a heap; x is given after i others. */
HNR void hnr_keep(HNR_GLOBAL hnr_pair *p, int64_t i, int64_t k, hnr_pair x) {
    if (i < k) {
        p[i] = x;
        for (int64_t j = i == k - 1 ? k / 2 : 0; j-- > 0;) hnr_pair_sift(p, j, k);
    } else if (hnr_before(x, p[0])) {
        p[0] = x;
        hnr_pair_sift(p, 0, k);
    }
}
/* Puts those that were kept in order. */
HNR void hnr_in_order(HNR_GLOBAL hnr_pair *p, int64_t k) {
    for (int64_t i = k; i-- > 1;) {
        hnr_pair last = p[0];
        p[0] = p[i];
        p[i] = last;
        hnr_pair_sift(p, 0, i);
    }
}
/* Brings the k first of n pairs to the front, in order (k <= n); the others are lost. */
HNR void hnr_first(HNR_GLOBAL hnr_pair *p, int64_t n, int64_t k) {
    for (int64_t i = 0; i < n && k > 0; i++) hnr_keep(p, i, k, p[i]);
    hnr_in_order(p, k);
}

/* Slices of key[outer][n][inner] along the middle dimension, compared element by element in row-major order. */
typedef struct hnr_slices {
    HNR_GLOBAL const uint64_t *key;
    int64_t outer, n, inner;
} hnr_slices;
HNR int hnr_slice_compare(const hnr_slices *s, int64_t a, int64_t b) {
    for (int64_t o = 0; o < s->outer; o++)
        for (int64_t i = 0; i < s->inner; i++) {
            uint64_t x = s->key[(o * s->n + a) * s->inner + i], y = s->key[(o * s->n + b) * s->inner + i];
            if (x != y) return x < y ? -1 : 1;
        }
    return 0;
}
HNR int hnr_slice_before(const hnr_slices *s, int64_t a, int64_t b) {
    int c = hnr_slice_compare(s, a, b);
    return c < 0 || (c == 0 && a < b);
}
HNR void hnr_slice_sift(const hnr_slices *s, HNR_GLOBAL int64_t *order, int64_t i, int64_t n) {
    int64_t x = order[i];
    for (int64_t j; (j = 2 * i + 1) < n; i = j) {
        if (j + 1 < n && hnr_slice_before(s, order[j], order[j + 1])) j++;
        if (!hnr_slice_before(s, x, order[j])) break;
        order[i] = order[j];
    }
    order[i] = x;
}

/* Numbers the distinct slices, ascending (sorted) or as they appear: how many there are; first[g] is where group g
 * appears first, count[g] how often, inverse[i] the group of slice i. order: scratch of n; all of n entries. */
HNR int64_t hnr_unique(const hnr_slices *s, int sorted, HNR_GLOBAL int64_t *order, HNR_GLOBAL int64_t *first,
                       HNR_GLOBAL int64_t *inverse, HNR_GLOBAL int64_t *count) {
    int64_t n = s->n, groups = 0;
    for (int64_t i = 0; i < n; i++) order[i] = i;
    for (int64_t i = n / 2; i-- > 0;) hnr_slice_sift(s, order, i, n);
    for (int64_t i = n; i-- > 1;) {
        int64_t last = order[0];
        order[0] = order[i];
        order[i] = last;
        hnr_slice_sift(s, order, 0, i);
    }
    for (int64_t i = 0; i < n; i++) { /* the first of a group is its lowest: its leader */
        int same = i > 0 && hnr_slice_compare(s, order[i - 1], order[i]) == 0;
        inverse[order[i]] = same ? inverse[order[i - 1]] : order[i];
        if (!same) first[groups++] = order[i];
    }
    if (!sorted) {
        groups = 0;
        for (int64_t i = 0; i < n; i++)
            if (inverse[i] == i) first[groups++] = i;
    }
    for (int64_t g = 0; g < groups; g++) {
        order[first[g]] = g;
        count[g] = 0;
    }
    for (int64_t i = 0; i < n; i++) {
        inverse[i] = order[inverse[i]];
        count[inverse[i]]++;
    }
    return groups;
}

#endif
