/* engine/recording.h — inside of a recording, for the replay. Read-only after loading. */
#ifndef HN_RECORDING_H
#define HN_RECORDING_H

#include <hone/search.h>

#include "base/arena.h"

enum { HN_RECORDING_SLOTS = 256 };

typedef struct hn_record {
    double time, sd, compile; /* ms, NAN unknown */
    hone_outcome_class cls;
} hn_record;

struct hone_recording {
    hn_arena arena;
    char *label;
    hone_space *space;
    size_t slots, n;
    uint16_t *x; /* n * slots: value indices */
    hn_record *row;
    uint32_t *table; /* hash -> row, UINT32_MAX free */
    size_t table_n;
    double best;
};

/* Row of a point, SIZE_MAX when it was not recorded. */
size_t hn_recording_find(const hone_recording *rec, const double *point);
void hn_recording_point(const hone_recording *rec, size_t row, double *point);

#endif
