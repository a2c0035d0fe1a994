/* state.h — the state of an instance: reset, forked, saved, loaded. Text carried into artifacts, behind instance.h or
 * entry.h, which define hnm_common_of and hnm_create_again, and behind the tables: hnm_state_port, HNM_STATES,
 * HNM_STATE_DIGEST.
 *
 * What is saved: hnm_saved, then for each state its dimensions and its bytes, in the byte order of the machine.
 */
#ifndef HNM_STATE_H
#define HNM_STATE_H

static const hone_model_port hnm_state_port[HNM_STATES + 1];
static const int32_t hnm_state_element_b[HNM_STATES + 1];

#define HNM_STATE_MAGIC "HONE-STATE-1"
typedef struct hnm_saved {
    char magic[16], digest[32], name[64];
    int64_t n_states, fresh, size_b;
} hnm_saved;

__attribute__((format(printf, 3, 4))) static hone_model_rc hnm_state_fail(hone_model_instance *m, hone_model_rc rc,
                                                                          const char *fmt, ...) {
    char text[200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return hnm_say(m, rc, text);
}

/* Of the bytes that a state's dimensions stand for; INT64_MAX: more than there can be. */
static int64_t hnm_state_bytes(int32_t i, const int64_t *dim) {
    int64_t n = hnm_state_element_b[i];
    for (int32_t d = 0; d < hnm_state_port[i].rank; d++)
        if (dim[d] < 0 || (dim[d] && n > ((int64_t)1 << 46) / dim[d]))
            return INT64_MAX;
        else
            n *= dim[d];
    return n;
}

static hone_model_rc hnm_reset(hone_model_instance *m) {
    if (!m) return HONE_MODEL_ARGUMENT;
    hnm_common *c = hnm_common_of(m);
    for (int32_t i = 0; i < HNM_STATES; i++)
        for (int32_t d = 0; d < HONE_MODEL_RANK; d++)
            c->state[i].made = 0, c->state[i].dim[d] = d < hnm_state_port[i].rank ? hnm_state_port[i].low[d] : 0;
    c->fresh = 1, c->lost = 0;
    return HONE_MODEL_OK;
}

/* Room for n bytes; what was in it goes. */
static hone_model_rc hnm_state_make(hnm_common *c, hnm_state *s, int64_t n) {
    if (n <= s->b.size_b && s->b.data) return HONE_MODEL_OK;
    char *p = c->memory->make(c, n);
    if (!p) return HONE_MODEL_NOMEM;
    c->memory->drop(c, s->b.data);
    s->b = (hnm_buffer){p, n};
    return HONE_MODEL_OK;
}

static hone_model_rc hnm_fork(hone_model_instance *m, hone_model_instance **out) {
    hone_model_instance *n = NULL;
    if (!m || !out) return hnm_create_fail(HONE_MODEL_ARGUMENT, "no instance, or no place for the other one");
    hnm_common *c = hnm_common_of(m), *o;
    hone_model_rc rc = hnm_create_again(m, &c->config, &n);
    if (rc) return rc;
    o = hnm_common_of(n);
    o->fresh = c->fresh, o->lost = c->lost;
    for (int32_t i = 0; !rc && i < HNM_STATES; i++) {
        int64_t size_b = c->fresh ? 0 : hnm_state_bytes(i, c->state[i].dim);
        memcpy(o->state[i].dim, c->state[i].dim, sizeof o->state[i].dim);
        if (!(rc = hnm_state_make(o, &o->state[i], size_b)) && size_b &&
            c->memory->copy(c, o->state[i].b.data, c->state[i].b.data, size_b, HNM_WITHIN))
            rc = HONE_MODEL_DEVICE;
    }
    if (rc) {
        hnm_free(n);
        return hnm_create_fail(rc, rc == HONE_MODEL_NOMEM ? "out of memory for the state"
                                                          : "the device does not copy the state");
    }
    *out = n;
    return HONE_MODEL_OK;
}

static void hnm_saved_head(const hnm_common *c, hnm_saved *h) {
    memset(h, 0, sizeof *h);
    memcpy(h->magic, HNM_STATE_MAGIC, sizeof HNM_STATE_MAGIC);
    memcpy(h->digest, HNM_STATE_DIGEST, sizeof h->digest);
    snprintf(h->name, sizeof h->name, "%s", HNM_STATE_MODEL);
    h->n_states = HNM_STATES, h->fresh = c->fresh, h->size_b = (int64_t)sizeof *h;
    for (int32_t i = 0; i < HNM_STATES; i++)
        h->size_b += (int64_t)sizeof c->state[i].dim + (c->fresh ? 0 : hnm_state_bytes(i, c->state[i].dim));
}

static hone_model_rc hnm_save(hone_model_instance *m, void *to, size_t *size_b) {
    hnm_saved h;
    char *at = (char *)to;
    if (!m || !size_b) return HONE_MODEL_ARGUMENT;
    hnm_common *c = hnm_common_of(m);
    if (c->lost) return hnm_state_fail(m, HONE_MODEL_STATE, "the state was lost in a run that failed: reset it");
    hnm_saved_head(c, &h);
    size_t room = *size_b;
    *size_b = (size_t)h.size_b;
    if (!to || room < *size_b)
        return hnm_state_fail(m, HONE_MODEL_SMALL, "the state needs %lld bytes", (long long)h.size_b);
    memcpy(at, &h, sizeof h), at += sizeof h;
    for (int32_t i = 0; i < HNM_STATES; i++) {
        int64_t n = c->fresh ? 0 : hnm_state_bytes(i, c->state[i].dim);
        memcpy(at, c->state[i].dim, sizeof c->state[i].dim), at += sizeof c->state[i].dim;
        if (n && c->memory->copy(c, at, c->state[i].b.data, n, HNM_TO_HOST))
            return hnm_state_fail(m, HONE_MODEL_DEVICE, "the device does not give the state back");
        at += n;
    }
    return HONE_MODEL_OK;
}

/* Does every state fit where the head says that all end? */
static int hnm_saved_is_whole(const hnm_saved *h, const char *at, size_t size_b) {
    size_t used = sizeof *h;
    for (int32_t i = 0; i < HNM_STATES; i++) {
        int64_t dim[HONE_MODEL_RANK], n;
        if (size_b - used < sizeof dim) return 0;
        memcpy(dim, at + used, sizeof dim);
        used += sizeof dim;
        for (int32_t d = 0; d < hnm_state_port[i].rank; d++)
            if (dim[d] < hnm_state_port[i].low[d] || dim[d] > hnm_state_port[i].high[d]) return 0;
        n = h->fresh ? 0 : hnm_state_bytes(i, dim);
        if (n == INT64_MAX || (uint64_t)n > size_b - used) return 0;
        used += (size_t)n;
    }
    return used == size_b;
}

static hone_model_rc hnm_load(hone_model_instance *m, const void *from, size_t size_b) {
    hnm_saved h, own;
    const char *at = (const char *)from;
    if (!m || !from) return HONE_MODEL_ARGUMENT;
    hnm_common *c = hnm_common_of(m);
    hnm_saved_head(c, &own);
    if (size_b < sizeof h || (memcpy(&h, from, sizeof h), memcmp(h.magic, own.magic, sizeof h.magic)))
        return hnm_state_fail(m, HONE_MODEL_STATE, "this is no saved state");
    if (memcmp(h.digest, own.digest, sizeof h.digest) || h.n_states != HNM_STATES)
        return hnm_state_fail(m, HONE_MODEL_STATE, "this is the state of another model, '%.60s'", h.name);
    if (h.size_b != (int64_t)size_b || !hnm_saved_is_whole(&h, at, size_b))
        return hnm_state_fail(m, HONE_MODEL_STATE, "the saved state is damaged: its sizes do not add up");
    at += sizeof h;
    for (int32_t i = 0; i < HNM_STATES; i++) {
        int64_t dim[HONE_MODEL_RANK], n;
        memcpy(dim, at, sizeof dim), at += sizeof dim;
        n = h.fresh ? 0 : hnm_state_bytes(i, dim);
        if (hnm_state_make(c, &c->state[i], n) || (n && c->memory->copy(c, c->state[i].b.data, at, n, HNM_FROM_HOST))) {
            c->lost = 1;
            return hnm_state_fail(m, HONE_MODEL_NOMEM, "out of memory for the state");
        }
        memcpy(c->state[i].dim, dim, sizeof dim), at += n;
    }
    c->fresh = h.fresh != 0, c->lost = 0;
    return HONE_MODEL_OK;
}

static hone_model_rc hnm_resize(hone_model_instance *m, int32_t i, int64_t n) {
    if (!m || i < 0 || i >= HNM_STATES) return HONE_MODEL_ARGUMENT;
    const hone_model_port *p = &hnm_state_port[i];
    if (!p->rank || n < p->low[0] || n > p->high[0])
        return hnm_state_fail(m, HONE_MODEL_SHAPE, "state '%.80s' cannot have %lld rows", p->name, (long long)n);
    hnm_common *c = hnm_common_of(m);
    hnm_state *s = &c->state[i];
    int64_t now = s->dim[0], size_b, old_b = hnm_state_bytes(i, s->dim);
    s->dim[0] = n;
    if ((size_b = hnm_state_bytes(i, s->dim)) > s->b.size_b || !s->b.data) {
        char *at = size_b < INT64_MAX ? c->memory->make(c, size_b) : NULL;
        if (!at) {
            s->dim[0] = now;
            return hnm_state_fail(m, HONE_MODEL_NOMEM, "out of memory for the state");
        }
        if (s->b.data && (!c->fresh || s->made))
            c->memory->copy(c, at, s->b.data, old_b < s->b.size_b ? old_b : s->b.size_b, HNM_WITHIN);
        c->memory->drop(c, s->b.data);
        s->b = (hnm_buffer){at, size_b};
    }
    s->made = 1;
    return HONE_MODEL_OK;
}

static hone_model_rc hnm_peek(hone_model_instance *m, int32_t i, hone_model_tensor *out) {
    if (!m || !out || i < 0 || i >= HNM_STATES) return HONE_MODEL_ARGUMENT;
    const hnm_state *s = &hnm_common_of(m)->state[i];
    memset(out, 0, sizeof *out);
    out->space = hnm_common_of(m)->memory->space;
    out->data = s->b.data, out->size_b = (size_t)hnm_state_bytes(i, s->dim);
    out->dtype = hnm_state_port[i].dtype, out->rank = hnm_state_port[i].rank;
    memcpy(out->dim, s->dim, sizeof out->dim);
    return HONE_MODEL_OK;
}

#endif
