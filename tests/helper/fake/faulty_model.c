/* faulty_model.c — a model that a person wrote against hone/model.h, with faults that tests plant: y = 2 x + 1 for
 * x[batch, 16], after some work that takes a while.
 *
 *     cc -shared -fPIC -Iinclude -DWORK=20000 -DSLOWER=1.03 tests/helper/fake/faulty_model.c -o m.so
 *
 * WORK: rounds of a busy loop; SLOWER: so many times as many. WRONG_IN: one element of so many is wrong. CRASH_IN:
 * abort in one of so many runs. FAIL_IN: an error in one of so many. HANG_IN: sleeps for ever. CREATE_CRASH: abort when
 * an instance is made. TAG: any number, so that equal models are different files. Draws follow from the time and the
 * process, not from a seed: runs are to differ. */
#include <hone/model.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifndef WORK
#define WORK 20000
#endif
#ifndef SLOWER
#define SLOWER 1.0
#endif
#ifndef WRONG_IN
#define WRONG_IN 0
#endif
#ifndef CRASH_IN
#define CRASH_IN 0
#endif
#ifndef FAIL_IN
#define FAIL_IN 0
#endif
#ifndef HANG_IN
#define HANG_IN 0
#endif
#ifndef CREATE_CRASH
#define CREATE_CRASH 0
#endif
#ifndef TAG
#define TAG 0
#endif

enum { WIDTH = 16 };

struct hone_model_instance {
    uint64_t state;
    float *data;
    size_t room;
    const char *why;
};

static uint64_t draw(hone_model_instance *m) {
    m->state ^= m->state << 13;
    m->state ^= m->state >> 7;
    m->state ^= m->state << 17;
    return m->state;
}
static int hits(hone_model_instance *m, uint64_t in) { return in && draw(m) % in == 0; }

static hone_model_rc create(const hone_model_config *config, hone_model_instance **out) {
    struct timespec t;
    (void)config;
    if (CREATE_CRASH) abort();
    hone_model_instance *m = calloc(1, sizeof *m);
    if (!m) return HONE_MODEL_NOMEM;
    clock_gettime(CLOCK_MONOTONIC, &t);
    m->state = ((uint64_t)t.tv_nsec * 2654435761u) ^ ((uint64_t)getpid() << 32) ^ 88172645463325252u;
    *out = m;
    return HONE_MODEL_OK;
}

static void busy(void) {
    volatile float x = 1;
    for (long i = 0, n = (long)(WORK * SLOWER); i < n; i++) x = x * 1.0000001f + 0.5f;
}

static hone_model_rc run(hone_model_instance *m, const hone_model_tensor *in, size_t n_in, hone_model_tensor *out,
                         size_t n_out) {
    m->why = "one input [batch, 16] of floats and one output are wanted";
    if (n_in != 1 || n_out != 1 || in->rank != 2 || in->dim[1] != WIDTH) return HONE_MODEL_SHAPE;
    size_t n = (size_t)in->dim[0] * WIDTH;
    const float *x = in->data;
    if (hits(m, CRASH_IN)) abort();
    while (HANG_IN && hits(m, HANG_IN)) sleep(1000);
    m->why = "a planted failure";
    if (hits(m, FAIL_IN)) return HONE_MODEL_INDEX;
    if (n > m->room) {
        free(m->data);
        m->data = malloc(n * sizeof *m->data);
        m->room = m->data ? n : 0;
        if (!m->data) return HONE_MODEL_NOMEM;
    }
    busy();
    for (size_t i = 0; i < n; i++) m->data[i] = hits(m, WRONG_IN) ? -7 : 2 * x[i] + 1;
    *out = (hone_model_tensor){.data = out->data, .size_b = n * sizeof *x, .dtype = in->dtype, .rank = 2};
    out->dim[0] = in->dim[0];
    out->dim[1] = WIDTH;
    if (out->data)
        memcpy(out->data, m->data, n * sizeof *x);
    else
        out->data = m->data;
    return HONE_MODEL_OK;
}

static void drop(hone_model_instance *m) {
    free(m->data);
    free(m);
}
static const char *error(const hone_model_instance *m) { return m ? m->why : "out of memory"; }
static int32_t last_version(const hone_model_instance *m) { return (void)m, 0; }

static const hone_model_port x = {"x", "[batch, 16]", 0, 2, {-1, WIDTH}, {1, WIDTH}, {1 << 20, WIDTH}};
static const hone_model_port y = {"y", "[batch, 16]", 0, 2, {-1, WIDTH}, {1, WIDTH}, {1 << 20, WIDTH}};
static const hone_model_version version = {"", 1, 0};
static const hone_model model;
static const hone_model *const targets[] = {&model};
static const hone_model model = {.abi = HONE_MODEL_ABI,
                                 .name = "faulty",
                                 .hone_version = "",
                                 .target = "any",
                                 .n_inputs = 1,
                                 .n_outputs = 1,
                                 .input = &x,
                                 .output = &y,
                                 .weights_b = TAG,
                                 .create = create,
                                 .run = run,
                                 .free = drop,
                                 .error = error,
                                 .n_targets = 1,
                                 .targets = targets,
                                 .n_versions = 1,
                                 .version = &version,
                                 .last_version = last_version};

const hone_model *hone_model_query(void);
const hone_model *hone_model_query(void) { return &model; }
