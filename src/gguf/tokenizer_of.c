/* tokenizer_of.c — `tokenizer.ggml.*` as a tokenizer's spec. */
#include "gguf/tokenizer_of.h"
#include "base/err.h"

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

static hone_rc read_kind(const hn_gguf *g, hn_tokenizer_spec *s, hone_err *err) {
    hn_gguf_text model;
    if (!hn_gguf_string(hn_gguf_find(g, KEY("model")), &model))
        return hn_fail(err, HONE_E_NOTFOUND, "the file has no tokenizer");
    bool bpe = is_text(&model, "gpt2"), spm = is_text(&model, "llama");
    if (!bpe && !spm)
        return hn_fail(
            err, HONE_E_UNSUPPORTED,
            "a tokenizer of kind '%.*s' is not read; 'gpt2' (byte-level BPE) and 'llama' (SentencePiece BPE) are",
            (int)(model.n < 40 ? model.n : 40), model.text);
    s->kind = bpe ? HN_TOKENIZER_BPE : HN_TOKENIZER_SPM;
    s->bos = id_of(g, KEY("bos_token_id"), spm ? 1 : -1);
    s->eos = id_of(g, KEY("eos_token_id"), spm ? 2 : -1);
    s->unknown = id_of(g, KEY("unknown_token_id"), spm ? 0 : -1);
    s->padding = id_of(g, KEY("padding_token_id"), -1);
    s->add_bos = flag_of(g, KEY("add_bos_token"), spm);
    s->add_eos = flag_of(g, KEY("add_eos_token"), false);
    s->add_space = flag_of(g, KEY("add_space_prefix"), spm);
    return HONE_OK;
}

hone_rc hn_gguf_tokenizer(hn_gguf *g, hn_tokenizer **out, hone_err *err) {
    hn_tokenizer_spec s = {0};
    hn_span *token = NULL, *merge = NULL;
    hn_gguf_text pre = {0};
    char *pattern = NULL;
    hone_rc rc = read_kind(g, &s, err);
    if (!rc) rc = texts(g, KEY("tokens"), &token, &s.n, err);
    s.token = token;
    if (!rc) rc = read_scores(g, &s, err);
    if (!rc && s.kind == HN_TOKENIZER_BPE) rc = texts(g, KEY("merges"), &merge, &s.n_merge, err);
    s.merge = merge;
    if (!rc && hn_gguf_string(hn_gguf_find(g, KEY("pre")), &pre) && !(pattern = strndup(pre.text, pre.n)))
        rc = hn_fail(err, HONE_E_NOMEM, "out of memory reading a tokenizer");
    s.pattern = pattern;
    s.whole_first = is_text(&pre, "llama-bpe") || is_text(&pre, "llama3") || is_text(&pre, "llama-v3");
    if (!rc) rc = hn_tokenizer_make(&s, out, err);
    free(pattern);
    free(merge);
    free(token);
    free((void *)(uintptr_t)s.score);
    free((void *)(uintptr_t)s.type);
    return rc;
}
