/* nest_text.c — hone/program.h: the loop nests of a graph's kernels as text. */
#include "artifact/artifact.h"
#include "base/options.h"
#include "compile/driver.h"

#include <hone/program.h>

static hone_rc nest_of(hn_model *m, const hn_kernel *k, bool scheduled, hone_program_nest *x, hn_str *text,
                       hone_err *why) {
    const hn_emit_how how = {
        .dialect = m->dialect, .machine = m->machine, .relaxed = m->options->relaxed, .nest = text};
    hn_kernel_code code = {0};
    hn_nest *n = NULL;
    hone_rc rc = HONE_OK;
    *x = (hone_program_nest){.kernel = k->name, .kind = k->kind};
    if (scheduled) {
        rc = hn_emit_kernel(m->g, k->body, k->kind, k->name, &how, &m->arena, &code, why);
        x->schedule = code.schedule;
    } else if (!(rc = hn_nest_lower(m->g, k->body, k->kind, &m->arena, &n, why))) {
        hn_nest_print(n, text);
    }
    if (rc == HONE_E_UNSUPPORTED || (!rc && !text->n)) {
        x->why = rc ? why->text : "it is written as a whole, without a nest";
        return HONE_OK;
    }
    x->text = text->text;
    if (!rc && text->failed) rc = hn_fail(why, HONE_E_NOMEM, "out of memory for the nest of '%s'", k->name);
    return rc;
}

hone_rc hone_program_nests(hone_graph *g, const char *name, const hone_compile_options *options, bool scheduled,
                           hone_program_nest_fn *fn, void *ctx, hone_err *err) {
    hone_compile_options o = hone_compile_defaults();
    hn_library l = {.options = &o};
    hone_rc rc = hn_options_read(&o, sizeof o, options, "compile", err);
    if (!rc) rc = hn_compile_kernels(&l, g, name, err);
    for (uint32_t i = 0; !rc && i < l.model[0].n_kernel; i++) {
        hn_str text = {0};
        hone_err why = {0};
        hone_program_nest x;
        rc = nest_of(&l.model[0], &l.model[0].kernel[i], scheduled, &x, &text, &why);
        rc = rc ? hn_fail(err, rc, "%s", why.text) : fn(ctx, &x, err);
        hn_str_free(&text);
    }
    hn_library_free(&l);
    return rc;
}
