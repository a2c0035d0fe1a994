/* tests/fuzz/fuzz_config.c — config.json of a folder: numbers that a model can be built of, or an error with a text and
 * a line for each thing. */
#include "hf/config.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static hn_val no_weight(void *arg, hn_builder *b, hn_decoder_role role, int64_t layer) {
    (void)arg, (void)b, (void)role, (void)layer;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    json_t *j = json_loadb((const char *)data, size, 0, NULL);
    hn_hf_config c = {0};
    hn_str lines = {0};
    hone_err err = {0};
    size_t n = 0;
    hone_rc rc = j ? hn_hf_config_read(j, "config.json", &c, &lines, &n, &err) : HONE_E_INPUT;
    if (j && rc && !err.text[0]) abort();
    hn_graph *g = rc ? NULL : hn_graph_new();
    if (g) {
        c.d.weight = no_weight;
        if (!hn_decoder_emit(g, &c.d, &err) || !err.text[0]) abort(); /* it has no weights */
        hn_graph_free(g);
    }
    free(c.rotary_factors);
    hn_str_free(&lines);
    json_decref(j);
    return 0;
}
