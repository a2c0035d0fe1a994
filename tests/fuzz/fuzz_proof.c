/* A recorded proof: whatever reads must print, and what is printed must read back as the same text. */
#include <hone/prove.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    char *text = malloc(n + 1), *first = NULL, *second = NULL;
    hone_proofs a, b;
    hone_err err;
    if (!text) return 0;
    memcpy(text, data, n);
    text[n] = 0;
    const char *one = text;
    if (!hone_proofs_from_json(&one, 1, &a, &err)) {
        if (hone_proof_to_json(&a.proof[0], true, &first, &err)) abort();
        one = first;
        if (hone_proofs_from_json(&one, 1, &b, &err)) abort();
        if (hone_proof_to_json(&b.proof[0], true, &second, &err)) abort();
        if (strcmp(first, second) != 0) abort();
        hone_proofs_free(&a);
        hone_proofs_free(&b);
    }
    hone_free(first);
    hone_free(second);
    free(text);
    return 0;
}
