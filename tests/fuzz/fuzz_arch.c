/* tests/fuzz/fuzz_arch.c — GGUF files as models: the keys and tensors of an architecture become a graph, or there is an
 * error with a text; what inspect says is JSON either way. */
#include "gguf/front_gguf.h"

#include <jansson.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const hn_front_source from = {.data = data, .n = size};
    hone_import_options options = hone_import_defaults();
    hn_model_summary about = {0};
    hone_graph *g = NULL;
    hone_err err = {0};
    char *report = NULL;
    hone_rc rc = hn_front_gguf.import(&from, &options, &g, &report, &err);
    if (rc ? !err.text[0] || g : !g) abort();
    hone_graph_free(g);
    hone_free(report);
    hn_str text = {0};
    rc = hn_front_gguf.inspect(&from, &about, &err);
    hn_str_add(&text, "{");
    if (!rc) hn_summary_print(&about, &text);
    hn_str_add(&text, "}");
    json_t *j = text.failed ? NULL : json_loads(text.text, 0, NULL);
    if (!j && !text.failed) abort();
    json_decref(j);
    hn_str_free(&text);
    hn_summary_free(&about);
    return 0;
}
