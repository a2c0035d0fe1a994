/* Builds in private folders: links, failures, several steps of profile-guided optimisation, what stays behind. */
#include "tap.h"

#include "base/fs.h"
#include "tune/build.h"

#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/tmp/hone-test-build-XXXXXX";

static void put(const char *name, const char *text) {
    hn_str path = {0};
    hn_str_addf(&path, "%s/%s", root, name);
    char *slash = strrchr(path.text, '/');
    *slash = 0;
    hn_make_dirs(path.text, NULL);
    *slash = '/';
    hn_write_file(path.text, text, strlen(text), NULL);
    hn_str_free(&path);
}

static hone_workload *parse(const char *text) {
    hone_workload *w = NULL;
    hone_err err = {0};
    if (hone_workload_parse(text, strlen(text), "build", root, &w, &err)) printf("# %s\n", err.text);
    return w;
}

static bool has(const hn_build *b, const char *name) {
    hn_str path = {0};
    hn_str_addf(&path, "%s/%s", b->dir, name);
    bool there = hn_exists(path.text);
    hn_str_free(&path);
    return there;
}

typedef struct built {
    hone_workload *w;
    hn_build b[2];
    hone_rc rc;
    hone_err err;
    double waited_s;
} built;

/* A recipe without a compiler's target: what the build text does is up to the test. */
static built build(const char *text, const char *const *flag, size_t n_flags, const volatile int *stop) {
    built out = {.w = parse(text)};
    if (!out.w) return out;
    char *gone = hn_path_join(root, "gone.c"); /* a source that vanishes after the workload is read */
    if (gone) unlink(gone);
    free(gone);
    hone_tune_options o = {.size = sizeof(hone_tune_options), .cpu = -1, .stop = stop};
    hn_str dir = {0};
    hn_str_addf(&dir, "%s/work", root);
    hn_build_config cfg = {
        .w = out.w, .options = &o, .root = dir.text, .jobs = 2, .cpu = -1, .waited_s = &out.waited_s};
    hn_recipe r = {.cc = "cc", .flag = (const char **)(uintptr_t)flag, .n_flags = n_flags, .defines = ""};
    hn_recipe both[2] = {r, r};
    char one[] = "one", two[] = "two", *name[] = {one, two};
    out.rc = hn_build_all(&cfg, both, name, 2, out.b, &out.err);
    hn_str_free(&dir);
    return out;
}

static void drop(built *x) {
    for (size_t i = 0; i < 2; i++) hn_build_drop(&x->b[i], false);
    hone_workload_free(x->w);
}

#define HEAD "hone: 1\nname: b\ncontrols: false\nrun: '{out}'\nobjectives: [minimize code_size]\nparity: {rule: none}\n"

static void test_folders(void) {
    put("a.c", "int main(void) { return 0; }\n");
    put("lib/b..c.h", "x\n");
    put("hidden.h", "x\n");
    static const char *const odd[] = {"-DX=it's $HOME"};
    built x = build(HEAD "sources: [a.c, lib/b..c.h]\n"
                         "build: 'ls > seen; printf \"%s\" {flags} > words; test ! -e hidden.h; printf %s y > {out}'\n",
                    odd, 1, NULL);
    if (ok(x.rc == HONE_OK && x.b[0].cls == HONE_RUN_OK, "build/works")) {
        ok(has(&x.b[0], "a.c") && has(&x.b[0], "lib/b..c.h"), "build/sources_are_linked");
        ok(!has(&x.b[0], "hidden.h"), "build/others_are_not");
        ok(!strcmp(x.b[0].object_hash, x.b[1].object_hash) && strlen(x.b[0].object_hash) == 32, "build/equal_objects");
        ok(x.b[0].file_b == 1 && x.b[0].build_s > 0 && x.waited_s > 0, "build/size_and_time");
        hn_str path = {0};
        char *words = NULL;
        size_t n;
        hn_str_addf(&path, "%s/words", x.b[0].dir);
        if (!hn_read_file(path.text, &words, &n, NULL)) is_text(words, odd[0], "build/flags_are_quoted");
        free(words);
        hn_str_free(&path);
        char *dir = strdup(x.b[0].dir);
        hn_build_drop(&x.b[0], false);
        ok(dir && !hn_exists(dir), "build/folder_goes");
        free(dir);
        dir = strdup(x.b[1].dir);
        hn_build_drop(&x.b[1], true);
        ok(dir && hn_exists(dir), "build/folder_is_kept_on_demand");
        free(dir);
    }
    drop(&x);
    char *source = hn_path_join(root, "a.c");
    ok(source && hn_exists(source), "build/sources_stay");
    free(source);
}

static void test_failures(void) {
    static const struct {
        const char *name, *build;
        hone_outcome_class cls;
        const char *says;
    } cases[] = {
        {"exit", "echo bad thing >&2; exit 3; : {out}", HONE_BUILD_ERROR, "bad thing"},
        {"no_program", ": {out}", HONE_BUILD_ERROR, "left no program"},
        {"hang", "sleep 60; : {out}", HONE_BUILD_TIMEOUT, "longer"},
        {"signal", "kill -SEGV $$; : {out}", HONE_BUILD_ERROR, "SEGV"},
        {"flood", "yes; : {out}", HONE_OVER_LIMIT, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hn_str text = {0};
        hn_str_addf(&text, "%sbuild: '%s'\nstages: {build: 1 s, output: 100 kB}\n", HEAD, cases[i].build);
        built x = build(text.text, NULL, 0, NULL);
        if (!ok(x.rc == HONE_OK && x.b[0].cls == cases[i].cls && x.b[1].cls == cases[i].cls, "build/%s_is_classed",
                cases[i].name))
            printf("# %d %s: %s\n", x.rc, hone_outcome_class_name(x.b[0].cls), x.b[0].detail);
        ok(strstr(x.b[0].detail, cases[i].says), "build/%s_says_so", cases[i].name);
        ok(!*x.b[0].object_hash, "build/%s_has_no_object", cases[i].name);
        drop(&x);
        hn_str_free(&text);
    }
}

static void test_own_troubles(void) {
    put("gone.c", "x");
    built x = build(HEAD "sources: [gone.c]\nbuild: 'cc gone.c -o {out}'\n", NULL, 0, NULL);
    ok(x.w && (x.rc == HONE_E_IO && strstr(x.err.text, "gone.c")), "build/missing_source_is_named");
    ok(!x.b[0].dir && !x.b[1].dir, "build/nothing_is_left_of_it");
    drop(&x);
    volatile int stop = 1;
    x = build(HEAD "build: 'sleep 60; : {out}'\n", NULL, 0, &stop);
    ok(x.rc == HONE_E_INTERRUPTED, "build/stops_when_told");
    ok(!x.b[0].dir && !x.b[1].dir, "build/interrupted_ones_are_dropped");
    drop(&x);
}

/* generate, train, use: with the compiler that is here; the held-out input is not trained on. */
static void test_profile_guided(void) {
    put("p.c", "#include <stdio.h>\n#include <stdlib.h>\nint main(int argc, char **argv) {\n"
               "    int s = 0;\n    for (int i = 0; i < atoi(argv[argc - 1]); i++) s += i % 7 ? i : -i;\n"
               "    printf(\"%d\\n\", s);\n    return s == 42;\n}\n");
    static const char text[] =
        "hone: 1\nname: pgo\nsources: [p.c]\ncompilers: [gcc]\nbaseline: {flags: '-O2'}\n"
        "build: 'echo {flags} >> log; {cc} {flags} p.c -o {out}'\nrun: 'echo ran {input} >> log; {out} {input}'\n"
        "inputs: [{name: x, args: '9', held_out: true}, {name: y, args: '1000'}]\n"
        "controls: {pgo: true}\nobjectives: [minimize code_size]\nparity: {rule: none}\n";
    hone_workload *w = parse(text);
    hn_plan *plan = NULL;
    hone_err err = {0};
    if (!ok(w && hn_plan_open(w, NULL, NULL, &plan, &err) == HONE_OK, "build/pgo_plan")) {
        printf("# %s\n", err.text);
        hone_workload_free(w);
        return;
    }
    hn_recipe r;
    double waited = 0;
    hn_str dir = {0};
    hn_str_addf(&dir, "%s/pgo", root);
    hn_build_config cfg = {.w = w, .root = dir.text, .jobs = 1, .cpu = -1, .waited_s = &waited};
    char name[] = "p", *names[] = {name};
    hn_build b;
    size_t i = hone_space_find(plan->space, "gcc.pgo");
    ok(i != SIZE_MAX, "build/pgo_is_a_gene");
    if (i != SIZE_MAX) plan->base[hone_space_param(plan->space, i)->slot] = 1;
    if (ok(!hn_plan_recipe(plan, plan->base, &r, &err) && r.pgo, "build/pgo_recipe")) {
        ok(!hn_build_all(&cfg, &r, names, 1, &b, &err) && b.cls == HONE_RUN_OK, "build/pgo_builds");
        if (b.cls) printf("# %s\n", b.detail);
        char *path = hn_path_join(b.dir, "log"), *log = NULL;
        size_t n;
        if (ok(path && !hn_read_file(path, &log, &n, NULL), "build/pgo_log")) {
            const char *generate = strstr(log, "-fprofile-generate"), *ran = strstr(log, "ran 1000"),
                       *use = strstr(log, "-fprofile-use");
            ok(generate && ran && use && generate < ran && ran < use, "build/pgo_generates_trains_uses");
            ok(!strstr(log, "ran 9"), "build/pgo_leaves_the_held_out_input");
        }
        free(log);
        free(path);
        hn_build_drop(&b, false);
        hn_recipe_free(&r);
    }
    hn_str_free(&dir);
    hn_plan_close(plan);
    hone_workload_free(w);
}

/* A number that a build left in a file; 0: it left none. */
static long long noted(const hn_build *b, const char *name) {
    char *path = hn_path_join(b->dir, name), *text = NULL;
    size_t n;
    long long x = 0;
    if (path && hn_exists(path) && !hn_read_file(path, &text, &n, NULL)) x = atoll(text);
    free(text);
    free(path);
    return x;
}

enum { N_STREAM = 6, UNDER_WAY = 4 };

/* Two at a time, four under way: the first waits until the second has noted when it began, the third fails. Each leaves
 * when it began and ended. */
static bool stream(hn_builds *s, hn_build b[N_STREAM], long long from[N_STREAM], long long to[N_STREAM],
                   hone_err *err) {
    static const char *const does[N_STREAM] = {"until test -s ../s1/from; do sleep 0.02; done",
                                               "sleep 0.1",
                                               "date +%s%N > prog; exit 3",
                                               "true",
                                               "true",
                                               "true"};
    char name[N_STREAM][8];
    hn_recipe r[N_STREAM];
    for (size_t i = 0, next = 0; i < N_STREAM; i++) {
        for (; next < N_STREAM && next < i + UNDER_WAY; next++) {
            r[next] =
                (hn_recipe){.cc = "cc", .flag = (const char **)(uintptr_t)&does[next], .n_flags = 1, .defines = ""};
            snprintf(name[next], sizeof name[0], "s%zu", next);
            if (hn_builds_add(s, &r[next], name[next], &b[next], err)) return false;
        }
        if (hn_builds_next(s, err)) return false;
        from[i] = noted(&b[i], "from");
        to[i] = noted(&b[i], "prog");
        ok(b[i].cls == (i == 2 ? HONE_BUILD_ERROR : HONE_RUN_OK), "build/stream_%zu_is_given_in_order", i);
        ok(from[i] && to[i] >= from[i], "build/stream_%zu_is_over", i);
        hn_build_drop(&b[i], false);
    }
    return true;
}

static void test_stream(void) {
    hone_workload *w = parse(HEAD "build: 'date +%s%N > from; eval {flags}; date +%s%N > {out}'\n");
    hn_build b[N_STREAM];
    long long from[N_STREAM], to[N_STREAM];
    double waited = 0;
    hone_err err = {0};
    hn_str dir = {0};
    hn_str_addf(&dir, "%s/stream", root);
    hn_build_config cfg = {.w = w, .root = dir.text, .jobs = 2, .cpu = -1, .waited_s = &waited};
    hn_builds *s = NULL;
    if (ok(w && !hn_builds_open(&cfg, UNDER_WAY, &s, &err) && stream(s, b, from, to, &err), "build/stream_goes_on")) {
        size_t most = 0;
        for (size_t i = 0; i < N_STREAM; i++) {
            size_t n = 0;
            for (size_t k = 0; k < N_STREAM; k++) n += from[k] <= from[i] && from[i] < to[k];
            if (n > most) most = n;
        }
        ok(most == 2, "build/stream_runs_two_at_a_time");
        static const char *const hangs = "sleep 60";
        hn_recipe r = {.cc = "cc", .flag = (const char **)(uintptr_t)&hangs, .n_flags = 1, .defines = ""};
        ok(!hn_builds_add(s, &r, "hangs", &b[0], &err) && has(&b[0], "."), "build/stream_begins_at_once");
    } else {
        printf("# %s\n", err.text);
    }
    hn_builds_close(s);
    hn_str_addf(&dir, "/hangs");
    ok(!hn_exists(dir.text), "build/stream_drops_what_was_not_given");
    hn_str_free(&dir);
    hone_workload_free(w);
}

/* A stand-in for BOLT that writes down how it was called. */
static void put_tool(const char *name, const char *text) {
    put(name, text);
    char *path = hn_path_join(root, name);
    chmod(path, 0755);
    free(path);
}

static size_t n_of(const char *text, const char *word) {
    size_t n = 0;
    for (const char *at = text; at && (at = strstr(at, word)); at++) n++;
    return n;
}

/* Three at once, of one link with three sets of options: one of them makes the profile. */
static void test_shared_profile(hn_build_config *cfg, const hn_bolt *bolt) {
    static const char *const options[] = {"-a", "-b", "-c"};
    char name[3][4] = {"s0", "s1", "s2"}, *names[] = {name[0], name[1], name[2]};
    hn_recipe r[3];
    hn_build b[3];
    hone_err err = {0};
    size_t instrumented = 0, optimised = 0;
    put("b.c", "y\n"); /* another program than before */
    cfg->jobs = 3;
    for (int i = 0; i < 3; i++) r[i] = (hn_recipe){.cc = "cc", .defines = "", .bolt = bolt, .bolt_options = options[i]};
    if (!ok(!hn_build_all(cfg, r, names, 3, b, &err), "build/post_link_at_once")) printf("# %s\n", err.text);
    for (int i = 0; i < 3; i++) {
        char *path = b[i].dir ? hn_path_join(b[i].dir, "log") : NULL, *log = NULL;
        size_t n;
        if (path && !hn_read_file(path, &log, &n, NULL)) {
            instrumented += n_of(log, "-instrument ");
            optimised += n_of(log, "-data=./prog.profile -");
        }
        ok(b[i].cls == HONE_RUN_OK, "build/post_link_at_once_%d", i);
        free(path), free(log);
        hn_build_drop(&b[i], false);
    }
    ok(instrumented == 1 && optimised == 3, "build/post_link_at_once_makes_one_profile");
}

/* Two sets of options, one after the other: the second one takes the first one's profile. */
static void test_post_link(void) {
    put_tool("bolt",
             "#!/bin/sh\necho \"$*\" >> log\n"
             "case \"$*\" in *-instrument*) printf '#!/bin/sh\\necho ran $1 >> log; echo 1 > prog.fdata.$$\\n' "
             "> prog; chmod +x prog;; *) cp prog.linked prog; cat prog.profile >> prog; echo \"$3\" >> prog;; esac\n");
    put_tool("merge", "#!/bin/sh\nwhile [ \"$1\" != -o ]; do shift; done; echo profile > \"$2\"\n");
    put("b.c", "x\n");
    static const char text[] =
        "hone: 1\nname: post\nsources: [b.c]\ncontrols: false\npost_link: bolt\nbuild: ': {flags}; cp b.c {out}'\n"
        "run: '{out} {input}'\ninputs: [{name: x, args: '9', held_out: true}, {name: y, args: '7'}, {name: z, args: "
        "'8'}]\n"
        "objectives: [minimize code_size]\nparity: {rule: none}\n";
    hone_workload *w = parse(text);
    double waited = 0;
    hone_err err = {0};
    char *work = hn_path_join(root, "post"), *cache = hn_path_join(root, "cache"), *path = hn_path_join(root, "bolt"),
         *merge = hn_path_join(root, "merge");
    hone_tune_options o = {.size = sizeof(hone_tune_options), .cpu = -1, .cache_dir = cache};
    hn_build_config cfg = {.w = w, .options = &o, .root = work, .jobs = 1, .cpu = -1, .waited_s = &waited};
    hn_bolt bolt = {.path = path, .merge = merge, .command = "bolt", .version = "1", .hash = "h", .help = ""};
    static const char *const options[] = {"-a", "-b", "-a"};
    char name[] = "p", *names[] = {name}, hash[3][33] = {""};
    for (int i = 0; w && i < 3; i++) {
        hn_recipe r = {.cc = "cc", .defines = "", .bolt = &bolt, .bolt_options = options[i]};
        hn_build b;
        char *log_path, *log = NULL;
        size_t n;
        if (!ok(!hn_build_all(&cfg, &r, names, 1, &b, &err) && b.cls == HONE_RUN_OK, "build/post_link_%d", i))
            printf("# %s %s\n", err.text, b.detail);
        strcpy(hash[i], b.object_hash);
        log_path = hn_path_join(b.dir, "log");
        if (log_path && !hn_read_file(log_path, &log, &n, NULL)) {
            ok(n_of(log, "-instrument ") == (i == 0), "build/post_link_%d_instruments_once", i);
            ok(n_of(log, "ran 7") == (i == 0) && n_of(log, "ran 8") == (i == 0), "build/post_link_%d_trains_once", i);
            ok(!n_of(log, "ran 9"), "build/post_link_%d_leaves_the_held_out_input", i);
            ok(n_of(log, "-data=./prog.profile -") == 1, "build/post_link_%d_optimises", i);
        }
        free(log);
        free(log_path);
        hn_build_drop(&b, false);
    }
    ok(strcmp(hash[0], hash[1]) != 0 && !strcmp(hash[0], hash[2]), "build/post_link_options_decide");
    if (w) test_shared_profile(&cfg, &bolt);
    free(work), free(cache), free(path), free(merge);
    hone_workload_free(w);
}

int main(void) {
    if (!mkdtemp(root)) return 1;
    test_stream();
    test_post_link();
    test_folders();
    test_failures();
    test_own_troubles();
    test_profile_guided();
    hn_remove_tree(root, NULL);
    return done_testing();
}
