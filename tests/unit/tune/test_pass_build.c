/* Builds through opt: bitcode in front of the passes is made once for all pipelines; an opt that crashes, hangs or
 * writes garbage fails the build, and the message says in which stage. Scripts stand before clang and opt. */
#include "tap.h"

#include "base/fs.h"
#include "base/hash.h"
#include "target/opt.h"
#include "tune/build.h"

#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/tmp/hone-test-pass-build-XXXXXX";
static hone_target *target;
static char cc[200], opt_path[200];
static hn_opt opt = {.path = opt_path, .command = "opt", .version = "19", .hash = "00000000000000000000000000000000"};

static void put(const char *name, const char *text, unsigned mode) {
    char *path = hn_path_join(root, name);
    if (hn_write_file(path, text, strlen(text), NULL) || chmod(path, mode)) exit(99);
    free(path);
}

/* How often clang made bitcode since the last question. */
static size_t fronts(void) {
    char *path = hn_path_join(root, "fronts"), *text = NULL;
    size_t n = 0;
    if (!hn_read_file(path, &text, &n, NULL)) remove(path);
    free(text);
    free(path);
    return n;
}

static void put_sources(void) {
    put("a.c", "int a(int x) { int y = x; return y * 2; }\n", 0644);
    put("main.c", "int a(int);\nint main(int n, char **v) { (void)v; return a(n); }\n", 0644);
}

static void put_tools(const char *clang, const char *real) {
    char text[1200];
    snprintf(cc, sizeof cc, "%s/clang", root);
    snprintf(opt_path, sizeof opt_path, "%s/opt", root);
    snprintf(text, sizeof text,
             "#!/bin/sh\ncase \" $* \" in *' -emit-llvm '*) printf x >> %s/fronts ;; esac\nexec %s \"$@\"\n", root,
             clang);
    put("clang", text, 0755);
    snprintf(text, sizeof text,
             "#!/bin/sh\nfor word; do [ \"$last\" != -o ] || out=$word; last=$word; done\n"
             "case $(cat %s/mode) in\ncrash) kill -SEGV $$ ;;\nhang) sleep 300 ;;\n"
             "garbage) echo no bitcode > \"$out\"; exit ;;\nesac\nexec %s \"$@\"\n",
             root, real);
    put("opt", text, 0755);
    put("mode", "good\n", 0644);
}

static hone_workload *workload(int limit_s) {
    static const char format[] =
        "hone: 1\nname: passes\nsources: [main.c, a.c]\n"
        "build: '{cc} {flags} main.c a.c -o {out}'\nrun: '{out}'\ncompilers: [clang-19]\n"
        "objectives: [minimize code_size]\nparity: {rule: none}\nstages: {build: %d s, confine: false}\n";
    char text[400];
    hone_workload *w = NULL;
    hone_err err = {0};
    snprintf(text, sizeof text, format, limit_s);
    if (hone_workload_parse(text, strlen(text), "passes", root, &w, &err)) printf("# %s\n", err.text);
    return w;
}

typedef struct result {
    hone_outcome_class cls;
    char hash[33], detail[400];
    size_t n_fronts;
} result;

static result build_within(int limit_s, const char *flag, const char *pipeline) {
    result out = {.cls = HONE_N_CLASSES};
    const char *flags[] = {flag};
    hone_workload *w = workload(limit_s);
    char *dir = hn_path_join(root, "work"), *cache = hn_path_join(root, "cache"), name[] = "one", *names[] = {name};
    double waited_s = 0;
    hn_build b;
    hone_err err = {0};
    hone_tune_options o = {.size = sizeof(hone_tune_options), .cpu = -1, .cache_dir = cache};
    hn_build_config cfg = {.w = w, .options = &o, .root = dir, .jobs = 1, .cpu = -1, .waited_s = &waited_s};
    hn_recipe r = {.target = target, .cc = cc, .flag = flags, .n_flags = 1, .opt = &opt};
    r.edits = "";
    r.pipeline = pipeline;
    if (w && !hn_build_all(&cfg, &r, names, 1, &b, &err)) {
        out.cls = b.cls;
        memcpy(out.hash, b.object_hash, sizeof out.hash);
        snprintf(out.detail, sizeof out.detail, "%.390s", b.detail);
        hn_build_drop(&b, false);
    } else {
        printf("# %s\n", err.text);
    }
    hone_workload_free(w);
    free(dir);
    free(cache);
    out.n_fronts = fronts();
    return out;
}

static result build(const char *flag, const char *pipeline) { return build_within(300, flag, pipeline); }

static void test_bitcode(void) {
    result plain = build("-O2", "function(sroa)");
    ok(plain.cls == HONE_RUN_OK && plain.n_fronts == 2, "pass_build/bitcode_is_made_of_each_file (%zu, %s)",
       plain.n_fronts, plain.detail);
    result other = build("-O2", "verify");
    ok(other.cls == HONE_RUN_OK && !other.n_fronts && strcmp(other.hash, plain.hash) != 0,
       "pass_build/other_passes_take_the_same_bitcode (%zu)", other.n_fronts);
    result again = build("-O2", "function(sroa)");
    ok(!again.n_fronts && !strcmp(again.hash, plain.hash), "pass_build/known_objects_need_none");
    other = build("-O1", "function(sroa)");
    ok(other.cls == HONE_RUN_OK && other.n_fronts == 2, "pass_build/other_flags_make_other_bitcode (%zu)",
       other.n_fronts);
    put("a.c", "int a(int x) { int y = x; return y * 3; }\n", 0644);
    other = build("-O2", "function(sroa,instcombine)");
    ok(other.cls == HONE_RUN_OK && other.n_fronts == 1, "pass_build/a_changed_file_makes_its_own (%zu)",
       other.n_fronts);
    put_sources();
}

/* Passes that were not run before, so that no object is known. */
static void test_faults(void) {
    static const struct {
        const char *mode, *pipeline, *says, *also;
        hone_outcome_class cls;
    } faults[] = {
        {"crash", "function(gvn)", "stage 2 of 3, opt's run of the passes", "SIGSEGV", HONE_BUILD_ERROR},
        {"hang", "function(gvn,sroa)", "stage 2 of 3, opt's run of the passes", "ran longer than 2 s",
         HONE_BUILD_TIMEOUT},
        {"garbage", "function(gvn,gvn)", "stage 3 of 3, code of what opt made", "error", HONE_BUILD_ERROR},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        put("mode", faults[i].mode, 0644);
        bool hangs = faults[i].cls == HONE_BUILD_TIMEOUT; /* which is waited for */
        result r = build_within(hangs ? 2 : 300, "-O2", faults[i].pipeline);
        ok(r.cls == faults[i].cls && strstr(r.detail, faults[i].says) && strstr(r.detail, faults[i].also) &&
               strstr(r.detail, ".c' ("),
           "pass_build/an_opt_with_a_%s_fails_the_build: %s", faults[i].mode, r.detail);
        put("mode", "good\n", 0644);
        r = build("-O2", faults[i].pipeline);
        ok(r.cls == HONE_RUN_OK && !r.n_fronts, "pass_build/%s_leaves_nothing_behind (%s)", faults[i].mode, r.detail);
    }
    put("a.c", "int a(int x) { return x +; }\n", 0644);
    result r = build("-O2", "function(sroa)");
    ok(r.cls == HONE_BUILD_ERROR && strstr(r.detail, "'a.c' (stage 1 of 3") && strstr(r.detail, "expected"),
       "pass_build/a_fault_of_the_source_is_of_the_first_stage: %s", r.detail);
}

int main(void) {
    hone_err err = {0};
    char *clang = hn_which("clang-19"), *real = hn_which("opt-19");
    if (!clang || !real || hone_target_open("clang-19", getenv("HONE_CACHE"), &target, &err)) {
        skip(1, "pass_build: no clang-19 with opt-19 %s", err.text);
    } else {
        if (!mkdtemp(root)) return 99;
        put_sources();
        put_tools(clang, real);
        test_bitcode();
        test_faults();
        hone_target_close(target);
        hn_remove_tree(root, NULL);
    }
    free(clang);
    free(real);
    return done_testing();
}
