/* tests/fuzz/fuzz_imatrix.c — the reader of importance matrices, both formats: entries that can be used, or an error
 * with a text. */
#include "quantize/imatrix.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hn_imatrix m = {0};
    hone_err err = {0};
    hone_rc rc = hn_imatrix_read_memory("fuzz", data, size, &m, &err);
    if (rc ? !err.text[0] || m.n : !m.n) abort();
    for (size_t i = 0; i < m.n; i++) {
        const hn_imatrix_entry *e = &m.entry[i];
        if (!hn_imatrix_of(&m, e->name)) abort();
        for (uint64_t k = 0; k < e->columns * e->matrices; k++)
            if (!(e->mean[k] >= 0) || !isfinite(e->mean[k])) abort();
    }
    hn_imatrix_free(&m);
    return 0;
}
