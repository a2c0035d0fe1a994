/* cubin/tools.c — finds and runs cuobjdump, nvdisasm and ptxas. */
#include "cubin/tools.h"

#include "base/err.h"
#include "base/fs.h"
#include "device/cuda.h"
#include "proc/proc.h"

#include <stdlib.h>
#include <string.h>

enum { TEXT_MOST = 256 << 20, SECONDS_MOST = 120 };

static const char *const name[] = {"cuobjdump", "nvdisasm", "ptxas"};

bool hn_code_tool_present(hn_code_tool tool) {
    char *path = hn_cuda_tool(name[tool]);
    free(path);
    return path != NULL;
}

hone_rc hn_code_tools_present(hone_err *err) {
    static const hn_code_tool needed[] = {HN_CUOBJDUMP, HN_NVDISASM};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!hn_code_tool_present(needed[i]))
            return hn_fail(err, HONE_E_UNSUPPORTED, "device code cannot be read here: '%s' is not installed; %s",
                           name[needed[i]], hn_cuda_advice);
    return HONE_OK;
}

hone_rc hn_tool_text(hn_tool_run *run, hn_arena *a, hone_err *err) {
    static const char *const plain[] = {"LC_ALL=C", NULL};
    char *path = hn_cuda_tool(name[run->tool]), what[200];
    size_t n = 0;
    if (!path)
        return hn_fail(err, HONE_E_TOOL, "'%s' is not installed, and device code is read through it; %s",
                       name[run->tool], hn_cuda_advice);
    while (run->argv[n]) n++;
    const char **argv = HN_NEW_N(a, const char *, n + 2);
    if (argv) memcpy(argv + 1, run->argv, n * sizeof *argv), argv[0] = hn_strdup(a, path);
    free(path);
    if (!argv || !argv[0]) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    hn_proc_spec spec = {.argv = argv, .env = plain, .cwd = run->cwd, .cpu = -1, .wall_s = SECONDS_MOST};
    spec.out_b = spec.keep_b = TEXT_MOST;
    hn_proc_result r;
    hone_rc rc = hn_proc_run(&spec, run->stop, &r, err);
    if (rc) return rc;
    if (run->stop && *run->stop)
        rc = hn_fail(err, HONE_E_INTERRUPTED, "interrupted while reading machine code");
    else if (r.end != HN_PROC_EXITED || r.code != 0)
        rc = hn_fail(err, HONE_E_TOOL, "'%s' %s: %.500s", name[run->tool],
                     hn_proc_describe(&spec, &r, what, sizeof what), r.err_tail);
    if (!rc) run->out = hn_strndup(a, r.out ? r.out : "", r.out_n), run->out_n = r.out_n;
    hn_proc_result_free(&r);
    return rc || run->out ? rc : hn_fail(err, HONE_E_NOMEM, "out of memory");
}
