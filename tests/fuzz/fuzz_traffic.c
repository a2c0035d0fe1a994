/* tests/fuzz/fuzz_traffic.c — rows of traffic: what is accepted reads back from its own text to the same bytes, and a
 * plan's shares sum to 1. */
#include <hone/traffic.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_plan(const hone_traffic_row *row, size_t n) {
    hone_traffic_plan p;
    double sum = 0;
    if (hone_traffic_plan_make(row, n, &p, NULL)) return;
    if (!p.n || p.n > HONE_TRAFFIC_PARTS) abort();
    for (size_t i = 0; i < p.n; i++) sum += p.part[i].share;
    if (isfinite(p.time_s) && fabs(sum - 1) > 1e-6) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hone_traffic_row *row = NULL, *back = NULL;
    size_t n = 0, n_back = 0;
    hone_err err = {0};
    char *exact = malloc(size ? size : 1);
    if (!exact) return 0;
    if (size) memcpy(exact, data, size);
    hone_rc rc = hone_traffic_parse(exact, size, "fuzz", &row, &n, &err);
    if (rc && (row || !*err.text)) abort();
    if (!rc) {
        char *text = hone_traffic_json(row, n);
        if (!text || hone_traffic_parse(text, strlen(text), "fuzz", &back, &n_back, NULL) || n_back != n) abort();
        char *again = hone_traffic_json(back, n_back);
        if (!again || strcmp(text, again) != 0) abort();
        check_plan(row, n);
        hone_free(text);
        hone_free(again);
        hone_free(back);
        hone_free(row);
    }
    free(exact);
    return 0;
}
