/* flags.c — two points as flags, and the difference. */
#include "flags.h"

#include <stdlib.h>
#include <string.h>

static void add(cli_lines *l, char *line) {
    l->line = cli_grow(l->line, &l->room, l->n, sizeof *l->line);
    l->line[l->n++] = line;
}

void cli_lines_free(cli_lines *l) {
    for (size_t i = 0; i < l->n; i++) free(l->line[i]);
    free(l->line);
    *l = (cli_lines){0};
}

static bool takes_next(const char *word) {
    return strcmp(word, "-mllvm") == 0 || strcmp(word, "--param") == 0 || strcmp(word, "-Xclang") == 0;
}

/* The flags of a point, those of two words joined; environment variables follow. */
static hone_rc flags_of(const hone_workload *w, const hone_space *space, const char *json, cli_lines *out,
                        hone_err *err) {
    hone_tune_options options = hone_tune_defaults();
    hone_command m;
    double *point = cli_alloc(hone_space_slots(space), sizeof *point);
    hone_rc rc = hone_point_from_json(space, json, point, err);
    if (!rc) rc = hone_workload_flags(w, space, point, &options, &m, err);
    free(point);
    if (rc) return rc;
    for (size_t i = 0; i < m.n_argv; i++)
        if (takes_next(m.argv[i]) && i + 1 < m.n_argv) {
            add(out, cli_format("%s %s", m.argv[i], m.argv[i + 1]));
            i++;
        } else
            add(out, cli_strdup(m.argv[i]));
    for (size_t i = 0; i < m.n_env; i++) add(out, cli_strdup(m.env[i]));
    if (m.pgo) add(out, cli_strdup("profile-guided"));
    if (m.post_link) add(out, cli_strdup(m.post_link));
    if (m.by_file) add(out, cli_strdup(m.by_file));
    if (m.passes) add(out, cli_format("passes by opt: %s", *m.passes ? m.passes : "as it prints them"));
    hone_command_free(&m);
    return HONE_OK;
}

static bool holds(const cli_lines *l, const char *line) {
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->line[i], line) == 0) return true;
    return false;
}

static void only_in(const cli_lines *a, const cli_lines *b, char sign, cli_lines *out) {
    for (size_t i = 0; i < a->n; i++)
        if (!holds(b, a->line[i])) add(out, cli_format("%c %s", sign, a->line[i]));
}

/* "a=1 order=[b, a]" cut into its settings; one that shows as -Da=1 already is left out. */
static void add_settings(char *text, const cli_lines *flags, cli_lines *out) {
    for (char *p = text; *p;) {
        size_t n = strcspn(p, " ");
        if (memchr(p, '[', n) && strchr(p, ']')) n = (size_t)(strchr(p, ']') + 1 - p);
        char *setting = cli_format("%.*s", (int)n, p), *define = cli_format("-D%s", setting);
        if (holds(flags, define))
            free(setting);
        else
            add(out, setting);
        free(define);
        p += n;
        p += *p == ' ';
    }
}

static hone_rc compare(const hone_workload *w, const cli_record *r, const char *point, const char *base, cli_lines *out,
                       cli_lines *flags) {
    hone_space *space;
    cli_lines old = {0};
    hone_rc rc = hone_space_parse(r->session.space_text, strlen(r->session.space_text), "the record", &space, NULL);
    if (rc) return rc;
    rc = flags_of(w, space, point, flags, NULL);
    if (!rc && base) rc = flags_of(w, space, base, &old, NULL);
    if (!rc) only_in(flags, &old, '+', out);
    if (!rc) only_in(&old, flags, '-', out);
    cli_lines_free(&old);
    hone_space_free(space);
    return rc;
}

void cli_flags_compare(const hone_workload *workload, const cli_record *r, const char *point, const char *base,
                       cli_lines *out) {
    cli_lines flags = {0};
    *out = (cli_lines){0};
    bool rendered = compare(workload, r, point, base, out, &flags) == HONE_OK;
    char *rest = cli_point_delta(point, base, rendered);
    add_settings(rest, &flags, out);
    free(rest);
    cli_lines_free(&flags);
}
