/* tokenizer_of.c — `tokenizer.ggml.*` as a tokenizer's spec. */
#include "gguf/tokenizer_of.h"
#include "base/err.h"
#include "text/steps.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define KEY(name) "tokenizer.ggml." name

static bool is_text(const hn_gguf_text *t, const char *what) {
    return t->n == strlen(what) && !memcmp(t->text, what, t->n);
}

static int32_t id_of(const hn_gguf *g, const char *key, int32_t otherwise) {
    uint64_t x;
    return hn_gguf_u64(hn_gguf_find(g, key), &x) ? (x > INT32_MAX ? INT32_MAX : (int32_t)x) : otherwise;
}

static bool flag_of(const hn_gguf *g, const char *key, bool otherwise) {
    bool x;
    return hn_gguf_bool(hn_gguf_find(g, key), &x) ? x : otherwise;
}

/* hn_gguf_text and hn_span are alike: a text and its length. */
static hone_rc texts(hn_gguf *g, const char *key, hn_span **out, size_t *n, hone_err *err) {
    const hn_gguf_text *text;
    hone_rc rc = hn_gguf_strings(g, hn_gguf_find(g, key), &text, n, err);
    if (rc) return rc;
    if (!(*out = malloc((*n ? *n : 1) * sizeof **out)))
        return hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", key);
    for (size_t i = 0; i < *n; i++) (*out)[i] = (hn_span){text[i].text, text[i].n};
    return HONE_OK;
}

/* Numbers that stand beside the tokens, one each. */
static hone_rc beside(const hn_gguf_pair *p, size_t n, hone_err *err) {
    if (p->kind == HN_GGUF_ARRAY && p->n == n) return HONE_OK;
    return hn_fail(err, HONE_E_INPUT, "'%s' has %" PRIu64 " entries, but there are %zu tokens; the file is damaged",
                   p->key, p->n, n);
}

static hone_rc read_scores(const hn_gguf *g, hn_tokenizer_spec *s, hone_err *err) {
    const hn_gguf_pair *p = hn_gguf_find(g, KEY("scores")), *q = hn_gguf_find(g, KEY("token_type"));
    hone_rc rc = p ? beside(p, s->n, err) : HONE_OK;
    if (!rc && q) rc = beside(q, s->n, err);
    if (rc) return rc;
    float *score = p ? calloc(s->n, sizeof *score) : NULL;
    int32_t *type = q ? calloc(s->n, sizeof *type) : NULL;
    s->score = score;
    s->type = type;
    if ((p && !score) || (q && !type)) return hn_fail(err, HONE_E_NOMEM, "out of memory reading a tokenizer");
    for (size_t i = 0; i < s->n; i++) {
        double x = 0;
        int64_t k = HN_TOKEN_NORMAL;
        if (p && !hn_gguf_item_f64(p, i, &x))
            return hn_fail(err, HONE_E_INPUT, "entry %zu of '%s' is no number", i, p->key);
        if (q && (!hn_gguf_item_i64(q, i, &k) || k < 0 || k > HN_TOKEN_BYTE))
            return hn_fail(err, HONE_E_INPUT, "entry %zu of '%s' is no type of token", i, q->key);
        if (score) score[i] = (float)x;
        if (type) type[i] = (int32_t)k;
    }
    return HONE_OK;
}

typedef struct named_kind {
    const char *name;
    hn_tokenizer_kind kind;
    int32_t bos, eos, unknown, padding; /* where no key says it; -1: none */
    bool add_bos, add_eos, add_space;
} named_kind;
static const named_kind kinds[] = {
    {"gpt2", HN_TOKENIZER_BPE, -1, -1, -1, -1, false, false, false},
    {"llama", HN_TOKENIZER_SPM, 1, 2, 0, -1, true, false, true},
    {"t5", HN_TOKENIZER_UNIGRAM, -1, 1, 2, 0, false, true, true},
    {"bert", HN_TOKENIZER_WORDPIECE, 101, 102, 100, 0, true, true, false},
};

static hone_rc read_kind(const hn_gguf *g, hn_tokenizer_spec *s, hone_err *err) {
    hn_gguf_text model;
    const named_kind *k = NULL;
    if (!hn_gguf_string(hn_gguf_find(g, KEY("model")), &model))
        return hn_fail(err, HONE_E_NOTFOUND, "the file has no tokenizer");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (is_text(&model, kinds[i].name)) k = &kinds[i];
    if (!k)
        return hn_fail(err, HONE_E_UNSUPPORTED,
                       "a tokenizer of kind '%.*s' is not read; 'gpt2' (byte-level BPE), 'llama' (SentencePiece BPE), "
                       "'t5' (unigram) and 'bert' (WordPiece) are",
                       (int)(model.n < 40 ? model.n : 40), model.text);
    bool words = k->kind == HN_TOKENIZER_WORDPIECE;
    s->kind = k->kind;
    s->bos = id_of(g, KEY("bos_token_id"), words ? id_of(g, KEY("cls_token_id"), k->bos) : k->bos);
    s->eos = id_of(g, words ? KEY("seperator_token_id") : KEY("eos_token_id"), k->eos); /* spelt so in files */
    s->unknown = id_of(g, KEY("unknown_token_id"), k->unknown);
    s->padding = id_of(g, KEY("padding_token_id"), k->padding);
    s->add_bos = flag_of(g, KEY("add_bos_token"), k->add_bos);
    s->add_eos = flag_of(g, KEY("add_eos_token"), k->add_eos);
    s->add_space = flag_of(g, KEY("add_space_prefix"), k->add_space);
    return HONE_OK;
}

/* --- steps of the kinds that have them ---------------------------------------------------------------------------- */

enum { STEPS = 8 };
static const char bar[] = "\xe2\x96\x81";

static void add(hn_tokenizer_spec *s, hn_text_step *step, hn_text_step one) {
    step[s->n_step++] = one;
    s->step = step;
}

/* What SentencePiece does in front of its model. */
static hone_rc unigram_steps(const hn_gguf *g, hn_tokenizer_spec *s, hn_text_step *step, hone_err *err) {
    static const hn_span ends = {"\\A +| +\\z", 9}, many = {" {2,}", 5}, space = {" ", 1}, mark = {bar, 3};
    const hn_gguf_pair *map = hn_gguf_find(g, KEY("precompiled_charsmap"));
    s->bars = s->fuse_unknown = true;
    if (map && (map->kind != HN_GGUF_ARRAY || (map->item != HN_GGUF_U8 && map->item != HN_GGUF_I8)))
        return hn_fail(err, HONE_E_INPUT, "'%s' is no list of bytes", map->key);
    bool strip = flag_of(g, KEY("remove_extra_whitespaces"), true);
    /* Where spaces stay, a text of which the rules leave nothing has one in front, too. */
    if (s->add_space && !strip) add(s, step, (hn_text_step){.kind = HN_STEP_PREPEND, .text = mark});
    if (map && map->n)
        add(s, step,
            (hn_text_step){.kind = HN_STEP_CHARSMAP, .text = {(const char *)map->at, (size_t)map->n}, .longest = true});
    if (strip) {
        add(s, step, (hn_text_step){.kind = HN_STEP_REPLACE, .pattern = ends});
        add(s, step, (hn_text_step){.kind = HN_STEP_REPLACE, .pattern = many, .text = space});
    }
    if (s->add_space && strip) add(s, step, (hn_text_step){.kind = HN_STEP_PREPEND, .text = mark});
    add(s, step, (hn_text_step){.kind = HN_STEP_REPLACE, .pattern = space, .literal = true, .text = mark});
    return HONE_OK;
}

static bool starts_word(const hn_span *s) { return s->n > 3 && !memcmp(s->text, bar, 3); }

/* Files do not say whether a model knows capitals: its words do. */
static bool has_capitals(const hn_tokenizer_spec *s) {
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 3; starts_word(&s->token[i]) && k < s->token[i].n; k++)
            if (s->token[i].text[k] >= 'A' && s->token[i].text[k] <= 'Z') return true;
    return false;
}

/* BERT's normaliser and cuts. */
static void word_steps(hn_tokenizer_spec *s, hn_text_step *step) {
    add(s, step, (hn_text_step){.kind = HN_STEP_CLEAN});
    add(s, step, (hn_text_step){.kind = HN_STEP_SPACE_CHINESE});
    if (!has_capitals(s)) {
        add(s, step, (hn_text_step){.kind = HN_STEP_NFD});
        add(s, step, (hn_text_step){.kind = HN_STEP_DROP_ACCENTS});
        add(s, step, (hn_text_step){.kind = HN_STEP_LOWERCASE});
    }
    const char *pattern[] = {hn_pattern_space, hn_pattern_punctuation};
    for (size_t i = 0; i < 2; i++)
        add(s, step,
            (hn_text_step){.kind = HN_STEP_SPLIT,
                           .pattern = {pattern[i], strlen(pattern[i])},
                           .behaviour = i ? HN_SPLIT_ISOLATED : HN_SPLIT_REMOVED});
    s->tidy = true;
}

/* In files words begin with a bar and their further pieces are bare; here the pieces have a mark. *text: free. */
static hone_rc mark_pieces(hn_span *token, size_t n, char **text, hone_err *err) {
    size_t size = 1;
    for (size_t i = 0; i < n; i++) size += token[i].n + 2;
    char *at = *text = malloc(size);
    if (!at) return hn_fail(err, HONE_E_NOMEM, "out of memory reading a tokenizer");
    for (size_t i = 0; i < n; i++) {
        hn_span *t = &token[i];
        bool word = starts_word(t), name = t->n > 1 && t->text[0] == '[' && t->text[t->n - 1] == ']';
        size_t mark = word || name ? 0 : 2, skip = word ? 3 : 0;
        memcpy(at, "##", mark);
        if (t->n > skip) memcpy(at + mark, t->text + skip, t->n - skip);
        *t = (hn_span){at, mark + t->n - skip};
        at += t->n;
    }
    return HONE_OK;
}

hone_rc hn_gguf_tokenizer(hn_gguf *g, hn_tokenizer **out, hone_err *err) {
    hn_tokenizer_spec s = {0};
    hn_text_step step[STEPS];
    hn_span *token = NULL, *merge = NULL;
    hn_gguf_text pre = {0};
    char *pattern = NULL, *marked = NULL;
    hone_rc rc = read_kind(g, &s, err);
    if (!rc) rc = texts(g, KEY("tokens"), &token, &s.n, err);
    s.token = token;
    if (!rc) rc = read_scores(g, &s, err);
    if (!rc && s.kind == HN_TOKENIZER_BPE) rc = texts(g, KEY("merges"), &merge, &s.n_merge, err);
    s.merge = merge;
    if (!rc && s.kind == HN_TOKENIZER_UNIGRAM) rc = unigram_steps(g, &s, step, err);
    if (!rc && s.kind == HN_TOKENIZER_WORDPIECE) word_steps(&s, step);
    if (!rc && s.kind == HN_TOKENIZER_WORDPIECE) rc = mark_pieces(token, s.n, &marked, err);
    if (!rc && hn_gguf_string(hn_gguf_find(g, KEY("pre")), &pre) && !(pattern = strndup(pre.text, pre.n)))
        rc = hn_fail(err, HONE_E_NOMEM, "out of memory reading a tokenizer");
    s.pattern = pattern;
    s.whole_first = is_text(&pre, "llama-bpe") || is_text(&pre, "llama3") || is_text(&pre, "llama-v3");
    if (!rc) rc = hn_tokenizer_make(&s, out, err);
    free(pattern);
    free(marked);
    free(merge);
    free(token);
    free((void *)(uintptr_t)s.score);
    free((void *)(uintptr_t)s.type);
    return rc;
}
