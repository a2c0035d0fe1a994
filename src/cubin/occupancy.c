/* cubin/occupancy.c — how many blocks of a kernel a multiprocessor holds: the least of what warps, blocks, registers,
 * shared memory and barriers allow, as the CUDA toolkit's own header about occupancy counts it. */
#include "cubin/cubin.h"

#include <string.h>

enum {
    WARP = 32,
    REGISTERS = 65536,
    REGISTERS_AT_ONCE = 256, /* of a warp */
    REGISTERS_MOST = 255,    /* of a thread */
    PARTITIONS = 4,
    THREADS_MOST = 1024,
    SHARED_AT_ONCE = 128,
    RESERVED_B = 1024
};

typedef struct sm_row {
    unsigned sm, warps, blocks, shared_kib, block_kib, barriers;
} sm_row;
static const sm_row row[] = {
#define HN_SM(number, warps, blocks, shared, block, barriers) {number, warps, blocks, shared, block, barriers},
#include "cubin/occupancy.def"
};

/* Each name with a blank before it. */
static const char known[] =
#define HN_SM(number, warps, blocks, shared, block, barriers) " " #number
#include "cubin/occupancy.def"
    ;

const char *hn_occupancy_known(void) { return &known[1]; }

static uint64_t round_up(uint64_t x, uint64_t to) { return (x + to - 1) / to * to; }

static void bound(hn_occupancy *o, uint64_t blocks, const char *by) {
    if (blocks >= o->blocks) return;
    o->blocks = (unsigned)blocks;
    o->limit = by;
}

bool hn_occupancy_of(unsigned sm, unsigned registers, unsigned threads, uint64_t shared_b, unsigned barriers,
                     hn_occupancy *out) {
    size_t i = 0;
    while (i < sizeof row / sizeof *row && row[i].sm != sm) i++;
    if (i == sizeof row / sizeof *row) return false;
    const sm_row *r = &row[i];
    unsigned warps = (threads + WARP - 1) / WARP;
    hn_occupancy o = {.blocks = r->blocks, .most_warps = r->warps, .limit = "blocks"};
    if (!threads || threads > THREADS_MOST) bound(&o, 0, "threads");
    if (warps) bound(&o, r->warps / warps, "warps");
    uint64_t of_warp = round_up((uint64_t)registers * WARP, REGISTERS_AT_ONCE);
    bool fits = of_warp * round_up(warps, PARTITIONS) <= REGISTERS && registers <= REGISTERS_MOST;
    if (!fits)
        bound(&o, 0, "registers");
    else if (of_warp && warps)
        bound(&o, REGISTERS / PARTITIONS / of_warp * PARTITIONS / warps, "registers");
    uint64_t of_block = round_up(shared_b + RESERVED_B, SHARED_AT_ONCE);
    if (shared_b > (uint64_t)r->block_kib * 1024)
        bound(&o, 0, "shared memory");
    else
        bound(&o, (uint64_t)r->shared_kib * 1024 / of_block, "shared memory");
    if (barriers) bound(&o, (uint64_t)r->blocks * r->barriers / barriers, "barriers");
    o.warps = o.blocks * warps;
    *out = o;
    return true;
}
