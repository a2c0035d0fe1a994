/* target/driver/opencl.c — the compiler of an OpenCL platform as a command: builds a program for one device, writes
 * its binary, prints its log.
 *
 * Its functions by their documented signatures; no header of OpenCL is needed to build this. -device=N chooses among
 * all devices of all platforms in order, -device=TEXT the first whose platform or name holds it; else
 * HONE_OPENCL_DEVICE, else the first GPU, else the first. -ON is for hone: -O0 is -cl-opt-disable, -O3 nothing, what is
 * between NVIDIA's -cl-nv-opt-level. */
#include "driver.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEVICE_TYPE = 0x1000,
    DEVICE_NAME = 0x102B,
    DRIVER_VERSION = 0x102D,
    DEVICE_VERSION = 0x102F,
    PLATFORM_NAME = 0x0902,
    PLATFORM_VERSION = 0x0901,
    BUILD_LOG = 0x1183,
    BINARY_SIZES = 0x1165,
    BINARIES = 0x1166,
    TYPE_GPU = 4,
    MOST = 64,
    TEXT = 1024
};
static const uint64_t type_all = 0xFFFFFFFF;

static const char strict[] = "-ffp-contract=off", pragma[] = "#pragma OPENCL FP_CONTRACT OFF\n#line 1\n";

typedef void *handle;
static struct {
    int (*GetPlatformIDs)(unsigned n, handle *, unsigned *found);
    int (*GetPlatformInfo)(handle, unsigned what, size_t, void *, size_t *);
    int (*GetDeviceIDs)(handle platform, uint64_t type, unsigned n, handle *, unsigned *found);
    int (*GetDeviceInfo)(handle, unsigned what, size_t, void *, size_t *);
    handle (*CreateContext)(const intptr_t *, unsigned n, const handle *, void *, void *, int *);
    handle (*CreateProgramWithSource)(handle, unsigned n, const char **, const size_t *, int *);
    int (*BuildProgram)(handle, unsigned n, const handle *, const char *options, void *, void *);
    int (*GetProgramBuildInfo)(handle, handle, unsigned what, size_t, void *, size_t *);
    int (*GetProgramInfo)(handle, unsigned what, size_t, void *, size_t *);
} cl;

typedef struct device {
    handle platform, id;
    char platform_name[TEXT], platform_version[TEXT], name[TEXT], version[TEXT], driver[TEXT];
    uint64_t type;
} device;

static int load(const hn_job *job) {
    static const char *const name[] = {"GetPlatformIDs", "GetPlatformInfo",     "GetDeviceIDs",
                                       "GetDeviceInfo",  "CreateContext",       "CreateProgramWithSource",
                                       "BuildProgram",   "GetProgramBuildInfo", "GetProgramInfo"};
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW);
    if (!library) library = dlopen("libOpenCL.so", RTLD_NOW);
    if (!library)
        return hn_complain(
            job, "cannot load libOpenCL.so.1: install ocl-icd-libopencl1 and a driver such as pocl-opencl-icd");
    void **slot = (void **)&cl;
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        if (!(slot[i] = dlsym(library, hn_text("cl%s", name[i]))))
            return hn_complain(job, "libOpenCL has no cl%s", name[i]);
    return 0;
}

static size_t list_devices(device *out) {
    handle platform[MOST], id[MOST];
    unsigned n = 0, m = 0;
    size_t count = 0;
    if (cl.GetPlatformIDs(MOST, platform, &n)) n = 0;
    for (unsigned i = 0; i < n && i < MOST; i++) {
        if (cl.GetDeviceIDs(platform[i], type_all, MOST, id, &m)) continue;
        for (unsigned k = 0; k < m && k < MOST && count < MOST; k++) {
            device *d = &out[count++];
            *d = (device){.platform = platform[i], .id = id[k]};
            cl.GetPlatformInfo(platform[i], PLATFORM_NAME, TEXT - 1, d->platform_name, NULL);
            cl.GetPlatformInfo(platform[i], PLATFORM_VERSION, TEXT - 1, d->platform_version, NULL);
            cl.GetDeviceInfo(id[k], DEVICE_NAME, TEXT - 1, d->name, NULL);
            cl.GetDeviceInfo(id[k], DEVICE_VERSION, TEXT - 1, d->version, NULL);
            cl.GetDeviceInfo(id[k], DRIVER_VERSION, TEXT - 1, d->driver, NULL);
            cl.GetDeviceInfo(id[k], DEVICE_TYPE, sizeof d->type, &d->type, NULL);
        }
    }
    return count;
}

static const device *choose(const hn_job *job, const device *list, size_t n) {
    const char *want = getenv("HONE_OPENCL_DEVICE");
    for (size_t i = 0; i < job->options.n; i++)
        if (!strncmp(job->options.word[i], "-device=", 8)) want = job->options.word[i] + 8;
    char *end = NULL;
    unsigned long at = want && isdigit((unsigned char)*want) ? strtoul(want, &end, 10) : n;
    if (end && !*end) return at < n ? &list[at] : NULL;
    for (size_t i = 0; i < n; i++)
        if (want && *want ? strcasestr(list[i].platform_name, want) || strcasestr(list[i].name, want)
                          : list[i].type & TYPE_GPU)
            return &list[i];
    return want && *want ? NULL : list;
}

/* The libraries of OpenCL's that this process has loaded: they compile. */
static int show_files(void) {
    static const char *const part[] = {"OpenCL", "opencl", "pocl", "LLVM", "clang", "amdocl", "igdrcl", "igc"};
    char line[2 * TEXT], last[2 * TEXT] = "";
    FILE *f = fopen("/proc/self/maps", "re");
    while (f && fgets(line, sizeof line, f)) {
        char *path = strchr(line, '/');
        if (!path || !strcmp(path, last) || strstr(path, "/hone-opencl")) continue;
        snprintf(last, sizeof last, "%s", path);
        for (size_t i = 0; i < sizeof part / sizeof *part; i++)
            if (strstr(path, part[i])) {
                fputs(path, stdout);
                break;
            }
    }
    if (f) fclose(f);
    return 0;
}

/* The options as one text; words with blanks in quotation marks. */
static const char *joined(const hn_job *job, const device *d) {
    bool nvidia = strstr(d->platform_name, "NVIDIA") != NULL;
    const char *text = "", *own = hn_setting("own");
    const char *slash = strrchr(job->input, '/');
    for (size_t i = 0; i < job->options.n; i++) {
        const char *w = job->options.word[i];
        if (!strncmp(w, "-device=", 8) || !strcmp(w, "-O3") || !strcmp(w, strict)) continue;
        if (!strcmp(w, "-O0")) w = "-cl-opt-disable";
        if (nvidia && !strncmp(w, "-O", 2) && w[2] && !w[3]) w = hn_text("-cl-nv-opt-level=%s", w + 2);
        text = hn_text(strchr(w, ' ') ? "%s\"%s\" " : "%s%s ", text, w);
    }
    text = hn_text("%s-I%.*s", text, slash ? (int)(slash - job->input) : 1, slash ? job->input : ".");
    return own ? hn_text("%s -I%s", text, own) : text;
}

static void show_log(handle program, const device *d) {
    size_t n = 0;
    if (cl.GetProgramBuildInfo(program, d->id, BUILD_LOG, 0, NULL, &n) || n < 2) return;
    char *log = calloc(1, n + 1);
    if (!log || cl.GetProgramBuildInfo(program, d->id, BUILD_LOG, n, log, NULL)) return;
    for (n = strlen(log); n && isspace((unsigned char)log[n - 1]);) log[--n] = 0;
    if (n) fprintf(stderr, "%s\n", log);
}

static int write_binary(const hn_job *job, handle program) {
    size_t size = 0;
    if (cl.GetProgramInfo(program, BINARY_SIZES, sizeof size, &size, NULL) || !size)
        return hn_complain(job, "the platform gives no binary of '%s'", job->input);
    unsigned char *data = malloc(size), *list[1] = {data};
    if (!data || cl.GetProgramInfo(program, BINARIES, sizeof list, list, NULL))
        return hn_complain(job, "the platform does not hand over its binary of '%s'", job->input);
    return hn_store(job, job->out, data, size);
}

static int build(const hn_job *job, const device *d) {
    int rc = 0;
    size_t n = 0;
    handle context = cl.CreateContext(NULL, 1, &d->id, NULL, NULL, &rc);
    if (!context) return hn_complain(job, "no context on '%s': error %d", d->name, rc);
    char *text = hn_slurp(job, job->input, &n);
    if (!text) return 1;
    const char *source = text;
    for (size_t i = 0; i < job->options.n; i++)
        if (!strcmp(job->options.word[i], strict)) n = strlen(source = hn_text("%s%s", pragma, text));
    handle program = cl.CreateProgramWithSource(context, 1, &source, &n, &rc);
    if (!program) return hn_complain(job, "no program of '%s': error %d", job->input, rc);
    rc = cl.BuildProgram(program, 1, &d->id, joined(job, d), NULL, NULL);
    show_log(program, d);
    if (rc) return hn_complain(job, "'%s' on '%s': error %d", job->input, d->name, rc);
    return write_binary(job, program);
}

int hn_opencl(hn_job *job) {
    static device list[MOST];
    if (load(job)) return 1;
    size_t n = list_devices(list);
    if (!n) return hn_complain(job, "no device of OpenCL: install a driver, such as pocl-opencl-icd for processors");
    const device *d = choose(job, list, n);
    if (!d) return hn_complain(job, "no such device among the %zu there are: clinfo -l lists them", n);
    if (job->where) return show_files();
    if (job->version)
        return printf("hone-opencl: %.40s, %.24s, driver %.40s, device %.60s\n", d->platform_name, d->platform_version,
                      d->driver, d->name) < 0;
    return build(job, d);
}
