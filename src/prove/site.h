/* prove/site.h — where the programs of one command are built and run: the opened plan, a private folder, the configs of
 * builds and runs.
 *
 * Owns: the plan and the folder, until hn_site_close.   Borrows: workload and options.   Errors: as hn_plan_open; E_IO.
 */
#ifndef HN_SITE_H
#define HN_SITE_H

#include "tune/run.h"

#include <hone/prove.h>

typedef struct hn_site {
    const hone_workload *w;
    const hone_prove_options *o;
    hone_tune_options tune;
    hn_arena arena;
    hn_plan *plan;
    char *dir;
    hn_build_config builder;
    hn_run_config run;                      /* ref_dir exists */
    double started_s, deadline_s, waited_s; /* deadline: INFINITY without max_s */
} hn_site;

/* what: begins the folder's name. *site must not move while it is open. */
hone_rc hn_site_open(hn_site *site, const hone_workload *w, const hone_prove_options *o, const char *what,
                     hone_err *err);
void hn_site_close(hn_site *site);
/* An event of the options, if they ask for events. */
/* Options of building and running, of those of a proof. */
hone_tune_options hn_prove_tuning(const hone_prove_options *o);
/* The word of a stage in events. */
const char *hn_prove_word(hone_prove_stage stage);
void hn_site_tell(const hn_site *site, hone_prove_stage stage, size_t done, size_t total, hone_interval gain,
                  const char *text);

#endif
