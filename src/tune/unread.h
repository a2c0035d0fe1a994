/* tune/unread.h — what no part of the workload's program reads: errno, the floating-point environment. Controls that
 * leave just that out change no result, so they are offered under every contract.
 *
 * The baseline is built once and looked into (measure/readers.h); the answer is kept in the folder of caches, by the
 * sources, the build and the compiler. A baseline that does not build gives "not known": whoever builds it next says
 * why. Owns: its texts, in the plan's arena.   Errors: E_IO, E_NOMEM, E_INTERRUPTED.
 */
#ifndef HN_TUNE_UNREAD_H
#define HN_TUNE_UNREAD_H

#include "tune/plan.h"

/* Does it matter? Not where nothing is tuned, or where all such controls are offered anyway. */
bool hn_unread_matters(const hn_plan *plan);
/* The plan has its space and its baseline. *unread: HONE_UNREAD_*. */
hone_rc hn_unread_look(hn_plan *plan, const hone_tune_options *options, unsigned *unread, hone_err *err);

/* Lines for people, one for each control; malloc'ed. NULL: no control was looked at, or no memory. */
char *hn_unread_text(const hn_plan *plan);
/* The same as a JSON array; malloc'ed; NULL: no memory. */
char *hn_unread_json(const hn_plan *plan);

#endif
