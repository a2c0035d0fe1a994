/* nest/interp_memory.c — buffers of a nest that runs: bounds, what is defined, which threads meet where. */
#include "nest/interp_int.h"

#include <stdio.h>

/* The thread of a lane, counted through the blocks of its cluster; *several: the statement stands outside of group
 * loops, so that all threads further in do it. */
int32_t hn_run_thread(const hn_run_state *s, int64_t lane, bool *several) {
    int64_t thread = 0, rest = s->block / s->threads;
    *several = rest > 1;
    for (int d = 0; d < s->depth; d++) {
        const hn_run_loop *l = &s->loop[d];
        if (l->kind != HN_GROUP && l->kind != HN_ROLE && l->kind != HN_CLUSTER) continue;
        thread = thread * l->extent + lane / (hn_run_lanes(s) / l->lanes) % l->extent;
    }
    return (int32_t)(s->base + thread * rest);
}

static const char *buffer_text(const hn_run_state *s, hn_buf b, char text[24]) {
    static const char letter[] = {
        [HN_PARAM] = 'p', [HN_RESULT] = 'r', [HN_LOCAL] = 't', [HN_REG] = 'a', [HN_WORDS] = 'w', [HN_SHARED] = 's'};
    text[0] = letter[s->n->buf[b].space];
    text[1] = 0;
    if (s->n->buf[b].space != HN_REG) snprintf(text + 1, 22, "%u", s->n->buf[b].index);
    return text;
}

hone_rc hn_run_declare(hn_run_state *s, hn_buf b) {
    hn_run_memory *m = &s->mem[b];
    int64_t lanes = hn_run_lanes(s), size = 0;
    hn_dim_eval(s->n->dims, s->n->buf[b].size, s->run->symbol, &size);
    if (m->lanes != lanes) {
        int64_t all = lanes * size;
        if (!hn_tensor_new(&s->a, s->n->buf[b].dtype, 1, &all, &m->data) ||
            !(m->set = HN_NEW_N(&s->a, uint8_t, (size_t)all + 1)))
            return hn_fail(s->err, HONE_E_NOMEM, "out of memory in running a loop nest");
        m->lanes = lanes;
        m->size = size;
    }
    for (int64_t l = 0; l < lanes; l++)
        if (hn_run_takes_part(s, l)) memset(m->set + l * size, 0, (size_t)size);
    return HONE_OK;
}

/* Element `at` of a register as the lane sees it; -1: outside. */
static int64_t register_place(const hn_run_state *s, hn_buf b, int64_t at, int64_t lane) {
    const hn_run_memory *m = &s->mem[b];
    if (at < 0 || at >= m->size) return -1;
    return lane / (hn_run_lanes(s) / m->lanes) * m->size + at;
}

static hone_rc outside(hn_run_state *s, hn_buf b, int64_t at) {
    char text[24];
    return hn_run_wrong(s, "is at element %lld of %s, which has %lld", (long long)at, buffer_text(s, b, text),
                        (long long)s->mem[b].size);
}

/* Of its cluster. */
static int64_t block_of(const hn_run_state *s, int32_t thread) {
    return s->cluster > 1 ? thread / (s->block / s->cluster) : 0;
}
/* The element of the block's own memory, among those of all blocks. */
static int64_t own(const hn_run_state *s, hn_buf b, int64_t at, int32_t thread) {
    return s->n->buf[b].space == HN_SHARED ? block_of(s, thread) * s->mem[b].size + at : at;
}

static hone_rc race(hn_run_state *s, hn_buf b, int64_t at, int32_t one, int32_t other, const char *what) {
    char text[24];
    int64_t each = s->cluster > 1 ? s->block / s->cluster : INT32_MAX;
    const char *barrier = block_of(s, one) == block_of(s, other) ? "barrier" : "barrier of the cluster";
    if (s->n->buf[b].space == HN_SHARED) at %= s->mem[b].size;
    return hn_run_wrong(s, "of thread %d at %s[%lld], which thread %d %s with no %s between", (int)(one % each),
                        buffer_text(s, b, text), (long long)at, (int)(other % each), what, barrier);
}

/* Did that thread do that, at that moment, with no barrier between it and what this one does now? */
static bool is_beside(const hn_run_state *s, int64_t moment, int32_t other, int32_t thread) {
    if (other == thread || !moment) return false;
    return block_of(s, other) == block_of(s, thread) ? moment == s->moment : moment >= s->met;
}

static hone_rc unordered(hn_run_state *s, hn_buf b, int64_t at, const char *what) {
    char text[24];
    return hn_run_wrong(s, "is at %s[%lld], which another role %s with no gate between", buffer_text(s, b, text),
                        (long long)at, what);
}

/* Another role's last write does not come before what this one does now. */
static bool is_written_beside(const hn_run_state *s, const hn_shadow *x) {
    return s->role && x->by && x->by != s->role && x->item == s->item && !hn_run_may_see(s, x->by, x->wrote);
}

static bool is_read_beside(const hn_run_state *s, const hn_shadow *x) {
    for (int r = 1; s->role && r <= HN_RUN_ROLES; r++)
        if (r != s->role && x->saw[r - 1] && !hn_run_may_see(s, r, x->saw[r - 1])) return true;
    return false;
}

hone_rc hn_run_read(hn_run_state *s, hn_buf b, int64_t at, int64_t lane, void *out) {
    hn_run_memory *m = &s->mem[b];
    char text[24];
    size_t size_b = hn_dtype_of(s->n->buf[b].dtype)->size_b;
    if (s->n->buf[b].space == HN_REG) {
        int64_t i = register_place(s, b, at, lane);
        if (i < 0) return outside(s, b, at);
        if (!m->set[i]) return hn_run_wrong(s, "reads a register that nothing has written");
        memcpy(out, (const char *)m->data.data + (size_t)i * size_b, size_b);
        return HONE_OK;
    }
    bool several;
    int32_t thread = hn_run_thread(s, lane, &several);
    if (at < 0 || at >= m->size) return outside(s, b, at);
    int64_t place = own(s, b, at, thread);
    memcpy(out, (const char *)m->data.data + (size_t)place * size_b, size_b);
    if (!m->shadow) return HONE_OK;
    hn_shadow *x = &m->shadow[place];
    if (x->copy)
        return hn_run_wrong(s, "reads %s[%lld], a copy that was not waited for", buffer_text(s, b, text),
                            (long long)at);
    if (!x->written || (x->item && x->item != s->item))
        return hn_run_wrong(s, "reads %s[%lld], which nothing has written", buffer_text(s, b, text), (long long)at);
    if (is_written_beside(s, x)) return unordered(s, b, at, "has written");
    if (x->by == s->role && x->item == s->item &&
        (is_beside(s, x->written, x->writer, thread) || (several && x->written == s->moment)))
        return race(s, b, at, thread, x->writer, "has just written");
    if (several || (x->read == s->moment && x->reader != thread))
        x->reader = HN_RUN_MANY;
    else
        x->reader = thread;
    x->read = s->moment;
    x->to = (uint8_t)s->role;
    if (s->role) x->saw[s->role - 1] = hn_run_clock(s);
    return HONE_OK;
}

/* May the thread write here now? Also of copies, whose value comes later. */
static hone_rc may_write(hn_run_state *s, hn_buf b, int64_t at, int32_t thread, bool same) {
    hn_shadow *x = &s->mem[b].shadow[at];
    char text[24];
    bool result = s->n->buf[b].space == HN_RESULT;
    if (x->copy)
        return hn_run_wrong(s, "writes %s[%lld], where a copy is under way", buffer_text(s, b, text), (long long)at);
    if (result && x->written && x->item != s->item && !same)
        return hn_run_wrong(s, "writes %s[%lld], which another work item has written otherwise",
                            buffer_text(s, b, text), (long long)at);
    if (is_written_beside(s, x)) return unordered(s, b, at, "has written");
    if (is_read_beside(s, x)) return unordered(s, b, at, "has read");
    if (x->by == s->role && x->item == s->item && is_beside(s, x->written, x->writer, thread) && !same)
        return race(s, b, at, thread, x->writer, "has just written");
    int64_t each = s->block / s->cluster; /* a block's memory is read by its own threads alone */
    int32_t reader = x->reader;
    if (reader == HN_RUN_MANY) {
        reader = s->n->buf[b].space == HN_SHARED ? (int32_t)(at / s->mem[b].size * each) : 0;
        if (reader == thread) reader++;
    }
    if (x->to == s->role && is_beside(s, x->read, reader, thread) && !result)
        return race(s, b, at, thread, reader, "has just read");
    return HONE_OK;
}

static void mark_written(hn_run_state *s, hn_buf b, int64_t at, int32_t thread) {
    hn_shadow *x = &s->mem[b].shadow[at];
    x->written = s->moment;
    x->writer = thread;
    x->item = s->item;
    x->by = (uint8_t)s->role;
    x->wrote = s->role ? hn_run_clock(s) : 0;
}

hone_rc hn_run_write(hn_run_state *s, hn_buf b, int64_t at, int64_t lane, const void *from) {
    hn_run_memory *m = &s->mem[b];
    size_t size_b = hn_dtype_of(s->n->buf[b].dtype)->size_b;
    if (s->n->buf[b].space == HN_REG) {
        int64_t i = register_place(s, b, at, lane);
        if (i < 0) return outside(s, b, at);
        memcpy((char *)m->data.data + (size_t)i * size_b, from, size_b);
        m->set[i] = 1;
        return HONE_OK;
    }
    if (at < 0 || at >= m->size) return outside(s, b, at);
    bool several;
    int32_t thread = hn_run_thread(s, lane, &several);
    at = own(s, b, at, thread);
    char *to = (char *)m->data.data + (size_t)at * size_b;
    hone_rc rc = may_write(s, b, at, thread, m->shadow[at].written && !memcmp(to, from, size_b));
    if (rc) return rc;
    memcpy(to, from, size_b);
    mark_written(s, b, at, thread);
    return HONE_OK;
}

/* -- copies */
static hone_rc copy_lane(hn_run_state *s, const hn_stmt *x, int64_t lane) {
    int64_t to, from;
    bool holds, several;
    size_t size_b = hn_dtype_of(s->n->buf[x->buf].dtype)->size_b;
    hn_run_memory *m = &s->mem[x->buf];
    int32_t thread = hn_run_thread(s, lane, &several);
    hone_rc rc = hn_run_holds(s, x->n_guard, x->guard, lane, &holds);
    if (!rc) rc = hn_run_index(s, x->at, lane, &to);
    if (!rc && holds) rc = hn_run_index(s, x->from_at[0], lane, &from);
    if (!rc && ((to < 0 || to + x->count > m->size))) rc = outside(s, x->buf, to);
    if (!rc && holds && (from < 0 || from + x->count > s->mem[x->from[0]].size)) rc = outside(s, x->from[0], from);
    if (!rc && (to * (int64_t)size_b % (x->count * (int64_t)size_b) ||
                (holds && from * (int64_t)size_b % (x->count * (int64_t)size_b))))
        rc = hn_run_wrong(s, "is at an element that is no multiple of its length");
    if (!rc && !hn_nest_grow(&s->a, (void **)&s->way, s->n_way, &s->room_way, sizeof *s->way))
        rc = hn_fail(s->err, HONE_E_NOMEM, "out of memory in running a loop nest");
    if (!rc) to = own(s, x->buf, to, thread);
    for (int64_t k = 0; k < x->count && !rc; k++) {
        if ((rc = may_write(s, x->buf, to + k, thread, false))) break;
        char *at = (char *)m->data.data + (size_t)(to + k) * size_b;
        memset(at, 0, size_b);
        if (holds) memcpy(at, (const char *)s->mem[x->from[0]].data.data + (size_t)(from + k) * size_b, size_b);
        m->shadow[to + k].copy = 1;
    }
    if (!rc)
        s->way[s->n_way++] =
            (hn_copy_way){.to = x->buf, .at = to, .count = x->count, .thread = thread, .role = s->role};
    return rc;
}

/* Has the same thread made this copy for a lane before? One that does not depend on lanes is made once. */
static bool is_again(const hn_run_state *s, const hn_stmt *x, int64_t lane) {
    for (int d = 0; d < s->depth; d++) {
        const hn_run_loop *l = &s->loop[d];
        if ((l->kind != HN_UNROLL && l->kind != HN_VECTOR) || lane / (hn_run_lanes(s) / l->lanes) % l->extent == 0)
            continue;
        if (!hn_ix_depends(s->n, x->at, l->var)) return true;
    }
    return false;
}

static hone_rc each_lane(hn_run_state *s, const hn_stmt *x,
                         hone_rc (*lane)(hn_run_state *s, const hn_stmt *x, int64_t l)) {
    hone_rc rc = HONE_OK;
    for (int64_t l = 0, n = hn_run_lanes(s); l < n && !rc; l++)
        if (hn_run_takes_part(s, l) && !is_again(s, x, l)) rc = lane(s, x, l);
    return rc;
}

hone_rc hn_run_copy(hn_run_state *s, const hn_stmt *x) { return each_lane(s, x, copy_lane); }

/* -- pushes */
/* One element, from the thread's block to another one. */
static hone_rc push_element(hn_run_state *s, hn_buf b, int64_t at, int32_t thread, int64_t block, const void *value) {
    hn_run_memory *m = &s->mem[b];
    size_t size_b = hn_dtype_of(s->n->buf[b].dtype)->size_b;
    int64_t to = block * m->size + at;
    hone_rc rc = may_write(s, b, to, thread, false);
    if (rc) return rc;
    memcpy((char *)m->data.data + (size_t)to * size_b, value, size_b);
    mark_written(s, b, to, thread);
    return HONE_OK;
}

static hone_rc push_lane(hn_run_state *s, const hn_stmt *x, int64_t lane) {
    int64_t at, size_b = (int64_t)hn_dtype_of(s->n->buf[x->buf].dtype)->size_b;
    bool several;
    uint8_t value[16];
    int32_t thread = hn_run_thread(s, lane, &several);
    hone_rc rc = hn_run_index(s, x->at, lane, &at);
    if (!rc && (at < 0 || at + x->count > s->mem[x->buf].size)) rc = outside(s, x->buf, at);
    if (!rc && at % x->count) rc = hn_run_wrong(s, "is at an element that is no multiple of its length");
    for (int64_t k = 0; k < x->count && !rc; k++) {
        rc = hn_run_read(s, x->buf, at + k, lane, value + k * size_b);
        for (int64_t c = 0; c < s->cluster && !rc; c++)
            if (c != block_of(s, thread)) rc = push_element(s, x->buf, at + k, thread, c, value + k * size_b);
    }
    return rc;
}

hone_rc hn_run_push(hn_run_state *s, const hn_stmt *x) { return each_lane(s, x, push_lane); }

/* Threads commit and wait in lockstep: groups of all of them have one number. */
void hn_run_commit(hn_run_state *s) {
    s->n_group++;
    for (uint32_t k = 0; k < s->n_way; k++)
        if (!s->way[k].group && s->way[k].role == s->role) s->way[k].group = s->n_group;
}

void hn_run_wait(hn_run_state *s, int64_t most) {
    uint32_t kept = 0;
    for (uint32_t k = 0; k < s->n_way; k++) {
        const hn_copy_way w = s->way[k];
        if (!w.group || w.group > s->n_group - most || w.role != s->role || w.gate) {
            s->way[kept++] = w;
            continue;
        }
        for (int64_t i = 0; i < w.count; i++) {
            s->mem[w.to].shadow[w.at + i].copy = 0;
            mark_written(s, w.to, w.at + i, w.thread);
        }
    }
    s->n_way = kept;
}

void hn_run_land(hn_run_state *s, int64_t slot) {
    uint32_t kept = 0;
    for (uint32_t k = 0; k < s->n_way; k++) {
        const hn_copy_way w = s->way[k];
        if (w.gate != slot) {
            s->way[kept++] = w;
            continue;
        }
        for (int64_t i = 0; i < w.count; i++) {
            hn_shadow *x = &s->mem[w.to].shadow[w.at + i];
            x->copy = 0;
            mark_written(s, w.to, w.at + i, w.thread);
            x->by = (uint8_t)w.role;
            x->wrote = w.clock;
        }
    }
    s->n_way = kept;
}
