/* test_registry.c — the operators that hone knows, and that docs/onnx.md lists them all and no others. */
#include "tap.h"

#include <hone/import.h>
#include <hone/onnx.h>

#include <ctype.h>

static char *read_doc(void) {
    char path[4096];
    const char *root = getenv("HONE_ROOT");
    snprintf(path, sizeof path, "%s/docs/onnx.md", root ? root : ".");
    FILE *f = fopen(path, "rb");
    char *text = calloc(1, 1 << 20);
    if (!f || !text || !fread(text, 1, (1 << 20) - 1, f)) {
        printf("# cannot read '%s'\n", path);
        exit(1);
    }
    fclose(f);
    return text;
}

/* The part of the page below the heading of a domain, up to the next heading. */
static const char *section_of(const char *doc, const char *domain, const char **end) {
    char head[200];
    snprintf(head, sizeof head, "\n### %s\n", domain[0] ? domain : "ai.onnx");
    const char *at = strstr(doc, head);
    if (!at) return NULL;
    at += strlen(head);
    *end = strstr(at, "\n### ");
    if (!*end) *end = at + strlen(at);
    return at;
}

static int lists(const char *doc, const char *domain, const char *name) {
    char word[200];
    const char *end = NULL, *at = section_of(doc, domain, &end);
    snprintf(word, sizeof word, "`%s`", name);
    at = at ? strstr(at, word) : NULL;
    return at && at < end;
}

static int is_row(const char *domain, const char *name, size_t n) {
    hone_import_operator o;
    for (size_t i = 0; hone_import_operator_at(i, &o); i++)
        if (!strcmp(o.domain, domain) && strlen(o.name) == n && !strncmp(o.name, name, n)) return 1;
    return 0;
}

static void test_rows(void) {
    hone_import_operator o, p;
    int good = 1, apart = 1;
    for (size_t i = 0; hone_import_operator_at(i, &o); i++) {
        good &= o.name[0] && isalpha((unsigned char)o.name[0]) && o.since >= 1 && o.since <= o.until;
        for (size_t k = 0; k < i && hone_import_operator_at(k, &p); k++)
            if (!strcmp(o.domain, p.domain) && !strcmp(o.name, p.name) && o.since <= p.until && p.since <= o.until) {
                printf("# %s: opsets %d to %d and %d to %d\n", o.name, o.since, o.until, p.since, p.until);
                apart = 0;
            }
    }
    ok(good, "registry/rows_are_sane");
    ok(apart, "registry/opsets_of_an_operator_do_not_overlap");
}

static void test_doc(const char *doc) {
    hone_import_operator o;
    const char *domains[16];
    size_t n = 0;
    int all = 1, known = 1;
    for (size_t i = 0; hone_import_operator_at(i, &o); i++) {
        size_t k = 0;
        while (k < n && strcmp(domains[k], o.domain) != 0) k++;
        if (k == n && n < 16) domains[n++] = o.domain;
        if (lists(doc, o.domain, o.name)) continue;
        printf("# docs/onnx.md lacks %s %s\n", o.domain, o.name);
        all = 0;
    }
    ok(all, "registry/docs_list_every_operator");
    for (size_t k = 0; k < n; k++) {
        const char *end = NULL, *p = section_of(doc, domains[k], &end);
        while (p && (p = strchr(p, '`')) && p < end) {
            size_t length = strcspn(++p, "`");
            if (!is_row(domains[k], p, length)) {
                printf("# docs/onnx.md lists %.*s, which hone lacks\n", (int)length, p);
                known = 0;
            }
            p += length + 1;
        }
    }
    ok(known, "registry/docs_list_no_other");
}

int main(void) {
    char *doc = read_doc();
    test_rows();
    test_doc(doc);
    free(doc);
    return done_testing();
}
