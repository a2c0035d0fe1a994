/* target/objdump.h — what objdump prints of a program, and what a reviewer wants to know about machine code: size,
 * vectors, loops, what they spill, what they call.
 *
 * Knows x86 (AT&T syntax) and AArch64; of other machines only sizes and calls, no vectors. Loops are
 * those of the control flow (target/loops.h).
 * Owns: everything in the caller's arena.   Errors: E_NOMEM; any text is safe, what is no disassembly is passed over.
 */
#ifndef HN_OBJDUMP_H
#define HN_OBJDUMP_H

#include "base/arena.h"

typedef enum hn_code_count {
    HN_CODE_BYTES, /* without the padding behind the function */
    HN_CODE_INSTRUCTIONS,
    HN_CODE_LOOPS,
    HN_CODE_INNER_LOOPS,     /* without a loop inside */
    HN_CODE_LARGEST_INNER,   /* instructions of the largest inner loop */
    HN_CODE_IN_LOOPS,        /* instructions in loops */
    HN_CODE_VECTOR_IN_LOOPS, /* of them on vectors */
    HN_CODE_WIDEST_IN_LOOPS, /* bits; 0: no vectors */
    HN_CODE_WIDEST,          /* in the whole function */
    HN_CODE_VECTOR_128,      /* instructions by their widest register */
    HN_CODE_VECTOR_256,
    HN_CODE_VECTOR_512,
    HN_CODE_SCALAR_FP, /* floating point, one number at a time */
    HN_CODE_FMA,
    HN_CODE_GATHERS,
    HN_CODE_SCATTERS,
    HN_CODE_MASKED, /* vector instructions under a mask */
    HN_CODE_PREFETCHES,
    HN_CODE_STACK_IN_LOOPS, /* loads and stores at a fixed place on the stack, in loops: mostly spills */
    HN_CODE_STACK_IN_INNER, /* of them in inner loops */
    HN_CODE_CALLS,
    HN_CODE_CALLS_IN_LOOPS,
    HN_CODE_ALIGNED_HEADS, /* inner loops that begin at a multiple of 32 bytes */
    HN_N_CODE_COUNTS
} hn_code_count;
/* "vector instructions, 512 bit": stored in JSON, never renamed. */
const char *hn_code_count_name(hn_code_count what);

typedef struct hn_function {
    const char *name;
    uint64_t start;
    double count[HN_N_CODE_COUNTS];
    char shape[33];      /* hash of its instructions without addresses: equal code, equal hash */
    const char **callee; /* names, each once, in order of appearance */
    size_t n_callees;
    const char *listing; /* its lines without addresses and bytes */
} hn_function;

typedef struct hn_disassembly {
    hn_function *function; /* in order of address */
    size_t n;
} hn_disassembly;

/* text: of `objdump -d -w`. */
hone_rc hn_objdump_read(const char *text, size_t n, hn_arena *a, hn_disassembly *out, hone_err *err);

#endif
