/* The harness, as programs use it: the example of docs/harness.md is compiled and run in every mode. */
#include "base/fs.h"
#include "measure/outcome.h"
#include "proc/proc.h"

#include <hone/bench.h>

#include <math.h>
#include <unistd.h>

#include "tap.h"

static char dir[] = "/tmp/hone-test-bench-XXXXXX", here[4096], lib[4200];

static hn_proc_result sh(const char *fmt, ...) HONE_PRINTF(1, 2);
static hn_proc_result sh(const char *fmt, ...) {
    char text[9000];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    hn_proc_result r = {.end = HN_PROC_NOT_STARTED};
    hn_proc_run(&(hn_proc_spec){.shell = text, .cwd = dir, .cpu = -1, .wall_s = 60}, NULL, &r, NULL);
    return r;
}

/* The first ```c block of the page. */
static bool extract_example(void) {
    char *page, path[128];
    size_t n;
    if (hn_read_file("docs/harness.md", &page, &n, NULL)) return false;
    char *from = strstr(page, "```c\n"), *to = from ? strstr(from + 5, "```") : NULL;
    snprintf(path, sizeof path, "%s/example.c", dir);
    bool good = to && hn_write_file(path, from + 5, (size_t)(to - from - 5), NULL) == HONE_OK;
    free(page);
    return good;
}

static const char quick[] = "--hone-min-time 100us --hone-warmup 0 --hone-samples 5";

static void test_example(void) {
    ok(extract_example(), "bench/example_is_in_the_page");
    hn_proc_result r = sh("cc -std=c11 -Wall -Wextra -Werror -O2 -I%s/include example.c %s -o example", here, lib);
    if (!ok(r.end == HN_PROC_EXITED && r.code == 0, "bench/example_compiles")) printf("# %s\n", r.err_tail);
    hn_proc_result_free(&r);
    r = sh("./example %s n=100", quick);
    ok(r.code == 0 && strstr(r.out, "metric") && strstr(r.out, "latency"), "bench/table_is_printed");
    hn_proc_result_free(&r);
}

static void test_json(void) {
    char path[128], *text = NULL;
    size_t n = 0, bad = 9;
    hn_proc_result r = sh("HONE_BENCH_OUT=out ./example %s", quick);
    ok(r.code == 0 && r.out_n == 0, "bench/no_table_beside_json");
    hn_proc_result_free(&r);
    snprintf(path, sizeof path, "%s/out", dir);
    hn_read_file(path, &text, &n, NULL);
    hn_arena a = {0};
    hn_metrics m = {0};
    ok(text && hn_metrics_from_harness(&a, text, n, &m, &bad, NULL) == 0 && bad == 0 && m.n == 1, "bench/json_is_read");
    const hn_metric *latency = hn_metrics_find(&m, "latency");
    ok(latency && latency->n == 5 && latency->sample[0] > 0 && latency->sample[0] < 1, "bench/samples_are_seconds");
    hn_arena_free(&a);
    free(text);
}

static void test_data(void) {
    hn_proc_result r = sh("HONE_BENCH_ONCE=1 HONE_BENCH_DATA=d1 ./example && ./example --hone-data=d2 %s && "
                          "HONE_BENCH_DATA=d3 ./example --hone-once n=5",
                          quick);
    ok(r.code == 0, "bench/data_is_written");
    hn_proc_result_free(&r);
    char d1[128], d2[128], d3[128];
    hn_parity_result p = {.equal = false};
    snprintf(d1, sizeof d1, "%s/d1", dir);
    snprintf(d2, sizeof d2, "%s/d2", dir);
    snprintf(d3, sizeof d3, "%s/d3", dir);
    ok(!hn_parity_files(d1, d2, HN_SAME_BYTES, 0, &p, NULL) && p.equal, "bench/once_and_timed_agree: %s", p.where);
    ok(!hn_parity_files(d1, d3, HN_MAX_ABS, 1, &p, NULL) && !p.equal, "bench/other_sizes_do_not");
}

struct row {
    const char *name, *args;
    int code;
    const char *said; /* on stderr or stdout */
};

static void test_options(void) {
    static const struct row c[] = {
        {"help_lists_arguments", "--hone-help", 0, "  n=4096"},
        {"unknown_option", "--hone-speed 3", 2, "unknown option '--hone-speed'"},
        {"unknown_argument", "--hone-once m=3", 2, "unknown argument 'm=3'"},
        {"argument_that_is_no_number", "n=many", 2, "argument 'n=many' is not a whole number"},
        {"value_out_of_range", "--hone-samples 0", 2, "option '--hone-samples' cannot be '0'"},
        {"value_that_is_no_time", "--hone-min-time=fast", 2, "cannot be 'fast'"},
        {"value_missing", "--hone-min-time", 2, "needs a value"},
        {"percentiles", "--hone-percentiles 5,99.9 --hone-warmup 0 --hone-min-time 10us", 0, "p99.9"},
        {"percentile_out_of_range", "--hone-percentiles 101", 2, "cannot be '101'"},
        {"json_on_stdout", "--hone-json --hone-warmup 0 --hone-min-time 10us", 0, "{\"hone-bench\":1,"},
        {"cold", "--hone-json --hone-cold --hone-cold-mib 1 n=100000", 0, "\"calls\":1,\"cold\":true"},
        {"calls", "--hone-json --hone-calls 7 --hone-warmup 0 n=100000", 0, "\"calls\":7"},
        {"unwritable", "--hone-json=/no/such/file", 2, "cannot write '/no/such/file'"},
    };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        hn_proc_result r = sh("./example %s 2>&1", c[i].args);
        if (!ok(r.code == c[i].code && strstr(r.out, c[i].said), "bench/%s", c[i].name))
            printf("#   %d %s\n", r.code, r.out);
        hn_proc_result_free(&r);
    }
    hn_proc_result r = sh("HONE_BENCH_SAMPLES=x ./example 2>&1");
    ok(r.code == 2 && strstr(r.out, "variable 'HONE_BENCH_SAMPLES' cannot be 'x'"), "bench/wrong_variable");
    hn_proc_result_free(&r);
}

/* In this very process: reset runs before every sample, and a broken metric is an error, not a number. */
struct counts {
    int calls, resets, dirty;
};
static void count_call(void *ctx) {
    struct counts *c = ctx;
    c->calls++;
    c->dirty += c->resets != c->calls;
    usleep(50);
}
static void count_reset(void *ctx) { ((struct counts *)ctx)->resets++; }

static void test_reset(void) {
    char *argv[] = {(char[]){"test"}, (char[]){"--hone-samples=4"}, (char[]){"--hone-warmup=0"},
                    (char[]){"--hone-quiet"}, NULL};
    hone_bench *b = hone_bench_open(4, argv);
    struct counts c = {0, 0, 0};
    hone_bench_run_reset(b, "t", count_call, count_reset, &c);
    ok(c.calls == 5 && c.resets == 5 && c.dirty == 0, "bench/reset_before_every_call");
    hone_bench_metric(b, "bad", NAN, NULL);
    ok(hone_bench_close(b) == 1, "bench/nan_is_an_error");
}

/* Flags that broke a benchmark's own clock leave this one alone. */
static void test_flags(void) {
    hn_proc_result r = sh("cc -O3 -ffast-math -fsingle-precision-constant -funsafe-math-optimizations -I%s/include "
                          "example.c %s -o broken && ./broken --hone-json %s",
                          here, lib, quick);
    ok(r.code == 0 && strstr(r.out, "\"samples\":[") && !strstr(r.out, "error"), "bench/flags_do_not_touch_the_clock");
    hn_proc_result_free(&r);
}

int main(int argc, char **argv) {
    (void)argc;
    if (!mkdtemp(dir) || !getcwd(here, sizeof here)) return 1;
    char *self = realpath(argv[0], NULL), *at = self ? strstr(self, "/tests/unit/") : NULL;
    if (at) *at = 0;
    snprintf(lib, sizeof lib, "%s/libhonebench.a", self ? self : "build");
    free(self);
    test_example();
    test_json();
    test_data();
    test_options();
    test_reset();
    test_flags();
    hn_remove_tree(dir, NULL);
    return done_testing();
}
