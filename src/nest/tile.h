/* nest/tile.h — register tiles: what matrix products, convolutions and whatever else reads the same vectors again and
 * again have in common, as rewrites on top of nest/schedule.h.
 *
 * A tile is `rows` iterations of one result loop times `cols` vectors of `lanes` iterations of another, with one named
 * accumulator for each pair, around the reductions. What does not fill a tile is computed by smaller ones: of exactly
 * the right size where it is known, else of 8, 4, 2 and 1 rows; with `overlap` by one, the smallest that is no smaller,
 * which goes back over rows that are computed already. With `seldom`, too, that is the tile itself, and where there are
 * fewer rows than it has, which is rare, tiles of four and single rows do: less code.
 * Owns nothing. Threads: one at a time per nest.
 */
#ifndef HN_TILE_H
#define HN_TILE_H

#include "nest/machine.h"
#include "nest/nest.h"

typedef struct hn_tile {
    int64_t rows, cols, lanes;
    bool overlap, seldom;
} hn_tile;

/* for col { for row: body }, nothing else between the two, col's length known, the iterations independent, becomes
 * for tiles of rows { unroll rows { unroll cols { vector lanes: body } } }, and tails. */
bool hn_tile_registers(hn_nest *n, hn_st col, const hn_tile *t, const char **why);

/* How panels are walked: `group` neighbours as one, and the reduction in slices of `depth` iterations (0: in one go),
 * each through all panels of the group (hn_loop_slice). Without effect where the number of columns is not known. */
typedef struct hn_walk {
    int64_t group, depth;
} hn_walk;

/* for row { for col: body } becomes for panels { for tiles of rows … } with panels of cols*lanes columns: col's length
 * need not be known. *panel: the loop over (groups of) panels, 0 where there is one. */
bool hn_tile_panels(hn_nest *n, hn_st row, const hn_tile *t, const hn_walk *w, hn_st *panel, const char **why);

/* Behind the reductions of a tile, do functions such as exp run in this list? Their constants take registers. */
bool hn_tile_calls(const hn_nest *n, hn_st first);
/* What follows the reductions of each tile in the list runs behind them, over memory (hn_loop_stage), where it can. */
void hn_tile_stage(hn_nest *n, hn_st first);

/* Operands of the tile's size, that is which depend on `row`, and that nothing needs before the reduction are read
 * behind it, so that they take no registers during it. leaf: the loop whose body holds the reduction. */
void hn_tile_read_late(hn_nest *n, hn_st leaf, hn_st red, hn_var row);

/* What a step of the reduction reads. apart: each pair of a row and a vector has an element of its own, else rows and
 * vectors share theirs. vector: cycles that a vector of the columns takes to arrive from beyond the first cache; 0: it
 * is there. load: cycles of a load that hits the first cache; 0: half of one. row_b: bytes from a row to the next one;
 * rows whose lines map to the same set of the first-level cache, of way_b bytes a way, evict each other. 0: not known.
 */
typedef struct hn_tile_feed {
    bool apart;
    double vector, load;
    int64_t row_b, way_b, ways;
} hn_tile_feed;
/* row_b with what the machine's first-level cache is. */
void hn_tile_rows_apart(hn_tile_feed *feed, const hn_machine *m, int64_t row_b);

/* Cycles that the multiply-adds of one step of the reduction take on a machine with two FMA units and a latency
 * of four cycles, for all tiles of a result of rows x columns; below 1: not known, 64 tiles. */
double hn_tile_cycles(const hn_tile *t, int64_t rows, int64_t columns, const hn_tile_feed *feed);
/* Vector registers of a step: accumulators, the vectors and one broadcast. */
int64_t hn_tile_registers_of(const hn_tile *t);
/* The most rows a tile of `cols` vectors can have in so many vector registers: accumulators, the vectors and one
 * broadcast. */
int64_t hn_tile_rows_max(int64_t registers, int64_t cols);
/* Vector registers that a tile of `cols` vectors may take: without an instruction for products of bytes (vectors of 32
 * bytes) the halves of words take some. */
int64_t hn_tile_registers_for(const hn_nest *n, const hn_machine *m, int64_t cols);

#endif
