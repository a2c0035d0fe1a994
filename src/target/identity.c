/* target/identity.c — the exact identity of a compiler: version, hash of the files that make code, what -march=native
 * means.
 *
 * Compilers are large (LLVM's library has 120 MB), so file hashes are kept in CACHE/files.tsv by path, size, time of
 * change and inode; a changed file is hashed again. */
#include "base/err.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/str.h"
#include "target/structure.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

char *hn_file_state(const char *path) {
    struct stat st;
    if (stat(path, &st) || !S_ISREG(st.st_mode)) return NULL;
    hn_str s = {0};
    hn_str_addf(&s, "%s\t%lld\t%lld.%09ld\t%llu\t", path, (long long)st.st_size, (long long)st.st_mtim.tv_sec,
                st.st_mtim.tv_nsec, (unsigned long long)st.st_ino);
    return hn_str_take(&s);
}

static bool is_hex32(const char *s) { return strspn(s, "0123456789abcdef") >= 32; }

static bool known_hash(const char *table, const char *state, char hex[33]) {
    size_t n = strlen(state);
    for (const char *line = table; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (!strncmp(line, state, n) && is_hex32(line + n)) {
            memcpy(hex, line + n, 32);
            hex[32] = 0;
            return true;
        }
    return false;
}

/* Stores the table with this file's line replaced; failing to store it costs only time. */
static void remember(const char *file, const char *table, const char *path, const char *state, const char *hex) {
    hn_str s = {0};
    size_t n = strlen(path);
    for (const char *line = table; *line;) {
        size_t len = strcspn(line, "\n");
        if (strncmp(line, path, n) != 0 || line[n] != '\t') hn_str_addf(&s, "%.*s\n", (int)len, line);
        line += len + (line[len] == '\n');
    }
    hn_str_addf(&s, "%s%s\n", state, hex);
    if (!s.failed) (void)hn_write_file(file, s.text, s.n, NULL);
    hn_str_free(&s);
}

static hone_rc hash_file(hone_target *t, const char *path, char hex[33], hone_err *err) {
    char *file = hn_cache_file(t, "files.tsv"), *state = hn_file_state(path), *table = NULL;
    size_t n;
    hone_rc rc = HONE_OK;
    if (!file || !state || hn_read_file(file, &table, &n, NULL) != HONE_OK) table = NULL;
    if (!table || !known_hash(table, state, hex)) {
        rc = hn_hash_file(path, hex, err);
        if (!rc && file && state) remember(file, table ? table : "", path, state, hex);
    }
    free(file);
    free(state);
    free(table);
    return rc;
}

static hone_rc hash_all(hone_target *t, const char *lines, char hex[33], hone_err *err) {
    hn_hash h;
    char one[33];
    hone_rc rc = hash_file(t, t->print.path, one, err);
    if (rc) return rc;
    hn_hash_begin(&h);
    hn_hash_text(&h, one);
    while (*lines) {
        size_t len = strcspn(lines, "\n");
        char *path = strndup(lines, len), *real = path ? realpath(path, NULL) : NULL;
        if (real && !(rc = hash_file(t, real, one, err))) hn_hash_text(&h, one);
        free(path);
        free(real);
        if (rc) return rc;
        lines += len + (lines[len] == '\n');
    }
    hn_hash_end(&h, hex);
    return HONE_OK;
}

static hone_rc refuse_wrapper(const hone_target *t, hone_err *err) {
    static const char *const wrapper[] = {"ccache", "sccache", "distcc", "icecc", "colorgcc", "gomacc"};
    const char *slash = strrchr(t->print.path, '/'), *base = slash ? slash + 1 : t->print.path;
    for (size_t i = 0; i < sizeof wrapper / sizeof *wrapper; i++)
        if (!strcmp(base, wrapper[i]))
            return hn_fail(
                err, HONE_E_TOOL,
                "compiler '%s' is the wrapper '%s', which hides what compiles; name the compiler behind it by "
                "its path",
                t->print.command, t->print.path);
    return HONE_OK;
}

/* The line that holds `key`, else the first. */
static const char *version_line(hn_arena *a, const char *text, const char *key) {
    const char *at = key ? strstr(text, key) : NULL;
    while (at && at > text && at[-1] != '\n') at--;
    if (at) text = at;
    char *line = hn_strndup(a, text, strnlen(text, strcspn(text, "\n") < 200 ? strcspn(text, "\n") : 200));
    for (char *p = line; p && *p; p++)
        if (*p < ' ' || *p > '~') *p = '?';
    return line;
}

/* gcc begins its version with the name it was called by: cc and gcc are one compiler, so the family's name stands
 * there. */
static const char *by_family(hone_target *t) {
    const char *slash = strrchr(t->exec, '/'), *base = slash ? slash + 1 : t->exec, *line = t->print.version;
    size_t n = strlen(base);
    if (!line || strncmp(line, base, n) != 0 || line[n] != ' ') return line;
    return hn_format(&t->arena, "%s%s", t->family->command, line + n);
}

static hone_rc recognise(hone_target *t, hone_err *err) {
    const char *const argv[] = {t->exec, "--version", NULL};
    hn_tool run;
    hone_rc rc = hn_tool_run(argv, 5, &run, err);
    if (rc) return rc;
    if (!run.ok) {
        hn_tool_free(&run);
        return hn_fail(err, HONE_E_TOOL, "compiler '%s' does not answer --version: %s%s%.200s", t->print.command,
                       run.what, run.errors[0] ? ": " : "", run.errors);
    }
    char *text = run.out;
    for (size_t i = 0; hn_families[i] && !t->family; i++)
        if (hn_families[i]->recognise(text)) t->family = hn_families[i];
    t->print.version = version_line(&t->arena, text, t->family ? t->family->version_key : NULL);
    free(text);
    if (!t->family)
        return hn_fail(err, HONE_E_TOOL,
                       "'%s' is no compiler hone knows: --version says '%s'; `hone targets` lists the families",
                       t->print.command, t->print.version ? t->print.version : "");
    t->print.family = t->family->name;
    t->print.version = by_family(t);
    return HONE_OK;
}

static hone_rc native_cpu(hone_target *t, hone_err *err) {
    const char *cpu = "unknown";
    char hex[33];
    hn_hash h;
    t->features = "";
    hone_rc rc = t->family->native(t, &cpu, &t->features, err);
    if (rc) return rc;
    hn_hash_begin(&h);
    hn_hash_text(&h, t->features);
    hn_hash_end(&h, hex);
    t->print.march = hn_format(&t->arena, "%s+%.4s", cpu, hex);
    hn_structure_cpuid(t);
    return HONE_OK;
}

hone_rc hn_target_identify(hone_target *t, hone_err *err) {
    char *real = hn_which(t->exec), hex[33], *lines;
    if (!real)
        return hn_fail(err, HONE_E_TOOL,
                       "compiler '%s' is not an executable file or not in PATH; install it or name it by its path",
                       t->print.command);
    t->print.path = hn_strdup(&t->arena, real);
    free(real);
    hone_rc rc = HONE_OK;
    if (t->print.path) rc = refuse_wrapper(t, err);
    if (rc || (rc = recognise(t, err))) return rc;
    char *behind = t->family->binary ? t->family->binary(t) : NULL;
    if (behind) t->print.path = hn_strdup(&t->arena, behind);
    free(behind);
    if ((rc = t->family->code_files(t, &lines, err))) return rc;
    rc = hash_all(t, lines, hex, err);
    free(lines);
    if (rc) return rc;
    t->print.hash = hn_strdup(&t->arena, hex);
    return native_cpu(t, err);
}
