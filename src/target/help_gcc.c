/* target/help_gcc.c — reads gcc's --help=CLASS, with and without -Q.
 *
 * Shapes seen between gcc 4.6 and 15:
 *     "  -fNAME                  [enabled]"          -Q: enabled, disabled, default, a value, nothing, or an alias
 *     "  -fNAME                  Words, more words"  plain: the description, continued on deeply indented lines
 *     "  -fNAME=[a|b|c]  …"  "  --param=NAME=<lo,hi>  …"  "  -mNAME=<number>  …"  "  -mNAME=  …"
 *     "  NAME    default 2 minimum 0 maximum 50"     parameters of gcc 9 and older; maximum 0 = unlimited
 *     "  Known valid arguments for -march= option:" and an indented list of words
 */
#include "target/help_int.h"

#include <math.h>
#include <string.h>

enum { CONTINUATION = 8 }; /* least indentation of a continued description or list */

static void range_or_values(hn_arena *a, hn_help_row *r, hn_help_span v) {
    if (v.n < 3) return;
    hn_help_span inner = {v.at + 1, v.n - 2};
    char last = v.at[v.n - 1];
    if (v.at[0] == '[' && last == ']') {
        hn_help_values(a, r, inner, '|');
    } else if (v.at[0] == '<' && last == '>') {
        const char *comma = memchr(inner.at, ',', inner.n);
        if (!comma) return;
        size_t n = (size_t)(comma - inner.at);
        double lo = hn_span_number((hn_help_span){inner.at, n});
        double hi = hn_span_number((hn_help_span){comma + 1, inner.n - n - 1});
        if (!(lo <= hi)) return;
        r->lo = lo;
        r->hi = hi;
    }
}

/* "-fNAME", "-fNAME=[a|b]", "--param=NAME=<0,1>": NULL when it is not an option that can be named. */
static hn_help_row *option(hn_arena *a, hn_help *out, hn_help_span word) {
    size_t head = hn_span_starts(word, "--param=") ? 8 : 0;
    hn_help_span tail = {word.at + head, word.n - head};
    const char *eq = memchr(tail.at, '=', tail.n);
    hn_help_span name = {word.at, eq ? (size_t)(eq - word.at) : word.n};
    if (!hn_span_name(name) || name.n < 3 || name.n == head) return NULL;
    hn_help_row *r = hn_help_add(a, out, name);
    if (!r) return NULL;
    r->takes_value = eq || head;
    if (eq) range_or_values(a, r, (hn_help_span){eq + 1, (size_t)(word.at + word.n - eq - 1)});
    return r;
}

/* gcc 9 and older: "default 2 minimum 0 maximum 50". */
static hn_help_row *old_param(hn_arena *a, hn_help *out, hn_help_span name, hn_help_span *rest) {
    if (!hn_span_name(name)) return NULL;
    char *full = hn_format(a, "--param=%.*s", (int)name.n, name.at);
    hn_help_row *r = full ? hn_help_add(a, out, (hn_help_span){full, strlen(full)}) : NULL;
    if (!r) return NULL;
    r->takes_value = true;
    hn_help_span s = *rest;
    if (!hn_span_is(hn_span_word(&s), "default")) return r;
    hn_help_span dflt = hn_span_word(&s);
    hn_help_span min_word = hn_span_word(&s), min = hn_span_word(&s), max_word = hn_span_word(&s),
                 max = hn_span_word(&s);
    if (!hn_span_is(min_word, "minimum") || !hn_span_is(max_word, "maximum")) return r;
    r->lo = hn_span_number(min);
    r->hi = hn_span_number(max);
    if (!(r->hi > r->lo)) r->hi = NAN; /* 0: no upper bound */
    if (isnan(r->hi)) r->lo = NAN;
    *rest = dflt;
    return r;
}

/* A description that repeats its option with an enumeration, as gcc prints for some parameters:
 * "--param=evrp-mode=[legacy|ranger] Specifies …". */
static void repeated_enumeration(hn_arena *a, hn_help_row *r) {
    size_t n = strlen(r->name);
    if (r->n_values || !r->takes_value || strncmp(r->rest, r->name, n) != 0 || strncmp(r->rest + n, "=[", 2) != 0)
        return;
    const char *list = r->rest + n + 2, *stop = strchr(list, ']');
    if (!stop) return;
    hn_help_values(a, r, (hn_help_span){list, (size_t)(stop - list)}, '|');
    r->rest = stop + 1 + strspn(stop + 1, " ");
}

static void extend(hn_arena *a, hn_help_row *r, hn_help_span more) {
    char *tail = hn_span_copy(a, more);
    size_t n = strlen(r->rest);
    if (!tail || n > 4000) return;
    const char *gap = n && r->rest[n - 1] != '-' ? " " : "";
    char *joined = hn_format(a, "%s%s%s", r->rest, gap, tail);
    if (joined) r->rest = joined;
}

/* "Known valid arguments for -march= option:" → the row that the list below it belongs to. */
static hn_help_row *value_list(hn_arena *a, hn_help *out, hn_help_span line) {
    if (line.n < 3 || line.at[line.n - 1] != ':') return NULL;
    size_t at = hn_span_find(line, "-m");
    if (at == SIZE_MAX || (hn_span_find(line, "nown ") == SIZE_MAX && hn_span_find(line, "alid ") == SIZE_MAX))
        return NULL;
    hn_help_span tail = {line.at + at, line.n - at};
    const char *eq = memchr(tail.at, '=', tail.n);
    if (!eq || !hn_span_name((hn_help_span){tail.at, (size_t)(eq - tail.at)})) return NULL;
    hn_help_row *r = hn_help_add(a, out, (hn_help_span){tail.at, (size_t)(eq - tail.at)});
    if (r) r->takes_value = true;
    return r;
}

typedef struct reader {
    hn_arena *a;
    hn_help *out;
    hn_help_row *last; /* whose description goes on; NULL = none */
    hn_help_row *list; /* whose value list goes on */
    bool params;       /* below "… control parameters:" */
} reader;

static void option_line(reader *rd, hn_help_span line) {
    hn_help_span rest = line, word = hn_span_word(&rest);
    rd->last = NULL;
    if (word.n && word.at[0] == '-')
        rd->last = option(rd->a, rd->out, word);
    else if (rd->params)
        rd->last = old_param(rd->a, rd->out, word, &rest);
    if (rd->last) {
        char *text = hn_span_copy(rd->a, rest);
        rd->last->rest = text ? text : "";
    }
}

/* The list may be spread over lines: each is added to what stands there. */
static void list_line(reader *rd, hn_help_span line) {
    hn_help_row more = {0};
    hn_help_values(rd->a, &more, hn_span_trim(line), ' ');
    if (!more.n_values) return;
    if (!rd->list->n_values) {
        rd->list->value = more.value;
        rd->list->n_values = more.n_values;
        return;
    }
    size_t n = rd->list->n_values + more.n_values;
    const char **both = n <= 4096 ? HN_NEW_N(rd->a, const char *, n) : NULL;
    if (!both) return;
    memcpy(both, rd->list->value, rd->list->n_values * sizeof *both);
    memcpy(both + rd->list->n_values, more.value, more.n_values * sizeof *both);
    rd->list->value = both;
    rd->list->n_values = n;
}

static void one_line(reader *rd, hn_help_span line) {
    size_t indent = hn_span_indent(line);
    hn_help_span body = hn_span_trim(line);
    if (!body.n) {
        rd->last = rd->list = NULL;
    } else if (rd->list && indent >= 4) {
        list_line(rd, body);
    } else if (indent == 0) {
        rd->params = hn_span_find(body, "parameters") != SIZE_MAX;
        rd->last = rd->list = NULL;
    } else if (indent >= CONTINUATION) {
        if (rd->last) extend(rd->a, rd->last, body);
    } else {
        rd->list = value_list(rd->a, rd->out, body);
        if (!rd->list) option_line(rd, body);
    }
}

void hn_help_gcc(hn_arena *a, const char *text, size_t n, hn_help *out) {
    reader rd = {.a = a, .out = out};
    hn_help_text t = {text, text + n};
    hn_help_span line;
    size_t first = out->n;
    while (hn_help_line(&t, &line) && hn_arena_ok(a)) {
        /* rows may move when the table grows, so nothing that points to one survives an addition */
        size_t before = out->n;
        one_line(&rd, line);
        if (out->n != before) {
            hn_help_row *newest = &out->row[out->n - 1];
            if (rd.list) rd.list = newest;
            if (rd.last) rd.last = newest;
        }
    }
    for (size_t i = first; i < out->n; i++) repeated_enumeration(a, &out->row[i]);
}
