/* record/store_int.h — the open store: connection, kept statements, session lock, reserve.
 *
 * Owns: the connection, its statements, the lock's file descriptor.   Threads: one at a time.
 * Invariants: 1 between calls no statement is active and no transaction is open;  2 `locked` is the session whose lock
 * this store holds, 0 = none;  3 a store opened for writing either has its reserve file on disk or `reserve_gone` set.
 */
#ifndef HN_STORE_INT_H
#define HN_STORE_INT_H

#include "base/arena.h"
#include "base/str.h"

#include <hone/record.h>
#include <sqlite3.h>

/* Prepared statements; ids and SQL are in store_sql.def. */
typedef enum hn_sql {
#define HN_SQL(id, text) HN_SQL_##id,
#include "record/store_sql.def"
#undef HN_SQL
    HN_N_SQL
} hn_sql;

/* A kind of database: its file format. Step i of `migration` brings format i to format i + 1; a released step never
 * changes. */
typedef struct hn_store_form {
    const char *what, *maker; /* "store", "'hone tune'": for messages */
    int64_t application_id;
    int format;
    const char *const *migration;
    bool loose; /* its reserve is named after the file, as it may stand in any folder */
} hn_store_form;

struct hone_store {
    const hn_store_form *form;
    char *dir, *path;
    bool write;
    sqlite3 *db;
    sqlite3_stmt *stmt[HN_N_SQL];
    int lock_fd;
    int64_t locked;
    bool reserve_gone;
};

/* Opens DIR/NAME as this kind; what hone_store_open and hone_winners_open do. */
hone_rc hn_store_open_as(const hn_store_form *form, const char *dir, const char *name, bool write, hone_store **out,
                         hone_err *err);

/* The statement, reset and ready to bind. */
hone_rc hn_store_stmt(hone_store *s, hn_sql id, sqlite3_stmt **out, hone_err *err);
/* Binds text; NULL counts as "". */
void hn_bind_text(sqlite3_stmt *q, int i, const char *text);
/* Steps once: SQLITE_ROW or SQLITE_DONE is success. Anything else resets q and fills *err. */
hone_rc hn_store_step(hone_store *s, sqlite3_stmt *q, bool *row, hone_err *err);
/* For statements without rows: step, reset. */
hone_rc hn_store_run(hone_store *s, sqlite3_stmt *q, hone_err *err);
hone_rc hn_store_exec(hone_store *s, const char *sql, hone_err *err);
/* The connection's last error as hone's: E_BUSY, E_NOMEM or E_STORE. */
hone_rc hn_store_fail(hone_store *s, hone_err *err, const char *what);
/* Is the connection's last error one that deleting the reserve file may resolve? */
bool hn_store_is_full(const hone_store *s);

/* Runs body(ctx) in one transaction. On a full disk or a failed write: rolls back, gives up the reserve, runs it once
 * more; when that succeeds the result is E_STORE with *written true. body must be repeatable. */
hone_rc hn_store_transact(hone_store *s, hone_rc (*body)(hone_store *s, void *ctx, hone_err *err), void *ctx,
                          bool *written, hone_err *err);

/* The lock of a session: E_BUSY names the holder. A holder that was just killed may need a second until its lock is
 * released. */
hone_rc hn_store_lock(hone_store *s, int64_t session, hone_err *err);
void hn_store_unlock(hone_store *s);
/* Does any process hold it? */
bool hn_store_is_locked(const hone_store *s, int64_t session);
/* This process as stored in a session's row: "pid 123 started 456 boot …"; buf is returned. */
const char *hn_store_holder(char buf[160]);

const char *hn_column(sqlite3_stmt *q, int i); /* text, never NULL; valid until the next step */

#endif
