/* tests/fuzz/fuzz_safetensors.c — the reader of safetensors: a file opens, and then every tensor's first and last byte
 * can be read, or there is an error with a text. */
#include "hf/safetensors.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hn_safetensors *s = NULL;
    hone_err err = {0};
    hone_rc rc = hn_safetensors_open_memory(data, size, &s, &err);
    if (rc ? !err.text[0] || s : !s) abort();
    for (size_t i = 0; !rc && i < hn_safetensors_count(s); i++) {
        const hn_st_tensor *t = hn_safetensors_at(s, i);
        if (hn_safetensors_named(s, t->name) != t) abort();
        if (t->size_b && t->data[0] == 1 && t->data[t->size_b - 1] == 1) break;
    }
    hn_safetensors_close(s);
    return 0;
}
