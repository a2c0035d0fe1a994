/* target/carried.c — see carried.h. The driver is a program of its own (see the Makefile), carried as image.c carries
 * the supervisor; a copy is the program, its settings, and their length. */
#include "target/carried.h"

#include "base/err.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef HN_GPU_CC

__asm__(".section .rodata\n"
        ".balign 16\n"
        ".hidden hn_gpu_cc_from, hn_gpu_cc_to, hn_controls_header_from, hn_controls_header_to\n"
        ".globl hn_gpu_cc_from, hn_gpu_cc_to, hn_controls_header_from, hn_controls_header_to\n"
        "hn_gpu_cc_from:\n"
        ".incbin \"" HN_GPU_CC "\"\n"
        "hn_gpu_cc_to:\n"
        ".byte 0\n"
        "hn_controls_header_from:\n"
        ".incbin \"include/hone/cuda_controls.h\"\n"
        "hn_controls_header_to:\n"
        ".byte 0\n"
        ".text\n");
extern const char hn_gpu_cc_from[], hn_gpu_cc_to[], hn_controls_header_from[], hn_controls_header_to[];

/* Its folder, by the contents: "CACHE/gpu-cc/HASH". */
static char *folder_of(const char *mode, const char *settings) {
    hn_hash h;
    char hex[33];
    hn_str s = {0};
    hn_hash_begin(&h);
    hn_hash_add(&h, hn_gpu_cc_from, (size_t)(hn_gpu_cc_to - hn_gpu_cc_from));
    hn_hash_add(&h, hn_controls_header_from, (size_t)(hn_controls_header_to - hn_controls_header_from));
    hn_hash_text(&h, mode);
    hn_hash_text(&h, settings);
    hn_hash_end(&h, hex);
    char *cache = hn_cache_dir();
    if (cache) hn_str_addf(&s, "%s/gpu-cc/%.16s", cache, hex);
    free(cache);
    return hn_str_take(&s);
}

static bool put(const char *dir, const char *name, const void *data, size_t n, bool program) {
    hn_str path = {0};
    hn_str_addf(&path, "%s/%s", dir, name);
    char *slash = path.text ? strrchr(path.text, '/') : NULL;
    bool fine = slash != NULL;
    if (fine) *slash = 0;
    fine = fine && !hn_make_dirs(path.text, NULL);
    if (slash) *slash = '/';
    fine = fine && !hn_write_file(path.text, data, n, NULL) && (!program || !chmod(path.text, 0755));
    hn_str_free(&path);
    return fine;
}

static bool put_driver(const char *dir, const char *name, const char *mode, const char *settings) {
    hn_str tail = {0}, all = {0};
    hn_str_addf(&tail, "mode=%s\nown=%s/own\nstubs=%s/stubs\n%s", mode, dir, dir, settings);
    hn_str_add_n(&all, hn_gpu_cc_from, (size_t)(hn_gpu_cc_to - hn_gpu_cc_from));
    hn_str_addf(&all, "%s%016zuHONE-GPU-CC\n", tail.text ? tail.text : "", tail.n);
    bool fine = !tail.failed && !all.failed && put(dir, name, all.text, all.n, true);
    hn_str_free(&tail);
    hn_str_free(&all);
    return fine;
}

char *hn_carried_driver(const char *mode, const char *settings) {
    char *dir = folder_of(mode, settings), *path = NULL;
    hn_str name = {0};
    hn_str_addf(&name, "hone-%s", mode);
    if (dir && name.text) path = hn_path_join(dir, name.text);
    bool fine = path && !access(path, X_OK);
    if (path && !fine) /* the program comes last: where it is, the rest is */
        fine = put(dir, "own/hone/cuda_controls.h", hn_controls_header_from,
                   (size_t)(hn_controls_header_to - hn_controls_header_from), false) &&
               put(dir, "stubs/texture_fetch_functions.h", "", 0, false) && put_driver(dir, name.text, mode, settings);
    hn_str_free(&name);
    free(dir);
    if (fine) return path;
    free(path);
    return NULL;
}

#else

char *hn_carried_driver(const char *mode, const char *settings) {
    (void)mode, (void)settings;
    return NULL;
}

#endif

static char *where(hone_target *t) {
    static const char *const args[] = {"--where", NULL};
    char *text;
    return hn_tool_ask(t, args, &text, NULL) ? NULL : text;
}

char *hn_carried_binary(hone_target *t) {
    char *text = where(t), *path = NULL;
    if (text) {
        text[strcspn(text, "\n")] = 0;
        path = realpath(text, NULL);
    }
    free(text);
    return path;
}

hone_rc hn_carried_code_files(hone_target *t, char **lines, hone_err *err) {
    *lines = where(t);
    if (!*lines) *lines = calloc(1, 1);
    return *lines ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory listing the parts of '%s'", t->print.command);
}
