/* tests/fuzz/fuzz_tokenizer.c — two small tokenizers (all bytes and a few merges; SentencePiece with byte tokens) on
 * any bytes: what well-formed text is encoded to decodes to it again. The first byte says which: bit 0 the kind, bit 1
 * control tokens. */
#include "base/utf8.h"
#include "text/tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX = 300 };
static char name[MAX][16];
static hn_span token[MAX];
static int32_t type[MAX];
static float score[MAX];

static void add(hn_tokenizer_spec *s, const char *text, int32_t kind, float value) {
    snprintf(name[s->n], sizeof name[0], "%s", text);
    token[s->n] = (hn_span){name[s->n], strlen(name[s->n])};
    type[s->n] = kind;
    score[s->n++] = value;
}

static const char *visible(int byte, char out[8]) {
    bool own = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    int k = byte < 0x21 ? byte : byte < 0xa1 ? byte - 0x7f + 0x21 : 0x43;
    out[hn_utf8_put(own ? (uint32_t)byte : 0x100 + (uint32_t)k, out)] = 0;
    return out;
}

static hn_tokenizer *make(bool bpe) {
    static const hn_span merge[] = {{"a b", 3}, {"\xc4\xa0 a", 4}, {"ab ab", 5}};
    hn_tokenizer_spec s = {
        .kind = bpe ? HN_TOKENIZER_BPE : HN_TOKENIZER_SPM, .token = token, .score = score, .type = type};
    s.bos = s.eos = s.unknown = s.padding = -1;
    s.pattern = "llama-bpe";
    s.add_space = true;
    for (int i = 0; i < 256; i++) {
        char text[16];
        snprintf(text, sizeof text, "<0x%02X>", i);
        add(&s, bpe ? visible(i, text) : text, bpe ? HN_TOKEN_NORMAL : HN_TOKEN_BYTE, 0);
    }
    add(&s, "ab", HN_TOKEN_NORMAL, -1);
    add(&s,
        bpe ? "\xc4\xa0"
              "a"
            : "\xe2\x96\x81"
              "a",
        HN_TOKEN_NORMAL, -2);
    add(&s, "abab", HN_TOKEN_NORMAL, -3);
    if (!bpe) add(&s, "\xe2\x96\x81", HN_TOKEN_NORMAL, -4); /* bytes in its place would be shown as a bar */
    add(&s, "<s>", HN_TOKEN_CONTROL, 0);
    add(&s, "<sx>", HN_TOKEN_USER, 0);
    s.merge = merge;
    s.n_merge = bpe ? 3 : 0;
    hn_tokenizer *t = NULL;
    hone_err err = {0};
    if (hn_tokenizer_make(&s, &t, &err)) abort();
    return t;
}

static void round_trip(const hn_tokenizer *t, const char *text, size_t n, bool control, bool spm) {
    hn_detokenizer d = {0};
    int32_t *ids;
    size_t n_ids, k, n_out = 0;
    hone_err err = {0};
    if (hn_tokenizer_encode(t, text, n, false, control, &ids, &n_ids, &err)) abort();
    char *out = malloc(16 * n + 16);
    for (size_t i = 0; i < n_ids; i++) {
        hn_detokenizer_push(&d, t, ids[i], true, out + n_out, &k);
        if (!hn_utf8_valid(out + n_out, k)) abort();
        n_out += k;
    }
    hn_detokenizer_end(&d, out + n_out, &k);
    n_out += k;
    if (!hn_utf8_valid(out, n_out)) abort();
    /* A bar that was there, and the spaces put behind control tokens, cannot be told from spaces. */
    bool exact = hn_utf8_valid(text, n) && !(spm && (memmem(text, n, "\xe2\x96\x81", 3) || memmem(text, n, "<s", 2)));
    if (exact && (n_out != n || memcmp(out, text, n))) abort();
    free(out);
    free(ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!size) return 0;
    bool bpe = data[0] & 1;
    hn_tokenizer *t = make(bpe);
    char *text = malloc(size); /* the exact size, so that a read beyond is seen */
    memcpy(text, data + 1, size - 1);
    round_trip(t, text, size - 1, data[0] & 2, !bpe);
    free(text);
    hn_tokenizer_free(t);
    return 0;
}
