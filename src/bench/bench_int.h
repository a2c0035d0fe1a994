/* bench/bench_int.h — private parts of the harness. It stands alone: nothing of libhone is used or linked. */
#ifndef HN_BENCH_INT_H
#define HN_BENCH_INT_H

#include <hone/bench.h>

#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { HN_BENCH_PERCENTILES = 16, HN_BENCH_NAME_B = 256 };

/* How and how long to measure; rows with names, defaults and help in bench_options.c. */
typedef struct hn_bench_options {
    double min_s, max_s, warm_s, cold_mib, energy_s;
    double samples, calls; /* whole numbers; calls 0: doubled up to min_s */
    bool cold, warm, once, help, quiet, json;
    const char *json_path, *out_path, *data_path;
    double percentile[HN_BENCH_PERCENTILES];
    size_t n_percentiles;
} hn_bench_options;

typedef struct hn_bench_arg {
    const char *text; /* "name=value" as given; NULL: only asked for */
    char name[64], dflt[64];
    bool used;
} hn_bench_arg;

/* One metric's result, kept for the table. */
typedef struct hn_bench_row {
    char name[HN_BENCH_NAME_B], unit[32], error[128];
    double *sample; /* sorted */
    size_t n;
    uint64_t calls;
} hn_bench_row;

struct hone_bench {
    hn_bench_options opt;
    const char *program;
    hn_bench_arg *arg;
    size_t n_args;
    hn_bench_row *row;
    size_t n_rows;
    FILE *json, *data;
    uint64_t n_records;
    const char *extra; /* further keys of the next line of results: ",\"key\":value"; NULL */
    double clock_s;    /* what reading the clock twice costs */
    unsigned char *evict;
    size_t evict_b;
    bool failed;
};

/* What the timing loop hands back: seconds per call, or why there are none. */
typedef struct hn_bench_timing {
    double *sample;
    size_t n;
    uint64_t calls;
    const char *error;
} hn_bench_timing;

/* Numbers are read and written with a decimal point whatever locale the program sets (glibc and musl hand out one
 * static object for "C"). */
static inline locale_t hn_bench_locale(void) { return newlocale(LC_ALL_MASK, "C", (locale_t)0); }
static inline double hn_bench_strtod(const char *text, char **end) { return strtod_l(text, end, hn_bench_locale()); }

/* Prints to stderr and exits with status 2. */
_Noreturn void hn_bench_die(const hone_bench *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "cannot DOING 'PATH'", with the reason that the last call left; then as hn_bench_die. */
_Noreturn void hn_bench_die_of(const hone_bench *b, const char *doing, const char *path);
void hn_bench_read_options(hone_bench *b, int argc, char **argv);
void hn_bench_help(const hone_bench *b);

/* Lists options and ends the program, if that is what was asked for. */
void hn_bench_help_instead(const hone_bench *b);

int64_t hn_bench_now_ns(void);
double hn_bench_clock_cost(void);
void hn_bench_time(hone_bench *b, void (*fn)(void *), void (*reset)(void *), void *ctx, hn_bench_timing *out);

/* Takes over sample. unit may be NULL, error NULL or "" when fine. */
void hn_bench_report(hone_bench *b, const char *metric, const char *unit, double *sample, size_t n, uint64_t calls,
                     const char *error);
/* Lines without samples: why there are none, and what measured. */
void hn_bench_fault_line(const hone_bench *b, const char *cls, const char *detail);
void hn_bench_device_line(const hone_bench *b, const char *api, const char *name, const char *arch, const char *driver,
                          const char *version);
void hn_bench_table(const hone_bench *b);
void hn_bench_data_open(hone_bench *b);
void hn_bench_data_close(hone_bench *b);

#endif
