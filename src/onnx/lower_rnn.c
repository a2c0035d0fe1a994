/* RNN, GRU, LSTM. The products with the inputs of all steps are one contraction in front of the recurrence; a step
 * multiplies the state alone. A sequence shorter than the batch's longest keeps its state, and gives zeros, in the
 * steps behind its end; that holds for the reverse direction as well: it begins with them. */
#include "onnx/lower_util.h"

#include <math.h>
#include <string.h>

typedef enum cell { CELL_RNN, CELL_GRU, CELL_LSTM } cell;
enum { ACTS_MAX = 3 };

/* `activations` with their alpha and beta, which are listed only for those functions that take them. Names are compared
 * without case, as older exporters need. */
static bool read_acts(hn_lower *c, cell kind, size_t directions, hn_act out[2][ACTS_MAX]) {
    static const hn_act_kind usual[][ACTS_MAX] = {[CELL_RNN] = {HN_NAMED_TANH},
                                                  [CELL_GRU] = {HN_NAMED_SIGMOID, HN_NAMED_TANH},
                                                  [CELL_LSTM] = {HN_NAMED_SIGMOID, HN_NAMED_TANH, HN_NAMED_TANH}};
    const char *const *name;
    const float *alpha, *beta;
    size_t n = hn_strings(c, "activations", &name), each = (size_t)kind + 1, at_alpha = 0, at_beta = 0;
    size_t n_alpha = hn_floats(c, "activation_alpha", &alpha), n_beta = hn_floats(c, "activation_beta", &beta);
    if (n && n < each * directions) {
        hn_wrong(c, "'activations' has %zu entries; this node needs %zu", n, each * directions);
        return false;
    }
    for (size_t i = 0; i < each * directions; i++) {
        hn_act a = hn_act_of(usual[kind][i % each]);
        if (n && !hn_act_named(name[i], &a)) {
            hn_wrong(c, "'activations' names '%s', which is none", name[i]);
            return false;
        }
        if (a.n_params >= 1 && at_alpha < n_alpha) a.alpha = (double)alpha[at_alpha++];
        if (a.n_params >= 2 && at_beta < n_beta) a.beta = (double)beta[at_beta++];
        out[i / each][i % each] = a;
    }
    return true;
}

/* ---- one direction ---- */

typedef struct layer {
    cell kind;
    const hn_act *act;
    double clip; /* infinite: none */
    bool before_reset, couple;
    hn_dim steps, batch, hidden;
    hn_val from_x; /* [steps, batch, gates * hidden]: products with the inputs and all biases that may be added early */
    hn_val r;      /* [gates * hidden, hidden] */
    hn_val r_reset; /* GRU, linear_before_reset: bias [hidden] inside the reset product */
    hn_val peep[3]; /* LSTM: [hidden] of input, output, forget gate, or 0 */
    hn_val lens;    /* i64 [batch, 1], or 0 */
} layer;

static hn_val gate(const layer *l, hn_builder *b, hn_val pre, int64_t i, int64_t n) {
    hn_dim from = hn_dim_mul(b->g->dims, l->hidden, hn_lit(b, i)),
           size = hn_dim_mul(b->g->dims, l->hidden, hn_lit(b, n));
    return hn_slice_axis(b, pre, 1, from, size, 1);
}
static hn_val fire(const layer *l, hn_builder *b, size_t which, hn_val x) {
    if (isfinite(l->clip)) x = hn_bin_f(b, HN_OP_MIN, hn_bin_f(b, HN_OP_MAX, x, -l->clip), l->clip);
    return hn_act_emit(b, l->act[which], x);
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
    state[0] = fire(l, b, 0, plus(b, x, recur(l, b, state[0], 0, 1, 1)));
}

/* Gates z, r, h. */
static void step_gru(const layer *l, hn_builder *b, hn_val x, hn_val *state) {
    hn_val h = state[0], all = recur(l, b, h, 0, l->before_reset ? 3 : 2, 3), pre = gate(l, b, x, 2, 1);
    hn_val zr = plus(b, gate(l, b, x, 0, 2), l->before_reset ? gate(l, b, all, 0, 2) : all);
    hn_val z = fire(l, b, 0, gate(l, b, zr, 0, 1)), r = fire(l, b, 0, gate(l, b, zr, 1, 1));
    if (l->before_reset) {
        hn_val part = gate(l, b, all, 2, 1);
        if (l->r_reset) part = plus(b, part, l->r_reset);
        pre = plus(b, pre, times(b, r, part));
    } else {
        pre = plus(b, pre, recur(l, b, times(b, r, h), 2, 1, 3));
    }
    hn_val fresh = fire(l, b, 1, pre);
    state[0] = plus(b, times(b, hn_f_bin(b, HN_OP_SUB, 1, z), fresh), times(b, z, h));
}

static hn_val peeped(const layer *l, hn_builder *b, hn_val pre, size_t which, hn_val cell_state) {
    return l->peep[which] ? plus(b, pre, times(b, cell_state, l->peep[which])) : pre;
}

/* Gates i, o, f, c; peepholes i, o, f. */
static void step_lstm(const layer *l, hn_builder *b, hn_val x, hn_val *state) {
    hn_val pre = plus(b, x, recur(l, b, state[0], 0, 4, 4)), old = state[1];
    hn_val i = fire(l, b, 0, peeped(l, b, gate(l, b, pre, 0, 1), 0, old));
    hn_val f = l->couple ? hn_f_bin(b, HN_OP_SUB, 1, i) : fire(l, b, 0, peeped(l, b, gate(l, b, pre, 2, 1), 2, old));
    hn_val fresh = fire(l, b, 1, gate(l, b, pre, 3, 1));
    hn_val now = plus(b, times(b, f, old), times(b, i, fresh));
    hn_val o = fire(l, b, 0, peeped(l, b, gate(l, b, pre, 1, 1), 1, now));
    state[0] = times(b, o, hn_act_emit(b, l->act[2], now));
    state[1] = now;
}

static void step(void *arg, hn_builder *b, hn_moment at, hn_val *state, hn_val *scan) {
    static void (*const fn[])(const layer *, hn_builder *, hn_val, hn_val *) = {step_rnn, step_gru, step_lstm};
    const layer *l = arg;
    hn_val old[2] = {state[0], l->kind == CELL_LSTM ? state[1] : 0};
    fn[l->kind](l, b, hn_at_time(b, l->from_x, at), state);
    scan[0] = state[0];
    if (!l->lens) return;
    hn_val inside = hn_bin(b, HN_OP_LT, at.index, l->lens);
    for (size_t i = 0; i < (l->kind == CELL_LSTM ? 2 : 1); i++) state[i] = hn_where(b, inside, state[i], old[i]);
    scan[0] = hn_where(b, inside, scan[0], hn_const_f(b, hn_dt(b, scan[0]), 0));
}

/* ---- the operator ---- */

typedef struct whole {
    hn_lower *c;
    hn_builder *b;
    hone_dtype t; /* working type */
    hn_val x;     /* [steps, batch, input] */
    int64_t gates;
    bool batch_first;
    layer l;
} whole;

/* Part d of an input [directions, …], in the working type, without that dimension; 0 where absent. */
static hn_val of_direction(whole *w, size_t input, size_t d) {
    hn_val v = hn_in(w->c, input);
    if (!v) return 0;
    v = hn_slice_axis(w->b, v, 0, hn_lit(w->b, (int64_t)d), hn_lit(w->b, 1), 1);
    return hn_cast(w->b, hn_squeeze(w->b, v, 0), w->t);
}

static hn_val part_of(whole *w, hn_val vector, int64_t from, int64_t n) {
    hn_dims *t = w->b->g->dims;
    hn_dim at = hn_dim_mul(t, w->l.hidden, hn_lit(w->b, from)), size = hn_dim_mul(t, w->l.hidden, hn_lit(w->b, n));
    return hn_slice_axis(w->b, vector, 0, at, size, 1);
}

/* Wb + Rb; with linear_before_reset the hidden gate's Rb stays inside the reset product. */
static hn_val early_bias(whole *w, size_t d) {
    hn_val all = of_direction(w, 3, d);
    if (!all) return 0;
    hn_val wb = part_of(w, all, 0, w->gates), rb = part_of(w, all, w->gates, w->gates);
    if (!w->l.before_reset) return plus(w->b, wb, rb);
    w->l.r_reset = part_of(w, rb, 2, 1);
    hn_val both[2] = {plus(w->b, part_of(w, wb, 0, 2), part_of(w, rb, 0, 2)), part_of(w, wb, 2, 1)};
    return hn_concat(w->b, 2, both, 0);
}

static hn_val initial(whole *w, size_t input, size_t d) {
    hn_dim shape[2] = {w->l.batch, w->l.hidden};
    hn_val v = hn_in(w->c, input);
    if (!v) return hn_full(w->b, w->t, 2, shape, 0);
    v = hn_slice_axis(w->b, v, w->batch_first ? 1 : 0, hn_lit(w->b, (int64_t)d), hn_lit(w->b, 1), 1);
    return hn_reshape(w->b, hn_cast(w->b, v, w->t), 2, shape);
}

static void direction(whole *w, size_t d, bool reversed, hn_val *state, hn_val *y) {
    static const int64_t lhs[] = {0, 1, 3}, rhs[] = {2, 3}, out[] = {0, 1, 2};
    hn_val bias = early_bias(w, d), peep = w->l.kind == CELL_LSTM ? of_direction(w, 7, d) : 0;
    w->l.from_x = hn_contract(w->b, w->x, of_direction(w, 1, d), lhs, rhs, 3, out, w->t);
    if (bias) w->l.from_x = plus(w->b, w->l.from_x, bias);
    w->l.r = of_direction(w, 2, d);
    for (int64_t i = 0; i < 3; i++) w->l.peep[i] = peep ? part_of(w, peep, i, 1) : 0;
    state[0] = initial(w, 5, d);
    if (w->l.kind == CELL_LSTM) state[1] = initial(w, 6, d);
    hn_over_time(w->b, w->l.steps, reversed, w->l.kind == CELL_LSTM ? 2 : 1, state, 1, y, step, &w->l);
}

/* Joins directions along a new dimension; parts are [steps, batch, hidden] or [batch, hidden]. */
static hn_val joined(whole *w, size_t n, const hn_val *part) {
    hn_val wide[2];
    size_t rank = hn_rank(w->b, part[0]);
    int64_t axis = rank == 3 ? (w->batch_first ? 2 : 1) : (w->batch_first ? 1 : 0);
    for (size_t i = 0; i < n; i++) {
        hn_val v = rank == 3 && w->batch_first ? hn_swap(w->b, part[i], 0, 1) : part[i];
        wide[i] = hn_unsqueeze(w->b, v, axis);
    }
    return hn_cast(w->b, n == 1 ? wide[0] : hn_concat(w->b, n, wide, axis), hn_dt(w->b, hn_in(w->c, 0)));
}

static bool read_directions(hn_lower *c, size_t *n, bool reversed[2]) {
    const char *s = hn_string(c, "direction", "forward");
    bool both = !strcmp(s, "bidirectional");
    *n = both ? 2 : 1;
    reversed[0] = !strcmp(s, "reverse");
    reversed[1] = true;
    if (both || reversed[0] || !strcmp(s, "forward") || !strcmp(s, "foward")) return true; /* sic: GRU 1's default */
    hn_wrong(c, "'direction' is '%s'; it must be forward, reverse or bidirectional", s);
    return false;
}

static bool sizes_fit(whole *w, size_t directions) {
    hn_dims *t = w->b->g->dims;
    hn_val r = hn_in(w->c, 2), wx = hn_in(w->c, 1);
    hn_dim rows = hn_dim_mul(t, w->l.hidden, hn_lit(w->b, w->gates));
    bool ok = hn_dim_equal(t, hn_dim_of(w->b, wx, 0), hn_lit(w->b, (int64_t)directions)) != HN_DIFFERENT &&
              hn_dim_equal(t, hn_dim_of(w->b, r, 0), hn_lit(w->b, (int64_t)directions)) != HN_DIFFERENT &&
              hn_dim_equal(t, hn_dim_of(w->b, r, 1), rows) != HN_DIFFERENT &&
              hn_dim_equal(t, hn_dim_of(w->b, wx, 1), rows) != HN_DIFFERENT;
    int64_t said = hn_int(w->c, "hidden_size", 0);
    if (said) ok = ok && hn_dim_equal(t, w->l.hidden, hn_lit(w->b, said)) != HN_DIFFERENT;
    if (!ok) hn_wrong(w->c, "W, R, 'direction' and 'hidden_size' do not fit together");
    return ok;
}

static bool prepare(whole *w, size_t directions) {
    hn_lower *c = w->c;
    hn_builder *b = w->b;
    if (!hn_need(c, 3) || !hn_need_rank(c, 0, 3, 3) || !hn_need_rank(c, 1, 3, 3) || !hn_need_rank(c, 2, 3, 3))
        return false;
    if (hn_in(c, 3) && !hn_need_rank(c, 3, 2, 2)) return false;
    if (hn_in(c, 4) && !hn_need_rank(c, 4, 1, 1)) return false;
    for (size_t i = 5; i < (w->l.kind == CELL_LSTM ? 7 : 6); i++)
        if (hn_in(c, i) && !hn_need_rank(c, i, 3, 3)) return false;
    w->t = hn_work_type(hn_dt(b, hn_in(c, 0)));
    w->batch_first = hn_int(c, "layout", 0) != 0;
    w->x = hn_cast(b, hn_in(c, 0), w->t);
    if (w->batch_first) w->x = hn_swap(b, w->x, 0, 1);
    w->l.steps = hn_dim_of(b, w->x, 0);
    w->l.batch = hn_dim_of(b, w->x, 1);
    w->l.hidden = hn_dim_of(b, hn_in(c, 2), 2);
    w->l.clip = hn_has(c, "clip") ? hn_float(c, "clip", 0) : INFINITY;
    w->l.before_reset = w->l.kind == CELL_GRU && hn_int(c, "linear_before_reset", 0) != 0;
    w->l.couple = w->l.kind == CELL_LSTM && hn_int(c, "input_forget", 0) != 0;
    if (hn_in(c, 4)) w->l.lens = hn_unsqueeze(b, hn_cast(b, hn_in(c, 4), HONE_I64), 1);
    return sizes_fit(w, directions);
}

/* arg: the cell. */
static void lower_recurrent(hn_lower *c) {
    static const int64_t gates[] = {[CELL_RNN] = 1, [CELL_GRU] = 3, [CELL_LSTM] = 4};
    cell kind = (cell)hn_lower_arg(c);
    whole w = {.c = c, .b = hn_lower_builder(c), .gates = gates[kind], .l = {.kind = kind}};
    hn_act act[2][ACTS_MAX];
    bool reversed[2];
    size_t n;
    hn_val y[2], h[2], cells[2] = {0};
    if (!read_directions(c, &n, reversed) || !read_acts(c, kind, n, act) || !prepare(&w, n)) return;
    for (size_t d = 0; d < n; d++) {
        hn_val state[2] = {0};
        w.l.act = act[d];
        direction(&w, d, reversed[d], state, &y[d]);
        h[d] = state[0];
        cells[d] = state[1];
    }
    hn_out(c, 0, joined(&w, n, y));
    hn_out(c, 1, joined(&w, n, h));
    if (kind == CELL_LSTM) hn_out(c, 2, joined(&w, n, cells));
}

const hn_lower_row hn_lower_rnn[] = {
    {"", "RNN", 1, HN_OPSET_MAX, lower_recurrent, CELL_RNN},
    {"", "GRU", 1, HN_OPSET_MAX, lower_recurrent, CELL_GRU},
    {"", "LSTM", 1, HN_OPSET_MAX, lower_recurrent, CELL_LSTM},
    {0},
};
