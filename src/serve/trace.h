/* serve/trace.h — recorded requests: when each came, how long its prompt and its answer were. Sizes alone.
 *
 * A file has a line of JSON for each request: {"time": s, "prompt_tokens": n, "answer_tokens": n}. Lines of the log of
 * `hone serve` are such lines: their time is that of the end, so "whole_s" is taken off; calls that answered nothing
 * are passed over.
 * Owns:    a trace owns its rows, until hn_trace_free.   Units: seconds since the first request.
 * Errors:  E_IO; E_INPUT with file and line.   Invariant: rows are in the order of their times.
 */
#ifndef HN_SERVE_TRACE_H
#define HN_SERVE_TRACE_H

#include <hone/base.h>

typedef struct hn_trace_row {
    double at_s;
    uint32_t prompt, answer; /* tokens */
} hn_trace_row;
typedef struct hn_trace {
    hn_trace_row *row;
    size_t n, room;
} hn_trace;

bool hn_trace_add(hn_trace *t, hn_trace_row row); /* false: no memory */
hone_rc hn_trace_read(const char *path, hn_trace *out, hone_err *err);
hone_rc hn_trace_write(const char *path, hn_trace *t, hone_err *err); /* sorts it */
void hn_trace_free(hn_trace *t);

#endif
