/* part.h — one of the models in a library, as entry.h sees it. Text carried into artifacts, in front of instance.h and
 * entry.h. */
#ifndef HNM_PART_H
#define HNM_PART_H

#include <pthread.h>
#include <stdarg.h>

/* Why the calling thread's last create failed. In memory of its own, found by a key that the first failure makes:
 * static thread-local memory is scarce for libraries that are opened at run time, and other kinds need the dynamic
 * linker. */
enum { HNM_TEXT_B = 256 };
static pthread_once_t hnm_key_once = PTHREAD_ONCE_INIT;
static pthread_key_t hnm_key;
static int hnm_has_key;

static void hnm_make_key(void) { hnm_has_key = pthread_key_create(&hnm_key, free) == 0; }
__attribute__((destructor)) static void hnm_drop_key(void) {
    if (hnm_has_key) pthread_key_delete(hnm_key);
}

__attribute__((format(printf, 2, 3))) static hone_model_rc hnm_create_fail(hone_model_rc rc, const char *fmt, ...) {
    va_list ap;
    pthread_once(&hnm_key_once, hnm_make_key);
    char *text = hnm_has_key ? (char *)pthread_getspecific(hnm_key) : NULL;
    if (!text && hnm_has_key && (text = (char *)malloc(HNM_TEXT_B)) && pthread_setspecific(hnm_key, text)) {
        free(text);
        text = NULL;
    }
    va_start(ap, fmt);
    if (text) vsnprintf(text, HNM_TEXT_B, fmt, ap);
    va_end(ap);
    return rc;
}

static const char *hnm_create_error(void) {
    const char *text = hnm_has_key ? (const char *)pthread_getspecific(hnm_key) : NULL;
    return text ? text : "";
}

typedef struct hnm_buffer {
    char *data;
    int64_t size_b;
} hnm_buffer;

/* A value that stays from run to run. */
typedef struct hnm_state {
    hnm_buffer b, next; /* next: where a run makes the new value that cannot lie over the old one */
    int64_t dim[HONE_MODEL_RANK];
    int32_t made; /* it has content, although no run has been */
} hnm_state;

/* The memory that states lie in: the host's, or a device's. */
typedef enum hnm_way { HNM_WITHIN, HNM_FROM_HOST, HNM_TO_HOST } hnm_way;
struct hnm_common;
typedef struct hnm_storage {
    char *(*make)(struct hnm_common *c, int64_t size_b); /* aligned to 64; NULL: there is none */
    void (*drop)(struct hnm_common *c, char *p);
    int (*copy)(struct hnm_common *c, void *to, const void *from, int64_t size_b, hnm_way way); /* 0: done */
    int32_t space;
} hnm_storage;

__attribute__((unused)) static char *hnm_host_make(struct hnm_common *c, int64_t size_b) {
    (void)c;
    return (char *)aligned_alloc(64, (size_t)(size_b + 63) / 64 * 64 + 64);
}
__attribute__((unused)) static void hnm_host_drop(struct hnm_common *c, char *p) {
    (void)c;
    free(p);
}
__attribute__((unused)) static int hnm_host_copy(struct hnm_common *c, void *to, const void *from, int64_t size_b,
                                                 hnm_way way) {
    (void)c, (void)way;
    if (size_b > 0) memcpy(to, from, (size_t)size_b);
    return 0;
}
__attribute__((unused)) static const hnm_storage hnm_host_storage = {hnm_host_make, hnm_host_drop, hnm_host_copy, 0};

/* What the versions of an instance share: it belongs to the version for all sizes. */
struct hnr_pool;
struct hnd_stream;
typedef struct hnm_common {
    hone_model_executor *executor;
    void *context;
    struct hnr_pool *pool; /* NULL with an executor of the caller, or one thread */
    int64_t n_threads;
    hnm_buffer arena, scratch; /* scratch.size_b: of one thread */
    const char *weights;
    size_t mapped_b;
    hone_model_config config; /* as it was created; the path of the weights is a copy */
    hnm_state *state;
    int fresh, lost;           /* the state: as reset left it; not to be used after a failure */
    const hnm_storage *memory; /* of the state */
    struct hnd_stream *stream; /* NULL: kernels run on the host */
    hnm_buffer device_arena;
} hnm_common;

typedef struct hnm_part {
    hone_model_rc (*create)(const hone_model_config *config, hnm_common *common, hone_model_instance **out);
    hone_model_rc (*run)(hone_model_instance *m, const hone_model_tensor *in, size_t n_in, hone_model_tensor *out,
                         size_t n_out);
    void (*free)(hone_model_instance *m);
    const char *(*error)(const hone_model_instance *m);
    hnm_common *(*common)(hone_model_instance *m);
    const hone_model_time *(*times)(const hone_model_instance *m); /* NULL where nothing is timed */
    int (*offers)(void);                                           /* is there a device for it? NULL: a CPU's model */
} hnm_part;

#endif
