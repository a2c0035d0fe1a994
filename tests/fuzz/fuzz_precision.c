/* tests/fuzz/fuzz_precision.c — precision files: what is accepted is printed, read again, and printed the same. */
#include "precision/precision.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hn_narrow_plan p, again;
    hone_err err = {0};
    hn_str a = {0}, b = {0};
    if (hn_plan_parse((const char *)data, size, "fuzz", &p, &err)) {
        if (!*err.text) abort();
        return 0;
    }
    hn_plan_print(&p, &a);
    if (a.failed || hn_plan_parse(a.text, a.n, "fuzz", &again, &err)) abort();
    hn_plan_print(&again, &b);
    if (b.failed || strcmp(a.text, b.text) != 0 || hn_plan_narrow(&p) != hn_plan_narrow(&again)) abort();
    hn_plan_free(&again);
    hn_seal_add_digest(&a); /* sealed, it is accepted as well, and not with a change in it */
    if (a.failed || hn_plan_parse(a.text, a.n, "fuzz", &again, &err) || again.signer) abort();
    hn_plan_free(&again);
    a.text[b.n / 2]++;
    if (hn_plan_parse(a.text, a.n, "fuzz", &again, &err) != HONE_E_TAMPERED) abort();
    hn_str_free(&a), hn_str_free(&b);
    hn_plan_free(&p);
    return 0;
}
