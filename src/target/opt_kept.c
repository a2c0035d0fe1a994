/* target/opt_kept.c — which opt serves a compiler, and its pipeline, remembered: asking starts both of them four times,
 * which each call of `hone cc` would wait for.
 *
 * CACHE/opt-HASH.tsv, HASH of the compiler's resolved path: "hone-opt 1 \t version \t command \t path \t hash", the
 * pipeline, then a line for each file that the answer follows from, in the form of hn_file_state: the compiler, what
 * was looked at up to the opt that was taken, LLVM's libraries. Nothing is kept where one of the programs is a script,
 * since what it starts may change while it stays the same. */
#include "base/err.h"
#include "base/fs.h"
#include "base/hash.h"
#include "target/llvm.h"
#include "target/opt.h"
#include "target/target_int.h"

#include <stdlib.h>
#include <string.h>

static const char mark[] = "hone-opt 1";

/* For writing, its folder is made. */
static char *kept_file(hn_arena *a, const char *compiler_path, bool writes) {
    char *dir = hn_cache_dir(), *file = NULL, hex[33];
    hn_hash h;
    hn_hash_begin(&h);
    hn_hash_text(&h, compiler_path);
    hn_hash_end(&h, hex);
    const char *name = hn_format(a, "opt-%s.tsv", hex);
    if (dir && name && (!writes || !hn_make_dirs(dir, NULL))) file = hn_path_join(dir, name);
    free(dir);
    return file;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

static bool add_libraries(hn_str *s, const char *program) {
    char *lines, *at, *line;
    if (hn_llvm_libraries(program, &lines, NULL)) return false;
    bool fine = true;
    for (at = lines; fine && (line = hn_next_line(&at));) {
        char *real = realpath(line, NULL);
        if (real) fine = hn_state_add(s, real);
        free(real);
    }
    free(lines);
    return fine;
}

static bool add_program(hn_str *s, const char *path) {
    return hn_is_elf(path) && !strpbrk(path, "\t\n") && hn_state_add(s, path);
}

/* What was looked at before opt was found, and opt. */
static bool add_candidates(hn_str *s, hn_arena *a, const char *compiler_path, const hn_opt *opt) {
    bool fine = true, found = false;
    for (int i = 0; fine && !found && i < HN_OPT_CANDIDATES; i++) {
        const char *name = hn_opt_candidate(a, compiler_path, opt->version, i);
        char *path = name ? hn_which(name) : NULL;
        if (path) fine = add_program(s, path);
        found = path && !strcmp(path, opt->path);
        free(path);
    }
    return fine && found;
}

/* Failing to store it costs only time. */
void hn_opt_remember(hn_arena *a, const char *compiler_path, const hn_opt *opt) {
    char *file = kept_file(a, compiler_path, true);
    hn_str s = {0};
    hn_str_addf(&s, "%s\t%s\t%s\t%s\t%s\n%s\n", mark, opt->version, opt->command, opt->path, opt->hash, opt->text);
    bool fine = file && !strpbrk(opt->command, "\t\n") && add_program(&s, compiler_path) &&
                add_candidates(&s, a, compiler_path, opt) && add_libraries(&s, compiler_path) &&
                add_libraries(&s, opt->path);
    if (fine && !s.failed) (void)hn_write_file(file, s.text, s.n, NULL);
    hn_str_free(&s);
    free(file);
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

enum { FIELDS = 5 };

static bool read_head(hn_arena *a, char *line, hn_opt *out) {
    const char *field[FIELDS];
    for (int i = 0; i < FIELDS; i++) {
        char *tab = strchr(line, '\t');
        if (!tab != (i == FIELDS - 1)) return false;
        if (tab) *tab = 0;
        field[i] = hn_strdup(a, line);
        if (!field[i]) return false;
        if (tab) line = tab + 1;
    }
    *out = (hn_opt){.version = field[1], .command = field[2], .path = field[3], .hash = field[4]};
    return !strcmp(field[0], mark) && strlen(out->hash) == 32;
}

/* Is there a line for this file? */
static bool lists(const char *states, const char *path) {
    size_t n = strlen(path);
    for (const char *line = states; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (!strncmp(line, path, n) && line[n] == '\t') return true;
    return false;
}

/* Would the search end at the same file? What it would pass over was looked at then. */
static bool same_choice(hn_arena *a, const char *compiler_path, const hn_opt *opt, const char *states) {
    bool known = true, here = false;
    for (int i = 0; known && !here && i < HN_OPT_CANDIDATES; i++) {
        const char *name = hn_opt_candidate(a, compiler_path, opt->version, i);
        char *path = name ? hn_which(name) : NULL;
        here = path && !strcmp(path, opt->path);
        known = !path || lists(states, path);
        free(path);
    }
    return known && here;
}

static bool all_hold(char *states, const char *compiler_path) {
    if (!lists(states, compiler_path)) return false;
    for (char *at = states, *line; (line = hn_next_line(&at));)
        if (!hn_state_holds(line)) return false;
    return true;
}

static bool read_all(hn_arena *a, const char *compiler_path, char *text, hn_opt *out) {
    char *at = text, *head = hn_next_line(&at), *pipeline = head ? hn_next_line(&at) : NULL;
    return pipeline && read_head(a, head, out) && same_choice(a, compiler_path, out, at) &&
           all_hold(at, compiler_path) && hn_opt_take(a, out, hn_strdup(a, pipeline));
}

bool hn_opt_recall(hn_arena *a, const char *compiler_path, hn_opt *out) {
    char *file = kept_file(a, compiler_path, false), *text = NULL;
    size_t n;
    hn_opt found = {0};
    bool known = file && !hn_read_file(file, &text, &n, NULL) && read_all(a, compiler_path, text, &found);
    if (known) *out = found;
    free(text);
    free(file);
    return known;
}
