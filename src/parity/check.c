/* parity/check.c — runs a kernel and the interpreter on one trial and compares.
 *
 * The kernel's results lie between guard bytes, so that a write beyond them is seen; it is run once whole, once in
 * three pieces, which must give the same bits, and once in place where it says that it may. Large bodies are compared
 * on sampled elements. An element outside the tolerance is compared with the interpreter on inputs moved by a few units
 * in the last place: where the function itself is that ill-conditioned (sin of a huge number, floor at a step), the
 * kernel may differ by as much.
 */
#include "parity/parity.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_WRONG = 256, SAMPLES = 96, SCALE_SAMPLES = 1 << 16, PATTERN = 0xa5 };
/* Elementary operations that the interpreter does in a few hundredths of a second. */
#define WHOLE_COST 400000
#define MOST_COST ((int64_t)1 << 34)
/* A shift by units of a type with few bits must not move an input to 0 or to twice its size. */
#define MOST_SHIFT (1.0 / 32)
/* Kernels of a higher cost are run in full on random inputs only, on others in slices of about this cost. */
#define SLICE_COST 8000000

static bool differs(hn_trial *t, const char *fmt, ...) HONE_PRINTF(2, 3);
static bool differs(hn_trial *t, const char *fmt, ...) {
    va_list ap;
    t->result->end = HN_PARITY_DIFFERS;
    va_start(ap, fmt);
    vsnprintf(t->result->text, sizeof t->result->text, fmt, ap);
    va_end(ap);
    return false;
}

/* --- the kernel ------------------------------------------------------------------------------------------------------
 */

static int64_t room_of(const hn_trial *t, uint32_t i) {
    hn_graph *g = t->m->g;
    const hn_type *type = hn_type_of(g, g->block[t->k->body].result[i]);
    int64_t n = 1, x;
    hn_dim room = t->k->room ? t->k->room[i] : 0;
    for (size_t d = 0; d < (room ? 1 : type->rank); d++)
        if (!hn_dim_eval(g->dims, room ? room : type->dim[d], t->symbol, &x) || x < 0 ||
            __builtin_mul_overflow(n, x, &n))
            return -1;
    return n > (int64_t)1 << 31 ? -1 : n * hn_dtype_of(type->dtype)->size_b;
}

/* Memory of the place between guards, all of it the pattern. */
static hn_mem guarded(const hn_trial *t, int64_t size_b) {
    const hn_ground *w = &t->where;
    int64_t all_b = size_b + 2 * HN_GUARD_B, n;
    unsigned char pattern[4096];
    hn_mem p = w->place->alloc(w->state, all_b, HN_MEM_PLAIN);
    memset(pattern, PATTERN, sizeof pattern);
    for (int64_t at = 0; p && at < all_b; at += n) {
        n = all_b - at < (int64_t)sizeof pattern ? all_b - at : (int64_t)sizeof pattern;
        w->place->put(w->state, p + at, pattern, n);
    }
    return p ? p + HN_GUARD_B : NULL;
}

static bool is_pattern(const hn_trial *t, hn_mem at) {
    unsigned char guard[HN_GUARD_B];
    t->where.place->get(t->where.state, guard, at, sizeof guard);
    for (size_t i = 0; i < sizeof guard; i++)
        if (guard[i] != PATTERN) return false;
    return true;
}
static bool guards_stand(const hn_trial *t, hn_mem p, int64_t size_b) {
    return is_pattern(t, p - HN_GUARD_B) && is_pattern(t, p + size_b);
}

typedef struct call {
    hn_launch l;
    char **got; /* results, here */
    int64_t *room_b;
    int64_t work, scratch_b;
} call;

static bool make_call(hn_trial *t, call *c) {
    hn_graph *g = t->m->g;
    const hn_ground *w = &t->where;
    uint32_t n_out = g->block[t->k->body].n_result;
    hn_symbol list[64];
    size_t n_defined = hn_body_symbols(g, t->k->body, list, 64);
    *c = (call){.l = {.code = t->code, .symbol = t->symbol, .n_symbol = t->n_symbols}};
    c->l.n_buf = t->n_in + n_out + (uint32_t)n_defined;
    c->l.buf = hn_alloc_n(t->a, c->l.n_buf + 1u, sizeof *c->l.buf);
    c->got = hn_alloc_n(t->a, n_out + 1u, sizeof *c->got);
    c->room_b = hn_alloc_n(t->a, n_out + 1u, sizeof *c->room_b);
    if (!c->l.buf || !c->got || !c->room_b || !hn_work_eval(g, &t->k->code, t->symbol, &c->work)) return false;
    if (t->k->code.scratch_b && !hn_dim_eval(g->dims, t->k->code.scratch_b, t->symbol, &c->scratch_b)) return false;
    c->l.scratch = c->scratch_b >= 0 && c->scratch_b < (int64_t)1 << 33 ? guarded(t, c->scratch_b) : NULL;
    for (uint32_t i = 0; i < t->n_in; i++) {
        int64_t size_b = hn_tensor_n(&t->in[i]) * hn_dtype_of(t->in[i].dtype)->size_b;
        if (!(c->l.buf[i] = w->place->alloc(w->state, size_b, HN_MEM_PLAIN))) return false;
        w->place->put(w->state, c->l.buf[i], t->in[i].data, size_b);
    }
    for (uint32_t i = 0; i < n_out; i++) {
        c->room_b[i] = room_of(t, i);
        if (c->room_b[i] < 0 || !(c->l.buf[t->n_in + i] = guarded(t, c->room_b[i]))) return false;
        if (!(c->got[i] = hn_alloc(t->a, (size_t)c->room_b[i] + 1))) return false;
    }
    for (size_t i = 0; i < n_defined; i++)
        if (!(c->l.buf[t->n_in + n_out + i] = guarded(t, sizeof(int64_t)))) return false;
    return c->l.scratch != NULL;
}

static void run_part(hn_trial *t, call *c, int64_t begin, int64_t end) {
    c->l.begin = begin, c->l.end = end;
    if (t->where.place->launch(t->where.state, &c->l)) return;
    if (!t->where.place->trouble) _exit(EXIT_FAILURE); /* it has crashed, and so does this process */
    differs(t, "%s", t->where.place->trouble(t->where.state));
}

static void fetch_results(const hn_trial *t, const call *c) {
    for (uint32_t i = 0; i < t->n_out; i++)
        t->where.place->get(t->where.state, c->got[i], c->l.buf[t->n_in + i], c->room_b[i]);
}

static bool run_pieces(hn_trial *t, call *c, int n_pieces) {
    t->symbol[-1] = 0;
    for (int p = 0; p < n_pieces; p++) run_part(t, c, c->work * p / n_pieces, c->work * (p + 1) / n_pieces);
    if (t->result->end == HN_PARITY_DIFFERS) return false;
    if (t->symbol[-1]) return differs(t, "reports an index out of range where there is none");
    fetch_results(t, c);
    for (uint32_t i = 0; i < t->n_out; i++)
        if (!guards_stand(t, c->l.buf[t->n_in + i], c->room_b[i])) return differs(t, "writes beyond result %u", i);
    if (!guards_stand(t, c->l.scratch, c->scratch_b)) return differs(t, "writes beyond its scratch memory");
    return true;
}

/* The first, the last and a middle part of the work: about SLICE_COST in all. What they leave alone keeps its guard
 * pattern. */
static bool run_slices(hn_trial *t, call *c) {
    int64_t part = (int64_t)((double)c->work * SLICE_COST / (double)t->cost / 3) + 1,
            at[] = {0, c->work / 2, c->work - part};
    t->symbol[-1] = 0;
    for (int i = 0; i < 3; i++)
        if (at[i] >= 0 && at[i] + part <= c->work) run_part(t, c, at[i], at[i] + part);
    if (t->result->end == HN_PARITY_DIFFERS) return false;
    if (t->symbol[-1]) return differs(t, "reports an index out of range where there is none");
    fetch_results(t, c);
    return true;
}

static bool is_untouched(const hn_tensor *t, int64_t at) {
    size_t n = hn_dtype_of(t->dtype)->size_b;
    for (size_t i = 0; i < n; i++)
        if (((const unsigned char *)t->data)[(size_t)at * n + i] != PATTERN) return false;
    return true;
}

/* Other divisions of the work, and in place: the bits must not change. */
static bool same_bits(hn_trial *t, const call *c) {
    for (int way = 0; way < 2; way++) {
        call again;
        int in_place = -1;
        if (way == 0 && c->work < 2) continue;
        if (!make_call(t, &again)) return true;
        for (uint32_t i = 0; way && i < t->n_in && i < 64 && in_place < 0; i++)
            if (t->k->code.in_place >> i & 1) in_place = (int)i;
        if (way && in_place < 0) continue;
        if (way) {
            t->where.place->put(t->where.state, again.l.buf[t->n_in], t->in[in_place].data, again.room_b[0]);
            again.l.buf[in_place] = again.l.buf[t->n_in];
        }
        if (!run_pieces(t, &again, way ? 1 : 3)) return false;
        for (uint32_t i = 0; i < t->n_out; i++)
            if (memcmp(again.got[i], c->got[i], (size_t)again.room_b[i]))
                return differs(t, "result %u changes when the work is %s", i, way ? "done in place" : "divided");
    }
    return true;
}

/* --- comparison ------------------------------------------------------------------------------------------------------
 */

typedef struct pair {
    int64_t at;
    double got, want;
} pair;
typedef struct tally {
    pair wrong[MOST_WRONG];
    size_t n_wrong;
    bool too_many;
} tally;

static bool is_near(const hn_trial *t, double got, double want) {
    if (isnan(got) || isnan(want)) return isnan(got) && isnan(want);
    if (isinf(got) || isinf(want)) return got == want;
    return fabs(got - want) <= t->atol + t->rtol * fabs(want);
}

static void compare_pair(hn_trial *t, tally *w, int64_t at, double got, double want, bool is_float) {
    double gap = fabs(got - want);
    if (is_float ? is_near(t, got, want) : got == want) {
        if (gap > t->result->max_abs) t->result->max_abs = gap;
        if (want != 0 && gap / fabs(want) > t->result->max_rel && fabs(want) > t->atol)
            t->result->max_rel = gap / fabs(want);
        return;
    }
    if (w->n_wrong < MOST_WRONG)
        w->wrong[w->n_wrong++] = (pair){at, got, want};
    else
        w->too_many = true;
}

/* How inputs are moved to test the condition of the function: all in one direction, to which a function of one element
 * is most sensitive; or each in its own direction, as rounding moves the terms of a sum that nearly cancel. */
enum { N_SHIFTS = 4 };
typedef struct shift {
    double units; /* in the last place */
    bool each;
} shift;
static const shift shifts[N_SHIFTS] = {{4, false}, {-4, false}, {4, true}, {-4, true}};

static bool shift_inputs(hn_trial *t, shift s, hn_tensor *to) {
    for (uint32_t i = 0; i < t->n_in; i++) {
        to[i] = t->in[i];
        if (!hn_is_float(to[i].dtype)) continue;
        if (!hn_tensor_new(t->a, t->in[i].dtype, t->in[i].rank, t->in[i].dim, &to[i])) return false;
        int64_t n = hn_tensor_n(&to[i]);
        double by = fmax(-MOST_SHIFT, fmin(MOST_SHIFT, s.units * hn_dtype_of(to[i].dtype)->epsilon));
        for (int64_t k = 0; k < n; k++) {
            bool other = s.each && ((uint64_t)k + 1) * UINT64_C(0x9e3779b97f4a7c15) >> 63;
            hn_set_f(&to[i], k, hn_get_f(&t->in[i], k) * (1 + (other ? -by : by)));
        }
    }
    return true;
}

/* moved: its values on shifted inputs. */
static bool explained(const hn_trial *t, const pair *p, const double moved[N_SHIFTS], bool is_float) {
    double spread = 0;
    bool infinite = false, differ = false;
    for (int k = 0; k < N_SHIFTS; k++) {
        if (p->got == moved[k] || (isnan(p->got) && isnan(moved[k]))) return true;
        infinite |= isinf(moved[k]) != 0;
        differ |= moved[k] != p->want;
        spread = fmax(spread, fabs(moved[k] - p->want));
    }
    if (is_float && infinite && differ) return true; /* close to overflow */
    if (is_float && t->underflows && isinf(p->want) && isnan(p->got)) return true;
    return is_float && isfinite(p->got) && isfinite(spread) &&
           fabs(p->got - p->want) <= 8 * spread + t->atol + t->rtol * fabs(p->want);
}

static const char *number(double x, char buf[40]) {
    snprintf(buf, 40, "%.9g", x);
    return buf;
}

static void index_of(const hn_tensor *t, int64_t at, int64_t *index) {
    for (size_t d = t->rank; d-- > 0; at /= t->dim[d] ? t->dim[d] : 1) index[d] = t->dim[d] ? at % t->dim[d] : 0;
}

/* The interpreter's value of one element on other inputs; whole != NULL: already there. */
static bool value_at(hn_trial *t, const hn_tensor *in, const hn_tensor *whole, uint32_t result, const hn_tensor *shape,
                     int64_t at, double *out) {
    int64_t index[HN_RANK_MAX];
    if (whole) return *out = hn_get_f(&whole[result], at), true;
    index_of(shape, at, index);
    return hn_interpret_at(t->m->g, t->k->body, in, t->symbol, result, index, out, NULL) == HONE_OK;
}

static bool check_tally(hn_trial *t, const tally *w, uint32_t result, const hn_tensor *shape, bool sampled) {
    char a[40], b[40];
    hn_tensor *moved[N_SHIFTS], *whole[N_SHIFTS] = {NULL};
    bool is_float = hn_is_float(shape->dtype), good = !w->too_many;
    const pair *worst = &w->wrong[0];
    if (!w->n_wrong) return true;
    for (int k = 0; k < N_SHIFTS && good; k++) {
        moved[k] = hn_alloc_n(t->a, t->n_in + 1u, sizeof **moved);
        good = moved[k] && shift_inputs(t, shifts[k], moved[k]);
        if (sampled || !good) continue;
        whole[k] = hn_alloc_n(t->a, t->n_out + 1u, sizeof **whole);
        good = whole[k] && !hn_interpret_block(t->m->g, t->k->body, moved[k], t->symbol, t->a, whole[k], NULL) &&
               hn_tensor_n(&whole[k][result]) == hn_tensor_n(shape);
    }
    for (size_t i = 0; i < w->n_wrong && good; i++) {
        double x[N_SHIFTS] = {0};
        worst = &w->wrong[i];
        for (int k = 0; k < N_SHIFTS && good; k++)
            good = value_at(t, moved[k], whole[k], result, shape, worst->at, &x[k]);
        good = good && explained(t, worst, x, is_float);
    }
    if (good) return true;
    return differs(t, "result %u, element %lld is %s, the interpreter has %s", result, (long long)worst->at,
                   number(worst->got, a), number(worst->want, b));
}

/* 64-bit integers exactly; the rest as doubles, which hold them. */
static void compare_element(hn_trial *t, tally *w, const hn_tensor *got, const hn_tensor *want, int64_t at) {
    bool is_float = hn_is_float(got->dtype);
    if (!is_float && hn_get_i(got, at) != hn_get_i(want, at) && hn_get_f(got, at) == hn_get_f(want, at))
        compare_pair(t, w, at, 0, 1, false);
    else
        compare_pair(t, w, at, hn_get_f(got, at), hn_get_f(want, at), is_float);
}

static bool compare_whole(hn_trial *t, const call *c) {
    hn_graph *g = t->m->g;
    hone_err why = {0};
    hn_tensor *want = hn_alloc_n(t->a, t->n_out + 1u, sizeof *want);
    if (!want) return true;
    hone_rc rc = hn_interpret_block(g, t->k->body, t->in, t->symbol, t->a, want, &why);
    if (rc) { /* not an input that the body is made for */
        snprintf(t->result->text, sizeof t->result->text, "%.190s", why.text);
        return true;
    }
    for (uint32_t r = 0; r < t->n_out; r++) {
        tally w = {0};
        hn_tensor got = want[r];
        int64_t n = hn_tensor_n(&want[r]);
        got.data = c->got[r];
        if (n * hn_dtype_of(got.dtype)->size_b > c->room_b[r]) return differs(t, "result %u has another size", r);
        for (int64_t i = 0; i < n; i++) compare_element(t, &w, &got, &want[r], i);
        if (!check_tally(t, &w, r, &want[r], false)) return false;
    }
    t->result->n_inputs++;
    return true;
}

static bool compare_samples(hn_trial *t, const call *c, bool sliced) {
    hn_graph *g = t->m->g;
    const hn_blk *b = &g->block[t->k->body];
    for (uint32_t r = 0; r < t->n_out; r++) {
        const hn_type *type = hn_type_of(g, b->result[r]);
        hn_tensor got = {.dtype = type->dtype, .rank = type->rank, .data = c->got[r]};
        tally w = {0};
        for (size_t d = 0; d < type->rank; d++)
            if (!hn_dim_eval(g->dims, type->dim[d], t->symbol, &got.dim[d])) return true;
        int64_t n = hn_tensor_n(&got), per = n ? t->cost / n + 1 : 1, samples = 4 * WHOLE_COST / per;
        if (samples > SAMPLES) samples = SAMPLES;
        if (samples < 12) samples = 12;
        for (int64_t i = 0; i < samples && n; i++) {
            int64_t at = i == 0 ? 0 : i == 1 ? n - 1 : (int64_t)hn_rng_below(&t->rng, (uint64_t)n);
            double want;
            for (int tries = 0; sliced && tries < 400 && is_untouched(&got, at); tries++)
                at = (int64_t)hn_rng_below(&t->rng, (uint64_t)n);
            if (sliced && is_untouched(&got, at)) continue;
            if (!value_at(t, t->in, NULL, r, &got, at, &want)) return sliced ? true : compare_whole(t, c);
            compare_pair(t, &w, at, hn_get_f(&got, at), want, hn_is_float(got.dtype));
        }
        if (!check_tally(t, &w, r, &got, true)) return false;
    }
    t->result->n_inputs++;
    return true;
}

/* Types below 32 bits are rounded once per operation, on both sides: units in their last place, one per operation.
 * In others pointwise operations give the same bits on both sides, but for functions: within 2 units of the exact
 * result here (relaxed: 8; docs/math.md), 1 there, and what follows may enlarge that. Sums differ by their order. */
static void set_tolerance(hn_trial *t, const hn_traits *x) {
    bool narrow = x->eps > 1e-6;
    double root = sqrt(x->length), functions = (t->m->options->relaxed ? 10 : 4) * x->n_functions;
    double units = x->sums || x->orders ? fmax(16, functions) : fmin(4 + functions, t->m->options->relaxed ? 40 : 16);
    t->rtol = narrow ? x->eps * fmin(16, 2 + x->n_float) + 0x1p-23 * (16 + 2 * root) : x->eps * (units + 2 * root);
    t->atol = narrow ? x->eps * 0.25 + 0x1p-23 * x->length : x->eps * (units + x->length / 2);
    t->result->rtol = fmax(t->result->rtol, t->rtol);
    t->result->atol = fmax(t->result->atol, t->atol);
}

/* Of results that may round more: a part of the root mean square of what the kernel made of them. */
static void widen_tolerance(hn_trial *t, const call *c, const hn_traits *x) {
    const hn_blk *b = &t->m->g->block[t->k->body];
    double squares = 0, n = 0;
    for (uint32_t r = 0; r < t->n_out; r++) {
        hn_tensor got = {.dtype = hn_type_of(t->m->g, b->result[r])->dtype, .rank = 1, .data = c->got[r]};
        int64_t all = c->room_b[r] / (int64_t)hn_dtype_of(got.dtype)->size_b;
        for (int64_t i = 0; i < all; i += 1 + all / SCALE_SAMPLES) {
            double y = hn_get_f(&got, i);
            if (!isfinite(y) || is_untouched(&got, i)) continue;
            squares += y * y;
            n++;
        }
    }
    t->atol = fmax(t->atol, x->bound * sqrt(squares / fmax(n, 1)));
    t->result->atol = fmax(t->result->atol, t->atol);
}

bool hn_trial_check(hn_trial *t, const hn_traits *x, hn_fill fill) {
    call c = {0};
    t->n_out = t->m->g->block[t->k->body].n_result;
    set_tolerance(t, x);
    t->underflows = fill == HN_FILL_SPECIAL && x->sums && x->n_functions > 0;
    if (t->cost > MOST_COST || !make_call(t, &c)) return true;
    if (t->cost <= WHOLE_COST) { /* what the interpreter refuses is no input for the kernel */
        hone_err why = {0};
        hn_tensor *want = hn_alloc_n(t->a, t->n_out + 1u, sizeof *want);
        if (want && hn_interpret_block(t->m->g, t->k->body, t->in, t->symbol, t->a, want, &why)) {
            snprintf(t->result->text, sizeof t->result->text, "%.190s", why.text);
            return true;
        }
    }
    bool sliced = fill != HN_FILL_RANDOM && t->cost > SLICE_COST;
    if (sliced ? !run_slices(t, &c) : !run_pieces(t, &c, 1)) return false;
    if (fill == HN_FILL_RANDOM && t->cost <= 4 * SLICE_COST && !same_bits(t, &c)) return false;
    if (x->bound > 0) widen_tolerance(t, &c, x);
    return t->cost <= WHOLE_COST ? compare_whole(t, &c) : compare_samples(t, &c, sliced);
}
