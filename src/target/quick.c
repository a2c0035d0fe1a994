/* target/quick.c — identifies a compiler without running it: the cached identity is valid until a file that takes part
 * in code generation changes.
 *
 * CACHE/identity-HASH.tsv, HASH of the resolved path: "family \t version \t hash", then a line for each file in the
 * form of hn_file_state. Scripts are never cached, since what they run may change while they stay the same; nor is a
 * compiler whose files cannot be listed. */
#include "base/err.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/str.h"
#include "target/target_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *hn_next_line(char **at) {
    char *line = *at;
    if (!*line) return NULL;
    size_t n = strcspn(line, "\n");
    *at = line + n + (line[n] == '\n');
    line[n] = 0;
    return line;
}

bool hn_state_holds(const char *line) {
    char *path = strndup(line, strcspn(line, "\t")), *now = path ? hn_file_state(path) : NULL;
    bool same = now && !strcmp(now, line);
    free(now);
    free(path);
    return same;
}

static bool read_identity(const char *line, hone_identity *out) {
    hone_identity id;
    if (sscanf(line, "%15[^\t]\t%200[^\t]\t%32[0-9a-f]", id.family, id.version, id.hash) != 3 || strlen(id.hash) != 32)
        return false;
    *out = id;
    return true;
}

static bool recall(const char *file, const char *path, hone_identity *out) {
    char *text;
    size_t n, files = 0;
    if (hn_read_file(file, &text, &n, NULL)) return false;
    char *at = text, *line = hn_next_line(&at);
    hone_identity id;
    bool fine = line && read_identity(line, &id);
    while (fine && (line = hn_next_line(&at))) {
        size_t len = strlen(path);
        if (!files++) fine = !strncmp(line, path, len) && line[len] == '\t'; /* the compiler itself comes first */
        fine = fine && hn_state_holds(line);
    }
    free(text);
    if (fine && files) *out = id;
    return fine && files;
}

bool hn_is_elf(const char *path) {
    char magic[4] = "";
    FILE *f = fopen(path, "rbe");
    bool yes = f && fread(magic, 1, 4, f) == 4 && !memcmp(magic, "\177ELF", 4);
    if (f) fclose(f);
    return yes;
}

bool hn_state_add(hn_str *s, const char *path) {
    char *state = hn_file_state(path);
    if (state) hn_str_addf(s, "%s\n", state);
    free(state);
    return state != NULL;
}

/* Failing to store it costs only time. */
static void remember(hone_target *t, const char *file, const hone_identity *id) {
    char *lines, *at, *line;
    if (!hn_is_elf(t->print.path) || t->family->code_files(t, &lines, NULL)) return;
    hn_str s = {0};
    hn_str_addf(&s, "%s\t%s\t%s\n", id->family, id->version, id->hash);
    bool fine = hn_state_add(&s, t->print.path);
    for (at = lines; fine && (line = hn_next_line(&at));) {
        char *real = realpath(line, NULL);
        if (real) fine = hn_state_add(&s, real);
        free(real);
    }
    if (fine && !s.failed) (void)hn_write_file(file, s.text, s.n, NULL);
    hn_str_free(&s);
    free(lines);
}

static char *cache_file(const char *cache_dir, const char *path) {
    char *dir = cache_dir ? strdup(cache_dir) : hn_cache_dir(), *file = NULL, name[64], hex[33];
    hn_hash h;
    hn_hash_begin(&h);
    hn_hash_text(&h, path);
    hn_hash_end(&h, hex);
    snprintf(name, sizeof name, "identity-%s.tsv", hex);
    if (dir) file = hn_path_join(dir, name);
    free(dir);
    return file;
}

/* Environment variables that make gcc use other programs and libraries than its own. */
static bool is_redirected(void) { return getenv("GCC_EXEC_PREFIX") || getenv("COMPILER_PATH"); }

static hone_rc ask(const char *name, const char *cache_dir, const char *file, hone_identity *out, hone_err *err) {
    hone_target *t;
    hone_rc rc = hone_target_open(name, cache_dir, &t, err);
    if (rc) return rc;
    hone_identity id;
    snprintf(id.family, sizeof id.family, "%s", t->print.family);
    snprintf(id.version, sizeof id.version, "%s", t->print.version);
    snprintf(id.hash, sizeof id.hash, "%s", t->print.hash);
    if (file) remember(t, file, &id);
    hone_target_close(t);
    *out = id;
    return HONE_OK;
}

hone_rc hone_target_identity(const char *name, const char *cache_dir, hone_identity *out, hone_err *err) {
    char *path = name && *name && !is_redirected() ? hn_family_locate(name) : NULL;
    char *file = path ? cache_file(cache_dir, path) : NULL;
    hone_rc rc = file && recall(file, path, out) ? HONE_OK : ask(name, cache_dir, file, out, err);
    free(file);
    free(path);
    return rc;
}
