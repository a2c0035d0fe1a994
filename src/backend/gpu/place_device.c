/* backend/gpu/place_device.c — the place that is a device: kernels of a library are launched there, through what the
 * library itself carries (hone_model.device), so that they run as an instance runs them. */
#include "backend/place.h"
#include "base/clock.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { FRONT = 2 }; /* in front of the symbols: the stream, the error slot */

typedef struct there {
    void *library;
    const hone_model *model;
    hone_model_stream *stream;
    void **plain; /* until reset */
    size_t n_plain, room;
    int64_t *symbol;
    size_t n_symbol;
} there;

static hone_rc open_library(there *t, const hn_place_spec *s, hone_err *err) {
    hone_rc rc = hn_place_library(s, &t->library, &t->model, err);
    if (rc) return rc;
    if (!t->model->device)
        rc = hn_fail(err, HONE_E_TOOL, "'%s' is no library for a device", s->library);
    else if (t->model->device->open(0, &t->stream))
        rc = hn_fail(err, HONE_E_TOOL, "%s", t->model->error(NULL));
    if (rc) dlclose(t->library);
    return rc;
}

/* Without a library: for runs of instances that were made elsewhere. */
static hone_rc open_there(const hn_place_spec *s, void **state, hone_err *err) {
    there *t = calloc(1, sizeof *t);
    if (!t) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    hone_rc rc = s->library ? open_library(t, s, err) : HONE_OK;
    if (rc)
        free(t);
    else
        *state = t;
    return rc;
}

static void reset(void *state) {
    there *t = state;
    for (size_t i = 0; i < t->n_plain; i++) t->model->device->free(t->stream, t->plain[i]);
    t->n_plain = 0;
}

static void close_there(void *state) {
    there *t = state;
    if (!t) return;
    if (t->stream) {
        reset(t);
        t->model->device->close(t->stream);
    }
    if (t->library) dlclose(t->library);
    free(t->plain);
    free(t->symbol);
    free(t);
}

static hn_code find(void *state, uint32_t index) {
    const there *t = state;
    return (hn_code){.run = t->model->kernel[index].run, .index = index};
}

static hn_mem alloc(void *state, int64_t size_b, hn_mem_kind kind) {
    there *t = state;
    if (kind == HN_MEM_PLAIN && t->n_plain == t->room) {
        size_t room = t->room ? 2 * t->room : 64;
        void **more = realloc(t->plain, room * sizeof *more);
        if (!more) return NULL;
        t->plain = more, t->room = room;
    }
    char *p = t->model->device->alloc(t->stream, size_b);
    if (p && kind == HN_MEM_PLAIN) t->plain[t->n_plain++] = p;
    char *zero = p && kind != HN_MEM_PLAIN ? calloc(1, (size_t)size_b + 1) : NULL;
    if (zero) t->model->device->put(t->stream, p, zero, size_b);
    free(zero);
    return p;
}

static void put(void *state, hn_mem to, const void *from, int64_t size_b) {
    there *t = state;
    t->model->device->put(t->stream, to, from, size_b);
}

static void get(void *state, void *to, hn_mem from, int64_t size_b) {
    there *t = state;
    t->model->device->get(t->stream, to, from, size_b);
}

/* The symbols with the stream in front. */
static int64_t *symbols(there *t, const hn_launch *l) {
    if (l->n_symbol > t->n_symbol || !t->symbol) {
        int64_t *more = realloc(t->symbol, (l->n_symbol + FRONT + 1) * sizeof *more);
        if (!more) return NULL;
        t->symbol = more, t->n_symbol = l->n_symbol;
    }
    t->symbol[0] = (int64_t)(uintptr_t)t->stream;
    t->symbol[1] = 0;
    if (l->n_symbol) memcpy(t->symbol + FRONT, l->symbol, l->n_symbol * sizeof *l->symbol);
    return t->symbol + FRONT;
}

static bool launch(void *state, const hn_launch *l) {
    there *t = state;
    int64_t *s = symbols(t, l), error = 0;
    if (!s) return false;
    l->code.run((void *const *)(const void *)l->buf, s, l->begin, l->end, NULL);
    bool good = t->model->device->sync(t->stream, &error) == HONE_MODEL_OK;
    if (error) l->symbol[-1] = error;
    return good;
}

static const char *trouble(void *state) {
    there *t = state;
    return t->model->device->error(t->stream);
}

static double time_of(void *state, const hn_launch *list, uint32_t n_list, uint32_t *turn, int64_t n) {
    there *t = state;
    int64_t error = 0;
    double start_s = hn_now_s();
    for (int64_t i = 0; i < n; i++) {
        const hn_launch *l = &list[*turn];
        int64_t *s = symbols(t, l);
        if (s) l->code.run((void *const *)(const void *)l->buf, s, l->begin, l->end, NULL);
        *turn = *turn + 1 == n_list ? 0 : *turn + 1;
    }
    return t->model->device->sync(t->stream, &error) ? 0 : hn_now_s() - start_s;
}

static double balance(int64_t work, int64_t cost, uint32_t n_threads) {
    (void)work, (void)cost, (void)n_threads;
    return 1;
}

const hn_place hn_place_device = {.version = HN_PLACE_VERSION,
                                  .name = "device",
                                  .summary = "a device that a driver opens",
                                  .open = open_there,
                                  .close = close_there,
                                  .find = find,
                                  .alloc = alloc,
                                  .reset = reset,
                                  .put = put,
                                  .get = get,
                                  .launch = launch,
                                  .time = time_of,
                                  .run = hn_place_run,
                                  .now_s = hn_place_now_s,
                                  .balance = balance,
                                  .trouble = trouble};
