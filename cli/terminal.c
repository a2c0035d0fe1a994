/* terminal.c — terminals, locale, memory and time: shared by all commands. */
#include "cli.h"

#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

static _Noreturn void no_memory(void) {
    fprintf(stderr, "hone: out of memory\n");
    exit(hone_rc_exit(HONE_E_NOMEM));
}

void *cli_alloc(size_t count, size_t size) {
    void *p = calloc(count ? count : 1, size ? size : 1);
    if (!p) no_memory();
    return p;
}

void *cli_grow(void *p, size_t *room, size_t n, size_t size) {
    if (n < *room) return p;
    size_t more = *room ? 2 * *room : 16;
    if (more > SIZE_MAX / size || !(p = realloc(p, more * size))) no_memory();
    *room = more;
    return p;
}

char *cli_strdup(const char *s) {
    char *copy = strdup(s);
    if (!copy) no_memory();
    return copy;
}

double cli_now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

char *cli_format(const char *fmt, ...) {
    va_list ap;
    char *text = NULL;
    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0) no_memory();
    va_end(ap);
    return text;
}

int cli_width(FILE *f) {
    struct winsize w;
    int fd = fileno(f);
    if (!isatty(fd)) return 0;
    int width = ioctl(fd, TIOCGWINSZ, &w) == 0 ? w.ws_col : 0;
    if (width <= 0 && getenv("COLUMNS")) width = atoi(getenv("COLUMNS"));
    if (width <= 0) width = 80;
    return width < 10 ? 10 : width;
}

static bool colors_fit(FILE *f) {
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(fileno(f)) && !(no && *no) && term && strcmp(term, "dumb") != 0;
}

void cli_set_color(cli *c, const char *when) {
    bool always = strcmp(when, "always") == 0, never = strcmp(when, "never") == 0;
    c->color_out = always || (!never && colors_fit(stdout));
    c->color_err = always || (!never && colors_fit(stderr));
}

/* A handler, not SIG_IGN, which child processes would inherit: writing to a closed pipe fails with EPIPE, and the
 * handler is gone in every program that hone starts. */
static void closed_pipe(int sig) { (void)sig; }

void cli_terminal_setup(cli *c) {
    struct sigaction sa = {.sa_handler = closed_pipe};
    sigemptyset(&sa.sa_mask);
    sigaction(SIGPIPE, &sa, NULL);
    setlocale(LC_CTYPE, "");
    c->utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    cli_set_color(c, "auto");
}

const char *cli_paint(bool on, cli_ink ink) {
    static const char *const code[] = {"\033[0m", "\033[1m", "\033[2m", "\033[31m", "\033[32m", "\033[33m"};
    return on ? code[ink] : "";
}
