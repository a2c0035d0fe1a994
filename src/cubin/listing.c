/* cubin/listing.c — nvdisasm's text, a line at a time:
 *
 *     .section .text.NAME,"ax",@progbits                                 of an ELF file
 *             // | GPR   | PRED   | UGPR   | UPRED   |                    which columns follow
 *     (offset) TEXT ; (first word)                // |       |            brackets here stand for C comments
 *                     (second word)               // |   4   |   1    |   live at that instruction */
#include "base/err.h"
#include "cubin/cubin.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 8, TEXT_MOST = 4000 };

typedef struct reader {
    hn_arena *a;
    hn_sass_text *out;
    size_t room, room_sections;
    int column[COLUMNS]; /* index into hn_sass.live, or -1 */
    size_t n_columns;
    bool half; /* the last instruction still lacks its second word */
} reader;

static bool grow(reader *r) {
    if (r->out->n < r->room) return true;
    size_t room = r->room ? 2 * r->room : 256;
    hn_sass *more = HN_NEW_N(r->a, hn_sass, room);
    if (!more) return false;
    if (r->out->n) memcpy(more, r->out->line, r->out->n * sizeof *more);
    r->out->line = more;
    r->room = room;
    return true;
}

static bool begin_section(reader *r, const char *name, size_t n) {
    if (r->out->n_sections == r->room_sections) {
        size_t room = r->room_sections ? 2 * r->room_sections : 16;
        const char **more = HN_NEW_N(r->a, const char *, room);
        if (!more) return false;
        if (r->out->n_sections) memcpy(more, r->out->section, r->out->n_sections * sizeof *more);
        r->out->section = more;
        r->room_sections = room;
    }
    const char *kept = hn_strndup(r->a, name, n);
    if (kept) r->out->section[r->out->n_sections++] = kept;
    r->half = false;
    return kept != NULL;
}

/* Hexadecimal digits between "/" "* " and " *" "/"; NULL: there are none. Gives what follows. */
static const char *comment_hex(const char *p, const char *end, uint64_t *value) {
    if (end - p < 4 || p[0] != '/' || p[1] != '*') return NULL;
    p += 2;
    while (p < end && *p == ' ') p++;
    if (end - p > 2 && p[0] == '0' && p[1] == 'x') p += 2;
    uint64_t v = 0;
    size_t n = 0;
    for (; p < end && isxdigit((unsigned char)*p) && n <= 16; p++, n++)
        v = v << 4 | (uint64_t)(isdigit((unsigned char)*p) ? *p - '0' : (*p | 32) - 'a' + 10);
    while (p < end && *p == ' ') p++;
    if (!n || n > 16 || end - p < 2 || p[0] != '*' || p[1] != '/') return NULL;
    *value = v;
    return p + 2;
}

static const char *find_in(const char *p, const char *end, const char *what) {
    size_t n = strlen(what);
    for (; p + n <= end; p++)
        if (!memcmp(p, what, n)) return p;
    return NULL;
}

/* "// | GPR   | PRED   |": which column is which. */
static bool read_head(reader *r, const char *p, const char *end) {
    static const char *const name[] = {"GPR", "PRED", "UGPR"};
    const char *at = find_in(p, end, "// |");
    if (!at || !find_in(at, end, "GPR ")) return false;
    r->n_columns = 0;
    for (at += 4; at < end && r->n_columns < COLUMNS;) {
        const char *bar = memchr(at, '|', (size_t)(end - at));
        if (!bar) break;
        while (at < bar && *at == ' ') at++;
        size_t n = 0;
        while (at + n < bar && isalpha((unsigned char)at[n])) n++;
        int which = -1;
        for (int i = 0; i < 3; i++)
            if (strlen(name[i]) == n && !memcmp(name[i], at, n)) which = i;
        r->column[r->n_columns++] = which;
        at = bar + 1;
    }
    return true;
}

/* Cells of "// |   4   |   1    |". An empty cell of a shown column is 0. */
static void read_live(const reader *r, const char *p, const char *end, hn_sass *s) {
    const char *at = find_in(p, end, "// |");
    if (!at) return;
    at += 4;
    for (size_t i = 0; i < r->n_columns && at < end; i++) {
        const char *bar = memchr(at, '|', (size_t)(end - at));
        if (!bar) return;
        int v = 0;
        for (; at < bar; at++)
            if (isdigit((unsigned char)*at) && v < 3000) v = 10 * v + (*at - '0');
        if (r->column[i] >= 0) s->live[r->column[i]] = (short)v;
        at = bar + 1;
    }
}

static bool first_half(reader *r, uint64_t offset, const char *p, const char *end) {
    const char *semicolon = find_in(p, end, ";"), *word = semicolon ? find_in(semicolon, end, "/*") : NULL;
    hn_sass s = {.at = offset, .live = {-1, -1, -1}};
    if (!word || !comment_hex(word, end, &s.word[0])) return true;
    while (p < semicolon && isspace((unsigned char)*p)) p++;
    while (semicolon > p && isspace((unsigned char)semicolon[-1])) semicolon--;
    if (semicolon == p || semicolon - p > TEXT_MOST) return true;
    if (!r->out->n_sections && !begin_section(r, "", 0)) return false;
    if (!grow(r)) return false;
    s.text = hn_strndup(r->a, p, (size_t)(semicolon - p));
    s.section = (unsigned)r->out->n_sections - 1;
    if (!s.text) return false;
    r->out->line[r->out->n++] = s;
    r->half = true;
    return true;
}

static bool read_line(reader *r, const char *p, const char *end) {
    static const char head[] = ".section\t.text.";
    while (p < end && isspace((unsigned char)*p)) p++;
    if (p == end) return true;
    if ((size_t)(end - p) >= sizeof head && !memcmp(p, head, sizeof head - 1)) {
        p += sizeof head - 1;
        const char *comma = memchr(p, ',', (size_t)(end - p));
        return begin_section(r, p, (size_t)((comma ? comma : end) - p));
    }
    if (read_head(r, p, end)) return true;
    uint64_t value;
    const char *rest = comment_hex(p, end, &value);
    if (!rest) return true;
    bool wide = end - p > 5 && p[2] == ' ' && p[3] == '0' && p[4] == 'x';
    if (!wide) return first_half(r, value, rest, end);
    if (!r->half) return true;
    hn_sass *s = &r->out->line[r->out->n - 1];
    s->word[1] = value;
    read_live(r, rest, end, s);
    r->half = false;
    return true;
}

hone_rc hn_sass_read(const char *text, size_t n, hn_arena *a, hn_sass_text *out, hone_err *err) {
    reader r = {.a = a, .out = out};
    *out = (hn_sass_text){0};
    for (size_t at = 0; at < n;) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t len = end ? (size_t)(end - text) - at : n - at;
        if (!read_line(&r, text + at, text + at + len))
            return hn_fail(err, HONE_E_NOMEM, "out of memory reading a disassembly");
        at += len + 1;
    }
    return HONE_OK;
}
