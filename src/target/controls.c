/* target/controls.c — lists of controls, rules, and the ranges tried for integers.
 *
 * Compilers print few upper bounds, and huge values make some passes take minutes, so a range is drawn around the
 * default: up to 16 times it where nothing is printed, at most 64 times it where a wide range is. Probing then
 * shrinks it to what the compiler accepts in reasonable time. */
#include "target/target_int.h"

#include <math.h>
#include <string.h>

hn_control *hn_control_add(hn_arena *a, hn_controls *list, const char *name, const char *doc, hn_class cls) {
    if (list->n == list->room) {
        size_t room = list->room ? 2 * list->room : 128;
        hn_control *item = HN_NEW_N(a, hn_control, room);
        if (!item) return NULL;
        if (list->n) memcpy(item, list->item, list->n * sizeof *item);
        list->item = item;
        list->room = room;
    }
    hn_control *c = &list->item[list->n];
    *c = (hn_control){.name = hn_strdup(a, name), .cls = cls, .lo = NAN, .hi = NAN, .dflt = NAN};
    c->doc = hn_strdup(a, doc ? doc : "");
    if (!c->name || !c->doc) return NULL;
    list->n++;
    return c;
}

void hn_control_values(hn_arena *a, hn_control *c, const char *text, char separator) {
    size_t n = 1;
    for (const char *p = text; *p; p++) n += *p == separator;
    const char **value = HN_NEW_N(a, const char *, n);
    c->form = HN_CHOICE;
    c->n_values = 0;
    while (value && *text) {
        const char *stop = strchr(text, separator);
        size_t len = stop ? (size_t)(stop - text) : strlen(text);
        if (len && (value[c->n_values] = hn_strndup(a, text, len))) c->n_values++;
        text += stop ? len + 1 : len;
    }
    c->value = value;
}

bool hn_control_takes_file(const hn_control *c) {
    return c->form == HN_CHOICE && c->n_values == 1 && c->value[0] && !strcmp(c->value[0], HN_FILE_VALUE);
}

void hn_control_range(hn_control *c, double lo, double hi, double dflt) {
    const double most = 1e9; /* well inside the compilers' 32-bit integers */
    if (!(fabs(dflt) <= most)) dflt = NAN;
    double d = dflt > 0 ? dflt : 0;
    if (!(lo >= -most && lo <= most)) lo = 0;
    if (isnan(hi))
        hi = fmax(16 * d, 64);
    else if (hi > 1024)
        hi = fmin(hi, fmax(64 * d, 1024));
    hi = fmin(fmax(hi, lo), most);
    if (lo == 0 && hi > 256) lo = 1; /* a logarithmic scale is more useful than the value 0 */
    c->form = HN_RANGE;
    c->lo = lo;
    c->hi = hi;
    c->dflt = dflt >= lo && dflt <= hi ? dflt : NAN;
}

bool hn_glob(const char *pattern, const char *text) {
    const char *star = NULL, *back = NULL; /* the last star and how much it has matched: linear retries, no recursion */
    while (*text) {
        if (*pattern == '*') {
            star = pattern++;
            back = text;
        } else if (*pattern == *text) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star + 1;
            text = ++back;
        } else {
            return false;
        }
    }
    while (*pattern == '*') pattern++;
    return !*pattern;
}

hn_rule hn_rule_find(const hn_rule *rules, size_t n, const char *name, bool takes_value) {
    char full[256];
    size_t len = strnlen(name, sizeof full - 2);
    memcpy(full, name, len);
    /* parameters always take a value: their rules have no = */
    if (takes_value && strncmp(name, "--param=", 8) != 0) full[len++] = '=';
    full[len] = 0;
    for (size_t i = 0; i < n; i++)
        if (hn_glob(rules[i].pattern, full)) return rules[i];
    return (hn_rule){"", HN_IRRELEVANT, HN_WAY_BOTH, "not known to be safe"};
}
