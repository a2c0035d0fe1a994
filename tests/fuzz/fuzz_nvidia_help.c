/* Help texts of NVIDIA's compilers: any bytes give rows with sane contents, or none, and controls follow from them. */
#include "target/help.h"
#include "target/nvidia.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    hn_arena a = {0};
    hn_help help = {0};
    hn_controls list = {0};
    hn_help_nvidia(&a, (const char *)data, n, &help);
    hn_help_sort(&help);
    for (size_t i = 0; i < help.n; i++) {
        const hn_help_row *r = &help.row[i];
        if (r->name[0] != '-' || strlen(r->name) > 300 || !r->rest || !r->type) abort();
        for (size_t v = 0; v < r->n_values; v++)
            if (!r->value[v] || !r->value[v][0]) abort();
    }
    char *text = hn_strndup(&a, (const char *)data, n);
    if (text) hn_nv_discover(&a, &list, 'N', text, text, n % 2);
    for (size_t i = 0; i < list.n; i++)
        if (list.item[i].cls == HN_CODEGEN && !list.item[i].n_values) abort();
    hn_arena_free(&a);
    return 0;
}
