/* nest/device.h — checked rewrites for machines with blocks of threads (as those of nest/schedule.h: where one does not
 * apply it changes nothing, returns false and says why).
 *
 * A block is an iteration of the parallel loops, its threads are the iterations of the group loops directly inside.
 * Where a number of threads does not divide a length, the last ones have conditions on all that they read and write of
 * memory, and on updates of registers that are not theirs.
 */
#ifndef HN_DEVICE_H
#define HN_DEVICE_H

#include "nest/nest.h"

enum { HN_DEVICE_CONDITIONS = 8 };

/* All in the list that touches memory, and updates of registers from outside, happens only where these conditions hold;
 * an index from data is 0 where they do not. */
void hn_device_guard(hn_nest *n, hn_st first, uint32_t n_guard, const hn_ix *guard);

/* The loop and the lone loops inside of it, `depth` in all, their lengths known outside of them, become
 * parallel b < ceil(E/f) { group t < f: body } with element f*b + t of their E iterations, the last loop's fastest.
 * *group: the group loop, may be NULL. Refused where iterations share registers or memory. */
bool hn_device_bind(hn_nest *n, hn_st loop, int depth, int64_t f, hn_st *group, const char **why);

/* As bind for rows that a few threads share later: `f` rows a block, each with a copy of the local memory that it
 * fills, of known size. */
bool hn_device_bind_rows(hn_nest *n, hn_st loop, int depth, int64_t f, hn_st *group, const char **why);

/* The threads of a block that share work: which one, of how many. */
typedef struct hn_sharers {
    hn_ix at;
    int64_t n;
} hn_sharers;
/* What has become of a loop: `loop` over `var`, element `element` of `elements`. */
typedef struct hn_shared_loop {
    hn_st loop;
    hn_var var;
    hn_ix element, elements;
} hn_shared_loop;

/* Of the iterations of the loop, and of the `depth`-1 lone loops inside, thread t takes every n-th: for j < ceil(E/n):
 * body with element n*j + t. Iterations must be independent. out: may be NULL. */
bool hn_device_share(hn_nest *n, hn_st loop, int depth, const hn_sharers *t, hn_shared_loop *out, const char **why);
/* As share, for a loop that does nothing but update one register (*acc) by one operation: every thread has a part,
 * which it adds to the register behind the loop. The register must stand outside of the group loop then. The loop's
 * statement becomes the first of those that take its place. */
bool hn_device_fold(hn_nest *n, hn_st loop, int depth, const hn_sharers *t, hn_buf *acc, hn_shared_loop *out,
                    const char **why);

/* How a tile lies in shared memory and is filled. */
typedef struct hn_stage_how {
    hn_var fast[2]; /* of which loop neighbouring threads fill neighbouring iterations, and of which one those that it
                       leaves; 0: as the tile lies */
    int64_t pad;    /* elements that rows are longer: one for each iteration of the serial loops inside, where there are
                       none of the loops around the innermost threads */
    bool copies;    /* filled by copies (nest.h) of 16, 8 or 4 bytes, for hn_device_pipeline_copies; refused where x is
                       no memory as it stands */
} hn_stage_how;

/* Scalar x, defined in the body of a serial loop from memory that nothing writes, is computed for all threads, lanes
 * and iterations of the loops inside once, at the top of every iteration of the loop, by all threads together: x
 * becomes a load from that tile in shared memory, *tile (may be NULL). The tile lies with the loops inside the slowest,
 * then unrolled loops, threads, vectors. */
bool hn_device_stage(hn_nest *n, hn_st loop, hn_sv x, const hn_sharers *t, const hn_stage_how *how, hn_buf *tile,
                     const char **why);

/* for k { fill tiles; the rest } becomes fetch(0); put; for k { fetch(k + 1); the rest; put }: what the next
 * iteration's tiles are filled with is read into registers while this one's are used. The loop's statement becomes the
 * first of those that take its place. */
bool hn_device_pipeline(hn_nest *n, hn_st loop, const char **why);

/* for k { tiles that are copied (hn_stage_how.copies); the rest } becomes for s < stages-1 { copy(s); commit }
 * for k { wait; copy(k + stages-1); commit; the rest } wait: every tile is there `stages` times, and copies of the next
 * steps are under way while one is used. The loop's statement becomes the first of those that take its place. */
bool hn_device_pipeline_copies(hn_nest *n, hn_st loop, int64_t stages, const char **why);

/* The same loop, alone in a block's threads but for what is not shared, with `producers` warps of their own: roles, of
 * which one copies tiles, `stages` of them ahead, and the other, the block's threads as they were, does the rest. They
 * wait for each other at two gates (nest/ring.h). Refused where threads share more than the tiles. */
bool hn_device_specialise(hn_nest *n, hn_st loop, int64_t stages, int64_t producers, const char **why);

/* Iterations of a parallel loop, `blocks` neighbours of it, become a cluster of blocks: the loop goes over clusters,
 * and a cluster loop stands inside of all parallel ones. Of a tile that is copied (hn_stage_how.copies) and does not
 * depend on the loop each block copies a part, in turn, which it pushes to the others. Before
 * hn_device_pipeline_copies, which keeps the pushes behind the copies' wait. Blocks behind the last iteration do their
 * part, and nothing else. Refused where no tile is the same for all blocks of a cluster, where one has fewer turns than
 * the cluster has blocks, and where threads have roles or blocks memory of their own. */
bool hn_device_cluster(hn_nest *n, hn_st loop, int64_t blocks, const char **why);

/* Elements of shared memory change places: of every row of `row` elements, a power of two, element c of row r lies at
 * c xor (r mod row), wherever it is written or read. Threads that walk down the rows then meet different banks. Refused
 * where vectors are read or written. */
bool hn_device_swizzle(hn_nest *n, hn_buf b, int64_t row, const char **why);

/* For schedules that write their fills themselves. The value x, written to the innermost open list for lane `lane`, 0
 * to wide-1, becomes a copy of all `wide` lanes to `to`; false, and nothing changes, where it is no memory as it
 * stands, or lanes do not lie next to each other at a multiple of their length, in either memory. */
struct hn_writer;
bool hn_device_copy(struct hn_writer *w, hn_sv x, hn_var lane, int64_t wide, hn_buf to, hn_ix at);
int64_t hn_device_copy_most(hone_dtype t);          /* elements of the widest copy */
bool hn_device_copy_is(hone_dtype t, int64_t wide); /* is there a copy of so many, a power of two? */
/* Opens the loop in which threads take `all` pieces, each every n-th: its variable. unrolled: turns, at most. */
hn_ix hn_device_turns(struct hn_writer *w, int64_t all, const hn_sharers *who, int64_t unrolled);

/* Definitions that nothing uses go. */
void hn_nest_sweep(hn_nest *n);

/* The list of the innermost of the loops at[0 … depth-1] for element x of their iterations, the last loop's fastest. */
hn_st hn_device_flat(hn_nest *n, const hn_st *at, int depth, hn_ix x);
hn_dim hn_device_count(hn_nest *n, const hn_st *at, int depth); /* of their iterations */

#endif
