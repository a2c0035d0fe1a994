/* Compilers that are missing, hang, crash, print garbage, or refuse some controls. */
#include "base/hash.h"
#include "fake.h"

#include "tap.h"

#include <pthread.h>

static const struct {
    const char *name, *file, *script;
    unsigned mode;
    const char *says; /* what the message must contain */
} unusable[] = {
    {"fakes/not_executable", "gcc-noexec", "#!/bin/sh\nexit 0\n", 0644, "not an executable"},
    {"fakes/no_compiler", "lookalike", "#!/bin/sh\necho 'GNU awk 5.1 Free Software'\n", 0755, "no compiler hone knows"},
    {"fakes/garbage", "gcc-garbage", "#!/bin/sh\nprintf '\\001\\377\\376\\033[2J\\n'\n", 0755,
     "no compiler hone knows"},
    {"fakes/silent", "gcc-silent", "#!/bin/sh\nexit 0\n", 0755, "no compiler hone knows"},
    {"fakes/fails", "gcc-fails", "#!/bin/sh\necho 'broken install' >&2\nexit 3\n", 0755, "broken install"},
    {"fakes/crashes", "gcc-crashes", "#!/bin/sh\nkill -SEGV $$\n", 0755, "does not answer --version"},
    {"fakes/hangs", "gcc-hangs", "#!/bin/sh\ntrap '' TERM\nsleep 1000\n", 0755, "longer"},
    {"fakes/wrapper", "ccache", "#!/bin/sh\necho 'ccache version 4'\n", 0755, "wrapper"},
    {"fakes/bad_interpreter", "gcc-nointerp", "#!/nonexistent/sh\n", 0755, ""},
};

static void test_unusable(void) {
    for (size_t i = 0; i < sizeof unusable / sizeof *unusable; i++) {
        hone_target *t = NULL;
        hone_err err = {0};
        const char *path = fake_file(unusable[i].file, unusable[i].script, unusable[i].mode);
        hone_rc rc = hone_target_open(path, fake_cache(), &t, &err);
        if (!ok(rc == HONE_E_TOOL && !t && strstr(err.text, unusable[i].says) && strstr(err.text, unusable[i].file),
                "%s", unusable[i].name))
            printf("#   rc %d: %s\n", (int)rc, err.text);
        hone_target_close(t);
    }
    hone_target *t = NULL;
    hone_err err = {0};
    ok(hone_target_open("no-such-compiler-7", fake_cache(), &t, &err) == HONE_E_TOOL &&
           strstr(err.text, "no-such-compiler-7"),
       "fakes/missing");
    ok(hone_target_open("", fake_cache(), &t, &err) == HONE_E_TOOL && !t, "fakes/empty_name");
    ok(hone_target_open(fake_dir, fake_cache(), &t, &err) == HONE_E_TOOL && !t, "fakes/folder");
}

/* A gcc with few options: prints those of the case, refuses -fgcse, crashes on -fweb, prints a warning on -ftracer,
 * writes no object on -fivopts, cannot take more than 1000 for a parameter. Otherwise copies a prepared object. */
static const char options[] =
    "*--help=*) cat <<'END'\n"
    "The following options control optimizations:\n"
    "  -fgcse \t[enabled]\n  -fweb \t[disabled]\n  -ftracer \t[disabled]\n  -fivopts \t[enabled]\n"
    "  -fdce \t[enabled]\n  -fdse \t[enabled]\n  -ftree-pre \t[enabled]\n  -ftree-ch \t[enabled]\n"
    "  -fipa-pta \t[disabled]\n  -fipa-cp \t[enabled]\n  -ftrapv \t[disabled]\n  -ffinite-math-only \t[disabled]\n"
    "  -fvect-cost-model=[cheap|dynamic|bogus] \tcheap\n"
    "The following options control parameters:\n"
    "  --param=max-unroll-times= \t8\n  --param=max-unrolled-insns= \t200\n  --param=never= \t3\n"
    "END\nexit 0;;\n"
    "*-fgcse*-fsyntax-only*) echo 'error: no' >&2; exit 1;;\n"
    "*-fgcse*) touch \"$(dirname \"$0\")/compiled-with-gcse\"; exit 1;;\n"
    "*-fweb*) kill -SEGV $$;;\n"
    "*-ftracer*) echo 'warning: hm' >&2;;\n"
    "*-fivopts*) exit 0;;\n"
    "*=bogus*) exit 1;;\n"
    "*--param=never=*) exit 1;;\n"
    "*max-unrolled-insns=[0-9][0-9][0-9][0-9]*) exit 1;;\n"
    "esac\n"
    "while [ $# -gt 0 ]; do [ \"$1\" = -o ] && out=$2; shift; done\n"
    "exec cp \"$(dirname \"$0\")/good.o\" \"$out\"\n";

static bool offers(const hone_space *space, const char *name, const char *value) {
    size_t i = hone_space_find(space, name);
    if (i == SIZE_MAX) return false;
    const hone_param *p = hone_space_param(space, i);
    for (size_t v = 0; value && v < p->n_values; v++)
        if (!strcmp(p->values[v], value)) return true;
    return !value;
}

static void check_space(const hone_space *space, const char *when) {
    ok(!offers(space, "-fgcse", "on") && offers(space, "-fgcse", "off"), "fakes/refused_value_goes (%s)", when);
    ok(!offers(space, "-fweb", "on"), "fakes/crashing_value_goes (%s)", when);
    ok(!offers(space, "-ftracer", "on"), "fakes/warning_value_goes (%s)", when);
    ok(!offers(space, "-fivopts", "on"), "fakes/value_without_object_goes (%s)", when);
    ok(offers(space, "-fdce", "on") && offers(space, "-fdce", "off"), "fakes/good_value_stays (%s)", when);
    ok(offers(space, "-fvect-cost-model", "dynamic") && !offers(space, "-fvect-cost-model", "bogus"),
       "fakes/enumeration_is_cut (%s)", when);
    ok(!offers(space, "-ftrapv", NULL), "fakes/unsafe_is_never_offered (%s)", when);
    ok(!offers(space, "-ffinite-math-only", NULL), "fakes/numeric_is_not_offered_unasked (%s)", when);
    ok(!offers(space, "--param=never", NULL), "fakes/parameter_refused_everywhere_goes (%s)", when);
    size_t i = hone_space_find(space, "--param=max-unrolled-insns");
    ok(i != SIZE_MAX && hone_space_param(space, i)->hi < 1000 && hone_space_param(space, i)->hi >= 200,
       "fakes/range_is_cut_to_what_works (%s)", when);
}

static hone_space *space_of(const char *path, hone_target_stats *stats, hone_err *err) {
    hone_target *t = NULL;
    hone_space *space = NULL;
    if (hone_target_open(path, fake_cache(), &t, err)) return NULL;
    if (hone_target_space(t, NULL, &space, err)) space = NULL;
    hone_target_get_stats(t, stats);
    hone_target_close(t);
    return space;
}

static char *cache_file(void) {
    static char path[500];
    char command[500];
    snprintf(command, sizeof command, "ls %s/gcc-*.tsv", fake_cache());
    FILE *p = popen(command, "r");
    path[0] = 0;
    if (p && fgets(path, sizeof path, p)) path[strcspn(path, "\n")] = 0;
    if (p) pclose(p);
    return path;
}

static bool same_space(const hone_space *a, const hone_space *b) {
    size_t n = hone_space_n_params(a);
    if (hone_space_n_params(b) != n) return false;
    for (size_t i = 0; i < n; i++) {
        const hone_param *x = hone_space_param(a, i), *y = hone_space_param(b, i);
        if (strcmp(x->name, y->name) != 0 || x->kind != y->kind || x->n_values != y->n_values) return false;
        if (x->kind == HONE_INT && (x->lo != y->lo || x->hi != y->hi || x->log != y->log)) return false;
    }
    return true;
}

/* The same file, as another version of hone's tables would have written it. */
static void of_other_tables(const char *file) {
    char *text, sum[33];
    size_t n;
    hn_hash h;
    if (hn_read_file(file, &text, &n, NULL)) exit(1);
    char *tables = strchr(strchr(text, '\t') + 1, '\t') + 1, *end = text;
    for (char *p = text; (p = strstr(p, "\nend\t")); p++) end = p + 1;
    *tables = *tables == '0' ? '1' : '0';
    hn_hash_begin(&h);
    hn_hash_add(&h, text, (size_t)(end - text));
    hn_hash_end(&h, sum);
    memcpy(end + 4, sum, 32);
    (void)hn_write_file(file, text, n, NULL);
    free(text);
}

typedef struct prober {
    const char *path;
    hone_target_stats stats;
    bool good;
} prober;

static void *probe(void *arg) {
    prober *p = arg;
    hone_err err = {0};
    hone_space *space = space_of(p->path, &p->stats, &err);
    p->good = space != NULL;
    hone_space_free(space);
    return NULL;
}

/* Nothing is known: one of the two probes, the other one waits for what it finds. */
static void two_at_once(const char *path, const char *file) {
    prober x[2] = {{.path = path}, {.path = path}};
    pthread_t thread[2];
    char lock[600];
    (void)unlink(file);
    for (int i = 0; i < 2; i++)
        if (pthread_create(&thread[i], NULL, probe, &x[i])) exit(99);
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
    ok(x[0].good && x[1].good && x[0].stats.probe_s == x[1].stats.probe_s, "fakes/two_at_once_probe_once");
    snprintf(lock, sizeof lock, "%s.lock", file);
    ok(access(lock, F_OK) != 0, "fakes/nothing_is_left_of_the_lock");
}

static void test_probing(void) {
    char script[4000], object[128] = "\177ELF\2\1\1";
    object[16] = 1;
    hone_target_stats first, second, third;
    hone_err err = {0};
    snprintf(script, sizeof script, "%s%s", FAKE_GCC_VERSION, options);
    char path[400], good[400];
    snprintf(good, sizeof good, "%s/good.o", fake_dir);
    if (hn_write_file(good, object, sizeof object, NULL)) exit(99);
    snprintf(path, sizeof path, "%s", fake_file("gcc-odd", script, 0755));
    hone_space *a = space_of(path, &first, &err), *b = NULL;
    if (!ok(a != NULL, "fakes/odd_compiler_gives_a_space")) {
        printf("#   %s\n", err.text);
        return;
    }
    check_space(a, "probed");
    snprintf(good, sizeof good, "%s/compiled-with-gcse", fake_dir);
    ok(access(good, F_OK) != 0, "fakes/what_reading_refuses_is_not_compiled");
    ok(first.n_unsafe == 1 && first.n_numeric == 1 && first.n_rejected >= 1, "fakes/statistics");
    b = space_of(path, &second, &err);
    ok(b != NULL && second.probe_s == first.probe_s, "fakes/second_time_from_the_cache");
    if (b) check_space(b, "cached");
    ok(b && same_space(a, b), "fakes/cached_space_is_the_same");
    hone_space_free(b);
    char *text, *file = cache_file();
    size_t n;
    if (ok(!hn_read_file(file, &text, &n, NULL), "fakes/cache_is_there")) {
        text[n / 2] ^= 1;
        (void)hn_write_file(file, text, n, NULL);
        free(text);
    }
    b = space_of(path, &third, &err);
    ok(b != NULL && third.probe_s != first.probe_s, "fakes/corrupt_cache_is_probed_again");
    hone_space_free(b);
    (void)hn_write_file(file, "hone-target\t1\n", 14, NULL);
    b = space_of(path, &second, &err);
    ok(b != NULL && second.probe_s != third.probe_s, "fakes/torn_cache_is_probed_again");
    hone_space_free(b);
    b = space_of(path, &third, &err);
    ok(b != NULL && second.probe_s == third.probe_s, "fakes/that_is_cached_too");
    hone_space_free(b);
    of_other_tables(file);
    b = space_of(path, &third, &err);
    ok(b != NULL && second.probe_s != third.probe_s, "fakes/a_cache_of_other_tables_is_probed_again");
    hone_space_free(b);
    two_at_once(path, file);
    hone_space_free(a);
}

static void test_bad_discovery(void) {
    char script[2000];
    hone_target_stats stats;
    hone_err err = {0};
    snprintf(script, sizeof script, "%s%s", FAKE_GCC_VERSION, "*--help=*) echo nothing; exit 0;;\nesac\nexit 0\n");
    ok(!space_of(fake_file("gcc-mute", script, 0755), &stats, &err) && err.rc == HONE_E_TOOL &&
           strstr(err.text, "lists no options"),
       "fakes/no_options");
    snprintf(script, sizeof script, "%s%.600s%s", FAKE_GCC_VERSION, options, "\nEND\nexit 0;;\nesac\nexit 1\n");
    ok(!space_of(fake_file("gcc-unable", script, 0755), &stats, &err) && err.rc == HONE_E_TOOL, "fakes/cannot_compile");
}

static void test_installed(void) {
    char script[2000], path[800], *old = getenv("PATH");
    snprintf(script, sizeof script, "%s*) exit 0;;\nesac\n", FAKE_GCC_VERSION);
    char *saved = strdup(old ? old : "");
    (void)mkdir(strcat(strcpy(path, fake_dir), "/bin"), 0755);
    fake_file("bin/gcc-12", script, 0755);
    fake_file("bin/gcc-9", script, 0755);
    fake_file("bin/gcc-ar-12", script, 0755);
    fake_file("bin/clang-format", "#!/bin/sh\necho clang-format version 14\n", 0755);
    snprintf(path, sizeof path, "%s/bin/gcc", fake_dir);
    (void)symlink("gcc-12", path);
    snprintf(path, sizeof path, "%s/bin:/nonexistent", fake_dir);
    setenv("PATH", path, 1);
    /* the scripts need no command from PATH */
    char **names = NULL;
    size_t n = 0;
    hone_err err;
    ok(!hone_family_installed("gcc", &names, &n, &err) && n == 2 && !strcmp(names[0], "gcc") &&
           !strcmp(names[1], "gcc-9") && !names[2],
       "fakes/installed_links_once_and_no_tools");
    hone_free(names);
    ok(!hone_family_installed("clang", &names, &n, &err) && n == 0, "fakes/installed_none");
    hone_free(names);
    ok(hone_family_installed("cobol", &names, &n, &err) == HONE_E_NOTFOUND, "fakes/installed_unknown_family");
    setenv("PATH", saved, 1);
    free(saved);
}

/* A merger of another version reads no profiles of this one; where it is the only one there is none. */
static void test_profile_tool(void) {
    static const char clang[] = "#!/bin/sh\n"
                                "case \"$*\" in\n"
                                "--version) echo 'clang version 77.1.2 (fake)'; exit 0;;\n"
                                "-print-prog-name=*) echo \"${1#*=}\"; exit 0;;\n"
                                "esac\nexit 0\n";
    char path[800], *old = getenv("PATH"), *saved = strdup(old ? old : "");
    hone_target *t = NULL;
    hone_err err = {0};
    snprintf(path, sizeof path, "%s/bin:%s", fake_dir, saved);
    setenv("PATH", path, 1);
    fake_file("bin/llvm-profdata", "#!/bin/sh\necho 'LLVM (fake):'; echo '  LLVM version 14.0.6'\n", 0755);
    hone_rc rc = hone_target_open(fake_file("bin/clang-77", clang, 0755), fake_cache(), &t, &err);
    ok(!rc, "fakes/clang_opens %s", err.text);
    rc = rc ? rc : hone_target_profile_merge(t, fake_dir, &err);
    ok(rc == HONE_E_TOOL && strstr(err.text, "not installed"), "fakes/profile_tool_of_another_version %s", err.text);
    fake_file("bin/llvm-profdata", "#!/bin/sh\necho 'LLVM (fake):'; echo '  LLVM version 77.0.0'\n", 0755);
    rc = hone_target_profile_merge(t, fake_dir, &err);
    ok(rc == HONE_E_NOTFOUND && strstr(err.text, "left no profile"), "fakes/profile_tool_of_this_version %s", err.text);
    hone_target_close(t);
    setenv("PATH", saved, 1);
    free(saved);
}

int main(void) {
    fake_begin();
    test_unusable();
    test_probing();
    test_bad_discovery();
    test_installed();
    test_profile_tool();
    fake_end();
    return done_testing();
}
