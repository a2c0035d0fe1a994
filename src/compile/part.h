/* part.h — one of the models in a library, as entry.h sees it. Text carried into artifacts, in front of instance.h and
 * entry.h. */
#ifndef HNM_PART_H
#define HNM_PART_H

typedef struct hnm_buffer {
    char *data;
    int64_t size_b;
} hnm_buffer;

/* What the versions of an instance share: it belongs to the version for all sizes. */
struct hnr_pool;
typedef struct hnm_common {
    hone_model_executor *executor;
    void *context;
    struct hnr_pool *pool; /* NULL with an executor of the caller, or one thread */
    int64_t n_threads;
    hnm_buffer arena, scratch; /* scratch.size_b: of one thread */
    const char *weights;
    size_t mapped_b;
} hnm_common;

typedef struct hnm_part {
    hone_model_rc (*create)(const hone_model_config *config, hnm_common *common, hone_model_instance **out);
    hone_model_rc (*run)(hone_model_instance *m, const hone_model_tensor *in, size_t n_in, hone_model_tensor *out,
                         size_t n_out);
    void (*free)(hone_model_instance *m);
    const char *(*error)(const hone_model_instance *m);
    hnm_common *(*common)(hone_model_instance *m);
    const hone_model_time *(*times)(const hone_model_instance *m); /* NULL where nothing is timed */
} hnm_part;

#endif
