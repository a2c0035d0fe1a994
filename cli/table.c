/* table.c — aligned columns that fit the terminal. All cells are kept until the table is printed. */
#include "cli.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct cli_table {
    const char *layout;
    size_t n_columns, n, room, n_inks, ink_room;
    char **cell;  /* the head first, then row after row */
    cli_ink *ink; /* per row, head included */
};

cli_table *cli_table_new(const char *layout) {
    cli_table *t = cli_alloc(1, sizeof *t);
    t->layout = layout;
    t->n_columns = strlen(layout);
    return t;
}

static void add(cli_table *t, char *text) {
    t->cell = cli_grow(t->cell, &t->room, t->n, sizeof *t->cell);
    t->cell[t->n++] = text;
    size_t rows = (t->n + t->n_columns - 1) / t->n_columns;
    while (t->n_inks < rows) {
        t->ink = cli_grow(t->ink, &t->ink_room, t->n_inks, sizeof *t->ink);
        t->ink[t->n_inks++] = CLI_PLAIN;
    }
}

void cli_table_head(cli_table *t, const char *name) {
    add(t, cli_strdup(name));
    t->ink[0] = CLI_BOLD;
}

void cli_table_cell(cli_table *t, const char *fmt, ...) {
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    char *text = cli_alloc((size_t)(n < 0 ? 0 : n) + 1, 1);
    if (n > 0) vsnprintf(text, (size_t)n + 1, fmt, again);
    va_end(again);
    va_end(ap);
    add(t, text);
}

void cli_table_ink(cli_table *t, cli_ink ink) {
    if (t->n_inks) t->ink[t->n_inks - 1] = ink;
}

/* Natural widths; then the columns marked 'x', the last first, are narrowed until the rows fit. */
static void fit(const cli_table *t, int width, size_t *column) {
    size_t sum = 0;
    for (size_t i = 0; i < t->n; i++) {
        size_t n = cli_columns(t->cell[i]);
        if (n > column[i % t->n_columns]) column[i % t->n_columns] = n;
    }
    for (size_t k = 0; k < t->n_columns; k++) sum += column[k] + (k ? 2 : 0);
    for (int pass = 0; width && pass < 2; pass++)
        for (size_t k = t->n_columns; k-- > 0 && sum > (size_t)width;) {
            size_t least = pass ? 3 : 10, over = sum - (size_t)width;
            if ((pass == 0 && t->layout[k] != 'x') || column[k] <= least) continue;
            size_t cut = column[k] - least < over ? column[k] - least : over;
            column[k] -= cut;
            sum -= cut;
        }
}

/* *gap: spaces still to be printed before the next text, so that no line ends in spaces. */
static void put_cell(const cli *c, const cli_table *t, size_t i, size_t room, size_t *gap, FILE *f) {
    size_t k = i % t->n_columns, n = cli_columns(t->cell[i]), pad = n < room ? room - n : 0;
    bool right = t->layout[k] == 'r';
    *gap += (k ? 2 : 0) + (right ? pad : 0);
    if (n) {
        fprintf(f, "%*s", (int)*gap, "");
        cli_put(c, f, t->cell[i], room);
        *gap = 0;
    }
    *gap += right ? 0 : pad;
}

void cli_table_print(const cli *c, cli_table *t, FILE *f, int width) {
    size_t *column = cli_alloc(t->n_columns, sizeof *column);
    bool color = f == stdout ? c->color_out : c->color_err;
    size_t gap = 0;
    fit(t, width, column);
    for (size_t i = 0; i < t->n && !ferror(f); i++) {
        size_t k = i % t->n_columns, row = i / t->n_columns;
        bool inked = t->ink[row] != CLI_PLAIN;
        if (k == 0 && inked) fputs(cli_paint(color, t->ink[row]), f);
        put_cell(c, t, i, column[k], &gap, f);
        if (k + 1 < t->n_columns && i + 1 < t->n) continue;
        gap = 0;
        fprintf(f, "%s\n", inked ? cli_paint(color, CLI_PLAIN) : "");
    }
    for (size_t i = 0; i < t->n; i++) free(t->cell[i]);
    free(t->cell);
    free(t->ink);
    free(t);
    free(column);
}
