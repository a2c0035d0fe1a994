/* target/help_nvidia.c — reads what NVIDIA's compilers print with --help.
 *
 *     "--def-load-cache            (-dlcm)  "     an option, its short name; two columns, the first at the margin
 *     "--fmad <true|false>         (-fmad)"       or {true|false}: it takes a value
 *     "        Default cache …"                   its description
 *     "        Allowed values for this option:  '0','max'"      over several lines, up to a full stop
 *
 * Rows are named by the short name, with the long one as `type`. */
#include "target/help_int.h"

#include <string.h>

/* The word in the last parentheses of the line. */
static hn_help_span short_name(hn_help_span line) {
    size_t end = line.n;
    while (end && line.at[end - 1] != ')') end--;
    size_t from = end;
    while (from && line.at[from - 1] != '(') from--;
    if (!from || end < from + 2 || line.at[from] != '-') return (hn_help_span){line.at, 0};
    return (hn_help_span){line.at + from, end - 1 - from};
}

static hn_help_row *option(hn_arena *a, hn_help *out, hn_help_span line) {
    hn_help_span rest = line, name = hn_span_word(&rest), brief = short_name(line);
    size_t bracket = hn_span_find(name, "("); /* a name that fills its column */
    if (bracket != SIZE_MAX) name.n = bracket;
    if (!hn_span_name(name) || name.n < 3) return NULL;
    hn_help_row *r = hn_help_add(a, out, hn_span_name(brief) ? brief : name);
    if (!r) return NULL;
    r->type = hn_span_copy(a, name);
    r->takes_value = rest.n && rest.at[0] != '(' && rest.at[0] != '-';
    return r;
}

/* "'0','max'," and more on the next line. */
static void quoted_values(hn_arena *a, hn_help_row *r, hn_help_text t) {
    hn_help_span line, all = {t.at, 0};
    while (hn_help_line(&t, &line)) {
        hn_help_span x = hn_span_trim(line);
        if (!x.n || x.at[0] != '\'') break;
        all.n = (size_t)(x.at + x.n - all.at);
        if (x.at[x.n - 1] == '.') break;
    }
    char *text = hn_span_copy(a, all);
    for (char *p = text; p && *p; p++)
        if (*p == '\'') *p = ' ';
    size_t n = text ? strlen(text) : 0;
    while (n && (text[n - 1] == '.' || text[n - 1] == ' ')) n--;
    if (text) hn_help_values(a, r, (hn_help_span){text, n}, ',');
}

void hn_help_nvidia(hn_arena *a, const char *text, size_t n, hn_help *out) {
    static const char key[] = "Allowed values for this option:";
    hn_help_text t = {text, text + n};
    hn_help_span line;
    hn_help_row *open = NULL;
    while (hn_help_line(&t, &line) && hn_arena_ok(a)) {
        hn_help_span words = hn_span_trim(line);
        size_t at = hn_span_find(words, key);
        if (hn_span_starts(line, "--"))
            open = option(a, out, line);
        else if (hn_span_indent(line) < 4 || !open)
            open = words.n ? NULL : open;
        else if (at != SIZE_MAX) {
            const char *from = words.at + at + sizeof key - 1;
            while (from < t.end && *from == ' ') from++;
            quoted_values(a, open, (hn_help_text){from, t.end});
        } else if (words.n && !*open->rest)
            open->rest = hn_span_copy(a, words);
    }
}
