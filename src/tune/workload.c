/* tune/workload.c — reads a workload file: the order of the sections, defaults, plain tables of fields. */
#include "tune/workload_int.h"

#include "base/err.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/locale.h"
#include "far/far.h"

#include <hone/search.h>

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_MAX_B = 1 << 16 };

hone_rc hn_reader_nomem(const hn_reader *r) {
    return hn_fail(r->err, HONE_E_NOMEM, "out of memory reading '%s'", hn_yaml_label(r->doc));
}

/* --- values ------------------------------------------------------------------------------------------------------- */

hone_rc hn_read_text(const hn_reader *r, const hn_ynode *node, const char **out) {
    const char *text;
    hone_rc rc = hn_yaml_text(r->doc, node, &text, r->err);
    if (rc) return rc;
    while (isspace((unsigned char)*text)) text++;
    size_t n = strlen(text);
    while (n && isspace((unsigned char)text[n - 1])) n--;
    if (!n) return hn_yaml_fail(r->doc, node, r->err, "expected a text, found only white space");
    if (n > TEXT_MAX_B) return hn_yaml_fail(r->doc, node, r->err, "a text of more than 64 KiB");
    *out = hn_strndup(&r->w->arena, text, n);
    return *out ? HONE_OK : hn_reader_nomem(r);
}

hone_rc hn_read_texts(const hn_reader *r, const hn_ynode *node, const char *what, size_t most, const char ***out,
                      size_t *n) {
    if (node->kind == HN_Y_MAP || node->kind == HN_Y_NULL)
        return hn_yaml_fail(r->doc, node, r->err, "%s must be a text or a list of texts", what);
    size_t count = hn_items(node);
    if (!count) return hn_yaml_fail(r->doc, node, r->err, "%s is an empty list", what);
    if (count > most) return hn_yaml_fail(r->doc, node, r->err, "%s has %zu items; at most %zu", what, count, most);
    const char **list = HN_NEW_N(&r->w->arena, const char *, count + 1);
    if (!list) return hn_reader_nomem(r);
    for (size_t i = 0; i < count; i++) {
        hone_rc rc = hn_read_text(r, hn_item(node, i), &list[i]);
        if (rc) return rc;
        for (size_t k = 0; k < i; k++)
            if (!strcmp(list[k], list[i]))
                return hn_yaml_fail(r->doc, hn_item(node, i), r->err, "'%s' is given twice in %s", list[i], what);
    }
    *out = list;
    *n = count;
    return HONE_OK;
}

hone_rc hn_read_word(const hn_reader *r, const hn_ynode *node, const char *what, const char *const *word, size_t n,
                     size_t *out) {
    const char *text;
    hone_rc rc = hn_yaml_text(r->doc, node, &text, r->err);
    if (rc) return rc;
    hn_str all = {0};
    for (size_t i = 0; i < n; i++) {
        if (!strcmp(text, word[i])) {
            hn_str_free(&all);
            *out = i;
            return HONE_OK;
        }
        hn_str_addf(&all, "%s%s", i ? ", " : "", word[i]);
    }
    const char *near = hn_nearest(text, word, n);
    rc = near ? hn_yaml_fail(r->doc, node, r->err, "unknown %s '%s'; did you mean '%s'?", what, text, near)
              : hn_yaml_fail(r->doc, node, r->err, "unknown %s '%s'; known are: %s", what, text,
                             all.text ? all.text : "");
    hn_str_free(&all);
    return rc;
}

static hone_rc out_of_range(const hn_reader *r, const hn_ynode *node, const hn_field *f) {
    char lo[32], hi[32];
    return hn_yaml_fail(r->doc, node, r->err, "'%s' must be within %s .. %s, found '%s'", f->key,
                        hn_double_text(f->lo, lo), hn_double_text(f->hi, hi), node->text);
}

/* "0.01" or "1 %". */
static hone_rc read_share(const hn_reader *r, const hn_ynode *node, double *out) {
    const char *text;
    hone_rc rc = hn_yaml_text(r->doc, node, &text, r->err);
    if (rc) return rc;
    char *end;
    double v = hn_strtod(text, &end);
    while (*end == ' ') end++;
    bool percent = end != text && !strcmp(end, "%");
    if (!percent) return hn_yaml_double(r->doc, node, out, r->err);
    *out = v / 100;
    return HONE_OK;
}

static hone_rc read_number(const hn_reader *r, const hn_ynode *node, const hn_field *f, double *out) {
    double v = 0;
    uint64_t bytes = 0;
    int64_t whole = 0;
    hone_rc rc;
    switch (f->type) {
    case HN_F_COUNT:
        rc = hn_yaml_int(r->doc, node, &whole, r->err);
        v = (double)whole;
        break;
    case HN_F_SECONDS: rc = hn_yaml_seconds(r->doc, node, &v, r->err); break;
    case HN_F_BYTES:
        rc = hn_yaml_bytes(r->doc, node, &bytes, r->err);
        v = (double)bytes;
        break;
    case HN_F_SHARE: rc = read_share(r, node, &v); break;
    default: rc = hn_yaml_double(r->doc, node, &v, r->err);
    }
    if (rc) return rc;
    if (v < f->lo || v > f->hi) return out_of_range(r, node, f);
    *out = v;
    return HONE_OK;
}

hone_rc hn_read_field(const hn_reader *r, const hn_ynode *node, const hn_field *f, void *into) {
    char *at = (char *)into + f->offset;
    if (f->type == HN_F_OTHER) return HONE_OK;
    if (f->type == HN_F_TEXT) return hn_read_text(r, node, (const char **)(void *)at);
    if (f->type == HN_F_BOOL) return hn_yaml_bool(r->doc, node, (bool *)at, r->err);
    double v = 0;
    hone_rc rc = read_number(r, node, f, &v);
    if (rc) return rc;
    if (f->type == HN_F_COUNT)
        *(size_t *)(void *)at = (size_t)v;
    else if (f->type == HN_F_BYTES)
        *(uint64_t *)(void *)at = (uint64_t)v;
    else
        *(double *)(void *)at = v;
    return HONE_OK;
}

hone_rc hn_read_fields(const hn_reader *r, const hn_ynode *map, const char *what, const hn_field *field, size_t n,
                       void *into) {
    const char *known[16] = {0};
    for (size_t i = 0; i < n; i++) known[i] = field[i].key;
    hone_rc rc = hn_yaml_check_keys(r->doc, map, what, known, n, r->err);
    for (size_t i = 0; i < n && !rc; i++) {
        const hn_ynode *node = hn_yaml_get(map, field[i].key);
        if (node) rc = hn_read_field(r, node, &field[i], into);
    }
    return rc;
}

/* --- sections that are plain fields ------------------------------------------------------------------------------- */

#define COUNT_MAX 1e9
#define SECONDS_MAX (365.0 * 24 * 3600)
#define BYTES_MAX 0x1p50

/* A folder that builds and runs may write: absolute, below "~/", or relative to the workload's folder. */
static hone_rc read_writable(const hn_reader *r, const hn_ynode *node, const char **path) {
    hone_workload *w = r->w;
    if (!strncmp(*path, "~/", 2)) {
        char *home = hn_home_dir();
        *path = home ? hn_format(&w->arena, "%s/%s", home, *path + 2) : *path;
        free(home);
    } else if (**path != '/') {
        *path = hn_format(&w->arena, "%s/%s", w->dir, *path);
    }
    if (!*path) return hn_reader_nomem(r);
    if (hn_exists(*path)) return HONE_OK;
    return hn_yaml_fail(r->doc, node, r->err, "'%s' does not exist; make it, or name the folder that it will be in",
                        *path);
}

/* stages.confine: false, or what may be written besides the private folder. */
static hone_rc read_confine(const hn_reader *r, const hn_ynode *node) {
    hone_workload *w = r->w;
    bool is_bool = node->kind == HN_Y_SCALAR && (!strcmp(node->text, "true") || !strcmp(node->text, "false"));
    if (is_bool) return hn_yaml_bool(r->doc, node, &w->confine, r->err);
    hone_rc rc = hn_read_texts(r, node, "confine", 64, &w->writable, &w->n_writable);
    for (size_t i = 0; !rc && i < w->n_writable; i++) rc = read_writable(r, hn_item(node, i), &w->writable[i]);
    return rc;
}

static hone_rc read_stages(const hn_reader *r) {
    typedef struct stages {
        hn_limits l;
        size_t n_procs;
    } stages;
    static const hn_field field[] = {
        {"build", HN_F_SECONDS, offsetof(stages, l.build_s), 1e-3, SECONDS_MAX},
        {"run", HN_F_SECONDS, offsetof(stages, l.run_s), 1e-3, SECONDS_MAX},
        {"cpu", HN_F_SECONDS, offsetof(stages, l.cpu_s), 1e-3, SECONDS_MAX},
        {"memory", HN_F_BYTES, offsetof(stages, l.memory_b), 1 << 20, BYTES_MAX},
        {"output", HN_F_BYTES, offsetof(stages, l.output_b), 1 << 10, BYTES_MAX},
        {"file", HN_F_BYTES, offsetof(stages, l.file_b), 1 << 10, BYTES_MAX},
        {"processes", HN_F_COUNT, offsetof(stages, n_procs), 1, 1e6},
        {"confine", HN_F_OTHER, 0, 0, 0},
    };
    const hn_ynode *node = hn_yaml_get(r->root, "stages"), *confine = node ? hn_yaml_get(node, "confine") : NULL;
    stages s = {.l = r->w->limits, .n_procs = r->w->limits.n_procs};
    hone_rc rc = node ? hn_read_fields(r, node, "stages", field, sizeof field / sizeof *field, &s) : HONE_OK;
    if (rc) return rc;
    r->w->limits = s.l;
    r->w->limits.n_procs = (unsigned)s.n_procs;
    return confine ? read_confine(r, confine) : HONE_OK;
}

static hone_rc read_budget(const hn_reader *r) {
    static const hn_field field[] = {
        {"evaluations", HN_F_COUNT, offsetof(hn_budget, evaluations), 1, COUNT_MAX},
        {"time", HN_F_SECONDS, offsetof(hn_budget, seconds), 1e-3, SECONDS_MAX},
        {"plateau", HN_F_COUNT, offsetof(hn_budget, plateau), 1, COUNT_MAX},
        {"target", HN_F_NUMBER, offsetof(hn_budget, target), 1, 1e6},
    };
    const hn_ynode *node = hn_yaml_get(r->root, "budget");
    hn_budget *b = &r->w->budget;
    hone_rc rc = node ? hn_read_fields(r, node, "budget", field, sizeof field / sizeof *field, b) : HONE_OK;
    if (!rc && !b->evaluations && b->seconds == 0) b->evaluations = 200;
    return rc;
}

/* "cuda", "opencl:1" */
static bool is_device(const char *text) {
    static const char *const kind[] = {"cuda", "opencl"};
    for (size_t i = 0; i < 2; i++) {
        size_t n = strlen(kind[i]);
        if (strncmp(text, kind[i], n) != 0) continue;
        const char *rest = text + n;
        return !*rest || (*rest == ':' && rest[1] && strspn(rest + 1, "0123456789") == strlen(rest + 1));
    }
    return false;
}

static hone_rc read_measure(const hn_reader *r) {
    static const hn_field field[] = {
        {"repeats", HN_F_COUNT, offsetof(hone_workload, repeats), 1, 1000},
        {"min_time", HN_F_SECONDS, offsetof(hone_workload, min_run_s), 1e-6, 3600},
        {"cold", HN_F_BOOL, offsetof(hone_workload, cold), 0, 0},
        {"floor", HN_F_NUMBER, offsetof(hone_workload, floor), 0, 1},
        {"device", HN_F_TEXT, offsetof(hone_workload, device), 0, 0},
        {"on", HN_F_TEXT, offsetof(hone_workload, on), 0, 0},
        {"wait", HN_F_SECONDS, offsetof(hone_workload, wait_s), 0, SECONDS_MAX},
    };
    const hn_ynode *node = hn_yaml_get(r->root, "measure");
    hone_err why;
    hone_rc rc = node ? hn_read_fields(r, node, "measure", field, sizeof field / sizeof *field, r->w) : HONE_OK;
    if (!rc && r->w->device && !is_device(r->w->device))
        return hn_yaml_fail(r->doc, hn_yaml_get(node, "device"), r->err,
                            "device '%s' is not known; it is cuda or opencl, with :N for the Nth of that kind, as "
                            "`hone doctor` lists them",
                            r->w->device);
    if (rc || !r->w->on) return rc;
    rc = hn_far_new(r->w->on, r->w->wait_s, &r->w->far, &why);
    if (rc == HONE_E_NOMEM) return hn_reader_nomem(r);
    return rc ? hn_yaml_fail(r->doc, hn_yaml_get(node, "on"), r->err, "%s", why.text) : HONE_OK;
}

static hone_rc read_proof(const hn_reader *r) {
    static const hn_field field[] = {
        {"min_gain", HN_F_SHARE, offsetof(hn_proof_needs, min_gain), 0, 10},
        {"pairs", HN_F_COUNT, offsetof(hn_proof_needs, pairs), 10, 1e6},
        {"pairs_most", HN_F_COUNT, offsetof(hn_proof_needs, pairs_most), 10, 1e6},
        {"variants", HN_F_COUNT, offsetof(hn_proof_needs, variants), 3, 100},
    };
    const hn_ynode *node = hn_yaml_get(r->root, "proof");
    hn_proof_needs *p = &r->w->proof;
    hone_rc rc = node ? hn_read_fields(r, node, "proof", field, sizeof field / sizeof *field, p) : HONE_OK;
    if (rc) return rc;
    bool most_given = node && hn_yaml_get(node, "pairs_most");
    if (!most_given && p->pairs_most < p->pairs) p->pairs_most = p->pairs;
    if (p->pairs_most < p->pairs)
        return hn_yaml_fail(r->doc, hn_yaml_get(node, "pairs_most"), r->err,
                            "pairs_most (%zu) is less than pairs (%zu), the least number", p->pairs_most, p->pairs);
    return HONE_OK;
}

static hone_rc read_engine(const hn_reader *r) {
    const hn_ynode *node = hn_yaml_get(r->root, "engine");
    const char *name[64];
    size_t n = 0, which;
    hone_engine_info info;
    while (n < sizeof name / sizeof *name && hone_engine_at(n, &info)) name[n++] = info.name;
    if (!node) return HONE_OK;
    hone_rc rc = hn_read_word(r, node, "engine", name, n, &which);
    if (!rc) rc = hn_read_text(r, node, &r->w->engine);
    return rc;
}

static hone_rc read_version(const hn_reader *r) {
    const hn_ynode *node = hn_yaml_get(r->root, "hone");
    int64_t version = 1;
    hone_rc rc = node ? hn_yaml_int(r->doc, node, &version, r->err) : HONE_OK;
    if (!rc && version != 1)
        return hn_yaml_fail(r->doc, node, r->err,
                            "workload format %lld; hone " HONE_VERSION
                            " reads format 1: use the hone it was written for",
                            (long long)version);
    return rc;
}

/* The file's name without its ending, or its folder's for "hone.yaml". */
static const char *default_name(hone_workload *w) {
    const char *base = strrchr(w->path, '/');
    base = base ? base + 1 : w->path;
    size_t n = strcspn(base, ".");
    if (n && !(n == 4 && !memcmp(base, "hone", 4))) return hn_strndup(&w->arena, base, n);
    const char *folder = strrchr(w->dir, '/');
    return folder && folder[1] ? folder + 1 : "workload";
}

static hone_rc read_names(const hn_reader *r) {
    const hn_ynode *name = hn_yaml_get(r->root, "name"), *text = hn_yaml_get(r->root, "doc");
    hone_workload *w = r->w;
    hone_rc rc = name ? hn_read_text(r, name, &w->name) : HONE_OK;
    if (!rc && text) rc = hn_read_text(r, text, &w->doc);
    if (rc) return rc;
    if (!name) w->name = default_name(w);
    for (const char *c = w->name; name && c && *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("_-.+", *c))
            return hn_yaml_fail(r->doc, name, r->err, "name '%s' has '%c'; use letters, digits and _ - . +", w->name,
                                *c);
    return w->name ? HONE_OK : hn_reader_nomem(r);
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static const char *const top_keys[] = {
    "hone",      "name",     "doc",         "sources",        "build",    "run",        "train",
    "compilers", "baseline", "controls",    "floating_point", "metrics",  "parameters", "constraints",
    "inputs",    "parity",   "objectives",  "limits",         "stages",   "budget",     "measure",
    "engine",    "proof",    "environment", "post_link",      "per_file",
};

static void set_defaults(hone_workload *w) {
    w->build = "";
    w->controls = true;
    w->lto = true;
    w->confine = true;
    w->limits = (hn_limits){.build_s = 120,
                            .run_s = 60,
                            .memory_b = (uint64_t)4 << 30,
                            .output_b = 64 << 20,
                            .file_b = (uint64_t)1 << 30,
                            .n_procs = 256};
    w->proof = (hn_proof_needs){.min_gain = 0.01, .pairs = 100, .pairs_most = 400, .variants = 10};
    w->floor = 0.15;
    w->repeats = 1;
    w->min_run_s = 0.05;
    w->wait_s = 600;
    w->parity = HN_PARITY_EXACT;
}

static hone_rc read_all(const hn_reader *r) {
    static hone_rc (*const section[])(const hn_reader *) = {
        read_version,        read_names,        hn_read_params,   hn_read_commands,
        hn_read_environment, hn_read_post_link, hn_read_per_file, hn_read_sources,
        hn_read_inputs,      hn_read_metrics,   hn_read_parity,   hn_read_outcome_limits,
        hn_read_contract,    read_stages,       read_budget,      read_measure,
        read_engine,         read_proof,        hn_read_run,
    };
    if (r->root->kind == HN_Y_NULL)
        return hn_yaml_fail(r->doc, r->root, r->err, "an empty workload file; 'hone init' writes one to start from");
    hone_rc rc =
        hn_yaml_check_keys(r->doc, r->root, "the workload", top_keys, sizeof top_keys / sizeof *top_keys, r->err);
    for (size_t i = 0; i < sizeof section / sizeof *section && !rc; i++) rc = section[i](r);
    if (!rc && !hn_arena_ok(&r->w->arena)) rc = hn_reader_nomem(r);
    return rc;
}

static hone_rc read_doc(const hn_yaml *doc, const char *label, const char *dir, hone_workload **out, hone_err *err) {
    hone_workload *w = calloc(1, sizeof *w);
    if (!w) return hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", label);
    hone_err local;
    hn_reader r = {w, doc, hn_yaml_root(doc), err ? err : &local};
    set_defaults(w);
    w->path = hn_strdup(&w->arena, label);
    char *full = realpath(dir ? dir : ".", NULL); /* {src} must hold wherever a command runs */
    w->dir = hn_strdup(&w->arena, full ? full : dir ? dir : ".");
    free(full);
    hone_rc rc = w->path && w->dir ? read_all(&r) : hn_reader_nomem(&r);
    if (rc) {
        hone_workload_free(w);
        return rc;
    }
    hn_workload_set_hash(w);
    *out = w;
    return HONE_OK;
}

hone_rc hone_workload_parse(const char *text, size_t n, const char *label, const char *dir, hone_workload **out,
                            hone_err *err) {
    hn_yaml *doc;
    hone_rc rc = hn_yaml_parse(text, n, label, &doc, err);
    if (rc) return rc;
    rc = read_doc(doc, label, dir, out, err);
    hn_yaml_free(doc);
    return rc;
}

hone_rc hone_workload_load(const char *path, hone_workload **out, hone_err *err) {
    char *text;
    size_t n;
    hone_rc rc = hn_read_file(path, &text, &n, err);
    if (rc) return rc;
    const char *slash = strrchr(path, '/');
    char *dir = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
    rc = dir ? hone_workload_parse(text, n, path, dir, out, err)
             : hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", path);
    free(dir);
    free(text);
    return rc;
}

void hone_workload_free(hone_workload *w) {
    if (!w) return;
    hn_far_free(w->far);
    hone_space_free(w->params);
    hn_arena_free(&w->arena);
    free(w);
}

const char *hone_workload_name(const hone_workload *w) { return w->name; }
const char *hone_workload_dir(const hone_workload *w) { return w->dir; }
void hone_workload_hash(const hone_workload *w, char hex[33]) { memcpy(hex, w->hash, sizeof w->hash); }
size_t hone_workload_n_objectives(const hone_workload *w) { return w->n_objectives; }

const char *hone_workload_objective(const hone_workload *w, size_t i, bool *maximize) {
    if (i >= w->n_objectives) return NULL;
    if (maximize) *maximize = w->objective[i].maximize;
    return w->objective[i].quantity.text;
}

/* --- the hash ----------------------------------------------------------------------------------------------------- */

static void add_number(hn_hash *h, double v) {
    char text[32];
    hn_hash_text(h, hn_double_text(v, text));
}

static void add_code_choice(hn_hash *h, const hn_code_choice *c) {
    hn_hash_text(h, "device code");
    for (size_t i = 0; i < c->n; i++) {
        hn_hash_text(h, c->kernel[i]);
        add_number(h, c->weight[i]);
    }
    hn_hash_text(h, c->file);
    add_number(h, (double)c->shared_b);
    add_number(h, c->sm);
    add_number(h, c->threads);
    add_number(h, c->prior);
}

static void add_outcome(hn_hash *h, const hone_workload *w) {
    add_number(h, w->time_source);
    add_number(h, (double)w->n_objectives);
    for (size_t i = 0; i < w->n_objectives; i++) {
        const hn_objective *o = &w->objective[i];
        hn_hash_text(h, o->maximize ? "maximize" : "minimize");
        hn_hash_text(h, o->quantity.metric);
        add_number(h, o->quantity.source);
        add_number(h, o->quantity.aggregate);
        add_number(h, o->quantity.percentile);
    }
    add_number(h, (double)w->n_limit_rules);
    for (size_t i = 0; i < w->n_limit_rules; i++) hn_hash_text(h, w->limit_rule[i].text);
    if (w->code.n_slots || w->code.prior) add_code_choice(h, &w->code);
    add_number(h, w->parity);
    add_number(h, w->parity_tol);
    hn_hash_text(h, w->parity_command);
    hn_hash_text(h, w->parity_output);
}

/* Everything that gives measurements their meaning: commands, baseline, inputs, metrics, parity, limits, protocol. Left
 * out: name, doc, budget, engine, proof and what a run may write, which change no measurement, and sources, space and
 * compilers, which a session records by themselves. */
void hn_workload_set_hash(hone_workload *w) {
    hn_hash h;
    hn_hash_begin(&h);
    const char *text[] = {"hone workload 1", w->build, w->run, w->train, w->baseline, w->compiler[0]};
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) hn_hash_text(&h, text[i]);
    add_number(&h, w->fp_baseline);
    add_number(&h, (double)w->n_inputs);
    for (size_t i = 0; i < w->n_inputs; i++) {
        hn_hash_text(&h, w->input[i].name);
        hn_hash_text(&h, w->input[i].args);
        add_number(&h, w->input[i].weight);
        add_number(&h, w->input[i].held_out);
    }
    add_outcome(&h, w);
    const hn_limits *l = &w->limits;
    double number[] = {l->build_s,        l->run_s,   l->cpu_s,           (double)l->memory_b, (double)l->output_b,
                       (double)l->file_b, l->n_procs, (double)w->repeats, w->min_run_s,        w->cold};
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) add_number(&h, number[i]);
    if (w->device) hn_hash_text(&h, w->device); /* so that hashes of other workloads stay */
    hn_hash_end(&h, w->hash);
}
