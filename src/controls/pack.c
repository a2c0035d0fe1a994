/* controls/pack.c — packs: controls files gathered in a folder, indexed, and mapped into another workload's space. */
#include "controls/pack.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/yaml.h"
#include "record/controls_file.h"
#include "tune/workload.h"

#include <hone/check.h>
#include <hone/machine.h>

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char index_name[] = "index.yaml";
enum { MOST_FILES = 10000 };

static hone_rc nomem(hone_err *err) { return hn_fail(err, HONE_E_NOMEM, "out of memory with a pack"); }

static hone_rc new_pack(const char *dir, hone_pack *out, hn_arena **arena, hone_err *err) {
    hn_arena *a = calloc(1, sizeof *a);
    if (!a) return nomem(err);
    *out = (hone_pack){.dir = hn_strdup(a, dir), .block = a};
    *arena = a;
    if (out->dir) return HONE_OK;
    hone_pack_free(out);
    return nomem(err);
}

void hone_pack_free(hone_pack *pack) {
    if (!pack || !pack->block) return;
    hn_arena_free(pack->block);
    free(pack->block);
    *pack = (hone_pack){0};
}

/* --- one controls file as an entry -------------------------------------------------------------------------------- */

static const char *get(const hone_pair *pair, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (!strcmp(pair[i].name, name)) return pair[i].value;
    return "";
}

static const hone_controls_row *headline(const hone_controls *c) {
    for (size_t i = 0; i < c->n_rows; i++)
        if (!c->row[i].held_out && !*c->row[i].input) return &c->row[i];
    return NULL;
}

static hone_rc describe(hn_arena *a, const char *path, const char *file, const hone_controls *c, hone_pack_entry *out,
                        hone_err *err) {
    const hone_controls_row *row = headline(c);
    char hash[33];
    hone_rc rc = hn_hash_file(path, hash, err);
    if (rc) return rc;
    *out = (hone_pack_entry){.file = hn_strdup(a, file), .hash = hn_strdup(a, hash)};
    out->workload = hn_strdup(a, c->name);
    out->compiler = hn_strdup(a, c->compiler);
    out->version = hn_strdup(a, get(c->tool, c->n_tool, "version"));
    out->cpu = hn_strdup(a, get(c->machine, c->n_machine, "cpu"));
    out->objective = hn_strdup(a, row ? row->objective : "");
    out->gain = row ? row->gain : (hone_interval){NAN, NAN, NAN};
    return hn_arena_ok(a) ? HONE_OK : nomem(err);
}

static hone_rc read_entry(hn_arena *a, const char *dir, const char *file, hone_pack_entry *out, hone_err *err) {
    hone_controls *c = NULL;
    char *path = hn_path_join(dir, file);
    hone_rc rc = path ? hone_controls_read(path, &c, err) : nomem(err);
    if (!rc) rc = describe(a, path, file, c, out, err);
    hone_controls_free(c);
    free(path);
    return rc;
}

/* --- the index -----------------------------------------------------------------------------------------------------
 */

static void add_text(hn_str *s, const char *key, const char *value) {
    hn_str_addf(s, "    %s: ", key);
    hn_yaml_add_scalar(s, value);
    hn_str_add(s, "\n");
}

static void add_number(hn_str *s, const char *key, double x) {
    char text[32];
    if (isfinite(x)) hn_str_addf(s, "    %s: %s\n", key, hn_double_text(x, text));
}

static hone_rc write_index(const hone_pack *p, hone_err *err) {
    hn_str s = {0};
    hn_str_addf(&s,
                "# A pack of compiler controls. Made by `hone pack build` from the controls files beside it.\n"
                "format: %d\ncontrols:%s\n",
                HONE_PACK_FORMAT, p->n ? "" : " []");
    for (size_t i = 0; i < p->n; i++) {
        const hone_pack_entry *e = &p->entry[i];
        hn_str_add(&s, "  - file: ");
        hn_yaml_add_scalar(&s, e->file);
        hn_str_add(&s, "\n");
        add_text(&s, "workload", e->workload);
        add_text(&s, "compiler", e->compiler);
        add_text(&s, "version", e->version);
        add_text(&s, "cpu", e->cpu);
        add_text(&s, "objective", e->objective);
        add_number(&s, "gain", e->gain.mid);
        add_number(&s, "gain_lo", e->gain.lo);
        add_number(&s, "gain_hi", e->gain.hi);
        add_text(&s, "hash", e->hash);
    }
    size_t n = s.n;
    char *text = hn_str_take(&s), *path = hn_path_join(p->dir, index_name);
    hone_rc rc = text && path ? hn_write_file(path, text, n, err) : nomem(err);
    free(text);
    free(path);
    return rc;
}

/* --- build ---------------------------------------------------------------------------------------------------------
 */

static const char *base_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_controls(const char *name) {
    size_t n = strlen(name);
    return n > 5 && *name != '.' && !strcmp(name + n - 5, ".hone");
}

static hone_rc check_names(const char *dir, const char *const *path, size_t n, hone_err *err) {
    for (size_t i = 0; i < n; i++) {
        if (!is_controls(base_of(path[i])))
            return hn_fail(err, HONE_E_INPUT, "'%s' is no controls file: their names end in .hone", path[i]);
        for (size_t k = 0; k < i; k++)
            if (!strcmp(base_of(path[i]), base_of(path[k])))
                return hn_fail(err, HONE_E_INPUT, "'%s' and '%s' would both become '%s/%s'; rename one", path[k],
                               path[i], dir, base_of(path[i]));
    }
    return HONE_OK;
}

/* All files are checked before anything is written. Response files are made from the flags. */
static hone_rc check_all(const char *const *path, size_t n, hone_err *err) {
    hone_rc rc = HONE_OK;
    for (size_t i = 0; !rc && i < n; i++) {
        hone_controls *c = NULL;
        rc = hone_controls_read(path[i], &c, err);
        hone_controls_free(c);
    }
    return rc;
}

static hone_rc write_rsp(const char *target, const char *from, hone_err *err) {
    hone_controls *c = NULL;
    char *text = NULL, *rsp = NULL;
    hone_rc rc = hone_controls_read(from, &c, err);
    if (!rc) rc = hone_controls_rsp(c, &text, err);
    if (!rc) rc = hn_rsp_path(target, &rsp, err);
    if (!rc) rc = hn_write_file(rsp, text, strlen(text), err);
    free(rsp);
    hone_free(text);
    hone_controls_free(c);
    return rc;
}

/* Copies byte by byte, so that the signature stays valid. */
static hone_rc copy(const char *dir, const char *from, hone_err *err) {
    char *text = NULL, *target = hn_path_join(dir, base_of(from));
    size_t size = 0;
    hone_rc rc = target ? hn_read_file(from, &text, &size, err) : nomem(err);
    if (!rc) rc = hn_write_file(target, text, size, err);
    if (!rc) rc = write_rsp(target, from, err);
    free(text);
    free(target);
    return rc;
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Names of the controls files in the folder, sorted. */
static hone_rc list_files(hn_arena *a, const char *dir, char ***out, size_t *n, hone_err *err) {
    DIR *d = opendir(dir);
    if (!d) return hn_fail(err, HONE_E_IO, "cannot open the folder '%s': %s", dir, strerror(errno));
    char **name = HN_NEW_N(a, char *, MOST_FILES);
    bool many = false;
    *n = 0;
    for (struct dirent *e; name && !many && (e = readdir(d));) {
        if (!is_controls(e->d_name)) continue;
        many = *n == MOST_FILES;
        if (!many) name[(*n)++] = hn_strdup(a, e->d_name);
    }
    closedir(d);
    if (many) return hn_fail(err, HONE_E_LIMIT, "'%s' holds more than %d controls files", dir, MOST_FILES);
    if (!hn_arena_ok(a)) return nomem(err);
    qsort(name, *n, sizeof *name, by_text);
    *out = name;
    return HONE_OK;
}

static hone_rc index_all(hn_arena *a, hone_pack *p, hone_err *err) {
    char **name = NULL;
    size_t n = 0;
    hone_rc rc = list_files(a, p->dir, &name, &n, err);
    if (rc) return rc;
    if (!n) return hn_fail(err, HONE_E_EMPTY, "there is no controls file to make the pack '%s' of; name some", p->dir);
    p->entry = HN_NEW_N(a, hone_pack_entry, n);
    if (!p->entry) return nomem(err);
    for (; !rc && p->n < n; p->n += !rc) {
        rc = read_entry(a, p->dir, name[p->n], &p->entry[p->n], err);
        if (rc) break;
    }
    return rc ? rc : write_index(p, err);
}

hone_rc hone_pack_build(const char *dir, const char *const *path, size_t n, hone_pack *out, hone_err *err) {
    hone_pack p;
    hn_arena *a;
    hone_rc rc = check_names(dir, path, n, err);
    if (!rc) rc = check_all(path, n, err);
    if (!rc) rc = new_pack(dir, &p, &a, err);
    if (rc) return rc;
    if (n) rc = hn_make_dirs(dir, err);
    for (size_t i = 0; !rc && i < n; i++) rc = copy(dir, path[i], err);
    if (!rc) rc = index_all(a, &p, err);
    if (rc)
        hone_pack_free(&p);
    else
        *out = p;
    return rc;
}

/* --- read ----------------------------------------------------------------------------------------------------------
 */

typedef struct reader {
    hn_arena *a;
    const hn_yaml *doc;
    hone_err *err;
    hone_rc rc;
} reader;

static const char *text_at(reader *r, const hn_ynode *map, const char *key) {
    const hn_ynode *x = hn_yaml_get(map, key);
    if (!x && !r->rc) r->rc = hn_yaml_fail(r->doc, map, r->err, "an entry of a pack needs '%s'", key);
    if (r->rc) return "";
    if (x->kind != HN_Y_SCALAR) {
        r->rc = hn_yaml_fail(r->doc, x, r->err, "'%s' is a text", key);
        return "";
    }
    const char *kept = hn_strdup(r->a, x->text);
    return kept ? kept : "";
}

static double number_at(reader *r, const hn_ynode *map, const char *key) {
    const hn_ynode *x = hn_yaml_get(map, key);
    double v = NAN;
    if (x && !r->rc) r->rc = hn_yaml_double(r->doc, x, &v, r->err);
    return v;
}

static void entry_at(reader *r, const hn_ynode *map, hone_pack_entry *out) {
    static const char *const known[] = {"file",      "workload", "compiler", "version", "cpu",
                                        "objective", "gain",     "gain_lo",  "gain_hi", "hash"};
    if (map->kind != HN_Y_MAP)
        r->rc = hn_yaml_fail(r->doc, map, r->err, "an entry of a pack is a map");
    else
        r->rc = hn_yaml_check_keys(r->doc, map, "an entry of a pack", known, sizeof known / sizeof *known, r->err);
    if (r->rc) return;
    out->file = text_at(r, map, "file");
    out->workload = text_at(r, map, "workload");
    out->compiler = text_at(r, map, "compiler");
    out->version = text_at(r, map, "version");
    out->cpu = text_at(r, map, "cpu");
    out->objective = text_at(r, map, "objective");
    out->gain = (hone_interval){number_at(r, map, "gain_lo"), number_at(r, map, "gain"), number_at(r, map, "gain_hi")};
    out->hash = text_at(r, map, "hash");
    if (!r->rc && (strchr(out->file, '/') || !is_controls(out->file)))
        r->rc = hn_yaml_fail(r->doc, map, r->err, "'%s' is no controls file of this folder", out->file);
}

static hone_rc read_index(reader *r, hone_pack *p) {
    static const char *const known[] = {"format", "controls"};
    const hn_ynode *root = hn_yaml_root(r->doc), *list = NULL, *format = NULL;
    int64_t version = 0;
    if (root->kind != HN_Y_MAP) return hn_yaml_fail(r->doc, root, r->err, "this is no index of a pack");
    if (!(format = hn_yaml_get(root, "format")))
        return hn_yaml_fail(r->doc, root, r->err, "the index of a pack needs 'format'");
    r->rc = hn_yaml_int(r->doc, format, &version, r->err);
    if (!r->rc && version != HONE_PACK_FORMAT)
        return hn_yaml_fail(r->doc, format, r->err, "a pack of format %lld, this hone reads %d", (long long)version,
                            HONE_PACK_FORMAT);
    if (!r->rc) r->rc = hn_yaml_check_keys(r->doc, root, "the index of a pack", known, 2, r->err);
    if (r->rc) return r->rc;
    list = hn_yaml_get(root, "controls");
    if (!list || list->kind != HN_Y_SEQ)
        return hn_yaml_fail(r->doc, list ? list : root, r->err, "'controls' is a list");
    p->entry = HN_NEW_N(r->a, hone_pack_entry, list->n);
    for (size_t i = 0; p->entry && !r->rc && i < list->n; i++) entry_at(r, list->item[i], &p->entry[p->n++]);
    if (!r->rc && !hn_arena_ok(r->a)) return nomem(r->err);
    return r->rc;
}

static hone_rc check_file(const hone_pack *p, const hone_pack_entry *e, hone_err *err) {
    char hash[33], *path = hn_path_join(p->dir, e->file);
    hone_rc rc = path ? hn_hash_file(path, hash, err) : nomem(err);
    if (!rc && strcmp(hash, e->hash) != 0)
        rc = hn_fail(err, HONE_E_MISMATCH,
                     "'%s' is not the file that the pack's index was made from; `hone pack build %s` "
                     "indexes it anew",
                     path, p->dir);
    free(path);
    return rc;
}

hone_rc hn_pack_parse(const char *text, size_t n, const char *label, const char *dir, hone_pack *out, hone_err *err) {
    hone_pack p;
    hn_arena *a;
    hn_yaml *doc = NULL;
    hone_rc rc = new_pack(dir, &p, &a, err);
    if (rc) return rc;
    rc = hn_yaml_parse(text, n, label, &doc, err);
    if (!rc) rc = read_index(&(reader){a, doc, err, HONE_OK}, &p);
    hn_yaml_free(doc);
    if (rc)
        hone_pack_free(&p);
    else
        *out = p;
    return rc;
}

static hone_rc read_pack(const char *dir, const char *path, hone_pack *out, hone_err *err) {
    char *text = NULL;
    size_t n = 0;
    if (!hn_exists(path))
        return hn_fail(err, HONE_E_NOTFOUND, "there is no pack at '%s': it has no %s; `hone pack build` makes one", dir,
                       index_name);
    hone_rc rc = hn_read_file(path, &text, &n, err);
    if (!rc) rc = hn_pack_parse(text, n, path, dir, out, err);
    free(text);
    return rc;
}

hone_rc hone_pack_read(const char *dir, hone_pack *out, hone_err *err) {
    hone_pack p = {0};
    char *path = hn_path_join(dir, index_name);
    hone_rc rc = path ? read_pack(dir, path, &p, err) : nomem(err);
    for (size_t i = 0; !rc && i < p.n; i++) rc = check_file(&p, &p.entry[i], err);
    free(path);
    if (rc)
        hone_pack_free(&p);
    else
        *out = p;
    return rc;
}

/* --- order ---------------------------------------------------------------------------------------------------------
 */

/* Weights of what is alike, in doublings of the gain: the objective says more than all the rest together. */
static const double same_objective = 4, first_compiler = 2, other_compiler = 1, same_cpu = 1, gain_most = 1;

static double likeness(const hone_pack_entry *e, const hone_workload *w, const char *cpu) {
    double sum = 0, gain = e->gain.mid;
    if (w->n_objectives && !strcmp(e->objective, w->objective[0].quantity.text)) sum += same_objective;
    for (size_t i = 0; i < w->n_compilers; i++)
        if (!strcmp(e->compiler, w->compiler[i])) sum += i ? other_compiler : first_compiler;
    if (*cpu && !strcmp(e->cpu, cpu)) sum += same_cpu;
    return gain > 1 ? sum + fmin(log2(gain), gain_most) : sum;
}

hone_rc hone_pack_order(hone_pack *pack, const hone_workload *workload, hone_err *err) {
    hone_machine here;
    hone_machine_get(&here);
    double *of = malloc((pack->n + 1) * sizeof *of);
    if (!of) return nomem(err);
    for (size_t i = 0; i < pack->n; i++) {
        hone_pack_entry e = pack->entry[i];
        double mine = likeness(&e, workload, here.cpu);
        size_t at = i;
        for (; at && of[at - 1] < mine; at--) {
            pack->entry[at] = pack->entry[at - 1];
            of[at] = of[at - 1];
        }
        pack->entry[at] = e;
        of[at] = mine;
    }
    free(of);
    return HONE_OK;
}

/* --- map -----------------------------------------------------------------------------------------------------------
 */

/* Nothing to try: another compiler's controls, or a combination that a constraint forbids. */
static bool leaves_nothing_to_try(const char *dropped) {
    for (const char *line = dropped; *line; line += strcspn(line, "\n"), line += *line == '\n')
        if (hn_starts_with(line, "compiler =") || hn_starts_with(line, "constraint =")) return true;
    return false;
}

static hone_rc map_one(const hone_pack *p, size_t i, const hone_workload *w, const hone_prove_options *o,
                       hone_pack_fits *f, hone_err *err) {
    hone_pack_fit *fit = &f->fit[i];
    hone_controls *c = NULL;
    char *path = hn_path_join(p->dir, p->entry[i].file);
    hone_rc rc = path ? hone_controls_read(path, &c, err) : nomem(err);
    if (!rc) rc = hone_controls_nearest(c, w, o, &fit->point, &fit->dropped, err);
    hone_controls_free(c);
    free(path);
    if (rc) return rc;
    for (size_t k = 0; k < i && fit->same_as == SIZE_MAX; k++)
        if (f->fit[k].point && !strcmp(f->fit[k].point, fit->point)) fit->same_as = k;
    if (fit->same_as != SIZE_MAX || leaves_nothing_to_try(fit->dropped)) {
        hone_free(fit->point);
        fit->point = NULL;
    }
    f->n_points += fit->point != NULL;
    return HONE_OK;
}

hone_rc hone_pack_map(const hone_pack *pack, const hone_workload *workload, const hone_prove_options *options,
                      hone_pack_fits *out, hone_err *err) {
    hone_pack_fits f = {.fit = calloc(pack->n + 1, sizeof *f.fit), .n = pack->n};
    if (!f.fit) return nomem(err);
    for (size_t i = 0; i < f.n; i++) f.fit[i].same_as = SIZE_MAX;
    hone_rc rc = HONE_OK;
    for (size_t i = 0; !rc && i < f.n; i++) rc = map_one(pack, i, workload, options, &f, err);
    if (rc)
        hone_pack_fits_free(&f);
    else
        *out = f;
    return rc;
}

void hone_pack_fits_free(hone_pack_fits *fits) {
    for (size_t i = 0; fits && i < fits->n; i++) {
        hone_free(fits->fit[i].point);
        hone_free(fits->fit[i].dropped);
    }
    if (!fits) return;
    free(fits->fit);
    *fits = (hone_pack_fits){0};
}
