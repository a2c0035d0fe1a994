/* record/asked.c — the table `asked` of rollouts.db. All rows of a base decay together, so one time stands for them. */
#include "record/asked.h"

#include "base/err.h"
#include "record/store_int.h"

#include <math.h>
#include <string.h>

typedef struct addition {
    const char *base;
    const hn_asked *row;
    size_t n;
    double at_s, half_life_s;
    unsigned most;
} addition;

static hone_rc decay(hone_store *s, const addition *x, hone_err *err) {
    sqlite3_stmt *q;
    bool row;
    hone_rc rc = hn_store_stmt(s, HN_SQL_ASKED_TIME, &q, err);
    if (rc) return rc;
    hn_bind_text(q, 1, x->base);
    if ((rc = hn_store_step(s, q, &row, err))) return rc;
    double age_s = row && sqlite3_column_type(q, 0) != SQLITE_NULL ? x->at_s - sqlite3_column_double(q, 0) : 0;
    sqlite3_reset(q);
    if ((rc = hn_store_stmt(s, HN_SQL_DECAY_ASKED, &q, err))) return rc;
    hn_bind_text(q, 1, x->base);
    sqlite3_bind_double(q, 2, age_s > 0 ? exp2(-age_s / x->half_life_s) : 1);
    sqlite3_bind_double(q, 3, x->at_s);
    return hn_store_run(s, q, err);
}

static hone_rc put(hone_store *s, const addition *x, const hn_asked *row, hone_err *err) {
    sqlite3_stmt *q;
    hone_rc rc = hn_store_stmt(s, HN_SQL_ADD_ASKED, &q, err);
    if (rc) return rc;
    hn_bind_text(q, 1, x->base);
    hn_bind_text(q, 2, row->kind);
    hn_bind_text(q, 3, row->size);
    sqlite3_bind_double(q, 4, row->count);
    sqlite3_bind_double(q, 5, row->time_s);
    sqlite3_bind_double(q, 6, x->at_s);
    return hn_store_run(s, q, err);
}

static hone_rc add_body(hone_store *s, void *ctx, hone_err *err) {
    const addition *x = ctx;
    sqlite3_stmt *q;
    hone_rc rc = decay(s, x, err);
    for (size_t i = 0; !rc && i < x->n; i++) rc = put(s, x, &x->row[i], err);
    if (!rc) rc = hn_store_stmt(s, HN_SQL_TRIM_ASKED, &q, err);
    if (rc) return rc;
    hn_bind_text(q, 1, x->base);
    sqlite3_bind_int64(q, 2, x->most);
    return hn_store_run(s, q, err);
}

hone_rc hn_asked_add(hone_store *s, const char *base, const hn_asked *row, size_t n, double at_s, double half_life_s,
                     unsigned most, hone_err *err) {
    addition x = {base, row, n, at_s, half_life_s, most};
    return hn_store_transact(s, add_body, &x, NULL, err);
}

hone_rc hn_asked_list(hone_store *s, const char *base, hn_arena *a, hn_asked **out, size_t *n, hone_err *err) {
    hn_asked *list = NULL;
    size_t count = 0, room = 0;
    bool row;
    sqlite3_stmt *q;
    hone_rc rc = hn_store_stmt(s, HN_SQL_ASKED, &q, err);
    if (rc) return rc;
    hn_bind_text(q, 1, base);
    while (!(rc = hn_store_step(s, q, &row, err)) && row) {
        if (count == room) {
            hn_asked *more = HN_NEW_N(a, hn_asked, room = 2 * room + 64);
            if (!more) break;
            if (count) memcpy(more, list, count * sizeof *list);
            list = more;
        }
        list[count++] = (hn_asked){hn_strdup(a, hn_column(q, 0)), hn_strdup(a, hn_column(q, 1)),
                                   sqlite3_column_double(q, 2), sqlite3_column_double(q, 3)};
    }
    sqlite3_reset(q);
    if (!rc && !hn_arena_ok(a)) rc = hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", s->path);
    if (rc) return rc;
    *out = list;
    *n = count;
    return HONE_OK;
}
