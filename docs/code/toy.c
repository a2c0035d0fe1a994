/* docs/code/toy.c — the example of docs/how-to-add-a-front-end.md: a chain of operations on one input.
 *
 *     toy                  the first line
 *     input x batch 3      a name and its sizes: numbers or names
 *     scale 0.5            operations, one a line: relu, scale NUMBER, softmax
 *     output y             the last line
 */
#include "toy/toy.h"

#include "base/err.h"
#include "base/fs.h"
#include "base/locale.h"
#include "compose/compose.h"

#include <stdlib.h>
#include <string.h>

static bool sniff(const void *head, size_t n) { return n >= 4 && !memcmp(head, "toy\n", 4); }

typedef struct reader {
    const hn_front_source *from;
    hn_symbol_options symbols;
    hn_builder b;
    hn_val x; /* 0 before the line `input` */
    bool done;
    int line;
    hone_err *err;
} reader;

static hone_rc wrong(const reader *r, const char *what, const char *word) {
    return hn_fail(r->err, HONE_E_INPUT, "%s:%d: %s '%s'", hn_front_label(r->from), r->line, what, word);
}

/* The next word of a line, or NULL. */
static char *word_of(char **at) {
    char *word = *at + strspn(*at, " "), *end = word + strcspn(word, " ");
    *at = *end ? end + 1 : end;
    *end = 0;
    return *word ? word : NULL;
}

static hone_rc read_input(reader *r, char *rest) {
    hn_arena *a = &r->b.g->arena;
    hn_type t = {.dtype = HONE_F32};
    char *name = word_of(&rest), *size, *end;
    const char *known[HN_RANK_MAX];
    size_t n_known = 0;
    if (!name) return wrong(r, "an input needs a name and sizes, not", "");
    while ((size = word_of(&rest))) {
        if (t.rank == HN_RANK_MAX) return wrong(r, "too many sizes:", size);
        long long n = strtoll(size, &end, 10);
        bool number = !*end && n >= 0;
        if (!number) known[n_known++] = hn_strdup(a, size);
        t.dim[t.rank++] = number ? hn_lit(&r->b, n) : hn_symbol_options_dim(&r->symbols, a, r->b.g->dims, size);
    }
    r->x = hn_param(r->b.g, 0, hn_strdup(a, name), &t);
    return hn_symbol_options_check(&r->symbols, a, known, n_known, r->err);
}

static hone_rc read_line(reader *r, char *line) {
    char *word = word_of(&line), *end;
    r->line++;
    if (!word || (r->line == 1 && !strcmp(word, "toy"))) return HONE_OK;
    if (!r->x != !strcmp(word, "input")) return wrong(r, r->x ? "one input is enough:" : "no input in front of", word);
    if (!strcmp(word, "input")) return read_input(r, line);
    if (!strcmp(word, "relu")) {
        r->x = hn_relu(&r->b, r->x);
    } else if (!strcmp(word, "softmax")) {
        r->x = hn_softmax(&r->b, r->x, -1);
    } else if (!strcmp(word, "scale")) {
        double by = hn_strtod(line, &end);
        if (end == line || *end) return wrong(r, "scale takes a number, not", line);
        r->x = hn_bin_f(&r->b, HN_OP_MUL, r->x, by);
    } else if (!strcmp(word, "output")) {
        hn_result(r->b.g, 0, r->x, hn_strdup(&r->b.g->arena, line));
        r->done = true;
    } else {
        return wrong(r, "no operation is called", hn_shown(&r->b.g->arena, word));
    }
    return HONE_OK;
}

static hone_rc read_text(reader *r, char *text) {
    hone_rc rc = HONE_OK;
    for (char *line = text, *next; line && !rc; line = next) {
        if ((next = strchr(line, '\n'))) *next++ = 0;
        rc = read_line(r, line);
    }
    return rc || r->done ? rc : wrong(r, "the file ends without", "output");
}

static hone_rc text_of(const hn_front_source *from, char **out, hone_err *err) {
    size_t n;
    if (from->path) return hn_read_file(from->path, out, &n, err);
    *out = strndup(from->data, from->n);
    return *out ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
}

static hone_rc import(const hn_front_source *from, const hone_import_options *options, hone_graph **out, char **report,
                      hone_err *err) {
    (void)report; /* nothing is refused: all that the format can say is supported */
    char *text;
    hone_rc rc = text_of(from, &text, err);
    if (rc) return rc;
    reader r = {.from = from, .b = {.g = hn_graph_new()}, .err = err};
    if (!r.b.g)
        rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
    else
        rc = hn_symbol_options_read(&r.b.g->arena, options, &r.symbols, err);
    if (!rc) rc = read_text(&r, text);
    free(text);
    if (!rc) return hn_front_finish(from, r.b.g, out, err);
    hn_graph_free(r.b.g);
    return rc;
}

static hone_rc inspect(const hn_front_source *from, hn_model_summary *out, hone_err *err) {
    return hn_front_inspect_graph(from, import, out, err);
}

const hn_front hn_front_toy = {"toy", "toy chain", ".toy", sniff, import, inspect, NULL};
