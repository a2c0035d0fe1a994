/* pass/simplify.h — the rules of pass `simplify`, as rows.
 *
 * A rule looks at one node and answers with what takes its place, or 0. EXACT rules keep every bit of every result,
 * save the payload and sign of NaNs; RELAXED ones may change rounding, or the sign of a zero.
 */
#ifndef HN_SIMPLIFY_H
#define HN_SIMPLIFY_H

#include "pass/rewrite.h"

typedef enum hn_exactness { HN_EXACT, HN_RELAXED } hn_exactness;
typedef struct hn_simplify_rule {
    hn_op op;
    hn_exactness exactness;
    hn_rewrite_fn *apply;
    const char *text; /* "x + -0 = x" */
} hn_simplify_rule;
extern const hn_simplify_rule hn_rules_math[], hn_rules_move[],
    hn_rules_contract[];                                        /* end with a row whose apply is NULL */
hn_val hn_simplify_pointwise(hn_rewriter *r, const hn_node *n); /* pointwise of uniform values = uniform; exact */

#endif
