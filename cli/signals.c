/* signals.c — the signal handlers. */
#include "signals.h"

#include <hone/serve.h>

#include <signal.h>
#include <unistd.h>

/* The only mutable globals of the program: a signal handler can communicate in no other way. */
static volatile int stop_asked, window_resized, is_recorded, hangups;

/* The first asks the command to end: it stops what is running and prints its results so far; the second ends hone at
 * once (the supervisors end its children, and finished work is recorded). */
static void on_stop(int sig) {
    static const char recorded[] = "\nstopping: what is finished is recorded; once more ends hone at once\n";
    static const char plain[] = "\nstopping; once more ends hone at once\n";
    (void)sig;
    if (stop_asked) _exit(hone_rc_exit(HONE_E_INTERRUPTED));
    stop_asked = 1;
    const char *note = is_recorded ? recorded : plain;
    if (write(STDERR_FILENO, note, (is_recorded ? sizeof recorded : sizeof plain) - 1) < 0) return;
}
static void on_resize(int sig) {
    (void)sig;
    window_resized = 1;
}

static void on_hangup(int sig) {
    (void)sig;
    hangups++;
}

static void handle(int sig, void (*handler)(int)) {
    struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigemptyset(&sa.sa_mask);
    sigaction(sig, &sa, NULL);
}

cli_signals cli_catch_signals(bool recorded) {
    is_recorded = recorded;
    handle(SIGINT, on_stop);
    handle(SIGTERM, on_stop);
    handle(SIGWINCH, on_resize);
    return (cli_signals){&stop_asked, &window_resized};
}

static void on_bus(int sig, siginfo_t *info, void *context) {
    (void)context;
    if (info->si_code > 0 && hone_serve_lost(info->si_addr)) return;
    signal(sig, SIG_DFL); /* it faults again, and ends as ever */
}

void cli_catch_lost_weights(void) {
    struct sigaction sa = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO};
    sigemptyset(&sa.sa_mask);
    sigaction(SIGBUS, &sa, NULL);
}

const volatile int *cli_catch_hangup(void) {
    handle(SIGHUP, on_hangup);
    return &hangups;
}
