/* engine/trees.c — random forests on level histograms.
 *
 * Breiman (2001); the best cut of a feature comes from one pass that adds each row's target to its level's bin, then
 * one pass over the levels present (as in LightGBM, Ke et al. 2017), unordered levels in the order of their means,
 * which is optimal for two classes and least squares (Fisher 1958). A cut between two levels that are far apart is
 * placed at random between them, so that trees differ where nothing is known. Beyond 128 rows a tree sees a bag of half
 * the rows: as good on the recorded spaces, in half the time. */
#include "engine/trees.h"

#include "base/err.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEVELS = 64, MOST_TRIED = 40, MOST_LOOKED = 3, FEW_ROWS = 12, SMALL_BAG = 64 };

typedef struct node {
    uint64_t left_levels;
    uint32_t left; /* right is left + 1; a leaf leads to itself */
    uint32_t feature;
    float mean, square; /* of the rows: mean and mean of squares */
} node;

typedef struct range {
    uint32_t node, from, to, depth;
} range;

struct hn_trees {
    size_t n_features, n_trees, min_leaf, n_try;
    bool bootstrap;
    bool *ordered;
    unsigned char *top; /* greatest code of each feature */
    node *nodes;        /* n_trees * most */
    uint32_t *depth;    /* of each tree: cuts on the longest way to a leaf */
    size_t most;
    /* scratch of a fit */
    size_t room;
    unsigned char *column; /* transposed codes */
    float *target;         /* of the node's rows, in their order */
    uint32_t *row;
    uint32_t *spare;
    range *stack;
    uint32_t *feature;
    float *floats; /* the caller's */
    size_t n_floats;
};

hone_rc hn_trees_new(size_t n_features, const bool *ordered, const hn_trees_spec *spec, hn_trees **out, hone_err *err) {
    hn_trees *t = calloc(1, sizeof *t);
    if (t) {
        t->n_features = n_features;
        t->n_trees = spec->n_trees;
        t->min_leaf = spec->min_leaf ? spec->min_leaf : 1;
        t->n_try = (size_t)ceil(spec->features * (double)n_features);
        if (t->n_try < 1) t->n_try = 1;
        if (t->n_try > MOST_TRIED) t->n_try = MOST_TRIED;
        if (t->n_try > n_features) t->n_try = n_features;
        t->bootstrap = spec->bootstrap;
        t->ordered = malloc(n_features + 1);
        t->top = malloc(n_features + 1);
        t->depth = calloc(t->n_trees + 1, sizeof *t->depth);
        t->feature = calloc(n_features + 1, sizeof *t->feature);
    }
    if (!t || !t->ordered || !t->top || !t->depth || !t->feature) {
        hn_trees_free(t);
        return hn_fail(err, HONE_E_NOMEM, "out of memory for a forest of %zu features", n_features);
    }
    memcpy(t->ordered, ordered, n_features);
    *out = t;
    return HONE_OK;
}

static void drop_rows(hn_trees *t) {
    free(t->nodes);
    free(t->column);
    free(t->target);
    free(t->row);
    free(t->spare);
    free(t->stack);
}

void hn_trees_free(hn_trees *t) {
    if (!t) return;
    drop_rows(t);
    free(t->ordered);
    free(t->floats);
    free(t->top);
    free(t->depth);
    free(t->feature);
    free(t);
}

hone_rc hn_trees_floats(hn_trees *t, size_t n, float **out, hone_err *err) {
    if (n > t->n_floats) {
        size_t room = n + n / 2 + 64;
        float *floats = malloc(room * sizeof *floats);
        if (!floats) return hn_fail(err, HONE_E_NOMEM, "out of memory for a forest over %zu rows", n);
        free(t->floats);
        t->floats = floats, t->n_floats = room;
    }
    *out = t->floats;
    return HONE_OK;
}

static hone_rc make_room(hn_trees *t, size_t n, hone_err *err) {
    if (n <= t->room) return HONE_OK;
    size_t room = n + n / 2 + 16;
    drop_rows(t);
    t->room = room;
    t->most = 2 * room;
    t->nodes = calloc(t->n_trees * t->most, sizeof *t->nodes);
    t->column = malloc(room * t->n_features + 1);
    t->target = calloc(room, sizeof *t->target);
    t->row = calloc(room, sizeof *t->row);
    t->spare = calloc(room, sizeof *t->spare);
    t->stack = calloc(room + 1, sizeof *t->stack);
    if (t->nodes && t->column && t->target && t->row && t->spare && t->stack) return HONE_OK;
    t->room = 0;
    return hn_fail(err, HONE_E_NOMEM, "out of memory for a forest over %zu rows", n);
}

/* --- splitting ------------------------------------------------------------------------------------------------- */

typedef struct bins {
    uint64_t present;
    struct {
        float sum, count; /* side by side: a row touches one cache line */
    } at[LEVELS];
} bins;

typedef struct cut {
    uint64_t left_levels;
    uint32_t feature;
    float gain;
} cut;

static void fill(bins *b, const unsigned char *column, unsigned top, const float *y, const uint32_t *row, size_t n) {
    uint64_t present = 0;
    for (unsigned l = 0; l <= top; l++) b->at[l].sum = b->at[l].count = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned l = column[row[i]];
        present |= (uint64_t)1 << l;
        b->at[l].sum += y[i];
        b->at[l].count += 1;
    }
    b->present = present;
}

static uint64_t below(unsigned level) { return level >= 64 ? UINT64_MAX : ((uint64_t)1 << level) - 1; }

/* Levels present, lowest first, or by their mean. */
static size_t list_levels(const bins *b, bool ordered, unsigned char *level) {
    size_t n = 0;
    for (uint64_t p = b->present; p; p &= p - 1) level[n++] = (unsigned char)__builtin_ctzll(p);
    if (ordered) return n;
    for (size_t i = 1; i < n; i++) {
        unsigned char l = level[i];
        float mean = b->at[l].sum / b->at[l].count;
        size_t k = i;
        for (; k && b->at[level[k - 1]].sum / b->at[level[k - 1]].count > mean; k--) level[k] = level[k - 1];
        level[k] = l;
    }
    return n;
}

static uint64_t levels_left(const unsigned char *level, size_t k, bool ordered, hn_rng *rng) {
    if (ordered) {
        unsigned gap = (unsigned)level[k] - level[k - 1];
        return below(level[k - 1] + 1u + (gap > 1 ? (unsigned)hn_rng_below(rng, gap) : 0));
    }
    uint64_t left = 0, known = 0;
    for (size_t i = 0; i < k; i++) left |= (uint64_t)1 << level[i];
    known = left; /* levels without rows may go to either side */
    return left | (hn_rng_next(rng) & ~known);
}

static void best_cut(const hn_trees *t, const bins *b, uint32_t f, float sum, float n, hn_rng *rng, cut *best) {
    unsigned char level[LEVELS];
    bool ordered = t->ordered[f];
    size_t n_levels = list_levels(b, ordered, level), at = 0;
    float ls = 0, ln = 0, gain = best->gain, least = (float)t->min_leaf;
    for (size_t k = 1; k < n_levels; k++) {
        ls += b->at[level[k - 1]].sum;
        ln += b->at[level[k - 1]].count;
        float rn = n - ln, rs = sum - ls;
        if (ln < least || rn < least) continue;
        float g = ls * ls / ln + rs * rs / rn;
        if (g > gain) gain = g, at = k;
    }
    if (!at) return;
    uint64_t left = levels_left(level, at, ordered, rng);
    if (!ordered)
        for (size_t k = at; k < n_levels; k++) left &= ~((uint64_t)1 << level[k]);
    *best = (cut){left, f, gain};
}

/* Best of n_try random features that vary here (those that do not are replaced, within limits). */
static cut find_cut(hn_trees *t, const range *r, size_t n, float sum, hn_rng *rng) {
    const uint32_t *row = t->row + r->from;
    size_t rows = r->to - r->from;
    cut best = {0, UINT32_MAX, sum * sum / (float)rows * (1 + 1e-6f) + 1e-12f};
    size_t n_try = rows < FEW_ROWS ? (t->n_try + 2) / 3 : t->n_try; /* most nodes are small and have little influence */
    bins b;
    for (size_t i = 0, tried = 0; i < t->n_features && tried < n_try && i < MOST_LOOKED * n_try; i++) {
        size_t j = i + (size_t)hn_rng_below(rng, t->n_features - i);
        uint32_t f = t->feature[j];
        t->feature[j] = t->feature[i];
        t->feature[i] = f;
        const unsigned char *column = t->column + f * n;
        fill(&b, column, t->top[f], t->target, row, rows);
        if (!(b.present & (b.present - 1))) continue;
        best_cut(t, &b, f, sum, (float)rows, rng, &best);
        tried++;
    }
    return best;
}

static uint32_t partition(hn_trees *t, const cut *c, const range *r, size_t n) {
    const unsigned char *column = t->column + c->feature * n;
    uint32_t to = r->from, right = 0;
    for (uint32_t i = r->from; i < r->to; i++) {
        if (c->left_levels >> column[t->row[i]] & 1)
            t->row[to++] = t->row[i];
        else
            t->spare[right++] = t->row[i];
    }
    memcpy(t->row + to, t->spare, right * sizeof *t->spare);
    return to;
}

/* Returns the depth of the tree. */
static uint32_t grow(hn_trees *t, node *nodes, const float *y, size_t n, hn_rng *rng) {
    size_t bag = !t->bootstrap || n < SMALL_BAG ? n : n / 2 > SMALL_BAG ? n / 2 : SMALL_BAG;
    for (size_t i = 0; i < bag; i++) t->row[i] = (uint32_t)(t->bootstrap ? hn_rng_below(rng, n) : i);
    for (size_t f = 0; f < t->n_features; f++) t->feature[f] = (uint32_t)f;
    size_t waiting = 0;
    uint32_t used = 1, deepest = 0;
    t->stack[waiting++] = (range){0, 0, (uint32_t)bag, 0};
    while (waiting) {
        range r = t->stack[--waiting];
        float sum = 0, square = 0, count = (float)(r.to - r.from);
        for (uint32_t i = r.from; i < r.to; i++) {
            float v = t->target[i - r.from] = y[t->row[i]];
            sum += v;
            square += v * v;
        }
        node *at = &nodes[r.node];
        *at = (node){.left_levels = UINT64_MAX, .left = r.node, .mean = sum / count, .square = square / count};
        if (r.depth > deepest) deepest = r.depth;
        if (r.to - r.from < 2 * t->min_leaf || square - sum * sum / count <= 1e-7f * square) continue;
        cut c = find_cut(t, &r, n, sum, rng);
        if (c.feature == UINT32_MAX) continue;
        uint32_t middle = partition(t, &c, &r, n);
        at->left_levels = c.left_levels;
        at->feature = c.feature;
        at->left = used;
        used += 2;
        t->stack[waiting++] = (range){at->left, r.from, middle, r.depth + 1};
        t->stack[waiting++] = (range){at->left + 1, middle, r.to, r.depth + 1};
    }
    return deepest;
}

hone_rc hn_trees_fit(hn_trees *t, const unsigned char *x, const float *y, size_t n, uint64_t seed, hone_err *err) {
    hone_rc rc = make_room(t, n, err);
    if (rc) return rc;
    memset(t->top, 0, t->n_features);
    for (size_t i = 0; i < n; i++)
        for (size_t f = 0; f < t->n_features; f++) {
            unsigned char l = x[i * t->n_features + f];
            t->column[f * n + i] = l;
            if (l > t->top[f]) t->top[f] = l;
        }
    for (size_t k = 0; k < t->n_trees; k++) {
        hn_rng rng = hn_rng_make(seed, k);
        t->depth[k] = grow(t, t->nodes + k * t->most, y, n, &rng);
    }
    return HONE_OK;
}

/* --- predicting ------------------------------------------------------------------------------------------------ */

/* The leaves of ABREAST points, traversed together and always to the tree's depth: no branch depends on the data, and
 * the load latencies of one walk overlap those of the others. */
enum { ABREAST = 8 };

static void find_leaves(const node *nodes, uint32_t depth, const unsigned char *const x[ABREAST],
                        uint32_t at[ABREAST]) {
    for (size_t j = 0; j < ABREAST; j++) at[j] = 0;
    for (uint32_t d = 0; d < depth; d++)
        for (size_t j = 0; j < ABREAST; j++) {
            const node *here = nodes + at[j];
            at[j] = here->left + !(here->left_levels >> x[j][here->feature] & 1);
        }
}

static void add_block(const hn_trees *t, const unsigned char *x, size_t n, float *mean, float *square) {
    const unsigned char *point[ABREAST];
    for (size_t j = 0; j < ABREAST; j++) point[j] = x + (j < n ? j : 0) * t->n_features;
    for (size_t k = 0; k < t->n_trees; k++) {
        const node *nodes = t->nodes + k * t->most;
        uint32_t at[ABREAST];
        find_leaves(nodes, t->depth[k], point, at);
        for (size_t j = 0; j < n; j++) {
            mean[j] += nodes[at[j]].mean;
            square[j] += nodes[at[j]].square;
        }
    }
}

void hn_trees_predict(const hn_trees *t, const unsigned char *x, size_t n, float *mean, float *sd) {
    float scale = 1.0f / (float)t->n_trees;
    for (size_t i = 0; i < n; i += ABREAST) {
        size_t m = n - i < ABREAST ? n - i : ABREAST;
        float sum[ABREAST] = {0}, square[ABREAST] = {0};
        add_block(t, x + i * t->n_features, m, sum, square);
        for (size_t j = 0; j < m; j++) {
            mean[i + j] = sum[j] * scale;
            float var = square[j] * scale - mean[i + j] * mean[i + j];
            if (sd) sd[i + j] = sqrtf(var > 0 ? var : 0);
        }
    }
}
