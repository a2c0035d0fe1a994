/* explain/explain_text.h — two disassemblies compared: facts for a table, sentences for a reviewer. Pure. */
#ifndef HN_EXPLAIN_TEXT_H
#define HN_EXPLAIN_TEXT_H

#include "target/family.h"

#include <hone/explain.h>
#include <hone/prove.h>

typedef struct hn_comparand {
    hn_disassembly baseline, tuned;
    const char **foreign; /* names of functions that come with the harness; left out where both sides are alike */
    size_t n_foreign;
    const char *compiler[2]; /* of the baseline, of the tuned one */
    const char *post_link;   /* what the tuned program goes through behind the linker; NULL: nothing */
} hn_comparand;

/* Fills sentence, fact, function and listing of *out; everything is in the arena. */
hone_rc hn_explain_compare(const hn_comparand *c, hn_arena *a, hone_explanation *out, hone_err *err);

#endif
