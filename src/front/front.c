/* front.c — see front.h. */
#include "front/front.h"
#include "base/err.h"

static hone_rc check(const hn_front_source *from, hn_graph *g, hone_err *err) {
    const char *label = hn_front_label(from);
    hone_err why = {0};
    if (g->err.rc) return hn_fail(err, g->err.rc, "'%s': %s", label, g->err.text);
    if (!hn_arena_ok(&g->arena)) return hn_fail(err, HONE_E_NOMEM, "out of memory importing '%s'", label);
    hn_sweep(g);
    hone_rc rc = hn_verify(g, &why);
    if (rc == HONE_E_INPUT) rc = HONE_E_UNSUPPORTED; /* for example sizes that leave the region that defines them */
    return rc ? hn_fail(err, rc, "'%s' cannot be compiled: %s", label, why.text) : HONE_OK;
}

hone_rc hn_front_finish(const hn_front_source *from, hn_graph *g, hone_graph **out, hone_err *err) {
    hone_rc rc = check(from, g, err);
    if (rc) {
        hn_graph_free(g);
        return rc;
    }
    hn_graph_seal(g);
    *out = g;
    return HONE_OK;
}

hone_rc hn_front_inspect_graph(const hn_front_source *from, hn_front_import_fn *import, hn_model_summary *out,
                               hone_err *err) {
    const hone_import_options none = hone_import_defaults();
    hone_graph *g = NULL;
    char *report = NULL;
    hone_rc rc = import(from, &none, &g, &report, err);
    if (!rc) hn_summary_of_graph(g, out);
    hone_free(report);
    hone_graph_free(g);
    return rc;
}
