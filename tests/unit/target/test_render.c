/* Points as command lines, and command lines as response files. */
#include "fake.h"

#include "tap.h"

#include <math.h>

static const char *const on_off[] = {"on", "off"}, *const level[] = {"2", "3"}, *const arch[] = {"native", "x86-64-v3"},
                         *const cost[] = {"off", "cheap", "dynamic"}, *const bools[] = {"true", "false"};

static const hone_param params[] = {
    {.name = "-O", .kind = HONE_CHOICE, .values = level, .n_values = 2, .dflt = 1},
    {.name = "-march", .kind = HONE_CHOICE, .values = arch, .n_values = 2, .dflt = NAN, .optional = true},
    {.name = "lto", .kind = HONE_FLAG, .dflt = 0},
    {.name = "pgo", .kind = HONE_FLAG, .dflt = 0},
    {.name = "-fgcse", .kind = HONE_CHOICE, .values = on_off, .n_values = 2, .dflt = NAN, .optional = true},
    {.name = "-mstv", .kind = HONE_CHOICE, .values = on_off, .n_values = 2, .dflt = NAN, .optional = true},
    {.name = "-fcost", .kind = HONE_CHOICE, .values = cost, .n_values = 3, .dflt = NAN, .optional = true},
    {.name = "--param=max-unroll-times", .kind = HONE_INT, .lo = 0, .hi = 5e8, .dflt = NAN, .optional = true},
    {.name = "-mllvm=unroll-runtime",
     .kind = HONE_CHOICE,
     .values = bools,
     .n_values = 2,
     .dflt = NAN,
     .optional = true},
    {.name = "-mllvm=slp-threshold", .kind = HONE_INT, .lo = -40, .hi = 40, .dflt = NAN, .optional = true},
    {.name = "-fsigned-zeros",
     .kind = HONE_CHOICE,
     .values = on_off,
     .n_values = 2,
     .dflt = NAN,
     .optional = true,
     .tag = "numeric"},
};
enum { N = sizeof params / sizeof *params };

typedef struct gene {
    int at;
    double value;
} gene;

static const struct {
    const char *name;
    gene gene[8]; /* ends with value 0 at index 0 unless set */
    int n;
    hone_fp fp;
    const char *want;
    bool pgo;
} cases[] = {
    {"default", {{0}}, 0, HONE_FP_STRICT, "-O3 -ffp-contract=off", false},
    {"level_and_contract", {{0, 0}}, 1, HONE_FP_CONTRACT, "-O2 -ffp-contract=fast", false},
    {"fast", {{0, 0}}, 1, HONE_FP_FAST, "-O2 -ffast-math -ffp-contract=fast", false},
    {"flags_on", {{4, 0}, {5, 0}}, 2, HONE_FP_STRICT, "-O3 -fgcse -mstv -ffp-contract=off", false},
    {"flags_off", {{4, 1}, {5, 1}}, 2, HONE_FP_STRICT, "-O3 -fno-gcse -mno-stv -ffp-contract=off", false},
    {"enumeration", {{6, 2}}, 1, HONE_FP_STRICT, "-O3 -fcost=dynamic -ffp-contract=off", false},
    {"enumeration_off", {{6, 0}}, 1, HONE_FP_STRICT, "-O3 -fno-cost -ffp-contract=off", false},
    {"parameter", {{7, 0}}, 1, HONE_FP_STRICT, "-O3 --param=max-unroll-times=0 -ffp-contract=off", false},
    {"large_integer", {{7, 4e8}}, 1, HONE_FP_STRICT, "-O3 --param=max-unroll-times=400000000 -ffp-contract=off", false},
    {"llvm",
     {{8, 1}, {9, -7}},
     2,
     HONE_FP_STRICT,
     "-O3 -mllvm -unroll-runtime=false -mllvm -slp-threshold=-7 -ffp-contract=off",
     false},
    {"arch", {{1, 1}}, 1, HONE_FP_STRICT, "-O3 -march=x86-64-v3 -ffp-contract=off", false},
    {"lto", {{2, 1}}, 1, HONE_FP_STRICT, "-O3 -flto -ffp-contract=off", false},
    {"pgo", {{3, 1}}, 1, HONE_FP_STRICT, "-O3 -fprofile-correction -Wno-missing-profile -ffp-contract=off", true},
    {"numeric_after_contract",
     {{10, 0}, {4, 0}},
     2,
     HONE_FP_FAST,
     "-O3 -fgcse -ffast-math -ffp-contract=fast -fsigned-zeros",
     false},
};

static hone_space *make_space(const char *prefix) {
    hone_space *part, *all = NULL;
    if (hone_space_new("part", &part, NULL)) exit(99);
    for (int i = 0; i < N; i++)
        if (hone_space_add(part, &params[i], NULL)) exit(99);
    if (hone_space_seal(part, NULL)) exit(99);
    if (!prefix) return part;
    hone_param other = {.name = "tile", .kind = HONE_INT, .lo = 1, .hi = 8, .dflt = 4},
               foreign = {.name = "clang.-fgcse", .kind = HONE_CHOICE, .values = on_off, .n_values = 2, .dflt = 0};
    if (hone_space_new("all", &all, NULL) || hone_space_add(all, &other, NULL) || hone_space_add(all, &foreign, NULL) ||
        hone_space_include(all, part, prefix, "tile >= 2", NULL) || hone_space_seal(all, NULL))
        exit(99);
    hone_space_free(part);
    return all;
}

static char *joined(const hone_command *c) {
    size_t n = 1;
    for (size_t i = 0; i < c->n_argv; i++) n += strlen(c->argv[i]) + 1;
    char *text = calloc(1, n);
    for (size_t i = 0; i < c->n_argv; i++) strcat(strcat(text, i ? " " : ""), c->argv[i]);
    return text;
}

static void test_cases(hone_target *t) {
    hone_space *space = make_space(NULL);
    double point[N];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hone_command c;
        char name[100];
        hone_space_default(space, point);
        for (int g = 0; g < cases[i].n; g++) point[cases[i].gene[g].at] = cases[i].gene[g].value;
        if (!ok(!hone_target_render(t, space, NULL, point, cases[i].fp, &c, NULL), "render/%s_works", cases[i].name))
            continue;
        char *text = joined(&c);
        snprintf(name, sizeof name, "render/%s", cases[i].name);
        is_text(text, cases[i].want, name);
        ok(c.pgo == cases[i].pgo && !c.argv[c.n_argv] && c.n_env == 0 && !c.env[0], "render/%s_is_complete",
           cases[i].name);
        free(text);
        hone_command_free(&c);
    }
    hone_err err = {0};
    hone_command c = {0};
    ok(hone_target_render(t, space, NULL, point, (hone_fp)7, &c, &err) == HONE_E_INPUT && !c.argv,
       "render/bad_contract");
    hone_space_free(space);
}

static void test_prefix(hone_target *t) {
    hone_space *space = make_space("gcc");
    double *point = calloc(hone_space_slots(space), sizeof *point);
    hone_command c;
    hone_space_default(space, point);
    point[hone_space_param(space, hone_space_find(space, "gcc.-mstv"))->slot] = 1;
    if (ok(!hone_target_render(t, space, "gcc", point, HONE_FP_STRICT, &c, NULL), "render/prefix_works")) {
        char *text = joined(&c);
        is_text(text, "-O3 -mno-stv -ffp-contract=off", "render/prefix_takes_its_own_only");
        free(text);
        hone_command_free(&c);
    }
    point[0] = 1; /* tile: makes the compiler's genes inactive */
    if (ok(!hone_target_render(t, space, "gcc", point, HONE_FP_STRICT, &c, NULL), "render/inactive_works")) {
        char *text = joined(&c);
        is_text(text, "-ffp-contract=off", "render/inactive_genes_give_nothing");
        free(text);
        hone_command_free(&c);
    }
    free(point);
    hone_space_free(space);
}

/* What gcc makes of the file is what was meant: the file is read back by the real compiler's driver. */
static void test_rsp(void) {
    static const char *argv[] = {"-DA=b c", "-DQ=\"x\"", "-DB=a\\b", "-DS='", "", "-DT=a\tb", NULL};
    hone_command c = {.argv = argv, .n_argv = 6};
    char *text = NULL;
    if (!ok(!hone_command_rsp(&c, &text, NULL), "render/response_file_works")) return;
    is_text(text, "-DA=b\\ c\n-DQ=\\\"x\\\"\n-DB=a\\\\b\n-DS=\\'\n\"\"\n-DT=a\\\tb\n",
            "render/response_file_is_quoted");
    free(text);
}

static void expand(const char *compiler) {
    static const char *argv[] = {"-DA=b c", "-DQ=\"x\\\"y\"", "-O2", NULL};
    hone_command c = {.argv = argv, .n_argv = 3};
    char *text = NULL, command[1000], got[200] = "";
    if (system(strcat(strcat(strcpy(command, "command -v "), compiler), " >/dev/null 2>&1")) != 0) {
        skip(1, "no %s", compiler);
        return;
    }
    if (hone_command_rsp(&c, &text, NULL)) exit(99);
    const char *path = fake_file("flags.rsp", text, 0644);
    snprintf(command, sizeof command, "echo 'A Q' | %s @%s -E -P -x c - 2>&1", compiler, path);
    FILE *p = popen(command, "r");
    if (p && !fgets(got, sizeof got, p)) got[0] = 0;
    if (p) pclose(p);
    got[strcspn(got, "\n")] = 0;
    char name[100];
    snprintf(name, sizeof name, "render/response_file_as_%s_reads_it", compiler);
    is_text(got, "b c \"x\\\"y\"", name);
    free(text);
}

int main(void) {
    char script[2000];
    hone_target *t = NULL;
    hone_err err = {0};
    fake_begin();
    snprintf(script, sizeof script, "%s*) exit 0;;\nesac\n", FAKE_GCC_VERSION);
    if (ok(!hone_target_open(fake_file("gcc", script, 0755), fake_cache(), &t, &err), "render/target_opens")) {
        const hone_fingerprint *f = hone_target_fingerprint(t);
        is_text(f->family, "gcc", "render/family");
        is_text(f->version, "gcc (Fake) 12.2.0", "render/version");
        ok(strlen(f->hash) == 32 && *f->march && *f->path == '/', "render/fingerprint_is_complete");
        test_cases(t);
        test_prefix(t);
    } else {
        printf("#   %s\n", err.text);
    }
    test_rsp();
    expand("gcc");
    expand("clang-19");
    hone_target_close(t);
    fake_end();
    return done_testing();
}
