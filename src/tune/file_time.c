/* tune/file_time.c — see file_time.h. */
#include "tune/file_time.h"

#include "base/locale.h"
#include "base/str.h"

#include <string.h>

/* A file with less of the time than this has nothing to give. */
static const double share_least = 0.03;

bool hn_file_time_open(hn_file_time *t, hn_arena *a, const char *const *source, size_t n) {
    *t = (hn_file_time){.arena = a, .source = source, .n = n, .time = HN_NEW_N(a, double, n + 1)};
    return t->time != NULL;
}

/* --- functions ---------------------------------------------------------------------------------------------------- */

static void add_symbol(hn_file_time *t, const char *name, size_t n, size_t file) {
    if (t->n_symbols == t->room) {
        size_t room = 2 * t->room + 256;
        hn_file_symbol *more = HN_NEW_N(t->arena, hn_file_symbol, room);
        if (!more) return;
        if (t->n_symbols) memcpy(more, t->symbol, t->n_symbols * sizeof *more);
        t->symbol = more;
        t->room = room;
    }
    const char *copy = hn_strndup(t->arena, name, n);
    if (copy) t->symbol[t->n_symbols++] = (hn_file_symbol){copy, file};
}

void hn_file_time_symbols(hn_file_time *t, const char *text, size_t file) {
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t n = strcspn(line, " \n");
        if (line[n] == ' ' && line[n + 1] && strchr("tTwWiu", line[n + 1])) add_symbol(t, line, n, file);
    }
}

/* Clones of a function ("f.part.0") that only the linked program has count for the function. */
static void count(hn_file_time *t, const char *name, size_t n, double amount) {
    for (; n; n--) {
        for (size_t i = 0; i < t->n_symbols; i++)
            if (strlen(t->symbol[i].name) == n && !strncmp(t->symbol[i].name, name, n)) {
                t->time[t->symbol[i].file] += amount;
                return;
            }
        while (n > 1 && name[n - 1] != '.') n--;
    }
}

/* --- samples ------------------------------------------------------------------------------------------------------ */

/* "   7f00 NAME (PATH/prog)". */
void hn_file_time_perf(hn_file_time *t, const char *text) {
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t all = strcspn(line, "\n");
        const char *name = line + strspn(line, " \t");
        name += strcspn(name, " \n");
        name += *name == ' ';
        bool own = all > 6 && !strncmp(line + all - 6, "/prog)", 6);
        if (own && name < line + all) count(t, name, strcspn(name, " +\n"), 1);
    }
}

/* "  66.78   0.12   0.12 … NAME": the third column is the function's own time. */
void hn_file_time_gprof(hn_file_time *t, const char *text) {
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        char *at;
        size_t all = strcspn(line, "\n");
        const char *last = line + all;
        hn_strtod(line, &at);
        if (at == line) continue;
        hn_strtod(at, &at);
        double own_s = hn_strtod(at, &at);
        while (last > at && last[-1] != ' ') last--;
        if (last > at) count(t, last, (size_t)(line + all - last), own_s);
    }
}

/* --- the hottest -------------------------------------------------------------------------------------------------- */

/* A file that is compiled twice, with different options, is one: its time stands with the first. */
static void join_same(hn_file_time *t) {
    for (size_t i = 1; i < t->n; i++) {
        size_t k = 0;
        while (strcmp(t->source[k], t->source[i]) != 0) k++;
        if (k == i) continue;
        t->time[k] += t->time[i];
        t->time[i] = 0;
    }
}

const char *hn_file_time_hottest(hn_file_time *t, size_t most, hn_arena *a) {
    double total = 0;
    hn_str s = {0};
    join_same(t);
    for (size_t i = 0; i < t->n; i++) total += t->time[i];
    for (size_t k = 0; k < most && total > 0; k++) {
        size_t best = 0;
        for (size_t i = 1; i < t->n; i++)
            if (t->time[i] > t->time[best]) best = i;
        if (t->time[best] < share_least * total) break;
        hn_str_addf(&s, "%.3f %s\n", t->time[best] / total, t->source[best]);
        t->time[best] = -1;
    }
    const char *text = s.failed ? NULL : hn_strdup(a, s.text ? s.text : "");
    hn_str_free(&s);
    return text;
}
