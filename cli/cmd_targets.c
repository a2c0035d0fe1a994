/* cmd_targets.c — `hone targets`: the compilers found here, what identifies them, what they offer. */
#include "cli.h"

#include <hone/target.h>

#include <stdlib.h>
#include <string.h>

typedef struct row {
    hone_target *target;
    const char *family;
    hone_target_stats stats;
    bool counted;
    char *problem; /* why it cannot be used */
} row;
typedef struct rows {
    row *row;
    size_t n, room;
} rows;

static hone_rc count_controls(const cli *c, row *r, hone_err *err) {
    hone_target_options options = {.size = sizeof(hone_target_options),
                                   .all = cli_given(c, "all"),
                                   .numeric = cli_given(c, "numeric"),
                                   .lto = true,
                                   .pgo = true,
                                   .progress = {cli_progress, (void *)(uintptr_t)c}};
    hone_space *space;
    hone_rc rc = hone_target_space(r->target, &options, &space, err);
    if (rc) return rc;
    hone_space_free(space);
    hone_target_get_stats(r->target, &r->stats);
    r->counted = true;
    return HONE_OK;
}

static hone_rc add_target(const cli *c, const char *name, bool count, rows *out, hone_err *err) {
    row r = {0};
    hone_rc rc = hone_target_open(name, NULL, &r.target, err);
    if (!rc && count) rc = count_controls(c, &r, err);
    if (rc) {
        hone_target_close(r.target);
        return rc;
    }
    r.family = hone_target_fingerprint(r.target)->family;
    out->row = cli_grow(out->row, &out->room, out->n, sizeof r);
    out->row[out->n++] = r;
    return HONE_OK;
}

/* One that does not work is listed with its reason; the others still count. */
static void add_or_explain(const cli *c, const char *family, const char *name, bool count, rows *out) {
    hone_err why = {0};
    if (!add_target(c, name, count, out, &why)) return;
    row r = {.family = family, .problem = cli_strdup(why.text)};
    out->row = cli_grow(out->row, &out->room, out->n, sizeof r);
    out->row[out->n++] = r;
}

static hone_rc add_installed(const cli *c, bool count, rows *out, hone_err *err) {
    hone_family_info family;
    for (size_t i = 0; hone_family_at(i, &family); i++) {
        char **names;
        size_t n;
        hone_rc rc = hone_family_installed(family.name, &names, &n, err);
        if (rc) return rc;
        for (size_t k = 0; k < n; k++) add_or_explain(c, family.name, names[k], count, out);
        hone_free(names);
    }
    return HONE_OK;
}

static void row_json(cli_json *j, const row *r) {
    cli_json_object(j);
    cli_json_ktext(j, "family", r->family);
    if (r->problem)
        cli_json_ktext(j, "problem", r->problem);
    else {
        const hone_fingerprint *f = hone_target_fingerprint(r->target);
        cli_json_ktext(j, "command", f->command);
        cli_json_ktext(j, "path", f->path);
        cli_json_ktext(j, "version", f->version);
        cli_json_ktext(j, "hash", f->hash);
        cli_json_ktext(j, "march", f->march);
    }
    if (r->counted) {
        cli_json_key(j, "controls");
        cli_json_object(j);
        cli_json_kcount(j, "discovered", r->stats.n_discovered);
        cli_json_kcount(j, "offered", r->stats.n_offered);
        cli_json_kcount(j, "unsafe", r->stats.n_unsafe);
        cli_json_kcount(j, "numeric", r->stats.n_numeric);
        cli_json_kcount(j, "rejected", r->stats.n_rejected);
        cli_json_knumber(j, "probe_s", r->stats.probe_s);
        cli_json_close(j);
    }
    cli_json_close(j);
}

static void print_details(const row *r) {
    const hone_fingerprint *f = hone_target_fingerprint(r->target);
    char text[CLI_TEXT_N];
    printf("command     %s\nfamily      %s\nversion     %s\npath        %s\n", f->command, f->family, f->version,
           f->path);
    printf("hash        %s\nmarch       %s\n", f->hash, f->march);
    printf("controls    %zu offered of %zu discovered\n", r->stats.n_offered, r->stats.n_discovered);
    printf("numeric     %zu that may change floating-point results (offered with --numeric)\n", r->stats.n_numeric);
    printf("unsafe      %zu that change semantics (never offered)\n", r->stats.n_unsafe);
    printf("rejected    %zu that the compiler refused when it was asked\n", r->stats.n_rejected);
    if (r->stats.probe_s > 0) printf("asked for   %s\n", cli_text_seconds(r->stats.probe_s, text));
}

static void print_table(const cli *c, const rows *all, bool counted) {
    cli_table *t = cli_table_new(counted ? "llxrrr" : "llxx");
    static const char *const head[] = {"command", "family", "version", "path"};
    static const char *const numbers[] = {"offered", "numeric", "rejected"};
    for (size_t i = 0; i < (counted ? 3u : 4u); i++) cli_table_head(t, head[i]);
    for (size_t i = 0; counted && i < 3; i++) cli_table_head(t, numbers[i]);
    for (size_t i = 0; i < all->n; i++) {
        const row *r = &all->row[i];
        const hone_fingerprint *f = r->problem ? NULL : hone_target_fingerprint(r->target);
        cli_table_cell(t, "%s", f ? f->command : "-");
        cli_table_cell(t, "%s", r->family);
        cli_table_cell(t, "%s", f ? f->version : r->problem);
        if (!counted) cli_table_cell(t, "%s", f ? f->path : "-");
        for (size_t k = 0; counted && k < 3; k++) {
            size_t n[] = {r->stats.n_offered, r->stats.n_numeric, r->stats.n_rejected};
            if (f)
                cli_table_cell(t, "%zu", n[k]);
            else
                cli_table_cell(t, "-");
        }
        if (!f) cli_table_ink(t, CLI_RED);
    }
    cli_table_print(c, t, stdout, cli_width(stdout));
}

static void print_rows(cli *c, const rows *all, bool one, bool counted) {
    if (!c->json) {
        if (one)
            print_details(&all->row[0]);
        else
            print_table(c, all, counted);
        return;
    }
    cli_json j = cli_json_begin(c, false);
    if (!one) cli_json_array(&j);
    for (size_t i = 0; i < all->n; i++) row_json(&j, &all->row[i]);
    cli_json_end(&j);
}

static hone_rc run_targets(cli *c, hone_err *err) {
    rows all = {0};
    bool one = c->n_args > 0, count = one || cli_given(c, "probe");
    hone_rc rc = one ? add_target(c, c->arg[0], true, &all, err) : add_installed(c, count, &all, err);
    if (!rc && !all.n)
        rc = cli_fail(err, HONE_E_TOOL,
                      "no compiler was found in PATH; `apt-get install gcc` or `apt-get install clang` "
                      "brings one");
    if (!rc) print_rows(c, &all, one, count);
    for (size_t i = 0; i < all.n; i++) {
        hone_target_close(all.row[i].target);
        free(all.row[i].problem);
    }
    free(all.row);
    return rc;
}

static const cli_option options[] = {
    {"probe", 0, CLI_FLAG, NULL, 0, 0, "ask every compiler for its controls and count them (slow the first time)"},
    {"all", 0, CLI_FLAG, NULL, 0, 0, "count every control of clang, not the curated set"},
    {"numeric", 0, CLI_FLAG, NULL, 0, 0, "offer also controls that may change floating-point results"},
    {0},
};

const cli_command cli_cmd_targets = {
    "targets",
    "Explore",
    "[COMPILER]",
    "list the compilers found here",
    "Lists the compilers in PATH that hone can tune. With a name it asks that compiler for its controls, tries each "
    "once, "
    "and says how many there are of each class and what identifies the compiler. The answers are kept in "
    "~/.cache/hone, keyed by the compiler's hash.",
    options,
    "hone targets\twhat is installed\n"
    "hone targets clang-19\tits fingerprint and number of controls\n"
    "hone space print clang-19\tthe controls themselves\n",
    0,
    1,
    run_targets,
};
