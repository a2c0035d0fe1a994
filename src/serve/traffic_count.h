/* serve/traffic_count.h — what the models are asked for, counted between two writes to the store: sizes and times,
 * never contents (hone/traffic.h has the kinds).
 *
 * Owns:    its rows; the store is opened for each write alone.
 * Threads: all functions lock; the rows of an interval are taken out under the lock and written without it.
 * Errors:  none: what cannot be written waits for the next write. The table is bounded: sizes beyond count as "other".
 */
#ifndef HN_SERVE_TRAFFIC_COUNT_H
#define HN_SERVE_TRAFFIC_COUNT_H

#include <hone/array.h>
#include <hone/model.h>
#include <hone/serve.h>
#include <hone/text.h>

typedef struct hn_traffic_count hn_traffic_count;

/* NULL: nothing is counted (o->no_traffic, or no memory); all functions accept that. o is borrowed. */
hn_traffic_count *hn_traffic_open(const hone_serve_options *o);
/* Writes what is left, and frees. */
void hn_traffic_close(hn_traffic_count *t);

/* A run of a model of tensors on these inputs; rows: of the first dimension where requests were joined, else 0. */
void hn_traffic_run(hn_traffic_count *t, const char *model, const hone_model *x, const hone_array *in, size_t n_in,
                    int64_t rows, double seconds);
/* A step of a language model. */
void hn_traffic_step(hn_traffic_count *t, const char *model, const hone_text_feed *feed, size_t n, double seconds);
void hn_traffic_answer(hn_traffic_count *t, const char *model, size_t n_prompt, size_t n_answer);
/* Writes, where a minute has gone by since the last time. False: it failed, for the first time in a row; *why. */
bool hn_traffic_tick(hn_traffic_count *t, double now_s, hone_err *why);
/* The path that stands behind a model's name on the command line: its base. NULL: no such name. */
const char *hn_traffic_base(const hn_traffic_count *t, const char *model);

#endif
