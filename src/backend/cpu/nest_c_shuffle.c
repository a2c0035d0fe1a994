/* backend/cpu/nest_c_shuffle.c — loads whose lanes lie at known distances: every other element, every third, backwards,
 * the channels of an image in turn. They are read as whole vectors ("windows") and put in order by shuffles.
 *
 * A window lies between the first and the last element that the lanes of the vector, and of its unrolled neighbours,
 * read: nothing is read that may lie outside of the buffer. Neighbours share windows where that needs no more of them.
 */
#include "backend/cpu/nest_c.h"

#include <stdlib.h>
#include <string.h>

enum { LANES_MOST = 64, ELEMENTS_MOST = 1024, WINDOWS_MOST = 4 };

/* -- where lanes read: distances from the place that all lanes share */

/* The value of an index that depends on lanes alone, at lane l of the vector loop. */
static bool known(const hn_c *c, hn_ix i, int64_t l, int64_t *value);

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b && (a < 0) != (b < 0)); }

static bool known_atom(const hn_c *c, const hn_atom *x, int64_t l, int64_t *value) {
    int64_t a, b;
    if (x->kind == HN_AT_VAR) {
        for (int k = 0; k < c->n_lane; k++)
            if (c->lane[k].var == x->id) return *value = c->lane[k].vector ? l : c->lane[k].at, true;
        return false;
    }
    if (x->kind == HN_AT_VALUE || !known(c, x->a, l, &a)) return false;
    if (x->b ? !known(c, x->b, l, &b) : !hn_dim_is_int(c->n->dims, x->by, &b)) return false;
    switch (x->kind) {
    case HN_AT_MIN: return *value = a < b ? a : b, true;
    case HN_AT_MAX: return *value = a > b ? a : b, true;
    default: break;
    }
    if (!b) return false;
    *value = x->kind == HN_AT_DIV ? floor_div(a, b) : a - b * floor_div(a, b);
    return true;
}

static bool known_term(const hn_c *c, const hn_term *t, int64_t l, int64_t *value) {
    int64_t k;
    if (!hn_dim_is_int(c->n->dims, t->coef, &k) || !known_atom(c, &c->n->atom[t->atom], l, value)) return false;
    return !__builtin_mul_overflow(*value, k, value);
}

static bool known(const hn_c *c, hn_ix i, int64_t l, int64_t *value) {
    const hn_linear *f = &c->n->ix[i];
    int64_t v;
    if (!hn_dim_is_int(c->n->dims, f->offset, value)) return false;
    for (uint32_t t = 0; t < f->n; t++)
        if (!known_term(c, &f->term[t], l, &v) || __builtin_add_overflow(*value, v, value)) return false;
    return true;
}

static bool has_lanes(const hn_c *c, const hn_atom *x) {
    uint32_t mask = x->kind == HN_AT_VALUE ? c->sv_mask[x->id] : 0;
    for (int k = 0; k < c->n_lane && x->kind == HN_AT_VAR; k++) mask |= c->lane[k].var == x->id;
    return mask || (x->a && hn_c_ix_mask(c, x->a)) || (x->b && hn_c_ix_mask(c, x->b));
}

/* What the lanes add to an index; false: that is no number. */
static bool distance(const hn_c *c, hn_ix i, int64_t l, int64_t *d) {
    const hn_linear *f = &c->n->ix[i];
    int64_t v;
    *d = 0;
    for (uint32_t t = 0; t < f->n; t++) {
        if (!has_lanes(c, &c->n->atom[f->term[t].atom])) continue;
        if (!known_term(c, &f->term[t], l, &v) || __builtin_add_overflow(*d, v, d)) return false;
    }
    return true;
}

/* -- windows */
typedef struct cover {
    int64_t at[ELEMENTS_MOST]; /* elements that are read, then the windows' first ones */
    int n, width, n_window;
} cover;

/* The elements of the vector that is being written or, from place k of lane[] on, of all its neighbours. */
static bool collect(hn_c *c, const hn_scalar *x, uint32_t mask, int k, cover *v) {
    if (k < c->n_lane) {
        hn_lane *l = &c->lane[k];
        int64_t here = l->at;
        bool fine = true;
        if (l->vector || !(mask >> k & 1)) return collect(c, x, mask, k + 1, v);
        for (l->at = 0; l->at < l->n && fine; l->at++) fine = collect(c, x, mask, k + 1, v);
        l->at = here;
        return fine;
    }
    for (int l = 0; l < c->width; l++)
        if (v->n == ELEMENTS_MOST || !distance(c, x->at, l, &v->at[v->n++])) return false;
    return true;
}

static int by_place(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Each window begins with the first element that none before it has, or ends with the last. False: there are fewer
 * elements from first to last than a short vector has. */
static bool place_windows(hn_c *c, cover *v) {
    qsort(v->at, (size_t)v->n, sizeof *v->at, by_place);
    int64_t last = v->at[v->n - 1], all = last - v->at[0] + 1, end = v->at[0];
    for (v->width = c->width; v->width > all;) v->width /= 2;
    for (int i = 0; i < v->n; i++) {
        if (v->at[i] < end) continue;
        int64_t from = v->at[i] + v->width - 1 > last ? last - v->width + 1 : v->at[i];
        v->at[v->n_window++] = from;
        end = from + v->width;
    }
    return v->width >= 4;
}

static int window_of(const cover *v, int64_t d) {
    int k = 0;
    while (v->at[k] + v->width <= d) k++;
    return k;
}

/* The windows that the lanes need, in order. */
static int used(const cover *v, const int64_t *d, int width, int *window) {
    int n = 0;
    for (int k = 0; k < v->n_window; k++) {
        bool uses = false;
        for (int l = 0; l < width && !uses; l++) uses = window_of(v, d[l]) == k;
        if (uses && n++ < WINDOWS_MOST) window[n - 1] = k;
    }
    return n;
}

/* -- text */
/* So many elements from the one at distance d on. */
static void load_window(hn_c *c, hn_str *out, const hn_scalar *x, const char *type, int width, int64_t d) {
    int64_t here[HN_LANES_MAX], zero;
    c->widths |= (uint32_t)width;
    for (int k = 0; k < c->n_lane; k++) here[k] = c->lane[k].at, c->lane[k].at = 0;
    hn_str_addf(out, "*(const hnk_%s_x%du *)(&", type, width);
    distance(c, x->at, 0, &zero);
    hn_c_access(c, out, x->buf, x->at, "0");
    hn_str_addf(out, " + (%lld))", (long long)(d - zero));
    for (int k = 0; k < c->n_lane; k++) c->lane[k].at = here[k];
}

/* Where lane l comes from when window n - 1 joins those before it, which are in order where there are two; -1: from one
 * that is yet to come. */
static int64_t place(const cover *v, int64_t d, const int *window, int n, int l) {
    int k = window_of(v, d);
    if (k > window[n - 1]) return -1;
    if (k < window[n - 1] && n > 2) return l;
    return (k == window[n - 1] && n > 1 ? v->width : 0) + d - v->at[k];
}

/* The first n windows, in the lanes' order. */
static void merge(hn_c *c, hn_str *out, const hn_scalar *x, const char *type, const cover *v, const int64_t *d,
                  const int *window, int n) {
    hn_str_add(out, "__builtin_shufflevector(");
    if (n > 2)
        merge(c, out, x, type, v, d, window, n - 1);
    else
        load_window(c, out, x, type, v->width, v->at[window[0]]);
    hn_str_add(out, ", ");
    load_window(c, out, x, type, v->width, v->at[window[n - 1]]);
    for (int l = 0; l < c->width; l++) hn_str_addf(out, ", %lld", (long long)place(v, d[l], window, n, l));
    hn_str_add(out, ")");
}

static bool windows(hn_c *c, const hn_scalar *x, uint32_t mask, const int64_t *d, cover *v, int *window, int *n) {
    v->n = v->n_window = 0;
    if (!collect(c, x, mask, 0, v) || !place_windows(c, v)) return false;
    *n = used(v, d, c->width, window);
    return *n <= (v->width < c->width ? 2 : WINDOWS_MOST) && 2 * *n <= c->width;
}

bool hn_c_shuffled(hn_c *c, hn_str *out, const hn_scalar *x, const char *type, bool alone) {
    int64_t d[LANES_MOST];
    cover own, all;
    int window[2][WINDOWS_MOST], n[2];
    uint32_t mask = hn_c_ix_mask(c, x->at);
    if (c->width > LANES_MOST) return false;
    for (int l = 0; l < c->width; l++)
        if (!distance(c, x->at, l, &d[l])) return false;
    if (!windows(c, x, 0, d, &own, window[0], &n[0])) n[0] = INT32_MAX;
    if (alone || !windows(c, x, mask, d, &all, window[1], &n[1])) n[1] = INT32_MAX;
    int which = n[1] <= n[0];
    if (n[which] == INT32_MAX) return false;
    merge(c, out, x, type, which ? &all : &own, d, window[which], n[which]);
    return true;
}
