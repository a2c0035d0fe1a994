/* sketch/sketch.h — sketches: whole schedules with a few knobs. A sketch says which nests it fits, which values its
 * knobs may take there, and which of them its cost model takes; applied, it is a sequence of the rewrites of
 * nest/schedule.h (the word is Ansor's: Zheng et al., OSDI 2020, section 4.1).
 *
 * Text: "NAME knob=value …", e.g. "gemm rows=12 cols=2": what the manifest shows, what winners keep, what the tuner
 * searches. Knobs that are not named have the cost model's value. Nothing keys on a kernel's kind or on a processor's
 * name: strides, sizes and the machine's figures decide.
 * Threads: one at a time per nest.
 */
#ifndef HN_SKETCH_H
#define HN_SKETCH_H

#include "base/err.h"
#include "nest/machine.h"
#include "nest/nest.h"

enum { HN_KNOBS_MAX = 10, HN_KNOB_VALUES_MAX = 16, HN_SKETCH_TEXT_MAX = 200 };
typedef struct hn_knob {
    const char *name; /* [a-z_]+, static */
    int n;
    int64_t value[HN_KNOB_VALUES_MAX]; /* ascending; every one is legal for this nest */
    int64_t model;                     /* the cost model's: one of them */
} hn_knob;
typedef struct hn_knobs {
    int n;
    hn_knob knob[HN_KNOBS_MAX];
} hn_knobs;

typedef struct hn_sketch {
    const char *name, *summary;
    /* Does the nest, as lowered, have this form? Then *out are its knobs for the nest. It may tidy the nest and intern
     * expressions, nothing else. */
    bool (*fits)(hn_nest *n, const hn_machine *m, hn_knobs *out);
    /* Schedules it; setting[i] is one of the values of knob i that fits() gave. False, with the reason, leaves the nest
     * in no defined state: the caller lowers it anew. */
    bool (*apply)(hn_nest *n, const hn_machine *m, const int64_t *setting, const char **why);
} hn_sketch;

/* The most specific first; the last, "plain", fits every nest. NULL-terminated (sketch/sketch.c). */
extern const hn_sketch *const hn_sketches[];
extern const hn_sketch hn_sketch_attention; /* sketch/sketch_attention.c */
extern const hn_sketch hn_sketch_conv;      /* sketch/sketch_conv.c */
extern const hn_sketch hn_sketch_copy;      /* sketch/sketch_copy.c */
extern const hn_sketch hn_sketch_gemm;      /* sketch/sketch_gemm.c */
const hn_sketch *hn_sketch_named(const char *name, size_t name_n);

/* Reads "NAME knob=value …" against the knobs of a nest: the setting, else E_INPUT with what is wrong (an unknown knob,
 * a value that is not one of the knob's) and what is known. */
hone_rc hn_sketch_read(const char *text, const hn_sketch *s, const hn_knobs *k, int64_t setting[HN_KNOBS_MAX],
                       hone_err *err);
/* Adds a value in its place, unless it is there or there is no more room. */
void hn_knob_add(hn_knob *k, int64_t value);
/* The text of a setting, all knobs named. */
void hn_sketch_text(const hn_sketch *s, const hn_knobs *k, const int64_t *setting, char text[HN_SKETCH_TEXT_MAX]);

/* A good schedule without any search: vectors of `lanes` elements (1: none). tile: rows of the register tile. The text
 * describes it in one line. */
const char *hn_schedule_default(hn_nest *n, int64_t lanes, int64_t registers);

#endif
