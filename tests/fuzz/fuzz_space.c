/* Space files: what parses must print, parse back to the same hash and text, count, and give legal points. */
#include <hone/space.h>

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int good) {
    if (!good) abort();
}

static void check_points(const hone_space *s) {
    size_t n = hone_space_slots(s);
    double *a = malloc((n + 1) * sizeof *a), *b = malloc((n + 1) * sizeof *b);
    hone_err err = {0};
    hone_space_default(s, a);
    memcpy(b, a, n * sizeof *a);
    hone_point_canon(s, b);
    must(hone_point_equal(s, a, b));
    for (uint64_t seed = 0; seed < 3; seed++) {
        if (hone_space_sample(s, seed, seed & 1, a, &err)) {
            must(err.rc == HONE_E_EMPTY);
            break;
        }
        must(hone_point_legal(s, a, &err));
        char *json;
        must(!hone_point_to_json(s, a, &json, &err));
        must(!hone_point_from_json(s, json, b, &err));
        must(hone_point_equal(s, a, b) && hone_point_hash(s, a) == hone_point_hash(s, b));
        hone_free(json);
        hone_space_default(s, b);
        hone_rc rc = hone_point_repair(s, seed, b, &err);
        must(!rc ? hone_point_legal(s, b, &err) : rc == HONE_E_EMPTY);
    }
    free(a);
    free(b);
}

static void check_print(const hone_space *s) {
    char *text, *again, h1[33], h2[33];
    hone_space *t;
    hone_err err = {0};
    must(!hone_space_print(s, &text, &err));
    must(!hone_space_parse(text, strlen(text), "printed", &t, &err));
    must(!hone_space_print(t, &again, &err) && !strcmp(text, again));
    hone_space_hash(s, h1);
    hone_space_hash(t, h2);
    must(!strcmp(h1, h2));
    hone_space_free(t);
    hone_free(text);
    hone_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hone_space *s;
    hone_err err;
    if (hone_space_parse((const char *)data, size, "fuzz", &s, &err)) return 0;
    check_print(s);
    check_points(s);
    hone_space_free(s);
    return 0;
}
