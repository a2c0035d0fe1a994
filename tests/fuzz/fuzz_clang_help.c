/* LLVM's help texts and value lists: any bytes give rows with sane contents, or none. */
#include "target/help.h"

#include <stdlib.h>
#include <string.h>

static void check(const hn_help *help) {
    for (size_t i = 0; i < help->n; i++) {
        const hn_help_row *r = &help->row[i];
        if (!r->name[0] || strlen(r->name) > 300 || !r->rest || (r->type && !r->takes_value)) abort();
        for (size_t v = 0; v < r->n_values; v++)
            if (!r->value[v] || !r->value[v][0]) abort();
        if (!hn_help_find(help, r->name, r->takes_value)) abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    hn_arena a = {0};
    hn_help help = {0}, values = {0};
    hn_help_clang(&a, (const char *)data, n, &help);
    hn_help_clang_values(&a, (const char *)data, n, &values);
    hn_help_sort(&help);
    hn_help_sort(&values);
    check(&help);
    check(&values);
    hn_arena_free(&a);
    return 0;
}
