/* record/controls_file.c — a controls file's contents: made, read, written together with its response file. */
#include "record/controls_file.h"

#include "base/err.h"
#include "base/fs.h"
#include "base/hash.h"
#include "target/family.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct owned {
    hone_controls c;
    hn_arena arena;
} owned;

hone_controls *hn_controls_new(hn_arena **arena) {
    owned *o = calloc(1, sizeof *o);
    if (!o) return NULL;
    hone_controls *c = &o->c;
    c->format = HONE_CONTROLS_FORMAT;
    c->name = c->version = c->created = c->compiler = c->floating_point = c->response_hash = c->workload = "";
    c->workload_hash = c->space_hash = c->baseline = c->verdict = c->signer = "";
    c->point = "{}";
    c->claimed = (double)NAN;
    c->block = o;
    *arena = &o->arena;
    return c;
}

void hone_controls_free(hone_controls *c) {
    if (!c || !c->block) return;
    owned *o = c->block;
    hn_arena_free(&o->arena);
    free(o);
}

/* --- the point ------------------------------------------------------------------------------------------------------
 */

const char *hn_controls_prefix(hn_arena *a, const char *compiler) {
    char *p = hn_format(a, "%s.", compiler);
    for (char *s = p; s && *s; s++)
        if (*s == '/') *s = '_';
    return p;
}

bool hn_is_choice(const hone_controls *c, const char *name, const hn_ynode *value) {
    if (value->kind != HN_Y_SCALAR || !value->quoted) return false;
    return (!strcmp(name, "compiler") && !strcmp(value->text, c->compiler)) ||
           (!strcmp(name, "fp") && !strcmp(value->text, c->floating_point));
}

hone_rc hn_point_load(const char *point, hn_yaml **out, hone_err *err) {
    hone_rc rc = hn_yaml_parse(point, strlen(point), "point", out, err);
    if (rc || hn_yaml_root(*out)->kind == HN_Y_MAP) return rc;
    hn_yaml_free(*out);
    return hn_fail(err, HONE_E_INPUT, "a point is a JSON object of names and values, found '%.100s'", point);
}

/* A JSON number as it is; a number only in YAML's notation is converted to JSON's. */
static void add_number(hn_str *s, const char *token, double v) {
    char buf[32];
    bool as_is = token[strspn(token, "0123456789+-.eE")] == 0 && *token != '+' && *token != '.';
    hn_str_add(s, as_is ? token : hn_double_text(v, buf));
}

void hn_gene_json(const hn_yaml *doc, const hn_ynode *node, hn_str *s) {
    double v;
    bool yes;
    if (node->kind == HN_Y_SEQ) {
        hn_str_add(s, "[");
        for (size_t i = 0; i < node->n; i++) {
            if (i) hn_str_add(s, ",");
            hn_gene_json(doc, node->item[i], s);
        }
        hn_str_add(s, "]");
    } else if (node->quoted) {
        hn_yaml_add_quoted(s, node->text);
    } else if (!hn_yaml_bool(doc, node, &yes, NULL)) {
        hn_str_add(s, yes ? "true" : "false");
    } else if (!hn_yaml_double(doc, node, &v, NULL)) {
        add_number(s, node->text, v);
    } else {
        hn_yaml_add_quoted(s, node->text);
    }
}

bool hn_gene_fine(const hn_ynode *node) {
    bool scalars = node->kind == HN_Y_SEQ;
    for (size_t i = 0; scalars && i < node->n; i++) scalars = node->item[i]->kind == HN_Y_SCALAR;
    return scalars || node->kind == HN_Y_SCALAR;
}

/* A gene's value as text: a string as it is, else JSON. */
static const char *value_text(hn_arena *a, const hn_yaml *doc, const hn_ynode *node) {
    if (node->kind == HN_Y_SCALAR && node->quoted) return hn_strdup(a, node->text);
    hn_str s = {0};
    hn_gene_json(doc, node, &s);
    char *text = hn_str_take(&s);
    const char *kept = text ? hn_strdup(a, text) : NULL;
    if (!kept) a->failed = true;
    free(text);
    return kept;
}

static hone_rc derive(hone_controls *c, hn_arena *a, const hn_yaml *doc, hone_err *err) {
    const hn_ynode *root = hn_yaml_root(doc);
    const char *prefix = hn_controls_prefix(a, c->compiler);
    c->control = HN_NEW_N(a, hone_pair, root->n + 1);
    c->parameter = HN_NEW_N(a, hone_pair, root->n + 1);
    c->n_controls = c->n_parameters = 0;
    for (size_t i = 0; hn_arena_ok(a) && i < root->n; i++) {
        const char *name = root->key[i]->text;
        if (!hn_gene_fine(root->item[i]))
            return hn_yaml_fail(doc, root->item[i], err, "expected a value or a list of values for '%s'", name);
        const char *text = value_text(a, doc, root->item[i]);
        if (!text || hn_is_choice(c, name, root->item[i])) continue;
        bool control = hn_starts_with(name, prefix);
        hone_pair *p = control ? &c->control[c->n_controls++] : &c->parameter[c->n_parameters++];
        *p = (hone_pair){hn_strdup(a, control ? name + strlen(prefix) : name), text};
    }
    return hn_arena_ok(a) ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
}

hone_rc hn_controls_derive(hone_controls *c, hn_arena *a, hone_err *err) {
    hn_yaml *doc;
    hone_rc rc = hn_point_load(c->point, &doc, err);
    if (rc) return rc;
    rc = derive(c, a, doc, err);
    hn_yaml_free(doc);
    return rc;
}

/* --- the response file ----------------------------------------------------------------------------------------- */

static const hn_family *family_of(const hone_controls *c) {
    const hn_family *family = NULL;
    for (size_t i = 0; i < c->n_tool; i++)
        if (!strcmp(c->tool[i].name, "family")) family = hn_family_named(c->tool[i].value);
    return family ? family : hn_family_of_command(c->compiler);
}

hone_rc hone_controls_rsp(const hone_controls *c, char **text, hone_err *err) {
    hn_str s = {0};
    bool lines = family_of(c)->rsp_lines;
    for (size_t i = 0; i < c->n_flags; i++) {
        if (lines)
            hn_str_add(&s, c->flag[i]);
        else
            hn_str_add_rsp(&s, c->flag[i]);
        hn_str_add(&s, "\n");
    }
    char *got = hn_str_take(&s);
    if (!got) return hn_fail(err, HONE_E_NOMEM, "out of memory writing a response file");
    *text = got;
    return HONE_OK;
}

hone_rc hn_rsp_path(const char *path, char **rsp, hone_err *err) {
    size_t n = strlen(path);
    if (n < 6 || strcmp(path + n - 5, ".hone") != 0 || path[n - 6] == '/')
        return hn_fail(err, HONE_E_INPUT, "'%s' does not end in '.hone'; a controls file's name does", path);
    char *out = malloc(n + 1);
    if (!out) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    memcpy(out, path, n - 5);
    memcpy(out + n - 5, ".rsp", 5);
    *rsp = out;
    return HONE_OK;
}

hone_rc hn_rsp_check(const hone_controls *c, const char *path, hone_err *err) {
    char *rsp, *text = NULL, hex[33];
    size_t n = 0;
    hone_rc rc = hn_rsp_path(path, &rsp, err);
    if (rc) return rc;
    if (!hn_exists(rsp))
        rc = hn_fail(err, HONE_E_NOTFOUND, "response file '%s' is missing: it belongs beside '%s'", rsp, path);
    if (!rc) rc = hn_read_file(rsp, &text, &n, err);
    if (!rc) {
        hn_hash h;
        hn_hash_begin(&h);
        hn_hash_add(&h, text, n);
        hn_hash_end(&h, hex);
        if (strcmp(hex, c->response_hash) != 0)
            rc = hn_fail(err, HONE_E_TAMPERED,
                         "response file '%s' was changed after it was written: it differs from the "
                         "flags in '%s'",
                         rsp, path);
    }
    free(text);
    free(rsp);
    return rc;
}

/* --- text and files -------------------------------------------------------------------------------------------- */

hone_rc hone_controls_text(const hone_controls *c, char **text, hone_err *err) {
    hn_str s = {0};
    hone_controls *back = NULL;
    hone_err why = {0};
    hone_rc rc = hn_controls_body(c, &s, err);
    if (!rc) hn_seal_add_digest(&s);
    if (!rc && s.failed) rc = hn_fail(err, HONE_E_NOMEM, "out of memory writing a controls file");
    if (!rc && (rc = hone_controls_parse(s.text, s.n, "the text", &back, &why)))
        rc = rc == HONE_E_NOMEM
                 ? hn_fail(err, rc, "out of memory writing a controls file")
                 : hn_fail(err, HONE_E_INPUT, "these controls cannot be written as text: %.700s", why.text);
    hone_controls_free(back);
    if (rc)
        hn_str_free(&s);
    else
        *text = hn_str_take(&s);
    return rc;
}

const hn_seal_kind hn_controls_kind = {"controls file",
                                       "take the file as it was recorded, or make a new one with hone"};

int hn_controls_format(const char *text, size_t n) {
    static const char word[] = "\nformat: ";
    const char *at =
        n > strlen(word) && !memcmp(text, word + 1, strlen(word) - 1) ? text - 1 : memmem(text, n, word, strlen(word));
    if (!at) return 0;
    char number[12] = "";
    size_t left = (size_t)(text + n - (at + strlen(word)));
    memcpy(number, at + strlen(word), left < sizeof number - 1 ? left : sizeof number - 1);
    long v = strtol(number, NULL, 10);
    return v > 0 && v < 1000000 ? (int)v : 0;
}

static hone_rc later_format(const char *label, int format, hone_err *err) {
    return hn_fail(err, HONE_E_INPUT,
                   "'%s' was written by a newer hone: controls format %d; hone " HONE_VERSION
                   " reads format %d: install the newer one, or make the file again with this one",
                   label, format, HONE_CONTROLS_FORMAT);
}

hone_rc hone_controls_parse(const char *text, size_t n, const char *label, hone_controls **out, hone_err *err) {
    hn_seal seal;
    int format = hn_controls_format(text, n);
    bool later = format > HONE_CONTROLS_FORMAT;
    if (later && !hn_seal_looks_signed(text, n)) return later_format(label, format, err); /* its end may differ */
    hone_rc rc = hn_seal_read(text, n, label, &hn_controls_kind, &seal, err);
    if (rc != HONE_E_TAMPERED && memchr(text, 0, n))
        return hn_fail(err, HONE_E_INPUT, "'%s' holds binary data; it is no controls file", label);
    if (!rc && later) rc = later_format(label, format, err);
    hone_controls *c = NULL;
    if (!rc) rc = hn_controls_read_body(text, n, label, &c, err);
    if (rc) return rc;
    if (seal.has_signature) {
        owned *o = c->block;
        c->signer = hn_strdup(&o->arena, seal.key);
        if (!c->signer) {
            hone_controls_free(c);
            return hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", label);
        }
    }
    *out = c;
    return HONE_OK;
}

hone_rc hone_controls_read(const char *path, hone_controls **out, hone_err *err) {
    char *text;
    size_t n;
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return hn_fail(err, HONE_E_IO, "'%s' is a folder; name a controls file", path);
    hone_rc rc = hn_read_file(path, &text, &n, err);
    if (rc) return rc;
    rc = hone_controls_parse(text, n, path, out, err);
    free(text);
    return rc;
}

/* The response file first: a controls file never stands beside one that it does not describe. */
hone_rc hone_controls_write(const hone_controls *c, const char *path, hone_err *err) {
    char *text = NULL, *rsp_text = NULL, *rsp = NULL, *old = NULL;
    size_t n_old = 0;
    hone_rc rc = hn_rsp_path(path, &rsp, err);
    if (!rc) rc = hone_controls_text(c, &text, err);
    if (!rc) rc = hone_controls_rsp(c, &rsp_text, err);
    if (!rc && hn_exists(rsp)) rc = hn_read_file(rsp, &old, &n_old, err);
    if (!rc) rc = hn_write_file(rsp, rsp_text, strlen(rsp_text), err);
    if (!rc && (rc = hn_write_file(path, text, strlen(text), err))) {
        if (old)
            (void)hn_write_file(rsp, old, n_old, NULL);
        else
            unlink(rsp);
    }
    free(text);
    free(rsp_text);
    free(rsp);
    free(old);
    return rc;
}
