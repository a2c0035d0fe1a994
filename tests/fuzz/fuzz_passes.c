/* tests/fuzz/fuzz_passes.c — the passes on whatever graph reads well: none fails, and the result verifies and reads
 * back. */
#include "base/str.h"
#include "pass/pass.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const hn_graph *g) {
    hn_graph *back = NULL;
    hn_str s = {0};
    hone_err err = {0};
    hn_print(g, &s);
    if (hn_verify(g, &err) || hn_parse(s.text, s.n, NULL, &back, &err)) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    hn_graph_free(back);
    hn_str_free(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    for (int relaxed = 0; relaxed < 2; relaxed++) {
        hn_graph *g = NULL;
        hone_err err = {0};
        if (hn_parse((const char *)data, size, NULL, &g, &err)) return 0;
        hone_rc rc = hn_run_passes(g, NULL, (hn_pass_how){.relaxed = relaxed, .bytes = relaxed}, NULL, NULL, &err);
        if (rc && rc != HONE_E_LIMIT && rc != HONE_E_NOMEM) {
            fprintf(stderr, "%s\n", err.text);
            abort();
        }
        if (!rc) check(g);
        hn_graph_free(g);
    }
    return 0;
}
