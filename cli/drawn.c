/* drawn.c — see drawn.h. */
#include "drawn.h"

#include <hone/inputs.h>

#include <stdlib.h>
#include <string.h>

static size_t count_sizes(const char *text) {
    size_t n = text && *text;
    for (const char *p = text; p && (p = strchr(p, ',')); p++) n++;
    return n;
}

static hone_rc draw_for_library(const cli *c, const hone_model *m, uint64_t seed, cli_arrays *in, cli_drawn *out,
                                hone_err *err) {
    const char *given = cli_text(c, "size", NULL);
    hone_rc rc = hone_inputs_accepted(m, given, seed, &out->sizes, err);
    if (!rc) rc = cli_arrays_random(m, *out->sizes ? out->sizes : NULL, seed, in, err);
    out->partial = count_sizes(out->sizes) > count_sizes(given);
    return rc;
}

hone_rc cli_drawn_of(const cli *c, const hone_graph *g, const hone_model *m, uint64_t seed, cli_arrays *in,
                     cli_drawn *out, hone_err *err) {
    const char *given = cli_text(c, "size", NULL);
    *out = (cli_drawn){0};
    hone_rc rc = hone_inputs_sizes(g, given, &out->sizes, err);
    if (!rc) rc = cli_arrays_random(m, out->sizes, seed, in, err);
    if (!rc) rc = hone_inputs_fill(g, seed, in->a, &out->said, err);
    out->partial = count_sizes(out->sizes) > count_sizes(given);
    return rc;
}

hone_rc cli_drawn_arrays(const cli *c, const char *path, const hone_model *m, uint64_t seed, cli_arrays *in,
                         cli_drawn *out, hone_err *err) {
    cli_compiling x;
    hone_graph *g = NULL;
    *out = (cli_drawn){0};
    if (!cli_is_model(path)) return draw_for_library(c, m, seed, in, out, err);
    cli_compiling_read(c, &x);
    hone_rc rc = cli_graph_open(path, &x, &g, err);
    cli_compiling_free(&x);
    if (!rc) rc = cli_drawn_of(c, g, m, seed, in, out, err);
    hone_graph_free(g);
    return rc;
}

void cli_drawn_put(const cli *c, const cli_drawn *d) {
    if (d->sizes && *d->sizes && d->partial) {
        printf("sizes: ");
        cli_put(c, stdout, d->sizes, 0);
        printf(" (usual ones that the model's relations allow; --size takes others)\n");
    }
    for (const char *at = d->said; at && *at; at = strchr(at, '\n') + 1) {
        char *line = cli_format("%.*s", (int)strcspn(at, "\n"), at);
        printf("input ");
        cli_put(c, stdout, line, 0);
        putchar('\n');
        free(line);
    }
}

void cli_drawn_json(cli_json *j, const cli_drawn *d) {
    if (d->sizes) cli_json_ktext(j, "sizes", d->sizes);
    cli_json_key(j, "drawn");
    cli_json_array(j);
    for (const char *at = d->said; at && *at; at = strchr(at, '\n') + 1) {
        char *line = cli_format("%.*s", (int)strcspn(at, "\n"), at);
        cli_json_text(j, line);
        free(line);
    }
    cli_json_close(j);
}

void cli_drawn_free(cli_drawn *d) {
    hone_free(d->sizes);
    hone_free(d->said);
}
