/* json.c — a writer of JSON. It streams, so memory does not grow with the result, and it prints numbers
 * in the shortest text that reads back the same. RFC 8259; texts that are no UTF-8 are repaired. */
#include "cli.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

cli_json cli_json_begin(cli *c, bool compact) {
    c->json_begun = true;
    return cli_json_to(stdout, compact);
}

cli_json cli_json_to(FILE *f, bool compact) { return (cli_json){.f = f, .compact = compact}; }

void cli_json_end(cli_json *j) {
    while (j->depth) cli_json_close(j);
    putc('\n', j->f);
}

static void new_line(const cli_json *j) {
    if (!j->compact) fprintf(j->f, "\n%*s", (int)(2 * j->depth), "");
}

/* The separator before a value: none after a key, else a comma from the second value on. */
static void before(cli_json *j) {
    if (j->key || !j->depth) {
        j->key = false;
        return;
    }
    if (j->some[j->depth]) fputs(j->compact ? ", " : ",", j->f);
    j->some[j->depth] = true;
    new_line(j);
}

static void open(cli_json *j, bool array) {
    before(j);
    putc(array ? '[' : '{', j->f);
    if (j->depth + 1 < sizeof j->array / sizeof *j->array) j->depth++;
    j->array[j->depth] = array;
    j->some[j->depth] = false;
}
void cli_json_object(cli_json *j) { open(j, false); }
void cli_json_array(cli_json *j) { open(j, true); }

void cli_json_close(cli_json *j) {
    bool array = j->array[j->depth], some = j->some[j->depth];
    j->depth--;
    if (some) new_line(j);
    putc(array ? ']' : '}', j->f);
}

/* Length of the well-formed UTF-8 sequence at p, 0 if there is none (Unicode 15, table 3-7). */
static size_t sequence(const unsigned char *p) {
    if (p[0] < 0x80) return 1;
    if (p[0] < 0xc2 || p[0] > 0xf4) return 0;
    size_t n = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80) return 0;
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f)) return 0;
    if ((p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f)) return 0;
    return n;
}

static void put_text(const cli_json *j, const char *text) {
    putc('"', j->f);
    for (const unsigned char *p = (const unsigned char *)text; *p;) {
        size_t n = sequence(p);
        if (!n)
            fputs("\\ufffd", j->f);
        else if (*p == '"' || *p == '\\')
            fprintf(j->f, "\\%c", *p);
        else if (*p == '\n')
            fputs("\\n", j->f);
        else if (*p == '\t')
            fputs("\\t", j->f);
        else if (*p < 0x20 || *p == 0x7f)
            fprintf(j->f, "\\u%04x", *p);
        else
            fwrite(p, 1, n, j->f);
        p += n ? n : 1;
    }
    putc('"', j->f);
}

void cli_json_key(cli_json *j, const char *key) {
    before(j);
    put_text(j, key);
    fputs(": ", j->f);
    j->key = true;
}

void cli_json_text(cli_json *j, const char *text) {
    before(j);
    if (text)
        put_text(j, text);
    else
        fputs("null", j->f);
}

void cli_json_number(cli_json *j, double x) {
    char text[CLI_TEXT_N];
    before(j);
    fputs(isfinite(x) ? cli_text_exact(x, text) : "null", j->f);
}

void cli_json_count(cli_json *j, uint64_t x) {
    before(j);
    fprintf(j->f, "%" PRIu64, x);
}

void cli_json_bool(cli_json *j, bool x) {
    before(j);
    fputs(x ? "true" : "false", j->f);
}

void cli_json_raw(cli_json *j, const char *json) {
    before(j);
    fputs(json && *json ? json : "null", j->f);
}

void cli_json_ktext(cli_json *j, const char *key, const char *text) {
    cli_json_key(j, key);
    cli_json_text(j, text);
}
void cli_json_knumber(cli_json *j, const char *key, double x) {
    cli_json_key(j, key);
    cli_json_number(j, x);
}
void cli_json_kcount(cli_json *j, const char *key, uint64_t x) {
    cli_json_key(j, key);
    cli_json_count(j, x);
}
void cli_json_kbool(cli_json *j, const char *key, bool x) {
    cli_json_key(j, key);
    cli_json_bool(j, x);
}
void cli_json_kraw(cli_json *j, const char *key, const char *json) {
    cli_json_key(j, key);
    cli_json_raw(j, json);
}
