/* cmd_space.c — `hone space`: print, count, validate, diff. */
#include "space_diff.h"

#include <hone/space.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- print ---------------------------------------------------------------------------------------------------- */

const char *cli_kind_name(hone_kind kind) {
    static const char *const name[] = {"flag", "int", "float", "choice", "ordinal", "permutation", "literal"};
    return name[kind];
}

static bool listed(const hone_param *p) { return p->n_values > 0; }

static void range_json(cli_json *j, const hone_param *p) {
    cli_json_knumber(j, "lo", p->lo);
    cli_json_knumber(j, "hi", p->hi);
    if (p->step > 0) cli_json_knumber(j, "step", p->step);
    cli_json_kbool(j, "log", p->log);
}

static void values_json(cli_json *j, const hone_param *p) {
    cli_json_key(j, "values");
    cli_json_array(j);
    for (size_t i = 0; i < p->n_values; i++) cli_json_text(j, p->values[i]);
    cli_json_close(j);
}

static void default_json(cli_json *j, const hone_param *p) {
    cli_json_key(j, "default");
    bool index = p->kind == HONE_CHOICE || p->kind == HONE_ORDINAL;
    if (index && p->dflt >= 0 && p->dflt < (double)p->n_values)
        cli_json_text(j, p->values[(size_t)p->dflt]);
    else if (p->kind == HONE_FLAG && !isnan(p->dflt))
        cli_json_bool(j, p->dflt > 0);
    else if (p->kind == HONE_LITERAL && p->n_values)
        cli_json_text(j, p->values[0]);
    else
        cli_json_number(j, p->kind == HONE_PERMUTATION ? NAN : p->dflt);
}

static void param_json(cli_json *j, const hone_param *p) {
    cli_json_object(j);
    cli_json_ktext(j, "name", p->name);
    cli_json_ktext(j, "kind", cli_kind_name(p->kind));
    if (p->kind == HONE_INT || p->kind == HONE_FLOAT) range_json(j, p);
    if (listed(p)) values_json(j, p);
    default_json(j, p);
    cli_json_kbool(j, "optional", p->optional);
    cli_json_knumber(j, "knockout", p->knockout);
    cli_json_ktext(j, "when", p->when);
    cli_json_ktext(j, "tag", p->tag);
    cli_json_ktext(j, "doc", p->doc);
    cli_json_close(j);
}

static void head_json(cli_json *j, const hone_space *space) {
    char hash[33];
    hone_space_hash(space, hash);
    cli_json_ktext(j, "name", hone_space_name(space));
    cli_json_ktext(j, "hash", hash);
}

static hone_rc print(cli *c, const hone_space *space, hone_err *err) {
    char *text;
    if (!c->json) {
        hone_rc rc = hone_space_print(space, &text, err);
        if (rc) return rc;
        fputs(text, stdout);
        hone_free(text);
        return HONE_OK;
    }
    cli_json j = cli_json_begin(c, false);
    cli_json_object(&j);
    head_json(&j, space);
    cli_json_key(&j, "parameters");
    cli_json_array(&j);
    for (size_t i = 0; i < hone_space_n_params(space); i++) param_json(&j, hone_space_param(space, i));
    cli_json_close(&j);
    cli_json_key(&j, "constraints");
    cli_json_array(&j);
    for (size_t i = 0; i < hone_space_n_constraints(space); i++) cli_json_text(&j, hone_space_constraint(space, i));
    cli_json_end(&j);
    return HONE_OK;
}

/* --- count, validate ------------------------------------------------------------------------------------------ */

static bool continuous(const hone_space *space) {
    for (size_t i = 0; i < hone_space_n_params(space); i++) {
        const hone_param *p = hone_space_param(space, i);
        if (p->kind == HONE_FLOAT && p->hi > p->lo && !(p->step > 0)) return true;
    }
    return false;
}

static void put_size(const hone_space *space) {
    size_t n = hone_space_n_params(space), m = hone_space_n_constraints(space);
    printf("%zu parameter%s, %zu constraint%s", n, n == 1 ? "" : "s", m, m == 1 ? "" : "s");
}

static hone_rc count(cli *c, const hone_space *space, hone_err *err) {
    hone_count n;
    char a[CLI_TEXT_N], b[CLI_TEXT_N];
    hone_rc rc = hone_space_size(space, cli_count(c, "seed", 0), &n, err);
    if (rc) return rc;
    if (c->json) {
        cli_json j = cli_json_begin(c, false);
        cli_json_object(&j);
        head_json(&j, space);
        cli_json_kcount(&j, "parameters", hone_space_n_params(space));
        cli_json_kcount(&j, "constraints", hone_space_n_constraints(space));
        cli_json_knumber(&j, "points", n.n); /* null: infinitely many */
        cli_json_knumber(&j, "points_lo", n.lo);
        cli_json_knumber(&j, "points_hi", n.hi);
        cli_json_kbool(&j, "exact", n.exact);
        cli_json_kbool(&j, "infinite", isinf(n.n) != 0);
        cli_json_knumber(&j, "legal_share", n.density);
        cli_json_end(&j);
        return HONE_OK;
    }
    if (isinf(n.n))
        printf("%s legal points\n", continuous(space) ? "infinitely many" : "more than 10^308");
    else if (n.exact)
        printf("%s legal point%s (exact)\n", cli_text_number(n.n, a), n.n == 1 ? "" : "s");
    else if (n.density == 0)
        printf("fewer than %s legal points (95 %%): no random draw was legal\n", cli_text_number(n.hi, a));
    else
        printf("about %s legal points (95 %%: %s to %s)\n", cli_text_number(n.n, a), cli_text_number(n.lo, b),
               cli_text_number(n.hi, (char[CLI_TEXT_N]){0}));
    put_size(space);
    printf("; %s%.3g %% of all combinations are legal\n", n.exact ? "" : "about ", 100 * n.density);
    return HONE_OK;
}

/* A space that was opened is well-formed; what is left is whether it holds a point. */
static hone_rc validate(cli *c, const cli_subject *s, const char *label, hone_err *err) {
    hone_err why = {0};
    double *point = cli_alloc(hone_space_slots(s->space), sizeof *point);
    hone_rc rc = hone_space_sample(s->space, 0, false, point, err);
    hone_space_default(s->space, point);
    bool legal = hone_point_legal(s->space, point, &why);
    free(point);
    if (rc) return rc;
    if (c->json) {
        cli_json j = cli_json_begin(c, false);
        cli_json_object(&j);
        head_json(&j, s->space);
        cli_json_ktext(&j, "kind", s->kind);
        cli_json_kbool(&j, "valid", true);
        cli_json_kbool(&j, "default_legal", legal);
        cli_json_ktext(&j, "default_why", legal ? NULL : why.text);
        cli_json_end(&j);
        return HONE_OK;
    }
    printf("%s: valid %s, ", label, s->kind);
    put_size(s->space);
    putchar('\n');
    if (!legal) fprintf(stderr, "hone: warning: the default point is not legal: %s\n", why.text);
    return HONE_OK;
}

/* --- the command ---------------------------------------------------------------------------------------------- */

static const char *const actions[] = {"print", "count", "validate", "diff"};
enum { PRINT, COUNT, VALIDATE, DIFF, N_ACTIONS };

static int action_of(const char *word) {
    for (int i = 0; i < N_ACTIONS; i++)
        if (strcmp(actions[i], word) == 0) return i;
    return -1;
}

/* "ACTION SUBJECT [OTHER]" or "SUBJECT ACTION [OTHER]", whichever way it is typed; SUBJECT may be left out. */
static hone_rc read_words(const cli *c, int *action, const char *subject[2], hone_err *err) {
    size_t n = 0;
    *action = -1;
    for (size_t i = 0; i < c->n_args; i++) {
        int found = *action < 0 && i < 2 ? action_of(c->arg[i]) : -1;
        if (found >= 0)
            *action = found;
        else if (n < 2)
            subject[n++] = c->arg[i];
        else
            return cli_fail(err, HONE_E_USAGE, "'%s' is one word too many; `hone help space` shows the forms",
                            c->arg[i]);
    }
    if (*action < 0) *action = PRINT;
    if (*action == DIFF && n == 1) subject[1] = subject[0], subject[0] = "hone.yaml", n = 2;
    if (*action == DIFF && n < 2) return cli_fail(err, HONE_E_USAGE, "'hone space diff' needs two spaces to compare");
    if (*action != DIFF && n > 1) {
        const char *near = cli_nearest(subject[1], actions, N_ACTIONS);
        if (!near) near = cli_nearest(subject[0], actions, N_ACTIONS);
        return cli_fail(err, HONE_E_USAGE, "'hone space %s' takes one space, but '%s' is given too%s%s%s",
                        actions[*action], subject[1], near ? "; did you mean '" : "", near ? near : "",
                        near ? "'?" : "");
    }
    return HONE_OK;
}

static hone_rc run_space(cli *c, hone_err *err) {
    cli_subject s;
    const char *subject[2] = {"hone.yaml", NULL};
    int action;
    hone_rc rc = read_words(c, &action, subject, err);
    if (rc) return rc;
    if ((rc = cli_subject_open(c, subject[0], cli_given(c, "all"), cli_given(c, "numeric"), &s, err))) return rc;
    if (action == PRINT) rc = print(c, s.space, err);
    if (action == COUNT) rc = count(c, s.space, err);
    if (action == VALIDATE) rc = validate(c, &s, subject[0], err);
    if (action == DIFF) rc = cli_space_diff(c, s.space, subject[1], err);
    cli_subject_close(&s);
    return rc;
}

static const cli_option options[] = {
    {"all", 0, CLI_FLAG, NULL, 0, 0, "of a compiler: every control, not the curated set"},
    {"numeric", 0, CLI_FLAG, NULL, 0, 0, "of a compiler: also controls that may change floating-point results"},
    {"seed", 0, CLI_COUNT, "N", 0, 0, "count: seed of the estimate (default 0)"},
    {0},
};

const cli_command cli_cmd_space = {
    "space",
    "Explore",
    "[print|count|validate|diff] [SPACE|WORKLOAD|COMPILER] [OTHER]",
    "print, count, validate or compare search spaces",
    "Looks at a search space: that of a space file, of a workload (default: hone.yaml here), or of a compiler, which "
    "is "
    "asked for its controls.\n\n"
    "`print` writes it as a space file, `count` says how many legal points it holds, `validate` checks that it can be "
    "read and is not empty, `diff` lists what was added, removed or changed from one space to the other and exits with "
    "1 if anything was. The action may come before or after the space; left out it is print.",
    options,
    "hone space count\thow large the space of hone.yaml is\n"
    "hone space print gcc-12 > gcc.yaml\tthe controls of a compiler as a space file\n"
    "hone space diff gcc-11 gcc-12\twhat a newer compiler brings\n",
    0,
    3,
    run_space,
};
