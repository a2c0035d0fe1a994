/* measure/parity.c — are two outputs the same under a rule?
 *
 * Harness data is compared element by element in its type; text token by token, where whatever reads as a number is
 * one (decimal, hexadecimal, nan, inf), and runs of blanks are equal, since a sign may move a column.
 * Rules for numbers: NaN equals NaN only (whatever its sign and payload); infinities must be equal; a relative error
 * is |a - e| / |e|, and counts as 0 when the difference is below the type's smallest normal number (flush to zero).
 */
#include "base/bench_data.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/locale.h"
#include "measure/outcome.h"

#include <hone/bench.h>

#include <ctype.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct judge {
    hn_parity_rule rule;
    double tol, worst; /* worst: by the rule, of `where` */
    hn_parity_result *out;
};

struct error {
    double abs, rel, ulp;
};

/* --- numbers --------------------------------------------------------------------------------------------------- */

/* Floats in order as integers, with both zeros at 0 (Dawson, "Comparing floating point numbers", 2012). */
static int64_t order64(double x) {
    int64_t i;
    memcpy(&i, &x, sizeof i);
    return i < 0 ? INT64_MIN - i : i;
}
static int64_t order32(float x) {
    int32_t i;
    memcpy(&i, &x, sizeof i);
    return i < 0 ? (int64_t)INT32_MIN - i : i;
}

static double ulps64(double a, double b) { return fabs((double)((long double)order64(a) - (long double)order64(b))); }
static double ulps32(float a, float b) { return fabs((double)(order32(a) - order32(b))); }

static const struct error none = {0, 0, 0}, total = {HUGE_VAL, HUGE_VAL, HUGE_VAL};

static struct error float_error(double expected, double actual, double ulp, double least) {
    if (isnan(expected) || isnan(actual)) return isnan(expected) && isnan(actual) ? none : total;
    if (expected == actual) return none;
    if (isinf(expected) || isinf(actual)) return total;
    double d = fabs(actual - expected);
    return (struct error){d, d < least ? 0 : d / fabs(expected), ulp};
}

static struct error int_error(long double expected, long double actual) {
    double d = (double)fabsl(actual - expected);
    return (struct error){d, d == 0 ? 0 : d / fabs((double)expected), d};
}

static double by_rule(const struct judge *j, struct error e) {
    switch (j->rule) {
    case HN_MAX_ABS: return e.abs;
    case HN_MAX_REL: return e.rel;
    case HN_MAX_ULP: return e.ulp;
    case HN_SAME_BYTES: break;
    }
    return e.abs > 0 ? HUGE_VAL : 0;
}

/* Records one pair; true when it is the worst so far, so that the caller records where. */
static bool note(struct judge *j, struct error e, bool same_bytes) {
    hn_parity_result *r = j->out;
    if (e.abs > r->worst_abs) r->worst_abs = e.abs;
    if (e.rel > r->worst_rel) r->worst_rel = e.rel;
    if (e.ulp > r->worst_ulp) r->worst_ulp = e.ulp;
    double v = j->rule == HN_SAME_BYTES ? (same_bytes ? 0 : HUGE_VAL) : by_rule(j, e);
    if (v > j->tol || isinf(v)) r->equal = false; /* no tolerance covers a NaN or an infinity */
    if (!(v > j->worst)) return false;
    j->worst = v;
    return true;
}

static void say_where(const struct judge *j, const char *place, const char *expected, const char *actual,
                      struct error e) {
    char how[40] = "";
    if (j->rule == HN_MAX_ULP)
        snprintf(how, sizeof how, " (%.4g ulp)", e.ulp);
    else if (j->rule == HN_MAX_ABS)
        snprintf(how, sizeof how, " (abs %.4g)", e.abs);
    else
        snprintf(how, sizeof how, " (rel %.4g)", e.rel);
    snprintf(j->out->where, sizeof j->out->where, "%.60s: expected %.40s, got %.40s%.30s", place, expected, actual,
             how);
}

/* A difference that no tolerance covers. */
static void structural(struct judge *j, const char *fmt, ...) HONE_PRINTF(2, 3);
static void structural(struct judge *j, const char *fmt, ...) {
    va_list ap;
    j->out->equal = false;
    j->worst = HUGE_VAL;
    j->out->worst_abs = j->out->worst_rel = j->out->worst_ulp = HUGE_VAL;
    va_start(ap, fmt);
    vsnprintf(j->out->where, sizeof j->out->where, fmt, ap);
    va_end(ap);
}

/* --- harness data ---------------------------------------------------------------------------------------------- */

struct reader {
    const char *data;
    size_t n, at;
    bool in_segment, bad;
};

struct record {
    const char *name, *data;
    uint32_t name_n, type;
    uint64_t n;
};

static const unsigned char element_b[] = {
    [HONE_BENCH_F32] = 4, [HONE_BENCH_F64] = 8, [HONE_BENCH_I8] = 1,  [HONE_BENCH_U8] = 1,  [HONE_BENCH_I16] = 2,
    [HONE_BENCH_U16] = 2, [HONE_BENCH_I32] = 4, [HONE_BENCH_U32] = 4, [HONE_BENCH_I64] = 8, [HONE_BENCH_U64] = 8,
};

static bool is_harness_data(const char *p, size_t n) {
    return n >= sizeof(hn_data_head) && memcmp(p, HN_DATA_MAGIC, 8) == 0;
}

/* The next n bytes, padded to 8. NULL when there are not as many: the file is cut short. */
static const char *take(struct reader *r, uint64_t n) {
    uint64_t padded = n + (8 - n % 8) % 8;
    if (n > UINT64_MAX - 8 || padded > r->n - r->at) return NULL;
    const char *p = r->data + r->at;
    r->at += (size_t)padded;
    return p;
}

static bool open_segment(struct reader *r) {
    hn_data_head h;
    const char *p = take(r, sizeof h);
    if (!p) return false;
    memcpy(&h, p, sizeof h);
    r->in_segment = true;
    return memcmp(h.magic, HN_DATA_MAGIC, 8) == 0 && h.order == HN_DATA_ORDER;
}

static bool read_record(struct reader *r, const hn_data_record *h, struct record *out) {
    if (h->name_n == 0 || h->name_n > HN_DATA_NAME_MAX || h->type >= sizeof element_b) return false;
    out->name_n = h->name_n;
    out->type = h->type;
    out->n = h->n;
    out->name = take(r, h->name_n);
    if (!out->name || h->n > UINT64_MAX / 8) return false;
    out->data = take(r, h->n * element_b[h->type]);
    return out->data != NULL;
}

/* False at the end, or (bad) where the data is malformed. */
static bool next_record(struct reader *r, struct record *out) {
    while (!r->bad && (r->at < r->n || r->in_segment)) {
        hn_data_record h;
        if (!r->in_segment) {
            r->bad = !open_segment(r);
            continue;
        }
        const char *p = take(r, sizeof h);
        if (p) memcpy(&h, p, sizeof h);
        if (p && h.name_n == 0 && h.type == HN_DATA_END) {
            r->in_segment = false;
            continue;
        }
        if (p && read_record(r, &h, out)) return true;
        r->bad = true;
    }
    return false;
}

static long double int_at(const struct record *r, uint64_t i) {
    union {
        int8_t i8;
        uint8_t u8;
        int16_t i16;
        uint16_t u16;
        int32_t i32;
        uint32_t u32;
        int64_t i64;
        uint64_t u64;
    } v;
    memcpy(&v, r->data + i * element_b[r->type], element_b[r->type]);
    switch (r->type) {
    case HONE_BENCH_I8: return v.i8;
    case HONE_BENCH_U8: return v.u8;
    case HONE_BENCH_I16: return v.i16;
    case HONE_BENCH_U16: return v.u16;
    case HONE_BENCH_I32: return v.i32;
    case HONE_BENCH_U32: return v.u32;
    case HONE_BENCH_I64: return (long double)v.i64;
    default: return (long double)v.u64;
    }
}

static struct error element_error(const struct record *e, const struct record *a, uint64_t i, char text[2][32]) {
    if (e->type == HONE_BENCH_F32) {
        float x, y;
        memcpy(&x, e->data + 4 * i, 4);
        memcpy(&y, a->data + 4 * i, 4);
        snprintf(text[0], 32, "%.9g", (double)x);
        snprintf(text[1], 32, "%.9g", (double)y);
        return float_error((double)x, (double)y, ulps32(x, y), FLT_MIN);
    }
    if (e->type == HONE_BENCH_F64) {
        double x, y;
        memcpy(&x, e->data + 8 * i, 8);
        memcpy(&y, a->data + 8 * i, 8);
        snprintf(text[0], 32, "%.17g", x);
        snprintf(text[1], 32, "%.17g", y);
        return float_error(x, y, ulps64(x, y), DBL_MIN);
    }
    long double x = int_at(e, i), y = int_at(a, i);
    snprintf(text[0], 32, "%.0Lf", x);
    snprintf(text[1], 32, "%.0Lf", y);
    return int_error(x, y);
}

/* Most elements are the same bytes: only the others are looked at. */
static void compare_records(struct judge *j, const struct record *e, const struct record *a) {
    size_t size = element_b[e->type];
    for (uint64_t i = 0; i < e->n; i++) {
        if (memcmp(e->data + i * size, a->data + i * size, size) == 0) continue;
        char text[2][32], place[64];
        struct error err = element_error(e, a, i, text);
        if (!note(j, err, false)) continue;
        snprintf(place, sizeof place, "%.*s[%llu]", (int)(e->name_n < 40 ? e->name_n : 40), e->name,
                 (unsigned long long)i);
        say_where(j, place, text[0], text[1], err);
    }
}

static void compare_data(struct judge *j, struct reader *expected, struct reader *actual) {
    struct record e, a;
    for (;;) {
        bool have_e = next_record(expected, &e), have_a = next_record(actual, &a);
        if (expected->bad) return;
        if (actual->bad)
            structural(j, "the output data is cut short or malformed");
        else if (have_e && !have_a)
            structural(j, "output '%.*s' is missing", (int)e.name_n, e.name);
        else if (!have_e && have_a)
            structural(j, "output '%.*s' is not expected", (int)a.name_n, a.name);
        else if (have_e && (e.name_n != a.name_n || memcmp(e.name, a.name, e.name_n) != 0))
            structural(j, "expected output '%.*s', got '%.*s'", (int)(e.name_n % 80), e.name, (int)(a.name_n % 80),
                       a.name);
        else if (have_e && (e.type != a.type || e.n != a.n))
            structural(j, "output '%.*s' differs in type or length (expected %llu elements, got %llu)",
                       (int)(e.name_n % 80), e.name, (unsigned long long)e.n, (unsigned long long)a.n);
        else if (have_e) {
            compare_records(j, &e, &a);
            continue;
        }
        return;
    }
}

/* --- text ------------------------------------------------------------------------------------------------------ */

struct cursor {
    const char *p, *end;
    size_t line;
};

static bool word_char(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* Length of a number that starts here (not inside a word), 0 when there is none. The text is NUL-terminated. */
static size_t number_length(const struct cursor *c, const char *from) {
    if (c->p > from && word_char(c->p[-1])) return 0;
    const char *p = c->p + (*c->p == '-' || *c->p == '+');
    bool digits = isdigit((unsigned char)*p) || (*p == '.' && isdigit((unsigned char)p[1]));
    bool word = strncasecmp(p, "nan", 3) == 0 || strncasecmp(p, "inf", 3) == 0;
    if (!digits && !word) return 0;
    char *end;
    hn_strtod(c->p, &end);
    if (end > c->end || (word && word_char(*end))) return 0;
    return (size_t)(end - c->p);
}

static struct error text_error(const char *e, size_t e_n, const char *a, size_t a_n) {
    bool ints = strspn(e, "+-0123456789") == e_n && strspn(a, "+-0123456789") == a_n;
    if (ints && e_n < 19 && a_n < 19)
        return int_error((long double)strtoll(e, NULL, 10), (long double)strtoll(a, NULL, 10));
    double x = hn_strtod(e, NULL), y = hn_strtod(a, NULL);
    if (ints && x == y && (e_n != a_n || memcmp(e, a, e_n) != 0))
        return int_error(hn_strtold(e, NULL), hn_strtold(a, NULL));
    return float_error(x, y, ulps64(x, y), DBL_MIN);
}

static void compare_numbers(struct judge *j, struct cursor *e, size_t e_n, struct cursor *a, size_t a_n) {
    bool same = e_n == a_n && memcmp(e->p, a->p, e_n) == 0;
    struct error err = same ? none : text_error(e->p, e_n, a->p, a_n);
    if (!same && note(j, err, false)) {
        char place[32], text[2][41];
        snprintf(place, sizeof place, "line %zu", e->line);
        snprintf(text[0], sizeof text[0], "%.*s", (int)(e_n < 40 ? e_n : 40), e->p);
        snprintf(text[1], sizeof text[1], "%.*s", (int)(a_n < 40 ? a_n : 40), a->p);
        say_where(j, place, text[0], text[1], err);
    }
    e->p += e_n;
    a->p += a_n;
}

static bool skip_blanks(struct cursor *c) {
    const char *p = c->p;
    while (c->p < c->end && (*c->p == ' ' || *c->p == '\t' || *c->p == '\r')) c->p++;
    return c->p > p;
}

/* Blanks before the end of a line do not count. */
static bool blanks_agree(struct cursor *e, struct cursor *a) {
    bool had_e = skip_blanks(e), had_a = skip_blanks(a);
    bool ends = (e->p == e->end || *e->p == '\n') && (a->p == a->end || *a->p == '\n');
    return had_e == had_a || ends;
}

static void show_line(const struct cursor *c, const char *from, char out[41]) {
    const char *p = c->p;
    while (p > from && p[-1] != '\n') p--;
    size_t n = 0;
    for (; p < c->end && *p != '\n' && n < 40; p++) out[n++] = isprint((unsigned char)*p) ? *p : '?';
    out[n] = 0;
}

static void compare_text(struct judge *j, const char *expected, size_t n_expected, const char *actual,
                         size_t n_actual) {
    struct cursor e = {expected, expected + n_expected, 1}, a = {actual, actual + n_actual, 1};
    for (;;) {
        bool agree = blanks_agree(&e, &a);
        size_t e_n = agree && e.p < e.end ? number_length(&e, expected) : 0;
        size_t a_n = e_n > 0 && a.p < a.end ? number_length(&a, actual) : 0;
        if (e_n > 0 && a_n > 0) {
            compare_numbers(j, &e, e_n, &a, a_n);
            continue;
        }
        bool e_end = e.p == e.end, a_end = a.p == a.end;
        if (agree && e_end && a_end) return;
        if (!agree || e_end || a_end || *e.p != *a.p) break;
        e.line += *e.p == '\n';
        e.p++;
        a.p++;
    }
    char text[2][41];
    show_line(&e, expected, text[0]);
    show_line(&a, actual, text[1]);
    structural(j, "line %zu: expected \"%s\", got \"%s\"", e.line, text[0], text[1]);
}

static void compare_bytes(struct judge *j, const char *e, size_t n_e, const char *a, size_t n_a) {
    size_t n = n_e < n_a ? n_e : n_a, i = 0, line = 1;
    if (n_e == n_a && memcmp(e, a, n) == 0) return;
    for (; i < n && e[i] == a[i]; i++) line += e[i] == '\n';
    struct cursor ce = {e + i, e + n_e, line}, ca = {a + i, a + n_a, line};
    char text[2][41];
    show_line(&ce, e, text[0]);
    show_line(&ca, a, text[1]);
    structural(j, "line %zu: expected \"%s\", got \"%s\"", line, text[0], text[1]);
}

/* --- files ----------------------------------------------------------------------------------------------------- */

static hone_rc compare(struct judge *j, const char *path, const char *e, size_t n_e, const char *a, size_t n_a,
                       hone_err *err) {
    bool data_e = is_harness_data(e, n_e), data_a = is_harness_data(a, n_a);
    if (data_e && data_a) {
        struct reader re = {.data = e, .n = n_e}, ra = {.data = a, .n = n_a};
        compare_data(j, &re, &ra);
        if (re.bad)
            return hn_fail(err, HONE_E_INPUT, "'%s' is cut short or malformed; make it again by running the baseline",
                           path);
    } else if (data_e != data_a)
        structural(j, "expected %s, got %s", data_e ? "harness data" : "text", data_a ? "harness data" : "text");
    else if (j->rule == HN_SAME_BYTES)
        compare_bytes(j, e, n_e, a, n_a);
    else
        compare_text(j, e, n_e, a, n_a);
    return HONE_OK;
}

hone_rc hn_parity_files(const char *expected, const char *actual, hn_parity_rule rule, double tol,
                        hn_parity_result *out, hone_err *err) {
    char *e = NULL, *a = NULL;
    size_t n_e, n_a;
    hone_rc rc = hn_read_file(expected, &e, &n_e, err);
    if (rc) return rc;
    hn_parity_result result = {.equal = true};
    struct judge j = {.rule = rule, .tol = tol, .worst = 0, .out = &result};
    hone_err why = {0};
    rc = hn_read_file(actual, &a, &n_a, &why);
    if (rc == HONE_E_NOMEM) {
        free(e);
        return hn_fail(err, rc, "%s", why.text);
    }
    if (rc) structural(&j, "%.190s", why.text);
    rc = rc ? HONE_OK : compare(&j, expected, e, n_e, a, n_a, err);
    if (!rc) *out = result;
    free(e);
    free(a);
    return rc;
}
