/* controls/remeasure.c — a controls file's claim against a fresh proof. */
#include "base/err.h"
#include "controls/check.h"

#include <hone/check.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The row over all inputs that were tuned on. */
static const hone_controls_row *claimed_row(const hone_controls *c, const char *quantity) {
    for (size_t i = 0; i < c->n_rows; i++)
        if (!c->row[i].held_out && !*c->row[i].input && !strcmp(c->row[i].objective, quantity)) return &c->row[i];
    return NULL;
}

/* Rejections that do not depend on the intervals. */
static bool fails(hone_proof_reject why) {
    return why == HONE_REJECT_FAILS || why == HONE_REJECT_PARITY || why == HONE_REJECT_LIMIT || why == HONE_REJECT_SAME;
}

/* Regressed: it fails now, or the far end of an objective's interval lies below the near end of what was claimed, or
 * below the minimum gain where one was claimed. A wide interval alone is not a regression. */
hone_check_status hn_check_proof(const hone_controls *claim, const hone_proof *now, double min_gain, hn_arena *a,
                                 const char **why) {
    if (!now->kept && fails(now->why)) {
        *why = hn_strdup(a, now->verdict ? now->verdict : hone_proof_reject_name(now->why));
        return HONE_CHECK_REGRESSED;
    }
    for (size_t i = 0; now->overall && i < now->n_objectives; i++) {
        const hone_comparison *x = &now->overall[i];
        const hone_controls_row *was = x->quantity ? claimed_row(claim, x->quantity) : NULL;
        if (!was || !isfinite(x->gain.hi) || !isfinite(was->gain.lo)) continue;
        bool below_claim = x->gain.hi < was->gain.lo;
        bool below_least = was->gain.lo > 1 + min_gain && x->gain.hi < 1 + min_gain;
        if (!below_claim && !below_least) continue;
        *why = hn_format(a, "%s gained %.4g (%.4g to %.4g) when it was proven and gains %.4g (%.4g to %.4g) now",
                         x->quantity, was->gain.mid, was->gain.lo, was->gain.hi, x->gain.mid, x->gain.lo, x->gain.hi);
        return HONE_CHECK_REGRESSED;
    }
    return HONE_CHECK_VALID;
}

hone_rc hn_check_measure(hn_checker *k, hone_err *err) {
    char *point;
    hone_proofs proofs;
    hone_err why_not = {0};
    if (!k->w) return HONE_OK; /* stale already: there is nothing to measure with */
    hone_rc rc = hone_controls_point(k->c, k->w, k->o->prove, &point, &why_not);
    if (rc == HONE_E_MISMATCH) {
        hn_differ(&k->diff, "space", "controls", "in the space", why_not.text);
        k->status = HONE_CHECK_STALE;
        return HONE_OK;
    }
    if (rc) return hn_fail(err, rc, "%s", why_not.text);
    const char *list[] = {point};
    rc = hone_prove_validate(k->w, list, 1, 0, k->o->prove, &proofs, err);
    hone_free(point);
    if (rc) return rc;
    const char *why = NULL;
    if (proofs.n && proofs.proof[0].why == HONE_REJECT_UNREACHED) {
        rc = hn_fail(err, HONE_E_LIMIT, "nothing was measured: %s", proofs.proof[0].verdict);
        hone_proofs_free(&proofs);
        return rc;
    }
    double least = k->o->prove->min_gain >= 0 ? k->o->prove->min_gain : k->w->proof.min_gain;
    if (proofs.n && proofs.proof[0].overall) k->gain = proofs.proof[0].overall[0].gain;
    if (proofs.n && hn_check_proof(k->c, &proofs.proof[0], least, k->a, &why) == HONE_CHECK_REGRESSED) {
        k->status = HONE_CHECK_REGRESSED;
        k->text = why;
    }
    hone_proofs_free(&proofs);
    return HONE_OK;
}
