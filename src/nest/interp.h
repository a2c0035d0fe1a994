/* nest/interp.h — runs a nest: what a schedule computes, before anything is printed.
 *
 * Every verified nest, of a CPU's schedules or a device's: blocks one after the other, lanes and threads in lockstep,
 * statement by statement, those of all blocks of a cluster, too; roles in turns: one goes on until it waits at a gate.
 * Scalars are computed as the graph
 * interpreter does, accumulators in the order of nest.h. What must not be is an error that names the statement: an
 * element outside of its buffer; a shared or local element, or a register, that nothing has written, or a copy not
 * waited for; two threads of a block at one element, one of them writing another value, and no barrier between; work
 * items that write one element of a result differently; elements of results that nothing wrote; roles that wait for
 * each other for ever, or touch one element with no gate between. Slow on purpose; for tests and questions.   Threads:
 * any number of runs at once, each with a nest of its own.
 */
#ifndef HN_NEST_INTERP_H
#define HN_NEST_INTERP_H

#include "ir/tensor.h"
#include "nest/nest.h"

typedef struct hn_nest_run {
    const hn_tensor *in; /* as many as n->n_in */
    hn_tensor *out;      /* n->n_out, with room; every byte of theirs is written */
    const int64_t *symbol;
    bool index_fault; /* is set: an index from data was outside, and clamped */
    int64_t steps;    /* statements and lanes that may be executed before it gives up (E_UNSUPPORTED); 0: no limit */
} hn_nest_run;

/* E_INPUT: the nest does what it must not; E_UNSUPPORTED: too long. */
hone_rc hn_nest_interpret(hn_nest *n, hn_nest_run *run, hone_err *err);

#endif
