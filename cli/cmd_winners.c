/* cmd_winners.c — `hone winners`: the results of tuning: listed, copied to other machines, removed. */
#include "text_file.h"

#include <hone/winners.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SHOWN_ID = 12, LEAST_ID = 4 };

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
    if (c->n_args > 1) return cli_fail(err, HONE_E_USAGE, "`hone winners list` takes no operand; it shows all");
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

static void export_json(cli *c, const char *text) {
    cli_json j = cli_json_begin(c, false);
    cli_json_object(&j);
    cli_json_ktext(&j, "path", c->n_args == 2 ? c->arg[1] : NULL);
    cli_json_ktext(&j, "yaml", text);
    cli_json_end(&j);
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
    if (c->n_args == 2) rc = cli_write_text(c->arg[1], text, err);
    if (!rc && c->json)
        export_json(c, text);
    else if (c->n_args < 2)
        fputs(text, stdout);
    hone_free(text);
    return rc;
}

/* All files are checked before the first one is imported. */
static hone_rc check_files(const cli *c, hone_err *err) {
    hone_rc rc = HONE_OK;
    for (size_t i = 1; i < c->n_args && !rc; i++) {
        hone_winner *rows;
        size_t n;
        rc = hone_winners_parse_file(c->arg[i], &rows, &n, err);
        if (!rc) hone_winners_list_free(rows, n);
    }
    return rc;
}

typedef struct taken {
    size_t n_read, n_new;
} taken;

static void show_taken(cli *c, const taken *t) {
    if (!c->json) {
        for (size_t i = 1; i < c->n_args; i++)
            printf("%s: %zu winner%s, %zu of them new\n", c->arg[i], t[i].n_read, t[i].n_read == 1 ? "" : "s",
                   t[i].n_new);
        return;
    }
    cli_json j = cli_json_begin(c, false);
    cli_json_array(&j);
    for (size_t i = 1; i < c->n_args; i++) {
        cli_json_object(&j);
        cli_json_ktext(&j, "file", c->arg[i]);
        cli_json_kcount(&j, "read", t[i].n_read);
        cli_json_kcount(&j, "new", t[i].n_new);
        cli_json_close(&j);
    }
    cli_json_end(&j);
}

static hone_rc import_text(cli *c, hone_err *err) {
    hone_winners *w = NULL;
    if (c->n_args < 2) return cli_fail(err, HONE_E_USAGE, "`hone winners import` needs a file that `export` wrote");
    hone_rc rc = check_files(c, err);
    if (!rc) rc = open_file(c, true, &w, err);
    if (rc) return rc;
    taken *t = NULL;
    size_t room = 0;
    for (size_t i = 0; i < c->n_args; i++) t = cli_grow(t, &room, i, sizeof *t);
    for (size_t i = 1; i < c->n_args && !rc; i++)
        rc = hone_winners_import_file(w, c->arg[i], &t[i].n_read, &t[i].n_new, err);
    hone_winners_close(w);
    if (!rc) show_taken(c, t);
    free(t);
    return rc;
}

/* --- prune ---------------------------------------------------------------------------------------------------------
 */

static bool is_named(const hone_winner *w, const char *beginning) {
    char id[33];
    hone_winner_id(w, id);
    return !strncmp(id, beginning, strlen(beginning));
}

static bool is_wanted(const cli *c, const hone_winner *w) {
    double older_s = cli_seconds(c, "older", 0);
    if (cli_given(c, "all")) return true;
    if (older_s > 0 && (double)time(NULL) - w->at_s > older_s) return true;
    for (size_t i = 1; i < c->n_args; i++)
        if (is_named(w, c->arg[i])) return true;
    return false;
}

/* Each operand begins the id of one winner at least, and is not too short. */
static hone_rc check_ids(const cli *c, const hone_winner *rows, size_t n, hone_err *err) {
    for (size_t i = 1; i < c->n_args; i++) {
        size_t at = 0;
        if (strlen(c->arg[i]) < LEAST_ID)
            return cli_fail(err, HONE_E_USAGE, "'%s' is too short for an id: give %d digits or more", c->arg[i],
                            LEAST_ID);
        while (at < n && !is_named(&rows[at], c->arg[i])) at++;
        if (at == n)
            return cli_fail(err, HONE_E_NOTFOUND,
                            "no winner has an id that begins with '%s'; `hone winners list` shows them", c->arg[i]);
    }
    return HONE_OK;
}

static hone_rc remove_rows(const cli *c, hone_winners *w, const hone_winner *rows, size_t n, size_t *n_gone,
                           hone_err *err) {
    hone_rc rc = check_ids(c, rows, n, err);
    for (size_t i = 0; i < n && !rc; i++) {
        char id[33];
        if (!is_wanted(c, &rows[i])) continue;
        hone_winner_id(&rows[i], id);
        rc = hone_winners_remove(w, id, err);
        *n_gone += !rc;
    }
    return rc;
}

static void show_gone(cli *c, size_t n_gone, size_t n) {
    if (!c->json) {
        printf("%zu of %zu winner%s removed\n", n_gone, n, n == 1 ? "" : "s");
        return;
    }
    cli_json j = cli_json_begin(c, false);
    cli_json_object(&j);
    cli_json_kcount(&j, "removed", n_gone);
    cli_json_kcount(&j, "of", n);
    cli_json_end(&j);
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
    if (!rc) rc = remove_rows(c, w, rows, n, &n_gone, err);
    hone_winners_list_free(rows, n);
    hone_winners_close(w);
    if (!rc) show_gone(c, n_gone, n);
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
    {"winners", 0, CLI_TEXT, "FILE|URL", 0, 0,
     "where they are kept: a file, or postgresql://HOST/DATABASE (default: HONE_WINNERS, else the user's file)"},
    {"older", 0, CLI_SECONDS, "TIME", 0, 0, "prune: those found longer ago than this: 90d"},
    {"all", 0, CLI_FLAG, NULL, 0, 0, "prune: all of them"},
    {0},
};

const cli_command cli_cmd_winners = {
    "winners",
    "Models",
    "list|export|import|prune [FILE|ID]...",
    "list, copy or remove the results of tuning models",
    "A winner is a schedule with its compiler flags that `hone tune MODEL` proved faster than the default one, "
    "for a "
    "kernel on a processor under a compiler. `hone compile` takes it wherever the same kernel occurs.\n\n"
    "`list` shows them, `export [FILE]` writes them as YAML (to standard output without a file), `import FILE...` "
    "takes such "
    "text in, where what is newer stays; `prune` removes winners by id (or its beginning), by age, or all of them.\n\n"
    "Many machines share winners at a server of PostgreSQL, where the better proof stays. A password is best left to "
    "~/.pgpass or PGPASSWORD: what stands on a command line, all users of the machine can read.",
    options,
    "hone winners list\twhat was found, the newest first\n"
    "hone winners export winners.yaml\tto review, keep or carry\n"
    "hone winners import winners.yaml\ton another machine\n"
    "hone winners prune --older 90d\tremove old ones\n"
    "HONE_WINNERS=postgresql://tuner@db.example/hone hone tune model.onnx\tshared with other machines\n",
    1,
    1000,
    run_winners,
};
