/* tests/fuzz/fuzz_rates.c — devices.yaml: what is accepted has no negative rate; written anew, it holds the new entry
 * and says of other devices what it said. */
#include "backend/gpu/rates.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static hone_place place(const char *device) {
    hone_place p = {.arch = "sm_90", .driver = "12.4", .version = "CUDA 12.4"};
    snprintf(p.device, sizeof p.device, "%s", device);
    return p;
}

/* The entry of b is written beside what the text says of a. */
static void check_written(const char *text, size_t n, const hone_place_rates *of_a) {
    const hone_place a = place("A"), b = place("B");
    hone_place_rates again = {0}, mine = {.read_bps = 1e12, .wait_s = 8e-6};
    hn_str out = {0};
    hn_rates_text(&b, &mine, text, n, &out);
    if (!out.failed && (hn_rates_find(&b, out.text, out.n, "fuzz", &again, NULL) || again.read_bps != mine.read_bps))
        abort();
    if (!out.failed && of_a &&
        (hn_rates_find(&a, out.text, out.n, "fuzz", &again, NULL) || again.f32_flops > 1.001 * of_a->f32_flops ||
         again.f32_flops < 0.999 * of_a->f32_flops))
        abort();
    hn_str_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    const hone_place a = place("A");
    hone_place_rates r = {0};
    char *text = malloc(n + 1);
    if (!text) return 0;
    memcpy(text, data, n);
    text[n] = 0;
    bool found = !hn_rates_find(&a, text, n, "fuzz", &r, NULL);
    if (found && !(r.f32_flops >= 0 && r.get_s >= 0)) abort();
    check_written(text, n, found ? &r : NULL);
    free(text);
    return 0;
}
