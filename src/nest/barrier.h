/* nest/barrier.h — barriers of nests for machines with blocks of threads.
 *
 * Threads of a block pass values to each other through shared memory and the block's local memory. Between a write and
 * what another thread does to the same element there must be a barrier; schedules never write one.
 */
#ifndef HN_NEST_BARRIER_H
#define HN_NEST_BARRIER_H

#include "nest/machine.h"
#include "nest/nest.h"

/* Puts barriers where they are missing, as few as it can prove to be enough: none where every thread touches elements
 * of its own. Call it when the schedule is done; nests without group loops stay as they are. E_INPUT with the reason:
 * threads would pass memory to each other inside of a loop in which some of them are not. */
hone_rc hn_nest_barriers(hn_nest *n, hone_err *err);
/* hn_nest_verify, and that no barrier is missing (E_INPUT), and the machine's limits where they are known: threads of a
 * block and shared memory (E_UNSUPPORTED). m may be NULL. */
hone_rc hn_nest_verify_device(hn_nest *n, const hn_machine *m, hone_err *err);

#endif
