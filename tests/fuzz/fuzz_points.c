/* tests/fuzz/fuzz_points.c — files of points of a search for precision: what is accepted is printed and read again. */
#include "mixed/mixed.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void print(const hn_kept *k, hn_str *out) {
    hn_kept_print_head(k, out);
    for (size_t i = 0; i < k->n; i++) hn_kept_print_point(&k->point[i], out);
    if (out->failed) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hn_kept k, again;
    hone_err err = {0};
    hn_str a = {0}, b = {0};
    if (hn_kept_parse((const char *)data, size, "fuzz", &k, &err)) {
        if (!*err.text) abort();
        return 0;
    }
    for (size_t i = 0; i < k.n; i++)
        if (!hn_kept_find(&k, k.point[i].ranges, k.point[i].narrow)) abort();
    print(&k, &a);
    if (hn_kept_parse(a.text, a.n, "fuzz", &again, &err)) abort();
    print(&again, &b);
    if (strcmp(a.text, b.text) != 0) abort();
    hn_str_free(&a), hn_str_free(&b);
    hn_kept_free(&k), hn_kept_free(&again);
    return 0;
}
