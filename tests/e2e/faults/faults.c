/* tests/e2e/faults/faults.c — one program, every way to misbehave: faults MODE [N]. Compiled and run by tests. */
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void ignore_signals(void) {
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
}

/* A daemon as careful ones make it: two forks, a session of its own, deaf to SIGTERM. */
static void make_daemon(void) {
    if (fork() != 0) return;
    setsid();
    if (fork() != 0) _exit(0);
    ignore_signals();
    for (;;) sleep(100);
}

static int flood(void) {
    static char line[65536];
    memset(line, 'y', sizeof line);
    for (int i = 0; i < 16384; i++)
        if (write(1, line, sizeof line) < 0) return 1;
    return 0;
}

_Noreturn static void allocate(void) {
    for (;;) {
        char *p = malloc(1 << 20);
        if (!p) abort();
        memset(p, 1, 1 << 20);
    }
}

/* Each child forks again, up to n in all, and every one of them stays. */
_Noreturn static void bomb(int n) {
    for (int i = 0; i < n; i++)
        if (fork() == 0) {
            ignore_signals();
            if (i % 3 == 0) setsid();
        } else if (i % 2)
            break;
    for (;;) sleep(100);
}

static void *bomb_of_thread(void *n) { bomb(*(int *)n); }

/* The same from a second thread: its children are no children of the first. */
static void thread_bomb(int n) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, bomb_of_thread, &n) == 0) pthread_join(thread, NULL);
}

static int big_file(const char *path) {
    static char block[65536];
    FILE *f = fopen(path, "w");
    if (!f) return 1;
    for (int i = 0; i < 1024; i++) fwrite(block, 1, sizeof block, f);
    return fclose(f) != 0;
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "", *arg = argc > 2 ? argv[2] : "0";
    if (!strcmp(mode, "exit")) return atoi(arg);
    if (!strcmp(mode, "signal")) return raise(atoi(arg));
    if (!strcmp(mode, "segv")) return *(volatile int *)8;
    if (!strcmp(mode, "hang")) ignore_signals();
    if (!strcmp(mode, "hang"))
        for (;;) sleep(100);
    if (!strcmp(mode, "spin"))
        for (volatile int i = 0;; i++) {
        }
    if (!strcmp(mode, "daemon")) make_daemon();
    if (!strcmp(mode, "flood")) return flood();
    if (!strcmp(mode, "allocate")) allocate();
    if (!strcmp(mode, "bomb")) bomb(atoi(arg));
    if (!strcmp(mode, "thread_bomb")) thread_bomb(atoi(arg));
    if (!strcmp(mode, "file")) return big_file(arg);
    if (!strcmp(mode, "nan")) printf("latency: %g s\n", (double)NAN);
    if (!strcmp(mode, "wrong")) printf("latency: 0.001 s\ny: 42\n");
    if (!strcmp(mode, "killgroup")) kill(0, SIGKILL);
    if (!strcmp(mode, "killparent")) {
        make_daemon();
        kill(getppid(), SIGKILL);
        sleep(100);
    }
    return 0;
}
