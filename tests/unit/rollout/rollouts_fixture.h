/* rollouts_fixture.h — a folder with a base and two more versions, and deployments one after another: of the first, the
 * second and so on, the even ones are promoted, the others rolled back. Every step is a function of what is stored. */
#ifndef ROLLOUTS_FIXTURE_H
#define ROLLOUTS_FIXTURE_H

#include "record/store_fixture.h"

#include <hone/rollout.h>
#include <sqlite3.h>

enum { ROLL_BATCH = 5, ROLL_BATCHES = 3 };

static inline const char *roll_path(char buf[128], const char *name) {
    snprintf(buf, 128, "%s/%s", fix_dir, name);
    return buf;
}
static inline void roll_make_versions(void) {
    for (int i = 0; i < 3; i++) {
        char path[128];
        const char name[] = {(char)('a' + i), 0};
        FILE *f = fopen(roll_path(path, name), "w");
        if (f) fputs(name, f), fclose(f);
    }
}
/* The version that deployment `id` puts on trial: b, b, c, c, b, … of which the second each time is promoted. */
static inline const char *roll_next_of(int64_t id) { return (id + 1) / 2 % 2 ? "b" : "c"; }

/* One step: a deployment begins, gets a batch, or is concluded. Returns what was done, or an error. */
static inline hone_rc roll_step(hone_rollouts *r, int64_t last, hone_err *err) {
    char base[128], next[128];
    hone_rollout_current c;
    hone_rollout x;
    int64_t id;
    hone_rc rc = hone_rollouts_current(r, roll_path(base, "a"), &c, err);
    if (rc) return rc;
    int64_t under_way = c.under_way;
    hone_rollout_current_free(&c);
    if (!under_way) return hone_rollouts_begin(r, base, roll_path(next, roll_next_of(last + 1)), false, NULL, &id, err);
    if ((rc = hone_rollouts_take(r, under_way, err)) || (rc = hone_rollouts_get(r, under_way, &x, err))) return rc;
    size_t n = x.evidence.n;
    hone_rollout_free(&x);
    if (n >= ROLL_BATCH * ROLL_BATCHES) {
        hone_rollout_decision d =
            hone_rollout_by_hand(under_way % 2 ? HONE_ROLLOUT_ROLL_BACK : HONE_ROLLOUT_PROMOTE, "as it is its turn");
        return hone_rollouts_conclude(r, under_way, &d, err);
    }
    double z[ROLL_BATCH];
    hone_rollout_evidence e = hone_rollout_no_evidence();
    for (size_t i = 0; i < ROLL_BATCH; i++) z[i] = (double)(n + i);
    e.log_ratio = z, e.n = ROLL_BATCH, e.compared = ROLL_BATCH, e.runs_next = ROLL_BATCH;
    return hone_rollouts_add(r, under_way, &e, err);
}

/* How far it has come, in steps; -1: the rows do not fit together. */
static inline int64_t roll_progress(sqlite3 *db) {
    static const char *const sql =
        "SELECT (SELECT ifnull(max(id), 0) FROM deployment), (SELECT count(*) FROM deployment WHERE ended_s = 0),"
        " ifnull((SELECT runs_next FROM deployment WHERE ended_s = 0), 0),"
        " ifnull((SELECT sum(length(body)) / 4 FROM ratio WHERE deployment ="
        "         (SELECT id FROM deployment WHERE ended_s = 0)), 0),"
        " (SELECT count(*) FROM deployment d WHERE ended_s > 0 AND (state <> iif(id % 2, 'rolled_back', 'promoted') OR"
        "   (SELECT count(*) FROM event e WHERE e.deployment = d.id) <> 2)),"
        " ifnull((SELECT max(id) FROM deployment WHERE state = 'promoted'), 0),"
        " ifnull((SELECT deployment FROM serving WHERE path = (SELECT next FROM deployment d WHERE d.id = deployment)),"
        "        0)";
    int64_t v[7] = {0};
    sqlite3_stmt *q = NULL;
    bool row = sqlite3_prepare_v2(db, sql, -1, &q, NULL) == SQLITE_OK && sqlite3_step(q) == SQLITE_ROW;
    for (int i = 0; row && i < 7; i++) v[i] = sqlite3_column_int64(q, i);
    sqlite3_finalize(q);
    int64_t each = ROLL_BATCHES + 2, batches = v[2] / ROLL_BATCH;
    if (!row || v[2] != v[3] || v[2] % ROLL_BATCH || v[4] || v[5] != v[6] || v[1] > 1) {
        printf("# row %d: %lld under way %lld runs %lld ratios %lld odd %lld promoted %lld serving %lld\n", row,
               (long long)v[0], (long long)v[1], (long long)v[2], (long long)v[3], (long long)v[4], (long long)v[5],
               (long long)v[6]);
        return -1;
    }
    return v[1] ? (v[0] - 1) * each + 1 + batches : v[0] * each;
}

/* Sound, whole, and `current` agrees with the rows. */
static inline int64_t roll_verify(void) {
    char path[128], base[128], want[128];
    sqlite3 *db = NULL;
    sqlite3_stmt *q = NULL;
    hone_rollouts *r = NULL;
    hone_rollout_current c = {0};
    hone_err err = {0};
    if (hone_rollouts_open(roll_path(path, "r.db"), false, &r, &err)) return 0; /* it was not made yet */
    sqlite3_open(path, &db);
    bool sound = sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &q, NULL) == SQLITE_OK &&
                 sqlite3_step(q) == SQLITE_ROW && !strcmp((const char *)sqlite3_column_text(q, 0), "ok");
    sqlite3_finalize(q);
    int64_t steps = sound ? roll_progress(db) : -1;
    sqlite3_close(db);
    int64_t ended = steps / (ROLL_BATCHES + 2), promoted = ended - ended % 2;
    sound = sound && !hone_rollouts_current(r, roll_path(base, "a"), &c, &err);
    if (sound && strcmp(c.path, roll_path(want, promoted ? roll_next_of(promoted) : "a"))) {
        printf("# after %lld steps '%s' answers, not '%s'\n", (long long)steps, c.path, want);
        sound = false;
    }
    if (*err.text) printf("# %s\n", err.text);
    hone_rollout_current_free(&c);
    hone_rollouts_close(r);
    return sound ? steps : -1;
}

#endif
