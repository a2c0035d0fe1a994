/* engine/model.h — surrogates: a model gives every candidate of a pool a score, higher is better.
 *
 * The engines forest, lfbo, gp and ridge are one model each on the same frame (hn_single_*); auto rotates over them.
 * A model keeps caches only (invariant 1 of engine_int.h).
 */
#ifndef HN_MODEL_H
#define HN_MODEL_H

#include "engine/feasible.h"

typedef struct hn_surrogate {
    const char *name;
    bool learns_failures; /* its score accounts for failures; else points that will almost certainly fail are ranked
                             last */
    int rows_option;      /* index of the option for the most rows it learns from; -1: none */
    hone_rc (*open)(const hn_view *view, const double *option, void **state, hone_err *err);
    /* Scores every point of the pool; may add its own candidates first. score has room for pool->room floats. */
    hone_rc (*score)(void *state, const hn_view *view, const hn_sample *sample, hn_pool *pool, hn_rng *rng,
                     float *score, hone_err *err);
    void (*close)(void *state); /* accepts NULL */
} hn_surrogate;

extern const hn_surrogate hn_model_forest, hn_model_lfbo, hn_model_gp, hn_model_ridge;

/* With more free genes than this: a longer initial design, fewer candidates, mutants of the best. */
enum { HN_HIGH_DIMENSION = 100 };

/* The frame shared by all model-based engines. */
typedef struct hn_surrogate_frame {
    hn_sample sample;
    hn_pool pool;
    hn_pool_spec spec;
    size_t max_rows, n_init;
    float *score;
    size_t score_room;
    double *spare; /* one point */
    hn_feasible feasible;
} hn_surrogate_frame;

hone_rc hn_frame_open(hn_surrogate_frame *f, const hn_view *v, hone_err *err);
void hn_frame_free(hn_surrogate_frame *f);
/* True while the initial design lasts; then point is set. */
hone_rc hn_frame_init(hn_surrogate_frame *f, const hn_view *v, hn_rng *rng, double *point, bool *done, hone_err *err);
/* The candidate that the model likes best. E_EXHAUSTED when there is none.
 * (Summing the ranks that all models give one pool cost three times as much and gained nothing over taking turns.) */
hone_rc hn_frame_ask(hn_surrogate_frame *f, const hn_surrogate *m, void *model, const hn_view *v, hn_rng *rng,
                     double *point, hone_err *err);

/* Log of the expected improvement below `best` of a normal variate. */
float hn_log_ei(float mean, float sd, float best);

/* An engine of one model. */
typedef struct hn_single {
    const hn_surrogate *model;
    void *state;
    hn_surrogate_frame frame;
} hn_single;
hone_rc hn_single_open(const hn_surrogate *m, const hn_view *view, const double *option, void **state, hone_err *err);
hone_rc hn_single_ask(void *state, const hn_view *view, hn_rng *rng, double *point, const char **origin, hone_err *err);
void hn_single_close(void *state);
/* The engine of hn_model_ID, with the options of the file it stands in. */
#define HN_MODEL_ENGINE(id, about)                                                                                     \
    static hone_rc open_##id(const hn_view *view, const double *option, void **state, hone_err *err) {                 \
        return hn_single_open(&hn_model_##id, view, option, state, err);                                               \
    }                                                                                                                  \
    const hn_engine hn_engine_##id = {.version = HN_ENGINE_VERSION,                                                    \
                                      .name = #id,                                                                     \
                                      .summary = about,                                                                \
                                      .options = HN_OPTIONS_TEXT(OPTIONS),                                             \
                                      .option = options,                                                               \
                                      .open = open_##id,                                                               \
                                      .ask = hn_single_ask,                                                            \
                                      .close = hn_single_close};

#endif
