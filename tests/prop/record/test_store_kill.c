/* kill -9 at any moment: a child appends trials and tells each one that the store acknowledged over a pipe; it is
 * killed, the store is opened again, everything told is there, nothing twice, and the next child goes on. 20 kills; 100
 * with HONE_LONG=1. */
#include "record/store_fixture.h"

#include "base/rng.h"

#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <time.h>

/* Runs until killed: takes the session up and appends where it ended. */
static void child(int out) {
    hone_store *s = NULL;
    hone_session x = fix_session(), seen;
    hone_err e;
    if (hone_store_open(fix_dir, true, &s, &e)) _exit(1);
    if (hone_session_get(s, 0, NULL, &seen, &e)) {
        if (hone_session_begin(s, &x, &e)) _exit(2);
        seen.n_trials = 0;
    } else if (hone_session_resume(s, x.id = seen.id, &x, &e)) {
        _exit(3);
    }
    for (int64_t i = seen.n_trials;; i++) {
        char point[64];
        hone_trial t = fix_trial(i, point);
        if (hone_trial_add(s, x.id, &t, NULL, &e)) _exit(4);
        if (write(out, &i, sizeof i) != sizeof i) _exit(5);
    }
}

static void pause_s(double s) { nanosleep(&(struct timespec){(time_t)s, (long)((s - (double)(time_t)s) * 1e9)}, NULL); }

/* Starts a child, kills it after `n` acknowledgements and a moment; returns the last it told, or `last`. */
static int64_t kill_one(hn_rng *rng, int64_t last, int *status) {
    int fd[2];
    if (pipe(fd)) return last;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        close(fd[0]);
        child(fd[1]);
    }
    close(fd[1]);
    int64_t id, n = (int64_t)hn_rng_below(rng, 12);
    for (int64_t k = 0; k < n && read(fd[0], &id, sizeof id) == sizeof id; k++) last = id;
    pause_s(hn_rng_unit(rng) * (n ? 2e-3 : 40e-3)); /* n = 0: while opening */
    kill(pid, SIGKILL);
    while (read(fd[0], &id, sizeof id) == sizeof id) last = id;
    close(fd[0]);
    waitpid(pid, status, 0);
    return last;
}

static bool is_sound(void) {
    char path[128];
    sqlite3 *db;
    sqlite3_stmt *q = NULL;
    snprintf(path, sizeof path, "%s/hone.db", fix_dir);
    sqlite3_open(path, &db);
    bool sound = sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &q, NULL) == SQLITE_OK &&
                 sqlite3_step(q) == SQLITE_ROW && !strcmp((const char *)sqlite3_column_text(q, 0), "ok");
    sqlite3_finalize(q);
    sqlite3_close(db);
    return sound;
}

/* Trials 0 .. last are there, in order and whole; at most one more, finished but not yet told of. */
static bool verify(int64_t last) {
    hone_store *s = NULL;
    hone_err e;
    hone_trials l = {0};
    if (last < 0 || !is_sound() || hone_store_open(fix_dir, true, &s, &e)) return last < 0;
    bool good = hone_trials_load(s, 1, true, &l, &e) == HONE_OK && (int64_t)l.n >= last + 1 && (int64_t)l.n <= last + 2;
    for (size_t i = 0; good && i < l.n; i++)
        good = fix_same(&l.trial[i], (int64_t)i) && l.trial[i].id == (int64_t)i + 1 &&
               l.trial[i].n_samples == sizeof fix_samples / sizeof *fix_samples;
    hone_trials_free(&l);
    hone_store_close(s);
    return good;
}

int main(void) {
    const uint64_t seed = 20261121;
    const int rounds = getenv("HONE_LONG") ? 100 : 20;
    hn_rng rng = hn_rng_make(seed, 0);
    int n_bad = 0, n_wrong_end = 0;
    int64_t last = -1, total = 0;
    printf("# seed %llu\n", (unsigned long long)seed);
    fix_make_dir();
    for (int i = 0; i < rounds; i++) {
        if (i % 5 == 0 && i) { /* the first moments of a store are worth more than one try */
            fix_remove_dir();
            fix_make_dir();
            total += last + 1;
            last = -1;
        }
        int status = 0;
        last = kill_one(&rng, last, &status);
        n_wrong_end += !WIFSIGNALED(status);
        if (WIFEXITED(status)) printf("# child %d ended with %d\n", i, WEXITSTATUS(status));
        if (!verify(last)) printf("# round %d: lost or twice, last %lld\n", i, (long long)last), n_bad++;
    }
    fix_remove_dir();
    ok(n_bad == 0, "store_kill/%d_kills_lose_nothing", rounds);
    ok(n_wrong_end == 0, "store_kill/a_killed_writers_session_is_taken_up");
    ok(total + last + 1 > rounds, "store_kill/children_made_progress");
    return done_testing();
}
