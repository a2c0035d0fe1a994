/* hone/traffic.h — what a served model is asked for: sizes and times, never contents. Kept beside the deployments
 * (hone/rollout.h), decayed so that half of a week's count is left after another, and bounded: 64 sizes of a kind.
 *
 *     kind       size                    what is counted
 *     run        "batch=4,seq=128"       runs of a model of tensors, by the sizes of its inputs; "" where none is
 * symbolic decode     "4"                     steps of a language model that gave answers alone, by how many prefill
 * "128"                   steps that read prompts, by their tokens prompt     "256"                   prompts, by their
 * tokens answer     "64"                    answers, by their tokens
 *
 * Sizes of language models beyond 8 are rounded to quarters of an octave.
 * Units:   seconds.   Threads: as hone/rollout.h.   Errors: E_STORE, E_NOTFOUND (nothing is known), E_INPUT, E_NOMEM.
 */
#ifndef HONE_TRAFFIC_H
#define HONE_TRAFFIC_H

#include <hone/rollout.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_traffic_row {
    const char *kind, *size;
    double count, time_s; /* time: of runs and steps; 0 for prompts and answers */
} hone_traffic_row;

/* Adds what was counted since the last call, in one transaction. base: as of hone_rollouts_current. */
HONE_API hone_rc hone_traffic_add(hone_rollouts *r, const char *base, const hone_traffic_row *row, size_t n,
                                  hone_err *err);
/* By kind, those that took longest first. E_NOTFOUND: nothing was counted. Free with hone_free (one block). */
HONE_API hone_rc hone_traffic_read(hone_rollouts *r, const char *base, hone_traffic_row **row, size_t *n,
                                   hone_err *err);
/* Rows as a JSON array of {"kind", "size", "count", "time_s"}. Free with hone_free; NULL: no memory. */
HONE_API char *hone_traffic_json(const hone_traffic_row *row, size_t n);
/* Back, from text that hone_traffic_json or a person wrote. E_INPUT says where it is wrong. hone_free (one block). */
HONE_API hone_rc hone_traffic_parse(const char *json, size_t n_json, const char *label, hone_traffic_row **row,
                                    size_t *n, hone_err *err);

/* --- what to tune for -----------------------------------------------------------------------------------------------
 */

enum { HONE_TRAFFIC_PARTS = 5 };
typedef struct hone_traffic_part {
    char sizes[192]; /* "batch=4,seq=128": hone_tune_model_options.sizes; "": none is symbolic */
    char also[96];   /* of a language model: sizes that must not get slower; "" */
    double share;    /* of the time of all runs */
    bool hot;        /* worth a version of its own: hone_compile_options.specialize */
} hone_traffic_part;
typedef struct hone_traffic_plan {
    hone_traffic_part part[HONE_TRAFFIC_PARTS]; /* the largest share first; the shares sum to 1 */
    size_t n;
    double count, time_s; /* of all runs or steps */
    bool language;
} hone_traffic_plan;
/* Of a model of tensors: up to four sizes that take a tenth of the time each, and the rest, at the size that it is
 * asked for most. Of a language model: answers and prompts, at their usual sizes. E_EMPTY: no run was counted. */
HONE_API hone_rc hone_traffic_plan_make(const hone_traffic_row *row, size_t n, hone_traffic_plan *out, hone_err *err);

#ifdef __cplusplus
}
#endif
#endif
