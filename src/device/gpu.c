/* device/gpu.c — carries hone-gpu-bench (src/bench/program, see the Makefile) and asks it for devices. */
#include "device/gpu.h"

#include "base/err.h"
#include "base/fs.h"
#include "base/str.h"
#include "proc/proc.h"
#include "proc/temp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIST_S = 30, COLUMNS = 6 };

#ifdef HN_GPU_PROGRAM
__asm__(".pushsection .rodata\n"
        ".balign 16\n"
        ".globl hn_gpu_image_from, hn_gpu_image_to\n.hidden hn_gpu_image_from, hn_gpu_image_to\n"
        "hn_gpu_image_from:\n.incbin \"" HN_GPU_PROGRAM "\"\n"
        "hn_gpu_image_to:\n.byte 0\n"
        ".popsection\n");
extern const char hn_gpu_image_from[], hn_gpu_image_to[];
static size_t image_size(void) { return (size_t)(hn_gpu_image_to - hn_gpu_image_from); }
#else
static const char hn_gpu_image_from[1];
static size_t image_size(void) { return 0; }
#endif

static bool write_all(int fd, const char *from, size_t n) {
    while (n) {
        ssize_t done = write(fd, from, n);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return false;
        from += done;
        n -= (size_t)done;
    }
    return true;
}

hone_rc hn_gpu_program(const char *dir, hone_err *err) {
    if (!image_size())
        return hn_fail(err, HONE_E_UNSUPPORTED, "this build of hone does not carry '%s'", HN_GPU_PROGRAM_NAME);
    char *path = hn_path_join(dir, HN_GPU_PROGRAM_NAME);
    if (!path) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
    bool good = fd >= 0 && write_all(fd, hn_gpu_image_from, image_size());
    if (fd >= 0) good = close(fd) == 0 && good;
    hone_rc rc = good ? HONE_OK : hn_fail(err, HONE_E_IO, "cannot write '%s': %s", path, strerror(errno));
    free(path);
    return rc;
}

/* --- what there is ---------------------------------------------------------------------------------------------------
 */

static void copy_text(char *to, size_t n, const char *from) {
    snprintf(to, n, "%s", from);
    for (char *p = to; *p; p++)
        if ((unsigned char)*p < ' ') *p = ' ';
}

/* api, index, name, arch, driver, version; or "none", api, reason. */
static bool read_line(char *line, hone_device_gpu *out) {
    char *column[COLUMNS];
    size_t n = 0;
    for (char *at = line; at && n < COLUMNS; n++) {
        column[n] = at;
        at = strchr(at, '\t');
        if (at) *at++ = 0;
    }
    *out = (hone_device_gpu){.index = -1};
    if (n >= 3 && !strcmp(column[0], "none")) {
        copy_text(out->api, sizeof out->api, column[1]);
        copy_text(out->name, sizeof out->name, column[2]);
        return true;
    }
    if (n != COLUMNS) return false;
    copy_text(out->api, sizeof out->api, column[0]);
    out->index = atoi(column[1]);
    copy_text(out->name, sizeof out->name, column[2]);
    copy_text(out->arch, sizeof out->arch, column[3]);
    copy_text(out->driver, sizeof out->driver, column[4]);
    copy_text(out->version, sizeof out->version, column[5]);
    return true;
}

static hone_rc read_lines(char *text, hone_device_gpu **out, size_t *n, hone_err *err) {
    size_t lines = 1, have = 0;
    for (const char *p = text; *p; p++) lines += *p == '\n';
    hone_device_gpu *list = calloc(lines, sizeof *list);
    if (!list) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    for (char *save = NULL, *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        have += read_line(line, &list[have]);
    *out = list;
    *n = have;
    return HONE_OK;
}

/* api: "cuda", "opencl", or "" for both. */
static hone_rc ask(const char *api, hone_device_gpu **out, size_t *n, hone_err *err) {
    hn_temp dir = {0};
    hone_rc rc = hn_temp_make(NULL, "hone-gpu-", &dir, err);
    if (rc) return rc;
    rc = hn_gpu_program(dir.path, err);
    if (!rc) {
        const char *argv[] = {"./" HN_GPU_PROGRAM_NAME, "--devices", *api ? api : NULL, NULL};
        hn_proc_spec spec = {.argv = argv, .cwd = dir.path, .cpu = -1, .wall_s = LIST_S};
        hn_proc_result r;
        rc = hn_proc_run(&spec, NULL, &r, err);
        if (!rc && (r.end != HN_PROC_EXITED || r.code)) {
            char what[200];
            rc = hn_fail(err, HONE_E_TOOL, "asking the drivers for their devices: '%s --devices' %s: %.500s",
                         HN_GPU_PROGRAM_NAME, hn_proc_describe(&spec, &r, what, sizeof what), r.err_tail);
        }
        if (!rc) rc = read_lines(r.out, out, n, err);
        hn_proc_result_free(&r);
    }
    hn_temp_free(&dir);
    return rc;
}

hone_rc hone_device_gpus(hone_device_gpu **out, size_t *n, hone_err *err) { return ask("", out, n, err); }

static const char *text_of(hn_arena *a, const hone_device_gpu *x) {
    return hn_format(a, "%s%s%s%s%s%s%s", x->name, *x->arch ? ", " : "", x->arch, *x->driver ? ", driver " : "",
                     x->driver, *x->version ? ", " : "", x->version);
}

const char *hn_gpu_identity(hn_arena *a, const char *device) {
    hone_device_gpu *list = NULL;
    size_t n = 0, n_api = device ? strcspn(device, ":") : 0;
    char api[16] = "";
    const char *text = "none";
    int index = device && device[n_api] ? atoi(device + n_api + 1) : 0;
    if (n_api >= sizeof api) return text;
    if (device) memcpy(api, device, n_api);
    if (ask(api, &list, &n, NULL)) return text;
    for (size_t i = n; i-- > 0;)
        if (list[i].index == index && (!*api || !strcmp(list[i].api, api))) text = text_of(a, &list[i]);
    free(list);
    return text ? text : "none";
}
