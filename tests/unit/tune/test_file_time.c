/* Which files take a program's time: functions as nm lists them, samples as perf and gprof print them. */
#include "tap.h"

#include "tune/file_time.h"

static const char *const source[] = {"main.c", "lib/hot.c", "cold.c"};
static const char nm[3][200] = {
    "main T 0 10\nhelper t 10 20\n",
    "hot T 0 100\ntwice t 100 8\ntable D 0 40\nhelper t 108 8\n",
    "cold T 0 4\nweak W 8 4\nundefined U\n",
};

static void open_files(hn_file_time *t, hn_arena *a) {
    ok(hn_file_time_open(t, a, source, 3), "file_time/open");
    for (size_t i = 0; i < 3; i++) hn_file_time_symbols(t, nm[i], i);
}

static void is_time(const hn_file_time *t, double a, double b, double c, const char *name) {
    bool same = t->time[0] == a && t->time[1] == b && t->time[2] == c;
    if (!ok(same, "file_time/%s", name)) printf("# %g %g %g\n", t->time[0], t->time[1], t->time[2]);
}

static void test_symbols(void) {
    hn_arena a = {0};
    hn_file_time t;
    open_files(&t, &a);
    ok(t.n_symbols == 7, "file_time/functions_alone_are_listed (%zu)", t.n_symbols);
    hn_file_time_symbols(&t, "", 0);
    hn_file_time_symbols(&t, "nameless\n \nshort ", 0);
    ok(t.n_symbols == 7, "file_time/what_is_no_line_of_nm_is_passed_over");
    char text[40000], *end = text;
    for (int i = 0; i < 1000; i++) end += sprintf(end, "f%d T 0 1\n", i);
    hn_file_time_symbols(&t, text, 2);
    hn_file_time_perf(&t, " 1 f0 (/x/prog)\n 2 f999 (/x/prog)\n 3 main (/x/prog)\n");
    is_time(&t, 1, 0, 2, "many_functions");
    hn_arena_free(&a);
}

static void test_perf(void) {
    static const struct {
        const char *name, *text;
        double time[3];
    } cases[] = {
        {"none", "", {0, 0, 0}},
        {"a_sample_each", "  401000 main (/tmp/b/prog)\n  401010 hot (/tmp/b/prog)\n", {1, 1, 0}},
        {"other_objects_are_not_the_program", "  7f00 memcpy (/lib/libc.so.6)\n  7f00 hot (/lib/prog.so)\n", {0, 0, 0}},
        {"a_clone_counts_for_its_function", " 1 hot.part.0 (/b/prog)\n 2 hot.isra.0.cold (/b/prog)\n", {0, 2, 0}},
        {"a_longer_name_is_another", " 1 hotter (/b/prog)\n 2 ho (/b/prog)\n", {0, 0, 0}},
        {"of_two_the_first", " 1 helper (/b/prog)\n", {1, 0, 0}},
        {"an_offset_is_no_name", " 1 cold+0x10 (/b/prog)\n", {0, 0, 1}},
        {"unknown_functions", " 1 [unknown] (/b/prog)\n\n 2\n 3 \n (/b/prog)\n/prog)", {0, 0, 0}},
        {"the_last_line_has_no_end", " 1 weak (/b/prog)", {0, 0, 1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hn_arena a = {0};
        hn_file_time t;
        open_files(&t, &a);
        hn_file_time_perf(&t, cases[i].text);
        is_time(&t, cases[i].time[0], cases[i].time[1], cases[i].time[2], cases[i].name);
        hn_arena_free(&a);
    }
}

static void test_gprof(void) {
    static const char text[] = "Flat profile:\n\nEach sample counts as 0.01 seconds.\n"
                               "  %   cumulative   self              self     total           \n"
                               " time   seconds   seconds    calls  ms/call  ms/call  name    \n"
                               " 75.00      0.75     0.75      100     7.50     7.50  hot\n"
                               " 20.00      0.95     0.20                             main\n"
                               "  5.00      1.00     0.05        1    50.00    50.00  twice.constprop.0\n"
                               "  0.00\n"
                               "  0.00      1.00     9.00                             elsewhere";
    hn_arena a = {0};
    hn_file_time t;
    open_files(&t, &a);
    hn_file_time_gprof(&t, text);
    is_time(&t, 0.20, 0.75 + 0.05, 0, "gprof_counts_own_seconds");
    is_text(hn_file_time_hottest(&t, 2, &a), "0.800 lib/hot.c\n0.200 main.c\n", "file_time/the_hottest_first");
    hn_arena_free(&a);
}

/* Compiled twice, with options of its own each time. */
static void test_twice(void) {
    static const char *const twice[] = {"a.c", "b.c", "b.c"};
    hn_arena a = {0};
    hn_file_time t;
    ok(hn_file_time_open(&t, &a, twice, 3), "file_time/open_twice");
    hn_file_time_symbols(&t, "main T 0 10\n", 0);
    hn_file_time_symbols(&t, "b1 T 0 10\n", 1);
    hn_file_time_symbols(&t, "b2 T 0 10\n", 2);
    hn_file_time_perf(&t, " 1 main (/x/prog)\n 2 main (/x/prog)\n 3 b1 (/x/prog)\n 4 b2 (/x/prog)\n 5 b2 (/x/prog)\n");
    is_text(hn_file_time_hottest(&t, 3, &a), "0.600 b.c\n0.400 a.c\n",
            "file_time/a_file_that_is_compiled_twice_is_one");
    hn_arena_free(&a);
}

static void test_hottest(void) {
    static const struct {
        const char *name;
        double time[3];
        size_t most;
        const char *want;
    } cases[] = {
        {"nothing_was_sampled", {0, 0, 0}, 2, ""},
        {"as_many_as_were_asked_for", {1, 2, 1}, 1, "0.500 lib/hot.c\n"},
        {"of_equals_the_first", {1, 0, 1}, 1, "0.500 main.c\n"},
        {"little_time_is_not_worth_it", {98, 0, 2}, 3, "0.980 main.c\n"},
        {"three_per_cent_is", {97, 0, 3}, 3, "0.970 main.c\n0.030 cold.c\n"},
        {"none_asked_for", {1, 1, 1}, 0, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hn_arena a = {0};
        hn_file_time t;
        hn_file_time_open(&t, &a, source, 3);
        memcpy(t.time, cases[i].time, sizeof cases[i].time);
        char name[100];
        snprintf(name, sizeof name, "file_time/%s", cases[i].name);
        is_text(hn_file_time_hottest(&t, cases[i].most, &a), cases[i].want, name);
        hn_arena_free(&a);
    }
}

int main(void) {
    test_symbols();
    test_perf();
    test_gprof();
    test_twice();
    test_hottest();
    return done_testing();
}
