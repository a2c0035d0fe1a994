/* kill -9 at any moment: a child begins deployments, adds evidence, promotes and rolls back, and tells of each step
 * that the store acknowledged over a pipe. It is killed; then the store is whole, what was told is there, at most one
 * step more, and the version that answers is the old or the new one. 50 kills. */
#include "rollout/rollouts_fixture.h"

#include "base/rng.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

static void child(int out, int64_t steps) {
    char path[128];
    hone_rollouts *r = NULL;
    hone_err e;
    if (hone_rollouts_open(roll_path(path, "r.db"), true, &r, &e)) _exit(1);
    for (;;) {
        if (roll_step(r, steps / (ROLL_BATCHES + 2), &e)) {
            printf("# %s\n", e.text);
            fflush(stdout);
            _exit(2);
        }
        steps++;
        if (write(out, &steps, sizeof steps) != sizeof steps) _exit(3);
    }
}

/* The last step that was told of. */
static int64_t kill_one(hn_rng *rng, int64_t last, int *status) {
    int fd[2];
    if (pipe(fd)) return last;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        close(fd[0]);
        child(fd[1], last);
    }
    close(fd[1]);
    int64_t steps, n = (int64_t)hn_rng_below(rng, 12);
    for (int64_t k = 0; k < n && read(fd[0], &steps, sizeof steps) == sizeof steps; k++) last = steps;
    nanosleep(&(struct timespec){0, (long)(hn_rng_unit(rng) * (n ? 2e6 : 40e6))}, NULL); /* n = 0: while opening */
    kill(pid, SIGKILL);
    while (read(fd[0], &steps, sizeof steps) == sizeof steps) last = steps;
    close(fd[0]);
    waitpid(pid, status, 0);
    return last;
}

int main(void) {
    const uint64_t seed = 20261126;
    const int rounds = getenv("HONE_LONG") ? 500 : 50;
    hn_rng rng = hn_rng_make(seed, 0);
    int n_bad = 0, n_wrong_end = 0;
    int64_t last = 0;
    printf("# seed %llu\n", (unsigned long long)seed);
    fix_make_dir();
    roll_make_versions();
    for (int i = 0; i < rounds; i++) {
        int status = 0;
        int64_t told = kill_one(&rng, last, &status), found = roll_verify();
        n_wrong_end += !WIFSIGNALED(status);
        if (found < told || found > told + 1) {
            printf("# round %d: %lld steps told, %lld found\n", i, (long long)told, (long long)found);
            n_bad++;
        }
        last = found < 0 ? told : found;
    }
    fix_remove_dir();
    ok(n_bad == 0, "rollouts_kill/%d_kills_lose_nothing", rounds);
    ok(n_wrong_end == 0, "rollouts_kill/what_a_killed_process_held_is_taken_up");
    ok(last > rounds, "rollouts_kill/children_made_progress: %lld steps", (long long)last);
    return done_testing();
}
