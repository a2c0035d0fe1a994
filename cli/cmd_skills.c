/* cmd_skills.c — `hone skills`: what teaches agents to use hone, put where they look for it.
 *
 * A file that is written ends with a line that says so and has a hash of what stands before it: what has no such line,
 * or another text, is somebody else's.
 */
#include "skills.h"
#include "text_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- where agents look -------------------------------------------------------------------------------------------- */

static const struct place {
    const char *agent, *project, *user; /* folders in the project, in $HOME */
} places[] = {
    {"agents", ".agents/skills", ".agents/skills"}, /* Codex, Copilot, Cursor, Gemini CLI and OpenCode read it too */
    {"claude", ".claude/skills", ".claude/skills"},   {"codex", ".agents/skills", ".agents/skills"},
    {"copilot", ".github/skills", ".copilot/skills"}, {"cursor", ".cursor/skills", ".cursor/skills"},
    {"gemini", ".gemini/skills", ".gemini/skills"},   {"opencode", ".opencode/skills", ".config/opencode/skills"},
};
enum { N_PLACES = sizeof places / sizeof *places, MOST = 64 };

typedef struct job {
    cli *c;
    char *dir[N_PLACES + 1];
    size_t n_dirs;
    const cli_skill *skill[MOST];
    size_t n_skills;
    bool force;
} job;

static hone_rc add_dir(job *j, const char *name, size_t n, hone_err *err) {
    const char *names[N_PLACES], *home = getenv("HOME");
    char *word = cli_format("%.*s", (int)n, name);
    size_t i = 0;
    while (i < N_PLACES && strcmp(names[i] = places[i].agent, word) != 0) i++;
    const char *near = i < N_PLACES ? NULL : cli_nearest(word, names, N_PLACES);
    bool user = cli_given(j->c, "user");
    hone_rc rc = HONE_OK;
    if (i == N_PLACES)
        rc = cli_fail(err, HONE_E_USAGE,
                      "--for knows no '%s'%s%s; it takes agents, claude, codex, copilot, cursor, "
                      "gemini, opencode; --dir names any folder",
                      word, near ? "; did you mean " : "", near ? near : "");
    else if (user && (!home || !*home))
        rc = cli_fail(err, HONE_E_USAGE, "--user needs the variable HOME; --dir names a folder");
    free(word);
    if (rc) return rc;
    char *dir = user ? cli_format("%s/%s", home, places[i].user) : cli_strdup(places[i].project);
    for (size_t k = 0; k < j->n_dirs; k++)
        if (strcmp(j->dir[k], dir) == 0) {
            free(dir);
            return HONE_OK;
        }
    j->dir[j->n_dirs++] = dir;
    return HONE_OK;
}

static hone_rc choose_dirs(job *j, hone_err *err) {
    const char *given = cli_text(j->c, "dir", NULL), *list = cli_text(j->c, "for", "agents,claude");
    hone_rc rc = HONE_OK;
    if (cli_given(j->c, "user") && cli_given(j->c, "project"))
        return cli_fail(err, HONE_E_USAGE, "choose one of --user and --project");
    if (given && (cli_given(j->c, "for") || cli_given(j->c, "user") || cli_given(j->c, "project")))
        return cli_fail(err, HONE_E_USAGE, "--dir names the folder; leave --for, --user and --project away");
    if (given) {
        j->dir[j->n_dirs++] = cli_strdup(given);
        return HONE_OK;
    }
    for (const char *p = list; !rc && *p; p += *p == ',') {
        size_t n = strcspn(p, ",");
        if (n) rc = add_dir(j, p, n, err);
        p += n;
    }
    return rc || j->n_dirs ? rc : cli_fail(err, HONE_E_USAGE, "--for needs the name of an agent");
}

static hone_rc find_skill(const char *name, const cli_skill **out, hone_err *err) {
    const char *names[MOST];
    size_t n = 0;
    for (; cli_skill_at(n); n++) {
        const cli_skill *s = cli_skill_at(n);
        names[n] = s->name + strlen("hone-");
        if (strcmp(s->name, name) == 0 || strcmp(s->name + strlen("hone-"), name) == 0) {
            *out = s;
            return HONE_OK;
        }
    }
    const char *near = cli_nearest(name, names, n);
    return cli_fail(err, HONE_E_NOTFOUND, "there is no skill '%s'%s%s; `hone skills list` has them", name,
                    near ? "; did you mean " : "", near ? near : "");
}

static hone_rc choose_skills(job *j, hone_err *err) {
    hone_rc rc = HONE_OK;
    for (size_t i = 1; !rc && i < j->c->n_args && j->n_skills < MOST; i++)
        rc = find_skill(j->c->arg[i], &j->skill[j->n_skills], err), j->n_skills++;
    for (size_t i = 0; j->c->n_args == 1 && cli_skill_at(i); i++) j->skill[j->n_skills++] = cli_skill_at(i);
    return rc;
}

/* --- whose file it is --------------------------------------------------------------------------------------------- */

static const char mark[] = "\n<!-- written by hone ";

/* FNV-1a, 64 bits. */
static unsigned long long hash(const char *text, size_t n) {
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)text[i]) * 1099511628211u;
    return h;
}

static char *marked(const char *text) {
    return cli_format("%s%s%s, `hone skills uninstall` removes it: %016llx -->\n", text, mark, hone_version(),
                      hash(text, strlen(text)));
}

typedef enum whose { ABSENT, OURS, CHANGED, FOREIGN } whose;

/* The last mark of the file counts. */
static const char *last_mark(const char *text) {
    const char *found = NULL;
    for (const char *p = text; (p = strstr(p, mark)); p++) found = p;
    return found;
}

static whose look(const char *path) {
    char *text = NULL;
    size_t n = 0, room = 0;
    struct stat st;
    if (lstat(path, &st)) return ABSENT;
    FILE *f = S_ISREG(st.st_mode) ? fopen(path, "r") : NULL;
    if (!f) return FOREIGN;
    for (int k; n < (1 << 20) && (k = getc(f)) != EOF;) {
        text = cli_grow(text, &room, n + 1, 1);
        text[n++] = (char)k;
        text[n] = 0;
    }
    fclose(f);
    const char *m = n ? last_mark(text) : NULL, *at = m ? strstr(m, "it: ") : NULL;
    bool same = at && strtoull(at + 4, NULL, 16) == hash(text, (size_t)(m - text)) && strcmp(at + 20, " -->\n") == 0;
    free(text);
    return same ? OURS : m ? CHANGED : FOREIGN;
}

static char *path_of(const job *j, size_t dir, size_t skill) {
    return cli_format("%s/%s/SKILL.md", j->dir[dir], j->skill[skill]->name);
}

/* --- install, uninstall ------------------------------------------------------------------------------------------- */

static hone_rc make_dirs(char *path, hone_err *err) {
    for (char *p = path + 1; *p; p++) {
        if (*p != '/') continue;
        *p = 0;
        bool bad = mkdir(path, 0777) && errno != EEXIST;
        int why = errno;
        if (bad) cli_fail(err, HONE_E_IO, "cannot make the folder '%s': %s", path, strerror(why));
        *p = '/';
        if (bad) return HONE_E_IO;
    }
    return HONE_OK;
}

/* Before anything is written, so that all or nothing is. */
static hone_rc check_install(const job *j, hone_err *err) {
    hone_rc rc = HONE_OK;
    for (size_t i = 0; !rc && i < j->n_dirs * j->n_skills; i++) {
        char *path = path_of(j, i / j->n_skills, i % j->n_skills);
        whose w = j->force ? OURS : look(path);
        if (w == CHANGED)
            rc = cli_fail(err, HONE_E_IO, "'%s' was changed since hone wrote it; --force replaces it", path);
        if (w == FOREIGN)
            rc = cli_fail(err, HONE_E_IO,
                          "'%s' exists and hone did not write it; --force replaces it, --dir installs "
                          "elsewhere",
                          path);
        free(path);
    }
    return rc;
}

static hone_rc install(const job *j, hone_err *err) {
    hone_rc rc = check_install(j, err);
    for (size_t i = 0; !rc && i < j->n_dirs * j->n_skills; i++) {
        char *path = path_of(j, i / j->n_skills, i % j->n_skills), *text = marked(j->skill[i % j->n_skills]->text);
        rc = make_dirs(path, err);
        if (!rc) rc = cli_write_text(path, text, err);
        free(path);
        free(text);
    }
    return rc;
}

static hone_rc check_uninstall(const job *j, hone_err *err) {
    hone_rc rc = HONE_OK;
    for (size_t i = 0; !rc && i < j->n_dirs * j->n_skills; i++) {
        char *path = path_of(j, i / j->n_skills, i % j->n_skills);
        whose w = look(path);
        if (w == CHANGED && !j->force)
            rc = cli_fail(err, HONE_E_IO, "'%s' was changed since hone wrote it; --force removes it", path);
        if (w == FOREIGN) rc = cli_fail(err, HONE_E_IO, "'%s' was not written by hone; remove it by hand", path);
        free(path);
    }
    return rc;
}

static hone_rc uninstall(const job *j, size_t *n, hone_err *err) {
    hone_rc rc = check_uninstall(j, err);
    for (size_t i = 0; !rc && i < j->n_dirs * j->n_skills; i++) {
        char *path = path_of(j, i / j->n_skills, i % j->n_skills);
        if (unlink(path) == 0)
            ++*n;
        else if (errno != ENOENT && errno != ENOTDIR)
            rc = cli_fail(err, HONE_E_IO, "cannot remove '%s': %s", path, strerror(errno));
        *strrchr(path, '/') = 0;
        rmdir(path); /* if nothing else is in it */
        free(path);
    }
    return rc;
}

/* --- the command -------------------------------------------------------------------------------------------------- */

static void put_paths(const job *j, const char *key, size_t n) {
    if (j->c->json) {
        cli_json out = cli_json_begin(j->c, false);
        cli_json_object(&out);
        cli_json_kcount(&out, key, n);
        cli_json_key(&out, "folders");
        cli_json_array(&out);
        for (size_t i = 0; i < j->n_dirs; i++) cli_json_text(&out, j->dir[i]);
        cli_json_end(&out);
        return;
    }
    for (size_t i = 0; i < j->n_dirs; i++) printf("%s\n", j->dir[i]);
    fprintf(stderr, "%s %zu file%s\n", key, n, n == 1 ? "" : "s");
}

static hone_rc change(cli *c, bool add, hone_err *err) {
    job j = {.c = c, .force = cli_given(c, "force")};
    size_t n = 0;
    hone_rc rc = choose_dirs(&j, err);
    if (!rc) rc = choose_skills(&j, err);
    if (!rc) rc = add ? install(&j, err) : uninstall(&j, &n, err);
    if (!rc) put_paths(&j, add ? "installed" : "removed", add ? j.n_dirs * j.n_skills : n);
    for (size_t i = 0; i < j.n_dirs; i++) free(j.dir[i]);
    return rc;
}

static hone_rc list(cli *c) {
    cli_table *t = c->json ? NULL : cli_table_new("lx");
    cli_json j = {0};
    if (c->json) j = cli_json_begin(c, false), cli_json_array(&j);
    for (size_t i = 0; cli_skill_at(i); i++) {
        char *about = cli_skill_description(cli_skill_at(i));
        if (c->json) {
            cli_json_object(&j);
            cli_json_ktext(&j, "name", cli_skill_at(i)->name);
            cli_json_ktext(&j, "description", about);
            cli_json_close(&j);
        } else {
            cli_table_cell(t, "%s", cli_skill_at(i)->name);
            cli_table_cell(t, "%s", about);
        }
        free(about);
    }
    if (c->json)
        cli_json_end(&j);
    else
        cli_table_print(c, t, stdout, cli_width(stdout));
    return HONE_OK;
}

static hone_rc show(cli *c, hone_err *err) {
    const cli_skill *s = NULL;
    if (c->n_args != 2) return cli_fail(err, HONE_E_USAGE, "'hone skills show' needs the name of one skill");
    hone_rc rc = find_skill(c->arg[1], &s, err);
    if (rc) return rc;
    if (!c->json) return fputs(s->text, stdout), HONE_OK;
    cli_json j = cli_json_begin(c, false);
    cli_json_object(&j);
    cli_json_ktext(&j, "name", s->name);
    cli_json_ktext(&j, "text", s->text);
    cli_json_end(&j);
    return HONE_OK;
}

static hone_rc run_skills(cli *c, hone_err *err) {
    static const char *const actions[] = {"install", "list", "show", "uninstall"};
    const char *what = c->n_args ? c->arg[0] : "list";
    if (strcmp(what, "install") == 0) return change(c, true, err);
    if (strcmp(what, "uninstall") == 0) return change(c, false, err);
    if (strcmp(what, "list") == 0) return list(c);
    if (strcmp(what, "show") == 0) return show(c, err);
    const char *near = cli_nearest(what, actions, sizeof actions / sizeof *actions);
    return cli_fail(err, HONE_E_USAGE, "'hone skills' takes install, list, show or uninstall, not '%s'%s%s", what,
                    near ? "; did you mean " : "", near ? near : "");
}

static const cli_option options[] = {
    {"for", 0, CLI_TEXT, "AGENT,...", 0, 0,
     "agents (.agents/skills, which most read), claude, codex, copilot, cursor, gemini, opencode (default "
     "agents,claude)"},
    {"project", 0, CLI_FLAG, NULL, 0, 0, "into the current folder (the default)"},
    {"user", 0, CLI_FLAG, NULL, 0, 0, "into the home folder, for all projects"},
    {"dir", 0, CLI_TEXT, "DIR", 0, 0, "into this folder of skills instead"},
    {"force", 0, CLI_FLAG, NULL, 0, 0, "replace files that hone did not write, or that were changed since"},
    {0},
};

const cli_command cli_cmd_skills = {
    "skills",
    "Other",
    "[install|list|show|uninstall] [NAME]...",
    "put skills that teach agents to use hone where agents look for them",
    "A skill is a folder with a file SKILL.md that an agent reads when its task fits: bootstrap, choose a workload, "
    "author an objective, run a search, prove, reduce, ship in CI, tune a model, debug by symptom. They are carried in "
    "hone. `install` writes them (all, or those named) into the folders of agents, `uninstall` removes them, `show` "
    "prints one.\n\n"
    "Files that hone did not write, or that were changed since, are left as they are, and nothing is written.",
    options,
    "hone skills\twhat there is\n"
    "hone skills install\tfor the project in this folder\n"
    "hone skills install --for cursor,gemini --user\tfor two agents, in all projects\n"
    "hone skills show prove\tone of them\n",
    0,
    -1,
    run_skills,
};
