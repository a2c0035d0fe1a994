/* prove/variant.c — builds the variants of one side, by the strongest layout that works (target/layout.h). */
#include "prove/variant.h"

#include "base/clock.h"
#include "base/err.h"

#include <string.h>

/* Variant 0 and the two that show whether a layout works: the least a side has. */
enum { PROBES = 3 };

/* --- the words ---------------------------------------------------------------------------------------------------- */

/* The recipe with the words of variant i in front. */
static hone_rc make_variant(const hn_variants *v, hn_side *side, hn_code_layout layout, size_t i, hone_err *err) {
    const hn_recipe *r = side->recipe;
    hn_recipe *out = &side->variant[i];
    *out = *r;
    out->arena = (hn_arena){0};
    hn_flags f = {.a = &side->arena};
    hone_rc rc = hn_layout_words(hn_target_family(r->target), layout, v->seed, i, v->script_dir, &f, err);
    if (rc) return rc;
    for (size_t k = 0; k < r->n_flags; k++) hn_flags_add(&f, r->flag[k]);
    out->flag = f.word;
    out->n_flags = f.n;
    return hn_arena_ok(&side->arena) ? HONE_OK : hn_fail(err, HONE_E_NOMEM, "out of memory");
}

/* --- building ------------------------------------------------------------------------------------------------------
 */

/* Variants first … last - 1, by their recipes. */
static hone_rc build_some(const hn_variants *v, hn_side *side, size_t first, size_t last, hone_err *err) {
    size_t n = last - first;
    char **name = HN_NEW_N(&side->arena, char *, n);
    for (size_t i = 0; name && i < n; i++) name[i] = hn_format(&side->arena, "%s-v%zu", side->name, first + i);
    if (!hn_arena_ok(&side->arena)) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    hone_rc rc = hn_build_all(v->builder, side->variant + first, name, n, side->build + first, err);
    if (!rc && v->built) v->built(v->ctx, last, side->n);
    return rc;
}

static void drop_some(hn_side *side, size_t first, size_t last) {
    for (size_t i = first; i < last; i++) hn_build_drop(&side->build[i], false);
}

static bool all_built(const hn_side *side, size_t first, size_t last) {
    for (size_t i = first; i < last; i++)
        if (side->build[i].cls != HONE_RUN_OK) return false;
    return true;
}

static bool any_other_object(const hn_side *side, size_t first, size_t last) {
    for (size_t i = first; i < last; i++)
        if (strcmp(side->build[i].object_hash, side->build[0].object_hash) != 0) return true;
    return false;
}

/* A linker that misreads the script may leave a program that does not start. */
static hone_rc still_works(const hn_variants *v, const hn_side *side, size_t i, bool *works, hone_err *err) {
    hn_run run;
    size_t input = 0;
    while (v->run->w->input[input].held_out) input++;
    hn_run_config cfg = *v->run;
    cfg.kind = HN_RUN_TIMED;
    hone_rc rc =
        hn_run_once(&cfg, &side->variant[i], &side->build[i], input, 0, HN_RUN_MEASURE, true, i, NULL, &run, err);
    *works = !rc && run.cls == HONE_RUN_OK;
    return rc;
}

/* Variants from `first` on, as many as there is time for; *last: where they end. */
static hone_rc build_rest(const hn_variants *v, hn_side *side, size_t first, size_t *last, hone_err *err) {
    size_t most = *last, at_once = v->until_s > 0 ? (size_t)v->builder->jobs : most;
    hone_rc rc = HONE_OK;
    for (*last = first; !rc && *last < most && !(v->until_s > 0 && hn_now_s() > v->until_s);) {
        size_t next = most - *last > at_once ? *last + at_once : most;
        rc = build_some(v, side, *last, next, err);
        *last = next;
    }
    return rc;
}

/* Tries one layout: two variants as probes (with and without another order of functions), then the rest. */
static hone_rc try_layout(const hn_variants *v, hn_side *side, hn_code_layout layout, bool *fits, hone_err *err) {
    size_t probe = side->n < PROBES ? side->n : PROBES, last = side->n;
    hone_rc rc = HONE_OK;
    *fits = false;
    for (size_t i = 1; !rc && i < last; i++) rc = make_variant(v, side, layout, i, err);
    if (!rc && probe > 1) rc = build_some(v, side, 1, probe, err);
    if (rc) return rc;
    bool fine = all_built(side, 1, probe) && (layout == HN_LAYOUT_NONE || any_other_object(side, 1, probe));
    for (size_t i = 1; fine && layout < HN_LAYOUT_NONE && i < probe; i++) {
        rc = still_works(v, side, i, &fine, err);
        if (rc) break;
    }
    if (!rc && fine && probe < last) rc = build_rest(v, side, probe, &last, err);
    fine = !rc && fine && all_built(side, 1, last);
    if (!fine) drop_some(side, 1, last);
    if (fine) side->n = last;
    *fits = fine;
    return rc;
}

hone_rc hn_side_open(const hn_variants *v, hn_side *side, const char *name, const hn_recipe *recipe, size_t n,
                     hone_err *err) {
    *side = (hn_side){.name = name, .recipe = recipe, .n = n, .layout = HN_LAYOUT_NONE};
    side->variant = HN_NEW_N(&side->arena, hn_recipe, n);
    side->build = HN_NEW_N(&side->arena, hn_build, n);
    if (!hn_arena_ok(&side->arena)) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    side->variant[0] = *recipe;
    side->variant[0].arena = (hn_arena){0};
    return build_some(v, side, 0, 1, err);
}

hone_rc hn_side_vary(const hn_variants *v, hn_side *side, hn_code_layout at_least, hone_err *err) {
    bool fits = false;
    hone_rc rc = HONE_OK;
    for (int layout = (int)at_least; !rc && !fits && layout < HN_N_LAYOUTS; layout++) {
        rc = try_layout(v, side, (hn_code_layout)layout, &fits, err);
        if (fits) side->layout = (hn_code_layout)layout;
    }
    if (!rc && !fits)
        rc = hn_fail(err, HONE_E_FAILED, "the build of '%s' succeeded once and failed when run again: %.800s",
                     side->name, "it must not depend on what an earlier build left");
    return rc;
}

void hn_side_close(hn_side *side, bool keep) {
    for (size_t i = 0; side->build && i < side->n; i++) hn_build_drop(&side->build[i], keep);
    hn_arena_free(&side->arena);
    *side = (hn_side){0};
}
