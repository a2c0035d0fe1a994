/* tests/fuzz/fuzz_gguf.c — the reader of GGUF: a file opens, and then every value and tensor can be read, or there is
 * an error with a text. */
#include "gguf/gguf.h"
#include "ir/blocks.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_pair(hn_gguf *g, const hn_gguf_pair *p) {
    const hn_gguf_text *text;
    hn_gguf_text t;
    uint64_t n;
    size_t n_text;
    double x;
    int64_t k;
    bool b;
    hone_err err;
    if (hn_gguf_find(g, p->key) != p) abort();
    hn_gguf_u64(p, &n);
    hn_gguf_f64(p, &x);
    hn_gguf_bool(p, &b);
    if (hn_gguf_string(p, &t) && t.n && t.text[t.n - 1] == 1) return;
    for (n = 0; n < 9 && hn_gguf_item_f64(p, n, &x); n++) hn_gguf_item_i64(p, n, &k);
    if (!hn_gguf_strings(g, p, &text, &n_text, &err))
        for (size_t i = 0; i < n_text; i++)
            if (text[i].n && text[i].text[text[i].n - 1] == 1) return;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hn_gguf *g = NULL;
    hone_err err = {0};
    hone_rc rc = hn_gguf_open_memory(data, size, &g, &err);
    if (rc ? !err.text[0] || g : !g) abort();
    for (size_t i = 0; !rc && i < hn_gguf_pairs(g); i++) read_pair(g, hn_gguf_pair_at(g, i));
    for (size_t i = 0; !rc && i < hn_gguf_tensors(g); i++) {
        const hn_gguf_tensor *t = hn_gguf_tensor_at(g, i);
        const hn_block_type *type = hn_block_type_of(t->type);
        float out[256];
        if (hn_gguf_tensor_named(g, t->name) != t) abort();
        if (type->decode) hn_block_decode(type, t->data, type->elements, out);
    }
    hn_gguf_close(g);
    return 0;
}
