/* tune/cut_build.c — see cut_build.h. */
#include "tune/cut_build.h"

#include "base/fs.h"
#include "base/hash.h"
#include "base/keep.h"
#include "tune/build.h"
#include "tune/cut_command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FOLDER HN_CUT_BUILD_FOLDER

typedef enum step { STEP_WAITS, STEP_IS_READ, STEP_WAS_READ, STEP_COMPILES, STEP_THERE } step;

typedef struct piece {
    step step;
    char key[33];        /* of its object; "": it is not kept */
    const char *name;    /* of the object, in the private folder */
    const char *text;    /* of what the preprocessor leaves */
    const char *known;   /* where the object is kept */
    const char *bitcode; /* where what stands in front of the passes is kept; NULL: it is not */
    bool has_bitcode;    /* it was taken from there */
} piece;

struct hn_cut_build {
    hn_arena arena;
    const hn_recipe *r;
    const hn_family *family;
    const char *dir, *store, *cache; /* cache: NULL where there is none */
    hn_cut cut;
    piece *piece;
    bool links, linked;
    size_t n_compiled, n_known;
};

/* --- cutting ------------------------------------------------------------------------------------------------------ */

static bool name_pieces(hn_cut_build *p) {
    p->piece = HN_NEW_N(&p->arena, piece, p->cut.n);
    for (size_t i = 0; p->piece && i < p->cut.n; i++) {
        p->piece[i] = (piece){.name = hn_format(&p->arena, HN_CUT_BUILD_OBJECT, i),
                              .text = hn_format(&p->arena, FOLDER "/%zu.i", i)};
    }
    char *folder = hn_path_join(p->dir, FOLDER);
    bool made = folder && !hn_make_dirs(folder, NULL) && (!p->store || !hn_make_dirs(p->store, NULL));
    free(folder);
    return made && hn_arena_ok(&p->arena);
}

/* The recipe's command. */
static bool cut_of(const hn_recipe *r, const char *shell, hn_arena *a, hn_cut *out) {
    const hn_family *family = r->target ? hn_target_family(r->target) : NULL;
    return hn_cut_command(family, r->cc, shell, r->pgo, a, out);
}

/* One file gains nothing by being cut, unless opt stands between. */
static bool is_cut(const hn_recipe *r, const char *shell, hn_arena *a, hn_cut *out) {
    return cut_of(r, shell, a, out) && out->n >= (r->opt ? 1 : 2);
}

const char *hn_cut_build_stages(const hn_recipe *r, const char *shell, hn_arena *a) {
    hn_cut cut;
    for (size_t i = 0; i < r->n_flags; i++) {
        const char *why = hn_opt_declines(a, r->flag + i, 1);
        if (why) return why;
    }
    if (r->pgo) return "edited passes are run by opt, which cannot serve a profile-guided build";
    if (!cut_of(r, shell, a, &cut))
        return "edited passes need a build command that is calls of the compiler alone, which compile C or C++ files "
               "and link them";
    return hn_cut_stages(&cut, a);
}

bool hn_cut_build_sources(const hn_recipe *r, const char *shell, hn_arena *a, const char *const **source, size_t *n) {
    hn_cut cut;
    if (!cut_of(r, shell, a, &cut) || cut.n < 2) return false;
    *source = cut.source;
    *n = cut.n;
    return true;
}

hn_cut_build *hn_cut_build_of(const hn_recipe *r, const char *shell, const char *dir, const char *store,
                              const char *cache) {
    const hn_family *family = r->target ? hn_target_family(r->target) : NULL;
    if (!family || !family->cut || (r->pgo && store)) return NULL;
    hn_cut_build *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->r = r;
    p->family = family;
    p->dir = hn_strdup(&p->arena, dir);
    p->store = store ? hn_strdup(&p->arena, store) : NULL;
    p->cache = cache ? hn_strdup(&p->arena, cache) : NULL;
    bool cut = is_cut(r, shell, &p->arena, &p->cut);
    if (cut && r->opt) cut = !hn_cut_build_stages(r, shell, &p->arena);
    if (cut && p->cut.n <= HN_CUT_BUILD_MOST && name_pieces(p)) return p;
    hn_cut_build_free(p);
    return NULL;
}

void hn_cut_build_free(hn_cut_build *p) {
    if (!p) return;
    hn_arena_free(&p->arena);
    free(p);
}

size_t hn_cut_build_n(const hn_cut_build *p) { return p->cut.n + 1; }

/* --- commands ----------------------------------------------------------------------------------------------------- */

static void add(hn_str *s, const char *word) {
    hn_str_add(s, s->n ? " " : "");
    hn_str_add_shell(s, word);
}

/* What a file has of its own; NULL: nothing. */
static const hn_file_flags *own_flags(const hn_cut_build *p, size_t i) {
    for (size_t k = 0; k < p->r->n_files; k++)
        if (!strcmp(p->r->file[k].name, p->cut.source[i])) return &p->r->file[k];
    return NULL;
}

/* Through opt; assembly has no passes. */
static bool in_stages(const hn_cut_build *p, size_t i, const char *only, const char *output, hn_str *s) {
    const hn_file_flags *own = own_flags(p, i);
    hn_arena a = {0};
    if (!p->r->opt || strcmp(only, p->family->compile_only) != 0 || hn_matches("*.S", p->cut.source[i])) return false;
    const hn_cut_words *w = p->cut.with[i];
    const char **word = HN_NEW_N(&a, const char *, w->n + (own ? own->n_flags : 0) + 1);
    hn_opt_call call = {.cc = p->r->cc, .word = word, .source = p->cut.source[i], .output = output};
    call.has_bitcode = p->piece[i].has_bitcode;
    call.keeps_bitcode = p->piece[i].bitcode != NULL;
    for (size_t k = 0; word && k < w->n; k++) word[call.n++] = w->word[k];
    for (size_t k = 0; word && own && k < own->n_flags; k++) word[call.n++] = own->flag[k];
    s->failed |= !word;
    if (word) hn_opt_compile(s, p->r->opt, &call, p->r->pipeline);
    hn_arena_free(&a);
    return true;
}

static void one_file(const hn_cut_build *p, size_t i, const char *only, const char *output, hn_str *s) {
    const hn_file_flags *own = own_flags(p, i);
    if (in_stages(p, i, only, output, s)) return;
    add(s, p->r->cc);
    for (size_t k = 0; k < p->cut.with[i]->n; k++) add(s, p->cut.with[i]->word[k]);
    for (size_t k = 0; own && k < own->n_flags; k++) add(s, own->flag[k]);
    add(s, only);
    add(s, p->cut.source[i]);
    add(s, "-o");
    add(s, output);
}

static void the_link(const hn_cut_build *p, hn_str *s) {
    size_t i = 0;
    add(s, p->r->cc);
    for (size_t k = 0; k < p->cut.n_link; k++) add(s, p->cut.link[k] ? p->cut.link[k] : p->piece[i++].name);
}

/* The name of the source with the ending of objects; with its place in front where an earlier file has that name. */
static const char *object_name(hn_arena *a, const hn_cut *cut, size_t i) {
    const char *slash = strrchr(cut->source[i], '/'), *base = slash ? slash + 1 : cut->source[i];
    int n = (int)(strrchr(base, '.') - base);
    bool taken = false;
    for (size_t k = 0; k < i; k++) {
        const char *other = strrchr(cut->source[k], '/');
        taken |= !strcmp(other ? other + 1 : cut->source[k], base);
    }
    return taken ? hn_format(a, "%zu-%.*s.o", i, n, base) : hn_format(a, "%.*s.o", n, base);
}

bool hn_cut_build_commands(const hn_recipe *r, const char *shell, hn_str *out) {
    hn_cut_build p = {.r = r, .family = r->target ? hn_target_family(r->target) : NULL};
    bool cut = is_cut(r, shell, &p.arena, &p.cut);
    if (cut) p.piece = HN_NEW_N(&p.arena, piece, p.cut.n);
    for (size_t i = 0; cut && p.piece && i <= p.cut.n; i++) {
        hn_str one = {0};
        if (i < p.cut.n) p.piece[i].name = object_name(&p.arena, &p.cut, i);
        if (i == p.cut.n)
            the_link(&p, &one);
        else if (p.piece[i].name)
            one_file(&p, i, p.family->compile_only, p.piece[i].name, &one);
        hn_str_addf(out, "%s%s", i ? " && " : "", one.text ? one.text : "");
        out->failed |= one.failed;
        hn_str_free(&one);
    }
    cut = cut && hn_arena_ok(&p.arena);
    hn_arena_free(&p.arena);
    return cut;
}

static bool all_there(const hn_cut_build *p) {
    for (size_t i = 0; i < p->cut.n; i++)
        if (p->piece[i].step != STEP_THERE) return false;
    return true;
}

bool hn_cut_build_next(hn_cut_build *p, size_t *i, hn_str *shell) {
    for (size_t k = 0; k < p->cut.n; k++) {
        piece *x = &p->piece[k];
        if (x->step != STEP_WAITS && x->step != STEP_WAS_READ) continue;
        bool read = x->step == STEP_WAITS && p->store;
        x->step = read ? STEP_IS_READ : STEP_COMPILES;
        one_file(p, k, read ? p->family->preprocess_only : p->family->compile_only, read ? x->text : x->name, shell);
        *i = k;
        return true;
    }
    if (p->links || !all_there(p)) return false;
    p->links = true;
    the_link(p, shell);
    *i = p->cut.n;
    return true;
}

/* --- objects ------------------------------------------------------------------------------------------------------ */

static const char front_of_passes[] = "bitcode 1";

/* Text that names further files, or is no text, is not all that the object depends on. */
static bool says_all(const char *text, size_t n) {
    static const char *const other[] = {".incbin", "pch_preprocess", "#embed"};
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (memmem(text, n, other[i], strlen(other[i]))) return false;
    return true;
}

/* Of what a file becomes: its object, or, in front of the passes, its bitcode. */
static void make_hash(const hn_cut_build *p, size_t i, const char *what, const char *text, size_t n, char hex[33]) {
    const bool passes = p->r->opt && strcmp(what, front_of_passes) != 0;
    const hn_cut_words *with = p->cut.with[i];
    hn_hash h;
    hn_hash_begin(&h);
    hn_hash_text(&h, what);
    hn_hash_text(&h, hone_target_fingerprint(p->r->target)->hash);
    hn_hash_text(&h, hone_target_fingerprint(p->r->target)->march); /* what "native" means */
    hn_hash_text(&h, p->r->cc);
    hn_hash_text(&h, p->cut.source[i]);
    for (size_t k = 0; k < with->n; k++)
        if (!with->is_read[k]) hn_hash_text(&h, with->word[k]);
    const hn_file_flags *own = own_flags(p, i);
    for (size_t k = 0; own && k < own->n_flags; k++) hn_hash_text(&h, own->flag[k]);
    if (passes) hn_hash_text(&h, p->r->opt->hash);
    if (passes) hn_hash_text(&h, p->r->pipeline);
    hn_hash_add(&h, text, n);
    hn_hash_end(&h, hex);
}

static void make_key(hn_cut_build *p, size_t i, const char *text, size_t n) {
    piece *x = &p->piece[i];
    char hex[33];
    make_hash(p, i, "object 2", text, n, x->key);
    x->known = hn_format(&p->arena, "%s/%s.o", p->store, x->key);
    if (!x->known) x->key[0] = 0;
    if (!p->r->opt || hn_matches("*.S", p->cut.source[i])) return;
    make_hash(p, i, front_of_passes, text, n, hex);
    x->bitcode = hn_format(&p->arena, "%s/%s.bc", p->store, hex);
}

static const uint64_t cache_most_b = 256 << 20;

/* From those of the run, else from the cache, from which it then comes into the run's. */
static bool take_known(const hn_cut_build *p, const piece *x, const char *object) {
    if (!*x->key) return false;
    if (link(x->known, object) == 0) return true;
    if (!p->cache || !hn_keep_take(p->cache, x->key, object)) return false;
    return link(object, x->known) == 0 || errno == EEXIST;
}

/* The cache is trimmed now and then: looking through it takes its time. */
static void keep_known(const hn_cut_build *p, const piece *x, const char *object) {
    if (!p->cache) return;
    hn_keep_put(p->cache, x->key, object, cache_most_b / 16);
    if (x->key[0] == '0' && x->key[1] < '8') hn_keep_trim(p->cache, cache_most_b);
}

/* Bitcode goes from the run's folder into the build's, or back; in the build's it is left no longer than needed. */
static void take_bitcode(hn_cut_build *p, piece *x) {
    char *path = x->bitcode ? hn_path_join(p->dir, hn_format(&p->arena, "%s.bc", x->name)) : NULL;
    x->has_bitcode = path && link(x->bitcode, path) == 0;
    free(path);
}

static void keep_bitcode(hn_cut_build *p, const piece *x) {
    char *path = x->bitcode ? hn_path_join(p->dir, hn_format(&p->arena, "%s.bc", x->name)) : NULL;
    if (path && !x->has_bitcode) (void)!link(path, x->bitcode);
    if (path) unlink(path);
    free(path);
}

static bool was_read(hn_cut_build *p, size_t i) {
    piece *x = &p->piece[i];
    char *path = hn_path_join(p->dir, x->text), *object = hn_path_join(p->dir, x->name), *text = NULL;
    size_t n;
    bool there = path && object && !hn_read_file(path, &text, &n, NULL);
    x->step = STEP_WAS_READ;
    if (there && says_all(text, n)) make_key(p, i, text, n);
    if (there) unlink(path);
    if (there && take_known(p, x, object)) {
        x->step = STEP_THERE;
        p->n_known++;
    } else if (there) {
        take_bitcode(p, x);
    }
    free(text);
    free(path);
    free(object);
    return there;
}

static bool was_compiled(hn_cut_build *p, size_t i) {
    piece *x = &p->piece[i];
    char *object = hn_path_join(p->dir, x->name);
    bool there = object && hn_exists(object);
    x->step = STEP_THERE;
    p->n_compiled += there;
    keep_bitcode(p, x);
    if (there && *x->key) keep_known(p, x, object);
    if (there && *x->key && link(object, x->known) != 0 && errno != EEXIST)
        x->key[0] = 0; /* it is compiled again then */
    free(object);
    return there;
}

const char *hn_cut_build_where(const hn_cut_build *p, size_t i, hn_arena *a) {
    if (i >= p->cut.n || !p->r->opt || p->piece[i].step != STEP_COMPILES) return NULL;
    return hn_format(a, "'%s' (%s)", p->cut.source[i], hn_opt_stage(p->dir, p->piece[i].name));
}

bool hn_cut_build_ended(hn_cut_build *p, size_t i, bool well) {
    if (!well) {
        if (i < p->cut.n && p->piece[i].step == STEP_COMPILES) keep_bitcode(p, &p->piece[i]); /* other passes may do */
        return false;
    }
    if (i == p->cut.n) return p->linked = true;
    return p->piece[i].step == STEP_IS_READ ? was_read(p, i) : was_compiled(p, i);
}

bool hn_cut_build_over(const hn_cut_build *p) { return p->linked; }

void hn_cut_build_counts(const hn_cut_build *p, size_t *n_compiled, size_t *n_known) {
    *n_compiled = p->n_compiled;
    *n_known = p->n_known;
}
