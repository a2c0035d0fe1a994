/* tests/fuzz/fuzz_controls.c — the controls file reader: the seal, the YAML below it, the text it is written as.
 * The text is read as it is, and, since hardly any mutant carries the right digest, with its digest made right. What is
 * accepted reads back from its own text to the same bytes, and no text with one flipped bit is accepted. */
#include "record/controls_file.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *text_of(const hone_controls *c) {
    char *text = NULL;
    hone_err err = {0};
    if (hone_controls_text(c, &text, &err)) abort();
    return text;
}

static void check_flips(char *text, size_t n, size_t from) {
    hone_controls *c = NULL;
    for (size_t i = from % 97; i < n; i += 97) {
        text[i] ^= 1;
        if (hone_controls_parse(text, n, "fuzz", &c, NULL) == HONE_OK) abort();
        text[i] ^= 1;
    }
}

static void check_accepted(const hone_controls *c, size_t from) {
    hone_controls *back = NULL;
    char *text = text_of(c), *rsp = NULL;
    size_t n = strlen(text);
    if (hone_controls_parse(text, n, "fuzz", &back, NULL)) abort();
    char *again = text_of(back);
    if (strcmp(text, again) != 0) abort();
    if (back->n_flags != c->n_flags || back->n_controls != c->n_controls) abort();
    if (hone_controls_rsp(c, &rsp, NULL)) abort();
    check_flips(text, n, from);
    hone_controls_free(back);
    hone_free(rsp);
    hone_free(again);
    hone_free(text);
}

static void check(const char *text, size_t n) {
    hone_controls *c = NULL;
    hone_err err = {0};
    hone_rc rc = hone_controls_parse(text, n, "fuzz", &c, &err);
    if (rc && (c || !*err.text)) abort();
    if (rc) return;
    check_accepted(c, n);
    hone_controls_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hn_str s = {0};
    char *exact = malloc(size ? size : 1);
    if (!exact) return 0;
    if (size) memcpy(exact, data, size);
    check(exact, size);
    const char *end = memmem(exact, size, "\ndigest: ", 9);
    hn_str_add_n(&s, exact, end ? (size_t)(end + 1 - exact) : size);
    if (s.n && s.text[s.n - 1] != '\n') hn_str_add(&s, "\n");
    hn_seal_add_digest(&s);
    if (!s.failed) check(s.text ? s.text : "", s.n);
    hn_str_free(&s);
    free(exact);
    return 0;
}
