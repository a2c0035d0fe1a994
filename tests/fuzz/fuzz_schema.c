/* tests/fuzz/fuzz_schema.c — any bytes as a JSON schema. */
#include "drawn.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return draw_of(hn_grammar_schema, data, size); }
