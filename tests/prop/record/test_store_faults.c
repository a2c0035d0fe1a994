/* Whatever write or sync of SQLite fails, the nth for every n, once or from then on, with a full disk or with half of
 * the data written: what the store acknowledged is there after a restart, nothing twice, and the database is sound. */
#include "record/store_fixture.h"

#include <sqlite3.h>

/* --- a VFS that fails on demand ----------------------------------------------------------------------------------- */

static struct plan {
    long n_calls, fail_at; /* calls counted; 0: never fail */
    bool stays, torn;      /* from fail_at on; write half first */
    int code;
} plan;

typedef struct shim_file {
    sqlite3_file base;
    sqlite3_file *real;
} shim_file;

static sqlite3_vfs *real_vfs, shim_vfs;
static sqlite3_io_methods shim_io;

static sqlite3_file *real_of(sqlite3_file *f) { return ((shim_file *)f)->real; }
static bool fails(void) {
    plan.n_calls++;
    return plan.fail_at && (plan.stays ? plan.n_calls >= plan.fail_at : plan.n_calls == plan.fail_at);
}

static int shim_close(sqlite3_file *f) {
    sqlite3_file *r = real_of(f);
    return r->pMethods ? r->pMethods->xClose(r) : SQLITE_OK;
}
static int shim_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at) {
    return real_of(f)->pMethods->xRead(real_of(f), p, n, at);
}
static int shim_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at) {
    sqlite3_file *r = real_of(f);
    if (!fails()) return r->pMethods->xWrite(r, p, n, at);
    if (plan.torn) r->pMethods->xWrite(r, p, n / 2, at);
    return plan.code;
}
static int shim_truncate(sqlite3_file *f, sqlite3_int64 n) { return real_of(f)->pMethods->xTruncate(real_of(f), n); }
static int shim_sync(sqlite3_file *f, int flags) {
    (void)f, (void)flags; /* nothing here survives a power cut anyway: only that it can fail matters */
    return fails() ? SQLITE_IOERR_FSYNC : SQLITE_OK;
}
static int shim_size(sqlite3_file *f, sqlite3_int64 *n) { return real_of(f)->pMethods->xFileSize(real_of(f), n); }
static int shim_lock(sqlite3_file *f, int level) { return real_of(f)->pMethods->xLock(real_of(f), level); }
static int shim_unlock(sqlite3_file *f, int level) { return real_of(f)->pMethods->xUnlock(real_of(f), level); }
static int shim_reserved(sqlite3_file *f, int *out) {
    return real_of(f)->pMethods->xCheckReservedLock(real_of(f), out);
}
static int shim_control(sqlite3_file *f, int op, void *arg) {
    return real_of(f)->pMethods->xFileControl(real_of(f), op, arg);
}
static int shim_sector(sqlite3_file *f) { return real_of(f)->pMethods->xSectorSize(real_of(f)); }
static int shim_traits(sqlite3_file *f) { return real_of(f)->pMethods->xDeviceCharacteristics(real_of(f)); }
static int shim_shm_map(sqlite3_file *f, int region, int size, int extend, void volatile **out) {
    return real_of(f)->pMethods->xShmMap(real_of(f), region, size, extend, out);
}
static int shim_shm_lock(sqlite3_file *f, int at, int n, int flags) {
    return real_of(f)->pMethods->xShmLock(real_of(f), at, n, flags);
}
static void shim_shm_barrier(sqlite3_file *f) { real_of(f)->pMethods->xShmBarrier(real_of(f)); }
static int shim_shm_unmap(sqlite3_file *f, int drop) { return real_of(f)->pMethods->xShmUnmap(real_of(f), drop); }

static int shim_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *out_flags) {
    (void)vfs;
    shim_file *s = (shim_file *)f;
    s->real = (sqlite3_file *)(s + 1);
    int code = real_vfs->xOpen(real_vfs, name, s->real, flags, out_flags);
    s->base.pMethods = s->real->pMethods ? &shim_io : NULL;
    return code;
}

static void install_shim(void) {
    real_vfs = sqlite3_vfs_find(NULL);
    shim_io = (sqlite3_io_methods){.iVersion = 2,
                                   .xClose = shim_close,
                                   .xRead = shim_read,
                                   .xWrite = shim_write,
                                   .xTruncate = shim_truncate,
                                   .xSync = shim_sync,
                                   .xFileSize = shim_size,
                                   .xLock = shim_lock,
                                   .xUnlock = shim_unlock,
                                   .xCheckReservedLock = shim_reserved,
                                   .xFileControl = shim_control,
                                   .xSectorSize = shim_sector,
                                   .xDeviceCharacteristics = shim_traits,
                                   .xShmMap = shim_shm_map,
                                   .xShmLock = shim_shm_lock,
                                   .xShmBarrier = shim_shm_barrier,
                                   .xShmUnmap = shim_shm_unmap};
    shim_vfs = *real_vfs;
    shim_vfs.zName = "failing";
    shim_vfs.pNext = NULL;
    shim_vfs.szOsFile = (int)sizeof(shim_file) + real_vfs->szOsFile;
    shim_vfs.xOpen = shim_open;
    sqlite3_vfs_register(&shim_vfs, 1);
}

/* --- one run ------------------------------------------------------------------------------------------------------ */

enum { N_TRIALS = 5 };

typedef struct run {
    bool begun, acked[N_TRIALS];
    int n_unsure; /* refused, yet perhaps on disk */
} run;

/* A kill at this moment: what is on disk now, apart from the connection. */
static void snapshot(const char *to) {
    static const char *const file[] = {"hone.db", "hone.db-wal"};
    hn_remove_tree(to, NULL);
    hn_make_dirs(to, NULL);
    for (int i = 0; i < 2; i++) {
        char from[200], dest[200], *text;
        size_t n;
        snprintf(from, sizeof from, "%s/%s", fix_dir, file[i]);
        snprintf(dest, sizeof dest, "%s/%s", to, file[i]);
        if (hn_read_file(from, &text, &n, NULL)) continue;
        hn_write_file(dest, text, n, NULL);
        free(text);
    }
}

static void run_once(run *r, const char *copy) {
    hone_store *s = NULL;
    hone_err e;
    *r = (run){0};
    plan.n_calls = 0;
    if (hone_store_open(fix_dir, true, &s, &e) == HONE_OK) {
        hone_session x = fix_session();
        r->begun = hone_session_begin(s, &x, &e) == HONE_OK;
        for (int i = 0; r->begun && i < N_TRIALS; i++) {
            char point[64];
            hone_trial t = fix_trial(i, point);
            bool written = false;
            hone_rc rc = hone_trial_add(s, x.id, &t, &written, &e);
            r->acked[i] = written;
            if (rc && !written) r->n_unsure++;
            if (!rc && !written) r->n_unsure = -1000;
        }
        snapshot(copy);
        if (r->begun) hone_session_end(s, x.id, "finished", "evaluations", &e);
    } else
        snapshot(copy);
    hone_store_close(s);
}

static bool is_sound(const char *dir) {
    char path[200];
    sqlite3 *db;
    sqlite3_stmt *q;
    snprintf(path, sizeof path, "%s/hone.db", dir);
    if (!hn_exists(path)) return true;
    sqlite3_open(path, &db);
    bool sound = sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &q, NULL) == SQLITE_OK &&
                 sqlite3_step(q) == SQLITE_ROW && !strcmp((const char *)sqlite3_column_text(q, 0), "ok");
    sqlite3_finalize(q);
    sqlite3_close(db);
    return sound;
}

/* All acknowledged trials are there, whole and once; others only if the store was unsure of them. */
static bool verify(const char *dir, const run *r) {
    hone_store *s = NULL;
    hone_err e;
    hone_trials l = {0};
    if (!is_sound(dir)) return printf("# not sound\n"), false;
    if (hone_store_open(dir, true, &s, &e)) return printf("# %s\n", e.text), false;
    bool good = r->n_unsure >= 0;
    if (r->begun) good &= hone_trials_load(s, 1, true, &l, &e) == HONE_OK;
    int seen[N_TRIALS] = {0}, extra = 0;
    for (size_t k = 0; k < l.n; k++)
        for (int i = 0; i < N_TRIALS; i++)
            if (fix_same(&l.trial[k], i) && l.trial[k].n_samples == sizeof fix_samples / sizeof *fix_samples) seen[i]++;
    for (int i = 0; i < N_TRIALS; i++) {
        good &= seen[i] <= 1 && (!r->acked[i] || seen[i] == 1);
        extra += seen[i] && !r->acked[i];
    }
    if (!good || extra > r->n_unsure)
        printf("# n %zu seen %d %d %d %d %d unsure %d\n", l.n, seen[0], seen[1], seen[2], seen[3], seen[4],
               r->n_unsure);
    good &= extra <= r->n_unsure;
    hone_trials_free(&l);
    hone_store_close(s);
    return good;
}

static void sweep(const char *name, int code, bool stays, bool torn) {
    long n = 0, n_bad = 0, n_saved = 0;
    char copy[100];
    for (bool hit = true; hit && n < 1000;) {
        run r;
        fix_make_dir();
        snprintf(copy, sizeof copy, "%s.copy", fix_dir);
        plan = (struct plan){.fail_at = ++n, .stays = stays, .torn = torn, .code = code};
        run_once(&r, copy);
        hit = plan.n_calls >= plan.fail_at;
        plan.fail_at = 0;
        bool good = verify(copy, &r) && verify(fix_dir, &r);
        if (!good) printf("# %s: call %ld\n", name, n);
        n_bad += !good;
        for (int i = 0; i < N_TRIALS; i++) n_saved += r.acked[i];
        hn_remove_tree(copy, NULL);
        fix_remove_dir();
    }
    ok(n_bad == 0 && n > 20, "store_faults/%s", name);
    printf("#   %ld calls made to fail, %ld trials acknowledged\n", n, n_saved);
    if (!stays) ok(n_saved > (n - 20) * N_TRIALS / 2, "store_faults/%s_mostly_recovers", name);
}

int main(void) {
    install_shim();
    sweep("full_once", SQLITE_FULL, false, false);
    sweep("full_for_good", SQLITE_FULL, true, false);
    sweep("torn_once", SQLITE_IOERR_WRITE, false, true);
    sweep("torn_for_good", SQLITE_IOERR_WRITE, true, true);
    return done_testing();
}
