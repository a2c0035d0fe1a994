/* measure/readers.h — does a linked program look at errno, or at the floating-point environment (flags, traps,
 * rounding)?
 *
 * Its dynamic symbols tell, since both are reached through functions of the C library; on x86-64 and aarch64 also the
 * instructions that read the flags themselves. What cannot be looked into is unknown: a shared library, a static
 * program (the C library is in it), a program that loads code at run time or needs a library beyond those that the C
 * library and the compilers bring. Not seen: "%m" in a format, x87 instructions.
 *
 * Errors: E_IO, E_NOMEM.
 */
#ifndef HN_READERS_H
#define HN_READERS_H

#include <hone/base.h>

typedef enum hn_beside { HN_STATE_ERRNO, HN_STATE_FENV, HN_N_STATES } hn_beside;
const char *hn_beside_name(hn_beside state); /* "errno", "fenv": stored */

typedef enum hn_reading { HN_READS_NOT, HN_READS, HN_READS_UNKNOWN } hn_reading;
typedef struct hn_onlooker {
    hn_reading reading;
    char symbol[64];  /* what reads it, or why it is not known: a symbol, an instruction, a library; "" */
    const char *word; /* HN_READS: as sources write it; constant */
    const char *why;  /* HN_READS_UNKNOWN: in words; constant */
} hn_onlooker;

/* Of a file's bytes; of a file. */
void hn_readers_of(const void *data, size_t n, hn_onlooker out[HN_N_STATES]);
hone_rc hn_program_readers(const char *path, hn_onlooker out[HN_N_STATES], hone_err *err);

#endif
