/* tokenizer_model.c — `model` and `added_tokens` of tokenizer.json: the vocabulary, its merges and special tokens. */
#include "base/err.h"
#include "hf/tokenizer_int.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { HOLES = 65536 }; /* ids without a token are taken up to so many */

/* The spec's arrays while they are filled. */
typedef struct table {
    hn_span *token;
    double *score;
    int32_t *type;
    uint8_t *added;
    size_t n;
} table;

static hone_rc fails(const hn_tokenizer_reading *r, hone_err *err, const char *what, const char *name) {
    return hn_fail(err, HONE_E_INPUT, "%s: %s '%.60s'; the file is damaged: fetch it again", r->label, what, name);
}

/* --- vocabulary ------------------------------------------------------------------------------------------------------
 */

/* The largest id + 1 of a vocabulary and of added tokens. */
static hone_rc count_ids(const hn_tokenizer_reading *r, const json_t *vocab, const json_t *added, size_t *n,
                         hone_err *err) {
    const char *name;
    json_t *j;
    size_t i, most = json_array_size(vocab), known = json_object_size(vocab) + json_array_size(vocab);
    json_object_foreach((json_t *)(uintptr_t)vocab, name, j) {
        if (!json_is_integer(j) || json_integer_value(j) < 0) return fails(r, err, "no id for token", name);
        if ((size_t)json_integer_value(j) >= most) most = (size_t)json_integer_value(j) + 1;
    }
    json_array_foreach(added, i, j) {
        const json_t *id = json_object_get(j, "id");
        if (!json_is_string(json_object_get(j, "content")) || !json_is_integer(id) || json_integer_value(id) < 0)
            return hn_fail(err, HONE_E_INPUT, "%s: entry %zu of 'added_tokens' has no id or no content", r->label, i);
        if ((size_t)json_integer_value(id) >= most) most = (size_t)json_integer_value(id) + 1;
    }
    if (!most || most > known + json_array_size(added) + HOLES)
        return hn_fail(err, HONE_E_INPUT, "%s: ids up to %zu for %zu tokens; the file is damaged", r->label, most,
                       known + json_array_size(added));
    *n = most;
    return HONE_OK;
}

static bool is_byte(hn_span s) {
    return s.n == 6 && !memcmp(s.text, "<0x", 3) && s.text[5] == '>' && strspn(s.text + 3, "0123456789ABCDEF") == 2;
}

static hone_rc put(hn_tokenizer_reading *r, table *t, size_t id, hn_span text, bool bytes, hone_err *err) {
    if (t->type[id]) return fails(r, err, "a second token with the id of", text.text);
    t->token[id] = text;
    t->type[id] = bytes && is_byte(text) ? HN_TOKEN_BYTE : HN_TOKEN_NORMAL;
    hn_names_put(&r->id, &r->arena, text.text, (void *)(uintptr_t)(id + 1));
    return HONE_OK;
}

static hone_rc read_vocab(hn_tokenizer_reading *r, table *t, const json_t *vocab, bool bytes, hone_err *err) {
    const char *name;
    json_t *j;
    size_t i, n_name;
    hone_rc rc = HONE_OK;
    json_object_keylen_foreach((json_t *)(uintptr_t)vocab, name, n_name, j) {
        rc = put(r, t, (size_t)json_integer_value(j), (hn_span){name, n_name}, bytes, err);
        if (rc) return rc;
    }
    json_array_foreach(vocab, i, j) {
        const json_t *text = json_array_get(j, 0), *score = json_array_get(j, 1);
        if (!json_is_string(text) || !json_is_number(score) || !isfinite(json_number_value(score)))
            return hn_fail(err, HONE_E_INPUT, "%s: entry %zu of 'vocab' is no text and score", r->label, i);
        t->score[i] = json_number_value(score);
        if ((rc = put(r, t, i, hn_json_span(text), bytes, err))) return rc;
    }
    return HONE_OK;
}

static void read_added(hn_tokenizer_reading *r, table *t, const json_t *added) {
    const json_t *j;
    size_t i;
    json_array_foreach(added, i, j) {
        size_t id = (size_t)json_integer_value(json_object_get(j, "id"));
        bool special = hn_json_flag(j, "special", false);
        t->token[id] = hn_json_span(json_object_get(j, "content"));
        t->type[id] = special ? HN_TOKEN_CONTROL : HN_TOKEN_USER;
        t->added[id] = (uint8_t)((hn_json_flag(j, "lstrip", false) ? HN_ADDED_LEFT : 0) |
                                 (hn_json_flag(j, "rstrip", false) ? HN_ADDED_RIGHT : 0) |
                                 (hn_json_flag(j, "single_word", false) ? HN_ADDED_WORD : 0) |
                                 (hn_json_flag(j, "normalized", !special) ? HN_ADDED_NORMALISED : 0));
        hn_names_put(&r->id, &r->arena, t->token[id].text, (void *)(uintptr_t)(id + 1));
    }
}

/* --- merges ----------------------------------------------------------------------------------------------------------
 */

static hone_rc read_merges(hn_tokenizer_reading *r, const json_t *merges, hone_err *err) {
    size_t n = json_array_size(merges), i;
    hn_span *merge = HN_NEW_N(&r->arena, hn_span, n ? n : 1);
    size_t *at = HN_NEW_N(&r->arena, size_t, n ? n : 1);
    const json_t *j;
    if (!merge || !at) return hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", r->label);
    json_array_foreach(merges, i, j) {
        hn_span left = hn_json_span(json_array_get(j, 0)), right = hn_json_span(json_array_get(j, 1)),
                both = hn_json_span(j);
        const char *space = both.n ? memchr(both.text, ' ', both.n) : NULL;
        if (space) {
            left = (hn_span){both.text, (size_t)(space - both.text)};
            right = (hn_span){space + 1, both.n - left.n - 1};
        }
        char *text = left.n && right.n ? hn_alloc(&r->arena, left.n + right.n + 1) : NULL;
        if (!text) return hn_fail(err, HONE_E_INPUT, "%s: entry %zu of 'merges' is no two tokens", r->label, i);
        memcpy(text, left.text, left.n);
        memcpy(text + left.n, right.text, right.n);
        merge[i] = (hn_span){text, left.n + right.n};
        at[i] = left.n;
    }
    r->spec.merge = merge;
    r->spec.merge_at = at;
    r->spec.n_merge = n;
    return HONE_OK;
}

/* --- kinds -----------------------------------------------------------------------------------------------------------
 */

static void bpe(hn_tokenizer_reading *r, const json_t *m) {
    hn_tokenizer_spec *s = &r->spec;
    s->kind = HN_TOKENIZER_BPE;
    s->characters = !r->bytes;
    s->whole_first = hn_json_flag(m, "ignore_merges", false);
    s->fuse_unknown = hn_json_flag(m, "fuse_unk", false);
    s->drop_unknown = true;
    if (hn_json_in(m, "dropout") && json_number_value(hn_json_in(m, "dropout")) > 0)
        hn_tokenizer_refuse(r, "model: 'dropout', with which a text has no certain tokens");
    if (hn_json_span(json_object_get(m, "continuing_subword_prefix")).n)
        hn_tokenizer_refuse(r, "model: 'continuing_subword_prefix' of BPE");
    if (hn_json_span(json_object_get(m, "end_of_word_suffix")).n) hn_tokenizer_refuse(r, "model: 'end_of_word_suffix'");
}

static void wordpiece(hn_tokenizer_reading *r, const json_t *m) {
    const json_t *most = json_object_get(m, "max_input_chars_per_word"),
                 *mark = json_object_get(m, "continuing_subword_prefix");
    r->spec.kind = HN_TOKENIZER_WORDPIECE;
    r->spec.longest_word = json_integer_value(most) > 0 ? (size_t)json_integer_value(most) : 100;
    r->spec.continuing = json_is_string(mark) ? json_string_value(mark) : "##";
}

/* Old files do not say the type. */
static const char *type_of(const json_t *m) {
    const char *type = json_string_value(json_object_get(m, "type"));
    if (type) return type;
    if (json_object_get(m, "merges")) return "BPE";
    return json_is_array(json_object_get(m, "vocab")) ? "Unigram" : "WordPiece";
}

static int32_t unknown_of(const hn_tokenizer_reading *r, const json_t *m, size_t n) {
    const json_t *id = hn_json_in(m, "unk_id"), *name = hn_json_in(m, "unk_token");
    size_t at = json_is_string(name) ? (size_t)(uintptr_t)hn_names_get(&r->id, json_string_value(name)) : 0;
    if (json_is_integer(id))
        return json_integer_value(id) >= 0 && (size_t)json_integer_value(id) < n ? (int32_t)json_integer_value(id) : -1;
    return (int32_t)at - 1;
}

static hone_rc make_table(hn_tokenizer_reading *r, const json_t *m, const json_t *added, hone_err *err) {
    table t = {0};
    const json_t *vocab = json_object_get(m, "vocab");
    bool bytes = hn_json_flag(m, "byte_fallback", false);
    hone_rc rc = count_ids(r, vocab, added, &t.n, err);
    if (rc) return rc;
    t.token = HN_NEW_N(&r->arena, hn_span, t.n);
    t.score = HN_NEW_N(&r->arena, double, t.n);
    t.type = HN_NEW_N(&r->arena, int32_t, t.n);
    t.added = HN_NEW_N(&r->arena, uint8_t, t.n);
    if (!hn_arena_ok(&r->arena)) return hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", r->label);
    if ((rc = read_vocab(r, &t, vocab, bytes && !r->bytes, err))) return rc;
    read_added(r, &t, added);
    r->spec.unknown = unknown_of(r, m, t.n);
    if (r->spec.kind == HN_TOKENIZER_UNIGRAM && r->spec.unknown >= 0 && t.type[r->spec.unknown] == HN_TOKEN_NORMAL)
        t.type[r->spec.unknown] = HN_TOKEN_UNKNOWN;
    for (size_t i = 0; i < t.n; i++)
        if (!t.type[i]) {
            t.type[i] = HN_TOKEN_UNUSED;
            t.token[i] = (hn_span){"", 0};
        }
    r->spec.n = t.n;
    r->spec.token = t.token;
    r->spec.exact = t.score;
    r->spec.type = t.type;
    r->spec.added = t.added;
    return HONE_OK;
}

hone_rc hn_tokenizer_read_model(hn_tokenizer_reading *r, const json_t *model, const json_t *added, hone_err *err) {
    const char *type = type_of(model);
    if (!strcmp(type, "BPE"))
        bpe(r, model);
    else if (!strcmp(type, "Unigram"))
        r->spec.kind = HN_TOKENIZER_UNIGRAM;
    else if (!strcmp(type, "WordPiece"))
        wordpiece(r, model);
    else
        hn_tokenizer_refuse(r, "model '%.40s'", type);
    if (r->bytes && strcmp(type, "BPE") != 0) hn_tokenizer_refuse(r, "ByteLevel with model '%.40s'", type);
    if (r->n_lines) return HONE_OK; /* said by the caller, with what else is not read */
    hone_rc rc = make_table(r, model, added, err);
    if (!rc && r->spec.kind == HN_TOKENIZER_BPE) rc = read_merges(r, json_object_get(model, "merges"), err);
    return rc;
}
