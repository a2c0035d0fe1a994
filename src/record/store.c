/* record/store.c — opening, schema, transactions, the reserve for a full disk. Format: docs/store.md. */
#include "record/store_int.h"

#include "base/err.h"
#include "base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    FORMAT = 4,
    BUSY_MS = 10000,
    RESERVE_B = 1 << 20,
    CHECKPOINT_PAGES = 512, /* 2 MiB: the write-ahead log is folded into the database beyond this */
};

static const char *const migration[FORMAT] = {
    "CREATE TABLE space (hash TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE session (id INTEGER PRIMARY KEY AUTOINCREMENT, workload TEXT NOT NULL, workload_hash TEXT NOT NULL,"
    " source_hash TEXT NOT NULL, space_hash TEXT NOT NULL REFERENCES space(hash), machine_hash TEXT NOT NULL,"
    " machine TEXT NOT NULL, compilers TEXT NOT NULL, objectives TEXT NOT NULL, engine TEXT NOT NULL,"
    " seed INTEGER NOT NULL, state TEXT NOT NULL CHECK (state IN ('running', 'interrupted', 'finished')),"
    " reason TEXT NOT NULL, started_s REAL NOT NULL, ended_s REAL NOT NULL, version TEXT NOT NULL,"
    " holder TEXT NOT NULL);"
    "CREATE INDEX session_space ON session(space_hash);"
    "CREATE INDEX session_workload ON session(workload);"
    "CREATE TABLE trial (session INTEGER NOT NULL REFERENCES session(id), id INTEGER NOT NULL, phase TEXT NOT NULL,"
    " point TEXT NOT NULL, point_hash INTEGER NOT NULL, object_hash TEXT NOT NULL, same_as INTEGER NOT NULL,"
    " class TEXT NOT NULL, value TEXT NOT NULL, violation TEXT NOT NULL, origin TEXT NOT NULL, detail TEXT NOT NULL,"
    " build_s REAL NOT NULL, run_s REAL NOT NULL, at_s REAL NOT NULL, n_asked INTEGER NOT NULL,"
    " suspect INTEGER NOT NULL, PRIMARY KEY (session, id)) WITHOUT ROWID;"
    "CREATE UNIQUE INDEX trial_once ON trial(session, point_hash) WHERE phase = 'search';"
    "CREATE TABLE series (session INTEGER NOT NULL REFERENCES session(id), id INTEGER NOT NULL, metric TEXT NOT NULL,"
    " input TEXT NOT NULL, side INTEGER NOT NULL, PRIMARY KEY (session, id), UNIQUE (session, metric, input, side))"
    " WITHOUT ROWID;"
    "CREATE TABLE samples (session INTEGER NOT NULL, trial INTEGER NOT NULL, body BLOB NOT NULL,"
    " PRIMARY KEY (session, trial), FOREIGN KEY (session, trial) REFERENCES trial(session, id)) WITHOUT ROWID;",
    "CREATE TABLE proof (id INTEGER PRIMARY KEY AUTOINCREMENT, session INTEGER NOT NULL, workload_hash TEXT NOT NULL,"
    " point TEXT NOT NULL, kept INTEGER NOT NULL, why TEXT NOT NULL, verdict TEXT NOT NULL, at_s REAL NOT NULL,"
    " version TEXT NOT NULL, body TEXT NOT NULL);"
    "CREATE INDEX proof_session ON proof(session);",
    "CREATE TABLE effect (session INTEGER NOT NULL REFERENCES session(id), id INTEGER NOT NULL, choice TEXT NOT NULL,"
    " value TEXT NOT NULL, against TEXT NOT NULL, words TEXT NOT NULL, gain REAL, lo REAL, hi REAL,"
    " n_trials INTEGER NOT NULL, n_failed INTEGER NOT NULL, PRIMARY KEY (session, id)) WITHOUT ROWID;",
    ("CREATE TABLE fact (session INTEGER NOT NULL REFERENCES session(id), name TEXT NOT NULL, json TEXT NOT NULL,"
     " PRIMARY KEY (session, name)) WITHOUT ROWID;"),
};

static const hn_store_form store_form = {"store", "'hone tune'", 0x686f6e65 /* "hone" */, FORMAT, migration, false};

static const char *const sql_text[HN_N_SQL] = {
#define HN_SQL(id, text) [HN_SQL_##id] = text,
#include "record/store_sql.def"
#undef HN_SQL
};

/* --- errors ------------------------------------------------------------------------------------------------------- */

hone_rc hn_store_fail(hone_store *s, hone_err *err, const char *what) {
    int code = s->db ? sqlite3_extended_errcode(s->db) : SQLITE_NOMEM;
    const char *text = s->db ? sqlite3_errmsg(s->db) : "out of memory";
    switch (code & 0xff) {
    case SQLITE_NOMEM: return hn_fail(err, HONE_E_NOMEM, "out of memory using '%s'", s->path);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return hn_fail(err, HONE_E_BUSY, "'%s' stayed locked by another process for %d s; try again", s->path,
                       BUSY_MS / 1000);
    case SQLITE_FULL: return hn_fail(err, HONE_E_STORE, "the disk of '%s' is full; make room and resume", s->path);
    case SQLITE_NOTADB:
        return hn_fail(err, HONE_E_STORE,
                       "'%s' is not a database; it was left as it is: move it away to start a new %s", s->path,
                       s->form->what);
    case SQLITE_CORRUPT:
        return hn_fail(err, HONE_E_STORE,
                       "'%s' is damaged (%s); it was left as it is: rescue it with 'sqlite3 FILE .recover', or move "
                       "it away to start a new %s",
                       s->path, text, s->form->what);
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
        return hn_fail(err, HONE_E_STORE, "cannot %s '%s': %s; check that you may write to its folder", what, s->path,
                       text);
    default: return hn_fail(err, HONE_E_STORE, "cannot %s '%s': %s", what, s->path, text);
    }
}

bool hn_store_is_full(const hone_store *s) {
    int code = sqlite3_errcode(s->db) & 0xff;
    return code == SQLITE_FULL || code == SQLITE_IOERR;
}

/* --- statements --------------------------------------------------------------------------------------------------- */

hone_rc hn_store_stmt(hone_store *s, hn_sql id, sqlite3_stmt **out, hone_err *err) {
    if (!s->stmt[id] &&
        sqlite3_prepare_v3(s->db, sql_text[id], -1, SQLITE_PREPARE_PERSISTENT, &s->stmt[id], NULL) != SQLITE_OK)
        return hn_store_fail(s, err, "use");
    sqlite3_reset(s->stmt[id]);
    sqlite3_clear_bindings(s->stmt[id]);
    *out = s->stmt[id];
    return HONE_OK;
}

void hn_bind_text(sqlite3_stmt *q, int i, const char *text) {
    sqlite3_bind_text(q, i, text ? text : "", -1, SQLITE_TRANSIENT);
}

const char *hn_column(sqlite3_stmt *q, int i) {
    const char *text = (const char *)sqlite3_column_text(q, i);
    return text ? text : "";
}

hone_rc hn_store_step(hone_store *s, sqlite3_stmt *q, bool *row, hone_err *err) {
    int code = sqlite3_step(q);
    *row = code == SQLITE_ROW;
    if (code == SQLITE_ROW || code == SQLITE_DONE) return HONE_OK;
    hone_rc rc = hn_store_fail(s, err, s->write ? "write to" : "read");
    sqlite3_reset(q);
    return rc;
}

hone_rc hn_store_run(hone_store *s, sqlite3_stmt *q, hone_err *err) {
    bool row;
    hone_rc rc = hn_store_step(s, q, &row, err);
    if (!rc) sqlite3_reset(q);
    return rc;
}

hone_rc hn_store_exec(hone_store *s, const char *sql, hone_err *err) {
    return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK ? HONE_OK
                                                                   : hn_store_fail(s, err, s->write ? "use" : "read");
}

static hone_rc run_sql(hone_store *s, hn_sql id, hone_err *err) {
    sqlite3_stmt *q;
    hone_rc rc = hn_store_stmt(s, id, &q, err);
    return rc ? rc : hn_store_run(s, q, err);
}

/* --- the reserve -------------------------------------------------------------------------------------------------- */

static char *reserve_path(const hone_store *s) {
    hn_str beside = {0};
    if (!s->form->loose) return hn_path_join(s->dir, "reserve");
    hn_str_addf(&beside, "%s-reserve", s->path);
    return hn_str_take(&beside);
}

/* Writes random bytes, so that no file system compresses them or stores a hole. */
static bool fill(int fd) {
    uint64_t block[512], x = 0x9e3779b97f4a7c15u;
    for (size_t done = 0; done < RESERVE_B; done += sizeof block) {
        for (size_t i = 0; i < sizeof block / sizeof *block; i++)
            block[i] = x = x * 6364136223846793005u + 1442695040888963407u;
        if (write(fd, block, sizeof block) != (ssize_t)sizeof block) return false;
    }
    return fsync(fd) == 0;
}

static void make_reserve(hone_store *s) {
    char *path = reserve_path(s);
    struct stat st;
    bool there = path && stat(path, &st) == 0 && st.st_size == RESERVE_B;
    int fd = path && !there ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644) : -1;
    if (fd >= 0) {
        there = fill(fd);
        close(fd);
        if (!there) unlink(path);
    }
    s->reserve_gone = !there;
    free(path);
}

static bool give_up_reserve(hone_store *s) {
    char *path = reserve_path(s);
    bool gone = path && unlink(path) == 0;
    free(path);
    s->reserve_gone = true;
    return gone;
}

/* --- transactions ------------------------------------------------------------------------------------------------- */

static hone_rc attempt(hone_store *s, hone_rc (*body)(hone_store *, void *, hone_err *), void *ctx, bool *full,
                       hone_err *err) {
    *full = false;
    hone_rc rc = run_sql(s, HN_SQL_BEGIN, err);
    if (!rc) rc = body(s, ctx, err);
    if (!rc) rc = run_sql(s, HN_SQL_COMMIT, err);
    if (rc) *full = hn_store_is_full(s);
    if (rc && !sqlite3_get_autocommit(s->db)) run_sql(s, HN_SQL_ROLLBACK, NULL);
    return rc;
}

hone_rc hn_store_transact(hone_store *s, hone_rc (*body)(hone_store *, void *, hone_err *), void *ctx, bool *written,
                          hone_err *err) {
    hone_err first = {0};
    bool full;
    if (s->reserve_gone) make_reserve(s);
    hone_rc rc = attempt(s, body, ctx, &full, &first);
    if (rc && full) {
        bool gave = give_up_reserve(s);
        hone_rc again = attempt(s, body, ctx, &full, &first);
        if (written) *written = !again;
        if (!again)
            return hn_fail(err, HONE_E_STORE,
                           "the disk of '%s' is full or failing: this record was written%s, but no more may fit; make "
                           "room and resume",
                           s->path, gave ? " into hone's reserve" : "");
        return hn_fail(err, again, "%s", first.text);
    }
    if (written) *written = !rc;
    return rc ? hn_fail(err, rc, "%s", first.text) : HONE_OK;
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

static hone_rc read_int(hone_store *s, const char *sql, int64_t *out, hone_err *err) {
    sqlite3_stmt *q;
    if (sqlite3_prepare_v2(s->db, sql, -1, &q, NULL) != SQLITE_OK) return hn_store_fail(s, err, "read");
    bool row;
    hone_rc rc = hn_store_step(s, q, &row, err);
    if (!rc) *out = row ? sqlite3_column_int64(q, 0) : 0;
    sqlite3_finalize(q);
    return rc;
}

/* The format found, 0 for an empty database; refuses what is not hone's or is newer. */
static hone_rc check_format(hone_store *s, int64_t *format, hone_err *err) {
    int64_t application, n_tables, version;
    hone_rc rc = read_int(s, "PRAGMA application_id", &application, err);
    if (!rc) rc = read_int(s, "PRAGMA user_version", &version, err);
    if (!rc) rc = read_int(s, "SELECT count(*) FROM sqlite_master", &n_tables, err);
    if (rc) return rc;
    bool empty = !application && !version && !n_tables;
    if (!empty && (application != s->form->application_id || version < 1))
        return hn_fail(err, HONE_E_STORE,
                       "'%s' is a database of another program; it was left as it is: choose another folder", s->path);
    if (version > s->form->format)
        return hn_fail(err, HONE_E_STORE, "'%s' has format %lld of a newer hone; hone " HONE_VERSION " reads up to %d",
                       s->path, (long long)version, s->form->format);
    *format = version;
    return HONE_OK;
}

static hone_rc upgrade(hone_store *s, void *ctx, hone_err *err) {
    (void)ctx;
    int64_t format;
    hone_rc rc = check_format(s, &format, err); /* again, now that nobody else writes */
    for (; !rc && format < s->form->format; format++) rc = hn_store_exec(s, s->form->migration[format], err);
    char sql[100];
    sqlite3_snprintf(sizeof sql, sql, "PRAGMA application_id = %d; PRAGMA user_version = %d",
                     (int)s->form->application_id, s->form->format);
    return rc ? rc : hn_store_exec(s, sql, err);
}

static hone_rc prepare_write(hone_store *s, hone_err *err) {
    int64_t format;
    hone_rc rc = check_format(s, &format, err);
    if (!rc) rc = hn_store_exec(s, "PRAGMA journal_mode = WAL", err);
    char sql[200];
    sqlite3_snprintf(sizeof sql, sql,
                     "PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = %d; PRAGMA journal_size_limit = %d",
                     CHECKPOINT_PAGES, 2 * CHECKPOINT_PAGES * 4096);
    if (!rc) rc = hn_store_exec(s, sql, err);
    if (!rc && format < s->form->format) rc = hn_store_transact(s, upgrade, NULL, NULL, err);
    if (!rc && s->reserve_gone)
        rc = hn_fail(err, HONE_E_STORE,
                     "no room for the 1 MiB reserve in '%s', which keeps a finished measurement safe; make room",
                     s->dir);
    return rc;
}

/* A reader in a folder that it may not write cannot share memory with writers; when there is no log to be read the
 * database is complete by itself. */
static int open_immutable(hone_store *s) {
    hn_str uri = {0};
    struct stat st;
    hn_str_addf(&uri, "%s-wal", s->path);
    bool has_log = !uri.failed && stat(uri.text, &st) == 0 && st.st_size > 0;
    hn_str_free(&uri);
    if (has_log) return SQLITE_CANTOPEN;
    char *path = realpath(s->path, NULL);
    hn_str_add(&uri, "file:");
    for (const char *c = path ? path : ""; *c; c++)
        if (strchr("%?#", *c))
            hn_str_addf(&uri, "%%%02X", *c);
        else
            hn_str_add_n(&uri, c, 1);
    hn_str_add(&uri, "?immutable=1");
    free(path);
    sqlite3_close(s->db);
    s->db = NULL;
    int code =
        uri.failed ? SQLITE_NOMEM : sqlite3_open_v2(uri.text, &s->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
    hn_str_free(&uri);
    return code;
}

static hone_rc connect_read(hone_store *s, hone_err *err) {
    int64_t format;
    hone_err first = {0};
    hone_rc rc = check_format(s, &format, &first);
    int code = sqlite3_errcode(s->db) & 0xff;
    if (rc && (code == SQLITE_CANTOPEN || code == SQLITE_READONLY) && open_immutable(s) == SQLITE_OK)
        rc = check_format(s, &format, &first);
    if (rc) return hn_fail(err, rc, "%s", first.text);
    return format ? HONE_OK
                  : hn_fail(err, HONE_E_NOTFOUND, "the %s '%s' is empty; %s fills it", s->form->what, s->path,
                            s->form->maker);
}

static hone_rc connect_store(hone_store *s, hone_err *err) {
    int flags = s->write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
    if (sqlite3_open_v2(s->path, &s->db, flags, NULL) != SQLITE_OK) return hn_store_fail(s, err, "open");
    sqlite3_extended_result_codes(s->db, 1);
    sqlite3_busy_timeout(s->db, BUSY_MS);
    hone_rc rc = s->write ? prepare_write(s, err) : connect_read(s, err);
    return rc ? rc : hn_store_exec(s, "PRAGMA foreign_keys = ON; PRAGMA cache_size = -8192", err);
}

static hone_rc open_in(hone_store *s, hone_err *err) {
    struct stat st;
    if (stat(s->dir, &st) == 0 && !S_ISDIR(st.st_mode))
        return hn_fail(err, HONE_E_STORE, "'%s' is a file, where the %s's folder should be", s->dir, s->form->what);
    if (stat(s->path, &st) == 0 && !S_ISREG(st.st_mode))
        return hn_fail(err, HONE_E_STORE, "'%s' is not a file", s->path);
    if (!s->write && !hn_exists(s->path))
        return hn_fail(err, HONE_E_NOTFOUND, "no %s in '%s'; %s makes one", s->form->what,
                       s->form->loose ? s->path : s->dir, s->form->maker);
    hone_err why = {0};
    if (s->write && hn_make_dirs(s->dir, &why)) return hn_fail(err, HONE_E_STORE, "%s", why.text);
    if (s->write) make_reserve(s);
    return connect_store(s, err);
}

hone_rc hn_store_open_as(const hn_store_form *form, const char *dir, const char *name, bool write, hone_store **out,
                         hone_err *err) {
    hone_store *s = calloc(1, sizeof *s);
    if (!s) return hn_fail(err, HONE_E_NOMEM, "out of memory opening '%s'", dir);
    s->form = form;
    s->write = write;
    s->lock_fd = -1;
    s->dir = strdup(dir);
    s->path = hn_path_join(dir, name);
    hone_rc rc = s->dir && s->path ? open_in(s, err) : hn_fail(err, HONE_E_NOMEM, "out of memory opening '%s'", dir);
    if (rc)
        hone_store_close(s);
    else
        *out = s;
    return rc;
}

hone_rc hone_store_open(const char *dir, bool write, hone_store **out, hone_err *err) {
    return hn_store_open_as(&store_form, dir, "hone.db", write, out, err);
}

void hone_store_close(hone_store *s) {
    if (!s) return;
    for (size_t i = 0; i < HN_N_SQL; i++) sqlite3_finalize(s->stmt[i]);
    sqlite3_close(s->db);
    hn_store_unlock(s);
    free(s->dir);
    free(s->path);
    free(s);
}
