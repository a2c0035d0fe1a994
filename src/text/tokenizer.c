/* tokenizer.c — a text to ids: special tokens are found first, what lies between them is cut and merged; and ids to
 * text. */
#include "text/tokenizer.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "text/tokenizer_int.h"

#include <stdlib.h>
#include <string.h>

/* SentencePiece writes a space as this character. */
static const char lower_bar[] = "\xe2\x96\x81";

void hn_ids_add(hn_ids *ids, int32_t id) {
    if (ids->n == ids->room && !ids->failed) {
        size_t room = ids->room ? 2 * ids->room : 64;
        int32_t *grown = realloc(ids->id, room * sizeof *grown);
        if (grown) {
            ids->id = grown;
            ids->room = room;
        } else
            ids->failed = true;
    }
    if (!ids->failed) ids->id[ids->n++] = id;
}

/* --- encoding
 * ---------------------------------------------------------------------------------------------------------- */

typedef struct encoding {
    const hn_tokenizer *t;
    hn_ids ids;
} encoding;

static hone_rc piece(void *arg, const char *text, size_t n, hone_err *err) {
    encoding *e = arg;
    return hn_merge_piece(e->t, text, n, &e->ids, err);
}

/* Spaces become the bar; behind the beginning of a text or a special token one is put in front. */
static hone_rc encode_spm(encoding *e, const char *text, size_t n, bool front, hone_err *err) {
    hn_str s = {0};
    if (front && e->t->add_space) hn_str_add(&s, lower_bar);
    for (size_t i = 0; i < n; i++) {
        if (text[i] == ' ')
            hn_str_add(&s, lower_bar);
        else
            hn_str_add_n(&s, text + i, 1);
    }
    hone_rc rc = s.failed ? hn_fail(err, HONE_E_NOMEM, "out of memory tokenising %zu bytes", n)
                          : hn_merge_piece(e->t, s.text, s.n, &e->ids, err);
    hn_str_free(&s);
    return rc;
}

static hone_rc encode_plain(encoding *e, const char *text, size_t n, bool front, hone_err *err) {
    if (!n) return HONE_OK;
    if (e->t->kind == HN_TOKENIZER_SPM) return encode_spm(e, text, n, front, err);
    return hn_splitter_run(e->t->splitter, text, n, piece, e, err);
}

/* The special token that begins at this place, the longest; -1: none. */
static int32_t special_at(const hn_tokenizer *t, const char *text, size_t n, bool control) {
    unsigned c = (unsigned char)text[0];
    for (size_t i = t->special_at[c]; i < t->special_at[c + 1]; i++) {
        const hn_token *k = &t->token[t->special[i]];
        if ((control || k->type == HN_TOKEN_USER) && k->bytes.n <= n && !memcmp(k->bytes.text, text, k->bytes.n))
            return t->special[i];
    }
    return -1;
}

static hone_rc encode_text(encoding *e, const char *text, size_t n, bool control, hone_err *err) {
    hone_rc rc = HONE_OK;
    size_t from = 0;
    bool front = true;
    for (size_t at = 0; !rc && at < n;) {
        int32_t id = special_at(e->t, text + at, n - at, control);
        if (id < 0) {
            at++;
            continue;
        }
        rc = encode_plain(e, text + from, at - from, front, err);
        hn_ids_add(&e->ids, id);
        from = at += e->t->token[id].bytes.n;
        front = true;
    }
    return rc ? rc : encode_plain(e, text + from, n - from, front, err);
}

hone_rc hn_tokenizer_encode(const hn_tokenizer *t, const char *text, size_t n, bool frame, bool control, int32_t **ids,
                            size_t *n_ids, hone_err *err) {
    encoding e = {.t = t};
    if (frame && t->add_bos && t->bos >= 0) hn_ids_add(&e.ids, t->bos);
    hone_rc rc = encode_text(&e, text, n, control, err);
    if (frame && t->add_eos && t->eos >= 0) hn_ids_add(&e.ids, t->eos);
    if (!rc && !e.ids.id) e.ids.failed = !(e.ids.id = malloc(sizeof *e.ids.id));
    if (!rc && e.ids.failed) rc = hn_fail(err, HONE_E_NOMEM, "out of memory tokenising %zu bytes", n);
    if (rc) {
        free(e.ids.id);
        return rc;
    }
    *ids = e.ids.id;
    *n_ids = e.ids.n;
    return HONE_OK;
}

/* --- what tokens are
 * --------------------------------------------------------------------------------------------------- */

size_t hn_tokenizer_size(const hn_tokenizer *t) { return t->n; }
int32_t hn_tokenizer_bos(const hn_tokenizer *t) { return t->bos; }
int32_t hn_tokenizer_eos(const hn_tokenizer *t) { return t->eos; }
bool hn_tokenizer_ends(const hn_tokenizer *t, int32_t id) {
    static const char *const name[] = {"<|im_end|>",    "<|eot_id|>",    "<|eom_id|>",      "<|end|>",
                                       "<end_of_turn>", "<|endoftext|>", "<|end_of_text|>", "</s>"};
    const hn_token *k = &t->token[id];
    if (id == t->eos) return true;
    for (size_t i = 0; k->type == HN_TOKEN_CONTROL && i < sizeof name / sizeof *name; i++)
        if (strlen(name[i]) == k->bytes.n && !memcmp(name[i], k->bytes.text, k->bytes.n)) return true;
    return false;
}

int32_t hn_tokenizer_find(const hn_tokenizer *t, const char *text, size_t n) { return hn_vocabulary_find(t, text, n); }

hn_span hn_tokenizer_bytes(const hn_tokenizer *t, int32_t id, bool *is_control) {
    const hn_token *k = &t->token[id];
    if (is_control)
        *is_control = k->type == HN_TOKEN_CONTROL || (k->type == HN_TOKEN_UNKNOWN && t->kind == HN_TOKENIZER_SPM);
    return k->bytes;
}

/* --- text from tokens
 * -------------------------------------------------------------------------------------------------- */

/* Every byte may become U+FFFD. */
size_t hn_detokenizer_room(const hn_tokenizer *t, int32_t id) { return 3 * (t->token[id].bytes.n + 4); }

/* How many bytes a character that begins with this one has; 0: none begins so. */
static size_t promised(unsigned char c) {
    return c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
}

/* Whether the held bytes may still become a character: the first that follows is bounded in some cases. */
static bool may_become(const char *s, size_t n) {
    unsigned char a = (unsigned char)s[0], b = n > 1 ? (unsigned char)s[1] : 0x80;
    size_t length = promised(a);
    if (!length) return false;
    for (size_t i = 1; i < n; i++)
        if (((unsigned char)s[i] & 0xc0) != 0x80) return false;
    if (n < 2) return true;
    return !((a == 0xe0 && b < 0xa0) || (a == 0xed && b >= 0xa0) || (a == 0xf0 && b < 0x90) ||
             (a == 0xf4 && b >= 0x90));
}

static size_t put_text(char *out, const char *text, size_t n) {
    memcpy(out, text, n);
    return n;
}

/* Takes one byte in; gives out a character that is whole, or U+FFFD for what cannot become one (the longest beginning
 * of a character is one U+FFFD, as the Unicode Standard recommends in section 3.9). */
static size_t push_byte(hn_detokenizer *d, char c, char *out) {
    size_t n = 0;
    d->held[d->n_held++] = c;
    if (!may_become(d->held, d->n_held)) {
        n += put_text(out, "\xef\xbf\xbd", 3);
        bool alone = d->n_held == 1;
        d->n_held = 0;
        return alone ? n : n + push_byte(d, c, out + n);
    }
    if (d->n_held == promised((unsigned char)d->held[0])) {
        n += put_text(out, d->held, d->n_held);
        d->n_held = 0;
    }
    return n;
}

void hn_detokenizer_push(hn_detokenizer *d, const hn_tokenizer *t, int32_t id, bool control, char *out, size_t *n) {
    bool is_control;
    hn_span s = hn_tokenizer_bytes(t, id, &is_control);
    size_t at = 0;
    bool spm = t->kind == HN_TOKENIZER_SPM && t->token[id].type == HN_TOKEN_NORMAL;
    *n = 0;
    if (is_control && !control) return;
    if (spm && !d->begun && t->add_space && s.n >= 3 && !memcmp(s.text, lower_bar, 3)) at = 3;
    d->begun |= !is_control;
    while (at < s.n) {
        bool space = spm && s.n - at >= 3 && !memcmp(s.text + at, lower_bar, 3);
        *n += push_byte(d, space ? ' ' : s.text[at], out + *n);
        at += space ? 3 : 1;
    }
}

void hn_detokenizer_end(hn_detokenizer *d, char out[12], size_t *n) {
    *n = d->n_held ? put_text(out, "\xef\xbf\xbd", 3) : 0;
    d->n_held = 0;
}
