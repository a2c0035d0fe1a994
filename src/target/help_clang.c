/* target/help_clang.c — reads LLVM's command-line library (llvm/lib/Support/CommandLine.cpp prints these).
 *
 *     "  --name=<uint>            - Description (default = 3)"     one or two dashes; no type = a boolean
 *     "    =value                 -   Description"                 enumeration of the option above
 *     "      --name               - Description"                   flags that form an enumeration (no common name)
 *     "  --name     = 225      (default: 225)"                     -print-all-options
 */
#include "target/help_int.h"

#include <string.h>

/* Strips one or two dashes; empty when there is none. */
static hn_help_span strip_dashes(hn_help_span w) {
    size_t n = w.n && w.at[0] == '-' ? (w.n > 1 && w.at[1] == '-' ? 2 : 1) : w.n;
    return (hn_help_span){w.at + n, w.n - n};
}

static hn_help_row *option(hn_arena *a, hn_help *out, hn_help_span word) {
    hn_help_span body = strip_dashes(word);
    const char *eq = body.n ? memchr(body.at, '=', body.n) : NULL;
    const char *opt = body.n ? memchr(body.at, '[', body.n) : NULL; /* "--name[=<string>]": the value may be left out */
    if (opt && (!eq || opt < eq)) return NULL;
    hn_help_span name = {body.at, eq ? (size_t)(eq - body.at) : body.n};
    if (!hn_span_name(name)) return NULL;
    hn_help_row *r = hn_help_add(a, out, name);
    if (!r || !eq) return r;
    r->takes_value = true;
    hn_help_span type = {eq + 1, (size_t)(body.at + body.n - eq - 1)};
    if (type.n > 2 && type.at[0] == '<') r->type = hn_span_copy(a, (hn_help_span){type.at + 1, type.n - 2});
    return r;
}

/* "- words": the description. */
static const char *description(hn_arena *a, hn_help_span rest) {
    if (rest.n && rest.at[0] == '-') rest = hn_span_trim((hn_help_span){rest.at + 1, rest.n - 1});
    char *text = hn_span_copy(a, rest);
    return text ? text : "";
}

static void add_value(hn_arena *a, hn_help_row *r, hn_help_span value, size_t *room) {
    if (!hn_span_name(value) || r->n_values >= 256) return;
    if (r->n_values == *room) {
        size_t more = *room ? 2 * *room : 8;
        const char **v = HN_NEW_N(a, const char *, more);
        if (!v) return;
        if (r->n_values) memcpy(v, r->value, r->n_values * sizeof *v);
        r->value = v;
        *room = more;
    }
    const char *text = hn_span_copy(a, value);
    if (text) r->value[r->n_values++] = text;
}

void hn_help_clang(hn_arena *a, const char *text, size_t n, hn_help *out) {
    hn_help_text t = {text, text + n};
    hn_help_span line;
    size_t owner = SIZE_MAX, room = 0; /* the row that "=value" lines belong to */
    while (hn_help_line(&t, &line) && hn_arena_ok(a)) {
        size_t indent = hn_span_indent(line);
        hn_help_span rest = line, word = hn_span_word(&rest);
        if (!word.n || indent < 2) {
            owner = SIZE_MAX;
        } else if (word.at[0] == '=' && owner != SIZE_MAX) {
            add_value(a, &out->row[owner], (hn_help_span){word.at + 1, word.n - 1}, &room);
        } else if (word.at[0] == '-' && indent <= 3 && word.n > 1) {
            hn_help_row *r = option(a, out, word);
            owner = r ? out->n - 1 : SIZE_MAX;
            room = 0;
            if (r) r->rest = description(a, rest);
        } else if (indent <= 3) {
            owner = SIZE_MAX;
        }
    }
}

void hn_help_clang_values(hn_arena *a, const char *text, size_t n, hn_help *out) {
    hn_help_text t = {text, text + n};
    hn_help_span line;
    while (hn_help_line(&t, &line) && hn_arena_ok(a)) {
        hn_help_span rest = line, word = hn_span_word(&rest), equals = hn_span_word(&rest);
        if (!word.n || word.at[0] != '-' || !hn_span_is(equals, "=") || hn_span_indent(line) < 2) continue;
        hn_help_span name = strip_dashes(word);
        size_t cut = hn_span_find(rest, "(default:");
        if (!hn_span_name(name)) continue;
        hn_help_row *r = hn_help_add(a, out, name);
        if (!r) return;
        char *value = hn_span_copy(a, hn_span_trim((hn_help_span){rest.at, cut == SIZE_MAX ? rest.n : cut}));
        r->rest = value && strcmp(value, "*cannot print option value*") != 0 ? value : "";
    }
}
