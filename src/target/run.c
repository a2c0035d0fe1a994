/* target/run.c — asking a compiler something. */
#include "base/err.h"
#include "base/proc.h"
#include "target/target_int.h"

#include <stdlib.h>
#include <string.h>

hone_rc hn_run_tool(const char *const *argv, double wall_s, hn_run *out, hone_err *err) {
    static const char *const env[] = {"LC_ALL=C", "LANGUAGE=C", "COLUMNS=200", "CCACHE_DISABLE=1", NULL};
    hn_proc_spec spec = {.argv = argv, .env = env, .cpu = -1, .wall_s = wall_s, .memory_b = 8ull << 30,
                         .file_b = 256u << 20};
    hn_proc_result r;
    hone_rc rc = hn_proc_run(&spec, NULL, &r, err);
    if (rc) return rc;
    memset(out, 0, sizeof *out);
    out->ok = r.end == HN_PROC_EXITED && r.code == 0;
    hn_proc_describe(&spec, &r, out->what, sizeof out->what);
    strncpy(out->errors, r.err_tail, sizeof out->errors - 1);
    out->user_s = r.user_s + r.sys_s;
    out->out = r.out ? r.out : calloc(1, 1);
    r.out = NULL;
    hn_proc_result_free(&r);
    return out->out ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory reading the output of '%s'", argv[0]);
}

void hn_run_free(hn_run *run) {
    free(run->out);
    run->out = NULL;
}

enum { MAX_ARGS = 30 };

hone_rc hn_run_target(hone_target *t, const char *const *args, char **out, hone_err *err) {
    const char *argv[MAX_ARGS + 2] = {t->print.path};
    for (size_t i = 0; args[i] && i < MAX_ARGS; i++) argv[i + 1] = args[i];
    hn_run run;
    hone_rc rc = hn_run_tool(argv, 30, &run, err);
    if (rc) return rc;
    if (run.ok) {
        *out = run.out;
        return HONE_OK;
    }
    hn_run_free(&run);
    return hn_fail(err, HONE_E_TOOL, "compiler '%s' fails on '%s': %s%s%.200s", t->print.command, args[0], run.what,
                   run.errors[0] ? ": " : "", run.errors);
}
