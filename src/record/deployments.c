/* record/deployments.c — rollouts.db. One row per deployment, a row per batch of its log-ratios. */
#include "record/deployments.h"

#include "base/clock.h"
#include "base/err.h"
#include "record/store_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const migration[] = {
    "CREATE TABLE deployment (id INTEGER PRIMARY KEY AUTOINCREMENT, base TEXT NOT NULL, base_hash TEXT NOT NULL,"
    " now TEXT NOT NULL, now_hash TEXT NOT NULL, next TEXT NOT NULL, next_hash TEXT NOT NULL, rules TEXT NOT NULL,"
    " state TEXT NOT NULL CHECK (state IN ('running', 'held', 'promoted', 'rolled_back')), why TEXT NOT NULL,"
    " text TEXT NOT NULL, shadow INTEGER NOT NULL, began_s REAL NOT NULL, ended_s REAL NOT NULL,"
    " compared INTEGER NOT NULL DEFAULT 0, elements INTEGER NOT NULL DEFAULT 0, differing INTEGER NOT NULL DEFAULT 0,"
    " runs_now INTEGER NOT NULL DEFAULT 0, runs_next INTEGER NOT NULL DEFAULT 0,"
    " failures_now INTEGER NOT NULL DEFAULT 0, failures_next INTEGER NOT NULL DEFAULT 0,"
    " crashes_now INTEGER NOT NULL DEFAULT 0, crashes_next INTEGER NOT NULL DEFAULT 0);"
    "CREATE UNIQUE INDEX deployment_once ON deployment(base) WHERE ended_s = 0;"
    "CREATE TABLE ratio (deployment INTEGER NOT NULL REFERENCES deployment(id), batch INTEGER NOT NULL,"
    " body BLOB NOT NULL, PRIMARY KEY (deployment, batch)) WITHOUT ROWID;"
    "CREATE TABLE event (id INTEGER PRIMARY KEY AUTOINCREMENT, deployment INTEGER NOT NULL, base TEXT NOT NULL,"
    " at_s REAL NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL, body TEXT NOT NULL);"
    "CREATE INDEX event_of ON event(deployment, base);"
    "CREATE TABLE serving (base TEXT PRIMARY KEY, base_hash TEXT NOT NULL, path TEXT NOT NULL, hash TEXT NOT NULL,"
    " deployment INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE file_hash (path TEXT PRIMARY KEY, stamp TEXT NOT NULL, hash TEXT NOT NULL) WITHOUT ROWID;",
    "CREATE TABLE asked (base TEXT NOT NULL, kind TEXT NOT NULL, size TEXT NOT NULL, count REAL NOT NULL,"
    " time_s REAL NOT NULL, at_s REAL NOT NULL, PRIMARY KEY (base, kind, size)) WITHOUT ROWID;",
};
enum { FORMAT = sizeof migration / sizeof *migration };
static const hn_store_form form = {
    "file of deployments", "'hone serve'", 0x686f6e72 /* "honr" */, FORMAT, migration, true};

hone_rc hn_deployments_open(const char *path, bool write, hone_store **out, hone_err *err) {
    hone_store *s = NULL;
    char *whole = strdup(path);
    if (!whole) return hn_fail(err, HONE_E_NOMEM, "out of memory opening '%s'", path);
    char *slash = strrchr(whole, '/');
    const char *name = slash ? slash + 1 : whole, *dir = slash == whole ? "/" : slash ? whole : ".";
    if (slash) *slash = 0;
    hone_rc rc = hn_store_open_as(&form, dir, name, write, &s, err);
    if (!rc && write) rc = hn_store_exec(s, "PRAGMA synchronous = FULL", err);
    free(whole);
    if (rc)
        hone_store_close(s);
    else
        *out = s;
    return rc;
}

/* A record that went into the reserve is on disk: that is what its caller must know. The next one fails. */
static hone_rc transact(hone_store *s, hone_rc (*body)(hone_store *, void *, hone_err *), void *ctx, hone_err *err) {
    bool written = false;
    hone_err why = {0};
    hone_rc rc = hn_store_transact(s, body, ctx, &written, &why);
    return !rc || written ? HONE_OK : hn_fail(err, rc, "%s", why.text);
}

/* --- events ---------------------------------------------------------------------------------------------------------
 */

static hone_rc put_event(hone_store *s, const hn_happening *e, int64_t deployment, hone_err *err) {
    sqlite3_stmt *q;
    hone_rc rc = hn_store_stmt(s, HN_SQL_ADD_EVENT, &q, err);
    if (rc) return rc;
    sqlite3_bind_int64(q, 1, deployment);
    hn_bind_text(q, 2, e->base);
    sqlite3_bind_double(q, 3, e->at_s);
    hn_bind_text(q, 4, e->kind);
    hn_bind_text(q, 5, e->text);
    hn_bind_text(q, 6, e->body);
    return hn_store_run(s, q, err);
}

static hone_rc event_body(hone_store *s, void *ctx, hone_err *err) {
    const hn_happening *e = ctx;
    return put_event(s, e, e->deployment, err);
}
hone_rc hn_happening_add(hone_store *s, const hn_happening *event, hone_err *err) {
    hn_happening e = *event;
    return transact(s, event_body, &e, err);
}

static bool grow(hn_arena *a, void **list, size_t n, size_t *room, size_t size) {
    if (n < *room) return true;
    size_t more = 2 * *room + 16;
    void *wider = hn_alloc_n(a, more, size);
    if (!wider) return false;
    if (n) memcpy(wider, *list, n * size);
    *list = wider;
    *room = more;
    return true;
}

hone_rc hn_happening_list(hone_store *s, int64_t deployment, const char *base, hn_arena *a, hn_happening **out,
                          size_t *n, hone_err *err) {
    void *list = NULL;
    size_t count = 0, room = 0;
    bool row;
    sqlite3_stmt *q;
    hone_rc rc = hn_store_stmt(s, HN_SQL_EVENTS, &q, err);
    if (rc) return rc;
    sqlite3_bind_int64(q, 1, base ? 0 : deployment);
    if (base) hn_bind_text(q, 2, base);
    while (!(rc = hn_store_step(s, q, &row, err)) && row && grow(a, &list, count, &room, sizeof **out)) {
        hn_happening *e = (hn_happening *)list + count++;
        *e = (hn_happening){.id = sqlite3_column_int64(q, 0), .deployment = sqlite3_column_int64(q, 1)};
        e->base = hn_strdup(a, hn_column(q, 2));
        e->at_s = sqlite3_column_double(q, 3);
        e->kind = hn_strdup(a, hn_column(q, 4));
        e->text = hn_strdup(a, hn_column(q, 5));
        e->body = hn_strdup(a, hn_column(q, 6));
    }
    sqlite3_reset(q);
    if (!rc && !hn_arena_ok(a)) rc = hn_fail(err, HONE_E_NOMEM, "out of memory reading events");
    if (rc) return rc;
    *out = list;
    *n = count;
    return HONE_OK;
}

/* --- what answers ---------------------------------------------------------------------------------------------------
 */

static hone_rc put_serving(hone_store *s, const hn_serving *x, hone_err *err) {
    sqlite3_stmt *q;
    hone_rc rc = hn_store_stmt(s, x->path ? HN_SQL_PUT_SERVING : HN_SQL_DROP_SERVING, &q, err);
    if (rc) return rc;
    hn_bind_text(q, 1, x->base);
    if (x->path) {
        hn_bind_text(q, 2, x->base_hash);
        hn_bind_text(q, 3, x->path);
        hn_bind_text(q, 4, x->hash);
        sqlite3_bind_int64(q, 5, x->deployment);
    }
    return hn_store_run(s, q, err);
}

typedef struct serving_change {
    const hn_serving *serving;
    const hn_happening *event;
} serving_change;
static hone_rc serving_body(hone_store *s, void *ctx, hone_err *err) {
    const serving_change *x = ctx;
    hone_rc rc = put_serving(s, x->serving, err);
    return rc || !x->event ? rc : put_event(s, x->event, x->event->deployment, err);
}
hone_rc hn_serving_put(hone_store *s, const hn_serving *serving, const hn_happening *event, hone_err *err) {
    serving_change x = {serving, event};
    return transact(s, serving_body, &x, err);
}

hone_rc hn_serving_get(hone_store *s, const char *base, hn_arena *a, hn_serving *out, hone_err *err) {
    bool row;
    sqlite3_stmt *q;
    hn_serving x = {.base = base};
    hone_rc rc = hn_store_stmt(s, HN_SQL_GET_SERVING, &q, err);
    if (rc) return rc;
    hn_bind_text(q, 1, base);
    if ((rc = hn_store_step(s, q, &row, err))) return rc;
    if (row) {
        x.base_hash = hn_strdup(a, hn_column(q, 0));
        x.path = hn_strdup(a, hn_column(q, 1));
        x.hash = hn_strdup(a, hn_column(q, 2));
        x.deployment = sqlite3_column_int64(q, 3);
    }
    sqlite3_reset(q);
    if (!hn_arena_ok(a)) return hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", s->path);
    *out = x;
    return HONE_OK;
}

/* --- deployments ----------------------------------------------------------------------------------------------------
 */

typedef struct beginning {
    const hn_deployment *d;
    const hn_happening *event;
    int64_t id;
} beginning;

static hone_rc begin_body(hone_store *s, void *ctx, hone_err *err) {
    beginning *b = ctx;
    const hn_deployment *d = b->d;
    const char *const text[] = {d->base, d->base_hash, d->now, d->now_hash, d->next, d->next_hash, d->rules};
    int64_t other;
    sqlite3_stmt *q;
    hone_rc rc = hn_deployment_under_way(s, d->base, &other, err);
    if (!rc && other)
        rc = hn_fail(err, HONE_E_BUSY, "deployment %lld of '%s' is under way; wait for its end, or roll it back",
                     (long long)other, d->base);
    if (!rc) rc = hn_store_stmt(s, HN_SQL_ADD_DEPLOYMENT, &q, err);
    if (rc) return rc;
    for (int i = 0; i < 7; i++) hn_bind_text(q, i + 1, text[i]);
    sqlite3_bind_int64(q, 8, d->shadow);
    sqlite3_bind_double(q, 9, d->began_s);
    if ((rc = hn_store_run(s, q, err))) return rc;
    b->id = sqlite3_last_insert_rowid(s->db);
    return put_event(s, b->event, b->id, err);
}
hone_rc hn_deployment_begin(hone_store *s, hn_deployment *d, const hn_happening *event, hone_err *err) {
    beginning b = {d, event, 0};
    hone_rc rc = transact(s, begin_body, &b, err);
    if (!rc) d->id = b.id;
    return rc;
}

hone_rc hn_deployment_under_way(hone_store *s, const char *base, int64_t *id, hone_err *err) {
    bool row;
    sqlite3_stmt *q;
    hone_rc rc = hn_store_stmt(s, HN_SQL_UNDER_WAY, &q, err);
    if (rc) return rc;
    hn_bind_text(q, 1, base);
    if ((rc = hn_store_step(s, q, &row, err))) return rc;
    *id = row ? sqlite3_column_int64(q, 0) : 0;
    sqlite3_reset(q);
    return HONE_OK;
}

static void read_deployment(sqlite3_stmt *q, hn_arena *a, hn_deployment *d) {
    const char **const text[] = {&d->base,      &d->base_hash, &d->now,   &d->now_hash, &d->next,
                                 &d->next_hash, &d->rules,     &d->state, &d->why,      &d->text};
    for (int i = 0; i < 10; i++) *text[i] = hn_strdup(a, hn_column(q, i));
    d->shadow = sqlite3_column_int64(q, 10);
    d->began_s = sqlite3_column_double(q, 11);
    d->ended_s = sqlite3_column_double(q, 12);
    for (int i = 0; i < HN_N_EVIDENCE; i++) d->count[i] = (uint64_t)sqlite3_column_int64(q, 13 + i);
}

static hone_rc read_ratios(hone_store *s, hn_arena *a, hn_deployment *d, hone_err *err) {
    bool row;
    void *all = NULL;
    size_t n = 0, room = 0;
    sqlite3_stmt *q;
    hone_rc rc = hn_store_stmt(s, HN_SQL_RATIOS, &q, err);
    if (rc) return rc;
    sqlite3_bind_int64(q, 1, d->id);
    while (!(rc = hn_store_step(s, q, &row, err)) && row) {
        size_t more = (size_t)sqlite3_column_bytes(q, 0) / sizeof(float);
        while (hn_arena_ok(a) && n + more > room && grow(a, &all, room, &room, sizeof(float))) continue;
        if (!hn_arena_ok(a)) break;
        if (more) memcpy((float *)all + n, sqlite3_column_blob(q, 0), more * sizeof(float));
        n += more;
    }
    sqlite3_reset(q);
    d->ratio = all;
    d->n_ratio = n;
    return rc;
}

hone_rc hn_deployment_get(hone_store *s, int64_t id, hn_arena *a, hn_deployment *out, hone_err *err) {
    bool row;
    sqlite3_stmt *q;
    hn_deployment d = {.id = id};
    hone_rc rc = hn_store_stmt(s, HN_SQL_GET_DEPLOYMENT, &q, err);
    if (rc) return rc;
    sqlite3_bind_int64(q, 1, id);
    if ((rc = hn_store_step(s, q, &row, err))) return rc;
    if (row) read_deployment(q, a, &d);
    sqlite3_reset(q);
    if (!row) return hn_fail(err, HONE_E_NOTFOUND, "there is no deployment %lld in '%s'", (long long)id, s->path);
    rc = read_ratios(s, a, &d, err);
    if (!rc && !hn_arena_ok(a)) rc = hn_fail(err, HONE_E_NOMEM, "out of memory reading deployment %lld", (long long)id);
    if (!rc) *out = d;
    return rc;
}

hone_rc hn_deployment_ids(hone_store *s, const char *base, hn_arena *a, int64_t **id, size_t *n, hone_err *err) {
    void *list = NULL;
    size_t count = 0, room = 0;
    bool row;
    sqlite3_stmt *q;
    hone_rc rc = hn_store_stmt(s, HN_SQL_DEPLOYMENT_IDS, &q, err);
    if (rc) return rc;
    if (base) hn_bind_text(q, 1, base);
    while (!(rc = hn_store_step(s, q, &row, err)) && row && grow(a, &list, count, &room, sizeof **id))
        ((int64_t *)list)[count++] = sqlite3_column_int64(q, 0);
    sqlite3_reset(q);
    if (!rc && !hn_arena_ok(a)) rc = hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", s->path);
    if (rc) return rc;
    *id = list;
    *n = count;
    return HONE_OK;
}

typedef struct addition {
    int64_t id;
    const uint64_t *count;
    const float *ratio;
    size_t n;
} addition;

static hone_rc not_under_way(hone_store *s, int64_t id, hone_err *err) {
    return hn_fail(err, HONE_E_NOTFOUND, "no deployment %lld is under way in '%s'", (long long)id, s->path);
}

static hone_rc add_body(hone_store *s, void *ctx, hone_err *err) {
    const addition *x = ctx;
    sqlite3_stmt *q;
    hone_rc rc = hn_store_stmt(s, HN_SQL_ADD_EVIDENCE, &q, err);
    if (rc) return rc;
    sqlite3_bind_int64(q, 1, x->id);
    for (int i = 0; i < HN_N_EVIDENCE; i++) sqlite3_bind_int64(q, 2 + i, (int64_t)x->count[i]);
    if ((rc = hn_store_run(s, q, err))) return rc;
    if (!sqlite3_changes(s->db)) return not_under_way(s, x->id, err);
    if (!x->n) return HONE_OK;
    if ((rc = hn_store_stmt(s, HN_SQL_ADD_RATIOS, &q, err))) return rc;
    sqlite3_bind_int64(q, 1, x->id);
    sqlite3_bind_blob64(q, 2, x->ratio, x->n * sizeof *x->ratio, SQLITE_STATIC);
    return hn_store_run(s, q, err);
}
hone_rc hn_deployment_add(hone_store *s, int64_t id, const uint64_t count[HN_N_EVIDENCE], const float *ratio, size_t n,
                          hone_err *err) {
    addition x = {id, count, ratio, n};
    return transact(s, add_body, &x, err);
}

typedef struct conclusion {
    const hn_deployment *d;
    const hn_happening *event;
    const hn_serving *serving;
} conclusion;

static hone_rc conclude_body(hone_store *s, void *ctx, hone_err *err) {
    const conclusion *x = ctx;
    sqlite3_stmt *q;
    hone_rc rc = hn_store_stmt(s, HN_SQL_CONCLUDE, &q, err);
    if (rc) return rc;
    sqlite3_bind_int64(q, 1, x->d->id);
    hn_bind_text(q, 2, x->d->state);
    hn_bind_text(q, 3, x->d->why);
    hn_bind_text(q, 4, x->d->text);
    sqlite3_bind_double(q, 5, x->d->ended_s);
    if ((rc = hn_store_run(s, q, err))) return rc;
    if (!sqlite3_changes(s->db)) return not_under_way(s, x->d->id, err);
    if (x->serving) rc = put_serving(s, x->serving, err);
    return rc ? rc : put_event(s, x->event, x->d->id, err);
}
hone_rc hn_deployment_conclude(hone_store *s, const hn_deployment *d, const hn_happening *event,
                               const hn_serving *serving, hone_err *err) {
    conclusion x = {d, event, serving};
    return transact(s, conclude_body, &x, err);
}

/* --- hashes of files ------------------------------------------------------------------------------------------------
 */

hone_rc hn_file_hash_get(hone_store *s, const char *path, const char *stamp, char hash[33], hone_err *err) {
    bool row;
    sqlite3_stmt *q;
    hone_rc rc = hn_store_stmt(s, HN_SQL_GET_FILE_HASH, &q, err);
    if (rc) return rc;
    hn_bind_text(q, 1, path);
    hn_bind_text(q, 2, stamp);
    if ((rc = hn_store_step(s, q, &row, err))) return rc;
    const char *found = row ? hn_column(q, 0) : "";
    memcpy(hash, strlen(found) == 32 ? found : "", strlen(found) == 32 ? 33 : 1);
    sqlite3_reset(q);
    return HONE_OK;
}

static hone_rc hash_body(hone_store *s, void *ctx, hone_err *err) {
    const char *const *text = ctx;
    sqlite3_stmt *q;
    hone_rc rc = hn_store_stmt(s, HN_SQL_PUT_FILE_HASH, &q, err);
    if (rc) return rc;
    for (int i = 0; i < 3; i++) hn_bind_text(q, i + 1, text[i]);
    return hn_store_run(s, q, err);
}
hone_rc hn_file_hash_put(hone_store *s, const char *path, const char *stamp, const char *hash, hone_err *err) {
    const char *text[] = {path, stamp, hash};
    return transact(s, hash_body, text, err);
}

/* --- who carries a deployment out -----------------------------------------------------------------------------------
 */

hone_rc hn_deployment_lock(const char *path, int64_t id, int *fd, hone_err *err) {
    hn_str name = {0};
    hn_str_addf(&name, "%s-lock", path);
    if (name.failed) return hn_fail(err, HONE_E_NOMEM, "out of memory locking '%s'", path);
    if (*fd < 0) *fd = open(name.text, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    hone_rc rc = *fd < 0 ? hn_fail(err, HONE_E_STORE, "cannot open '%s': %s", name.text, strerror(errno)) : HONE_OK;
    hn_str_free(&name);
    const double until = hn_now_s() + 2; /* the lock of a process that was just killed may need a moment to go */
    while (!rc) {
        struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)id, .l_len = 1};
        if (fcntl(*fd, F_OFD_SETLK, &l) == 0) return HONE_OK;
        if ((errno != EAGAIN && errno != EACCES) || hn_now_s() > until)
            rc = hn_fail(err, HONE_E_BUSY, "deployment %lld of '%s' is carried out by another process", (long long)id,
                         path);
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    }
    return rc;
}
