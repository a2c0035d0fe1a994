/* vocabulary.c — a tokenizer from its spec: tokens by text, merges by pair, special tokens by first byte. */
#include "base/err.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "text/tokenizer_int.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- tables ------------------------------------------------------------------------------------------------------- */

static uint64_t text_hash(const char *text, size_t n) {
    uint64_t h = HN_HASH_BEGIN;
    for (size_t i = 0; i < n; i++) h = hn_hash_byte(h, text[i]);
    return h;
}

static size_t slot_at(const hn_tokenizer *t, const char *text, size_t n, uint64_t hash) {
    size_t i = (size_t)hn_mix64(hash) & (t->room - 1);
    for (; t->by_text[i]; i = (i + 1) & (t->room - 1)) {
        const hn_span *s = &t->token[t->by_text[i] - 1].bytes;
        if (s->n == n && !memcmp(s->text, text, n)) break;
    }
    return i;
}

static size_t slot_of(const hn_tokenizer *t, const char *text, size_t n) {
    return slot_at(t, text, n, text_hash(text, n));
}

int32_t hn_vocabulary_find(const hn_tokenizer *t, const char *text, size_t n) {
    return t->by_text[slot_of(t, text, n)] - 1;
}

int32_t hn_vocabulary_find_hashed(const hn_tokenizer *t, const char *text, size_t n, uint64_t hash) {
    return t->by_text[slot_at(t, text, n, hash)] - 1;
}

static size_t pair_slot(const hn_tokenizer *t, int32_t left, int32_t right) {
    size_t i = (size_t)hn_mix64((uint64_t)(uint32_t)left << 32 | (uint32_t)right) & (t->merge_room - 1);
    while (t->merge[i].id >= 0 && (t->merge[i].left != left || t->merge[i].right != right))
        i = (i + 1) & (t->merge_room - 1);
    return i;
}

const hn_merge *hn_merge_find(const hn_tokenizer *t, int32_t left, int32_t right) {
    const hn_merge *m = &t->merge[pair_slot(t, left, right)];
    return m->id >= 0 ? m : NULL;
}

static size_t room_for(size_t n) {
    size_t room = 16;
    while (room < 2 * n) room *= 2;
    return room;
}

/* --- bytes as GPT-2 writes them --------------------------------------------------------------------------------------
 */

/* The byte that a character of GPT-2's table stands for, -1: none. Visible bytes of Latin-1 stand for themselves, the
 * others, in their order, for U+0100 and on. */
static int byte_of(uint32_t c) {
    if ((c >= 0x21 && c <= 0x7e) || (c >= 0xa1 && c <= 0xac) || (c >= 0xae && c <= 0xff)) return (int)c;
    if (c < 0x100 || c > 0x143) return -1;
    uint32_t k = c - 0x100;
    return (int)(k < 0x21 ? k : k < 0x43 ? k - 0x21 + 0x7f : 0xad);
}

/* A token's own text; false: it holds a character that stands for no byte, and is meant as it is. */
static bool raw_bytes(const hn_span *s, char *out, size_t *n) {
    *n = 0;
    for (size_t at = 0; at < s->n;) {
        uint32_t c = 0;
        size_t k = hn_utf8_next(s->text + at, s->n - at, &c);
        int byte = k ? byte_of(c) : -1;
        if (byte < 0) return false;
        out[(*n)++] = (char)byte;
        at += k;
    }
    return true;
}

/* --- making ------------------------------------------------------------------------------------------------------- */

static bool is_special(const hn_token *k) { return k->type == HN_TOKEN_CONTROL || k->type == HN_TOKEN_USER; }

/* <0x41> */
static int byte_token(const hn_span *s) {
    static const char digit[] = "0123456789ABCDEF";
    if (s->n != 6 || memcmp(s->text, "<0x", 3) != 0 || s->text[5] != '>') return -1;
    const char *high = memchr(digit, s->text[3], 16), *low = memchr(digit, s->text[4], 16);
    return high && low ? (int)(16 * (high - digit) + (low - digit)) : -1;
}

/* User-defined pieces are looked for in the text as it was given, where a bar is a space. */
static size_t bars_to_spaces(char *text, size_t n) {
    size_t k = 0;
    for (size_t i = 0; i < n; k++) {
        bool bar = n - i >= 3 && !memcmp(text + i, "\xe2\x96\x81", 3);
        text[k] = bar ? ' ' : text[i];
        i += bar ? 3 : 1;
    }
    return k;
}

/* Whether tokens are written in GPT-2's table of visible characters. */
static bool is_mapped(const hn_tokenizer_spec *s) { return s->kind == HN_TOKENIZER_BPE && !s->characters; }

static hone_rc take_token(hn_tokenizer *t, const hn_tokenizer_spec *spec, size_t i, hone_err *err) {
    hn_token *k = &t->token[i];
    const hn_span *s = &spec->token[i];
    char *text = hn_alloc(&t->arena, s->n + 1);
    size_t n = s->n;
    if (!text) return hn_fail(err, HONE_E_NOMEM, "out of memory making a tokenizer");
    k->type = spec->type ? spec->type[i] : HN_TOKEN_NORMAL;
    k->score = spec->exact ? spec->exact[i] : spec->score ? (double)spec->score[i] : 0;
    bool mapped = is_mapped(spec) && !is_special(k) && raw_bytes(s, text, &n);
    if (!mapped && s->n) memcpy(text, s->text, n = s->n);
    if (spec->kind == HN_TOKENIZER_SPM && k->type == HN_TOKEN_USER) n = bars_to_spaces(text, n);
    int byte = !is_mapped(spec) && k->type == HN_TOKEN_BYTE ? byte_token(s) : -1;
    if (k->type == HN_TOKEN_BYTE && !is_mapped(spec) && byte < 0)
        return hn_fail(err, HONE_E_INPUT, "token %zu, '%.*s', is called a byte's, but is not written <0x00> to <0xFF>",
                       i, (int)n, text);
    k->bytes = (hn_span){text, n};
    if (byte >= 0) {
        text[0] = (char)byte;
        k->bytes.n = 1;
        t->byte[byte] = (int32_t)i;
        return HONE_OK; /* its text in a vocabulary is a name, not something to merge to */
    }
    if (is_mapped(spec) && n == 1 && !is_special(k)) t->byte[(unsigned char)text[0]] = (int32_t)i;
    if (k->type == HN_TOKEN_NORMAL) {
        if (n > t->longest) t->longest = n;
        if (k->score < t->worst) t->worst = k->score;
    }
    size_t slot = slot_of(t, text, n);
    if (!t->by_text[slot]) t->by_text[slot] = (int32_t)i + 1; /* of several with one text the first is meant */
    return HONE_OK;
}

/* The two parts of a merge as they stand in the vocabulary, one behind the other in buf. */
static bool divided(const hn_tokenizer_spec *spec, size_t i, char *buf, size_t *n_left, size_t *n_right) {
    const hn_span *s = &spec->merge[i];
    const char *space = s->n > 1 ? memchr(s->text + 1, ' ', s->n - 1) : NULL;
    size_t cut = spec->merge_at ? spec->merge_at[i] : space ? (size_t)(space - s->text) : 0;
    size_t gap = spec->merge_at ? 0 : 1;
    if (!cut || cut + gap >= s->n) return false;
    hn_span left = {s->text, cut}, right = {s->text + cut + gap, s->n - cut - gap};
    if (is_mapped(spec)) return raw_bytes(&left, buf, n_left) && raw_bytes(&right, buf + *n_left, n_right);
    memcpy(buf, left.text, *n_left = left.n);
    memcpy(buf + left.n, right.text, *n_right = right.n);
    return true;
}

static hone_rc take_merge(hn_tokenizer *t, const hn_tokenizer_spec *spec, size_t rank, char *buf, hone_err *err) {
    const hn_span *s = &spec->merge[rank];
    size_t n_left = 0, n_right = 0;
    int32_t x = -1, y = -1, both = -1;
    if (divided(spec, rank, buf, &n_left, &n_right)) {
        x = hn_vocabulary_find(t, buf, n_left);
        y = hn_vocabulary_find(t, buf + n_left, n_right);
        both = hn_vocabulary_find(t, buf, n_left + n_right);
    }
    if (x < 0 || y < 0 || both < 0)
        return hn_fail(err, HONE_E_INPUT,
                       "merge %zu, '%.*s', joins what is not in the vocabulary; the tokenizer is damaged", rank,
                       (int)(s->n < 60 ? s->n : 60), s->text);
    hn_merge *m = &t->merge[pair_slot(t, x, y)];
    if (m->id < 0) *m = (hn_merge){x, y, both, (int32_t)rank};
    return HONE_OK;
}

static hone_rc take_merges(hn_tokenizer *t, const hn_tokenizer_spec *spec, hone_err *err) {
    hone_rc rc = HONE_OK;
    size_t longest = 1;
    t->merge_room = room_for(spec->n_merge);
    t->merge = HN_NEW_N(&t->arena, hn_merge, t->merge_room);
    for (size_t i = 0; i < spec->n_merge; i++)
        if (spec->merge[i].n > longest) longest = spec->merge[i].n;
    char *buf = malloc(longest);
    if (!t->merge || !buf) {
        free(buf);
        return hn_fail(err, HONE_E_NOMEM, "out of memory making a tokenizer");
    }
    for (size_t i = 0; i < t->merge_room; i++) t->merge[i].id = -1;
    for (size_t i = 0; !rc && i < spec->n_merge; i++) rc = take_merge(t, spec, i, buf, err);
    free(buf);
    return rc;
}

/* Special tokens by first byte, the longest first: a text is searched from left to right, the longest match taken. */
static int by_first_byte(const void *a, const void *b) {
    const hn_added *x = a, *y = b;
    if (x->text.text[0] != y->text.text[0])
        return (unsigned char)x->text.text[0] < (unsigned char)y->text.text[0] ? -1 : 1;
    return x->text.n != y->text.n ? (x->text.n > y->text.n ? -1 : 1) : x->id - y->id;
}

/* What is looked for in normalised text is normalised itself. */
static hone_rc normalise_added(hn_tokenizer *t, hn_added *a, hn_matcher *m, hone_err *err) {
    hn_str s = {0};
    hone_rc rc = hn_text_steps_normalise(t->steps, m, a->text.text, a->text.n, &s, err);
    if (!rc && s.n) a->text = (hn_span){hn_strndup(&t->arena, s.text, s.n), s.n};
    hn_str_free(&s);
    t->any_normalised = true;
    return !rc && !a->text.text ? hn_fail(err, HONE_E_NOMEM, "out of memory making a tokenizer") : rc;
}

static hone_rc list_special(hn_tokenizer *t, const uint8_t *flags, hone_err *err) {
    size_t n = 0;
    hone_rc rc = HONE_OK;
    for (size_t i = 0; i < t->n; i++) n += is_special(&t->token[i]) && t->token[i].bytes.n;
    t->special = HN_NEW_N(&t->arena, hn_added, n ? n : 1);
    hn_matcher *m = hn_matcher_new();
    if (!t->special || !m) rc = hn_fail(err, HONE_E_NOMEM, "out of memory making a tokenizer");
    for (size_t i = 0, k = 0; !rc && i < t->n; i++) {
        if (!is_special(&t->token[i]) || !t->token[i].bytes.n) continue;
        hn_added *a = &t->special[k++];
        *a = (hn_added){(int32_t)i, flags ? flags[i] : 0, t->token[i].bytes};
        if (t->steps && a->flags & HN_ADDED_NORMALISED) rc = normalise_added(t, a, m, err);
    }
    hn_matcher_free(m);
    if (rc) return rc;
    qsort(t->special, n, sizeof *t->special, by_first_byte);
    size_t at = 0;
    for (unsigned c = 0; c < 256; c++) {
        t->special_at[c] = at;
        while (at < n && (unsigned char)t->special[at].text.text[0] == c) at++;
    }
    t->special_at[256] = at;
    return HONE_OK;
}

static hone_rc check_id(const hn_tokenizer_spec *s, int32_t id, const char *what, hone_err *err) {
    if (id >= -1 && (id < 0 || (size_t)id < s->n)) return HONE_OK;
    return hn_fail(err, HONE_E_INPUT, "the tokenizer's %s is token %" PRId32 ", but it has %zu tokens", what, id, s->n);
}

static hone_rc check_spec(const hn_tokenizer_spec *s, hone_err *err) {
    hone_rc rc = HONE_OK;
    if (!s->n || s->n > INT32_MAX / 4)
        return hn_fail(err, HONE_E_INPUT, "a tokenizer of %zu tokens; it is damaged", s->n);
    if (s->n_merge > INT32_MAX / 4)
        return hn_fail(err, HONE_E_INPUT, "a tokenizer of %zu merges; it is damaged", s->n_merge);
    if (s->kind == HN_TOKENIZER_SPM && !s->score)
        return hn_fail(err, HONE_E_INPUT, "a SentencePiece tokenizer without scores");
    if (!rc) rc = check_id(s, s->bos, "beginning of a text", err);
    if (!rc) rc = check_id(s, s->eos, "end of a text", err);
    if (!rc) rc = check_id(s, s->unknown, "unknown token", err);
    if (!rc) rc = check_id(s, s->padding, "padding", err);
    for (size_t i = 0; !rc && i < s->n_front; i++) rc = check_id(s, s->front[i], "beginning of a text", err);
    for (size_t i = 0; !rc && i < s->n_back; i++) rc = check_id(s, s->back[i], "end of a text", err);
    for (size_t i = 0; !rc && i < s->n_end; i++) rc = check_id(s, s->end[i], "end of a text", err);
    if (!rc && s->kind == HN_TOKENIZER_UNIGRAM && !s->score && !s->exact)
        rc = hn_fail(err, HONE_E_INPUT, "a unigram tokenizer without scores");
    return rc;
}

static int32_t *copy_ids(hn_tokenizer *t, const int32_t *id, size_t n) {
    int32_t *own = HN_NEW_N(&t->arena, int32_t, n ? n : 1);
    if (own && n) memcpy(own, id, n * sizeof *own);
    return own;
}

static hone_rc take_habits(hn_tokenizer *t, const hn_tokenizer_spec *s, hone_err *err) {
    t->characters = s->characters;
    t->fuse_unknown = s->fuse_unknown;
    t->drop_unknown = s->drop_unknown;
    t->single = !s->exact;
    t->bars = s->bars || s->kind == HN_TOKENIZER_SPM;
    t->tidy = s->tidy;
    t->longest_word = s->longest_word ? s->longest_word : 100;
    t->continuing = hn_strdup(&t->arena, s->continuing ? s->continuing : "##");
    t->front = copy_ids(t, s->front, t->n_front = s->n_front);
    t->back = copy_ids(t, s->back, t->n_back = s->n_back);
    t->end = copy_ids(t, s->end, t->n_end = s->n_end);
    if (!hn_arena_ok(&t->arena)) return hn_fail(err, HONE_E_NOMEM, "out of memory making a tokenizer");
    return s->step ? hn_text_steps_make(s->step, s->n_step, &t->steps, err) : HONE_OK;
}

static hone_rc fill(hn_tokenizer *t, const hn_tokenizer_spec *s, hone_err *err) {
    hone_rc rc = HONE_OK;
    t->kind = s->kind;
    t->n = s->n;
    t->bos = s->bos;
    t->eos = s->eos;
    t->unknown = s->unknown;
    t->padding = s->padding;
    t->add_bos = s->add_bos;
    t->add_eos = s->add_eos;
    t->add_space = s->add_space;
    t->whole_first = s->whole_first;
    for (size_t i = 0; i < 256; i++) t->byte[i] = -1;
    t->room = room_for(s->n);
    t->by_text = HN_NEW_N(&t->arena, int32_t, t->room);
    t->token = HN_NEW_N(&t->arena, hn_token, s->n);
    if (!t->by_text || !t->token) return hn_fail(err, HONE_E_NOMEM, "out of memory making a tokenizer");
    rc = take_habits(t, s, err);
    for (size_t i = 0; !rc && i < s->n; i++) rc = take_token(t, s, i, err);
    if (!rc) rc = list_special(t, s->added, err);
    if (!rc && s->kind == HN_TOKENIZER_BPE) rc = take_merges(t, s, err);
    if (!rc && s->kind == HN_TOKENIZER_BPE && !s->step)
        rc = hn_splitter_make(s->pattern ? s->pattern : "default", &t->splitter, err);
    return rc;
}

hone_rc hn_tokenizer_make(const hn_tokenizer_spec *spec, hn_tokenizer **out, hone_err *err) {
    hone_rc rc = check_spec(spec, err);
    if (rc) return rc;
    hn_tokenizer *t = calloc(1, sizeof *t);
    if (!t) return hn_fail(err, HONE_E_NOMEM, "out of memory making a tokenizer");
    if ((rc = fill(t, spec, err))) {
        hn_tokenizer_free(t);
        return rc;
    }
    *out = t;
    return HONE_OK;
}

void hn_tokenizer_free(hn_tokenizer *t) {
    if (!t) return;
    hn_splitter_free(t->splitter);
    hn_text_steps_free(t->steps);
    hn_arena_free(&t->arena);
    free(t);
}
