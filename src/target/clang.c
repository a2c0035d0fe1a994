/* target/clang.c — clang, version 11 and later.
 *
 * Discovery reads LLVM's own options from `-mllvm --help-list-hidden` (types, enumerations) and their values from
 * `-mllvm -print-all-options` (llvm.h); the driver's -f options come from clang_flags.def, as clang lists them without
 * saying which optimise. */
#include "base/err.h"
#include "base/str.h"
#include "target/cc.h"
#include "target/llvm.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    hn_class cls;
    const char *values, *doc;
} driver_flags[] = {
#define HN_FLAG(name, cls, values, doc) {name, HN_##cls, values, doc},
#include "target/clang_flags.def"
#undef HN_FLAG
};

static const char *const seeds[] = {
#define HN_SEED(genes) genes,
#include "target/clang_seeds.def"
#undef HN_SEED
    NULL};

/* clang itself, not a front that has it behind. */
static bool recognise(const char *version) {
    return strstr(version, "clang version") && strncmp(version, "hone-", 5) != 0;
}

/* The word after `key` in a -### line: "-target-cpu" "znver5". */
static const char *quoted_after(const char *text, const char *key, size_t *n) {
    const char *at = strstr(text, key);
    if (!at) return NULL;
    at += strlen(key);
    at += strspn(at, "\" ");
    *n = strcspn(at, "\" \n");
    return at;
}

static int by_text(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

/* All -target-feature words, sorted: their order is that of a hash table and differs between runs. */
static const char *feature_text(hn_arena *a, const char *text) {
    const char *feature[1024];
    size_t n = 0, len;
    for (const char *p = text; n < sizeof feature / sizeof *feature;) {
        const char *word = quoted_after(p, "\"-target-feature\"", &len);
        if (!word) break;
        if ((feature[n] = hn_strndup(a, word, len))) n++;
        p = word;
    }
    if (n) qsort(feature, n, sizeof *feature, by_text);
    hn_str s = {0};
    for (size_t i = 0; i < n; i++) hn_str_addf(&s, " %s", feature[i]);
    char *joined = hn_str_take(&s);
    const char *out = hn_strdup(a, joined ? joined : "");
    free(joined);
    return out;
}

static hone_rc native(hone_target *t, const char **cpu, const char **features, hone_err *err) {
    const char *const argv[] = {t->exec, "-march=native", "-###", "-c",        "-x",
                                "c",     "/dev/null",     "-o",   "/dev/null", NULL};
    hn_tool run;
    hone_rc rc = hn_tool_run_errors(argv, 10, &run, err);
    if (rc) return rc;
    size_t n;
    const char *name = run.ok ? quoted_after(run.out, "\"-target-cpu\"", &n) : NULL;
    if (name) {
        *cpu = hn_strndup(&t->arena, name, n);
        *features = feature_text(&t->arena, run.out);
    }
    hn_tool_free(&run);
    return HONE_OK;
}

/* behind: through a front that hands on what follows --clang. */
static hone_rc ask_llvm(hone_target *t, bool behind, char **help, char **values, hone_err *err) {
    static const char *const list[] = {"--clang",   "-mllvm", "--help-list-hidden", "-x", "c", "-c",
                                       "/dev/null", "-o",     "/dev/null",          NULL};
    static const char *const now[] = {"--clang", "-O3",       "-mllvm", "-print-all-options", "-x", "c",
                                      "-c",      "/dev/null", "-o",     "/dev/null",          NULL};
    hone_rc rc = hn_tool_ask(t, behind ? list : list + 1, help, err);
    if (!rc && (rc = hn_tool_ask(t, behind ? now : now + 1, values, err))) free(*help);
    return rc;
}

hone_rc hn_clang_discover(hone_target *t, hn_arena *a, bool behind, bool all, hn_controls *out, hone_err *err) {
    char *help, *values;
    hone_rc rc = ask_llvm(t, behind, &help, &values, err);
    if (rc) return rc;
    for (size_t i = 0; i < sizeof driver_flags / sizeof *driver_flags; i++) {
        hn_control *c = hn_control_add(a, out, driver_flags[i].name, driver_flags[i].doc, driver_flags[i].cls);
        if (c) hn_control_values(a, c, driver_flags[i].values, '|');
    }
    rc = hn_llvm_discover(a, "-mllvm=", help, values, all, out, err);
    free(help);
    free(values);
    return rc ? hn_context(err, "'%s' is no full clang: ", t->print.command) : HONE_OK;
}

static hone_rc discover(hone_target *t, hn_arena *a, bool all, hn_controls *out, hone_err *err) {
    hn_structure_add(t, a, out, &hn_cc_structure);
    return hn_clang_discover(t, a, false, all, out, err);
}

/* The tool that clang itself names, which may be any one in PATH; else the one of its version. */
static char *profile_tool(hone_target *t) {
    static const char *const args[] = {"-print-prog-name=llvm-profdata", NULL};
    char *first = NULL;
    if (hn_tool_ask(t, args, &first, NULL) == HONE_OK) first[strcspn(first, "\n")] = 0;
    char *path = hn_llvm_tool(first && *first == '/' ? first : NULL, "llvm-profdata",
                              hn_number_after(t->print.version, "version "));
    free(first);
    return path;
}

static const char *const choices[] = {"-mprefer-vector-width 512|256|128", "-funroll-loops off", "-fmath-errno off",
                                      NULL};

static hone_fp contract_of(const char *baseline, const char *build) { return hn_cc_contract(baseline, build, false); }

/* One clang makes code for every machine, and must be told which. */
static const char *cross(const char *processor) {
    return !strcmp(processor, "aarch64") ? "--target=aarch64-linux-gnu" : NULL;
}

static const char *const pgo_extra[] = {"-Wno-profile-instr-unprofiled", "-Wno-profile-instr-out-of-date", NULL};
static const char *const kernel_flags[] = {"-O3", "-fno-unroll-loops", "-fno-vectorize", "-fno-slp-vectorize", NULL};

const hn_family hn_family_clang = {
    HN_CC_FAMILY,
    .name = "clang",
    .summary = "clang and LLVM: -f options and LLVM's own by -mllvm; a curated set, or all",
    .command = "clang",
    .aliases = "clang++",
    .recognise = recognise,
    .code_files = hn_llvm_code_files,
    .native = native,
    .discover = discover,
    .classify = hn_llvm_classify,
    .seeds = seeds,
    .choices = choices,
    .contract_of = contract_of,
    .passes = true,
    .lto = {"-flto", "-flto -fuse-ld=lld -Wno-unused-command-line-argument", NULL},
    .pgo_extra = pgo_extra,
    .profile_tool = profile_tool,
    .kernel_flags = kernel_flags,
    .cross = cross,
};
