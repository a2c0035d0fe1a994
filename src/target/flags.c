/* target/flags.c — growing lists of words. */
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

const char *hn_fill(hn_arena *a, const char *format, const char *text) {
    const char *hole = strstr(format, "%s");
    if (!hole) return hn_strdup(a, format);
    return hn_format(a, "%.*s%s%s", (int)(hole - format), format, text, hole + 2);
}
