/* engine/active.c — classes of equal programs, what they clear, and who is to blame where programs differ. */
#include "engine/active.h"

#include "base/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* SPOTS: as many values are told apart one by one, as hn_genes_leap does. NEAR: rows that a new one is compared with.
 * SET_MOST: a larger set says nothing about one of its genes. */
enum { SPOTS = 8, NEAR = 2000, SET_MOST = 120 };
/* What the prior chance is worth, in observations. */
static const double prior_weight = 0.25;
static const float least_chance = 0.003f;

void hn_active_free(hn_active *a) {
    free(a->level);
    free(a->chance);
    free(a->blame);
    free(a->seen);
    free(a->cleared);
    free(a->work);
    for (size_t i = 0; i < HN_ACTIVE_SETS; i++) free(a->set[i].gene);
    *a = (hn_active){0};
}

static hone_rc open_active(hn_active *a, const hn_genes *genes, hone_err *err) {
    a->n_genes = genes->n;
    a->chance = malloc((genes->n + 1) * sizeof *a->chance);
    a->blame = malloc((genes->n + 1) * sizeof *a->blame);
    a->seen = malloc((genes->n + 1) * sizeof *a->seen);
    a->work = malloc(genes->n + 1);
    if (!a->chance || !a->blame || !a->seen || !a->work)
        return hn_fail(err, HONE_E_NOMEM, "out of memory for what parameters do");
    for (size_t k = 0; k < genes->n; k++) a->chance[k] = (float)HN_ACTIVE_PRIOR;
    return HONE_OK;
}

static hone_rc make_room(hn_active *a, size_t n, hone_err *err) {
    if (n <= a->room) return HONE_OK;
    size_t room = n + n / 2 + 64;
    unsigned char *level = realloc(a->level, room * a->n_genes + 1);
    if (!level) return hn_fail(err, HONE_E_NOMEM, "out of memory for what parameters do");
    a->level = level;
    a->room = room;
    return HONE_OK;
}

static const unsigned char *level_of(const hn_active *a, size_t row) { return a->level + row * a->n_genes; }

/* --- what a class clears ------------------------------------------------------------------------------------------ */

/* Of a number with many values, all between two of a class. */
static bool has_range(const hn_feature *g) {
    return (g->kind == HONE_INT || g->kind == HONE_FLOAT) && (!g->n_levels || g->n_levels > SPOTS);
}

static uint64_t filled(uint64_t bits) {
    uint64_t absent = bits & (UINT64_C(1) << HN_ABSENT), present = bits & ~(UINT64_C(1) << HN_ABSENT);
    if (!present) return bits;
    int lo = 0, hi = HN_ABSENT - 1;
    while (!(present >> lo & 1)) lo++;
    while (!(present >> hi & 1)) hi--;
    return absent | (((UINT64_C(1) << (hi - lo + 1)) - 1) << lo);
}

const uint64_t *hn_active_class(const hn_active *a, uint64_t code) {
    size_t n = a->n_classes < HN_ACTIVE_CLASSES ? a->n_classes : HN_ACTIVE_CLASSES;
    for (size_t i = 0; code && i < n; i++)
        if (a->code[i] == code) return a->cleared + i * a->n_genes;
    return NULL;
}

/* Place of a class that is new. */
static hone_rc add_class(hn_active *a, uint64_t code, uint64_t **out, hone_err *err) {
    size_t i = a->n_classes % HN_ACTIVE_CLASSES;
    if (i >= a->class_room) {
        size_t room = a->class_room ? 2 * a->class_room : 64;
        uint64_t *cleared = realloc(a->cleared, (room * a->n_genes + 1) * sizeof *cleared);
        if (!cleared) return hn_fail(err, HONE_E_NOMEM, "out of memory for what parameters do");
        a->cleared = cleared;
        a->class_room = room;
    }
    a->code[i] = code;
    a->n_classes++;
    *out = a->cleared + i * a->n_genes;
    memset(*out, 0, a->n_genes * sizeof **out);
    return HONE_OK;
}

/* The row joins its class. */
static hone_rc clear(hn_active *a, const hn_genes *genes, uint64_t code, const unsigned char *level, hone_err *err) {
    const uint64_t *known = hn_active_class(a, code);
    uint64_t *class = known ? a->cleared + (known - a->cleared) : NULL;
    hone_rc rc = class ? HONE_OK : add_class(a, code, &class, err);
    for (size_t k = 0; !rc && k < a->n_genes; k++) {
        class[k] |= UINT64_C(1) << level[k];
        if (has_range(&genes->gene[k])) class[k] = filled(class[k]);
    }
    return rc;
}

static bool in_class(const hn_active *a, const uint64_t *class, const unsigned char *level) {
    for (size_t k = 0; k < a->n_genes; k++)
        if (!hn_active_cleared(class, k, level[k])) return false;
    return true;
}

bool hn_active_seen(const hn_active *a, const hn_genes *genes, const double *x) {
    size_t n = a->n_classes < HN_ACTIVE_CLASSES ? a->n_classes : HN_ACTIVE_CLASSES;
    if (!n) return false;
    hn_genes_code(genes, x, a->work);
    for (size_t i = 0; i < n; i++)
        if (in_class(a, a->cleared + i * a->n_genes, a->work)) return true;
    return false;
}

float hn_active_chance(const hn_active *a, size_t gene) {
    return a->n_coded ? a->chance[gene] : (float)HN_ACTIVE_PRIOR;
}

/* --- who is to blame ---------------------------------------------------------------------------------------------- */

static size_t distance(const hn_active *a, size_t i, size_t j) {
    const unsigned char *p = level_of(a, i), *q = level_of(a, j);
    size_t n = 0;
    for (size_t k = 0; k < a->n_genes; k++) n += p[k] != q[k];
    return n;
}

/* The nearest earlier row with a code: one of the same program where there is one. SIZE_MAX: none. */
static size_t nearest(const hn_active *a, const hn_history *h, size_t row) {
    size_t best = SIZE_MAX, least = SIZE_MAX, first = row > NEAR ? row - NEAR : 0;
    bool same = false;
    for (size_t i = row; i-- > first;) {
        bool is_same = h->code[i] == h->code[row];
        if (!h->code[i] || (same && !is_same)) continue;
        size_t gap = distance(a, row, i);
        if (gap >= least && is_same == same) continue;
        best = i, least = gap, same = is_same;
    }
    return best;
}

/* What tells the row from a class. */
static hone_rc keep_set(hn_active *a, const unsigned char *level, const uint64_t *class, bool differs, hone_err *err) {
    hn_active_set *s = &a->set[a->n_sets % HN_ACTIVE_SETS];
    uint32_t n = 0;
    for (size_t k = 0; k < a->n_genes; k++) n += !hn_active_cleared(class, k, level[k]);
    if (!n || (differs && n > SET_MOST)) return HONE_OK;
    free(s->gene);
    *s = (hn_active_set){.gene = malloc(n * sizeof *s->gene), .differs = differs};
    if (!s->gene) return hn_fail(err, HONE_E_NOMEM, "out of memory for what parameters do");
    for (size_t k = 0; k < a->n_genes; k++)
        if (!hn_active_cleared(class, k, level[k])) s->gene[s->n++] = (uint32_t)k;
    a->n_sets++;
    return HONE_OK;
}

/* One step: each differing set spreads its blame by the chances, then each gene's chance is its share of blame. */
static void step(hn_active *a) {
    size_t n = a->n_sets < HN_ACTIVE_SETS ? a->n_sets : HN_ACTIVE_SETS;
    for (size_t k = 0; k < a->n_genes; k++) a->blame[k] = 0, a->seen[k] = 0;
    for (size_t i = 0; i < n; i++) {
        const hn_active_set *s = &a->set[i];
        double none = 1;
        for (size_t j = 0; j < s->n; j++) none *= 1 - a->chance[s->gene[j]], a->seen[s->gene[j]]++;
        for (size_t j = 0; s->differs && j < s->n; j++)
            a->blame[s->gene[j]] += (float)(a->chance[s->gene[j]] / fmax(1 - none, 1e-6));
    }
    for (size_t k = 0; k < a->n_genes; k++) {
        double chance = (HN_ACTIVE_PRIOR * prior_weight + a->blame[k]) / (prior_weight + a->seen[k]);
        a->chance[k] = fmaxf((float)chance, least_chance);
    }
}

static hone_rc learn(hn_active *a, const hn_history *h, size_t row, hone_err *err) {
    size_t near = nearest(a, h, row);
    const uint64_t *class = near == SIZE_MAX ? NULL : hn_active_class(a, h->code[near]);
    if (!class) return HONE_OK;
    hone_rc rc = keep_set(a, level_of(a, row), class, h->code[near] != h->code[row], err);
    if (!rc) step(a);
    return rc;
}

hone_rc hn_active_update(hn_active *a, const hn_genes *genes, const hn_history *h, hone_err *err) {
    if (!h->n_coded) return HONE_OK;
    if (a->epoch != h->epoch) {
        hn_active_free(a);
        a->epoch = h->epoch;
    }
    hone_rc rc = a->chance ? HONE_OK : open_active(a, genes, err);
    if (!rc) rc = make_room(a, h->n, err);
    for (; !rc && a->n < h->n; a->n++) {
        hn_genes_code(genes, hn_row(h, a->n), a->level + a->n * a->n_genes);
        if (!h->code[a->n]) continue;
        a->n_coded++;
        rc = learn(a, h, a->n, err);
        if (!rc) rc = clear(a, genes, h->code[a->n], level_of(a, a->n), err);
    }
    return rc;
}
