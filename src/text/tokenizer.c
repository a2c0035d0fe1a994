/* tokenizer.c — a text to ids: special tokens are found first, what lies between them is cut and merged; and ids to
 * text. */
#include "text/tokenizer.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "text/characters.h"
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

/* --- encoding ----------------------------------------------------------------------------------------------------- */

typedef struct encoding {
    const hn_tokenizer *t;
    hn_matcher *matcher; /* where there are steps */
    hn_ids ids;
    bool control;
} encoding;

static hone_rc piece(void *arg, const char *text, size_t n, hone_err *err) {
    encoding *e = arg;
    switch (e->t->kind) {
    case HN_TOKENIZER_BPE:
    case HN_TOKENIZER_SPM: return hn_merge_piece(e->t, text, n, &e->ids, err);
    case HN_TOKENIZER_UNIGRAM: return hn_unigram_piece(e->t, text, n, &e->ids, err);
    case HN_TOKENIZER_WORDPIECE: return hn_wordpiece_piece(e->t, text, n, &e->ids, err);
    }
    return HONE_OK;
}

/* Spaces become the bar; behind the beginning of a text or a special token one is put in front. */
static hone_rc encode_spm(encoding *e, const char *text, size_t n, hone_err *err) {
    hn_str s = {0};
    if (e->t->add_space) hn_str_add(&s, lower_bar);
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

/* A special token in a text, with the white space around it that it takes along. */
typedef struct found {
    int32_t id;
    size_t begin, end;
} found;

static bool is_word_at(const char *text, size_t n, size_t at) {
    uint32_t c;
    return at < n && hn_utf8_next(text + at, n - at, &c) && hn_char_is_word(c);
}

static size_t character_before(const char *text, size_t at) {
    size_t from = at - 1;
    while (from && at - from < 4 && ((unsigned char)text[from] & 0xc0) == 0x80) from--;
    return from;
}

static bool is_space_at(const char *text, size_t n, size_t at, size_t *k) {
    uint32_t c;
    *k = hn_utf8_next(text + at, n - at, &c);
    return *k && hn_char_is_space(c);
}

/* The token that begins here, the longest; false: none. `from`: where the last one ended. */
static bool special_at(const encoding *e, const char *text, size_t n, size_t from, size_t at, bool normalised,
                       found *out) {
    const hn_tokenizer *t = e->t;
    unsigned c = (unsigned char)text[at];
    size_t k;
    for (size_t i = t->special_at[c]; i < t->special_at[c + 1]; i++) {
        const hn_added *a = &t->special[i];
        if (!e->control && t->token[a->id].type != HN_TOKEN_USER) continue;
        if (((a->flags & HN_ADDED_NORMALISED) != 0) != normalised && t->steps) continue;
        if (a->text.n > n - at || memcmp(a->text.text, text + at, a->text.n) != 0) continue;
        *out = (found){a->id, at, at + a->text.n};
        if (a->flags & HN_ADDED_WORD &&
            ((at && is_word_at(text, n, character_before(text, at))) || is_word_at(text, n, out->end)))
            return false;
        while (a->flags & HN_ADDED_LEFT && out->begin > from &&
               is_space_at(text, out->begin, character_before(text, out->begin), &k))
            out->begin = character_before(text, out->begin);
        while (a->flags & HN_ADDED_RIGHT && out->end < n && is_space_at(text, n, out->end, &k)) out->end += k;
        return true;
    }
    return false;
}

static hone_rc encode_part(encoding *e, const char *text, size_t n, bool first, bool normalised, hone_err *err);

/* Text without special tokens that stand in it as they are. */
static hone_rc encode_plain(encoding *e, const char *text, size_t n, bool first, bool normalised, hone_err *err) {
    const hn_tokenizer *t = e->t;
    if (!n) return HONE_OK;
    if (!t->steps)
        return t->splitter ? hn_splitter_run(t->splitter, text, n, piece, e, err) : encode_spm(e, text, n, err);
    if (normalised) return hn_text_steps_cut(t->steps, e->matcher, text, n, first, piece, e, err);
    hn_str s = {0};
    hone_rc rc = hn_text_steps_normalise(t->steps, e->matcher, text, n, &s, err);
    if (!rc && s.n) rc = encode_part(e, s.text, s.n, first, true, err);
    hn_str_free(&s);
    return rc;
}

static hone_rc encode_part(encoding *e, const char *text, size_t n, bool first, bool normalised, hone_err *err) {
    hone_rc rc = HONE_OK;
    size_t from = 0;
    found f;
    bool look = !normalised || e->t->any_normalised;
    for (size_t at = 0; look && !rc && at < n;) {
        if (!special_at(e, text, n, from, at, normalised, &f)) {
            at++;
            continue;
        }
        rc = encode_plain(e, text + from, f.begin - from, first && !from, normalised, err);
        hn_ids_add(&e->ids, f.id);
        from = at = f.end;
    }
    return rc ? rc : encode_plain(e, text + from, n - from, first && !from, normalised, err);
}

static void add_all(hn_ids *ids, const int32_t *id, size_t n) {
    for (size_t i = 0; i < n; i++) hn_ids_add(ids, id[i]);
}

hone_rc hn_tokenizer_encode(const hn_tokenizer *t, const char *text, size_t n, bool frame, bool control, int32_t **ids,
                            size_t *n_ids, hone_err *err) {
    encoding e = {.t = t, .control = control};
    if (t->steps && !(e.matcher = hn_matcher_new()))
        return hn_fail(err, HONE_E_NOMEM, "out of memory tokenising %zu bytes", n);
    if (frame) add_all(&e.ids, t->front, t->n_front);
    if (frame && t->add_bos && t->bos >= 0) hn_ids_add(&e.ids, t->bos);
    hone_rc rc = encode_part(&e, text, n, true, false, err);
    if (frame && t->add_eos && t->eos >= 0) hn_ids_add(&e.ids, t->eos);
    if (frame) add_all(&e.ids, t->back, t->n_back);
    hn_matcher_free(e.matcher);
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

/* --- what tokens are ---------------------------------------------------------------------------------------------- */

size_t hn_tokenizer_size(const hn_tokenizer *t) { return t->n; }
int32_t hn_tokenizer_bos(const hn_tokenizer *t) { return t->bos; }
int32_t hn_tokenizer_eos(const hn_tokenizer *t) { return t->eos; }
bool hn_tokenizer_ends(const hn_tokenizer *t, int32_t id) {
    static const char *const name[] = {"<|im_end|>",    "<|eot_id|>",    "<|eom_id|>",      "<|end|>",
                                       "<end_of_turn>", "<|endoftext|>", "<|end_of_text|>", "</s>"};
    const hn_token *k = &t->token[id];
    if (id == t->eos) return true;
    for (size_t i = 0; i < t->n_end; i++)
        if (t->end[i] == id) return true;
    for (size_t i = 0; k->type == HN_TOKEN_CONTROL && i < sizeof name / sizeof *name; i++)
        if (strlen(name[i]) == k->bytes.n && !memcmp(name[i], k->bytes.text, k->bytes.n)) return true;
    return false;
}

int32_t hn_tokenizer_find(const hn_tokenizer *t, const char *text, size_t n) { return hn_vocabulary_find(t, text, n); }

hn_span hn_tokenizer_bytes(const hn_tokenizer *t, int32_t id, bool *is_control) {
    const hn_token *k = &t->token[id];
    if (is_control)
        *is_control = k->type == HN_TOKEN_CONTROL || (k->type == HN_TOKEN_UNKNOWN && t->kind != HN_TOKENIZER_BPE);
    return k->bytes;
}

/* --- text from tokens --------------------------------------------------------------------------------------------- */

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

/* Words have a space in front, but for the first and for pieces that go on; punctuation has none where it is tidy. */
static size_t word_gap(const hn_detokenizer *d, const hn_tokenizer *t, hn_span *s, char *out) {
    static const char *const close[] = {".", "?", "!", ",", "n't", "'m", "'s", "'ve", "'re"};
    size_t k = strlen(t->continuing);
    if (!d->begun) return 0;
    if (s->n >= k && !memcmp(s->text, t->continuing, k)) {
        *s = (hn_span){s->text + k, s->n - k};
        return 0;
    }
    for (size_t i = 0; t->tidy && i < sizeof close / sizeof *close; i++)
        if (s->n >= strlen(close[i]) && !memcmp(s->text, close[i], strlen(close[i]))) return 0;
    out[0] = ' ';
    return 1;
}

void hn_detokenizer_push(hn_detokenizer *d, const hn_tokenizer *t, int32_t id, bool control, char *out, size_t *n) {
    bool is_control;
    hn_span s = hn_tokenizer_bytes(t, id, &is_control);
    size_t at = 0;
    bool spm = t->bars && t->token[id].type == HN_TOKEN_NORMAL;
    *n = 0;
    if (is_control && !control) return;
    if (t->kind == HN_TOKENIZER_WORDPIECE) *n = word_gap(d, t, &s, out);
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
