/* storage.c — lifetimes in steps of a depth-first walk through the blocks, then one arena item per root.
 *
 * Two walks: the first numbers nodes (a node with regions has a first and a last step around them), the second records
 * definitions and uses. A use inside a loop of something made outside counts as a use at the loop's end, because the
 * next iteration reads it again.
 */
#include "plan/storage.h"

#include "base/err.h"

#include <stdlib.h>

/* Beyond this, sizes at their bounds are not worth reserving: they are planned for each run's sizes. */
#define BOUNDED_MOST_B ((int64_t)1 << 36)

typedef struct span {
    int32_t first, last;
} span;
typedef struct work {
    hn_graph *g;
    const hn_kernel_facts *facts;
    hn_states states;
    hn_arena *a;
    hn_layout *l;
    span *node, *life; /* by node id; by slot */
    int32_t step;
    span loop[64]; /* the loops around the current node */
    size_t depth;
    bool too_deep;
} work;

static uint32_t n_blocks_of(const hn_node *n, const hn_block **list) {
    const hn_attr *body = n->op == HN_OP_IF || n->op == HN_OP_LOOP ? hn_attr_get(n, HN_A_BODY) : NULL;
    *list = body ? body->blocks : NULL;
    return body ? body->n : 0;
}

static void number_block(work *w, hn_block b) {
    const hn_blk *blk = &w->g->block[b];
    for (uint32_t i = 0; i < blk->n_node; i++) {
        uint32_t id = blk->node[i];
        const hn_block *body;
        uint32_t n = n_blocks_of(&w->g->node[id], &body);
        w->node[id].first = w->step++;
        for (uint32_t k = 0; k < n; k++) number_block(w, body[k]);
        w->node[id].last = n ? w->step++ : w->node[id].first;
    }
}

/* --- which symbols a dimension needs ------------------------------------------------------------------------------ */

bool hn_dim_is_early(const hn_graph *g, const hn_layout *l, hn_dim d) {
    size_t n = hn_dims_symbols(g->dims);
    bool few[64] = {false}, *used = n <= 64 ? few : calloc(n, sizeof *used), early = used != NULL;
    if (used) hn_dim_mark(g->dims, d, used);
    for (size_t s = 0; s < n && early; s++) early = !used[s] || l->early[s];
    if (used != few) free(used);
    return early;
}

bool hn_type_is_early(const hn_graph *g, const hn_layout *l, const hn_type *t) {
    bool early = true;
    for (size_t d = 0; d < t->rank && early; d++) early = hn_dim_is_early(g, l, t->dim[d]);
    return early;
}

static void find_early(work *w) {
    const hn_blk *main_block = &w->g->block[0];
    w->l->early = hn_alloc_n(w->a, hn_dims_symbols(w->g->dims) + 1, sizeof *w->l->early);
    for (uint32_t i = 0; i < main_block->n_param && w->l->early; i++) {
        const hn_type *t = hn_type_of(w->g, main_block->param[i]);
        hn_symbol s;
        for (size_t d = 0; d < t->rank; d++)
            if (hn_dim_is_symbol(w->g->dims, t->dim[d], &s)) w->l->early[s] = true;
    }
}

/* --- definitions and uses ------------------------------------------------------------------------------------------
 */

static void use(work *w, hn_val v, int32_t step) {
    if (!v) return;
    span *life = &w->life[w->l->slot[v].root];
    for (size_t k = 0; k < w->depth; k++)
        if (life->first < w->loop[k].first) { /* made outside the loop: the outermost such loop counts */
            step = w->loop[k].last;
            break;
        }
    if (step > life->last) life->last = step;
}

static void define(work *w, hn_val v, hn_memory where, int32_t index, int32_t first) {
    w->l->slot[v] = (hn_storage){where, v, index, -1, 0};
    w->life[v] = (span){first, first};
}

/* A value that the model computes: in the arena, or in memory that grows. room 0: as its type says. */
static void define_computed(work *w, hn_val v, const hn_type *t, hn_dim room, int32_t first) {
    if (room ? hn_dim_is_early(w->g, w->l, room) : hn_type_is_early(w->g, w->l, t))
        define(w, v, HN_AT_ARENA, -1, first);
    else
        define(w, v, HN_AT_GROWN, (int32_t)w->l->n_grown++, first);
    w->l->slot[v].room = room;
}

static void define_outputs(work *w, uint32_t id, int32_t first) {
    const hn_node *n = &w->g->node[id];
    const hn_dim *room = w->facts[id].room;
    for (uint32_t i = 0; i < n->n_out; i++) {
        define_computed(w, w->g->node[id].out[i], hn_type_of(w->g, w->g->node[id].out[i]), room ? room[i] : 0, first);
    }
}

static void walk_block(work *w, hn_block b);

static void walk_if(work *w, uint32_t id) {
    const hn_block *body;
    uint32_t n = n_blocks_of(&w->g->node[id], &body);
    define_outputs(w, id, w->node[id].first); /* a branch copies its results there when it ends */
    for (uint32_t k = 0; k < n; k++) {
        walk_block(w, body[k]);
        const hn_blk *blk = &w->g->block[body[k]];
        for (uint32_t i = 0; i < blk->n_result; i++) use(w, blk->result[i], w->node[id].last);
    }
}

/* Carried values that an iteration passes on unchanged to another place must not overwrite each other: they are staged.
 */
static bool needs_staging(const work *w, const hn_blk *body, uint32_t n_carried) {
    for (uint32_t k = 0; k < n_carried; k++) {
        hn_val root = w->l->slot[body->result[1 + k]].root;
        for (uint32_t p = 0; p < n_carried; p++)
            if (p != k && body->param[2 + p] == root) return true;
    }
    return false;
}

static void walk_loop(work *w, uint32_t id) {
    span at = w->node[id];
    uint32_t n_carried = w->g->node[id].n_in - 2;
    const hn_block *list;
    n_blocks_of(&w->g->node[id], &list);
    hn_block body = list[0];
    if (w->depth >= sizeof w->loop / sizeof *w->loop) {
        w->too_deep = true;
        return;
    }
    define_outputs(w, id, at.first); /* stacked iteration by iteration */
    w->loop[w->depth++] = at;
    for (uint32_t i = 0; i < w->g->block[body].n_param; i++) {
        hn_val p = w->g->block[body].param[i];
        define_computed(w, p, hn_type_of(w->g, p), 0, at.first);
        w->life[p].last = at.last;
    }
    walk_block(w, body);
    for (uint32_t i = 0; i < w->g->block[body].n_result; i++) use(w, w->g->block[body].result[i], at.last);
    if (needs_staging(w, &w->g->block[body], n_carried)) {
        w->l->staging[id] = w->l->n_slot;
        for (uint32_t k = 0; k < n_carried; k++) {
            hn_type t = *hn_type_of(w->g, w->g->block[body].result[1 + k]);
            define_computed(w, w->l->n_slot++, &t, 0, at.last);
        }
    }
    w->depth--;
}

static void walk_node(work *w, uint32_t id) {
    const hn_node *n = &w->g->node[id];
    hn_layout *l = w->l;
    int32_t step = w->node[id].first;
    for (uint32_t i = 0; i < n->n_in; i++) use(w, n->in[i], step);
    switch (n->op) {
    case HN_OP_CONST:
        l->constant[l->n_constant] = n->out[0];
        define(w, n->out[0], HN_AT_WEIGHTS, (int32_t)l->n_constant++, step);
        break;
    case HN_OP_RESHAPE: l->slot[n->out[0]] = l->slot[n->in[0]]; break;
    case HN_OP_IF: walk_if(w, id); break;
    case HN_OP_LOOP: /* its inputs are copied when it begins */ walk_loop(w, id); break;
    default: define_outputs(w, id, step);
    }
}

static void walk_block(work *w, hn_block b) {
    for (uint32_t i = 0; i < w->g->block[b].n_node; i++) walk_node(w, w->g->block[b].node[i]);
}

/* --- states ----------------------------------------------------------------------------------------------------------
 */

bool hn_is_port(hn_states states, uint32_t i, bool output) {
    for (uint32_t k = 0; k < states.n; k++)
        if (output ? states.state[k].result == i : states.state[k].param == i || states.state[k].cache == i)
            return false;
    return true;
}

uint32_t hn_port_number(hn_states states, uint32_t i, bool output) {
    uint32_t n = 0;
    for (uint32_t k = 0; k < i; k++) n += hn_is_port(states, k, output);
    return n;
}

static void define_params(work *w) {
    const hn_blk *b = &w->g->block[0];
    for (uint32_t i = 0; i < b->n_param; i++)
        define(w, b->param[i], HN_AT_INPUT, (int32_t)hn_port_number(w->states, i, false), -1);
    for (uint32_t k = 0; k < w->states.n; k++) {
        const hn_state *s = &w->states.state[k];
        define(w, b->param[s->param], HN_AT_STATE, (int32_t)k, -1);
        if (s->cache != HN_NO_CACHE) define(w, b->param[s->cache], HN_AT_STATE, (int32_t)k, -1);
    }
}

/* May the node that makes `value` write it over `old`? Not while old is read; by a kernel itself only where that reads
 * each element before it writes it. */
static bool dies_in_time(const work *w, hn_val old, hn_val value) {
    const hn_node *n = hn_def(w->g, value);
    uint32_t id = w->g->value[value].node - 1;
    if (w->life[old].last < w->life[value].first) return true;
    if (n->op != HN_OP_KERNEL || w->life[old].last > w->life[value].first || value != n->out[0]) return false;
    uint32_t uses = 0;
    for (uint32_t i = 0; i < n->n_in; i++) {
        if (!n->in[i] || w->l->slot[n->in[i]].root != old) continue;
        if (i > 63 || !(w->facts[id].in_place >> i & 1) || uses++) return false;
    }
    return true;
}

static bool same_size(const work *w, hn_val a, hn_val b);

/* Its old value, a view, a constant, and what another state is made of have their place already. */
static bool has_own_memory(const work *w, hn_val root) {
    const hn_storage *s = &w->l->slot[root];
    return s->where == HN_AT_ARENA && !s->room && w->g->value[root].node && w->g->value[root].block == 0;
}

/* The state's memory becomes that of its new value: the same where the old value is dead by then, else a second buffer.
 * What is not made by the run alone (an input, a size that data decides) is copied in the end. */
static void update_state(work *w, uint32_t k) {
    const hn_state *s = &w->states.state[k];
    hn_update *u = &w->l->update[k];
    const hn_blk *b = &w->g->block[0];
    hn_val value = b->result[s->result], root = w->l->slot[value].root;
    *u = (hn_update){.old = b->param[s->param], .value = value, .appends = s->cache != HN_NO_CACHE};
    if (u->appends) {
        u->into = b->param[s->cache];
        if (w->g->value[value].node) use(w, value, w->node[w->g->value[value].node - 1].last);
        return;
    }
    if (has_own_memory(w, root)) {
        bool over = dies_in_time(w, u->old, root) && same_size(w, u->old, root);
        w->l->slot[root].where = over ? HN_AT_STATE : HN_AT_NEXT;
        w->l->slot[root].index = (int32_t)k;
        u->into = value;
        return;
    }
    u->into = w->l->n_slot++;
    define(w, u->into, HN_AT_STATE, (int32_t)k, w->step);
}

static void update_states(work *w) {
    w->l->n_update = w->states.n;
    w->l->update = hn_alloc_n(w->a, w->states.n, sizeof *w->l->update);
    for (uint32_t k = 0; k < w->states.n; k++)
        if (w->states.state[k].cache == HN_NO_CACHE) use(w, w->g->block[0].result[w->states.state[k].result], w->step);
    for (uint32_t k = 0; k < w->states.n && w->l->update; k++) update_state(w, k);
}

/* --- outputs, items, sharing ---------------------------------------------------------------------------------------
 */

static void direct_outputs(work *w) {
    const hn_blk *b = &w->g->block[0];
    for (uint32_t i = 0; i < b->n_result; i++) {
        hn_storage *root = &w->l->slot[w->l->slot[b->result[i]].root];
        if (!hn_is_port(w->states, i, true)) continue;
        use(w, b->result[i], w->step);
        if (root->where == HN_AT_ARENA && root->output < 0 && !root->room)
            root->output = (int32_t)hn_port_number(w->states, i, true);
    }
}

/* Slots of staging lie beyond the values: their element is that of the loop's result. */
hn_val hn_slot_type(const hn_graph *g, const hn_layout *l, hn_val slot) {
    if (slot < g->n_value) return slot;
    for (uint32_t k = 0; k < l->n_update; k++)
        if (l->update[k].into == slot) return l->update[k].value;
    for (uint32_t id = 0; id < g->n_node; id++) {
        uint32_t base = l->staging[id], n = base ? g->node[id].n_in - 2u : 0;
        if (base && slot >= base && slot < base + n)
            return g->block[hn_attr_get(&g->node[id], HN_A_BODY)->blocks[0]].result[1 + slot - base];
    }
    return 0;
}

/* INT64_MAX: no bound. */
static int64_t most_bytes(work *w, hn_val v) {
    const hn_type *t = hn_type_of(w->g, hn_slot_type(w->g, w->l, v));
    hn_dim room = w->l->slot[v].room;
    int64_t size_b = hn_dtype_of(t->dtype)->size_b, low, high;
    for (size_t d = 0; d < (room ? 1 : t->rank); d++) {
        hn_dim_range(w->g->dims, room ? room : t->dim[d], &low, &high);
        if (low != high && w->l->sizes == HN_SIZES_FIXED) w->l->sizes = HN_SIZES_BOUNDED;
        if (high < 0) high = 0;
        if (__builtin_mul_overflow(size_b, high, &size_b)) size_b = high ? INT64_MAX : 0;
    }
    return size_b;
}

static void make_items(work *w) {
    hn_layout *l = w->l;
    l->item = hn_alloc_n(w->a, l->n_slot, sizeof *l->item);
    l->owner = hn_alloc_n(w->a, l->n_slot, sizeof *l->owner);
    l->sizes = HN_SIZES_FIXED;
    for (hn_val v = 1; v < l->n_slot && hn_arena_ok(w->a); v++) {
        hn_storage *s = &l->slot[v];
        if (s->where != HN_AT_ARENA || s->root != v) continue;
        int64_t size_b = most_bytes(w, v);
        if (size_b > BOUNDED_MOST_B) {
            size_b = 0;
            l->sizes = HN_SIZES_OPEN;
        }
        s->index = l->n_item;
        l->owner[l->n_item] = v;
        l->item[l->n_item++] = (hn_plan_item){size_b < 0 ? 0 : size_b, w->life[v].first, w->life[v].last, -1, 0};
    }
}

static bool same_size(const work *w, hn_val a, hn_val b) {
    const hn_type *x = hn_type_of(w->g, a), *y = hn_type_of(w->g, b);
    if (hn_type_same(w->g, x, y)) return true;
    hn_dim n = hn_type_count(w->g, x);
    return x->dtype == y->dtype && n && n == hn_type_count(w->g, y);
}

/* The slot whose memory output 0 of a kernel may take over, or 0. */
static hn_val dying_input(const work *w, const hn_node *n, uint64_t in_place) {
    const hn_layout *l = w->l;
    const hn_storage *out = &l->slot[n->out[0]];
    for (uint32_t i = 0; i < n->n_in && i < 64; i++) {
        hn_val r = n->in[i] ? l->slot[n->in[i]].root : 0;
        bool twice = false;
        if (!(in_place >> i & 1) || !r || r >= w->g->n_value || l->slot[r].where != HN_AT_ARENA) continue;
        if (w->life[r].last != w->life[n->out[0]].first || l->slot[r].output >= 0 || l->slot[r].room != out->room)
            continue;
        if (!same_size(w, r, n->out[0])) continue;
        for (uint32_t k = 0; k < n->n_in; k++) twice = twice || (k != i && n->in[k] && l->slot[n->in[k]].root == r);
        if (!twice) return r;
    }
    return 0;
}

static void share_items(work *w) {
    for (uint32_t id = 0; id < w->g->n_node; id++) {
        const hn_node *n = &w->g->node[id];
        if (n->op != HN_OP_KERNEL || !n->n_out || !w->facts[id].in_place || w->node[id].first < 0) continue;
        hn_storage *out = &w->l->slot[n->out[0]];
        hn_val from = out->where == HN_AT_ARENA && out->output < 0 ? dying_input(w, n, w->facts[id].in_place) : 0;
        if (from) w->l->item[out->index].shares = w->l->slot[from].index;
    }
}

static hone_rc place(work *w, hone_err *err) {
    hn_layout *l = w->l;
    int32_t *scratch = hn_alloc_n(w->a, 4 * (size_t)l->n_item + 1, sizeof *scratch);
    if (!scratch || !hn_arena_ok(w->a)) return hn_fail(err, HONE_E_NOMEM, "out of memory in the memory plan");
    if (l->sizes == HN_SIZES_OPEN) return HONE_OK;
    l->arena_b = hn_plan_place(l->item, l->n_item, scratch);
    l->lower_bound_b = hn_plan_lower_bound(l->item, l->n_item);
    if (l->arena_b > BOUNDED_MOST_B && l->sizes == HN_SIZES_BOUNDED) {
        l->sizes = HN_SIZES_OPEN;
        l->arena_b = l->lower_bound_b = 0;
    }
    return l->lower_bound_b < 0 ? hn_fail(err, HONE_E_NOMEM, "out of memory in the memory plan") : HONE_OK;
}

/* At most one temporary per value of the graph, and one per state. */
static bool allocate(work *w) {
    uint32_t n = 2 * w->g->n_value + w->states.n + 2;
    hn_layout *l = w->l;
    l->slot = hn_alloc_n(w->a, n, sizeof *l->slot);
    l->staging = hn_alloc_n(w->a, w->g->n_node + 1, sizeof *l->staging);
    l->constant = hn_alloc_n(w->a, w->g->n_value + 1, sizeof *l->constant);
    l->n_slot = w->g->n_value;
    w->life = hn_alloc_n(w->a, n, sizeof *w->life);
    w->node = hn_alloc_n(w->a, w->g->n_node + 1, sizeof *w->node);
    find_early(w);
    for (uint32_t i = 0; w->node && i < w->g->n_node; i++) w->node[i] = (span){-1, -1};
    return hn_arena_ok(w->a);
}

hone_rc hn_layout_make(hn_graph *g, const hn_kernel_facts *facts, hn_states states, hn_arena *a, hn_layout *out,
                       hone_err *err) {
    hn_layout l = {0};
    work w = {.g = g, .facts = facts, .states = states, .a = a, .l = &l};
    if (!allocate(&w)) return hn_fail(err, HONE_E_NOMEM, "out of memory in the memory plan");
    number_block(&w, 0);
    define_params(&w);
    walk_block(&w, 0);
    if (w.too_deep) return hn_fail(err, HONE_E_UNSUPPORTED, "more than 64 loops inside each other");
    update_states(&w);
    if (hn_arena_ok(a)) direct_outputs(&w);
    make_items(&w);
    if (hn_arena_ok(a)) share_items(&w);
    hone_rc rc = place(&w, err);
    if (!rc) *out = l;
    return rc;
}
