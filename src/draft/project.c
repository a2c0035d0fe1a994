/* draft/project.c — which programs a project builds, and of what. See project.h. */
#include "draft/project.h"

#include "base/err.h"
#include "base/fs.h"
#include "draft/shell.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 32 };

static void take_commands(hn_arena *a, hn_project *p, const hn_simples *s) {
    for (size_t i = 0; i < s->n && hn_arena_ok(a); i++) {
        hn_line line;
        hn_line_read(a, s->command[i].dir, s->command[i].word, s->command[i].n, &line);
        if (line.makes == HN_LINE_OTHER) continue;
        hn_line *grown = hn_arena_grow(a, p->line, p->n, &p->room, sizeof *grown);
        if (!grown) return;
        p->line = grown;
        p->line[p->n++] = line;
    }
}

void hn_project_take(hn_arena *a, hn_project *p, const char *text, size_t n, const char *dir) {
    hn_simples s = {0};
    hn_shell_commands(a, text, n, dir, &s);
    take_commands(a, p, &s);
}

bool hn_project_take_calls(hn_arena *a, hn_project *p, const char *build) {
    char *cwd = realpath(".", NULL);
    hn_simples s = {0};
    *p = (hn_project){.kind = HN_PROJECT_CALLS, .dir = cwd ? hn_strdup(a, cwd) : NULL};
    free(cwd);
    if (!p->dir || strpbrk(build, "{}$`*?[]<>|()#~") || strstr(build, "&>")) return false;
    hn_shell_commands(a, build, strlen(build), p->dir, &s);
    for (size_t i = 0; i < s.n; i++)
        if (!hn_family_knows_command(s.command[i].word[0]) && strcmp(s.command[i].word[0], "ar") != 0) return false;
    take_commands(a, p, &s);
    return s.n && p->n == s.n && hn_arena_ok(a);
}

/* --- programs ----------------------------------------------------------------------------------------------------- */

static const char *base_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static const char *shown(const hn_project *p, const char *path) {
    size_t n = strlen(p->dir);
    return !strncmp(path, p->dir, n) && path[n] == '/' ? path + n + 1 : path;
}

/* A program that is linked again counts once, as its last link says. */
static bool is_program(const hn_project *p, size_t i) {
    if (p->line[i].makes != HN_LINE_PROGRAM) return false;
    for (size_t k = i + 1; k < p->n; k++)
        if (p->line[k].makes == HN_LINE_PROGRAM && !strcmp(p->line[k].output, p->line[i].output)) return false;
    return true;
}

static bool is_named(const char *output, const char *name) {
    size_t n = strlen(output), m = strlen(name);
    return n >= m && !strcmp(output + n - m, name) && (n == m || output[n - m - 1] == '/');
}

static void list_programs(const hn_project *p, hn_str *s) {
    for (size_t i = 0; i < p->n; i++)
        if (is_program(p, i)) hn_str_addf(s, "%s'%s'", s->n ? ", " : "", shown(p, p->line[i].output));
}

static hone_rc which_one(const hn_project *p, const char *name, size_t n, hone_err *err) {
    hn_str s = {0};
    list_programs(p, &s);
    const char *names = s.text ? s.text : "";
    hone_rc rc =
        !n ? hn_fail(err, HONE_E_INPUT,
                     "the build of '%s' links no program that could be understood (only calls "
                     "of C and C++ compilers are); give its command with --build",
                     p->dir)
        : name
            ? hn_fail(err, HONE_E_NOTFOUND, "the build of '%s' has no program '%s'; it has %.900s", p->dir, name, names)
            : hn_fail(err, HONE_E_USAGE,
                      "the build of '%s' has %zu programs: %.900s; name one with --program, or give its run with --run "
                      "\"COMMAND\"",
                      p->dir, n, names);
    hn_str_free(&s);
    return rc;
}

hone_rc hn_project_choose(hn_arena *a, const hn_project *p, const char *name, const char *run, const hn_line **out,
                          hone_err *err) {
    const hn_line *found = NULL;
    size_t n = 0;
    hn_simples s = {0};
    if (run && !name) hn_shell_commands(a, run, strlen(run), "/", &s);
    for (size_t i = 0; i < p->n; i++) {
        if (!is_program(p, i)) continue;
        const hn_line *l = &p->line[i];
        n++;
        if (name ? is_named(l->output, name) : !found && !run) found = l;
        for (size_t k = 0; !name && !found && k < s.n; k++)
            for (size_t w = 0; w < s.command[k].n; w++)
                if (!strcmp(base_of(s.command[k].word[w]), base_of(l->output))) found = l;
    }
    if (n == 1 && !name && !found)
        for (size_t i = 0; i < p->n; i++)
            if (is_program(p, i)) found = &p->line[i];
    if (!hn_arena_ok(a)) return hn_fail(err, HONE_E_NOMEM, "out of memory reading a project");
    if (!found || (n > 1 && !name && !run)) return which_one(p, name, n, err);
    *out = found;
    return HONE_OK;
}

/* --- flattening --------------------------------------------------------------------------------------------------- */

typedef struct flat {
    hn_arena *a;
    const hn_project *p;
    hn_made *made;
    hone_err *err;
} flat;

static void add_unit(flat *f, const char *source, const hn_line *line) {
    hn_made *m = f->made;
    for (size_t i = 0; i < m->n; i++)
        if (m->unit[i].line == line && !strcmp(m->unit[i].source, source)) return;
    hn_draft_unit *grown = hn_arena_grow(f->a, m->unit, m->n, &m->room, sizeof *grown);
    if (!grown) return;
    m->unit = grown;
    m->unit[m->n++] = (hn_draft_unit){source, line};
}

static void add_part(flat *f, const hn_line_part *part) {
    hn_made *m = f->made;
    const hn_line_part **grown = hn_arena_grow(f->a, m->part, m->n_parts, &m->parts_room, sizeof *grown);
    if (!grown) return;
    m->part = grown;
    m->part[m->n_parts++] = part;
}

/* The source in `l` that the object comes from; NULL: none. */
static const char *source_of(flat *f, const hn_line *l, const char *object) {
    for (size_t i = 0; i < l->n; i++) {
        const hn_line_part *part = &l->part[i];
        if (part->kind != HN_PART_INPUT || !hn_line_is_source(part->path)) continue;
        const char *made = l->output ? l->output : hn_line_object(f->a, l, part->path);
        if (made && !strcmp(made, object)) return part->path;
    }
    return NULL;
}

/* The last line that makes this file; an object's source in *source. */
static const hn_line *maker_of(flat *f, const char *path, const char **source) {
    *source = NULL;
    for (size_t i = f->p->n; i-- > 0;) {
        const hn_line *l = &f->p->line[i];
        if (l->makes == HN_LINE_OBJECT ? (*source = source_of(f, l, path)) != NULL : !strcmp(l->output, path)) return l;
    }
    return NULL;
}

/* What stands for libNAME in the project's own build; NULL: it is not made there. */
static const hn_line *library_of(flat *f, const hn_line *link, const char *name) {
    static const char *const endings[] = {"so", "a", "la"};
    for (size_t i = 0; i < link->n; i++)
        for (size_t k = 0; link->part[i].kind == HN_PART_LIBDIR && link->part[i].path && k < 3; k++) {
            const char *source, *path = hn_format(f->a, "%s/lib%s.%s", link->part[i].path, name, endings[k]);
            const hn_line *l = path ? maker_of(f, path, &source) : NULL;
            if (l) return l;
        }
    return NULL;
}

static hone_rc gather(flat *f, const hn_line *l, int depth);

/* libx.so.1.2 is made, libx.so is linked: a link between them that the build makes by other commands. */
static const hn_line *versioned(flat *f, const char *path) {
    size_t n = strlen(path);
    for (size_t i = 0; i < f->p->n; i++) {
        const hn_line *l = &f->p->line[i];
        if (l->makes == HN_LINE_SHARED && !strncmp(l->output, path, n) && l->output[n] == '.') return l;
    }
    return NULL;
}

/* An archive may be filled by several commands. */
static hone_rc gather_all(flat *f, const hn_line *maker, int depth) {
    if (maker->makes != HN_LINE_ARCHIVE) return gather(f, maker, depth);
    hone_rc rc = HONE_OK;
    for (size_t i = 0; !rc && i < f->p->n; i++) {
        const hn_line *l = &f->p->line[i];
        if (l->makes == HN_LINE_ARCHIVE && !strcmp(l->output, maker->output)) rc = gather(f, l, depth);
    }
    return rc;
}

static hone_rc take_input(flat *f, const hn_line *l, const hn_line_part *part, int depth) {
    const char *source;
    if (hn_line_is_source(part->path)) {
        add_unit(f, part->path, l);
        return HONE_OK;
    }
    const hn_line *maker = maker_of(f, part->path, &source);
    if (!maker && strstr(part->path, ".so")) maker = versioned(f, part->path);
    if (maker && source) {
        add_unit(f, source, maker);
        return HONE_OK;
    }
    if (maker) return gather_all(f, maker, depth + 1);
    if (!hn_exists(part->path))
        return hn_fail(f->err, HONE_E_INPUT,
                       "'%s', which '%s' is linked of, is made by a command that could not be understood; build the "
                       "project once, so that it is there, or give a command with --build",
                       shown(f->p, part->path), shown(f->p, l->output));
    add_part(f, part);
    return HONE_OK;
}

static hone_rc gather(flat *f, const hn_line *l, int depth) {
    if (depth == DEPTH_MAX) return HONE_OK;
    for (size_t i = 0; i < l->n; i++) {
        const hn_line_part *part = &l->part[i];
        hone_rc rc = HONE_OK;
        const hn_line *own = part->kind == HN_PART_LIBRARY ? library_of(f, l, part->name) : NULL;
        if (part->kind == HN_PART_INPUT)
            rc = take_input(f, l, part, depth);
        else if (own)
            rc = gather_all(f, own, depth + 1);
        else if (part->kind != HN_PART_COMPILE && part->kind != HN_PART_TUNE)
            add_part(f, part);
        if (rc) return rc;
    }
    return HONE_OK;
}

hone_rc hn_project_flatten(hn_arena *a, const hn_project *p, const hn_line *link, hn_made *out, hone_err *err) {
    flat f = {a, p, out, err};
    *out = (hn_made){.link = link};
    hone_rc rc = gather(&f, link, 0);
    if (rc) return rc;
    if (!hn_arena_ok(a)) return hn_fail(err, HONE_E_NOMEM, "out of memory reading a project");
    if (!out->n)
        return hn_fail(err, HONE_E_INPUT, "no source file of '%s' was found among the commands of its build",
                       shown(p, link->output));
    return HONE_OK;
}
