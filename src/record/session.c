/* record/session.c — sessions: begin, take up again, end, look up; what must agree before measurements are combined. */
#include "record/store_int.h"

#include "base/clock.h"
#include "base/err.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char *or_empty(const char *s) { return s ? s : ""; }

static hone_rc need_write(const hone_store *s, hone_err *err) {
    return s->write ? HONE_OK : hn_fail(err, HONE_E_STORE, "'%s' was opened for reading only", s->path);
}

/* --- begin, end --------------------------------------------------------------------------------------------------- */

typedef struct begin {
    const hone_session *session;
    double started_s;
    int64_t id;
} begin;

static hone_rc begin_body(hone_store *s, void *ctx, hone_err *err) {
    begin *b = ctx;
    const hone_session *x = b->session;
    sqlite3_stmt *q;
    hone_rc rc = hn_store_stmt(s, HN_SQL_ADD_SPACE, &q, err);
    if (rc) return rc;
    hn_bind_text(q, 1, x->space_hash);
    hn_bind_text(q, 2, x->space_text);
    rc = hn_store_run(s, q, err);
    if (!rc) rc = hn_store_stmt(s, HN_SQL_ADD_SESSION, &q, err);
    if (rc) return rc;
    const char *text[] = {x->workload, x->workload_hash, x->source_hash, x->space_hash, x->machine_hash,
                          x->machine,  x->compilers,     x->objectives,  x->engine};
    char holder[160];
    for (int i = 0; i < 9; i++) hn_bind_text(q, i + 1, text[i]);
    sqlite3_bind_int64(q, 10, (int64_t)x->seed);
    sqlite3_bind_double(q, 11, b->started_s);
    hn_bind_text(q, 12, HONE_VERSION);
    hn_bind_text(q, 13, hn_store_holder(holder));
    rc = hn_store_run(s, q, err);
    if (rc) return rc;
    b->id = sqlite3_last_insert_rowid(s->db);
    hn_store_unlock(s); /* the lock of a first attempt, whose id may differ */
    return hn_store_lock(s, b->id, err);
}

hone_rc hone_session_begin(hone_store *s, hone_session *session, hone_err *err) {
    begin b = {session, hn_unix_s(), 0};
    hone_rc rc = need_write(s, err);
    if (!rc && s->locked)
        rc = hn_fail(err, HONE_E_BUSY, "this store already writes session %lld; end it first", (long long)s->locked);
    if (!rc) rc = hn_store_transact(s, begin_body, &b, NULL, err);
    if (rc) {
        hn_store_unlock(s);
        return rc;
    }
    session->id = b.id;
    session->started_s = b.started_s;
    return HONE_OK;
}

typedef struct change {
    int64_t id;
    const char *state, *reason;
} change;

static hone_rc end_body(hone_store *s, void *ctx, hone_err *err) {
    const change *c = ctx;
    sqlite3_stmt *q;
    hone_rc rc = hn_store_stmt(s, HN_SQL_END_SESSION, &q, err);
    if (rc) return rc;
    sqlite3_bind_int64(q, 1, c->id);
    hn_bind_text(q, 2, c->state);
    hn_bind_text(q, 3, c->reason);
    sqlite3_bind_double(q, 4, hn_unix_s());
    return hn_store_run(s, q, err);
}

hone_rc hone_session_end(hone_store *s, int64_t id, const char *state, const char *reason, hone_err *err) {
    if (strcmp(state, "interrupted") != 0 && strcmp(state, "finished") != 0)
        return hn_fail(err, HONE_E_FAILED, "a session ends as 'interrupted' or 'finished', not as '%s'", state);
    if (s->locked != id)
        return hn_fail(err, HONE_E_STORE, "session %lld is not being written by this store", (long long)id);
    change c = {id, state, reason};
    hone_rc rc = hn_store_transact(s, end_body, &c, NULL, err);
    if (rc) return rc;
    sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    hn_store_unlock(s);
    return HONE_OK;
}

/* --- look up ------------------------------------------------------------------------------------------------------ */

static hone_rc copy_session(hone_store *s, sqlite3_stmt *q, hone_session *out, hone_err *err) {
    hn_arena *a = calloc(1, sizeof *a);
    if (!a) return hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", s->path);
    hone_session x = {.block = a, .id = sqlite3_column_int64(q, 0)};
    const char **text[] = {NULL,          &x.workload,   &x.workload_hash, &x.source_hash,
                           &x.space_hash, &x.space_text, &x.machine_hash,  &x.machine,
                           &x.compilers,  &x.objectives, &x.engine};
    for (int i = 1; i < 11; i++) *text[i] = hn_strdup(a, hn_column(q, i));
    x.seed = (uint64_t)sqlite3_column_int64(q, 11);
    x.state = hn_strdup(a, hn_column(q, 12));
    x.reason = hn_strdup(a, hn_column(q, 13));
    x.started_s = sqlite3_column_double(q, 14);
    x.ended_s = sqlite3_column_double(q, 15);
    x.version = hn_strdup(a, hn_column(q, 16));
    x.n_trials = sqlite3_column_int64(q, 17);
    x.n_asked = sqlite3_column_int64(q, 18);
    if (!hn_arena_ok(a)) {
        hone_session_free(&x);
        return hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", s->path);
    }
    if (!strcmp(x.state, "running") && !hn_store_is_locked(s, x.id)) { /* its process was killed */
        x.state = "interrupted";
        x.reason = "killed";
    }
    *out = x;
    return HONE_OK;
}

static hone_rc no_session(hone_store *s, int64_t id, const char *workload, hone_err *err) {
    if (id) return hn_fail(err, HONE_E_NOTFOUND, "no session %lld in '%s'", (long long)id, s->path);
    if (workload) return hn_fail(err, HONE_E_NOTFOUND, "no session of workload '%s' in '%s'", workload, s->path);
    return hn_fail(err, HONE_E_NOTFOUND, "no session in '%s'", s->path);
}

static hone_rc get_by_id(hone_store *s, int64_t id, bool *found, hone_session *out, hone_err *err) {
    sqlite3_stmt *q;
    hone_rc rc = hn_store_stmt(s, HN_SQL_GET_SESSION, &q, err);
    if (rc) return rc;
    sqlite3_bind_int64(q, 1, id);
    rc = hn_store_step(s, q, found, err);
    if (!rc && *found) rc = copy_session(s, q, out, err);
    sqlite3_reset(q);
    return rc;
}

static hone_rc newest(hone_store *s, const char *workload, int64_t *id, hone_err *err) {
    sqlite3_stmt *q;
    hone_rc rc = hn_store_stmt(s, HN_SQL_NEWEST, &q, err);
    if (rc) return rc;
    if (workload) hn_bind_text(q, 1, workload);
    bool row;
    rc = hn_store_step(s, q, &row, err);
    if (!rc) *id = row ? sqlite3_column_int64(q, 0) : 0;
    sqlite3_reset(q);
    return rc;
}

hone_rc hone_session_get(hone_store *s, int64_t id, const char *workload, hone_session *out, hone_err *err) {
    bool found = false;
    int64_t which = id;
    hone_rc rc = id ? HONE_OK : newest(s, workload, &which, err);
    if (!rc) rc = get_by_id(s, which, &found, out, err);
    return rc || found ? rc : no_session(s, id, workload, err);
}

static hone_rc list_ids(hone_store *s, int64_t **ids, size_t *n, hone_err *err) {
    sqlite3_stmt *q;
    hone_rc rc = hn_store_stmt(s, HN_SQL_SESSION_IDS, &q, err);
    if (rc) return rc;
    int64_t *list = NULL;
    size_t count = 0;
    bool row = true;
    while (!(rc = hn_store_step(s, q, &row, err)) && row) {
        if ((count & (count - 1)) == 0) { /* room doubles at each power of two */
            int64_t *more = realloc(list, (count ? 2 * count : 1) * sizeof *list);
            if (!more) {
                rc = hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", s->path);
                break;
            }
            list = more;
        }
        list[count++] = sqlite3_column_int64(q, 0);
    }
    sqlite3_reset(q);
    if (rc) {
        free(list);
        return rc;
    }
    *ids = list;
    *n = count;
    return HONE_OK;
}

hone_rc hone_session_list(hone_store *s, hone_session **out, size_t *n, hone_err *err) {
    int64_t *ids = NULL;
    size_t count = 0, done = 0;
    hone_rc rc = list_ids(s, &ids, &count, err);
    if (rc) return rc;
    hone_session *list = calloc(count + 1, sizeof *list);
    if (!list) rc = hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", s->path);
    for (; !rc && done < count; done++) rc = hone_session_get(s, ids[done], NULL, &list[done], err);
    free(ids);
    if (rc) {
        hone_session_list_free(list, done);
        return rc;
    }
    *out = list;
    *n = count;
    return HONE_OK;
}

void hone_session_free(hone_session *session) {
    if (!session || !session->block) return;
    hn_arena_free(session->block);
    free(session->block);
    *session = (hone_session){0};
}

void hone_session_list_free(hone_session *list, size_t n) {
    for (size_t i = 0; list && i < n; i++) hone_session_free(&list[i]);
    free(list);
}

/* --- take up again ------------------------------------------------------------------------------------------------ */

static void add_part(hn_str *s, const char *what, const char *was, const char *is) {
    hn_str_addf(s, "%s%s was '%s' and is '%s'", s->n ? "; " : "", what, was, is);
}

static void add_value(hn_str *s, const char *what, const json_t *was, const json_t *is) {
    char *a = was ? json_dumps(was, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    char *b = is ? json_dumps(is, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    add_part(s, what, a ? a : "nothing", b ? b : "nothing");
    free(a);
    free(b);
}

/* Fingerprints are objects: only the members that differ are printed. */
static void diff_compiler(hn_str *s, size_t i, const json_t *was, const json_t *is) {
    hn_str what = {0};
    const char *key, *name = json_string_value(json_object_get(was, "command"));
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)was, key, value) {
        const json_t *other = json_object_get(is, key);
        if (other && json_equal(value, (json_t *)(uintptr_t)other)) continue;
        hn_str_free(&what);
        hn_str_addf(&what, "compiler %zu (%s) %s", i + 1, name ? name : "?", key);
        if (what.text) add_value(s, what.text, value, other);
    }
    hn_str_free(&what);
}

static void diff_compilers(hn_str *s, const char *was, const char *is) {
    json_t *a = json_loads(was, 0, NULL), *b = json_loads(is, 0, NULL);
    size_t n = json_array_size(a), before = s->n;
    if (n == json_array_size(b))
        for (size_t i = 0; i < n; i++) diff_compiler(s, i, json_array_get(a, i), json_array_get(b, i));
    if (s->n == before && !(a && b && json_equal(a, b))) add_part(s, "the compilers", was, is);
    json_decref(a);
    json_decref(b);
}

/* Readable texts are shown instead of the hashes where the texts differ too. */
static void diff_hash(hn_str *s, const char *what, const char *was, const char *is) {
    if (strcmp(was, or_empty(is)) != 0) add_part(s, what, was, or_empty(is));
}

static hone_rc check_same(const hone_session *was, const hone_session *is, hone_err *err) {
    hn_str s = {0};
    diff_hash(&s, "the workload", was->workload, is->workload);
    diff_hash(&s, "the workload's content (hash)", was->workload_hash, is->workload_hash);
    diff_hash(&s, "the sources (hash)", was->source_hash, is->source_hash);
    diff_hash(&s, "the search space (hash)", was->space_hash, is->space_hash);
    diff_hash(&s, "the objectives", was->objectives, is->objectives);
    if (strcmp(was->compilers, or_empty(is->compilers)) != 0)
        diff_compilers(&s, was->compilers, or_empty(is->compilers));
    if (strcmp(was->machine_hash, or_empty(is->machine_hash)) != 0) {
        if (strcmp(was->machine, or_empty(is->machine)) != 0)
            add_part(&s, "the machine", was->machine, or_empty(is->machine));
        else
            add_part(&s, "the machine (hash)", was->machine_hash, or_empty(is->machine_hash));
    }
    hone_rc rc = HONE_OK;
    if (s.failed)
        rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
    else if (s.n)
        rc = hn_fail(err, HONE_E_MISMATCH,
                     "session %lld was measured under other conditions, so its results cannot be gone on with: %s; "
                     "start a new session, as `hone tune --new` does",
                     (long long)was->id, s.text);
    hn_str_free(&s);
    return rc;
}

static hone_rc hold_body(hone_store *s, void *ctx, hone_err *err) {
    const int64_t *id = ctx;
    char holder[160];
    sqlite3_stmt *q;
    hone_rc rc = hn_store_stmt(s, HN_SQL_HOLD_SESSION, &q, err);
    if (rc) return rc;
    sqlite3_bind_int64(q, 1, *id);
    hn_bind_text(q, 2, hn_store_holder(holder));
    return hn_store_run(s, q, err);
}

hone_rc hone_session_resume(hone_store *s, int64_t id, const hone_session *want, hone_err *err) {
    hone_session was;
    hone_rc rc = need_write(s, err);
    if (!rc) rc = hone_session_get(s, id, NULL, &was, err);
    if (rc) return rc;
    int64_t which = was.id;
    rc = check_same(&was, want, err);
    hone_session_free(&was);
    bool held = s->locked == which;
    if (!rc) rc = hn_store_lock(s, which, err);
    if (rc) return rc;
    rc = hn_store_transact(s, hold_body, &which, NULL, err);
    if (rc && !held) hn_store_unlock(s);
    return rc;
}
