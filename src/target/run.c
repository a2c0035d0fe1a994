/* target/run.c — asking a compiler something. */
#include "base/err.h"
#include "proc/proc.h"
#include "target/target_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

hone_rc hn_tool_run_errors(const char *const *argv, double wall_s, hn_tool *out, hone_err *err) {
    /* both streams as one text: a shell joins them, the arguments stay words */
    const char *shell[40] = {"/bin/sh", "-c", "exec \"$@\" 2>&1", "sh"};
    for (size_t i = 0; argv[i] && i < 34; i++) shell[i + 4] = argv[i];
    return hn_tool_run(shell, wall_s, out, err);
}

hone_rc hn_tool_run(const char *const *argv, double wall_s, hn_tool *out, hone_err *err) {
    static const char *const env[] = {"LC_ALL=C", "LANGUAGE=C", "COLUMNS=200", "CCACHE_DISABLE=1", NULL};
    hn_proc_spec spec = {
        .argv = argv, .env = env, .cpu = -1, .wall_s = wall_s, .memory_b = 8ull << 30, .file_b = 256u << 20};
    hn_proc_result r;
    hone_rc rc = hn_proc_run(&spec, NULL, &r, err);
    if (rc) return rc;
    memset(out, 0, sizeof *out);
    out->ok = r.end == HN_PROC_EXITED && r.code == 0;
    hn_proc_describe(&spec, &r, out->what, sizeof out->what);
    snprintf(out->errors, sizeof out->errors, "%.*s", (int)sizeof out->errors - 1, r.err_tail);
    out->user_s = r.user_s + r.sys_s;
    out->out = r.out ? r.out : calloc(1, 1);
    r.out = NULL;
    hn_proc_result_free(&r);
    return out->out ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory reading the output of '%s'", argv[0]);
}

void hn_tool_free(hn_tool *run) {
    free(run->out);
    run->out = NULL;
}

enum { MAX_ARGS = 30 };

hone_rc hn_tool_ask(hone_target *t, const char *const *args, char **out, hone_err *err) {
    const char *argv[MAX_ARGS + 2] = {t->exec};
    for (size_t i = 0; args[i] && i < MAX_ARGS; i++) argv[i + 1] = args[i];
    hn_tool run;
    hone_rc rc = hn_tool_run(argv, 30, &run, err);
    if (rc) return rc;
    if (run.ok) {
        *out = run.out;
        return HONE_OK;
    }
    hn_tool_free(&run);
    return hn_fail(err, HONE_E_TOOL, "compiler '%s' fails on '%s': %s%s%.200s", t->print.command, args[0], run.what,
                   run.errors[0] ? ": " : "", run.errors);
}
