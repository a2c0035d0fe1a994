/* Reading, printing, sampling and counting a space while the nth allocation fails. */
#include "failalloc.h"

#include <hone/space.h>

static const char text[] = "hone-space: 1\n"
                           "name: kernel\n"
                           "parameters:\n"
                           "  tile: {type: int, range: [1, 64], default: 8}\n"
                           "  step: {type: float, range: [0.1, 10], log: true, default: 1}\n"
                           "  fast: {type: flag, default: off, optional: true}\n"
                           "  isa: {type: choice, values: [sse, avx2, avx512], default: sse}\n"
                           "  level: {type: ordinal, values: [O1, O2, O3], default: O2}\n"
                           "  order: {type: permutation, values: [i, j, k]}\n"
                           "  depth: {type: int, range: [1, 8], default: 2, when: fast and isa != 'sse'}\n"
                           "constraints:\n"
                           "  - tile * depth <= 256\n"
                           "  - tile % 2 == 0 or tile < 9\n";

static hone_rc parse(void *ctx) {
    hone_space *space = NULL;
    hone_err err = {HONE_OK, ""};
    (void)ctx;
    hone_rc rc = hone_space_parse(text, sizeof text - 1, "t", &space, &err);
    if (rc && (space || err.rc != rc || !*err.text)) return HONE_E_FAILED;
    hone_space_free(space);
    return rc;
}

static hone_rc print(void *space) {
    char *out = NULL;
    hone_rc rc = hone_space_print(space, &out, NULL);
    if (rc && out) return HONE_E_FAILED;
    hone_free(out);
    return rc;
}

static hone_rc use(void *space) {
    double point[32];
    char *json = NULL;
    hone_count count;
    hone_rc rc = hone_space_sample(space, 7, false, point, NULL);
    if (!rc) rc = hone_point_to_json(space, point, &json, NULL);
    if (!rc) rc = hone_point_from_json(space, json, point, NULL);
    if (rc == HONE_E_INPUT) rc = HONE_E_NOMEM; /* jansson takes a failed allocation for a wrong token */
    hone_free(json);
    if (!rc) rc = hone_point_repair(space, 3, point, NULL);
    if (!rc) rc = hone_space_size(space, 1, &count, NULL);
    return rc;
}

static hone_rc include(void *space) {
    hone_space *whole = NULL;
    hone_rc rc = hone_space_new("whole", &whole, NULL);
    if (!rc) rc = hone_space_include(whole, space, "a", NULL, NULL);
    if (!rc) rc = hone_space_include(whole, space, "b", "a.fast", NULL);
    if (!rc) rc = hone_space_seal(whole, NULL);
    hone_space_free(whole);
    return rc;
}

int main(void) {
    hone_space *space = NULL;
    hone_err err = {HONE_OK, ""};
    hone_rc rc = hone_space_parse(text, sizeof text - 1, "t", &space, &err);
    if (!ok(!rc, "space/nomem_fixture")) printf("# %s\n", err.text);
    if (rc) return done_testing();
    sweep_allocations("space/parse_nth_allocation_fails", parse, NULL);
    sweep_allocations("space/print_nth_allocation_fails", print, space);
    sweep_allocations("space/points_nth_allocation_fails", use, space);
    sweep_allocations("space/include_nth_allocation_fails", include, space);
    hone_space_free(space);
    return done_testing();
}
