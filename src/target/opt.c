/* target/opt.c — see opt.h. */
#include "target/opt.h"

#include "base/err.h"
#include "base/fs.h"
#include "base/hash.h"
#include "target/target_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- which one ---------------------------------------------------------------------------------------------------- */

/* What a tool prints, in `a`; NULL: it does not run. */
static const char *printed(hn_arena *a, const char *const *argv) {
    hn_tool run;
    if (hn_tool_run(argv, 20, &run, NULL)) return NULL;
    const char *text = run.ok ? hn_strdup(a, run.out) : NULL;
    hn_tool_free(&run);
    return text;
}

/* "19.1.7" of "Debian LLVM version 19.1.7"; "" where it does not run or says no version. */
static const char *version_of(hn_arena *a, const char *path) {
    const char *argv[] = {path, "--version", NULL}, *text = printed(a, argv),
               *at = text ? strstr(text, "version ") : "";
    if (!at || !*at) return "";
    at += strlen("version ");
    return hn_strndup(a, at, strspn(at, "0123456789."));
}

typedef struct finder {
    hn_arena *a;
    const char *compiler, *version;    /* of the compiler */
    hn_opt found;                      /* path NULL: not yet */
    const char *other, *other_version; /* one of another version */
} finder;

static void look_at(finder *f, const char *path, const char *command) {
    if (f->found.path || !path || !command) return;
    const char *version = version_of(f->a, path);
    if (*version && !strcmp(version, f->version)) {
        f->found = (hn_opt){.path = hn_strdup(f->a, path), .command = hn_strdup(f->a, command), .version = version};
    } else if (*version && !f->other) {
        f->other = hn_strdup(f->a, command);
        f->other_version = version;
    }
}

static void look_for(finder *f, const char *name) {
    char *path = name ? hn_which(name) : NULL;
    look_at(f, path, name);
    free(path);
}

/* opt with the version's number, opt, that beside the compiler's binary. */
const char *hn_opt_candidate(hn_arena *a, const char *compiler_path, const char *version, int i) {
    if (i == 0) return hn_format(a, "opt-%ld", strtol(version, NULL, 10));
    if (i == 1) return "opt";
    char *real = realpath(compiler_path, NULL), *slash = real ? strrchr(real, '/') : NULL;
    const char *beside = slash ? hn_format(a, "%.*s/opt", (int)(slash - real), real) : NULL;
    free(real);
    return beside;
}

static void look(finder *f, const char *compiler_path) {
    for (int i = 0; i < HN_OPT_CANDIDATES; i++) look_for(f, hn_opt_candidate(f->a, compiler_path, f->version, i));
}

static const char *missing(const finder *f) {
    if (!*f->version) return hn_format(f->a, "'%s' does not say which LLVM it is", f->compiler);
    if (f->other)
        return hn_format(f->a, "'%s' is of LLVM %s and '%s' of %s; both must be of one version", f->other,
                         f->other_version, f->compiler, f->version);
    long major = strtol(f->version, NULL, 10);
    return hn_format(f->a, "opt of LLVM %s, which '%s' is of, is not installed (Debian: package llvm-%ld)", f->version,
                     f->compiler, major);
}

static bool reads_back(hn_arena *a, const hn_opt *opt) {
    const char *argv[] = {opt->path, hn_format(a, "-passes=%s", opt->text), "-disable-output", "/dev/null", NULL};
    return argv[1] && printed(a, argv);
}

bool hn_opt_take(hn_arena *a, hn_opt *opt, const char *text) {
    hn_hash h;
    char hex[33];
    opt->text = text;
    if (!text || hn_pipeline_parse(text, a, &opt->pipeline, NULL)) return false;
    hn_hash_begin(&h);
    hn_hash_text(&h, text);
    hn_hash_end(&h, hex);
    opt->text_hash = hn_strdup(a, hex);
    return opt->text_hash != NULL;
}

/* False: it does not print it, or prints what is no pipeline, or what it does not take (LLVM 14 and older). */
static bool read_pipeline(hn_arena *a, hn_opt *opt) {
    const char *argv[] = {opt->path,         "-passes=default<O3>", "-print-pipeline-passes",
                          "-disable-output", "/dev/null",           NULL};
    const char *text = printed(a, argv);
    return text && hn_opt_take(a, opt, hn_strndup(a, text, strcspn(text, "\n"))) && reads_back(a, opt);
}

/* Asks the tools themselves. */
static bool ask(hn_arena *a, const char *compiler, const char *path, hn_opt *out, const char **why) {
    char hex[33] = "";
    finder f = {.a = a, .compiler = compiler, .version = path ? version_of(a, path) : ""};
    if (path && *f.version) look(&f, path);
    *why = NULL;
    if (!f.found.path)
        *why = missing(&f);
    else if (!read_pipeline(a, &f.found))
        *why = hn_format(a, "'%s' does not print a pipeline of -O3 that it reads back", f.found.command);
    else if (!hn_hash_file(f.found.path, hex, NULL) && (f.found.hash = hn_strdup(a, hex)))
        *out = f.found;
    else
        *why = hn_format(a, "'%s' cannot be read", f.found.path);
    return !*why && hn_arena_ok(a);
}

bool hn_opt_find(hn_arena *a, const char *compiler, hn_opt *out, const char **why) {
    char *path = hn_which(compiler);
    bool known = path && hn_opt_recall(a, path, out), there = known;
    if (known)
        *why = NULL;
    else
        there = ask(a, compiler, path, out, why);
    if (there && !known && path) hn_opt_remember(a, path, out);
    free(path);
    return there && hn_arena_ok(a);
}

hone_rc hone_target_pass_tool(const char *compiler, hone_post_link_tool *out, hone_err *err) {
    hn_arena a = {0};
    hn_opt opt;
    const char *why;
    if (!hn_family_of_command(compiler)->passes)
        return hn_fail(err, HONE_E_UNSUPPORTED, "'%s' has no pipeline of passes that opt could run", compiler);
    bool there = hn_opt_find(&a, compiler, &opt, &why), fits = hn_arena_ok(&a);
    hone_rc rc = !fits    ? hn_fail(err, HONE_E_NOMEM, "out of memory")
                 : !there ? hn_fail(err, HONE_E_TOOL, "%s", why)
                          : HONE_OK;
    if (!rc) {
        snprintf(out->command, sizeof out->command, "%s", opt.command);
        snprintf(out->version, sizeof out->version, "%s", opt.version);
        snprintf(out->path, sizeof out->path, "%s", opt.path);
    }
    hn_arena_free(&a);
    return rc;
}

/* --- pipelines ---------------------------------------------------------------------------------------------------- */

hone_rc hn_opt_pipeline(const hn_opt *opt, const char *edits, hn_arena *a, const char **text, hone_err *err) {
    hn_pipeline p;
    hn_str s = {0};
    hone_rc rc = hn_pipeline_parse(opt->text, a, &p, err);
    if (!rc) rc = hn_pipeline_apply(&p, edits, a, err);
    if (!rc) hn_pipeline_print(p.root, &s);
    const char *kept = rc || s.failed ? NULL : hn_strdup(a, s.text ? s.text : "");
    hn_str_free(&s);
    if (!rc && !kept) rc = hn_fail(err, HONE_E_NOMEM, "out of memory for a pipeline of passes");
    if (!rc) *text = kept;
    return rc;
}

/* --- commands ----------------------------------------------------------------------------------------------------- */

/* clang adds passes of its own to the pipeline for these, or makes something else than code of them. */
static const char declined[] =
    "-flto*|-fthin*|-fprofile-*|-fcs-profile-*|-fcoverage-*|--coverage|-coverage|-ftest-coverage|-fsanitize=*|"
    "-fplugin=*|-fpass-plugin=*|-emit-llvm|-S|-E|-save-temps*|--save-temps*|-fsave-optimization-record*|-fembed-"
    "bitcode*|"
    "-ftime-trace*|-gsplit-dwarf*|-fno-integrated-as|-O0";
/* Words of the source alone; those of the first list take the next word along when they stand by themselves. */
static const char of_source_with_word[] =
    "-I|-D|-U|-include|-imacros|-isystem|-iquote|-idirafter|-iprefix|-iwithprefix|-MF|-MT|-MQ|-x|-Xpreprocessor";
static const char of_source[] = "-I*|-D*|-U*|-isystem*|-iquote*|-idirafter*|-M*|-x*|-std=*|-Wp,*";

const char *hn_opt_declines(hn_arena *a, const char *const *word, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (hn_matches(declined, word[i]))
            return hn_format(a, "edited passes are run by opt, which cannot serve '%s'", word[i]);
    return NULL;
}

static void add(hn_str *s, const char *word) {
    hn_str_add(s, " ");
    hn_str_add_shell(s, word);
}

/* To bitcode, without passes. */
static void front(hn_str *s, const hn_opt_call *c) {
    hn_str_add_shell(s, c->cc);
    for (size_t i = 0; i < c->n; i++) add(s, c->word[i]);
    hn_str_add(s, " -Xclang -disable-llvm-passes -emit-llvm -c");
    add(s, c->source);
    hn_str_add(s, " -o");
    add(s, c->output);
    hn_str_add(s, ".bc");
}

/* Options of LLVM's go to opt, too: they are its own. */
static void middle(hn_str *s, const hn_opt *opt, const hn_opt_call *c, const char *pipeline) {
    hn_str_add_shell(s, opt->path);
    for (size_t i = 0; i < c->n; i++) {
        if (!strcmp(c->word[i], "-mllvm") && i + 1 < c->n)
            add(s, c->word[++i]);
        else if (!strncmp(c->word[i], "-mllvm=", 7))
            add(s, c->word[i] + 7);
    }
    hn_str_add(s, " -passes=");
    hn_str_add_shell(s, pipeline);
    add(s, c->output);
    hn_str_add(s, ".bc -o");
    add(s, c->output);
    hn_str_add(s, ".opt.part");
}

/* opt's result gets its name when it is whole. */
static void name_result(hn_str *s, const hn_opt_call *c) {
    hn_str_add(s, "mv");
    add(s, c->output);
    hn_str_add(s, ".opt.part");
    add(s, c->output);
    hn_str_add(s, ".opt.bc");
}

static void back(hn_str *s, const hn_opt_call *c) {
    hn_str_add_shell(s, c->cc);
    for (size_t i = 0; i < c->n; i++) {
        bool hands_on = hn_matches("-mllvm|-Xclang", c->word[i]) && i + 1 < c->n;
        if (hands_on) {
            add(s, c->word[i]);
            add(s, c->word[++i]);
        } else if (hn_matches(of_source_with_word, c->word[i]))
            i++;
        else if (!hn_matches(of_source, c->word[i]))
            add(s, c->word[i]);
    }
    hn_str_add(s, " -Qunused-arguments -Xclang -disable-llvm-passes -c");
    add(s, c->output);
    hn_str_add(s, ".opt.bc -o");
    add(s, c->output);
}

static void remove_files(hn_str *s, const hn_opt_call *c) {
    hn_str_add(s, "rm -f");
    if (!c->keeps_bitcode) {
        add(s, c->output);
        hn_str_add(s, ".bc");
    }
    add(s, c->output);
    hn_str_add(s, ".opt.bc");
}

static const char *const stages[] = {"stage 1 of 3, bitcode without passes", "stage 2 of 3, opt's run of the passes",
                                     "stage 3 of 3, code of what opt made"};

/* One more stage; done: all before it, which has to run again where this one is repeated. */
static void add_stage(hn_str *s, const hn_opt_call *c, int i, const char *command, hn_str *done) {
    hn_str_addf(s, "%s%s", i > c->has_bitcode ? " && " : "", command);
    if (!c->tells) return;
    hn_str what = {0};
    hn_str_addf(&what, "'%s' (%s)", c->source, stages[i]);
    hn_str_addf(done, "%s%s", done->n ? " && " : "", command);
    hn_str_addf(s, " || " HN_OPT_FAILED " $? %d", i + 1);
    add(s, what.text ? what.text : "");
    add(s, done->text ? done->text : "");
    s->failed |= what.failed;
    hn_str_free(&what);
}

void hn_opt_compile(hn_str *s, const hn_opt *opt, const hn_opt_call *c, const char *pipeline) {
    hn_str part[5] = {0}, done = {0};
    front(&part[0], c);
    middle(&part[1], opt, c, pipeline);
    name_result(&part[2], c);
    back(&part[3], c);
    remove_files(&part[4], c);
    for (size_t i = 0; i < 5; i++) s->failed |= part[i].failed || !part[i].text;
    if (!s->failed) {
        if (!c->has_bitcode) add_stage(s, c, 0, part[0].text, &done);
        add_stage(s, c, 1, part[1].text, &done);
        hn_str_addf(s, " && %s", part[2].text);
        hn_str_addf(&done, " && %s", part[2].text);
        add_stage(s, c, 2, part[3].text, &done);
        hn_str_addf(s, " && %s", part[4].text);
    }
    for (size_t i = 0; i < 5; i++) hn_str_free(&part[i]);
    s->failed |= done.failed;
    hn_str_free(&done);
}

static bool lies(const char *dir, const char *output, const char *ending) {
    char *whole = NULL, *path = NULL;
    bool there = asprintf(&whole, "%s%s", output, ending) >= 0 && (path = hn_path_join(dir, whole)) && hn_exists(path);
    free(whole);
    free(path);
    return there;
}

const char *hn_opt_stage(const char *dir, const char *output) {
    if (!lies(dir, output, ".bc")) return stages[0];
    return stages[lies(dir, output, ".opt.bc") ? 2 : 1];
}
