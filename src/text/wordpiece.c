/* wordpiece.c — a word as the longest tokens from the left (Schuster & Nakajima 2012); pieces behind the first one have
 * a mark in front. A word that has a part without a token, or is too long, is unknown as a whole. */
#include "base/err.h"
#include "base/utf8.h"
#include "text/tokenizer_int.h"

#include <stdlib.h>
#include <string.h>

static size_t characters(const char *text, size_t n) {
    size_t count = 0;
    for (size_t at = 0, k; at < n; at += k, count++)
        if (!(k = hn_utf8_next(text + at, n - at, NULL))) k = 1;
    return count;
}

/* The longest token at the beginning; its bytes, 0: none. buf has room for the mark and the longest token. */
static size_t longest(const hn_tokenizer *t, const char *text, size_t n, bool first, char *buf, int32_t *id) {
    size_t mark = first ? 0 : strlen(t->continuing), most = t->longest > mark ? t->longest - mark : 0;
    size_t k = n < most ? n : most;
    memcpy(buf, t->continuing, mark);
    memcpy(buf + mark, text, k);
    for (; k; k--) {
        if (k < n && ((unsigned char)text[k] & 0xc0) == 0x80) continue; /* within a character */
        *id = hn_vocabulary_find(t, buf, mark + k);
        if (*id >= 0 && t->token[*id].type == HN_TOKEN_NORMAL) return k;
    }
    return 0;
}

hone_rc hn_wordpiece_piece(const hn_tokenizer *t, const char *text, size_t n, hn_ids *out, hone_err *err) {
    size_t before = out->n, at = 0, k = 1;
    int32_t id = -1;
    char *buf = malloc(t->longest + strlen(t->continuing) + 1);
    if (!buf) return hn_fail(err, HONE_E_NOMEM, "out of memory tokenising %zu bytes", n);
    bool known = characters(text, n) <= t->longest_word;
    for (; known && at < n; at += k) {
        k = longest(t, text + at, n - at, !at, buf, &id);
        known = k > 0;
        if (known) hn_ids_add(out, id);
    }
    free(buf);
    if (known) return HONE_OK;
    if (!out->failed) out->n = before;
    if (t->unknown < 0) return hn_fail(err, HONE_E_INPUT, "the vocabulary has no token for what is unknown");
    hn_ids_add(out, t->unknown);
    return HONE_OK;
}
