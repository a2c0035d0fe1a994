/* cmd_winners.c — `hone winners`: what tuning found, listed, carried to other machines, thrown away. */
#include "cli.h"

#include <hone/winners.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SHOWN_ID = 12 };

static hone_rc open_file(const cli *c, bool write, hone_winners **out, hone_err *err) {
    return hone_winners_open(cli_text(c, "winners", NULL), write, out, err);
}

/* --- list ----------------------------------------------------------------------------------------------------------
 */

static void list_json(cli *c, const hone_winner *w, size_t n) {
    cli_json j = cli_json_begin(c, false);
    char id[33];
    cli_json_array(&j);
    for (size_t i = 0; i < n; i++) {
        hone_winner_id(&w[i], id);
        cli_json_object(&j);
        cli_json_ktext(&j, "id", id);
        cli_json_ktext(&j, "kind", w[i].kind);
        cli_json_ktext(&j, "body", w[i].body);
        cli_json_ktext(&j, "sizes", w[i].sizes);
        cli_json_ktext(&j, "target", w[i].target);
        cli_json_ktext(&j, "device", w[i].device);
        cli_json_ktext(&j, "compiler", w[i].compiler);
        cli_json_ktext(&j, "numeric", w[i].numeric);
        cli_json_ktext(&j, "schedule", w[i].schedule);
        cli_json_ktext(&j, "cc", w[i].cc);
        cli_json_ktext(&j, "flags", w[i].flags);
        cli_json_ktext(&j, "provenance", w[i].provenance);
        cli_json_knumber(&j, "default_s", w[i].default_s);
        cli_json_knumber(&j, "tuned_s", w[i].tuned_s);
        cli_json_knumber(&j, "gain", w[i].gain);
        cli_json_knumber(&j, "gain_lo", w[i].gain_lo);
        cli_json_knumber(&j, "gain_hi", w[i].gain_hi);
        cli_json_knumber(&j, "pairs", w[i].pairs);
        cli_json_knumber(&j, "at_s", w[i].at_s);
        cli_json_close(&j);
    }
    cli_json_end(&j);
}

static void put_row(const cli *c, cli_table *t, const hone_winner *w) {
    char id[33], a[CLI_TEXT_N], b[CLI_TEXT_N], g[CLI_TEXT_N], lo[CLI_TEXT_N], hi[CLI_TEXT_N], when[CLI_TEXT_N];
    hone_winner_id(w, id);
    cli_table_cell(t, "%.*s", SHOWN_ID, id);
    cli_table_cell(t, "%s", w->kind);
    cli_table_cell(t, "%s", cli_text_seconds(w->default_s, a));
    cli_table_cell(t, "%s", cli_text_seconds(w->tuned_s, b));
    cli_table_cell(t, "%s (%s .. %s)", cli_text_ratio(c, w->gain, g), cli_text_ratio(c, w->gain_lo, lo),
                   cli_text_ratio(c, w->gain_hi, hi));
    cli_table_cell(t, "%s", cli_text_when(w->at_s, when));
    cli_table_cell(t, "%s", w->provenance);
    cli_table_cell(t, "%s%s%s%s%s", w->schedule, *w->cc ? " " : "", w->cc, *w->flags ? " " : "", w->flags);
    cli_table_cell(t, "%s", w->device);
}

static hone_rc list(cli *c, hone_err *err) {
    static const char *const head[] = {"id",   "kind",       "default",  "tuned", "gain",
                                       "when", "provenance", "schedule", "device"};
    hone_winners *w;
    hone_winner *rows = NULL;
    size_t n = 0;
    hone_rc rc = open_file(c, false, &w, err);
    if (rc) return rc;
    rc = hone_winners_list(w, &rows, &n, err);
    hone_winners_close(w);
    if (rc) return rc;
    if (c->json) {
        list_json(c, rows, n);
    } else {
        cli_table *t = cli_table_new("llrrlllxx");
        for (size_t i = 0; i < sizeof head / sizeof *head; i++) cli_table_head(t, head[i]);
        for (size_t i = 0; i < n; i++) put_row(c, t, &rows[i]);
        cli_table_print(c, t, stdout, cli_width(stdout));
    }
    hone_winners_list_free(rows, n);
    return HONE_OK;
}

/* --- export, import ------------------------------------------------------------------------------------------------
 */

static hone_rc write_text(const char *path, const char *text, hone_err *err) {
    FILE *f = fopen(path, "w");
    if (!f) return cli_fail(err, HONE_E_IO, "cannot write '%s': %s", path, strerror(errno));
    bool good = fputs(text, f) >= 0;
    if (fclose(f)) good = false;
    return good ? HONE_OK : cli_fail(err, HONE_E_IO, "cannot write '%s': %s", path, strerror(errno));
}

static hone_rc export_text(cli *c, hone_err *err) {
    hone_winners *w;
    char *text = NULL;
    if (c->n_args > 2) return cli_fail(err, HONE_E_USAGE, "`hone winners export` takes one file, or writes to stdout");
    hone_rc rc = open_file(c, false, &w, err);
    if (rc) return rc;
    rc = hone_winners_export(w, &text, err);
    hone_winners_close(w);
    if (rc) return rc;
    if (c->n_args == 2)
        rc = write_text(c->arg[1], text, err);
    else
        fputs(text, stdout);
    hone_free(text);
    return rc;
}

static hone_rc import_text(cli *c, hone_err *err) {
    hone_winners *w = NULL;
    if (c->n_args < 2) return cli_fail(err, HONE_E_USAGE, "`hone winners import` needs a file that `export` wrote");
    hone_rc rc = open_file(c, true, &w, err);
    for (size_t i = 1; i < c->n_args && !rc; i++) {
        size_t n_read, n_new;
        rc = hone_winners_import_file(w, c->arg[i], &n_read, &n_new, err);
        if (!rc) printf("%s: %zu winners, %zu of them new\n", c->arg[i], n_read, n_new);
    }
    hone_winners_close(w);
    return rc;
}

/* --- prune ---------------------------------------------------------------------------------------------------------
 */

static bool is_wanted(const cli *c, const hone_winner *w) {
    char id[33];
    double older_s = cli_seconds(c, "older", 0);
    if (cli_given(c, "all")) return true;
    if (older_s > 0 && (double)time(NULL) - w->at_s > older_s) return true;
    hone_winner_id(w, id);
    for (size_t i = 1; i < c->n_args; i++)
        if (strlen(c->arg[i]) >= 4 && !strncmp(id, c->arg[i], strlen(c->arg[i]))) return true;
    return false;
}

static hone_rc prune(cli *c, hone_err *err) {
    hone_winners *w;
    hone_winner *rows = NULL;
    size_t n = 0, n_gone = 0;
    if (c->n_args < 2 && !cli_given(c, "all") && !cli_given(c, "older"))
        return cli_fail(err, HONE_E_USAGE, "say which winners to remove: their ids, --older TIME, or --all");
    hone_rc rc = open_file(c, true, &w, err);
    if (rc) return rc;
    rc = hone_winners_list(w, &rows, &n, err);
    for (size_t i = 0; i < n && !rc; i++) {
        char id[33];
        if (!is_wanted(c, &rows[i])) continue;
        hone_winner_id(&rows[i], id);
        rc = hone_winners_remove(w, id, err);
        n_gone += !rc;
    }
    hone_winners_list_free(rows, n);
    hone_winners_close(w);
    if (!rc) printf("%zu of %zu winners removed\n", n_gone, n);
    return rc;
}

/* --- the command ---------------------------------------------------------------------------------------------------
 */

static hone_rc run_winners(cli *c, hone_err *err) {
    static const struct {
        const char *name;
        hone_rc (*run)(cli *c, hone_err *err);
    } action[] = {{"list", list}, {"export", export_text}, {"import", import_text}, {"prune", prune}};
    const char *names[4];
    for (size_t i = 0; i < 4; i++) {
        if (!strcmp(c->arg[0], action[i].name)) return action[i].run(c, err);
        names[i] = action[i].name;
    }
    const char *near = cli_nearest(c->arg[0], names, 4);
    return cli_fail(err, HONE_E_USAGE, "'hone winners %s': the action is list, export, import or prune%s%s%s",
                    c->arg[0], near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static const cli_option options[] = {
    {"winners", 0, CLI_TEXT, "FILE", 0, 0, "the file they are kept in (default: the user's)"},
    {"older", 0, CLI_SECONDS, "TIME", 0, 0, "prune: those found longer ago than this: 90d"},
    {"all", 0, CLI_FLAG, NULL, 0, 0, "prune: all of them"},
    {0},
};

const cli_command cli_cmd_winners = {
    "winners",
    "Models",
    "list|export|import|prune [FILE|ID]...",
    "list, carry or remove what tuning models found",
    "A winner is a schedule with its compiler flags that `hone tune MODEL.onnx` proved faster than the default one, "
    "for a "
    "kernel on a processor under a compiler. `hone compile` takes it wherever the same kernel comes up.\n\n"
    "`list` shows them, `export [FILE]` writes them as YAML (to standard output without a file), `import FILE...` "
    "takes such "
    "text in, where what is newer stays; `prune` removes winners by id (or its beginning), by age, or all of them.",
    options,
    "hone winners list\twhat was found, the newest first\n"
    "hone winners export winners.yaml\tto review, keep or carry\n"
    "hone winners import winners.yaml\ton another machine\n"
    "hone winners prune --older 90d\tremove old ones\n",
    1,
    1000,
    run_winners,
};
