/* space_diff.c — what was added, removed or changed from one space to another. */
#include "space_diff.h"

#include <stdlib.h>
#include <string.h>

/* What gives a parameter its meaning, in one line. */
static char *describe(const hone_param *p) {
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    if (!f) return cli_strdup("");
    fputs(cli_kind_name(p->kind), f);
    if (p->kind == HONE_INT || p->kind == HONE_FLOAT) fprintf(f, " %.10g..%.10g", p->lo, p->hi);
    if (p->step > 0) fprintf(f, " step %.10g", p->step);
    if (p->log) fputs(" log", f);
    for (size_t i = 0; i < p->n_values; i++) fprintf(f, "%s%s", i ? ", " : " {", p->values[i]);
    if (p->n_values) fputc('}', f);
    if (p->optional) fputs(" optional", f);
    if (p->when) fprintf(f, " when %s", p->when);
    fclose(f);
    return text;
}

typedef struct difference {
    char sign; /* - only in the first, + only in the second, ~ in both, but not alike */
    const char *what, *name;
    char *a, *b; /* descriptions, NULL where there is none */
} difference;
typedef struct differences {
    difference *item;
    size_t n, room;
} differences;

static void note(differences *d, char sign, const char *what, const char *name, char *a, char *b) {
    d->item = cli_grow(d->item, &d->room, d->n, sizeof *d->item);
    d->item[d->n++] = (difference){sign, what, name, a, b};
}

static void compare_params(const hone_space *a, const hone_space *b, differences *d) {
    for (size_t i = 0; i < hone_space_n_params(a); i++) {
        const hone_param *p = hone_space_param(a, i);
        size_t k = hone_space_find(b, p->name);
        char *mine = describe(p), *other = k == SIZE_MAX ? NULL : describe(hone_space_param(b, k));
        if (!other)
            note(d, '-', "parameter", p->name, mine, NULL);
        else if (strcmp(mine, other) != 0)
            note(d, '~', "parameter", p->name, mine, other);
        else
            free(mine), free(other);
    }
    for (size_t i = 0; i < hone_space_n_params(b); i++) {
        const hone_param *p = hone_space_param(b, i);
        if (hone_space_find(a, p->name) == SIZE_MAX) note(d, '+', "parameter", p->name, NULL, describe(p));
    }
}

static bool has_constraint(const hone_space *space, const char *text) {
    for (size_t i = 0; i < hone_space_n_constraints(space); i++)
        if (strcmp(hone_space_constraint(space, i), text) == 0) return true;
    return false;
}

static void compare_constraints(const hone_space *a, const hone_space *b, char sign, differences *d) {
    for (size_t i = 0; i < hone_space_n_constraints(a); i++) {
        const char *text = hone_space_constraint(a, i);
        if (!has_constraint(b, text)) note(d, sign, "constraint", text, NULL, NULL);
    }
}

static void differences_json(cli *c, const differences *d) {
    cli_json j = cli_json_begin(c, false);
    cli_json_object(&j);
    cli_json_kbool(&j, "equal", d->n == 0);
    cli_json_key(&j, "differences");
    cli_json_array(&j);
    for (size_t i = 0; i < d->n; i++) {
        const difference *x = &d->item[i];
        cli_json_object(&j);
        cli_json_ktext(&j, "change", x->sign == '-' ? "removed" : x->sign == '+' ? "added" : "changed");
        cli_json_ktext(&j, "what", x->what);
        cli_json_ktext(&j, "name", x->name);
        cli_json_ktext(&j, "before", x->a);
        cli_json_ktext(&j, "after", x->b);
        cli_json_close(&j);
    }
    cli_json_end(&j);
}

static void differences_text(const cli *c, const differences *d) {
    for (size_t i = 0; i < d->n; i++) {
        const difference *x = &d->item[i];
        cli_ink ink = x->sign == '-' ? CLI_RED : x->sign == '+' ? CLI_GREEN : CLI_YELLOW;
        char *line = cli_format("%c %s %s%s%s%s%s", x->sign, x->what, x->name, x->a || x->b ? ": " : "",
                                x->a ? x->a : "", x->a && x->b ? " -> " : "", x->b ? x->b : "");
        printf("%s", cli_paint(c->color_out, ink));
        cli_put(c, stdout, line, 0);
        printf("%s\n", cli_paint(c->color_out, CLI_PLAIN));
        free(line);
    }
    if (!d->n) printf("equal\n");
}

hone_rc cli_space_diff(cli *c, const hone_space *a, const char *other, hone_err *err) {
    cli_subject s;
    differences d = {0};
    hone_rc rc = cli_subject_open(c, other, cli_given(c, "all"), cli_given(c, "numeric"), &s, err);
    if (rc) return rc;
    compare_params(a, s.space, &d);
    compare_constraints(a, s.space, '-', &d);
    compare_constraints(s.space, a, '+', &d);
    if (c->json)
        differences_json(c, &d);
    else
        differences_text(c, &d);
    c->exit_code = d.n ? hone_rc_exit(HONE_E_FAILED) : 0;
    for (size_t i = 0; i < d.n; i++) free(d.item[i].a), free(d.item[i].b);
    free(d.item);
    cli_subject_close(&s);
    return HONE_OK;
}
