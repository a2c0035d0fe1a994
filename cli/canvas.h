/* canvas.h — a grid of characters to draw on: 2 x 4 dots a cell in braille, one character a cell in ASCII.
 *
 * Coordinates are dots, x to the right, y down, in both; points outside are ignored. A mark is a character of its
 * own and hides the dots of its cell. Later ink replaces earlier ink in a cell, except for dots under marks.
 */
#ifndef CLI_CANVAS_H
#define CLI_CANVAS_H

#include "cli.h"

typedef struct cli_canvas cli_canvas;
typedef struct cli_glyph {
    const char *utf8, *ascii; /* one column each */
} cli_glyph;

cli_canvas *cli_canvas_new(bool utf8, int columns, int rows);
void cli_canvas_free(cli_canvas *v);
void cli_canvas_dot(cli_canvas *v, int x, int y, cli_ink ink);
/* Horizontal or vertical. */
void cli_canvas_line(cli_canvas *v, int x0, int y0, int x1, int y1, cli_ink ink);
void cli_canvas_mark(cli_canvas *v, int x, int y, cli_glyph glyph, cli_ink ink);
/* Shown where a cell has neither dots nor a mark. */
void cli_canvas_ground(cli_canvas *v, int x, int y, cli_glyph glyph, cli_ink ink);
/* Prints one row and a newline, without blanks at the end. */
void cli_canvas_print(const cli_canvas *v, int row, bool color, FILE *f);

/* A scale from values to dots or columns 0 … n - 1, with round steps for its labels. */
typedef struct cli_scale {
    double lo, hi, step;
    int n;
} cli_scale;
/* Holds lo … hi, ends widened to round values; at most `most` steps. */
cli_scale cli_scale_round(double lo, double hi, int most, int n);
/* The position, cut to the ends. */
int cli_scale_at(const cli_scale *s, double x);

#endif
