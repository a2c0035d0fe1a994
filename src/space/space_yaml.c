/* space/space_yaml.c — reads the YAML form of spaces. */
#include "space/space_yaml.h"

#include "base/err.h"
#include "space/space_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FORMAT_VERSION = 1 };

/* A space being built and where its parts stand: nodes parallel to its parameters and constraints. */
typedef struct build {
    const hn_yaml *doc;
    hn_arena *scratch;
    hone_space *space;
    const hn_ynode **key, **when, **constraint;
    size_t room_params, room_constraints;
    hone_err *err;
} build;

static hone_rc no_memory(const build *b) {
    return hn_fail(b->err, HONE_E_NOMEM, "out of memory reading '%s'", hn_yaml_label(b->doc));
}

/* Puts the place of a node in front of an error that has none. */
static hone_rc at_node(const build *b, const hn_ynode *x, hone_rc rc) {
    if (rc && rc != HONE_E_NOMEM && b->err) hn_context(b->err, "%s:%u:%u: ", hn_yaml_label(b->doc), x->line, x->column);
    return rc;
}

static bool is_empty(const hn_ynode *x) { return !x || x->kind == HN_Y_NULL; }

/* --- one parameter ------------------------------------------------------------------------------------------- */

#define COMMON "type", "default", "when", "doc", "tag", "optional", "knockout"
static const char *const keys_flag[] = {COMMON};
static const char *const keys_range[] = {COMMON, "range", "step", "log", "seed"};
static const char *const keys_values[] = {COMMON, "values"};
static const char *const keys_literal[] = {COMMON, "value"};
static const char *const keys_space[] = {"type", "when", "parameters", "constraints"};
#define N(a) (sizeof(a) / sizeof *(a))
enum { KIND_SPACE = HONE_LITERAL + 1 };

/* Indexed by hone_kind, then "space". */
static const struct {
    const char *name;
    const char *const *keys;
    size_t n_keys;
} type_row[] = {
    {"flag", keys_flag, N(keys_flag)},          {"int", keys_range, N(keys_range)},
    {"float", keys_range, N(keys_range)},       {"choice", keys_values, N(keys_values)},
    {"ordinal", keys_values, N(keys_values)},   {"permutation", keys_values, N(keys_values)},
    {"literal", keys_literal, N(keys_literal)}, {"space", keys_space, N(keys_space)},
};

static hone_rc read_type(const build *b, const hn_ynode *key, const hn_ynode *x, size_t *out) {
    const hn_ynode *node = hn_yaml_get(x, "type");
    static const char *const all[] = {COMMON,   "range", "step",       "log",        "seed",
                                      "values", "value", "parameters", "constraints"};
    hone_rc slip = node ? HONE_OK : hn_yaml_check_keys(b->doc, x, "a parameter", all, N(all), b->err);
    if (slip) return slip;
    if (!node)
        return hn_yaml_fail(b->doc, key, b->err,
                            "parameter '%s' has no type; one of flag, int, float, choice, ordinal, permutation, "
                            "literal, space",
                            key->text);
    const char *text, *names[N(type_row)];
    hone_rc rc = hn_yaml_text(b->doc, node, &text, b->err);
    if (rc) return rc;
    for (size_t i = 0; i < N(type_row); i++) {
        names[i] = type_row[i].name;
        if (strcmp(text, names[i])) continue;
        *out = i;
        return HONE_OK;
    }
    const char *near = hn_nearest(text, names, N(names));
    return hn_yaml_fail(b->doc, node, b->err, "unknown type '%s'; %s%s%s", text, near ? "did you mean '" : "one of ",
                        near ? near : "flag, int, float, choice, ordinal, permutation, literal, space",
                        near ? "'?" : "");
}

static hone_rc read_number(const build *b, const hn_ynode *x, bool whole, double *out) {
    int64_t n;
    if (!whole) return hn_yaml_double(b->doc, x, out, b->err);
    hone_rc rc = hn_yaml_int(b->doc, x, &n, b->err);
    if (!rc) *out = (double)n;
    return rc;
}

static hone_rc read_pair(const build *b, const hn_ynode *x, bool whole, double *lo, double *hi) {
    if (x->kind != HN_Y_SEQ || x->n != 2)
        return hn_yaml_fail(b->doc, x, b->err, "expected two numbers, [lowest, highest]");
    hone_rc rc = read_number(b, x->item[0], whole, lo);
    return rc ? rc : read_number(b, x->item[1], whole, hi);
}

static hone_rc read_range(const build *b, const hn_ynode *key, const hn_ynode *x, hone_param *p) {
    bool whole = p->kind == HONE_INT;
    const hn_ynode *range = hn_yaml_get(x, "range"), *step = hn_yaml_get(x, "step"), *log = hn_yaml_get(x, "log"),
                   *seed = hn_yaml_get(x, "seed");
    if (!range)
        return hn_yaml_fail(b->doc, key, b->err, "parameter '%s' has no range; write range: [lowest, highest]",
                            p->name);
    hone_rc rc = read_pair(b, range, whole, &p->lo, &p->hi);
    if (!rc && step) rc = read_number(b, step, whole, &p->step);
    if (!rc && step && p->step <= 0) rc = hn_yaml_fail(b->doc, step, b->err, "a step must be above 0");
    if (!rc && log) rc = hn_yaml_bool(b->doc, log, &p->log, b->err);
    p->has_seed = seed != NULL;
    if (!rc && seed) rc = read_pair(b, seed, false, &p->seed_lo, &p->seed_hi);
    return rc;
}

static hone_rc read_values(const build *b, const hn_ynode *key, const hn_ynode *list, hone_param *p) {
    if (!list || list->kind != HN_Y_SEQ || !list->n)
        return hn_yaml_fail(b->doc, list ? list : key, b->err, "parameter '%s' needs a list of values", p->name);
    const char **values = HN_NEW_N(b->scratch, const char *, list->n);
    if (!values) return no_memory(b);
    for (size_t i = 0; i < list->n; i++) {
        hone_rc rc = hn_yaml_text(b->doc, list->item[i], &values[i], b->err);
        if (rc) return rc;
    }
    p->values = values;
    p->n_values = list->n;
    return HONE_OK;
}

static hone_rc read_literal(const build *b, const hn_ynode *key, const hn_ynode *x, hone_param *p) {
    const hn_ynode *value = hn_yaml_get(x, "value");
    if (!value) return hn_yaml_fail(b->doc, key, b->err, "parameter '%s' has no value", p->name);
    const char **values = HN_NEW_N(b->scratch, const char *, 1);
    if (!values) return no_memory(b);
    p->values = values;
    p->n_values = 1;
    return hn_yaml_text(b->doc, value, &values[0], b->err);
}

static hone_rc read_default_value(const build *b, const hn_ynode *x, hone_param *p) {
    const char *text;
    hone_rc rc = hn_yaml_text(b->doc, x, &text, b->err);
    if (rc) return rc;
    for (size_t i = 0; i < p->n_values; i++)
        if (!strcmp(p->values[i], text)) {
            p->dflt = (double)i;
            return HONE_OK;
        }
    const char *near = hn_nearest(text, p->values, p->n_values);
    if (near)
        return hn_yaml_fail(b->doc, x, b->err, "default '%s' of '%s' is not among its values; did you mean '%s'?", text,
                            p->name, near);
    return hn_yaml_fail(b->doc, x, b->err, "default '%s' of '%s' is not among its values", text, p->name);
}

/* `absent` without quotes stands for absence; without a default an optional parameter is absent, others take the
 * first value, the low end, off. */
static hone_rc read_default(const build *b, const hn_ynode *x, hone_param *p) {
    bool ranged = p->kind == HONE_INT || p->kind == HONE_FLOAT, yes;
    p->dflt = p->optional ? NAN : ranged ? p->lo : 0;
    if (!x) return HONE_OK;
    if (x->kind == HN_Y_SCALAR && !x->quoted && !strcmp(x->text, "absent")) {
        p->dflt = NAN;
        return HONE_OK;
    }
    if (ranged) return read_number(b, x, p->kind == HONE_INT, &p->dflt);
    if (p->kind == HONE_PERMUTATION && x->kind == HN_Y_SEQ) {
        bool same = x->n == p->n_values;
        for (size_t i = 0; same && i < x->n; i++)
            same = x->item[i]->kind == HN_Y_SCALAR && !strcmp(x->item[i]->text, p->values[i]);
        p->dflt = 0;
        return same ? HONE_OK
                    : hn_yaml_fail(b->doc, x, b->err,
                                   "the default of permutation '%s' is the order of its values; "
                                   "reorder them instead",
                                   p->name);
    }
    if (p->kind != HONE_FLAG) return read_default_value(b, x, p);
    hone_rc rc = hn_yaml_bool(b->doc, x, &yes, b->err);
    if (!rc) p->dflt = yes;
    return rc;
}

/* A text on one line: line breaks of a folded YAML text become blanks. */
static hone_rc read_line(const build *b, const hn_ynode *x, const char **out) {
    const char *text;
    hone_rc rc = hn_yaml_text(b->doc, x, &text, b->err);
    char *line = rc ? NULL : hn_strdup(b->scratch, text);
    if (rc || !line) return rc ? rc : no_memory(b);
    for (size_t n = strlen(line); n && strchr(" \t\n", line[n - 1]); n--) line[n - 1] = 0;
    for (char *c = line; *c; c++)
        if (*c == '\n' || *c == '\t') *c = ' ';
    *out = line;
    return HONE_OK;
}

static hone_rc read_common(const build *b, const hn_ynode *x, hone_param *p) {
    const hn_ynode *optional = hn_yaml_get(x, "optional"), *knockout = hn_yaml_get(x, "knockout"),
                   *when = hn_yaml_get(x, "when"), *doc = hn_yaml_get(x, "doc"), *tag = hn_yaml_get(x, "tag");
    hone_rc rc = HONE_OK;
    if (optional) rc = hn_yaml_bool(b->doc, optional, &p->optional, b->err);
    p->knockout = p->optional ? 0.5 : 0;
    if (!rc && knockout) rc = hn_yaml_double(b->doc, knockout, &p->knockout, b->err);
    if (!rc && when) rc = hn_yaml_text(b->doc, when, &p->when, b->err);
    if (!rc && doc) rc = read_line(b, doc, &p->doc);
    if (!rc && tag) rc = read_line(b, tag, &p->tag);
    return rc ? rc : read_default(b, hn_yaml_get(x, "default"), p);
}

/* `NAME: [values]`: an ordinal when all are numbers, else a choice. */
static hone_rc read_short(const build *b, const hn_ynode *key, const hn_ynode *x, hone_param *p) {
    hone_rc rc = read_values(b, key, x, p);
    double v;
    p->kind = HONE_ORDINAL;
    for (size_t i = 0; !rc && i < p->n_values; i++)
        if (!hone_space_number(p->values[i], &v)) p->kind = HONE_CHOICE;
    return rc;
}

static hone_rc read_long(const build *b, const hn_ynode *key, const hn_ynode *x, hone_param *p) {
    hone_rc rc;
    switch (p->kind) {
    case HONE_FLAG: rc = HONE_OK; break;
    case HONE_INT:
    case HONE_FLOAT: rc = read_range(b, key, x, p); break;
    case HONE_LITERAL: rc = read_literal(b, key, x, p); break;
    default: rc = read_values(b, key, hn_yaml_get(x, "values"), p);
    }
    return rc ? rc : read_common(b, x, p);
}

/* --- building ------------------------------------------------------------------------------------------------ */

static bool grow(hn_arena *a, const hn_ynode ***list, size_t n, size_t room) {
    const hn_ynode **p = HN_NEW_N(a, const hn_ynode *, room);
    if (p && n) memcpy(p, *list, n * sizeof *p);
    if (p) *list = p;
    return p != NULL;
}

/* Records the position of the newest parameter. */
static hone_rc note_param(build *b, const hn_ynode *key, const hn_ynode *when) {
    size_t n = b->space->n_params;
    if (n > b->room_params) {
        size_t room = 2 * n + 16;
        if (!grow(b->scratch, &b->key, n - 1, room) || !grow(b->scratch, &b->when, n - 1, room)) return no_memory(b);
        b->room_params = room;
    }
    b->key[n - 1] = key;
    b->when[n - 1] = when ? when : key;
    return HONE_OK;
}

static hone_rc note_constraint(build *b, const hn_ynode *x, size_t n) {
    if (n > b->room_constraints) {
        size_t room = 2 * n + 16;
        if (!grow(b->scratch, &b->constraint, n - 1, room)) return no_memory(b);
        b->room_constraints = room;
    }
    b->constraint[n - 1] = x;
    return HONE_OK;
}

static hone_rc add_parts(build *b, const hn_ynode *parameters, const hn_ynode *constraints);

/* Checks an expression's syntax so that the error stands at its node. */
static hone_rc check_expression(const build *b, const hn_ynode *x, const char *what) {
    hn_expr e;
    hn_mark mark = hn_arena_mark(b->scratch);
    hone_rc rc = hn_expr_parse(b->scratch, x->text, &e, b->err);
    hn_arena_release(b->scratch, mark);
    if (rc && b->err) hn_context(b->err, "%s '%.200s': ", what, x->text);
    return at_node(b, x, rc);
}

/* A nested space is built apart, then included under its name. */
static hone_rc add_nested(build *b, const hn_ynode *key, const hn_ynode *x) {
    const hn_ynode *when_node = hn_yaml_get(x, "when");
    const char *when = NULL;
    hone_rc rc = hn_yaml_check_keys(b->doc, x, "a nested space", keys_space, N(keys_space), b->err);
    if (!rc && when_node) rc = hn_yaml_text(b->doc, when_node, &when, b->err);
    if (!rc && when_node) rc = check_expression(b, when_node, "condition");
    build part = {.doc = b->doc, .scratch = b->scratch, .err = b->err};
    if (!rc) rc = hone_space_new(key->text, &part.space, b->err);
    if (rc) return rc;
    rc = add_parts(&part, hn_yaml_get(x, "parameters"), hn_yaml_get(x, "constraints"));
    size_t n = b->space->n_params, m = b->space->n_constraints;
    if (!rc) rc = at_node(b, key, hone_space_include(b->space, part.space, key->text, when, b->err));
    size_t n_params = part.space->n_params, n_constraints = part.space->n_constraints;
    hone_space_free(part.space);
    if (rc) return rc;
    for (size_t i = 0; !rc && i < n_params; i++) {
        const hn_ynode *own = part.when[i] == part.key[i] ? when_node : part.when[i];
        b->space->n_params = n + i + 1; /* note_param notes the newest */
        rc = note_param(b, part.key[i], own);
    }
    for (size_t i = 0; !rc && i < n_constraints; i++) rc = note_constraint(b, part.constraint[i], m + i + 1);
    return rc;
}

static hone_rc add_param(build *b, const hn_ynode *key, const hn_ynode *x) {
    hone_param p = {.name = key->text};
    hn_mark mark = hn_arena_mark(b->scratch);
    size_t type = HONE_CHOICE;
    hone_rc rc = HONE_OK;
    if (x->kind == HN_Y_SEQ) {
        rc = read_short(b, key, x, &p);
    } else if (x->kind != HN_Y_MAP) {
        rc = hn_yaml_fail(b->doc, x, b->err,
                          "parameter '%s' must be a map such as {type: int, range: [1, 8]} or a list "
                          "of values",
                          key->text);
    } else {
        rc = read_type(b, key, x, &type);
        if (!rc && type == KIND_SPACE) return add_nested(b, key, x);
        if (!rc)
            rc = hn_yaml_check_keys(b->doc, x, type_row[type].name, type_row[type].keys, type_row[type].n_keys, b->err);
        p.kind = (hone_kind)type;
        if (!rc) rc = read_long(b, key, x, &p);
    }
    if (!rc && p.when) rc = check_expression(b, hn_yaml_get(x, "when"), "condition");
    if (!rc) rc = at_node(b, key, hone_space_add(b->space, &p, b->err));
    hn_arena_release(b->scratch, mark);
    return rc ? rc : note_param(b, key, hn_yaml_get(x, "when"));
}

static hone_rc add_constraints(build *b, const hn_ynode *list) {
    if (list->kind != HN_Y_SEQ) return hn_yaml_fail(b->doc, list, b->err, "constraints must be a list of expressions");
    for (size_t i = 0; i < list->n; i++) {
        const char *text;
        hone_rc rc = hn_yaml_text(b->doc, list->item[i], &text, b->err);
        if (!rc) rc = check_expression(b, list->item[i], "constraint");
        if (!rc) rc = at_node(b, list->item[i], hone_space_constrain(b->space, text, b->err));
        if (!rc) rc = note_constraint(b, list->item[i], b->space->n_constraints);
        if (rc) return rc;
    }
    return HONE_OK;
}

static hone_rc add_parts(build *b, const hn_ynode *parameters, const hn_ynode *constraints) {
    if (!is_empty(parameters) && parameters->kind != HN_Y_MAP)
        return hn_yaml_fail(b->doc, parameters, b->err, "parameters must be a map of names");
    for (size_t i = 0; !is_empty(parameters) && i < parameters->n; i++) {
        hone_rc rc = add_param(b, parameters->key[i], parameters->item[i]);
        if (rc) return rc;
    }
    return is_empty(constraints) ? HONE_OK : add_constraints(b, constraints);
}

static hone_rc seal(build *b, const hn_ynode *fallback) {
    hn_blame blame;
    hone_rc rc = hn_space_seal(b->space, &blame, b->err);
    if (!rc) return HONE_OK;
    const hn_ynode *x = fallback;
    const char *text = NULL, *what = "condition";
    if (blame.part == HN_BLAME_WHEN) {
        x = b->when[blame.index];
        text = b->space->param[blame.index].when;
    } else if (blame.part == HN_BLAME_CONSTRAINT) {
        x = b->constraint[blame.index];
        text = b->space->constraint[blame.index];
        what = "constraint";
    }
    if (text && b->err) hn_context(b->err, "%s '%.200s': ", what, text);
    return x ? at_node(b, x, rc) : rc;
}

hone_rc hn_space_from_yaml(const hn_yaml *doc, const hn_ynode *parameters, const hn_ynode *constraints,
                           const char *name, hone_space **out, hone_err *err) {
    hn_arena scratch = {0};
    build b = {.doc = doc, .scratch = &scratch, .err = err};
    hone_rc rc = hone_space_new(name, &b.space, err);
    if (!rc) rc = add_parts(&b, parameters, constraints);
    if (!rc) rc = seal(&b, parameters);
    hn_arena_free(&scratch);
    if (rc)
        hone_space_free(b.space);
    else
        *out = b.space;
    return rc;
}

/* --- files --------------------------------------------------------------------------------------------------- */

static hone_rc read_root(const hn_yaml *doc, hone_space **out, hone_err *err) {
    static const char *const keys[] = {"hone-space", "name", "parameters", "constraints"};
    const hn_ynode *root = hn_yaml_root(doc), *node = hn_yaml_get(root, "name");
    const char *name = "";
    int64_t version;
    hone_rc rc = hn_yaml_check_keys(doc, root, "a space file", keys, N(keys), err);
    if (rc) return rc;
    const hn_ynode *at = hn_yaml_get(root, "hone-space");
    if (!at) return hn_yaml_fail(doc, root, err, "this is no space file: 'hone-space: %d' is missing", FORMAT_VERSION);
    rc = hn_yaml_int(doc, at, &version, err);
    if (!rc && version != FORMAT_VERSION)
        rc = hn_yaml_fail(doc, at, err, "space file version %lld; this hone reads version %d", (long long)version,
                          FORMAT_VERSION);
    if (!rc && node) rc = hn_yaml_text(doc, node, &name, err);
    if (!rc && is_empty(hn_yaml_get(root, "parameters")))
        rc = hn_yaml_fail(doc, root, err, "the space has no parameters");
    if (rc) return rc;
    return hn_space_from_yaml(doc, hn_yaml_get(root, "parameters"), hn_yaml_get(root, "constraints"), name, out, err);
}

static hone_rc from_document(hn_yaml *doc, hone_space **out, hone_err *err) {
    hone_rc rc = read_root(doc, out, err);
    hn_yaml_free(doc);
    return rc;
}

hone_rc hone_space_load(const char *path, hone_space **out, hone_err *err) {
    hn_yaml *doc;
    hone_rc rc = hn_yaml_load(path, &doc, err);
    return rc ? rc : from_document(doc, out, err);
}

hone_rc hone_space_parse(const char *text, size_t n, const char *label, hone_space **out, hone_err *err) {
    hn_yaml *doc;
    hone_rc rc = hn_yaml_parse(text, n, label, &doc, err);
    return rc ? rc : from_document(doc, out, err);
}
