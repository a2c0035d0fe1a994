/* report/report_int.h — shared inside this room: the steps of opening a report, texts on their way into the page. */
#ifndef HN_REPORT_INT_H
#define HN_REPORT_INT_H

#include "base/arena.h"
#include "base/str.h"

#include <hone/report.h>
#include <jansson.h>

/* All that hone_report_free frees beside the report's own arena. */
typedef struct hn_report_block {
    hn_arena arena;
    hone_trials trials;
} hn_report_block;

static inline hn_arena *hn_report_arena(const hone_report *r) { return &((hn_report_block *)r->block)->arena; }
static inline const hone_trials *hn_report_trials(const hone_report *r) {
    return &((hn_report_block *)r->block)->trials;
}

/* curve.c: trials, classes, best so far, front. */
hone_rc hn_report_curve(hone_report *r, hone_err *err);
/* boxes.c: distributions per input, from the proof or else from the best trial's samples. */
hone_rc hn_report_boxes(hone_report *r, hone_err *err);
/* verdict.c: the proof that counts, standing, sentence, winner and its flags. */
hone_rc hn_report_judge(hone_report *r, hone_err *err);

/* A recorded JSON text; `empty` (taken over) where it is none, which a record by another program may hold. NULL: no
 * memory. */
json_t *hn_report_parse(const char *text, json_t *empty);
/* Appends text with bytes that are no UTF-8 replaced by U+FFFD, and controls but \t and \n by
 * spaces: neither a page nor a terminal must act on them. */
void hn_report_clean(hn_str *s, const char *text);
/* Appends text as HTML: & < > " ' escaped, after hn_report_clean. */
void hn_report_escape(hn_str *s, const char *text);

/* Appends JSON without < > &, which can stand in its strings alone: as escapes. */
void hn_report_json_safe(hn_str *s, const char *json);

/* Writes the page of a team's report; standing: the class of its sentence; json: without < > &. */
hone_rc hn_report_team(const char *sentence, const char *standing, const char *json, const char *path, size_t *n,
                       hone_err *err);

/* The files that pages are made of, NUL-terminated (page_files.c): of all, and each page's sections and script. */
extern const char hn_page_html[], hn_page_css[], hn_page_js[], hn_chart_js[], hn_chart_licence[];
extern const char hn_report_page_html[], hn_report_page_js[], hn_profile_page_html[], hn_profile_page_js[];
extern const char hn_load_page_html[], hn_load_page_js[], hn_team_page_html[], hn_team_page_js[];

#endif
