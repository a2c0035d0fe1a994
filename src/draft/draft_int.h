/* draft/draft_int.h — what the parts of the room share. */
#ifndef HN_DRAFT_INT_H
#define HN_DRAFT_INT_H

#include "draft/project.h"
#include "tune/draft.h"

#include <hone/draft.h>

/* The commands of a program as a draft. root: the folder of the workload file, absolute. Files that are not there:
 * E_BASELINE, unless options.no_try. */
hone_rc hn_draft_program(hn_arena *a, const hn_project *p, const hn_made *made, const char *root,
                         const hone_draft_options *o, hn_drafted *out, hone_err *err);
/* A Cargo project: the program that is wanted, and what its build reads. */
hone_rc hn_draft_cargo(hn_arena *a, const hn_project *p, const char *root, const hone_draft_options *o, hn_drafted *out,
                       hone_err *err);

/* `path` as it stands in a workload file of the folder `root`. */
const char *hn_draft_relative(hn_arena *a, const char *root, const char *path);
/* One more line of d->sources, unless it is there. */
void hn_draft_add_source(hn_drafted *d, const char *path);
/* The run that the user gave, for a program of this name: where it stands, {out} is put. With `files`, those that it
 * names become sources. */
void hn_draft_run(hn_arena *a, const char *root, const char *program, const char *run, hn_drafted *d, bool files);

enum { HN_CHANGING_MOST = 3 };
/* Builds and runs the text's baseline. *fault: malloc'ed. */
typedef struct hn_tried {
    bool tried;
    hn_str fault;
    double build_s, run_s;
    hn_arena arena; /* of what follows */
    hone_draft_metric *metric;
    size_t n_metrics;
    const char **own_line; /* names of metrics whose lines differ from run to run */
    size_t n_own_lines;
    const char *differs; /* the first line that differs and is no metric's; NULL: none */
    /* What all such lines begin with, as a few texts; n_changing 0: they have no such beginnings. */
    const char *changing[HN_CHANGING_MOST];
    size_t n_changing;
    bool unlike; /* some line has none of its own, or the runs have other numbers of lines */
} hn_tried;
hone_rc hn_draft_try(const char *text, const hone_draft_options *o, hn_tried *out, hone_err *err);
void hn_tried_free(hn_tried *t);
/* The text with what was seen: metrics offered, an objective chosen, outputs that differ from run to run. Malloc'ed. */
hone_rc hn_draft_offer(const char *text, const hn_tried *seen, const char *metric, char **out, hone_err *err);

#endif
