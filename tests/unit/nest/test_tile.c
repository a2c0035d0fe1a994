/* What a register tile costs: rows that lie a multiple of a way apart share one set of the first-level cache. */
#include "nest/tile.h"
#include "tap.h"

static const hn_machine zen4 = {.l1d_b = 32 << 10, .l1d_ways = 8}, golden_cove = {.l1d_b = 48 << 10, .l1d_ways = 12},
                        unknown = {0};

static const struct {
    const char *name;
    const hn_machine *machine;
    int64_t rows, cols, row_b;
    int64_t tiles; /* of rows */
    double more;   /* cycles a row and tile than rows that share nothing; there are three tiles of columns */
} cases[] = {
    {"rows_of_no_known_distance", &zen4, 13, 2, 0, 4, 0},
    {"machine_not_known", &unknown, 13, 2, 8192, 4, 0},
    {"lines_spread", &zen4, 13, 2, 8256, 4, 0},
    {"a_line_apart", &zen4, 13, 2, 64, 4, 0},
    {"few_enough", &zen4, 7, 2, 8192, 4, 0},
    {"one_too_many", &zen4, 8, 2, 4096, 4, 0.1},
    {"all_but_none_fit", &zen4, 13, 2, 8192, 4, 0.4},
    {"half_a_way_apart", &zen4, 13, 2, 18432, 4, 0},
    {"more_ways", &golden_cove, 11, 2, 8192, 4, 0},
    {"too_many_for_them_too", &golden_cove, 13, 2, 8192, 4, 0.2},
};

static double cycles(const hn_machine *m, int64_t rows, int64_t cols, int64_t row_b, int64_t all) {
    const hn_tile t = {.rows = rows, .cols = cols, .lanes = 16};
    hn_tile_feed feed = {0};
    hn_tile_rows_apart(&feed, m, row_b);
    return hn_tile_cycles(&t, all, 96, &feed);
}

int main(void) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t rows = cases[i].rows, cols = cases[i].cols, all = rows * cases[i].tiles;
        double plain = cycles(&unknown, rows, cols, 0, all), want = plain + cases[i].more * (double)(all * 3);
        double got = cycles(cases[i].machine, rows, cols, cases[i].row_b, all);
        ok(got > want - 1e-9 && got < want + 1e-9, "tile/%s: %g cycles, not %g", cases[i].name, got, want);
    }
    return done_testing();
}
