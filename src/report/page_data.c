/* report/page_data.c — a report as the JSON that the page draws. docs/report.md lists the fields.
 *
 * Written in ASCII without `<`, `>` and `&`, so that it can stand inside a <script> element as it is (HTML standard,
 * "Restrictions for contents of script elements"). Numbers that are none are null. */
#include "report/report_int.h"

#include "base/err.h"
#include "tune/workload.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TOP = 50, MOST_DETAILS = 200, MOST_DETAIL_B = 2000 };

/* --- values: a NULL from jansson is lack of memory and makes the object that it is put into fail -------------------
 */

static json_t *text(const char *s) {
    hn_str clean = {0};
    hn_report_clean(&clean, s ? s : "");
    char *t = hn_str_take(&clean);
    json_t *j = t ? json_string(t) : NULL;
    free(t);
    return j;
}
static json_t *number(double x) { return isfinite(x) ? json_real(x) : json_null(); }
static json_t *count(size_t n) { return json_integer((json_int_t)n); }

static json_t *interval(hone_interval x) {
    if (!isfinite(x.mid)) return json_null();
    return json_pack("{so so so}", "lo", number(x.lo), "mid", number(x.mid), "hi", number(x.hi));
}

static json_t *distribution(const hone_distribution *d) {
    if (!d->n) return json_null();
    return json_pack("{so so so so so so so so}", "n", count(d->n), "p5", number(d->p5), "p25", number(d->p25), "p50",
                     number(d->p50), "p75", number(d->p75), "p95", number(d->p95), "mean", number(d->mean), "sd",
                     number(d->sd));
}

/* Appends a value; when that fails *all is dropped and NULL. */
static void push(json_t **all, json_t *value) {
    if (!*all)
        json_decref(value);
    else if (json_array_append_new(*all, value)) {
        json_decref(*all);
        *all = NULL;
    }
}

/* Appends what make(r, i) gives for i in 0 … n - 1; a NULL in the middle makes the whole NULL. */
static json_t *list(const hone_report *r, size_t n, json_t *(*make)(const hone_report *r, size_t i)) {
    json_t *all = json_array();
    for (size_t i = 0; all && i < n; i++) push(&all, make(r, i));
    return all;
}

/* --- settings: in what a point differs from the baseline -----------------------------------------------------------
 */

static json_t *setting(const char *name, json_t *value, json_t *old) {
    return json_pack("[oOO]", text(name), value, old);
}

/* [[name, value, baseline's value]]; null stands for absent. */
static json_t *settings(const hone_report *r, const char *point) {
    json_t *p = hn_report_parse(point, json_object()), *all = json_array(), *value, *null = json_null();
    json_t *base = hn_report_parse(r->baseline ? r->baseline->trial->point : "{}", json_object());
    const char *name;
    if (!p || !base) push(&all, NULL);
    json_object_foreach(p, name, value) {
        json_t *old = json_object_get(base, name);
        if (!(old && json_equal(value, old))) push(&all, setting(name, value, old ? old : null));
    }
    json_object_foreach(base, name, value) if (!json_object_get(p, name)) push(&all, setting(name, null, value));
    json_decref(p);
    json_decref(base);
    return all;
}

/* --- trials --------------------------------------------------------------------------------------------------------
 */

static json_t *trial(const hone_report *r, size_t i) {
    const hone_report_trial *t = &r->trial[i];
    json_t *value = json_array(), *gain = json_array();
    for (size_t k = 0; k < r->n_goals; k++) {
        bool ok = t->trial->outcome.cls == HONE_RUN_OK;
        push(&value, ok ? number(t->trial->outcome.value[k]) : json_null());
        push(&gain, number(t->gain[k]));
    }
    return json_pack("{sI so so so so so so so sb sb sb sI so}", "id", (json_int_t)t->trial->id, "x", count(t->x),
                     "phase", text(t->trial->phase), "class", text(hone_outcome_class_name(t->trial->outcome.cls)),
                     "origin", text(t->trial->origin), "value", value, "gain", gain, "best", number(t->best),
                     "feasible", t->feasible, "suspect", t->trial->suspect, "front", t->front, "same_as",
                     (json_int_t)t->trial->same_as, "at", number(t->trial->at_s - r->session.started_s));
}

typedef struct ranked {
    const hone_report *r;
    const hone_report_trial **t;
    size_t n;
} ranked;

static int by_goal(const void *a, const void *b, void *report) {
    const hone_report *r = report;
    const hone_report_trial *const *x = a, *const *y = b;
    if (*x == r->best || *y == r->best) return (*y == r->best) - (*x == r->best);
    double u = (*x)->trial->outcome.value[0], v = (*y)->trial->outcome.value[0];
    if (u != v) return (r->goal[0].maximize ? u > v : u < v) ? -1 : 1;
    return ((*x)->trial->id > (*y)->trial->id) - ((*x)->trial->id < (*y)->trial->id);
}

/* The best TOP that worked, the winner first, and all on the front: trials whose settings the page lists. */
static ranked rank(const hone_report *r) {
    ranked l = {r, calloc(r->n_trials + 1, sizeof(*l.t)), 0};
    for (size_t i = 0; l.t && i < r->n_trials; i++)
        if (r->trial[i].feasible && &r->trial[i] != r->baseline) l.t[l.n++] = &r->trial[i];
    if (l.t) qsort_r(l.t, l.n, sizeof(*l.t), by_goal, (void *)(uintptr_t)r);
    return l;
}

static json_t *best_trials(const hone_report *r) {
    ranked l = rank(r);
    json_t *top = l.t ? json_array() : NULL;
    for (size_t i = 0; top && i < l.n && i < TOP; i++) push(&top, json_integer(l.t[i]->trial->id));
    free(l.t);
    return top;
}

static json_t *all_settings(const hone_report *r) {
    ranked l = rank(r);
    json_t *all = l.t ? json_object() : NULL;
    bool fits = true;
    for (size_t i = 0, n = 0; all && fits && i < l.n; i++) {
        char id[24];
        if (i >= TOP && (!l.t[i]->front || ++n > MOST_DETAILS)) continue;
        snprintf(id, sizeof id, "%lld", (long long)l.t[i]->trial->id);
        fits = json_object_set_new(all, id, settings(r, l.t[i]->trial->point)) == 0;
    }
    free(l.t);
    if (fits) return all;
    json_decref(all);
    return NULL;
}

static json_t *failures(const hone_report *r) {
    json_t *all = json_array();
    for (size_t i = 0, n = 0; i < r->n_trials && n < MOST_DETAILS; i++) {
        const hone_trial *t = r->trial[i].trial;
        if (t->outcome.cls == HONE_RUN_OK) continue;
        char *cut = strndup(t->detail, MOST_DETAIL_B);
        push(&all, json_pack("{sI so so}", "id", (json_int_t)t->id, "class",
                             text(hone_outcome_class_name(t->outcome.cls)), "detail", cut ? text(cut) : NULL));
        free(cut);
        n++;
    }
    return all;
}

static json_t *class_name(const hone_report *r, size_t i) {
    return json_pack("{so so}", "name", text(hone_outcome_class_name((hone_outcome_class)i)), "n",
                     count(r->n_class[i]));
}

/* --- what was proven -----------------------------------------------------------------------------------------------
 */

static json_t *goal(const hone_report *r, size_t i) {
    return json_pack("{so so sb}", "expr", text(r->goal[i].expr), "unit", text(r->goal[i].unit), "maximize",
                     r->goal[i].maximize);
}

static json_t *box(const hone_report *r, size_t i) {
    const hone_report_box *b = &r->box[i];
    return json_pack("{so so sb so so so}", "input", text(b->input), "goal", count(b->goal), "held_out", b->held_out,
                     "baseline", distribution(&b->baseline), "tuned", distribution(&b->tuned), "gain",
                     interval(b->gain));
}

static json_t *comparison(const hone_comparison *c) {
    static const char *const finding[] = {"even", "gains", "loses"};
    if (!c || !c->quantity) return json_null();
    return json_pack("{so so so so so so}", "quantity", text(c->quantity), "gain", interval(c->gain), "p",
                     number(c->p_adjusted), "effect", number(c->effect), "finding",
                     text((unsigned)c->finding < 3 ? finding[c->finding] : ""), "wilcoxon", number(c->p_wilcoxon));
}

static json_t *comparisons(const hone_comparison *c, size_t n) {
    json_t *all = json_array();
    for (size_t i = 0; c && i < n; i++)
        if (c[i].quantity) push(&all, comparison(&c[i]));
    return all;
}

static json_t *proof(const hone_proof *p) {
    if (!p) return json_null();
    return json_pack("{sb so so so so so so so so so so so}", "kept", p->kept, "why",
                     text(hone_proof_reject_name(p->why)), "verdict", text(p->verdict), "overall",
                     comparisons(p->overall, p->n_objectives), "tail", comparisons(p->tail, p->n_objectives),
                     "held_out", comparisons(p->held_out, p->n_objectives), "pairs", count(p->n_pairs), "variants",
                     count(p->n_variants), "spread", number(p->spread), "noise", number(p->noise), "layout",
                     text(p->layout), "seconds", number(p->seconds));
}

static json_t *one_proof(const hone_report *r, size_t i) { return proof(&r->proofs.proof[i]); }

static json_t *share(const hone_report *r, size_t i) {
    return json_pack("{so so}", "name", text(r->controls->share[i].name), "gain", interval(r->controls->share[i].gain));
}

static json_t *shares(const hone_report *r) {
    const hone_controls *c = r->controls;
    if (!c) return json_null();
    return json_pack("{so so so so}", "created", text(c->created), "before", count(c->n_before), "verdict",
                     text(c->verdict), "row", list(r, c->n_shares, share));
}

/* --- where it comes from -------------------------------------------------------------------------------------------
 */

static json_t *session(const hone_report *r) {
    const hone_session *s = &r->session;
    char seed[24];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)s->seed);
    return json_pack("{sI so so so so so so so so so so so so so so so}", "id", (json_int_t)s->id, "workload",
                     text(s->workload), "engine", text(s->engine), "seed", text(seed), "state", text(s->state),
                     "reason", text(s->reason), "started", number(s->started_s), "ended", number(s->ended_s), "version",
                     text(s->version), "machine", text(s->machine), "machine_hash", text(s->machine_hash),
                     "workload_hash", text(s->workload_hash), "source_hash", text(s->source_hash), "space_hash",
                     text(s->space_hash), "compilers", hn_report_parse(s->compilers, json_array()), "budget",
                     !r->workload
                         ? json_null()
                         : json_pack("{so so so so}", "evaluations", count(r->workload->budget.evaluations), "plateau",
                                     count(r->workload->budget.plateau), "seconds", number(r->workload->budget.seconds),
                                     "target", number(r->workload->budget.target)));
}

static json_t *winner(const hone_report *r) {
    if (!r->point) return json_null();
    return json_pack("{so so so so}", "settings", settings(r, r->point), "argv", r->argv ? text(r->argv) : json_null(),
                     "no_argv", text(r->no_argv), "best", r->best ? json_integer(r->best->trial->id) : json_null());
}

static json_t *whole(const hone_report *r) {
    return json_pack(
        "{si so so so so so so so so so so so so so so so so sb sb so so}", "format", 1, "hone", text(HONE_VERSION),
        "standing", text(hone_report_standing_name(r->standing)), "verdict", text(r->verdict), "session", session(r),
        "goals", list(r, r->n_goals, goal), "trials", list(r, r->n_trials, trial), "evaluations", count(r->n_search),
        "reused", count(r->n_reused), "classes", list(r, HONE_N_CLASSES, class_name), "failures", failures(r), "top",
        best_trials(r), "settings", all_settings(r), "winner", winner(r), "proof", proof(r->proof), "proofs",
        list(r, r->proofs.n, one_proof), "inputs", list(r, r->n_boxes, box), "inputs_proven", r->boxes_proven, "ratios",
        r->ratios, "axis_lo", number(r->axis_lo), "axis_hi", number(r->axis_hi));
}

hone_rc hone_report_json(const hone_report *report, char **out, hone_err *err) {
    json_t *j = whole(report);
    if (j && json_object_set_new(j, "shares", shares(report))) json_decref(j), j = NULL;
    char *plain = j ? json_dumps(j, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(12)) : NULL;
    hn_str s = {0};
    if (plain) hn_report_json_safe(&s, plain);
    json_decref(j);
    free(plain);
    char *done = plain ? hn_str_take(&s) : NULL;
    if (!done) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    *out = done;
    return HONE_OK;
}
