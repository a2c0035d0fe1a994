/* rollout/rollouts.c — the store of deployments: rows of record/deployments.h as this room's structs. */
#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/options.h"
#include "rollout/rollouts_int.h"
#include "rollout/versions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- the file -------------------------------------------------------------------------------------------------------
 */

char *hone_rollouts_path(void) {
    const char *data = getenv("XDG_DATA_HOME");
    if (data && *data == '/') return hn_path_join(data, "hone/rollouts.db");
    char *home = hn_home_dir(), *dir = home ? home : hn_cache_dir();
    char *path = dir ? hn_path_join(dir, home ? ".local/share/hone/rollouts.db" : "rollouts.db") : NULL;
    free(dir);
    return path;
}

hone_rc hone_rollouts_open(const char *path, bool write, hone_rollouts **out, hone_err *err) {
    hone_rollouts *r = calloc(1, sizeof *r);
    if (!r) return hn_fail(err, HONE_E_NOMEM, "out of memory opening the deployments");
    r->lock_fd = -1;
    r->write = write;
    r->path = path ? strdup(path) : hone_rollouts_path();
    hone_rc rc = r->path ? hn_deployments_open(r->path, write, &r->store, err)
                         : hn_fail(err, HONE_E_NOMEM, "out of memory opening the deployments");
    if (rc)
        hone_rollouts_close(r);
    else
        *out = r;
    return rc;
}

void hone_rollouts_close(hone_rollouts *r) {
    if (!r) return;
    hone_store_close(r->store);
    if (r->lock_fd >= 0) close(r->lock_fd);
    free(r->path);
    free(r);
}

/* --- versions -------------------------------------------------------------------------------------------------------
 */

static hone_rc no_memory(hone_err *err) { return hn_fail(err, HONE_E_NOMEM, "out of memory"); }

/* Of the content; read again only where the file's stamp is another than when it was read last. */
static hone_rc hash_of(hone_rollouts *r, const char *path, char hash[33], hone_err *err) {
    char stamp[33];
    hone_rc rc = hn_version_stamp(path, stamp, err);
    *hash = 0;
    if (!rc) rc = hn_file_hash_get(r->store, path, stamp, hash, err);
    if (rc || *hash) return rc;
    rc = hn_version_hash(path, hash, err);
    return rc || !r->write ? rc : hn_file_hash_put(r->store, path, stamp, hash, err);
}

static hn_happening happening(const char *base, const char *kind, const char *text, const char *body) {
    return (hn_happening){.base = base, .kind = kind, .text = text, .body = body, .at_s = hn_unix_s()};
}

/* The version that answers for an absolute base whose content has the hash given. What was promoted for another content
 * of the base, or is no longer there as it was, does not count. */
static hone_rc answering(hone_rollouts *r, const char *base, const char *base_hash, hn_arena *a, hn_serving *out,
                         hone_err *err) {
    hn_serving x = {0};
    char hash[33];
    hone_err why = {0};
    hn_str text = {0};
    hone_rc rc = hn_serving_get(r->store, base, a, &x, err);
    if (rc) return rc;
    if (x.path && !strcmp(x.base_hash, base_hash)) {
        rc = hash_of(r, x.path, hash, &why);
        if (rc && rc != HONE_E_IO) return hn_fail(err, rc, "%s", why.text);
        if (!rc && !strcmp(hash, x.hash)) {
            *out = x;
            return HONE_OK;
        }
        hn_str_addf(&text, "the promoted version does not answer: %s",
                    rc ? why.text : "its file has changed since it was promoted");
        hn_happening e = happening(base, "lost", text.failed ? "" : text.text, NULL);
        rc = r->write ? hn_serving_put(r->store, &(hn_serving){.base = base}, &e, err) : HONE_OK;
        hn_str_free(&text);
        if (rc) return rc;
    }
    *out = (hn_serving){.base = base, .base_hash = base_hash, .path = base, .hash = base_hash};
    return HONE_OK;
}

/* Everything of one string, so that a result needs one free. */
static char *keep(char **at, const char *text) {
    size_t n = strlen(text) + 1;
    char *to = memcpy(*at, text, n);
    *at += n;
    return to;
}

static hone_rc current_of(hone_rollouts *r, const char *base, hn_arena *a, hone_rollout_current *out, hone_err *err) {
    char hash[33];
    int64_t id;
    hn_serving x;
    hone_rc rc = hash_of(r, base, hash, err);
    if (!rc) rc = answering(r, base, hash, a, &x, err);
    if (!rc) rc = hn_deployment_under_way(r->store, base, &id, err);
    if (rc) return rc;
    char *at = malloc(strlen(x.path) + strlen(x.hash) + 2);
    if (!at) return no_memory(err);
    hone_rollout_current c = {.block = at, .promoted = x.path != base, .under_way = id};
    c.path = keep(&at, x.path);
    c.hash = keep(&at, x.hash);
    *out = c;
    return HONE_OK;
}

hone_rc hone_rollouts_current(hone_rollouts *r, const char *base, hone_rollout_current *out, hone_err *err) {
    hn_arena a = {0};
    char *whole = hn_version_path(base);
    hone_rc rc = whole ? current_of(r, whole, &a, out, err) : no_memory(err);
    free(whole);
    hn_arena_free(&a);
    return rc;
}

hone_rc hone_rollouts_read(hone_rollouts *r, const char *path, hone_err *err) {
    char hash[33], *whole = hn_version_path(path);
    hone_rc rc = whole ? hash_of(r, whole, hash, err) : no_memory(err);
    free(whole);
    return rc;
}

void hone_rollout_current_free(hone_rollout_current *current) {
    free(current->block);
    *current = (hone_rollout_current){0};
}

/* --- a deployment begins --------------------------------------------------------------------------------------------
 */

static hone_rc begin_in(hone_rollouts *r, hn_deployment *d, hone_err *err) {
    char base_hash[33], next_hash[33];
    hn_arena a = {0};
    hn_serving now;
    hn_str text = {0};
    hone_rc rc = hash_of(r, d->base, base_hash, err);
    if (!rc) rc = hash_of(r, d->next, next_hash, err);
    if (!rc) rc = answering(r, d->base, base_hash, &a, &now, err);
    if (!rc && !strcmp(now.hash, next_hash))
        rc = hn_fail(err, HONE_E_INPUT, "'%s' is what answers for '%s' already", d->next, d->base);
    if (!rc) {
        d->base_hash = base_hash, d->next_hash = next_hash;
        d->now = now.path, d->now_hash = now.hash;
        hn_str_addf(&text, "'%s' is on trial beside '%s'", d->next, d->now);
        hn_happening e = happening(d->base, "began", text.failed ? "" : text.text, d->rules);
        rc = hn_deployment_begin(r->store, d, &e, err);
    }
    hn_str_free(&text);
    hn_arena_free(&a);
    return rc;
}

hone_rc hone_rollouts_begin(hone_rollouts *r, const char *base, const char *next, bool shadow,
                            const hone_rollout_rules *rules, int64_t *id, hone_err *err) {
    hone_rollout_rules rule = hone_rollout_defaults();
    hone_rc rc = hn_options_read(&rule, sizeof rule, rules, "rollout", err);
    if (!rc) rc = hn_rollout_check_rules(&rule, err);
    if (rc) return rc;
    char *whole = hn_version_path(base), *path = hn_version_path(next), *json = hn_rollout_rules_json(&rule);
    hn_deployment d = {.base = whole, .next = path, .rules = json, .shadow = shadow, .began_s = hn_unix_s()};
    rc = whole && path && json ? begin_in(r, &d, err) : no_memory(err);
    free(whole);
    free(path);
    free(json);
    if (!rc) rc = hn_deployment_lock(r->path, d.id, &r->lock_fd, err);
    if (!rc) *id = d.id;
    return rc;
}

static hone_rc check_version(hone_rollouts *r, const char *path, const char *hash, hone_err *err) {
    char found[33];
    hone_rc rc = hash_of(r, path, found, err);
    if (!rc && strcmp(found, hash))
        rc = hn_fail(err, HONE_E_MISMATCH, "'%s' has changed since the deployment began; roll it back", path);
    return rc;
}

hone_rc hone_rollouts_take(hone_rollouts *r, int64_t id, hone_err *err) {
    hn_arena a = {0};
    hn_deployment d;
    hone_rc rc = hn_deployment_get(r->store, id, &a, &d, err);
    if (!rc && d.ended_s > 0)
        rc = hn_fail(err, HONE_E_NOTFOUND, "deployment %lld has ended: %s", (long long)id, d.text);
    if (!rc) rc = hn_deployment_lock(r->path, id, &r->lock_fd, err);
    if (!rc) rc = check_version(r, d.base, d.base_hash, err);
    if (!rc) rc = check_version(r, d.now, d.now_hash, err);
    if (!rc) rc = check_version(r, d.next, d.next_hash, err);
    hn_arena_free(&a);
    return rc;
}

/* --- reading one ----------------------------------------------------------------------------------------------------
 */

static hone_rollout_state state_of(const char *name) {
    int i = 0;
    while (i < HONE_N_ROLLOUT_STATE - 1 && strcmp(hone_rollout_state_name((hone_rollout_state)i), name)) i++;
    return (hone_rollout_state)i;
}

/* In the order of the store's counters. */
static void counters(hone_rollout_evidence *e, uint64_t *of[HN_N_EVIDENCE]) {
    uint64_t *const all[HN_N_EVIDENCE] = {&e->compared,      &e->elements,    &e->differing,
                                          &e->runs_now,      &e->runs_next,   &e->failures_now,
                                          &e->failures_next, &e->crashes_now, &e->crashes_next};
    memcpy(of, all, sizeof all);
}

static bool fill(const hn_deployment *d, hone_rollout *out) {
    const char *const text[] = {d->base, d->base_hash, d->now, d->now_hash, d->next, d->next_hash, d->why, d->text};
    const char **const to[] = {&out->base, &out->base_hash, &out->now, &out->now_hash,
                               &out->next, &out->next_hash, &out->why, &out->text};
    size_t room = d->n_ratio * sizeof(double);
    uint64_t *count[HN_N_EVIDENCE];
    for (int i = 0; i < 8; i++) room += strlen(text[i]) + 1;
    double *ratio = malloc(room);
    if (!ratio) return false;
    char *at = (char *)(ratio + d->n_ratio);
    for (int i = 0; i < 8; i++) *to[i] = keep(&at, text[i]);
    for (size_t i = 0; i < d->n_ratio; i++) ratio[i] = (double)d->ratio[i];
    out->block = ratio;
    out->evidence = hone_rollout_no_evidence();
    out->evidence.log_ratio = ratio;
    out->evidence.n = d->n_ratio;
    counters(&out->evidence, count);
    for (int i = 0; i < HN_N_EVIDENCE; i++) *count[i] = d->count[i];
    return true;
}

static hone_rc take_over(const hn_deployment *d, hone_rollout *out, hone_err *err) {
    hone_rollout x = {.id = d->id, .shadow = d->shadow != 0, .began_s = d->began_s, .ended_s = d->ended_s};
    x.state = state_of(d->state);
    x.rules = hone_rollout_defaults();
    if (!hn_rollout_rules_read(d->rules, &x.rules) || !fill(d, &x)) return no_memory(err);
    x.evidence.age_s = (d->ended_s > 0 ? d->ended_s : hn_unix_s()) - d->began_s;
    if (x.evidence.age_s < 0) x.evidence.age_s = 0; /* the clock was put back */
    *out = x;
    return HONE_OK;
}

hone_rc hone_rollouts_get(hone_rollouts *r, int64_t id, hone_rollout *out, hone_err *err) {
    hn_arena a = {0};
    hn_deployment d;
    hone_rc rc = hn_deployment_get(r->store, id, &a, &d, err);
    if (!rc) rc = take_over(&d, out, err);
    hn_arena_free(&a);
    return rc;
}

void hone_rollout_free(hone_rollout *rollout) {
    free(rollout->block);
    *rollout = (hone_rollout){0};
}

/* --- adding ---------------------------------------------------------------------------------------------------------
 */

hone_rc hone_rollouts_add(hone_rollouts *r, int64_t id, const hone_rollout_evidence *more, hone_err *err) {
    hone_rollout_evidence e = hone_rollout_no_evidence();
    uint64_t *count[HN_N_EVIDENCE], value[HN_N_EVIDENCE];
    hone_rc rc = hn_options_read(&e, sizeof e, more, "rollout_evidence", err);
    if (!rc) rc = hn_rollout_check_evidence(&e, err);
    if (rc) return rc;
    counters(&e, count);
    for (int i = 0; i < HN_N_EVIDENCE; i++) value[i] = *count[i];
    float *ratio = malloc((e.n + 1) * sizeof *ratio);
    if (!ratio) return no_memory(err);
    for (size_t i = 0; i < e.n; i++) ratio[i] = (float)e.log_ratio[i];
    rc = hn_deployment_add(r->store, id, value, ratio, e.n, err);
    free(ratio);
    return rc;
}

hone_rc hone_rollouts_event(hone_rollouts *r, int64_t id, const char *base, const char *kind, const char *text,
                            const char *body, hone_err *err) {
    hn_arena a = {0};
    hn_deployment d = {0};
    char *whole = base ? hn_version_path(base) : NULL;
    hone_rc rc = base && !whole ? no_memory(err) : HONE_OK;
    if (!rc && !base) rc = hn_deployment_get(r->store, id, &a, &d, err);
    hn_happening e = happening(base ? whole : d.base, kind, text, body);
    e.deployment = id;
    if (!rc) rc = hn_happening_add(r->store, &e, err);
    free(whole);
    hn_arena_free(&a);
    return rc;
}

/* --- decisions ------------------------------------------------------------------------------------------------------
 */

/* What a verdict makes of a deployment. */
static const struct {
    bool concludes;
    hone_rollout_state state;
} outcome[HONE_N_ROLLOUT_VERDICT] = {[HONE_ROLLOUT_HOLD] = {true, HONE_ROLLOUT_HELD},
                                     [HONE_ROLLOUT_PROMOTE] = {true, HONE_ROLLOUT_PROMOTED},
                                     [HONE_ROLLOUT_ROLL_BACK] = {true, HONE_ROLLOUT_ROLLED_BACK}};

static hone_rc conclude_in(hone_rollouts *r, hn_deployment *d, const hone_rollout_decision *x, hn_arena *a,
                           hone_err *err) {
    hone_rollout whole;
    hone_rc rc = take_over(d, &whole, err);
    if (rc) return rc;
    char *body = hn_rollout_body_json(x, &whole.evidence);
    hone_rollout_free(&whole);
    if (!body) return no_memory(err);
    hn_happening e = happening(d->base, hone_rollout_verdict_name(x->verdict), x->text, body);
    hn_serving next = {d->base, d->base_hash, d->next, d->next_hash, d->id};
    if (!strcmp(d->next, d->base)) next.path = NULL; /* back to the base itself */
    bool promoted = x->verdict == HONE_ROLLOUT_PROMOTE;
    d->state = hone_rollout_state_name(outcome[x->verdict].state);
    d->why = hone_rollout_reason_name(x->why);
    d->text = hn_strdup(a, x->text);
    d->ended_s = x->verdict == HONE_ROLLOUT_HOLD ? 0 : hn_unix_s();
    rc = hn_arena_ok(a) ? hn_deployment_conclude(r->store, d, &e, promoted ? &next : NULL, err) : no_memory(err);
    free(body);
    return rc;
}

hone_rc hone_rollouts_conclude(hone_rollouts *r, int64_t id, const hone_rollout_decision *decision, hone_err *err) {
    hn_arena a = {0};
    hn_deployment d;
    if ((unsigned)decision->verdict >= HONE_N_ROLLOUT_VERDICT || !outcome[decision->verdict].concludes)
        return hn_fail(err, HONE_E_INPUT, "'%s' ends nothing: hold, promote or roll back",
                       hone_rollout_verdict_name(decision->verdict));
    hone_rc rc = hn_deployment_get(r->store, id, &a, &d, err);
    if (!rc) rc = conclude_in(r, &d, decision, &a, err);
    hn_arena_free(&a);
    return rc;
}

/* Which deployment promoted a version before: the newest that did, so that one can go back further. */
static hone_rc find_promotion(hone_rollouts *r, hn_serving *old, hn_arena *a, hone_err *err) {
    int64_t *id;
    size_t n;
    hone_rc rc = hn_deployment_ids(r->store, old->base, a, &id, &n, err);
    for (size_t i = 0; !rc && i < n && !old->deployment; i++) {
        hn_deployment d;
        rc = hn_deployment_get(r->store, id[i], a, &d, err);
        if (!rc && !strcmp(d.state, "promoted") && !strcmp(d.next, old->path) && !strcmp(d.next_hash, old->hash))
            old->deployment = d.id;
    }
    return rc;
}

/* The promotion is taken back: what was NOW then answers again. */
static hone_rc take_back(hone_rollouts *r, const char *base, const char *text, hn_arena *a, hone_err *err) {
    hn_serving x;
    hn_deployment d;
    hone_rc rc = hn_serving_get(r->store, base, a, &x, err);
    if (!rc && !x.path)
        rc = hn_fail(err, HONE_E_NOTFOUND,
                     "'%s' has nothing to go back from: no deployment is under way, and none was "
                     "promoted",
                     base);
    if (!rc) rc = hn_deployment_get(r->store, x.deployment, a, &d, err);
    if (rc) return rc;
    hn_happening e = happening(base, "revert", text ? text : "by hand", NULL);
    e.deployment = x.deployment;
    hn_serving old = {base, x.base_hash, strcmp(d.now, base) ? d.now : NULL, d.now_hash, 0};
    if (old.path) rc = find_promotion(r, &old, a, err);
    return rc ? rc : hn_serving_put(r->store, &old, &e, err);
}

hone_rc hone_rollouts_revert(hone_rollouts *r, const char *base, const char *text, hone_err *err) {
    hn_arena a = {0};
    int64_t id = 0;
    char *whole = hn_version_path(base);
    hone_rc rc = whole ? hn_deployment_under_way(r->store, whole, &id, err) : no_memory(err);
    if (!rc && id) {
        hone_rollout_decision d = hone_rollout_by_hand(HONE_ROLLOUT_ROLL_BACK, text);
        rc = hone_rollouts_conclude(r, id, &d, err);
    } else if (!rc) {
        rc = take_back(r, whole, text, &a, err);
    }
    free(whole);
    hn_arena_free(&a);
    return rc;
}
