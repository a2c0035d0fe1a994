/* program_text.c — hone/program.h: a graph's program as text, and such a text read and verified. */
#include "artifact/artifact.h"
#include "base/fs.h"
#include "base/options.h"
#include "compile/driver.h"

#include <hone/program.h>

#include <stdlib.h>

static hone_rc give(const hn_program *p, char **text, hone_program_counts *counts, hone_err *err) {
    hn_str out = {0};
    hone_rc rc = hn_program_verify(p, err);
    if (rc) return rc;
    hn_program_print(p, &out);
    char *made = hn_str_take(&out);
    if (!made) return hn_fail(err, HONE_E_NOMEM, "out of memory for the program's text");
    *text = made;
    if (!counts) return HONE_OK;
    *counts = (hone_program_counts){.n_launches = hn_program_count(p, HN_STEP_LAUNCH),
                                    .n_copies = hn_program_count(p, HN_STEP_COPY),
                                    .arena_b = (uint64_t)p->arena_b};
    for (hn_val v = 1; v < p->n_value; v++) counts->n_values += p->value[v].where != HN_AT_NOWHERE;
    for (uint32_t b = 0; b < p->n_block; b++) counts->n_steps += p->block[b].n;
    return HONE_OK;
}

hone_rc hone_program_print(hone_graph *g, const char *name, const hone_compile_options *options, char **text,
                           hone_program_counts *counts, hone_err *err) {
    hone_compile_options o = hone_compile_defaults();
    hn_library l = {.options = &o};
    hone_rc rc = hn_options_read(&o, sizeof o, options, "compile", err);
    if (!rc) rc = hn_compile_kernels(&l, g, name, err);
    if (!rc) rc = hn_model_lower(&l.model[0], err);
    if (!rc) rc = give(&l.model[0].program, text, counts, err);
    hn_library_free(&l);
    return rc;
}

hone_rc hone_program_read(const char *path, char **text, hone_program_counts *counts, hone_err *err) {
    char *source = NULL;
    size_t n;
    hn_program p;
    hone_rc rc = hn_read_file(path, &source, &n, err);
    if (rc) return rc;
    rc = hn_program_parse(source, n, path, &p, err);
    if (!rc) rc = give(&p, text, counts, err);
    hn_program_free(&p);
    free(source);
    return rc;
}
