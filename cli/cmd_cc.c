/* cmd_cc.c — `hone cc`: a compiler with the controls of a file, to put in CC or behind a compiler launcher. */
#include "cli.h"

#include <hone/controls.h>
#include <hone/target.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- is it the compiler that the controls were proven with? ---------------------------------------------------- */

static const char *pair(const hone_pair *p, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(p[i].name, name) == 0) return p[i].value;
    return "";
}

/* Family, version and binaries; not the meaning of -march=native, which can differ in a cross build. */
static hone_rc compare(const hone_controls *c, const char *file, const char *compiler, const hone_identity *id,
                       hone_err *err) {
    const char *const part[][2] = {{"family", id->family}, {"version", id->version}, {"hash", id->hash}};
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        const char *then = pair(c->tool, c->n_tool, part[i][0]);
        if (strcmp(then, part[i][1]) == 0) continue;
        return cli_fail(err, HONE_E_STALE,
                        "'%s' is not the compiler that '%s' was proven with: its %s is '%s', then '%s'; run `hone "
                        "retune %s`, or build all the same with --stale=warn",
                        compiler, file, part[i][0], part[i][1], then, file);
    }
    return HONE_OK;
}

static hone_rc check_compiler(const cli *c, const hone_controls *controls, const char *file, hone_err *err) {
    const char *stale = cli_text(c, "stale", "error");
    hone_identity id;
    hone_err why = {0};
    if (strcmp(stale, "ignore") == 0) return HONE_OK;
    hone_rc rc = hone_target_identity(c->arg[0], NULL, &id, &why);
    if (!rc) rc = compare(controls, file, c->arg[0], &id, &why);
    if (!rc) return HONE_OK;
    bool judged = rc == HONE_E_STALE || rc == HONE_E_TOOL;
    if (!judged || strcmp(stale, "warn") != 0) return cli_fail(err, rc, "%s", why.text);
    fprintf(stderr, "hone: warning: %s\n", why.text);
    return HONE_OK;
}

/* --- profiles -------------------------------------------------------------------------------------------------- */

static bool ends_with(const char *s, const char *end) {
    size_t n = strlen(s), m = strlen(end);
    return n >= m && strcmp(s + n - m, end) == 0;
}

/* clang's raw profiles are merged once, by whichever of the compilers of a parallel build comes first. */
static hone_rc merge(const char *compiler, const char *dir, hone_err *err) {
    char *merged = cli_format("%s/default.profdata", dir);
    struct stat st;
    hone_target *target;
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    hone_rc rc = HONE_OK;
    if (fd < 0) {
        rc = cli_fail(err, HONE_E_IO, "cannot open the profile folder '%s': %s", dir, strerror(errno));
    } else {
        (void)flock(fd, LOCK_EX);
        if (stat(merged, &st) != 0 && !(rc = hone_target_open(compiler, NULL, &target, err))) {
            rc = hone_target_profile_merge(target, dir, err);
            hone_target_close(target);
        }
        close(fd);
    }
    free(merged);
    return rc;
}

/* The extra word of a profile-guided build; NULL: none. */
static hone_rc profile_word(const cli *c, const hone_controls *controls, const char *file, char **word, hone_err *err) {
    const char *pgo = cli_text(c, "pgo", NULL), *dir = cli_text(c, "profile", NULL);
    *word = NULL;
    if (!pgo && !controls->pgo) return HONE_OK;
    if (!pgo)
        return cli_fail(
            err, HONE_E_UNSUPPORTED,
            "'%s' is profile-guided, which takes two builds: one with --pgo=generate --profile DIR, then runs "
            "of the program on inputs like the workload's, then one with --pgo=use --profile DIR",
            file);
    if (!controls->pgo) return cli_fail(err, HONE_E_USAGE, "'%s' is not profile-guided; leave --pgo away", file);
    if (!dir) return cli_fail(err, HONE_E_USAGE, "--pgo needs --profile DIR, the folder of the profiles");
    char *full = *dir == '/' ? cli_strdup(dir) : NULL, *cwd = full ? NULL : getcwd(NULL, 0);
    if (!full) full = cli_format("%s/%s", cwd ? cwd : ".", dir);
    bool use = strcmp(pgo, "use") == 0;
    hone_rc rc = HONE_OK;
    if (use && strcmp(pair(controls->tool, controls->n_tool, "family"), "clang") == 0) rc = merge(c->arg[0], full, err);
    if (!rc) *word = cli_format("-fprofile-%s=%s", pgo, full);
    free(cwd);
    free(full);
    return rc;
}

/* --- the command ----------------------------------------------------------------------------------------------- */

/* Is `arg` the file that the workload's build calls `name`: the same, or a path that ends in it? */
static bool is_file(const char *arg, const char *name) {
    while (strncmp(name, "./", 2) == 0) name += 2;
    size_t n = strlen(arg), m = strlen(name);
    return ends_with(arg, name) && (n == m || arg[n - m - 1] == '/');
}

static bool compiles_one(const cli *c) {
    bool only = false;
    for (size_t i = 1; i < c->n_args; i++) only |= strcmp(c->arg[i], "-c") == 0 || strcmp(c->arg[i], "-S") == 0;
    return only;
}

/* Flags of the one file that the call compiles; NULL: it has none of its own. A call that compiles several of which
 * one has some cannot be served. */
static hone_rc file_flags(const cli *c, const hone_controls *controls, const char **flags, hone_err *err) {
    *flags = NULL;
    for (size_t i = 1; i < c->n_args; i++)
        for (size_t k = 0; k < controls->n_files; k++) {
            if (!is_file(c->arg[i], controls->file[k].name)) continue;
            if (*flags || !compiles_one(c))
                return cli_fail(err, HONE_E_UNSUPPORTED,
                                "'%s' has controls of its own: compile each file by a call with -c, then link",
                                controls->file[k].name);
            *flags = controls->file[k].value;
        }
    return HONE_OK;
}

/* The next word of a line as hone writes it: plain, or in single quotes. Ends `at` behind it; NULL: there is none. */
static char *next_word(char **at) {
    char *from = *at + strspn(*at, " "), *to = from, *p = from;
    if (!*p) return NULL;
    for (bool quoted = false; *p && (quoted || *p != ' '); p++) {
        if (*p == '\'')
            quoted = !quoted;
        else if (*p == '\\' && !quoted && p[1])
            *to++ = *++p;
        else
            *to++ = *p;
    }
    *at = *p ? p + 1 : p;
    *to = 0;
    return from;
}

/* Is the call only a query (such as --version) whose answer no flag changes? Builds make such calls before they
 * compile. */
static bool asks_only(const cli *c) {
    static const char *const question[] = {"--version", "-dumpversion", "-dumpmachine", "-dumpfullversion", "-v"};
    for (size_t i = 1; i < c->n_args; i++) {
        bool known = false;
        for (size_t k = 0; k < sizeof question / sizeof *question; k++) known |= strcmp(c->arg[i], question[k]) == 0;
        if (!known) return false;
    }
    return true;
}

/* Does not come back but where there is no sh. */
static void run_stages(char *shell) {
    execlp("sh", "sh", "-c", shell, (char *)NULL);
    hone_free(shell);
}

/* Response files and flags of the user first, a file's own last: of two that disagree the later one counts. */
static hone_rc run(const cli *c, const hone_controls *controls, const char *own, const char *profile, hone_err *err) {
    size_t n = 0;
    char *line = cli_strdup(own ? own : ""), *at = line, *word;
    const char **argv = cli_alloc(c->n_args + controls->n_flags + strlen(line) + 2, sizeof *argv);
    for (size_t i = 0; i < c->n_args; i++) argv[n++] = c->arg[i];
    for (size_t i = 0; i < controls->n_flags; i++) argv[n++] = controls->flag[i];
    while ((word = next_word(&at))) argv[n++] = word;
    if (profile) argv[n++] = profile;
    char *shell = NULL;
    hone_rc rc = asks_only(c) ? HONE_OK : hone_controls_stages(controls, argv, n, &shell, err);
    fflush(NULL);
    if (!rc && shell)
        run_stages(shell);
    else if (!rc)
        execvp(argv[0], (char **)(uintptr_t)argv);
    free(argv);
    free(line);
    return rc;
}

static hone_rc run_cc(cli *c, hone_err *err) {
    const char *file = cli_text(c, "controls", NULL);
    hone_controls *controls;
    char *profile = NULL;
    if (!file) return cli_fail(err, HONE_E_USAGE, "name the controls file: hone cc --controls FILE -- gcc -c x.c");
    if (!ends_with(file, ".hone"))
        return cli_fail(err, HONE_E_USAGE, "'%s' does not end in '.hone'; name a controls file", file);
    hone_rc rc = hone_controls_read(file, &controls, err);
    if (rc) return rc;
    bool ask = asks_only(c);
    if (cli_text(c, "key", NULL)) rc = hone_controls_verify(file, cli_text(c, "key", NULL), err);
    const char *own = NULL;
    if (ask) controls->n_flags = 0;
    if (!rc && !ask) rc = file_flags(c, controls, &own, err);
    if (!rc && !ask) rc = check_compiler(c, controls, file, err);
    if (!rc && !ask) rc = profile_word(c, controls, file, &profile, err);
    if (!rc) {
        rc = run(c, controls, own, profile, err);
        if (!rc) rc = cli_fail(err, HONE_E_TOOL, "cannot run compiler '%s': %s", c->arg[0], strerror(errno));
    }
    free(profile);
    hone_controls_free(controls);
    return rc;
}

static const cli_option options[] = {
    {"controls", 0, CLI_TEXT, "FILE", 0, 0, "the controls file"},
    {"stale", 0, CLI_CHOICE, "error|warn|ignore", 0, 0,
     "when the compiler is another than the one of the proof (default error; ignore does not look)"},
    {"key", 'k', CLI_TEXT, "PUB", 0, 0, "a public key: only controls signed with it are used"},
    {"pgo", 0, CLI_CHOICE, "generate|use", 0, 0, "profile-guided controls: which of the two builds this is"},
    {"profile", 0, CLI_TEXT, "DIR", 0, 0, "the folder of the profiles, with --pgo"},
    {0},
};

const cli_command cli_cmd_cc = {
    "cc",
    "Keep",
    "-- COMPILER ARGUMENT...",
    "run a compiler with the controls of a file",
    "Runs the compiler with its own arguments and, behind them, the flags of the controls file, so that of two that "
    "disagree (`-O2` and `-O3`) the file's counts; -D for application parameters are among them. Variables "
    "that the program is to run with (`environment` of the file) are not set: they are for its runs. The compiler's "
    "own exit status, output and errors are passed on. A file that has flags of its own (`files`) gets them behind "
    "the others where a call with -c compiles it. Edited passes (`passes`) are run by opt between two calls of the "
    "compiler, for one file with -c or for a call that links too. What names the "
    "compiler "
    "in a makefile can name this: `CC=\"hone cc --controls softmax.hone -- gcc\"`.\n\n"
    "Another compiler than the one the controls were proven with (its version, its binaries) is refused with exit "
    "status "
    "18, unless --stale says otherwise. Sources and inputs are not looked at: that is what `hone check` does, once for "
    "a "
    "build.\n\n"
    "Profile-guided controls take two builds of the same objects with a training run in between: --pgo=generate, the "
    "program, --pgo=use. A wrapper cannot do that by itself, so it refuses such controls without --pgo.",
    options,
    "hone cc --controls softmax.hone -- gcc -c softmax.c -o softmax.o\tone file\n"
    "make CC=\"hone cc --controls softmax.hone -- gcc\"\ta project\n"
    "hone cc --controls x.hone --pgo=use --profile prof -- clang-19 -c x.c\tthe second of two builds\n",
    1,
    -1,
    run_cc,
};
