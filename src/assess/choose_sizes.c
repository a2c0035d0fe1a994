/* choose_sizes.c — sizes for the inputs of a model: usual ones that its own relations allow.
 *
 * Each symbol that nothing else gives has a list of values (usual_sizes.h). A combination is taken when every relation
 * and range holds, and no tensor of the graph is empty; where there is none such, empty tensors are allowed.
 */
#include "assess/assess_int.h"
#include "assess/usual_sizes.h"
#include "base/err.h"
#include "base/str.h"
#include "ir/graph.h"

#include <hone/inputs.h>

#include <stdlib.h>
#include <string.h>

enum { MOST_TRIES = 50000, MOST_DIMS = 4096 };
static const int64_t most_elements = (int64_t)1 << 27; /* of one tensor */

typedef struct chooser {
    const hn_graph *g;
    hn_arena arena;
    int64_t *symbol; /* INT64_MIN: not known */
    hn_free_size *free;
    hn_symbol *of; /* free[i] is this one's */
    size_t n_free;
    hn_relation *fixed; /* sizes that the caller gave: a is a dimension, by its value */
    size_t n_fixed;
    hn_dim *dim; /* of the graph's values, each once */
    size_t n_dim;
    int64_t least; /* of a dimension */
} chooser;

/* --- what must hold ------------------------------------------------------------------------------------------------
 */

static bool eval(const chooser *c, hn_dim d, int64_t *out) {
    return hn_dim_eval(c->g->dims, hn_dim_standing(c->g->dims, d), c->symbol, out);
}

static bool relations_hold(const chooser *c) {
    const hn_relation *r;
    size_t n = hn_dim_relations(c->g->dims, &r);
    int64_t a, b;
    for (size_t i = 0; i < n; i++) {
        if (!hn_dim_eval(c->g->dims, r[i].a, c->symbol, &a)) continue;
        if (r[i].b ? hn_dim_eval(c->g->dims, r[i].b, c->symbol, &b) && a != b : a % r[i].by != 0) return false;
    }
    for (size_t i = 0; i < c->n_fixed; i++)
        if (eval(c, c->fixed[i].a, &a) && a != c->fixed[i].by) return false;
    return true;
}

/* Symbols that an equality gives in terms of others: their values, within their ranges. */
static bool follow(chooser *c) {
    for (hn_symbol s = 0; s < hn_dims_symbols(c->g->dims); s++) {
        int64_t low, high, x;
        hn_dim d = hn_dim_find(c->g->dims, hn_symbol_name(c->g->dims, s));
        if (hn_dim_standing(c->g->dims, d) == d || !eval(c, d, &x)) continue;
        hn_symbol_range(c->g->dims, s, &low, &high);
        if (x < low || x > high) return false;
        c->symbol[s] = x;
    }
    return true;
}

static bool tensors_fit(const chooser *c) {
    int64_t x;
    for (size_t i = 0; i < c->n_dim; i++)
        if (eval(c, c->dim[i], &x) && x < c->least) return false;
    for (uint32_t v = 1; v < c->g->n_value; v++) {
        const hn_type *t = hn_type_of(c->g, v);
        int64_t n = 1;
        bool fixed = true;
        for (size_t d = 0; d < t->rank; d++) fixed = fixed && hn_dim_is_int(c->g->dims, t->dim[d], NULL);
        for (size_t d = 0; d < t->rank && !fixed; d++)
            if (eval(c, t->dim[d], &x) && (__builtin_mul_overflow(n, x, &n) || n > most_elements)) return false;
    }
    return true;
}

static bool holds(void *arg) {
    chooser *c = arg;
    for (size_t i = 0; i < hn_dims_symbols(c->g->dims); i++) c->symbol[i] = INT64_MIN;
    for (size_t i = 0; i < c->n_free; i++) c->symbol[c->of[i]] = c->free[i].value[c->free[i].at];
    return follow(c) && relations_hold(c) && tensors_fit(c);
}

/* --- the search ----------------------------------------------------------------------------------------------------
 */

static bool search(chooser *c) {
    hn_size_search s = {.size = c->free, .n = c->n_free, .most_tries = MOST_TRIES, .holds = holds, .arg = c};
    for (c->least = 1; c->least >= 0; c->least--)
        if (hn_size_search_run(&s)) return true;
    return false;
}

static void add_dim(chooser *c, hn_dim d) {
    if (hn_dim_is_int(c->g->dims, d, NULL) || c->n_dim == MOST_DIMS) return;
    for (size_t i = 0; i < c->n_dim; i++)
        if (c->dim[i] == d) return;
    c->dim[c->n_dim++] = d;
}

/* The symbols that d is made of become free, in its place. */
static void add_free(chooser *c, hn_dim d, const hn_size_place *place) {
    size_t n = hn_dims_symbols(c->g->dims);
    bool *used = hn_alloc_n(&c->arena, n + 1, sizeof *used);
    if (!used) return;
    hn_dim_mark(c->g->dims, hn_dim_standing(c->g->dims, d), used);
    for (hn_symbol s = 0; s < n; s++) {
        int64_t low, high;
        bool there = !used[s] || c->n_free == HN_SIZES_FREE;
        for (size_t i = 0; i < c->n_free; i++) there |= c->of[i] == s;
        if (there) continue;
        hn_symbol_range(c->g->dims, s, &low, &high);
        c->free[c->n_free] = (hn_free_size){0};
        hn_size_list(&c->free[c->n_free], place, low, high);
        c->of[c->n_free] = s;
        c->n_free += c->free[c->n_free].n > 0;
    }
}

static void collect(chooser *c) {
    const hn_graph *g = c->g;
    for (uint32_t i = 0; i < g->block[0].n_param; i++) {
        const hn_type *t = hn_type_of(g, g->block[0].param[i]);
        for (size_t d = 0; d < t->rank; d++) {
            hn_symbol s;
            if (!hn_dim_is_symbol(g->dims, t->dim[d], &s)) continue;
            hn_size_place place = {hn_symbol_name(g->dims, s), t->rank, d, t->dtype, -1};
            hn_dim_is_int(g->dims, t->dim[t->rank - 1], &place.last);
            add_free(c, t->dim[d], &place);
        }
    }
    for (uint32_t v = 1; v < g->n_value; v++)
        for (size_t d = 0; d < hn_type_of(g, v)->rank; d++) add_dim(c, hn_type_of(g, v)->dim[d]);
}

/* Sizes that were given are often sums of others. */
static void add_differences(chooser *c) {
    int64_t low, high;
    for (size_t k = 0; k < c->n_free; k++) {
        hn_symbol_range(c->g->dims, c->of[k], &low, &high);
        for (size_t i = 0; i < c->n_fixed && c->free[k].n > 1; i++)
            for (size_t j = 0; j < c->n_fixed; j++)
                hn_size_add(&c->free[k], c->fixed[i].by - (i == j ? 0 : c->fixed[j].by), low, high);
    }
}

/* What the caller gave; names that there are not are left to hone_inputs_random. */
static void read_given(chooser *c, const char *sizes) {
    for (const char *at = sizes; at && *at; at += strcspn(at, ","), at += *at == ',') {
        size_t n = strcspn(at, "=,");
        char name[HN_WORD_N];
        if (at[n] != '=' || n >= sizeof name || c->n_fixed == HN_SIZES_FREE) continue;
        memcpy(name, at, n), name[n] = 0;
        hn_dim d = hn_dim_find(c->g->dims, name);
        hn_symbol s;
        if (!d || !hn_dim_is_symbol(c->g->dims, d, &s)) continue;
        int64_t x = strtoll(at + n + 1, NULL, 10);
        c->fixed[c->n_fixed++] = (hn_relation){.a = d, .by = x};
        for (size_t i = 0; i < c->n_free; i++)
            if (c->of[i] == s) c->free[i].value[0] = x, c->free[i].n = 1;
    }
    add_differences(c);
}

/* --- text ----------------------------------------------------------------------------------------------------------
 */

static void add_sizes(const chooser *c, hn_str *out) {
    const hn_graph *g = c->g;
    size_t n = hn_dims_symbols(g->dims);
    for (hn_symbol s = 0; s < n; s++) {
        bool seen = false;
        for (uint32_t i = 0; i < g->block[0].n_param && !seen; i++) {
            const hn_type *t = hn_type_of(g, g->block[0].param[i]);
            hn_symbol x;
            for (size_t d = 0; d < t->rank; d++) seen |= hn_dim_is_symbol(g->dims, t->dim[d], &x) && x == s;
        }
        if (seen && c->symbol[s] != INT64_MIN)
            hn_str_addf(out, "%s%s=%lld", out->n ? "," : "", hn_symbol_name(g->dims, s), (long long)c->symbol[s]);
    }
}

hone_rc hone_inputs_sizes(const hone_graph *g, const char *sizes, char **out, hone_err *err) {
    chooser c = {.g = g};
    hn_str text = {0};
    c.symbol = hn_alloc_n(&c.arena, hn_dims_symbols(g->dims) + 1, sizeof *c.symbol);
    c.free = hn_alloc_n(&c.arena, HN_SIZES_FREE, sizeof *c.free);
    c.of = hn_alloc_n(&c.arena, HN_SIZES_FREE, sizeof *c.of);
    c.fixed = hn_alloc_n(&c.arena, HN_SIZES_FREE, sizeof *c.fixed);
    c.dim = hn_alloc_n(&c.arena, MOST_DIMS, sizeof *c.dim);
    if (c.symbol && c.free && c.of && c.fixed && c.dim) {
        collect(&c);
        read_given(&c, sizes);
        if (c.n_free && search(&c)) add_sizes(&c, &text);
    }
    hone_rc rc = hn_arena_ok(&c.arena) && !text.failed ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!rc && !text.n && sizes) hn_str_add(&text, sizes);
    if (!rc && !text.text) hn_str_add(&text, "");
    char *taken = rc ? NULL : hn_str_take(&text);
    if (!rc && !taken) rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!rc) *out = taken;
    hn_str_free(&text);
    hn_arena_free(&c.arena);
    return rc;
}
