/* backend/cpu/place_emulated.c — the place that is a process of another processor, under an emulator.
 *
 * A small program (runner.h), built beside the library, loads it there and runs one kernel after the other. Memory is a
 * file that both map; an address of this place is the distance from the file's start. At the start lie the places of a
 * launch's buffers, for the runner; a buffer of symbols comes with the first launch.
 */
#include "backend/cpu/remote_order.h"
#include "backend/place.h"
#include "base/clock.h"

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

enum { HEAD_B = (HN_REMOTE_BUFFERS + 8) * 8 };

typedef struct emulated {
    int to, from, file;
    pid_t pid;
    uint32_t target;
    char *memory;
    int64_t size_b, used_b, symbols_at, symbols_b;
} emulated;

static void become_runner(const hn_place_spec *s, const char *memory, const int to[2], const int from[2]) {
    const char *slash = strrchr(s->library, '/');
    char library[300];
    snprintf(library, sizeof library, "./%s", slash ? slash + 1 : s->library);
    const char *const argv[] = {s->emulator, "-L", s->root, "./runner", library, s->query, memory, NULL};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (chdir(s->folder) || dup2(to[0], 0) < 0 || dup2(from[1], 1) < 0) _exit(6);
    close(to[0]), close(to[1]), close(from[0]), close(from[1]);
    execvp(argv[0], (char *const *)(uintptr_t)argv);
    _exit(7);
}

static void close_emulated(void *state) {
    emulated *e = state;
    if (!e) return;
    if (e->to >= 0) close(e->to); /* the process ends at the end of its input */
    while (e->pid > 0 && waitpid(e->pid, NULL, 0) < 0 && errno == EINTR) continue;
    if (e->from >= 0) close(e->from);
    if (e->file >= 0) close(e->file);
    if (e->memory) munmap(e->memory, (size_t)e->size_b);
    free(e);
}

static bool start(emulated *e, const hn_place_spec *s) {
    char name[40], path[4096], loaded;
    int to[2], from[2];
    snprintf(name, sizeof name, "memory-%ld", (long)getpid());
    snprintf(path, sizeof path, "%s/%s", s->folder, name);
    if ((e->file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600)) < 0 || pipe(to)) return false;
    e->to = to[1];
    if (pipe(from)) return close(to[0]), false;
    e->from = from[0];
    signal(SIGPIPE, SIG_IGN);
    e->pid = fork();
    if (e->pid == 0) become_runner(s, name, to, from);
    close(to[0]), close(from[1]);
    return e->pid > 0 && read(e->from, &loaded, 1) == 1;
}

static hone_rc open_emulated(const hn_place_spec *s, void **state, hone_err *err) {
    emulated *e = calloc(1, sizeof *e);
    if (!e) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    *e = (emulated){.to = -1, .from = -1, .file = -1, .target = s->target, .used_b = HEAD_B};
    if (start(e, s)) {
        *state = e;
        return HONE_OK;
    }
    close_emulated(e);
    return hn_fail(err, HONE_E_TOOL,
                   "under '%s' the program that loads it ends at once; is the emulator as new as the compiler?",
                   s->emulator);
}

static hn_code find(void *state, uint32_t index) {
    (void)state;
    return (hn_code){.index = index};
}

/* --- memory --------------------------------------------------------------------------------------------------------
 */

static bool grow(emulated *e, int64_t size_b) {
    if (size_b <= e->size_b) return true;
    if (e->memory) munmap(e->memory, (size_t)e->size_b);
    size_b += size_b / 2;
    e->memory = ftruncate(e->file, size_b) ? MAP_FAILED
                                           : mmap(NULL, (size_t)size_b, PROT_READ | PROT_WRITE, MAP_SHARED, e->file, 0);
    if (e->memory == MAP_FAILED) return e->memory = NULL, e->size_b = 0, false;
    e->size_b = size_b;
    return true;
}

static int64_t take(emulated *e, int64_t size_b) {
    int64_t at = e->used_b;
    if (!grow(e, at + size_b + 64)) return 0;
    e->used_b = (at + size_b + 63) / 64 * 64;
    return at;
}

static hn_mem alloc(void *state, int64_t size_b, hn_mem_kind kind) {
    int64_t at = take(state, size_b);
    if (at && kind != HN_MEM_PLAIN) memset(((emulated *)state)->memory + at, 0, (size_t)size_b);
    return (hn_mem)(intptr_t)at;
}

static void reset(void *state) {
    emulated *e = state;
    e->used_b = HEAD_B;
    e->symbols_b = 0;
}

static void put(void *state, hn_mem to, const void *from, int64_t size_b) {
    memcpy(((emulated *)state)->memory + (intptr_t)to, from, (size_t)size_b);
}

static void get(void *state, void *to, hn_mem from, int64_t size_b) {
    memcpy(to, ((emulated *)state)->memory + (intptr_t)from, (size_t)size_b);
}

/* --- launches ------------------------------------------------------------------------------------------------------
 */

static bool launch(void *state, const hn_launch *l) {
    emulated *e = state;
    int64_t place_of[HN_REMOTE_BUFFERS], symbols_b = (int64_t)((l->n_symbol + 1) * sizeof *l->symbol);
    char done;
    if (l->n_buf > HN_REMOTE_BUFFERS) return false;
    if (symbols_b > e->symbols_b && !(e->symbols_at = take(e, symbols_b))) return false;
    if (symbols_b > e->symbols_b) e->symbols_b = symbols_b;
    for (uint32_t i = 0; i < l->n_buf; i++) place_of[i] = l->buf[i] ? (intptr_t)l->buf[i] : -1;
    memcpy(e->memory, place_of, l->n_buf * sizeof *place_of);
    memcpy(e->memory + e->symbols_at, l->symbol - 1, (size_t)symbols_b);
    const hn_remote_order o = {
        e->size_b, e->target, l->code.index, 0, l->n_buf, e->symbols_at + 8, (intptr_t)l->scratch, l->begin, l->end};
    if (write(e->to, &o, sizeof o) != (ssize_t)sizeof o || read(e->from, &done, 1) != 1) return false;
    memcpy(l->symbol - 1, e->memory + e->symbols_at, (size_t)symbols_b);
    return true;
}

static double now_s(void *state) {
    (void)state;
    return hn_now_s();
}

static double time_of(void *state, const hn_launch *list, uint32_t n_list, uint32_t *turn, int64_t n) {
    double start_s = hn_now_s();
    for (int64_t i = 0; i < n; i++) {
        if (!launch(state, &list[*turn])) return 0;
        *turn = *turn + 1 == n_list ? 0 : *turn + 1;
    }
    return hn_now_s() - start_s;
}

static double balance(int64_t work, int64_t cost, uint32_t n_threads) {
    (void)work, (void)cost;
    return n_threads ? n_threads : 1; /* one thread does all */
}

const hn_place hn_place_emulated = {.version = HN_PLACE_VERSION,
                                    .name = "emulated",
                                    .summary = "a process of another processor, under an emulator",
                                    .open = open_emulated,
                                    .close = close_emulated,
                                    .find = find,
                                    .alloc = alloc,
                                    .reset = reset,
                                    .put = put,
                                    .get = get,
                                    .launch = launch,
                                    .time = time_of,
                                    .now_s = now_s,
                                    .balance = balance};
