/* tune/workload_command.c — parameters, commands and their placeholders, compilers, controls, sources, inputs. */
#include "tune/workload_int.h"

#include "base/err.h"
#include "space/space_yaml.h"
#include "target/family.h"
#include "tune/environment.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COMPILERS_MAX = 16, INPUTS_MAX = 1000 };

/* The placeholders of each command, without the workload's parameters. */
static const char *const build_names[] = {"cc", "flags", "defines", "out", "harness", "src", "dir"};
static const char *const run_names[] = {"out", "input", "output", "src", "dir", "gpu_bench"};

/* --- parameters --------------------------------------------------------------------------------------------------- */

static const char *const reserved[] = {"cc",    "flags",  "defines",  "out",    "harness",  "src", "dir",
                                       "input", "output", "expected", "actual", "compiler", "fp",  "gpu_bench"};

static hone_rc check_param_name(const hn_reader *r, const hn_ynode *key) {
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (!strcmp(key->text, reserved[i]))
            return hn_yaml_fail(r->doc, key, r->err, "parameter '%s' has a name that hone uses itself; choose another",
                                key->text);
    for (size_t i = 0; i < r->w->n_compilers; i++) {
        const char *cc = r->w->compiler[i];
        size_t n = strlen(cc);
        if (!strncmp(key->text, cc, n) && key->text[n] == '.')
            return hn_yaml_fail(r->doc, key, r->err,
                                "parameter '%s' would stand among the controls of compiler '%s'; choose another name",
                                key->text, cc);
    }
    return HONE_OK;
}

static hone_rc empty_space(const hn_reader *r, hone_space **out) {
    hone_space *s;
    hone_rc rc = hone_space_new(r->w->name, &s, r->err);
    if (rc) return rc;
    rc = hone_space_seal(s, r->err);
    if (rc)
        hone_space_free(s);
    else
        *out = s;
    return rc;
}

/* "p99(latency) <= 1 ms" under constraints is a mistake: it belongs under limits. */
static hone_rc check_constraint(const hn_reader *r, const hn_ynode *x) {
    const char *s = x->kind == HN_Y_SCALAR ? x->text : "";
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz_0123456789.");
    bool percentile = s[0] == 'p' && isdigit((unsigned char)s[1]) && s[n] == '(';
    bool average = s[n] == '(' && (!strncmp(s, "median", n) || !strncmp(s, "mean", n)) && n;
    bool error = n > 10 && !strncmp(s, "max_", 4) && !strncmp(s + n - 6, "_error", 6);
    if (percentile || average || error)
        return hn_yaml_fail(r->doc, x, r->err,
                            "'%s' names a measurement, but constraints are over parameters; put it under 'limits'", s);
    return HONE_OK;
}

hone_rc hn_read_params(const hn_reader *r) {
    const hn_ynode *cc = hn_yaml_get(r->root, "compilers");
    const hn_ynode *params = hn_yaml_get(r->root, "parameters"), *rules = hn_yaml_get(r->root, "constraints");
    hone_rc rc = HONE_OK;
    r->w->compiler = HN_NEW_N(&r->w->arena, const char *, 2);
    if (!r->w->compiler) return hn_reader_nomem(r);
    r->w->compiler[0] = hn_family_of_command(NULL)->command;
    r->w->n_compilers = 1;
    if (cc) rc = hn_read_texts(r, cc, "compilers", COMPILERS_MAX, &r->w->compiler, &r->w->n_compilers);
    for (size_t i = 0; rules && !rc && i < hn_items(rules); i++) rc = check_constraint(r, hn_item(rules, i));
    if (rc) return rc;
    if (!params && rules) return hn_yaml_fail(r->doc, rules, r->err, "constraints without 'parameters'");
    if (!params) return empty_space(r, &r->w->params);
    for (size_t i = 0; params->kind == HN_Y_MAP && i < params->n && !rc; i++) rc = check_param_name(r, params->key[i]);
    if (!rc) rc = hn_space_from_yaml(r->doc, params, rules, r->w->name, &r->w->params, r->err);
    return rc;
}

/* --- placeholders ------------------------------------------------------------------------------------------------- */

typedef struct check {
    const hn_reader *r;
    const hn_ynode *node;
    const char *key;
    const char *const *known;
    size_t n_known;
    hone_rc rc;
} check;

static hone_rc unknown_placeholder(const check *c, const char *name) {
    const hone_space *params = c->r->w->params;
    size_t n_params = hone_space_n_params(params), n = 0;
    const char **all = HN_NEW_N(&c->r->w->arena, const char *, c->n_known + n_params);
    if (!all) return hn_reader_nomem(c->r);
    for (size_t i = 0; i < c->n_known; i++) all[n++] = c->known[i];
    for (size_t i = 0; i < n_params; i++) all[n++] = hone_space_param(params, i)->name;
    const char *near = hn_nearest(name, all, n);
    if (near)
        return hn_yaml_fail(c->r->doc, c->node, c->r->err, "unknown placeholder '{%s}' in '%s'; did you mean '{%s}'?",
                            name, c->key, near);
    hn_str list = {0};
    for (size_t i = 0; i < c->n_known; i++) hn_str_addf(&list, "%s{%s}", i ? " " : "", c->known[i]);
    hone_rc rc = hn_yaml_fail(c->r->doc, c->node, c->r->err,
                              "unknown placeholder '{%s}' in '%s'; known are %s and the parameters; for a brace of the "
                              "shell write '{{%s}}'",
                              name, c->key, list.text ? list.text : "", name);
    hn_str_free(&list);
    return rc;
}

static bool check_placeholder(void *ctx, const char *name, size_t n) {
    check *c = ctx;
    char text[128];
    snprintf(text, sizeof text, "%.*s", (int)(n < sizeof text ? n : sizeof text - 1), name);
    for (size_t i = 0; i < c->n_known; i++)
        if (!strcmp(text, c->known[i])) return true;
    if (hone_space_find(c->r->w->params, text) != SIZE_MAX) return true;
    c->rc = unknown_placeholder(c, text);
    return false;
}

static hone_rc read_command(const hn_reader *r, const char *key, const char *const *known, size_t n_known,
                            const char **out) {
    const hn_ynode *node = hn_yaml_get(r->root, key);
    if (!node) return HONE_OK;
    hone_rc rc = hn_read_text(r, node, out);
    if (rc) return rc;
    check c = {r, node, key, known, n_known, HONE_OK};
    hn_template_each(*out, check_placeholder, &c);
    return c.rc;
}

/* --- commands ----------------------------------------------------------------------------------------------------- */

static hone_rc need(const hn_reader *r, const char *name, const char *why) {
    if (hn_template_has(r->w->build, name)) return HONE_OK;
    const hn_ynode *at = hn_yaml_get(r->root, "build");
    return hn_yaml_fail(r->doc, at ? at : r->root, r->err, "the build command has no {%s}, %s", name, why);
}

static hone_rc check_build(const hn_reader *r) {
    hone_workload *w = r->w;
    if (!*w->build) {
        if (w->controls)
            return hn_yaml_fail(r->doc, r->root, r->err,
                                "there is no 'build' command; write one such as \"{cc} {flags} kernel.c -o {out}\", or "
                                "'controls: false' when there is nothing to build");
        return HONE_OK;
    }
    hone_rc rc = need(r, "out", "the path that it must write the program to");
    if (!rc && w->controls) rc = need(r, "flags", "so no control would reach the compiler; or say 'controls: false'");
    if (!rc && w->controls) rc = need(r, "cc", "so it is unknown whether the flags reach the compiler they are for");
    if (!rc && w->n_compilers > 1) rc = need(r, "cc", "so the choice among 'compilers' would have no effect");
    return rc;
}

static bool is_identifier(const char *s) {
    if (!isalpha((unsigned char)*s) && *s != '_') return false;
    for (; *s; s++)
        if (!isalnum((unsigned char)*s) && *s != '_') return false;
    return true;
}

/* Invariant 5: every parameter reaches a command, by name or as a macro. */
static hone_rc place_params(const hn_reader *r) {
    hone_workload *w = r->w;
    size_t n = hone_space_n_params(w->params);
    w->param_define = HN_NEW_N(&w->arena, bool, n);
    if (!w->param_define) return hn_reader_nomem(r);
    const hn_ynode *map = hn_yaml_get(r->root, "parameters");
    for (size_t i = 0; i < n; i++) {
        const char *name = hone_space_param(w->params, i)->name;
        if (hn_template_has(w->build, name) || hn_template_has(w->run, name)) continue;
        if (!hn_template_has(w->build, "defines"))
            return hn_yaml_fail(
                r->doc, map, r->err,
                "parameter '%s' reaches no command: put {defines} into 'build', or {%s} into 'build' or "
                "'run'",
                name, name);
        if (!is_identifier(name))
            return hn_yaml_fail(r->doc, map, r->err,
                                "parameter '%s' cannot be a macro name; put {%s} into 'build' or 'run'", name, name);
        w->param_define[i] = true;
    }
    return HONE_OK;
}

static hone_rc read_controls(const hn_reader *r) {
    static const hn_field field[] = {
        {"all", HN_F_BOOL, offsetof(hone_workload, all_controls), 0, 0},
        {"lto", HN_F_BOOL, offsetof(hone_workload, lto), 0, 0},
        {"pgo", HN_F_BOOL, offsetof(hone_workload, pgo), 0, 0},
        {"numeric", HN_F_BOOL, offsetof(hone_workload, numeric), 0, 0},
        {"passes", HN_F_BOOL, offsetof(hone_workload, passes), 0, 0},
        {"files", HN_F_TEXT, offsetof(hone_workload, control_files), 0, 0},
    };
    const hn_ynode *node = hn_yaml_get(r->root, "controls");
    r->w->pgo = r->w->train != NULL;
    if (!node) return HONE_OK;
    if (node->kind == HN_Y_MAP) return hn_read_fields(r, node, "controls", field, sizeof field / sizeof *field, r->w);
    return hn_yaml_bool(r->doc, node, &r->w->controls, r->err);
}

hone_rc hn_read_commands(const hn_reader *r) {
    hone_workload *w = r->w;
    const size_t n_build = sizeof build_names / sizeof *build_names, n_run = sizeof run_names / sizeof *run_names;
    hone_rc rc = read_command(r, "build", build_names, n_build, &w->build);
    if (!rc) rc = read_command(r, "run", run_names, n_run, &w->run);
    if (!rc) rc = read_command(r, "train", run_names, n_run, &w->train);
    if (!rc) rc = read_controls(r);
    if (!rc && !w->run) w->run = ""; /* hn_read_run refuses it where something has to run */
    if (!rc) rc = check_build(r);
    if (!rc) rc = place_params(r);
    if (!rc && !w->controls) w->lto = w->pgo = w->all_controls = w->numeric = false;
    return rc;
}

/* true, false, or some of the words. */
hone_rc hn_read_environment(const hn_reader *r) {
    static const char *const word[] = {"allocator", "malloc", "linker"}; /* bits of HN_ENV_… in this order */
    const hn_ynode *node = hn_yaml_get(r->root, "environment");
    bool all = false;
    if (!node) return HONE_OK;
    bool one_word = false;
    for (size_t k = 0; node->kind == HN_Y_SCALAR && k < 3; k++) one_word |= !strcmp(node->text, word[k]);
    if (node->kind == HN_Y_SCALAR && !one_word) {
        hone_rc rc = hn_yaml_bool(r->doc, node, &all, r->err);
        r->w->environment = all ? HN_ENV_ALL : 0;
        return rc;
    }
    if (node->kind == HN_Y_MAP || node->kind == HN_Y_NULL)
        return hn_yaml_fail(r->doc, node, r->err,
                            "'environment' is true, false or a list of allocator, malloc, linker");
    for (size_t i = 0; i < hn_items(node); i++) {
        size_t which;
        hone_rc rc = hn_read_word(r, hn_item(node, i), "environment", word, 3, &which);
        if (rc) return rc;
        r->w->environment |= 1u << which;
    }
    return HONE_OK;
}

/* `bolt` or `none`. */
hone_rc hn_read_post_link(const hn_reader *r) {
    static const char *const word[] = {"none", "bolt"};
    const hn_ynode *node = hn_yaml_get(r->root, "post_link");
    size_t which;
    if (!node) return HONE_OK;
    hone_rc rc = hn_read_word(r, node, "post_link", word, 2, &which);
    if (rc) return rc;
    r->w->bolt = which == 1;
    if (!r->w->bolt || (hn_template_has(r->w->build, "flags") && hn_template_has(r->w->build, "out"))) return HONE_OK;
    return hn_yaml_fail(r->doc, node, r->err,
                        "'post_link' is about a program that hone builds: put {flags} and {out} into 'build'");
}

/* A number, the hottest so many, or names of files as the build command has them. */
hone_rc hn_read_per_file(const hn_reader *r) {
    hone_workload *w = r->w;
    const hn_ynode *node = hn_yaml_get(r->root, "per_file");
    int64_t n = 0;
    hone_rc rc = HONE_OK;
    if (!node) return HONE_OK;
    if (node->kind == HN_Y_SEQ) {
        w->file_named = HN_NEW_N(&w->arena, const char *, node->n + 1);
        if (!w->file_named) return hn_fail(r->err, HONE_E_NOMEM, "out of memory");
        n = (int64_t)node->n;
        for (size_t i = 0; !rc && i < node->n && i < HN_PER_FILE_MOST; i++) {
            const char *name;
            rc = hn_yaml_text(r->doc, node->item[i], &name, r->err);
            if (!rc) w->file_named[w->n_files_named++] = hn_strdup(&w->arena, name);
        }
    } else {
        rc = hn_yaml_int(r->doc, node, &n, r->err);
    }
    if (rc) return rc;
    if (n < 0 || n > HN_PER_FILE_MOST)
        return hn_yaml_fail(r->doc, node, r->err, "'per_file' is about 0 to %d files", HN_PER_FILE_MOST);
    w->per_file = (size_t)n;
    if (!n || (w->controls && hn_template_has(w->build, "cc") && hn_template_has(w->build, "flags"))) return HONE_OK;
    return hn_yaml_fail(r->doc, node, r->err,
                        "'per_file' is about controls that hone tunes: put {cc} and {flags} into 'build', and leave "
                        "'controls: false' out");
}

/* --- inputs ------------------------------------------------------------------------------------------------------- */

typedef struct input_row {
    const char *name, *args;
    double weight;
    bool held_out;
} input_row;

static hone_rc read_input(const hn_reader *r, const hn_ynode *node, hn_input *out) {
    static const hn_field field[] = {
        {"name", HN_F_TEXT, offsetof(input_row, name), 0, 0},
        {"args", HN_F_TEXT, offsetof(input_row, args), 0, 0},
        {"weight", HN_F_NUMBER, offsetof(input_row, weight), 1e-9, 1e9},
        {"held_out", HN_F_BOOL, offsetof(input_row, held_out), 0, 0},
    };
    input_row row = {.weight = 1};
    hone_rc rc = node->kind == HN_Y_MAP ? hn_read_fields(r, node, "an input", field, sizeof field / sizeof *field, &row)
                                        : hn_read_text(r, node, &row.args);
    if (rc) return rc;
    if (!row.args && !row.name) return hn_yaml_fail(r->doc, node, r->err, "an input needs 'args' or a 'name'");
    if (!row.args) row.args = "";
    if (!row.name) row.name = row.args;
    *out = (hn_input){row.name, row.args, row.weight, row.held_out, node->line};
    return HONE_OK;
}

static hone_rc check_input(const hn_reader *r, const hn_ynode *node, size_t i) {
    const hn_input *x = &r->w->input[i];
    for (size_t k = 0; k < i; k++) {
        const hn_input *y = &r->w->input[k];
        if (!strcmp(x->name, y->name))
            return hn_yaml_fail(r->doc, node, r->err, "input '%s' is given twice (first on line %u)", x->name, y->line);
        if (!strcmp(x->args, y->args))
            return hn_yaml_fail(r->doc, node, r->err, "inputs '%s' and '%s' have the same args '%s'", y->name, x->name,
                                x->args);
    }
    if (*x->args && !hn_template_has(r->w->run, "input"))
        return hn_yaml_fail(r->doc, node, r->err, "input '%s' has args, but the run command has no {input}", x->name);
    return HONE_OK;
}

/* Invariant 1: weights sum to 1 among the inputs tuned on, and among the held-out ones. */
static bool normalise(hone_workload *w, bool held_out) {
    double sum = 0;
    for (size_t i = 0; i < w->n_inputs; i++) sum += w->input[i].held_out == held_out ? w->input[i].weight : 0;
    for (size_t i = 0; i < w->n_inputs; i++)
        if (w->input[i].held_out == held_out) w->input[i].weight /= sum;
    return sum > 0;
}

hone_rc hn_read_inputs(const hn_reader *r) {
    const hn_ynode *node = hn_yaml_get(r->root, "inputs");
    hone_workload *w = r->w;
    if (node && node->kind == HN_Y_MAP)
        return hn_yaml_fail(r->doc, node, r->err, "inputs must be a list such as [{name: small, args: n=1024}]");
    w->n_inputs = node ? hn_items(node) : 1;
    if (!w->n_inputs || w->n_inputs > INPUTS_MAX)
        return hn_yaml_fail(r->doc, node, r->err, "inputs has %zu items; expected 1 to %d", w->n_inputs, INPUTS_MAX);
    w->input = HN_NEW_N(&w->arena, hn_input, w->n_inputs);
    if (!w->input) return hn_reader_nomem(r);
    w->input[0] = (hn_input){"default", "", 1, false, 0};
    hone_rc rc = HONE_OK;
    for (size_t i = 0; node && i < w->n_inputs && !rc; i++) {
        rc = read_input(r, hn_item(node, i), &w->input[i]);
        if (!rc) rc = check_input(r, hn_item(node, i), i);
    }
    if (rc) return rc;
    normalise(w, true);
    if (!normalise(w, false))
        return hn_yaml_fail(r->doc, node, r->err, "all inputs are held out; leave at least one to tune on");
    return HONE_OK;
}
