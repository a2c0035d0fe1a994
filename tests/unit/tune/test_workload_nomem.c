/* Reading a workload file while the nth allocation fails. */
#include "failalloc.h"

#include <hone/tune.h>

static const char text[] = "hone: 1\n"
                           "name: softmax\n"
                           "build: \"{cc} {flags} {defines} -o {out} a.c -lm\"\n"
                           "run: \"{out} {input}\"\n"
                           "compilers: [gcc, clang]\n"
                           "parameters:\n"
                           "  TILE: {type: int, range: [1, 64], default: 8}\n"
                           "constraints:\n"
                           "  - TILE % 2 == 0\n"
                           "inputs:\n"
                           "  - {name: small, args: n=10, weight: 1}\n"
                           "  - {name: large, args: n=1000, weight: 3}\n";

static hone_rc parse(void *ctx) {
    hone_workload *w = NULL;
    hone_err err = {HONE_OK, ""};
    (void)ctx;
    hone_rc rc = hone_workload_parse(text, sizeof text - 1, "t", "/tmp", &w, &err);
    if (rc && (w || err.rc != rc || !*err.text)) return HONE_E_FAILED;
    if (rc && rc != HONE_E_NOMEM) fprintf(stderr, "# %s\n", err.text);
    hone_workload_free(w);
    return rc;
}

int main(void) {
    sweep_allocations("workload/parse_nth_allocation_fails", parse, NULL);
    return done_testing();
}
