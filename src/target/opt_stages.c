/* target/opt_stages.c — a compiler's call as stages: bitcode, opt's passes, code. */
#include "base/err.h"
#include "target/family.h"
#include "target/opt.h"

#include <string.h>

static const char sources[] = "*.c|*.cc|*.cpp|*.cxx|*.C";
/* Nothing is compiled, so no passes run. */
static const char no_code[] = "-E|-M|-MM|-fsyntax-only|-###";
/* The next word is no file to compile. */
static const char with_word[] = "-o|-MF|-MT|-MQ|-I|-D|-U|-L|-l|-include|-imacros|-isystem|-iquote|-idirafter|-Xclang|"
                                "-Xlinker|-Xpreprocessor|-mllvm|-target|-x|-u|-T|-z|-e|-B|-arch|--param|-isysroot";

/* The stage behind those of opt.h. */
#define LINK "4"

typedef struct call {
    const char *const *word;
    size_t n;
    const char *source, *output; /* of a compilation with -c */
    size_t n_sources;
    bool compiles_only, no_code;
} call;

static call read_call(const char *const *word, size_t n) {
    call c = {.word = word, .n = n};
    for (size_t i = 1; i < n; i++) {
        if (!strcmp(word[i], "-o") && i + 1 < n) c.output = word[i + 1];
        c.compiles_only |= !strcmp(word[i], "-c");
        c.no_code |= hn_matches(no_code, word[i]);
        if (hn_matches(with_word, word[i])) {
            i++;
        } else if (*word[i] != '-' && hn_matches(sources, word[i])) {
            c.source = word[i];
            c.n_sources++;
        }
    }
    return c;
}

/* PATH with another ending. */
static const char *with_ending(hn_arena *a, const char *path, const char *ending) {
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    size_t n = dot && (!slash || dot > slash) ? (size_t)(dot - path) : strlen(path);
    return hn_format(a, "%.*s%s", (int)n, path, ending);
}

/* Without -c, -o, the source. A file of dependencies is named and worded as without stages. */
static size_t words_of(const call *c, hn_arena *a, const char *output, const char **out) {
    bool makes = false, file = false, target = false;
    size_t n = 0;
    for (size_t i = 1; i < c->n; i++) {
        const char *w = c->word[i];
        if (!strcmp(w, "-o")) i++;
        if (!strcmp(w, "-o") || !strcmp(w, "-c") || w == c->source) continue;
        makes |= hn_matches("-MD|-MMD", w);
        file |= hn_matches("-MF*", w);
        target |= hn_matches("-MT*|-MQ*", w);
        out[n++] = w;
    }
    if (makes && !file) {
        out[n++] = "-MF";
        out[n++] = with_ending(a, output, ".d");
    }
    if (makes && !target) {
        out[n++] = "-MT";
        out[n++] = output;
    }
    return n;
}

static hone_rc decline(const char *why, hone_err *err) {
    return why ? hn_fail(err, HONE_E_UNSUPPORTED, "%s", why) : HONE_OK;
}

static void add_name(hn_str *s, const char *path, const char *ending) {
    hn_str name = {0};
    hn_str_addf(&name, "%s%s", path, ending);
    hn_str_add(s, " ");
    hn_str_add_shell(s, name.text ? name.text : "");
    s->failed |= name.failed;
    hn_str_free(&name);
}

/* What HN_OPT_FAILED does: files that are there for a while are removed, what failed is named with the command that
 * repeats it. Where the compiler or the linker ended with 1 it has told an error of the program, and that is all. Of a
 * link that crashed the objects stay, so that it can be repeated. */
static void begin(hn_str *s, const char *const *output, size_t n, bool links) {
    static const char *const ending[] = {".bc", ".opt.part", ".opt.bc"};
    hn_str_add(s, HN_OPT_FAILED "() { rm -f");
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < sizeof ending / sizeof *ending; k++) add_name(s, output[i], ending[k]);
    if (links) {
        hn_str_add(s, "; [ \"$2\" = " LINK " ] && [ \"$1\" != 1 ] || rm -f");
        for (size_t i = 0; i < n; i++) add_name(s, output[i], "");
    }
    hn_str_add(s, "; case $2$1 in 11|" LINK
                  "1) ;; *) how=\"exit status $1\"; [ \"$1\" -le 128 ] || how=\"signal $(($1 - 128))\"; "
                  "printf 'hone: %s ended with %s; this repeats it: %s\\n' \"$3\" \"$how\" \"$4\" >&2;; esac; "
                  "exit \"$1\"; }; ");
}

static hone_rc one_compilation(const call *c, const hn_opt *opt, const char *pipeline, hn_arena *a, hn_str *s,
                               hone_err *err) {
    const char *slash = strrchr(c->source, '/');
    const char *output = c->output ? c->output : with_ending(a, slash ? slash + 1 : c->source, ".o");
    const char **word = HN_NEW_N(a, const char *, c->n + 4);
    if (!word || !output) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (c->n_sources != 1) return hn_fail(err, HONE_E_UNSUPPORTED, "edited passes take one file for each call with -c");
    hn_opt_call one = {.cc = c->word[0], .word = word, .source = c->source, .output = output, .tells = true};
    one.n = words_of(c, a, output, word);
    hone_rc rc = decline(hn_opt_declines(a, one.word, one.n), err);
    if (rc) return rc;
    begin(s, &output, 1, false);
    hn_opt_compile(s, opt, &one, pipeline);
    return HONE_OK;
}

static void add_link(hn_str *s, const call *c, const hn_cut *cut, const char *const *object) {
    hn_str link = {0}, what = {0};
    hn_str_add_shell(&link, c->word[0]);
    for (size_t i = 0, k = 0; i < cut->n_link; i++) add_name(&link, cut->link[i] ? cut->link[i] : object[k++], "");
    hn_str_addf(&what, "'%s' (the link)", c->output ? c->output : "a.out");
    if (link.text) hn_str_add(s, link.text);
    hn_str_add(s, " || " HN_OPT_FAILED " $? " LINK);
    add_name(s, what.text ? what.text : "", "");
    add_name(s, link.text ? link.text : "", "");
    hn_str_add(s, " && rm -f");
    for (size_t i = 0; i < cut->n; i++) add_name(s, object[i], "");
    s->failed |= link.failed || what.failed;
    hn_str_free(&link);
    hn_str_free(&what);
}

static hone_rc compile_and_link(const call *c, const hn_opt *opt, const char *pipeline, hn_arena *a, hn_str *s,
                                hone_err *err) {
    const hn_family *family = hn_family_of_command(c->word[0]);
    hn_cut cut;
    if (!family->cut || !family->cut(a, c->word, c->n, &cut))
        return hn_fail(err, HONE_E_UNSUPPORTED,
                       "'%s' is compiled with edited passes: compile each file by a call with -c, then link",
                       c->source);
    const char **object = HN_NEW_N(a, const char *, cut.n + 1);
    for (size_t i = 0; object && i < cut.n; i++) {
        hone_rc rc = decline(hn_opt_declines(a, cut.with[i]->word, cut.with[i]->n), err);
        if (rc) return rc;
        object[i] = hn_format(a, "%s.%zu.o", c->output ? c->output : "a.out", i);
        if (!hn_matches(sources, cut.source[i]))
            return hn_fail(err, HONE_E_UNSUPPORTED, "'%s' has no passes: compile it by a call with -c, then link",
                           cut.source[i]);
    }
    if (!hn_arena_ok(a)) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    begin(s, object, cut.n, true);
    for (size_t i = 0; i < cut.n; i++) {
        hn_opt_call one = {.cc = c->word[0],
                           .word = cut.with[i]->word,
                           .n = cut.with[i]->n,
                           .source = cut.source[i],
                           .output = object[i],
                           .tells = true};
        hn_opt_compile(s, opt, &one, pipeline);
        hn_str_add(s, " && ");
    }
    add_link(s, c, &cut, object);
    return HONE_OK;
}

bool hn_opt_compiles(const char *const *word, size_t n) {
    call c = read_call(word, n);
    return c.n_sources && !c.no_code;
}

hone_rc hn_opt_stages(const hn_opt *opt, const char *pipeline, const char *const *word, size_t n, hn_arena *a,
                      hn_str *out, hone_err *err) {
    call c = read_call(word, n);
    return (c.compiles_only ? one_compilation : compile_and_link)(&c, opt, pipeline, a, out, err);
}
