/* cmd_race.c — `hone race`: a CUDA kernel run on the CPU, each access checked. */
#include "cli.h"
#include "signals.h"

#include <hone/race.h>

#include <stdlib.h>
#include <string.h>

/* The description (docs/harness-gpu.md) of one launch, from options: "x=in:f32:300" is a buffer, "300:i32" a number. */
static hone_rc describe(const cli *c, char **out, hone_err *err) {
    const char *launch = cli_text(c, "launch", NULL), *args = cli_text(c, "args", "");
    if (!launch) {
        if (cli_given(c, "args") || cli_given(c, "grid") || cli_given(c, "block") || cli_given(c, "shared"))
            return cli_fail(err, HONE_E_USAGE, "--grid, --block, --shared and --args belong to --launch KERNEL");
        return HONE_OK;
    }
    char *text = cli_strdup(args), *buffers = cli_strdup(""), *pass = cli_strdup(""), *more;
    hone_rc rc = HONE_OK;
    for (char *save = NULL, *word = strtok_r(text, " ", &save); word && !rc; word = strtok_r(NULL, " ", &save)) {
        char *equals = strchr(word, '='), *rest = equals;
        if (equals) {
            *equals = 0;
            for (char *p = ++rest; *p; p++) *p = *p == ':' ? ' ' : *p;
            if (!*word || !*rest) rc = cli_fail(err, HONE_E_USAGE, "--args: '%s=%s' is no buffer", word, rest);
            more = cli_format("%sbuffer %s %s\n", buffers, word, rest);
            free(buffers);
            buffers = more;
        }
        more = cli_format("%s %s", pass, word);
        free(pass);
        pass = more;
    }
    if (!rc)
        *out = cli_format("%slaunch %s\ngrid %s\nblock %s\nshared %s\npass%s\n", buffers, launch,
                          cli_text(c, "grid", "1"), cli_text(c, "block", "32"), cli_text(c, "shared", "0"), pass);
    free(text);
    free(buffers);
    free(pass);
    return rc;
}

static const char **words_of(const char *text, const char *prefix) {
    size_t n = 0;
    char *copy = cli_strdup(text), *save = NULL;
    const char **list = cli_alloc(strlen(text) + 2, sizeof *list);
    for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
        list[n++] = cli_format("%s%s", prefix, word);
    free(copy);
    return list;
}

static void free_words(const char **list) {
    for (size_t i = 0; list[i]; i++) free((void *)(uintptr_t)list[i]);
    free(list);
}

static void put_json(cli *c, const hone_race_result *r) {
    cli_json j = cli_json_begin(c, false);
    cli_json_object(&j);
    cli_json_ktext(&j, "source", c->arg[0]);
    cli_json_kbool(&j, "clean", r->clean);
    cli_json_kcount(&j, "runs", r->runs);
    cli_json_key(&j, "fault");
    if (r->clean)
        cli_json_text(&j, NULL);
    else {
        cli_json_object(&j);
        cli_json_ktext(&j, "class", r->kind);
        cli_json_ktext(&j, "kernel", r->kernel);
        cli_json_ktext(&j, "order", r->order);
        cli_json_ktext(&j, "text", r->text);
        cli_json_key(&j, "places");
        cli_json_array(&j);
        for (unsigned i = 0; i < r->n_places; i++) {
            const hone_race_place *p = &r->place[i];
            cli_json_object(&j);
            cli_json_ktext(&j, "file", *p->file ? p->file : NULL);
            cli_json_knumber(&j, "line", p->line);
            cli_json_ktext(&j, "does", p->does);
            const char *const keys[] = {"block", "thread"};
            for (int k = 0; k < 2; k++) {
                const unsigned *at = k ? p->thread : p->block;
                cli_json_key(&j, keys[k]);
                cli_json_array(&j);
                for (int d = 0; d < 3; d++) cli_json_count(&j, at[d]);
                cli_json_close(&j);
            }
            cli_json_close(&j);
        }
        cli_json_close(&j);
        cli_json_close(&j);
    }
    cli_json_end(&j);
}

static void put_text(const cli *c, const hone_race_result *r) {
    if (r->clean) {
        printf("%s: %sclean%s in %u run%s\n", c->arg[0], cli_paint(c->color_out, CLI_GREEN),
               cli_paint(c->color_out, CLI_PLAIN), r->runs, r->runs == 1 ? "" : "s");
        return;
    }
    printf("%s: %s%s%s: ", c->arg[0], cli_paint(c->color_out, CLI_RED), r->kind, cli_paint(c->color_out, CLI_PLAIN));
    cli_put(c, stdout, r->text ? r->text : "", 0);
    printf(" (threads %s)\n", r->order);
    for (unsigned i = 0; i < r->n_places; i++) {
        const hone_race_place *p = &r->place[i];
        printf("  ");
        cli_put(c, stdout, *p->file ? p->file : "?", 0);
        printf(":%d: block %u,%u,%u thread %u,%u,%u ", p->line, p->block[0], p->block[1], p->block[2], p->thread[0],
               p->thread[1], p->thread[2]);
        cli_put(c, stdout, p->does, 0);
        putchar('\n');
    }
}

static hone_rc run_race(cli *c, hone_err *err) {
    hone_race_options o = hone_race_defaults();
    hone_race_result r = {0};
    char *text = NULL;
    hone_rc rc = describe(c, &text, err);
    if (rc) return rc;
    const char **defines = words_of(cli_text(c, "define", ""), "-D"),
               **folders = words_of(cli_text(c, "include", ""), "-I");
    size_t n = 0, k = 0;
    while (defines[n]) n++;
    while (folders[k]) k++;
    const char **flags = cli_alloc(n + k + 1, sizeof *flags);
    memcpy(flags, defines, n * sizeof *flags);
    memcpy(flags + n, folders, k * sizeof *flags);
    o.description = cli_text(c, "description", NULL);
    o.text = text;
    o.set = c->arg + 1;
    o.flags = flags;
    o.runs = (unsigned)cli_count(c, "runs", 0);
    o.limit_s = cli_seconds(c, "limit", 0);
    o.stop = cli_catch_signals(false).stop;
    const char **set = cli_alloc(c->n_args + 1, sizeof *set);
    for (size_t i = 1; i < c->n_args; i++) set[i - 1] = c->arg[i];
    o.set = set;
    rc = hone_race_run(c->arg[0], &o, &r, err);
    if (!rc && c->json)
        put_json(c, &r);
    else if (!rc)
        put_text(c, &r);
    if (!rc && !r.clean) c->exit_code = hone_rc_exit(HONE_E_FAILED);
    hone_race_free(&r);
    free_words(defines);
    free_words(folders);
    free(flags);
    free(set);
    free(text);
    return rc;
}

static const cli_option options[] = {
    {"description", 0, CLI_TEXT, "FILE", 0, 0,
     "what is launched on which buffers (default: NAME.kernel beside NAME.cu)"},
    {"launch", 'l', CLI_TEXT, "KERNEL", 0, 0, "instead of a description: one launch of this kernel"},
    {"grid", 0, CLI_TEXT, "N", 0, 0, "its blocks, up to three numbers: '4 2' (default 1)"},
    {"block", 0, CLI_TEXT, "N", 0, 0, "threads of a block (default 32)"},
    {"shared", 0, CLI_TEXT, "BYTES", 0, 0, "dynamic shared memory"},
    {"args", 'a', CLI_TEXT, "LIST", 0, 0, "arguments in order: x=in:f32:300 y=out:f32:300 300:i32"},
    {"define", 'D', CLI_TEXT, "LIST", 0, 0, "macros: 'TILE=32 FAST'"},
    {"include", 'I', CLI_TEXT, "LIST", 0, 0, "folders with headers"},
    {"runs", 0, CLI_COUNT, "N", 1, 1000, "orders of threads to try: forwards, backwards, then permuted (default 3)"},
    {"limit", 0, CLI_SECONDS, "T", 0, 0, "time of a run (default 60s)"},
    {0},
};

const cli_command cli_cmd_race = {
    "race",
    "Check",
    "KERNEL.cu [NAME=VALUE]...",
    "find races and accesses out of bounds in a CUDA kernel, without a GPU",
    "Compiles the kernel as C++ (with g++), runs it on the CPU and checks each access of each thread: two that touch "
    "the "
    "same bytes with nothing that orders them, accesses outside of every buffer and array, reads of what nobody wrote, "
    "barriers that not all threads reach, asynchronous copies that are used before they landed, kernels that never "
    "end. "
    "The report names the kernel, the lines and the threads.\n"
    "What is launched stands in a description, as for `hone-gpu-bench`; `NAME=VALUE` sets its parameters: small sizes "
    "are "
    "enough and fast. Without a description, `--launch` and `--args` say it. "
    "Exit status: 0 when nothing was found, 1 when something was.",
    options,
    "hone race examples/gpu/softmax/softmax.cu rows=3 cols=300\tthe description lies beside the kernel\n"
    "hone race add.cu --launch add --grid 4 --block 64 --args 'x=in:f32:250 y=out:f32:250 250:i32'\twithout one\n",
    1,
    64,
    run_race,
};
