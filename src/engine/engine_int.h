/* engine/engine_int.h — what an engine receives and what it must provide: the plug point of the search room.
 *
 * Purpose: hone_search (search.c) keeps what all engines need once: history, pending points, what was ever proposed,
 *          directions, legality, random streams. An engine is one const struct that turns this view into the next
 *          point. docs/how-to-add-an-engine.md builds one.
 * Borrows: the view, from open to close; it changes between calls as tells come in.
 * Units:   objectives are minimised in the view, whatever the caller's direction.
 * Threads: one at a time.
 * Errors:  E_NOMEM, E_EMPTY; an engine that finds nothing new answers E_EXHAUSTED and the wrapper searches on.
 * Invariants:
 *   1. An ask is a pure function of (space, config, what was told in its order, what is pending, ask number): caches
 *      are allowed, memory of earlier asks is not. So a resumed search continues exactly as if it had not stopped.
 *   2. Rows of the history are canonical and distinct, in the order told.
 *   3. rows move or change only when `epoch` changes; otherwise they are only appended.
 */
#ifndef HN_ENGINE_INT_H
#define HN_ENGINE_INT_H

#include <hone/search.h>

#include "base/rng.h"
#include "engine/genes.h"

/* The rows told so far that are kept. */
typedef struct hn_history {
    size_t slots, m, n_constraints;
    size_t n, room, cap; /* rows kept, allocated, at most */
    double *x;           /* n * slots */
    double *y;           /* n * m, minimised; NAN when the trial failed */
    double *violation;   /* n: sum of constraint violations, 0 = feasible */
    unsigned char *cls;  /* n: hone_outcome_class */
    uint64_t *hash;      /* n */
    uint64_t *code;      /* n: of the program that was built; 0: not known */
    size_t n_coded;      /* rows ever told with one */
    size_t n_told;       /* distinct points ever told */
    uint64_t epoch;
} hn_history;

typedef struct hn_pending {
    size_t n, room;
    double *x; /* n * slots */
    uint64_t *hash;
} hn_pending;

typedef struct hn_view {
    const hone_space *space;
    const hn_genes *genes;
    const hn_history *history;
    const hn_pending *pending;
    const hone_search_options *config;
    struct hn_active *active; /* which genes do something (active.h) */
    const double *start;      /* the default point, repaired: where sparse steps start */
    const struct hone_search *search;
    size_t n_asked; /* number of this ask */
} hn_view;

static inline const double *hn_row(const hn_history *h, size_t i) { return h->x + i * h->slots; }
static inline bool hn_row_ok(const hn_history *h, size_t i) { return h->cls[i] == HONE_RUN_OK; }
static inline bool hn_row_feasible(const hn_history *h, size_t i) { return hn_row_ok(h, i) && h->violation[i] <= 0; }

/* Canonical, legal (space and caller) and never told or pending. */
bool hn_view_fresh(const hn_view *v, const double *x);
/* The same of a point whose hash is known. */
bool hn_view_fresh_as(const hn_view *v, const double *x, uint64_t hash);
bool hn_view_legal(const hn_view *v, const double *x);
/* A random legal point; initial: from the seed windows. */
hone_rc hn_view_draw(const hn_view *v, hn_rng *rng, bool initial, double *x, hone_err *err);
/* A random point that is fresh; E_EXHAUSTED after `tries` draws. */
hone_rc hn_view_draw_fresh(const hn_view *v, hn_rng *rng, bool initial, size_t tries, double *x, hone_err *err);

typedef struct hn_option {
    const char *name;
    double dflt, lo, hi;
} hn_option;
/* An engine lists its options once: #define OPTIONS(X) X(pool, 32, 2, 4096) … */
#define HN_OPTION_ROW(name, dflt, lo, hi) {#name, dflt, lo, hi},
#define HN_OPTION_ID(name, dflt, lo, hi) OPT_##name,
#define HN_OPTION_DEFAULT(name, dflt, lo, hi) dflt,
#define HN_OPTION_TEXT(name, dflt, lo, hi) " " #name "=" #dflt
#define HN_OPTIONS_TEXT(list) (&"" list(HN_OPTION_TEXT)[1])

enum { HN_ENGINE_VERSION = 1, HN_MAX_OPTIONS = 16 };

/* Owns: its state, from open to close. `option` holds the values in the order of the table, valid during open. */
typedef struct hn_engine {
    int version;
    const char *name, *summary; /* name is stored in records: never rename, never reuse */
    const char *options;        /* "pool=32 parents=24" */
    const hn_option *option;    /* ends with a NULL name; NULL: none */
    hone_rc (*open)(const hn_view *view, const double *option, void **state, hone_err *err);
    /* Writes a fresh point. origin: name of the part that made it, NULL = the engine's own. */
    hone_rc (*ask)(void *state, const hn_view *view, hn_rng *rng, double *point, const char **origin, hone_err *err);
    void (*close)(void *state); /* accepts NULL */
} hn_engine;

extern const hn_engine *const hn_engines[]; /* ends with NULL */
extern const hn_engine hn_engine_random, hn_engine_evolve, hn_engine_nsga2, hn_engine_forest, hn_engine_lfbo,
    hn_engine_gp, hn_engine_ridge, hn_engine_auto;
const hn_engine *hn_engine_find(const char *name, hone_err *err);
/* Reads "name=value" texts (may be NULL) into out[HN_MAX_OPTIONS], defaults first. E_USAGE names the nearest. */
hone_rc hn_engine_options(const hn_engine *e, const char *const *texts, double *out, hone_err *err);

#endif
