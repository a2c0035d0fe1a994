/* wait.c — what threads wait for: barriers, operations of a warp, mbarriers; and which accesses come before which.
 *
 * Each thread counts the times that it has joined others since the block's last barrier (clock); seen[t][u] is the last
 * of u's clocks that came before what t does now: vector clocks, reset by each barrier of the block, which orders all.
 */
#include "rt.h"
#include "shim_ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void wait(hs_wait state, const char *what, const char *file, int line) {
    hs_fibre *f = hs_me();
    f->state = state;
    f->what = what;
    f->file = file;
    f->line = line;
    if (++hs.steps > hs.steps_most) {
        hs_say(HS_STUCK, "the kernel does not end: %llu accesses and waits", (unsigned long long)hs.steps);
        hs_say_place(hs.current, hs.interval, "waits", 0, file, line);
        hs_give_up();
    }
    hs_swap_out(f);
}

/* --- order -----------------------------------------------------------------------------------------------------------
 */

/* From the interval that begins on it is this block's. */
static void note_interval(void) {
    if (hs.n_blocks == hs.blocks_room) {
        const uint32_t room = hs.blocks_room ? 2 * hs.blocks_room : 1024;
        uint32_t *more = realloc(hs.block_of, 2 * room * sizeof *more);
        if (!more) return; /* reports say "another block" */
        hs.block_of = more;
        hs.blocks_room = room;
    }
    hs.block_of[2 * hs.n_blocks] = hs.interval;
    hs.block_of[2 * hs.n_blocks + 1] = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    hs.number = hs.n_blocks++;
}

void hs_next_interval(void) {
    hs.interval = ++hs.last_interval;
    if (hs.n_ranks > 1) note_interval();
    if (hs.joined)
        for (unsigned i = 0; i < hs.n_threads; i++) memset(hs.seen[i], 0, hs.n_threads * sizeof **hs.seen);
    hs.joined = false;
    for (unsigned i = 0; i < hs.n_threads; i++) hs.fibre[i].clock = 1;
}

void hs_start_block(void) {
    hs_next_interval();
    if (!hs.at_rank) hs.block_first = hs.met = hs.interval;
    if (hs.n_ranks == 1) note_interval();
    hs.heard = 0;
    for (unsigned i = 0; i < hs.n_mbar; i++) {
        free(hs.mbar[i].clock);
        free(hs.mbar[i].next);
    }
    hs.n_mbar = 0;
    for (unsigned i = 0; i < hs.n_threads; i++) {
        hs_fibre *f = &hs.fibre[i];
        for (hs_copy *c = f->copies, *next; c; c = next) {
            next = c->next;
            free(c->more);
            free(c);
        }
        f->copies = f->last = NULL;
        f->groups = 0;
        f->fenced = false;
    }
}

/* The number in this launch of the block that an interval belongs to. */
static uint32_t number_of(uint32_t interval) {
    uint32_t low = 0, high = hs.n_blocks;
    while (high - low > 1) {
        const uint32_t mid = low + (high - low) / 2;
        if (hs.block_of[2 * mid] <= interval)
            low = mid;
        else
            high = mid;
    }
    return low;
}

hs_uint3 hs_block_of(uint32_t interval) {
    const uint32_t b = hs.n_blocks ? hs.block_of[2 * number_of(interval) + 1] : 0;
    return (hs_uint3){b % gridDim.x, b / gridDim.x % gridDim.y, b / (gridDim.x * gridDim.y)};
}

void hs_forget_flags(void) {
    for (unsigned i = 0; i < hs.n_flag; i++) free(hs.flag[i].told);
    hs.n_flag = 0;
}

static hs_flag *flag_at(uintptr_t at, bool make) {
    for (unsigned i = 0; i < hs.n_flag; i++)
        if (hs.flag[i].at == at) return &hs.flag[i];
    if (!make || hs.n_flag == HS_FLAGS_MOST) return NULL;
    hs.flag[hs.n_flag] = (hs_flag){.at = at};
    return &hs.flag[hs.n_flag++];
}

void hs_tell(uintptr_t at) {
    const uint32_t block = hs.number;
    hs_flag *f = flag_at(at, hs_me()->fenced);
    if (!f) return;
    hs.heard |= (uint64_t)1 << (f - hs.flag);
    if (!hs_me()->fenced) return;
    if (block >= f->room) {
        const uint32_t room = 2 * block + 64;
        uint8_t *more = realloc(f->told, room);
        if (!more) return;
        memset(more + f->room, 0, room - f->room);
        f->told = more;
        f->room = room;
    }
    f->told[block] = 1;
}

static bool was_told(uint32_t interval) {
    const uint32_t block = hs.heard ? number_of(interval) : 0;
    for (unsigned i = 0; hs.heard && i < hs.n_flag; i++)
        if ((hs.heard >> i & 1) && block < hs.flag[i].room && hs.flag[i].told[block]) return true;
    return false;
}

void shim_fence(void) { hs_me()->fenced = true; }

bool hs_is_before(const hs_access *a) {
    if (a->interval < hs.launch_first) return true;
    if (a->interval < hs.block_first) return was_told(a->interval);
    if ((a->who >> HS_RANK_SHIFT & HS_RANK) != hs.at_rank) return a->interval < hs.met;
    if (a->interval != hs.interval || (a->who & HS_WHO) == hs.current) return true;
    return a->clock <= hs.seen[hs.current][a->who & HS_WHO];
}

static void add_clocks(uint16_t *to, unsigned thread) {
    for (unsigned u = 0; u < hs.n_threads; u++)
        if (hs.seen[thread][u] > to[u]) to[u] = hs.seen[thread][u];
    to[thread] = hs.fibre[thread].clock;
}

static void take_clocks(unsigned thread, const uint16_t *from) {
    for (unsigned u = 0; u < hs.n_threads; u++)
        if (from[u] > hs.seen[thread][u]) hs.seen[thread][u] = from[u];
    hs.joined = true;
}

static void tick(unsigned thread) {
    if (hs.fibre[thread].clock < UINT16_MAX) hs.fibre[thread].clock++;
}

/* What the threads did comes before what they do from now on. */
static void join(const unsigned *thread, unsigned n) {
    uint16_t all[HS_THREADS_MOST] = {0};
    for (unsigned i = 0; i < n; i++) add_clocks(all, thread[i]);
    for (unsigned i = 0; i < n; i++) take_clocks(thread[i], all);
    for (unsigned i = 0; i < n; i++) tick(thread[i]);
}

/* --- release ---------------------------------------------------------------------------------------------------------
 */

static bool same_place(const hs_fibre *a, const hs_fibre *b) {
    return a->line == b->line && !strcmp(a->what, b->what) && !strcmp(a->file, b->file);
}

/* The operation of a warp that lane i waits for takes place when all lanes of its mask that have not ended wait there.
 */
bool hs_release_warp(unsigned i) {
    hs_fibre *f = &hs.fibre[i];
    const unsigned first = i & ~31u;
    unsigned there = 0, list[HS_LANES], n = 0;
    uint64_t value[HS_LANES] = {0};
    for (unsigned l = 0; l < HS_LANES && first + l < hs.n_threads; l++) {
        const hs_fibre *g = &hs.fibre[first + l];
        if (!(f->mask >> l & 1) || g->state == HS_ENDED) continue;
        if (g->state != HS_IN_WARP || g->mask != f->mask || !same_place(f, g)) return false;
        there |= 1u << l;
        value[l] = g->give;
        list[n++] = first + l;
    }
    for (unsigned k = 0; k < n; k++) {
        hs_fibre *g = &hs.fibre[list[k]];
        memcpy(g->got, value, sizeof value);
        g->participated = there;
        g->state = HS_READY;
    }
    if (!strcmp(f->what, "__syncwarp")) join(list, n);
    return true;
}

bool hs_release_block(void) {
    for (unsigned i = 0; i < hs.n_threads; i++)
        if (hs.fibre[i].state != HS_AT_BARRIER || !same_place(&hs.fibre[i], &hs.fibre[0])) return false;
    for (unsigned i = 0; i < hs.n_threads; i++) hs.fibre[i].state = HS_READY;
    hs_next_interval();
    return true;
}

static bool release_named(unsigned i) {
    unsigned list[HS_THREADS_MOST], n = 0;
    const hs_fibre *f = &hs.fibre[i];
    for (unsigned k = 0; k < hs.n_threads; k++)
        if (hs.fibre[k].state == HS_AT_NAMED && hs.fibre[k].named == f->named && hs.fibre[k].named_n == f->named_n)
            list[n++] = k;
    if (n < f->named_n) return false;
    for (unsigned k = 0; k < n; k++) hs.fibre[list[k]].state = HS_READY;
    join(list, n);
    return true;
}

static void land(hs_copy *c) {
    const hs_fibre *f = &hs.fibre[c->thread];
    memcpy(c->to, c->more ? c->more : c->data, c->n);
    hs_mark((uintptr_t)c->to, c->n, (hs_access){hs.interval, hs_who(c->thread), f->clock, c->site});
    free(c->more);
    free(c);
}

static void end_phase(hs_mbar *b) {
    uint16_t *t = b->clock;
    b->clock = b->next;
    b->next = t;
    memset(b->next, 0, HS_THREADS_MOST * sizeof *b->next);
    b->phase++;
    b->arrived = 0;
    b->tx = 0;
}

static bool phase_over(const hs_mbar *b, uint32_t parity) { return (b->phase & 1) != (parity & 1); }

/* Copies land when somebody waits for them: as late as can be. */
bool hs_release_wide(unsigned i) {
    hs_fibre *f = &hs.fibre[i];
    if (f->state == HS_AT_NAMED) return release_named(i);
    hs_mbar *b = f->mbar;
    if (!phase_over(b, f->parity) && b->arrived == b->count) {
        while (b->copies) {
            hs_copy *c = b->copies;
            b->copies = c->next;
            b->tx -= c->n;
            add_clocks(b->next, c->thread);
            const uint32_t thread = c->thread;
            land(c);
            b->next[thread] = hs.fibre[thread].clock;
            tick(thread);
        }
        if (b->tx == 0) end_phase(b);
    }
    if (!phase_over(b, f->parity)) return false;
    f->state = HS_READY;
    take_clocks(i, b->clock);
    return true;
}

static void say_stuck(const char *problem, unsigned a, unsigned b) {
    hs_say(HS_DIVERGENT, "%s", problem);
    const unsigned both[] = {a, b};
    for (int k = 0; k < 2; k++) {
        const hs_fibre *f = &hs.fibre[both[k]];
        char does[60];
        snprintf(does, sizeof does, f->state == HS_ENDED ? "has ended" : "waits in %s", f->what);
        hs_say_place(both[k], hs.interval, does, 0, f->state == HS_ENDED ? NULL : f->file, f->line);
    }
}

static bool explain_warps(void) {
    for (unsigned i = 0; i < hs.n_threads; i++) {
        const hs_fibre *f = &hs.fibre[i];
        if (f->state != HS_IN_WARP) continue;
        for (unsigned l = 0; l < HS_LANES && (i & ~31u) + l < hs.n_threads; l++) {
            const unsigned j = (i & ~31u) + l;
            const hs_fibre *g = &hs.fibre[j];
            if (!(f->mask >> l & 1) || g->state == HS_ENDED || j == i) continue;
            if (g->state == HS_IN_WARP && g->mask == f->mask && same_place(f, g)) continue;
            say_stuck("lanes of a mask do not meet", i, j);
            return true;
        }
    }
    return false;
}

void hs_explain_stuck(void) {
    if (explain_warps()) return;
    for (unsigned i = 0; i < hs.n_threads; i++)
        for (unsigned j = 0; hs.fibre[i].state == HS_AT_BARRIER && j < hs.n_threads; j++) {
            if (hs.fibre[j].state == HS_AT_BARRIER && same_place(&hs.fibre[i], &hs.fibre[j])) continue;
            say_stuck("divergent barrier", i, j);
            return;
        }
    hs_say(HS_STUCK, "threads wait for each other for ever");
    for (unsigned i = 0, n = 0; i < hs.n_threads && n < 2; i++) {
        const hs_fibre *f = &hs.fibre[i];
        char does[60];
        if (f->state == HS_ENDED) continue;
        snprintf(does, sizeof does, "waits in %s", f->what);
        hs_say_place(i, hs.interval, does, 0, f->file, f->line);
        n++;
    }
}

/* --- what kernels call -----------------------------------------------------------------------------------------------
 */

void shim_barrier(const char *what, const char *file, int line) { wait(HS_AT_BARRIER, what, file, line); }
void shim_cluster_barrier(const char *file, int line) { wait(HS_AT_CLUSTER, "a barrier of the cluster", file, line); }

int shim_block_sum(int v, const char *what, const char *file, int line) {
    hs_me()->give = (uint64_t)(int64_t)v;
    wait(HS_AT_BARRIER, what, file, line);
    int64_t sum = 0;
    for (unsigned i = 0; i < hs.n_threads; i++) sum += (int64_t)hs.fibre[i].give;
    wait(HS_AT_BARRIER, what, file, line);
    return (int)sum;
}

void shim_pause(const char *file, int line) { wait(HS_PAUSED, "__nanosleep", file, line); }
unsigned shim_lane(void) { return hs.current & 31; }

static hs_fibre *meet(unsigned mask, uint64_t give, const char *what, const char *file, int line) {
    hs_fibre *f = hs_me();
    if (!(mask >> shim_lane() & 1)) {
        hs_say(HS_WARP, "a thread is not in its own mask %08x in %s", mask, what);
        hs_say_place(hs.current, hs.interval, what, 0, file, line);
        hs_give_up();
    }
    f->mask = mask;
    f->give = give;
    wait(HS_IN_WARP, what, file, line);
    return f;
}

void shim_syncwarp(unsigned mask, const char *file, int line) { meet(mask, 0, "__syncwarp", file, line); }

uint64_t shim_shuffle(unsigned mask, uint64_t give, unsigned from, const char *what, const char *file, int line) {
    const hs_fibre *f = meet(mask, give, what, file, line);
    if (from >= HS_LANES || !(f->participated >> from & 1)) {
        hs_say(HS_WARP, "a thread reads lane %u, which takes no part, in %s", from, what);
        hs_say_place(hs.current, hs.interval, what, 0, file, line);
        hs_give_up();
    }
    return f->got[from];
}

unsigned shim_ballot(unsigned mask, int v, const char *what, const char *file, int line) {
    const hs_fibre *f = meet(mask, v != 0, what, file, line);
    unsigned set = 0;
    for (unsigned l = 0; l < HS_LANES; l++) set |= ((f->participated >> l & 1) && f->got[l] ? 1u : 0u) << l;
    return set;
}

unsigned shim_match(unsigned mask, uint64_t v, const char *file, int line) {
    const hs_fibre *f = meet(mask, v, "__match_any_sync", file, line);
    unsigned same = 0;
    for (unsigned l = 0; l < HS_LANES; l++) same |= ((f->participated >> l & 1) && f->got[l] == v ? 1u : 0u) << l;
    return same;
}

int64_t shim_reduce(unsigned mask, int64_t v, char op, const char *what, const char *file, int line) {
    const hs_fibre *f = meet(mask, (uint64_t)v, what, file, line);
    int64_t all = 0;
    bool first = true;
    for (unsigned l = 0; l < HS_LANES; l++) {
        if (!(f->participated >> l & 1)) continue;
        const int64_t x = (int64_t)f->got[l];
        all = first       ? x
              : op == '+' ? all + x
              : op == '&' ? (all & x)
              : op == '|' ? (all | x)
              : op == '^' ? (all ^ x)
              : op == '>' ? (x > all ? x : all)
                          : (x < all ? x : all);
        first = false;
    }
    return all;
}

const uint64_t *shim_gather(unsigned mask, uint64_t give, unsigned *lanes, const char *what, const char *file,
                            int line) {
    const hs_fibre *f = meet(mask, give, what, file, line);
    *lanes = f->participated;
    return f->got;
}

void shim_named_barrier(int id, int threads, const char *file, int line) {
    hs_fibre *f = hs_me();
    f->named = (uint32_t)id;
    f->named_n = (uint32_t)threads;
    wait(HS_AT_NAMED, "a named barrier", file, line);
}

/* --- mbarriers -------------------------------------------------------------------------------------------------------
 */

static hs_mbar *mbar_of(const void *at, bool make, const char *what, const char *file, int line) {
    for (unsigned i = 0; i < hs.n_mbar; i++) {
        if (hs.mbar[i].at != (uintptr_t)at) continue;
        if (make || hs_is_before(&hs.mbar[i].made)) return &hs.mbar[i];
        hs_say(HS_RACE, "race: %s while another thread may not have initialised the mbarrier", what);
        hs_say_place(hs.current, hs.interval, what, 0, file, line);
        hs_give_up();
    }
    if (make && hs.n_mbar < HS_MBARS_MOST) {
        hs_mbar *b = &hs.mbar[hs.n_mbar++];
        *b = (hs_mbar){.at = (uintptr_t)at};
        b->clock = calloc(HS_THREADS_MOST, sizeof *b->clock);
        b->next = calloc(HS_THREADS_MOST, sizeof *b->next);
        if (b->clock && b->next) return b;
    }
    hs_say(HS_MISUSE, make ? "too many mbarriers" : "an mbarrier that was not initialised in %s", what);
    hs_say_place(hs.current, hs.interval, what, 0, file, line);
    hs_give_up();
}

void shim_mbar_init(uint64_t *at, int count, const char *file, int line) {
    hs_mbar *b = mbar_of(at, true, "mbarrier init", file, line);
    b->count = (uint32_t)count;
    b->arrived = b->phase = 0;
    b->tx = 0;
    b->made = (hs_access){hs.interval, hs_who(hs.current), hs_me()->clock, 0};
}

static void arrive(hs_mbar *b, const char *file, int line) {
    if (b->arrived == b->count) {
        hs_say(HS_MISUSE, "more than %u arrivals at an mbarrier in one phase", b->count);
        hs_say_place(hs.current, hs.interval, "arrives", 0, file, line);
        hs_give_up();
    }
    add_clocks(b->next, hs.current);
    tick(hs.current);
    hs.joined = true;
    if (++b->arrived == b->count && b->tx == 0 && !b->copies) end_phase(b);
}

void shim_mbar_arrive(uint64_t *at, const char *file, int line) {
    arrive(mbar_of(at, false, "mbarrier arrive", file, line), file, line);
}

void shim_mbar_arrive_copies(uint64_t *at, const char *file, int line) {
    hs_mbar *b = mbar_of(at, false, "mbarrier arrive", file, line);
    hs_fibre *f = hs_me();
    hs_copy **end = &b->copies;
    while (*end) end = &(*end)->next;
    *end = f->copies;
    for (const hs_copy *c = f->copies; c; c = c->next) b->tx += c->n;
    f->copies = f->last = NULL;
    arrive(b, file, line);
}

/* What waited has gone on: in a phase of which nothing has come yet. */
void shim_mbar_end(uint64_t *at, const char *file, int line) {
    hs_mbar *b = mbar_of(at, false, "mbarrier inval", file, line);
    if (b->copies) {
        hs_say(HS_IN_FLIGHT, "an mbarrier ends with copies that nobody waited for");
        hs_say_place(hs.current, hs.interval, "ends", 0, file, line);
        hs_give_up();
    }
    memset(b->next, 0, HS_THREADS_MOST * sizeof *b->next);
    b->arrived = 0;
}

void shim_mbar_expect(uint64_t *at, int bytes, const char *file, int line) {
    hs_mbar *b = mbar_of(at, false, "mbarrier expect", file, line);
    b->tx += bytes;
    arrive(b, file, line);
}

void shim_mbar_wait(uint64_t *at, int phase, const char *file, int line) {
    hs_mbar *b = mbar_of(at, false, "mbarrier wait", file, line);
    if (phase_over(b, (uint32_t)phase)) {
        take_clocks(hs.current, b->clock);
        return;
    }
    hs_fibre *f = hs_me();
    f->mbar = b;
    f->parity = (uint32_t)phase & 1;
    wait(HS_AT_MBAR, "an mbarrier", file, line);
}

/* --- asynchronous copies ---------------------------------------------------------------------------------------------
 */

static hs_copy *new_copy(void *to, const void *from, uint32_t n, uint32_t zeros, uintptr_t site) {
    if (n && !hs_touch((uintptr_t)from, n, HS_READ, site)) hs_give_up();
    if (!hs_touch((uintptr_t)to, n + zeros, HS_WRITE | HS_FLYING, site)) hs_give_up();
    hs_copy *c = calloc(1, sizeof *c);
    if (c && n + zeros > sizeof c->data) c->more = calloc(1, n + zeros);
    if (!c || (n + zeros > sizeof c->data && !c->more)) {
        hs_say(HS_LIMIT, "out of memory");
        hs_give_up();
    }
    memcpy(c->more ? c->more : c->data, from, n);
    c->to = to;
    c->n = n + zeros;
    c->site = (uint32_t)(site - hs.base);
    c->thread = (uint16_t)hs.current;
    return c;
}

static void check_aligned(const void *to, const void *from, int n, const char *file, int line) {
    if (!(((uintptr_t)to | (uintptr_t)from) & (uintptr_t)(n - 1))) return;
    hs_say(HS_MISUSE, "an asynchronous copy of %d bytes between addresses that are not multiples of %d", n, n);
    hs_say_place(hs.current, hs.interval, "copies", 0, file, line);
    hs_give_up();
}

void shim_copy_async(void *to, const void *from, int n, int given, const char *file, int line) {
    check_aligned(to, given ? from : to, n, file, line);
    hs_copy *c = new_copy(to, from, (uint32_t)given, (uint32_t)(n - given), (uintptr_t)__builtin_return_address(0));
    hs_fibre *f = hs_me();
    c->group = f->groups;
    *(f->last ? &f->last->next : &f->copies) = c;
    f->last = c;
}

void shim_copy_commit(void) { hs_me()->groups++; }

void shim_copy_wait(int left) {
    hs_fibre *f = hs_me();
    while (f->copies && (left < 0 || f->copies->group + (uint32_t)left < f->groups)) {
        hs_copy *c = f->copies;
        f->copies = c->next;
        if (!f->copies) f->last = NULL;
        land(c);
    }
}

void shim_bulk_copy(void *to, const void *from, int n, uint64_t *at, const char *file, int line) {
    hs_mbar *b = mbar_of(at, false, "a bulk copy", file, line);
    check_aligned(to, from, 16, file, line);
    if (n <= 0 || n % 16) {
        hs_say(HS_MISUSE, "a bulk copy of %d bytes: it takes multiples of 16", n);
        hs_say_place(hs.current, hs.interval, "copies", 0, file, line);
        hs_give_up();
    }
    hs_copy *c = new_copy(to, from, (uint32_t)n, 0, (uintptr_t)__builtin_return_address(0)), **end = &b->copies;
    while (*end) end = &(*end)->next;
    *end = c;
}
