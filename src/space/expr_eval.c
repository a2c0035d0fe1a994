/* space/expr_eval.c — runs programs: on a point, and on sets of points.
 *
 * Unknown is NAN; and/or/not follow Kleene (1938). The second evaluator is interval arithmetic (Moore 1966) with a
 * flag for "may be unknown". Rounding to nearest is monotone, so the ends of the result enclose every rounded result
 * and no outward rounding is needed; where a result may overflow, the interval is cut to the finite doubles and the
 * flag is set, as a point's value is then unknown.
 */
#include "space/expr.h"

#include <float.h>
#include <math.h>

static inline double finite_or_unknown(double x) { return x - x == 0 ? x : NAN; }

static double floored_mod(double a, double b) {
    if (b == 0 || a != a || b != b) return NAN;
    double r = fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static double kleene_and(double a, double b) {
    if (a == 0 || b == 0) return 0;
    return a != a || b != b ? NAN : 1;
}

static double kleene_or(double a, double b) {
    if ((a == a && a != 0) || (b == b && b != 0)) return 1;
    return a != a || b != b ? NAN : 0;
}

double hn_op_apply(hn_opcode op, double a, double b) {
    switch (op) {
    case HN_EX_NEG: return -a;
    case HN_EX_ABS: return fabs(a);
    case HN_EX_NOT: return a != a ? NAN : a == 0;
    case HN_EX_AND: return kleene_and(a, b);
    case HN_EX_OR: return kleene_or(a, b);
    default: break;
    }
    if (a != a || b != b) return NAN;
    switch (op) {
    case HN_EX_ADD: return finite_or_unknown(a + b);
    case HN_EX_SUB: return finite_or_unknown(a - b);
    case HN_EX_MUL: return finite_or_unknown(a * b);
    case HN_EX_DIV: return b == 0 ? NAN : finite_or_unknown(a / b);
    case HN_EX_MOD: return floored_mod(a, b);
    case HN_EX_MIN: return b < a ? b : a;
    case HN_EX_MAX: return b > a ? b : a;
    case HN_EX_EQ: return a == b;
    case HN_EX_NE: return a != b;
    case HN_EX_LT: return a < b;
    case HN_EX_LE: return a <= b;
    case HN_EX_GT: return a > b;
    case HN_EX_GE: return a >= b;
    default: return NAN;
    }
}

double hn_prog_eval(const hn_prog *prog, const double *point) {
    double stack[HN_EXPR_STACK + 1];
    size_t n = 0;
    for (size_t i = 0; i < prog->n; i++) {
        const hn_expr_op *op = &prog->op[i];
        double x;
        switch (op->code) {
        case HN_EX_NUM: stack[n++] = op->num; break;
        case HN_EX_SLOT: stack[n++] = point[op->slot]; break;
        case HN_EX_TABLE:
            x = point[op->slot];
            stack[n++] = x != x ? NAN : op->table[(size_t)x];
            break;
        case HN_EX_DEFINED: stack[n++] = point[op->slot] == point[op->slot]; break;
        case HN_EX_NEG:
        case HN_EX_ABS:
        case HN_EX_NOT: stack[n - 1] = hn_op_apply(op->code, stack[n - 1], 0); break;
        default: n--; stack[n - 1] = hn_op_apply(op->code, stack[n - 1], stack[n]);
        }
    }
    return stack[0];
}

/* --- ranges -------------------------------------------------------------------------------------------------- */

static const hn_range nothing = {1, 0, true};

static bool empty(hn_range r) { return r.lo > r.hi; }
static bool single(hn_range r) { return r.lo == r.hi; }
static bool may_be_true(hn_range r) { return !empty(r) && (r.lo != 0 || r.hi != 0); }
static bool may_be_false(hn_range r) { return !empty(r) && r.lo <= 0 && r.hi >= 0; }

static hn_range truths(bool may_true, bool may_false, bool unknown) {
    if (!may_true && !may_false) return (hn_range){1, 0, unknown};
    return (hn_range){!may_false, may_true, unknown};
}

/* An interval whose ends were computed without care for overflow. */
static hn_range cut(double lo, double hi, bool unknown) {
    if (isfinite(lo) && isfinite(hi)) return (hn_range){lo, hi, unknown};
    if (lo == hi) return (hn_range){1, 0, true};
    return (hn_range){lo > -DBL_MAX ? lo : -DBL_MAX, hi < DBL_MAX ? hi : DBL_MAX, true};
}

/* Encloses the four corner values; NAN cannot occur as the operands are finite. */
static hn_range corners(double a, double b, double c, double d, bool unknown) {
    double lo = fmin(fmin(a, b), fmin(c, d)), hi = fmax(fmax(a, b), fmax(c, d));
    return cut(lo, hi, unknown);
}

/* The remainder is nearer to 0 than b; with a and b on the same side fmod alone makes it, so never equals b. */
static hn_range range_mod(hn_range a, hn_range b, bool unknown) {
    double size = fmax(fabs(b.lo), fabs(b.hi));
    bool same_side = (a.lo >= 0 && b.lo >= 0) || (a.hi <= 0 && b.hi <= 0);
    if (same_side && size > 0) size = fmin(nextafter(size, 0), fmax(fabs(a.lo), fabs(a.hi)));
    return (hn_range){b.lo < 0 ? -size : 0, b.hi > 0 ? size : 0, unknown || (b.lo <= 0 && b.hi >= 0)};
}

static hn_range range_div(hn_range a, hn_range b, bool unknown) {
    if (b.lo <= 0 && b.hi >= 0) return (hn_range){-DBL_MAX, DBL_MAX, true};
    return corners(a.lo / b.lo, a.lo / b.hi, a.hi / b.lo, a.hi / b.hi, unknown);
}

static hn_range range_compare(hn_opcode op, hn_range a, hn_range b, bool unknown) {
    bool meet = a.lo <= b.hi && b.lo <= a.hi, same = single(a) && single(b) && a.lo == b.lo;
    switch (op) {
    case HN_EX_EQ: return truths(meet, !same, unknown);
    case HN_EX_NE: return truths(!same, meet, unknown);
    case HN_EX_LT: return truths(a.lo < b.hi, a.hi >= b.lo, unknown);
    case HN_EX_LE: return truths(a.lo <= b.hi, a.hi > b.lo, unknown);
    case HN_EX_GT: return truths(a.hi > b.lo, a.lo <= b.hi, unknown);
    default: return truths(a.hi >= b.lo, a.lo < b.hi, unknown);
    }
}

static hn_range range_and(hn_range a, hn_range b) {
    bool ta = may_be_true(a), tb = may_be_true(b);
    bool u = (a.unknown && (tb || b.unknown)) || (b.unknown && (ta || a.unknown));
    return truths(ta && tb, may_be_false(a) || may_be_false(b), u);
}

static hn_range range_not(hn_range a) { return truths(may_be_false(a), may_be_true(a), a.unknown); }

static hn_range range_abs(hn_range a) {
    if (empty(a) || a.lo >= 0) return a;
    if (a.hi <= 0) return (hn_range){-a.hi, -a.lo, a.unknown};
    return (hn_range){0, fmax(-a.lo, a.hi), a.unknown};
}

static hn_range range_unary(hn_opcode op, hn_range a) {
    switch (op) {
    case HN_EX_NEG: return empty(a) ? a : (hn_range){-a.hi, -a.lo, a.unknown};
    case HN_EX_ABS: return range_abs(a);
    default: return range_not(a);
    }
}

static hn_range range_binary(hn_opcode op, hn_range a, hn_range b) {
    if (op == HN_EX_AND) return range_and(a, b);
    if (op == HN_EX_OR) return range_not(range_and(range_not(a), range_not(b)));
    if (empty(a) || empty(b)) return nothing;
    bool u = a.unknown || b.unknown;
    if (single(a) && single(b)) {
        double x = hn_op_apply(op, a.lo, b.lo);
        return x != x ? nothing : (hn_range){x, x, u};
    }
    switch (op) {
    case HN_EX_ADD: return cut(a.lo + b.lo, a.hi + b.hi, u);
    case HN_EX_SUB: return cut(a.lo - b.hi, a.hi - b.lo, u);
    case HN_EX_MUL: return corners(a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi, u);
    case HN_EX_DIV: return range_div(a, b, u);
    case HN_EX_MOD: return range_mod(a, b, u);
    case HN_EX_MIN: return (hn_range){fmin(a.lo, b.lo), fmin(a.hi, b.hi), u};
    case HN_EX_MAX: return (hn_range){fmax(a.lo, b.lo), fmax(a.hi, b.hi), u};
    default: return range_compare(op, a, b, u);
    }
}

hn_range hn_prog_range(const hn_prog *prog, hn_range_of of, const void *ctx) {
    hn_range stack[HN_EXPR_STACK + 1] = {{0, 0, false}};
    size_t n = 0;
    for (size_t i = 0; i < prog->n; i++) {
        const hn_expr_op *op = &prog->op[i];
        hn_range r;
        switch (op->code) {
        case HN_EX_NUM: stack[n++] = (hn_range){op->num, op->num, false}; break;
        case HN_EX_SLOT:
        case HN_EX_TABLE: stack[n++] = of(ctx, op->slot, op->table); break;
        case HN_EX_DEFINED:
            r = of(ctx, op->slot, NULL);
            stack[n++] = truths(!empty(r), r.unknown, false);
            break;
        case HN_EX_NEG:
        case HN_EX_ABS:
        case HN_EX_NOT: stack[n - 1] = range_unary(op->code, stack[n - 1]); break;
        default: n--; stack[n - 1] = range_binary(op->code, stack[n - 1], stack[n]);
        }
    }
    return stack[0];
}
