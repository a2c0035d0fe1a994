/* gcc's help texts: any bytes give rows with sane contents, or none. */
#include "target/help.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    hn_arena a = {0};
    hn_help help = {0};
    hn_help_gcc(&a, (const char *)data, n, &help);
    hn_help_sort(&help);
    for (size_t i = 0; i < help.n; i++) {
        const hn_help_row *r = &help.row[i];
        if (!r->name[0] || strlen(r->name) > 300 || !r->rest || r->type) abort();
        if (!isnan(r->hi) && !(r->lo <= r->hi)) abort();
        for (size_t v = 0; v < r->n_values; v++)
            if (!r->value[v] || !r->value[v][0]) abort();
        const hn_help_row *found = hn_help_find(&help, r->name, r->takes_value);
        if (!found || strcmp(found->name, r->name) != 0) abort();
    }
    hn_arena_free(&a);
    return 0;
}
