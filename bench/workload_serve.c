/* workload_serve.c — build commands of points of a workload's space, for bench/gain_curves.py: a point as JSON a line
 * in,
 * {"command": text} or {"end": why} a line out.
 *
 *     workload_serve hone.yaml */
#include <hone/tune.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void reply(const char *key, const char *text) {
    json_t *j = json_pack("{s:s}", key, text);
    char *line = json_dumps(j, JSON_COMPACT);
    puts(line ? line : "{\"end\": \"out of memory\"}");
    fflush(stdout);
    free(line);
    json_decref(j);
}

static void answer(const hone_workload *w, const hone_space *space, const hone_tune_options *o, double *point,
                   const char *line) {
    hone_err err = {0};
    char *text = NULL;
    hone_rc rc = hone_point_from_json(space, line, point, &err);
    if (!rc && !hone_point_legal(space, point, &err)) rc = HONE_E_INPUT;
    if (!rc) rc = hone_workload_command(w, space, point, o, &text, &err);
    reply(rc ? "end" : "command", rc ? err.text : text);
    hone_free(text);
}

int main(int argc, char **argv) {
    hone_workload *w = NULL;
    hone_space *space = NULL;
    hone_err err = {0};
    char *line = NULL;
    size_t room = 0;
    hone_tune_options o = hone_tune_defaults();
    if (argc != 2) {
        fputs("usage: workload_serve hone.yaml\n", stderr);
        return 2;
    }
    hone_rc rc = hone_workload_load(argv[1], &w, &err);
    if (!rc) rc = hone_workload_space(w, &o, &space, &err);
    double *point = rc ? NULL : calloc(hone_space_slots(space) + 1, sizeof *point);
    if (rc) fprintf(stderr, "workload_serve: %s\n", err.text);
    while (point && getline(&line, &room, stdin) > 0) {
        line[strcspn(line, "\n")] = 0;
        answer(w, space, &o, point, line);
    }
    free(line);
    free(point);
    hone_space_free(space);
    hone_workload_free(w);
    return rc ? hone_rc_exit(rc) : 0;
}
