/* choices.c — the search over the branches of conditions: depth first, a reading of the model for each step. */
#include "onnx/choices.h"

#include "onnx/import_int.h"

#include <string.h>

enum { MOST_READINGS = 200, MOST_BOTH = 4 }; /* versions double with each that has both */

typedef struct search {
    hn_importer *im;
    bool (*read)(hn_importer *im);
    hn_str lines; /* refusals of all readings that failed, each once */
} search;

hn_take hn_choices_next(hn_importer *im, uint32_t *at) {
    hn_choices *c = &im->choices;
    *at = c->n_if++;
    for (size_t i = 0; i < c->n; i++)
        if (c->list[i].at == *at) return c->list[i].take;
    return HN_TAKE_OPEN;
}

void hn_choices_open(hn_importer *im, uint32_t at, const char *shown) {
    if (im->choices.open) return;
    im->choices.open = true;
    im->choices.at = at;
    im->choices.shown = hn_strdup(im->arena, shown);
    hn_import_wrong(im, HONE_E_UNSUPPORTED, "%s: which branch is taken is not known", shown);
}

static bool read_again(search *s) {
    hn_choices *c = &s->im->choices;
    c->n_if = 0;
    c->open = false;
    c->n_readings++;
    return s->read(s->im);
}

static void keep_line(hn_str *lines, const char *text, size_t n) {
    for (const char *at = lines->text; at && *at; at = strchr(at, '\n') + 1)
        if (!strncmp(at, text, n) && at[n] == '\n') return;
    hn_str_add_n(lines, text, n);
    hn_str_add(lines, "\n");
}

static void keep_refusals(search *s) {
    const hn_importer *im = s->im;
    for (const char *at = im->n_refused ? im->report.text : NULL; at && *at; at = strchr(at, '\n') + 1)
        keep_line(&s->lines, at, strcspn(at, "\n"));
    if (im->err.rc && !im->choices.open) keep_line(&s->lines, im->err.text, strcspn(im->err.text, "\n"));
}

/* Both branches fit, but not as two versions. */
static void keep_ambiguous(search *s, const char *shown) {
    char *text = hn_format(s->im->arena,
                           "%s: what it decides is not known at compile time, both branches fit what follows, and as "
                           "two versions they do not; fix a size with --symbol, so that it is decided",
                           shown);
    if (text) keep_line(&s->lines, text, strlen(text));
}

static bool explore(search *s);

static bool try_with(search *s, const hn_choices *from, hn_take take) {
    hn_choices *c = &s->im->choices;
    size_t n_readings = c->n_readings;
    *c = *from;
    c->n_readings = n_readings;
    c->n_both += take == HN_TAKE_BOTH;
    c->list[c->n].at = from->at;
    c->list[c->n++].take = take;
    return explore(s);
}

/* Reads under the choices so far and, where an If is open, under each of its branches. True: im->choices is a list
 * under which the model stands (the last reading may have been another one). */
static bool explore(search *s) {
    hn_choices *c = &s->im->choices;
    if (c->n_readings > MOST_READINGS) return false;
    if (read_again(s)) return true;
    if (!c->open || c->n == HN_CHOICES_MOST) {
        keep_refusals(s);
        return false;
    }
    const hn_choices here = *c;
    bool yes = try_with(s, &here, HN_TAKE_THEN);
    const hn_choices with_yes = *c;
    bool no = try_with(s, &here, HN_TAKE_ELSE);
    if (yes && no) {
        size_t n_said = s->lines.n;
        if (here.n_both < MOST_BOTH && try_with(s, &here, HN_TAKE_BOTH)) return true;
        if (s->lines.text) s->lines.text[s->lines.n = n_said] = 0;
        keep_ambiguous(s, here.shown);
        return false;
    }
    if (yes) {
        size_t n_readings = c->n_readings;
        *c = with_yes;
        c->n_readings = n_readings;
    }
    return yes || no;
}

/* What all readings refused becomes the report. */
static void report_all(search *s) {
    hn_importer *im = s->im;
    im->err = (hone_err){0};
    im->n_refused = 0;
    hn_str_free(&im->report);
    im->report = s->lines;
    s->lines = (hn_str){0};
    for (const char *at = im->report.text; at && *at; at = strchr(at, '\n') + 1) im->n_refused++;
}

void hn_choices_search(hn_importer *im, bool (*read)(hn_importer *im)) {
    search s = {.im = im, .read = read};
    bool stands = explore(&s);
    if (stands && im->choices.n)
        read_again(&s);
    else if (!stands && im->g && hn_arena_ok(im->arena) && im->choices.n_readings > 1)
        report_all(&s);
    hn_str_free(&s.lines);
}
