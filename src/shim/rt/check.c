/* check.c — every access of a kernel, as g++ -fsanitize=thread reports it to the functions that ThreadSanitizer's
 * library would have: is something there, was anything written to it, does another thread access it without an order
 * between the two. Kept of each piece of memory: the last write and two reads by different threads. */
#include "rt.h"
#include "shim_ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { HOST_STACK_B = 8 << 20, SHIFT_MOST = 2 };

static bool make_cells(hs_region *r, unsigned shift) {
    const size_t all = ((r->size_b >> shift) + 1) * sizeof(hs_cell);
    hs_cell *c = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (c == MAP_FAILED) return false;
    if (r->cell)
        for (size_t i = 0; i < r->size_b >> shift; i++) {
            const hs_cell *old = &r->cell[i >> (r->shift - shift)];
            if (old->wrote.interval || old->read[0].interval) c[i] = *old;
        }
    hs_region_free(r);
    r->cell = c;
    r->cells_b = all;
    r->shift = shift;
    return true;
}

/* Cells of the region are fine enough for the access; false without memory. */
static bool fine_cells(hs_region *r, uintptr_t offset, size_t n) {
    if (r->cell && !((offset | n) & (((size_t)1 << r->shift) - 1))) return true;
    unsigned shift = r->cell ? r->shift : SHIFT_MOST;
    while ((offset | n) & (((size_t)1 << shift) - 1)) shift--;
    return make_cells(r, shift);
}

/* --- reports ---------------------------------------------------------------------------------------------------------
 */

static const char *verb(unsigned how) {
    return how & HS_FLYING ? "copies to" : how & HS_ATOMIC ? "updates" : how & HS_WRITE ? "writes" : "reads";
}

static void say_access(unsigned thread, uint32_t interval, unsigned how, uintptr_t at, uint32_t site) {
    char name[120], does[160];
    snprintf(does, sizeof does, "%s %s", verb(how), hs_place_name(at, name, sizeof name));
    hs_say_place(thread, interval, does, site, NULL, 0);
}

static void say_two(hs_kind kind, const char *what, const hs_access *old, unsigned old_how, uintptr_t at, unsigned how,
                    uint32_t site) {
    hs_say(kind, "%s", what);
    say_access(hs.current, hs.interval, how, at, site);
    say_access(old->who & HS_WHO, old->interval, old_how | (old->who & (HS_ATOMIC | HS_FLYING)), at, old->site);
}

static bool outside(uintptr_t at, size_t n, unsigned how, uint32_t site) {
    char what[200];
    const hs_region *r = hs_region_at(at);
    if (r && r->freed)
        snprintf(what, sizeof what, "%zu bytes of memory that was freed", n);
    else if (r)
        snprintf(what, sizeof what, "%zu bytes at %lld of %s%s%s, which has %zu", n, (long long)(at - r->at),
                 *r->name ? "global '" : "global memory", r->name, *r->name ? "'" : "", r->size_b);
    else if (at - hs.dynamic.at < HS_SHARED_MOST_B)
        snprintf(what, sizeof what, "%zu bytes at %zu of dynamic shared memory, which has %zu", n,
                 (size_t)(at - hs.dynamic.at), hs.dynamic_b);
    else if (hs.module && at - hs.module->shared.at < hs.module->shared_b)
        snprintf(what, sizeof what, "%zu bytes of shared memory outside of every array", n);
    else
        snprintf(what, sizeof what, "%zu bytes at address 0x%llx, where nothing is", n, (unsigned long long)at);
    hs_say(HS_BOUNDS, "out of bounds");
    char does[240];
    snprintf(does, sizeof does, "%s %s", verb(how), what);
    hs_say_place(hs.current, hs.interval, does, site, NULL, 0);
    return false;
}

/* --- order -----------------------------------------------------------------------------------------------------------
 */

static inline bool clash(const hs_access *a, unsigned how, bool shared) {
    if (a->interval < (shared ? hs.block_first : hs.launch_first)) return false;
    return !(a->who & how & HS_ATOMIC) && !hs_is_before(a);
}

static inline void note_read(hs_cell *c, hs_access me) {
    hs_access *r = c->read;
    const unsigned who = me.who & HS_ANYONE;
    if (r[0].interval < hs.launch_first || (r[0].interval >= hs.block_first && r[0].interval < hs.interval) ||
        (r[0].interval == hs.interval && (r[0].who & HS_ANYONE) == who))
        r[0] = me;
    else if (r[1].interval != hs.interval || (r[1].who & HS_ANYONE) == who ||
             (r[0].who & HS_ANYONE) / HS_LANES != who / HS_LANES)
        r[1] = me;
}

static bool check_cell(hs_region *r, hs_cell *c, uintptr_t at, unsigned how, hs_access me) {
    const hs_access *w = &c->wrote;
    if ((w->who & HS_FLYING) && w->interval >= hs.block_first) {
        say_two(HS_IN_FLIGHT, "an asynchronous copy is still on its way there", w, HS_WRITE, at, how, me.site);
        return false;
    }
    if (clash(w, how, r->shared)) {
        say_two(HS_RACE, "race", w, HS_WRITE, at, how, me.site);
        return false;
    }
    if ((how & HS_READ) && !hs.options.undefined_ok &&
        (r->shared ? w->interval < hs.block_first : r->starts_undefined && !w->interval)) {
        hs_say(HS_UNDEFINED, "%s",
               r->shared ? "a read of shared memory that no thread of the block wrote"
                         : "a read of memory that nothing was written to");
        say_access(hs.current, hs.interval, HS_READ, at, me.site);
        return false;
    }
    for (int k = 0; (how & HS_WRITE) && k < 2; k++) {
        if (!clash(&c->read[k], how, r->shared)) continue;
        say_two(HS_RACE, "race", &c->read[k], HS_READ, at, how, me.site);
        return false;
    }
    if (how & HS_WRITE)
        c->wrote = me;
    else
        note_read(c, me);
    return true;
}

static bool touch_region(hs_region *r, uintptr_t at, size_t n, unsigned how, uint32_t site) {
    const uintptr_t offset = at - r->at;
    if (!fine_cells(r, offset, n)) {
        hs_say(HS_LIMIT, "out of memory");
        return false;
    }
    const hs_fibre *f = hs_me();
    const hs_access me = {hs.interval, (uint16_t)(hs_who(hs.current) | (how & (HS_ATOMIC | HS_FLYING))), f->clock,
                          site};
    hs_cell *c = &r->cell[offset >> r->shift];
    for (size_t k = 0; k < n >> r->shift; k++)
        if (!check_cell(r, &c[k], at + (k << r->shift), how, me)) return false;
    return true;
}

/* rank: of the block whose shared memory it is. */
static hs_region *find_region(uintptr_t at, size_t n, unsigned rank, bool *fine) {
    *fine = true;
    hs_module *m = hs.module;
    const bool own = rank == hs.at_rank;
    if (at - hs.dynamic.at < HS_SHARED_MOST_B) {
        *fine = at - hs.dynamic.at + n <= hs.dynamic_b;
        return own ? &hs.dynamic : &hs.rank[rank].dynamic;
    }
    if (m && at - m->shared.at < m->shared_b) {
        const uint16_t k = m->variable_of[at - m->shared.at];
        *fine = k && at - m->shared.at + n <= m->variable[k - 1].at + m->variable[k - 1].size_b;
        return own ? &m->shared : &hs.rank[rank].shared;
    }
    hs_region *r = hs_region_at(at);
    *fine = r && !r->freed && at >= r->at && at - r->at + n <= r->size_b;
    return r;
}

/* The host's stack (what a launch took by reference) and variables of the program itself. */
extern char **environ;
static bool is_hosts(uintptr_t at) {
    const uintptr_t here = (uintptr_t)hs.arg;
    if (at - here + 4096 < HOST_STACK_B) return true;
    return at - hs.base < hs.module->image_b + (64 << 20) && !hs_region_at(at);
}

bool hs_touch(uintptr_t at, size_t n, unsigned how, uintptr_t pc) {
    if (at - hs.stack < HS_STACK_B) return true;
    const uint32_t site = (uint32_t)(pc - hs.base);
    bool fine;
    unsigned rank;
    at = hs_own_address(at, &rank);
    if (rank != hs.at_rank && !hs_may_reach(rank, how, site)) return false;
    if (++hs.steps > hs.steps_most) {
        hs_say(HS_STUCK, "the kernel does not end: %llu accesses and waits", (unsigned long long)hs.steps);
        say_access(hs.current, hs.interval, how, at, site);
        return false;
    }
    hs_region *r = find_region(at, n, rank, &fine);
    if (fine) return touch_region(r, at, n, how, site);
    if (!r && is_hosts(at)) return true;
    return outside(at, n, how, site);
}

void hs_mark(uintptr_t at, size_t n, hs_access wrote) {
    bool fine;
    hs_region *r = find_region(at, n, hs.at_rank, &fine);
    if (!fine || !fine_cells(r, at - r->at, n)) return;
    for (size_t k = 0; k < n >> r->shift; k++) r->cell[((at - r->at) >> r->shift) + k].wrote = wrote;
}

/* --- what instrumented code calls ------------------------------------------------------------------------------------
 */

static inline void access_by(uintptr_t at, size_t n, unsigned how, void *pc) {
    if (!hs.running || at - hs.stack < HS_STACK_B) return;
    if (!hs_touch(at, n, how, (uintptr_t)pc)) hs_give_up();
}

#define PC __builtin_return_address(0)
/* hone-shim-cc calls them by names of the shim's own, since the process may have a sanitizer's library. */
#define ALIAS(own, name, ...) void own(__VA_ARGS__) __attribute__((alias(#name)));
#define ACCESS(name, n, how)                                                                                           \
    void __##name(void *at);                                                                                           \
    void __##name(void *at) { access_by((uintptr_t)at, n, how, PC); }                                                  \
    ALIAS(hsx_##name, __##name, void *)
#define ACCESSES(n)                                                                                                    \
    ACCESS(tsan_read##n, n, HS_READ)                                                                                   \
    ACCESS(tsan_write##n, n, HS_WRITE)                                                                                 \
    ACCESS(tsan_unaligned_read##n, n, HS_READ)                                                                         \
    ACCESS(tsan_unaligned_write##n, n, HS_WRITE)                                                                       \
    ACCESS(tsan_volatile_read##n, n, HS_READ | HS_ATOMIC)                                                              \
    ACCESS(tsan_volatile_write##n, n, HS_WRITE | HS_ATOMIC)
ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)

void __tsan_read_range(void *at, size_t n);
void __tsan_read_range(void *at, size_t n) { access_by((uintptr_t)at, n, HS_READ, PC); }
ALIAS(hsx_tsan_read_range, __tsan_read_range, void *, size_t)
void __tsan_write_range(void *at, size_t n);
void __tsan_write_range(void *at, size_t n) { access_by((uintptr_t)at, n, HS_WRITE, PC); }
ALIAS(hsx_tsan_write_range, __tsan_write_range, void *, size_t)
void __tsan_init(void);
void __tsan_init(void) {}
ALIAS(hsx_tsan_init, __tsan_init, void)
void __tsan_func_entry(void *pc);
void __tsan_func_entry(void *pc) { (void)pc; }
ALIAS(hsx_tsan_func_entry, __tsan_func_entry, void *)
void __tsan_func_exit(void);
void __tsan_func_exit(void) {}
ALIAS(hsx_tsan_func_exit, __tsan_func_exit, void)
void __tsan_vptr_update(void *at, void *v);
void __tsan_vptr_update(void *at, void *v) { (void)at, (void)v; }
ALIAS(hsx_tsan_vptr_update, __tsan_vptr_update, void *, void *)
void __tsan_vptr_read(void *at);
void __tsan_vptr_read(void *at) { (void)at; }
ALIAS(hsx_tsan_vptr_read, __tsan_vptr_read, void *)

/* Buffers and variables of the program (`__device__`): all blocks see them. */
static bool is_global(uintptr_t at) {
    const hs_module *m = hs.module;
    return at - hs.stack >= HS_STACK_B && at - hs.dynamic.at >= HS_SHARED_MOST_B && at - m->shared.at >= m->shared_b;
}

void shim_atomic(const volatile void *at, int n, const void *site) {
    if (hs.running && !hs_touch((uintptr_t)at, (size_t)n, HS_BOTH | HS_ATOMIC, (uintptr_t)site)) hs_give_up();
    if (hs.running && is_global((uintptr_t)at)) hs_tell((uintptr_t)at);
}

/* An index beyond an array's type, from -fsanitize=bounds. */
struct ubsan_type {
    uint16_t kind, info;
    char name[];
};
struct ubsan_index {
    const char *file;
    uint32_t line, column;
    const struct ubsan_type *array, *index;
};
void __ubsan_handle_out_of_bounds(const struct ubsan_index *data, uintptr_t index);
void __ubsan_handle_out_of_bounds(const struct ubsan_index *data, uintptr_t index) {
    if (!hs.running) return;
    char does[160];
    snprintf(does, sizeof does, "takes index %lld of an array of type %s",
             (data->index->info & 1) ? (long long)(data->index->info < 12 ? (int)index : (long long)index)
                                     : (long long)index,
             data->array->name);
    hs_say(HS_BOUNDS, "out of bounds");
    hs_say_place(hs.current, hs.interval, does, 0, data->file, (int)data->line);
    hs_give_up();
}
ALIAS(hsx_ubsan_handle_out_of_bounds, __ubsan_handle_out_of_bounds, const struct ubsan_index *, uintptr_t)
void __ubsan_handle_out_of_bounds_abort(const struct ubsan_index *data, uintptr_t index);
void __ubsan_handle_out_of_bounds_abort(const struct ubsan_index *data, uintptr_t index) {
    __ubsan_handle_out_of_bounds(data, index);
}
ALIAS(hsx_ubsan_handle_out_of_bounds_abort, __ubsan_handle_out_of_bounds_abort, const struct ubsan_index *, uintptr_t)

/* The compiler calls it in every piece of code that has no jumps (-fsanitize-coverage=trace-pc): loops without memory
 * end, too. */
void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void) {
    if (!hs.running || ++hs.steps <= hs.steps_most) return;
    hs_say(HS_STUCK, "the kernel does not end: %llu steps", (unsigned long long)hs.steps);
    hs_say_place(hs.current, hs.interval, "is", (uint32_t)((uintptr_t)PC - hs.base), NULL, 0);
    hs_give_up();
}
ALIAS(hsx_sanitizer_cov_trace_pc, __sanitizer_cov_trace_pc, void)
