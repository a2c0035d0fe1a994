/* program_spaces.c — a lowered program gets memory spaces: what the kernels of a device touch lies in its memory, and
 * copies stand where another space reads a value.
 *
 * Every value with memory of its own has a home: the host's where the host writes it (inputs, sizes that are stored, a
 * loop's counter, kernels that stay on the host), else the device's. A value that the other space reads, too, has a
 * twin there, written right behind every write of it, so that the twin is written on every path on which it is. A
 * twin of what lies in the arena lies in the same item of the other space's arena; others have a growing buffer.
 * Outputs that no step of the host reads are copied behind the last step: nothing on the device waits for them.
 */
#include "program/program.h"

#include <string.h>

typedef struct placer {
    hn_program *p;
    uint8_t *wanted; /* by root: bits of the spaces that it is read or written in */
    bool *late;      /* by root: made on the device; of the host's steps none reads it, only the run's end does */
    hn_val *twin;    /* by value: of it in the other space, 0: none yet */
    uint32_t n_old, room, n_grown;
    bool inside; /* the copies that belong to a block's begin are there */
} placer;

enum { HOST_BIT = 1, DEVICE_BIT = 2 };

static int32_t space_of(const placer *w, hn_val v) { return w->p->value[hn_program_root(w->p, v)].space; }
static uint8_t bit_of(int32_t space) { return space == HN_HOST ? HOST_BIT : DEVICE_BIT; }

/* Where step s reads (output: writes) a value; -1: wherever it is. */
static int32_t space_for(const placer *w, const hn_step *s, bool output) {
    switch (s->kind) {
    case HN_STEP_LAUNCH: return w->p->kernel[s->kernel].space;
    case HN_STEP_COPY:
    case HN_STEP_SIZE:
    case HN_STEP_CHECK: return -1;
    case HN_STEP_STATE: return HN_DEVICE;
    case HN_STEP_STACK: return output ? -1 : space_of(w, s->out[0]);
    default: return HN_HOST;
    }
}

/* --- homes -----------------------------------------------------------------------------------------------------------
 */

static void find_host_writes(const placer *w, bool *host) {
    for (uint32_t b = 0; b < w->p->n_block; b++)
        for (uint32_t i = 0; i < w->p->block[b].n; i++) {
            const hn_step *s = &w->p->block[b].step[i];
            for (uint32_t k = 0; k < s->n_out; k++)
                if (space_for(w, s, true) == HN_HOST) host[hn_program_root(w->p, s->out[k])] = true;
        }
}

static void set_homes(placer *w) {
    bool *host = hn_alloc_n(&w->p->arena, w->n_old, sizeof *host);
    if (!host) return;
    find_host_writes(w, host);
    for (hn_val v = 1; v < w->n_old; v++) {
        hn_program_value *x = &w->p->value[v];
        bool state = x->where == HN_AT_STATE || x->where == HN_AT_NEXT;
        if (x->where == HN_AT_NOWHERE || x->where == HN_AT_VIEW) continue;
        x->space = !state && (host[v] || x->where == HN_AT_INPUT) ? HN_HOST : HN_DEVICE;
    }
}

static void want(placer *w, hn_val v, int32_t space) {
    if (v && space >= 0) w->wanted[hn_program_root(w->p, v)] |= bit_of(space);
}

static void find_wanted(placer *w) {
    for (uint32_t b = 0; b < w->p->n_block; b++)
        for (uint32_t i = 0; i < w->p->block[b].n; i++) {
            const hn_step *s = &w->p->block[b].step[i];
            for (uint32_t k = 0; k < s->n_in; k++) want(w, s->in[k], space_for(w, s, false));
        }
    for (uint32_t j = 0; j < w->p->n_output; j++) {
        hn_val root = hn_program_root(w->p, w->p->output[j].value);
        w->late[root] = w->p->value[root].space != HN_HOST && !(w->wanted[root] & HOST_BIT);
    }
    for (uint32_t j = 0; j < w->p->n_output; j++) want(w, w->p->output[j].value, HN_HOST);
}

/* --- twins -----------------------------------------------------------------------------------------------------------
 */

static hn_val new_value(placer *w, const hn_program_value *like) {
    hn_program *p = w->p;
    if (p->n_value == w->room) {
        uint32_t room = 2 * w->room + 16;
        hn_program_value *more = hn_alloc_n(&p->arena, room, sizeof *more);
        hn_val *twin = hn_alloc_n(&p->arena, room, sizeof *twin);
        if (!more || !twin) return 0;
        memcpy(more, p->value, p->n_value * sizeof *more);
        memcpy(twin, w->twin, p->n_value * sizeof *twin);
        p->value = more, w->twin = twin, w->room = room;
    }
    p->value[p->n_value] = *like;
    return p->n_value++;
}

static hn_val twin_of_root(placer *w, hn_val v) {
    hn_program_value x = w->p->value[v];
    x.space = x.space == HN_HOST ? HN_DEVICE : HN_HOST;
    if (x.where == HN_AT_INPUT || x.where == HN_AT_STATE || x.where == HN_AT_NEXT) x.where = HN_AT_GROWN, x.name = NULL;
    if (x.where == HN_AT_GROWN) x.index = (int32_t)w->n_grown++;
    if (x.space == HN_DEVICE)
        x.output = -1;
    else
        w->p->value[v].output = -1; /* the caller's buffer is the twin's */
    return new_value(w, &x);
}

/* Value v as space `space` sees it. */
static hn_val in_space(placer *w, hn_val v, int32_t space) {
    if (!v || space < 0 || space_of(w, v) == space) return v;
    if (w->twin[v]) return w->twin[v];
    hn_val root = hn_program_root(w->p, v), made;
    if (root == v) {
        made = twin_of_root(w, v);
    } else {
        hn_program_value x = w->p->value[v];
        x.base = in_space(w, root, space);
        x.space = space;
        made = new_value(w, &x);
    }
    w->twin[v] = made;
    return made;
}

static void use_twins(placer *w) {
    for (hn_val v = 1; v < w->n_old; v++)
        if (w->p->value[v].where == HN_AT_VIEW) w->p->value[v].space = space_of(w, v);
    for (uint32_t b = 0; b < w->p->n_block; b++)
        for (uint32_t i = 0; i < w->p->block[b].n; i++) {
            hn_step *s = &w->p->block[b].step[i];
            for (uint32_t k = 0; k < s->n_in; k++) s->in[k] = in_space(w, s->in[k], space_for(w, s, false));
        }
    for (uint32_t j = 0; j < w->p->n_output; j++) w->p->output[j].value = in_space(w, w->p->output[j].value, HN_HOST);
}

/* --- copies ----------------------------------------------------------------------------------------------------------
 */

static void put_copy(placer *w, uint32_t block, hn_val root) {
    hn_val twin = root < w->n_old ? w->twin[root] : 0;
    if (!twin || w->p->value[root].where == HN_AT_WEIGHTS) return;
    hn_step *s = hn_program_add(w->p, block, HN_STEP_COPY);
    if (hn_step_lists(w->p, s, 1, 1, 0, 0)) s->in[0] = root, s->out[0] = twin;
}

/* Behind a write in the main block; false: later. */
static bool copies_late(const placer *w, uint32_t block, hn_val root) {
    hn_memory where = w->p->value[root].where;
    return block == HN_STEPS_BLOCK && root < w->n_old && w->late[root] &&
           (where == HN_AT_ARENA || where == HN_AT_GROWN);
}

static void put_late(placer *w, const hn_step_block *old) {
    for (uint32_t i = 0; i < old->n; i++)
        for (uint32_t k = 0; k < old->step[i].n_out; k++) {
            hn_val root = hn_program_root(w->p, old->step[i].out[k]);
            bool later = old->step[i].kind != HN_STEP_LOOP && old->step[i].kind != HN_STEP_STACK;
            if (!later || !copies_late(w, HN_STEPS_BLOCK, root)) continue;
            put_copy(w, HN_STEPS_BLOCK, root);
            w->late[root] = false; /* once, if it is written twice */
        }
}

static void put_back(placer *w, uint32_t block, const hn_step *s) {
    hn_step *x = hn_program_add(w->p, block, s->kind);
    if (x) *x = *s;
}

/* Steps of a block again, with a copy behind each write of a value that has a twin. What a loop hands to its block, and
 * what was there before the steps began, is copied where the block begins. */
static void copy_in_block(placer *w, uint32_t block, const hn_step *loop) {
    const hn_step_block old = w->p->block[block];
    w->p->block[block] = (hn_step_block){0};
    for (hn_val v = 1; block == HN_STEPS_BLOCK && v < w->n_old; v++) {
        hn_memory where = w->p->value[v].where;
        bool is_old = false;
        for (uint32_t k = 0; k < w->p->n_state; k++) is_old = is_old || w->p->state[k].old == v;
        if (where == HN_AT_INPUT || is_old) put_copy(w, block, v);
    }
    for (uint32_t k = 0; loop && k < loop->n_out; k++) put_copy(w, block, hn_program_root(w->p, loop->out[k]));
    for (uint32_t i = 0; i < old.n; i++) {
        const hn_step s = old.step[i];
        if (s.kind == HN_STEP_IF) copy_in_block(w, s.block[0], NULL), copy_in_block(w, s.block[1], NULL);
        if (s.kind == HN_STEP_LOOP) copy_in_block(w, s.block[0], &s);
        put_back(w, block, &s);
        for (uint32_t k = 0; k < s.n_out && s.kind != HN_STEP_LOOP && s.kind != HN_STEP_STACK; k++) {
            hn_val root = hn_program_root(w->p, s.out[k]);
            if (!copies_late(w, block, root)) put_copy(w, block, root);
        }
        if (s.kind != HN_STEP_LOOP) continue;
        const hn_step_block *b = &w->p->block[s.block[0]]; /* what is stacked is whole behind the loop */
        for (uint32_t k = 0; k < b->n; k++)
            if (b->step[k].kind == HN_STEP_STACK) put_copy(w, block, hn_program_root(w->p, b->step[k].out[0]));
    }
    if (block == HN_STEPS_BLOCK) put_late(w, &old);
}

bool hn_program_on_device(const hn_program *p) {
    for (uint32_t i = 0; i < p->n_kernel; i++)
        if (p->kernel[i].space != HN_HOST) return true;
    return false;
}

static uint32_t crossings_of(const hn_program *p, uint32_t block, const hn_step **list, uint32_t room, uint32_t n) {
    for (uint32_t i = 0; i < p->block[block].n; i++) {
        const hn_step *s = &p->block[block].step[i];
        uint32_t inside = s->kind == HN_STEP_IF ? 2 : s->kind == HN_STEP_LOOP ? 1 : 0;
        for (uint32_t k = 0; k < inside; k++) n = crossings_of(p, s->block[k], list, room, n);
        if (s->kind != HN_STEP_COPY ||
            p->value[hn_program_root(p, s->in[0])].space == p->value[hn_program_root(p, s->out[0])].space)
            continue;
        if (list && n < room) list[n] = s;
        n++;
    }
    return n;
}

uint32_t hn_program_crossings(const hn_program *p, const hn_step **list, uint32_t room) {
    return crossings_of(p, HN_STEPS_BLOCK, list, room, 0);
}

uint32_t hn_program_grown(const hn_program *p) {
    uint32_t n = 0;
    for (hn_val v = 1; v < p->n_value; v++)
        if (p->value[v].where == HN_AT_GROWN && (uint32_t)p->value[v].index >= n) n = (uint32_t)p->value[v].index + 1;
    return n;
}

hone_rc hn_program_place(hn_program *p, hone_err *err) {
    placer w = {.p = p, .n_old = p->n_value, .room = p->n_value, .n_grown = hn_program_grown(p)};
    if (!hn_program_on_device(p)) return HONE_OK;
    w.wanted = hn_alloc_n(&p->arena, w.n_old, sizeof *w.wanted);
    w.late = hn_alloc_n(&p->arena, w.n_old, sizeof *w.late);
    w.twin = hn_alloc_n(&p->arena, w.n_old, sizeof *w.twin);
    if (w.wanted && w.late && w.twin) {
        set_homes(&w);
        find_wanted(&w);
        for (hn_val v = 1; v < w.n_old; v++) /* constants that the host alone reads stay there */
            if (p->value[v].where == HN_AT_WEIGHTS && w.wanted[v] == HOST_BIT) p->value[v].space = HN_HOST;
        use_twins(&w);
        copy_in_block(&w, HN_STEPS_BLOCK, NULL);
    }
    return hn_arena_ok(&p->arena) ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory for the program");
}
