/* nest/schedule.h — checked rewrites of loop nests.
 *
 * Every rewrite checks that it is legal and keeps what the nest computes; where it does not apply it changes nothing,
 * returns false and says why. Loops are named by their statement. Reductions: rfactor and tiles around them change the
 * order of an accumulation, always the same way; everything else keeps every rounding.
 */
#ifndef HN_SCHEDULE_H
#define HN_SCHEDULE_H

#include "nest/nest.h"

/* for v < E: body  becomes  for o < E/f { for i < f: body } and, where f may not divide E, for t < E mod f: body. The
 * loop given becomes the outer one; *inner, *tail (0: none) may be NULL. Refused where E is known to be below f. */
bool hn_loop_split(hn_nest *n, hn_st loop, int64_t f, hn_st *inner, hn_st *tail, const char **why);
/* As split, but what is left may go back over iterations before it: for o < C { for i < f: body } where the last of the
 * C runs ends with the loop, and begins inside of the run before where it must; a tail, in which at least one and fewer
 * than `least` iterations are left, or all where there are fewer than f. `before`: iterations in front of the loop that
 * may be repeated, too, which a tail's are (*done; may be NULL). The body stores to results alone; sets n->repeats. */
bool hn_loop_overlap(hn_nest *n, hn_st loop, int64_t f, int64_t least, hn_ix before, hn_st *inner, hn_st *tail,
                     hn_ix *done, const char **why);
/* As split without a tail: for c < ceil(E/f) { for i < min(f, E - c*f): body }: for work items. */
bool hn_loop_chunk(hn_nest *n, hn_st loop, int64_t f, hn_st *inner, const char **why);
/* As chunk, for a known length, but the last chunk, where it is shorter, has a body of its own in which its length is
 * known: for c { whole; rest } with for i < f: body, or for t < E mod f: body. *rest is 0 where f divides E. */
bool hn_loop_blocks(hn_nest *n, hn_st loop, int64_t f, hn_st *whole, hn_st *rest, const char **why);
/* Definitions between a loop and the only loop inside it move into that one: then the two are alone. */
bool hn_loop_sink(hn_nest *n, hn_st loop, const char **why);
/* for i < A { for j < B: body } becomes for x < A*B: body, where every index is linear in x then. */
bool hn_loop_collapse(hn_nest *n, hn_st loop, const char **why);
/* Likewise of two loops of known length where indices may need quotients and remainders: for lanes, to which they are
 * numbers. */
bool hn_loop_fuse(hn_nest *n, hn_st loop, const char **why);
/* Loops whose loads take the loop's variable apart, by floordiv and mod of a divisor of its length, become two loops,
 * in the whole nest; by symbols, or by numbers where elements of a remainder lie apart. */
void hn_nest_digits(hn_nest *n);
/* Collapses what can be, in the whole list. */
void hn_nest_collapse(hn_nest *n, hn_st first);
/* for i { for j: body } becomes for j { for i: body }; the iterations must be independent. */
bool hn_loop_swap(hn_nest *n, hn_st loop, const char **why);
/* Kinds. Vector and unroll: a constant extent, independent iterations (updates of outer registers run in order);
 * parallel: nothing but parallel loops around, independent iterations. */
bool hn_loop_vectorise(hn_nest *n, hn_st loop, const char **why);
bool hn_loop_unroll(hn_nest *n, hn_st loop, const char **why);
bool hn_loop_parallelise(hn_nest *n, hn_st loop, const char **why);
/* for v < E: A; for w < E: B, A filling local memory, B reducing it, becomes for v < E: A; B', of which B' takes what A
 * has just made. What stands between, registers that are set, goes in front. */
bool hn_loop_join(hn_nest *n, hn_st loop, const char **why);
/* Local memory that the body of a loop of known length fills, and nothing outside reads, becomes an own one for every
 * iteration: as large as before for each. */
bool hn_loop_own(hn_nest *n, hn_st loop, const char **why);
/* A loop that updates outer registers, and may fill memory besides: f partial results, one per lane of u vectors of w,
 * folded after the loop. */
bool hn_loop_rfactor(hn_nest *n, hn_st loop, int64_t w, int64_t u, const char **why);
/* Splits the range of a loop into the part in which all guards linear in its variable hold, and what is before and
 * behind; the guards go where they always hold. *inside may be NULL. */
bool hn_loop_peel(hn_nest *n, hn_st loop, hn_st *inside, const char **why);
/* As peel, of a loop of known length, where an index bends that is a min, max, floordiv or mod of its variable and of
 * no other: on either side of that place it is simpler. Again, until it is refused, leaves indices that are linear. */
bool hn_loop_unbend(hn_nest *n, hn_st loop, hn_st *inside, const char **why);
/* A loop that does nothing but update a register under conditions: its range shrinks to where those hold that depend on
 * it and on loops around it alone. */
bool hn_loop_trim(hn_nest *n, hn_st loop, const char **why);
/* Trims every serial loop of the list that can be, and those inside. */
void hn_nest_trim(hn_nest *n, hn_st first);
/* for v < E: body becomes body with 0, body with 1, …: a serial loop of known length, at most 64. */
bool hn_loop_repeat(hn_nest *n, hn_st loop, const char **why);
/* Before every run of `every` iterations of a serial loop, `lines` prefetches of buffer b: of the elements at +
 * step*(lines*run + l), l < lines, which need not be there. */
bool hn_loop_prefetch(hn_nest *n, hn_st loop, int64_t every, hn_buf b, hn_ix at, int64_t lines, int64_t step,
                      const char **why);
/* unroll … { vector … { registers; reductions; the rest } } becomes … { registers; reductions; store to memory } and,
 * behind it, for … { vector … { the rest, reading memory } }: what follows a register tile's reductions takes no
 * registers from its accumulators. */
bool hn_loop_stage(hn_nest *n, hn_st loop, const char **why);
/* for … { register; one sum of E terms; the rest }, nothing between the loops, becomes three: the totals' memory is
 * set; for s < E/f - 1 { for …: f terms more from zero, added to memory }; for …: the last f terms, memory, and the
 * rest. f divides E. part[]: the nests, the second without the loop over s. */
bool hn_loop_slice(hn_nest *n, hn_st loop, int64_t f, hn_st part[3], const char **why);
/* A serial loop of 4*E iterations that adds products of unsigned and signed bytes, four and four of which lie next to
 * each other along it, becomes one of E iterations over their words (mul … bytes). */
bool hn_loop_words(hn_nest *n, hn_st loop, const char **why);
/* Likewise a serial loop of 2*E iterations that adds products of bf16, two and two of which lie next to each other
 * (mul … pairs). */
bool hn_loop_pairs(hn_nest *n, hn_st loop, const char **why);
/* Serial loops that add more than about `length` f32 terms to a register, one after the other, add them in blocks of
 * about so many, each from zero in a register of its own: the error grows with a block's length and their number. */
void hn_nest_block_sums(hn_nest *n, int64_t length);
/* Takes words in every loop of the list that allows it, and in those inside: of bytes, of bf16. */
void hn_nest_take_words(hn_nest *n, hn_st first);
void hn_nest_take_pairs(hn_nest *n, hn_st first);
bool hn_nest_has_pairs(const hn_nest *n);
/* Every update that adds the products of both bf16 of words becomes two, which round once each: of the low ones, then
 * of the high ones (mul … low, mul … high). */
void hn_nest_part_pairs(hn_nest *n, hn_st first);
/* Loops of one iteration are replaced by their bodies, loops of none are dropped. */
void hn_nest_tidy(hn_nest *n);

/* The outermost loops become work items of a sensible size (nest/items.c). */
void hn_nest_items(hn_nest *n);
/* Sets *why (may be NULL) and returns false: how a rewrite or a sketch refuses. */
bool hn_loop_no(const char **why, const char *reason);

#endif
