/* shim/rt/rt.h — private parts of the shim: CUDA C compiled as C++, run on the CPU and checked. What kernels see of it
 * is shim.cuh; what programs call is shim.h. A library of its own (hone-shim.so), carried inside libhone; it knows the
 * C library alone.
 *
 * fibre.c: threads of a block as fibres, and who runs next. wait.c: what they wait for. cluster.c: blocks of a cluster
 * beside each other. memory.c: global memory,
 * modules and their shared variables. check.c: each access, as the compiler's instrumentation reports it, against what
 * was accessed before. report.c: faults in words, with source lines. matrix.c: asynchronous copies and matrix products.
 *
 * One launch at a time, in one thread of the CPU. All state stands in hs_state.
 */
#ifndef HS_RT_H
#define HS_RT_H

#include "shim.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    HS_THREADS_MOST = 1024,
    HS_LANES = 32,
    HS_SHARED_MOST_B = 227 << 10,
    HS_STACK_B = 256 << 10,
    HS_GUARD_B = 4096,
    HS_SLOT_B = 64 << 10, /* global memory is given in such pieces */
    HS_MBARS_MOST = 256,
    HS_NAMED_MOST = 16,
    HS_FLAGS_MOST = 64,
    HS_RANKS_MOST = 8 /* blocks of a cluster */
};

typedef enum hs_wait {
    HS_READY,
    HS_AT_BARRIER,
    HS_AT_NAMED, /* a barrier of some warps */
    HS_IN_WARP,
    HS_AT_MBAR,
    HS_AT_CLUSTER,
    HS_PAUSED,
    HS_ENDED
} hs_wait;

/* An asynchronous copy that has not landed. */
typedef struct hs_copy {
    uint8_t *to;
    uint32_t n;
    uint8_t data[16];
    uint8_t *more; /* n > 16 */
    uint32_t site;
    uint16_t thread;
    bool committed;
    uint32_t group;
    struct hs_copy *next;
} hs_copy;

/* Who accessed a piece of memory. interval: barriers of the launch so far; 0: nobody. */
typedef struct hs_access {
    uint32_t interval;
    uint16_t who; /* thread, rank of its block in the cluster, HS_ATOMIC, HS_FLYING */
    uint16_t clock;
    uint32_t site;
} hs_access;

typedef struct hs_mbar {
    uintptr_t at;
    uint32_t count, arrived, phase;
    int64_t tx;
    hs_access made; /* its initialisation */
    hs_copy *copies;
    uint16_t *clock, *next; /* what has happened before the last phase ended, and before this one will */
} hs_mbar;

/* A place in global memory by which blocks tell each other that they are through: an atomic operation after a fence. */
typedef struct hs_flag {
    uintptr_t at;
    uint8_t *told; /* by number of the block in this launch */
    uint32_t room;
} hs_flag;

typedef struct hs_fibre {
    void *sp, *context;
    hs_uint3 thread;
    hs_wait state;
    const char *what, *file; /* where it waits */
    int line;
    unsigned mask;          /* lanes that take part in what it waits for */
    uint64_t give;          /* its value in that operation, or of __syncthreads_count */
    uint64_t got[HS_LANES]; /* what the lanes gave */
    unsigned participated;  /* which lanes did */
    uint16_t clock;         /* times it has joined others since the block's last barrier, and one */
    hs_mbar *mbar;          /* what it waits for */
    uint32_t parity, named, named_n;
    hs_copy *copies, *last; /* its own, oldest first */
    uint32_t groups;        /* committed so far */
    bool fenced;            /* __threadfence, in this block */
} hs_fibre;
enum { HS_WHO = 0x3ff, HS_RANK_SHIFT = 10, HS_RANK = 7, HS_ANYONE = 0x1fff, HS_ATOMIC = 0x8000, HS_FLYING = 0x4000 };

typedef struct hs_cell {
    hs_access wrote, read[2];
} hs_cell;

/* A stretch of memory with a cell for every 1 << shift bytes. */
typedef struct hs_region {
    uintptr_t at;
    size_t size_b;
    unsigned shift;
    hs_cell *cell;
    size_t cells_b;
    bool freed, shared, starts_undefined;
    char name[64];
} hs_region;

typedef struct hs_variable {
    const char *name;
    size_t at, size_b; /* from the module's first shared variable */
} hs_variable;

struct hs_module {
    void *handle;
    char *path, *image; /* the file */
    size_t image_b;
    uintptr_t base;
    size_t shared_b, tls; /* of the module's shared variables; its number */
    hs_variable *variable;
    size_t n_variable;
    uint16_t *variable_of; /* byte to variable + 1 */
    hs_region shared;      /* all of them */
    uintptr_t dynamic;     /* a variable of the module that is dynamic shared memory, from the first */
    bool has_dynamic;
    struct hs_module *next;
};

/* A block of the cluster that runs; what its threads have in hs_state while it is their turn. */
typedef struct hs_rank {
    hs_fibre *fibre;
    char *stacks;
    uint16_t (*seen)[HS_THREADS_MOST];
    hs_mbar *mbar;
    unsigned n_mbar;
    hs_uint3 block;
    uint32_t interval, number;
    uint64_t heard;
    bool joined, ended;
    uint32_t reached; /* the last interval in which another block accessed its shared memory */
    char *image;      /* that memory while it is another one's turn: variables, then what is dynamic */
    hs_region shared, dynamic;
} hs_rank;

typedef struct hs_state {
    hs_options options;
    hs_report report;
    hs_rank rank[HS_RANKS_MOST];
    unsigned n_ranks, at_rank;
    size_t image_b;
    hs_fibre *fibre;
    unsigned n_threads, current, n_named[HS_NAMED_MOST];
    bool running;
    char *stacks;
    uintptr_t stack; /* of the fibre that runs */
    void *main_sp, *main_context;
    void (*call)(void *);
    void *arg;
    const char *kernel;
    uint64_t steps, steps_most;
    /* global memory */
    uintptr_t arena;
    size_t arena_b, arena_used;
    uint32_t *slot; /* region + 1 */
    hs_region *region;
    size_t n_region;
    /* shared memory */
    hs_module *modules, *module;
    hs_region dynamic;
    size_t dynamic_b;
    void *own_dynamic;
    uintptr_t base; /* of the module that runs */
    const char *base_path;
    /* what came before what */
    uint32_t interval, last_interval, launch_first;
    uint32_t block_first, met; /* first interval of the cluster, and behind its last barrier */
    uint32_t *block_of, n_blocks, blocks_room,
        number;                        /* first interval of each block of this launch (in clusters of each
                                          stretch of it), and its number; that of the block that runs */
    bool joined;                       /* lanes have joined since the last barrier */
    uint16_t (*seen)[HS_THREADS_MOST]; /* [thread][other]: other's clock that came before */
    hs_mbar *mbar;
    unsigned n_mbar;
    hs_flag flag[HS_FLAGS_MOST];
    unsigned n_flag;
    uint64_t heard; /* which flags this block has looked at */
} hs_state;
extern hs_state hs;

/* fibre.c */
void hs_swap_out(hs_fibre *f);   /* to the scheduler, until the fibre may go on */
_Noreturn void hs_give_up(void); /* ends the fibre; the launch ends, since there is a report */
static inline hs_fibre *hs_me(void) { return &hs.fibre[hs.current]; }
static inline uint16_t hs_who(unsigned thread) { return (uint16_t)(thread | hs.at_rank << HS_RANK_SHIFT); }

/* cluster.c */
bool hs_open_ranks(unsigned n); /* of a launch; false: out of memory */
void hs_close_ranks(void);
void hs_enter(unsigned rank);  /* it is that block's turn */
bool hs_release_cluster(void); /* false: not all threads of all blocks are at one barrier of the cluster */
void hs_explain_cluster(void);
void hs_end_rank(void); /* its threads have ended */
/* An address in the shared memory of another block, as that one has it. */
uintptr_t hs_own_address(uintptr_t at, unsigned *rank);
bool hs_may_reach(unsigned rank, unsigned how, uint32_t site);

/* wait.c */
bool hs_release_warp(unsigned i);
bool hs_release_block(void);      /* threads that wait for more than their warp; false: none may go on */
bool hs_release_wide(unsigned i); /* one that waits for an mbarrier or a named barrier */
void hs_explain_stuck(void);
void hs_start_block(void);
void hs_next_interval(void);
bool hs_is_before(const hs_access *a);
/* An atomic operation on global memory: it tells of what came before a fence, and hears of what others told there. */
void hs_tell(uintptr_t at);
void hs_forget_flags(void);

/* memory.c */
hs_region *hs_region_at(uintptr_t at);
bool hs_prepare_module(const void *code);
const hs_variable *hs_variable_at(uintptr_t at);

/* check.c */
enum { HS_READ = 1, HS_WRITE = 2, HS_BOTH = 3 };
/* An access of the running thread; how: HS_READ …, | HS_ATOMIC, | HS_FLYING. False: outside of all memory (reported).
 */
bool hs_touch(uintptr_t at, size_t n, unsigned how, uintptr_t site);
void hs_mark(uintptr_t at, size_t n, hs_access wrote); /* what lies there now was written so */
void hs_region_init(hs_region *r, uintptr_t at, size_t size_b, unsigned shift);
void hs_region_free(hs_region *r);

/* report.c */
void hs_say(hs_kind kind, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds a thread's place to the report. */
void hs_say_place(unsigned thread, uint32_t block, const char *does, uint32_t site, const char *file, int line);
void hs_place_of(uintptr_t pc, char *file, size_t n, int *line);
const char *hs_place_name(uintptr_t at, char *to, size_t n);
hs_uint3 hs_block_of(uint32_t interval);

#endif
