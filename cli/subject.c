/* subject.c — from a word of the command line to a space: a space file, a workload file, or a compiler. */
#include "cli.h"

#include <hone/tune.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void cli_progress(void *ctx, const hone_event *e) {
    const cli *c = ctx;
    if (!cli_width(stderr)) return;
    if (e->done >= e->total)
        fprintf(stderr, "\r%*s\r", 60, "");
    else
        fprintf(stderr, "\r%sasking the compiler: %zu of %zu%s ", cli_paint(c->color_err, CLI_DIM), e->done, e->total,
                cli_paint(c->color_err, CLI_PLAIN));
    fflush(stderr);
}

hone_rc cli_check_engine(const char *name, hone_err *err) {
    hone_engine_info e;
    const char *names[64];
    size_t n = 0;
    for (size_t i = 0; hone_engine_at(i, &e) && n < 64; i++) {
        if (!name || strcmp(e.name, name) == 0) return HONE_OK;
        names[n++] = e.name;
    }
    const char *near = cli_nearest(name, names, n);
    if (near) return cli_fail(err, HONE_E_NOTFOUND, "there is no engine '%s'; did you mean '%s'?", name, near);
    return cli_fail(err, HONE_E_NOTFOUND, "there is no engine '%s'; `hone engines` lists them", name);
}

/* "name=value,name=value" as a NULL-terminated array into `text` (which is cut up). */
const char **cli_split_options(char *text) {
    const char **list = cli_alloc(strlen(text) + 2, sizeof *list);
    size_t n = 0;
    for (char *save, *p = strtok_r(text, ",", &save); p; p = strtok_r(NULL, ",", &save)) list[n++] = p;
    return list;
}

static void on_event(void *ctx, const hone_event *event) {
    if (((const hone_tune_event *)event)->stage == HONE_TUNE_DISCOVER) cli_progress(ctx, event);
}

/* A space file has the key `hone-space`; a workload file has keys that no space file has. */
static hone_rc is_workload(const char *path, bool *workload, hone_err *err) {
    static const char *const keys[] = {"run:", "build:", "sources:", "objectives:", "compilers:", "inputs:", "budget:"};
    char line[4096];
    bool space = false;
    FILE *f = fopen(path, "r");
    if (!f) return cli_fail(err, HONE_E_IO, "cannot open '%s': %s", path, strerror(errno));
    *workload = false;
    while (fgets(line, sizeof line, f)) {
        space |= strncmp(line, "hone-space", 10) == 0;
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
            *workload |= strncmp(line, keys[i], strlen(keys[i])) == 0;
    }
    *workload &= !space;
    bool bad = ferror(f);
    fclose(f);
    return bad ? cli_fail(err, HONE_E_IO, "cannot read '%s': %s", path, strerror(EIO)) : HONE_OK;
}

static hone_rc open_file(const cli *c, const char *path, cli_subject *s, hone_err *err) {
    hone_tune_options options = hone_tune_defaults();
    options.progress = (hone_progress){on_event, (void *)(uintptr_t)c};
    bool workload;
    hone_rc rc = is_workload(path, &workload, err);
    if (rc) return rc;
    s->kind = workload ? "workload" : "space";
    if (!workload) return hone_space_load(path, &s->space, err);
    rc = hone_workload_load(path, &s->workload, err);
    if (!rc) rc = hone_workload_space(s->workload, &options, &s->space, err);
    return rc;
}

static hone_rc open_compiler(const cli *c, const char *name, bool all, bool numeric, cli_subject *s, hone_err *err) {
    hone_target_options options = {.size = sizeof(hone_target_options),
                                   .all = all,
                                   .numeric = numeric,
                                   .lto = true,
                                   .pgo = true,
                                   .progress = {cli_progress, (void *)(uintptr_t)c}};
    s->kind = "compiler";
    hone_rc rc = hone_target_open(name, NULL, &s->target, err);
    return rc ? rc : hone_target_space(s->target, &options, &s->space, err);
}

static bool looks_like_file(const char *name) {
    size_t n = strlen(name);
    return (n > 5 && strcmp(name + n - 5, ".yaml") == 0) || (n > 4 && strcmp(name + n - 4, ".yml") == 0);
}

hone_rc cli_subject_open(const cli *c, const char *name, bool all, bool numeric, cli_subject *out, hone_err *err) {
    cli_subject s = {0};
    struct stat st;
    bool exists = stat(name, &st) == 0, program = exists && (st.st_mode & 0111) && S_ISREG(st.st_mode);
    hone_rc rc;
    if (exists && S_ISDIR(st.st_mode))
        rc = cli_fail(err, HONE_E_INPUT, "'%s' is a folder; a space file, a workload file or a compiler is wanted",
                      name);
    else if (exists && !(program && !looks_like_file(name)))
        rc = open_file(c, name, &s, err);
    else if (looks_like_file(name))
        rc = cli_fail(err, HONE_E_IO, "cannot open '%s': %s%s", name, strerror(ENOENT),
                      strcmp(name, "hone.yaml") == 0 ? "; `hone init` writes one, or name a space file or a compiler"
                                                     : "");
    else
        rc = open_compiler(c, name, all, numeric, &s, err);
    if (rc)
        cli_subject_close(&s);
    else
        *out = s;
    return rc;
}

void cli_subject_close(cli_subject *s) {
    hone_space_free(s->space);
    hone_workload_free(s->workload);
    hone_target_close(s->target);
    *s = (cli_subject){0};
}
