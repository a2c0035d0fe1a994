/* cmd_sample.c — `hone sample`: random legal points of a space. */
#include "cli.h"

#include <hone/space.h>

#include <math.h>
#include <stdlib.h>

/* "tile=16 unroll=on", absent parameters left out. */
static void print_point(const cli *c, const hone_space *space, const double *point) {
    char text[4096];
    const char *gap = "";
    for (size_t i = 0; i < hone_space_n_params(space); i++) {
        const hone_param *p = hone_space_param(space, i);
        if (isnan(point[p->slot])) continue;
        hone_point_text(space, point, i, text, sizeof text);
        printf("%s", gap);
        cli_put(c, stdout, p->name, 0);
        putchar('=');
        cli_put(c, stdout, text, 0);
        gap = " ";
    }
    putchar('\n');
}

static hone_rc one(cli *c, const hone_space *space, uint64_t seed, double *point, cli_json *j, hone_err *err) {
    char *json;
    hone_rc rc = hone_space_sample(space, seed, cli_given(c, "initial"), point, err);
    if (rc) return rc;
    if (!c->json) return print_point(c, space, point), HONE_OK;
    if ((rc = hone_point_to_json(space, point, &json, err))) return rc;
    if (!c->json_begun) {
        *j = cli_json_begin(c, false);
        cli_json_array(j);
    }
    cli_json_raw(j, json);
    hone_free(json);
    return HONE_OK;
}

static hone_rc run_sample(cli *c, hone_err *err) {
    cli_subject s;
    cli_json j;
    hone_rc rc =
        cli_subject_open(c, c->n_args ? c->arg[0] : "hone.yaml", cli_given(c, "all"), cli_given(c, "numeric"), &s, err);
    if (rc) return rc;
    uint64_t n = cli_count(c, "n", 1), seed = cli_count(c, "seed", 0);
    double *point = cli_alloc(hone_space_slots(s.space), sizeof *point);
    for (uint64_t i = 0; !rc && i < n && !ferror(stdout); i++)
        rc = one(c, s.space, seed * 0x9e3779b97f4a7c15u + i, point, &j, err);
    if (c->json_begun) cli_json_end(&j);
    free(point);
    cli_subject_close(&s);
    return rc;
}

static const cli_option options[] = {
    {"n", 'n', CLI_COUNT, "N", 1, 0, "number of points (default 1); points may repeat"},
    {"seed", 0, CLI_COUNT, "N", 0, 0, "the same seed gives the same points (default 0)"},
    {"initial", 0, CLI_FLAG, NULL, 0, 0, "draw from the seed windows, as a search does at its start"},
    {"all", 0, CLI_FLAG, NULL, 0, 0, "of a compiler: every control, not the curated set"},
    {"numeric", 0, CLI_FLAG, NULL, 0, 0, "of a compiler: also controls that may change floating-point results"},
    {0},
};

const cli_command cli_cmd_sample = {
    "sample",
    "Explore",
    "[SPACE|WORKLOAD|COMPILER]",
    "draw random legal points of a space",
    "Draws points of a space file, of a workload's whole space (default: hone.yaml here), or of a compiler's controls, "
    "and prints one per line as `name=value`. Parameters that are absent are left out: their setting is the compiler's "
    "own. With --json the points are an array of objects.",
    options,
    "hone sample space.yaml -n 5\tfive points\n"
    "hone sample gcc-12 --seed 7 --json\tone setting of gcc's controls\n",
    0,
    1,
    run_sample,
};
