/* recurrent.c — RNN, GRU, LSTM. The products with the inputs of all steps are one contraction in front of the
 * recurrence; a step multiplies the state alone. A sequence shorter than the batch's longest keeps its state, and gives
 * zeros, in the steps behind its end; that holds for the reverse direction as well: it begins with them. */
#include "compose/compose.h"

#include <math.h>

typedef struct layer {
    const hn_recurrent *o;
    hn_dim steps, batch, hidden;
    hn_val from_x; /* [steps, batch, gates * hidden]: products with the inputs and all biases that may be added early */
    hn_val r;      /* [gates * hidden, hidden] */
    hn_val r_reset; /* GRU, linear_before_reset: bias [hidden] inside the reset product */
    hn_val peep[3]; /* LSTM: [hidden] of input, output, forget gate, or 0 */
} layer;

static hn_val gate(const layer *l, hn_builder *b, hn_val pre, int64_t i, int64_t n) {
    hn_dim from = hn_dim_mul(b->g->dims, l->hidden, hn_lit(b, i)),
           size = hn_dim_mul(b->g->dims, l->hidden, hn_lit(b, n));
    return hn_slice_axis(b, pre, 1, from, size, 1);
}

static hn_val activate(const layer *l, hn_builder *b, size_t which, hn_val x) {
    if (isfinite(l->o->clip)) x = hn_bin_f(b, HN_OP_MIN, hn_bin_f(b, HN_OP_MAX, x, -l->o->clip), l->o->clip);
    return hn_act_emit(b, l->o->act[which], x);
}

/* h [batch, hidden] times rows `from` … of r, transposed. */
static hn_val recur(const layer *l, hn_builder *b, hn_val h, int64_t from, int64_t n, int64_t gates) {
    static const int64_t lhs[] = {0, 2}, rhs[] = {1, 2}, out[] = {0, 1};
    hn_val r = l->r;
    if (n != gates) {
        hn_dim at = hn_dim_mul(b->g->dims, l->hidden, hn_lit(b, from));
        r = hn_slice_axis(b, r, 0, at, hn_dim_mul(b->g->dims, l->hidden, hn_lit(b, n)), 1);
    }
    return hn_contract(b, h, r, lhs, rhs, 2, out, hn_dt(b, h));
}

static hn_val plus(hn_builder *b, hn_val x, hn_val y) { return hn_bin(b, HN_OP_ADD, x, y); }

static hn_val times(hn_builder *b, hn_val x, hn_val y) { return hn_bin(b, HN_OP_MUL, x, y); }

static void step_rnn(const layer *l, hn_builder *b, hn_val x, hn_val *state) {
    state[0] = activate(l, b, 0, plus(b, x, recur(l, b, state[0], 0, 1, 1)));
}

/* Gates z, r, h. */
static void step_gru(const layer *l, hn_builder *b, hn_val x, hn_val *state) {
    hn_val h = state[0], all = recur(l, b, h, 0, l->o->before_reset ? 3 : 2, 3), pre = gate(l, b, x, 2, 1);
    hn_val zr = plus(b, gate(l, b, x, 0, 2), l->o->before_reset ? gate(l, b, all, 0, 2) : all);
    hn_val z = activate(l, b, 0, gate(l, b, zr, 0, 1)), r = activate(l, b, 0, gate(l, b, zr, 1, 1));
    if (l->o->before_reset) {
        hn_val part = gate(l, b, all, 2, 1);
        if (l->r_reset) part = plus(b, part, l->r_reset);
        pre = plus(b, pre, times(b, r, part));
    } else {
        pre = plus(b, pre, recur(l, b, times(b, r, h), 2, 1, 3));
    }
    hn_val fresh = activate(l, b, 1, pre);
    state[0] = plus(b, times(b, hn_f_bin(b, HN_OP_SUB, 1, z), fresh), times(b, z, h));
}

static hn_val peeped(const layer *l, hn_builder *b, hn_val pre, size_t which, hn_val cell_state) {
    return l->peep[which] ? plus(b, pre, times(b, cell_state, l->peep[which])) : pre;
}

/* Gates i, o, f, c; peepholes i, o, f. */
static void step_lstm(const layer *l, hn_builder *b, hn_val x, hn_val *state) {
    hn_val pre = plus(b, x, recur(l, b, state[0], 0, 4, 4)), old = state[1];
    hn_val i = activate(l, b, 0, peeped(l, b, gate(l, b, pre, 0, 1), 0, old));
    hn_val f =
        l->o->couple ? hn_f_bin(b, HN_OP_SUB, 1, i) : activate(l, b, 0, peeped(l, b, gate(l, b, pre, 2, 1), 2, old));
    hn_val fresh = activate(l, b, 1, gate(l, b, pre, 3, 1));
    hn_val now = plus(b, times(b, f, old), times(b, i, fresh));
    hn_val o = activate(l, b, 0, peeped(l, b, gate(l, b, pre, 1, 1), 1, now));
    state[0] = times(b, o, hn_act_emit(b, l->o->act[2], now));
    state[1] = now;
}

static void step(void *arg, hn_builder *b, hn_moment at, hn_val *state, hn_val *scan) {
    static void (*const fn[])(const layer *, hn_builder *, hn_val, hn_val *) = {step_rnn, step_gru, step_lstm};
    const layer *l = arg;
    hn_val old[2] = {state[0], l->o->cell == HN_CELL_LSTM ? state[1] : 0};
    fn[l->o->cell](l, b, hn_at_time(b, l->from_x, at), state);
    scan[0] = state[0];
    if (!l->o->lens) return;
    hn_val inside = hn_bin(b, HN_OP_LT, at.index, l->o->lens);
    for (size_t i = 0; i < (l->o->cell == HN_CELL_LSTM ? 2 : 1); i++) state[i] = hn_where(b, inside, state[i], old[i]);
    scan[0] = hn_where(b, inside, scan[0], hn_const_f(b, hn_dt(b, scan[0]), 0));
}

static hn_val part_of(const layer *l, hn_builder *b, hn_val vector, int64_t from, int64_t n) {
    hn_dims *t = b->g->dims;
    hn_dim at = hn_dim_mul(t, l->hidden, hn_lit(b, from)), size = hn_dim_mul(t, l->hidden, hn_lit(b, n));
    return hn_slice_axis(b, vector, 0, at, size, 1);
}

/* Both biases; with before_reset that of r's hidden gate stays inside the reset product. */
static hn_val early_bias(layer *l, hn_builder *b, int64_t gates) {
    if (!l->o->bias) return 0;
    hn_val wb = part_of(l, b, l->o->bias, 0, gates), rb = part_of(l, b, l->o->bias, gates, gates);
    if (!l->o->before_reset) return plus(b, wb, rb);
    l->r_reset = part_of(l, b, rb, 2, 1);
    hn_val both[2] = {plus(b, part_of(l, b, wb, 0, 2), part_of(l, b, rb, 0, 2)), part_of(l, b, wb, 2, 1)};
    return hn_concat(b, 2, both, 0);
}

int64_t hn_cell_gates(hn_cell cell) { return cell == HN_CELL_RNN ? 1 : cell == HN_CELL_GRU ? 3 : 4; }

hn_val hn_recurrent_emit(hn_builder *b, hn_recurrent *o) {
    static const int64_t lhs[] = {0, 1, 3}, rhs[] = {2, 3}, out[] = {0, 1, 2};
    bool lstm = o->cell == HN_CELL_LSTM;
    hone_dtype t = hn_dt(b, o->x);
    layer l = {.o = o,
               .steps = o->longest ? o->longest : hn_dim_of(b, o->x, 0),
               .batch = hn_dim_of(b, o->x, 1),
               .hidden = hn_dim_of(b, o->r, 1),
               .r = o->r};
    hn_dim shape[2] = {l.batch, l.hidden};
    hn_val bias = early_bias(&l, b, hn_cell_gates(o->cell)), y = 0;
    hn_val x = o->longest ? hn_slice_axis(b, o->x, 0, hn_lit(b, 0), o->longest, 1) : o->x;
    l.from_x = hn_contract(b, x, o->w, lhs, rhs, 3, out, t);
    if (bias) l.from_x = plus(b, l.from_x, bias);
    for (int64_t i = 0; i < 3; i++) l.peep[i] = lstm && o->peep ? part_of(&l, b, o->peep, i, 1) : 0;
    for (size_t i = 0; i < (lstm ? 2 : 1); i++)
        if (!o->state[i]) o->state[i] = hn_full(b, t, 2, shape, 0);
    hn_over_time(b, l.steps, o->reversed, lstm ? 2 : 1, o->state, 1, &y, step, &l);
    if (!o->longest) return y;
    return hn_pad_axis(b, y, 0, hn_lit(b, 0), hn_dim_sub(b->g->dims, hn_dim_of(b, o->x, 0), o->longest), 0);
}
