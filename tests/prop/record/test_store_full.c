/* A disk that is really full, at 20 different moments: a small tmpfs filled up so that k pages are left. Everything
 * acknowledged is there when read on the full disk, and again after room was made; then it goes on. */
#include "record/store_fixture.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>

enum { DISK_KB = 6144, N_MOMENTS = 20 };

static int64_t added; /* trials 0 .. added-1 were acknowledged */

static bool has_all(hone_store *s) {
    hone_trials l;
    hone_err e;
    if (hone_trials_load(s, 1, true, &l, &e)) return printf("# %s\n", e.text), false;
    bool good = (int64_t)l.n == added || (int64_t)l.n == added + 1;
    for (size_t i = 0; i < l.n; i++) good &= fix_same(&l.trial[i], (int64_t)i) && l.trial[i].n_samples == 5;
    if (!good) printf("# %zu trials, %lld acknowledged\n", l.n, (long long)added);
    added = (int64_t)l.n;
    hone_trials_free(&l);
    return good;
}

/* Adds trials until one is not written; counts those written with an error. */
static bool add_until_full(hone_store *s, size_t *n_warned) {
    char *detail = calloc(1, 4001);
    if (detail) memset(detail, 'x', 4000);
    bool refused = false;
    for (int k = 0; k < 4000 && !refused; k++) {
        char point[64];
        hone_err e;
        hone_trial t = fix_trial(added, point);
        t.detail = detail;
        bool written = false;
        hone_rc rc = hone_trial_add(s, 1, &t, &written, &e);
        if (written) added++;
        *n_warned += rc == HONE_E_STORE && written;
        refused = !written;
        if (refused && (rc != HONE_E_STORE || !strstr(e.text, "full"))) printf("# %s\n", e.text);
    }
    free(detail);
    return refused;
}

/* Fills the disk but for some pages. */
static void fill_disk(const char *path, int pages_left) {
    static char block[4096];
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    off_t n = 0;
    while (write(fd, block, sizeof block) == sizeof block) n += (off_t)sizeof block;
    if (n > pages_left * 4096) n -= pages_left * 4096;
    if (ftruncate(fd, n)) printf("# cannot truncate\n");
    close(fd);
}

static bool one_moment(int k, size_t *n_warned) {
    char ballast[128];
    hone_store *s = NULL;
    hone_err e;
    hone_session x = fix_session();
    snprintf(ballast, sizeof ballast, "%s/ballast", fix_dir);
    added = 0;
    if (hone_store_open(fix_dir, true, &s, &e) || hone_session_begin(s, &x, &e)) return printf("# %s\n", e.text), false;
    fill_disk(ballast, k);
    bool good = add_until_full(s, n_warned);
    hone_session_end(s, 1, "interrupted", "disk", &e);
    hone_store_close(s);
    s = NULL;
    if (hone_store_open(fix_dir, false, &s, &e)) return printf("# reading: %s\n", e.text), false;
    good &= has_all(s);
    hone_store_close(s);
    s = NULL;
    hone_rc rc = hone_store_open(fix_dir, true, &s, &e);
    good &= rc == HONE_E_STORE; /* no room for a new reserve: nothing may be started */
    hone_store_close(s);
    s = NULL;
    unlink(ballast);
    if (hone_store_open(fix_dir, true, &s, &e) || hone_session_resume(s, 1, &x, &e))
        return printf("# resuming: %s\n", e.text), false;
    char point[64];
    hone_trial t = fix_trial(added, point);
    good &= hone_trial_add(s, 1, &t, NULL, &e) == HONE_OK;
    added++;
    good &= has_all(s);
    hone_store_close(s);
    return good;
}

int main(void) {
    char options[64];
    snprintf(options, sizeof options, "size=%dk", DISK_KB);
    fix_make_dir();
    /* in a mount namespace of our own, so that nothing is left behind however this ends */
    if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("none", fix_dir, "tmpfs", 0, options)) {
        skip(2, "store_full: this user cannot mount a tmpfs");
        fix_remove_dir();
        return done_testing();
    }
    size_t n_warned = 0;
    int n_bad = 0;
    for (int k = 0; k < N_MOMENTS; k++) {
        if (!one_moment(k, &n_warned)) printf("# with %d pages left\n", k), n_bad++;
        umount(fix_dir);
        if (mount("none", fix_dir, "tmpfs", 0, options)) printf("# cannot mount again\n"), n_bad++;
    }
    ok(n_bad == 0, "store_full/%d_moments_lose_nothing", N_MOMENTS);
    ok(n_warned >= N_MOMENTS, "store_full/the_reserve_takes_the_finished_trial");
    umount(fix_dir);
    fix_remove_dir();
    return done_testing();
}
