/* docs/code/strips.c — the example sketch of docs/how-to-add-a-schedule.md: one loop over f32 elements that lie next to
 * each other becomes vectors, several of them unrolled. */
#include "nest/chain.h"
#include "nest/schedule.h"
#include "sketch/sketch.h"

static bool fits(hn_nest *n, const hn_machine *m, hn_knobs *out) {
    hn_st loop = hn_lone_loop(n, n->first);
    if (!loop || hn_has_loop(n, n->st[loop].body) || m->vector_b < 8) return false;
    for (hn_sv x = 1; x < n->n_sv; x++)
        if (n->sv[x].kind == HN_SV_LOAD && !hn_ix_contiguous(n, n->sv[x].at, n->st[loop].var, m->vector_b / 4))
            return false;
    out->n = 1;
    out->knob[0] = (hn_knob){.name = "unroll", .n = 3, .value = {1, 2, 4}, .model = 2};
    return true;
}

static bool apply(hn_nest *n, const hn_machine *m, const int64_t *setting, const char **why) {
    hn_st loop = hn_lone_loop(n, n->first), strip, vector;
    if (!hn_loop_split(n, loop, setting[0] * (m->vector_b / 4), &strip, NULL, why))
        return false; /* what is left: scalar */
    if (!hn_loop_split(n, strip, m->vector_b / 4, &vector, NULL, why)) return false;
    if (!hn_loop_vectorise(n, vector, why) || !hn_loop_unroll(n, strip, why)) return false;
    hn_nest_tidy(n);
    return true;
}

const hn_sketch hn_sketch_strips = {"strips", "vectors of one loop, several at once", fits, apply};
