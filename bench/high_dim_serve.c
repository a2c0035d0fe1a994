/* high_dim_serve.c — hone's engines and gcc's space for bench/high_dim.py, one line of text in, one of JSON out.
 *
 *     high_dim_serve COMPILER
 *     params                        all parameters of the space: [{"name", "kind", "values" | "lo", "hi", "log"}, ...]
 *     open ENGINE SEED EVALS        starts a search: {}
 *     ask                           {"point": {...}, "flags": [...]}, or {"end": why}
 *     tell CLASS VALUE [CODE]       the outcome of the last point, a key of its object in hexadecimal: {}
 *     flags POINT                   {"flags": [...]} of a point of anybody's, as JSON
 *
 * The space: everything the compiler offers that does not depend on the machine (no -m…, since callgrind runs not
 * every instruction set), without LTO and profiles. hone's own engines get the target's rule seeds, as in hone tune. */
#include <hone/search.h>
#include <hone/target.h>

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct server {
    hone_target *target;
    hone_space *whole, *space; /* the target's own; what is searched */
    double *seeds, *point;
    size_t n_seeds;
    hone_search *search;
} server;

static void die(const hone_err *err) {
    fprintf(stderr, "high_dim_serve: %s\n", err->text);
    exit(hone_rc_exit(err->rc));
}

static bool is_portable(const hone_param *p) {
    return strncmp(p->name, "-m", 2) != 0 && strcmp(p->name, "lto") != 0 && strcmp(p->name, "pgo") != 0;
}

static hone_rc copy_portable(const hone_space *whole, hone_space **out, hone_err *err) {
    hone_space *s;
    hone_rc rc = hone_space_new("high-dim", &s, err);
    if (rc) return rc;
    for (size_t i = 0; !rc && i < hone_space_n_params(whole); i++)
        if (is_portable(hone_space_param(whole, i))) rc = hone_space_add(s, hone_space_param(whole, i), err);
    for (size_t i = 0; !rc && i < hone_space_n_constraints(whole); i++)
        rc = hone_space_constrain(s, hone_space_constraint(whole, i), err);
    if (!rc) rc = hone_space_seal(s, err);
    if (rc)
        hone_space_free(s);
    else
        *out = s;
    return rc;
}

static hone_rc copy_seeds(server *s, hone_err *err) {
    double *from;
    size_t n;
    hone_rc rc = hone_target_seeds(s->target, s->whole, &from, &n, err);
    if (rc) return rc;
    size_t wide = hone_space_slots(s->whole), slots = hone_space_slots(s->space);
    s->seeds = calloc(n * slots + 1, sizeof *s->seeds);
    for (size_t k = 0; s->seeds && k < n; k++)
        for (size_t i = 0; i < hone_space_n_params(s->space); i++) {
            const hone_param *to = hone_space_param(s->space, i);
            size_t same = hone_space_find(s->whole, to->name);
            s->seeds[k * slots + to->slot] = from[k * wide + hone_space_param(s->whole, same)->slot];
        }
    s->n_seeds = s->seeds ? n : 0;
    hone_free(from);
    return HONE_OK;
}

static void open_server(server *s, const char *compiler) {
    hone_err err = {0};
    hone_target_options options = hone_target_defaults();
    hone_rc rc = hone_target_open(compiler, NULL, &s->target, &err);
    if (!rc) rc = hone_target_space(s->target, &options, &s->whole, &err);
    if (!rc) rc = copy_portable(s->whole, &s->space, &err);
    if (!rc) rc = copy_seeds(s, &err);
    if (rc) die(&err);
    s->point = calloc(hone_space_slots(s->space) + 1, sizeof *s->point);
}

static void reply(json_t *object) {
    char *text = json_dumps(object, JSON_COMPACT);
    puts(text ? text : "{\"end\": \"out of memory\"}");
    fflush(stdout);
    free(text);
    json_decref(object);
}

static json_t *failure(const hone_err *err) { return json_pack("{s:s}", "end", err->text); }

/* --- requests ------------------------------------------------------------------------------------------------------
 */

static json_t *param_json(const hone_param *p) {
    static const char *const kind[] = {"flag", "int", "float", "choice", "ordinal", "permutation", "literal"};
    json_t *j = json_pack("{s:s, s:s, s:b}", "name", p->name, "kind", kind[p->kind], "optional", p->optional);
    if (p->n_values) {
        json_t *values = json_array();
        for (size_t i = 0; i < p->n_values; i++) json_array_append_new(values, json_string(p->values[i]));
        json_object_set_new(j, "values", values);
    }
    if (p->kind == HONE_INT || p->kind == HONE_FLOAT) {
        json_object_set_new(j, "lo", json_real(p->lo));
        json_object_set_new(j, "hi", json_real(p->hi));
        json_object_set_new(j, "step", json_real(p->step));
        json_object_set_new(j, "log", json_boolean(p->log));
    }
    if (p->when) json_object_set_new(j, "when", json_string(p->when));
    return j;
}

static json_t *params(const server *s) {
    json_t *list = json_array();
    for (size_t i = 0; i < hone_space_n_params(s->space); i++)
        json_array_append_new(list, param_json(hone_space_param(s->space, i)));
    return json_pack("{s:o}", "params", list);
}

static json_t *flags(const server *s, const double *point, json_t *into) {
    hone_err err = {0};
    hone_command command;
    if (hone_target_render(s->target, s->space, NULL, point, HONE_FP_STRICT, &command, &err)) {
        json_decref(into);
        return failure(&err);
    }
    json_t *list = json_array();
    for (size_t i = 0; i < command.n_argv; i++) json_array_append_new(list, json_string(command.argv[i]));
    json_object_set_new(into, "flags", list);
    hone_command_free(&command);
    return into;
}

static json_t *start(server *s, const char *text) {
    char engine[64];
    unsigned long long seed, evals;
    hone_err err = {0};
    if (sscanf(text, "%63s %llu %llu", engine, &seed, &evals) != 3)
        return json_pack("{s:s}", "end", "expected: open ENGINE SEED EVALS");
    hone_search_close(s->search);
    s->search = NULL;
    hone_search_options config = {.size = sizeof(hone_search_options),
                                  .engine = engine,
                                  .seed = seed,
                                  .budget = (size_t)evals,
                                  .seeds = s->seeds,
                                  .n_seeds = s->n_seeds};
    return hone_search_open(s->space, &config, &s->search, &err) ? failure(&err) : json_object();
}

static json_t *ask(server *s) {
    hone_err err = {0};
    char *text;
    if (!s->search) return json_pack("{s:s}", "end", "open comes first");
    if (hone_search_ask(s->search, s->point, &err)) return failure(&err);
    if (hone_point_to_json(s->space, s->point, &text, &err)) return failure(&err);
    json_t *j = json_pack("{s:s}", "origin", hone_search_origin(s->search));
    json_object_set_new(j, "point", json_loads(text, 0, NULL));
    hone_free(text);
    return flags(s, s->point, j);
}

static json_t *tell(server *s, const char *text) {
    char name[64];
    double value;
    unsigned long long code = 0;
    hone_err err = {0};
    hone_outcome seen = {.cls = HONE_RUN_OK};
    if (!s->search || sscanf(text, "%63s %lf %llx", name, &value, &code) < 2 ||
        !hone_outcome_class_parse(name, &seen.cls))
        return json_pack("{s:s}", "end", "expected: tell CLASS VALUE [CODE]");
    seen.value[0] = value;
    return hone_search_tell_built(s->search, s->point, &seen, code, &err) ? failure(&err) : json_object();
}

static json_t *flags_of(const server *s, const char *text) {
    hone_err err = {0};
    double *point = calloc(hone_space_slots(s->space) + 1, sizeof *point);
    json_t *j =
        !point || hone_point_from_json(s->space, text, point, &err) ? failure(&err) : flags(s, point, json_object());
    free(point);
    return j;
}

static json_t *answer(server *s, const char *line) {
    if (!strcmp(line, "params")) return params(s);
    if (!strncmp(line, "open ", 5)) return start(s, line + 5);
    if (!strcmp(line, "ask")) return ask(s);
    if (!strncmp(line, "tell ", 5)) return tell(s, line + 5);
    if (!strncmp(line, "flags ", 6)) return flags_of(s, line + 6);
    return json_pack("{s:s}", "end", "unknown request");
}

int main(int argc, char **argv) {
    server s = {0};
    char *line = NULL;
    size_t room = 0;
    if (argc != 2) {
        fputs("usage: high_dim_serve COMPILER\n", stderr);
        return 2;
    }
    open_server(&s, argv[1]);
    while (getline(&line, &room, stdin) > 0) {
        line[strcspn(line, "\n")] = 0;
        reply(answer(&s, line));
    }
    free(line);
    hone_search_close(s.search);
    free(s.seeds);
    free(s.point);
    hone_space_free(s.space);
    hone_space_free(s.whole);
    hone_target_close(s.target);
    return 0;
}
