/* target/cut.c — a call of gcc or clang on files, cut into its compilations and the link (hn_family.cut). What
 * the drivers do themselves: each file is compiled with all options that are not the linker's, then all objects are
 * linked in the files' places. A call with -c leaves the objects. -x counts for the files behind it. */
#include "target/cc.h"

#include <string.h>

/* Such a call does something else than compile and link, or reads or writes more than sources and objects. */
static const char declined[] =
    "-S|-E|-M*|-v|-###|-|@*|-fprofile*|-fauto-profile*|-fbranch-probabilities*|-ftest-coverage|--coverage|"
    "-coverage|-save-temps*|--save-temps*|-fdump*|-d*|-fplugin*|-fpass-plugin*|-specs*|--specs*|-wrapper|-gsplit-dwarf|"
    "-fopt-info*|-fsave-optimization-record*|-fsyntax-only|-ftime-*|-fstack-usage|-fcallgraph-info*|-aux-info|"
    "--config*|-load|-r|-relocatable|-fmodules*|-fcrash-*|-emit-*|-mrecord-*|-Wa,*|-fbaseline*|-f*-remarks*";
/* The next word belongs to it. */
static const char with_word[] = "-I|-D|-U|-L|-l|-include|-imacros|-isystem|-iquote|-idirafter|-iprefix|-iwithprefix|-"
                                "isysroot|--sysroot|-Xlinker|-Xclang|"
                                "-mllvm|-Xpreprocessor|-u|-T|-z|-e|--param|-target|-arch|-B|-A";
static const char of_linker[] = "-l*|-L*|-Wl,*|-Xlinker|-u|-T|-z|-e|-shared|-shared-lib*|-static|-static-*|-pie|-"
                                "static-pie|-no-pie|-rdynamic|-s|-nostdlib|"
                                "-nostartfiles|-nodefaultlibs|-nolibc|-fuse-ld=*|-ld-path=*|--ld-path=*";
/* Read by the preprocessor alone: what it leaves says all. */
static const char of_preprocessor[] = "-I*|-D*|-U*|-include|-imacros|-isystem*|-iquote*|-idirafter*";
static const char sources[] = "*.c|*.cc|*.cpp|*.cxx|*.C|*.S";
static const char linked[] = "*.o|*.a|*.so|*.so.*|*.lo|*.obj";

typedef struct reader {
    hn_arena *a;
    hn_cut c;
    hn_cut_words all;      /* the options of every file */
    const char **language; /* of each file, as -x says it; NULL: its ending does */
    const char *spoken;    /* of the files that follow */
    const char *output;
    bool only_compiles, has_objects;
} reader;

static bool begin(reader *r, size_t n) {
    r->c.source = HN_NEW_N(r->a, const char *, n);
    r->c.object = HN_NEW_N(r->a, const char *, n);
    r->c.with = HN_NEW_N(r->a, const hn_cut_words *, n);
    r->c.link = HN_NEW_N(r->a, const char *, n);
    r->language = HN_NEW_N(r->a, const char *, n);
    r->all.word = HN_NEW_N(r->a, const char *, n);
    r->all.is_read = HN_NEW_N(r->a, bool, n);
    return hn_arena_ok(r->a);
}

/* "-x c", "-xc": how many words that is, 0 where the language is missing. */
static size_t take_language(reader *r, const char *const *word, size_t left) {
    bool apart = !word[0][2];
    if (apart && left < 2) return 0;
    const char *language = apart ? word[1] : word[0] + 2;
    r->spoken = strcmp(language, "none") ? language : NULL;
    return apart ? 2 : 1;
}

static size_t take_option(reader *r, const char *const *word, size_t left) {
    bool output = !strcmp(word[0], "-o");
    size_t n = output || hn_matches(with_word, word[0]) ? 2 : 1;
    if (n > left) return 0;
    if (output) r->output = word[1];
    for (size_t k = 0; k < n; k++) {
        if (!output && !hn_matches(of_linker, word[0])) {
            r->all.is_read[r->all.n] = hn_matches(of_preprocessor, word[0]);
            r->all.word[r->all.n++] = word[k];
        }
        r->c.link[r->c.n_link++] = word[k];
    }
    return n;
}

static size_t take_file(reader *r, const char *name) {
    bool source = hn_matches(sources, name);
    if (!source && (r->spoken || !hn_matches(linked, name))) return 0;
    r->has_objects |= !source;
    r->c.link[r->c.n_link++] = source ? NULL : name;
    if (!source) return 1;
    r->language[r->c.n] = r->spoken;
    r->c.source[r->c.n++] = name;
    return 1;
}

/* How many words the next thing has; 0: it is not understood. */
static size_t take(reader *r, const char *const *word, size_t left) {
    if (hn_matches(declined, word[0]) || !strcmp(word[0], "-")) return 0;
    if (!strcmp(word[0], "-c")) return r->only_compiles = true;
    if (!strncmp(word[0], "-x", 2)) return take_language(r, word, left);
    return *word[0] == '-' ? take_option(r, word, left) : take_file(r, word[0]);
}

/* The options of all files, and the language of this one in front. */
static const hn_cut_words *words_with(const reader *r, const char *language) {
    hn_cut_words *w = HN_NEW(r->a, hn_cut_words);
    if (!w) return NULL;
    *w = r->all;
    if (!language) return w;
    w->word = HN_NEW_N(r->a, const char *, r->all.n + 2);
    w->is_read = HN_NEW_N(r->a, bool, r->all.n + 2);
    if (!w->word || !w->is_read) return NULL;
    w->n = 2;
    w->word[0] = "-x";
    w->word[1] = language;
    for (size_t i = 0; i < r->all.n; i++, w->n++) {
        w->word[w->n] = r->all.word[i];
        w->is_read[w->n] = r->all.is_read[i];
    }
    return w;
}

static const char *object_of(hn_arena *a, const char *source) {
    const char *slash = strrchr(source, '/'), *base = slash ? slash + 1 : source;
    return hn_format(a, "%.*s.o", (int)(strrchr(base, '.') - base), base);
}

/* Which options and which object each file has. */
static bool end(reader *r) {
    const hn_cut_words *plain = words_with(r, NULL);
    for (size_t i = 0; i < r->c.n; i++) {
        r->c.with[i] = r->language[i] ? words_with(r, r->language[i]) : plain;
        if (r->only_compiles) r->c.object[i] = r->output ? r->output : object_of(r->a, r->c.source[i]);
    }
    if (r->only_compiles) r->c.n_link = 0;
    bool fine = r->only_compiles ? r->c.n && !r->has_objects && !(r->output && r->c.n > 1) : r->output != NULL;
    return fine && hn_arena_ok(r->a);
}

bool hn_cc_cut(hn_arena *a, const char *const *word, size_t n, hn_cut *out) {
    reader r = {.a = a};
    if (!begin(&r, n + 1)) return false;
    for (size_t i = 1, step; i < n; i += step)
        if (!(step = take(&r, word + i, n - i))) return false;
    if (!end(&r)) return false;
    *out = r.c;
    return true;
}
