/* canvas.c — dots into braille (Unicode 15, block 2800: a bit per dot) or into the most similar ASCII character. */
#include "canvas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct cell {
    unsigned char dots; /* bits as in the braille block */
    cli_ink ink;
    const char *mark, *ground; /* NULL: none */
} cell;

struct cli_canvas {
    bool utf8;
    int columns, rows;
    cell *cell;
};

cli_canvas *cli_canvas_new(bool utf8, int columns, int rows) {
    cli_canvas *v = cli_alloc(1, sizeof *v);
    *v = (cli_canvas){utf8, columns < 1 ? 1 : columns, rows < 1 ? 1 : rows, NULL};
    v->cell = cli_alloc((size_t)v->columns * (size_t)v->rows, sizeof *v->cell);
    return v;
}

void cli_canvas_free(cli_canvas *v) {
    if (v) free(v->cell);
    free(v);
}

static cell *cell_at(cli_canvas *v, int x, int y) {
    if (x < 0 || y < 0 || x >= 2 * v->columns || y >= 4 * v->rows) return NULL;
    return &v->cell[y / 4 * v->columns + x / 2];
}

void cli_canvas_dot(cli_canvas *v, int x, int y, cli_ink ink) {
    static const unsigned char bit[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    cell *c = cell_at(v, x, y);
    if (!c) return;
    c->dots |= bit[y % 4][x % 2];
    if (!c->mark) c->ink = ink;
}

void cli_canvas_line(cli_canvas *v, int x0, int y0, int x1, int y1, cli_ink ink) {
    int dx = (x1 > x0) - (x1 < x0), dy = (y1 > y0) - (y1 < y0);
    for (int x = x0, y = y0;; x += dx, y += dy) {
        cli_canvas_dot(v, x, y, ink);
        if ((x == x1 || !dx) && (y == y1 || !dy)) break;
    }
}

void cli_canvas_mark(cli_canvas *v, int x, int y, cli_glyph glyph, cli_ink ink) {
    cell *c = cell_at(v, x, y);
    if (!c) return;
    c->mark = v->utf8 ? glyph.utf8 : glyph.ascii;
    c->ink = ink;
}

void cli_canvas_ground(cli_canvas *v, int x, int y, cli_glyph glyph, cli_ink ink) {
    cell *c = cell_at(v, x, y);
    if (!c) return;
    c->ground = v->utf8 ? glyph.utf8 : glyph.ascii;
    if (!c->mark && !c->dots) c->ink = ink;
}

static char ascii_of(unsigned dots) {
    unsigned row[] = {dots & 0x09, dots & 0x12, dots & 0x24, dots & 0xc0};
    int n = 0;
    for (int i = 0; i < 4; i++) n += row[i] != 0;
    if (n > 2) return '|';
    if ((dots & 0x47) && (dots & 0xb8)) return row[3] || row[2] ? '_' : '-';
    return row[2] || row[3] ? '.' : '\'';
}

static void put_cell(const cli_canvas *v, const cell *c, FILE *f) {
    if (c->mark)
        fputs(c->mark, f);
    else if (!c->dots)
        fputs(c->ground ? c->ground : " ", f);
    else if (!v->utf8)
        fputc(ascii_of(c->dots), f);
    else
        fprintf(f, "\xe2%c%c", 0xa0 + (c->dots >> 6), 0x80 + (c->dots & 0x3f));
}

static bool blank(const cell *c) { return !c->mark && !c->dots && !c->ground; }

void cli_canvas_print(const cli_canvas *v, int row, bool color, FILE *f) {
    const cell *from = &v->cell[row * v->columns];
    int n = v->columns;
    cli_ink ink = CLI_PLAIN;
    while (n && blank(&from[n - 1])) n--;
    for (int i = 0; i < n; i++) {
        cli_ink want = blank(&from[i]) ? CLI_PLAIN : from[i].ink;
        if (want != ink) {
            fputs(cli_paint(color, CLI_PLAIN), f);
            if (want != CLI_PLAIN) fputs(cli_paint(color, want), f);
        }
        ink = want;
        put_cell(v, &from[i], f);
    }
    if (ink != CLI_PLAIN) fputs(cli_paint(color, CLI_PLAIN), f);
    fputc('\n', f);
}

/* --- scales ------------------------------------------------------------------------------------------------------- */

cli_scale cli_scale_round(double lo, double hi, int most, int n) {
    static const double step[] = {1, 2, 2.5, 5, 10};
    double span = hi > lo ? hi - lo : fabs(hi) > 0 ? fabs(hi) : 1, raw = span / (most < 1 ? 1 : most);
    double power = pow(10, floor(log10(raw))), best = 10 * power;
    for (int i = 4; i >= 0; i--)
        if (step[i] * power >= raw * 0.999) best = step[i] * power;
    cli_scale s = {floor(lo / best + 1e-9) * best, ceil(hi / best - 1e-9) * best, best, n};
    if (!(s.hi > s.lo)) s.hi = s.lo + best;
    return s;
}

int cli_scale_at(const cli_scale *s, double x) {
    double at = (x - s->lo) / (s->hi - s->lo) * (s->n - 1);
    if (!(at > 0)) return 0;
    return at > s->n - 1 ? s->n - 1 : (int)lrint(at);
}
