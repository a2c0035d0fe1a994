/* report/page.c — fills the template: `<!--hone:NAME-->` marks in page.html stand for what the table below adds.
 *
 * All data goes in as one JSON block in which no `<` is left, so that nothing in a name or in a compiler's message can
 * end it; the script puts it into the page as text, never as markup. As a second protection a Content-Security-Policy
 * allows only this page's own script and style (their nonce is a hash of the data, so no name in the data can contain
 * it) and no network access. */
#include "report/report_int.h"

#include "base/err.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

/* --- texts of any origin ----------------------------------------------------------------------------------------- */

void hn_report_clean(hn_str *s, const char *text) {
    for (const char *p = text; *p;) {
        uint32_t c = 0;
        size_t n = hn_utf8_next(p, SIZE_MAX, &c);
        bool control = (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7f && c < 0xa0);
        if (!n)
            hn_str_add(s, "\ufffd");
        else if (control)
            hn_str_add(s, " ");
        else
            hn_str_add_n(s, p, n);
        p += n ? n : 1;
    }
}

void hn_report_escape(hn_str *s, const char *text) {
    hn_str clean = {0};
    hn_report_clean(&clean, text);
    s->failed |= clean.failed;
    for (const char *p = clean.text; p && *p; p++) {
        static const char special[] = "&<>\"'";
        static const char *const entity[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
        const char *at = strchr(special, *p);
        if (at)
            hn_str_add(s, entity[at - special]);
        else
            hn_str_add_n(s, p, 1);
    }
    hn_str_free(&clean);
}

/* --- the template ------------------------------------------------------------------------------------------------ */

typedef struct page {
    const char *kind, *title, *name; /* "report"; texts of any origin */
    const char *standing, *sentence; /* the class of the sentence at the top, and it: of any origin */
    const char *sections, *script;   /* files of the page */
    const char *json;                /* without < */
    char nonce[33];
} page;

static void add_nonce(const page *p, hn_str *s) { hn_str_add(s, p->nonce); }
static void add_kind(const page *p, hn_str *s) { hn_str_add(s, p->kind); }
static void add_title(const page *p, hn_str *s) { hn_report_escape(s, p->title); }
static void add_name(const page *p, hn_str *s) { hn_report_escape(s, p->name); }
static void add_standing(const page *p, hn_str *s) { hn_str_add(s, p->standing); }
static void add_verdict(const page *p, hn_str *s) { hn_report_escape(s, p->sentence); }
static void add_sections(const page *p, hn_str *s) { hn_str_add(s, p->sections); }
static void add_style(const page *p, hn_str *s) { (void)p, hn_str_add(s, hn_page_css); }
static void add_chart(const page *p, hn_str *s) { (void)p, hn_str_add(s, hn_chart_js); }
static void add_shared(const page *p, hn_str *s) { (void)p, hn_str_add(s, hn_page_js); }
static void add_script(const page *p, hn_str *s) { hn_str_add(s, p->script); }
static void add_licence(const page *p, hn_str *s) { (void)p, hn_report_escape(s, hn_chart_licence); }
static void add_version(const page *p, hn_str *s) { (void)p, hn_str_add(s, HONE_VERSION); }
static void add_data(const page *p, hn_str *s) { hn_str_add(s, p->json); }

static const struct {
    const char *name;
    void (*add)(const page *p, hn_str *s);
} mark[] = {
    {"nonce", add_nonce},       {"kind", add_kind},       {"title", add_title},       {"name", add_name},
    {"standing", add_standing}, {"verdict", add_verdict}, {"sections", add_sections}, {"style", add_style},
    {"chart", add_chart},       {"shared", add_shared},   {"script", add_script},     {"licence", add_licence},
    {"data", add_data},         {"version", add_version},
};

static void add_mark(const page *p, const char *name, size_t n, hn_str *s) {
    for (size_t i = 0; i < sizeof mark / sizeof *mark; i++)
        if (strlen(mark[i].name) == n && !memcmp(mark[i].name, name, n)) mark[i].add(p, s);
}

/* Inserted text is not searched for marks. */
static void fill(const page *p, hn_str *s) {
    static const char open[] = "<!--hone:", close[] = "-->";
    const char *from = hn_page_html;
    for (const char *at; (at = strstr(from, open)); from = strstr(at, close) + sizeof close - 1) {
        const char *name = at + sizeof open - 1;
        hn_str_add_n(s, from, (size_t)(at - from));
        add_mark(p, name, (size_t)(strstr(name, close) - name), s);
    }
    hn_str_add(s, from);
}

static hone_rc make(page *p, char **html, size_t *n, hone_err *err) {
    hn_hash h;
    hn_hash_begin(&h);
    hn_hash_text(&h, p->json);
    hn_hash_end(&h, p->nonce);
    hn_str s = {0};
    fill(p, &s);
    size_t size = s.n;
    char *text = hn_str_take(&s);
    if (!text) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    *html = text;
    if (n) *n = size;
    return HONE_OK;
}

void hn_report_json_safe(hn_str *s, const char *json) {
    for (const char *p = json; *p;) {
        size_t n = strcspn(p, "<>&");
        hn_str_add_n(s, p, n);
        p += n;
        if (*p) hn_str_addf(s, "\\u%04x", (unsigned char)*p++);
    }
}

/* --- the pages --------------------------------------------------------------------------------------------------- */

hone_rc hone_report_html(const hone_report *report, char **html, size_t *n, hone_err *err) {
    char *json = NULL;
    hn_str title = {0};
    hone_rc rc = hone_report_json(report, &json, err);
    if (rc) return rc;
    hn_str_addf(&title, "%s \u00b7 session %lld", report->session.workload, (long long)report->session.id);
    page p = {.kind = "report",
              .title = title.text,
              .name = report->session.workload,
              .standing = hone_report_standing_name(report->standing),
              .sentence = report->verdict,
              .sections = hn_report_page_html,
              .script = hn_report_page_js,
              .json = json};
    rc = title.failed ? hn_fail(err, HONE_E_NOMEM, "out of memory") : make(&p, html, n, err);
    hn_str_free(&title);
    hone_free(json);
    return rc;
}

static hone_rc write_page(hone_rc rc, char *html, size_t size, const char *path, size_t *n, hone_err *err) {
    if (!rc) rc = hn_write_file(path, html, size, err);
    hone_free(html);
    if (!rc && n) *n = size;
    return rc;
}

hone_rc hone_report_write(const hone_report *report, const char *path, size_t *n, hone_err *err) {
    char *html = NULL;
    size_t size = 0;
    hone_rc rc = hone_report_html(report, &html, &size, err);
    return write_page(rc, html, size, path, n, err);
}

/* A page with one heading, whose script draws the JSON. */
static hone_rc write_drawn(page p, const char *json, const char *path, size_t *n, hone_err *err) {
    char *html = NULL;
    size_t size = 0;
    hn_str safe = {0};
    hn_report_json_safe(&safe, json);
    p.json = safe.text;
    hone_rc rc = safe.failed || !safe.text ? hn_fail(err, HONE_E_NOMEM, "out of memory") : make(&p, &html, &size, err);
    hn_str_free(&safe);
    return write_page(rc, html, size, path, n, err);
}

hone_rc hone_report_profile(const char *name, const char *sentence, const char *json, const char *path, size_t *n,
                            hone_err *err) {
    page p = {.kind = "profile",
              .title = name,
              .name = name,
              .standing = "plain",
              .sentence = sentence,
              .sections = hn_profile_page_html,
              .script = hn_profile_page_js};
    return write_drawn(p, json, path, n, err);
}

hone_rc hone_report_load(const char *name, const char *sentence, const char *json, const char *path, size_t *n,
                         hone_err *err) {
    page p = {.kind = "load",
              .title = name,
              .name = name,
              .standing = "plain",
              .sentence = sentence,
              .sections = hn_load_page_html,
              .script = hn_load_page_js};
    return write_drawn(p, json, path, n, err);
}

hone_rc hn_report_team(const char *sentence, const char *standing, const char *json, const char *path, size_t *n,
                       hone_err *err) {
    page p = {.kind = "team report",
              .title = "what was tuned",
              .name = "What was tuned",
              .standing = standing,
              .sentence = sentence,
              .sections = hn_team_page_html,
              .script = hn_team_page_js};
    return write_drawn(p, json, path, n, err);
}
