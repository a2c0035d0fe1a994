/* A user's program: builds a space, asks and tells, finds the optimum's neighbourhood. No output unless it fails. */
#include <hone/search.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const char *what, const hone_err *err) {
    fprintf(stderr, "%s: %s\n", what, err->text);
    return 1;
}

static hone_rc make_space(hone_space **out, hone_err *err) {
    static const char *const layouts[] = {"rows", "columns", "tiles"};
    const hone_param params[] = {
        {.name = "tile", .kind = HONE_INT, .lo = 1, .hi = 64, .dflt = 8},
        {.name = "unroll", .kind = HONE_FLAG, .dflt = 0},
        {.name = "layout", .kind = HONE_CHOICE, .values = layouts, .n_values = 3, .dflt = 0},
        {.name = "depth", .kind = HONE_INT, .lo = 1, .hi = 8, .dflt = 1, .when = "unroll"},
    };
    hone_space *space = NULL;
    hone_rc rc = hone_space_new("kernel", &space, err);
    for (size_t i = 0; !rc && i < sizeof params / sizeof *params; i++) rc = hone_space_add(space, &params[i], err);
    if (!rc) rc = hone_space_constrain(space, "tile * depth <= 256", err);
    if (!rc) rc = hone_space_seal(space, err);
    if (rc)
        hone_space_free(space);
    else
        *out = space;
    return rc;
}

/* Best at tile 48, unrolled four deep, tiles. */
static double cost(const double *p) {
    return 1 + fabs(p[0] - 48) / 64 + (p[1] == 1 ? fabs(p[3] - 4) / 8 : 1) + (p[2] == 2 ? 0 : 0.5);
}

static int search(const hone_space *space, double *best_cost, hone_err *err) {
    const hone_search_options config = {.size = sizeof(hone_search_options), .seed = 1, .budget = 80};
    hone_search *search = NULL;
    double point[8], best[8];
    if (hone_search_open(space, &config, &search, err)) return fail("open", err);
    for (int i = 0; i < 80; i++) {
        if (hone_search_ask(search, point, err)) return fail("ask", err);
        if (!hone_point_legal(space, point, err)) return fail("an illegal point", err);
        hone_outcome seen = {.cls = HONE_RUN_OK, .value = {cost(point)}};
        if (hone_search_tell(search, point, &seen, err)) return fail("tell", err);
    }
    hone_outcome seen;
    if (!hone_search_best(search, best, &seen)) return fail("no best point", err);
    *best_cost = seen.value[0];
    hone_search_close(search);
    char *json = NULL;
    if (hone_point_to_json(space, best, &json, err)) return fail("to_json", err);
    int there = strstr(json, "\"layout\"") != NULL;
    hone_free(json);
    return !there;
}

int main(void) {
    hone_err err = {HONE_OK, ""};
    hone_space *space = NULL;
    double start[8], best = NAN;
    if (strcmp(hone_version(), HONE_VERSION) != 0) return fail("version", &err);
    if (make_space(&space, &err)) return fail("space", &err);
    if (hone_space_slots(space) != 4) return fail("slots", &err);
    hone_space_default(space, start);
    if (search(space, &best, &err)) return 1;
    if (!(best < cost(start))) return fail("the search found nothing better than the default", &err);
    hone_space_free(space);
    return 0;
}
