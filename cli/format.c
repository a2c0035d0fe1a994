/* format.c — numbers and texts as people read them. */
#include "cli.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

/* Three significant digits in the largest unit that leaves at least 1. */
static const char *scaled(double x, const double *unit, const char *const *name, size_t n, char *buf) {
    size_t i = 0;
    double a = fabs(x);
    while (i + 1 < n && a < unit[i] * 0.9995) i++;
    double y = x / unit[i];
    int digits = fabs(y) >= 99.95 ? 0 : fabs(y) >= 9.995 ? 1 : 2;
    snprintf(buf, CLI_TEXT_N, "%.*f %s", digits, y, name[i]);
    return buf;
}

const char *cli_text_seconds(double s, char *buf) {
    static const double unit[] = {1, 1e-3, 1e-6, 1e-9};
    static const char *const name[] = {"s", "ms", "us", "ns"};
    if (isnan(s)) return strcpy(buf, "-");
    if (s == 0) return strcpy(buf, "0 s");
    if (!isfinite(s) || fabs(s) >= 1e6) return snprintf(buf, CLI_TEXT_N, "%.3g s", s), buf;
    return scaled(s, unit, name, 4, buf);
}

const char *cli_text_bytes(double b, char *buf) {
    static const double unit[] = {0x1p40, 0x1p30, 0x1p20, 0x1p10};
    static const char *const name[] = {"TiB", "GiB", "MiB", "KiB"};
    if (isnan(b)) return strcpy(buf, "-");
    if (!isfinite(b) || fabs(b) >= 0x1p60) return snprintf(buf, CLI_TEXT_N, "%.3g B", b), buf;
    if (fabs(b) < 1024) return snprintf(buf, CLI_TEXT_N, "%.0f B", b), buf;
    return scaled(b, unit, name, 4, buf);
}

const char *cli_text_duration(double s, char *buf) {
    if (!isfinite(s) || s > 1e8) return strcpy(buf, "-");
    long t = s < 0 ? 0 : (long)(s + 0.5);
    if (t < 3600)
        snprintf(buf, CLI_TEXT_N, "%ld:%02ld", t / 60, t % 60);
    else
        snprintf(buf, CLI_TEXT_N, "%ld:%02ld:%02ld", t / 3600, t / 60 % 60, t % 60);
    return buf;
}

const char *cli_text_exact(double x, char *buf) {
    if (x == floor(x) && fabs(x) < 1e15) return snprintf(buf, CLI_TEXT_N, "%.0f", x == 0 ? 0 : x), buf;
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(buf, CLI_TEXT_N, "%.*g", digits, x);
        if (strtod(buf, NULL) == x) break;
    }
    return buf;
}

const char *cli_text_number(double x, char *buf) {
    char plain[CLI_TEXT_N];
    if (isnan(x)) return strcpy(buf, "-");
    if (isinf(x)) return strcpy(buf, x > 0 ? "infinite" : "-infinite");
    if (x != floor(x) || fabs(x) >= 1e15) return snprintf(buf, CLI_TEXT_N, "%.4g", x), buf;
    snprintf(plain, sizeof plain, "%.0f", fabs(x));
    size_t n = strlen(plain), k = 0;
    if (x < 0) buf[k++] = '-';
    for (size_t i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0) buf[k++] = ',';
        buf[k++] = plain[i];
    }
    buf[k] = 0;
    return buf;
}

const char *cli_text_ratio(const cli *c, double x, char *buf) {
    if (!isfinite(x)) return strcpy(buf, "-");
    snprintf(buf, CLI_TEXT_N, "%.3f%s", x, c->utf8 ? "\u00d7" : "x");
    return buf;
}

const char *cli_text_when(double unix_s, char *buf) {
    time_t t = (time_t)unix_s;
    struct tm tm;
    if (!(unix_s > 0) || !localtime_r(&t, &tm) || !strftime(buf, CLI_TEXT_N, "%Y-%m-%d %H:%M", &tm)) strcpy(buf, "-");
    return buf;
}

static bool ends_with(const char *s, size_t n, const char *end) {
    size_t m = strlen(end);
    return n >= m && strncmp(s + n - m, end, m) == 0;
}

/* The name determines the unit: built-in metrics have fixed ones (docs/workload.md), the harness reports seconds. */
const char *cli_text_quantity(const char *expr, double x, char *buf) {
    const char *open = strchr(expr, '('), *name = open ? open + 1 : expr;
    size_t n = strcspn(name, ")");
    if (ends_with(name, n, "time") || ends_with(name, n, "latency")) return cli_text_seconds(x, buf);
    if (ends_with(name, n, "_size") || strncmp(name, "memory", n) == 0) return cli_text_bytes(x, buf);
    return cli_text_number(x, buf);
}

/* --- texts of any origin -------------------------------------------------------------------------------------- */

/* Next character of *p: its bytes, and the columns it takes. 0 columns: it must not be printed as it is. */
static size_t next(const char *p, mbstate_t *state, int *columns) {
    wchar_t w;
    size_t n = mbrtowc(&w, p, MB_CUR_MAX, state);
    if (n == (size_t)-1 || n == (size_t)-2 || n == 0) {
        memset(state, 0, sizeof *state);
        *columns = 0;
        return 1;
    }
    *columns = wcwidth(w) > 0 ? wcwidth(w) : 0;
    return n;
}

size_t cli_columns(const char *text) {
    mbstate_t state = {0};
    size_t sum = 0;
    for (int columns; *text; sum += columns ? (size_t)columns : 1) text += next(text, &state, &columns);
    return sum;
}

void cli_put(const cli *c, FILE *f, const char *text, size_t most) {
    mbstate_t state = {0};
    const char *more = c->utf8 ? "\u2026" : "..";
    size_t total = cli_columns(text), tail = c->utf8 ? 1 : 2;
    size_t room = !most || total <= most ? SIZE_MAX : most > tail ? most - tail : 0;
    for (size_t used = 0; *text;) {
        int columns;
        size_t n = next(text, &state, &columns);
        used += columns ? (size_t)columns : 1;
        if (used > room) break;
        if (columns)
            fwrite(text, 1, n, f);
        else
            fputc(isspace((unsigned char)*text) ? ' ' : '?', f);
        text += n;
    }
    if (room != SIZE_MAX) fprintf(f, "%.*s", most < tail ? (int)most : 8, most < tail ? "." : more);
}

/* --- paragraphs ----------------------------------------------------------------------------------------------- */

/* Length of the next word, counting a `literal with spaces` as one. */
static size_t word_length(const char *p) {
    size_t n = 0;
    for (bool quoted = false; p[n] && p[n] != '\n' && (quoted || p[n] != ' '); n++) quoted ^= p[n] == '`';
    return n;
}

static size_t put_word(FILE *f, const char *p, size_t n, bool color) {
    size_t columns = 0;
    bool bold = false;
    for (size_t i = 0; i < n; i++) {
        if (color && p[i] == '`')
            bold = !bold, fputs(cli_paint(true, bold ? CLI_BOLD : CLI_PLAIN), f);
        else
            fputc(p[i], f), columns++;
    }
    return columns;
}

void cli_wrap(FILE *f, const char *text, int indent, int width, bool color) {
    int column = 0;
    for (const char *p = text; *p;) {
        size_t n = word_length(p);
        if (column && column + 1 + (int)n > width) fputc('\n', f), column = 0;
        if (!column && n)
            column = fprintf(f, "%*s", indent, "");
        else if (n)
            fputc(' ', f), column++;
        column += (int)put_word(f, p, n, color);
        p += n;
        while (*p == ' ') p++;
        if (*p == '\n') fputc('\n', f), column = 0, p++;
    }
    if (column) fputc('\n', f);
}
