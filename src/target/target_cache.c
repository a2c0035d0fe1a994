/* target/target_cache.c — what probing found, as a readable table CACHE/FAMILY-HASH.tsv.
 *
 *     hone-target 1 TABLES                        TABLES: of this room's sources (Makefile)
 *     compiler HASH MARCH
 *     stats DISCOVERED UNSAFE NUMERIC REJECTED SECONDS
 *     lto FLAGS            (- = does not link)
 *     choice NAME CLASS VALUE|VALUE… DOC          fields apart by tabs
 *     range NAME CLASS LO HI DEFAULT DOC
 *     end BLAKE2b-128 of all lines above
 *
 * Anything unexpected means "not cached": the compiler is probed again and the file replaced. */
#include "base/err.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/locale.h"
#include "base/str.h"
#include "target/target_int.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static char *file_of(const hone_target *t, bool all) {
    char name[80], key[33];
    hn_hash h;
    hn_hash_begin(&h);
    hn_hash_text(&h, t->print.hash);
    hn_hash_text(&h, t->print.march);
    hn_hash_text(&h, t->cpuid_flags);
    hn_hash_end(&h, key);
    snprintf(name, sizeof name, "%s-%.16s%s.tsv", t->print.family, key, all ? "-all" : "");
    return hn_cache_file(t, name);
}

static void sum(const char *text, size_t n, char hex[33]) {
    hn_hash h;
    hn_hash_begin(&h);
    hn_hash_add(&h, text, n);
    hn_hash_end(&h, hex);
}

/* --- writing ---------------------------------------------------------------------------------------------------- */

static void write_control(hn_str *s, const hn_control *c) {
    const char *cls = c->cls == HN_NUMERIC ? "numeric" : "codegen";
    if (c->form == HN_RANGE) {
        char lo[32], hi[32], dflt[32];
        hn_str_addf(s, "range\t%s\t%s\t%s\t%s\t%s\t%s\n", c->name, cls, hn_double_text(c->lo, lo),
                    hn_double_text(c->hi, hi), hn_double_text(c->dflt, dflt), c->doc);
        return;
    }
    hn_str_addf(s, "choice\t%s\t%s\t", c->name, cls);
    for (size_t i = 0; i < c->n_values; i++) hn_str_addf(s, "%s%s", i ? "|" : "", c->value[i]);
    hn_str_addf(s, "\t%s\n", c->doc);
}

hone_rc hn_cache_write(hone_target *t, bool all, const hn_controls *list, hone_err *err) {
    hn_str s = {0};
    char hex[33];
    const hone_target_stats *st = &t->stats;
    hn_str_addf(&s, "hone-target\t1\t%s\ncompiler\t%s\t%s\n", HN_TARGET_TABLES, t->print.hash, t->print.march);
    char seconds[32];
    hn_str_addf(&s, "stats\t%zu\t%zu\t%zu\t%zu\t%s\n", st->n_discovered, st->n_unsafe, st->n_numeric, st->n_rejected,
                hn_double_text(st->probe_s, seconds));
    hn_str_addf(&s, "lto\t%s\n", t->lto_flags ? t->lto_flags : "-");
    for (size_t i = 0; i < list->n; i++) write_control(&s, &list->item[i]);
    if (!s.failed) sum(s.text, s.n, hex);
    if (!s.failed) hn_str_addf(&s, "end\t%s\n", hex);
    char *file = file_of(t, all);
    hone_rc rc = !s.failed && file ? hn_write_file(file, s.text, s.n, err)
                                   : hn_fail(err, HONE_E_NOMEM, "out of memory writing the probe cache");
    free(file);
    hn_str_free(&s);
    return rc == HONE_E_IO && !t->cache_must ? HONE_OK : rc;
}

/* --- reading ---------------------------------------------------------------------------------------------------- */

enum { MAX_FIELDS = 8 };

/* Cuts a line at tabs, in place. */
static size_t cut(char *line, char **field) {
    size_t n = 0;
    while (n < MAX_FIELDS) {
        field[n++] = line;
        line = strchr(line, '\t');
        if (!line) break;
        *line++ = 0;
    }
    return n;
}

static bool read_range(hn_control *c, char **field) {
    c->form = HN_RANGE;
    c->lo = hn_strtod(field[3], NULL);
    c->hi = hn_strtod(field[4], NULL);
    c->dflt = hn_strtod(field[5], NULL);
    return isfinite(c->lo) && isfinite(c->hi) && c->lo < c->hi;
}

static bool read_control(hn_arena *a, hn_controls *list, char **field, size_t n) {
    bool is_range = !strcmp(field[0], "range");
    if ((is_range ? n != 7 : n != 5) || (!is_range && strcmp(field[0], "choice") != 0)) return false;
    bool numeric = !strcmp(field[2], "numeric");
    hn_control *c = hn_control_add(a, list, field[1], field[n - 1], numeric ? HN_NUMERIC : HN_CODEGEN);
    if (!c) return false;
    if (is_range) return read_range(c, field);
    hn_control_values(a, c, field[3], '|');
    return c->n_values > 0;
}

static bool same_key(const hone_target *t, char **line, size_t n) {
    char *field[MAX_FIELDS];
    if (n < 4 || cut(line[0], field) != 3 || strcmp(field[0], "hone-target") != 0 || strcmp(field[1], "1") != 0)
        return false;
    if (strcmp(field[2], HN_TARGET_TABLES) != 0 || cut(line[1], field) != 3) return false;
    return !strcmp(field[1], t->print.hash) && !strcmp(field[2], t->print.march);
}

static const char *flags_of(hone_target *t, char *line) {
    char *tab = strchr(line, '\t');
    return tab && strcmp(tab + 1, "-") != 0 ? hn_strdup(&t->arena, tab + 1) : NULL;
}

static bool read_lines(hone_target *t, hn_arena *a, char **line, size_t n, hn_controls *list) {
    hone_target_stats st = {0};
    if (!same_key(t, line, n)) return false;
    if (sscanf(line[2], "stats\t%zu\t%zu\t%zu\t%zu\t%lf", &st.n_discovered, &st.n_unsafe, &st.n_numeric, &st.n_rejected,
               &st.probe_s) != 5)
        return false;
    for (size_t i = 4; i < n; i++) {
        char *field[MAX_FIELDS];
        size_t count = cut(line[i], field);
        if (!read_control(a, list, field, count)) return false;
    }
    t->lto_flags = flags_of(t, line[3]);
    t->stats = st;
    return list->n > 0;
}

/* Splits in place and checks the last line; the number of lines before it, 0 when the sum does not agree. */
static size_t checked_lines(hn_arena *a, char *text, size_t n, char ***out) {
    static const char mark[] = "\nend\t";
    char hex[33], *end = n ? memmem(text, n, mark, sizeof mark - 1) : NULL;
    if (!end || strlen(end) != sizeof mark - 1 + 33) return 0;
    sum(text, (size_t)(end + 1 - text), hex);
    if (strncmp(end + sizeof mark - 1, hex, 32) != 0) return 0;
    end[1] = 0;
    size_t lines = 0;
    for (char *p = text; *p; p++) lines += *p == '\n';
    char **line = HN_NEW_N(a, char *, lines);
    if (!line) return 0;
    for (size_t i = 0; i < lines; i++) {
        line[i] = text;
        text = strchr(text, '\n');
        *text++ = 0;
    }
    *out = line;
    return lines;
}

bool hn_cache_read(hone_target *t, hn_arena *a, bool all, hn_controls *list) {
    char *file = file_of(t, all), *text = NULL, **line;
    size_t n;
    bool ok = file && hn_read_file(file, &text, &n, NULL) == HONE_OK;
    size_t lines = ok ? checked_lines(a, text, n, &line) : 0;
    ok = lines > 0 && read_lines(t, a, line, lines, list);
    if (!ok) *list = (hn_controls){0};
    free(text);
    free(file);
    return ok;
}

/* --- two that probe the same compiler at once ----------------------------------------------------------------------
 *
 * The second waits, and reads what the first has written. The file goes with the lock: who opens another one probes
 * too, which costs time alone. A folder that cannot be written has no lock. */

hn_cache_lock hn_cache_lock_take(const hone_target *t, bool all) {
    hn_cache_lock l = {.fd = -1};
    char *file = file_of(t, all);
    if (file && asprintf(&l.path, "%s.lock", file) < 0) l.path = NULL;
    free(file);
    if (l.path) l.fd = open(l.path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    while (l.fd >= 0 && flock(l.fd, LOCK_EX) != 0 && errno == EINTR) continue;
    return l;
}

void hn_cache_lock_free(hn_cache_lock *l) {
    if (l->fd >= 0) {
        unlink(l->path);
        flock(l->fd, LOCK_UN); /* a program that was started meanwhile may hold the file open */
        close(l->fd);
    }
    free(l->path);
    *l = (hn_cache_lock){.fd = -1};
}
