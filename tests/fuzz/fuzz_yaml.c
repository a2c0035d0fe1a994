/* tests/fuzz/fuzz_yaml.c — the YAML reader: any bytes give a tree or an error, and what is a tree can be walked. */
#include "base/yaml.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_all_ways(const hn_yaml *doc, const hn_ynode *x) {
    hone_err err;
    double d;
    int64_t i;
    uint64_t u;
    bool b;
    const char *text;
    hn_yaml_double(doc, x, &d, &err);
    hn_yaml_int(doc, x, &i, &err);
    hn_yaml_bool(doc, x, &b, &err);
    hn_yaml_text(doc, x, &text, &err);
    hn_yaml_seconds(doc, x, &d, &err);
    hn_yaml_bytes(doc, x, &u, &err);
}

/* A scalar written by hn_yaml_add_scalar reads back as the same text. */
static void rewrite(const char *text) {
    hn_str s = {0};
    hn_yaml_add_scalar(&s, text);
    hn_yaml *doc;
    if (hn_yaml_parse(s.text, s.n, "rewritten", &doc, NULL) != HONE_OK) abort();
    if (hn_yaml_root(doc)->kind != HN_Y_SCALAR || strcmp(hn_yaml_root(doc)->text, text) != 0) abort();
    hn_yaml_free(doc);
    hn_str_free(&s);
}

static void walk(const hn_yaml *doc, const hn_ynode *x) {
    static const char *const known[] = {"name", "build", "run"};
    hone_err err;
    if (x->line < 1 || x->column < 1) abort();
    read_all_ways(doc, x);
    if (x->kind == HN_Y_SCALAR) rewrite(x->text);
    if (x->kind == HN_Y_MAP) hn_yaml_check_keys(doc, x, "the file", known, 3, &err);
    for (size_t k = 0; k < x->n && (x->kind == HN_Y_MAP || x->kind == HN_Y_SEQ); k++) {
        if (x->kind == HN_Y_MAP && hn_yaml_get(x, x->key[k]->text) != x->item[k]) abort();
        walk(doc, x->item[k]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hone_err err;
    hn_yaml *doc = NULL;
    if (hn_yaml_parse((const char *)data, size, "fuzz", &doc, &err) == HONE_OK) walk(doc, hn_yaml_root(doc));
    hn_yaml_free(doc);
    return 0;
}
