/* tests/fuzz/fuzz_ir.c — the reader of the IR's text form: what is accepted passes the verifier, prints to a fixed
 * point of reading, and survives copying and sweeping; what is refused leaves a message. */
#include "base/str.h"
#include "ir/graph.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *text_of(const hn_graph *g) {
    hn_str s = {0};
    hn_print(g, &s);
    return hn_str_take(&s);
}

static void check_text(const hn_graph *g) {
    hn_graph *back = NULL;
    char *once = text_of(g);
    if (hn_parse(once, strlen(once), NULL, &back, NULL)) abort();
    char *twice = text_of(back);
    if (strcmp(once, twice) != 0) abort();
    hn_graph_free(back);
    free(once);
    free(twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hn_graph *g = NULL;
    hone_err err = {0};
    if (hn_parse((const char *)data, size, NULL, &g, &err)) {
        if (g || !*err.text) abort();
        return 0;
    }
    check_text(g);
    hn_graph *copy = hn_copy_graph(g);
    if (!copy || !hn_graph_ok(copy)) abort();
    check_text(copy);
    hn_graph_free(copy);
    hn_sweep(g);
    if (hn_verify(g, NULL)) abort();
    check_text(g);
    hn_graph_free(g);
    return 0;
}
