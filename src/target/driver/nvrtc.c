/* target/driver/nvrtc.c — NVRTC, the compiler of CUDA C++ that is a library, as a command.
 *
 * Its functions by their documented signatures; nothing of CUDA is needed to build this. */
#include "driver.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *program;
static struct {
    int (*Version)(int *major, int *minor);
    const char *(*GetErrorString)(int);
    int (*CreateProgram)(program *, const char *text, const char *name, int n, const char *const *,
                         const char *const *);
    int (*CompileProgram)(program, int n, const char *const *options);
    int (*GetProgramLogSize)(program, size_t *);
    int (*GetProgramLog)(program, char *);
    int (*GetPTXSize)(program, size_t *);
    int (*GetPTX)(program, char *);
    int (*GetCUBINSize)(program, size_t *);
    int (*GetCUBIN)(program, char *);
} nvrtc;

static int load(const hn_job *job, const char *path) {
    static const char *const name[] = {"Version",           "GetErrorString", "CreateProgram", "CompileProgram",
                                       "GetProgramLogSize", "GetProgramLog",  "GetPTXSize",    "GetPTX",
                                       "GetCUBINSize",      "GetCUBIN"};
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library) return hn_complain(job, "cannot load NVRTC: %s", path ? dlerror() : "no library is set");
    void **slot = (void **)&nvrtc;
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        if (!(slot[i] = dlsym(library, hn_text("nvrtc%s", name[i]))))
            return hn_complain(job, "'%s' has no nvrtc%s: CUDA 11.1 or later is needed", path, name[i]);
    return 0;
}

/* The library, and its parts beside it. */
static int show_files(const char *path) {
    glob_t found;
    printf("%s\n", path);
    const char *slash = strrchr(path, '/');
    if (!glob(hn_text("%.*s/libnvrtc-builtins.so*", (int)(slash ? slash - path : 1), slash ? path : "."), 0, NULL,
              &found))
        for (size_t i = 0; i < found.gl_pathc; i++) printf("%s\n", found.gl_pathv[i]);
    return 0;
}

static void add_options(const hn_job *job, hn_words *out) {
    const char *include = hn_setting("include"), *own = hn_setting("own"), *slash = strrchr(job->input, '/');
    hn_words_add(out, hn_text("--gpu-architecture=%s", job->arch ? job->arch : "sm_80"));
    hn_words_add(out, hn_text("-I%.*s", slash ? (int)(slash - job->input) : 1, slash ? job->input : "."));
    for (size_t i = 0; i < job->options.n; i++) {
        const char *w = job->options.word[i];
        bool pair = (!strcmp(w, "-I") || !strcmp(w, "-D")) && i + 1 < job->options.n;
        hn_words_add(out, pair ? hn_text("%s%s", w, job->options.word[++i]) : w);
    }
    for (size_t i = 0; i < job->ptxas.n; i++) hn_words_add(out, hn_text("--ptxas-options=%s", job->ptxas.word[i]));
    if (own) hn_words_add(out, hn_text("-I%s", own));
    if (include) hn_words_add(out, hn_text("-I%s", include));
    if (include) hn_words_add(out, hn_text("-I%s/cccl", include));
}

/* What the compiler said, without the blank line at its end. */
static void show_log(program p) {
    size_t n = 0;
    if (nvrtc.GetProgramLogSize(p, &n) || n < 2) return;
    char *log = calloc(1, n + 1);
    if (!log || nvrtc.GetProgramLog(p, log)) return;
    for (n = strlen(log); n && (log[n - 1] == '\n' || log[n - 1] == ' ');) log[--n] = 0;
    if (n) fprintf(stderr, "%s\n", log);
}

static int compile(const hn_job *job, const char *text, size_t n, const char *const *option, program *p) {
    int rc = nvrtc.CreateProgram(p, text, job->input, 0, NULL, NULL);
    return rc ? rc : nvrtc.CompileProgram(*p, (int)n, option);
}

/* Does the user, or the source itself, decide about -minimal? */
static bool decides(const char *text, const hn_words *options) {
    for (size_t i = 0; i < options->n; i++)
        if (!strcmp(options->word[i], "-minimal") || !strcmp(options->word[i], "--minimal")) return true;
    return strstr(text, "CUDACC_RTC_MINIMAL") != NULL;
}

/* Most kernels need no textures and no types of the runtime. Without them NVRTC has less to read before it sees the
 * source, and makes the same code. What needs them does not compile so, and an older NVRTC refuses the option:
 * then it compiles as it is told. */
static int compile_briefly(const hn_job *job, const char *text, hn_words *options, program *p) {
    size_t n = options->n;
    if (!decides(text, options)) {
        hn_words_add(options, "-minimal");
        if (!compile(job, text, options->n, options->word, p)) return 0;
    }
    return compile(job, text, n, options->word, p);
}

int hn_nvrtc(hn_job *job) {
    const char *path = hn_setting("library");
    int major = 0, minor = 0;
    if (job->where && path) return show_files(path);
    if (load(job, path)) return 1;
    nvrtc.Version(&major, &minor);
    if (job->version) return printf("hone-nvrtc: NVRTC release %d.%d\n", major, minor) < 0;
    hn_words options = {0};
    add_options(job, &options);
    size_t n = 0;
    program p = NULL;
    char *text = hn_slurp(job, job->input, &n);
    if (!text) return 1;
    int rc = compile_briefly(job, text, &options, &p);
    if (p) show_log(p);
    if (rc) return hn_complain(job, "'%s': %s", job->input, nvrtc.GetErrorString(rc));
    if ((rc = job->ptx ? nvrtc.GetPTXSize(p, &n) : nvrtc.GetCUBINSize(p, &n)) || !n)
        return hn_complain(job, "no code for '%s': %s", job->arch ? job->arch : "sm_80",
                           rc ? nvrtc.GetErrorString(rc) : "name a real architecture such as -arch=sm_90");
    char *code = calloc(1, n + 1);
    if (!code || (rc = job->ptx ? nvrtc.GetPTX(p, code) : nvrtc.GetCUBIN(p, code)))
        return hn_complain(job, "%s", code ? nvrtc.GetErrorString(rc) : "out of memory");
    return hn_store(job, job->out, code, job->ptx ? n - 1 : n);
}
