/* exec/library.c — what a library holds: its own tables, and what the manifest beside it adds. */
#include "exec/library.h"

#include "base/err.h"
#include "base/fs.h"
#include "base/yaml.h"

#include <hone/artifact.h>

#include <dlfcn.h>
#include <string.h>
#include <sys/stat.h>

typedef struct writer {
    hn_str out;
    const hn_yaml *doc; /* the manifest, or NULL */
} writer;

static void add_text(hn_str *s, const char *text) {
    if (text)
        hn_yaml_add_quoted(s, text);
    else
        hn_str_add(s, "null");
}

static const hn_ynode *fact(const writer *w, const char *key) {
    return w->doc ? hn_yaml_get(hn_yaml_root(w->doc), key) : NULL;
}

static const char *fact_text(const writer *w, const char *key) {
    const hn_ynode *x = fact(w, key);
    return x && x->kind == HN_Y_SCALAR ? x->text : NULL;
}

/* Of the list `key` the value `name` of the entry of this target. */
static const char *of_target(const writer *w, const char *key, const char *target, const char *name) {
    const hn_ynode *list = fact(w, key);
    for (size_t i = 0; list && list->kind == HN_Y_SEQ && i < list->n; i++) {
        const hn_ynode *t = hn_yaml_get(list->item[i], "target"), *x = hn_yaml_get(list->item[i], name);
        if (t && x && t->kind == HN_Y_SCALAR && x->kind == HN_Y_SCALAR && !strcmp(t->text, target)) return x->text;
    }
    return NULL;
}

static void add_ports(hn_str *s, const char *key, const hone_model_port *p, int32_t n) {
    hn_str_addf(s, ", \"%s\": [", key);
    for (int32_t i = 0; i < n; i++) {
        hn_str_addf(s, "%s{\"name\": ", i ? ", " : "");
        add_text(s, p[i].name);
        hn_str_addf(s, ", \"type\": \"%s\", \"shape\": ", hone_dtype_name((hone_dtype)p[i].dtype));
        add_text(s, p[i].shape);
        hn_str_add(s, "}");
    }
    hn_str_add(s, "]");
}

static void add_target(writer *w, const hone_model *m) {
    hn_str *s = &w->out;
    hn_str_add(s, "{\"name\": ");
    add_text(s, m->target);
    hn_str_addf(s, ", \"device\": %s, \"kernels\": %d, \"arena_b\": %llu, \"machine_code\": ",
                m->device ? "true" : "false", m->n_kernels, (unsigned long long)m->arena_b);
    add_text(s, of_target(w, "machine_code", m->target, "images"));
    hn_str_add(s, ", \"split\": ");
    add_text(s, of_target(w, "split", m->target, "text"));
    hn_str_add(s, "}");
}

static void add_versions(hn_str *s, const hone_model *m) {
    hn_str_add(s, ", \"versions\": [");
    for (int32_t i = 0; i < m->n_versions; i++) {
        hn_str_add(s, i ? ", {\"sizes\": " : "{\"sizes\": ");
        add_text(s, m->version[i].sizes);
        hn_str_addf(s, ", \"calls\": %d, \"arena_b\": %llu}", m->version[i].n_calls,
                    (unsigned long long)m->version[i].arena_b);
    }
    hn_str_add(s, "]");
}

static void add_library(writer *w, const char *path, const hone_model *m) {
    hn_str *s = &w->out;
    struct stat st;
    hn_str_add(s, "{\"file\": ");
    add_text(s, path);
    hn_str_add(s, ", \"name\": ");
    add_text(s, m->name);
    hn_str_add(s, ", \"hone\": ");
    add_text(s, m->hone_version);
    hn_str_add(s, ", \"taken\": ");
    add_text(s, m->target);
    hn_str_add(s, ", \"compiler\": ");
    add_text(s, fact_text(w, "compiler"));
    hn_str_add(s, ", \"numeric\": ");
    add_text(s, fact_text(w, "numeric"));
    hn_str_addf(s, ", \"library_b\": %lld, \"weights_b\": %llu, \"weights\": ",
                stat(path, &st) ? 0LL : (long long)st.st_size, (unsigned long long)m->weights_b);
    add_text(s, fact_text(w, "weights"));
    hn_str_add(s, ", \"targets\": [");
    for (int32_t i = 0; i < m->n_targets; i++) {
        if (i) hn_str_add(s, ", ");
        add_target(w, m->targets[i]);
    }
    hn_str_add(s, "]");
    add_versions(s, m);
    add_ports(s, "inputs", m->input, m->n_inputs);
    add_ports(s, "outputs", m->output, m->n_outputs);
    add_ports(s, "states", m->state, m->n_states);
    hn_str_add(s, "}");
}

/* Beside the library: X.so, X.manifest. NULL: there is none that can be read. */
static hn_yaml *open_manifest(const char *path) {
    hn_str name = {0};
    hn_yaml *doc = NULL;
    size_t n = strlen(path);
    hn_str_addf(&name, "%.*s.manifest", n > 3 && !strcmp(path + n - 3, ".so") ? (int)n - 3 : (int)n, path);
    if (!name.failed && hn_exists(name.text) && hn_yaml_load(name.text, &doc, NULL)) doc = NULL;
    hn_str_free(&name);
    return doc;
}

hone_rc hone_artifact_inspect(const char *path, char **json, hone_err *err) {
    void *library = NULL;
    const hone_model *m = NULL;
    hone_rc rc = hn_library_open(path, &library, &m, err);
    hn_yaml *doc = rc ? NULL : open_manifest(path);
    writer w = {.doc = doc};
    if (!rc) {
        add_library(&w, path, m);
        char *text = hn_str_take(&w.out);
        rc = text ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
        if (text) *json = text;
    }
    hn_str_free(&w.out);
    if (doc) hn_yaml_free(doc);
    if (library) dlclose(library);
    return rc;
}
