/* rollout/rollout_json.c — rules, evidence, decisions and the history as JSON. */
#include "base/arena.h"
#include "base/err.h"
#include "rollout/rollouts_int.h"
#include "rollout/versions.h"

#include <hone/rollout.h>

#include <jansson.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* --- fields ----------------------------------------------------------------------------------------------------------
 */

typedef struct field {
    const char *name;
    size_t at;
    bool whole; /* an uint64_t, else a double */
} field;

#define REAL(type, name)                                                                                               \
    { #name, offsetof(type, name), false }
#define WHOLE(type, name)                                                                                              \
    { #name, offsetof(type, name), true }
static const field rule_field[] = {
    REAL(hone_rollout_rules, share),  REAL(hone_rollout_rules, margin), REAL(hone_rollout_rules, min_gain),
    WHOLE(hone_rollout_rules, pairs), WHOLE(hone_rollout_rules, runs),  WHOLE(hone_rollout_rules, elements),
    REAL(hone_rollout_rules, age_s),  REAL(hone_rollout_rules, alpha),  REAL(hone_rollout_rules, tolerance)};
static const field evidence_field[] = {
    WHOLE(hone_rollout_evidence, compared),      WHOLE(hone_rollout_evidence, elements),
    WHOLE(hone_rollout_evidence, differing),     WHOLE(hone_rollout_evidence, runs_now),
    WHOLE(hone_rollout_evidence, runs_next),     WHOLE(hone_rollout_evidence, failures_now),
    WHOLE(hone_rollout_evidence, failures_next), WHOLE(hone_rollout_evidence, crashes_now),
    WHOLE(hone_rollout_evidence, crashes_next),  REAL(hone_rollout_evidence, age_s)};
#undef REAL
#undef WHOLE
enum {
    N_RULE = sizeof rule_field / sizeof *rule_field,
    N_EVIDENCE_FIELD = sizeof evidence_field / sizeof *evidence_field
};

static json_t *fields_of(const void *from, const field *f, size_t n) {
    json_t *o = json_object();
    for (size_t i = 0; i < n; i++) {
        const char *at = (const char *)from + f[i].at;
        uint64_t whole;
        double real;
        memcpy(&whole, at, sizeof whole);
        memcpy(&real, at, sizeof real);
        json_t *value = f[i].whole ? json_integer((json_int_t)whole) : json_real(real);
        if (json_object_set_new(o, f[i].name, value)) {
            json_decref(o);
            return NULL;
        }
    }
    return o;
}

static char *text_of(json_t *value) {
    char *text = value ? json_dumps(value, JSON_COMPACT) : NULL;
    json_decref(value);
    return text;
}

/* --- rules ----------------------------------------------------------------------------------------------------------
 */

char *hn_rollout_rules_json(const hone_rollout_rules *r) { return text_of(fields_of(r, rule_field, N_RULE)); }

bool hn_rollout_rules_read(const char *json, hone_rollout_rules *out) {
    json_t *o = json_loads(json, 0, NULL);
    for (size_t i = 0; o && i < N_RULE; i++) {
        const json_t *x = json_object_get(o, rule_field[i].name);
        char *at = (char *)out + rule_field[i].at;
        if (!json_is_number(x)) continue;
        uint64_t whole = (uint64_t)json_integer_value(x);
        double real = json_number_value(x);
        if (rule_field[i].whole)
            memcpy(at, &whole, sizeof whole);
        else
            memcpy(at, &real, sizeof real);
    }
    json_decref(o);
    return o != NULL;
}

/* --- decisions and evidence -----------------------------------------------------------------------------------------
 */

static json_t *number(double x) { return isfinite(x) ? json_real(x) : json_null(); }

static json_t *evidence_of(const hone_rollout_evidence *e) {
    json_t *o = fields_of(e, evidence_field, N_EVIDENCE_FIELD);
    if (o && json_object_set_new(o, "pairs", json_integer((json_int_t)e->n))) {
        json_decref(o);
        o = NULL;
    }
    return o;
}

static json_t *decision_of(const hone_rollout_decision *d) {
    return json_pack("{s:s, s:s, s:{s:o, s:o, s:o}, s:I, s:s}", "verdict", hone_rollout_verdict_name(d->verdict), "why",
                     hone_rollout_reason_name(d->why), "ratio", "lo", number(d->ratio.lo), "mid", number(d->ratio.mid),
                     "hi", number(d->ratio.hi), "pairs", (json_int_t)d->pairs, "text", d->text);
}

char *hone_rollout_decision_json(const hone_rollout_decision *decision) { return text_of(decision_of(decision)); }
char *hone_rollout_evidence_json(const hone_rollout_evidence *evidence) { return text_of(evidence_of(evidence)); }

char *hn_rollout_body_json(const hone_rollout_decision *d, const hone_rollout_evidence *e) {
    return text_of(json_pack("{s:o, s:o}", "decision", decision_of(d), "evidence", evidence_of(e)));
}

/* --- history --------------------------------------------------------------------------------------------------------
 */

static json_t *event_of(const hn_happening *e) {
    json_t *body = *e->body ? json_loads(e->body, JSON_DECODE_ANY, NULL) : json_null();
    return json_pack("{s:f, s:s, s:s, s:o}", "at_s", e->at_s, "kind", e->kind, "text", e->text, "body",
                     body ? body : json_null());
}

static hone_rc events_of(hone_rollouts *r, int64_t id, const char *base, hn_arena *a, json_t **out, hone_err *err) {
    hn_happening *e;
    size_t n;
    hone_rc rc = hn_happening_list(r->store, id, base, a, &e, &n, err);
    json_t *list = rc ? NULL : json_array();
    for (size_t i = 0; list && i < n; i++)
        if (json_array_append_new(list, event_of(&e[i]))) json_decref(list), list = NULL;
    if (!rc && !list) rc = hn_fail(err, HONE_E_NOMEM, "out of memory writing the history");
    if (!rc) *out = list;
    return rc;
}

static hone_rc rollout_of(hone_rollouts *r, int64_t id, hn_arena *a, json_t *into, hone_err *err) {
    hone_rollout x;
    json_t *events = NULL;
    hone_rc rc = hone_rollouts_get(r, id, &x, err);
    if (rc) return rc;
    rc = events_of(r, id, NULL, a, &events, err);
    json_t *one =
        rc ? NULL
           : json_pack("{s:I, s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:s, s:s, s:s, s:f, s:o, s:o, s:o, s:o}", "id",
                       (json_int_t)id, "base", x.base, "base_hash", x.base_hash, "now", x.now, "now_hash", x.now_hash,
                       "next", x.next, "next_hash", x.next_hash, "shadow", x.shadow, "state",
                       hone_rollout_state_name(x.state), "why", x.why, "text", x.text, "began_s", x.began_s, "ended_s",
                       x.ended_s > 0 ? json_real(x.ended_s) : json_null(), "rules",
                       fields_of(&x.rules, rule_field, N_RULE), "evidence", evidence_of(&x.evidence), "events", events);
    hone_rollout_free(&x);
    if (!rc && json_array_append_new(into, one)) rc = hn_fail(err, HONE_E_NOMEM, "out of memory writing the history");
    return rc;
}

static hone_rc history_in(hone_rollouts *r, const char *base, size_t n, hn_arena *a, json_t *list, hone_err *err) {
    int64_t *id;
    size_t n_all;
    hone_rc rc = hn_deployment_ids(r->store, base, a, &id, &n_all, err);
    for (size_t i = 0; !rc && i < n_all && (!n || i < n); i++) rc = rollout_of(r, id[i], a, list, err);
    return rc;
}

hone_rc hone_rollouts_history(hone_rollouts *r, const char *base, size_t n, char **json, hone_err *err) {
    hn_arena a = {0};
    char *whole = base ? hn_version_path(base) : NULL;
    json_t *list = json_array();
    hone_rc rc = list && (whole || !base) ? history_in(r, whole, n, &a, list, err)
                                          : hn_fail(err, HONE_E_NOMEM, "out of memory writing the history");
    char *text = rc ? NULL : json_dumps(list, JSON_COMPACT);
    if (!rc && !text) rc = hn_fail(err, HONE_E_NOMEM, "out of memory writing the history");
    if (!rc) *json = text;
    json_decref(list);
    free(whole);
    hn_arena_free(&a);
    return rc;
}

hone_rc hone_rollouts_events(hone_rollouts *r, const char *base, char **json, hone_err *err) {
    hn_arena a = {0};
    json_t *list = NULL;
    char *whole = hn_version_path(base), *text = NULL;
    hone_rc rc =
        whole ? events_of(r, 0, whole, &a, &list, err) : hn_fail(err, HONE_E_NOMEM, "out of memory writing the events");
    if (!rc) text = json_dumps(list, JSON_COMPACT);
    if (!rc && !text) rc = hn_fail(err, HONE_E_NOMEM, "out of memory writing the events");
    if (!rc) *json = text;
    json_decref(list);
    free(whole);
    hn_arena_free(&a);
    return rc;
}
