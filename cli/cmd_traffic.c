/* cmd_traffic.c — `hone traffic`: what a served model is asked for, by sizes and times. */
#include "traffic.h"

#include <stdlib.h>

static void put_json(cli *c, const hone_traffic_row *row, size_t n) {
    cli_json j = cli_json_begin(c, false);
    cli_json_array(&j);
    for (size_t i = 0; i < n; i++) {
        cli_json_object(&j);
        cli_json_ktext(&j, "kind", row[i].kind);
        cli_json_ktext(&j, "size", row[i].size);
        cli_json_knumber(&j, "count", row[i].count);
        cli_json_knumber(&j, "time_s", row[i].time_s);
        cli_json_close(&j);
    }
    cli_json_end(&j);
}

static void put_text(const cli *c, const hone_traffic_row *row, size_t n) {
    static const char *const head[] = {"kind", "size", "count", "seconds", "share of time"};
    double all_s = 0;
    char t[CLI_TEXT_N];
    cli_table *table = cli_table_new("llrrr");
    for (size_t i = 0; i < sizeof head / sizeof *head; i++) cli_table_head(table, head[i]);
    for (size_t i = 0; i < n; i++) all_s += row[i].time_s;
    for (size_t i = 0; i < n; i++) {
        bool timed = row[i].time_s > 0;
        cli_table_cell(table, "%s", row[i].kind);
        cli_table_cell(table, "%s", *row[i].size ? row[i].size : "-");
        cli_table_cell(table, "%.0f", row[i].count);
        cli_table_cell(table, "%s", timed ? cli_text_seconds(row[i].time_s, t) : "-");
        if (timed)
            cli_table_cell(table, "%.1f %%", 100 * row[i].time_s / all_s);
        else
            cli_table_cell(table, "-");
    }
    cli_table_print(c, table, stdout, cli_width(stdout));
}

static hone_rc run_traffic(cli *c, hone_err *err) {
    hone_traffic_row *row;
    size_t n;
    hone_rc rc = cli_traffic_open(c->arg[0], cli_text(c, "store", NULL), &row, &n, err);
    if (rc) return rc;
    if (c->json)
        put_json(c, row, n);
    else
        put_text(c, row, n);
    hone_free(row);
    return HONE_OK;
}

static const cli_option options[] = {
    {"store", 0, CLI_TEXT, "FILE", 0, 0,
     "where `hone serve --store` keeps it, or what --json printed; else the user's file"},
    {0},
};

const cli_command cli_cmd_traffic = {
    "traffic",
    "Models",
    "MODEL",
    "what a served model is asked for: sizes and times",
    "`hone serve` counts what its models are asked for: sizes of symbolic dimensions, lengths of prompts and answers, "
    "rows and "
    "tokens of steps, and the time that each took; never contents. Counts decay: after a week half is left. `hone tune "
    "MODEL --from-traffic` tunes for them. --json prints what --store and `hone tune --traffic` read.",
    options,
    "hone traffic model.onnx\ta row for each size, with its share of the time\n"
    "hone traffic model.onnx --json > traffic.json\tto tune for on another machine\n",
    1,
    1,
    run_traffic,
};
