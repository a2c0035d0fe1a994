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

static hone_rc one_compilation(const call *c, const hn_opt *opt, const char *pipeline, hn_arena *a, hn_str *s,
                               hone_err *err) {
    const char *slash = strrchr(c->source, '/');
    const char *output = c->output ? c->output : with_ending(a, slash ? slash + 1 : c->source, ".o");
    const char **word = HN_NEW_N(a, const char *, c->n + 4);
    if (!word || !output) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (c->n_sources != 1) return hn_fail(err, HONE_E_UNSUPPORTED, "edited passes take one file for each call with -c");
    hn_opt_call one = {.cc = c->word[0], .word = word, .source = c->source, .output = output};
    one.n = words_of(c, a, output, word);
    hone_rc rc = decline(hn_opt_declines(a, one.word, one.n), err);
    if (rc) return rc;
    const char *file = hn_format(a, "%s.bc", output), *part = hn_format(a, "%s.opt.part", output),
               *edited = hn_format(a, "%s.opt.bc", output);
    if (!file || !part || !edited) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    hn_opt_compile(s, opt, &one, pipeline);
    hn_str_add(s, " || { s=$?; rm -f ");
    hn_str_add_shell(s, file);
    hn_str_add(s, " ");
    hn_str_add_shell(s, part);
    hn_str_add(s, " ");
    hn_str_add_shell(s, edited);
    hn_str_add(s, "; exit $s; }");
    return HONE_OK;
}

static hone_rc compile_and_link(const call *c, const hn_opt *opt, const char *pipeline, hn_arena *a, hn_str *s,
                                hone_err *err) {
    const hn_family *family = hn_family_of_command(c->word[0]);
    hn_cut cut;
    if (!family->cut || !family->cut(a, c->word, c->n, &cut))
        return hn_fail(err, HONE_E_UNSUPPORTED,
                       "'%s' is compiled with edited passes: compile each file by a call with -c, then link",
                       c->source);
    hone_rc rc = decline(hn_opt_declines(a, cut.compile, cut.n_compile), err);
    for (size_t i = 0; !rc && i < cut.n; i++) {
        hn_opt_call one = {.cc = c->word[0],
                           .word = cut.compile,
                           .n = cut.n_compile,
                           .source = cut.source[i],
                           .output = hn_format(a, "%s.%zu.o", c->output, i)};
        if (!one.output) return hn_fail(err, HONE_E_NOMEM, "out of memory");
        if (hn_matches(sources, cut.source[i]))
            hn_opt_compile(s, opt, &one, pipeline);
        else
            return hn_fail(err, HONE_E_UNSUPPORTED, "'%s' has no passes: compile it by a call with -c, then link",
                           cut.source[i]);
        hn_str_add(s, " && ");
    }
    if (rc) return rc;
    hn_str_add_shell(s, c->word[0]);
    for (size_t i = 0, k = 0; i < cut.n_link; i++) {
        hn_str_add(s, " ");
        hn_str_add_shell(s, cut.link[i] ? cut.link[i] : hn_format(a, "%s.%zu.o", c->output, k++));
    }
    hn_str_add(s, " && rm -f");
    for (size_t i = 0; i < cut.n; i++) {
        hn_str_add(s, " ");
        hn_str_add_shell(s, hn_format(a, "%s.%zu.o", c->output, i));
    }
    return hn_arena_ok(a) ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
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
