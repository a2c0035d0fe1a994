/* nest/machine.h — what a schedule may know of the machine. */
#ifndef HN_NEST_MACHINE_H
#define HN_NEST_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

/* Sizes in bytes, rates per second of one core; 0: not known. */
typedef struct hn_machine {
    int64_t vector_b;  /* width of a vector register; 0: scalar code */
    int64_t registers; /* vector registers */
    int64_t cores;
    int64_t line_b, l1d_b, l2_b, l3_b; /* never 0: a usual size stands in for an unknown one */
    int64_t l1d_ways;                  /* likewise: lines in a set */
    double f32_flops, l2_bps, l3_bps, memory_bps;
    bool fma;
    bool pairs; /* products of pairs of bf16 are faster by the instruction than by multiply-adds of f32 */
    /* Of a device, 0 on CPUs: the most threads of a block, bytes of memory that they can share, threads that run as
     * one, processors that take blocks. */
    int64_t threads, shared_b, warp, processors;
    bool copies;   /* copies to shared memory go on beside the threads */
    bool clusters; /* blocks write to each other's shared memory */
} hn_machine;

#endif
