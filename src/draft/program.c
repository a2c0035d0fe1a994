/* draft/program.c — a program of gcc or clang as a build command of one or several lines.
 *
 * Units with the same words are compiled by one command; where all have the same, that command links, too. What hone
 * tunes leaves the words: of the largest group it is the baseline; other levels of optimisation are dropped, other
 * machine options stay with their files. */
#include "draft/draft_int.h"

#include "base/err.h"
#include "base/fs.h"
#include "proc/proc.h"

#include <stdlib.h>
#include <string.h>

const char *hn_draft_relative(hn_arena *a, const char *root, const char *path) {
    size_t n = strlen(root);
    if (!strcmp(path, root)) return ".";
    if (!strcmp(root, "/")) return hn_strdup(a, path + 1);
    return !strncmp(path, root, n) && path[n] == '/' ? hn_strdup(a, path + n + 1) : hn_strdup(a, path);
}

void hn_draft_add_source(hn_drafted *d, const char *path) {
    for (const char *at = d->sources.text; at && *at; at += strcspn(at, "\n"), at += *at == '\n')
        if (strcspn(at, "\n") == strlen(path) && !memcmp(at, path, strlen(path))) return;
    hn_str_addf(&d->sources, "%s%s", d->sources.n ? "\n" : "", path);
}

/* --- words -------------------------------------------------------------------------------------------------------- */

typedef struct work {
    hn_arena *a;
    const char *root;
    const hn_made *made;
    const hone_draft_options *o;
    hn_drafted *d;
    const hn_line *main_line; /* whose words that hone tunes are the baseline */
} work;

static void add_text(hn_str *s, const char *text) {
    if (s->n) hn_str_add(s, " ");
    hn_str_add(s, text);
}

/* One option as words of a template, or with absolute paths as words for sh. Folders of libraries are not linked into
 * the private folder, so they are named where they are. */
static void add_option(const work *w, hn_str *s, const hn_line_part *p, bool absolute) {
    hn_str word = {0};
    const char *lead = p->lead, *rest = p->path ? p->path : p->name ? p->name : "";
    if (p->kind == HN_PART_LIBRARY) rest = "";
    bool below = false;
    if (p->path && !absolute) {
        rest = hn_draft_relative(w->a, w->root, p->path);
        below = p->kind == HN_PART_LIBDIR && *rest != '/';
    }
    if (!absolute && below) {
        hn_str quoted = {0};
        hn_draft_add_word(&quoted, rest);
        add_text(s, lead);
        hn_str_addf(s, "%s{src}%s%s", p->apart ? " " : "", strcmp(rest, ".") ? "/" : "",
                    strcmp(rest, ".") && quoted.text ? quoted.text : "");
        s->failed |= quoted.failed;
        hn_str_free(&quoted);
        return;
    }
    void (*add)(hn_str *, const char *) = absolute ? hn_str_add_shell : hn_draft_add_word;
    hn_str_add(&word, lead);
    if (!p->apart) hn_str_add(&word, rest);
    if (s->n) hn_str_add(s, " ");
    add(s, word.text ? word.text : "");
    if (p->apart) hn_str_add(s, " "), add(s, rest);
    s->failed |= word.failed;
    hn_str_free(&word);
}

static bool tunes(const hn_line *l, const char *word) {
    for (size_t i = 0; i < l->n; i++)
        if (l->part[i].kind == HN_PART_TUNE && !strcmp(l->part[i].lead, word)) return true;
    return false;
}

/* The words that compile a unit, besides its file. */
static const char *unit_words(const work *w, const hn_draft_unit *u, bool absolute) {
    hn_str s = {0};
    for (size_t i = 0; i < u->line->n; i++) {
        const hn_line_part *p = &u->line->part[i];
        bool own = p->kind == HN_PART_TUNE && !absolute && w->main_line && !tunes(w->main_line, p->lead) &&
                   !hn_starts_with(p->lead, u->line->family->level);
        if (p->kind == HN_PART_BOTH || p->kind == HN_PART_COMPILE || own || (absolute && p->kind == HN_PART_TUNE))
            add_option(w, &s, p, absolute);
    }
    const char *text = hn_strdup(w->a, s.text ? s.text : "");
    w->a->failed |= s.failed;
    hn_str_free(&s);
    return text ? text : "";
}

/* --- groups ------------------------------------------------------------------------------------------------------- */

typedef struct group {
    const char *words, *language;
    const char *asked; /* words with absolute paths, for the compiler's own answer */
    const char *dir, *compiler;
    size_t *unit;
    size_t n;
} group;

static bool same_text(const char *x, const char *y) { return x == y || (x && y && !strcmp(x, y)); }

static size_t make_groups(const work *w, group *g) {
    size_t n = 0;
    for (size_t i = 0; i < w->made->n; i++) {
        const hn_draft_unit *u = &w->made->unit[i];
        const char *words = unit_words(w, u, false), *language = hn_line_language(w->made->link->compiler, u->source);
        size_t k = 0;
        while (k < n && !(same_text(g[k].words, words) && same_text(g[k].language, language))) k++;
        if (k == n)
            g[n++] = (group){words,
                             language,
                             unit_words(w, u, true),
                             u->line->dir,
                             u->line->compiler,
                             HN_NEW_N(w->a, size_t, w->made->n),
                             0};
        if (g[k].unit) g[k].unit[g[k].n++] = i;
    }
    return n;
}

/* The line that most units share the tuned words of. */
static const hn_line *commonest(const work *w) {
    const hn_line *best = NULL;
    size_t most = 0;
    for (size_t i = 0; i < w->made->n; i++) {
        size_t n = 0;
        const hn_line *l = w->made->unit[i].line;
        for (size_t k = 0; k < w->made->n; k++) {
            const hn_line *other = w->made->unit[k].line;
            bool same = true;
            for (size_t j = 0; j < l->n; j++) same &= l->part[j].kind != HN_PART_TUNE || tunes(other, l->part[j].lead);
            n += same;
        }
        if (n > most) most = n, best = l;
        if (most == w->made->n) break;
    }
    return best;
}

/* --- what it reads ------------------------------------------------------------------------------------------------ */

/* The next word of rules of make, where "\\ " is a blank of a file's name and "$$" a dollar; NULL: none. */
static const char *rule_word(hn_arena *a, const char **at) {
    const char *p = *at;
    hn_str s = {0};
    while (*p && (strchr(" \t\r\n", *p) || (*p == '\\' && p[1] && strchr("\r\n", p[1])))) p++;
    for (; *p && !strchr(" \t\r\n", *p); p++) {
        if ((*p == '\\' && p[1] && strchr(" #", p[1])) || (*p == '$' && p[1] == '$')) p++;
        hn_str_add_n(&s, p, 1);
    }
    *at = p;
    const char *word = s.n ? hn_strdup(a, s.text) : NULL;
    a->failed |= s.failed;
    hn_str_free(&s);
    return word;
}

static void take_rules(const work *w, const char *dir, const char *text) {
    for (const char *word; (word = rule_word(w->a, &text));) {
        if (word[strlen(word) - 1] == ':') continue;
        const char *path = hn_line_path(w->a, dir, word);
        if (hn_exists(path)) hn_draft_add_source(w->d, hn_draft_relative(w->a, w->root, path));
    }
}

static hone_rc ask_group(const work *w, const group *g, hone_err *err) {
    enum { ASK_S = 120, RULES_B = 16 << 20 };
    hn_str s = {0};
    hn_proc_result r;
    hn_str_addf(&s, "%s %s %s", g->compiler, g->asked, w->d->family->reads);
    for (size_t i = 0; i < g->n; i++) {
        hn_str_add(&s, " ");
        hn_str_add_shell(&s, w->made->unit[g->unit[i]].source);
    }
    hn_proc_spec spec = {
        .shell = s.text, .cwd = g->dir, .cpu = -1, .wall_s = ASK_S, .out_b = RULES_B, .keep_b = RULES_B};
    hone_rc rc = s.failed ? hn_fail(err, HONE_E_NOMEM, "out of memory") : hn_proc_run(&spec, w->o->stop, &r, err);
    if (!rc && r.end == HN_PROC_EXITED && r.code == 0)
        take_rules(w, g->dir, r.out ? r.out : "");
    else if (!rc)
        rc = hn_fail(
            err, HONE_E_BASELINE,
            "the compiler, asked which files it reads, says: %.1500s; what the build makes must be there: build "
            "the project once, then draft again",
            r.err_tail);
    if (s.text && rc != HONE_E_NOMEM) hn_proc_result_free(&r);
    hn_str_free(&s);
    return rc;
}

static hone_rc list_sources(const work *w, const group *g, size_t n, hone_err *err) {
    for (size_t i = 0; i < w->made->n; i++) {
        const char *path = w->made->unit[i].source;
        if (!hn_exists(path) && !w->o->no_try)
            return hn_fail(err, HONE_E_BASELINE,
                           "'%s' is not there: the build makes it; build the project once, then draft again", path);
        hn_draft_add_source(w->d, hn_draft_relative(w->a, w->root, path));
    }
    for (size_t i = 0; i < w->made->n_parts; i++) {
        const hn_line_part *p = w->made->part[i];
        if (p->path && p->kind != HN_PART_LIBDIR && hn_exists(p->path) && !hn_is_folder(p->path))
            hn_draft_add_source(w->d, hn_draft_relative(w->a, w->root, p->path));
    }
    for (size_t i = 0; i < n; i++) {
        hone_rc rc = ask_group(w, &g[i], err);
        if (rc && !(w->o->no_try && rc == HONE_E_BASELINE)) return rc;
    }
    return HONE_OK;
}

/* --- the command -------------------------------------------------------------------------------------------------- */

static const char *base_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void add_units(const work *w, const group *g, hn_str *s) {
    if (g->language) add_text(s, g->language);
    for (size_t i = 0; i < g->n; i++) {
        hn_str_add(s, " ");
        hn_draft_add_word(s, hn_draft_relative(w->a, w->root, w->made->unit[g->unit[i]].source));
    }
    if (g->language) add_text(s, hn_line_no_language());
}

/* What the link needs; words that stand in `there` already are left out. */
static void add_link(const work *w, const char *there, hn_str *s) {
    for (size_t i = 0; i < w->made->n_parts; i++) {
        hn_str one = {0};
        add_option(w, &one, w->made->part[i], false);
        bool twice = w->made->part[i]->kind == HN_PART_BOTH && there && one.text && strstr(there, one.text);
        if (one.text && !twice) add_text(s, one.text);
        s->failed |= one.failed;
        hn_str_free(&one);
    }
}

/* A file's name without its folder and its last ending. */
static size_t stem_of(const char *path, const char **stem) {
    *stem = base_of(path);
    const char *dot = strrchr(*stem, '.');
    return dot ? (size_t)(dot - *stem) : strlen(*stem);
}

/* Has no other unit the same stem? Then its object may have the name that the compiler gives it. */
static bool is_alone(const work *w, size_t unit) {
    const char *stem, *other;
    size_t n = stem_of(w->made->unit[unit].source, &stem);
    for (size_t i = 0; i < w->made->n; i++)
        if (i != unit && stem_of(w->made->unit[i].source, &other) == n && !memcmp(stem, other, n)) return false;
    return true;
}

static void add_object(const work *w, size_t unit, hn_str *s) {
    const char *stem;
    size_t n = stem_of(w->made->unit[unit].source, &stem);
    hn_str name = {0};
    if (!is_alone(w, unit)) hn_str_addf(&name, "hone-%zu-", unit + 1);
    hn_str_addf(&name, "%.*s.o", (int)n, stem);
    hn_draft_add_word(s, name.text ? name.text : "");
    s->failed |= name.failed;
    hn_str_free(&name);
}

#define START "{cc} {flags} {defines}"

static void begin_compiling(const group *g, hn_str *s) {
    hn_str_add(s, START);
    if (*g->words) add_text(s, g->words);
    if (g->language) add_text(s, g->language);
    hn_str_add(s, " -c");
}

/* One command for all units whose objects can have their usual names, one for each other. */
static void compile_group(const work *w, const group *g, hn_str *s) {
    size_t n = 0;
    for (size_t k = 0; k < g->n; k++) {
        if (!is_alone(w, g->unit[k])) continue;
        if (!n++) begin_compiling(g, s);
        hn_str_add(s, " ");
        hn_draft_add_word(s, hn_draft_relative(w->a, w->root, w->made->unit[g->unit[k]].source));
    }
    if (n) hn_str_add(s, " &&\n");
    for (size_t k = 0; k < g->n; k++) {
        if (is_alone(w, g->unit[k])) continue;
        begin_compiling(g, s);
        hn_str_add(s, " ");
        hn_draft_add_word(s, hn_draft_relative(w->a, w->root, w->made->unit[g->unit[k]].source));
        hn_str_add(s, " -o ");
        add_object(w, g->unit[k], s);
        hn_str_add(s, " &&\n");
    }
}

static void write_build(const work *w, const group *g, size_t n) {
    hn_str *s = &w->d->build;
    if (n == 1) {
        hn_str_add(s, START);
        if (*g->words) add_text(s, g->words);
        add_units(w, g, s);
        add_link(w, g->words, s);
        add_text(s, "-o {out}");
        return;
    }
    for (size_t i = 0; i < n; i++) compile_group(w, &g[i], s);
    hn_str_add(s, START);
    for (size_t i = 0; i < w->made->n; i++) {
        hn_str_add(s, " ");
        add_object(w, i, s);
    }
    add_link(w, NULL, s);
    hn_str_add(s, " -o {out}");
}

static void note_origin(const work *w, const hn_project *p) {
    static const char *const how[] = {[HN_PROJECT_MAKE] = "what `make -n -B` prints",
                                      [HN_PROJECT_COMPILE_DB] = "compile_commands.json and link.txt",
                                      [HN_PROJECT_NINJA] = "what `ninja -t commands` prints",
                                      [HN_PROJECT_CARGO] = "`cargo metadata`",
                                      [HN_PROJECT_CALLS] = NULL};
    if (!how[p->kind]) return;
    hn_str_addf(
        &w->d->note,
        "# Drafted from %s in %s: all files of the program in one build, those\n# that are archived or made into "
        "libraries on the way, too. Warnings are no errors here.\n",
        how[p->kind], hn_draft_relative(w->a, w->root, p->dir));
}

hone_rc hn_draft_program(hn_arena *a, const hn_project *p, const hn_made *made, const char *root,
                         const hone_draft_options *o, hn_drafted *out, hone_err *err) {
    work w = {a, root, made, o, out, NULL};
    out->family = made->link->family;
    out->linked = true;
    out->compiler = hn_line_command(a, made->link->compiler);
    out->program = hn_strdup(a, base_of(made->link->output));
    w.main_line = commonest(&w);
    group *g = HN_NEW_N(a, group, made->n + 1);
    if (!g) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    size_t n = make_groups(&w, g);
    for (size_t i = 0; w.main_line && i < w.main_line->n; i++)
        if (w.main_line->part[i].kind == HN_PART_TUNE) add_text(&out->baseline, w.main_line->part[i].lead);
    note_origin(&w, p);
    hone_rc rc = hn_arena_ok(a) ? list_sources(&w, g, n, err) : HONE_OK;
    if (!rc) write_build(&w, g, n);
    if (!rc && o->run) hn_draft_run(a, root, out->program, o->run, out, true);
    if (!rc && !hn_arena_ok(a)) rc = hn_fail(err, HONE_E_NOMEM, "out of memory drafting a workload");
    return rc;
}
