/* Drivers of devices: OpenCL as it is here (PoCL) and the shim; skipped where there is none. */
#include "backend/gpu/rt/driver.h"

#include "backend/gpu/rt/cache.h"
#include "backend/gpu/rt/device.h"
#include "backend/gpu/rt/driver_cuda.h"
#include "backend/gpu/rt/driver_opencl.h"
#include "backend/gpu/rt/driver_shim.h"
#include "base/fs.h"
#include "shim/kit.h"
#include "tap.h"

#include <dirent.h>
#include <stdbool.h>
#include <sys/wait.h>

/* What PoCL and its compiler keep to the end of the process. */
const char *__lsan_default_suppressions(void);
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void) {
    return "leak:libpocl\nleak:libLLVM\n";
}

static const char text[] =
    "__kernel void scale(__global char *a, long oa, __global char *b, long ob, long n, long by,\n"
    "                    __global char *none, long on) {\n"
    "    __global const float *x = (__global const float *)(a + oa);\n"
    "    __global float *y = (__global float *)(b + ob);\n"
    "    for (long i = get_global_id(0); i < n; i += get_global_size(0))\n"
    "        y[i] = none == 0 ? x[i] * by : -1;\n"
    "}\n";
static const char cuda_text[] =
    "extern \"C\" __global__ void scale(char *a, char *b, long long n, long long by, char *none) {\n"
    "    const float *x = (const float *)a;\n"
    "    float *y = (float *)b;\n"
    "    for (long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)\n"
    "        y[i] = !none ? x[i] * by : -1;\n"
    "}\n";
enum { N = 1000 };

static void test_errors(const hnd_driver *d, void *device, void *queue, hnd_at at) {
    hnd_err err = {0};
    void *x = NULL;
    char byte = 0;
    const hnd_source bad = {.text = "__kernel void f( {", .text_b = 18};
    ok(d->open(1000, &x, &err) == HND_NO_DRIVER && !x && strstr(err.text, "1000"), "driver/%s_has_no_such_device",
       d->name);
    ok(d->load(device, &bad, &x, &err) == HND_BUILD && *err.text && !x, "driver/%s_says_why_a_text_is_wrong: %s",
       d->name, err.text);
    ok(d->get(device, queue, &byte, at + N * 4, 1, &err) == HND_REFUSED && strstr(err.text, "bytes"),
       "driver/%s_refuses_what_is_outside: %s", d->name, err.text);
    ok(d->alloc(device, INT64_C(1) << 60, &at, &err) && *err.text, "driver/%s_has_no_such_memory: %s", d->name,
       err.text);
}

static bool run(const hnd_driver *d, void *device, void *queue, void *kernel, hnd_at a, hnd_at b, hnd_err *err) {
    const hnd_arg arg[] = {{(int64_t)a + 400, 1}, {(int64_t)b + 400, 1}, {N - 100, 0}, {3, 0}, {0, 1}};
    const hnd_launch l = {.kernel = kernel, .grid = 3, .threads = {64, 1, 1}, .arg = arg, .n_arg = 5};
    return !d->launch(device, queue, &l, err);
}

static void test_launch(const hnd_driver *d, void *device, void *queue, void *kernel) {
    hnd_err err = {0};
    hnd_at a = 0, b = 0;
    float x[N], y[N];
    void *from = NULL, *to = NULL;
    double s = -1;
    for (int i = 0; i < N; i++) x[i] = (float)i;
    bool good = !d->alloc(device, sizeof x, &a, &err) && !d->alloc(device, sizeof x, &b, &err);
    good = good && !d->put(device, queue, a, x, sizeof x, &err) && !d->fill(device, queue, b, 0, sizeof x, &err);
    good = good && !d->mark(device, queue, &from, &err) && run(d, device, queue, kernel, a, b, &err) &&
           !d->mark(device, queue, &to, &err) && !d->get(device, queue, y, b, sizeof y, &err);
    for (int i = 0; good && i < N; i++) good = y[i] == (i < 100 ? 0 : 3 * x[i]);
    ok(good, "driver/%s_launches_at_addresses: %s", d->name, err.text);
    good = good && !d->between(device, from, to, &s, &err);
    ok(good && s > 0 && s < 10, "driver/%s_has_a_clock: %g", d->name, s);
    d->drop_mark(device, from);
    d->drop_mark(device, to);
    good = good && !d->copy(device, queue, a, b + 2000, 1000, &err) && !d->get(device, queue, y, a, sizeof y, &err);
    ok(good && y[0] == 1500 && y[249] == 3 * 749 && y[250] == 250 && !d->sync(device, queue, &err), "driver/%s_copies",
       d->name);
    test_errors(d, device, queue, a);
    d->free(device, a);
    ok(d->get(device, queue, y, a, 4, &err) == HND_REFUSED, "driver/%s_forgets_what_is_freed", d->name);
}

static int n_cached(const char *folder) {
    DIR *dir = opendir(folder);
    int n = 0;
    for (const struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) n += strlen(e->d_name) == 32;
    if (dir) closedir(dir);
    return n;
}

static void test_driver(const hnd_driver *d, const char *folder) {
    hnd_err err = {0};
    hnd_info info;
    void *device = NULL, *queue = NULL, *module = NULL, *kernel = NULL, *again = NULL;
    const bool cuda = !strcmp(d->language, "cuda");
    const hnd_source source = {.text = cuda ? cuda_text : text,
                               .text_b = cuda ? sizeof cuda_text - 1 : sizeof text - 1};
    if (!d->count(&err)) {
        skip(1, "%s: %s", d->name, err.text);
        return;
    }
    ok(!d->describe(0, &info, &err) && *info.name && info.memory_b && info.units && info.threads_most,
       "driver/%s_describes", d->name);
    if (!ok(!d->open(0, &device, &err) && !d->queue(device, &queue, &err), "driver/%s_opens", d->name)) return;
    ok(!d->load(device, &source, &module, &err) && !d->find(device, module, "scale", &kernel, &err),
       "driver/%s_loads: %s", d->name, err.text);
    ok(d->find(device, module, "none", &again, &err) && strstr(err.text, "none"), "driver/%s_has_no_such_kernel",
       d->name);
    if (kernel) test_launch(d, device, queue, kernel);
    ok(cuda || n_cached(folder) == 1, "driver/%s_keeps_binaries", d->name);
    ok(!d->load(device, &source, &again, &err) && !d->find(device, again, "scale", &kernel, &err) &&
           (cuda || n_cached(folder) == 1),
       "driver/%s_takes_kept_ones", d->name);
    if (kernel) test_launch(d, device, queue, kernel);
    d->drop_queue(device, queue);
    d->close(device);
}

/* A kernel that reads too far: the fault names it, and the device answers no more. */
static void test_fault(const hnd_driver *d) {
    hnd_err err = {0};
    void *device = NULL, *queue = NULL, *module = NULL, *kernel = NULL;
    const hnd_source source = {.text = cuda_text, .text_b = sizeof cuda_text - 1};
    hnd_at a = 0;
    bool good = !d->open(0, &device, &err) && !d->queue(device, &queue, &err) && !d->alloc(device, N * 4, &a, &err) &&
                !d->load(device, &source, &module, &err) && !d->find(device, module, "scale", &kernel, &err);
    const hnd_arg arg[] = {{(int64_t)a, 1}, {(int64_t)a, 1}, {N + 1, 0}, {3, 0}, {0, 1}};
    const hnd_launch l = {.kernel = kernel, .grid = 3, .threads = {64, 1, 1}, .arg = arg, .n_arg = 5};
    ok(good && d->launch(device, queue, &l, &err) == HND_FAULT && strstr(err.text, "'scale'") &&
           strstr(err.text, "4000"),
       "driver/%s_names_the_fault: %s", d->name, err.text);
    ok(good && d->sync(device, queue, &err) == HND_FAULT, "driver/%s_answers_no_more_after_a_fault", d->name);
    d->close(device);
}

static void test_shim(const char *folder) {
    hone_err err = {0};
    char *kit = NULL, *cxx = hn_which("g++");
    if (!cxx) skip(1, "driver/shim: g++ is not installed");
    if (cxx && ok(!hn_shim_folder(&kit, &err), "driver/shim_is_carried: %s", err.text)) {
        test_driver(&hnd_shim, folder);
        test_fault(&hnd_shim);
    }
    free(kit);
    free(cxx);
}

static void test_cache(const char *folder) {
    hnd_key a, b;
    char path[4096];
    size_t n = 0;
    hnd_key_begin(&a, "x");
    hnd_key_add(&a, "ab", 2);
    hnd_key_add(&a, "c", 1);
    hnd_key_begin(&b, "x");
    hnd_key_add(&b, "a", 1);
    hnd_key_add(&b, "bc", 2);
    ok(a.a != b.a && a.b != b.b, "driver/parts_of_a_key_are_apart");
    hnd_cache_write(&a, "hello", 6);
    char *got = hnd_cache_read(&a, &n);
    ok(got && n == 6 && !strcmp(got, "hello") && !hnd_cache_read(&b, &n), "driver/the_cache_keeps");
    free(got);
    FILE *f = hnd_cache_path(&a, path, sizeof path) ? fopen(path, "r+") : NULL;
    if (f) fseek(f, -2, SEEK_END), fputc('X', f), fclose(f);
    ok(f && !hnd_cache_read(&a, &n), "driver/what_is_damaged_is_not_taken");
    unlink(path);
    setenv("HONE_DEVICE_CACHE", "", 1);
    hnd_cache_write(&a, "hello", 6);
    ok(!hnd_cache_read(&a, &n), "driver/no_folder_no_cache");
    setenv("HONE_DEVICE_CACHE", folder, 1);
}

/* --- CUDA, on a driver that is played (tests/helper/fake/cuda.c) -------------------------------------------------- */

static const char ptx[] = ".version 8.0 scale far planted", machine_code[] = "scale of machine code",
                  broken[] = "broken scale";

static bool open_played(const char *folder) {
    char command[600];
    const char *root = getenv("HONE_ROOT");
    snprintf(command, sizeof command,
             "gcc -std=c11 -D_GNU_SOURCE -shared -fPIC -Wl,-soname,libcuda.so.1 -o %s/libcuda.so.1 "
             "%s/tests/helper/fake/cuda.c 2>&1",
             folder, root ? root : ".");
    if (system(command)) return false;
    snprintf(command, sizeof command, "%s/libcuda.so.1", folder);
    return dlopen(command, RTLD_NOW | RTLD_GLOBAL) != NULL;
}

/* Which image of these is taken on the played device, sm_90: what its kernels are called tells. */
static void test_images(void *device) {
    const hnd_image image[] = {{"sm_80", broken, sizeof broken, 0},
                               {"sm_90a", machine_code, sizeof machine_code, 0},
                               {"ptx", broken, sizeof broken, 100},
                               {"ptx", ptx, sizeof ptx, 80}};
    const hnd_driver *d = &hnd_cuda;
    hnd_err err = {0};
    void *module = NULL, *kernel = NULL;
    hnd_source s = {.image = image, .n_image = 4};
    ok(!d->load(device, &s, &module, &err) && !d->find(device, module, "scale", &kernel, &err) &&
           d->find(device, module, "far", &kernel, &err) == HND_BUILD,
       "driver/cuda_takes_its_own_machine_code: %s", err.text);
    s.image = image + 2, s.n_image = 2;
    ok(!d->load(device, &s, &module, &err) && !d->find(device, module, "far", &kernel, &err),
       "driver/cuda_takes_ptx_of_an_earlier_one");
    s.n_image = 1;
    ok(d->load(device, &s, &module, &err) == HND_BUILD && strstr(err.text, "no text"),
       "driver/cuda_has_nothing_for_it: %s", err.text);
}

/* --- what a stream is given again and again ------------------------------------------------------------------------
 */

/* Lines of the played driver's log that hold a word, since the last call for that word's file. */
static int n_calls(const char *log, const char *word) {
    char line[200];
    int n = 0;
    FILE *f = fopen(log, "r");
    while (f && fgets(line, sizeof line, f)) n += strstr(line, word) != NULL;
    if (f) fclose(f);
    return n;
}

static const hnd_image graph_image = {"ptx", ptx, sizeof ptx, 50};
static const char *const no_texts[] = {NULL};
static const hnd_module graph_module = {"", no_texts, "", &graph_image, 1, 0};
static const uint32_t graph_symbol[] = {0};
static const hnd_kernel graph_kernel = {"scale", "", &graph_module, 0, 2, 1, graph_symbol, 32, 0, 0, 0};

/* One run: `from` doubled into `between`, that doubled into `to`, and the last of n elements fetched: 4 times as much.
 */
static bool graph_run(hnd_stream *t, hnd_at from, hnd_at between, hnd_at to, int n, float first) {
    float x[64], y = 0;
    int64_t s[] = {n};
    void *one[] = {(void *)(uintptr_t)from, (void *)(uintptr_t)between},
         *two[] = {(void *)(uintptr_t)between, (void *)(uintptr_t)to};
    for (int i = 0; i < 64; i++) x[i] = first + (float)i;
    hnd_put(t, from, x, sizeof x);
    hnd_run(t, &graph_kernel, one, s, 0, 64, 0);
    hnd_run(t, &graph_kernel, two, s, 0, 64, 0);
    hnd_get(t, &y, to + 4 * (uint64_t)(n - 1), sizeof y);
    return !t->err.rc && y == 4 * (first + (float)(n - 1));
}

static void test_graphs(const char *folder) {
    hnd_sessions all = {.lock = PTHREAD_MUTEX_INITIALIZER};
    hnd_session *s = NULL;
    hnd_stream *t = NULL;
    hnd_err err = {0};
    char log[600];
    snprintf(log, sizeof log, "%s/calls", folder);
    bool good = !hnd_session_open(&all, &hnd_cuda, 0, &s, &err) && !hnd_stream_open(s, &t, &err);
    if (!ok(good, "driver/graphs_have_a_stream: %s", err.text)) return;
    hnd_at a = hnd_take(t, 256), b = hnd_take(t, 256), c = hnd_take(t, 256);
    setenv("HONE_FAKE_LOG", log, 1);
    good = graph_run(t, a, b, c, 64, 1);
    ok(good && n_calls(log, "cuLaunchKernel") == 2 && !n_calls(log, "Graph"), "driver/a_first_run_is_no_graph: %s",
       t->err.text);
    good = graph_run(t, a, b, c, 64, 2);
    ok(good && n_calls(log, "captured cuLaunchKernel") == 2 && n_calls(log, "cuGraphLaunch") == 1,
       "driver/the_second_is_captured: %s", t->err.text);
    good = graph_run(t, a, b, c, 64, 3) && graph_run(t, a, b, c, 64, 4);
    ok(good && n_calls(log, "cuLaunchKernel") == 4 && n_calls(log, "cuGraphLaunch") == 3 &&
           n_calls(log, "cuGraphInstantiate") == 1,
       "driver/later_ones_are_replayed: %s", t->err.text);
    good = graph_run(t, a, b, c, 60, 5);
    ok(good && n_calls(log, "cuGraphLaunch") == 3 && n_calls(log, "cuLaunchKernel") == 6,
       "driver/another_size_is_no_replay: %s", t->err.text);
    good = graph_run(t, a, b, a, 64, 6);
    ok(good && n_calls(log, "cuGraphLaunch") == 3 && n_calls(log, "cuGraphExecDestroy") == 1,
       "driver/another_address_on_the_way_drops_it: %s", t->err.text);
    good = graph_run(t, a, b, c, 60, 7) && graph_run(t, a, b, c, 60, 8);
    ok(good && n_calls(log, "cuGraphLaunch") == 5, "driver/sizes_have_their_own: %s", t->err.text);
    int64_t error = 0, n = 64;
    void *one[] = {(void *)(uintptr_t)a, (void *)(uintptr_t)b};
    for (int i = 0; i < 3; i++) { /* what a caller waits for is done, whatever it was held back for */
        hnd_run(t, &graph_kernel, one, &n, 0, 64, 0);
        hnd_run(t, &graph_kernel, one, &n, 0, 64, 0);
        good = good && !hnd_take_error(t, &error) && !hnd_sync(t);
    }
    ok(good && t->graphs.now == NULL, "driver/nothing_is_left_behind: %s", t->err.text);
    unsetenv("HONE_FAKE_LOG");
    hnd_give(t, a), hnd_give(t, b), hnd_give(t, c);
    hnd_stream_close(t);
    setenv("HONE_DEVICE_GRAPHS", "0", 1);
    unlink(log);
    good = !hnd_stream_open(s, &t, &err);
    a = good ? hnd_take(t, 256) : 0, b = good ? hnd_take(t, 256) : 0;
    setenv("HONE_FAKE_LOG", log, 1);
    for (int i = 0; i < 3; i++) good = good && graph_run(t, a, b, a, 64, 1);
    ok(good && !n_calls(log, "Graph") && n_calls(log, "cuLaunchKernel") == 6, "driver/graphs_can_be_left_out");
    unsetenv("HONE_FAKE_LOG");
    unsetenv("HONE_DEVICE_GRAPHS");
    hnd_stream_close(t);
    hnd_session_close(&all, s);
}

/* A fault of a kernel shows when the host waits: the kernels that may have done it are named, and the stream is lost.
 * With `each` after every kernel, so that it is known. */
static const hnd_kernel far_kernel = {"far", "", &graph_module, 1, 2, 1, graph_symbol, 32, 0, 0, 0};
static bool far_run(bool each, hnd_err *out) {
    hnd_sessions all = {.lock = PTHREAD_MUTEX_INITIALIZER};
    hnd_session *s = NULL;
    hnd_stream *t = NULL;
    float y;
    if (each) setenv("HONE_DEVICE_SYNC", "1", 1);
    if (hnd_session_open(&all, &hnd_cuda, 0, &s, out) || hnd_stream_open(s, &t, out)) return false;
    hnd_at a = hnd_take(t, 256), b = hnd_take(t, 256);
    int64_t n = 64;
    void *buf[] = {(void *)(uintptr_t)a, (void *)(uintptr_t)b};
    hnd_run(t, &far_kernel, buf, &n, 0, 64, 0);
    hnd_run(t, &graph_kernel, buf, &n, 0, 64, 0);
    hnd_get(t, &y, b, 4);
    *out = t->err;
    t->err = (hnd_err){0, ""};
    bool lost = hnd_get(t, &y, b, 4) == HND_FAULT;
    unsetenv("HONE_DEVICE_SYNC");
    hnd_stream_close(t);
    hnd_session_close(&all, s);
    return lost;
}

static void test_far(void) {
    hnd_err err = {0};
    int status = 1;
    fflush(stdout);
    pid_t pid = fork(); /* a fault stays with the process */
    if (!pid) _exit(!(far_run(true, &err) && err.rc == HND_FAULT && !strncmp(err.text, "kernel 'far': ", 14)));
    ok(pid > 0 && waitpid(pid, &status, 0) == pid && !status, "driver/each_kernel_is_waited_for");
    bool lost = far_run(false, &err);
    ok(lost && err.rc == HND_FAULT && strstr(err.text, "'scale' or one before it") && strstr(err.text, "700"),
       "driver/a_fault_names_kernels: %s", err.text);
}

static void test_played(void *device, void *queue) {
    const hnd_driver *d = &hnd_cuda;
    const hnd_image image = {"ptx", ptx, sizeof ptx, 50};
    const hnd_source source = {.image = &image, .n_image = 1};
    hnd_err err = {0};
    hnd_at a = 0, b = 0;
    void *module = NULL, *kernel = NULL, *recording = NULL;
    float x[64], y[64] = {0};
    for (int i = 0; i < 64; i++) x[i] = (float)i;
    bool good = !d->load(device, &source, &module, &err) && !d->find(device, module, "scale", &kernel, &err) &&
                !d->alloc(device, 256, &a, &err) && !d->alloc(device, 256, &b, &err) &&
                !d->put(device, queue, a, x, 256, &err);
    hnd_arg arg[] = {{(int64_t)a + 4, 1}, {(int64_t)b, 1}, {63, 0}};
    hnd_launch l = {.kernel = kernel, .grid = 1, .threads = {64, 1, 1}, .arg = arg, .n_arg = 3};
    good = good && !d->launch(device, queue, &l, &err) && !d->get(device, queue, y, b, 256, &err);
    ok(good && y[0] == 2 && y[62] == 126, "driver/cuda_launches: %s", err.text);
    good = !d->fill(device, queue, b, 0, 256, &err) && !d->record(device, queue, &err) &&
           !d->launch(device, queue, &l, &err) && !d->record_end(device, queue, &recording, &err) &&
           !d->get(device, queue, y, b, 256, &err) && y[0] == 0 && !d->replay(device, queue, recording, &err) &&
           !d->get(device, queue, y, b, 256, &err);
    ok(good && y[62] == 126, "driver/cuda_replays_what_was_recorded: %s", err.text);
    d->drop_recording(device, recording);
    test_far();
    ok(d->sync(device, queue, &err) == HND_FAULT && strstr(err.text, "700"), "driver/cuda_faults: %s", err.text);
    ok(d->alloc(device, 4, &a, &err) == HND_FAULT && strstr(err.text, "before"), "driver/cuda_stays_at_fault");
}

static void test_cuda(const char *folder) {
    const hnd_driver *d = &hnd_cuda;
    hnd_err err = {0};
    hnd_info info = {0};
    void *device = NULL, *queue = NULL;
    if (!open_played(folder)) {
        skip(1, "no C compiler for the played driver");
        return;
    }
    ok(d->count(&err) == 1 && !d->describe(0, &info, &err) && info.memory_b && !strncmp(info.arch, "sm_", 3),
       "driver/cuda_describes: %s %s", info.arch, err.text);
    ok(d->open(7, &device, &err) == HND_NO_DRIVER && strstr(err.text, "cuda:7"), "driver/cuda_has_no_such_device");
    if (!ok(!d->open(0, &device, &err) && !d->queue(device, &queue, &err), "driver/cuda_opens: %s", err.text)) return;
    test_images(device);
    test_graphs(folder);
    test_played(device, queue);
    d->drop_queue(device, queue);
    d->close(device);
}

int main(void) {
    char folder[] = "/tmp/hone-driver-XXXXXX", inside[64], command[100];
    if (!mkdtemp(folder)) return 1;
    snprintf(inside, sizeof inside, "%s/cache", folder);
    setenv("HONE_DEVICE_CACHE", inside, 1);
    test_cache(inside);
    test_driver(&hnd_opencl, inside);
    test_cuda(folder);
    test_shim(inside);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) || done_testing();
}
