/* shim/carried.c — see kit.h. The files are carried as src/proc/image.c carries the supervisor. */
#include "shim/kit.h"

#include "base/err.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/str.h"
#include "proc/proc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COMPILE_S = 600 };

#ifdef HN_SHIM_DIR
#define CARRY(name, path)                                                                                              \
    __asm__(".pushsection .rodata\n.balign 16\n"                                                                       \
            ".hidden hn_shim_" #name "_from, hn_shim_" #name "_to\n"                                                   \
            ".globl hn_shim_" #name "_from, hn_shim_" #name "_to\n"                                                    \
            "hn_shim_" #name "_from:\n.incbin \"" path "\"\n"                                                          \
            "hn_shim_" #name "_to:\n.byte 0\n.popsection\n");                                                          \
    extern const char hn_shim_##name##_from[], hn_shim_##name##_to[];
CARRY(library, HN_SHIM_DIR "/hone-shim.so")
CARRY(cc, HN_SHIM_DIR "/hone-shim-cc")
CARRY(cuh, HN_SHIM_DIR "/shim.cuh")
CARRY(h, HN_SHIM_DIR "/shim.h")
CARRY(ops, HN_SHIM_DIR "/shim_ops.h")
CARRY(controls, HN_SHIM_DIR "/hone/cuda_controls.h")
#define TEXT(name) hn_shim_##name##_from, hn_shim_##name##_to
#else
static const char nothing[1];
#define TEXT(name) nothing, nothing
#endif

/* CUDA's own headers, as far as kernels include them. */
static const char stub[] = "#include \"shim.cuh\"\n";
#define STUB(name)                                                                                                     \
    { name, stub, stub + sizeof stub - 1, false }

static const struct {
    const char *name, *from, *to;
    bool program;
} files[] = {
    {"hone-shim.so", TEXT(library), true},
    {"shim.cuh", TEXT(cuh), false},
    {"shim.h", TEXT(h), false},
    {"shim_ops.h", TEXT(ops), false},
    {"hone/cuda_controls.h", TEXT(controls), false},
    STUB("cuda_runtime.h"),
    STUB("cuda_fp16.h"),
    STUB("cuda_bf16.h"),
    STUB("cuda_pipeline_primitives.h"),
    STUB("cuda_runtime_api.h"),
    STUB("device_launch_parameters.h"),
    {"hone-shim-cc", TEXT(cc), true}, /* last: where it is, the rest is */
};
enum { N_FILES = sizeof files / sizeof *files };

static char *folder(void) {
    hn_hash h;
    char hex[33];
    hn_str s = {0};
    hn_hash_begin(&h);
    for (size_t i = 0; i < N_FILES; i++) hn_hash_add(&h, files[i].from, (size_t)(files[i].to - files[i].from));
    hn_hash_end(&h, hex);
    char *cache = hn_cache_dir();
    if (cache) hn_str_addf(&s, "%s/shim/%.16s", cache, hex);
    free(cache);
    return hn_str_take(&s);
}

static hone_rc put(const char *dir, size_t i, hone_err *err) {
    hn_str path = {0};
    hn_str_addf(&path, "%s/%s", dir, files[i].name);
    if (path.failed) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    char *slash = strrchr(path.text, '/');
    *slash = 0;
    hone_rc rc = hn_make_dirs(path.text, err);
    *slash = '/';
    if (!rc) rc = hn_write_file(path.text, files[i].from, (size_t)(files[i].to - files[i].from), err);
    if (!rc && files[i].program && chmod(path.text, 0755))
        rc = hn_fail(err, HONE_E_IO, "cannot make '%s' a program", path.text);
    hn_str_free(&path);
    return rc;
}

/* CACHE/shim/hone-shim.so, where the driver looks for the library (backend/gpu/rt/driver_shim.h), is this one. */
static hone_rc point_to(const char *dir, hone_err *err) {
    hn_str link = {0}, made = {0};
    const char *slash = strrchr(dir, '/');
    char target[64], now[64] = "";
    snprintf(target, sizeof target, "%.40s/hone-shim.so", slash ? slash + 1 : dir);
    hn_str_addf(&link, "%.*s/hone-shim.so", (int)(slash ? slash - dir : 0), dir);
    hn_str_addf(&made, "%s.%d", link.text ? link.text : "", (int)getpid());
    hone_rc rc = link.failed || made.failed ? hn_fail(err, HONE_E_NOMEM, "out of memory") : HONE_OK;
    if (!rc && (readlink(link.text, now, sizeof now - 1) < 0 || strcmp(now, target) != 0)) {
        unlink(made.text);
        if (symlink(target, made.text) || rename(made.text, link.text))
            rc = hn_fail(err, HONE_E_IO, "cannot write '%s': %s", link.text, strerror(errno));
    }
    hn_str_free(&link);
    hn_str_free(&made);
    return rc;
}

hone_rc hn_shim_folder(char **out, hone_err *err) {
    char *dir = folder(), *last = dir ? hn_path_join(dir, files[N_FILES - 1].name) : NULL;
    hone_rc rc = last ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!rc && files[0].from == files[0].to)
        rc = hn_fail(err, HONE_E_UNSUPPORTED, "this build of hone does not carry the shim");
    if (!rc && access(last, X_OK))
        for (size_t i = 0; i < N_FILES && !rc; i++) rc = put(dir, i, err);
    if (!rc) rc = point_to(dir, err);
    free(last);
    if (rc)
        free(dir);
    else
        *out = dir;
    return rc;
}

/* Of the compiler's messages the first error and what follows it. */
static hone_rc refuse(const char *source, const hn_proc_spec *spec, const hn_proc_result *r, hone_err *err) {
    char what[200];
    const char *text = strstr(r->err_tail, "error:");
    while (text && text > r->err_tail && text[-1] != '\n') text--;
    if (r->end == HN_PROC_EXITED && text)
        return hn_fail(
            err, HONE_E_TOOL, "'%s' does not compile as C++ on the shim: %.700s%s", source, text,
            strstr(text, "No such file or directory")
                ? "; the shim's own headers are listed by docs/race.md, --include DIR names folders of others"
                : "");
    return hn_fail(err, HONE_E_TOOL, "compiling '%s' for the shim: %s: %.500s", source,
                   hn_proc_describe(spec, r, what, sizeof what), r->err_tail);
}

hone_rc hn_shim_compile(const char *source, const char *module, const char *const *flags, const volatile int *stop,
                        hone_err *err) {
    enum { MOST = 256 };
    const char *argv[MOST + 8];
    size_t n = 0;
    char *dir = NULL;
    hone_rc rc = hn_shim_folder(&dir, err);
    if (rc) return rc;
    char *program = hn_path_join(dir, "hone-shim-cc");
    argv[n++] = program;
    argv[n++] = source;
    argv[n++] = "-o";
    argv[n++] = module;
    for (; flags && *flags && n < MOST; flags++) argv[n++] = *flags;
    argv[n] = NULL;
    const char *const env[] = {"LC_ALL=C", NULL};
    hn_proc_spec spec = {.argv = argv, .env = env, .cpu = -1, .wall_s = COMPILE_S};
    hn_proc_result r = {0};
    rc = program ? hn_proc_run(&spec, stop, &r, err) : hn_fail(err, HONE_E_NOMEM, "out of memory");
    if (!rc && (r.end != HN_PROC_EXITED || r.code)) rc = refuse(source, &spec, &r, err);
    if (program) hn_proc_result_free(&r);
    free(program);
    free(dir);
    return rc;
}
