/* tests/fuzz/fuzz_tokenizer_json.c — tokenizer.json, and behind its first zero byte a text: a tokenizer is made, and
 * then the text becomes ids that are tokens and well-formed text again, or there is an error with a text. */
#include "base/utf8.h"
#include "hf/tokenizer_json.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void round_trip(const hn_tokenizer *t, const char *text, size_t n) {
    hn_detokenizer d = {0};
    int32_t *ids = NULL;
    size_t n_ids = 0, k;
    char end[12];
    hone_err err = {0};
    if (hn_tokenizer_encode(t, text, n, true, true, &ids, &n_ids, &err)) {
        if (!err.text[0]) abort();
        return;
    }
    for (size_t i = 0; i < n_ids; i++) {
        if (ids[i] < 0 || (size_t)ids[i] >= hn_tokenizer_size(t)) abort();
        char *out = malloc(hn_detokenizer_room(t, ids[i]));
        hn_detokenizer_push(&d, t, ids[i], true, out, &k);
        if (k > hn_detokenizer_room(t, ids[i]) || !hn_utf8_valid(out, k)) abort();
        free(out);
    }
    hn_detokenizer_end(&d, end, &k);
    free(ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *json = (const char *)data, *zero = memchr(data, 0, size);
    size_t n = zero ? (size_t)(zero - json) : size, n_text = zero ? size - n - 1 : 0;
    hn_tokenizer *t = NULL;
    hone_err err = {0};
    hone_rc rc = hn_hf_tokenizer_parse(json, n, &t, &err);
    if (rc ? !err.text[0] || t : !t) abort();
    if (rc || n_text > 2000) {
        hn_tokenizer_free(t);
        return 0;
    }
    char *text = malloc(n_text + 1); /* the exact size, so that a read beyond is seen */
    if (zero) memcpy(text, zero + 1, n_text);
    round_trip(t, text, n_text);
    free(text);
    hn_tokenizer_free(t);
    return 0;
}
