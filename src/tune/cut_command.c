/* tune/cut_command.c — see cut_command.h. */
#include "tune/cut_command.h"

#include "target/opt.h"

#include <string.h>

/* --- words -------------------------------------------------------------------------------------------------------- */

static bool ends_call(const char *at) { return *at == ';' || *at == '\n' || (at[0] == '&' && at[1] == '&'); }

/* Appends one word; false: the text holds what only a shell understands. */
static bool one_word(const char **at, char **to) {
    const char *p = *at;
    char *out = *to;
    while (*p && !strchr(" \t", *p) && !ends_call(p)) {
        if (*p == '\'') {
            const char *end = strchr(++p, '\'');
            if (!end) return false;
            while (p < end) *out++ = *p++;
            p++;
        } else if (*p == '"') {
            for (p++; *p && *p != '"'; p++) {
                if (strchr("$`\\", *p)) return false;
                *out++ = *p;
            }
            if (!*p++) return false;
        } else if (*p == '\\') {
            if (!p[1] || p[1] == '\n') return false;
            *out++ = p[1];
            p += 2;
        } else if (strchr("|&<>()$`*?[]#~{}!", *p)) {
            return false;
        } else {
            *out++ = *p++;
        }
    }
    *out++ = 0;
    *to = out;
    *at = p;
    return true;
}

typedef struct call {
    const char **word;
    size_t n;
} call;

/* All words of a text have room for their bytes in one block as long as the text. */
typedef struct splitter {
    const char *at;
    const char **word;
    char *byte;
    bool failed;
} splitter;

/* The next call; false: there is none, or it is not understood, which s->failed says. */
static bool next_call(splitter *s, call *out) {
    s->at += strspn(s->at, " \t\n");
    *out = (call){.word = s->word};
    while (*s->at && !ends_call(s->at)) {
        s->word[out->n++] = s->byte;
        if (!one_word(&s->at, &s->byte)) return !(s->failed = true);
        s->at += strspn(s->at, " \t");
    }
    s->word += out->n;
    char ended_by = *s->at;
    if (ended_by) s->at += ended_by == '&' ? 2 : 1;
    s->failed = out->n ? ended_by == '&' && !s->at[strspn(s->at, " \t\n")] : ended_by != 0;
    return out->n && !s->failed;
}

/* --- one call ----------------------------------------------------------------------------------------------------- */

/* The words of a profile-guided build, which a family does not cut, move behind the others; c->n: those that stay. */
static size_t take_out(hn_arena *a, const char *profiled, call *c) {
    const char **out = HN_NEW_N(a, const char *, c->n);
    size_t n_out = 0, n_in = 0;
    if (!out) return 0;
    for (size_t i = 0; i < c->n; i++) {
        if (hn_matches(profiled, c->word[i]))
            out[n_out++] = c->word[i];
        else
            c->word[n_in++] = c->word[i];
    }
    for (size_t i = 0; i < n_out; i++) c->word[n_in + i] = out[i];
    c->n = n_in;
    return n_out;
}

static const char **with_more(hn_arena *a, const char *const *word, size_t n, const char *const *more, size_t n_more) {
    const char **all = HN_NEW_N(a, const char *, n + n_more + 1);
    for (size_t i = 0; all && i < n + n_more; i++) all[i] = i < n ? word[i] : more[i - n];
    return all;
}

/* They count for every compilation and for the link. */
static void put_back(hn_arena *a, hn_cut *c, const char *const *word, size_t n) {
    for (size_t i = 0; i < c->n; i++) {
        hn_cut_words *w = HN_NEW(a, hn_cut_words);
        bool *is_read = HN_NEW_N(a, bool, c->with[i]->n + n + 1);
        if (!w || !is_read) return; /* the arena has failed, which is seen later */
        memcpy(is_read, c->with[i]->is_read, c->with[i]->n * sizeof *is_read);
        *w = (hn_cut_words){with_more(a, c->with[i]->word, c->with[i]->n, word, n), is_read, c->with[i]->n + n};
        c->with[i] = w;
    }
    if (!c->n_link) return;
    c->link = with_more(a, c->link, c->n_link, word, n);
    c->n_link += n;
}

static bool cut_call(const hn_family *family, bool pgo, hn_arena *a, call *c, hn_cut *out) {
    size_t n_pgo = pgo && family->profiled ? take_out(a, family->profiled, c) : 0;
    if (!family->cut(a, c->word, c->n, out)) return false;
    if (n_pgo) put_back(a, out, c->word + c->n, n_pgo);
    return hn_arena_ok(a);
}

/* --- all of them -------------------------------------------------------------------------------------------------- */

/* The files of the calls before the last one, in their order. */
typedef struct compiled {
    hn_cut all;
    bool *used; /* the object is linked */
} compiled;

static void add_file(hn_cut *to, const hn_cut *from, size_t i) {
    to->source[to->n] = from->source[i];
    to->object[to->n] = from->object[i];
    to->with[to->n++] = from->with[i];
}

static bool room_for(hn_arena *a, hn_cut *c, size_t n) {
    c->source = HN_NEW_N(a, const char *, n + 1);
    c->object = HN_NEW_N(a, const char *, n + 1);
    c->with = HN_NEW_N(a, const hn_cut_words *, n + 1);
    return hn_arena_ok(a);
}

/* The file whose object a word of the link names; SIZE_MAX: none. An object that a later call makes anew is its. */
static size_t find_object(const compiled *c, const char *word) {
    for (size_t i = c->all.n; word && i-- > 0;)
        if (!strcmp(c->all.object[i], word)) return i;
    return SIZE_MAX;
}

/* The files in the order in which the link has them. False: an object is left over, or is linked twice. */
static bool join(hn_arena *a, compiled *c, const hn_cut *last, hn_cut *out) {
    size_t own = 0;
    *out = (hn_cut){.link = HN_NEW_N(a, const char *, last->n_link + 1), .n_link = last->n_link};
    if (!room_for(a, out, c->all.n + last->n)) return false;
    for (size_t i = 0; i < last->n_link; i++) {
        bool names_output = i && last->link[i - 1] && !strcmp(last->link[i - 1], "-o");
        size_t k = names_output ? SIZE_MAX : find_object(c, last->link[i]);
        out->link[i] = k == SIZE_MAX ? last->link[i] : NULL;
        if (k != SIZE_MAX && c->used[k]) return false;
        if (k != SIZE_MAX) c->used[k] = true, add_file(out, &c->all, k);
        if (!last->link[i]) add_file(out, last, own++);
    }
    return out->n == c->all.n + last->n;
}

bool hn_cut_command(const hn_family *family, const char *cc, const char *shell, bool pgo, hn_arena *a, hn_cut *out) {
    size_t room = strlen(shell) + 2;
    splitter s = {.at = shell, .word = HN_NEW_N(a, const char *, room), .byte = hn_alloc(a, room)};
    compiled done = {.used = HN_NEW_N(a, bool, room)};
    hn_cut one = {0};
    if (!family || !family->cut || !s.word || !s.byte || !done.used || !room_for(a, &done.all, room)) return false;
    for (call c; next_call(&s, &c);) {
        if (one.n_link || strcmp(c.word[0], cc) != 0 || !cut_call(family, pgo, a, &c, &one)) return false;
        for (size_t i = 0; !one.n_link && i < one.n; i++) add_file(&done.all, &one, i);
    }
    if (s.failed || !one.n_link) return false;
    return (done.all.n ? join(a, &done, &one, out) : (*out = one, true)) && out->n;
}

const char *hn_cut_stages(const hn_cut *cut, hn_arena *a) {
    const char *why = NULL;
    for (size_t i = 0; !why && i < cut->n; i++) why = hn_opt_declines(a, cut->with[i]->word, cut->with[i]->n);
    return why;
}
