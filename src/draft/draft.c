/* draft/draft.c — from any of the three beginnings to a tried text. */
#include "draft/draft_int.h"

#include "base/err.h"
#include "base/options.h"

#include <hone/tune.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static hone_rc draft_program(hn_arena *a, hn_project *p, const char *root, const hone_draft_options *o, hn_drafted *d,
                             hone_err *err) {
    const hn_line *link = NULL;
    hn_made made;
    hone_rc rc = hn_project_read(a, p, NULL, err);
    if (!rc) rc = hn_project_choose(a, p, o->program, o->run, &link, err);
    if (rc == HONE_E_NOTFOUND && o->program && p->kind != HN_PROJECT_COMPILE_DB) { /* not made by default, but known? */
        hone_err why = {0};
        hone_rc again = hn_project_read(a, p, o->program, &why);
        if (!again && !hn_project_choose(a, p, o->program, o->run, &link, &why)) rc = HONE_OK;
    }
    if (!rc) rc = hn_project_flatten(a, p, link, &made, err);
    if (!rc) rc = hn_draft_program(a, p, &made, root, o, d, err);
    return rc;
}

/* Plain calls of a compiler that make one program are drafted as a project's are; false: they are not, or not whole. */
static bool draft_calls(hn_arena *a, const char *root, const hone_draft_options *o, hn_drafted *d) {
    const hn_line *link = NULL;
    hn_project p;
    hn_made made;
    hone_err why = {0};
    hone_draft_options all = *o;
    all.no_try = false; /* what is not there is left to the text */
    if (hn_project_take_calls(a, &p, o->build) && !hn_project_choose(a, &p, NULL, o->run, &link, &why) &&
        !hn_project_flatten(a, &p, link, &made, &why) && !hn_draft_program(a, &p, &made, root, &all, d, &why))
        return true;
    hn_drafted_free(d);
    *d = (hn_drafted){0};
    return false;
}

/* Of a build command that is wrapped, what the run needs is not known to be a source: all of the folder is. */
static hone_rc draft_command(hn_arena *a, const char *root, const hone_draft_options *o, hn_drafted *d, hone_err *err) {
    if (draft_calls(a, root, o, d)) return HONE_OK;
    hone_rc rc = hn_draft_read_build(a, o->build, d, err);
    if (!rc && o->run && d->program) hn_draft_run(a, root, d->program, o->run, d, !d->wrapped);
    return rc;
}

static hone_rc draft_from(hn_arena *a, const char *root, const hone_draft_options *o, hn_drafted *d, hone_err *err) {
    hn_project p;
    hone_rc rc = hn_project_find(a, o->from, &p, err);
    if (rc) return rc;
    return p.kind == HN_PROJECT_CARGO ? hn_draft_cargo(a, &p, root, o, d, err) : draft_program(a, &p, root, o, d, err);
}

static hone_rc draft_text(const hone_draft_options *o, char **text, hone_err *err) {
    hn_arena a = {0};
    hn_drafted d = {0};
    char *root = realpath(o->dir ? o->dir : ".", NULL);
    hone_rc rc = !root     ? hn_fail(err, HONE_E_IO, "cannot open '%s': %s", o->dir ? o->dir : ".", strerror(errno))
                 : o->from ? draft_from(&a, root, o, &d, err)
                           : draft_command(&a, root, o, &d, err);
    if (!rc) rc = hn_arena_ok(&a) ? hn_draft_write(&d, text, err) : hn_fail(err, HONE_E_NOMEM, "out of memory");
    hn_drafted_free(&d);
    hn_arena_free(&a);
    free(root);
    return rc;
}

/* The names go into one block with the array. */
static bool keep_metrics(const hn_tried *t, hone_draft *out) {
    size_t bytes = 1;
    for (size_t i = 0; i < t->n_metrics; i++) bytes += strlen(t->metric[i].name) + 1;
    out->metric = calloc(1, (t->n_metrics + 1) * sizeof *out->metric + bytes);
    if (!out->metric) return false;
    char *at = (char *)(out->metric + t->n_metrics + 1);
    for (size_t i = 0; i < t->n_metrics; i++) {
        out->metric[i] = t->metric[i];
        out->metric[i].name = at;
        at = stpcpy(at, t->metric[i].name) + 1;
    }
    out->n_metrics = t->n_metrics;
    out->block = out->metric;
    return true;
}

static char *words_of_changes(const hn_tried *seen) {
    hn_str s = {0};
    hn_str_add(&s, "");
    if (seen->differs) hn_str_addf(&s, "two runs printed different text, first in the line '%.60s'; ", seen->differs);
    if (seen->differs && !seen->n_changing) hn_str_add(&s, "outputs are not compared (parity: none)");
    for (size_t i = 0; i < seen->n_changing; i++)
        hn_str_addf(&s, "%s'%s'", i ? ", " : "compared are all lines but those that begin with ", seen->changing[i]);
    return hn_str_take(&s);
}

static hone_rc try_it(const hone_draft_options *o, hone_draft *d, hone_err *err) {
    hn_tried seen;
    char *text = NULL;
    hone_rc rc = hn_draft_try(d->text, o, &seen, err);
    if (rc) return rc;
    bool fine = seen.tried && !seen.fault.n;
    if (fine) rc = hn_draft_offer(d->text, &seen, o->metric, &text, err);
    if (text) {
        free(d->text);
        d->text = text;
    }
    d->tried = seen.tried;
    d->build_s = seen.build_s;
    d->run_s = seen.run_s;
    free(d->fault);
    free(d->changes);
    d->fault = hn_str_take(&seen.fault);
    d->changes = words_of_changes(&seen);
    if (!rc && (!d->fault || !d->changes || !keep_metrics(&seen, d))) rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
    hn_tried_free(&seen);
    return rc;
}

hone_rc hone_draft_make(const hone_draft_options *options, hone_draft *out, hone_err *err) {
    hone_draft_options o = hone_draft_defaults();
    hone_draft d = {0};
    hone_rc rc = hn_options_read(&o, sizeof o, options, "draft", err);
    if (rc) return rc;
    if (!!o.source + !!o.build + !!o.from != 1)
        return hn_fail(err, HONE_E_USAGE, "name one of a source file, a build command, and a project");
    rc = o.source ? hone_workload_draft(o.source, NULL, &d.text, err) : draft_text(&o, &d.text, err);
    if (!rc && (!(d.fault = strdup("")) || !(d.changes = strdup("")))) rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!rc && !o.no_try) rc = try_it(&o, &d, err);
    if (rc)
        hone_draft_free(&d);
    else
        *out = d;
    return rc;
}

void hone_draft_free(hone_draft *draft) {
    if (!draft) return;
    free(draft->text);
    free(draft->fault);
    free(draft->changes);
    free(draft->block);
    *draft = (hone_draft){0};
}
