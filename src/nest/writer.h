/* nest/writer.h — writes statements of a nest one after the other, for schedules that set up loops of their own.
 *
 * Loops are opened and closed like brackets; what is written goes to the end of the innermost open one. Values of the
 * nest as lowered are taken over by hn_write_copy: their definitions, written again where they are needed.
 * Owns: nothing; everything is the nest's.   Threads: one at a time.   Errors: sticky in the nest's arena.
 */
#ifndef HN_WRITER_H
#define HN_WRITER_H

#include "nest/nest.h"

enum { HN_WRITER_DEPTH = 32 };

typedef struct hn_writer {
    hn_nest *n;
    hn_st head[HN_WRITER_DEPTH], tail[HN_WRITER_DEPTH], loop[HN_WRITER_DEPTH]; /* lists under construction */
    int depth;
    hn_ix *var; /* what variables of the old nest are now; 0: as they were */
    hn_sv *sv;  /* what scalars of the old nest are now, in the scope being written; 0: not written yet */
    uint32_t n_var, n_sv;
} hn_writer;

/* Over the nest as it is now. False: out of memory. */
bool hn_write_begin(hn_writer *w, hn_nest *n);
hn_ix hn_write_loop(hn_writer *w, hn_ix extent, hn_loop_kind kind); /* opens a loop: its variable */
hn_ix hn_write_times(hn_writer *w, int64_t extent, hn_loop_kind kind);
void hn_write_close(hn_writer *w, int loops);
hn_buf hn_write_reg(hn_writer *w, hone_dtype t, int64_t size);
void hn_write_store(hn_writer *w, hn_buf b, hn_ix at, hn_sv x);
void hn_write_update(hn_writer *w, hn_buf b, hn_ix at, hn_op op, hn_sv x);
void hn_write_statement(hn_writer *w, const hn_stmt *s); /* any that has no body */
hn_sv hn_write_scalar(hn_writer *w, const hn_scalar *x);
hn_sv hn_write_load(hn_writer *w, hn_buf b, hn_ix at);
hn_sv hn_write_op(hn_writer *w, hn_op op, hone_dtype t, hn_sv a, hn_sv b);
/* A product that an update may fuse with its addition. */
hn_sv hn_write_product(hn_writer *w, hone_dtype t, hn_sv a, hn_sv b);
/* The definition of x and what it needs, in terms of w->var and w->sv; noted in w->sv until hn_write_forget. */
hn_sv hn_write_copy(hn_writer *w, hn_sv x);
/* Copies written so far are out of scope from here on; those of the outermost list of the old nest stay. */
void hn_write_forget(hn_writer *w);
/* Ends: the nest's statements are its outermost definitions and what has been written. */
void hn_write_end(hn_writer *w);
void hn_write_finish(hn_writer *w); /* likewise, but loops of one iteration stay */

#endif
