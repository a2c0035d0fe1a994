/* parity/remote.c — the program that runs kernels of another processor's library under an emulator (backend/place.h),
 * compiled with the library's compiler. */
#include "base/fs.h"
#include "build/build.h"
#include "parity/parity.h"
#include "proc/proc.h"

#include <stdlib.h>
#include <string.h>

static hone_rc run(const hn_library *l, const hn_command *c, char **out, hone_err *err) {
    hn_proc_spec spec = {.argv = c->argv, .cwd = l->work, .cpu = -1, .wall_s = 120};
    hn_proc_result r = {0};
    char how[200];
    hone_rc rc = hn_proc_run(&spec, l->options->stop, &r, err);
    if (rc) return rc;
    if (r.end == HN_PROC_STOPPED)
        rc = hn_check_stop(l, err);
    else if (r.end != HN_PROC_EXITED || r.code)
        rc = hn_fail(err, HONE_E_TOOL, "'%s' fails on the program that runs kernels under an emulator (%s): %.400s",
                     c->argv[0], hn_proc_describe(&spec, &r, how, sizeof how), r.err_tail);
    else if (out)
        *out = hn_strndup((hn_arena *)&l->arena, r.out ? r.out : "", r.out ? strcspn(r.out, "\n") : 0);
    hn_proc_result_free(&r);
    return rc;
}

/* The folder in which the emulator finds the other processor's lib/: two up from its C library. */
static const char *root_of(hn_library *l, const char *library) {
    char *path = realpath(library, NULL), *slash;
    for (int i = 0; path && i < 2; i++)
        if ((slash = strrchr(path, '/'))) *slash = 0;
    const char *root = path ? hn_strdup(&l->arena, *path ? path : "/") : NULL;
    free(path);
    return root;
}

static hone_rc write_source(hn_library *l, hone_err *err) {
    static const char line[] = "#include \"remote_order.h\"\n";
    const char *runner = hn_carried_runner(), *include = strstr(runner, line);
    char *path = hn_format(&l->arena, "%s/runner.c", l->work);
    hn_str text = {0};
    hn_str_add(&text, hn_carried_model_h());
    hn_str_add(&text, hn_carried_remote_order());
    hn_str_add(&text, include ? include + strlen(line) : runner);
    hone_rc rc = !path || text.failed ? hn_fail(err, HONE_E_NOMEM, "out of memory")
                                      : hn_write_file(path, text.text, text.n, err);
    hn_str_free(&text);
    return rc;
}

hone_rc hn_remote_build(hn_library *l, hone_err *err) {
    hn_command build = {0}, find = {0};
    char *library = NULL;
    if (l->remote_root) return HONE_OK;
    hone_rc rc = write_source(l, err);
    if (rc) return rc;
    hn_command_compiler(&l->model[0], NULL, NULL, &l->arena, &build);
    static const char *const rest[] = {"runner.c", "-o", "runner"};
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) hn_command_add(&build, rest[i]);
    hn_command_part(&build, HN_CC_RUNNER);
    hn_command_compiler(&l->model[0], NULL, NULL, &l->arena, &find);
    hn_command_add(&find, "-print-file-name=libc.so.6");
    rc = run(l, &build, NULL, err);
    if (!rc) rc = run(l, &find, &library, err);
    if (!rc) l->remote_root = root_of(l, library ? library : "");
    return rc || l->remote_root ? rc : hn_fail(err, HONE_E_TOOL, "'%s' has no C library", hn_compiler_of(&l->model[0]));
}
