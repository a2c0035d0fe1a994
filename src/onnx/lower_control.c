/* lower_control.c — Loop, Scan. Bodies become regions; a carried value whose size changes gets a symbol for it, and
 * the body is read again with that. Scan is a loop over the slices of its inputs. If: lower_if.c. */
#include "onnx/import_int.h"
#include "onnx/lower_fns.h"

#include <stdint.h>

enum { MAX_RESULTS = 256 };

static hn_type scalar_type(hone_dtype t) { return (hn_type){.dtype = t}; }

/* --- loops -------------------------------------------------------------------------------------------------------- */

/* One loop being built; a body is read once or more. */
typedef struct loop {
    hn_lower *c;
    hn_val trip, go;
    size_t n_carried, n_scans;
    hn_val carried[MAX_RESULTS]; /* initial values */
    hn_type type[MAX_RESULTS];   /* inside the body */
    hn_block block;
    hn_dim symbol[MAX_RESULTS]; /* iterations, then sizes that change */
    size_t n_symbol;
    hn_val result[MAX_RESULTS]; /* of the body: carried..., scans... */
    hn_val again;               /* of the body */
    /* Reads the body with its parameters index and go in l->block, carried[i] = first + i; sets result and again. */
    bool (*body)(struct loop *l, hn_val index, hn_val go, hn_val first);
    const hn_val *scanned; /* of Scan */
    const int64_t *axis, *backwards;
    size_t n_scanned;
    hn_dim length;
} loop;

static bool read_body(loop *l) {
    hn_graph *g = l->c->b.g;
    hn_type i64 = scalar_type(HONE_I64), boolean = scalar_type(HONE_BOOL);
    l->block = hn_block_new(g, l->c->b.b);
    hn_val index = hn_param(g, l->block, NULL, &i64), go = hn_param(g, l->block, NULL, &boolean), first = 0;
    for (size_t i = 0; i < l->n_carried; i++) {
        hn_val v = hn_param(g, l->block, NULL, &l->type[i]);
        if (!i) first = v;
    }
    return hn_graph_ok(g) && l->body(l, index, go, first);
}

/* Gives a symbol to every dimension that the body changes. *stable: there was none. */
static bool settle(loop *l, bool *stable) {
    hn_graph *g = l->c->b.g;
    *stable = true;
    for (size_t i = 0; i < l->n_carried; i++) {
        hn_type t = *hn_type_of(g, l->result[i]), *mine = &l->type[i];
        if (t.dtype != mine->dtype || t.rank != mine->rank) {
            hn_refuse(l->c, "its carried value %zu changes its element type or rank", i);
            return false;
        }
        for (size_t k = 0; k < t.rank; k++) {
            bool is_symbol = false;
            for (size_t s = 1; s < l->n_symbol; s++) is_symbol |= mine->dim[k] == l->symbol[s];
            if (is_symbol || hn_dim_equal(g->dims, t.dim[k], mine->dim[k]) == HN_EQUAL) continue;
            if (l->n_symbol == MAX_RESULTS) return false;
            mine->dim[k] = l->symbol[l->n_symbol++] = hn_dim_symbol(g->dims, "carried", 0, INT64_MAX);
            *stable = false;
        }
    }
    return true;
}

/* First result of the loop; 0 after a failure. */
static hn_val build(loop *l) {
    hn_graph *g = l->c->b.g;
    hn_val in[MAX_RESULTS + 2] = {l->trip, l->go};
    bool stable = false;
    l->symbol[0] = hn_dim_symbol(g->dims, "iterations", 0, INT64_MAX);
    l->n_symbol = 1;
    for (size_t i = 0; i < l->n_carried; i++) {
        l->type[i] = *hn_type_of(g, l->carried[i]);
        in[2 + i] = l->carried[i];
    }
    while (!stable)
        if (!read_body(l) || !settle(l, &stable)) return 0;
    hn_result(g, l->block, l->again, NULL);
    for (size_t i = 0; i < l->n_carried + l->n_scans; i++) hn_result(g, l->block, l->result[i], NULL);
    hn_attr attr[] = {hn_a_blocks(1, &l->block), hn_a_int(HN_A_COUNT, (int64_t)l->n_scans),
                      hn_a_dims(HN_A_DEFINES, l->n_symbol, l->symbol)};
    return hn_emit(g, l->c->b.b, HN_OP_LOOP, 2 + l->n_carried, in, 3, attr, l->n_carried + l->n_scans);
}

/* --- Loop --------------------------------------------------------------------------------------------------------- */

static bool loop_body(loop *l, hn_val index, hn_val go, hn_val first) {
    hn_lower *c = l->c;
    hn_builder inner = {c->b.g, l->block};
    hn_val param[MAX_RESULTS + 2] = {index, go}, result[MAX_RESULTS + 1];
    hn_type declared[2] = {{0}};
    size_t n;
    hn_dim one = hn_lit(&inner, 1);
    hn_subgraph_inputs(c, "body", declared, 2);
    for (size_t i = 0; i < 2; i++)
        if (declared[i].rank == 1) param[i] = hn_reshape(&inner, param[i], 1, &one);
    for (size_t i = 0; i < l->n_carried; i++) param[2 + i] = first + (hn_val)i;
    if (!hn_subgraph(c, "body", l->block, 2 + l->n_carried, param, MAX_RESULTS, result, &n)) return false;
    if (n != 1 + l->n_carried + l->n_scans) {
        hn_wrong(c, "its body has %zu outputs instead of %zu", n, 1 + l->n_carried + l->n_scans);
        return false;
    }
    l->again = hn_scalar(&inner, result[0]);
    memcpy(l->result, result + 1, (n - 1) * sizeof *result);
    return true;
}

static void for_while(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    loop l = {.c = c, .body = loop_body};
    size_t n_in = hn_n_in(c), n_out = hn_n_out(c);
    if (n_in < 2 || n_in - 2 > n_out || n_out > MAX_RESULTS - 2) {
        hn_wrong(c, "%zu inputs and %zu outputs", n_in, n_out);
        return;
    }
    l.trip = hn_has_in(c, 0) ? hn_in(c, 0) : hn_const_i(b, HONE_I64, INT64_MAX);
    l.go = hn_has_in(c, 1) ? hn_in(c, 1) : hn_const_i(b, HONE_BOOL, 1);
    if (!l.trip || !l.go) return;
    l.trip = hn_scalar(b, l.trip);
    l.go = hn_scalar(b, l.go);
    l.n_carried = n_in - 2;
    l.n_scans = n_out - l.n_carried;
    for (size_t i = 0; i < l.n_carried; i++)
        if (!(l.carried[i] = hn_in(c, 2 + i))) {
            if (!hn_lower_failed(c)) hn_wrong(c, "input %zu is missing", 2 + i);
            return;
        }
    hn_val v = build(&l);
    for (size_t i = 0; i < n_out && v; i++) hn_out(c, i, v + (hn_val)i);
}

/* --- Scan --------------------------------------------------------------------------------------------------------- */

static bool scan_body(loop *l, hn_val index, hn_val go, hn_val first) {
    hn_lower *c = l->c;
    hn_builder inner = {c->b.g, l->block};
    hn_val param[MAX_RESULTS], last, back;
    size_t n;
    (void)go;
    last = hn_scalar(&inner, hn_dims_value(&inner, 1, &l->length));
    back = hn_bin(&inner, HN_OP_SUB, hn_bin(&inner, HN_OP_SUB, last, hn_const_i(&inner, HONE_I64, 1)), index);
    for (size_t i = 0; i < l->n_carried; i++) param[i] = first + (hn_val)i;
    for (size_t i = 0; i < l->n_scanned; i++)
        param[l->n_carried + i] = hn_gather(&inner, l->scanned[i], l->backwards[i] ? back : index, l->axis[i]);
    if (!hn_subgraph(c, "body", l->block, l->n_carried + l->n_scanned, param, MAX_RESULTS, l->result, &n)) return false;
    if (n != l->n_carried + l->n_scans) {
        hn_wrong(c, "its body has %zu outputs instead of %zu", n, l->n_carried + l->n_scans);
        return false;
    }
    l->again = hn_const_i(&inner, HONE_BOOL, 1);
    return true;
}

/* A list of n integers from an attribute, `otherwise` where it is absent. */
static const int64_t *list_of(hn_lower *c, const char *name, size_t n) {
    const int64_t *list;
    size_t given = hn_ints(c, name, &list);
    int64_t *copy = hn_alloc_n(&c->b.g->arena, n, sizeof *copy);
    if (given && given != n) hn_wrong(c, "attribute '%s' has %zu entries instead of %zu", name, given, n);
    if (!copy || hn_lower_failed(c)) return NULL;
    for (size_t i = 0; i < n && given; i++) copy[i] = list[i];
    return copy;
}

/* result: states, then scan outputs with their new dimension in front. */
static bool scan_once(hn_lower *c, loop *l, hn_val *result) {
    hn_builder *b = hn_lower_builder(c);
    l->c = c;
    l->body = scan_body;
    l->length = hn_dim_of(b, l->scanned[0], (size_t)l->axis[0]);
    l->trip = hn_scalar(b, hn_dims_value(b, 1, &l->length));
    l->go = hn_const_i(b, HONE_BOOL, 1);
    hn_val v = build(l);
    if (!v) return false;
    for (size_t i = 0; i < l->n_carried + l->n_scans; i++) {
        result[i] = v + (hn_val)i;
        if (i >= l->n_carried) result[i] = hn_slice_axis(b, result[i], 0, hn_lit(b, 0), l->length, 1);
    }
    return hn_graph_ok(b->g);
}

static bool scan_counts(hn_lower *c, loop *l, size_t first) {
    size_t n_in = hn_n_in(c), n_out = hn_n_out(c);
    int64_t m = hn_int(c, "num_scan_inputs", 0);
    if (m < 1 || n_in < first || (uint64_t)m > n_in - first || n_in - first - (size_t)m > n_out ||
        n_in > MAX_RESULTS / 2 || n_out > MAX_RESULTS / 2) {
        hn_wrong(c, "%zu inputs, %zu outputs, %lld scan inputs", n_in, n_out, (long long)m);
        return false;
    }
    l->n_scanned = (size_t)m;
    l->n_carried = n_in - first - l->n_scanned;
    l->n_scans = n_out - l->n_carried;
    return true;
}

/* Dimension 0 moves to `axis`. */
static hn_val move_front(hn_builder *b, hn_val v, int64_t axis) {
    int64_t perm[HN_RANK_MAX];
    size_t rank = hn_rank(b, v);
    for (size_t i = 0; i < rank; i++)
        perm[i] = (int64_t)i < axis ? (int64_t)i + 1 : (int64_t)i == axis ? 0 : (int64_t)i;
    return axis ? hn_transpose(b, v, perm) : v;
}

static void scan(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    loop l = {0};
    hn_val in[MAX_RESULTS], result[MAX_RESULTS];
    if (!scan_counts(c, &l, 0)) return;
    int64_t *axis = (int64_t *)(uintptr_t)list_of(c, "scan_input_axes", l.n_scanned);
    const int64_t *to = list_of(c, "scan_output_axes", l.n_scans);
    const int64_t *backwards = list_of(c, "scan_output_directions", l.n_scans);
    l.backwards = list_of(c, "scan_input_directions", l.n_scanned);
    if (!axis || !to || !backwards || !l.backwards) return;
    for (size_t i = 0; i < hn_n_in(c); i++) {
        if (!(in[i] = hn_in(c, i))) return;
        if (i >= l.n_carried) axis[i - l.n_carried] = hn_axis(c, axis[i - l.n_carried], hn_rank(b, in[i]));
    }
    if (hn_lower_failed(c)) return;
    l.axis = axis;
    l.scanned = in + l.n_carried;
    memcpy(l.carried, in, l.n_carried * sizeof *in);
    if (!scan_once(c, &l, result)) return;
    for (size_t i = 0; i < l.n_carried; i++) hn_out(c, i, result[i]);
    for (size_t i = 0; i < l.n_scans; i++) {
        hn_val v = result[l.n_carried + i];
        if (backwards[i]) v = hn_flip(b, v, 0);
        hn_out(c, l.n_carried + i, move_front(b, v, hn_axis(c, to[i], hn_rank(b, v))));
    }
}

/* Opset 8: everything has a batch dimension in front, and each of its elements is scanned on its own. */
static void scan8(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val in[MAX_RESULTS], one[MAX_RESULTS], result[MAX_RESULTS], all[MAX_RESULTS] = {0};
    loop l = {0};
    int64_t n_batch = 0;
    if (hn_has_in(c, 0)) hn_refuse(c, "sequence_lens");
    if (hn_lower_failed(c) || !scan_counts(c, &l, 1)) return;
    l.backwards = list_of(c, "directions", l.n_scanned);
    l.axis = hn_alloc_n(&b->g->arena, l.n_scanned, sizeof *l.axis);
    size_t n_in = l.n_carried + l.n_scanned, n_out = l.n_carried + l.n_scans;
    for (size_t i = 0; i < n_in; i++)
        if (!(in[i] = hn_in(c, 1 + i))) return;
    if (!l.axis || !l.backwards || !hn_dim_known(b, hn_dim_of(b, in[0], 0), &n_batch) || n_batch < 1 || n_batch > 64) {
        if (!hn_lower_failed(c)) hn_refuse(c, "a batch size that is not known, or is 0 or above 64");
        return;
    }
    for (int64_t k = 0; k < n_batch; k++) {
        for (size_t i = 0; i < n_in; i++) one[i] = hn_gather(b, in[i], hn_const_i(b, HONE_I64, k), 0);
        memcpy(l.carried, one, l.n_carried * sizeof *one);
        l.scanned = one + l.n_carried;
        if (!scan_once(c, &l, result)) return;
        for (size_t i = 0; i < n_out; i++) {
            hn_val pair[] = {all[i], hn_unsqueeze(b, result[i], 0)};
            all[i] = k ? hn_concat(b, 2, pair, 0) : pair[1];
        }
    }
    for (size_t i = 0; i < n_out; i++) hn_out(c, i, all[i]);
}

#define M HN_OPSET_MAX
const hn_lower_row hn_lower_control[] = {
    {"", "If", 1, M, hn_lower_if, 0},
    {"", "Loop", 1, M, for_while, 0},
    {"", "Scan", 8, 8, scan8, 0},
    {"", "Scan", 9, M, scan, 0},
    {0},
};
