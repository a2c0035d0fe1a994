/* parity/remote.c — kernels of another processor's library, run under an emulator for parity.
 *
 * A small program (runner.h) is compiled with the library's compiler; every process that checks parity starts one
 * under the emulator and hands it a kernel at a time: buffers are copied into a file that both map, and back.
 */
#include "base/fs.h"
#include "build/build.h"
#include "parity/parity.h"
#include "parity/remote_order.h"
#include "proc/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- the program -----------------------------------------------------------------------------------------------------
 */

static hone_rc run(const hn_library *l, const hn_command *c, char **out, hone_err *err) {
    hn_proc_spec spec = {.argv = c->argv, .cwd = l->work, .cpu = -1, .wall_s = 120};
    hn_proc_result r = {0};
    char how[200];
    hone_rc rc = hn_proc_run(&spec, l->options->stop, &r, err);
    if (rc) return rc;
    if (r.end == HN_PROC_STOPPED)
        rc = hn_check_stop(l, err);
    else if (r.end != HN_PROC_EXITED || r.code)
        rc = hn_fail(err, HONE_E_TOOL, "'%s' fails on the program that runs kernels under an emulator (%s): %.400s",
                     c->argv[0], hn_proc_describe(&spec, &r, how, sizeof how), r.err_tail);
    else if (out)
        *out = hn_strndup((hn_arena *)&l->arena, r.out ? r.out : "", r.out ? strcspn(r.out, "\n") : 0);
    hn_proc_result_free(&r);
    return rc;
}

/* The folder in which the emulator finds the other processor's lib/: two up from its C library. */
static const char *root_of(hn_library *l, const char *library) {
    char *path = realpath(library, NULL), *slash;
    for (int i = 0; path && i < 2; i++)
        if ((slash = strrchr(path, '/'))) *slash = 0;
    const char *root = path ? hn_strdup(&l->arena, *path ? path : "/") : NULL;
    free(path);
    return root;
}

static hone_rc write_source(hn_library *l, hone_err *err) {
    static const char line[] = "#include \"remote_order.h\"\n";
    const char *runner = hn_carried_runner(), *include = strstr(runner, line);
    char *path = hn_format(&l->arena, "%s/runner.c", l->work);
    hn_str text = {0};
    hn_str_add(&text, hn_carried_model_h());
    hn_str_add(&text, hn_carried_remote_order());
    hn_str_add(&text, include ? include + strlen(line) : runner);
    hone_rc rc = !path || text.failed ? hn_fail(err, HONE_E_NOMEM, "out of memory")
                                      : hn_write_file(path, text.text, text.n, err);
    hn_str_free(&text);
    return rc;
}

hone_rc hn_remote_build(hn_library *l, hone_err *err) {
    hn_command build = {0}, find = {0};
    char *library = NULL;
    if (l->remote_root) return HONE_OK;
    hone_rc rc = write_source(l, err);
    if (rc) return rc;
    hn_command_compiler(&l->model[0], NULL, NULL, &l->arena, &build);
    static const char *const rest[] = {"runner.c", "-o", "runner", "-ldl"};
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) hn_command_add(&build, rest[i]);
    hn_command_compiler(&l->model[0], NULL, NULL, &l->arena, &find);
    hn_command_add(&find, "-print-file-name=libc.so.6");
    rc = run(l, &build, NULL, err);
    if (!rc) rc = run(l, &find, &library, err);
    if (!rc) l->remote_root = root_of(l, library ? library : "");
    return rc || l->remote_root ? rc : hn_fail(err, HONE_E_TOOL, "'%s' has no C library", hn_compiler_of(&l->model[0]));
}

/* --- a process that runs it ------------------------------------------------------------------------------------------
 */

struct hn_remote {
    int to, from, file;
    pid_t pid;
    char *memory;
    int64_t size_b;
};

static void become_runner(const hn_library *l, const char *memory, const int to[2], const int from[2]) {
    const char *const argv[] = {hn_library_emulator(l), "-L",     l->remote_root, "./runner",
                                "./model.so",           l->query, memory,         NULL};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (chdir(l->work) || dup2(to[0], 0) < 0 || dup2(from[1], 1) < 0) _exit(6);
    close(to[0]), close(to[1]), close(from[0]), close(from[1]);
    execvp(argv[0], (char *const *)(uintptr_t)argv);
    _exit(7);
}

hn_remote *hn_remote_open(const hn_library *l) {
    hn_remote *r = calloc(1, sizeof *r);
    char name[40], *path, loaded;
    int to[2], from[2];
    snprintf(name, sizeof name, "memory-%ld", (long)getpid());
    path = hn_path_join(l->work, name);
    if (!r || !path || (r->file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600)) < 0 || pipe(to) || pipe(from))
        return NULL;
    free(path);
    signal(SIGPIPE, SIG_IGN);
    pid_t pid = fork();
    if (pid == 0) become_runner(l, name, to, from);
    close(to[0]), close(from[1]);
    r->to = to[1], r->from = from[0], r->pid = pid;
    return pid < 0 || read(r->from, &loaded, 1) != 1 ? NULL : r;
}

void hn_remote_close(hn_remote *r) {
    if (!r) return;
    close(r->to); /* it ends where its orders end */
    while (waitpid(r->pid, NULL, 0) < 0 && errno == EINTR) continue;
    close(r->from), close(r->file);
    if (r->memory) munmap(r->memory, (size_t)r->size_b);
    free(r);
}

static bool grow(hn_remote *r, int64_t size_b) {
    if (size_b <= r->size_b) return true;
    if (r->memory) munmap(r->memory, (size_t)r->size_b);
    r->memory = ftruncate(r->file, size_b) ? MAP_FAILED
                                           : mmap(NULL, (size_t)size_b, PROT_READ | PROT_WRITE, MAP_SHARED, r->file, 0);
    if (r->memory == MAP_FAILED) return r->memory = NULL, r->size_b = 0, false;
    r->size_b = size_b;
    return true;
}

/* Room for a buffer with HN_GUARD_B bytes on both sides. */
static int64_t place(int64_t *at, int64_t size_b) {
    int64_t here = *at + HN_GUARD_B;
    *at = (here + size_b + HN_GUARD_B + 63) / 64 * 64;
    return here;
}

static void copy(char *to, const char *from, const hn_remote_buffer *b) {
    int64_t margin = b->guarded ? HN_GUARD_B : 0;
    if (b->data) memcpy(to - margin, from - margin, (size_t)(b->size_b + 2 * margin));
}

static int64_t same_before(const hn_remote_buffer *b, int64_t i) {
    for (int64_t k = 0; k < i; k++)
        if (b[k].data && b[k].data == b[i].data) return k;
    return -1;
}

/* Buffers in the order of the kernel's, scratch behind them. */
bool hn_remote_run(hn_remote *r, uint32_t target, uint32_t kernel, const hn_remote_buffer *b, int64_t n_buffers,
                   int64_t *symbol, size_t n_symbols, int64_t begin, int64_t end) {
    int64_t place_of[HN_REMOTE_BUFFERS + 1], at = (int64_t)sizeof place_of;
    int64_t symbols_b = (int64_t)((n_symbols + 1) * sizeof *symbol), symbols_at;
    if (n_buffers > HN_REMOTE_BUFFERS) return false;
    symbols_at = place(&at, symbols_b);
    for (int64_t i = 0; i <= n_buffers; i++) {
        int64_t same = same_before(b, i);
        place_of[i] = same >= 0 ? place_of[same] : b[i].data ? place(&at, b[i].size_b) : -1;
    }
    if (!grow(r, at)) return false;
    memcpy(r->memory, place_of, sizeof place_of);
    memcpy(r->memory + symbols_at, symbol - 1, (size_t)symbols_b);
    for (int64_t i = 0; i <= n_buffers; i++)
        if (same_before(b, i) < 0) copy(r->memory + place_of[i], b[i].data, &b[i]);
    hn_remote_order o = {r->size_b, target, kernel, 0, n_buffers, symbols_at + 8, place_of[n_buffers], begin, end};
    char done;
    if (write(r->to, &o, sizeof o) != (ssize_t)sizeof o || read(r->from, &done, 1) != 1) return false;
    memcpy(symbol - 1, r->memory + symbols_at, (size_t)symbols_b);
    for (int64_t i = 0; i <= n_buffers; i++)
        if (same_before(b, i) < 0) copy(b[i].data, r->memory + place_of[i], &b[i]);
    return true;
}
