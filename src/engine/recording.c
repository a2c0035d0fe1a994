/* engine/recording.c — a recorded space: every configuration of a kernel with its time (format: docs/replay.md). */
#include "engine/recording.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/locale.h"
#include "base/str.h"

#include <lzma.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t TEXT_MOST = (size_t)1 << 30;

/* --- text ------------------------------------------------------------------------------------------------------ */

static hone_rc inflate_all(const char *path, const char *in, size_t n_in, char **out, size_t *n_out, hone_err *err) {
    lzma_stream z = LZMA_STREAM_INIT;
    if (lzma_stream_decoder(&z, (uint64_t)256 << 20, LZMA_CONCATENATED) != LZMA_OK)
        return hn_fail(err, HONE_E_NOMEM, "cannot start the xz decoder for '%s'", path);
    size_t room = n_in * 8 + 4096;
    char *text = NULL;
    z.next_in = (const uint8_t *)in;
    z.avail_in = n_in;
    lzma_ret ret = LZMA_OK;
    while (ret == LZMA_OK) {
        char *grown = (size_t)z.total_out < TEXT_MOST ? realloc(text, room + 1) : NULL;
        if (!grown) break;
        text = grown;
        z.next_out = (uint8_t *)text + z.total_out;
        z.avail_out = room - (size_t)z.total_out;
        ret = lzma_code(&z, LZMA_FINISH);
        if (!z.avail_out) room *= 2;
    }
    size_t n = (size_t)z.total_out;
    lzma_end(&z);
    if (ret != LZMA_STREAM_END) {
        free(text);
        if (ret == LZMA_OK) return hn_fail(err, HONE_E_LIMIT, "'%s' unpacks to more than memory allows", path);
        return hn_fail(err, HONE_E_INPUT, "%s: not an intact xz file (lzma error %d)", path, (int)ret);
    }
    text[n] = 0;
    *out = text;
    *n_out = n;
    return HONE_OK;
}

static hone_rc read_text(const char *path, char **text, size_t *n, hone_err *err) {
    char *raw;
    size_t n_raw;
    hone_rc rc = hn_read_file(path, &raw, &n_raw, err);
    if (rc) return rc;
    if (n_raw < 5 || memcmp(raw,
                            "\xFD"
                            "7zXZ",
                            5)) {
        *text = raw;
        *n = n_raw;
        return HONE_OK;
    }
    rc = inflate_all(path, raw, n_raw, text, n, err);
    free(raw);
    return rc;
}

/* The file's name without folders and endings. */
static char *label_of(hn_arena *a, const char *path) {
    const char *slash = strrchr(path, '/');
    char *label = hn_strdup(a, slash ? slash + 1 : path);
    static const char *const ends[] = {".xz", ".tsv"};
    for (size_t i = 0; label && i < 2; i++) {
        size_t n = strlen(label), k = strlen(ends[i]);
        if (n > k && !strcmp(label + n - k, ends[i])) label[n - k] = 0;
    }
    return label;
}

/* --- lines ----------------------------------------------------------------------------------------------------- */

typedef struct reader {
    hone_recording *rec;
    const char *path;
    char *next, *line;
    size_t line_no;
    int col_time, col_sd, col_compile, col_status;
    size_t n_cols;
    size_t *param_of_col; /* column -> parameter or SIZE_MAX */
    hone_err *err;
} reader;

static hone_rc bad(reader *r, const char *fmt, ...) HONE_PRINTF(2, 3);
static hone_rc bad(reader *r, const char *fmt, ...) {
    char text[700];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return hn_fail(r->err, HONE_E_INPUT, "%s:%zu: %s", r->path, r->line_no, text);
}

static bool next_line(reader *r) {
    if (!*r->next) return false;
    r->line = r->next;
    char *end = strchr(r->line, '\n');
    r->next = end ? end + 1 : r->line + strlen(r->line);
    if (end) *end = 0;
    if (end && end > r->line && end[-1] == '\r') end[-1] = 0;
    r->line_no++;
    return true;
}

static size_t split(char *text, char by, char **out, size_t most) {
    size_t n = 0;
    for (char *p = text; p && n < most; n++) {
        out[n] = p;
        p = strchr(p, by);
        if (p) *p++ = 0;
    }
    return n;
}

static bool as_number(const char *text, double *out) {
    char *end;
    *out = hn_strtod(text, &end);
    return end != text && !*end && isfinite(*out);
}

static int by_number(const void *a, const void *b) {
    double p, q;
    as_number(*(char *const *)a, &p);
    as_number(*(char *const *)b, &q);
    return (p > q) - (p < q);
}

/* Numbers make an ordinal in growing order, whatever order they stand in; one value a literal, all else a choice. */
static hone_kind settle_kind(char **value, size_t n) {
    double number;
    if (n == 1) return HONE_LITERAL;
    for (size_t i = 0; i < n; i++)
        if (!as_number(value[i], &number)) return HONE_CHOICE;
    qsort(value, n, sizeof *value, by_number);
    for (size_t i = 1; i < n; i++)
        if (!by_number(&value[i - 1], &value[i])) return HONE_CHOICE; /* 1 and 1.0 are two values without an order */
    return HONE_ORDINAL;
}

static hone_rc add_param(reader *r, char *text) {
    hone_recording *rec = r->rec;
    char *eq = strchr(text, '=');
    if (!eq || eq == text) return bad(r, "'%.100s' is not 'name=value|value'", text);
    *eq = 0;
    size_t n = 1;
    for (const char *p = eq + 1; *p; p++) n += *p == '|';
    char **value = HN_NEW_N(&rec->arena, char *, n);
    if (!value) return hn_fail(r->err, HONE_E_NOMEM, "out of memory while reading '%s'", r->path);
    split(eq + 1, '|', value, n);
    hone_param p = {.name = text, .values = (const char *const *)value, .n_values = n};
    p.kind = settle_kind(value, n);
    hone_rc rc = hone_space_add(rec->space, &p, r->err);
    return rc ? hn_context(r->err, "%s:%zu: ", r->path, r->line_no) : HONE_OK;
}

/* What follows "# values", or NULL. */
static char *values_of(char *line) {
    if (*line != '#') return NULL;
    line += 1 + strspn(line + 1, " \t");
    return hn_starts_with(line, "values") && strchr(" \t", line[6]) ? line + 6 : NULL;
}

static hone_rc read_values(reader *r, char *text) {
    char *save = NULL;
    for (char *word = strtok_r(text, " \t", &save); word; word = strtok_r(NULL, " \t", &save)) {
        hone_rc rc = add_param(r, word);
        if (rc) return rc;
    }
    if (!hone_space_n_params(r->rec->space)) return bad(r, "the values line names no parameter");
    return hone_space_seal(r->rec->space, r->err);
}

static hone_rc read_header(reader *r) {
    hone_recording *rec = r->rec;
    size_t most = 1;
    for (const char *p = r->line; *p; p++) most += *p == '\t';
    char **name = HN_NEW_N(&rec->arena, char *, most);
    r->param_of_col = HN_NEW_N(&rec->arena, size_t, most);
    bool *found = HN_NEW_N(&rec->arena, bool, most);
    if (!found) return hn_fail(r->err, HONE_E_NOMEM, "out of memory while reading '%s'", r->path);
    r->n_cols = split(r->line, '\t', name, most);
    r->col_time = r->col_sd = r->col_compile = r->col_status = -1;
    for (size_t c = 0; c < r->n_cols; c++) {
        size_t p = r->param_of_col[c] = hone_space_find(rec->space, name[c]);
        if (p != SIZE_MAX)
            found[p] = true;
        else if (!strcmp(name[c], "time_ms"))
            r->col_time = (int)c;
        else if (!strcmp(name[c], "sd_ms"))
            r->col_sd = (int)c;
        else if (!strcmp(name[c], "compile_ms"))
            r->col_compile = (int)c;
        else if (!strcmp(name[c], "status"))
            r->col_status = (int)c;
    } /* other columns are other measurements and are ignored */
    if (r->col_time < 0) return bad(r, "the header has no column 'time_ms'");
    for (size_t p = 0; p < hone_space_n_params(rec->space); p++)
        if (!found[p] && hone_space_param(rec->space, p)->kind != HONE_LITERAL)
            return bad(r, "the header has no column for parameter '%s'", hone_space_param(rec->space, p)->name);
    return HONE_OK;
}

/* "-" and empty fields are unknown. */
static hone_rc number(reader *r, char *const *field, int col, double *out) {
    *out = NAN;
    if (col < 0 || !*field[col] || !strcmp(field[col], "-")) return HONE_OK;
    char *end;
    double v = hn_strtod(field[col], &end);
    if (end == field[col] || *end) return bad(r, "'%.60s' is not a number (or '-')", field[col]);
    *out = v;
    return HONE_OK;
}

static bool contains(const char *text, const char *what) { return strcasestr(text, what) != NULL; }

/* hone's own names, then those of other tools. */
static hone_outcome_class class_of(const char *status) {
    hone_outcome_class c;
    if (hone_outcome_class_parse(status, &c)) return c;
    if (contains(status, "compil") || contains(status, "build")) return HONE_BUILD_ERROR;
    if (contains(status, "timeout")) return HONE_RUN_TIMEOUT;
    if (contains(status, "correct") || contains(status, "wrong") || contains(status, "verif")) return HONE_WRONG_RESULT;
    return HONE_RUN_CRASH;
}

static hone_rc gene_of(reader *r, size_t param, const char *text, double *x) {
    const hone_param *p = hone_space_param(r->rec->space, param);
    for (size_t i = 0; i < p->n_values; i++)
        if (!strcmp(p->values[i], text)) return x[p->slot] = (double)i, HONE_OK;
    double mine, its; /* the same number, written in another way */
    for (size_t i = 0; p->kind == HONE_ORDINAL && as_number(text, &mine) && i < p->n_values; i++)
        if (as_number(p->values[i], &its) && its == mine) return x[p->slot] = (double)i, HONE_OK;
    return bad(r, "'%.60s' is not among the values of '%s'", text, p->name);
}

static hone_rc read_row(reader *r, char **field, double *x) {
    hone_recording *rec = r->rec;
    size_t n = split(r->line, '\t', field, r->n_cols + 1);
    if (n != r->n_cols) return bad(r, "%zu fields where the header has %zu", n, r->n_cols);
    hn_record one;
    hone_rc rc = number(r, field, r->col_time, &one.time);
    if (!rc) rc = number(r, field, r->col_sd, &one.sd);
    if (!rc) rc = number(r, field, r->col_compile, &one.compile);
    for (size_t p = 0; p < rec->slots; p++) x[p] = 0;
    for (size_t c = 0; !rc && c < n; c++)
        if (r->param_of_col[c] != SIZE_MAX) rc = gene_of(r, r->param_of_col[c], field[c], x);
    if (rc) return rc;
    one.cls = r->col_status < 0 ? HONE_RUN_OK : class_of(field[r->col_status]);
    if (one.cls == HONE_RUN_OK && !(one.time > 0 && isfinite(one.time)))
        return bad(r, "status 'ok' needs a positive time, not '%.60s'", field[r->col_time]);
    for (size_t p = 0; p < rec->slots; p++) rec->x[rec->n * rec->slots + p] = (uint16_t)x[p];
    rec->row[rec->n++] = one;
    return HONE_OK;
}

/* --- lookup ---------------------------------------------------------------------------------------------------- */

static uint64_t hash_genes(const uint16_t *g, size_t n) {
    uint64_t h = n;
    for (size_t i = 0; i < n; i++) h = hn_mix64(h ^ g[i]);
    return h;
}

static size_t find(const hone_recording *rec, const uint16_t *g) {
    size_t i = (size_t)hash_genes(g, rec->slots) & (rec->table_n - 1);
    for (; rec->table[i] != UINT32_MAX; i = (i + 1) & (rec->table_n - 1))
        if (!memcmp(rec->x + rec->table[i] * rec->slots, g, rec->slots * sizeof *g)) return rec->table[i];
    return SIZE_MAX;
}

static hone_rc index_rows(reader *r) {
    hone_recording *rec = r->rec;
    rec->table_n = 16;
    while (rec->table_n < rec->n * 2) rec->table_n *= 2;
    rec->table = HN_NEW_N(&rec->arena, uint32_t, rec->table_n);
    if (!rec->table) return hn_fail(r->err, HONE_E_NOMEM, "out of memory while reading '%s'", r->path);
    memset(rec->table, 0xff, rec->table_n * sizeof *rec->table);
    for (size_t k = 0; k < rec->n; k++) {
        const uint16_t *g = rec->x + k * rec->slots;
        size_t same = find(rec, g);
        if (same != SIZE_MAX)
            return hn_fail(r->err, HONE_E_INPUT, "%s: rows %zu and %zu are the same configuration", r->path, same + 1,
                           k + 1);
        size_t i = (size_t)hash_genes(g, rec->slots) & (rec->table_n - 1);
        while (rec->table[i] != UINT32_MAX) i = (i + 1) & (rec->table_n - 1);
        rec->table[i] = (uint32_t)k;
    }
    return HONE_OK;
}

size_t hn_recording_find(const hone_recording *rec, const double *point) {
    uint16_t g[HN_RECORDING_SLOTS];
    for (size_t i = 0; i < rec->slots; i++) {
        if (!(point[i] >= 0 && point[i] < UINT16_MAX)) return SIZE_MAX;
        g[i] = (uint16_t)point[i];
    }
    return find(rec, g);
}

void hn_recording_point(const hone_recording *rec, size_t row, double *point) {
    for (size_t i = 0; i < rec->slots; i++) point[i] = rec->x[row * rec->slots + i];
}

/* --- loading --------------------------------------------------------------------------------------------------- */

static hone_rc read_rows(reader *r) {
    hone_recording *rec = r->rec;
    size_t lines = 1;
    for (const char *p = r->next; *p; p++) lines += *p == '\n';
    rec->x = HN_NEW_N(&rec->arena, uint16_t, lines * rec->slots);
    rec->row = HN_NEW_N(&rec->arena, hn_record, lines);
    char **field = HN_NEW_N(&rec->arena, char *, r->n_cols + 1);
    double *x = HN_NEW_N(&rec->arena, double, rec->slots);
    if (!x || lines >= UINT32_MAX) return hn_fail(r->err, HONE_E_NOMEM, "out of memory while reading '%s'", r->path);
    while (next_line(r)) {
        if (!*r->line || *r->line == '#') continue;
        hone_rc rc = read_row(r, field, x);
        if (rc) return rc;
    }
    rec->best = INFINITY;
    for (size_t i = 0; i < rec->n; i++)
        if (rec->row[i].cls == HONE_RUN_OK && rec->row[i].time < rec->best) rec->best = rec->row[i].time;
    if (!isfinite(rec->best)) return bad(r, "no configuration has status 'ok'");
    return index_rows(r);
}

static hone_rc parse(reader *r) {
    hone_recording *rec = r->rec;
    bool values = false;
    while (next_line(r)) {
        char *words = values_of(r->line);
        if (words) {
            if (values) return bad(r, "a second values line");
            values = true;
            hone_rc rc = read_values(r, words);
            if (rc) return rc;
            rec->slots = hone_space_slots(rec->space);
            if (rec->slots > HN_RECORDING_SLOTS) return bad(r, "more than %d parameters", HN_RECORDING_SLOTS);
        } else if (*r->line && *r->line != '#') {
            break;
        }
        r->line = NULL;
    }
    if (!values) return bad(r, "no line '# values name=value|value ...' before the header");
    if (!r->line) return bad(r, "no header line");
    hone_rc rc = read_header(r);
    return rc ? rc : read_rows(r);
}

hone_rc hone_recording_load(const char *path, hone_recording **out, hone_err *err) {
    char *text = NULL;
    size_t n = 0;
    hone_err local;
    hone_rc rc = read_text(path, &text, &n, err);
    if (rc) return rc;
    hone_recording *rec = calloc(1, sizeof *rec);
    reader r = {.rec = rec, .path = path, .next = text, .err = err ? err : &local};
    if (!rec)
        rc = hn_fail(err, HONE_E_NOMEM, "out of memory while reading '%s'", path);
    else if (strlen(text) != n)
        rc = hn_fail(err, HONE_E_INPUT, "%s: a NUL byte: not a text file", path);
    if (!rc && !(rec->label = label_of(&rec->arena, path)))
        rc = hn_fail(err, HONE_E_NOMEM, "out of memory while reading '%s'", path);
    if (!rc) rc = hone_space_new(rec->label, &rec->space, err);
    if (!rc) rc = parse(&r);
    free(text);
    if (rc) {
        hone_recording_free(rec);
        return rc;
    }
    *out = rec;
    return HONE_OK;
}

void hone_recording_free(hone_recording *rec) {
    if (!rec) return;
    hone_space_free(rec->space);
    hn_arena_free(&rec->arena);
    free(rec);
}

const hone_space *hone_recording_space(const hone_recording *rec) { return rec->space; }
const char *hone_recording_label(const hone_recording *rec) { return rec->label; }
size_t hone_recording_rows(const hone_recording *rec) { return rec->n; }
static const double MS = 1000; /* recordings are in milliseconds */

double hone_recording_best(const hone_recording *rec) { return rec->best / MS; }

bool hone_recording_lookup(const hone_recording *rec, const double *point, hone_outcome_class *cls, double *time_s,
                           double *sd_s, double *compile_s) {
    size_t i = hn_recording_find(rec, point);
    if (i == SIZE_MAX) return false;
    if (cls) *cls = rec->row[i].cls;
    if (time_s) *time_s = rec->row[i].time / MS;
    if (sd_s) *sd_s = rec->row[i].sd / MS;
    if (compile_s) *compile_s = rec->row[i].compile / MS;
    return true;
}
