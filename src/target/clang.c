/* target/clang.c — clang and LLVM, version 11 and later.
 *
 * Discovery reads LLVM's own options from `-mllvm --help-list-hidden` (types, enumerations) and their values from
 * `-mllvm -print-all-options`; the driver's -f options come from clang_flags.def, as clang lists them without saying
 * which optimise. The default space holds the options of clang_curated.def, options.all every other that
 * clang_rules.def does not exclude. */
#include "base/err.h"
#include "base/locale.h"
#include "base/str.h"
#include "target/structure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CODEGEN HN_CODEGEN
#define NUMERIC HN_NUMERIC
#define UNSAFE HN_UNSAFE
#define IRRELEVANT HN_IRRELEVANT
#define ON HN_WAY_ON
#define OFF HN_WAY_OFF
#define BOTH HN_WAY_BOTH
static const hn_rule rules[] = {
#define HN_RULE(pattern, cls, ways, why) {pattern, cls, ways, why},
#include "target/clang_rules.def"
#undef HN_RULE
};

static const struct {
    const char *name;
    hn_class cls;
    const char *values, *doc;
} driver_flags[] = {
#define HN_FLAG(name, cls, values, doc) {name, cls, values, doc},
#include "target/clang_flags.def"
#undef HN_FLAG
};

typedef struct llvm_row {
    const char *name; /* first: the search compares through it */
    double lo, hi;
} llvm_row;
static const llvm_row curated[] = {
#define HN_LLVM(name, lo, hi) {name, lo, hi},
#include "target/clang_curated.def"
#undef HN_LLVM
};

/* What people try by hand; as rows of clang_seeds.def. */
static const char *const levels[] = {"-O 3; -march native", "-O 2; -march native", "-O s; -march native",
                                     "-O 1; -march native", NULL};

static const char *const seeds[] = {
#define HN_SEED(genes) genes,
#include "target/clang_seeds.def"
#undef HN_SEED
    NULL};

static hn_rule classify(const char *name, bool takes_value) {
    (void)takes_value; /* LLVM has one name space: an option either takes a value or not */
    return hn_rule_find(rules, sizeof rules / sizeof *rules, name, false);
}

static bool recognise(const char *version) { return strstr(version, "clang version") != NULL; }

/* The libraries the binary is linked with, as the loader finds them: "libLLVM.so.19.1 => /usr/lib/… (0x…)". */
static hone_rc code_files(hone_target *t, char **lines, hone_err *err) {
    const char *const argv[] = {"ldd", t->print.path, NULL};
    hn_tool run = {0};
    hn_str s = {0};
    if (hn_tool_run(argv, 10, &run, NULL) == HONE_OK && run.ok)
        for (const char *p = run.out; *p; p += strcspn(p, "\n"), p += *p == '\n') {
            size_t n = strcspn(p, "\n");
            const char *to = memmem(p, n, "=> /", 4);
            if (to && (memmem(p, n, "libLLVM", 7) || memmem(p, n, "libclang", 8) || memmem(p, n, "Polly", 5)))
                hn_str_addf(&s, "%.*s\n", (int)strcspn(to + 3, " \n"), to + 3);
        }
    hn_tool_free(&run);
    *lines = hn_str_take(&s);
    return *lines ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory listing the parts of '%s'", t->print.command);
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

/* --- discovery -------------------------------------------------------------------------------------------------- */

typedef struct finder {
    hn_arena *a;
    hn_help help, value;
    hn_controls *out;
    bool all;
} finder;

static int by_name(const void *key, const void *row) { return strcmp(key, *(const char *const *)row); }

static const llvm_row *curated_row(const char *name) {
    return bsearch(name, curated, sizeof curated / sizeof *curated, sizeof *curated, by_name);
}

static double value_now(const finder *f, const char *name) {
    const hn_help_row *r = hn_help_find(&f->value, name, false);
    char *stop;
    double x = r ? hn_strtod(r->rest, &stop) : NAN;
    return !r || stop == r->rest || *stop ? NAN : x;
}

static void enumeration(const finder *f, hn_control *c, const hn_help_row *r) {
    hn_str s = {0};
    for (size_t i = 0; i < r->n_values; i++) hn_str_addf(&s, "%s%s", i ? "|" : "", r->value[i]);
    char *text = hn_str_take(&s);
    hn_control_values(f->a, c, text ? text : "", '|');
    free(text);
}

static bool integer_type(const char *type) {
    static const char *const known[] = {"int", "uint", "long", "ulong", "N", "unsigned"};
    for (size_t i = 0; type && i < sizeof known / sizeof *known; i++)
        if (!strcmp(type, known[i])) return true;
    return false;
}

static void domain(const finder *f, hn_control *c, const hn_help_row *r, const llvm_row *row) {
    if (!r->takes_value)
        hn_control_values(f->a, c, "true|false", '|');
    else if (r->n_values)
        enumeration(f, c, r);
    else if (row && row->hi > row->lo) {
        hn_control_range(c, NAN, NAN, value_now(f, r->name));
        c->lo = row->lo;
        c->hi = row->hi;
        c->dflt = value_now(f, r->name);
        if (!(c->dflt >= c->lo && c->dflt <= c->hi)) c->dflt = NAN;
    } else if (integer_type(r->type))
        hn_control_range(c, NAN, NAN, value_now(f, r->name));
    else if (c->cls == HN_CODEGEN || c->cls == HN_NUMERIC)
        c->cls = HN_IRRELEVANT;
}

static void llvm_option(const finder *f, const hn_help_row *r) {
    const llvm_row *row = curated_row(r->name);
    hn_class cls = row ? HN_CODEGEN : classify(r->name, r->takes_value).cls;
    if (!row && !f->all && cls == HN_CODEGEN) cls = HN_IRRELEVANT;
    if (hn_starts_with(r->rest, "Alias for")) cls = HN_IRRELEVANT;
    char *name = hn_format(f->a, "-mllvm=%s", r->name);
    if (!name || (f->out->n && !strcmp(f->out->item[f->out->n - 1].name, name))) return;
    hn_control *c = hn_control_add(f->a, f->out, name, r->rest, cls);
    if (c) domain(f, c, r, row);
}

static hone_rc read_help(hone_target *t, finder *f, hone_err *err) {
    static const char *const list[] = {"-mllvm", "--help-list-hidden", "-x", "c", "-c", "/dev/null",
                                       "-o",     "/dev/null",          NULL};
    static const char *const now[] = {"-O3",       "-mllvm", "-print-all-options", "-x", "c", "-c",
                                      "/dev/null", "-o",     "/dev/null",          NULL};
    char *text;
    hone_rc rc = hn_tool_ask(t, list, &text, err);
    if (rc) return rc;
    hn_help_clang(f->a, text, strlen(text), &f->help);
    free(text);
    if ((rc = hn_tool_ask(t, now, &text, err))) return rc;
    hn_help_clang_values(f->a, text, strlen(text), &f->value);
    free(text);
    hn_help_sort(&f->help);
    hn_help_sort(&f->value);
    return HONE_OK;
}

static hone_rc discover(hone_target *t, hn_arena *a, bool all, hn_controls *out, hone_err *err) {
    finder f = {.a = a, .out = out, .all = all};
    hone_rc rc = read_help(t, &f, err);
    if (rc) return rc;
    if (f.help.n < 10)
        return hn_fail(err, HONE_E_TOOL,
                       "compiler '%s' lists no options with -mllvm --help-list-hidden; is it a full clang?",
                       t->print.command);
    hn_structure_add(t, a, out, "1|2|3|s|z");
    for (size_t i = 0; i < sizeof driver_flags / sizeof *driver_flags; i++) {
        hn_control *c = hn_control_add(a, out, driver_flags[i].name, driver_flags[i].doc, driver_flags[i].cls);
        if (c) hn_control_values(a, c, driver_flags[i].values, '|');
    }
    for (size_t i = 0; i < f.help.n; i++) llvm_option(&f, &f.help.row[i]);
    return HONE_OK;
}

static const char *const strict[] = {"-ffp-contract=off", NULL};
static const char *const contract[] = {"-ffp-contract=fast", NULL};
static const char *const fast[] = {"-ffast-math", "-ffp-contract=fast", NULL};
static const char *const pgo_extra[] = {"-Wno-profile-instr-unprofiled", "-Wno-profile-instr-out-of-date", NULL};

const hn_family hn_family_clang = {
    .version = 1,
    .name = "clang",
    .summary = "clang and LLVM: -f options and LLVM's own by -mllvm; a curated set, or all",
    .recognise = recognise,
    .code_files = code_files,
    .native = native,
    .discover = discover,
    .classify = classify,
    .contract = {[HONE_FP_STRICT] = strict, [HONE_FP_CONTRACT] = contract, [HONE_FP_FAST] = fast},
    .pgo_generate = "-fprofile-generate=%s",
    .pgo_use = "-fprofile-use=%s",
    .pgo_extra = pgo_extra,
    .probe_level = "-O3",
    .command = "clang",
    .lto = {"-flto", "-flto -fuse-ld=lld -Wno-unused-command-line-argument", NULL},
    .profile_tool = "llvm-profdata",
    .levels = levels,
    .seeds = seeds,
};
