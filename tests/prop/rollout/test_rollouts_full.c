/* A disk that is full, at 12 different moments of deployments: what was acknowledged is there, at most one step more,
 * the version that answers is the old or the new one, a roll-back still fits into the reserve, and once there is room
 * it goes on. */
#include "rollout/rollouts_fixture.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>

enum { DISK_KB = 6144, N_MOMENTS = 12 };

static void fill_disk(const char *path, int pages_left) {
    static char block[4096];
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    off_t n = 0;
    while (write(fd, block, sizeof block) == sizeof block) n += (off_t)sizeof block;
    if (n > pages_left * 4096) n -= pages_left * 4096;
    if (ftruncate(fd, n)) printf("# cannot truncate\n");
    close(fd);
}

static bool one_moment(int k, bool *refused) {
    char path[128], ballast[128], base[128];
    hone_rollouts *r = NULL;
    hone_err e = {0};
    int64_t steps = 0;
    hone_rc rc = hone_rollouts_open(roll_path(path, "r.db"), true, &r, &e);
    for (; !rc && steps < 11; steps++) rc = roll_step(r, steps / (ROLL_BATCHES + 2), &e);
    if (rc) return printf("# %s\n", e.text), false;
    fill_disk(roll_path(ballast, "ballast"), k);
    rc = hone_rollouts_revert(r, roll_path(base, "a"), "the disk is full", &e); /* the third, which is under way */
    if (rc) return printf("# roll back: %s\n", e.text), false;
    for (steps = 15; !rc && steps < 6000; steps++) rc = roll_step(r, steps / (ROLL_BATCHES + 2), &e);
    *refused = rc == HONE_E_STORE && strstr(e.text, "full");
    if (rc) steps--;
    hone_rollouts_close(r);
    r = NULL;
    unlink(ballast);
    int64_t found = roll_verify();
    bool good = found == steps || found == steps + 1;
    if (!good) printf("# %lld steps told, %lld found\n", (long long)steps, (long long)found);
    rc = hone_rollouts_open(path, true, &r, &e);
    if (!rc) rc = roll_step(r, found / (ROLL_BATCHES + 2), &e);
    hone_rollouts_close(r);
    if (rc) printf("# going on: %s\n", e.text);
    return good && !rc && roll_verify() == found + 1;
}

int main(void) {
    char options[64];
    snprintf(options, sizeof options, "size=%dk", DISK_KB);
    fix_make_dir();
    /* in a mount namespace of our own, so that nothing is left behind however this ends */
    if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("none", fix_dir, "tmpfs", 0, options)) {
        skip(2, "rollouts_full: this user cannot mount a tmpfs");
        fix_remove_dir();
        return done_testing();
    }
    int n_bad = 0, n_refused = 0;
    for (int k = 0; k < N_MOMENTS; k++) {
        bool refused = false;
        roll_make_versions();
        if (!one_moment(k, &refused)) printf("# with %d pages left\n", k), n_bad++;
        n_refused += refused;
        umount(fix_dir);
        if (mount("none", fix_dir, "tmpfs", 0, options)) printf("# cannot mount again\n"), n_bad++;
    }
    ok(n_bad == 0, "rollouts_full/%d_moments_lose_nothing", N_MOMENTS);
    ok(n_refused == N_MOMENTS, "rollouts_full/what_does_not_fit_is_refused: %d", n_refused);
    umount(fix_dir);
    fix_remove_dir();
    return done_testing();
}
