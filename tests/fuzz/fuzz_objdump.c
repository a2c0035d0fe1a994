/* Fuzzes the reader of disassemblies: any text is safe, counts are whole and not negative, and what is compared with
 * itself does not differ. */
#include "explain/explain_text.h"

#include <hone/explain.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    hn_arena a = {0};
    hn_comparand c = {.compiler = {"gcc", "gcc"}};
    hone_explanation x = {0};
    if (!hn_objdump_read((const char *)data, n, &a, &c.baseline, NULL)) {
        for (size_t i = 0; i < c.baseline.n; i++)
            for (int k = 0; k < HN_N_CODE_COUNTS; k++) {
                double v = c.baseline.function[i].count[k];
                if (!(v >= 0) || v != floor(v)) abort();
            }
        c.tuned = c.baseline;
        if (!hn_explain_compare(&c, &a, &x, NULL) && (x.n_sentences != 1 || x.function)) abort();
    }
    hn_arena_free(&a);
    return 0;
}
