/* loop/sketch_gemm.c — products of matrices.
 *
 * Fits a result loop over columns (the innermost one) along which one operand and the results are contiguous, another
 * result loop over rows that does not move that operand, and inside them a reduction that adds products. Schedule:
 * blocks of rows and panels of columns, both work items, and register tiles in them. Whether an operand was packed
 * (pass/pack.c) shows in its index alone.
 */
#include "loop/chain.h"
#include "loop/loop_int.h"
#include "loop/schedule.h"
#include "loop/sketch.h"
#include "loop/tile.h"

enum { COLS_MAX = 4, LANES_MIN = 4 };

typedef struct product {
    hn_chain c;
    int row;         /* which loop of the chain; the last one has the columns */
    int64_t m, n, k; /* lengths, m with the loops that will be one with the row loop; 0: not known */
    int64_t lanes;
} product;

/* -- form */
typedef struct operands {
    hn_var col;
    int64_t lanes;
    hn_ix at[4]; /* of loads that walk with the columns */
    int n_along, n_all;
    int64_t size_b; /* of an element; 0: they differ */
} operands;

static bool take_load(hn_nest *n, const hn_scalar *x, operands *o) {
    int64_t size_b = x->dtype == HONE_F32 ? 4 : x->dtype == HONE_F64 ? 8 : 0;
    if (x->n_guard || !size_b || (o->size_b && o->size_b != size_b) || n->buf[x->buf].space != HN_PARAM) return false;
    o->size_b = size_b;
    o->n_all++;
    if (!hn_ix_depends(n, x->at, o->col)) return true;
    if (o->n_along == 4) return false;
    o->at[o->n_along++] = x->at;
    return true;
}

/* The body of a reduction: loads of floats, scalar operations, one update that adds a product. */
static bool take_reduction(hn_nest *n, hn_st first, operands *o) {
    int updates = 0;
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_stmt s = n->st[id];
        if (s.kind == HN_ST_LOOP) return hn_lone_loop(n, first) && take_reduction(n, s.body, o);
        if (s.kind == HN_ST_LET) {
            const hn_scalar x = n->sv[s.value];
            if (x.kind == HN_SV_LOAD && !take_load(n, &x, o)) return false;
            if (x.kind == HN_SV_PICK || x.kind == HN_SV_WRAP) return false;
            continue;
        }
        if (s.kind != HN_ST_UPDATE || s.op != HN_OP_ADD || !n->sv[s.value].fused) return false;
        updates++;
    }
    return updates == 1;
}

/* The body of the columns' loop: one reduction, and before and behind it what stores contiguous results. */
static bool take_body(hn_nest *n, hn_st first, operands *o, hn_st *reduction) {
    *reduction = 0;
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_stmt *s = &n->st[id];
        if (s->kind == HN_ST_LOOP) {
            if (*reduction) return false;
            *reduction = id;
        }
        if (s->kind != HN_ST_STORE || n->buf[s->buf].space == HN_REG) continue;
        if (n->buf[s->buf].space == HN_LOCAL) return false;
    }
    return *reduction && take_reduction(n, n->st[*reduction].body, o);
}
static bool stores_contiguous(hn_nest *n, hn_st first, const operands *o) {
    for (hn_st id = first; id; id = n->st[id].next)
        if (n->st[id].kind == HN_ST_STORE && n->buf[n->st[id].buf].space == HN_RESULT &&
            !hn_ix_contiguous(n, n->st[id].at, o->col, o->lanes))
            return false;
    return true;
}

static int64_t length(const hn_nest *n, hn_st loop) {
    int64_t e;
    return hn_ix_is_int(n, n->extent[n->st[loop].var], &e) ? e : 0;
}

/* The loops directly around the rows that move the operand along the columns no more than the rows do. */
static int64_t all_rows(hn_nest *n, const product *p, const operands *o) {
    int64_t m = length(n, p->c.loop[p->row]);
    for (int k = p->row; k-- > 0;) {
        for (int i = 0; i < o->n_along; i++)
            if (hn_ix_depends(n, o->at[i], n->st[p->c.loop[k]].var)) return m;
        m *= length(n, p->c.loop[k]);
    }
    return m;
}

static bool match(hn_nest *n, const hn_machine *m, product *p) {
    hn_st red;
    p->c = hn_chain_of(n, n->first);
    if (p->c.n < 2) return false;
    hn_st leaf = p->c.loop[p->c.n - 1];
    operands o = {.col = n->st[leaf].var};
    if (!take_body(n, n->st[leaf].body, &o, &red) || !o.n_along || o.n_all == o.n_along) return false;
    o.lanes = p->lanes = m->vector_b >= 2 * o.size_b ? m->vector_b / o.size_b : 1;
    if (!stores_contiguous(n, n->st[leaf].body, &o)) return false;
    p->row = -1;
    for (int k = p->c.n - 1; k-- > 0 && p->row < 0;) {
        bool still = true;
        for (int i = 0; i < o.n_along; i++) still &= !hn_ix_depends(n, o.at[i], n->st[p->c.loop[k]].var);
        if (still && length(n, p->c.loop[k]) != 1) p->row = k;
    }
    if (p->row < 0) return false;
    for (int i = 0; i < o.n_along; i++)
        if (!hn_ix_contiguous(n, o.at[i], o.col, o.lanes)) return false;
    p->n = length(n, leaf);
    p->m = all_rows(n, p, &o);
    p->k = 1;
    for (hn_st l = red; l; l = hn_lone_loop(n, n->st[l].body)) p->k *= length(n, l);
    return true;
}

/* -- knobs */
enum { ROWS, COLS, BLOCK };

static void add_value(hn_knob *k, int64_t v) {
    int at = k->n;
    for (int i = 0; i < k->n; i++)
        if (k->value[i] == v) return;
    if (k->n == HN_KNOB_VALUES_MAX) return;
    while (at > 0 && k->value[at - 1] > v) k->value[at] = k->value[at - 1], at--;
    k->value[at] = v;
    k->n++;
}

/* Registers that a tile may take: half of them where there is no multiply-add that takes an operand from memory. */
static int64_t rows_max(const hn_machine *m, int64_t cols) {
    int64_t rows = hn_tile_rows_max(m->registers > 0 ? m->registers : 16, cols);
    return rows < 1 ? 1 : rows > 16 ? 16 : rows;
}

/* The tile of the least cycles; of equal ones the one that reads least for a multiply-add. */
static hn_tile best_tile(const hn_machine *m, const product *p) {
    hn_tile best = {1, 1, p->lanes};
    double least = 0;
    for (int64_t cols = 1; cols <= COLS_MAX; cols++)
        for (int64_t rows = 1; rows <= rows_max(m, cols); rows++) {
            hn_tile t = {rows, cols, p->lanes};
            double cycles = hn_tile_cycles(&t, p->m, p->n);
            if (p->m < 1) cycles /= (double)(64 * rows);
            if (p->n < 1) cycles /= (double)(64 * cols * p->lanes);
            cycles *= 1 + 0.1 * (double)(rows + cols) / (double)(rows * cols);
            if (least > 0 && cycles >= least) continue;
            least = cycles;
            best = t;
        }
    return best;
}

/* Rows whose part of the left operand fills half of the second-level cache, in whole tiles. */
static int64_t best_block(const hn_machine *m, const product *p, const hn_tile *t) {
    int64_t k = p->k > 0 ? p->k : 1024, rows = m->l2_b / 2 / (k * 4);
    rows = rows / t->rows * t->rows;
    if (rows < t->rows) rows = t->rows;
    return rows;
}

static bool gemm_fits(hn_nest *n, const hn_machine *m, hn_knobs *out) {
    product p;
    if (!match(n, m, &p)) return false;
    hn_tile t = best_tile(m, &p);
    out->n = 3;
    out->knob[ROWS] = (hn_knob){.name = "rows", .model = t.rows};
    out->knob[COLS] = (hn_knob){.name = "cols", .model = t.cols};
    out->knob[BLOCK] = (hn_knob){.name = "block", .model = best_block(m, &p, &t)};
    for (int64_t c = 1; c <= COLS_MAX; c++) add_value(&out->knob[COLS], c);
    for (int64_t r = 1; r <= rows_max(m, 1); r++) add_value(&out->knob[ROWS], r);
    for (int64_t b = out->knob[BLOCK].model / 4; b <= 4 * out->knob[BLOCK].model; b *= 2)
        if (b > 0) add_value(&out->knob[BLOCK], b);
    add_value(&out->knob[BLOCK], out->knob[BLOCK].model);
    return true;
}

/* -- schedule */
static bool gemm_apply(hn_nest *n, const hn_machine *m, const int64_t *setting, const char **why) {
    product p;
    hn_nest_tidy(n);
    hn_nest_collapse(n, n->first);
    hn_nest_tidy(n);
    if (!match(n, m, &p)) return hn_loop_no(why, "collapsed, it is no product of matrices any more");
    hn_tile t = {setting[ROWS], setting[COLS], p.lanes};
    int leaf = p.c.n - 1;
    for (; p.row + 1 < leaf; p.row++)
        if (!hn_loop_sink(n, p.c.loop[p.row], why) || !hn_loop_swap(n, p.c.loop[p.row], why)) return false;
    hn_st row = p.c.loop[p.row], panel = 0;
    int64_t e = length(n, row);
    if ((!e || e > setting[BLOCK]) && !hn_loop_chunk(n, row, setting[BLOCK], &row, why)) return false;
    if (!hn_tile_panels(n, row, &t, &panel, why)) return false;
    hn_nest_tidy(n);
    for (hn_st id = hn_lone_loop(n, n->first); id; id = hn_lone_loop(n, n->st[id].body)) {
        bool last = id == panel || !hn_has_loop(n, n->st[id].body);
        if (n->st[id].loop != HN_SERIAL || !hn_loop_parallelise(n, id, NULL) || last) break;
    }
    return true;
}

const hn_sketch hn_sketch_gemm = {"gemm", "register tiles in panels of columns and blocks of rows", gemm_fits,
                                  gemm_apply};
