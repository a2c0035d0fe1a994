/* cmd_team.c — `hone team`: over many programs and machines what was tuned, what it brought, what is stale. */
#include "cli.h"

#include <hone/team.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *word;
    cli_ink ink;
} shown[HONE_N_TEAM] = {
    [HONE_TEAM_VALID] = {"valid", CLI_GREEN},          [HONE_TEAM_ELSEWHERE] = {"other machine", CLI_PLAIN},
    [HONE_TEAM_STALE] = {"stale", CLI_YELLOW},         [HONE_TEAM_UNWRITTEN] = {"no controls file", CLI_DIM},
    [HONE_TEAM_UNPROVEN] = {"not validated", CLI_DIM}, [HONE_TEAM_REJECTED] = {"rejected", CLI_DIM},
    [HONE_TEAM_NO_GAIN] = {"no gain", CLI_DIM},
};

/* --- tables ------------------------------------------------------------------------------------------------------- */

static void put_gain(const cli *c, cli_table *table, hone_interval gain, double claimed) {
    char a[CLI_TEXT_N], lo[CLI_TEXT_N], hi[CLI_TEXT_N];
    bool known = isfinite(gain.mid);
    if (known)
        cli_table_cell(table, "%s", cli_text_ratio(c, gain.mid, a));
    else
        cli_table_cell(table, "%s%s", isfinite(claimed) ? cli_text_ratio(c, claimed, a) : "",
                       isfinite(claimed) ? " claimed" : "");
    if (known)
        cli_table_cell(table, "%s to %s", cli_text_ratio(c, gain.lo, lo), cli_text_ratio(c, gain.hi, hi));
    else
        cli_table_cell(table, "%s", "");
}

static void put_row(const cli *c, cli_table *table, const hone_team_row *r, size_t k) {
    const hone_team_goal *goal = &r->goal[k];
    cli_table_cell(table, "%s", k ? "" : r->program);
    cli_table_cell(table, "%s", k ? "" : r->machine);
    cli_table_cell(table, "%s%s%s", k ? "" : r->compiler, !k && *r->version ? " " : "", k ? "" : r->version);
    cli_table_cell(table, "%s", goal->objective);
    put_gain(c, table, goal->gain, goal->claimed);
    cli_table_cell(table, "%s", k ? "" : r->when);
    cli_table_cell(table, "%s", k ? "" : shown[r->state].word);
    cli_table_ink(table, shown[r->state].ink);
}

static void put_rows(const cli *c, const hone_team *t) {
    static const char *const head[] = {"program", "machine",  "compiler", "objective",
                                       "gain",    "interval", "when",     "state"};
    cli_table *table = cli_table_new("lxllrlll");
    for (size_t i = 0; i < sizeof head / sizeof *head; i++) cli_table_head(table, head[i]);
    for (size_t i = 0; i < t->n_rows; i++)
        for (size_t k = 0; k < t->row[i].n_goals; k++) put_row(c, table, &t->row[i], k);
    cli_table_print(c, table, stdout, cli_width(stdout));
}

static void put_groups(const cli *c, const hone_team *t) {
    static const char *const head[] = {"machine", "compiler", "metric", "results", "hold", "stale", "mean", "interval"};
    cli_table *table = cli_table_new("xllrrrrl");
    for (size_t i = 0; i < sizeof head / sizeof *head; i++) cli_table_head(table, head[i]);
    for (size_t i = 0; i < t->n_groups; i++) {
        const hone_team_group *g = &t->group[i];
        cli_table_cell(table, "%s", g->machine);
        cli_table_cell(table, "%s%s%s", g->compiler, *g->version ? " " : "", g->version);
        cli_table_cell(table, "%s", g->metric);
        cli_table_cell(table, "%zu", g->n);
        cli_table_cell(table, "%zu", g->n_holding);
        cli_table_cell(table, "%zu", g->n_state[HONE_TEAM_STALE]);
        put_gain(c, table, g->gain, (double)NAN);
    }
    cli_table_print(c, table, stdout, cli_width(stdout));
}

/* --- words -------------------------------------------------------------------------------------------------------- */

static void put_place(const cli *c, const hone_team_row *r) {
    cli_put(c, stdout, r->where, 0);
    if (r->session) printf(", session %lld", (long long)r->session);
}

static void put_next(const cli *c, const hone_team_row *r) {
    const char *slash = strrchr(r->where, '/');
    if (r->state == HONE_TEAM_STALE) {
        printf("\n  next: `hone retune ");
        cli_put(c, stdout, r->where, 0);
        puts("`");
        return;
    }
    printf("\n  next: `hone validate` in '");
    char *folder = slash ? cli_format("%.*s", (int)(slash - r->where), r->where) : cli_strdup(".");
    cli_put(c, stdout, folder, 0);
    puts("'");
    free(folder);
}

/* What has changed, and what to do about it. */
static void put_open(const cli *c, const hone_team *t) {
    for (size_t i = 0; i < t->n_rows; i++) {
        const hone_team_row *r = &t->row[i];
        bool proof = r->state == HONE_TEAM_UNPROVEN || r->state == HONE_TEAM_UNWRITTEN;
        if (r->state != HONE_TEAM_STALE && !proof) continue;
        put_place(c, r);
        printf(": %s%s", shown[r->state].word, *r->why ? ": " : "");
        cli_put(c, stdout, r->why, 0);
        put_next(c, r);
    }
    for (size_t i = 0; i < t->n_problems; i++) {
        cli_put(c, stdout, t->problem[i].where, 0);
        printf(": cannot be read: ");
        cli_put(c, stdout, t->problem[i].text, 0);
        putchar('\n');
    }
}

static void put_text(const cli *c, const hone_team *t) {
    if (t->n_rows) {
        put_rows(c, t);
        putchar('\n');
        put_groups(c, t);
        putchar('\n');
    }
    put_open(c, t);
    cli_put(c, stdout, t->sentence, 0);
    putchar('\n');
}

/* --- the command -------------------------------------------------------------------------------------------------- */

static hone_rc put_json(const hone_team *t, hone_err *err) {
    char *text = NULL;
    hone_rc rc = hone_team_json(t, &text, err);
    if (rc) return rc;
    puts(text);
    hone_free(text);
    return HONE_OK;
}

static hone_rc run_team(cli *c, hone_err *err) {
    static const char *const here[] = {"."};
    hone_team t;
    const char *page = cli_text(c, "out", NULL);
    hone_rc rc = hone_team_open(c->n_args ? c->arg : here, c->n_args ? c->n_args : 1, &t, err);
    if (rc) return rc;
    if (page) rc = hone_team_write(&t, page, NULL, err);
    if (!rc && c->json)
        rc = put_json(&t, err);
    else if (!rc)
        put_text(c, &t);
    hone_team_free(&t);
    return rc;
}

static const cli_option options[] = {
    {"out", 'o', CLI_TEXT, "FILE", 0, 0, "write it as one HTML page, too"},
    {0},
};

const cli_command cli_cmd_team = {
    "team",
    "Look",
    "[FILE|FOLDER|STORE]...",
    "list what was tuned over many programs and machines, what it brought, what is stale",
    "Reads all controls files (`*.hone`) and stores (`.hone`) in the folders and below; without an operand, the "
    "current "
    "one. Checkouts of several machines side by side make one list. Each controls file is judged as `hone check` does; "
    "of a store counts the newest session of each program and machine that no controls file is of. Then come sums for "
    "each machine, compiler and metric, what has changed with what to do about it, and what could not be read.\n\n"
    "`valid`: proven, nothing that counts has changed. `other machine`: proven for another processor; sources and "
    "rules "
    "are as they were. `stale`: they have changed. `no controls file`: a store has its proof. `not validated`: a "
    "search claims a gain. `rejected`, `no gain`: what came of it.\n\n"
    "Nothing is built or measured. A damaged file or store is named, and the others are reported all the same.",
    options,
    "hone team\tall programs below this folder\n"
    "hone team server client --out team.html\tof two checkouts, as a page, too\n"
    "hone team --json\tfor scripts\n",
    0,
    -1,
    run_team,
};
