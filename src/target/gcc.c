/* target/gcc.c — the GNU compiler collection, version 4.6 and later (tested with 9 to 15's help texts).
 *
 * Discovery reads `gcc -Q -O3 --help=optimizers,params,target` for settings and ranges and the same without -Q for
 * descriptions. Classes: gcc_rules.def. */
#include "base/err.h"
#include "base/locale.h"
#include "base/str.h"
#include "target/cc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const hn_rule rules[] = {
#define HN_RULE(pattern, cls, ways, why) {pattern, HN_##cls, HN_WAY_##ways, why},
#include "target/gcc_rules.def"
#undef HN_RULE
};

static const hn_value_row values[] = {
#define HN_VALUES(name, list) {name, list},
#include "target/gcc_values.def"
#undef HN_VALUES
};

static const char *const seeds[] = {
#define HN_SEED(genes) genes,
#include "target/gcc_seeds.def"
#undef HN_SEED
    NULL};

static const hn_learned learned[] = {
#define HN_LEARNED(objective, genes) {objective, genes},
#include "target/gcc_learned.def"
#undef HN_LEARNED
    {NULL, NULL}};

static hn_rule classify(const char *name, bool takes_value) {
    return hn_rule_find(rules, sizeof rules / sizeof *rules, name, takes_value);
}

static bool recognise(const char *version) {
    bool named = strstr(version, "gcc") || strstr(version, "GCC") ||
                 !strncmp(version, "cc (", 4); /* gcc prints the name it was called by */
    return named && strstr(version, "Free Software Foundation") && !strstr(version, "clang");
}

static hone_rc code_files(hone_target *t, char **lines, hone_err *err) {
    static const char *const program[] = {"-print-prog-name=cc1", "-print-prog-name=lto1"};
    hn_str s = {0};
    for (size_t i = 0; i < sizeof program / sizeof *program; i++) {
        char *path;
        const char *args[] = {program[i], NULL};
        hone_rc rc = hn_tool_ask(t, args, &path, err);
        if (rc) {
            hn_str_free(&s);
            return rc;
        }
        hn_str_add(&s, path);
        free(path);
    }
    *lines = hn_str_take(&s);
    return *lines ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory listing the parts of '%s'", t->print.command);
}

/* "-mavx2 [enabled]" → " +avx2". */
static const char *feature_text(hn_arena *a, const hn_help *help) {
    hn_str s = {0};
    for (size_t i = 0; i < help->n; i++) {
        const hn_help_row *r = &help->row[i];
        if (strncmp(r->name, "-m", 2) != 0 || r->takes_value) continue;
        if (!strcmp(r->rest, "[enabled]")) hn_str_addf(&s, " +%s", r->name + 2);
        if (!strcmp(r->rest, "[disabled]")) hn_str_addf(&s, " -%s", r->name + 2);
    }
    char *text = hn_str_take(&s);
    const char *out = hn_strdup(a, text ? text : "");
    free(text);
    return out;
}

static hone_rc native(hone_target *t, const char **cpu, const char **features, hone_err *err) {
    static const char *const args[] = {"-march=native", "-Q", "--help=target", NULL};
    char *text;
    hone_err ignored;
    (void)err;
    if (hn_tool_ask(t, args, &text, &ignored)) return HONE_OK; /* this processor has no -march=native: not an error */
    hn_help help = {0};
    hn_help_gcc(&t->arena, text, strlen(text), &help);
    free(text);
    hn_help_sort(&help);
    for (size_t i = 0; i < help.n; i++)
        if (!strcmp(help.row[i].name, "-march") && help.row[i].rest[0] && !help.row[i].n_values)
            *cpu = help.row[i].rest;
    *features = feature_text(&t->arena, &help);
    return HONE_OK;
}

typedef struct finder {
    hn_arena *a;
    hn_help set, doc; /* with -Q, without */
    hn_controls *out;
} finder;

static const char *listed_values(const char *name) {
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (!strcmp(values[i].name, name)) return values[i].values;
    return NULL;
}

static double number(const char *text) {
    char *stop;
    double x = hn_strtod(text, &stop);
    return stop == text || *stop ? NAN : x;
}

static const char *description(const finder *f, const hn_help_row *r) {
    const hn_help_row *d = hn_help_find(&f->doc, r->name, r->takes_value);
    return d && !strstr(d->rest, "lacks documentation") ? d->rest : "";
}

/* An option that is an alias ("Same as -fOTHER."), or that no longer has an effect. */
static bool obsolete(const hn_help_row *r, const char *doc) {
    bool alias = r->rest[0] == '-' && isnan(number(r->rest));
    bool same = hn_starts_with(doc, "Same as -") && !strchr(doc + 9, ' ');
    return alias || same || hn_starts_with(doc, "Does nothing") || strstr(doc, "no longer supported") ||
           strstr(r->rest, "available in");
}

static void join_values(const finder *f, hn_control *c, const hn_help_row *r, const char *first) {
    hn_str s = {0};
    hn_str_add(&s, first);
    for (size_t i = 0; i < r->n_values; i++) hn_str_addf(&s, "%s%s", s.n ? "|" : "", r->value[i]);
    char *text = hn_str_take(&s);
    hn_control_values(f->a, c, text ? text : "", '|');
    free(text);
}

static bool has_values(const finder *f, const char *name) {
    const hn_help_row *r = hn_help_find(&f->set, name, true);
    return r && (r->n_values || listed_values(name));
}

/* Values of NAME=VALUE: from the table, as printed, or a range. Without known values there is nothing to tune. */
static void value_domain(const finder *f, hn_control *c, const hn_help_row *r) {
    const hn_help_row *d = hn_help_find(&f->doc, r->name, true);
    const hn_help_row *most = r->n_values || !d ? r : d;
    bool negatable = hn_help_find(&f->set, r->name, false) != NULL;
    double dflt = number(r->rest);
    if (listed_values(r->name))
        hn_control_values(f->a, c, listed_values(r->name), '|');
    else if (most->n_values)
        join_values(f, c, most, negatable ? "off" : "");
    else if (!isnan(r->hi) || (!isnan(dflt) && hn_starts_with(r->name, "--param=")))
        hn_control_range(c, r->lo, r->hi, dflt);
    else if (c->cls == HN_CODEGEN || c->cls == HN_NUMERIC)
        c->cls = HN_IRRELEVANT;
}

static void one_row(const finder *f, const hn_help_row *r) {
    bool ours = hn_starts_with(r->name, "-f") || hn_starts_with(r->name, "-m") || hn_starts_with(r->name, "--param=");
    if (!ours || hn_starts_with(r->name, "-fno-") || hn_starts_with(r->name, "-mno-")) return;
    if (!r->takes_value && has_values(f, r->name)) return; /* the option with values covers both */
    if (f->out->n && !strcmp(f->out->item[f->out->n - 1].name, r->name)) return;
    const char *doc = description(f, r);
    hn_rule rule = classify(r->name, r->takes_value);
    hn_control *c = hn_control_add(f->a, f->out, r->name, doc, obsolete(r, doc) ? HN_IRRELEVANT : rule.cls);
    if (!c) return;
    if (r->takes_value)
        value_domain(f, c, r);
    else
        hn_control_values(f->a, c, rule.ways == HN_WAY_BOTH ? "on|off" : rule.ways == HN_WAY_ON ? "on" : "off", '|');
}

static hone_rc read_help(hone_target *t, finder *f, hone_err *err) {
    static const char *const set[] = {"-Q", "-O3", "--help=optimizers", "--help=params", "--help=target", NULL};
    static const char *const doc[] = {"--help=optimizers", "--help=params", "--help=target", NULL};
    char *text;
    hone_rc rc = hn_tool_ask(t, set, &text, err);
    if (rc) return rc;
    hn_help_gcc(f->a, text, strlen(text), &f->set);
    free(text);
    if ((rc = hn_tool_ask(t, doc, &text, err))) return rc;
    hn_help_gcc(f->a, text, strlen(text), &f->doc);
    free(text);
    hn_help_sort(&f->set);
    hn_help_sort(&f->doc);
    return HONE_OK;
}

static hone_rc discover(hone_target *t, hn_arena *a, bool all, hn_controls *out, hone_err *err) {
    static const char *const more[] = {"-fdata-sections", "-ffunction-sections", "-fmerge-constants"};
    (void)all;
    finder f = {.a = a, .out = out};
    hone_rc rc = read_help(t, &f, err);
    if (rc) return rc;
    hn_structure_add(t, a, out, &hn_cc_structure);
    size_t before = out->n;
    for (int params = 0; params < 2; params++) /* options first */
        for (size_t i = 0; i < f.set.n; i++)
            if (hn_starts_with(f.set.row[i].name, "--param=") == params) one_row(&f, &f.set.row[i]);
    if (out->n - before < 10)
        return hn_fail(err, HONE_E_TOOL, "compiler '%s' lists no options with --help=optimizers; is it a full gcc?",
                       t->print.command);
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        hn_control *c = hn_control_add(a, out, more[i], "", HN_CODEGEN);
        if (c) hn_control_values(a, c, "on|off", '|');
    }
    return HONE_OK;
}

static const char *const choices[] = {"-mprefer-vector-width 512|256|128", "-funroll-loops on", "-fmath-errno off",
                                      NULL};

static hone_fp contract_of(const char *baseline, const char *build) { return hn_cc_contract(baseline, build, true); }

static const char *const pgo_extra[] = {"-fprofile-correction", "-Wno-missing-profile", NULL};
static const hn_language *const languages[] = {&hn_language_c, &hn_language_cxx, NULL};
static const char *const kernel_flags[] = {"-O3",
                                           "-funroll-loops",
                                           "-fschedule-insns",
                                           "-fno-schedule-insns2",
                                           "-fno-tree-vectorize",
                                           "-fno-ivopts",
                                           "-frename-registers",
                                           "-fno-tree-pre",
                                           "-falign-loops=64",
                                           "-fprefetch-loop-arrays",
                                           "-fno-gcse",
                                           NULL};

const hn_family hn_family_gcc = {
    HN_CC_FAMILY,
    .name = "gcc",
    .probe_read = "-fsyntax-only", /* clang gains nothing by it */
    .summary = "GNU compiler collection: -f and -m options and parameters as the compiler lists them",
    .command = "gcc",
    .aliases = "g++|cc|c++",
    .recognise = recognise,
    .code_files = code_files,
    .native = native,
    .discover = discover,
    .classify = classify,
    .seeds = seeds,
    .learned = learned,
    .choices = choices,
    .languages = languages,
    .contract_of = contract_of,
    .lto = {"-flto", NULL},
    .unsplit = "-fno-reorder-blocks-and-partition",
    .pgo_extra = pgo_extra,
    .kernel_flags = kernel_flags,
};
