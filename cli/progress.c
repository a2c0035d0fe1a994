/* progress.c — drawing the progress of a search. */
#include "progress.h"

#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const double redraw_s = 0.05, plain_s = 10; /* least time between two live redraws, two plain lines */

/* What HONE_PROGRESS_FD names, kept from compilers and measured programs. */
static FILE *open_told(void) {
    const char *name = getenv("HONE_PROGRESS_FD");
    uint64_t fd;
    if (!name || !cli_parse_count(name, &fd) || fd < 3 || fd > 65535) return NULL;
    unsetenv("HONE_PROGRESS_FD");
    if (fcntl((int)fd, F_SETFD, FD_CLOEXEC)) return NULL;
    return fdopen((int)fd, "w");
}

void cli_live_begin(cli_live *l, const cli *c, const volatile int *resized) {
    *l = (cli_live){.c = c, .resized = resized, .best = 1, .last_s = -INFINITY};
    l->quiet = cli_given(c, "quiet");
    l->verbose = cli_given(c, "verbose") && !l->quiet;
    l->width = cli_width(stderr);
    l->terminal = l->width > 0;
    l->told = open_told();
}

/* --- the line ------------------------------------------------------------------------------------------------- */

static void put_bar(FILE *f, const cli *c, double share, int width) {
    int full = (int)(share * width + 0.5);
    for (int i = 0; i < width; i++) fputs(i < full ? (c->utf8 ? "\u2588" : "#") : (c->utf8 ? "\u2591" : "."), f);
    fputc(' ', f);
}

static size_t n_failed(const hone_tune_event *e) {
    size_t n = 0;
    for (int i = HONE_RUN_OK + 1; i < HONE_N_CLASSES; i++) n += e->n_class[i];
    return n;
}

/* "failed 7 (4 build_error, 3 wrong_result)", or without the classes. */
static char *failed_text(const hone_tune_event *e, bool classes) {
    char *text = NULL;
    size_t size = 0;
    const char *gap = " (";
    FILE *f = open_memstream(&text, &size);
    if (!f) return cli_strdup("");
    fprintf(f, "failed %zu", n_failed(e));
    for (int i = HONE_RUN_OK + 1; classes && i < HONE_N_CLASSES; i++)
        if (e->n_class[i])
            fprintf(f, "%s%zu %s", gap, e->n_class[i], hone_outcome_class_name((hone_outcome_class)i)), gap = ", ";
    if (*gap == ',') fputc(')', f);
    fclose(f);
    return text;
}

enum { PARTS = 6 };

/* The parts of the line, most important first. */
static size_t make_parts(const cli_live *l, char *part[PARTS]) {
    const hone_tune_event *e = &l->event;
    char a[CLI_TEXT_N], b[CLI_TEXT_N];
    size_t n = 0;
    if (*l->stage)
        part[n++] = cli_strdup(l->stage);
    else if (e->base.total)
        part[n++] = cli_format("%zu/%zu", e->base.done, e->base.total);
    else
        part[n++] = cli_format("%zu trials", e->base.done);
    bool begun = e->stage != HONE_TUNE_DISCOVER && e->stage != HONE_TUNE_BASELINE;
    if (begun && isfinite(e->best_speedup)) part[n++] = cli_format("best %s", cli_text_ratio(l->c, e->best_speedup, a));
    part[n++] = isnan(e->base.left_s) ? cli_format("%s", cli_text_duration(e->base.elapsed_s, a))
                                      : cli_format("%s, %s left", cli_text_duration(e->base.elapsed_s, a),
                                                   cli_text_duration(e->base.left_s, b));
    if (n_failed(e)) part[n++] = failed_text(e, l->width == 0 || l->width >= 110);
    if (e->n_reused) part[n++] = cli_format("%zu known objects", e->n_reused);
    return n;
}

/* Puts the bar when there is room for it and for the three first parts, then as many parts as fit. */
static void put_line(const cli_live *l, FILE *f, int width) {
    char *part[PARTS];
    size_t n = make_parts(l, part), fit = 0;
    int bar = l->terminal && l->event.base.total && !*l->stage && width >= 60 ? width / 6 : 0, used = 0;
    if (bar > 24) bar = 24;
    if (bar) put_bar(f, l->c, fmin(1, (double)l->event.base.done / (double)l->event.base.total), bar), used = bar + 1;
    for (; fit < n; fit++) {
        int more = (int)cli_columns(part[fit]) + (fit ? 2 : 0);
        if (used + more > width) break;
        fprintf(f, "%s%s", fit ? "  " : "", part[fit]);
        used += more;
    }
    if (!fit) cli_put(l->c, f, part[0], (size_t)width);
    for (size_t i = 0; i < n; i++) free(part[i]);
}

/* The same for programs. text: a sentence; NULL: the line that people see. */
static void tell(cli_live *l, const char *stage, const char *text) {
    const hone_tune_event *e = &l->event;
    char *line = NULL;
    size_t size = 0;
    if (!l->told) return;
    FILE *f = text ? NULL : open_memstream(&line, &size);
    if (f) put_line(l, f, 200), fclose(f);
    cli_json j = cli_json_to(l->told, true);
    cli_json_object(&j);
    cli_json_ktext(&j, "stage", stage);
    cli_json_kcount(&j, "done", e->base.done);
    cli_json_kcount(&j, "total", e->base.total);
    cli_json_knumber(&j, "elapsed_s", e->base.elapsed_s);
    cli_json_knumber(&j, "left_s", e->base.left_s);
    cli_json_knumber(&j, "best", e->best_speedup);
    cli_json_kcount(&j, "session", (uint64_t)e->session);
    cli_json_ktext(&j, "text", text ? text : line);
    cli_json_end(&j);
    fflush(l->told);
    free(line);
}

static void wipe(cli_live *l) {
    if (l->drawn) fputs("\r\033[K", stderr);
    l->drawn = false;
}

static void draw(cli_live *l, bool now) {
    double t = l->event.base.elapsed_s;
    if (l->quiet) return;
    if (l->terminal && l->resized && *l->resized) l->width = cli_width(stderr);
    if (!now && t - l->last_s < (l->terminal ? redraw_s : plain_s)) return;
    l->last_s = t;
    if (l->terminal) wipe(l);
    put_line(l, stderr, l->terminal ? l->width - 1 : 200);
    if (!l->terminal) fputc('\n', stderr);
    l->drawn = l->terminal;
    fflush(stderr);
}

/* --- lines that stay ------------------------------------------------------------------------------------------ */

static void put_note(cli_live *l, const char *what, cli_ink color, const char *text) {
    wipe(l);
    fprintf(stderr, "%s%s:%s ", cli_paint(l->c->color_err, color), what, cli_paint(l->c->color_err, CLI_PLAIN));
    cli_put(l->c, stderr, text ? text : "", 0);
    fputc('\n', stderr);
}

static void put_gain(cli_live *l, const hone_tune_event *e) {
    char g[CLI_TEXT_N], t[CLI_TEXT_N];
    const char *origin = e->trial && e->trial->origin ? e->trial->origin : "";
    wipe(l);
    fprintf(stderr, "%strial %-5zu %s  %s  %s%s\n", cli_paint(l->c->color_err, CLI_GREEN), e->base.done,
            cli_text_ratio(l->c, e->best_speedup, g), cli_text_duration(e->base.elapsed_s, t), origin,
            cli_paint(l->c->color_err, CLI_PLAIN));
}

static void put_trial(cli_live *l, const hone_tune_event *e) {
    const hone_trial *x = e->trial;
    const char *detail = x->detail ? x->detail : "";
    wipe(l);
    fprintf(stderr, "%strial %-5zu %-13s %-7s ", cli_paint(l->c->color_err, CLI_DIM), e->base.done,
            hone_outcome_class_name(x->outcome.cls), x->origin ? x->origin : "");
    if (x->outcome.cls != HONE_RUN_OK) {
        char *line = cli_format("%.*s", (int)strcspn(detail, "\n"), detail);
        cli_put(l->c, stderr, line, l->terminal && l->width > 50 ? (size_t)l->width - 36 : 0);
        free(line);
    } else if (x->same_as)
        fprintf(stderr, "same object as trial %lld", (long long)x->same_as);
    fprintf(stderr, "%s\n", cli_paint(l->c->color_err, CLI_PLAIN));
}

/* Reports the result of each plain level of a compiler, to compare it with the gain of further options. */
static void put_plain(cli_live *l, const hone_tune_event *e, bool gain) {
    char g[CLI_TEXT_N];
    const hone_trial *x = e->trial;
    wipe(l);
    fprintf(stderr, "%strial %-5zu ", cli_paint(l->c->color_err, gain ? CLI_GREEN : CLI_DIM), e->base.done);
    if (x->outcome.cls == HONE_RUN_OK)
        fprintf(stderr, "%-7s", cli_text_ratio(l->c, e->speedup, g));
    else
        fprintf(stderr, "%s", hone_outcome_class_name(x->outcome.cls));
    fputs("  ", stderr);
    cli_put(l->c, stderr, e->base.text, l->terminal && l->width > 50 ? (size_t)l->width - 22 : 0);
    fprintf(stderr, "%s\n", cli_paint(l->c->color_err, CLI_PLAIN));
}

/* What the big choices brought, or what a program does not read, one a line. */
static void put_lines(cli_live *l, const char *label, const char *text) {
    wipe(l);
    for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        fprintf(stderr, "%-11s ", at == text ? label : "");
        fprintf(stderr, "%.*s\n", (int)strcspn(at, "\n"), at);
    }
    fflush(stderr);
}

static void on_trial(cli_live *l, const hone_tune_event *e) {
    bool gain = e->best_speedup > l->best * 1.0005;
    l->stage[0] = 0;
    if (e->base.text && !l->quiet)
        put_plain(l, e, gain);
    else if (gain && !l->quiet)
        put_gain(l, e);
    else if (l->verbose && e->trial)
        put_trial(l, e);
    if (gain) l->best = e->best_speedup;
    draw(l, e->base.total && e->base.done == e->base.total);
}

void cli_live_event(void *live, const hone_event *event) {
    const hone_tune_event *e = (const hone_tune_event *)event;
    cli_live *l = live;
    bool first = !*l->stage;
    if (e->stage == HONE_TUNE_HINT) {
        if (!l->quiet) put_note(l, "hint", CLI_GREEN, e->base.text);
        tell(l, e->base.stage, e->base.text);
        return;
    }
    if (e->stage == HONE_TUNE_WARNING) {
        cli_live_warn(l, e->base.text);
        return;
    }
    l->event = *e;
    switch (e->stage) {
    case HONE_TUNE_DISCOVER:
        if (e->base.total)
            snprintf(l->stage, sizeof l->stage, "asking the compiler: %zu of %zu", e->base.done, e->base.total);
        else
            snprintf(l->stage, sizeof l->stage, "looking at the compilers");
        draw(l, first);
        break;
    case HONE_TUNE_BASELINE:
        snprintf(l->stage, sizeof l->stage, "measuring the baseline");
        if (!e->base.done) draw(l, true);
        break;
    case HONE_TUNE_TRIAL: on_trial(l, e); break;
    case HONE_TUNE_EFFECTS:
    case HONE_TUNE_UNREAD:
        if (!l->quiet) put_lines(l, e->stage == HONE_TUNE_UNREAD ? "unread" : "choices", e->base.text);
        tell(l, e->base.stage, e->base.text);
        return;
    case HONE_TUNE_RACE:
        snprintf(l->stage, sizeof l->stage, "racing the best: round %zu of %zu", e->base.done, e->base.total);
        draw(l, e->base.done == 1);
        break;
    default: break;
    }
    tell(l, e->base.stage, NULL);
}

void cli_live_say(cli_live *l, double elapsed_s, bool now, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(l->stage, sizeof l->stage, fmt, ap);
    va_end(ap);
    l->event =
        (hone_tune_event){{.elapsed_s = elapsed_s, .left_s = NAN}, .stage = HONE_TUNE_DISCOVER, .best_speedup = NAN};
    draw(l, now);
    tell(l, "work", l->stage);
}

void cli_live_warn(cli_live *l, const char *text) {
    if (!l->quiet) put_note(l, "warning", CLI_YELLOW, text);
    tell(l, "warning", text ? text : "");
}

void cli_live_end(cli_live *l) {
    wipe(l);
    fflush(stderr);
}
