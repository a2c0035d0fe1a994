/* report/report.c — opens a report: the session, its trials and goals; then curve, verdict and boxes in turn. */
#include "report/report_int.h"

#include "base/err.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

const char *hone_report_standing_name(hone_report_standing standing) {
    static const char *const name[] = {"unproven", "no_gain", "kept", "rejected"};
    return (unsigned)standing < sizeof name / sizeof *name ? name[standing] : "unknown";
}

/* "p50(latency)" is over the metric latency. */
static const char *metric_of(hn_arena *a, const char *expr) {
    const char *open = strchr(expr, '('), *from = open ? open + 1 : expr;
    return hn_strndup(a, from, strcspn(from, ")"));
}

/* The name determines the unit: built-in metrics have fixed ones (docs/workload.md), the harness reports seconds. */
static const char *unit_of(const char *metric) {
    static const struct {
        const char *end, *unit;
    } known[] = {{"time", "s"}, {"latency", "s"}, {"_size", "B"}, {"memory", "B"}};
    size_t n = strlen(metric);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t m = strlen(known[i].end);
        if (n >= m && !strcmp(metric + n - m, known[i].end)) return known[i].unit;
    }
    return "";
}

json_t *hn_report_parse(const char *text, json_t *empty) {
    json_error_t why = {0};
    json_t *j = empty ? json_loads(text, 0, &why) : NULL;
    bool malformed = *why.text && json_error_code(&why) != json_error_out_of_memory;
    if (!j && malformed) return empty;
    json_decref(empty);
    return j;
}

/* [{"expr": "p50(latency)", "direction": "minimize"}, ...] */
static hone_rc read_goals(hone_report *r, hone_err *err) {
    hn_arena *a = hn_report_arena(r);
    json_t *all = hn_report_parse(r->session.objectives, json_array()), *one;
    size_t i;
    if (!all) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    json_array_foreach(all, i, one) {
        const char *expr = json_string_value(json_object_get(one, "expr"));
        const char *direction = json_string_value(json_object_get(one, "direction"));
        if (r->n_goals == HONE_MAX_OBJECTIVES) break;
        hone_report_goal *g = &r->goal[r->n_goals++];
        g->expr = hn_strdup(a, expr ? expr : "objective");
        g->metric = metric_of(a, expr ? expr : "objective");
        if (g->metric) g->unit = unit_of(g->metric);
        g->maximize = direction && strcmp(direction, "maximize") == 0;
    }
    json_decref(all);
    return hn_arena_ok(a) ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
}

/* NULL unless the workload is the recorded one: another would give the flags of a different build. */
static const hone_workload *if_recorded(const hone_report *r, const hone_workload *workload) {
    char hash[33] = "";
    if (workload) hone_workload_hash(workload, hash);
    return workload && strcmp(hash, r->session.workload_hash) == 0 ? workload : NULL;
}

hone_rc hone_report_open(hone_store *store, int64_t session, const hone_workload *workload,
                         const hone_controls *controls, hone_report *out, hone_err *err) {
    hone_report r = {.controls = controls};
    hn_report_block *block = calloc(1, sizeof *block);
    if (!block) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    r.block = block;
    hone_rc rc = hone_session_get(store, session, NULL, &r.session, err);
    if (!rc) rc = hone_trials_load(store, r.session.id, true, &block->trials, err);
    if (!rc) rc = hone_proofs_load(store, r.session.id, &r.proofs, err);
    if (!rc) rc = read_goals(&r, err);
    if (!rc) r.workload = if_recorded(&r, workload);
    if (!rc) rc = hn_report_curve(&r, err);
    if (!rc) rc = hn_report_judge(&r, err);
    if (!rc) rc = hn_report_boxes(&r, err);
    if (rc)
        hone_report_free(&r);
    else
        *out = r;
    return rc;
}

void hone_report_free(hone_report *report) {
    hn_report_block *block = report ? report->block : NULL;
    if (!block) return;
    hone_proofs_free(&report->proofs);
    hone_trials_free(&block->trials);
    hone_session_free(&report->session);
    hn_arena_free(&block->arena);
    free(block);
    *report = (hone_report){0};
}
