/* check_report.c — what CI systems read: JUnit's XML (the schema that Jenkins, GitLab and GitHub's viewers share) and
 * the workflow commands of GitHub Actions. */
#include "check_report.h"

#include <hone/check.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- JUnit ----------------------------------------------------------------------------------------------------- */

/* Length of the UTF-8 sequence at c if XML 1.0 allows it, else 0. */
static size_t xml_length(const unsigned char *c) {
    if (*c < 0x80) return *c >= 0x20 || *c == '\t' || *c == '\n' ? 1 : 0;
    size_t n = *c >= 0xf0 && *c < 0xf5 ? 4 : *c >= 0xe0 ? 3 : *c >= 0xc2 ? 2 : 0;
    if (*c >= 0xf5) n = 0;
    for (size_t i = 1; i < n; i++)
        if ((c[i] & 0xc0) != 0x80) return 0;
    bool no_character = n == 3 && ((c[0] == 0xed && c[1] >= 0xa0) || (c[0] == 0xef && c[1] == 0xbf && c[2] >= 0xbe) ||
                                   (c[0] == 0xe0 && c[1] < 0xa0));
    bool no_range = n == 4 && ((c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] >= 0x90));
    return no_character || no_range ? 0 : n;
}

static void put_xml(FILE *f, const char *text) {
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        size_t n = xml_length(c);
        if (*c == '&')
            fputs("&amp;", f);
        else if (*c == '<')
            fputs("&lt;", f);
        else if (*c == '>')
            fputs("&gt;", f);
        else if (*c == '"')
            fputs("&quot;", f);
        else if (n)
            fwrite(c, 1, n, f);
        else
            fputs("\xef\xbf\xbd", f); /* U+FFFD */
        c += n ? n : 1;
    }
}

static void put_attribute(FILE *f, const char *name, const char *text) {
    fprintf(f, " %s=\"", name);
    put_xml(f, text);
    fputc('"', f);
}

static void put_case(FILE *f, const cli_checked *x) {
    const hone_check_result *r = &x->result;
    const char *status = hone_check_name(r->status);
    fputs("    <testcase classname=\"hone.check\"", f);
    put_attribute(f, "name", x->path);
    fprintf(f, " time=\"%.3f\"", x->seconds);
    if (r->status == HONE_CHECK_VALID) {
        fputs("/>\n", f);
        return;
    }
    const char *element = r->status == HONE_CHECK_BROKEN ? "error" : "failure";
    fprintf(f, ">\n      <%s", element);
    put_attribute(f, "type", status);
    put_attribute(f, "message", r->text);
    fputs(">", f);
    for (size_t i = 0; i < r->n_differences; i++) {
        char *line = cli_format("%s '%s': %s -> %s\n", r->difference[i].part, r->difference[i].what,
                                r->difference[i].then, r->difference[i].now);
        put_xml(f, line);
        free(line);
    }
    fprintf(f, "</%s>\n    </testcase>\n", element);
}

static void put_junit(FILE *f, const cli_checked *list, size_t n) {
    size_t failed = 0, broken = 0;
    double seconds = 0;
    for (size_t i = 0; i < n; i++) {
        broken += list[i].result.status == HONE_CHECK_BROKEN;
        failed += list[i].result.status != HONE_CHECK_VALID && list[i].result.status != HONE_CHECK_BROKEN;
        seconds += list[i].seconds;
    }
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n", f);
    fprintf(f,
            "  <testsuite name=\"hone\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"0\" time=\"%.3f\">\n",
            n, failed, broken, seconds);
    for (size_t i = 0; i < n; i++) put_case(f, &list[i]);
    fputs("  </testsuite>\n</testsuites>\n", f);
}

hone_rc cli_junit_write(const char *path, const cli_checked *list, size_t n, hone_err *err) {
    FILE *f = fopen(path, "we");
    if (!f) return cli_fail(err, HONE_E_IO, "cannot write '%s': %s", path, strerror(errno));
    put_junit(f, list, n);
    bool bad = ferror(f) != 0;
    if (fclose(f)) bad = true;
    return bad ? cli_fail(err, HONE_E_IO, "cannot write '%s': %s", path, strerror(errno)) : HONE_OK;
}

/* --- GitHub ---------------------------------------------------------------------------------------------------- */

/* Escapes of workflow commands; properties know two more. */
static void put_command(FILE *f, const char *text, bool property) {
    for (; *text; text++)
        if (strchr("%\r\n", *text) || (property && strchr(":,", *text)))
            fprintf(f, "%%%02X", (unsigned char)*text);
        else
            fputc(*text, f);
}

void cli_github_put(FILE *f, const cli_checked *list, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const hone_check_result *r = &list[i].result;
        if (r->status == HONE_CHECK_VALID) continue;
        fputs("::error file=", f);
        put_command(f, list[i].path, true);
        fputs(",title=", f);
        char *title = cli_format("hone: %s", hone_check_name(r->status));
        put_command(f, title, true);
        free(title);
        fputs("::", f);
        put_command(f, r->text, false);
        for (size_t k = 0; k < r->n_differences; k++) {
            const hone_difference *d = &r->difference[k];
            char *line = cli_format("\n%s '%s': %s -> %s", d->part, d->what, d->then, d->now);
            put_command(f, line, false);
            free(line);
        }
        fputc('\n', f);
    }
}
