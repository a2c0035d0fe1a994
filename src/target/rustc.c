/* target/rustc.c — the Rust compiler, version 1.56 and later.
 *
 * Discovery reads `rustc -C help` for the names of its options, whose classes are in rustc_options.def, and LLVM's own
 * from `-C llvm-args=--help-list-hidden` (llvm.h). Its floating point is strict: rustc offers no other contract, and
 * never allows LLVM relaxed arithmetic.
 *
 * Genes: -Copt-level, -Ctarget-cpu, lto, pgo, -CNAME, -Cllvm-args=NAME. */
#include "base/err.h"
#include "base/fs.h"
#include "base/str.h"
#include "target/cc.h"
#include "target/llvm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct option {
    const char *name;
    hn_class cls;
    const char *values, *doc;
} options[] = {
#define HN_OPTION(name, cls, values, doc) {name, HN_##cls, values, doc},
#include "target/rustc_options.def"
#undef HN_OPTION
};

static const char *const seeds[] = {
#define HN_SEED(genes) genes,
#include "target/rustc_seeds.def"
#undef HN_SEED
    NULL};

#define LLVM_GENE "-Cllvm-args="

/* --- which compiler ----------------------------------------------------------------------------------------------- */

static bool recognise(const char *version) { return !strncmp(version, "rustc ", 6); }

/* rustup's rustc is a proxy that chooses a toolchain: the compiler itself is in its sysroot. */
static char *binary(hone_target *t) {
    static const char *const args[] = {"--print", "sysroot", NULL};
    char *root;
    if (hn_tool_ask(t, args, &root, NULL)) return NULL;
    root[strcspn(root, "\n")] = 0;
    char *bin = hn_path_join(root, "bin/rustc"), *real = bin ? realpath(bin, NULL) : NULL;
    free(root);
    free(bin);
    return real;
}

/* target_feature="avx2" → " +avx2", in the order printed. */
static const char *feature_text(hn_arena *a, const char *cfg) {
    static const char key[] = "target_feature=\"";
    hn_str s = {0};
    for (const char *p = cfg; (p = strstr(p, key));) {
        p += sizeof key - 1;
        hn_str_addf(&s, " +%.*s", (int)strcspn(p, "\"\n"), p);
    }
    char *text = hn_str_take(&s);
    const char *out = hn_strdup(a, text ? text : "");
    free(text);
    return out;
}

/* The processor's name occurs only in a help text, "(currently znver4)", and not with every LLVM. */
static hone_rc native(hone_target *t, const char **cpu, const char **features, hone_err *err) {
    static const char *const cfg[] = {"--print", "cfg", "-Ctarget-cpu=native", NULL};
    static const char *const cpus[] = {"--print", "target-cpus", NULL};
    char *text;
    (void)err;
    if (hn_tool_ask(t, cfg, &text, NULL)) return HONE_OK; /* this processor has no native: not an error */
    *features = feature_text(&t->arena, text);
    free(text);
    *cpu = "native";
    if (hn_tool_ask(t, cpus, &text, NULL)) return HONE_OK;
    const char *at = strstr(text, "(currently ");
    if (at) *cpu = hn_strndup(&t->arena, at + 11, strcspn(at + 11, ").\n"));
    free(text);
    return HONE_OK;
}

/* --- its controls ------------------------------------------------------------------------------------------------- */

static const struct option *option_of(const char *name) {
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (!strcmp(options[i].name, name)) return &options[i];
    return NULL;
}

static hn_rule classify(const char *name, bool takes_value) {
    const struct option *o = option_of(strncmp(name, "-C", 2) ? name : name + 2);
    if (o) return (hn_rule){o->name, o->cls, HN_WAY_BOTH, o->doc};
    if (!strncmp(name, LLVM_GENE, sizeof LLVM_GENE - 1))
        return hn_llvm_classify(name + sizeof LLVM_GENE - 1, takes_value);
    return (hn_rule){"", HN_UNSAFE, HN_WAY_BOTH, "not known to be safe"};
}

/* "    -C            codegen-units=val -- divide crate into N units" */
static void one_option(hn_arena *a, const char *line, hn_controls *out) {
    char name[80];
    if (sscanf(line, " -C %79[a-z0-9-]=", name) != 1) return;
    const struct option *o = option_of(name);
    if (o && o->cls == HN_IRRELEVANT) return;
    hn_control *c = hn_control_add(a, out, hn_format(a, "-C%s", name), o ? o->doc : "", o ? o->cls : HN_UNSAFE);
    if (c) hn_control_values(a, c, o ? o->values : "", '|');
}

static hone_rc discover(hone_target *t, hn_arena *a, bool all, hn_controls *out, hone_err *err) {
    static const char *const own[] = {"-C", "help", NULL};
    static const char *const llvm[] = {LLVM_GENE "--help-list-hidden",
                                       "--crate-type=lib",
                                       "--crate-name=probe",
                                       "--emit=metadata",
                                       "-o",
                                       "/dev/null",
                                       "/dev/null",
                                       NULL};
    char *text;
    hone_rc rc = hn_tool_ask(t, own, &text, err);
    if (rc) return rc;
    hn_structure_add(t, a, out, &(hn_structure){.levels = "1|2|3|s|z"});
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        one_option(a, line, out);
    free(text);
    if ((rc = hn_tool_ask(t, llvm, &text, err))) return rc;
    size_t before = out->n;
    rc = hn_llvm_discover(a, LLVM_GENE, text, "", all, out, err); /* rustc prints no values */
    free(text);
    for (size_t i = before; i < out->n; i++)
        if (option_of(out->item[i].name + 2)) out->item[i].cls = option_of(out->item[i].name + 2)->cls;
    return rc ? hn_context(err, "'%s' is no full rustc: ", t->print.command) : HONE_OK;
}

/* --- words -------------------------------------------------------------------------------------------------------- */

/* -CNAME  on: as is; else -CNAME=VALUE.   -Cllvm-args=NAME  -Cllvm-args=-NAME=VALUE. */
static void spell(hn_flags *f, const hone_target *t, const char *name, const char *value) {
    (void)t;
    if (strncmp(name, LLVM_GENE, sizeof LLVM_GENE - 1) != 0) {
        hn_flags_add(f, !strcmp(value, "on") ? hn_strdup(f->a, name) : hn_format(f->a, "%s=%s", name, value));
        return;
    }
    const char *option = name + sizeof LLVM_GENE - 1, *beside = hn_llvm_companion(option);
    hn_flags_add(f, hn_format(f->a, LLVM_GENE "-%s=%s", option, value));
    if (beside) hn_flags_add(f, hn_format(f->a, LLVM_GENE "%s", beside));
}

/* "-O  Equivalent to -C opt-level=2": 3 since version 1.86. */
static long plain_level(const hone_target *t) {
    const char *const argv[] = {t ? t->exec : NULL, "--help", NULL};
    hn_tool run;
    if (!t || hn_tool_run(argv, 10, &run, NULL)) return 3;
    const char *at = run.ok ? strstr(run.out, " -O ") : NULL;
    long level = at ? hn_number_after(at, "opt-level=") : 0;
    hn_tool_free(&run);
    return level ? level : 3;
}

/* The value of -C, --codegen or --codegen=, in this word or the next; NULL: another option. */
static const char *codegen(const char *const *word, size_t n, size_t *n_words) {
    static const char *const key[] = {"--codegen=", "--codegen", "-C"};
    for (size_t i = 0; i < sizeof key / sizeof *key; i++) {
        size_t len = strlen(key[i]);
        if (strncmp(*word, key[i], len) != 0) continue;
        if ((*word)[len]) return *word + len;
        *n_words = n > 1 ? 2 : 1;
        return n > 1 ? word[1] : NULL;
    }
    return NULL;
}

static void read_flag(const hone_target *t, const char *const *word, size_t n, hn_said *out) {
    *out = (hn_said){.n_words = 1, .level = !strcmp(*word, "-O")};
    if (out->level) {
        snprintf(out->name, sizeof out->name, "-Copt-level");
        snprintf(out->value, sizeof out->value, "%ld", plain_level(t));
        return;
    }
    const char *text = codegen(word, n, &out->n_words);
    if (!text) return;
    bool llvm = !strncmp(text, "llvm-args=", 10);
    if (llvm) text += 10 + strspn(text + 10, "-");
    const char *eq = strchr(text, '=');
    int len = eq ? (int)(eq - text) : (int)strlen(text);
    out->level = !llvm && !strncmp(text, "opt-level=", 10);
    snprintf(out->name, sizeof out->name, "%s%.*s", llvm ? LLVM_GENE : "-C", len, text);
    snprintf(out->value, sizeof out->value, "%s", eq ? eq + 1 : llvm ? "true" : "on");
}

/* Seen by the program as cfg(NAME = "value"). */
static void define(hn_str *out, const char *name, const char *value) {
    hn_str_addf(out, "--cfg=%s=\"%s\"", name, value);
}

/* --- profiles, proofs --------------------------------------------------------------------------------------------- */

/* rustup's component llvm-tools, else the one of LLVM's version. */
static char *profile_tool(hone_target *t) {
    static const char *const where[] = {"--print", "target-libdir", NULL}, *const which[] = {"-vV", NULL};
    char *dir = NULL, *text = NULL, *first = NULL;
    if (!hn_tool_ask(t, where, &dir, NULL)) {
        dir[strcspn(dir, "\n")] = 0;
        first = hn_path_join(dir, "../bin/llvm-profdata");
    }
    long major = hn_tool_ask(t, which, &text, NULL) ? -1 : hn_number_after(text, "LLVM version: ");
    char *path = hn_llvm_tool(first && !access(first, X_OK) ? first : NULL, "llvm-profdata", major);
    free(dir);
    free(text);
    free(first);
    return path;
}

static void place(hn_flags *f, const hn_placing *how) {
    unsigned log2 = 0; /* every function has a section of its own already */
    while (1u << log2 < how->align) log2++;
    if (how->align) hn_flags_add(f, hn_format(f->a, LLVM_GENE "-align-all-functions=%u", log2));
    if (how->script) hn_flags_add(f, hn_format(f->a, "-Clink-arg=-Wl,-T,%s", how->script));
}

/* One part of a name: "$LT$" is written for '<', ".." for "::", and a '_' stands before a part that begins with such.
 */
static void add_part(hn_str *s, const char *part, size_t n) {
    static const char *const code[][2] = {{"$LT$", "<"},  {"$GT$", ">"},  {"$C$", ","},   {"$RF$", "&"},
                                          {"$BP$", "*"},  {"$LP$", "("},  {"$RP$", ")"},  {"$u20$", " "},
                                          {"$u7b$", "{"}, {"$u7d$", "}"}, {"$u27$", "'"}, {"..", "::"}};
    enum { CODES = sizeof code / sizeof *code };
    const char *end = part + n;
    if (n > 1 && *part == '_' && part[1] == '$') part++;
    while (part < end) {
        size_t i = 0;
        while (i < CODES && strncmp(part, code[i][0], strlen(code[i][0])) != 0) i++;
        if (i < CODES)
            hn_str_add(s, code[i][1]);
        else
            hn_str_add_n(s, part, 1);
        part += i < CODES ? strlen(code[i][0]) : 1;
    }
}

/* "_ZN4main6kernel17h0123456789abcdefE" → "main::kernel"; other names as they are, without a clone's ending. */
static const char *source_name(hn_arena *a, const char *symbol) {
    const char *p = symbol + 3;
    bool hash = false; /* the last part of Rust's names */
    hn_str s = {0};
    if (strncmp(symbol, "_ZN", 3) != 0) return hn_elf_source_name(a, symbol);
    while (*p >= '0' && *p <= '9') {
        char *part;
        unsigned long n = strtoul(p, &part, 10);
        if (n > strlen(part)) break;
        hash = n == 17 && *part == 'h' && part[17] == 'E';
        if (!hash && s.n) hn_str_add(&s, "::");
        if (!hash) add_part(&s, part, n);
        p = part + n;
    }
    char *text = *p == 'E' && hash ? hn_str_take(&s) : NULL;
    const char *out = text ? hn_strdup(a, text) : hn_elf_source_name(a, symbol);
    hn_str_free(&s);
    free(text);
    return out;
}

static bool is_archive(const char *path) {
    char head[8] = "";
    FILE *f = fopen(path, "rb");
    bool yes = f && fread(head, 1, sizeof head, f) == sizeof head && !memcmp(head, "!<arch>\n", sizeof head);
    if (f) fclose(f);
    return yes;
}

/* --- the family --------------------------------------------------------------------------------------------------- */

static hone_fp contract_of(const char *baseline, const char *build) {
    (void)baseline, (void)build;
    return HONE_FP_STRICT;
}

static const char program[] =
#include "target/rustc_probe.inc"
    ;
/* An rlib, since a single object file would take codegen-units away. */
static const hn_probe_program probe = {".rs", program, "--crate-type=rlib", is_archive};

static const char *const none[] = {NULL};
static const char *const levels[] = {"-Copt-level 3; -Ctarget-cpu native", "-Copt-level 2; -Ctarget-cpu native",
                                     "-Copt-level s; -Ctarget-cpu native", "-Copt-level 1; -Ctarget-cpu native", NULL};
static const char *const choices[] = {"-Ccodegen-units 1", "-Cno-vectorize-loops on", NULL};
static const hn_language rust = {".rs", "rustc", false, "", "", "", NULL, "", false};
static const hn_language *const languages[] = {&rust, NULL};

extern const hn_family hn_family_rustc;
const hn_family hn_family_rustc = {
    .version = 1,
    .name = "rustc",
    .summary = "the Rust compiler: -C options and LLVM's own by -C llvm-args; a curated set, or all",
    .command = "rustc",
    .aliases = "",
    .recognise = recognise,
    .binary = binary,
    .code_files = hn_llvm_code_files,
    .native = native,
    .discover = discover,
    .classify = classify,
    .level = "-Copt-level",
    .arch = "-Ctarget-cpu",
    .levels = levels,
    .seeds = seeds,
    .choices = choices,
    .spell = spell,
    .read = read_flag,
    .define = define,
    .rsp_lines = true,
    .baseline = "-Copt-level=3 -Ctarget-cpu=native",
    .plain = "-Copt-level=2",
    .worst = "-Copt-level=0",
    .tunable = "-O|-Copt-level=*|-Ctarget-cpu=*|-Ccodegen-units=*|-Clto|-Clto=*|-Cllvm-args=*|-Cno-vectorize-*|"
               "-Cinline-threshold=*|--codegen*opt-level=*|--codegen*target-cpu=*|--codegen*codegen-units=*",
    .stays = "",
    .no_program = "--emit*|--crate-type*",
    .languages = languages,
    .contract = {[HONE_FP_STRICT] = none},
    .contract_of = contract_of,
    .lto = {"-Clto=fat", "-Clto=thin", NULL},
    .to_linker = "-Clink-arg=-Wl,%s",
    .pgo_generate = "-Cprofile-generate=%s",
    .pgo_use = "-Cprofile-use=%s/default.profdata",
    .pgo_extra = none,
    .profile_tool = profile_tool,
    .probe_level = "-Copt-level=3",
    .probe = &probe,
    .place = place,
    .groups = "_ZN*0E|_ZN*1E|_ZN*2E|_ZN*3E|_ZN*4E|_ZN*5E|_ZN*6E|_ZN*7E|_ZN*8E|_ZN*9E|_ZN*aE|_ZN*bE|_ZN*cE|_ZN*dE|"
              "_ZN*eE|_ZN*fE",
    .listing = &hn_listing_objdump,
    .source_name = source_name,
};
