/* bench/bench.c — opening, arguments, closing. */
#include "bench_int.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

_Noreturn void hn_bench_die(const hone_bench *b, const char *fmt, ...) {
    va_list ap;
    fprintf(stderr, "%s: hone/bench: ", b && b->program ? b->program : "benchmark");
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    exit(2);
}

/* The reason is printed by %m: a harness that names errno would make every program that it is linked with one that
 * reads errno (src/measure/readers.h). */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat"
static void say_why_not(const hone_bench *b, const char *doing, const char *what) {
    fprintf(stderr, "%s: hone/bench: cannot %s %s: %m\n", b && b->program ? b->program : "benchmark", doing, what);
}
#pragma GCC diagnostic pop

_Noreturn void hn_bench_die_of(const hone_bench *b, const char *doing, const char *path) {
    char what[4200];
    snprintf(what, sizeof what, "'%s'", path);
    say_why_not(b, doing, what);
    exit(2);
}

static FILE *open_sink(const hone_bench *b, const char *path, const char *mode) {
    FILE *f = fopen(path, mode);
    if (!f) hn_bench_die_of(b, "write", path);
    return f;
}

hone_bench *hone_bench_open(int argc, char **argv) {
    hone_bench *b = calloc(1, sizeof *b);
    if (!b) hn_bench_die(NULL, "out of memory");
    b->program = argc > 0 && argv && argv[0] ? argv[0] : "benchmark";
    hn_bench_read_options(b, argc, argv);
    const hn_bench_options *o = &b->opt;
    if (o->help) return b;
    if (o->json)
        b->json = o->json_path ? open_sink(b, o->json_path, "w") : stdout;
    else if (o->out_path)
        b->json = open_sink(b, o->out_path, "a");
    if (o->data_path) hn_bench_data_open(b);
    b->clock_s = hn_bench_clock_cost();
    return b;
}

/* --- arguments ------------------------------------------------------------------------------------------------- */

static hn_bench_arg *find_arg(hone_bench *b, const char *name) {
    size_t n = strlen(name);
    hn_bench_arg *found = NULL;
    for (size_t i = 0; i < b->n_args; i++) {
        hn_bench_arg *a = &b->arg[i];
        if (a->text && strncmp(a->text, name, n) == 0 && a->text[n] == '=') {
            a->used = true;
            found = a;
        }
    }
    return found;
}

/* Remembers what was asked for, so that --hone-help can list it. */
static void note_arg(hone_bench *b, const char *name, const char *dflt) {
    for (size_t i = 0; i < b->n_args; i++)
        if (!b->arg[i].text && strcmp(b->arg[i].name, name) == 0) return;
    hn_bench_arg *grown = realloc(b->arg, (b->n_args + 1) * sizeof *grown);
    if (!grown) hn_bench_die(b, "out of memory");
    b->arg = grown;
    hn_bench_arg *a = &b->arg[b->n_args++];
    *a = (hn_bench_arg){0};
    snprintf(a->name, sizeof a->name, "%s", name);
    snprintf(a->dflt, sizeof a->dflt, "%s", dflt ? dflt : "");
}

/* The last one given counts. NULL: not given. */
static const char *arg_value(hone_bench *b, const char *name, const char *dflt) {
    note_arg(b, name, dflt);
    const hn_bench_arg *a = find_arg(b, name);
    return a ? strchr(a->text, '=') + 1 : NULL;
}

long long hone_bench_arg_int(hone_bench *b, const char *name, long long dflt) {
    char text[32], *end;
    snprintf(text, sizeof text, "%lld", dflt);
    const char *v = arg_value(b, name, text);
    if (!v) return dflt;
    long long x = strtoll(v, &end, 0);
    bool beyond = x == LLONG_MAX || x == LLONG_MIN; /* of 64 bits */
    if (end == v || *end || beyond) hn_bench_die(b, "argument '%s=%s' is not a whole number", name, v);
    return x;
}

double hone_bench_arg_double(hone_bench *b, const char *name, double dflt) {
    char text[32], *end;
    snprintf(text, sizeof text, "%.10g", dflt);
    const char *v = arg_value(b, name, text);
    if (!v) return dflt;
    double x = hn_bench_strtod(v, &end);
    if (end == v || *end) hn_bench_die(b, "argument '%s=%s' is not a number", name, v);
    return x;
}

const char *hone_bench_arg_text(hone_bench *b, const char *name, const char *dflt) {
    const char *v = arg_value(b, name, dflt);
    return v ? v : dflt;
}

/* --- measuring ------------------------------------------------------------------------------------------------- */

void hn_bench_help_instead(const hone_bench *b) {
    if (!b->opt.help) return;
    hn_bench_help(b);
    exit(0);
}

void hone_bench_run_reset(hone_bench *b, const char *metric, void (*fn)(void *ctx), void (*reset)(void *ctx),
                          void *ctx) {
    hn_bench_help_instead(b);
    if (!b->opt.once) {
        hn_bench_timing t = {0};
        hn_bench_time(b, fn, reset, ctx, &t);
        hn_bench_report(b, metric, "s", t.sample, t.n, t.calls, t.error);
        if (!b->data || !reset) return;
    }
    /* Output data is that of exactly one call on fresh input, however many calls the timing took. */
    if (reset) reset(ctx);
    fn(ctx);
}

void hone_bench_run(hone_bench *b, const char *metric, void (*fn)(void *ctx), void *ctx) {
    hone_bench_run_reset(b, metric, fn, NULL, ctx);
}

void hone_bench_metric(hone_bench *b, const char *metric, double value, const char *unit) {
    hn_bench_help_instead(b);
    double *sample = malloc(sizeof *sample);
    if (!sample) hn_bench_die(b, "out of memory");
    *sample = value;
    hn_bench_report(b, metric, unit, sample, 1, 1, isfinite(value) ? NULL : "the value is not finite");
}

void hone_bench_sink(const void *p) { __asm__ volatile("" : : "r"(p) : "memory"); }

/* --- closing --------------------------------------------------------------------------------------------------- */

static bool args_known(const hone_bench *b) {
    bool known = true;
    for (size_t i = 0; i < b->n_args; i++) {
        const hn_bench_arg *a = &b->arg[i];
        if (!a->text || a->used) continue;
        fprintf(stderr, "%s: hone/bench: unknown argument '%s'; --hone-help lists what there is\n", b->program,
                a->text);
        known = false;
    }
    return known;
}

static bool sink_closed(const hone_bench *b) {
    if (!b->json) return true;
    bool good = fflush(b->json) == 0 && !ferror(b->json);
    if (b->json != stdout) good = fclose(b->json) == 0 && good;
    if (!good) say_why_not(b, "write", "the results");
    return good;
}

int hone_bench_close(hone_bench *b) {
    hn_bench_help_instead(b);
    int status = b->failed ? 1 : 0;
    if (!b->json && !b->opt.quiet) hn_bench_table(b);
    hn_bench_data_close(b);
    if (b->failed) status = 1;
    if (!sink_closed(b)) status = 1;
    if (!args_known(b)) status = 2;
    for (size_t i = 0; i < b->n_rows; i++) free(b->row[i].sample);
    free(b->row);
    free(b->arg);
    free(b->evict);
    free(b);
    return status;
}
