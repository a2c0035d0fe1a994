/* charsmap.c — SentencePiece's rules for normalising, compiled: a double array (Darts, by Taku Kudo; Aoe 1989) from
 * texts to places among replacements. Layout: the array's size in bytes (u32), the array, the replacements. */
#include "base/err.h"
#include "base/utf8.h"
#include "text/characters.h"

#include <string.h>
#include <utf8proc.h>

hone_rc hn_charsmap_read(hn_span blob, hn_charsmap *out, hone_err *err) {
    const uint8_t *p = (const uint8_t *)blob.text;
    uint32_t size =
        blob.n >= 4 ? (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24 : 0;
    if (blob.n < 8 || size < 4 || size % 4 || size > blob.n - 4)
        return hn_fail(err, HONE_E_INPUT, "the rules for normalising are damaged (%zu bytes, an array of %u)", blob.n,
                       (unsigned)size);
    *out = (hn_charsmap){p + 4, size / 4, blob.text + 4 + size, blob.n - 4 - size};
    return HONE_OK;
}

static uint32_t unit(const hn_charsmap *m, size_t i) {
    const uint8_t *p = m->unit + 4 * i;
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static size_t offset_of(uint32_t u) { return (size_t)(u >> 10) << ((u & 0x200) >> 6); }

/* The longest, or the shortest, beginning of the text that has a rule: its length and its replacement; 0: none. */
static size_t rule(const hn_charsmap *m, bool longest, const char *text, size_t n, hn_span *out) {
    size_t at = offset_of(unit(m, 0)), found = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        at ^= c;
        if (!c || at >= m->n_unit) break;
        uint32_t u = unit(m, at);
        if ((u & 0x800000ffu) != c) break;
        at ^= offset_of(u);
        if (!(u & 0x100)) continue;
        size_t place = at < m->n_unit ? unit(m, at) & 0x7fffffffu : SIZE_MAX;
        const char *end = place < m->n_text ? memchr(m->text + place, 0, m->n_text - place) : NULL;
        if (!end) break;
        *out = (hn_span){m->text + place, (size_t)(end - (m->text + place))};
        found = i + 1;
        if (!longest) break;
    }
    return found;
}

static void by_longest(const hn_charsmap *m, const char *text, size_t n, hn_str *out) {
    for (size_t at = 0; at < n;) {
        hn_span to;
        size_t k = rule(m, true, text + at, n - at, &to);
        if (k)
            hn_str_add_n(out, to.text, to.n);
        else {
            k = hn_utf8_next(text + at, n - at, NULL);
            if (!k) k = 1;
            hn_str_add_n(out, text + at, k);
        }
        at += k;
    }
}

/* A grapheme of up to five bytes that begins with a rule's text is replaced as a whole; else its characters are. */
static void grapheme(const hn_charsmap *m, const char *text, size_t n, hn_str *out) {
    hn_span to;
    if (n < 6 && rule(m, false, text, n, &to)) {
        hn_str_add_n(out, to.text, to.n);
        return;
    }
    for (size_t at = 0, k; at < n; at += k) {
        if (!(k = hn_utf8_next(text + at, n - at, NULL))) k = 1;
        if (rule(m, false, text + at, k, &to))
            hn_str_add_n(out, to.text, to.n);
        else
            hn_str_add_n(out, text + at, k);
    }
}

static void by_graphemes(const hn_charsmap *m, const char *text, size_t n, hn_str *out) {
    size_t from = 0;
    uint32_t before = 0;
    utf8proc_int32_t state = 0;
    for (size_t at = 0, k; at < n; at += k) {
        uint32_t c = 0xfffd;
        if (!(k = hn_utf8_next(text + at, n - at, &c))) k = 1;
        if (at && utf8proc_grapheme_break_stateful((utf8proc_int32_t)before, (utf8proc_int32_t)c, &state)) {
            grapheme(m, text + from, at - from, out);
            from = at;
        }
        before = c;
    }
    if (n) grapheme(m, text + from, n - from, out);
}

void hn_charsmap_apply(const hn_charsmap *m, bool longest, const char *text, size_t n, hn_str *out) {
    if (longest)
        by_longest(m, text, n, out);
    else
        by_graphemes(m, text, n, out);
}
