/* tests/fuzz/fuzz_winners.c — the text of winners: what is accepted reads back from its own text to the same bytes. */
#include <hone/winners.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *text_of(const hone_winner *list, size_t n) {
    char *text = NULL;
    if (hone_winners_format(list, n, &text, NULL)) abort();
    return text;
}

static void check_accepted(const hone_winner *list, size_t n) {
    hone_winner *back = NULL;
    size_t n_back = 0;
    char *text = text_of(list, n);
    if (hone_winners_parse(text, strlen(text), "fuzz", &back, &n_back, NULL) || n_back != n) abort();
    char *again = text_of(back, n_back);
    if (strcmp(text, again) != 0) abort();
    hone_free(again);
    hone_free(text);
    hone_winners_list_free(back, n_back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hone_winner *list = NULL;
    size_t n = 0;
    hone_err err = {0};
    char *exact = malloc(size ? size : 1);
    if (!exact) return 0;
    if (size) memcpy(exact, data, size);
    hone_rc rc = hone_winners_parse(exact, size, "fuzz", &list, &n, &err);
    if (rc && (list || !*err.text)) abort();
    if (!rc) {
        check_accepted(list, n);
        hone_winners_list_free(list, n);
    }
    free(exact);
    return 0;
}
