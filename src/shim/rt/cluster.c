/* cluster.c — blocks of a cluster: they run in turns on one thread of the CPU. Shared variables exist once (memory.c),
 * so what is in them is put aside while another block runs; that image is where the others reach it. */
#include "rt.h"
#include "shim_ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* --- room ------------------------------------------------------------------------------------------------------------
 */

static void *map_room(size_t size_b) {
    void *p = mmap(NULL, size_b, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

/* Kept until the program ends. */
static bool make_rank(hs_rank *r) {
    const size_t each = HS_STACK_B + HS_GUARD_B;
    if (!r->fibre) r->fibre = calloc(HS_THREADS_MOST, sizeof *r->fibre);
    if (!r->mbar) r->mbar = calloc(HS_MBARS_MOST, sizeof *r->mbar);
    if (!r->seen) r->seen = map_room(HS_THREADS_MOST * sizeof *r->seen);
    if (!r->stacks) {
        r->stacks = map_room(HS_THREADS_MOST * each);
        for (size_t i = 0; r->stacks && i < HS_THREADS_MOST; i++) mprotect(r->stacks + i * each, HS_GUARD_B, PROT_NONE);
    }
    return r->fibre && r->mbar && r->seen && r->stacks;
}

static size_t variables_b(void) { return (hs.module->shared_b + 255) & ~(size_t)255; }
static bool is_among_variables(uintptr_t at) { return at - hs.module->shared.at < hs.module->shared_b; }

static void take(const hs_rank *r) {
    hs.fibre = r->fibre, hs.stacks = r->stacks, hs.seen = r->seen, hs.mbar = r->mbar, hs.n_mbar = r->n_mbar;
    hs.interval = r->interval, hs.number = r->number, hs.heard = r->heard, hs.joined = r->joined;
    blockIdx = r->block;
}

bool hs_open_ranks(unsigned n) {
    hs.n_ranks = n;
    hs.at_rank = 0;
    hs.image_b = variables_b() + (is_among_variables(hs.dynamic.at) ? 0 : hs.dynamic_b);
    for (unsigned k = 0; k < n; k++) {
        hs_rank *r = &hs.rank[k];
        if (!make_rank(r)) return false;
        r->interval = hs.interval;
        r->joined = true; /* clocks of another launch */
        if (k) {
            hs_region_init(&r->shared, hs.module->shared.at, hs.module->shared_b, 0);
            hs_region_init(&r->dynamic, hs.dynamic.at, hs.dynamic_b, 0);
            r->shared.shared = r->dynamic.shared = true;
            memcpy(r->dynamic.name, hs.dynamic.name, sizeof r->dynamic.name);
        }
        if (n > 1 && !(r->image = calloc(1, hs.image_b + 1))) return false;
    }
    hs.rank[0].n_mbar = hs.n_mbar;
    take(&hs.rank[0]);
    return true;
}

void hs_close_ranks(void) {
    hs_enter(0);
    for (unsigned k = 0; k < hs.n_ranks; k++) {
        hs_rank *r = &hs.rank[k];
        free(r->image);
        r->image = NULL;
        if (!k) continue;
        hs_region_free(&r->shared);
        hs_region_free(&r->dynamic);
    }
    hs.n_ranks = 1;
}

/* --- turns -----------------------------------------------------------------------------------------------------------
 */

void hs_enter(unsigned k) {
    hs_rank *from = &hs.rank[hs.at_rank], *to = &hs.rank[k];
    hs_module *m = hs.module;
    const size_t own_b = hs.image_b - variables_b();
    if (k == hs.at_rank) return;
    from->n_mbar = hs.n_mbar, from->interval = hs.interval, from->number = hs.number, from->heard = hs.heard;
    from->joined = hs.joined, from->block = blockIdx, from->shared = m->shared, from->dynamic = hs.dynamic;
    if (m->shared_b) memcpy(from->image, (void *)m->shared.at, m->shared_b);
    if (own_b) memcpy(from->image + variables_b(), (void *)hs.dynamic.at, own_b);
    hs.at_rank = k;
    take(to);
    m->shared = to->shared, hs.dynamic = to->dynamic;
    if (m->shared_b) memcpy((void *)m->shared.at, to->image, m->shared_b);
    if (own_b) memcpy((void *)hs.dynamic.at, to->image + variables_b(), own_b);
}

static bool same_place(const hs_fibre *a, const hs_fibre *b) {
    return a->line == b->line && !strcmp(a->what, b->what) && !strcmp(a->file, b->file);
}

/* A thread that is not where the first one of the cluster waits. */
static bool is_missing(unsigned k, unsigned i) {
    const hs_fibre *f = &hs.rank[k].fibre[i], *first = &hs.rank[0].fibre[0];
    return f->state != HS_AT_CLUSTER || first->state != HS_AT_CLUSTER || !same_place(f, first);
}

bool hs_release_cluster(void) {
    const unsigned was = hs.at_rank;
    for (unsigned k = 0; k < hs.n_ranks; k++)
        for (unsigned i = 0; i < hs.n_threads; i++)
            if (is_missing(k, i)) return false;
    hs.met = hs.last_interval + 1;
    for (unsigned k = 0; k < hs.n_ranks; k++) {
        for (unsigned i = 0; i < hs.n_threads; i++) hs.rank[k].fibre[i].state = HS_READY;
        hs_enter(k);
        hs_next_interval();
    }
    hs_enter(was);
    return true;
}

static void say_waiting(unsigned k, unsigned i) {
    const hs_fibre *f = &hs.rank[k].fibre[i];
    char does[60];
    hs_enter(k);
    snprintf(does, sizeof does, f->state == HS_ENDED ? "has ended" : "waits in %s", f->what);
    hs_say_place(i, hs.interval, does, 0, f->state == HS_ENDED ? NULL : f->file, f->line);
}

void hs_explain_cluster(void) {
    unsigned waits[2] = {0, 0}, other[2] = {0, 0};
    bool found = false;
    for (unsigned k = 0; k < hs.n_ranks; k++)
        for (unsigned i = 0; i < hs.n_threads; i++) {
            const hs_wait state = hs.rank[k].fibre[i].state;
            if (state == HS_AT_CLUSTER) waits[0] = k, waits[1] = i, found = true;
            if (state == HS_AT_CLUSTER || state == HS_ENDED) continue;
            hs_enter(k);
            hs_explain_stuck();
            return;
        }
    for (unsigned k = 0; found && k < hs.n_ranks; k++)
        for (unsigned i = 0; i < hs.n_threads; i++) {
            const hs_fibre *f = &hs.rank[k].fibre[i];
            if (f->state != HS_AT_CLUSTER || !same_place(f, &hs.rank[waits[0]].fibre[waits[1]]))
                other[0] = k, other[1] = i;
        }
    hs_say(HS_DIVERGENT, "divergent barrier of the cluster");
    say_waiting(waits[0], waits[1]);
    say_waiting(other[0], other[1]);
}

void hs_end_rank(void) {
    hs_rank *r = &hs.rank[hs.at_rank];
    r->ended = true;
    if (hs.n_ranks == 1 || r->reached < hs.met) return;
    hs_say(HS_RACE,
           "race: a block of the cluster ends while another one may still write to its shared memory: no barrier "
           "of the cluster stands between");
    hs_say_place(0, hs.interval, "has ended", 0, NULL, 0);
}

/* --- memory of others ------------------------------------------------------------------------------------------------
 */

uintptr_t hs_own_address(uintptr_t at, unsigned *rank) {
    *rank = hs.at_rank;
    for (unsigned k = 0; hs.n_ranks > 1 && k < hs.n_ranks; k++) {
        const uintptr_t offset = at - (uintptr_t)hs.rank[k].image;
        if (k == hs.at_rank || offset >= hs.image_b) continue;
        *rank = k;
        return offset < variables_b() ? hs.module->shared.at + offset : hs.dynamic.at + (offset - variables_b());
    }
    return at;
}

/* Where the block of that rank has what this one has there; 0: it is no shared memory. */
static uintptr_t address_of(uintptr_t at, unsigned rank) {
    const uintptr_t image = (uintptr_t)hs.rank[rank].image;
    if (rank == hs.at_rank) return at;
    if (is_among_variables(at)) return image + (at - hs.module->shared.at);
    return at - hs.dynamic.at < hs.dynamic_b ? image + variables_b() + (at - hs.dynamic.at) : 0;
}

bool hs_may_reach(unsigned rank, unsigned how, uint32_t site) {
    hs_rank *r = &hs.rank[rank];
    const char *wrong = hs.met == hs.block_first ? "may not have begun: no barrier of the cluster stands in front"
                        : r->ended               ? "has ended"
                                                 : NULL;
    if (r->reached < hs.interval) r->reached = hs.interval;
    if (!wrong) return true;
    hs_say(HS_RACE, "race: shared memory of a block of the cluster that %s", wrong);
    hs_say_place(hs.current, hs.interval, how & HS_WRITE ? "writes there" : "reads there", site, NULL, 0);
    return false;
}

_Noreturn static void misuse(hs_kind kind, const char *text, const char *does, const char *file, int line) {
    hs_say(kind, "%s", text);
    hs_say_place(hs.current, hs.interval, does, 0, file, line);
    hs_give_up();
}

void shim_push(const void *at, int size, int n, const char *file, int line) {
    const uintptr_t site = (uintptr_t)__builtin_return_address(0), here = (uintptr_t)at;
    if (n < 1 || (unsigned)n != hs.n_ranks)
        misuse(HS_MISUSE, "a push among another number of blocks than the cluster has", "pushes", file, line);
    if (here & (uintptr_t)(size - 1))
        misuse(HS_MISUSE, "a push from an address that is no multiple of its length", "pushes", file, line);
    if (!hs_touch(here, (size_t)size, HS_READ, site)) hs_give_up();
    for (unsigned k = 1; k < hs.n_ranks; k++) {
        const uintptr_t to = address_of(here, (hs.at_rank + k) % hs.n_ranks);
        if (!to) misuse(HS_BOUNDS, "out of bounds: a push of what is no shared memory", "pushes", file, line);
        if (!hs_touch(to, (size_t)size, HS_WRITE, site)) hs_give_up();
        memcpy((void *)to, at, (size_t)size);
    }
}
