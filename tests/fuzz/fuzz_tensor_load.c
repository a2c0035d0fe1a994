/* Metadata of a model as a server may tell them: no input, or a request whose JSON has it and whose bytes are as many
 * as it says. */
#include "serve/tensor_load.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static const int64_t size[] = {2, 3};
    json_t *metadata = json_loadb((const char *)data, n, 0, NULL), *x;
    hn_tensor_body b = {0};
    size_t i, told = 0;
    if (metadata && !hn_tensor_body_make(metadata, size, 2, 1 << 16, 1, 1, &b, NULL)) {
        json_t *o = json_loadb(b.bytes, b.n_json, 0, NULL), *inputs = json_object_get(o, "inputs");
        if (!o || json_array_size(inputs) != json_array_size(json_object_get(metadata, "inputs"))) abort();
        json_array_foreach(inputs, i, x) {
            json_t *part = json_object_get(json_object_get(x, "parameters"), "binary_data_size");
            told += (size_t)json_integer_value(part);
        }
        if (b.n_json + told != b.n || told > 1 << 16) abort();
        json_decref(o);
    }
    free(b.bytes);
    json_decref(metadata);
    return 0;
}
