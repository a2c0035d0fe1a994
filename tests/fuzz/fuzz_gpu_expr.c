/* Fuzzes the expressions of descriptions of GPU kernels: any bytes are safe; a value that is accepted is finite and,
 * where a whole number is asked for, one; what is refused says why. */
#include "bench/program/expr.c"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    hn_param param[] = {{"n", 4096}, {"k", 3.5}};
    const hn_params params = {param, 2};
    char *text = malloc(n + 1), why[64];
    if (!text) return 0;
    memcpy(text, data, n);
    text[n] = 0;
    for (int whole = 0; whole < 2; whole++) {
        double x;
        bool good = hn_expr_value(text, &params, whole, &x, why, sizeof why);
        if (good ? !isfinite(x) || (whole && x != floor(x)) : !*why) abort();
    }
    free(text);
    return 0;
}
