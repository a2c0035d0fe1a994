/* driver.c — the shim as a driver of devices (backend/gpu/rt/driver.h): one device, whose modules are CUDA C. The text
 * is compiled by hone-shim-cc, which lies beside this library, and kept there by its contents. Whoever opens the
 * library fetches hnd_shim_driver from it. Calls are made one at a time, whatever thread they come from. */
#include "rt.h"

#include "backend/gpu/rt/driver.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
extern const hnd_driver hnd_shim_driver;

typedef struct kernel {
    void *code;
    struct kernel *next;
    char name[120];
} kernel;

typedef struct device {
    bool faulted;
    char why[400];
    hnd_at *memory; /* what is allocated */
    size_t n_memory;
    kernel *kernels;
    struct recording *recording; /* that takes what comes, or NULL */
} device;

/* What a queue was given, to be done later. */
typedef struct op {
    hnd_launch launch; /* kernel NULL: a copy, or a fill where `from` is 0 */
    hnd_arg *arg;
    hnd_at to, from;
    int byte;
    int64_t size_b;
    struct op *next;
} op;
typedef struct recording {
    op *first, **last;
} recording;

static int answer(device *d, int rc) {
    if (rc == HND_FAULT && d) d->faulted = true;
    pthread_mutex_unlock(&lock);
    return rc;
}

static int enter(device *d, hnd_err *err) {
    pthread_mutex_lock(&lock);
    if (d && d->faulted) return hnd_fail(err, HND_FAULT, "the device has faulted before: %s", d->why);
    return HND_OK;
}

static int count(hnd_err *err) {
    (void)err;
    return 1;
}

static int describe(int index, hnd_info *out, hnd_err *err) {
    if (index) return hnd_fail(err, HND_NO_DRIVER, "the shim has one device, no number %d", index);
    *out = (hnd_info){.memory_b = (uint64_t)64 << 30,
                      .alloc_most_b = (uint64_t)64 << 30,
                      .shared_b = HS_SHARED_MOST_B,
                      .units = 1,
                      .threads_most = HS_THREADS_MOST,
                      .lanes = HS_LANES,
                      .has = HND_HAS_F64 | HND_HAS_F16 | HND_HAS_ATOMIC64 | HND_IS_CPU};
    snprintf(out->name, sizeof out->name, "shim");
    snprintf(out->arch, sizeof out->arch, "shim");
    snprintf(out->version, sizeof out->version, "CUDA C on the CPU");
    return HND_OK;
}

static int open_device(int index, void **out, hnd_err *err) {
    hnd_info info;
    const char *order = getenv("HONE_SHIM_ORDER");
    int rc = describe(index, &info, err);
    if (rc) return rc;
    *out = calloc(1, sizeof(device));
    if (!*out) return hnd_fail(err, HND_NOMEM, "out of memory");
    if (order && *order >= '0' && *order <= '9') hs.options.seed = strtoull(order, NULL, 10);
    if (order) hs.options.order = *order == 'b' ? HS_BACKWARDS : *order == 'f' ? HS_FORWARDS : HS_PERMUTED;
    return HND_OK;
}

static void close_device(void *device_) {
    device *d = device_;
    if (!d) return;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < d->n_memory; i++) shim_free((void *)d->memory[i]);
    pthread_mutex_unlock(&lock);
    for (kernel *k = d->kernels, *next; k; k = next) {
        next = k->next;
        free(k);
    }
    free(d->memory);
    free(d);
}

static int make_queue(void *d, void **out, hnd_err *err) {
    (void)err;
    *out = d;
    return HND_OK;
}

static void drop_queue(void *d, void *queue) { (void)d, (void)queue; }

/* --- memory ----------------------------------------------------------------------------------------------------------
 */

static int alloc(void *device_, int64_t size_b, hnd_at *out, hnd_err *err) {
    device *d = device_;
    int rc = enter(d, err);
    if (rc) return answer(d, rc);
    hnd_at *more = realloc(d->memory, (d->n_memory + 1) * sizeof *more);
    if (more) d->memory = more;
    void *p = more ? shim_alloc((size_t)size_b, "") : NULL;
    if (!p) return answer(d, hnd_fail(err, HND_NOMEM, "no room for %lld bytes", (long long)size_b));
    shim_written(p, (size_t)size_b); /* what a model reads is its compiler's business */
    *out = (hnd_at)(uintptr_t)p;
    d->memory[d->n_memory++] = *out;
    return answer(d, HND_OK);
}

static void free_memory(void *device_, hnd_at at) {
    device *d = device_;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; at && i < d->n_memory; i++) {
        if (d->memory[i] != at) continue;
        d->memory[i] = d->memory[--d->n_memory];
        shim_free((void *)at);
        break;
    }
    pthread_mutex_unlock(&lock);
}

static int outside(const void *p, int64_t size_b, const char *what, hnd_err *err) {
    if (size_b < 0 || (size_b && shim_room(p) < (size_t)size_b))
        return hnd_fail(err, HND_REFUSED, "%s of %lld bytes where the allocation has %zu", what, (long long)size_b,
                        shim_room(p));
    return HND_OK;
}

static int put(void *d, void *queue, hnd_at to, const void *from, int64_t size_b, hnd_err *err) {
    int rc = enter(d, err);
    (void)queue;
    if (!rc) rc = outside((void *)to, size_b, "put", err);
    if (!rc && size_b) memcpy((void *)to, from, (size_t)size_b);
    return answer(d, rc);
}

static int get(void *d, void *queue, void *to, hnd_at from, int64_t size_b, hnd_err *err) {
    int rc = enter(d, err);
    (void)queue;
    if (!rc) rc = outside((void *)from, size_b, "get", err);
    if (!rc && size_b) memcpy(to, (void *)from, (size_t)size_b);
    return answer(d, rc);
}

/* What is given while the queue is recorded. */
static int note(device *d, op o, hnd_err *err) {
    op *made = malloc(sizeof *made);
    hnd_arg *arg = calloc(o.launch.n_arg + 1, sizeof *arg);
    if (!made || !arg) {
        free(made);
        free(arg);
        return hnd_fail(err, HND_NOMEM, "out of memory");
    }
    if (o.launch.n_arg) memcpy(arg, o.launch.arg, o.launch.n_arg * sizeof *arg);
    *made = o;
    made->arg = arg, made->launch.arg = arg, made->next = NULL;
    *d->recording->last = made;
    d->recording->last = &made->next;
    return HND_OK;
}

static int copy(void *device_, void *queue, hnd_at to, hnd_at from, int64_t size_b, hnd_err *err) {
    device *d = device_;
    int rc = enter(d, err);
    (void)queue;
    if (!rc) rc = outside((void *)to, size_b, "copy", err);
    if (!rc) rc = outside((void *)from, size_b, "copy", err);
    if (!rc && d->recording)
        rc = note(d, (op){.to = to, .from = from, .size_b = size_b}, err);
    else if (!rc && size_b)
        memmove((void *)to, (void *)from, (size_t)size_b);
    return answer(d, rc);
}

static int fill(void *device_, void *queue, hnd_at to, int byte, int64_t size_b, hnd_err *err) {
    device *d = device_;
    int rc = enter(d, err);
    (void)queue;
    if (!rc) rc = outside((void *)to, size_b, "fill", err);
    if (!rc && d->recording)
        rc = note(d, (op){.to = to, .size_b = size_b, .byte = byte}, err);
    else if (!rc && size_b)
        memset((void *)to, byte, (size_t)size_b);
    return answer(d, rc);
}

/* --- modules ---------------------------------------------------------------------------------------------------------
 */

static uint64_t hash(uint64_t h, const char *text, size_t n) { /* FNV-1a */
    for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)text[i]) * 0x100000001b3u;
    return h;
}

static bool write_text(const char *path, const char *text, size_t n) {
    char made[PATH_MAX + 200];
    snprintf(made, sizeof made, "%s.%d", path, (int)getpid());
    FILE *f = fopen(made, "w");
    const bool good = f && fwrite(text, 1, n, f) == n;
    return f && !fclose(f) && good && !rename(made, path);
}

static void tail_of(const char *path, char *out, size_t n) {
    FILE *f = fopen(path, "r");
    size_t got = f ? fread(out, 1, n - 1, f) : 0;
    out[got] = 0;
    if (f) fclose(f);
    char *error = strstr(out, "error:");
    if (error) memmove(out, error, strlen(error) + 1);
    out[strcspn(out, "\n")] = 0;
}

/* Of the options those that g++ knows: macros and folders. */
static size_t take_options(const char *options, char *text, size_t room, char **word, size_t most) {
    size_t n = 0;
    snprintf(text, room, "%s", options ? options : "");
    for (char *save = NULL, *w = strtok_r(text, " \t", &save); w && n < most; w = strtok_r(NULL, " \t", &save))
        if (!strncmp(w, "-D", 2) || !strncmp(w, "-I", 2)) word[n++] = w;
    return n;
}

static int compile(const char *dir, const char *source, const char *module, const char *options, hnd_err *err) {
    char program[PATH_MAX + 100], log[PATH_MAX + 200], text[2000], part[300], *word[64], *argv[72];
    size_t n = 0;
    pid_t pid;
    int status = 0;
    snprintf(program, sizeof program, "%s/hone-shim-cc", dir);
    snprintf(log, sizeof log, "%s.%d.log", module, (int)getpid());
    argv[n++] = program;
    argv[n++] = (char *)source;
    argv[n++] = "-o";
    argv[n++] = (char *)module;
    const size_t n_words = take_options(options, text, sizeof text, word, 64);
    for (size_t i = 0; i < n_words; i++) argv[n++] = word[i];
    argv[n] = NULL;
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 2, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const int rc = posix_spawn(&pid, program, &files, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    if (rc) return hnd_fail(err, HND_BUILD, "cannot run '%s': %s", program, strerror(rc));
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    tail_of(log, part, sizeof part);
    unlink(log);
    return status ? hnd_fail(err, HND_BUILD, "the shim's compiler refuses the text: %s", part) : HND_OK;
}

static int load(void *device_, const hnd_source *s, void **out, hnd_err *err) {
    device *d = device_;
    Dl_info info;
    char dir[PATH_MAX], source[PATH_MAX + 100], module[PATH_MAX + 100];
    if (!s->text || !dladdr(&hnd_shim_driver, &info) || !realpath(info.dli_fname, dir))
        return hnd_fail(err, HND_BUILD, "the shim needs a module's text: it runs no binaries");
    char *slash = strrchr(dir, '/');
    if (slash) *slash = 0;
    uint64_t h = hash(0xcbf29ce484222325u, s->text, s->text_b);
    if (s->options) h = hash(h, s->options, strlen(s->options));
    snprintf(source, sizeof source, "%s/modules", dir);
    mkdir(source, 0700);
    snprintf(source, sizeof source, "%s/modules/%016llx%08zx.cu", dir, (unsigned long long)h, s->text_b);
    snprintf(module, sizeof module, "%s/modules/%016llx%08zx.so", dir, (unsigned long long)h, s->text_b);
    if (access(module, R_OK)) {
        if (!write_text(source, s->text, s->text_b)) return hnd_fail(err, HND_BUILD, "cannot write '%s'", source);
        const int rc = compile(dir, source, module, s->options, err);
        if (rc) return rc;
    }
    int rc = enter(d, err);
    if (rc) return answer(d, rc);
    *out = shim_load(module);
    return answer(d, *out ? HND_OK : hnd_fail(err, HND_BUILD, "%.390s", hs.report.text));
}

static int find(void *device_, void *module, const char *name, void **out, hnd_err *err) {
    device *d = device_;
    int rc = enter(d, err);
    if (rc) return answer(d, rc);
    void *code = shim_kernel(module, name);
    kernel *k = code ? calloc(1, sizeof *k) : NULL;
    if (!k) return answer(d, hnd_fail(err, HND_BUILD, "the module has no kernel '%s'", name));
    *k = (kernel){.code = code, .next = d->kernels};
    snprintf(k->name, sizeof k->name, "%s", name);
    d->kernels = k;
    *out = k;
    return answer(d, HND_OK);
}

/* --- recordings ------------------------------------------------------------------------------------------------------
 */

static int record(void *device_, void *queue, hnd_err *err) {
    device *d = device_;
    (void)queue;
    int rc = enter(d, err);
    if (!rc && d->recording) rc = hnd_fail(err, HND_REFUSED, "the queue is recorded already");
    if (!rc && !(d->recording = calloc(1, sizeof(recording)))) rc = hnd_fail(err, HND_NOMEM, "out of memory");
    if (!rc) d->recording->last = &d->recording->first;
    return answer(d, rc);
}

static int record_end(void *device_, void *queue, void **out, hnd_err *err) {
    device *d = device_;
    (void)queue;
    int rc = enter(d, err);
    if (!rc && !d->recording) rc = hnd_fail(err, HND_REFUSED, "the queue is not recorded");
    if (!rc) *out = d->recording;
    d->recording = NULL;
    return answer(d, rc);
}

static void drop_recording(void *d, void *recording_) {
    recording *r = recording_;
    (void)d;
    for (op *o = r ? r->first : NULL, *next; o; o = next) {
        next = o->next;
        free(o->arg);
        free(o);
    }
    free(r);
}

static int launch(void *device_, void *queue, const hnd_launch *l, hnd_err *err) {
    device *d = device_;
    const kernel *k = l->kernel;
    uint64_t word[128];
    (void)queue;
    int rc = enter(d, err);
    if (!rc && (l->n_arg > 128 || l->grid <= 0 || l->grid > UINT32_MAX))
        rc =
            hnd_fail(err, HND_REFUSED, "kernel '%s': %u arguments, %lld blocks", k->name, l->n_arg, (long long)l->grid);
    if (rc) return answer(d, rc);
    if (d->recording) return answer(d, note(d, (op){.launch = *l}, err));
    for (uint32_t i = 0; i < l->n_arg; i++) word[i] = (uint64_t)l->arg[i].value;
    const hs_uint3 grid = {(unsigned)l->grid, 1, 1}, block = {l->threads[0], l->threads[1], l->threads[2]};
    shim_options()->cluster = l->cluster;
    const bool good = shim_launch(k->code, k->name, grid, block, l->shared_b, word, NULL, l->n_arg);
    shim_options()->cluster = 0;
    if (good) return answer(d, HND_OK);
    snprintf(d->why, sizeof d->why, "%.390s", hs.report.text);
    const int kind = hs.report.kind == HS_LIMIT ? HND_REFUSED : HND_FAULT;
    return answer(d, hnd_fail(err, kind, "%.390s", hs.report.text));
}

static int replay(void *device_, void *queue, void *recording_, hnd_err *err) {
    int rc = HND_OK;
    for (const op *o = ((recording *)recording_)->first; o && !rc; o = o->next)
        rc = o->launch.kernel ? launch(device_, queue, &o->launch, err)
             : o->from        ? copy(device_, queue, o->to, o->from, o->size_b, err)
                              : fill(device_, queue, o->to, o->byte, o->size_b, err);
    return rc;
}

static int sync_queue(void *d, void *queue, hnd_err *err) {
    (void)queue;
    return answer(d, enter(d, err));
}

/* --- time ------------------------------------------------------------------------------------------------------------
 */

static int mark(void *d, void *queue, void **out, hnd_err *err) {
    struct timespec *t = calloc(1, sizeof *t);
    (void)d, (void)queue;
    if (!t) return hnd_fail(err, HND_NOMEM, "out of memory");
    clock_gettime(CLOCK_MONOTONIC, t);
    *out = t;
    return HND_OK;
}

static int between(void *d, void *from, void *to, double *seconds, hnd_err *err) {
    const struct timespec *a = from, *b = to;
    (void)d, (void)err;
    *seconds = (double)(b->tv_sec - a->tv_sec) + 1e-9 * (double)(b->tv_nsec - a->tv_nsec);
    return HND_OK;
}

static void drop_mark(void *d, void *m) {
    (void)d;
    free(m);
}

const hnd_driver hnd_shim_driver = {
    .version = HND_VERSION,
    .name = "shim",
    .language = "cuda",
    .count = count,
    .open = open_device,
    .close = close_device,
    .describe = describe,
    .queue = make_queue,
    .drop_queue = drop_queue,
    .alloc = alloc,
    .free = free_memory,
    .put = put,
    .get = get,
    .copy = copy,
    .fill = fill,
    .load = load,
    .find = find,
    .launch = launch,
    .sync = sync_queue,
    .mark = mark,
    .between = between,
    .drop_mark = drop_mark,
    .record = record,
    .record_end = record_end,
    .replay = replay,
    .drop_recording = drop_recording,
};
