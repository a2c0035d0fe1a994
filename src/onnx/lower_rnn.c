/* RNN, GRU, LSTM: attributes and inputs of one or two directions. */
#include "onnx/lower_util.h"

#include <math.h>
#include <string.h>

enum { ACTS_MAX = 3 };

/* `activations` with their alpha and beta, which are listed only for those functions that take them. Names are compared
 * without case, as older exporters need. */
static bool read_acts(hn_lower *c, hn_cell cell, size_t directions, hn_act out[2][ACTS_MAX]) {
    static const hn_act_kind usual[][ACTS_MAX] = {[HN_CELL_RNN] = {HN_NAMED_TANH},
                                                  [HN_CELL_GRU] = {HN_NAMED_SIGMOID, HN_NAMED_TANH},
                                                  [HN_CELL_LSTM] = {HN_NAMED_SIGMOID, HN_NAMED_TANH, HN_NAMED_TANH}};
    const char *const *name;
    const float *alpha, *beta;
    size_t n = hn_strings(c, "activations", &name), each = (size_t)cell + 1, at_alpha = 0, at_beta = 0;
    size_t n_alpha = hn_floats(c, "activation_alpha", &alpha), n_beta = hn_floats(c, "activation_beta", &beta);
    if (n && n < each * directions) {
        hn_wrong(c, "'activations' has %zu entries; this node needs %zu", n, each * directions);
        return false;
    }
    for (size_t i = 0; i < each * directions; i++) {
        hn_act a = hn_act_of(usual[cell][i % each]);
        if (n && !hn_act_named(name[i], &a)) {
            hn_wrong(c, "'activations' names '%s', which is no known function", name[i]);
            return false;
        }
        if (a.n_params >= 1 && at_alpha < n_alpha) a.alpha = (double)alpha[at_alpha++];
        if (a.n_params >= 2 && at_beta < n_beta) a.beta = (double)beta[at_beta++];
        out[i / each][i % each] = a;
    }
    return true;
}

/* ---- the operator ---- */

typedef struct whole {
    hn_lower *c;
    hn_builder *b;
    hone_dtype t; /* working type */
    bool batch_first;
    hn_recurrent l;
} whole;

/* Part d of an input [directions, …], in the working type, without that dimension; 0 where absent. */
static hn_val of_direction(whole *w, size_t input, size_t d) {
    hn_val v = hn_in(w->c, input);
    if (!v) return 0;
    v = hn_slice_axis(w->b, v, 0, hn_lit(w->b, (int64_t)d), hn_lit(w->b, 1), 1);
    return hn_cast(w->b, hn_squeeze(w->b, v, 0), w->t);
}

/* The state that part d begins with, [batch, hidden]; 0 where absent. */
static hn_val initial(whole *w, size_t input, size_t d) {
    hn_val v = hn_in(w->c, input);
    if (!v) return 0;
    hn_dim shape[2] = {hn_dim_of(w->b, w->l.x, 1), hn_dim_of(w->b, hn_in(w->c, 2), 2)};
    v = hn_slice_axis(w->b, v, w->batch_first ? 1 : 0, hn_lit(w->b, (int64_t)d), hn_lit(w->b, 1), 1);
    return hn_reshape(w->b, hn_cast(w->b, v, w->t), 2, shape);
}

static hn_val direction(whole *w, size_t d) {
    bool lstm = w->l.cell == HN_CELL_LSTM;
    w->l.bias = of_direction(w, 3, d);
    w->l.peep = lstm ? of_direction(w, 7, d) : 0;
    w->l.w = of_direction(w, 1, d);
    w->l.r = of_direction(w, 2, d);
    w->l.state[0] = initial(w, 5, d);
    w->l.state[1] = lstm ? initial(w, 6, d) : 0;
    return hn_recurrent_emit(w->b, &w->l);
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
    hn_dim hidden = hn_dim_of(w->b, r, 2);
    hn_dim rows = hn_dim_mul(t, hidden, hn_lit(w->b, hn_cell_gates(w->l.cell)));
    bool ok = hn_dim_equal(t, hn_dim_of(w->b, wx, 0), hn_lit(w->b, (int64_t)directions)) != HN_DIFFERENT &&
              hn_dim_equal(t, hn_dim_of(w->b, r, 0), hn_lit(w->b, (int64_t)directions)) != HN_DIFFERENT &&
              hn_dim_equal(t, hn_dim_of(w->b, r, 1), rows) != HN_DIFFERENT &&
              hn_dim_equal(t, hn_dim_of(w->b, wx, 1), rows) != HN_DIFFERENT;
    int64_t said = hn_int(w->c, "hidden_size", 0);
    if (said) ok = ok && hn_dim_equal(t, hidden, hn_lit(w->b, said)) != HN_DIFFERENT;
    if (!ok) hn_wrong(w->c, "W, R, 'direction' and 'hidden_size' do not fit together");
    return ok;
}

/* The steps of the longest sample, as a size that is known when the model runs; 0: the steps are few, or they are not
 * counted. */
static hn_dim longest(whole *w, hn_val lens) {
    hn_builder *b = w->b;
    hn_dim steps = hn_dim_of(b, w->l.x, 0), most = 0, zero = hn_lit(b, 0);
    int64_t known;
    size_t n;
    if (hn_dim_known(b, steps, &known) && known <= HN_UNROLL_STEPS) return 0;
    hn_val all = hn_dims_value(b, 1, &steps), none = hn_dims_value(b, 1, &zero);
    hn_val max = hn_reduce1(b, HN_OP_RMAX, lens, 0, true);
    max = hn_bin(b, HN_OP_MAX, hn_bin(b, HN_OP_MIN, max, all), none);
    return hn_bind_dims(b, max, "longest", &most, 1, &n) ? most : 0;
}

static bool prepare(whole *w, size_t directions) {
    hn_lower *c = w->c;
    hn_builder *b = w->b;
    if (!hn_need(c, 3) || !hn_need_rank(c, 0, 3, 3) || !hn_need_rank(c, 1, 3, 3) || !hn_need_rank(c, 2, 3, 3))
        return false;
    if (hn_in(c, 3) && !hn_need_rank(c, 3, 2, 2)) return false;
    if (hn_in(c, 4) && !hn_need_rank(c, 4, 1, 1)) return false;
    for (size_t i = 5; i < (w->l.cell == HN_CELL_LSTM ? 7 : 6); i++)
        if (hn_in(c, i) && !hn_need_rank(c, i, 3, 3)) return false;
    w->t = hn_work_type(hn_dt(b, hn_in(c, 0)));
    w->batch_first = hn_int(c, "layout", 0) != 0;
    w->l.x = hn_cast(b, hn_in(c, 0), w->t);
    if (w->batch_first) w->l.x = hn_swap(b, w->l.x, 0, 1);
    w->l.clip = hn_has(c, "clip") ? hn_float(c, "clip", 0) : INFINITY;
    w->l.before_reset = w->l.cell == HN_CELL_GRU && hn_int(c, "linear_before_reset", 0) != 0;
    w->l.couple = w->l.cell == HN_CELL_LSTM && hn_int(c, "input_forget", 0) != 0;
    if (hn_in(c, 4)) {
        hn_val lens = hn_cast(b, hn_in(c, 4), HONE_I64);
        w->l.lens = hn_unsqueeze(b, lens, 1);
        w->l.longest = longest(w, lens);
    }
    return sizes_fit(w, directions);
}

/* arg: the cell. */
static void lower_recurrent(hn_lower *c) {
    hn_cell cell = (hn_cell)hn_lower_arg(c);
    whole w = {.c = c, .b = hn_lower_builder(c), .l = {.cell = cell}};
    hn_act act[2][ACTS_MAX];
    bool reversed[2];
    size_t n;
    hn_val y[2], h[2], cells[2] = {0};
    if (!read_directions(c, &n, reversed) || !read_acts(c, cell, n, act) || !prepare(&w, n)) return;
    for (size_t d = 0; d < n; d++) {
        w.l.act = act[d];
        w.l.reversed = reversed[d];
        y[d] = direction(&w, d);
        h[d] = w.l.state[0];
        cells[d] = w.l.state[1];
    }
    hn_out(c, 0, joined(&w, n, y));
    hn_out(c, 1, joined(&w, n, h));
    if (cell == HN_CELL_LSTM) hn_out(c, 2, joined(&w, n, cells));
}

const hn_lower_row hn_lower_rnn[] = {
    {"", "RNN", 1, HN_OPSET_MAX, lower_recurrent, HN_CELL_RNN},
    {"", "GRU", 1, HN_OPSET_MAX, lower_recurrent, HN_CELL_GRU},
    {"", "LSTM", 1, HN_OPSET_MAX, lower_recurrent, HN_CELL_LSTM},
    {0},
};
