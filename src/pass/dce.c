/* pass/dce.c — removes nodes and results that nobody uses, see hn_sweep. What defines a symbol stays as long as a type
 * in use mentions it. */
#include "pass/passes.h"

static hone_rc run(hn_graph *g, hn_pass_ctx *ctx, hone_err *err) {
    (void)err;
    ctx->n_rewrites += hn_sweep(g);
    return HONE_OK;
}

const hn_pass hn_pass_dce = {
    .name = "dce",
    .summary = "remove what nobody uses",
    .gives = HN_FACT_NO_DEAD,
    .run = run,
};
