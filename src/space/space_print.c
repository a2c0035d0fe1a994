/* space/space_print.c — a space as YAML (docs/space-file.md), and its hash. */
#include "base/err.h"
#include "base/str.h"
#include "base/yaml.h"
#include "space/space_int.h"

#include <math.h>
#include <string.h>

static void add_number(hn_str *s, double x) {
    char text[32];
    hn_str_add(s, hn_double_text(x, text));
}

/* A number as it is, the word for absence in quotes, other texts as YAML needs them. */
static void add_value(hn_str *s, const char *text) {
    double v;
    if (hone_space_number(text, &v))
        hn_str_add(s, text);
    else if (!strcmp(text, "absent"))
        hn_str_add(s, "\"absent\"");
    else
        hn_yaml_add_scalar(s, text);
}

static void add_range(hn_str *s, const hone_param *p) {
    hn_str_add(s, ", range: [");
    add_number(s, p->lo);
    hn_str_add(s, ", ");
    add_number(s, p->hi);
    hn_str_add(s, "]");
    if (p->step > 0) {
        hn_str_add(s, ", step: ");
        add_number(s, p->step);
    }
    if (p->log) hn_str_add(s, ", log: true");
    if (!p->has_seed) return;
    hn_str_add(s, ", seed: [");
    add_number(s, p->seed_lo);
    hn_str_add(s, ", ");
    add_number(s, p->seed_hi);
    hn_str_add(s, "]");
}

static void add_values(hn_str *s, const hone_param *p) {
    hn_str_add(s, p->kind == HONE_LITERAL ? ", value: " : ", values: [");
    for (size_t i = 0; i < p->n_values; i++) {
        if (i) hn_str_add(s, ", ");
        add_value(s, p->values[i]);
    }
    if (p->kind != HONE_LITERAL) hn_str_add(s, "]");
}

static void add_default(hn_str *s, const hone_param *p) {
    bool ranged = p->kind == HONE_INT || p->kind == HONE_FLOAT;
    if (isnan(p->dflt)) return; /* what an optional parameter has without a default */
    bool sole = p->kind == HONE_LITERAL || p->kind == HONE_PERMUTATION;
    if (sole && !p->optional) return;
    hn_str_add(s, ", default: ");
    if (ranged)
        add_number(s, p->dflt);
    else if (p->kind == HONE_FLAG)
        hn_str_add(s, p->dflt != 0 ? "on" : "off");
    else if (p->kind != HONE_PERMUTATION)
        add_value(s, p->values[(size_t)p->dflt]);
    else
        for (size_t i = 0; i <= p->n_values; i++) {
            if (i == p->n_values) {
                hn_str_add(s, "]");
                break;
            }
            hn_str_add(s, i ? ", " : "[");
            add_value(s, p->values[i]);
        }
}

static void add_text(hn_str *s, const char *key, const char *text) {
    if (!text || !*text) return;
    hn_str_addf(s, ", %s: ", key);
    hn_yaml_add_scalar(s, text);
}

static void add_param(hn_str *s, const hone_param *p) {
    static const char *const type[] = {"flag", "int", "float", "choice", "ordinal", "permutation", "literal"};
    hn_str_add(s, "  ");
    hn_yaml_add_scalar(s, p->name);
    hn_str_addf(s, ": {type: %s", type[p->kind]);
    if (p->kind == HONE_INT || p->kind == HONE_FLOAT)
        add_range(s, p);
    else if (p->kind != HONE_FLAG)
        add_values(s, p);
    if (p->optional) {
        hn_str_add(s, ", optional: true, knockout: ");
        add_number(s, p->knockout);
    }
    add_default(s, p);
    add_text(s, "when", p->when);
    add_text(s, "doc", p->doc);
    add_text(s, "tag", p->tag);
    hn_str_add(s, "}\n");
}

hone_rc hone_space_print(const hone_space *space, char **text, hone_err *err) {
    hn_str s = {0};
    hn_str_add(&s, "hone-space: 1\n");
    if (*space->name) {
        hn_str_add(&s, "name: ");
        hn_yaml_add_scalar(&s, space->name);
        hn_str_add(&s, "\n");
    }
    hn_str_add(&s, space->n_params ? "parameters:\n" : "parameters: {}\n");
    for (size_t i = 0; i < space->n_params; i++) add_param(&s, &space->param[i]);
    if (space->n_constraints) hn_str_add(&s, "constraints:\n");
    for (size_t i = 0; i < space->n_constraints; i++) {
        hn_str_add(&s, "  - ");
        hn_yaml_add_scalar(&s, space->constraint[i]);
        hn_str_add(&s, "\n");
    }
    char *out = hn_str_take(&s);
    if (!out) return hn_fail(err, HONE_E_NOMEM, "out of memory printing space '%s'", space->name);
    *text = out;
    return HONE_OK;
}

/* --- hash ---------------------------------------------------------------------------------------------------- */

static void hash_number(hn_hash *h, double x) {
    char text[32];
    hn_hash_text(h, hn_double_text(x, text));
}

/* The order of parameters counts (it gives slots their meaning), as does the order of values and of constraints. The
 * space's name and `log`, which only sets the scale, do not. */
void hone_space_hash(const hone_space *space, char hex[33]) {
    hn_hash h;
    hn_hash_begin(&h);
    hn_hash_text(&h, "hone-space-1");
    hash_number(&h, (double)space->n_params);
    for (size_t i = 0; i < space->n_params; i++) {
        const hone_param *p = &space->param[i];
        const hn_gene *g = &space->gene[i];
        hn_hash_text(&h, p->name);
        hash_number(&h, (double)p->kind * 2 + p->optional);
        hash_number(&h, g->lo);
        hash_number(&h, g->hi);
        hash_number(&h, g->step);
        hash_number(&h, (double)p->n_values);
        for (size_t k = 0; k < p->n_values; k++) hn_hash_text(&h, p->values[k]);
        hn_hash_text(&h, p->when);
    }
    hash_number(&h, (double)space->n_constraints);
    for (size_t i = 0; i < space->n_constraints; i++) hn_hash_text(&h, space->constraint[i]);
    hn_hash_end(&h, hex);
}
