/* states.c — which inputs and outputs of a model are state, and caches: results that are an input with rows behind it.
 *
 * A cache is kept with the dimension that grows in front, so that what is there stays where it is when rows come:
 *     present = concat(past, new; AXIS)   becomes   rows = transpose(new), cache = a parameter of past + new rows,
 *     past = transpose(old), present = transpose(cache)
 * and `rows` is the result that the program puts behind the old rows (hn_state.cache). Kernels that read the cache come
 * behind the one that makes the rows; nothing in the graph says so, so they are moved there once kernels are made.
 */
#include "artifact/artifact.h"
#include "ir/build.h"

#include <string.h>

/* --- names -----------------------------------------------------------------------------------------------------------
 */

/* Does name match a pattern with at most one '*', and what does that stand for? */
static bool matches(const char *pattern, size_t n, const char *name, const char **star, size_t *n_star) {
    const char *at = memchr(pattern, '*', n);
    size_t n_name = strlen(name), head = at ? (size_t)(at - pattern) : n, tail = at ? n - head - 1 : 0;
    *star = name + head, *n_star = 0;
    if (n_name < head + tail || memcmp(name, pattern, head) != 0) return false;
    if (!at) return n_name == n;
    *n_star = n_name - head - tail;
    return memcmp(name + n_name - tail, pattern + n - tail, tail) == 0;
}

static hone_rc find_output(hn_arena *a, const hn_graph *g, const char *pattern, const char *star, size_t n_star,
                           hn_state *s, hone_err *err) {
    const char *at = strchr(pattern, '*');
    const char *name = at ? hn_format(a, "%.*s%.*s%s", (int)(at - pattern), pattern, (int)n_star, star, at + 1)
                          : hn_strdup(a, pattern);
    if (!name) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    for (uint32_t i = 0; i < g->block[0].n_result; i++)
        if (!strcmp(g->output_name[i], name)) {
            s->result = i;
            s->output = name;
            return HONE_OK;
        }
    return hn_fail(err, HONE_E_USAGE, "no output is called '%s', which is to be the new value of state '%s'", name,
                   s->name);
}

static hone_rc add_state(const hn_graph *g, hn_state s, hn_state *list, uint32_t *n, hone_err *err) {
    const hn_type *old = hn_type_of(g, g->block[0].param[s.param]), *now = hn_type_of(g, g->block[0].result[s.result]);
    for (uint32_t i = 0; i < *n; i++)
        if (list[i].param == s.param || list[i].result == s.result)
            return hn_fail(err, HONE_E_USAGE, "'%s' and '%s' are in two states", s.name, s.output);
    if (old->dtype != now->dtype || old->rank != now->rank)
        return hn_fail(err, HONE_E_USAGE, "'%s' and '%s' are no state: their types differ in more than sizes", s.name,
                       s.output);
    list[(*n)++] = s;
    return HONE_OK;
}

/* One "past.*=present.*". */
static hone_rc read_pattern(hn_arena *a, const hn_graph *g, const char *text, hn_state *list, uint32_t *n,
                            hone_err *err) {
    const char *equals = strchr(text, '='), *star;
    size_t n_star;
    uint32_t before = *n;
    hone_rc rc = HONE_OK;
    if (!equals || equals == text || !equals[1])
        return hn_fail(err, HONE_E_USAGE, "'%s' is no state; give INPUT=OUTPUT, as in past.*=present.*", text);
    for (uint32_t i = 0; i < g->block[0].n_param && !rc; i++) {
        const char *name = g->value[g->block[0].param[i]].name;
        hn_state s = {.param = i, .cache = HN_NO_CACHE, .name = name};
        if (!name || !matches(text, (size_t)(equals - text), name, &star, &n_star)) continue;
        rc = find_output(a, g, equals + 1, star, n_star, &s, err);
        if (!rc) rc = add_state(g, s, list, n, err);
    }
    if (!rc && *n == before) rc = hn_fail(err, HONE_E_USAGE, "no input is called '%.*s'", (int)(equals - text), text);
    return rc;
}

hone_rc hn_match_states(const char *const *pattern, size_t n_pattern, const hn_graph *g, hn_arena *a, hn_state **list,
                        uint32_t *n, hone_err *err) {
    hone_rc rc = HONE_OK;
    *n = 0;
    *list = hn_alloc_n(a, g->block[0].n_param + 1u, sizeof **list);
    if (!*list) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    for (size_t i = 0; i < n_pattern && !rc; i++) rc = read_pattern(a, g, pattern[i], *list, n, err);
    return rc;
}

/* --- caches ----------------------------------------------------------------------------------------------------------
 */

static void move_to_front(hn_graph *g) {
    hn_blk *b = &g->block[0];
    uint32_t id = b->node[b->n_node - 1];
    memmove(b->node + 1, b->node, (b->n_node - 1) * sizeof *b->node);
    b->node[0] = id;
}

/* Value v of the main block's parameters seen with its first dimension at `axis`: in front of all that uses it. */
static hn_val seen(hn_builder *b, hn_val v, size_t axis) {
    int64_t perm[HN_RANK_MAX];
    size_t rank = hn_rank(b, v);
    if (!axis) return v;
    for (size_t d = 0; d < rank; d++) perm[d] = (int64_t)(d < axis ? d + 1 : d == axis ? 0 : d);
    hn_val t = hn_transpose(b, v, perm);
    if (t) move_to_front(b->g);
    return t;
}

static hn_val in_front(hn_builder *b, hn_val v, size_t axis) {
    int64_t perm[HN_RANK_MAX];
    if (!axis) return v;
    for (size_t d = 0; d < hn_rank(b, v); d++) perm[d] = (int64_t)(d == 0 ? axis : d <= axis ? d - 1 : d);
    return hn_transpose(b, v, perm);
}

static void put_in_front(hn_type *t, size_t axis) {
    hn_dim d = t->dim[axis];
    memmove(t->dim + 1, t->dim, axis * sizeof *t->dim);
    t->dim[0] = d;
}

static bool leading_ones(const hn_graph *g, const hn_type *t, size_t axis) {
    int64_t n;
    for (size_t d = 0; d < axis; d++)
        if (!hn_dim_is_int(g->dims, t->dim[d], &n) || n != 1) return false;
    return true;
}

/* The state as a cache where its new value is the old one with rows behind it. */
static void make_cache(hn_graph *g, hn_state *s) {
    hn_builder b = {g, 0};
    hn_val old = g->block[0].param[s->param], now = g->block[0].result[s->result];
    const hn_node *n = hn_def(g, now);
    if (!n || n->op != HN_OP_CONCAT || n->n_in != 2 || n->in[0] != old) return;
    size_t axis = (size_t)hn_attr_i(n, HN_A_AXIS, 0);
    hn_val rows = n->in[1];
    hn_type type = *hn_type_of(g, old), all = *hn_type_of(g, now);
    if (leading_ones(g, &type, axis)) axis = 0; /* it is in front as it is */
    put_in_front(&type, axis);
    put_in_front(&all, axis);
    g->value[old].type = type;
    hn_val was = seen(&b, old, axis);
    if (was && was != old) {
        hn_replace(g, old, was);
        g->node[g->value[was].node - 1].in[0] = old;
    }
    s->cache = g->block[0].n_param;
    hn_val cache = hn_param(g, 0, hn_format(&g->arena, "%s+", s->name), &all);
    hn_val is = cache ? seen(&b, cache, axis) : 0;
    if (is) hn_replace(g, now, is);
    rows = in_front(&b, rows, axis);
    if (hn_graph_ok(g)) g->block[0].result[s->result] = rows;
}

hone_rc hn_find_states(hn_library *l, hn_graph *g, hone_err *err) {
    hn_state *list;
    uint32_t n;
    hone_rc rc = hn_match_states(l->options->state, l->options->n_state, g, &l->arena, &list, &n, err);
    for (uint32_t i = 0; i < n && !rc; i++) make_cache(g, &list[i]);
    if (!rc && !hn_graph_ok(g)) rc = hn_fail(err, HONE_E_NOMEM, "out of memory for the states: %s", g->err.text);
    if (!rc) l->states = (hn_states){list, n};
    return rc;
}

/* --- order -----------------------------------------------------------------------------------------------------------
 */

typedef struct sorter {
    hn_graph *g;
    bool *late; /* by value: made from the cache */
    uint32_t *node, *wait;
    uint32_t n_node, n_wait;
} sorter;

static bool reads_late(const sorter *w, uint32_t id) {
    const hn_node *n = &w->g->node[id];
    const hn_attr *body = n->op == HN_OP_IF || n->op == HN_OP_LOOP ? hn_attr_get(n, HN_A_BODY) : NULL;
    for (uint32_t i = 0; i < n->n_in; i++)
        if (w->late[n->in[i]]) return true;
    for (uint32_t k = 0; body && k < body->n; k++) {
        const hn_blk *b = &w->g->block[body->blocks[k]];
        for (uint32_t i = 0; i < b->n_node; i++)
            if (reads_late(w, b->node[i])) return true;
        for (uint32_t i = 0; i < b->n_result; i++)
            if (w->late[b->result[i]]) return true;
    }
    return false;
}

/* Moves nodes that read cache c after the one that makes `rows`; false: that one reads the cache itself. */
static bool order_one(sorter *w, hn_val cache, hn_val rows, bool *moved) {
    hn_blk *b = &w->g->block[0];
    uint32_t maker = w->g->value[rows].node; /* + 1 */
    memset(w->late, 0, w->g->n_value * sizeof *w->late);
    w->late[cache] = true;
    w->n_node = w->n_wait = 0;
    for (uint32_t i = 0; i < b->n_node; i++) {
        uint32_t id = b->node[i];
        bool late = maker && reads_late(w, id);
        if (late && id + 1 == maker) return false;
        for (uint32_t k = 0; late && k < w->g->node[id].n_out; k++) w->late[w->g->node[id].out[k]] = true;
        if (late) {
            w->wait[w->n_wait++] = id;
            continue;
        }
        w->node[w->n_node++] = id;
        if (id + 1 != maker) continue;
        *moved = *moved || w->n_wait;
        memcpy(w->node + w->n_node, w->wait, w->n_wait * sizeof *w->wait);
        w->n_node += w->n_wait;
        w->n_wait = 0;
        maker = 0;
    }
    memcpy(b->node, w->node, w->n_node * sizeof *w->node);
    return true;
}

hone_rc hn_order_states(hn_graph *g, hn_states states, hone_err *err) {
    hn_arena a = {0};
    sorter w = {.g = g};
    hone_rc rc = HONE_OK;
    bool moved = states.n > 0;
    w.late = hn_alloc_n(&a, g->n_value + 1u, sizeof *w.late);
    w.node = hn_alloc_n(&a, g->n_node + 1u, sizeof *w.node);
    w.wait = hn_alloc_n(&a, g->n_node + 1u, sizeof *w.wait);
    if (!hn_arena_ok(&a)) rc = hn_fail(err, HONE_E_NOMEM, "out of memory for the states");
    for (uint32_t round = 0; moved && !rc; round++) {
        moved = false;
        for (uint32_t k = 0; k < states.n && !rc; k++) {
            const hn_state *s = &states.state[k];
            if (s->cache == HN_NO_CACHE) continue;
            bool good = order_one(&w, g->block[0].param[s->cache], g->block[0].result[s->result], &moved);
            if (!good || round > states.n)
                rc = hn_fail(err, HONE_E_UNSUPPORTED, "the new value of state '%s' is computed from itself", s->name);
        }
    }
    hn_arena_free(&a);
    return rc;
}
