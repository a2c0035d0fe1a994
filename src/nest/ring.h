/* nest/ring.h — shared memory that passes from one role to another: tiles in a ring of stages.
 *
 * The one form in which roles may share memory (nest/device.h's specialise makes it). Turn k of a loop in each role has
 * stage k mod S of the memory, between two gates of S slots, `full` and `empty`:
 *
 *     producer: await empty[k mod S] phase (k / S + 1) mod 2   consumer: await full[k mod S] phase (k / S) mod 2
 *               copies to the stage                                      loads from the stage
 *               arrive full[k mod S] copies                              arrive empty[k mod S]
 *
 * Both loops have the same number of turns. So a stage is written when all have read it, and read when it is written.
 */
#ifndef HN_NEST_RING_H
#define HN_NEST_RING_H

#include "nest/nest.h"

/* E_INPUT, invariant 13: roles share memory in another way. Nests without role loops hold it. The nest is verified. */
hone_rc hn_nest_rings(hn_nest *n, hone_err *err);

#endif
