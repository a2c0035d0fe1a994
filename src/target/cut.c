/* target/cut.c — a call of gcc or clang on files, cut into its compilations and the link (hn_family.cut). What
 * the drivers do themselves: each file is compiled with all options that are not the linker's, then all objects are
 * linked in the files' places. */
#include "target/cc.h"

#include <string.h>

/* Such a call does something else than compile and link, or reads or writes more than sources and objects. */
static const char declined[] =
    "-c|-S|-E|-M*|-x*|-v|-###|-|@*|-fprofile*|-fauto-profile*|-fbranch-probabilities*|-ftest-coverage|--coverage|"
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

static bool room_for(hn_arena *a, hn_cut *c, size_t n) {
    c->source = HN_NEW_N(a, const char *, n);
    c->compile = HN_NEW_N(a, const char *, n);
    c->is_read = HN_NEW_N(a, bool, n);
    c->link = HN_NEW_N(a, const char *, n);
    return hn_arena_ok(a);
}

static void to_compilations(hn_cut *c, const char *word, bool is_read) {
    c->is_read[c->n_compile] = is_read;
    c->compile[c->n_compile++] = word;
}

bool hn_cc_cut(hn_arena *a, const char *const *word, size_t n, hn_cut *out) {
    bool has_output = false;
    hn_cut c = {0};
    if (!room_for(a, &c, n + 1)) return false;
    for (size_t i = 1; i < n; i++) {
        const char *w = word[i];
        bool option = *w == '-', output = !strcmp(w, "-o");
        if (hn_matches(declined, w) || (option && !w[1])) return false;
        if (!option && hn_matches(sources, w)) {
            c.source[c.n++] = w;
            c.link[c.n_link++] = NULL;
            continue;
        }
        if (!option && !hn_matches(linked, w)) return false;
        size_t words = output || hn_matches(with_word, w) ? 2 : 1;
        if (i + words > n) return false;
        bool compiles = option && !output && !hn_matches(of_linker, w);
        for (size_t k = 0; k < words; k++) {
            if (compiles) to_compilations(&c, word[i + k], hn_matches(of_preprocessor, w));
            c.link[c.n_link++] = word[i + k];
        }
        has_output |= output;
        i += words - 1;
    }
    if (!has_output || !c.n) return false;
    *out = c;
    return true;
}
