/* choose_sizes.c — sizes for the inputs of a model: usual ones that its own relations allow.
 *
 * Each symbol that nothing else gives has a list of values, the most usual for its name and place first; behind them
 * stand others, for relations that want a multiple or a quotient. Combinations are tried by how far down their lists
 * they go, all together. One is taken when every relation and range holds, and no tensor of the graph is empty; where
 * there is none such, empty tensors are allowed.
 */
#include "assess/assess_int.h"
#include "base/err.h"
#include "base/str.h"
#include "ir/graph.h"

#include <hone/inputs.h>

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FREE = 16, MOST_VALUES = 160, MOST_TRIES = 50000, MOST_DIMS = 4096 };
static const int64_t most_elements = (int64_t)1 << 27; /* of one tensor */

typedef struct free_size {
    hn_symbol s;
    int64_t value[MOST_VALUES];
    size_t n, at;
} free_size;

typedef struct chooser {
    const hn_graph *g;
    hn_arena arena;
    int64_t *symbol; /* INT64_MIN: not known */
    free_size *free;
    size_t n_free;
    hn_relation *fixed; /* sizes that the caller gave: a is a dimension, by its value */
    size_t n_fixed;
    hn_dim *dim; /* of the graph's values, each once */
    size_t n_dim, n_tries;
    int64_t least; /* of a dimension */
} chooser;

/* --- usual sizes ---------------------------------------------------------------------------------------------------
 */

typedef enum role { ROLE_OTHER, ROLE_BATCH, ROLE_SEQUENCE, ROLE_IMAGE, N_ROLES } role;
static const int64_t usual[N_ROLES][14] = {
    [ROLE_OTHER] = {16, 8, 32, 64, 128, 4, 256, 2, 1},
    [ROLE_BATCH] = {1, 2, 4, 8},
    [ROLE_SEQUENCE] = {128, 64, 32, 16, 256, 512, 576, 1024, 8, 4, 2, 1},
    [ROLE_IMAGE] = {224, 256, 320, 640, 384, 192, 160, 128, 112, 96, 64, 48, 32},
};

static bool has_word(const char *name, const char *const *word) {
    char low[128];
    size_t n = 0;
    for (; name && name[n] && n + 1 < sizeof low; n++) low[n] = (char)tolower((unsigned char)name[n]);
    low[n] = 0;
    for (; *word; word++)
        if (strstr(low, *word)) return true;
    return false;
}

/* Heights and widths lie behind the channels, or in front of the last dimension where that is one of colours. */
static bool is_place_of_image(const hn_graph *g, const hn_type *t, size_t d) {
    int64_t last;
    if (t->rank != 4 || !hn_is_float(t->dtype)) return t->rank == 4 && t->dtype == HONE_U8 && d > 0 && d < 3;
    bool colours_last = hn_dim_is_int(g->dims, t->dim[3], &last) && last <= 4;
    return colours_last ? d == 1 || d == 2 : d > 1;
}

static role role_of(const hn_graph *g, const char *name, const hn_type *t, size_t d) {
    static const char *const batch[] = {"batch", "bsz", NULL};
    static const char *const sequence[] = {"seq",   "len",  "time", "token", "step",
                                           "frame", "word", "past", "cache", NULL};
    static const char *const image[] = {"height", "width", NULL};
    if (has_word(name, batch)) return ROLE_BATCH;
    if (has_word(name, image)) return ROLE_IMAGE;
    if (has_word(name, sequence)) return ROLE_SEQUENCE;
    if (is_place_of_image(g, t, d)) return ROLE_IMAGE;
    if (d == 0)
        return t->rank > 1 || !strcmp(name, "N") || !strcmp(name, "n") || !strcmp(name, "b") ? ROLE_BATCH : ROLE_OTHER;
    return (t->rank == 2 || t->rank == 3) ? ROLE_SEQUENCE : ROLE_OTHER;
}

static void add_value(free_size *f, int64_t x, int64_t low, int64_t high) {
    if (x < low || x > high || f->n == MOST_VALUES) return;
    for (size_t i = 0; i < f->n; i++)
        if (f->value[i] == x) return;
    f->value[f->n++] = x;
}

static void list_values(const chooser *c, free_size *f, role r) {
    int64_t low, high;
    hn_symbol_range(c->g->dims, f->s, &low, &high);
    for (size_t i = 0; i < sizeof usual[r] / sizeof *usual[r] && usual[r][i]; i++) add_value(f, usual[r][i], low, high);
    for (int64_t x = 1; x <= 33; x++) add_value(f, x, low, high);
    for (int64_t x = 40; x <= 512; x += 8) add_value(f, x, low, high);
    for (int64_t x = 576; x <= 2048; x += 64) add_value(f, x, low, high);
    for (int64_t x = 4096; x <= 65536; x *= 2) add_value(f, x, low, high);
    add_value(f, 16000, low, high);
    add_value(f, low, low, high);
    if (high < INT64_MAX) add_value(f, high, low, high);
}

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

static bool try_now(chooser *c) {
    for (size_t i = 0; i < hn_dims_symbols(c->g->dims); i++) c->symbol[i] = INT64_MIN;
    for (size_t i = 0; i < c->n_free; i++) c->symbol[c->free[i].s] = c->free[i].value[c->free[i].at];
    c->n_tries++;
    return follow(c) && relations_hold(c) && tensors_fit(c);
}

/* --- the search ----------------------------------------------------------------------------------------------------
 */

/* All combinations of free sizes from number i on whose places in the lists sum to `steps`. */
static bool search_steps(chooser *c, size_t i, size_t steps) {
    free_size *f = &c->free[i];
    if (i == c->n_free) return !steps && try_now(c);
    if (c->n_tries > MOST_TRIES) return false;
    bool last = i + 1 == c->n_free;
    for (f->at = last ? steps : 0; f->at < f->n && f->at <= steps; f->at++)
        if (search_steps(c, i + 1, steps - f->at)) return true;
    return false;
}

static bool search(chooser *c) {
    size_t most = 0;
    for (size_t i = 0; i < c->n_free; i++) most += c->free[i].n - 1;
    for (c->least = 1; c->least >= 0; c->least--) {
        c->n_tries = 0;
        for (size_t steps = 0; steps <= most && c->n_tries <= MOST_TRIES; steps++)
            if (search_steps(c, 0, steps)) return true;
    }
    return false;
}

static void add_dim(chooser *c, hn_dim d) {
    if (hn_dim_is_int(c->g->dims, d, NULL) || c->n_dim == MOST_DIMS) return;
    for (size_t i = 0; i < c->n_dim; i++)
        if (c->dim[i] == d) return;
    c->dim[c->n_dim++] = d;
}

/* The symbols that d is made of become free, in the role that it has. */
static void add_free(chooser *c, hn_dim d, role r) {
    size_t n = hn_dims_symbols(c->g->dims);
    bool *used = hn_alloc_n(&c->arena, n + 1, sizeof *used);
    if (!used) return;
    hn_dim_mark(c->g->dims, hn_dim_standing(c->g->dims, d), used);
    for (hn_symbol s = 0; s < n; s++) {
        bool there = !used[s] || c->n_free == MOST_FREE;
        for (size_t i = 0; i < c->n_free; i++) there |= c->free[i].s == s;
        if (there) continue;
        c->free[c->n_free] = (free_size){.s = s};
        list_values(c, &c->free[c->n_free], r);
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
            add_free(c, t->dim[d], role_of(g, hn_symbol_name(g->dims, s), t, d));
        }
    }
    for (uint32_t v = 1; v < g->n_value; v++)
        for (size_t d = 0; d < hn_type_of(g, v)->rank; d++) add_dim(c, hn_type_of(g, v)->dim[d]);
}

/* Sizes that were given are often sums of others. */
static void add_differences(chooser *c) {
    int64_t low, high;
    for (size_t k = 0; k < c->n_free; k++) {
        hn_symbol_range(c->g->dims, c->free[k].s, &low, &high);
        for (size_t i = 0; i < c->n_fixed && c->free[k].n > 1; i++)
            for (size_t j = 0; j < c->n_fixed; j++)
                add_value(&c->free[k], c->fixed[i].by - (i == j ? 0 : c->fixed[j].by), low, high);
    }
}

/* What the caller gave; names that there are not are left to hone_inputs_random. */
static void read_given(chooser *c, const char *sizes) {
    for (const char *at = sizes; at && *at; at += strcspn(at, ","), at += *at == ',') {
        size_t n = strcspn(at, "=,");
        char name[HN_WORD_N];
        if (at[n] != '=' || n >= sizeof name || c->n_fixed == MOST_FREE) continue;
        memcpy(name, at, n), name[n] = 0;
        hn_dim d = hn_dim_find(c->g->dims, name);
        hn_symbol s;
        if (!d || !hn_dim_is_symbol(c->g->dims, d, &s)) continue;
        int64_t x = strtoll(at + n + 1, NULL, 10);
        c->fixed[c->n_fixed++] = (hn_relation){.a = d, .by = x};
        for (size_t i = 0; i < c->n_free; i++)
            if (c->free[i].s == s) c->free[i].value[0] = x, c->free[i].n = 1;
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
    c.free = hn_alloc_n(&c.arena, MOST_FREE, sizeof *c.free);
    c.fixed = hn_alloc_n(&c.arena, MOST_FREE, sizeof *c.fixed);
    c.dim = hn_alloc_n(&c.arena, MOST_DIMS, sizeof *c.dim);
    if (c.symbol && c.free && c.fixed && c.dim) {
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
