/* nest/tile.c — register tiles (Goto and van de Geijn 2008, section 6; the micro-kernel of BLIS). */
#include "nest/tile.h"
#include "ir/cost.h"
#include "nest/nest_int.h"
#include "nest/schedule.h"

enum { LANES_MIN = 4 }; /* shorter vectors are no faster than single elements */

/* The largest power of two below. */
static int64_t half_of(int64_t rows) {
    int64_t half = 1;
    while (2 * half < rows) half *= 2;
    return half;
}

/* Rows of a loop with the columns' lanes in it already: tiles of `rows`, then what is left. */
static bool tile_rows(hn_nest *n, hn_st row, int64_t rows, const char **why) {
    int64_t e;
    hn_st inner, tail = 0;
    if (hn_ix_is_int(n, n->extent[n->st[row].var], &e) && e <= rows) return hn_loop_unroll(n, row, why);
    if (rows == 1) return true;
    if (!hn_loop_split(n, row, rows, &inner, &tail, why) || !hn_loop_unroll(n, inner, why)) return false;
    int64_t half = half_of(rows);
    if (tail && hn_ix_is_int(n, n->extent[n->st[tail].var], &e)) half = e;
    return !tail || tile_rows(n, tail, half, why);
}

enum { SELDOM_ROWS = 4 };

/* Likewise where the number of rows is known at run time only and `before` rows are computed already: what is left
 * after tiles of `rows` is one tile, which goes back over some of those, but two where there are few rows at all. */
static bool overlap_rows(hn_nest *n, hn_st row, int64_t rows, bool seldom, hn_ix before, const char **why) {
    hn_st inner, tail;
    if (rows == 1) return true;
    int64_t half = half_of(rows), least = rows > 2 ? half + 1 : 1;
    if (seldom) half = rows > SELDOM_ROWS ? SELDOM_ROWS : 1, least = 1;
    return hn_loop_overlap(n, row, rows, least, before, &inner, &tail, &before, why) && hn_loop_unroll(n, inner, why) &&
           overlap_rows(n, tail, half, seldom, before, why);
}

/* for col { for row: body } with `e` columns, a multiple of the lanes. */
static bool whole_vectors(hn_nest *n, hn_st col, const hn_tile *t, int64_t e, const char **why) {
    hn_st vector;
    if (!hn_loop_swap(n, col, why)) return false;
    hn_st in = n->st[col].body;
    if (t->lanes > 1) {
        if (!hn_loop_split(n, in, t->lanes, &vector, NULL, why) || !hn_loop_vectorise(n, vector, why)) return false;
    }
    if ((e > t->lanes || t->lanes == 1) && !hn_loop_unroll(n, in, why)) return false;
    bool known = hn_ix_is_int(n, n->extent[n->st[col].var], &e);
    if (known || !t->overlap) return tile_rows(n, col, t->rows, why);
    return overlap_rows(n, col, t->rows, t->seldom, hn_ix_int(n, 0), why);
}

bool hn_tile_registers(hn_nest *n, hn_st col, const hn_tile *t, const char **why) {
    int64_t e;
    hn_tile now = *t;
    if (!hn_ix_is_int(n, n->extent[n->st[col].var], &e)) return hn_loop_no(why, "the number of columns is not known");
    while (now.lanes > 1 && e < now.lanes) now.lanes = now.lanes > LANES_MIN ? now.lanes / 2 : 1;
    if (now.lanes == 1 && e > 1 && t->lanes > 1) { /* a few single columns, one after the other */
        if (!hn_loop_split(n, col, 1, &col, NULL, why)) return false;
        e = 1;
    }
    int64_t most = now.cols * now.lanes, take = e > most ? most : e / now.lanes * now.lanes;
    hn_st first = col, tail = 0;
    if (take < e) {
        if (!hn_loop_split(n, col, take, &first, &tail, why)) return false;
    }
    return whole_vectors(n, first, &now, take, why) && (!tail || hn_tile_registers(n, tail, t, why));
}

/* Panels, then single vectors, then halves of them, then single columns. */
static bool unknown_columns(hn_nest *n, hn_st col, const hn_tile *t, const char **why) {
    hn_st whole, rest;
    for (hn_tile now = *t;; col = rest) {
        if (!hn_loop_split(n, col, now.cols * now.lanes, &whole, &rest, why)) return false;
        if (!hn_tile_registers(n, whole, &now, why)) return false;
        if (!rest) return true;
        if (now.cols == 1) now.lanes = now.lanes > LANES_MIN ? now.lanes / 2 : 1;
        now.cols = 1;
    }
}

/* The columns of a group. A body that cannot go in slices goes in one; what rests in memory is added to once. */
static bool known_columns(hn_nest *n, hn_st col, const hn_tile *t, const hn_walk *w, const char **why) {
    hn_st part[3];
    const hn_tile row = {.rows = 1, .cols = t->cols, .lanes = t->lanes};
    const hn_tile once = {.rows = t->rows, .cols = t->cols, .lanes = t->lanes};
    if (!w->depth || !hn_loop_slice(n, col, w->depth, part, NULL)) return hn_tile_registers(n, col, t, why);
    return hn_tile_registers(n, part[0], &row, why) && hn_tile_registers(n, part[1], &once, why) &&
           hn_tile_registers(n, part[2], &once, why);
}

bool hn_tile_panels(hn_nest *n, hn_st row, const hn_tile *t, const hn_walk *w, hn_st *panel, const char **why) {
    int64_t e, width = t->cols * t->lanes * w->group;
    hn_st whole, rest;
    if (!hn_loop_sink(n, row, why) || !hn_loop_swap(n, row, why)) return false;
    bool known = hn_ix_is_int(n, n->extent[n->st[row].var], &e);
    *panel = !known || e > width ? row : 0;
    if (!known) return unknown_columns(n, row, t, why);
    if (e <= width) return known_columns(n, row, t, w, why);
    if (!hn_loop_blocks(n, row, width, &whole, &rest, why)) return false;
    return known_columns(n, whole, t, w, why) && (!rest || known_columns(n, rest, t, w, why));
}

/* -- what follows the reductions */
bool hn_tile_calls(const hn_nest *n, hn_st first) {
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_scalar *x = n->st[id].kind == HN_ST_LET ? &n->sv[n->st[id].value] : NULL;
        if (x && x->kind == HN_SV_OP && !hn_op_is_easy(x->op) && x->op != HN_OP_ROUND) return true;
    }
    return false;
}

static bool stores_results(const hn_nest *n, hn_st first) {
    for (hn_st id = first; id; id = n->st[id].next) {
        if (n->st[id].kind == HN_ST_LOOP && stores_results(n, n->st[id].body)) return true;
        if (n->st[id].kind == HN_ST_STORE && n->buf[n->st[id].buf].space == HN_RESULT) return true;
    }
    return false;
}

void hn_tile_stage(hn_nest *n, hn_st first) {
    for (hn_st id = first; id; id = n->st[id].next) {
        if (n->st[id].kind != HN_ST_LOOP || !stores_results(n, n->st[id].body)) continue;
        if (n->st[id].loop == HN_UNROLL || n->st[id].loop == HN_VECTOR)
            hn_loop_stage(n, id, NULL);
        else
            hn_tile_stage(n, n->st[id].body);
    }
}

/* Does the statement, or one in it, need the value? */
static bool uses(const hn_nest *n, hn_st id, hn_sv v) {
    const hn_stmt *s = &n->st[id];
    if (s->kind == HN_ST_LOOP) {
        for (hn_st in = s->body; in; in = n->st[in].next)
            if (uses(n, in, v)) return true;
        return false;
    }
    if (s->value == v) return true;
    for (int k = 0; s->kind == HN_ST_LET && k < n->sv[s->value].n_arg; k++)
        if (n->sv[s->value].arg[k] == v) return true;
    return false;
}

void hn_tile_read_late(hn_nest *n, hn_st leaf, hn_st red, hn_var row) {
    hn_st *link = &n->st[leaf].body, last = red;
    while (*link && *link != red) {
        hn_st id = *link;
        const hn_stmt s = n->st[id];
        const hn_scalar *x = s.kind == HN_ST_LET ? &n->sv[s.value] : NULL;
        bool late = x && x->kind == HN_SV_LOAD && hn_is_float(x->dtype) && hn_ix_depends(n, x->at, row);
        for (hn_st in = s.next; late && in; in = in == red ? 0 : n->st[in].next) late = !uses(n, in, s.value);
        if (!late) {
            link = &n->st[id].next;
            continue;
        }
        *link = s.next;
        n->st[id].next = n->st[last].next;
        n->st[last].next = id;
        last = id;
    }
}

/* -- costs */
/* One way of each set is left to the panels, which pass through all sets. Each row beyond those that fit into the other
 * ways costs every row part of a cycle: measured on Zen 4 (8 ways) with 49 rows of 2048 floats, tiles of 5 to 14 rows.
 */
enum { WAYS_BESIDE = 1 };
static const double CROWDED = 0.1, CROWDED_MOST = 0.4;

void hn_tile_rows_apart(hn_tile_feed *feed, const hn_machine *m, int64_t row_b) {
    if (m->l1d_ways < 1 || m->l1d_b < 1) return;
    feed->row_b = row_b, feed->ways = m->l1d_ways, feed->way_b = m->l1d_b / m->l1d_ways;
}

static int64_t common_divisor(int64_t a, int64_t b) { return b ? common_divisor(b, a % b) : a; }

/* Cycles of a step in which rows come from the second cache, as their lines do not fit into one set of the first. */
static double crowded(int64_t rows, const hn_tile_feed *feed) {
    if (feed->row_b <= 0 || feed->way_b <= 0) return 0;
    int64_t sets = feed->way_b / common_divisor(feed->row_b, feed->way_b);
    double over = (double)((rows + sets - 1) / sets - (feed->ways - WAYS_BESIDE)), each = CROWDED * over;
    return each <= 0 ? 0 : (each < CROWDED_MOST ? each : CROWDED_MOST) * (double)rows;
}

static double tile_cycles(int64_t rows, int64_t cols, const hn_tile_feed *feed) {
    const double fma = 0.5 * (double)(rows * cols), each = feed->load > 0 ? feed->load : 0.5,
                 load = each * (double)(feed->apart ? rows * cols : rows + cols);
    const double arrive = feed->vector * (double)cols, latency = 4, take[] = {fma, load, arrive, latency};
    double worst = 0;
    for (size_t i = 0; i < sizeof take / sizeof *take; i++) worst = take[i] > worst ? take[i] : worst;
    return worst + crowded(rows, feed);
}
/* One row of tiles of so many rows over all columns. */
static double strip_cycles(const hn_tile *t, int64_t rows, int64_t columns, const hn_tile_feed *feed) {
    int64_t width = t->cols * t->lanes, left = columns % width;
    double sum = (double)(columns / width) * tile_cycles(rows, t->cols, feed), one = tile_cycles(rows, 1, feed);
    if (left / t->lanes) sum += tile_cycles(rows, left / t->lanes, feed);
    left %= t->lanes;
    for (int64_t lanes = t->lanes / 2; left && lanes >= LANES_MIN; left %= lanes, lanes /= 2)
        if (left >= lanes) sum += one;
    return sum + (double)left * one;
}
double hn_tile_cycles(const hn_tile *t, int64_t rows, int64_t columns, const hn_tile_feed *feed) {
    int64_t m = rows > 0 ? rows : 64 * t->rows, n = columns > 0 ? columns : 64 * t->cols * t->lanes;
    double sum = (double)(m / t->rows) * strip_cycles(t, t->rows, n, feed);
    if (m % t->rows) sum += strip_cycles(t, m % t->rows, n, feed);
    return sum;
}

enum { AVX2_B = 32, HALVES = 3 }; /* of the word that is broadcast two, a mask and the product; beside `cols` more */

int64_t hn_tile_registers_for(const hn_nest *n, const hn_machine *m, int64_t cols) {
    int64_t all = m->registers > 0 ? m->registers : 16;
    if (hn_nest_has_pairs(n) && !m->pairs) { /* words of rows and columns, and one bf16 of each column's as f32 */
        int64_t rows = (all - 2 * cols - 2) / (cols + 1);
        return (rows < 1 ? 1 : rows) * cols + cols + 1;
    }
    if (m->vector_b != AVX2_B) return all;
    for (uint32_t i = 0; i < n->n_sv; i++)
        if (n->sv[i].bytes) return all - cols - HALVES;
    return all;
}

int64_t hn_tile_registers_of(const hn_tile *t) { return t->rows * t->cols + t->cols + 1; }
int64_t hn_tile_rows_max(int64_t registers, int64_t cols) { return (registers - cols - 1) / cols; }
