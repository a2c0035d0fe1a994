/* lower_reduce.c — the Reduce operators. Axes that come at run time: every element is scattered, by the index its
 * result has, into a result whose sizes are computed in the graph and bound. */
#include "onnx/lower_fns.h"

#include <math.h>

enum { SUM, MEAN, PROD, MAX, MIN, L1, L2, LOG_SUM, LOG_SUM_EXP, SUM_SQUARE };

typedef struct over { /* what is reduced */
    hn_lower *c;
    bool known, keep;
    int64_t axes[HN_RANK_MAX];
    size_t n, rank;
    hn_val axis;              /* i64 vector of length n, where not known */
    hn_dim full[HN_RANK_MAX]; /* sizes of the result with its dimensions kept, then without */
    hn_dim left[HN_RANK_MAX];
    hn_val sizes; /* i64 vector of `full` */
    hn_val at;    /* flat index of the result per element, and the number of elements reduced into one */
    hn_val count;
} over;

/* --- axes at run time --------------------------------------------------------------------------------------------- */

static hn_val suffix_product(hn_builder *b, hn_val v) {
    hn_attr attr[] = {hn_a_int(HN_A_AXIS, 0), hn_a_int(HN_A_EXCLUSIVE, 1), hn_a_int(HN_A_REVERSE, 1)};
    return hn_emit(b->g, b->b, HN_OP_CUMPROD, 1, &v, 3, attr, 1);
}

static bool prepare(over *o, hn_val x) {
    hn_builder *b = hn_lower_builder(o->c);
    hn_type t = *hn_t(b, x);
    hn_dim r = hn_lit(b, t.rank), n = hn_lit(b, (int64_t)o->n);
    hn_val zero = hn_const_i(b, HONE_I64, 0), one = hn_const_i(b, HONE_I64, 1), shape = hn_shape_value(b, x);
    hn_val gone = hn_vec_spread(b, o->axis, hn_full(b, HONE_I64, 1, &n, 1), hn_full(b, HONE_I64, 1, &r, 0));
    gone = hn_cast(b, gone, HONE_BOOL);
    o->sizes = hn_where(b, gone, one, shape);
    o->count = hn_reduce1(b, HN_OP_RPROD, hn_where(b, gone, shape, one), 0, false);
    hn_val stride = hn_where(b, gone, zero, suffix_product(b, o->sizes));
    o->at = hn_full(b, HONE_I64, t.rank, t.dim, 0);
    for (size_t i = 0; i < t.rank; i++) {
        hn_val index = hn_iota(b, HONE_I64, t.rank, t.dim, i);
        o->at = hn_bin(b, HN_OP_ADD, o->at, hn_bin(b, HN_OP_MUL, index, hn_vec_at(b, stride, i)));
    }
    if (!hn_vec_dims(o->c, o->sizes, t.rank, o->full)) return false;
    if (o->keep) return true;
    return hn_vec_dims(o->c, hn_lower_compact(b, t.rank, o->axis, o->n, o->sizes), t.rank - o->n, o->left);
}

static double first_of(hn_op op, hone_dtype t) {
    const hn_dtype_info *d = hn_dtype_of(t);
    bool is_float = d->cls == HN_CLASS_FLOAT;
    if (op == HN_OP_RMIN) return is_float ? INFINITY : d->highest;
    if (op == HN_OP_RMAX) return is_float ? -INFINITY : d->lowest;
    return op == HN_OP_RPROD;
}

/* The extreme of a 64-bit integer is no double. */
static hn_val start_value(hn_builder *b, hn_op op, hone_dtype t) {
    if (t == HONE_I64 && op == HN_OP_RMIN) return hn_const_i(b, t, INT64_MAX);
    if (t == HONE_I64 && op == HN_OP_RMAX) return hn_const_i(b, t, INT64_MIN);
    if (t == HONE_U64 && op == HN_OP_RMIN) return hn_const_i(b, t, -1);
    return hn_const_f(b, t, first_of(op, t));
}

/* Keeps its dimensions, as a later step may broadcast it back. */
static hn_val scatter_into(over *o, hn_op op, hn_val x) {
    hn_builder *b = hn_lower_builder(o->c);
    hn_type t = *hn_t(b, x);
    hn_dim n = hn_type_count(b->g, &t), size = hn_lit(b, 1);
    for (size_t i = 0; i < t.rank; i++) size = hn_dim_mul(b->g->dims, size, o->full[i]);
    hn_val in[] = {hn_broadcast_to(b, start_value(b, op, t.dtype), 1, &size), hn_reshape(b, o->at, 1, &n),
                   hn_reshape(b, x, 1, &n)};
    const char *mode = op == HN_OP_RSUM ? "add" : op == HN_OP_RPROD ? "mul" : op == HN_OP_RMIN ? "min" : "max";
    hn_attr attr[] = {hn_a_int(HN_A_AXIS, 0), hn_a_word(HN_A_MODE, mode)};
    return hn_reshape(b, hn_emit(b->g, b->b, HN_OP_SCATTER_ELEMENTS, 3, in, 2, attr, 1), t.rank, o->full);
}

/* --- one reduction, dimensions kept ------------------------------------------------------------------------------- */

static hn_val fold(over *o, hn_op op, hn_val x) {
    hn_builder *b = hn_lower_builder(o->c);
    if (!o->known) return scatter_into(o, op, x);
    return o->n ? hn_reduce(b, op, x, o->n, o->axes, true) : x;
}

/* The result y broadcast back over x. */
static hn_val spread_back(over *o, hn_val y, hn_val x) {
    hn_builder *b = hn_lower_builder(o->c);
    hn_type t = *hn_t(b, x);
    if (o->known) return hn_broadcast_to(b, y, t.rank, t.dim);
    hn_type yt = *hn_t(b, y);
    hn_dim size = hn_type_count(b->g, &yt);
    return hn_gather(b, hn_reshape(b, y, 1, &size), o->at, 0);
}

static hn_val mean(over *o, hn_val x) {
    hn_builder *b = hn_lower_builder(o->c);
    if (o->known) return o->n ? hn_mean(b, x, o->n, o->axes, true) : x;
    return hn_bin(b, HN_OP_DIV, fold(o, HN_OP_RSUM, x), hn_cast(b, o->count, hn_dt(b, x)));
}

/* log(sum(exp(x - m))) + m, m the maximum where it is finite, else 0. */
static hn_val log_sum_exp(over *o, hn_val x) {
    hn_builder *b = hn_lower_builder(o->c);
    hn_val m = fold(o, HN_OP_RMAX, x);
    m = hn_where(b, hn_un(b, HN_OP_ISINF, m), hn_const_f(b, hn_dt(b, x), 0), m);
    hn_val e = hn_un(b, HN_OP_EXP, hn_bin(b, HN_OP_SUB, x, spread_back(o, m, x)));
    return hn_bin(b, HN_OP_ADD, hn_un(b, HN_OP_LOG, fold(o, HN_OP_RSUM, e)), m);
}

static hn_val reduced(over *o, int kind, hn_val x) {
    hn_builder *b = hn_lower_builder(o->c);
    switch (kind) {
    case MEAN: return mean(o, x);
    case PROD: return fold(o, HN_OP_RPROD, x);
    case MAX: return fold(o, HN_OP_RMAX, x);
    case MIN: return fold(o, HN_OP_RMIN, x);
    case L1: return fold(o, HN_OP_RSUM, hn_un(b, HN_OP_ABS, x));
    case L2: return hn_un(b, HN_OP_SQRT, fold(o, HN_OP_RSUM, hn_bin(b, HN_OP_MUL, x, x)));
    case LOG_SUM: return hn_un(b, HN_OP_LOG, fold(o, HN_OP_RSUM, x));
    case LOG_SUM_EXP: return log_sum_exp(o, x);
    case SUM_SQUARE: return fold(o, HN_OP_RSUM, hn_bin(b, HN_OP_MUL, x, x));
    default: return fold(o, HN_OP_RSUM, x);
    }
}

/* --- the operators ------------------------------------------------------------------------------------------------ */

/* The type in which it is computed: integers as f64 where the formula leaves them. */
static hone_dtype work_type(int kind, hone_dtype t) {
    if (t == HONE_BOOL) return HONE_U8;
    if (hn_is_float(t)) return hn_work_type(t);
    return kind == L2 || kind == LOG_SUM || kind == LOG_SUM_EXP || kind == MEAN ? HONE_F64 : t;
}

static bool read_axes(over *o, size_t rank) {
    hn_lower *c = o->c;
    hn_val v = hn_has_in(c, 1) ? hn_in(c, 1) : 0;
    o->rank = rank;
    o->keep = hn_int(c, "keepdims", 1) != 0;
    o->known = !v || hn_known_tensor(hn_lower_builder(c), v) || hn_has(c, "axes");
    if (o->known) return hn_axes(c, 1, rank, o->axes, &o->n);
    o->axis = hn_vec_input(c, 1, &o->n);
    if (o->axis && o->n > rank) hn_wrong(c, "%zu axes for rank %zu", o->n, rank);
    if (o->axis && !o->n) o->known = true;
    return o->axis && !hn_lower_failed(c);
}

static hn_val without(over *o, hn_val y) {
    hn_builder *b = hn_lower_builder(o->c);
    if (o->keep || !y) return y;
    if (!o->known) return hn_reshape(b, y, o->rank - o->n, o->left);
    hn_type t = *hn_t(b, y);
    hn_dim left[HN_RANK_MAX];
    size_t n = 0;
    for (size_t i = 0, k = 0; i < t.rank; i++)
        if (k < o->n && o->axes[k] == (int64_t)i)
            k++;
        else
            left[n++] = t.dim[i];
    return n == t.rank ? y : hn_reshape(b, y, n, left);
}

static void reduce(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val x = hn_in(c, 0);
    over o = {.c = c};
    if (!x) return;
    hone_dtype t = hn_dt(b, x);
    int kind = hn_lower_arg(c);
    if (!read_axes(&o, hn_rank(b, x))) return;
    bool noop = hn_int(c, "noop_with_empty_axes", 0) != 0;
    if (o.known && !o.n && !noop)
        for (; o.n < o.rank; o.n++) o.axes[o.n] = (int64_t)o.n;
    if (!o.known && !prepare(&o, x)) return;
    hn_val y = reduced(&o, kind, hn_cast(b, x, work_type(kind, t)));
    hn_out_as(c, 0, without(&o, y), t);
}

#define M HN_OPSET_MAX
const hn_lower_row hn_lower_reduce[] = {
    {"", "ReduceSum", 1, M, reduce, SUM},
    {"", "ReduceMean", 1, M, reduce, MEAN},
    {"", "ReduceProd", 1, M, reduce, PROD},
    {"", "ReduceMax", 1, M, reduce, MAX},
    {"", "ReduceMin", 1, M, reduce, MIN},
    {"", "ReduceL1", 1, M, reduce, L1},
    {"", "ReduceL2", 1, M, reduce, L2},
    {"", "ReduceLogSum", 1, M, reduce, LOG_SUM},
    {"", "ReduceLogSumExp", 1, M, reduce, LOG_SUM_EXP},
    {"", "ReduceSumSquare", 1, M, reduce, SUM_SQUARE},
    {0},
};
