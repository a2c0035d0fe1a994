/* tune/workload_int.h — what the parts of the workload reader share.
 *
 * Borrows: the document and the workload under construction, for the time of one hone_workload_parse.
 * Errors: every function fills reader.err and leaves the half-built workload to be freed by the caller.
 */
#ifndef HN_WORKLOAD_INT_H
#define HN_WORKLOAD_INT_H

#include "base/yaml.h"
#include "tune/workload.h"

typedef struct hn_reader {
    hone_workload *w;
    const hn_yaml *doc;
    const hn_ynode *root;
    hone_err *err;
} hn_reader;

/* One key of a map: where its value goes (offset into a struct) and what values are possible. */
typedef enum hn_field_type {
    HN_F_TEXT,
    HN_F_BOOL,
    HN_F_COUNT,
    HN_F_NUMBER,
    HN_F_SECONDS,
    HN_F_BYTES,
    HN_F_SHARE,
    HN_F_OTHER /* a key that is read elsewhere */
} hn_field_type;
typedef struct hn_field {
    const char *key;
    hn_field_type type; /* of the member: const char *, bool, size_t, double, double, uint64_t, double */
    size_t offset;
    double lo, hi; /* numbers: inclusive range */
} hn_field;

/* Reads every key of `map` by its row into *into; unknown keys are refused. Keys that are absent leave the member
 * alone. Texts are copied into the workload's arena. */
hone_rc hn_read_fields(const hn_reader *r, const hn_ynode *map, const char *what, const hn_field *field, size_t n,
                       void *into);
/* One key's value by its row. */
hone_rc hn_read_field(const hn_reader *r, const hn_ynode *node, const hn_field *f, void *into);
/* A scalar that must be one of n words. */
hone_rc hn_read_word(const hn_reader *r, const hn_ynode *node, const char *what, const char *const *word, size_t n,
                     size_t *out);
/* A text copied into the arena, without white space at its ends; refused when longer than 64 KiB. */
hone_rc hn_read_text(const hn_reader *r, const hn_ynode *node, const char **out);
/* A scalar or a list of scalars as texts; a repeated text is refused. */
hone_rc hn_read_texts(const hn_reader *r, const hn_ynode *node, const char *what, size_t most, const char ***out,
                      size_t *n);
hone_rc hn_reader_nomem(const hn_reader *r);

/* Items of a list, or the node itself when it is a scalar. */
static inline size_t hn_items(const hn_ynode *node) { return node->kind == HN_Y_SEQ ? node->n : 1; }
static inline const hn_ynode *hn_item(const hn_ynode *node, size_t i) {
    return node->kind == HN_Y_SEQ ? node->item[i] : node;
}

/* Is the name one of hone's own metrics, or nearly? A program's metric of that name has to be declared. */
bool hn_metric_is_taken(const char *name);

/* Sections, in the order in which they must be read. */
hone_rc hn_read_params(const hn_reader *r);         /* parameters, constraints */
hone_rc hn_read_commands(const hn_reader *r);       /* compilers, build, run, train, controls */
hone_rc hn_read_environment(const hn_reader *r);    /* environment */
hone_rc hn_read_per_file(const hn_reader *r);       /* per_file */
hone_rc hn_read_post_link(const hn_reader *r);      /* post_link */
hone_rc hn_read_sources(const hn_reader *r);        /* sources */
hone_rc hn_read_inputs(const hn_reader *r);         /* inputs */
hone_rc hn_read_metrics(const hn_reader *r);        /* metrics, objectives */
hone_rc hn_read_parity(const hn_reader *r);         /* parity */
hone_rc hn_read_outcome_limits(const hn_reader *r); /* limits; may set the parity rule */
hone_rc hn_read_run(const hn_reader *r);            /* does a workload without a run need none? */
hone_rc hn_read_contract(const hn_reader *r);       /* baseline, floating_point, controls.numeric */

/* The keys of `metrics` about device code. */
hone_rc hn_read_code_choice(const hn_reader *r, const hn_ynode *node);
/* Is q->metric one of device code? Then *taken, and its source, metric, aggregate (bare: that of the metric) and slot.
 */
hone_rc hn_code_quantity(const hn_reader *r, const hn_ynode *at, bool bare, hn_quantity *q, bool *taken);

/* Fills w->hash. */
void hn_workload_set_hash(hone_workload *w);

#endif
