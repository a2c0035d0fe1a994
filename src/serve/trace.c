/* trace.c — recorded requests, read from a file of JSON lines and written as one. */
#include "serve/trace.h"

#include "base/err.h"
#include "base/fs.h"
#include "base/str.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TOKENS = 1000000 };

bool hn_trace_add(hn_trace *t, hn_trace_row row) {
    if (t->n == t->room) {
        size_t room = t->room ? 2 * t->room : 256;
        hn_trace_row *more = realloc(t->row, room * sizeof *more);
        if (!more) return false;
        t->row = more;
        t->room = room;
    }
    t->row[t->n++] = row;
    return true;
}

void hn_trace_free(hn_trace *t) {
    free(t->row);
    *t = (hn_trace){0};
}

static int by_time(const void *a, const void *b) {
    double x = ((const hn_trace_row *)a)->at_s, y = ((const hn_trace_row *)b)->at_s;
    return (x > y) - (x < y);
}

/* Times from the first on. */
static void put_in_order(hn_trace *t) {
    if (!t->n) return;
    qsort(t->row, t->n, sizeof *t->row, by_time);
    for (size_t i = t->n; i-- > 0;) t->row[i].at_s -= t->row[0].at_s;
}

static hone_rc read_line(const json_t *o, const char *path, size_t at, hn_trace *t, hone_err *err) {
    const json_t *time = json_object_get(o, "time"), *whole = json_object_get(o, "whole_s");
    json_int_t prompt = json_integer_value(json_object_get(o, "prompt_tokens"));
    json_int_t answer = json_integer_value(json_object_get(o, "answer_tokens"));
    double at_s = json_number_value(time) - json_number_value(whole);
    if (json_is_object(o) && whole && !(prompt > 0 && answer > 0)) return HONE_OK; /* a server's other calls */
    if (!json_is_number(time) || !isfinite(at_s) || prompt < 1 || answer < 1 || prompt > MOST_TOKENS ||
        answer > MOST_TOKENS)
        return hn_fail(err, HONE_E_INPUT,
                       "%s:%zu: no request; write {\"time\": SECONDS, \"prompt_tokens\": N, \"answer_tokens\": N}, "
                       "with N from 1 to %d",
                       path, at, MOST_TOKENS);
    return hn_trace_add(t, (hn_trace_row){at_s, (uint32_t)prompt, (uint32_t)answer})
               ? HONE_OK
               : hn_fail(err, HONE_E_NOMEM, "out of memory");
}

hone_rc hn_trace_read(const char *path, hn_trace *out, hone_err *err) {
    char *text = NULL;
    size_t n = 0, at = 0;
    hn_trace t = {0};
    hone_rc rc = hn_read_file(path, &text, &n, err);
    for (char *line = text, *end = text; !rc && line < text + n; line = end + 1) {
        if (!(end = memchr(line, '\n', (size_t)(text + n - line)))) end = text + n;
        at++;
        if (strspn(line, " \t\r") >= (size_t)(end - line)) continue;
        json_t *o = json_loadb(line, (size_t)(end - line), 0, NULL);
        rc = read_line(o, path, at, &t, err);
        json_decref(o);
    }
    if (!rc && !t.n) rc = hn_fail(err, HONE_E_INPUT, "%s: there is no request in it", path);
    free(text);
    if (rc) {
        hn_trace_free(&t);
        return rc;
    }
    put_in_order(&t);
    *out = t;
    return HONE_OK;
}

hone_rc hn_trace_write(const char *path, hn_trace *t, hone_err *err) {
    hn_str s = {0};
    put_in_order(t);
    for (size_t i = 0; i < t->n; i++)
        hn_str_addf(&s, "{\"time\": %.6f, \"prompt_tokens\": %u, \"answer_tokens\": %u}\n", t->row[i].at_s,
                    t->row[i].prompt, t->row[i].answer);
    hone_rc rc =
        s.failed ? hn_fail(err, HONE_E_NOMEM, "out of memory") : hn_write_file(path, s.text ? s.text : "", s.n, err);
    hn_str_free(&s);
    return rc;
}
