/* pass/driver.c — runs passes from their rows: what they need is made first, each is timed, and in debug builds the
 * graph is verified and its text read back after each. */
#include "base/clock.h"
#include "base/debug.h"
#include "base/err.h"
#include "base/options.h"
#include "base/str.h"
#include "pass/rewrite.h"
#include "pass/tolerance.h"

#include <hone/pass.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RELAXED_TOLERANCE 1e-3                     /* of convolutions in relaxed mode, where none is named */
enum { ROUNDS_MAX = 6, CHECKED_TEXT_B = 4 << 20 }; /* larger texts are not read back */

const hn_pass *hn_pass_named(const char *name) {
    for (size_t i = 0; hn_passes[i]; i++)
        if (!strcmp(hn_passes[i]->name, name)) return hn_passes[i];
    return NULL;
}

static uint64_t weights_b(const hn_graph *g) {
    uint64_t n = 0;
    for (uint32_t i = 0; i < g->n_node; i++) {
        const hn_attr *a = hn_attr_get(&g->node[i], HN_A_VALUE);
        if (a) n += (uint64_t)hn_tensor_n(a->tensor) * hn_dtype_of(a->tensor->dtype)->size_b;
    }
    return n;
}

static hone_rc check_round_trip(const hn_graph *g, hone_err *err) {
    if (weights_b(g) > CHECKED_TEXT_B) return HONE_OK;
    hn_str a = {0}, b = {0};
    hn_graph *back = NULL;
    hn_print(g, &a);
    hone_rc rc = a.failed ? hn_fail(err, HONE_E_NOMEM, "out of memory") : hn_parse(a.text, a.n, NULL, &back, err);
    if (rc) hn_context(err, "the printed graph does not read back: ");
    if (!rc) {
        hn_print(back, &b);
        size_t at = 0;
        while (at < a.n && at < b.n && a.text[at] == b.text[at]) at++;
        if (b.failed)
            rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
        else if (a.n != b.n || at < a.n)
            rc = hn_fail(err, HONE_E_FAILED, "the text changes when it is read back and printed, at byte %zu: '%.80s'",
                         at, a.text + (at < 30 ? 0 : at - 30));
        hn_graph_free(back);
    }
    hn_str_free(&a);
    hn_str_free(&b);
    return rc;
}

static hone_rc check(const hn_graph *g, const hn_pass *p, hone_err *err) {
    hone_rc rc = hn_verify(g, err);
    if (!rc) rc = check_round_trip(g, err);
    if (rc) hn_context(err, "after pass '%s': ", p->name);
    return rc;
}

/* A panel is a cache line of f32, and whole vectors of every instruction set. */
const hn_layout_facts hn_usual_layout = {.panel = 16, .channels_last = true};

hone_rc hn_tolerance_check(double tolerance, hone_err *err) {
    return isnan(tolerance) ? hn_fail(err, HONE_E_USAGE, "a tolerance is a number from 0 on, such as 1e-3") : HONE_OK;
}
double hn_tolerance_of(bool relaxed, double tolerance) {
    return tolerance < 0 ? relaxed ? RELAXED_TOLERANCE : 0 : tolerance;
}

static hone_rc run_one(hn_graph *g, const hn_pass *p, hn_pass_how how, unsigned *have, uint64_t *n_rewrites,
                       hone_err *err) {
    hn_pass_ctx ctx = {.relaxed = how.relaxed, .bytes = how.bytes, .tolerance = how.tolerance, .have = *have};
    ctx.layout = how.layout ? how.layout : &hn_usual_layout;
    hn_graph_settle(g);
    hone_rc rc = p->run(g, &ctx, err);
    if (!rc) rc = hn_graph_failure(g, err);
    if (!rc && HN_DEBUG_BUILD) rc = check(g, p, err);
    if (ctx.n_rewrites) *have &= ~p->breaks;
    *have |= p->gives;
    *n_rewrites += ctx.n_rewrites;
    return rc;
}

static const hn_pass *giver_of(unsigned fact) {
    for (size_t i = 0; hn_passes[i]; i++)
        if (hn_passes[i]->gives & fact) return hn_passes[i];
    return NULL;
}

/* A pass that establishes one fact may break another, which is then established again, in a few rounds: rewrites make
 * the graph simpler, so that this ends soon. A fact that is still broken then costs quality, not correctness. */
static hone_rc make_facts(hn_graph *g, const hn_pass *p, hn_pass_how how, unsigned *have, uint64_t *n_rewrites,
                          hone_err *err) {
    hone_rc rc = HONE_OK;
    for (int round = 0; !rc && round < ROUNDS_MAX && (p->needs & ~*have); round++)
        for (unsigned fact = 1; !rc && fact && fact <= p->needs; fact <<= 1) {
            const hn_pass *giver = (p->needs & ~*have & fact) ? giver_of(fact) : NULL;
            if (giver && giver != p) rc = run_one(g, giver, how, have, n_rewrites, err);
        }
    return rc;
}

hone_rc hn_run_pass(hn_graph *g, const hn_pass *p, hn_pass_how how, unsigned *have, hn_pass_stat *stat, hone_err *err) {
    double start_s = hn_now_s();
    uint64_t n_rewrites = 0;
    hone_rc rc = make_facts(g, p, how, have, &n_rewrites, err);
    if (!rc) rc = run_one(g, p, how, have, &n_rewrites, err);
    if (!rc && stat) *stat = (hn_pass_stat){p->name, n_rewrites, hn_now_s() - start_s, hn_count_nodes(g)};
    return rc;
}

static hone_rc no_such_pass(const char *name, hone_err *err) {
    const char *names[64];
    size_t n = 0;
    for (; hn_passes[n] && n < 64; n++) names[n] = hn_passes[n]->name;
    const char *near = hn_nearest(name, names, n);
    return hn_fail(err, HONE_E_NOTFOUND, "no pass is called '%s'%s%s%s; `hone ir --list` shows them", name,
                   near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
}

hone_rc hn_run_passes(hn_graph *g, const char *after, hn_pass_how how, hn_pass_stat *stat, size_t *n_stat,
                      hone_err *err) {
    const hn_pass *last = after ? hn_pass_named(after) : NULL;
    if (after && !last) return no_such_pass(after, err);
    unsigned have = 0;
    hone_rc rc = HONE_OK;
    size_t n = 0;
    for (; !rc && hn_passes[n]; n++) {
        rc = hn_run_pass(g, hn_passes[n], how, &have, stat ? &stat[n] : NULL, err);
        if (hn_passes[n] == last) {
            n++;
            break;
        }
    }
    if (!rc && n_stat) *n_stat = n;
    return rc;
}

/* --- hone/ir.h -------------------------------------------------------------------------------------------------- */

bool hone_pass_at(size_t i, hone_pass *out) {
    for (size_t k = 0; hn_passes[k]; k++)
        if (k == i) return *out = (hone_pass){hn_passes[k]->name, hn_passes[k]->summary}, true;
    return false;
}

static hone_rc read_options(const hone_pass_options *options, hn_pass_how *how, hone_err *err) {
    hone_pass_options o = hone_pass_defaults();
    hone_rc rc = hn_options_read(&o, sizeof o, options, "pass", err);
    if (!rc) rc = hn_tolerance_check(o.tolerance, err);
    *how = (hn_pass_how){.relaxed = o.relaxed, .bytes = o.bytes};
    how->tolerance = hn_tolerance_of(o.relaxed, o.tolerance);
    return rc;
}

hone_rc hone_graph_run_passes(hone_graph *g, const char *after, const hone_pass_options *options, hone_pass_stat *stat,
                              size_t room, size_t *n_stat, hone_err *err) {
    hn_pass_stat all[64];
    size_t n = 0;
    hn_pass_how how;
    hone_rc rc = read_options(options, &how, err);
    if (!rc) rc = hn_run_passes(g, after, how, all, &n, err);
    if (rc) return rc;
    hn_graph_seal(g);
    for (size_t i = 0; stat && i < n && i < room; i++)
        stat[i] = (hone_pass_stat){all[i].name, all[i].n_rewrites, all[i].n_nodes, all[i].time_s};
    if (n_stat) *n_stat = n;
    return HONE_OK;
}

/* Works on a copy, so that a failure changes nothing; the copy keeps the old graph, whose constants it shares. */
hone_rc hone_graph_optimise(hone_graph **g, const char *const *pass, size_t n, const hone_pass_options *options,
                            hone_err *err) {
    hn_pass_how how;
    hone_rc rc = read_options(options, &how, err);
    if (rc) return rc;
    for (size_t i = 0; i < n; i++)
        if (!hn_pass_named(pass[i])) return no_such_pass(pass[i], err);
    hn_graph *copy = hn_copy_graph(*g);
    if (!copy) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    rc = hn_graph_failure(copy, err);
    unsigned have = 0;
    for (size_t i = 0; i < n && !rc; i++) rc = hn_run_pass(copy, hn_pass_named(pass[i]), how, &have, NULL, err);
    if (rc) {
        hn_graph_free(copy);
        return rc;
    }
    hn_graph_adopt(copy, *g);
    hn_graph_seal(copy);
    *g = copy;
    return HONE_OK;
}
