/* fill_inputs.c — what integers and bools of inputs look like. What the graph says comes first: an input that chooses
 * rows of a table is below their number, one that is compared with a constant is that constant. Then names: lengths,
 * masks, positions, kinds of tokens. Rows end at different places: row r of n is filled to 1 - r / 2n. */
#include "base/err.h"
#include "base/rng.h"
#include "base/str.h"
#include "ir/graph.h"

#include <hone/inputs.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEEP = 12, MOST_SEEN = 512 };

typedef struct traced {
    const hn_graph *g;
    hn_val seen[MOST_SEEN];
    size_t n_seen;
    int64_t rows;  /* values are below it; 0: not known */
    bool compared; /* with `constant` */
    int64_t constant;
} traced;

/* --- what the graph says -------------------------------------------------------------------------------------------
 */

static void follow(traced *w, hn_val v, unsigned depth);

static bool is_integer(const hn_graph *g, hn_val v) {
    hone_dtype t = hn_type_of(g, v)->dtype;
    return !hn_is_float(t) && t != HONE_BOOL;
}

/* The one element of a constant, behind movements. */
static bool constant_of(const hn_graph *g, hn_val v, int64_t *out) {
    const hn_node *n = hn_def(g, v);
    for (unsigned i = 0; n && i < DEEP && (hn_op_of(n->op)->cls == HN_MOVE || n->op == HN_OP_CAST) && n->n_in == 1; i++)
        n = hn_def(g, n->in[0]);
    const hn_tensor *t = n && n->op == HN_OP_CONST ? hn_attr_get(n, HN_A_VALUE)->tensor : NULL;
    if (!t || hn_tensor_n(t) != 1 || hn_is_float(t->dtype)) return false;
    *out = hn_get_i(t, 0);
    return true;
}

static void below(traced *w, hn_val table, size_t axis) {
    int64_t rows;
    if (!hn_dim_is_int(w->g->dims, hn_type_of(w->g, table)->dim[axis], &rows) || rows < 1) return;
    if (!w->rows || rows < w->rows) w->rows = rows;
}

/* n where v, behind movements, is 0, 1 ... n - 1: a comparison with it makes a one-hot vector. Else 0. */
static int64_t counts_to(const hn_graph *g, hn_val v) {
    const hn_node *n = hn_def(g, v);
    int64_t size = 0;
    for (unsigned i = 0; n && i < DEEP && hn_op_of(n->op)->cls == HN_MOVE && n->n_in == 1; i++) n = hn_def(g, n->in[0]);
    if (n && n->op == HN_OP_IOTA) {
        const hn_dim d = hn_type_of(g, n->out[0])->dim[hn_attr_i(n, HN_A_AXIS, 0)];
        return hn_dim_is_int(g->dims, d, &size) ? size : 0;
    }
    const hn_tensor *t = n && n->op == HN_OP_CONST ? hn_attr_get(n, HN_A_VALUE)->tensor : NULL;
    if (!t || hn_is_float(t->dtype) || hn_tensor_n(t) < 2) return 0;
    for (size = 0; size < hn_tensor_n(t); size++)
        if (hn_get_i(t, size) != size) return 0;
    return size;
}

static void meet(traced *w, const hn_node *n, hn_val v, unsigned depth) {
    bool moves = hn_op_of(n->op)->cls == HN_MOVE && n->op != HN_OP_CONCAT && n->op != HN_OP_PAD;
    bool second = n->n_in > 1 && n->in[1] == v;
    int64_t x;
    if ((n->op == HN_OP_GATHER || n->op == HN_OP_GATHER_ELEMENTS) && second) {
        below(w, n->in[0], (size_t)hn_attr_i(n, HN_A_AXIS, 0));
    } else if (n->op == HN_OP_EQ) {
        hn_val other = second ? n->in[0] : n->in[1];
        if ((x = counts_to(w->g, other)) > 0 && (!w->rows || x < w->rows)) w->rows = x;
        if (hn_type_of(w->g, v)->rank == 0 && !w->compared && constant_of(w->g, other, &x))
            w->compared = true, w->constant = x;
    } else if (n->op == HN_OP_SELECT && n->in[0] != v) { /* negative ids are made positive so */
        follow(w, n->out[0], depth + 1);
    } else if ((moves || (n->op == HN_OP_CAST && is_integer(w->g, n->out[0]))) && n->in[0] == v) {
        follow(w, n->out[0], depth + 1);
    }
}

static void follow(traced *w, hn_val v, unsigned depth) {
    if (depth > DEEP || w->n_seen == MOST_SEEN) return;
    for (size_t i = 0; i < w->n_seen; i++)
        if (w->seen[i] == v) return;
    w->seen[w->n_seen++] = v;
    for (uint32_t b = 0; b < w->g->n_block; b++)
        for (uint32_t i = 0; i < w->g->block[b].n_node; i++) {
            const hn_node *n = &w->g->node[w->g->block[b].node[i]];
            for (size_t k = 0; k < n->n_in; k++)
                if (n->in[k] == v) {
                    meet(w, n, v, depth);
                    break;
                }
        }
}

/* --- what the name says --------------------------------------------------------------------------------------------
 */

static bool has(const char *name, const char *word) {
    for (; *name; name++) {
        size_t i = 0;
        while (word[i] && tolower((unsigned char)name[i]) == word[i]) i++;
        if (!word[i]) return true;
    }
    return false;
}

static int64_t filled(int64_t row, int64_t n_rows, int64_t length) {
    int64_t n = length - row * length / (2 * n_rows);
    return n > 1 || !length ? n : 1;
}

static void put(hone_array *a, int64_t i, int64_t x) {
    memcpy((char *)a->data + (size_t)i * hone_dtype_size_b(a->dtype), &x, hone_dtype_size_b(a->dtype)); /* low bytes */
}

static int64_t count(const hone_array *a) {
    int64_t n = 1;
    for (uint32_t d = 0; d < a->rank; d++) n *= a->dim[d];
    return n;
}

/* The longest second dimension of an input of more than one: what lengths are lengths of. */
static int64_t longest(const hn_graph *g, const hone_array *in, int64_t batch) {
    int64_t n = 0;
    for (uint32_t i = 0; i < g->block[0].n_param; i++) {
        const hone_array *a = &in[i];
        for (uint32_t d = 0; d < a->rank && d < 2 && a->rank > 1; d++) {
            bool at_batch = a->dim[1 - d] == batch;
            if (at_batch && a->dim[d] > n) n = a->dim[d];
        }
    }
    return n;
}

static const char *name_of(const hn_graph *g, uint32_t i) {
    const char *name = g->value[g->block[0].param[i]].name;
    return name ? name : "";
}

static const char *fill_mask(hone_array *a) {
    int64_t rows = a->dim[0], length = a->dim[a->rank - 1], n = count(a), each = rows ? n / rows : 0;
    for (int64_t i = 0; i < n; i++) put(a, i, i % length < filled(each ? i / each : 0, rows, length));
    return rows > 1 ? "a mask, rows filled from all to half" : "a mask of ones";
}

static const char *fill_lengths(const hn_graph *g, hone_array *a, const hone_array *in) {
    int64_t n = count(a), length = longest(g, in, n);
    for (int64_t i = 0; i < n && length; i++)
        put(a, i, n > 1 ? filled(i, n, length) : length - length / 4); /* one alone is padded, too */
    return length ? "lengths of padded rows" : NULL;
}

static const char *fill_positions(hone_array *a, int64_t rows) {
    int64_t n = count(a), length = a->dim[a->rank - 1];
    for (int64_t i = 0; i < n; i++) put(a, i, rows ? i % length % rows : i % length);
    return "positions from 0 on";
}

static const char *fill_ids(hone_array *a, int64_t rows, uint64_t seed, char text[80]) {
    hn_rng rng = hn_rng_make(seed, 0);
    int64_t n = count(a);
    for (int64_t i = 0; i < n; i++) put(a, i, (int64_t)hn_rng_below(&rng, (uint64_t)rows));
    snprintf(text, 80, "ids below %lld", (long long)rows);
    return text;
}

/* NULL: it stays as it is. */
static const char *fill_one(const hn_graph *g, uint32_t i, uint64_t seed, hone_array *in, char text[80]) {
    const char *name = name_of(g, i);
    hone_array *a = &in[i];
    traced w = {.g = g};
    if (hone_dtype_size_b(a->dtype) > 8 || (!is_integer(g, g->block[0].param[i]) && a->dtype != HONE_BOOL) || !count(a))
        return NULL;
    follow(&w, g->block[0].param[i], 0);
    if (a->rank == 0 && w.compared) {
        put(a, 0, w.constant);
        snprintf(text, 80, "%lld, which the model compares it with", (long long)w.constant);
        return text;
    }
    if (a->rank > 1 && has(name, "mask")) return fill_mask(a);
    if (a->rank == 1 && (has(name, "len") || has(name, "lens"))) return fill_lengths(g, a, in);
    if (a->rank && has(name, "position")) return fill_positions(a, w.rows);
    return w.rows && a->dtype != HONE_BOOL ? fill_ids(a, w.rows, seed + i, text) : NULL;
}

hone_rc hone_inputs_fill(const hone_graph *g, uint64_t seed, hone_array *in, char **said, hone_err *err) {
    hn_str lines = {0};
    for (uint32_t i = 0; i < g->block[0].n_param; i++) {
        char text[80];
        const char *what = fill_one(g, i, seed * 1000003, in, text);
        if (what) hn_str_addf(&lines, "%s: %s\n", name_of(g, i), what);
    }
    hn_str_add(&lines, "");
    char *taken = hn_str_take(&lines);
    hn_str_free(&lines);
    if (!taken) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (said)
        *said = taken;
    else
        free(taken);
    return HONE_OK;
}
