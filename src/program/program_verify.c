/* program_verify.c — the invariants of program.h.
 *
 * Form first (1, 5 to 11), then one walk forwards that carries what is defined and written on every path (2, 3), and
 * one backwards that carries what is still read (4). A loop's set at its end is what is read behind it and what its
 * block reads before writing it; that of a block is computed once and kept.
 */
#include "program/program.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct checker {
    const hn_program *p;
    hn_arena a; /* all sets */
    hone_err *err;
    hone_rc rc;
    size_t n_word, n_symbol;
    uint64_t **exposed;  /* by a loop's block: what it reads before writing it; NULL: not computed yet */
    hn_plan_item *group; /* by item: span of all that share its memory; `shares`: their first */
    const hn_step *step; /* being looked at */
    uint8_t *seen_block;
    unsigned depth;
} checker;

__attribute__((format(printf, 3, 4))) static bool fault(checker *c, int invariant, const char *fmt, ...) {
    char text[300];
    va_list ap;
    if (c->rc) return false;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    c->rc = hn_fail(c->err, HONE_E_FAILED, "the program breaks invariant %d: %s%s%s", invariant,
                    c->step ? hn_step_text(c->step->kind) : "", c->step ? ": " : "", text);
    return false;
}

static bool out_of_memory(checker *c) {
    if (!c->rc) c->rc = hn_fail(c->err, HONE_E_NOMEM, "out of memory while verifying the program");
    return false;
}

static const hn_program_value *value_at(const checker *c, hn_val v) { return &c->p->value[v]; }
static hn_val root_of(const checker *c, hn_val v) { return hn_program_root(c->p, v); }
static bool has(const uint64_t *s, hn_val v) { return s[v / 64] >> v % 64 & 1; }
static void put(uint64_t *s, hn_val v) { s[v / 64] |= (uint64_t)1 << v % 64; }
static void drop(uint64_t *s, hn_val v) { s[v / 64] &= ~((uint64_t)1 << v % 64); }

static uint64_t *new_set(checker *c, const uint64_t *from) {
    uint64_t *s = hn_alloc_n(&c->a, c->n_word, sizeof *s);
    if (s && from) memcpy(s, from, c->n_word * sizeof *s);
    if (!s) out_of_memory(c);
    return s;
}

/* --- form: values, items, outputs ------------------------------------------------------------------------------------
 */

static bool is_declared(const checker *c, hn_val v) {
    return v && v < c->p->n_value && c->p->value[v].where != HN_AT_NOWHERE;
}

/* Number of elements as an expression; 0: too long. */
static hn_dim count_of(const checker *c, const hn_type *t) {
    hn_dim n = hn_dim_int(c->p->dims, 1);
    for (size_t d = 0; d < t->rank && n; d++) n = t->dim[d] ? hn_dim_mul(c->p->dims, n, t->dim[d]) : 0;
    return n;
}

static bool may_equal(const checker *c, hn_dim a, hn_dim b) {
    return !a || !b || hn_dim_equal(c->p->dims, a, b) != HN_DIFFERENT;
}

static bool same_bytes(const checker *c, const hn_type *a, const hn_type *b) {
    return a->dtype == b->dtype && may_equal(c, count_of(c, a), count_of(c, b));
}

/* INT64_MAX: no bound. */
static int64_t most_bytes(const checker *c, const hn_program_value *x) {
    int64_t size_b = hn_dtype_of(x->type.dtype)->size_b, low, high;
    for (size_t d = 0; d < (x->room ? 1 : x->type.rank); d++) {
        hn_dim_range(c->p->dims, x->room ? x->room : x->type.dim[d], &low, &high);
        if (high < 0) high = 0;
        if (__builtin_mul_overflow(size_b, high, &size_b)) size_b = high ? INT64_MAX : 0;
    }
    return size_b;
}

static bool check_item(checker *c, hn_val v, uint8_t *owned) {
    const hn_program_value *x = value_at(c, v);
    if ((uint32_t)x->index >= c->p->n_item)
        return fault(c, 11, "%%%u lies in item %d, which does not exist", v, x->index);
    const hn_plan_item *item = &c->p->item[x->index];
    const uint8_t bit = x->space == HN_HOST ? 1 : 2;
    if (owned[x->index] & bit) return fault(c, 11, "item %d has a second value, %%%u", x->index, v);
    owned[x->index] |= bit;
    if (c->p->sizes == HN_SIZES_OPEN) return true;
    if (item->offset % 64 || item->offset + item->size_b > c->p->arena_b)
        return fault(c, 11, "item %d does not lie at a multiple of 64 inside the arena", x->index);
    return most_bytes(c, x) <= item->size_b ||
           fault(c, 11, "%%%u can have more bytes than the %lld of item %d", v, (long long)item->size_b, x->index);
}

static bool check_value(checker *c, hn_val v, uint8_t *owned) {
    const hn_program_value *x = value_at(c, v);
    if (x->output >= 0 && (x->where != HN_AT_ARENA || (uint32_t)x->output >= c->p->n_output))
        return fault(c, 9, "%%%u cannot take the buffer of output %d", v, x->output);
    if (x->where == HN_AT_ARENA) return check_item(c, v, owned);
    if (x->where == HN_AT_STATE && (uint32_t)x->index >= c->p->n_state)
        return fault(c, 12, "%%%u lies in state %d, which does not exist", v, x->index);
    if (x->where == HN_AT_NEXT &&
        ((uint32_t)x->index >= c->p->n_state || !is_declared(c, c->p->state[x->index].value) ||
         root_of(c, c->p->state[x->index].value) != v))
        return fault(c, 12, "%%%u lies in the second buffer of state %d, but is not its new value", v, x->index);
    if (x->where != HN_AT_VIEW) return true;
    if (!is_declared(c, x->base) || value_at(c, x->base)->where == HN_AT_VIEW)
        return fault(c, 1, "%%%u is a view of %%%u, which is no value with memory of its own", v, x->base);
    return (x->space == value_at(c, x->base)->space && same_bytes(c, &x->type, &value_at(c, x->base)->type)) ||
           fault(c, 1, "%%%u has other elements than %%%u, whose view it is", v, x->base);
}

/* Items that share memory are one group, alive from the first to the last of them. */
static bool make_groups(checker *c) {
    uint32_t n = c->p->n_item;
    c->group = hn_alloc_n(&c->a, n + 1, sizeof *c->group);
    if (!c->group) return out_of_memory(c);
    for (uint32_t i = 0; i < n; i++) {
        int32_t r = (int32_t)i;
        for (uint32_t k = 0; k <= n && r >= 0 && c->p->item[r].shares >= 0; k++) {
            if (k == n || (uint32_t)c->p->item[r].shares >= n)
                return fault(c, 11, "item %u shares memory with no item, or with itself", i);
            r = c->p->item[r].shares;
        }
        c->group[i] = c->p->item[i];
        c->group[i].shares = r;
    }
    for (uint32_t i = 0; i < n; i++) {
        hn_plan_item *r = &c->group[c->group[i].shares];
        if (c->p->item[i].first < r->first) r->first = c->p->item[i].first;
        if (c->p->item[i].last > r->last) r->last = c->p->item[i].last;
    }
    return true;
}

static bool check_states(checker *c) {
    for (uint32_t k = 0; k < c->p->n_state; k++) {
        const hn_program_state *s = &c->p->state[k];
        for (int i = 0; i < 2; i++) {
            hn_val v = i ? s->value : s->old;
            if (!is_declared(c, v)) return fault(c, 1, "state %u names %%%u, which is not declared", k, v);
            const hn_program_value *x = value_at(c, root_of(c, v));
            bool there = x->where == HN_AT_STATE || (i && x->where == HN_AT_NEXT);
            if (!there || (uint32_t)x->index != k || (!i && root_of(c, v) != v))
                return fault(c, 12, "%%%u does not lie in state %u", v, k);
        }
    }
    return true;
}

static bool check_values(checker *c) {
    uint8_t *owned = hn_alloc_n(&c->a, c->p->n_item + 1, sizeof *owned);
    bool *taken = hn_alloc_n(&c->a, c->p->n_output + 1, sizeof *taken);
    if (!owned || !taken) return out_of_memory(c);
    for (hn_val v = 1; v < c->p->n_value; v++) {
        if (!is_declared(c, v)) continue;
        if (!check_value(c, v, owned)) return false;
        int32_t j = value_at(c, v)->output;
        if (j < 0) continue;
        if (taken[j]) return fault(c, 9, "%%%u is the second value in the buffer of output %d", v, j);
        taken[j] = true;
    }
    for (uint32_t i = 0; i < c->p->n_item; i++)
        if (!owned[i]) return fault(c, 11, "item %u has no value", i);
    for (uint32_t j = 0; j < c->p->n_output; j++)
        if (!is_declared(c, c->p->output[j].value))
            return fault(c, 1, "output %u is %%%u, which is not declared", j, c->p->output[j].value);
    return check_states(c) && make_groups(c);
}

/* --- form: steps -----------------------------------------------------------------------------------------------------
 */

static bool on_host(checker *c, hn_val v, hone_dtype dtype) {
    if (!v) return true;
    if (value_at(c, v)->space != HN_HOST) return fault(c, 5, "%%%u is not in the host's memory", v);
    return value_at(c, v)->type.dtype == dtype ||
           fault(c, 5, "%%%u is not %s, as the host takes it", v, hn_dtype_of(dtype)->text);
}

static bool check_operands(checker *c, const hn_step *s) {
    bool optional = s->kind == HN_STEP_LAUNCH || s->kind == HN_STEP_CALL || s->kind == HN_STEP_LOOP;
    for (uint32_t i = 0; i < s->n_in; i++)
        if (!(optional && !s->in[i]) && !is_declared(c, s->in[i])) return fault(c, 1, "%%%u is not declared", s->in[i]);
    for (uint32_t i = 0; i < s->n_out; i++) {
        if (!is_declared(c, s->out[i])) return fault(c, 1, "%%%u is not declared", s->out[i]);
        hn_memory where = value_at(c, root_of(c, s->out[i]))->where;
        if (where == HN_AT_STATE &&
            c->p->state[value_at(c, root_of(c, s->out[i]))->index].old == root_of(c, s->out[i]) &&
            root_of(c, c->p->state[value_at(c, root_of(c, s->out[i]))->index].value) != root_of(c, s->out[i]))
            return fault(c, 12, "%%%u is the old value of a state", s->out[i]);
        if (where == HN_AT_WEIGHTS || where == HN_AT_INPUT)
            return fault(c, 6, "%%%u is written, but the memory is not the program's", s->out[i]);
    }
    return true;
}

static bool check_launch(checker *c, const hn_step *s) {
    if (s->kernel >= c->p->n_kernel) return fault(c, 8, "there is no kernel %u", s->kernel);
    if (s->n_dim < 3) return fault(c, 8, "the work is not said");
    int32_t space = c->p->kernel[s->kernel].space;
    for (uint32_t i = 0; i < s->n_in + s->n_out; i++) {
        hn_val v = i < s->n_in ? s->in[i] : s->out[i - s->n_in];
        if (v && value_at(c, v)->space != space) return fault(c, 5, "%%%u is not in the kernel's memory space", v);
    }
    return true;
}

static bool same_space(checker *c, const hn_step *s) {
    for (uint32_t i = 0; i < s->n_in; i++)
        if (value_at(c, s->in[i])->space != value_at(c, s->out[0])->space)
            return fault(c, 5, "%%%u is not in the memory space of %%%u", s->in[i], s->out[0]);
    return true;
}

static bool check_copy(checker *c, const hn_step *s) {
    const hn_type *from = &value_at(c, s->in[0])->type, *to = &value_at(c, s->out[0])->type;
    if (s->kind == HN_STEP_STACK ? from->dtype == to->dtype : same_bytes(c, from, to)) return true;
    return fault(c, 10, "%%%u and %%%u do not have the same elements", s->out[0], s->in[0]);
}

/* new = old with rows behind it: of one state, one type but for the first dimension, whose sizes add up. */
static bool check_rows(checker *c, const hn_step *s) {
    const hn_program_value *old = value_at(c, s->in[0]), *rows = value_at(c, s->in[1]), *now = value_at(c, s->out[0]);
    bool good = old->where == HN_AT_STATE && now->where == HN_AT_STATE && old->index == now->index &&
                value_at(c, root_of(c, s->in[1]))->where != HN_AT_STATE && c->p->state[old->index].old == s->in[0] &&
                c->p->state[old->index].value == s->out[0];
    const hn_type *a = &old->type, *b = &rows->type, *t = &now->type;
    good = good && a->dtype == t->dtype && b->dtype == t->dtype && a->rank == t->rank && b->rank == t->rank && t->rank;
    for (size_t d = 0; d < t->rank && good; d++) {
        hn_dim both = d ? a->dim[d] : hn_dim_add(c->p->dims, a->dim[d], b->dim[d]);
        good = hn_dim_equal(c->p->dims, both, t->dim[d]) == HN_EQUAL && (!d || may_equal(c, b->dim[d], t->dim[d]));
    }
    return good || fault(c, 12, "%%%u is not %%%u with the rows of %%%u behind it", s->out[0], s->in[0], s->in[1]);
}

static bool check_size(checker *c, const hn_step *s) {
    const hn_program_value *x = value_at(c, s->in[0]);
    return ((x->where == HN_AT_INPUT || x->where == HN_AT_STATE) && s->number < x->type.rank) ||
           fault(c, 7, "%%%u is no input or state with a dimension %lld", s->in[0], (long long)s->number);
}

static bool check_read(checker *c, const hn_step *s) {
    int64_t n;
    if (!on_host(c, s->in[0], HONE_I64)) return false;
    return !hn_dim_is_int(c->p->dims, count_of(c, &value_at(c, s->in[0])->type), &n) || s->number < n ||
           fault(c, 1, "%%%u has no element %lld", s->in[0], (long long)s->number);
}

static bool check_block(checker *c, uint32_t block, bool loop);

static bool check_loop(checker *c, const hn_step *s) {
    uint32_t n_again = 0;
    const hn_step_block *b = &c->p->block[s->block[0]];
    if (!on_host(c, s->in[0], HONE_I64) || !on_host(c, s->in[1], HONE_BOOL) || !on_host(c, s->out[0], HONE_I64) ||
        !on_host(c, s->out[1], HONE_BOOL))
        return false;
    for (uint32_t i = 0; i < b->n; i++) n_again += b->step[i].kind == HN_STEP_AGAIN;
    if (n_again != 1) return fault(c, 7, "the block has %u 'again' at its top instead of one", n_again);
    return check_block(c, s->block[0], true);
}

static bool check_step(checker *c, const hn_step *s, bool loop) {
    if (!check_operands(c, s)) return false;
    switch (s->kind) {
    case HN_STEP_LAUNCH: return check_launch(c, s);
    case HN_STEP_COPY: return check_copy(c, s);
    case HN_STEP_STATE: return same_space(c, s) && check_rows(c, s);
    case HN_STEP_STORE: return on_host(c, s->out[0], HONE_I64);
    case HN_STEP_CHECK: return s->check != HN_CHECK_SIZE || check_size(c, s);
    case HN_STEP_SIZE: return check_size(c, s);
    case HN_STEP_READ: return check_read(c, s);
    case HN_STEP_IF:
        return on_host(c, s->in[0], HONE_BOOL) && check_block(c, s->block[0], false) &&
               check_block(c, s->block[1], false);
    case HN_STEP_LOOP: return check_loop(c, s);
    case HN_STEP_AGAIN:
    case HN_STEP_STACK:
        if (!loop) return fault(c, 7, "this is not at the top of a loop's block");
        return s->kind == HN_STEP_STACK ? same_space(c, s) && check_copy(c, s) : on_host(c, s->in[0], HONE_BOOL);
    default: return true;
    }
}

static bool check_block(checker *c, uint32_t block, bool loop) {
    bool good = block < c->p->n_block && !c->seen_block[block] && c->depth < HN_PROGRAM_DEPTH;
    if (!good) return fault(c, 7, "block %u is not inside one step alone", block);
    c->seen_block[block] = 1;
    c->depth++;
    for (uint32_t i = 0; i < c->p->block[block].n && good; i++) {
        c->step = &c->p->block[block].step[i];
        good = check_step(c, c->step, loop);
    }
    c->depth--;
    return good;
}

static bool check_form(checker *c) {
    const hn_step_block *sizes = &c->p->block[HN_SIZES_BLOCK];
    for (uint32_t i = 0; i < sizes->n; i++) {
        c->step = &sizes->step[i];
        hn_step_kind k = c->step->kind;
        if (k != HN_STEP_SIZE && k != HN_STEP_BIND && k != HN_STEP_CHECK)
            return fault(c, 7, "this is no step of 'sizes'");
    }
    return check_block(c, HN_SIZES_BLOCK, false) && check_block(c, HN_STEPS_BLOCK, false);
}

/* --- forwards: defined and written -----------------------------------------------------------------------------------
 */

/* On every path so far: values written, symbols defined. */
typedef struct known {
    uint64_t *written;
    bool *defined;
} known;

static bool copy_known(checker *c, const known *from, known *to) {
    to->written = new_set(c, from->written);
    to->defined = hn_alloc_n(&c->a, c->n_symbol + 1, sizeof *to->defined);
    if (!to->written || !to->defined) return out_of_memory(c);
    memcpy(to->defined, from->defined, c->n_symbol * sizeof *to->defined);
    return true;
}

static bool uses_dim(checker *c, const known *k, hn_dim d) {
    bool *used = d ? calloc(c->n_symbol + 1, sizeof *used) : NULL;
    bool good = true;
    if (!d) return true;
    if (!used) return out_of_memory(c);
    hn_dim_mark(c->p->dims, d, used);
    for (size_t s = 0; s < c->n_symbol && good; s++)
        if (used[s] && !k->defined[s])
            good = fault(c, 2, "symbol '%s' is used before it is defined", hn_symbol_name(c->p->dims, (hn_symbol)s));
    free(used);
    return good;
}

static bool uses_type(checker *c, const known *k, hn_val v) {
    const hn_program_value *x = value_at(c, v);
    bool good = uses_dim(c, k, x->room);
    for (size_t d = 0; d < x->type.rank && good; d++) good = uses_dim(c, k, x->type.dim[d]);
    return good;
}

static bool reads(checker *c, const known *k, hn_val v) {
    if (!v) return true;
    if (!has(k->written, root_of(c, v))) return fault(c, 3, "%%%u is read before it is written", v);
    return uses_type(c, k, v);
}

static bool forward(checker *c, uint32_t block, known *k);

static bool forward_if(checker *c, const hn_step *s, known *k) {
    known other;
    if (!copy_known(c, k, &other) || !forward(c, s->block[0], k) || !forward(c, s->block[1], &other)) return false;
    for (size_t i = 0; i < c->n_word; i++) k->written[i] &= other.written[i];
    for (size_t i = 0; i < c->n_symbol; i++) k->defined[i] = k->defined[i] && other.defined[i];
    return true;
}

/* After the loop: what was written before it, and what its iterations stack. */
static bool forward_loop(checker *c, const hn_step *s, known *k) {
    const hn_step_block *b = &c->p->block[s->block[0]];
    known inside;
    for (uint32_t i = 0; i < b->n; i++)
        if (b->step[i].kind == HN_STEP_STACK) put(k->written, root_of(c, b->step[i].out[0]));
    if (!copy_known(c, k, &inside)) return false;
    for (uint32_t i = 0; i < s->n_out; i++) put(inside.written, root_of(c, s->out[i]));
    return forward(c, s->block[0], &inside);
}

static bool forward_step(checker *c, const hn_step *s, known *k) {
    bool good = true, sizes = s->kind == HN_STEP_SIZE || (s->kind == HN_STEP_CHECK && s->check == HN_CHECK_SIZE);
    for (uint32_t i = 0; i < s->n_in && good && !sizes; i++) good = reads(c, k, s->in[i]);
    for (uint32_t i = 0; i < s->n_dim && good; i++) good = uses_dim(c, k, s->dim[i]);
    if (good && s->kind == HN_STEP_IF) good = forward_if(c, s, k);
    if (good && s->kind == HN_STEP_LOOP) good = forward_loop(c, s, k);
    c->step = s;
    for (uint32_t i = 0; i < s->n_symbol; i++) k->defined[s->symbol[i]] = true;
    if (s->kind == HN_STEP_LOOP) return good;
    for (uint32_t i = 0; i < s->n_out && good; i++) {
        good = s->kind == HN_STEP_STACK || uses_type(c, k, s->out[i]);
        put(k->written, root_of(c, s->out[i]));
    }
    return good;
}

static bool forward(checker *c, uint32_t block, known *k) {
    bool good = true;
    for (uint32_t i = 0; i < c->p->block[block].n && good; i++) {
        c->step = &c->p->block[block].step[i];
        good = forward_step(c, c->step, k);
    }
    return good;
}

static bool check_order(checker *c) {
    known k = {new_set(c, NULL), hn_alloc_n(&c->a, c->n_symbol + 1, sizeof(bool))};
    if (!k.written || !k.defined) return out_of_memory(c);
    for (hn_val v = 1; v < c->p->n_value; v++) {
        hn_memory where = value_at(c, v)->where;
        if (where == HN_AT_INPUT || where == HN_AT_WEIGHTS) put(k.written, v);
    }
    for (uint32_t i = 0; i < c->p->n_state; i++) put(k.written, c->p->state[i].old);
    if (!forward(c, HN_SIZES_BLOCK, &k)) return false;
    for (hn_val v = 1; v < c->p->n_value; v++) /* there is room for it before the steps begin */
        if (value_at(c, v)->where == HN_AT_NEXT && !uses_type(c, &k, v)) return false;
    if (!forward(c, HN_STEPS_BLOCK, &k)) return false;
    c->step = NULL;
    for (uint32_t j = 0; j < c->p->n_output; j++)
        if (!has(k.written, root_of(c, c->p->output[j].value)))
            return fault(c, 9, "output %u, %%%u, is not written", j, c->p->output[j].value);
    for (uint32_t i = 0; i < c->p->n_state; i++)
        if (!has(k.written, root_of(c, c->p->state[i].value)) || !uses_type(c, &k, c->p->state[i].value))
            return fault(c, 12, "%%%u, the new value of state %u, is not written", c->p->state[i].value, i);
    for (uint32_t j = 0; j < c->p->n_output; j++)
        if (!uses_type(c, &k, c->p->output[j].value)) return false;
    return true;
}

/* --- backwards: memory -----------------------------------------------------------------------------------------------
 */

/* May two roots have a byte in common? */
static bool overlap(const checker *c, hn_val a, hn_val b) {
    const hn_program_value *x = value_at(c, a), *y = value_at(c, b);
    if (x->where != y->where || x->space != y->space) return false;
    if (x->where == HN_AT_GROWN || x->where == HN_AT_STATE || x->where == HN_AT_NEXT) return x->index == y->index;
    if (x->where != HN_AT_ARENA) return false;
    const hn_plan_item *s = &c->p->item[x->index], *t = &c->p->item[y->index];
    if (c->p->sizes != HN_SIZES_OPEN) return s->offset < t->offset + t->size_b && t->offset < s->offset + s->size_b;
    int32_t g = c->group[x->index].shares, h = c->group[y->index].shares;
    return g == h || c->group[g].last < c->group[h].first || c->group[h].last < c->group[g].first;
}

/* Does output k of a launch lie exactly over an input that the kernel lets it lie over, and in no other way? */
static bool lies_over(const checker *c, const hn_step *s, uint32_t k, uint32_t i) {
    const hn_program_value *x = value_at(c, root_of(c, s->out[k])), *y = value_at(c, root_of(c, s->in[i]));
    if (s->kind == HN_STEP_STATE) return i == 0;
    if (s->kind == HN_STEP_COPY && root_of(c, s->out[k]) == root_of(c, s->in[i])) return true;
    if (s->kind != HN_STEP_LAUNCH || k || i > 63 || !(c->p->kernel[s->kernel].in_place >> i & 1)) return false;
    if (x->where == HN_AT_STATE && y->where == HN_AT_STATE) return x->index == y->index;
    if (x->where != HN_AT_ARENA || y->where != HN_AT_ARENA) return false;
    if (c->p->sizes != HN_SIZES_OPEN) return c->p->item[x->index].offset == c->p->item[y->index].offset;
    return c->group[x->index].shares == c->group[y->index].shares;
}

/* What s writes, against what is read behind it (`live`), what it reads, and what else it writes. */
static bool check_writes(checker *c, const hn_step *s, const uint64_t *live) {
    c->step = s;
    for (uint32_t k = 0; k < s->n_out; k++) {
        hn_val to = root_of(c, s->out[k]);
        for (size_t w = 0; w < c->n_word; w++)
            for (uint64_t rest = live[w]; rest; rest &= rest - 1) {
                hn_val v = (hn_val)(64 * w + (size_t)__builtin_ctzll(rest));
                if (v != to && overlap(c, to, v) && !(s->kind == HN_STEP_STATE && v == s->in[0]))
                    return fault(c, 4, "%%%u is written over %%%u, which is still read", s->out[k], v);
            }
        for (uint32_t i = 0; i < s->n_in; i++)
            if (s->in[i] && s->kind != HN_STEP_LOOP &&
                (root_of(c, s->in[i]) == to || overlap(c, to, root_of(c, s->in[i]))) && !lies_over(c, s, k, i))
                return fault(c, 8, "%%%u lies over the input %%%u", s->out[k], s->in[i]);
        for (uint32_t i = 0; i < k; i++)
            if (root_of(c, s->out[i]) == to || overlap(c, to, root_of(c, s->out[i])))
                return fault(c, 4, "%%%u and %%%u are written into the same memory", s->out[k], s->out[i]);
    }
    return true;
}

static bool backward(checker *c, uint32_t block, uint64_t *live, bool check);

static const uint64_t *exposed(checker *c, uint32_t block) {
    if (!c->exposed[block]) {
        c->exposed[block] = new_set(c, NULL);
        if (c->exposed[block]) backward(c, block, c->exposed[block], false);
    }
    return c->exposed[block];
}

static bool backward_loop(checker *c, const hn_step *s, uint64_t *live, bool check) {
    const hn_step_block *b = &c->p->block[s->block[0]];
    const uint64_t *more = exposed(c, s->block[0]);
    for (size_t i = 0; more && i < c->n_word; i++) live[i] |= more[i];
    uint64_t *inside = more && check ? new_set(c, live) : NULL;
    if (c->rc || (inside && !backward(c, s->block[0], inside, true))) return false;
    for (size_t i = 0; inside && i < c->n_word; i++) live[i] |= inside[i];
    if (check && !check_writes(c, s, live)) return false;
    for (uint32_t i = 0; i < b->n; i++)
        if (b->step[i].kind == HN_STEP_STACK) drop(live, root_of(c, b->step[i].out[0]));
    return true;
}

static bool backward_step(checker *c, const hn_step *s, uint64_t *live, bool check) {
    if (s->kind == HN_STEP_IF) {
        uint64_t *other = new_set(c, live);
        if (!other || !backward(c, s->block[0], live, check) || !backward(c, s->block[1], other, check)) return false;
        for (size_t i = 0; i < c->n_word; i++) live[i] |= other[i];
    } else if (s->kind == HN_STEP_LOOP) {
        if (!backward_loop(c, s, live, check)) return false;
    } else if (check && !check_writes(c, s, live)) {
        return false;
    }
    for (uint32_t i = 0; i < s->n_out; i++)
        if (s->kind != HN_STEP_STACK) drop(live, root_of(c, s->out[i]));
    for (uint32_t i = 0; i < s->n_in; i++)
        if (s->in[i]) put(live, root_of(c, s->in[i]));
    if (s->kind == HN_STEP_STACK) put(live, root_of(c, s->out[0]));
    return true;
}

static bool backward(checker *c, uint32_t block, uint64_t *live, bool check) {
    bool good = true;
    for (uint32_t i = c->p->block[block].n; i-- > 0 && good;)
        good = backward_step(c, &c->p->block[block].step[i], live, check);
    return good;
}

static bool check_memory(checker *c) {
    uint64_t *live = new_set(c, NULL);
    c->exposed = hn_alloc_n(&c->a, c->p->n_block, sizeof *c->exposed);
    if (!live || !c->exposed) return out_of_memory(c);
    for (uint32_t j = 0; j < c->p->n_output; j++) put(live, root_of(c, c->p->output[j].value));
    for (uint32_t i = 0; i < c->p->n_state; i++) put(live, root_of(c, c->p->state[i].value));
    return backward(c, HN_STEPS_BLOCK, live, true);
}

hone_rc hn_program_verify(const hn_program *p, hone_err *err) {
    checker c = {.p = p, .err = err};
    c.n_word = p->n_value / 64 + 1;
    c.n_symbol = hn_dims_symbols(p->dims);
    c.seen_block = hn_alloc_n(&c.a, p->n_block + 1, sizeof *c.seen_block);
    if (!c.seen_block) out_of_memory(&c);
    if (!c.rc && check_values(&c) && check_form(&c) && check_order(&c)) check_memory(&c);
    hone_rc rc = c.rc;
    hn_arena_free(&c.a);
    return rc;
}
