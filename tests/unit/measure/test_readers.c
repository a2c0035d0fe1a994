/* Which programs read errno or the floating-point environment, as gcc links them here. */
#include "measure/readers.h"

#include "base/fs.h"
#include "proc/proc.h"

#include <unistd.h>

#include "tap.h"

static char dir[] = "/tmp/hone-test-readers-XXXXXX";

static bool run(const char *shell) {
    hn_proc_result r;
    hn_proc_spec spec = {.shell = shell, .cwd = dir, .cpu = -1, .wall_s = 60, .keep_b = 2000};
    bool good = !hn_proc_run(&spec, NULL, &r, NULL) && r.end == HN_PROC_EXITED && r.code == 0;
    hn_proc_result_free(&r);
    return good;
}

/* "errno: SYMBOL; fenv: SYMBOL", "-" where nothing reads it, "?" before what makes it unknown. */
static void describe(const hn_onlooker *r, char text[300]) {
    int n = 0;
    for (int k = 0; k < HN_N_STATES; k++) {
        const char *s = r[k].reading == HN_READS_NOT ? "-" : r[k].symbol;
        n += snprintf(text + n, 300 - (size_t)n, "%s%s: %s%s", k ? "; " : "", hn_beside_name((hn_beside)k),
                      r[k].reading == HN_READS_UNKNOWN ? "?" : "", s);
    }
}

static const struct {
    const char *name, *source, *flags, *want;
} program[] = {
    {"a_root_alone", "#include <math.h>\nint main(int n, char **v) { (void)v; return (int)sqrt(n); }", "-O2 -lm",
     "errno: -; fenv: -"},
    {"errno", "#include <errno.h>\nint main(void) { return errno; }", "-O2", "errno: __errno_location; fenv: -"},
    {"perror", "#include <stdio.h>\nint main(void) { perror(\"x\"); return 0; }", "-O2", "errno: perror; fenv: -"},
    {"flags", "#include <fenv.h>\nint main(void) { return fetestexcept(FE_ALL_EXCEPT); }", "-O2 -lm",
     "errno: -; fenv: fetestexcept"},
    {"traps", "#include <fenv.h>\nint main(void) { return feenableexcept(FE_DIVBYZERO); }", "-O2 -D_GNU_SOURCE -lm",
     "errno: -; fenv: feenableexcept"},
    {"rounding", "#include <fenv.h>\nint main(void) { return fesetround(FE_UPWARD); }", "-O2 -lm",
     "errno: -; fenv: fesetround"},
    {"a_signal_without_traps", "#include <signal.h>\nint main(void) { signal(SIGFPE, SIG_IGN); return 0; }", "-O2",
     "errno: -; fenv: -"},
    {"code_at_run_time", "#include <dlfcn.h>\nint main(void) { return !dlopen(\"x\", RTLD_NOW); }", "-O2 -ldl",
     "errno: ?dlopen; fenv: ?dlopen"},
    {"a_library", "int f(void) { return 0; }", "-shared -fPIC", "errno: ?; fenv: ?"},
    {"an_object", "int main(void) { return 0; }", "-c", "errno: ?; fenv: ?"},
    {"link_time", "#include <errno.h>\nint main(void) { return errno; }", "-O2 -flto",
     "errno: __errno_location; fenv: -"},
    {"stripped", "#include <errno.h>\nint main(void) { return errno; }", "-O2 -s", "errno: __errno_location; fenv: -"},
#ifdef __x86_64__
    {"static", "int main(void) { return 0; }", "-static", "errno: ?; fenv: stmxcsr"}, /* the C library's own */
    {"the_register", "#include <immintrin.h>\nint main(void) { return (int)_mm_getcsr(); }", "-O2",
     "errno: -; fenv: stmxcsr"},
    {"the_register_vex", "#include <immintrin.h>\nint main(void) { return (int)_mm_getcsr(); }", "-O2 -mavx",
     "errno: -; fenv: stmxcsr"},
#endif
};

static void test_programs(void) {
    char path[200], shell[300], text[300];
    for (size_t i = 0; i < sizeof program / sizeof *program; i++) {
        hn_onlooker r[HN_N_STATES];
        snprintf(path, sizeof path, "%s/a.c", dir);
        hn_write_file(path, program[i].source, strlen(program[i].source), NULL);
        snprintf(shell, sizeof shell, "gcc a.c -o prog %s", program[i].flags);
        snprintf(path, sizeof path, "%s/prog", dir);
        unlink(path);
        snprintf(text, sizeof text, "not built");
        if (run(shell) && !hn_program_readers(path, r, NULL)) describe(r, text);
        char name[80];
        snprintf(name, sizeof name, "readers/%s", program[i].name);
        is_text(text, program[i].want, name);
    }
}

/* A library of the user's may read what the program leaves. */
static void test_user_library(void) {
    hn_onlooker r[HN_N_STATES];
    char path[200], text[300] = "not built";
    snprintf(path, sizeof path, "%s/prog", dir);
    if (run("echo 'int look(void) { return 1; }' > l.c && gcc -shared -fPIC l.c -o libours.so && "
            "echo 'int look(void); int main(void) { return look(); }' > m.c && gcc m.c -o prog -L. -lours") &&
        !hn_program_readers(path, r, NULL))
        describe(r, text);
    is_text(text, "errno: ?libours.so; fenv: ?libours.so", "readers/a_library_of_the_user");
    ok(r[0].why && strstr(r[0].why, "shared library"), "readers/says_why_it_is_not_known");
}

/* The harness may not make every program that links it a reader. */
static void test_harness(void) {
    hn_onlooker r[HN_N_STATES];
    char path[200], text[300] = "not built", shell[900];
    const char *root = getenv("HONE_ROOT"), *build = getenv("HONE_BUILD");
    if (!root || !build) {
        skip(1, "readers/the_harness_reads_neither: HONE_ROOT and HONE_BUILD are not set");
        return;
    }
    snprintf(path, sizeof path, "%s/prog", dir);
    snprintf(shell, sizeof shell,
             "printf '#include <hone/bench.h>\\nstatic void f(void *p) { (void)p; }\\nint main(int n, char **v) { "
             "hone_bench *b = hone_bench_open(n, v); hone_bench_arg_int(b, \"n\", 1); hone_bench_run(b, \"t\", f, 0); "
             "return hone_bench_close(b); }\\n' > h.c && gcc -I'%s/include' h.c -o prog '%s/libhonebench.a' -lm",
             root, build);
    if (run(shell) && !hn_program_readers(path, r, NULL)) describe(r, text);
    is_text(text, "errno: -; fenv: -", "readers/the_harness_reads_neither");
}

static void test_no_program(void) {
    hn_onlooker r[HN_N_STATES];
    char path[200];
    snprintf(path, sizeof path, "%s/none", dir);
    ok(hn_program_readers(path, r, NULL) == HONE_E_IO, "readers/a_missing_file_is_an_error");
    hn_readers_of("#!/bin/sh\n", 10, r);
    ok(r[0].reading == HN_READS_UNKNOWN && r[1].reading == HN_READS_UNKNOWN, "readers/a_script_is_unknown");
}

int main(void) {
    if (!mkdtemp(dir)) return 1;
    test_programs();
    test_user_library();
    test_harness();
    test_no_program();
    hn_remove_tree(dir, NULL);
    return done_testing();
}
