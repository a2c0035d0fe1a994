/* target/llvm.c — see llvm.h. */
#include "target/llvm.h"

#include "base/err.h"
#include "base/locale.h"
#include "base/str.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const hn_rule rules[] = {
#define HN_RULE(pattern, cls, ways, why) {pattern, HN_##cls, HN_WAY_##ways, why},
#include "target/llvm_rules.def"
#undef HN_RULE
};

typedef struct llvm_row {
    const char *name; /* first: the search compares through it */
    double lo, hi;
} llvm_row;
static const llvm_row curated[] = {
#define HN_LLVM(name, lo, hi) {name, lo, hi},
#include "target/llvm_curated.def"
#undef HN_LLVM
};

hn_rule hn_llvm_classify(const char *name, bool takes_value) {
    (void)takes_value; /* LLVM has one name space: an option either takes a value or not */
    return hn_rule_find(rules, sizeof rules / sizeof *rules, name, false);
}

const char *hn_llvm_companion(const char *name) {
    return !strcmp(name, "force-vector-width") ? "-hints-allow-reordering=false" : NULL;
}

static bool is_part(const char *line, size_t n) {
    static const char *const part[] = {"libLLVM", "libclang", "Polly", "librustc_driver"};
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        if (memmem(line, n, part[i], strlen(part[i]))) return true;
    return false;
}

/* The libraries the binary is linked with, as the loader finds them: "libLLVM.so.19.1 => /usr/lib/… (0x…)". */
hone_rc hn_llvm_libraries(const char *program, char **lines, hone_err *err) {
    const char *const argv[] = {"ldd", program, NULL};
    hn_tool run = {0};
    hn_str s = {0};
    if (hn_tool_run(argv, 10, &run, NULL) == HONE_OK && run.ok)
        for (const char *p = run.out; *p; p += strcspn(p, "\n"), p += *p == '\n') {
            size_t n = strcspn(p, "\n");
            const char *to = memmem(p, n, "=> /", 4);
            if (to && is_part(p, n)) hn_str_addf(&s, "%.*s\n", (int)strcspn(to + 3, " \n"), to + 3);
        }
    hn_tool_free(&run);
    *lines = hn_str_take(&s);
    return *lines ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory listing the parts of '%s'", program);
}

hone_rc hn_llvm_code_files(hone_target *t, char **lines, hone_err *err) {
    return hn_llvm_libraries(t->print.path, lines, err);
}

/* --- discovery -------------------------------------------------------------------------------------------------- */

typedef struct finder {
    hn_arena *a;
    hn_help help, value;
    hn_controls *out;
    const char *prefix;
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

/* Without the values that a rule names as unsafe, "NAME=VALUE". */
static void enumeration(const finder *f, hn_control *c, const hn_help_row *r) {
    hn_str s = {0};
    for (size_t i = 0; i < r->n_values; i++) {
        const char *full = hn_format(f->a, "%s=%s", r->name, r->value[i]);
        if (full && hn_llvm_classify(full, true).cls == HN_UNSAFE) continue;
        hn_str_addf(&s, "%s%s", s.n ? "|" : "", r->value[i]);
    }
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
    hn_class cls = row ? HN_CODEGEN : hn_llvm_classify(r->name, r->takes_value).cls;
    if (!row && !f->all && cls == HN_CODEGEN) cls = HN_IRRELEVANT;
    if (hn_starts_with(r->rest, "Alias for")) cls = HN_IRRELEVANT;
    char *name = hn_format(f->a, "%s%s", f->prefix, r->name);
    if (!name || (f->out->n && !strcmp(f->out->item[f->out->n - 1].name, name))) return;
    hn_control *c = hn_control_add(f->a, f->out, name, r->rest, cls);
    if (c) domain(f, c, r, row);
}

hone_rc hn_llvm_discover(hn_arena *a, const char *prefix, const char *help, const char *values, bool all,
                         hn_controls *out, hone_err *err) {
    finder f = {.a = a, .out = out, .prefix = prefix, .all = all};
    hn_help_clang(a, help, strlen(help), &f.help);
    hn_help_clang_values(a, values, strlen(values), &f.value);
    hn_help_sort(&f.help);
    hn_help_sort(&f.value);
    if (f.help.n < 10) return hn_fail(err, HONE_E_TOOL, "it lists no options of LLVM");
    for (size_t i = 0; i < f.help.n; i++) llvm_option(&f, &f.help.row[i]);
    return HONE_OK;
}
