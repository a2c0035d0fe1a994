/* draft/offer.c — what was seen in a try, written into the text of a draft. */
#include "draft/draft_int.h"

#include "base/err.h"
#include "base/yaml.h"
#include "tune/workload_int.h"

#include <stdlib.h>
#include <string.h>

#define GOALS "\n# What better means."
#define OBJECTIVE "  - minimize time\n"
#define PARITY "parity: exact\n"

/* "NAME", "minimize NAME", "maximize NAME": the metric that was asked for, and how it was seen. */
typedef struct wanted {
    const char *name;
    bool maximize;
} wanted;

static hone_rc find_wanted(const hn_tried *seen, const char *metric, wanted *out, hone_err *err) {
    bool least = hn_starts_with(metric, "minimize "), most = hn_starts_with(metric, "maximize ");
    const char *name = metric + (least || most ? 9 : 0);
    hn_str names = {0};
    for (size_t i = 0; i < seen->n_metrics; i++) {
        const hone_draft_metric *m = &seen->metric[i];
        hn_str_addf(&names, "%s'%s'", names.n ? ", " : "", m->name);
        if (strcmp(m->name, name) != 0) continue;
        *out = (wanted){m->name, most || (!least && m->maximize)};
        hn_str_free(&names);
        return HONE_OK;
    }
    hone_rc rc = hn_fail(err, HONE_E_NOTFOUND, "the program prints no metric '%s' as \"name: value\"; %s%s", name,
                         names.n ? "it prints " : "it prints none", names.n ? names.text : "");
    hn_str_free(&names);
    return rc;
}

static bool is_own_line(const hn_tried *seen, const char *name) {
    for (size_t i = 0; i < seen->n_own_lines; i++)
        if (!strcmp(seen->own_line[i], name)) return true;
    return false;
}

/* Declared are the metrics whose lines differ from run to run, and the one that is asked for: they are no output. */
static void declare(hn_str *s, const hn_tried *seen, const wanted *w) {
    size_t n = 0;
    for (size_t i = 0; i < seen->n_metrics; i++) {
        const char *name = seen->metric[i].name;
        if (!is_own_line(seen, name) && !(w->name && !strcmp(w->name, name))) continue;
        hn_str_add(s, n++ ? ", "
                          : "\n# Lines that the program prints about its own speed; they are no output to compare.\n"
                            "metrics: [");
        hn_yaml_add_scalar(s, name);
    }
    if (n) hn_str_add(s, "]\n");
}

static void offer_others(hn_str *s, const hn_tried *seen, const wanted *w) {
    for (size_t i = 0; i < seen->n_metrics; i++) {
        const hone_draft_metric *m = &seen->metric[i];
        if (!m->is_measure || (w->name && !strcmp(w->name, m->name))) continue;
        bool taken = hn_metric_is_taken(m->name) && !is_own_line(seen, m->name);
        hn_str_addf(s, "#  - %s %s # the program prints it%s\n", m->maximize ? "maximize" : "minimize", m->name,
                    taken ? "; declare it under metrics, since hone has one of that name" : "");
    }
}

static void add_until(hn_str *s, const char **at, const char *mark) {
    const char *found = strstr(*at, mark);
    if (!found) return;
    hn_str_add_n(s, *at, (size_t)(found - *at));
    *at = found;
}

/* diff leaves out what only such lines change. */
static void write_command(hn_str *s, const hn_tried *seen) {
    hn_str_add(s, "# so that lines which begin like it are left out of the comparison.\nparity: {command: \"diff");
    for (size_t i = 0; i < seen->n_changing; i++) {
        hn_str_add(s, " -I '^");
        for (const char *p = seen->changing[i]; *p; p++) hn_str_addf(s, *p == '.' ? "[%c]" : "%c", *p);
        hn_str_add(s, "'");
    }
    hn_str_add(s, " {expected} {actual}\"}\n");
}

static void write_parity(hn_str *s, const char **at, const hn_tried *seen) {
    add_until(s, at, PARITY);
    if (!seen->differs || !hn_starts_with(*at, PARITY)) return;
    hn_str_add(s, "# Two runs of the baseline printed different text, first in the line\n#   ");
    for (size_t i = 0; seen->differs[i] && i < 80; i++)
        hn_str_addf(s, "%c", (unsigned char)seen->differs[i] < 0x20 ? ' ' : seen->differs[i]);
    hn_str_add(s, "\n");
    if (seen->n_changing)
        write_command(s, seen);
    else
        hn_str_add(s,
                   "# so that outputs are not compared: let the program print what does not change, then say exact.\n"
                   "parity: none\n");
    *at += strlen(PARITY);
}

hone_rc hn_draft_offer(const char *text, const hn_tried *seen, const char *metric, char **out, hone_err *err) {
    wanted w = {0};
    hn_str s = {0};
    const char *at = text;
    if (metric) {
        hone_rc rc = find_wanted(seen, metric, &w, err);
        if (rc) return rc;
    }
    add_until(&s, &at, GOALS);
    if (hn_starts_with(at, GOALS)) declare(&s, seen, &w);
    add_until(&s, &at, OBJECTIVE);
    if (hn_starts_with(at, OBJECTIVE)) {
        if (w.name)
            hn_str_addf(&s, "  - %s %s\n#  - minimize time\n", w.maximize ? "maximize" : "minimize", w.name);
        else
            hn_str_add(&s, OBJECTIVE);
        at += strlen(OBJECTIVE);
        offer_others(&s, seen, &w);
    }
    write_parity(&s, &at, seen);
    hn_str_add(&s, at);
    char *got = hn_str_take(&s);
    if (!got) return hn_fail(err, HONE_E_NOMEM, "out of memory drafting a workload");
    *out = got;
    return HONE_OK;
}
