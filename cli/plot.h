/* plot.h — the pictures of a report on a terminal, and the report that commands make of a record. */
#ifndef CLI_PLOT_H
#define CLI_PLOT_H

#include "session.h"

#include <hone/report.h>

/* A report with what it borrows. */
typedef struct cli_report {
    hone_workload *workload; /* NULL: not found, or of another session */
    hone_controls *controls; /* NULL: none of this session */
    hone_report report;
} cli_report;
/* The record's session as a report. The workload file adds flags and budget; a controls file (--controls where the
 * command has it, else NAME.hone beside the workload file if it is of this session) the shares of the controls. */
hone_rc cli_report_open(const cli *c, const cli_record *r, cli_report *out, hone_err *err);
void cli_report_close(cli_report *p);

/* Draws everything that the report has on stdout, `width` columns wide (0: 80). */
void cli_plot(const cli *c, const hone_report *r, int width);

#endif
