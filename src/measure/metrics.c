/* measure/metrics.c — samples from what a program printed. */
#include "base/err.h"
#include "base/locale.h"
#include "measure/outcome.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Caps, so that a program printing nonsense costs neither time nor memory beyond reason. */
enum { METRICS_MAX_N = 256, LINE_MAX_B = 4096, JSON_MAX_B = 64 << 20 };

/* times and over: dividing by 1e6 is exact where multiplying by 1e-6 is not. */
static const struct unit {
    const char *name;
    double times, over;
} unit[] = {
    {"ns", 1, 1e9},
    {"us", 1, 1e6},
    {"\xc2\xb5s", 1, 1e6},
    {"ms", 1, 1e3},
    {"s", 1, 1},
    {"sec", 1, 1},
    {"seconds", 1, 1},
    {"min", 60, 1},
    {"B", 1, 1},
    {"bytes", 1, 1},
    {"kB", 1e3, 1},
    {"KB", 1e3, 1},
    {"MB", 1e6, 1},
    {"GB", 1e9, 1},
    {"TB", 1e12, 1},
    {"KiB", 1024, 1},
    {"MiB", 1048576, 1},
    {"GiB", 1073741824, 1},
    {"TiB", 1099511627776, 1},
};

/* NULL: not known. */
static const struct unit *find_unit(const char *name) {
    for (size_t i = 0; i < sizeof unit / sizeof *unit; i++)
        if (strcmp(unit[i].name, name) == 0) return &unit[i];
    return NULL;
}

static double in_base(double v, const struct unit *u) { return u ? v * u->times / u->over : v; }

struct gather {
    hn_arena *arena;
    hn_metric *metric;
    double *sample[METRICS_MAX_N]; /* writable views of metric[i].sample */
    size_t room[METRICS_MAX_N], n, n_bad;
};

static void add_sample(struct gather *g, const char *name, size_t name_n, double v) {
    size_t i = 0;
    while (i < g->n && (strlen(g->metric[i].name) != name_n || memcmp(g->metric[i].name, name, name_n) != 0)) i++;
    if (i == METRICS_MAX_N || !isfinite(v)) {
        g->n_bad++;
        return;
    }
    hn_metric *m = &g->metric[i];
    if (i == g->n) {
        m->name = hn_strndup(g->arena, name, name_n);
        if (!m->name) return;
        g->n++;
    }
    if (m->n == g->room[i]) {
        size_t room = m->n ? 2 * m->n : 16;
        double *grown = HN_NEW_N(g->arena, double, room);
        if (!grown) return;
        if (m->n) memcpy(grown, m->sample, m->n * sizeof *grown);
        m->sample = g->sample[i] = grown;
        g->room[i] = room;
    }
    g->sample[i][m->n++] = v;
}

typedef void line_reader(struct gather *g, const char *line, size_t n);

static hone_rc gather_lines(hn_arena *a, const char *text, size_t n, line_reader *read, hn_metrics *out, size_t *n_bad,
                            hone_err *err) {
    struct gather *g = calloc(1, sizeof *g);
    if (g) g->metric = HN_NEW_N(a, hn_metric, METRICS_MAX_N);
    if (g) g->arena = a;
    for (size_t at = 0; g && g->metric && at < n;) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t len = end ? (size_t)(end - text) - at : n - at;
        size_t cut = len > 0 && text[at + len - 1] == '\r' ? len - 1 : len;
        read(g, text + at, cut);
        at += len + 1;
    }
    bool good = g && hn_arena_ok(a);
    if (good) {
        *out = (hn_metrics){g->metric, g->n};
        if (n_bad) *n_bad = g->n_bad;
    }
    free(g);
    return good ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory reading a program's metrics");
}

/* --- harness lines --------------------------------------------------------------------------------------------- */

static void read_object(struct gather *g, const json_t *o) {
    const char *name = json_string_value(json_object_get(o, "metric"));
    const char *u = json_string_value(json_object_get(o, "unit"));
    const json_t *samples = json_object_get(o, "samples");
    if (!name || !*name || !json_is_array(samples) || json_array_size(samples) == 0) {
        g->n_bad++;
        return;
    }
    const struct unit *unit_of = u ? find_unit(u) : NULL;
    for (size_t i = 0; i < json_array_size(samples); i++) {
        const json_t *v = json_array_get(samples, i);
        if (json_is_number(v))
            add_sample(g, name, strlen(name), in_base(json_number_value(v), unit_of));
        else
            g->n_bad++;
    }
}

/* A line of another program's JSON is none of ours; one that starts like ours but is broken is counted. */
static void read_harness_line(struct gather *g, const char *line, size_t n) {
    static const char start[] = "{\"hone-bench\":";
    if (n < sizeof start - 1 || memcmp(line, start, sizeof start - 1) != 0) return;
    json_t *o = n <= JSON_MAX_B ? json_loadb(line, n, JSON_REJECT_DUPLICATES, NULL) : NULL;
    bool ours = o && json_integer_value(json_object_get(o, "hone-bench")) == 1;
    if (ours && (json_object_get(o, "device") || json_object_get(o, "fault"))) {
        json_decref(o);
        return; /* lines without samples */
    }
    if (ours)
        read_object(g, o);
    else
        g->n_bad++;
    json_decref(o);
}

hone_rc hn_metrics_from_harness(hn_arena *a, const char *text, size_t n, hn_metrics *out, size_t *n_bad,
                                hone_err *err) {
    return gather_lines(a, text, n, read_harness_line, out, n_bad, err);
}

bool hn_fault_from_harness(const char *text, size_t n, char *cls, size_t n_cls, char *detail, size_t n_detail) {
    bool found = false;
    for (size_t at = 0; at < n;) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t len = end ? (size_t)(end - text) - at : n - at;
        json_t *o = len <= JSON_MAX_B && memmem(text + at, len, "\"fault\"", 7)
                        ? json_loadb(text + at, len, JSON_REJECT_DUPLICATES, NULL)
                        : NULL;
        const char *name = o ? json_string_value(json_object_get(o, "fault")) : NULL;
        const char *why = o ? json_string_value(json_object_get(o, "detail")) : NULL;
        if (name && json_integer_value(json_object_get(o, "hone-bench")) == 1) {
            snprintf(cls, n_cls, "%s", name);
            snprintf(detail, n_detail, "%s", why ? why : "");
            found = true;
        }
        json_decref(o);
        at += len + 1;
    }
    return found;
}

/* --- plain lines ----------------------------------------------------------------------------------------------- */

static bool name_char(char c) { return isalnum((unsigned char)c) || strchr("_.-/", c); }

static size_t name_length(const char *p) {
    size_t n = 0;
    if (!isalpha((unsigned char)*p) && *p != '_') return 0;
    while (p[n] && name_char(p[n])) n++;
    return n;
}

static const char *skip_blanks(const char *p) { return p + strspn(p, " \t"); }

/* "iterations/s", "MB/s": what is counted in a second names itself. */
static bool is_rate(const char *name, size_t n) { return n > 2 && !memcmp(name + n - 2, "/s", 2); }

/* "12.3 MB/s", all of a line: the unit is the name. */
static void read_bare_rate(struct gather *g, const char *line) {
    char *end;
    double v = hn_strtod(line, &end);
    const char *name = skip_blanks(end);
    size_t n = name_length(name);
    if (end > line && name > end && is_rate(name, n) && !name[n] && isfinite(v)) add_sample(g, name, n, v);
}

/* "name: value [unit]", "name = value [unit]", "name value unit" with a known unit, "name/s value", "value name/s".
 * Prose is not counted as bad; a name, a separator and something that begins like a number but is none (nan, inf, 3x5)
 * is. */
static void read_plain_line(struct gather *g, const char *line, size_t n) {
    char buf[LINE_MAX_B];
    if (n >= sizeof buf) return;
    memcpy(buf, line, n);
    buf[n] = 0;
    if (strlen(buf) != n) return;
    while (n > 0 && isspace((unsigned char)buf[n - 1])) buf[--n] = 0;
    const char *name = skip_blanks(buf);
    size_t name_n = name_length(name);
    if (name_n == 0) {
        read_bare_rate(g, name);
        return;
    }
    const char *p = skip_blanks(name + name_n);
    bool separated = *p == ':' || *p == '=', spaced = p > name + name_n;
    if (separated) p = skip_blanks(p + 1);
    char *end;
    double v = hn_strtod(p, &end);
    if (end == p || (!separated && !spaced)) return;
    const char *u = skip_blanks(end);
    const struct unit *known = find_unit(u);
    if (!separated && !known && !(is_rate(name, name_n) && !*u)) return;
    bool one_word = strcspn(u, " \t") == strlen(u), digit_end = isxdigit((unsigned char)end[-1]) || end[-1] == '.';
    bool glued = *u && u == end && !known && *u != '%';
    if (!isfinite(v) || !digit_end || !one_word || glued)
        g->n_bad++;
    else
        add_sample(g, name, name_n, in_base(v, known));
}

hone_rc hn_metrics_from_lines(hn_arena *a, const char *text, size_t n, hn_metrics *out, size_t *n_bad, hone_err *err) {
    return gather_lines(a, text, n, read_plain_line, out, n_bad, err);
}

const hn_metric *hn_metrics_find(const hn_metrics *m, const char *name) {
    for (size_t i = 0; i < m->n; i++)
        if (strcmp(m->metric[i].name, name) == 0) return &m->metric[i];
    return NULL;
}
