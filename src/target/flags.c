/* target/flags.c — genes as words of a command line. */
#include "target/target_int.h"

#include <string.h>

void hn_flags_add(hn_flags *f, const char *word) {
    if (f->n == f->room) {
        size_t room = f->room ? 2 * f->room : 64;
        const char **w = HN_NEW_N(f->a, const char *, room);
        if (!w) return;
        if (f->n) memcpy(w, f->word, f->n * sizeof *w);
        f->word = w;
        f->room = room;
    }
    f->word[f->n++] = word;
}

void hn_flags_words(hn_flags *f, const char *text) {
    while (text && *(text += strspn(text, " "))) {
        size_t n = strcspn(text, " ");
        hn_flags_add(f, hn_strndup(f->a, text, n));
        text += n;
    }
}

/* A forced vector width counts for LLVM as a hint of the programmer's that floating-point reductions may be reordered;
 * they may not, unless the contract says so by itself. */
static const char *companion(const char *name) {
    return !strcmp(name, "-mllvm=force-vector-width") ? "-mllvm -hints-allow-reordering=false" : NULL;
}

void hn_flags_gene(hn_flags *f, const char *name, const char *value, const char *cpuid_flags) {
    bool on = !strcmp(value, "on"), off = !strcmp(value, "off");
    if (!strcmp(name, "-O"))
        hn_flags_add(f, hn_format(f->a, "-O%s", value));
    else if (!strcmp(name, "-march") && !strcmp(value, "cpuid"))
        hn_flags_words(f, cpuid_flags);
    else if (!strncmp(name, "-mllvm=", 7)) {
        hn_flags_add(f, "-mllvm");
        hn_flags_add(f, hn_format(f->a, "-%s=%s", name + 7, value));
        hn_flags_words(f, companion(name));
    } else if (!strncmp(name, "--param=", 8) || (!on && !off))
        hn_flags_add(f, hn_format(f->a, "%s=%s", name, value));
    else if (on)
        hn_flags_add(f, hn_strdup(f->a, name));
    else
        hn_flags_add(f, hn_format(f->a, "-%cno-%s", name[1], name + 2));
}
