/* tune/opening.h — how a search begins: the experiment of the big choices (big_choices.h), then the combinations that
 * its effects promise, then rule seeds laid over the best of all that.
 *
 * What follows from what is known at the end of each stage: which trials were told by then, so that a session that
 * is taken up again comes to the same points.
 */
#ifndef HN_OPENING_H
#define HN_OPENING_H

#include "tune/big_choices.h"

enum { HN_COMBINED_MOST = 3, HN_OPENING_MOST = HN_DESIGN_MOST + HN_COMBINED_MOST };
typedef enum hn_opening_stage { HN_OPENING_DESIGN, HN_OPENING_COMBINED, HN_OPENING_OVER } hn_opening_stage;

typedef struct hn_opening {
    hn_opening_stage stage;
    hn_big_choices choices;
    size_t n, n_design; /* points; the first n_design are the experiment's */
    hn_combination combination[HN_OPENING_MOST];
    double *point; /* n * slots */
    double y[HN_OPENING_MOST];
    bool asked[HN_OPENING_MOST], told[HN_OPENING_MOST], failed[HN_OPENING_MOST];
} hn_opening;

#endif
