/* tests/fuzz/fuzz_grammar.c — any bytes as a grammar in GBNF. */
#include "drawn.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return draw_of(hn_grammar_gbnf, data, size); }
