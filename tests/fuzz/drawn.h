/* tests/fuzz/drawn.h — any bytes as a grammar that `reader` reads: it is read, or refused with a message; a text drawn
 * from it byte by byte stays within it. */
#ifndef HN_TESTS_FUZZ_DRAWN_H
#define HN_TESTS_FUZZ_DRAWN_H

#include "text/grammar.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef hone_rc grammar_reader(const char *text, size_t n, const char *name, hn_grammar **out, hone_err *err);

static void draw(const hn_grammar *g, const uint8_t *data, size_t size) {
    hn_places *p = NULL;
    hone_err err = {0};
    int32_t place = HN_PLACE_START;
    if (hn_places_new(g, &p, &err)) {
        if (!err.text[0]) abort();
        return;
    }
    if (!hn_places_may_end(p, place) && hn_places_must_end(p, place)) abort();
    for (size_t i = 0; i < 64 && place; i++) {
        int32_t next = HN_PLACE_NONE;
        unsigned first = size ? data[i % size] : 0, k = 0;
        for (; k < 256 && !next; k++) {
            char byte = (char)(first + k);
            if (hn_places_read(p, place, &byte, 1, &next, &err)) goto done; /* too many ways */
        }
        if (!next && !hn_places_may_end(p, place)) abort(); /* nothing can follow, and it is no end */
        if (hn_places_must_end(p, place) && next) abort();
        place = next;
        if (hn_places_trim(p, &place, 1, &err)) abort();
    }
done:
    hn_places_free(p);
}

static int draw_of(grammar_reader *reader, const uint8_t *data, size_t size) {
    hn_grammar *g = NULL;
    hone_err err = {0};
    char *text = malloc(size + 1); /* the exact size, so that a read beyond is seen */
    if (size) memcpy(text, data, size);
    char *exact = realloc(text, size ? size : 1);
    hone_rc rc = reader(exact, size, "fuzz", &g, &err);
    if (rc && !err.text[0]) abort();
    if (!rc) draw(g, data, size);
    hn_grammar_free(g);
    free(exact);
    return 0;
}

#endif
