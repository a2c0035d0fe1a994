/* controls/stages.c — a compiler's call as the stages of a controls file's passes, for `hone cc`. */
#include "base/err.h"
#include "controls/key.h"
#include "target/opt.h"

#include <string.h>

/* Numbers of passes mean something in the pipeline of the proof alone. */
static hone_rc find_opt(const hone_controls *c, const char *compiler, hn_arena *a, hn_opt *out, hone_err *err) {
    const char *why, *then = hn_pair_get(c->passes, c->n_passes, "version"),
                     *pipeline = hn_pair_get(c->passes, c->n_passes, "pipeline");
    if (!hn_opt_find(a, compiler, out, &why)) return hn_fail(err, HONE_E_STALE, "%s", why);
    if (then && strcmp(then, out->version) != 0)
        return hn_fail(err, HONE_E_STALE,
                       "the passes were proven with opt %s, and '%s' is %s; search anew: hone retune", then,
                       out->command, out->version);
    if (!pipeline || strcmp(pipeline, out->text_hash) != 0)
        return hn_fail(err, HONE_E_STALE, "'%s' has another pipeline than that of the proof; search anew: hone retune",
                       out->command);
    return HONE_OK;
}

hone_rc hone_controls_stages(const hone_controls *c, const char *const *argv, size_t n, char **shell, hone_err *err) {
    hn_arena a = {0};
    hn_str s = {0};
    hn_opt opt;
    const char *pipeline = NULL, *edits = hn_pair_get(c->passes, c->n_passes, "edits");
    if (!c->n_passes || !hn_opt_compiles(argv, n)) {
        *shell = NULL;
        return HONE_OK;
    }
    hone_rc rc = find_opt(c, argv[0], &a, &opt, err);
    if (!rc) rc = hn_opt_pipeline(&opt, edits ? edits : "", &a, &pipeline, err);
    if (!rc) rc = hn_opt_stages(&opt, pipeline, argv, n, &a, &s, err);
    char *text = rc ? NULL : hn_str_take(&s);
    hn_str_free(&s);
    hn_arena_free(&a);
    if (!rc && !text) rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!rc) *shell = text;
    return rc;
}
