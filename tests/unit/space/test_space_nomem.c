/* Every allocation of the room fails once: E_NOMEM, nothing lost, nothing written to. */
#include "../failalloc.h"

#include <hone/space.h>

static const char yaml[] = "hone-space: 1\nname: n\nparameters:\n"
                           "  A: {type: int, range: [1, 64], optional: true, doc: a}\n"
                           "  B: {type: int, range: [1, 5000], default: 2}\n"
                           "  C: {type: choice, values: [x, y], when: B > 2}\n"
                           "  in: {type: space, when: C == 'x', parameters: {O: {type: permutation, values: [i, j]}}, "
                           "constraints: [defined(O)]}\n"
                           "constraints: [A * B == 64, \"C == 'x' or C == 'y'\"]\n";

static hone_rc read_and_print(void *ctx) {
    hone_space *s = NULL;
    char *text = NULL;
    hone_err err;
    (void)ctx;
    hone_rc rc = hone_space_parse(yaml, strlen(yaml), "n.yaml", &s, &err);
    if (rc) return s ? HONE_E_FAILED : rc;
    rc = hone_space_print(s, &text, &err);
    if (rc && text) rc = HONE_E_FAILED;
    hone_free(text);
    hone_space_free(s);
    return rc;
}

static hone_rc draw(void *ctx) {
    hone_err err;
    double x[8] = {-7, -7, -7, -7, -7};
    hone_rc rc = hone_space_sample(ctx, 3, false, x, &err);
    if (rc && x[0] != -7) return HONE_E_FAILED;
    if (!rc) rc = hone_point_repair(ctx, 3, x, &err);
    double y[8] = {30, 7, 1, 0, 1};
    if (!rc) rc = hone_point_repair(ctx, 3, y, &err);
    if (rc) return rc;
    return hone_point_legal(ctx, y, &err) ? HONE_OK : HONE_E_FAILED;
}

static hone_rc count(void *ctx) {
    hone_count c = {.n = -7};
    hone_err err;
    hone_rc rc = hone_space_size(ctx, 1, &c, &err);
    return rc && c.n != -7 ? HONE_E_FAILED : rc;
}

static hone_rc json(void *ctx) {
    double x[8], y[8];
    char *text = NULL;
    hone_err err;
    hone_space_default(ctx, x);
    hone_rc rc = hone_point_to_json(ctx, x, &text, &err);
    if (!rc) rc = hone_point_from_json(ctx, text, y, &err);
    hone_free(text);
    return rc == HONE_E_INPUT ? HONE_E_NOMEM : rc; /* jansson calls its lack of memory a parse error */
}

int main(void) {
    hone_space *s;
    hone_err err;
    sweep_allocations("space/read_nth_allocation_fails", read_and_print, NULL);
    if (hone_space_parse(yaml, strlen(yaml), "n.yaml", &s, &err)) {
        printf("Bail out! %s\n", err.text);
        return 1;
    }
    sweep_allocations("space/draw_nth_allocation_fails", draw, s);
    sweep_allocations("space/count_nth_allocation_fails", count, s);
    sweep_allocations("space/json_nth_allocation_fails", json, s);
    hone_space_free(s);
    return done_testing();
}
