/* gguf_values FILE: what the reader of GGUF sees, as JSON: keys (name, kind, value or length), tensors (name, type,
 * dim). gguf_values FILE TENSOR: its values as raw floats on stdout. An error goes to stderr, exit status 1. */
#include "base/str.h"
#include "base/yaml.h"
#include "gguf/gguf.h"
#include "ir/blocks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed(const hone_err *err) {
    fprintf(stderr, "%s\n", err->text);
    return 1;
}

static void add_value(hn_str *s, const hn_gguf_pair *p) {
    double x;
    uint64_t n;
    bool b;
    char number[32];
    hn_gguf_text t;
    if (hn_gguf_string(p, &t)) {
        char *text = strndup(t.text, t.n);
        hn_yaml_add_quoted(s, text);
        free(text);
    } else if (hn_gguf_u64(p, &n))
        hn_str_addf(s, "%" PRIu64, n);
    else if (hn_gguf_bool(p, &b))
        hn_str_add(s, b ? "true" : "false");
    else if (hn_gguf_f64(p, &x))
        hn_str_add(s, hn_double_text(x, number));
    else {
        hn_str_add(s, "[");
        for (uint64_t i = 0; i < p->n && hn_gguf_item_f64(p, i, &x); i++)
            hn_str_addf(s, "%s%s", i ? "," : "", hn_double_text(x, number));
        hn_str_addf(s, "],\"n\":%" PRIu64, p->n);
    }
}

static int list(hn_gguf *g) {
    hn_str s = {0};
    hn_str_addf(&s, "{\"version\":%u,\"keys\":[", hn_gguf_version(g));
    for (size_t i = 0; i < hn_gguf_pairs(g); i++) {
        const hn_gguf_pair *p = hn_gguf_pair_at(g, i);
        hn_str_add(&s, i ? ",{\"key\":" : "{\"key\":");
        hn_yaml_add_quoted(&s, p->key);
        hn_str_add(&s, ",\"value\":");
        add_value(&s, p);
        hn_str_add(&s, "}");
    }
    hn_str_add(&s, "],\"tensors\":[");
    for (size_t i = 0; i < hn_gguf_tensors(g); i++) {
        const hn_gguf_tensor *t = hn_gguf_tensor_at(g, i);
        hn_str_add(&s, i ? ",{\"name\":" : "{\"name\":");
        hn_yaml_add_quoted(&s, t->name);
        hn_str_addf(&s, ",\"type\":\"%s\",\"dim\":[", hn_block_type_of(t->type)->name);
        for (size_t d = 0; d < t->rank; d++) hn_str_addf(&s, "%s%" PRIu64, d ? "," : "", t->dim[d]);
        hn_str_add(&s, "]}");
    }
    hn_str_add(&s, "]}\n");
    fputs(s.text, stdout);
    hn_str_free(&s);
    return 0;
}

static int values(const hn_gguf *g, const char *name) {
    const hn_gguf_tensor *t = hn_gguf_tensor_named(g, name);
    const hn_block_type *type = t ? hn_block_type_of(t->type) : NULL;
    if (!type || !type->decode) {
        fprintf(stderr, "no tensor '%s' whose values are read\n", name);
        return 1;
    }
    float *out = malloc(t->n_elements * sizeof *out);
    hn_block_decode(type, t->data, t->n_elements, out);
    bool good = fwrite(out, sizeof *out, t->n_elements, stdout) == t->n_elements;
    free(out);
    return !good;
}

int main(int argc, char **argv) {
    hn_gguf *g;
    hone_err err = {0};
    if (argc < 2) return 2;
    if (hn_gguf_open(argv[1], &g, &err)) return failed(&err);
    int rc = argc > 2 ? values(g, argv[2]) : list(g);
    hn_gguf_close(g);
    return rc;
}
