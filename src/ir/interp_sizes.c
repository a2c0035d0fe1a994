/* ir/interp_sizes.c — from concrete sizes to symbols and back.
 *
 * A type's dimension is an expression; a tensor gives its value. Known expressions are checked. An expression with one
 * unknown symbol is solved: a symbol alone at once, an affine one from two values, any other by bisection under the
 * assumption that it does not fall (floordiv, min, max of growing terms); whatever was found is checked by evaluation.
 * Expressions with several unknown symbols wait until the others are known.
 */
#include "ir/interp_int.h"

#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>

static hone_rc dim_text_fail(const hn_graph *g, hn_dim d, hone_rc rc, const char *before, const char *after,
                             hone_err *err) {
    hn_str s = {0};
    hn_dim_print(g->dims, d, &s);
    hn_fail(err, rc, "%s'%s'%s", before, s.text ? s.text : "?", after);
    hn_str_free(&s);
    return rc;
}

hone_rc hn_sizes_of(const hn_call *c, const hn_type *type, int64_t *dim) {
    for (size_t i = 0; i < type->rank; i++) {
        bool known = hn_dim_eval(c->g->dims, type->dim[i], c->symbol, &dim[i]);
        if (known && dim[i] >= 0) continue;
        char before[300];
        snprintf(before, sizeof before, "%.200s: dimension %zu of its result, ", hn_call_name(c), i);
        return dim_text_fail(c->g, type->dim[i], known ? HONE_E_INPUT : HONE_E_UNSUPPORTED, before,
                             known ? ", is negative for these sizes" : ", is not known before the run", c->err);
    }
    return HONE_OK;
}

/* The only unknown symbol of d; false when there are none or several. */
static bool one_unknown(const hn_graph *g, hn_dim d, const int64_t *symbol, hn_symbol *out) {
    size_t n = hn_dims_symbols(g->dims), found = 0;
    bool *used = calloc(n + 1, sizeof *used);
    if (!used) return false;
    hn_dim_mark(g->dims, d, used);
    for (size_t s = 0; s < n; s++)
        if (used[s] && symbol[s] == INT64_MIN) {
            *out = (hn_symbol)s;
            found++;
        }
    free(used);
    return found == 1;
}

static bool value_at(const hn_graph *g, hn_dim d, int64_t *symbol, hn_symbol s, int64_t x, int64_t *out) {
    symbol[s] = x;
    bool is = hn_dim_eval(g->dims, d, symbol, out);
    symbol[s] = INT64_MIN;
    return is;
}

/* x with d(x) = want. Leaves symbol[s] unknown. */
static bool solve(const hn_graph *g, hn_dim d, int64_t *symbol, hn_symbol s, int64_t want, int64_t *x) {
    int64_t f1, f2, got;
    if (value_at(g, d, symbol, s, 1, &f1) && value_at(g, d, symbol, s, 2, &f2) && f1 != f2 &&
        (want - f1) % (f2 - f1) == 0) {
        *x = 1 + (want - f1) / (f2 - f1);
        if (*x >= 0 && value_at(g, d, symbol, s, *x, &got) && got == want) return true;
    }
    int64_t low = 0, high = (int64_t)1 << 40;
    while (low < high) {
        int64_t mid = low + (high - low) / 2;
        if (value_at(g, d, symbol, s, mid, &got) && got < want)
            low = mid + 1;
        else
            high = mid;
    }
    *x = low;
    return value_at(g, d, symbol, s, low, &got) && got == want;
}

static hone_rc range_fits(const hn_graph *g, hn_symbol s, int64_t x, const char *what, size_t i, hone_err *err) {
    int64_t low, high;
    hn_symbol_range(g->dims, s, &low, &high);
    if (x >= low && x <= high) return HONE_OK;
    if (high == INT64_MAX)
        return hn_fail(err, HONE_E_INPUT, "%s: dimension %zu makes '%s' %lld; the least is %lld", what, i,
                       hn_symbol_name(g->dims, s), (long long)x, (long long)low);
    return hn_fail(err, HONE_E_INPUT, "%s: dimension %zu makes '%s' %lld; it must lie in %lld to %lld", what, i,
                   hn_symbol_name(g->dims, s), (long long)x, (long long)low, (long long)high);
}

static hone_rc wrong_size(const hn_graph *g, hn_dim d, int64_t want, bool known, int64_t got, size_t i,
                          const char *what, hone_err *err) {
    char before[400], after[64] = "";
    snprintf(before, sizeof before, "%.200s: dimension %zu is %lld, expected ", what, i, (long long)got);
    if (hn_dim_is_int(g->dims, d, NULL)) return hn_fail(err, HONE_E_INPUT, "%s%lld", before, (long long)want);
    if (known)
        snprintf(after, sizeof after, ", which is %lld here", (long long)want);
    else
        snprintf(after, sizeof after, ", which has no solution or more than one");
    return dim_text_fail(g, d, HONE_E_INPUT, before, after, err);
}

hone_rc hn_sizes_match(const hn_graph *g, const hn_type *type, const hn_tensor *t, int64_t *symbol, bool final,
                       size_t *found, const char *what, hone_err *err) {
    if (t->dtype != type->dtype)
        return hn_fail(err, HONE_E_INPUT, "%s: its element type is '%s', expected '%s'", what,
                       hone_dtype_name(t->dtype), hone_dtype_name(type->dtype));
    if (t->rank != type->rank)
        return hn_fail(err, HONE_E_INPUT, "%s: it has %d dimensions, expected %d", what, t->rank, type->rank);
    for (size_t i = 0; i < type->rank; i++) {
        hn_dim d = type->dim[i];
        hn_symbol s;
        int64_t want = 0, x;
        bool known = hn_dim_eval(g->dims, d, symbol, &want);
        if (known && want == t->dim[i]) continue;
        if (!known && one_unknown(g, d, symbol, &s)) {
            if (!solve(g, d, symbol, s, t->dim[i], &x)) return wrong_size(g, d, 0, false, t->dim[i], i, what, err);
            hone_rc rc = range_fits(g, s, x, what, i, err);
            if (rc) return rc;
            symbol[s] = x;
            (*found)++;
            continue;
        }
        if (known || final) return wrong_size(g, d, want, known, t->dim[i], i, what, err);
    }
    return HONE_OK;
}

/* Equalities with one unknown symbol define it; those without any are checked. */
static hone_rc relation(const hn_graph *g, const hn_relation *r, int64_t *symbol, size_t *found, const char *what,
                        hone_err *err) {
    int64_t a, b, x;
    hn_symbol s;
    bool has_a = hn_dim_eval(g->dims, r->a, symbol, &a);
    if (!r->b) {
        if (!has_a || a % r->by == 0) return HONE_OK;
        char after[100];
        snprintf(after, sizeof after, " is %lld, which is no multiple of %lld", (long long)a, (long long)r->by);
        char before[300];
        snprintf(before, sizeof before, "%.200s: the size ", what);
        return dim_text_fail(g, r->a, HONE_E_INPUT, before, after, err);
    }
    bool has_b = hn_dim_eval(g->dims, r->b, symbol, &b);
    if (has_a == has_b) {
        if (!has_a || a == b) return HONE_OK;
        hn_str t = {0};
        hn_dim_print(g->dims, r->b, &t);
        char before[300], after[400];
        snprintf(before, sizeof before, "%.200s: the size ", what);
        snprintf(after, sizeof after, " is %lld, but it must equal '%.200s', which is %lld", (long long)a,
                 t.text ? t.text : "?", (long long)b);
        hn_str_free(&t);
        return dim_text_fail(g, r->a, HONE_E_INPUT, before, after, err);
    }
    hn_dim open = has_a ? r->b : r->a;
    if (!one_unknown(g, open, symbol, &s) || !solve(g, open, symbol, s, has_a ? a : b, &x)) return HONE_OK;
    symbol[s] = x;
    (*found)++;
    return HONE_OK;
}

hone_rc hn_sizes_relations(const hn_graph *g, int64_t *symbol, size_t *found, const char *what, hone_err *err) {
    const hn_relation *list;
    size_t n = hn_dim_relations(g->dims, &list), before;
    hone_rc rc = HONE_OK;
    do {
        before = *found;
        for (size_t i = 0; rc == HONE_OK && i < n; i++) rc = relation(g, &list[i], symbol, found, what, err);
    } while (rc == HONE_OK && *found != before);
    return rc;
}
