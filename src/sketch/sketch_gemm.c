/* sketch/sketch_gemm.c — products of matrices.
 *
 * Fits a result loop over columns (the innermost one) along which one operand and the results are contiguous, another
 * result loop over rows that does not move that operand, and inside them a reduction that adds products. Schedule:
 * blocks of rows and panels of columns, both work items, and register tiles in them. Whether an operand was packed
 * (pass/pack.c) shows in its index alone.
 */
#include "nest/chain.h"
#include "nest/schedule.h"
#include "nest/tile.h"
#include "sketch/constants.h"
#include "sketch/sketch.h"

#include <string.h>

enum { COLS_MAX = 8, ROWS_MAX = 16, OPERANDS_MAX = 8 };

typedef struct product {
    hn_chain c;
    int row;         /* which loop of the chain, -1: there is one row; the last one has the columns */
    int64_t m, n, k; /* lengths, m with the loops that will be one with the row loop; 0: not known */
    int64_t lanes;
    hn_st red;     /* the only reduction; 0: there are several */
    int64_t sum;   /* length of its outermost loop; 0: not known, or there are several */
    int64_t row_b; /* bytes from a row of the other operand to the next; 0: not known */
    int64_t step; /* elements of the operand along the columns from a step of that reduction to the next; 0: likewise */
    int symbols;  /* that an unknown m depends on */
    bool batch;   /* m is a symbol alone */
    bool costly;  /* functions follow the reduction */
    const hn_nest *nest;
} product;

/* -- form */
typedef struct operands {
    hn_var col;
    int64_t lanes;
    hn_ix at[OPERANDS_MAX]; /* of loads that walk with the columns */
    hn_ix across;           /* of the first one that does not */
    int n_along, n_all;
    int64_t size_b; /* of an element; 0: they differ */
} operands;

static bool take_load(hn_nest *n, const hn_scalar *x, operands *o) {
    int64_t size_b = x->dtype == HONE_F32 || x->dtype == HONE_I32 ? 4 : x->dtype == HONE_F64 ? 8 : 0;
    if (x->n_guard || !size_b || (o->size_b && o->size_b != size_b) || !hn_nest_constant(n, x->buf)) return false;
    o->size_b = size_b;
    o->n_all++;
    if (!hn_ix_depends(n, x->at, o->col)) {
        if (!o->across) o->across = x->at;
        return true;
    }
    if (o->n_along == OPERANDS_MAX) return false;
    o->at[o->n_along++] = x->at;
    return true;
}

/* The body of a reduction: loads, scalar operations, one update that adds a product. */
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

/* The body of the columns' loop: reductions, and before and behind them what stores contiguous results. */
static bool take_body(hn_nest *n, hn_st first, operands *o, hn_st *reduction, int *count) {
    *reduction = 0, *count = 0;
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_stmt s = n->st[id];
        if (s.kind == HN_ST_STORE && n->buf[s.buf].space == HN_LOCAL) return false;
        if (s.kind != HN_ST_LOOP) continue;
        if (!take_reduction(n, s.body, o)) return false;
        if (!(*count)++) *reduction = id;
    }
    return *reduction != 0;
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

/* The loops from the rows' outwards that move the operand along the columns no more than the rows do: the first. */
static int first_of_rows(const hn_nest *n, const product *p, const operands *o) {
    for (int k = p->row; k-- > 0;)
        for (int i = 0; i < o->n_along; i++)
            if (hn_ix_depends(n, o->at[i], n->st[p->c.loop[k]].var)) return k + 1;
    return 0;
}

static int64_t all_rows(const hn_nest *n, const product *p, int first) {
    int64_t m = 1;
    for (int k = first; k <= p->row; k++) m *= length(n, p->c.loop[k]);
    return m;
}

/* Is the number of rows a symbol, such as that of a batch, and nothing else? */
static bool rows_are_symbol(hn_nest *n, const product *p, int first) {
    int symbols = 0;
    hn_symbol which;
    hn_dim d;
    for (int k = first; k <= p->row; k++) {
        if (length(n, p->c.loop[k]) == 1) continue;
        if (!hn_ix_is_dim(n, n->extent[n->st[p->c.loop[k]].var], &d) || !hn_dim_is_symbol(n->dims, d, &which))
            return false;
        symbols++;
    }
    return symbols == 1;
}

/* How many symbols the number of rows depends on. */
static int symbols_of_rows(hn_nest *n, const product *p, int first) {
    size_t symbols = hn_dims_symbols(n->dims);
    bool *used = HN_NEW_N(n->a, bool, symbols);
    int sum = 0;
    hn_dim d;
    for (int k = first; used && k <= p->row; k++)
        if (hn_ix_is_dim(n, n->extent[n->st[p->c.loop[k]].var], &d)) hn_dim_mark(n->dims, d, used);
    for (size_t i = 0; used && i < symbols; i++) sum += used[i];
    return sum;
}

static bool match(hn_nest *n, const hn_machine *m, product *p) {
    int64_t row;
    hn_st red;
    int reductions;
    p->nest = n;
    p->c = hn_chain_of(n, n->first);
    if (p->c.n < 1) return false;
    hn_st leaf = p->c.loop[p->c.n - 1];
    operands o = {.col = n->st[leaf].var};
    if (!take_body(n, n->st[leaf].body, &o, &red, &reductions) || !o.n_along || o.n_all == o.n_along) return false;
    o.lanes = p->lanes = m->vector_b >= 2 * o.size_b ? m->vector_b / o.size_b : 1;
    if (!stores_contiguous(n, n->st[leaf].body, &o)) return false;
    p->row = -1;
    for (int k = p->c.n - 1; k-- > 0 && p->row < 0;) {
        bool still = true;
        for (int i = 0; i < o.n_along; i++) still &= !hn_ix_depends(n, o.at[i], n->st[p->c.loop[k]].var);
        if (still && length(n, p->c.loop[k]) != 1) p->row = k;
    }
    for (int i = 0; i < o.n_along; i++)
        if (!hn_ix_contiguous(n, o.at[i], o.col, o.lanes)) return false;
    p->n = length(n, leaf);
    p->costly = hn_tile_calls(n, n->st[leaf].body);
    int first = first_of_rows(n, p, &o);
    p->m = p->row < 0 ? 1 : all_rows(n, p, first);
    if (p->row >= 0 && p->m < 1) p->symbols = symbols_of_rows(n, p, first), p->batch = rows_are_symbol(n, p, first);
    if (p->row >= 0 && hn_ix_step(n, o.across, n->st[p->c.loop[p->row]].var, &row)) p->row_b = row * o.size_b;
    p->red = reductions == 1 ? red : 0;
    p->sum = p->red ? length(n, red) : 0;
    if (!hn_ix_step(n, o.at[0], n->st[red].var, &p->step)) p->step = 0;
    p->k = 1;
    for (hn_st l = red; l; l = hn_lone_loop(n, n->st[l].body)) p->k *= length(n, l);
    return true;
}

/* -- knobs */
enum { ROWS, COLS, BLOCK, AHEAD, STAGE, DEPTH, GROUP, STEPS, OVERLAP };
/* AHEAD: what is prefetched: panels of the operand along the columns, rows of the other one. */
enum { AHEAD_PANELS = 1, AHEAD_ROWS = 2 };
/* OVERLAP: 1: what is left is one tile that goes back; 2: as well, with little code for fewer rows than a tile has. */
enum { OVERLAP_SELDOM = 2 };

static int64_t rows_max(const hn_machine *m, const product *p, int64_t cols) {
    int64_t rows = hn_tile_rows_max(hn_tile_registers_for(p->nest, m, cols), cols);
    return rows < 1 ? 1 : rows > ROWS_MAX ? ROWS_MAX : rows;
}

/* A batch of rows times a matrix that stays in the first-level cache? Many of them, such as gates of channels, take
 * next to no time, and with large tiles most of a model's code. */
static bool is_minor(const hn_machine *m, const product *p) {
    return p->batch && p->n > 0 && p->k > 0 && p->n * p->k * 4 <= m->l1d_b / 2;
}

/* A body of several steps prefetches less often, and its loop costs less; where accumulators, vectors and the
 * broadcast leave few registers, compilers begin to keep some of them on the stack. */
static int64_t best_steps(const hn_machine *m, const product *p, const hn_tile *t) {
    int64_t free = hn_tile_registers_for(p->nest, m, t->cols) - hn_tile_registers_of(t);
    int64_t steps = free < HN_TILE_SPARE_TWO ? 1 : free < HN_TILE_SPARE_FOUR ? 2 : HN_GEMM_STEPS_MAX;
    while (steps > 1 && p->sum > 0 && p->sum < HN_GEMM_STEPS_MAX * steps) steps /= 2;
    return steps;
}

/* Does the operand along the columns stay in the cache from one run to the next? */
static bool panels_stay(const hn_machine *m, const product *p) {
    return p->n < 1 || p->k < 1 || p->n * p->k * 4 <= m->l2_b / 4;
}

/* Minor costs of a tile, as a share of its multiply-adds: what it reads for one, how many streams of panels it follows,
 * and its loop. */
static double minor_costs(const hn_machine *m, const product *p, const hn_tile *t) {
    double pairs = (double)(t->rows * t->cols), loop = HN_GEMM_LOOP * (best_steps(m, p, t) > 1 ? 0.5 : 1);
    double reads = (double)(t->rows + t->cols) / pairs;
    if (reads > 1) reads *= 2; /* then loads bound the tile */
    return HN_GEMM_READS * reads + HN_GEMM_STREAMS * (double)t->cols + loop / (0.5 * pairs);
}

/* Cycles that panels add where they serve few rows: every tile of rows reads one while the next one arrives from
 * memory. A single tile with a tail cannot share the prefetching. */
static double panel_cycles(const hn_machine *m, const product *p, const hn_tile *t) {
    if (p->m < 1 || p->m >= HN_GEMM_BLOCK_MIN || panels_stay(m, p)) return 0;
    int64_t tiles = (p->m + t->rows - 1) / t->rows + (p->m > t->rows && p->m < 2 * t->rows);
    return HN_GEMM_ARRIVES * (double)tiles * (double)p->n / (double)t->lanes;
}

/* One row times a matrix that is read line by line, and comes from beyond the second level? Tiles one by one would take
 * half a kilobyte of each line: a few whole lines at a time are read instead, through as many tiles as leave every core
 * some work. */
static bool reads_lines(const hn_machine *m, const product *p) {
    return p->m == 1 && p->sum == p->k && p->sum % HN_GEMM_LINES_DEEP == 0 && p->step >= HN_GEMM_PAGE &&
           p->n * p->k * 4 > m->l2_b;
}

/* A few rows whose panels do not stay in the second-level cache? A few streams arrive fastest, if the processor
 * prefetches them by itself: software prefetches on top delay them. */
static bool reads_streams(const hn_machine *m, const product *p) {
    return p->m >= 1 && p->m <= HN_GEMM_STREAM_ROWS && !reads_lines(m, p) && !panels_stay(m, p);
}

static int64_t cols_max(const hn_machine *m, const product *p) {
    return reads_streams(m, p) && HN_GEMM_STREAM_COLS < COLS_MAX * p->lanes ? HN_GEMM_STREAM_COLS / p->lanes : COLS_MAX;
}

/* The tile of the least cycles. */
static hn_tile best_tile(const hn_machine *m, const product *p) {
    hn_tile best = {.rows = 1, .cols = 1, .lanes = p->lanes};
    hn_tile_feed feed = {0};
    double least = 0;
    hn_tile_rows_apart(&feed, m, p->row_b);
    int64_t most = is_minor(m, p) ? HN_GEMM_MINOR_ROWS : p->m < 1 ? ROWS_MAX : p->m;
    for (int64_t cols = 1; cols <= cols_max(m, p); cols++)
        for (int64_t rows = 1; rows <= rows_max(m, p, cols) && rows <= most; rows++) {
            hn_tile t = {.rows = rows, .cols = cols, .lanes = p->lanes};
            double cycles = hn_tile_cycles(&t, p->m, p->n, &feed);
            if (p->m < 1) cycles /= (double)(64 * rows);
            if (p->n < 1) cycles /= (double)(64 * cols * p->lanes);
            cycles = cycles * (1 + minor_costs(m, p, &t)) + panel_cycles(m, p, &t);
            if (least > 0 && cycles >= least) continue;
            least = cycles;
            best = t;
        }
    return best;
}

static int64_t whole_tiles(int64_t rows, const hn_tile *t) {
    return rows < t->rows ? t->rows : (rows + t->rows - 1) / t->rows * t->rows;
}

/* Blocks of the rows are work items, one for each panel. With few items, or a number that the cores cannot share
 * evenly, cores wait for each other: then there are more blocks, of equal length. */
static int64_t shared_block(const hn_machine *m, const product *p, const hn_tile *t, int64_t rows) {
    int64_t cores = m->cores > 0 ? m->cores : 1, width = t->cols * t->lanes,
            all = p->m > 0 ? p->m : HN_GEMM_UNKNOWN_ROWS;
    int64_t panels = p->n > 0 ? (p->n + width - 1) / width : HN_GEMM_ITEMS * cores, best = rows;
    for (int64_t blocks = (all + rows - 1) / rows; p->m != 1; blocks++) {
        int64_t equal = (all + blocks - 1) / blocks, items = panels * blocks, turns = (items + cores - 1) / cores;
        if (equal < HN_GEMM_LEAST_TILES * t->rows) break;
        if (equal < best) best = equal;
        if (items >= HN_GEMM_ITEMS * cores && 20 * items >= 19 * cores * turns) break;
    }
    return best;
}

/* Rows of the left operand that share the second-level cache with so many panels. */
static int64_t rows_beside_panels(const hn_machine *m, const product *p, const hn_tile *t, int64_t panels) {
    return m->l2_b / 8 * 7 / (4 * (p->k > 0 ? p->k : 1024)) - panels * t->cols * t->lanes;
}

/* Rows of a block: those that stay in the second-level cache while panels stream through. Where these are few, more are
 * taken, as panels would be read too often; the reduction goes in slices then. */
static int64_t best_block(const hn_machine *m, const product *p, const hn_tile *t) {
    int64_t all = p->m > 0 ? p->m : HN_GEMM_UNKNOWN_ROWS, rows = rows_beside_panels(m, p, t, 2);
    if (rows < HN_GEMM_BLOCK_MIN) rows = HN_GEMM_UNKNOWN_ROWS;
    return whole_tiles(shared_block(m, p, t, whole_tiles(rows < all ? rows : all, t)), t);
}

/* An operand that does not stay in the cache from one run to the next is prefetched. */
static int64_t best_ahead(const hn_machine *m, const product *p) {
    int64_t rows = p->m > 0 ? p->m : HN_GEMM_UNKNOWN_ROWS;
    return (panels_stay(m, p) || reads_streams(m, p) ? 0 : AHEAD_PANELS) +
           (p->k > 0 && rows * p->k * 4 > m->l2_b / 4 ? AHEAD_ROWS : 0);
}

/* Slices of the reduction: where a block of the left operand, a panel and the next panel do not fit into the
 * second-level cache together, a panel's slice is what fills the first level, with the rows of a tile. Where the third
 * level is not much slower, the next panel may as well stay there. */
static int64_t best_depth(const hn_machine *m, const product *p, const hn_tile *t, int64_t block) {
    int64_t width = t->cols * t->lanes, rows = p->m < block ? p->m : block, best = 0;
    int64_t beside = rows_beside_panels(m, p, t, 2 * m->l3_bps > m->l2_bps ? 1 : 2);
    if (reads_lines(m, p)) return HN_GEMM_LINES_DEEP;
    if (p->m < 1 || p->sum != p->k || p->n < 1 || rows < 2 * t->rows) return 0;
    if (beside >= HN_GEMM_BLOCK_MIN || beside >= rows) return 0;
    for (int64_t d = HN_GEMM_DEPTH_MIN; 2 * d <= p->sum && 4 * d * (width + t->rows) <= m->l1d_b; d += HN_TILE_LINE)
        if (p->sum % d == 0) best = d;
    return best;
}

/* A slice of the left operand serves the panels of a group: as many as leave the cores equal work. */
static int64_t best_group(const hn_machine *m, const product *p, const hn_tile *t, int64_t block, int64_t depth) {
    int64_t cores = m->cores > 0 ? m->cores : 1, blocks = p->m > 0 ? (p->m + block - 1) / block : 1;
    bool lines = reads_lines(m, p);
    for (int64_t g = lines ? HN_GEMM_GROUP_MAX : HN_GEMM_GROUP_MAX / 2; depth && g > 1; g /= 2) {
        int64_t width = g * t->cols * t->lanes, items = blocks * ((p->n + width - 1) / width);
        int64_t turns = (items + cores - 1) / cores;
        if ((turns > 1 || lines) && 20 * items >= 19 * cores * turns) return g;
    }
    return 1;
}

static void depths(const product *p, hn_knob *k) {
    hn_knob_add(k, 0);
    hn_knob_add(k, k->model);
    for (int64_t d = HN_GEMM_LINES_DEEP / 2; p->m == 1 && d <= 2 * HN_GEMM_LINES_DEEP; d *= 2)
        if (p->sum == p->k && p->sum > 0 && p->sum % d == 0) hn_knob_add(k, d);
    for (int64_t parts = 2; p->sum == p->k && p->n > 0 && p->sum / parts >= HN_GEMM_DEPTH_MIN; parts++)
        if (p->sum % parts == 0 && p->sum / parts % HN_TILE_LINE == 0) hn_knob_add(k, p->sum / parts);
}

/* Rows by two or more symbols (the places of an image, the tokens of a batch) are seldom fewer than a tile has. Where
 * they are, and the panels are small, single rows take little longer than tiles of their own. So it is where all of the
 * matrix is small. */
static int64_t overlap_of(const hn_machine *m, const product *p) {
    if (p->m > 0) return 0;
    return (p->symbols > 1 && panels_stay(m, p)) || is_minor(m, p) ? OVERLAP_SELDOM : 1;
}

static bool gemm_fits(hn_nest *n, const hn_machine *m, hn_knobs *out) {
    product p = {0};
    if (!match(n, m, &p)) return false;
    hn_tile t = best_tile(m, &p);
    int64_t block = best_block(m, &p, &t), depth = best_depth(m, &p, &t, block);
    int64_t group = best_group(m, &p, &t, block, depth);
    if (group < 2 && p.m == 1) depth = 0; /* a slice of one tile is no line */
    out->n = 9;
    out->knob[ROWS] = (hn_knob){.name = "rows", .model = t.rows};
    out->knob[COLS] = (hn_knob){.name = "cols", .model = t.cols};
    out->knob[BLOCK] = (hn_knob){.name = "block", .model = block};
    out->knob[AHEAD] = (hn_knob){.name = "ahead", .model = best_ahead(m, &p)};
    out->knob[STAGE] = (hn_knob){.name = "stage", .model = p.costly};
    out->knob[DEPTH] = (hn_knob){.name = "depth", .model = depth};
    out->knob[GROUP] = (hn_knob){.name = "group", .model = group};
    out->knob[STEPS] = (hn_knob){.name = "steps", .model = best_steps(m, &p, &t)};
    out->knob[OVERLAP] = (hn_knob){.name = "overlap", .model = overlap_of(m, &p)};
    for (int64_t c = 1; c <= COLS_MAX; c++) hn_knob_add(&out->knob[COLS], c);
    for (int64_t r = 1; r <= (p.m == 1 ? 1 : rows_max(m, &p, 1)); r++) hn_knob_add(&out->knob[ROWS], r);
    for (int64_t b = block < 4 ? 1 : block / 4; b <= 4 * block; b *= 2) hn_knob_add(&out->knob[BLOCK], b);
    hn_knob_add(&out->knob[BLOCK], block);
    for (int64_t a = 0; a <= AHEAD_PANELS + AHEAD_ROWS; a++) hn_knob_add(&out->knob[AHEAD], a);
    for (int64_t a = 0; a < 2; a++) hn_knob_add(&out->knob[STAGE], a);
    for (int64_t g = 1; g <= (p.n > 0 ? HN_GEMM_GROUP_MAX : 1); g *= 2) hn_knob_add(&out->knob[GROUP], g);
    for (int64_t u = 1; u <= HN_GEMM_STEPS_MAX; u *= 2) hn_knob_add(&out->knob[STEPS], u);
    for (int64_t o = 0; o <= (p.m < 1 ? OVERLAP_SELDOM : 0); o++) hn_knob_add(&out->knob[OVERLAP], o);
    depths(&p, &out->knob[DEPTH]);
    return true;
}

/* -- prefetch */
enum { WALK_MAX = 8 };
/* Where the walk is: in which panel, in which of how many tiles of rows, in which lanes. */
typedef struct place {
    hn_tile tile;
    hn_var walk[WALK_MAX]; /* the loop over panels and the loops in it, outermost first */
    int depth;
    hn_var strip;
    int64_t strips; /* 1: all rows are one tile */
    bool in_tile;
    int64_t tail;     /* rows of a tail's tile; 0: this is none */
    hn_var row, lane; /* the tile's lanes: of rows, 0: there is one row; of a vector */
    hn_ix *zero;      /* by variable: 0 for lanes */
    uint32_t n_zero;
    int64_t line, group, slice; /* elements, panels, iterations of the reduction */
    int64_t steps;              /* of the reduction in one body */
    int64_t ahead;              /* what is prefetched: bits of AHEAD */
    hn_dim rows;                /* of a block, where tails prefetch, too (rows_of); else 0 */
} place;

/* The panels that a reduction reads: `lines` streams, side by side, each line by line. */
typedef struct stream {
    hn_buf buf;
    hn_ix here, next; /* where the panel begins, its columns kept; where the next one of the walk begins */
    int64_t lines, step, length;
} stream;

/* The loops of the walk, from number `top` inwards, as they are one iteration of the innermost one later. *carry: of
 * the top one. False: the panel depends on a loop of unknown length. */
static bool later(hn_nest *n, hn_ix at, const place *w, int top, hn_ix *var, hn_ix *carry) {
    int64_t e;
    *carry = hn_ix_int(n, 1);
    for (int d = w->depth; d-- > top;) {
        hn_var v = w->walk[d];
        if (!hn_ix_depends(n, at, v)) continue;
        hn_ix sum = var[v] = hn_ix_add(n, hn_ix_var(n, v), *carry);
        if (d == top) break;
        if (!hn_ix_is_int(n, n->extent[v], &e) || e < 1) return false;
        var[v] = hn_ix_mod(n, sum, hn_dim_int(n->dims, e));
        *carry = hn_ix_div(n, sum, hn_dim_int(n->dims, e));
    }
    return true;
}

/* Which loop of the walk goes over slices; 0, the one over panels: none. */
static int slice_loop(hn_nest *n, hn_ix at, const place *w) {
    int64_t step;
    for (int d = 1; d < w->depth; d++)
        if (w->slice && hn_ix_step(n, at, w->walk[d], &step) && step == w->slice * w->line) return d;
    return 0;
}

/* Where the next panel of the walk, or its next slice, begins: slice by slice through the panels of a group; after the
 * last one comes the next group's first. */
static bool find_next(hn_nest *n, hn_var v, hn_ix at, const place *w, stream *s) {
    hn_ix *var = HN_NEW_N(n->a, hn_ix, n->n_var), carry;
    int top = slice_loop(n, at, w);
    if (!var) return false;
    memcpy(var, w->zero, w->n_zero * sizeof *var);
    var[v] = hn_ix_int(n, 0);
    if (!later(n, at, w, top, var, &carry)) return false;
    s->next = hn_ix_subst(n, at, &(hn_subst){var, NULL, n->n_var, 0});
    if (s->length != w->slice || top) return true;
    s->next = hn_ix_sub(n, s->next, hn_ix_scale(n, carry, hn_dim_int(n->dims, s->step - s->length * w->line)));
    return true;
}

/* The n-th definition of a reduction's body that is a load; 0: there are fewer. */
static hn_sv load_of(const hn_nest *n, hn_st loop, int which) {
    for (hn_st id = n->st[loop].body; id; id = n->st[id].next)
        if (n->st[id].kind == HN_ST_LET && n->sv[n->st[id].value].kind == HN_SV_LOAD && which-- == 0)
            return n->st[id].value;
    return 0;
}

/* The load of a reduction's body that walks along the columns, if it walks through memory line by line. Where it does
 * not move with the panels, what is walked next is not known: next is 0. */
static bool find_stream(hn_nest *n, hn_st loop, const place *w, stream *s) {
    int64_t k, panel;
    hn_sv load;
    hn_var v = n->st[loop].var;
    s->lines = w->tile.cols * w->tile.lanes / w->line;
    if (!hn_ix_is_int(n, n->extent[v], &s->length)) return false;
    for (int i = 0; (load = load_of(n, loop, i)); i++) {
        const hn_scalar x = n->sv[load];
        if (!hn_ix_depends(n, x.at, w->lane)) continue;
        if (!hn_ix_step(n, x.at, v, &k) || k != w->line) return false;
        hn_ix *first = HN_NEW_N(n->a, hn_ix, n->n_var);
        if (!first) return false;
        first[v] = hn_ix_int(n, 0);
        s->here = hn_ix_subst(n, x.at, &(hn_subst){first, NULL, n->n_var, 0});
        s->buf = x.buf, s->next = 0;
        if (!hn_ix_depends(n, x.at, w->walk[0])) return true;
        if (!hn_ix_step(n, x.at, w->walk[0], &panel)) return false;
        if (panel % (w->group * s->lines * w->line * s->length)) return false;
        s->step = panel / (w->group * s->lines);
        return find_next(n, v, x.at, w, s);
    }
    return false;
}

/* The load that walks through whole rows, one behind the other: next is where those of the next tile begin. */
static bool find_rows(hn_nest *n, hn_st loop, const place *w, stream *s) {
    int64_t k, row, length;
    hn_sv load;
    hn_var v = n->st[loop].var;
    if (!w->row || !hn_ix_is_int(n, n->extent[v], &length)) return false;
    for (int i = 0; (load = load_of(n, loop, i)); i++) {
        const hn_scalar x = n->sv[load];
        if (!hn_ix_step(n, x.at, v, &k) || k != 1 || !hn_ix_step(n, x.at, w->row, &row) || row != length) continue;
        hn_ix *first = HN_NEW_N(n->a, hn_ix, n->n_var);
        if (!first) return false;
        memcpy(first, w->zero, w->n_zero * sizeof *first);
        first[v] = hn_ix_int(n, 0);
        s->buf = x.buf;
        s->next = hn_ix_subst(n, x.at, &(hn_subst){first, NULL, n->n_var, 0});
        s->next = hn_ix_add(n, s->next, hn_ix_int(n, w->tile.rows * row));
        return true;
    }
    return false;
}

static int64_t power_below(int64_t x) {
    int64_t p = 1;
    while (2 * p <= x) p *= 2;
    return p;
}

/* Prefetches, before every body of the loop, the elements ahead for as many steps, `step` each; a line needs one
 * prefetch. */
static void prefetch_stream(hn_nest *n, hn_st loop, const place *w, const stream *s, hn_ix at, int64_t step) {
    int64_t elements = w->steps * step, lines = (elements + w->line - 1) / w->line;
    hn_loop_prefetch(n, loop, 1, s->buf, at, lines, elements / lines, NULL);
}

/* Few tiles of rows: each prefetches its part of every stream. */
static void prefetch_parts(hn_nest *n, hn_st loop, const place *w, const stream *s) {
    int64_t parts = power_below(w->strips < w->line ? w->strips : w->line), share = s->length / parts * w->line;
    hn_ix which = hn_ix_min(n, hn_ix_var(n, w->strip), hn_ix_int(n, parts - 1));
    hn_ix at = hn_ix_add(n, s->next, hn_ix_scale(n, which, hn_dim_int(n->dims, share)));
    for (int64_t k = s->lines; k-- > 0;)
        prefetch_stream(n, loop, w, s, hn_ix_add(n, at, hn_ix_int(n, k * s->step)), w->line / parts);
}

/* Many tiles of rows: several share one stream. */
static void prefetch_shares(hn_nest *n, hn_st loop, const place *w, const stream *s) {
    int64_t most = w->strips / s->lines, parts = power_below(most < w->line ? most : w->line);
    int64_t share = s->length / parts * w->line;
    hn_dim by = hn_dim_int(n->dims, parts);
    hn_ix which = hn_ix_min(n, hn_ix_var(n, w->strip), hn_ix_int(n, parts * s->lines - 1));
    hn_ix at = hn_ix_scale(n, hn_ix_div(n, which, by), hn_dim_int(n->dims, s->step));
    at = hn_ix_add(n, at, hn_ix_scale(n, hn_ix_mod(n, which, by), hn_dim_int(n->dims, share)));
    prefetch_stream(n, loop, w, s, hn_ix_add(n, s->next, at), w->line / parts);
}

/* Which part of every stream a tile prefetches, where the number of tiles is known at run time only; by: 1 / share of
 * each line. */
typedef struct part {
    hn_ix which;
    hn_dim by;
} part;

static hn_dim at_least(hn_dims *t, hn_dim d, int64_t least) { return hn_dim_max(t, d, hn_dim_int(t, least)); }

/* Tiles of a block, and a tail behind them. Tails are tiles themselves where there are no larger ones. */
static part part_of(hn_nest *n, const place *w) {
    hn_dims *t = n->dims;
    hn_dim one = hn_dim_int(t, 1), rows = at_least(t, w->rows, 1);
    hn_dim tiles = hn_dim_ceildiv(t, rows, hn_dim_int(t, w->tile.rows));
    if (!w->tail) return (part){hn_ix_var(n, w->strip), tiles};
    tiles = at_least(t, tiles, 2);
    int64_t larger = 2 * w->tail < w->tile.rows ? 2 * w->tail : w->tile.rows;
    hn_dim first = hn_dim_min(t, hn_dim_floordiv(t, hn_dim_int(t, larger - 1), rows), one);
    hn_dim behind = hn_dim_sub(t, one, first), alike = hn_dim_ceildiv(t, rows, hn_dim_int(t, w->tail));
    hn_ix which = hn_ix_dim(n, hn_dim_mul(t, behind, hn_dim_sub(t, tiles, one)));
    if (w->strip) which = hn_ix_add(n, which, hn_ix_scale(n, hn_ix_var(n, w->strip), first));
    return (part){which, hn_dim_add(t, hn_dim_mul(t, first, alike), hn_dim_mul(t, behind, tiles))};
}

/* The number of tiles is known at run time only, or so small that a tail counts: every stream is cut into as many parts
 * as there are tiles. A tile prefetches a line of each stream in a body; a single one leaves every other line to the
 * processor.
 */
static void prefetch_open(hn_nest *n, hn_st loop, const place *w, const stream *s) {
    hn_dims *t = n->dims;
    const part p = part_of(n, w);
    hn_dim line = hn_dim_int(t, w->line), share = hn_dim_ceildiv(t, line, p.by);
    int64_t times = w->tail ? w->steps : (w->steps + 1) / 2;
    hn_dim body = hn_dim_mul(t, hn_dim_int(t, w->steps), share), step = hn_dim_ceildiv(t, body, hn_dim_int(t, times));
    hn_ix which = hn_ix_min(n, p.which, hn_ix_dim(n, hn_dim_floordiv(t, hn_dim_int(t, w->line - 1), share)));
    hn_ix at = hn_ix_add(n, s->next, hn_ix_scale(n, which, hn_dim_mul(t, hn_dim_int(t, s->length), share)));
    at = hn_ix_add(n, at, hn_ix_scale(n, hn_ix_var(n, n->st[loop].var), body));
    for (int64_t u = times; u-- > 0;)
        for (int64_t k = s->lines; k-- > 0;) {
            hn_ix more = hn_ix_dim(n, hn_dim_mul(t, hn_dim_int(t, u), step));
            more = hn_ix_add(n, at, hn_ix_add(n, more, hn_ix_int(n, k * s->step)));
            hn_loop_prefetch(n, loop, 1, s->buf, more, 1, 0, NULL);
        }
}

/* Every tile of rows prefetches its share of the next panel; a single tile, what comes next in its own. The address
 * moves with every body: a short loop inside the reduction would cost more than a repeated prefetch. */
static void prefetch_in(hn_nest *n, hn_st loop, const place *w, const stream *s) {
    if (w->strips == 1 || !s->next)
        prefetch_stream(n, loop, w, s, hn_ix_add(n, s->here, hn_ix_int(n, HN_GEMM_LINES_AHEAD * w->line)), w->line);
    else if (w->rows)
        prefetch_open(n, loop, w, s);
    else if (w->strips < 2 * s->lines)
        prefetch_parts(n, loop, w, s);
    else
        prefetch_shares(n, loop, w, s);
}

/* A reduction of a tile: several steps become one body, with one prefetch. */
static void finish(hn_nest *n, hn_st loop, place *w) {
    stream columns, rows;
    int64_t e;
    hn_st inner = 0;
    bool panels_in = w->ahead & AHEAD_PANELS && (!w->tail || w->rows) && find_stream(n, loop, w, &columns);
    bool rows_in = w->ahead & AHEAD_ROWS && !w->tail && find_rows(n, loop, w, &rows);
    if (hn_ix_is_int(n, n->extent[n->st[loop].var], &e) && e < w->steps) w->steps = 1;
    if (w->steps > 1 && !hn_loop_split(n, loop, w->steps, &inner, NULL, NULL)) w->steps = 1;
    if (rows_in) prefetch_stream(n, loop, w, &rows, rows.next, w->tile.rows);
    if (panels_in) prefetch_in(n, loop, w, &columns);
    if (inner) hn_loop_repeat(n, inner, NULL);
}

static bool updates(const hn_nest *n, hn_st first) {
    for (hn_st id = first; id; id = n->st[id].next)
        if (n->st[id].kind == HN_ST_UPDATE) return true;
    return false;
}

/* One row: every load is a line of a few streams, which the processor prefetches by itself. With software prefetches
 * on top, data in the second-level cache (a recurrent network's weights, read in every step) comes half as fast. */
static bool one_row_tile(const hn_nest *n, hn_st tile) {
    hn_st in = n->st[tile].body;
    return n->st[in].kind == HN_ST_LOOP && n->st[in].loop == HN_VECTOR;
}

static void finish_all(hn_nest *n, hn_st first, place w) {
    int64_t e;
    for (hn_st id = first, next; id; id = next) {
        next = n->st[id].next;
        const hn_stmt s = n->st[id];
        if (s.kind != HN_ST_LOOP) continue;
        place in = w;
        bool known = hn_ix_is_int(n, n->extent[s.var], &e);
        if (known && e == 0) continue; /* fewer rows than a tile has, always */
        if (s.loop == HN_UNROLL || s.loop == HN_VECTOR) {
            w.zero[s.var] = hn_ix_int(n, 0);
            in.in_tile = true;
            if (s.loop == HN_VECTOR)
                in.lane = s.var;
            else if (!w.in_tile)
                in.row = s.var;
            if (!w.in_tile && w.strips > 1 && (!w.strip || e != w.tile.rows)) in.tail = e;
            if (in.tail && !w.in_tile && one_row_tile(n, id)) in.ahead = 0;
            finish_all(n, s.body, in);
        } else if (updates(n, s.body)) {
            finish(n, id, &in);
        } else {
            hn_st lanes = s.body;
            if (n->st[lanes].kind == HN_ST_LOOP && n->st[lanes].loop == HN_UNROLL)
                in.strip = s.var, in.strips = known ? e : w.strips;
            else if (in.depth < WALK_MAX)
                in.walk[in.depth++] = s.var;
            finish_all(n, s.body, in);
        }
    }
}

/* -- schedule */
/* The columns' loop becomes the only one inside a loop of one row. */
static hn_st one_row(hn_nest *n, hn_st col) {
    hn_st in = hn_nest_stmt(n, &n->st[col]);
    if (!in) return 0;
    n->st[in].next = 0;
    n->st[col].var = hn_nest_var(n, hn_ix_int(n, 1));
    n->st[col].body = in;
    return col;
}

/* Rows of a block, if their number is known at run time only, or is a few tiles; 0: they are more, or depend on other
 * loops. */
static hn_dim rows_of(hn_nest *n, hn_ix rows, int64_t block, const hn_tile *t, int64_t few) {
    int64_t known;
    hn_dim m;
    if (!hn_ix_is_dim(n, rows, &m)) return 0;
    if (hn_ix_is_int(n, rows, &known) && (known <= t->rows || known > block || known / t->rows >= few)) return 0;
    return hn_dim_min(n->dims, m, hn_dim_int(n->dims, block));
}

static bool gemm_apply(hn_nest *n, const hn_machine *m, const int64_t *setting, const char **why) {
    product p = {0};
    hn_nest_tidy(n);
    hn_nest_collapse(n, n->first);
    hn_nest_tidy(n);
    if (!match(n, m, &p)) return hn_loop_no(why, "collapsed, it is no product of matrices any more");
    if (p.red && p.row >= 0) hn_tile_read_late(n, p.c.loop[p.c.n - 1], p.red, n->st[p.c.loop[p.row]].var);
    hn_tile t = {setting[ROWS], setting[COLS], p.lanes, setting[OVERLAP] > 0, setting[OVERLAP] == OVERLAP_SELDOM};
    int leaf = p.c.n - 1;
    for (; p.row >= 0 && p.row + 1 < leaf; p.row++)
        if (!hn_loop_sink(n, p.c.loop[p.row], why) || !hn_loop_swap(n, p.c.loop[p.row], why)) return false;
    hn_st row = p.row < 0 ? one_row(n, p.c.loop[leaf]) : p.c.loop[p.row], panel = 0;
    int64_t e = p.row < 0 ? 1 : length(n, row);
    if (!row) return hn_loop_no(why, "out of memory");
    hn_ix rows = n->extent[n->st[row].var];
    if ((!e || e > setting[BLOCK]) && !hn_loop_chunk(n, row, setting[BLOCK], &row, why)) return false;
    const hn_walk walk = {setting[GROUP], setting[DEPTH]};
    if (!hn_tile_panels(n, row, &t, &walk, &panel, why)) return false;
    if (setting[STAGE]) hn_tile_stage(n, n->first);
    place w = {.tile = t, .strips = HN_GEMM_STRIPS, .line = m->line_b / 4, .steps = setting[STEPS]};
    w.ahead = setting[AHEAD];
    if (!panel || t.cols * t.lanes % w.line) w.ahead &= ~AHEAD_PANELS;
    if (panel) w.walk[w.depth++] = n->st[panel].var;
    if (e && e <= t.rows) w.strips = 1;
    if (e > setting[BLOCK] && setting[BLOCK] > t.rows) w.strips = setting[BLOCK] / t.rows;
    w.group = setting[GROUP], w.slice = setting[DEPTH];
    w.rows = setting[DEPTH] ? 0 : rows_of(n, rows, setting[BLOCK], &t, 2 * t.cols * t.lanes / w.line);
    w.n_zero = n->n_var;
    w.zero = HN_NEW_N(n->a, hn_ix, n->n_var);
    if (!w.zero) return hn_loop_no(why, "out of memory");
    finish_all(n, panel ? n->st[panel].body : n->first, w);
    hn_nest_tidy(n);
    for (hn_st id = hn_lone_loop(n, n->first); id; id = hn_lone_loop(n, n->st[id].body)) {
        bool last = id == panel || !hn_has_loop(n, n->st[id].body);
        if (n->st[id].loop != HN_SERIAL || !hn_loop_parallelise(n, id, NULL) || last) break;
    }
    return true;
}

const hn_sketch hn_sketch_gemm = {"gemm", "register tiles in panels of columns and blocks of rows", gemm_fits,
                                  gemm_apply};
