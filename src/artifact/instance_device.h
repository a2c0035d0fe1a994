/* instance_device.h — an instance whose kernels run on a device. Text carried into artifacts, behind rt/device.h and
 * instance.h, where HNM_DEVICE is 1.
 *
 * Slots of values in the device's memory hold addresses there, which only the functions here follow. There are two
 * arenas of one plan: an item that both spaces see has two copies, at the same place. The stream stands in front of
 * the error slot, m->s[-2], where the kernels' functions find it (hnm_stream_of). Weights are on the device once for
 * all instances of a session. What stands behind this text: hnm_driver.
 */
#ifndef HNM_INSTANCE_DEVICE_H
#define HNM_INSTANCE_DEVICE_H

static hnd_sessions hnm_sessions = {.lock = PTHREAD_MUTEX_INITIALIZER};
static const hnd_driver *hnm_driver(void); /* of the model's target */

HNR hnd_stream *hnm_stream_of(const int64_t *s) { return (hnd_stream *)(uintptr_t)s[-2]; }
HNR hnd_at hnm_at(const void *p) { return (hnd_at)(uintptr_t)p; }

static hone_model_rc hnm_device_rc(int rc) {
    return rc == HND_OK          ? HONE_MODEL_OK
           : rc == HND_NO_DRIVER ? HONE_MODEL_TARGET
           : rc == HND_NOMEM     ? HONE_MODEL_NOMEM
                                 : HONE_MODEL_DEVICE;
}

/* The stream's failure becomes the instance's; the stream is ready again. */
static hone_model_rc hnm_device_check(hone_model_instance *m) {
    hnd_err *e = &m->c->stream->err;
    if (!e->rc) return HONE_MODEL_OK;
    hone_model_rc rc = hnm_fail(m, hnm_device_rc(e->rc), "%.250s", e->text);
    *e = (hnd_err){0, ""};
    return rc;
}

/* --- copies ------------------------------------------------------------------------------------------------------- */

HNR hone_model_rc hnm_put(hone_model_instance *m, void *to, const void *from, int64_t size_b) {
    return hnd_put(m->c->stream, hnm_at(to), from, size_b) ? hnm_device_check(m) : HONE_MODEL_OK;
}
HNR hone_model_rc hnm_get(hone_model_instance *m, void *to, const void *from, int64_t size_b) {
    return hnd_get(m->c->stream, to, hnm_at(from), size_b) ? hnm_device_check(m) : HONE_MODEL_OK;
}
HNR hone_model_rc hnm_move(hone_model_instance *m, void *to, const void *from, int64_t size_b) {
    return hnd_move(m->c->stream, hnm_at(to), hnm_at(from), size_b) ? hnm_device_check(m) : HONE_MODEL_OK;
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

static hone_model_rc hnm_reserve_device(hone_model_instance *m, hnm_buffer *b, int64_t size_b, int keep) {
    hnd_stream *t = m->c->stream;
    hnd_at at;
    if (size_b <= b->size_b && b->data) return HONE_MODEL_OK;
    if (size_b < 256) size_b = 256;
    if (size_b > INT64_MAX / 2)
        return hnm_fail(m, HONE_MODEL_NOMEM, "out of memory: the sizes need more than a device has");
    if (!(at = hnd_take(t, size_b))) return hnm_device_check(m);
    if (keep && b->data && hnd_move(t, at, hnm_at(b->data), b->size_b)) return hnm_device_check(m);
    hnd_give(t, hnm_at(b->data));
    *b = (hnm_buffer){(char *)(uintptr_t)at, size_b};
    return HONE_MODEL_OK;
}

HNR hone_model_rc hnm_grow_device(hone_model_instance *m, int32_t slot, int32_t i, int64_t size_b) {
    int64_t now = m->grown[i].size_b, more = now + now / 2;
    hone_model_rc rc = hnm_reserve_device(m, &m->grown[i], size_b > now && size_b < more ? more : size_b, 1);
    m->v[slot] = m->grown[i].data;
    return rc;
}

HNR hone_model_rc hnm_stack_device(hone_model_instance *m, int32_t slot, int32_t grown, int64_t turn, const void *from,
                                   int64_t size_b) {
    hone_model_rc rc = HONE_MODEL_OK;
    if (grown >= 0) rc = hnm_grow_device(m, slot, grown, hnm_mul(turn + 1, size_b));
    return rc ? rc : hnm_move(m, (char *)m->v[slot] + turn * size_b, from, size_b);
}

/* An input as the device sees it: the caller's memory where that is the device's, else a copy. */
HNR hone_model_rc hnm_take_input(hone_model_instance *m, int32_t slot, int32_t grown, const hone_model_tensor *t,
                                 int64_t size_b) {
    if (t->space) {
        m->v[slot] = t->data;
        return HONE_MODEL_OK;
    }
    hone_model_rc rc = hnm_grow_device(m, slot, grown, size_b);
    return rc ? rc : hnm_put(m, m->v[slot], t->data, size_b);
}

/* An input as the beginning of what the device then changes. */
HNR hone_model_rc hnm_copy_input(hone_model_instance *m, void *to, const hone_model_tensor *t, int64_t size_b) {
    return t->space ? hnm_move(m, to, t->data, size_b) : hnm_put(m, to, t->data, size_b);
}

/* At the end of a run: output in slot v, of which the device has `home` (0: not). */
HNR hone_model_rc hnm_give_output_device(hone_model_instance *m, hone_model_tensor *t, int32_t slot, int32_t home) {
    int64_t size_b = hnm_bytes(t);
    if (!t->space) {
        hnm_give_output(m, t, slot);
        return HONE_MODEL_OK;
    }
    if (!t->data && home) {
        t->data = m->v[home], t->size_b = (size_t)size_b;
        return HONE_MODEL_OK;
    }
    if (!t->data)
        return hnm_fail(m, HONE_MODEL_ARGUMENT,
                        "an output that the host makes has no memory of the device: hand in "
                        "a buffer");
    return home ? hnm_move(m, t->data, m->v[home], size_b) : hnm_put(m, t->data, m->v[slot], size_b);
}

/* --- launches ----------------------------------------------------------------------------------------------------- */

HNR hone_model_rc hnm_launch_device(hone_model_instance *m, hone_kernel_fn *run, void *const *buf, int64_t work,
                                    int64_t cost, int64_t scratch_b) {
    (void)cost, (void)scratch_b;
    if (work <= 0) return HONE_MODEL_OK;
    run(buf, m->s, 0, work, NULL);
    return hnm_device_check(m);
}

/* Where a kernel puts symbol i of those that it defines, and the symbol, here. */
HNR void *hnm_symbol_at(const hone_model_instance *m, int32_t i) {
    return (void *)(uintptr_t)(m->c->stream->slots + 8 * (uint64_t)(1 + i));
}
HNR hone_model_rc hnm_symbol_back(hone_model_instance *m, int32_t i, int64_t *to) {
    return hnm_get(m, to, hnm_symbol_at(m, i), sizeof *to);
}

/* What the kernels of a run have reported. */
static hone_model_rc hnm_device_end(hone_model_instance *m) {
    if (hnd_take_error(m->c->stream, &m->s[-1]) || hnd_flush(m->c->stream)) return hnm_device_check(m);
    return HONE_MODEL_OK;
}

/* --- states: as part.h has hnm_storage ---------------------------------------------------------------------------- */

static char *hnm_device_make(struct hnm_common *c, int64_t size_b) {
    char *p = (char *)(uintptr_t)hnd_take(c->stream, size_b);
    c->stream->err = (hnd_err){0, ""};
    return p;
}
static void hnm_device_drop(struct hnm_common *c, char *p) { hnd_give(c->stream, hnm_at(p)); }
static int hnm_device_copy(struct hnm_common *c, void *to, const void *from, int64_t size_b, hnm_way way) {
    int rc = way == HNM_FROM_HOST ? hnd_put(c->stream, hnm_at(to), from, size_b)
             : way == HNM_TO_HOST ? hnd_get(c->stream, to, hnm_at(from), size_b)
                                  : hnd_move(c->stream, hnm_at(to), hnm_at(from), size_b);
    if (!rc && way == HNM_WITHIN) rc = hnd_sync(c->stream); /* another stream may read it next */
    c->stream->err = (hnd_err){0, ""};
    return rc;
}
static const hnm_storage hnm_device_storage = {hnm_device_make, hnm_device_drop, hnm_device_copy, 1};

/* --- opening ------------------------------------------------------------------------------------------------------ */

/* config->device: 0, the place that HONE_MODEL_PLACE names (as "opencl:1"), or the driver's first device; else device
 * number config->device - 1. */
static int hnm_device_index(int32_t device) {
    const char *place = getenv("HONE_MODEL_PLACE"), *colon = place ? strrchr(place, ':') : NULL;
    if (device > 0) return (int)device - 1;
    return colon ? atoi(colon + 1) : 0;
}

static int hnm_stream_new(int32_t device, hnd_stream **out, hnd_err *err) {
    hnd_session *s = NULL;
    int rc = hnd_session_open(&hnm_sessions, hnm_driver(), hnm_device_index(device), &s, err);
    if (rc) return rc;
    rc = hnd_stream_open(s, out, err);
    if (rc) hnd_session_close(&hnm_sessions, s);
    return rc;
}

static void hnm_stream_drop(hnd_stream *t) {
    hnd_session *s = t ? t->session : NULL;
    hnd_stream_close(t);
    hnd_session_close(&hnm_sessions, s);
}

static hone_model_rc hnm_device_open(hone_model_instance *m, const hone_model_config *config) {
    hnd_err err = {0, ""};
    int rc = hnm_stream_new(config->device, &m->c->stream, &err);
    m->c->memory = &hnm_device_storage;
    return rc ? hnm_fail(m, hnm_device_rc(rc), "%.250s", err.text) : HONE_MODEL_OK;
}

static void hnm_device_close(hone_model_instance *m) {
    hnd_stream *t = m->c->stream;
    if (!t) return;
    for (int32_t i = 0; i < HNM_GROWN; i++)
        if (hnm_grown_device[i]) {
            hnd_give(t, hnm_at(m->grown[i].data));
            m->grown[i] = (hnm_buffer){NULL, 0};
        }
    if (m->c != &m->own) return;
    hnd_give(t, hnm_at(m->own.device_arena.data));
    for (int32_t i = 0; m->own.state && i < HNM_STATES; i++) {
        hnd_give(t, hnm_at(m->own.state[i].b.data));
        hnd_give(t, hnm_at(m->own.state[i].next.data));
        m->own.state[i].b = m->own.state[i].next = (hnm_buffer){NULL, 0};
    }
    hnm_stream_drop(t);
    m->own.stream = NULL;
}

/* The weights of a session, there with its first instance; then the slots of the constants. */
static hone_model_rc hnm_device_weights(hone_model_instance *m) {
    hnd_stream *t = m->c->stream;
    hnd_session *s = t->session;
    pthread_mutex_lock(&s->lock);
    if (!s->weights && HNM_WEIGHTS_B) {
        hnd_at at = hnd_take(t, (int64_t)HNM_WEIGHTS_B);
        if (at && !hnd_put(t, at, m->c->weights, (int64_t)HNM_WEIGHTS_B) && !hnd_sync(t)) s->weights = at;
    }
    pthread_mutex_unlock(&s->lock);
    for (int32_t i = 0; i < HNM_CONSTANTS; i++)
        m->v[hnm_constant_slot_device[i]] = (void *)(uintptr_t)(s->weights + (uint64_t)hnm_constant_at[i]);
    return hnm_device_check(m);
}

/* --- for those who hand in memory of the device, and call kernels alone (hone/model.h) ---------------------------- */

static hone_model_rc hnm_api_open(int32_t device, hone_model_stream **out) {
    hnd_err err = {0, ""};
    hnd_stream *t = NULL;
    int rc = hnm_stream_new(device, &t, &err);
    if (rc) return hnm_create_fail(hnm_device_rc(rc), "%s", err.text);
    *out = (hone_model_stream *)t;
    return HONE_MODEL_OK;
}
static void hnm_api_close(hone_model_stream *t) { hnm_stream_drop((hnd_stream *)t); }
static void *hnm_api_alloc(hone_model_stream *t, int64_t size_b) {
    return (void *)(uintptr_t)hnd_take((hnd_stream *)t, size_b);
}
static void hnm_api_free(hone_model_stream *t, void *p) { hnd_give((hnd_stream *)t, hnm_at(p)); }
static hone_model_rc hnm_api_put(hone_model_stream *t, void *to, const void *from, int64_t size_b) {
    return hnm_device_rc(hnd_put((hnd_stream *)t, hnm_at(to), from, size_b));
}
static hone_model_rc hnm_api_get(hone_model_stream *t, void *to, const void *from, int64_t size_b) {
    return hnm_device_rc(hnd_get((hnd_stream *)t, to, hnm_at(from), size_b));
}
static hone_model_rc hnm_api_sync(hone_model_stream *stream, int64_t *error) {
    hnd_stream *t = (hnd_stream *)stream;
    int rc = hnd_take_error(t, error);
    return hnm_device_rc(rc ? rc : hnd_sync(t));
}
static const char *hnm_api_error(hone_model_stream *t) { return ((hnd_stream *)t)->err.text; }
static const char *hnm_api_about(hone_model_stream *t) { return ((hnd_stream *)t)->session->info.name; }
/* Of this model's instance, or of one that chooses among versions: both begin with what versions share. */
static hone_model_stream *hnm_api_stream(hone_model_instance *m) {
    return (hone_model_stream *)(*(struct hnm_common **)(void *)m)->stream;
}
#define HNM_DEVICE_API                                                                                                 \
    {                                                                                                                  \
        hnm_api_open, hnm_api_close, hnm_api_alloc, hnm_api_free, hnm_api_put, hnm_api_get, hnm_api_sync,              \
            hnm_api_error, hnm_api_about, hnm_api_stream                                                               \
    }
static const hone_model_device hnm_device_api __attribute__((unused)) = HNM_DEVICE_API;

/* Is there a device for the target? 2: yes; 1: one that is this machine's processor, which another target suits better
 * where HONE_MODEL_PLACE does not ask for it. arch: 80 of sm_80, only: no later one; 0: any. */
HNR int hnm_device_offers_arch(int arch, int only) {
    const char *place = getenv("HONE_MODEL_PLACE");
    const hnd_driver *d = hnm_driver();
    size_t n = strlen(d->name);
    hnd_info info;
    if (d->describe(hnm_device_index(0), &info, NULL)) return 0;
    int own = strncmp(info.arch, "sm_", 3) ? 0 : atoi(info.arch + 3);
    if (arch && own && (own < arch || (only && own != arch))) return 0;
    if (place && !strncmp(place, d->name, n) && (!place[n] || place[n] == ':')) return 2;
    return place || info.has & HND_IS_CPU ? 1 : 2;
}

#endif
