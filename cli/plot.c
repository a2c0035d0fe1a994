/* plot.c — best so far, trade-offs, values per input, shares of controls and failures over time, as text. */
#include "plot.h"

#include "canvas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 12, LEAST = 40, MOST = 120 };

static const cli_glyph FAILED = {"\u2715", "x"}, RACE = {"\u25c6", "#"}, FRONT = {"\u25cf", "*"};
static const cli_glyph BASE = {"\u25c7", "o"}, FAR = {"\u25bd", "v"}, OVER = {"\u25a1", "="};
static const cli_glyph LEVEL = {"\u2508", ":"}, PROVEN = {"\u254d", "~"}, LINE = {"\u28c0", "_"}, DOT = {"\u2802", "'"};

typedef struct plot {
    const cli *c;
    const hone_report *r;
    int width;
} plot;

/* --- texts -------------------------------------------------------------------------------------------------------- */

static void heading(const plot *p, const char *text) {
    printf("\n%s", cli_paint(p->c->color_out, CLI_BOLD));
    cli_put(p->c, stdout, text, (size_t)p->width);
    printf("%s\n", cli_paint(p->c->color_out, CLI_PLAIN));
}

static void blanks(int n) { printf("%*s", n < 0 ? 0 : n, ""); }

static const char *glyph(const plot *p, cli_glyph g) { return p->c->utf8 ? g.utf8 : g.ascii; }

static void legend(const plot *p, int margin, cli_glyph g, cli_ink ink, const char *text, int *used) {
    int n = (int)cli_columns(text) + 2;
    if (*used && margin + *used + 2 + n > p->width) putchar('\n'), *used = 0;
    blanks(*used ? 2 : margin);
    *used += *used ? n + 2 : n;
    printf("%s%s%s %s", cli_paint(p->c->color_out, ink), glyph(p, g), cli_paint(p->c->color_out, CLI_PLAIN), text);
}

/* The shortest exact text of a tick: "1.25x", "2.5 ms". */
static const char *tick(const plot *p, const char *expr, bool ratio, double x, char *buf) {
    if (fabs(x) < 1e-12) x = 0;
    if (!ratio) return cli_text_quantity(expr, x, buf);
    snprintf(buf, CLI_TEXT_N, "%.4g%s", x, p->c->utf8 ? "\u00d7" : "x");
    return buf;
}

/* --- frames: a canvas with both axes ------------------------------------------------------------------------------ */

typedef struct frame {
    cli_canvas *v;
    cli_scale x, y;
    const char *x_expr, *y_expr; /* NULL: plain numbers */
    bool x_ratio, y_ratio;
    int margin;
} frame;

static int label_width(const plot *p, const frame *f) {
    char text[CLI_TEXT_N];
    int most = 0;
    for (double y = f->y.lo; y <= f->y.hi + f->y.step / 2; y += f->y.step) {
        int n = (int)cli_columns(tick(p, f->y_expr, f->y_ratio, y, text));
        if (n > most) most = n;
    }
    return most;
}

static void open_frame(const plot *p, frame *f) {
    f->margin = label_width(p, f) + 2;
    f->v = cli_canvas_new(p->c->utf8, p->width - f->margin, ROWS);
    f->x.n = 2 * (p->width - f->margin);
    f->y.n = 4 * ROWS;
}

static int x_of(const frame *f, double x) { return cli_scale_at(&f->x, x); }
static int y_of(const frame *f, double y) { return f->y.n - 1 - cli_scale_at(&f->y, y); }

static void print_x_ticks(const plot *p, const frame *f) {
    char text[CLI_TEXT_N];
    int column = 0, end = p->width - f->margin;
    blanks(f->margin);
    for (double x = f->x.lo; x <= f->x.hi + f->x.step / 2; x += f->x.step) {
        if (f->x_expr || f->x_ratio)
            tick(p, f->x_expr, f->x_ratio, x, text);
        else
            cli_text_number(fabs(x) < 1e-12 ? 0 : x, text);
        int n = (int)cli_columns(text), at = x_of(f, x) / 2 - n / 2;
        at = at < 0 ? 0 : at + n > end ? end - n : at;
        if (column && at <= column) continue;
        blanks(at - column);
        fputs(text, stdout);
        column = at + n;
    }
    putchar('\n');
}

static void close_frame(const plot *p, frame *f) {
    char text[CLI_TEXT_N];
    for (int row = 0; row < ROWS; row++) {
        const char *label = "";
        for (double y = f->y.lo; y <= f->y.hi + f->y.step / 2; y += f->y.step)
            if (y_of(f, y) / 4 == row) label = tick(p, f->y_expr, f->y_ratio, y, text);
        blanks(f->margin - 2 - (int)cli_columns(label));
        printf("%s %s", label, p->c->utf8 ? (*label ? "\u2524" : "\u2502") : (*label ? "+" : "|"));
        cli_canvas_print(f->v, row, p->c->color_out, stdout);
    }
    blanks(f->margin - 1);
    fputs(p->c->utf8 ? "\u2514" : "+", stdout);
    for (int i = f->margin; i < p->width; i++) fputs(p->c->utf8 ? "\u2500" : "-", stdout);
    putchar('\n');
    print_x_ticks(p, f);
    cli_canvas_free(f->v);
}

static void level(const frame *f, double y, cli_glyph g, cli_ink ink) {
    if (!(y >= f->y.lo && y <= f->y.hi)) return;
    for (int x = 0; x < f->x.n; x += 2) cli_canvas_ground(f->v, x, y_of(f, y), g, ink);
}

/* --- best so far -------------------------------------------------------------------------------------------------- */

static double drawn(const hone_report *r, const hone_report_trial *t) {
    return r->ratios ? t->gain[0] : t->trial->outcome.value[0];
}

static bool beyond(const frame *f, double y) { return y < f->y.lo || y > f->y.hi; }

static void draw_best(const hone_report *r, const frame *f) {
    int x0 = 0, y0 = r->ratios ? y_of(f, 1) : -1;
    for (size_t i = 0; i < r->n_trials; i++) {
        const hone_report_trial *t = &r->trial[i];
        if (!t->search || isnan(t->best)) continue;
        int x = x_of(f, (double)t->x), y = y_of(f, t->best);
        if (y0 >= 0) cli_canvas_line(f->v, x0, y0, x, y0, CLI_GREEN);
        if (y0 >= 0) cli_canvas_line(f->v, x, y0, x, y, CLI_GREEN);
        x0 = x;
        y0 = y;
    }
}

/* Draws a trial that is not an ordinary evaluation. */
static void draw_trial(const hone_report *r, const frame *f, const hone_report_trial *t, bool seen[5]) {
    double y = drawn(r, t);
    int x = x_of(f, (double)t->x), edge = r->ratios || r->goal[0].maximize ? f->y.n - 1 : 0;
    bool race = strcmp(t->trial->phase, "race") == 0, failed = t->trial->outcome.cls != HONE_RUN_OK;
    if (!t->search && !race) return;
    int kind = failed ? (race ? -1 : 0) : !isfinite(y) ? -1 : race ? 1 : !t->feasible ? 2 : beyond(f, y) ? 3 : 4;
    if (kind < 0) return;
    seen[kind] = true;
    switch (kind) {
    case 0: cli_canvas_mark(f->v, x, edge, FAILED, CLI_RED); break;
    case 1: cli_canvas_mark(f->v, f->x.n - 1, y_of(f, y), RACE, CLI_YELLOW); break;
    case 2: cli_canvas_mark(f->v, x, y_of(f, y), OVER, CLI_YELLOW); break;
    case 3: cli_canvas_mark(f->v, x, edge, FAR, CLI_DIM); break;
    default: break; /* draw_evaluations */
    }
}

/* The gain that the validation measured; NAN: none. */
static double validated(const hone_report *r) {
    return r->proof && r->proof->overall && r->proof->n_objectives ? r->proof->overall[0].gain.mid : NAN;
}

/* With more evaluations than columns of dots a column shows only its best, as all points would fill the plot. */
static void draw_evaluations(const hone_report *r, const frame *f) {
    bool all = r->n_search <= (size_t)f->x.n, up = r->ratios || r->goal[0].maximize;
    double *best = cli_alloc((size_t)f->x.n, sizeof *best);
    for (int i = 0; i < f->x.n; i++) best[i] = NAN;
    for (size_t i = 0; i < r->n_trials; i++) {
        const hone_report_trial *t = &r->trial[i];
        double y = drawn(r, t), *b = &best[x_of(f, (double)t->x)];
        if (!t->search || !t->feasible || !isfinite(y) || beyond(f, y)) continue;
        if (all) cli_canvas_dot(f->v, x_of(f, (double)t->x), y_of(f, y), CLI_PLAIN);
        if (isnan(*b) || (up ? y > *b : y < *b)) *b = y;
    }
    for (int i = 0; !all && i < f->x.n; i++)
        if (isfinite(best[i])) cli_canvas_dot(f->v, i, y_of(f, best[i]), CLI_PLAIN);
    free(best);
}

static void curve_legend(const plot *p, const frame *f, const bool seen[5]) {
    int used = 0;
    legend(p, f->margin, LINE, CLI_GREEN, "best so far", &used);
    bool all = p->r->n_search <= (size_t)f->x.n;
    if (seen[4]) legend(p, f->margin, DOT, CLI_PLAIN, all ? "evaluation" : "evaluation, best of each column", &used);
    if (p->r->ratios) legend(p, f->margin, LEVEL, CLI_DIM, "baseline", &used);
    if (p->r->ratios && isfinite(validated(p->r))) legend(p, f->margin, PROVEN, CLI_YELLOW, "validated", &used);
    if (seen[0]) legend(p, f->margin, FAILED, CLI_RED, "failed", &used);
    if (seen[3]) legend(p, f->margin, FAR, CLI_DIM, "far worse", &used);
    if (seen[2]) legend(p, f->margin, OVER, CLI_YELLOW, "over a limit or suspect", &used);
    if (seen[1]) legend(p, f->margin, RACE, CLI_YELLOW, "closing race", &used);
    putchar('\n');
}

static void plot_curve(const plot *p) {
    const hone_report *r = p->r;
    bool seen[5] = {false};
    if (!r->n_search || !r->n_goals) return;
    char *title =
        cli_format("best so far: %s%s, over evaluations", r->goal[0].expr, r->ratios ? ", gain over the baseline" : "");
    heading(p, title);
    free(title);
    frame f = {.x = cli_scale_round(0, (double)r->n_search, p->width / 12, 0), .y_expr = r->goal[0].expr};
    f.y = cli_scale_round(r->axis_lo, r->axis_hi, 5, 0);
    f.x.hi = (double)r->n_search;
    f.y_ratio = r->ratios;
    open_frame(p, &f);
    if (r->ratios) level(&f, 1, LEVEL, CLI_DIM);
    if (r->ratios) level(&f, validated(r), PROVEN, CLI_YELLOW);
    draw_evaluations(r, &f);
    for (size_t i = 0; i < r->n_trials; i++) draw_trial(r, &f, &r->trial[i], seen);
    draw_best(r, &f);
    close_frame(p, &f);
    curve_legend(p, &f, seen);
}

/* --- trade-offs --------------------------------------------------------------------------------------------------- */

/* One objective as an axis: gains where the whole front has them, else values. */
typedef struct side {
    size_t goal;
    bool ratio;
} side;

static double along(const side *s, const hone_report_trial *t) {
    return s->ratio ? t->gain[s->goal] : t->trial->outcome.value[s->goal];
}

static cli_scale range(const hone_report *r, side *s, int steps) {
    double lo = INFINITY, hi = -INFINITY;
    s->ratio = true;
    for (size_t i = 0; i < r->n_trials; i++)
        if (r->trial[i].front && !isfinite(r->trial[i].gain[s->goal])) s->ratio = false;
    for (size_t i = 0; i < r->n_trials; i++) {
        const hone_report_trial *t = &r->trial[i];
        if (!(t->front || t == r->baseline) || !isfinite(along(s, t))) continue;
        lo = fmin(lo, along(s, t));
        hi = fmax(hi, along(s, t));
    }
    double pad = hi > lo ? (hi - lo) * 0.1 : fmax(fabs(hi) * 0.1, 1e-12);
    return cli_scale_round(s->ratio ? fmax(lo - pad, 0) : lo - pad, hi + pad, steps, 0);
}

static void plot_pair(const plot *p, size_t a, size_t b) {
    const hone_report *r = p->r;
    side sx = {a, true}, sy = {b, true};
    frame f = {.x = range(r, &sx, p->width / 14), .y = range(r, &sy, 5)};
    f.x_expr = r->goal[a].expr, f.y_expr = r->goal[b].expr;
    f.x_ratio = sx.ratio, f.y_ratio = sy.ratio;
    char *title = cli_format("trade-offs: %s%s upwards, %s%s to the right", f.y_expr, sy.ratio ? " (gain)" : "",
                             f.x_expr, sx.ratio ? " (gain)" : "");
    heading(p, title);
    free(title);
    open_frame(p, &f);
    for (int pass = 0; pass < 3; pass++)
        for (size_t i = 0; i < r->n_trials; i++) {
            const hone_report_trial *t = &r->trial[i];
            double x = along(&sx, t), y = along(&sy, t);
            int layer = t == r->baseline ? 2 : t->front ? 1 : 0;
            if (layer != pass || !(t->feasible || t == r->baseline) || !(x >= f.x.lo && x <= f.x.hi) || beyond(&f, y))
                continue;
            if (pass == 0)
                cli_canvas_dot(f.v, x_of(&f, x), y_of(&f, y), CLI_PLAIN);
            else
                cli_canvas_mark(f.v, x_of(&f, x), y_of(&f, y), pass == 1 ? FRONT : BASE,
                                pass == 1 ? CLI_GREEN : CLI_YELLOW);
        }
    close_frame(p, &f);
    int used = 0;
    legend(p, f.margin, FRONT, CLI_GREEN, "on the front", &used);
    legend(p, f.margin, DOT, CLI_PLAIN, "beaten", &used);
    legend(p, f.margin, BASE, CLI_YELLOW, "baseline", &used);
    putchar('\n');
}

static void plot_front(const plot *p) {
    size_t n = 0;
    for (size_t i = 0; i < p->r->n_trials; i++) n += p->r->trial[i].front;
    for (size_t k = 1; n && k < p->r->n_goals; k++) plot_pair(p, 0, k);
}

/* --- boxes -------------------------------------------------------------------------------------------------------- */

static void put_n(const char *text, int n) {
    for (int i = 0; i < n; i++) fputs(text, stdout);
}

/* |---[===#===]---| on a scale of columns */
static void put_box(const plot *p, const cli_scale *s, const hone_distribution *d, double unit, cli_ink ink) {
    int lo = cli_scale_at(s, d->p5 / unit), q1 = cli_scale_at(s, d->p25 / unit), mid = cli_scale_at(s, d->p50 / unit);
    int q3 = cli_scale_at(s, d->p75 / unit), hi = cli_scale_at(s, d->p95 / unit);
    blanks(lo);
    fputs(cli_paint(p->c->color_out, ink), stdout);
    for (int i = lo; i <= hi; i++) {
        bool box = i >= q1 && i <= q3, end = (i == lo && lo < q1) || (i == hi && hi > q3);
        cli_glyph g = i == mid ? (cli_glyph){"\u2588", "#"}
                      : box    ? (cli_glyph){"\u2592", "="}
                      : end    ? (i == lo ? (cli_glyph){"\u251c", "|"} : (cli_glyph){"\u2524", "|"})
                               : (cli_glyph){"\u2500", "-"};
        fputs(glyph(p, g), stdout);
    }
    fputs(cli_paint(p->c->color_out, CLI_PLAIN), stdout);
    blanks(s->n - 1 - hi);
}

static bool usable(const hone_report_box *b, size_t goal) {
    return b->goal == goal && b->baseline.n && b->tuned.n && b->baseline.p50 > 0;
}

/* Distant whiskers must not compress the boxes. */
static cli_scale box_scale(const hone_report *r, size_t goal, int columns) {
    double q1 = 1, q3 = 1, lo = 1, hi = 1;
    for (size_t i = 0; i < r->n_boxes; i++) {
        const hone_report_box *b = &r->box[i];
        if (!usable(b, goal)) continue;
        const hone_distribution *d[] = {&b->baseline, &b->tuned};
        for (int k = 0; k < 2; k++) {
            q1 = fmin(q1, d[k]->p25 / b->baseline.p50), q3 = fmax(q3, d[k]->p75 / b->baseline.p50);
            lo = fmin(lo, d[k]->p5 / b->baseline.p50), hi = fmax(hi, d[k]->p95 / b->baseline.p50);
        }
    }
    double room = (q3 > q1 ? q3 - q1 : 0.05) * 0.75;
    return cli_scale_round(fmax(lo, q1 - room), fmin(hi, q3 + room), columns / 10, columns);
}

static void box_axis(const cli_scale *s, int margin) {
    int column = 0;
    blanks(margin);
    for (double x = s->lo; x <= s->hi + s->step / 2; x += s->step) {
        char *text = cli_format("%.4g%%", 100 * x);
        int n = (int)strlen(text), at = cli_scale_at(s, x) - n / 2;
        at = at < 0 ? 0 : at + n > s->n ? s->n - n : at;
        if (!column || at > column) {
            blanks(at - column);
            fputs(text, stdout);
            column = at + n;
        }
        free(text);
    }
    putchar('\n');
}

static void box_row(const plot *p, const cli_scale *s, const hone_report_box *b, bool tuned, int name) {
    const hone_distribution *d = tuned ? &b->tuned : &b->baseline;
    char text[CLI_TEXT_N];
    char *label = cli_format("%s%s", *b->input ? b->input : "every input", b->held_out ? " (held out)" : "");
    int n = (int)cli_columns(label);
    if (!tuned) cli_put(p->c, stdout, label, (size_t)name);
    blanks(tuned ? name : name - (n < name ? n : name));
    free(label);
    printf("  %-8s ", tuned ? "tuned" : "baseline");
    put_box(p, s, d, b->baseline.p50, tuned ? CLI_GREEN : CLI_PLAIN);
    printf("  %s\n", cli_text_quantity(p->r->goal[b->goal].expr, d->p50, text));
}

static void plot_boxes(const plot *p) {
    const hone_report *r = p->r;
    for (size_t k = 0; k < r->n_goals; k++) {
        int name = 0;
        for (size_t i = 0; i < r->n_boxes; i++) {
            int n =
                (int)cli_columns(*r->box[i].input ? r->box[i].input : "every input") + (r->box[i].held_out ? 11 : 0);
            if (usable(&r->box[i], k) && n > name) name = n;
        }
        if (!name) continue;
        if (name > p->width / 4) name = p->width / 4;
        char *title = cli_format("baseline against tuned: %s", r->goal[k].expr);
        heading(p, title);
        free(title);
        cli_put(p->c, stdout,
                r->boxes_proven ? "runs of the validation, relative to the baseline's median"
                                : "the search's own runs, no proof, relative to the baseline's median",
                (size_t)p->width);
        putchar('\n');
        cli_scale s = box_scale(r, k, p->width - name - 11 - 11);
        for (size_t i = 0; i < r->n_boxes; i++) {
            if (!usable(&r->box[i], k)) continue;
            box_row(p, &s, &r->box[i], false, name);
            box_row(p, &s, &r->box[i], true, name);
        }
        box_axis(&s, name + 11);
    }
}

/* --- shares of controls ------------------------------------------------------------------------------------------- */

static void share_row(const plot *p, const cli_scale *s, const hone_share *share, int name) {
    char text[CLI_TEXT_N];
    int lo = cli_scale_at(s, share->gain.lo), mid = cli_scale_at(s, share->gain.mid);
    int hi = cli_scale_at(s, share->gain.hi), n = (int)cli_columns(share->name);
    cli_put(p->c, stdout, share->name, (size_t)name);
    blanks(name - (n < name ? n : name) + 2 + lo);
    put_n(glyph(p, (cli_glyph){"\u2500", "-"}), mid - lo);
    printf("%s%s%s", cli_paint(p->c->color_out, CLI_GREEN), glyph(p, (cli_glyph){"\u2588", "#"}),
           cli_paint(p->c->color_out, CLI_PLAIN));
    put_n(glyph(p, (cli_glyph){"\u2500", "-"}), hi - mid);
    blanks(s->n - 1 - hi);
    printf("  %s\n", cli_text_ratio(p->c, share->gain.mid, text));
}

static void plot_shares(const plot *p) {
    const hone_controls *k = p->r->controls;
    double lo = 1, hi = 1;
    int name = 0;
    for (size_t i = 0; k && i < k->n_shares; i++) {
        if (!isfinite(k->share[i].gain.mid)) continue;
        lo = fmin(lo, fmax(k->share[i].gain.lo, k->share[i].gain.mid - 1));
        hi = fmax(hi, fmin(k->share[i].gain.hi, k->share[i].gain.mid + 1));
        if ((int)cli_columns(k->share[i].name) > name) name = (int)cli_columns(k->share[i].name);
    }
    if (!name) return;
    if (name > p->width / 2) name = p->width / 2;
    heading(p, "what each control contributes: gain lost without it, 95 % interval");
    cli_scale s = cli_scale_round(lo, hi, 4, p->width - name - 11);
    for (size_t i = 0; i < k->n_shares; i++)
        if (isfinite(k->share[i].gain.mid)) share_row(p, &s, &k->share[i], name);
}

/* --- failures over time ------------------------------------------------------------------------------------------- */

/* How many of a class failed in each of `bins` equal stretches; the most in one of them is returned. */
static size_t bin_class(const hone_report *r, hone_outcome_class cls, size_t bins, size_t *n) {
    size_t most = 0;
    memset(n, 0, bins * sizeof *n);
    for (size_t i = 0; i < r->n_trials; i++) {
        const hone_report_trial *t = &r->trial[i];
        if (!t->search || t->trial->outcome.cls != cls) continue;
        size_t *bin = &n[(t->x - 1) * bins / r->n_search];
        if (++*bin > most) most = *bin;
    }
    return most;
}

static void put_bins(const plot *p, const size_t *n, size_t bins, size_t most) {
    static const char *const block[] = {"\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588"};
    size_t used = bins;
    while (used && !n[used - 1]) used--;
    fputs(cli_paint(p->c->color_out, CLI_RED), stdout);
    for (size_t i = 0; i < used; i++)
        if (!n[i])
            putchar(' ');
        else if (p->c->utf8)
            fputs(block[(8 * n[i] + most - 1) / most - 1], stdout);
        else
            putchar(n[i] > 9 ? '+' : (int)('0' + n[i]));
    printf("%s\n", cli_paint(p->c->color_out, CLI_PLAIN));
}

static void plot_failures(const plot *p) {
    const hone_report *r = p->r;
    size_t failed = 0, most = 0, bins = (size_t)(p->width - 24);
    for (int k = HONE_RUN_OK + 1; k < HONE_N_CLASSES; k++) failed += r->n_class[k];
    if (!failed) return;
    if (bins > r->n_search) bins = r->n_search;
    size_t *n = cli_alloc(bins, sizeof *n);
    for (int k = HONE_RUN_OK + 1; k < HONE_N_CLASSES; k++) {
        size_t m = bin_class(r, (hone_outcome_class)k, bins, n);
        if (m > most) most = m;
    }
    char *title = cli_format("failures over time: %zu of %zu evaluations", failed, r->n_search);
    heading(p, title);
    free(title);
    for (int k = HONE_RUN_OK + 1; k < HONE_N_CLASSES; k++) {
        if (!r->n_class[k]) continue;
        bin_class(r, (hone_outcome_class)k, bins, n);
        printf("%-14s %6zu  ", hone_outcome_class_name((hone_outcome_class)k), r->n_class[k]);
        put_bins(p, n, bins, most);
    }
    printf("%-23s1%*zu\n", "", (int)bins - 1, r->n_search);
    free(n);
}

void cli_plot(const cli *c, const hone_report *r, int width) {
    plot p = {c, r, !width ? 80 : width < LEAST ? LEAST : width > MOST ? MOST : width};
    cli_wrap(stdout, r->verdict, 0, p.width, c->color_out);
    plot_curve(&p);
    plot_front(&p);
    plot_boxes(&p);
    plot_shares(&p);
    plot_failures(&p);
}
