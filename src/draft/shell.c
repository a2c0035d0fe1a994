/* draft/shell.c — see shell.h. */
#include "draft/shell.h"

#include "base/str.h"
#include "target/line.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 64, COMMANDS_MAX = 200000 };

typedef struct reader {
    hn_arena *a;
    const char *at, *end;
    const char *entered[DEPTH_MAX]; /* by make; the last is where lines begin */
    size_t depth;
    const char *dir; /* of the command being read */
    const char **word;
    size_t n, room;
    hn_simples *out;
} reader;

static bool left(const reader *r, const char *text) {
    size_t n = strlen(text);
    return (size_t)(r->end - r->at) >= n && !memcmp(r->at, text, n);
}

static void add_word(reader *r, const char *text) {
    if (r->n == r->room) {
        size_t room = r->room ? 2 * r->room : 16;
        const char **grown = HN_NEW_N(r->a, const char *, room + 1);
        if (!grown) return;
        if (r->n) memcpy(grown, r->word, r->n * sizeof *grown);
        r->word = grown;
        r->room = room;
    }
    r->word[r->n++] = text;
}

static bool is_keyword(const char *word) {
    static const char *const list[] = {"then", "do", "else", "{", "!", "if", "while", "until", "exec", "@"};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (!strcmp(word, list[i])) return true;
    return false;
}

static void keep(reader *r, const char **word, size_t n) {
    hn_simples *s = r->out;
    if (s->n == COMMANDS_MAX) return;
    hn_simple *grown = hn_arena_grow(r->a, s->command, s->n, &s->room, sizeof *grown);
    if (!grown) return;
    s->command = grown;
    s->command[s->n++] = (hn_simple){r->dir, word, n};
}

/* "make[2]: Entering directory '/x'" */
static bool is_message(reader *r) {
    size_t n = r->n;
    if (n < 4 || strcmp(r->word[n - 2], "directory") != 0) return false;
    const char *what = r->word[n - 3], *path = r->word[n - 1];
    if (!strcmp(what, "Entering") && r->depth + 1 < DEPTH_MAX)
        r->entered[r->depth + 1] = hn_line_path(r->a, r->dir, path), r->depth++;
    else if (!strcmp(what, "Leaving") && r->depth)
        r->depth--;
    else
        return false;
    return r->word[0][strlen(r->word[0]) - 1] == ':';
}

static void end_command(reader *r) {
    size_t first = 0;
    while (first < r->n && is_keyword(r->word[first])) first++;
    size_t n = r->n - first;
    if (n >= 2 && !strcmp(r->word[first], "cd"))
        r->dir = hn_line_path(r->a, r->dir, r->word[first + 1]);
    else if (n && !is_message(r))
        keep(r, r->word + first, n);
    r->word = NULL;
    r->n = r->room = 0;
}

static void end_line(reader *r) {
    end_command(r);
    r->dir = r->entered[r->depth];
}

/* Behind `…` or $(…); nothing of it is kept. */
static void skip_substitution(reader *r) {
    if (*r->at == '`') {
        const char *end = memchr(r->at + 1, '`', (size_t)(r->end - r->at - 1));
        r->at = end ? end + 1 : r->end;
        return;
    }
    size_t depth = 0;
    for (r->at++; r->at < r->end; r->at++) {
        depth += *r->at == '(';
        if (*r->at == ')' && --depth == 0) {
            r->at++;
            return;
        }
    }
}

static bool is_substitution(const reader *r) { return *r->at == '`' || left(r, "$("); }

static void read_quoted(reader *r, hn_str *s) {
    char quote = *r->at++;
    while (r->at < r->end && *r->at != quote) {
        if (quote == '"' && is_substitution(r)) {
            skip_substitution(r);
            continue;
        }
        if (quote == '"' && *r->at == '\\' && r->at + 1 < r->end && strchr("\"\\$`\n", r->at[1])) r->at++;
        hn_str_add_n(s, r->at++, 1);
    }
    r->at += r->at < r->end;
}

static bool ends_word(char c) { return strchr(" \t\r\n;&|()<>", c) != NULL; }

/* One word with its quotes taken off; an empty one counts when it was quoted. */
static const char *read_word(reader *r) {
    hn_str s = {0};
    bool quoted = false;
    while (r->at < r->end && *r->at && !ends_word(*r->at)) {
        if (is_substitution(r)) {
            skip_substitution(r);
        } else if (*r->at == '"' || *r->at == '\'') {
            quoted = true;
            read_quoted(r, &s);
        } else {
            bool escaped = *r->at == '\\' && r->at + 1 < r->end;
            if (escaped) r->at++;
            if (!escaped || *r->at != '\n') hn_str_add_n(&s, r->at, 1);
            r->at++;
        }
    }
    if (r->at < r->end && !*r->at) r->at++;
    const char *word = s.n || quoted ? hn_strndup(r->a, s.text ? s.text : "", s.n) : NULL;
    r->a->failed |= s.failed;
    hn_str_free(&s);
    return word;
}

/* "> file", "2>&1", "< file": no words of the command. */
static void skip_redirection(reader *r) {
    while (r->at < r->end && strchr("<>&|", *r->at) && *r->at) r->at++;
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t')) r->at++;
    read_word(r);
}

static bool is_number(const char *word) { return *word && strspn(word, "0123456789") == strlen(word); }

static void read_one(reader *r) {
    char c = *r->at;
    if (c == '\n') {
        r->at++;
        end_line(r);
    } else if (strchr(" \t\r", c)) {
        r->at++;
    } else if (c == '#') {
        while (r->at < r->end && *r->at != '\n') r->at++;
    } else if (strchr("<>", c) || left(r, "&>")) {
        skip_redirection(r);
    } else if (strchr(";&|()", c)) {
        r->at++;
        end_command(r);
    } else {
        const char *word = read_word(r);
        bool descriptor = word && is_number(word) && r->at < r->end && strchr("<>", *r->at);
        if (word && !descriptor) add_word(r, word);
    }
}

void hn_shell_commands(hn_arena *a, const char *text, size_t n, const char *dir, hn_simples *out) {
    reader r = {.a = a, .at = text, .end = text + n, .out = out};
    r.entered[0] = r.dir = hn_strdup(a, dir);
    while (r.at < r.end && hn_arena_ok(a)) read_one(&r);
    end_line(&r);
}
