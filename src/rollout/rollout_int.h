/* rollout/rollout_int.h — what the files of the room share.
 *
 * Pure, re-entrant.   Errors: E_INPUT.
 */
#ifndef HN_ROLLOUT_INT_H
#define HN_ROLLOUT_INT_H

#include "base/str.h"

#include <hone/rollout.h>

/* What was made of the log-ratios. */
typedef struct hn_rollout_view {
    hone_interval z;            /* their median, confidence sequence */
    uint64_t tail, tail_slower; /* pairs that differ by a quarter and more; of these, those in which NEXT was slower */
} hn_rollout_view;

hone_rc hn_rollout_check_rules(const hone_rollout_rules *r, hone_err *err);
hone_rc hn_rollout_check_evidence(const hone_rollout_evidence *e, hone_err *err);
/* Writes d->text. */
void hn_rollout_say(const hone_rollout_rules *r, const hone_rollout_evidence *e, const hn_rollout_view *v,
                    hone_rollout_decision *d);

/* JSON of rules, and back (what is missing or of another type: as it stands in *out). NULL: no memory. */
char *hn_rollout_rules_json(const hone_rollout_rules *r);
bool hn_rollout_rules_read(const char *json, hone_rollout_rules *out);

/* Index of a name in a table of n, or n. */
size_t hn_rollout_index(const char *const *names, size_t n, const char *name);

#endif
