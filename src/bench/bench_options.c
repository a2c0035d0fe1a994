/* bench/bench_options.c — the table of options: argument, variable, help and where the value goes. */
#include "bench_int.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum kind { FLAG, SECONDS, NUMBER, TEXT, LIST, JSON };

static const struct option {
    const char *name, *variable, *value, *help;
    enum kind kind;
    size_t at;
    double min, max;
} option[] = {
#define AT(field) offsetof(hn_bench_options, field)
    {"--hone-samples", "HONE_BENCH_SAMPLES", "N", "samples to take (11)", NUMBER, AT(samples), 1, 1e7},
    {"--hone-min-time", "HONE_BENCH_MIN_TIME", "T", "shortest sample; calls are doubled up to it (10ms)", SECONDS,
     AT(min_s), 1e-6, 3600},
    {"--hone-max-time", "HONE_BENCH_MAX_TIME", "T", "no new sample of a metric after this long (10s)", SECONDS,
     AT(max_s), 0, 1e6},
    {"--hone-warmup", "HONE_BENCH_WARMUP", "T", "call untimed for this long first, once at least (50ms)", SECONDS,
     AT(warm_s), 0, 3600},
    {"--hone-calls", "HONE_BENCH_CALLS", "N", "calls per sample instead of doubling (1 for the tail of latencies)",
     NUMBER, AT(calls), 1, 1e15},
    {"--hone-percentiles", "HONE_BENCH_PERCENTILES", "LIST", "percentiles to print (50,90,99)", LIST, AT(percentile), 0,
     100},
    {"--hone-cold", "HONE_BENCH_COLD", NULL, "evict the caches before every sample, one call each", FLAG, AT(cold), 0,
     1},
    {"--hone-cold-mib", "HONE_BENCH_COLD_MIB", "N", "memory to walk for it (twice the last cache, at most 256)", NUMBER,
     AT(cold_mib), 1, 65536},
    {"--hone-warm", "HONE_BENCH_WARM", NULL, "GPU: let caches stay warm, do not rotate over operands", FLAG, AT(warm),
     0, 1},
    {"--hone-energy", "HONE_BENCH_ENERGY", "T", "GPU: measure energy, too, over this long (0: not)", SECONDS,
     AT(energy_s), 0, 3600},
    {"--hone-once", "HONE_BENCH_ONCE", NULL, "call every function once and measure nothing", FLAG, AT(once), 0, 1},
    {"--hone-data", "HONE_BENCH_DATA", "FILE", "append output data to FILE, for parity", TEXT, AT(data_path), 0, 0},
    {"--hone-json", NULL, "FILE", "--hone-json[=FILE]: JSON lines instead of the table", JSON, AT(json), 0, 1},
    {NULL, "HONE_BENCH_OUT", "FILE", "append JSON lines to FILE and print no table", TEXT, AT(out_path), 0, 0},
    {"--hone-quiet", NULL, NULL, "print no table", FLAG, AT(quiet), 0, 1},
    {"--hone-help", NULL, NULL, "this list, and the program's own arguments", FLAG, AT(help), 0, 1},
#undef AT
};
enum { N_OPTIONS = sizeof option / sizeof *option };

static double scaled(const char *v, bool time) {
    static const struct {
        const char *unit;
        double scale;
    } unit[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
    char *end;
    double x = hn_bench_strtod(v, &end);
    if (end == v) return NAN;
    for (size_t i = 0; i < (time ? sizeof unit / sizeof *unit : 1); i++)
        if (strcmp(end, unit[i].unit) == 0) return x * unit[i].scale;
    return NAN;
}

static bool read_list(hn_bench_options *o, const char *v) {
    size_t n = 0;
    double p[HN_BENCH_PERCENTILES];
    for (char *end; *v; v = end + (*end == ',')) {
        double x = hn_bench_strtod(v, &end);
        if (end == v || (*end && *end != ',') || !(x >= 0 && x <= 100) || n == HN_BENCH_PERCENTILES) return false;
        p[n++] = x;
    }
    memcpy(o->percentile, p, sizeof p);
    o->n_percentiles = n;
    return n > 0;
}

static bool set(hn_bench_options *o, const struct option *row, const char *v) {
    char *at = (char *)o + row->at;
    double x;
    switch (row->kind) {
    case FLAG:
        if (v && strcmp(v, "0") != 0 && strcmp(v, "1") != 0) return false;
        *(bool *)at = !v || *v == '1';
        return true;
    case SECONDS:
    case NUMBER:
        x = scaled(v, row->kind == SECONDS);
        if (!(x >= row->min && x <= row->max) || (row->kind == NUMBER && x != floor(x))) return false;
        *(double *)at = x;
        return true;
    case TEXT: *(const char **)at = v; return *v != 0;
    case LIST: return read_list(o, v);
    case JSON:
        o->json = true;
        o->json_path = v;
        return !v || *v;
    }
    return false;
}

static const struct option *find(const char *arg, size_t n) {
    for (size_t i = 0; i < N_OPTIONS; i++)
        if (option[i].name && strlen(option[i].name) == n && strncmp(option[i].name, arg, n) == 0) return &option[i];
    return NULL;
}

/* "--hone-x=V" or "--hone-x V"; the optional value of --hone-json only as "=FILE". Returns arguments consumed. */
static int read_option(hone_bench *b, int left, char **argv) {
    const char *eq = strchr(argv[0], '=');
    size_t n = eq ? (size_t)(eq - argv[0]) : strlen(argv[0]);
    const struct option *row = find(argv[0], n);
    if (!row) hn_bench_die(b, "unknown option '%s'; --hone-help lists them", argv[0]);
    bool takes = row->kind != FLAG && row->kind != JSON;
    const char *v = eq ? eq + 1 : NULL;
    if (takes && !v && left < 2) hn_bench_die(b, "option '%s' needs a value (%s)", row->name, row->value);
    if (takes && !v) v = argv[1];
    if (!set(&b->opt, row, v)) hn_bench_die(b, "option '%s' cannot be '%s' (%s)", row->name, v ? v : "", row->help);
    return takes && !eq ? 2 : 1;
}

static void read_variables(hone_bench *b) {
    for (size_t i = 0; i < N_OPTIONS; i++) {
        const char *v = option[i].variable ? getenv(option[i].variable) : NULL;
        if (v && *v && !set(&b->opt, &option[i], v))
            hn_bench_die(b, "variable '%s' cannot be '%s' (%s)", option[i].variable, v, option[i].help);
    }
}

void hn_bench_read_options(hone_bench *b, int argc, char **argv) {
    b->opt = (hn_bench_options){
        .min_s = 0.01, .max_s = 10, .warm_s = 0.05, .samples = 11, .percentile = {50, 90, 99}, .n_percentiles = 3};
    read_variables(b);
    b->arg = calloc((size_t)(argc > 0 ? argc : 1), sizeof *b->arg);
    if (!b->arg) hn_bench_die(b, "out of memory");
    for (int i = 1; i < argc;) {
        if (strncmp(argv[i], "--hone-", 7) == 0)
            i += read_option(b, argc - i, argv + i);
        else
            b->arg[b->n_args++].text = argv[i++];
    }
}

void hn_bench_help(const hone_bench *b) {
    printf("usage: %s [name=value …] [--hone-… …]\n", b->program);
    bool any = false;
    for (size_t i = 0; i < b->n_args; i++) {
        if (b->arg[i].text) continue;
        if (!any) printf("\narguments of this program, with their defaults:\n");
        any = true;
        printf("  %s=%s\n", b->arg[i].name, b->arg[i].dflt);
    }
    printf("\noptions of the harness (times take ns, us, ms or s; variables set the same):\n");
    for (size_t i = 0; i < N_OPTIONS; i++) {
        const struct option *o = &option[i];
        char left[64];
        snprintf(left, sizeof left, "%s%s%s", o->name ? o->name : o->variable, o->value && o->kind != JSON ? " " : "",
                 o->value && o->kind != JSON ? o->value : "");
        printf("  %-26s %s%s%s%s\n", left, o->help, o->name && o->variable ? " [" : "",
               o->name && o->variable ? o->variable : "", o->name && o->variable ? "]" : "");
    }
}
