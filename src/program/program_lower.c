/* program_lower.c — a fused graph and its memory plan become a program.
 *
 * One walk in the order of the nodes. Relations between sizes become checks where the last of their symbols is
 * defined: everything behind relies on them. The program has dimensions of its own, copied under the equalities that
 * hold by now; a relation is copied as it was stated, because what follows from it must not decide it.
 */
#include "program/program.h"

#include <stdlib.h>
#include <string.h>

typedef struct lowering {
    hn_graph *g;
    const hn_layout *l;
    const hn_lowering *how;
    hn_program *p;
    bool *known;  /* by symbol: defined by a step so far */
    hn_dim *ours; /* by symbol: the program's */
    uint32_t at;  /* the block that steps go to */
} lowering;

static hn_dim dim_as_stated(const lowering *w, hn_dim d) {
    return d ? hn_dim_copy(w->p->dims, w->g->dims, d, w->ours) : 0;
}
static hn_dim dim_of(const lowering *w, hn_dim d) { return d ? dim_as_stated(w, hn_dim_standing(w->g->dims, d)) : 0; }

static hn_step *add(const lowering *w, hn_step_kind kind, uint32_t n_in, uint32_t n_out, uint32_t n_symbol,
                    uint32_t n_dim) {
    hn_step *s = hn_program_add(w->p, w->at, kind);
    return hn_step_lists(w->p, s, n_in, n_out, n_symbol, n_dim) ? s : NULL;
}

static const hn_node *node_at(const lowering *w, uint32_t id) { return &w->g->node[id]; }
static const hn_type *type_of(const lowering *w, hn_val v) { return hn_type_of(w->g, v); }
static hn_block body_of(const hn_node *n, uint32_t i) { return hn_attr_get(n, HN_A_BODY)->blocks[i]; }

/* --- values ----------------------------------------------------------------------------------------------------------
 */

static void add_symbols(lowering *w) {
    for (size_t s = 0; s < hn_dims_symbols(w->g->dims); s++) {
        int64_t low, high;
        hn_symbol_range(w->g->dims, (hn_symbol)s, &low, &high);
        w->ours[s] = hn_dim_symbol(w->p->dims, hn_symbol_name(w->g->dims, (hn_symbol)s), low, high);
    }
}

static void copy_type(const lowering *w, const hn_type *from, hn_type *to) {
    *to = (hn_type){.dtype = from->dtype, .rank = from->rank};
    for (size_t d = 0; d < from->rank; d++) to->dim[d] = dim_of(w, from->dim[d]);
}

static void add_values(lowering *w) {
    const hn_layout *l = w->l;
    hn_program *p = w->p;
    p->n_value = l->n_slot;
    p->value = hn_alloc_n(&p->arena, l->n_slot, sizeof *p->value);
    for (hn_val v = 1; p->value && v < l->n_slot; v++) {
        const hn_storage *s = &l->slot[v];
        hn_program_value *x = &p->value[v];
        if (s->where == HN_AT_NOWHERE) continue;
        *x = (hn_program_value){.where = s->where, .index = s->index, .output = s->output};
        copy_type(w, type_of(w, hn_slot_type(w->g, l, v)), &x->type);
        x->room = dim_of(w, s->room);
        if (s->where == HN_AT_INPUT) x->name = hn_strdup(&p->arena, w->g->value[v].name);
        if (s->root != v) *x = (hn_program_value){.type = x->type, .where = HN_AT_VIEW, .base = s->root, .output = -1};
    }
}

static void add_tables(lowering *w) {
    hn_program *p = w->p;
    const hn_layout *l = w->l;
    const hn_blk *b = &w->g->block[0];
    p->n_kernel = w->how->n_kernel;
    p->kernel = hn_alloc_n(&p->arena, p->n_kernel, sizeof *p->kernel);
    for (uint32_t i = 0; p->kernel && i < p->n_kernel; i++) {
        p->kernel[i] = w->how->kernel[i];
        p->kernel[i].name = hn_strdup(&p->arena, p->kernel[i].name);
        p->kernel[i].kind = hn_strdup(&p->arena, p->kernel[i].kind);
    }
    p->sizes = l->sizes;
    p->arena_b = l->arena_b;
    p->n_item = (uint32_t)l->n_item;
    p->item = hn_alloc_n(&p->arena, p->n_item, sizeof *p->item);
    if (p->item && p->n_item) memcpy(p->item, l->item, p->n_item * sizeof *p->item);
    p->output = hn_alloc_n(&p->arena, b->n_result, sizeof *p->output);
    for (uint32_t i = 0; p->output && i < b->n_result; i++)
        if (hn_is_port(w->how->states, i, true))
            p->output[p->n_output++] = (hn_program_output){b->result[i], hn_strdup(&p->arena, w->g->output_name[i])};
    p->n_state = l->n_update;
    p->state = hn_alloc_n(&p->arena, p->n_state, sizeof *p->state);
    for (uint32_t k = 0; p->state && k < p->n_state; k++)
        p->state[k] = (hn_program_state){hn_strdup(&p->arena, w->how->states.state[k].name),
                                         hn_strdup(&p->arena, w->how->states.state[k].output), l->update[k].old,
                                         l->update[k].into};
}

/* --- symbols and the relations between them --------------------------------------------------------------------------
 */

static void bind_one(const lowering *w, hn_symbol s, hn_dim d) {
    hn_step *x = add(w, HN_STEP_BIND, 0, 0, 1, 1);
    if (!x) return;
    x->symbol[0] = s;
    x->dim[0] = dim_of(w, d);
}

static void add_relation(const lowering *w, const hn_relation *r) {
    hn_step *x = add(w, HN_STEP_CHECK, 0, 0, 0, r->b ? 2 : 1);
    if (!x) return;
    x->check = r->b ? HN_CHECK_EQUAL : HN_CHECK_DIVISIBLE;
    x->dim[0] = dim_as_stated(w, r->a);
    if (r->b)
        x->dim[1] = dim_as_stated(w, r->b);
    else
        x->number = r->by;
}

/* Is every symbol of relation r known, and one of them in `fresh` (NULL: any)? */
static bool is_due(const lowering *w, const hn_relation *r, const bool *fresh, bool *used) {
    size_t n = hn_dims_symbols(w->g->dims);
    bool due = fresh == NULL;
    memset(used, 0, n * sizeof *used);
    hn_dim_mark(w->g->dims, r->a, used);
    if (r->b) hn_dim_mark(w->g->dims, r->b, used);
    for (size_t s = 0; s < n; s++) {
        if (used[s] && !w->known[s]) return false;
        due = due || (used[s] && fresh[s]);
    }
    return due;
}

static void add_due(const lowering *w, const bool *fresh) {
    const hn_relation *r;
    size_t n_relation = hn_dim_relations(w->g->dims, &r);
    bool *used = calloc(hn_dims_symbols(w->g->dims) + 1, sizeof *used);
    if (!used) w->p->arena.failed = true;
    for (size_t i = 0; used && i < n_relation; i++)
        if ((r[i].b || r[i].by) && is_due(w, &r[i], fresh, used)) add_relation(w, &r[i]);
    free(used);
}

enum { MAX_DEFINED = 64 };

/* The symbols that a list of `defines` names, from number `from` on. */
static size_t list_symbols(const hn_graph *g, const hn_attr *defines, uint32_t from, uint32_t to, hn_symbol *list,
                           size_t n) {
    for (uint32_t i = from; defines && i < defines->n && i < to && n < MAX_DEFINED; i++)
        if (hn_dim_is_symbol(g->dims, defines->dims[i], &list[n])) n++;
    return n;
}

/* Those that the nodes of a kernel's body define, in order. */
static size_t body_symbols(const hn_graph *g, hn_block body, hn_symbol *list) {
    size_t n = 0;
    for (uint32_t i = 0; i < g->block[body].n_node; i++)
        n = list_symbols(g, hn_attr_get(&g->node[g->block[body].node[i]], HN_A_DEFINES), 0, UINT32_MAX, list, n);
    return n;
}

/* These symbols are known from here on: adds the checks of the relations that they complete. */
static void now_known(const lowering *w, const hn_symbol *list, size_t n) {
    bool *fresh = n ? calloc(hn_dims_symbols(w->g->dims) + 1, sizeof *fresh) : NULL;
    if (!n) return;
    if (!fresh) w->p->arena.failed = true;
    for (size_t i = 0; fresh && i < n; i++) w->known[list[i]] = fresh[list[i]] = true;
    if (fresh) add_due(w, fresh);
    free(fresh);
}

/* Symbols number [from, to) that node n defines. */
static void now_defined(const lowering *w, const hn_node *n, uint32_t from, uint32_t to) {
    hn_symbol list[MAX_DEFINED];
    now_known(w, list, list_symbols(w->g, hn_attr_get(n, HN_A_DEFINES), from, to, list, 0));
}

/* --- sizes of the inputs ---------------------------------------------------------------------------------------------
 */

static void bind_input(const lowering *w, hn_val v) {
    const hn_type *t = type_of(w, v);
    for (size_t d = 0; d < t->rank; d++) {
        hn_symbol s;
        if (hn_dim_is_int(w->g->dims, t->dim[d], NULL) || !hn_dim_is_symbol(w->g->dims, t->dim[d], &s) || w->known[s])
            continue;
        hn_step *x = add(w, HN_STEP_SIZE, 1, 0, 1, 0);
        if (!x) return;
        w->known[s] = true;
        x->symbol[0] = s;
        x->in[0] = v;
        x->number = (int64_t)d;
    }
}

/* The model's own name of a size that has another name by now. */
static const char *own_name(const lowering *w, hn_dim d, hn_dim ours) {
    hn_str text = {0};
    hn_symbol s;
    const char *own = hn_dim_is_symbol(w->g->dims, d, &s) ? hn_symbol_name(w->g->dims, s) : NULL;
    hn_dim_print(w->p->dims, ours, &text);
    if (own && text.text && !strcmp(text.text, own)) own = NULL;
    hn_str_free(&text);
    return hn_strdup(&w->p->arena, own);
}

static void check_input(const lowering *w, hn_val v) {
    const hn_type *t = type_of(w, v);
    for (size_t d = 0; d < t->rank; d++) {
        if (hn_dim_is_int(w->g->dims, t->dim[d], NULL)) continue;
        hn_step *x = add(w, HN_STEP_CHECK, 1, 0, 0, 1);
        if (!x) return;
        x->check = HN_CHECK_SIZE;
        x->in[0] = v;
        x->number = (int64_t)d;
        x->dim[0] = dim_of(w, t->dim[d]);
        x->text = own_name(w, t->dim[d], x->dim[0]);
    }
}

static void add_sizes(lowering *w) {
    const hn_blk *b = &w->g->block[0];
    w->at = HN_SIZES_BLOCK;
    for (uint32_t i = 0; i < b->n_param; i++)
        if (hn_is_port(w->how->states, i, false)) bind_input(w, b->param[i]);
    for (uint32_t k = 0; k < w->l->n_update; k++) bind_input(w, w->l->update[k].old);
    for (uint32_t i = 0; i < b->n_param; i++)
        if (hn_is_port(w->how->states, i, false)) check_input(w, b->param[i]);
    for (uint32_t k = 0; k < w->l->n_update; k++) check_input(w, w->l->update[k].old);
    add_due(w, NULL);
}

/* --- what kernels rely on and no type says: movement stays inside its input ------------------------------------------
 */

static bool never_negative(const lowering *w, hn_dim d) {
    int64_t low, high;
    hn_dim_range(w->g->dims, d, &low, &high);
    return low >= 0;
}

/* Elements first, first + step, ... of a dimension of n, count of them: inside it, whatever the symbols are? */
static bool stays_inside(const lowering *w, hn_dim first, int64_t step, hn_dim count, hn_dim n) {
    hn_dims *t = w->g->dims;
    hn_dim one = hn_dim_int(t, 1), end = hn_dim_sub(t, n, one);
    hn_dim last = hn_dim_add(t, first, hn_dim_mul(t, hn_dim_sub(t, count, one), hn_dim_int(t, step)));
    hn_dim low = step > 0 ? first : last, high = step > 0 ? last : first;
    return never_negative(w, low) && never_negative(w, hn_dim_sub(t, end, high));
}

static void check_slice(const lowering *w, const hn_node *n) {
    const hn_type *in = type_of(w, n->in[0]), *out = type_of(w, n->out[0]);
    const hn_attr *start = hn_attr_get(n, HN_A_START), *step = hn_attr_get(n, HN_A_STEP);
    for (size_t d = 0; d < in->rank; d++) {
        int64_t by = step ? step->ints[d] : 1;
        hn_dim first = start ? start->dims[d] : hn_dim_int(w->g->dims, 0);
        if (stays_inside(w, first, by, out->dim[d], in->dim[d])) continue;
        hn_step *x = add(w, HN_STEP_CHECK, 0, 0, 0, 3);
        if (!x) return;
        x->check = HN_CHECK_INSIDE;
        x->number = by;
        x->dim[0] = dim_of(w, first);
        x->dim[1] = dim_of(w, out->dim[d]);
        x->dim[2] = dim_of(w, in->dim[d]);
    }
}

static void check_pad(const lowering *w, const hn_node *n) {
    static const hn_attr_id side[] = {HN_A_LOW, HN_A_HIGH};
    for (size_t i = 0; i < 2; i++) {
        const hn_attr *a = hn_attr_get(n, side[i]);
        for (uint32_t d = 0; a && d < a->n; d++) {
            hn_step *x = never_negative(w, a->dims[d]) ? NULL : add(w, HN_STEP_CHECK, 0, 0, 0, 1);
            if (!x) continue;
            x->check = HN_CHECK_PADDING;
            x->dim[0] = dim_of(w, a->dims[d]);
        }
    }
}

static void check_bounds(const lowering *w, hn_block body) {
    for (uint32_t i = 0; i < w->g->block[body].n_node; i++) {
        const hn_node *n = node_at(w, w->g->block[body].node[i]);
        if (n->op == HN_OP_SLICE) check_slice(w, n);
        if (n->op == HN_OP_PAD) check_pad(w, n);
    }
}

/* --- nodes -----------------------------------------------------------------------------------------------------------
 */

static void lower_block(lowering *w, hn_block b, uint32_t to);

static void lower_kernel(const lowering *w, uint32_t id) {
    const hn_node *n = node_at(w, id);
    const hn_launch_facts *f = &w->how->launch[id];
    hn_symbol list[MAX_DEFINED];
    hn_block body = body_of(n, 0);
    size_t n_symbol = body_symbols(w->g, body, list);
    uint32_t n_work = f->work ? 1 : f->n_work_by;
    check_bounds(w, body);
    hn_step *x = add(w, HN_STEP_LAUNCH, n->n_in, n->n_out, (uint32_t)n_symbol, 2 + n_work);
    if (!x) return;
    x->kernel = f->kernel;
    x->number = f->work == 0;
    if (n->n_in) memcpy(x->in, n->in, n->n_in * sizeof *x->in);
    if (n->n_out) memcpy(x->out, n->out, n->n_out * sizeof *x->out);
    if (n_symbol) memcpy(x->symbol, list, n_symbol * sizeof *x->symbol);
    x->dim[0] = dim_of(w, f->cost);
    x->dim[1] = f->scratch_b ? dim_of(w, f->scratch_b) : hn_dim_int(w->p->dims, 0);
    for (uint32_t i = 0; i < n_work; i++) x->dim[2 + i] = dim_of(w, f->work ? f->work : f->work_by[i]);
    now_known(w, list, n_symbol);
}

static void lower_dims(const lowering *w, const hn_node *n) {
    const hn_attr *shape = hn_attr_get(n, HN_A_SHAPE);
    hn_step *x = add(w, HN_STEP_STORE, 0, 1, 0, shape->n);
    if (!x) return;
    x->out[0] = n->out[0];
    for (uint32_t i = 0; i < shape->n; i++) x->dim[i] = dim_of(w, shape->dims[i]);
}

static void lower_bind(const lowering *w, const hn_node *n) {
    const hn_attr *defines = hn_attr_get(n, HN_A_DEFINES);
    for (uint32_t i = 0; defines && i < defines->n; i++) {
        hn_symbol s;
        hn_step *x = hn_dim_is_symbol(w->g->dims, defines->dims[i], &s) ? add(w, HN_STEP_READ, 1, 0, 1, 0) : NULL;
        if (!x) continue;
        x->symbol[0] = s;
        x->in[0] = n->in[0];
        x->number = i;
    }
    now_defined(w, n, 0, UINT32_MAX);
}

/* Is d one of the symbols that node n defines, from number `from` on? */
static bool defined_by(const lowering *w, const hn_node *n, uint32_t from, hn_dim d, hn_symbol *s) {
    const hn_attr *defines = hn_attr_get(n, HN_A_DEFINES);
    hn_symbol x;
    if (!hn_dim_is_symbol(w->g->dims, d, s)) return false;
    for (uint32_t i = from; defines && i < defines->n; i++)
        if (hn_dim_is_symbol(w->g->dims, defines->dims[i], &x) && x == *s) return true;
    return false;
}

/* Symbols in `to`'s type that n defines take the sizes of `from`. */
static void take_sizes(const lowering *w, const hn_node *n, uint32_t first, hn_val to, hn_val from) {
    const hn_type *t = type_of(w, to), *f = type_of(w, from);
    for (size_t d = 0; d < t->rank; d++) {
        hn_symbol s;
        if (t->dim[d] != f->dim[d] && defined_by(w, n, first, t->dim[d], &s)) bind_one(w, s, f->dim[d]);
    }
}

static void add_copy(const lowering *w, hn_val to, hn_val from) {
    hn_step *x = add(w, HN_STEP_COPY, 1, 1, 0, 0);
    if (x) x->in[0] = from, x->out[0] = to;
}

static void lower_if(lowering *w, const hn_node *n) {
    uint32_t around = w->at, side[2] = {hn_program_block(w->p), hn_program_block(w->p)};
    hn_step *x = add(w, HN_STEP_IF, 1, 0, 0, 0);
    if (!x) return;
    x->in[0] = n->in[0];
    memcpy(x->block, side, sizeof side);
    for (int k = 0; k < 2; k++) {
        hn_block b = body_of(n, (uint32_t)k);
        lower_block(w, b, side[k]);
        for (uint32_t i = 0; i < n->n_out; i++) take_sizes(w, n, 0, n->out[i], w->g->block[b].result[i]);
        for (uint32_t i = 0; i < n->n_out; i++) add_copy(w, n->out[i], w->g->block[b].result[i]);
    }
    w->at = around;
    now_defined(w, n, 0, UINT32_MAX);
}

/* The end of an iteration: carried values move to the parameters, all at once in effect; then symbols that changed. */
static void lower_carry(const lowering *w, uint32_t id, const hn_blk *b) {
    const hn_node *n = node_at(w, id);
    uint32_t n_carried = n->n_in - 2u, staging = w->l->staging[id], n_changed = 0;
    hn_symbol symbol[MAX_DEFINED];
    hn_dim value[MAX_DEFINED];
    for (uint32_t k = 0; k < n_carried && staging; k++) add_copy(w, staging + k, b->result[1 + k]);
    for (uint32_t k = 0; k < n_carried; k++) add_copy(w, b->param[2 + k], staging ? staging + k : b->result[1 + k]);
    for (uint32_t k = 0; k < n_carried; k++) {
        const hn_type *t = type_of(w, b->param[2 + k]), *f = type_of(w, b->result[1 + k]);
        for (size_t d = 0; d < t->rank; d++)
            if (t->dim[d] != f->dim[d] && n_changed < MAX_DEFINED && defined_by(w, n, 1, t->dim[d], &symbol[n_changed]))
                value[n_changed++] = f->dim[d];
    }
    hn_step *x = n_changed ? add(w, HN_STEP_BIND, 0, 0, n_changed, n_changed) : NULL;
    for (uint32_t i = 0; x && i < n_changed; i++) x->symbol[i] = symbol[i], x->dim[i] = dim_of(w, value[i]);
}

static void lower_body(lowering *w, uint32_t id, uint32_t to) {
    hn_node n = *node_at(w, id);
    hn_block body = body_of(&n, 0);
    const hn_blk *b = &w->g->block[body];
    uint32_t n_carried = n.n_in - 2u, around = w->at;
    lower_block(w, body, to);
    w->at = to;
    hn_step *x = add(w, HN_STEP_AGAIN, 1, 0, 0, 0);
    if (x) x->in[0] = b->result[0];
    for (uint32_t k = n_carried; k < n.n_out; k++) {
        x = add(w, HN_STEP_STACK, 1, 1, 0, 0);
        if (x) x->in[0] = b->result[1 + k], x->out[0] = n.out[k];
    }
    lower_carry(w, id, b);
    now_defined(w, &n, 1, UINT32_MAX);
    w->at = around;
}

static void lower_loop(lowering *w, uint32_t id) {
    hn_node n = *node_at(w, id);
    const hn_blk *b = &w->g->block[body_of(&n, 0)];
    uint32_t n_carried = n.n_in - 2u, to = hn_program_block(w->p), at = w->at;
    const hn_attr *defines = hn_attr_get(&n, HN_A_DEFINES);
    hn_symbol turns;
    bool counted = defines && defines->n && hn_dim_is_symbol(w->g->dims, defines->dims[0], &turns);
    for (uint32_t k = 0; k < n_carried; k++) take_sizes(w, &n, 1, b->param[2 + k], n.in[2 + k]);
    now_defined(w, &n, 1, UINT32_MAX);
    for (uint32_t k = 0; k < n_carried; k++) add_copy(w, b->param[2 + k], n.in[2 + k]);
    hn_step *x = add(w, HN_STEP_LOOP, 2, 2, counted, 0);
    if (!x) return;
    memcpy(x->in, n.in, 2 * sizeof *x->in);
    memcpy(x->out, b->param, 2 * sizeof *x->out);
    x->block[0] = to;
    if (counted) x->symbol[0] = turns;
    lower_body(w, id, to);
    w->at = at;
    now_defined(w, &n, 0, 1);
    for (uint32_t k = 0; k < n_carried; k++) take_sizes(w, &n, 1, n.out[k], b->param[2 + k]);
    for (uint32_t k = 0; k < n_carried; k++) add_copy(w, n.out[k], b->param[2 + k]);
}

/* Rows that node `maker` - 1 made (0: inputs of the model) are appended to their state. */
static void append_rows(const lowering *w, uint32_t maker) {
    for (uint32_t k = 0; k < w->l->n_update; k++) {
        const hn_update *u = &w->l->update[k];
        hn_step *x = u->appends && w->g->value[u->value].node == maker ? add(w, HN_STEP_STATE, 2, 1, 0, 0) : NULL;
        if (!x) continue;
        x->in[0] = u->old, x->in[1] = u->value;
        x->out[0] = u->into;
    }
}

static void lower_node(lowering *w, uint32_t id) {
    const hn_node *n = node_at(w, id);
    switch (n->op) {
    case HN_OP_KERNEL: lower_kernel(w, id); break;
    case HN_OP_DIMS: lower_dims(w, n); break;
    case HN_OP_BIND: lower_bind(w, n); break;
    case HN_OP_IF: lower_if(w, n); break;
    case HN_OP_LOOP: lower_loop(w, id); break;
    default: break; /* constants and views */
    }
}

static void lower_block(lowering *w, hn_block b, uint32_t to) {
    for (uint32_t i = 0; i < w->g->block[b].n_node; i++) {
        w->at = to;
        lower_node(w, w->g->block[b].node[i]);
        w->at = to;
        if (!b) append_rows(w, w->g->block[b].node[i] + 1);
    }
    w->at = to;
}

static void lower_run(lowering *w) {
    w->at = HN_STEPS_BLOCK;
    append_rows(w, 0);
    lower_block(w, 0, HN_STEPS_BLOCK);
    for (uint32_t k = 0; k < w->l->n_update; k++) {
        const hn_update *u = &w->l->update[k];
        if (!u->appends && u->into != u->value) add_copy(w, u->into, u->value);
    }
}

hone_rc hn_program_lower(hn_graph *g, const hn_layout *l, const hn_lowering *how, hn_program *out, hone_err *err) {
    size_t n = hn_dims_symbols(g->dims);
    lowering w = {.g = g, .l = l, .how = how, .p = out};
    hn_program_begin(out);
    out->name = hn_strdup(&out->arena, how->name ? how->name : "");
    w.known = hn_alloc_n(&out->arena, n + 1, sizeof *w.known);
    w.ours = hn_alloc_n(&out->arena, n + 1, sizeof *w.ours);
    if (hn_arena_ok(&out->arena)) {
        add_symbols(&w);
        add_values(&w);
        add_tables(&w);
    }
    if (hn_arena_ok(&out->arena)) {
        add_sizes(&w);
        lower_run(&w);
    }
    if (hn_arena_ok(&out->arena) && hn_arena_ok(&g->arena)) return HONE_OK;
    return hn_fail(err, HONE_E_NOMEM, "out of memory for the program");
}
