/* The guardian of hone_process_fork: ends as its child ended, takes all descendants with it. */
#include <hone/process.h>

#include "tap.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void nap(long ms) { nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL); }

static int status_of(int pid) {
    int status = -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

static void test_ends_like_the_child(void) {
    int pid;
    hone_err err;
    if (hone_process_fork(&pid, &err)) return;
    if (pid == 0) _exit(7);
    int status = status_of(pid);
    ok(WIFEXITED(status) && WEXITSTATUS(status) == 7, "guard/exit_status_is_the_childs");
    if (hone_process_fork(&pid, &err)) return;
    if (pid == 0) {
        signal(SIGSEGV, SIG_DFL); /* a sanitizer's handler would exit */
        kill(getpid(), SIGSEGV);
        nap(10000);
        _exit(0);
    }
    status = status_of(pid);
    ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV, "guard/signal_is_the_childs");
}

/* A child that ignores SIGTERM with a grandchild in a session of its own; both hold the write end of a pipe. */
static int start_family(int fd[2], bool child_stays) {
    int pid = -1;
    char c = 'x';
    if (pipe(fd) || hone_process_fork(&pid, NULL)) return -1;
    if (pid > 0) {
        close(fd[1]);
        return read(fd[0], &c, 1) == 1 ? pid : -1;
    }
    signal(SIGTERM, SIG_IGN);
    if (fork() == 0) {
        setsid();
        signal(SIGHUP, SIG_IGN);
        if (write(fd[1], &c, 1) != 1) _exit(1);
        nap(100000);
        _exit(0);
    }
    if (child_stays) nap(100000);
    nap(100);
    _exit(3);
}

static void test_takes_all_with_it(void) {
    int fd[2];
    char c;
    int pid = start_family(fd, true);
    kill(pid, SIGTERM);
    int status = status_of(pid);
    ok(pid > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "guard/stopped_counts_as_killed");
    ok(read(fd[0], &c, 1) == 0, "guard/stopping_takes_grandchildren_along");
    close(fd[0]);
    pid = start_family(fd, false);
    status = status_of(pid);
    ok(WIFEXITED(status) && WEXITSTATUS(status) == 3, "guard/end_of_the_child_is_its_end");
    ok(read(fd[0], &c, 1) == 0, "guard/orphans_are_ended");
    close(fd[0]);
}

static void test_ends_with_its_parent(void) {
    int fd[2], family[2];
    char c;
    if (pipe(fd)) return;
    pid_t parent = fork();
    if (parent == 0) {
        int pid = start_family(family, true);
        if (pid < 0 || dup2(family[0], 0) < 0 || write(fd[1], "y", 1) != 1) _exit(1);
        kill(getpid(), SIGKILL);
    }
    close(fd[1]);
    waitpid(parent, NULL, 0);
    ok(read(fd[0], &c, 1) == 1, "guard/parent_was_killed");
    ok(read(fd[0], &c, 1) == 0, "guard/nothing_outlives_the_parent"); /* the family inherited the write end */
    close(fd[0]);
}

int main(void) {
    test_ends_like_the_child();
    test_takes_all_with_it();
    test_ends_with_its_parent();
    return done_testing();
}
