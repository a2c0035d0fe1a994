/* backend/gpu/images.c — CUDA C compiled ahead of time by NVRTC, in child processes. */
#include "backend/image.h"

#include "backend/gpu/rt/cache.h"
#include "backend/gpu/rt/driver_cuda.h"
#include "device/cuda.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LIMIT_S = 600, MOST_AT_ONCE = 64 };

static char *compiler(void) {
    const char *set = getenv("HONE_NVRTC");
    return set ? realpath(set, NULL) : hn_cuda_library("libnvrtc.so");
}

static void identity(char *out, size_t n, const char **why) {
    char *path = compiler();
    struct stat st;
    *out = 0;
    if (path && !stat(path, &st))
        snprintf(out, n, "%s, %lld bytes of %lld", path, (long long)st.st_size, (long long)st.st_mtime);
    free(path);
    if (why) *why = *out ? "" : hn_cuda_advice;
}

static bool write_all(const char *path, const char *data, size_t n) {
    FILE *f = fopen(path, "wb");
    if (!f) return false;
    bool good = fwrite(data, 1, n, f) == n;
    return !fclose(f) && good;
}

/* In the child: *to is shared with the parent. */
static void compile_one(const hn_image_job *from, hn_image_job *to) {
    hnd_nvrtc f;
    hnd_err err = {0, ""};
    const hnd_source source = {.text = from->text, .text_b = strlen(from->text), .options = from->options};
    char *code = NULL, *path = compiler();
    size_t n = 0;
    if (path) setenv("HONE_NVRTC", path, 1);
    alarm(LIMIT_S);
    int rc = hnd_nvrtc_open(&f, &err);
    if (!rc) rc = hnd_nvrtc_compile(&f, &source, from->arch, &code, &n, &err);
    if (!rc && !write_all(from->path, code, n))
        rc = hnd_fail(&err, HND_BUILD, "cannot write '%s': %s", from->path, strerror(errno));
    snprintf(to->why, sizeof to->why, "%.239s", rc ? err.text : "");
    to->size_b = n;
    to->made = !rc;
}

static pid_t start(const hn_image_job *from, hn_image_job *to) {
    snprintf(to->why, sizeof to->why, "the compiler ends without a word");
    pid_t pid = fork();
    if (pid) return pid;
    compile_one(from, to);
    _exit(0);
}

/* Waits for one of the children; 0: a stop was asked for, and all are gone. */
static pid_t wait_any(pid_t *pid, size_t n, const volatile int *stop, int *status) {
    const struct timespec nap = {.tv_nsec = 5000000};
    for (;;) {
        for (size_t i = 0; i < n; i++)
            if (pid[i] > 0 && waitpid(pid[i], status, WNOHANG) == pid[i]) return pid[i];
        if (stop && *stop) break;
        nanosleep(&nap, NULL);
    }
    for (size_t i = 0; i < n; i++)
        if (pid[i] > 0) {
            kill(pid[i], SIGKILL);
            waitpid(pid[i], status, 0);
        }
    return 0;
}

static hone_rc make_all(hn_image_job *shared, const hn_image_job *job, size_t n, size_t most, const volatile int *stop,
                        hone_err *err) {
    pid_t pid[MOST_AT_ONCE] = {0};
    size_t of[MOST_AT_ONCE], next = 0, running = 0;
    hone_rc rc = HONE_OK;
    while (running || (next < n && !rc)) {
        size_t at = 0;
        int status = 0;
        while (at < most && pid[at]) at++;
        if (at < most && next < n && !rc) {
            if ((pid[at] = start(&job[next], &shared[next])) < 0)
                pid[at] = 0, rc = hn_fail(err, HONE_E_IO, "cannot fork: %s", strerror(errno));
            else
                of[at] = next++, running++;
            continue;
        }
        pid_t done = wait_any(pid, most, stop, &status);
        if (!done) return hn_fail(err, HONE_E_INTERRUPTED, "the compilation was interrupted");
        for (at = 0; pid[at] != done; at++) {
        }
        pid[at] = 0, running--;
        if (status) shared[of[at]].made = false;
        if (WIFSIGNALED(status))
            snprintf(shared[of[at]].why, sizeof shared->why, "the compiler is killed by signal %d%s", WTERMSIG(status),
                     WTERMSIG(status) == SIGALRM ? ": it runs too long" : "");
    }
    return rc;
}

static hone_rc make(hn_image_job *job, size_t n, size_t n_at_once, const volatile int *stop, hone_err *err) {
    size_t size_b = (n + 1) * sizeof *job, most = n_at_once < 1 ? 1 : n_at_once;
    if (most > MOST_AT_ONCE) most = MOST_AT_ONCE;
    hn_image_job *shared = mmap(NULL, size_b, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    hone_rc rc = make_all(shared, job, n, most, stop, err);
    for (size_t i = 0; i < n; i++) {
        job[i].made = shared[i].made, job[i].size_b = shared[i].size_b;
        memcpy(job[i].why, shared[i].why, sizeof job->why);
    }
    munmap(shared, size_b);
    return rc;
}

const hn_image_maker hn_cuda_images = {identity, make};
