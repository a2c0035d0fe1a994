/* record/controls_text.c — a controls file's body as YAML: fixed order of keys, one setting a line. */
#include "record/controls_file.h"

#include "base/err.h"
#include "base/hash.h"
#include "base/yaml.h"
#include "target/bolt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Only plain words are put into comments, so that no name can end one. */
static bool is_plain(const char *word) {
    return *word && !word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./")];
}

/* Variables of the run are no flags: the response file cannot hold them. */
static void add_how_to_run(hn_str *s, const hone_controls *c) {
    bool plain = true;
    if (!c->n_environment) return;
    for (size_t i = 0; i < c->n_environment; i++) {
        const char *value = c->environment[i].value;
        plain = plain && is_plain(c->environment[i].name) && *value &&
                !value[strspn(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./:=")];
    }
    hn_str_add(s, "#   env");
    for (size_t i = 0; plain && i < c->n_environment; i++)
        hn_str_addf(s, " %s=%s", c->environment[i].name, c->environment[i].value);
    hn_str_addf(s, " PROGRAM ...  runs it as it was proven: see environment%s\n", plain ? "" : " for what is set");
}

static const char *value_of(const hone_controls *c, const char *name) {
    for (size_t i = 0; i < c->n_post_link; i++)
        if (!strcmp(c->post_link[i].name, name)) return c->post_link[i].value;
    return NULL;
}

static bool is_plain_list(const char *words) {
    return !words[strspn(words, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+= ")];
}

/* The linked program's way, as commands. */
static void add_post_link(hn_str *s, const hone_controls *c) {
    const char *command = value_of(c, "command"), *options = value_of(c, "options");
    if (!command || !options) return;
    bool plain = is_plain(command) && !strpbrk(command, "/.") && is_plain_list(options);
    hn_str_addf(s, "#   behind the link comes BOLT, which makes PROGRAM.bolt of PROGRAM%s\n",
                plain ? ":" : "; see post_link");
    if (plain) hn_bolt_recipe(s, "#     ", command, options);
}

static void add_head(hn_str *s, const hone_controls *c) {
    hn_str_add(s,
               "# Compiler controls, found and proven by hone. Made by a program: hone check refuses a file edited by "
               "hand.\n");
    if (c->pgo)
        hn_str_add(s, "#   hone cc --help           profile-guided: two builds and a run between them\n");
    else
        hn_str_addf(s, "#   %s @NAME.rsp ...  builds with them: the response file beside this one; no hone needed\n",
                    is_plain(c->compiler) ? c->compiler : hn_family_of_command(c->compiler)->command);
    if (c->n_files)
        hn_str_add(s, "#   files have flags of their own besides, behind those: see files; hone cc knows which\n");
    if (c->n_passes)
        hn_str_add(s, "#   opt runs edited passes besides, which the response file cannot say: hone cc does both\n");
    add_post_link(s, c);
    add_how_to_run(s, c);
    hn_str_add(s, "#   hone check NAME.hone     says whether they still hold here\n"
                  "#   hone retune NAME.hone    searches again, starting from them\n");
}

static void indent(hn_str *s, int n) { hn_str_addf(s, "%*s", n, ""); }

static void add_text(hn_str *s, int depth, const char *key, const char *value) {
    indent(s, depth);
    hn_yaml_add_scalar(s, key);
    hn_str_add(s, ": ");
    hn_yaml_add_scalar(s, value);
    hn_str_add(s, "\n");
}

static void add_count(hn_str *s, int depth, const char *key, uint64_t n) {
    indent(s, depth);
    hn_str_addf(s, "%s: %llu\n", key, (unsigned long long)n);
}

static void add_pairs(hn_str *s, int depth, const char *key, const hone_pair *p, size_t n) {
    if (!n) return;
    indent(s, depth);
    hn_str_addf(s, "%s:\n", key);
    for (size_t i = 0; i < n; i++) add_text(s, depth + 2, p[i].name, p[i].value);
}

/* Five digits: measurements are not more precise, and the text still reads back to itself. */
static void add_interval(hn_str *s, hone_interval x) { hn_str_addf(s, "[%.5g, %.5g, %.5g]", x.lo, x.mid, x.hi); }
static bool known(hone_interval x) { return isfinite(x.lo) && isfinite(x.mid) && isfinite(x.hi); }

/* --- the point ------------------------------------------------------------------------------------------------- */

/* Strings in quotes where they need them; other JSON values are YAML as they are. */
static void add_value(hn_str *s, const hn_yaml *doc, const hn_ynode *v) {
    if (v->kind == HN_Y_SCALAR && v->quoted)
        hn_yaml_add_scalar(s, v->text);
    else
        hn_gene_json(doc, v, s);
}

typedef enum gene_kind { CHOICE, CONTROL, PARAMETER } gene_kind;

static gene_kind kind_of(const hone_controls *c, const char *prefix, const char *name, const hn_ynode *v) {
    if (hn_is_choice(c, name, v)) return CHOICE;
    return hn_starts_with(name, prefix) ? CONTROL : PARAMETER;
}

static void add_genes(hn_str *s, const hone_controls *c, const char *prefix, const hn_yaml *point, gene_kind want,
                      const char *key) {
    const hn_ynode *root = hn_yaml_root(point);
    bool any = false;
    for (size_t i = 0; i < root->n; i++) {
        const char *name = root->key[i]->text;
        if (kind_of(c, prefix, name, root->item[i]) != want) continue;
        if (!any) hn_str_addf(s, "%s:\n", key);
        any = true;
        hn_str_add(s, want == CHOICE ? "  - " : "  ");
        hn_yaml_add_scalar(s, want == CONTROL ? name + strlen(prefix) : name);
        if (want != CHOICE) {
            hn_str_add(s, ": ");
            add_value(s, point, root->item[i]);
        }
        hn_str_add(s, "\n");
    }
}

static hone_rc add_point(hn_str *s, const hone_controls *c, hone_err *err) {
    hn_arena a = {0};
    hn_yaml *point;
    hone_rc rc = hn_point_load(c->point, &point, err);
    if (rc) return rc;
    const char *prefix = hn_controls_prefix(&a, c->compiler);
    if (!prefix) {
        rc = hn_fail(err, HONE_E_NOMEM, "out of memory writing a controls file");
    } else {
        add_genes(s, c, prefix, point, CHOICE, "choices");
        add_genes(s, c, prefix, point, CONTROL, "controls");
        add_genes(s, c, prefix, point, PARAMETER, "parameters");
    }
    hn_yaml_free(point);
    hn_arena_free(&a);
    return rc;
}

/* --- sections -------------------------------------------------------------------------------------------------- */

static hone_rc add_what(hn_str *s, const hone_controls *c, hone_err *err) {
    char *rsp, hex[33];
    add_text(s, 0, "compiler", c->compiler);
    add_text(s, 0, "floating_point", c->floating_point);
    hn_str_addf(s, "profile_guided: %s\n", c->pgo ? "true" : "false");
    hone_rc rc = add_point(s, c, err);
    if (rc) return rc;
    add_pairs(s, 0, "environment", c->environment, c->n_environment);
    add_pairs(s, 0, "post_link", c->post_link, c->n_post_link);
    add_pairs(s, 0, "files", c->file, c->n_files);
    add_pairs(s, 0, "passes", c->passes, c->n_passes);
    hn_str_add(s, c->n_flags ? "flags:\n" : "flags: []\n");
    for (size_t i = 0; i < c->n_flags; i++) {
        hn_str_add(s, "  - ");
        hn_yaml_add_scalar(s, c->flag[i]);
        hn_str_add(s, "\n");
    }
    if ((rc = hone_controls_rsp(c, &rsp, err))) return rc;
    hn_hash h;
    hn_hash_begin(&h);
    hn_hash_add(&h, rsp, strlen(rsp));
    hn_hash_end(&h, hex);
    hone_free(rsp);
    add_text(s, 0, "response_file", hex);
    return HONE_OK;
}

static void add_key(hn_str *s, const hone_controls *c) {
    hn_str_add(s, "key:\n");
    add_text(s, 2, "workload", c->workload);
    add_text(s, 2, "workload_hash", c->workload_hash);
    add_text(s, 2, "space_hash", c->space_hash);
    add_text(s, 2, "baseline", c->baseline);
    add_pairs(s, 2, "rules", c->rule, c->n_rules);
    add_pairs(s, 2, "sources", c->source, c->n_sources);
    add_pairs(s, 2, "inputs", c->input, c->n_inputs);
    add_pairs(s, 2, "compiler", c->tool, c->n_tool);
    add_pairs(s, 2, "baseline_compiler", c->baseline_tool, c->n_baseline_tool);
    add_pairs(s, 2, "machine", c->machine, c->n_machine);
}

static void add_distribution(hn_str *s, const char *key, const hone_distribution *d) {
    const double v[] = {d->p5, d->p25, d->p50, d->p75, d->p95, d->mean, d->sd};
    bool fine = d->n > 0;
    for (size_t i = 0; i < sizeof v / sizeof *v; i++) fine = fine && isfinite(v[i]);
    if (!fine) return;
    hn_str_addf(s, "      %s: {n: %zu, p5: %.6g, p25: %.6g, p50: %.6g, p75: %.6g, p95: %.6g, mean: %.6g, sd: %.6g}\n",
                key, d->n, v[0], v[1], v[2], v[3], v[4], v[5], v[6]);
}

static void add_row(hn_str *s, const hone_controls_row *r) {
    hn_str_add(s, "    - objective: ");
    hn_yaml_add_scalar(s, r->objective);
    hn_str_add(s, "\n");
    if (r->input && *r->input) add_text(s, 6, "input", r->input);
    if (r->held_out) hn_str_add(s, "      held_out: true\n");
    if (known(r->gain)) {
        hn_str_add(s, "      gain: ");
        add_interval(s, r->gain);
        hn_str_add(s, "\n");
    }
    add_distribution(s, "baseline", &r->baseline);
    add_distribution(s, "tuned", &r->tuned);
}

static void add_proof(hn_str *s, const hone_controls *c) {
    hn_str_add(s, "proof:\n");
    add_count(s, 2, "session", c->session > 0 ? (uint64_t)c->session : 0);
    if (isfinite(c->claimed)) hn_str_addf(s, "  claimed: %.5g\n", c->claimed);
    add_count(s, 2, "pairs", c->n_pairs);
    add_count(s, 2, "variants", c->n_variants);
    if (c->n_rows) hn_str_add(s, "  results:\n");
    for (size_t i = 0; i < c->n_rows; i++) add_row(s, &c->row[i]);
    if (c->n_before) add_count(s, 2, "controls_before", c->n_before);
    if (c->n_shares) hn_str_add(s, "  shares:\n");
    for (size_t i = 0; i < c->n_shares; i++) {
        hn_str_add(s, "    ");
        hn_yaml_add_scalar(s, c->share[i].name);
        hn_str_add(s, ": ");
        if (known(c->share[i].gain))
            add_interval(s, c->share[i].gain);
        else
            hn_str_add(s, "[]");
        hn_str_add(s, "\n");
    }
}

hone_rc hn_controls_body(const hone_controls *c, hn_str *s, hone_err *err) {
    add_head(s, c);
    hn_str_addf(s, "format: %d\n", c->format);
    add_text(s, 0, "verdict", c->verdict);
    add_text(s, 0, "name", c->name);
    add_text(s, 0, "hone", c->version);
    add_text(s, 0, "created", c->created);
    hone_rc rc = add_what(s, c, err);
    if (rc) return rc;
    add_key(s, c);
    add_proof(s, c);
    return s->failed ? hn_fail(err, HONE_E_NOMEM, "out of memory writing a controls file") : HONE_OK;
}
