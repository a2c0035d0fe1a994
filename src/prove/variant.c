/* prove/variant.c — layouts by generic means: alignment by a flag, everything else by a linker script that is inserted
 * into the linker's own (INSERT; GNU ld and lld). The order of functions comes from sections of their own and one
 * inserted output section that gathers them by the beginnings of their names, in random order; the names need not be
 * known. Sections that the compiler itself has sorted (hot, unlikely, startup, exit) keep their place, as that order is
 * the work of a control and no luck. */
#include "prove/variant.h"

#include "base/err.h"
#include "base/fs.h"
#include "base/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *hn_layout_text(hn_layout layout) {
    static const char *const text[HN_N_LAYOUTS] = {
        [HN_LAYOUT_ORDER] = "function order, padding of all sections, function alignment",
        [HN_LAYOUT_SECTIONS] = "padding of all sections, function alignment",
        [HN_LAYOUT_CODE] = "padding of code, function alignment",
        [HN_LAYOUT_ALIGNMENT] = "function alignment",
        [HN_LAYOUT_NONE] = "none: the build accepts no change of layout, so layout luck is not ruled out",
    };
    return text[layout];
}

/* --- the script --------------------------------------------------------------------------------------------------- */

static void add_padding(hn_str *out, const char *section, hn_rng *rng) {
    hn_str_addf(out, "SECTIONS { .hone_pad%s : { BYTE(0) . += %u; } } INSERT BEFORE %s;\n", section,
                16 * (unsigned)hn_rng_below(rng, 256), section);
}

/* Second letters that would take in what the compiler has sorted. */
static const char *not_second(char first) {
    switch (first) {
    case 'u': return "n";  /* unlikely */
    case 'h': return "o";  /* hot */
    case 's': return "tp"; /* startup, split */
    case 'e': return "x";  /* exit */
    default: return "";
    }
}

static void add_order(hn_str *out, hn_rng *rng) {
    static const char first[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    enum { N = 2 * (sizeof first - 1) };
    unsigned char order[N];
    for (unsigned i = 0; i < N; i++) order[i] = (unsigned char)i;
    for (unsigned i = N; i > 1; i--) {
        unsigned k = (unsigned)hn_rng_below(rng, i);
        unsigned char x = order[i - 1];
        order[i - 1] = order[k];
        order[k] = x;
    }
    hn_str_add(out, "SECTIONS { .hone_order : {\n");
    for (unsigned i = 0; i < N; i++) {
        char c = first[order[i] / 2];
        bool late = order[i] & 1;
        /* Halves by the second letter: a-m without what is sorted, then all the rest. */
        if (late)
            hn_str_addf(out, "*(.text.%c[!a-m%s]*)\n", c, not_second(c));
        else if (!*not_second(c) || *not_second(c) > 'm')
            hn_str_addf(out, "*(.text.%c[a-m]*)\n", c);
    }
    hn_str_add(out, "} } INSERT BEFORE .text;\n");
}

void hn_layout_script(hn_layout layout, uint64_t seed, size_t i, hn_str *out) {
    hn_rng rng = hn_rng_make(seed, 0x1a7007 + i);
    if (layout <= HN_LAYOUT_CODE) add_padding(out, ".text", &rng);
    if (layout <= HN_LAYOUT_SECTIONS) add_padding(out, ".rodata", &rng);
    if (layout <= HN_LAYOUT_SECTIONS) add_padding(out, ".data", &rng);
    if (layout == HN_LAYOUT_ORDER && i % 2 == 1) add_order(out, &rng);
}

/* --- the words ---------------------------------------------------------------------------------------------------- */

static hone_rc write_script(const hn_variants *v, hn_layout layout, size_t i, char *path, size_t n_path,
                            hone_err *err) {
    hn_str text = {0};
    snprintf(path, n_path, "%s/layout%d-%zu.ld", v->script_dir, (int)layout, i);
    hn_layout_script(layout, v->seed, i, &text);
    hone_rc rc = text.failed ? hn_fail(err, HONE_E_NOMEM, "out of memory") : HONE_OK;
    if (!rc && !hn_exists(path)) rc = hn_write_file(path, text.text, text.n, err);
    hn_str_free(&text);
    return rc;
}

static const char *alignment(uint64_t seed, size_t i) {
    static const char *const word[] = {NULL, "-falign-functions=16", "-falign-functions=32", "-falign-functions=64"};
    hn_rng rng = hn_rng_make(seed, 0xa119 + i);
    return word[hn_rng_below(&rng, sizeof word / sizeof *word)];
}

/* The recipe with the words of variant i in front. */
static hone_rc vary(const hn_variants *v, hn_side *side, hn_layout layout, size_t i, hone_err *err) {
    const hn_recipe *r = side->recipe;
    hn_recipe *out = &side->variant[i];
    *out = *r;
    out->arena = (hn_arena){0};
    out->flag = HN_NEW_N(&side->arena, const char *, r->n_flags + 4);
    if (!out->flag) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    size_t n = 0;
    const char *align = alignment(v->seed, i);
    if (layout <= HN_LAYOUT_ALIGNMENT && align) out->flag[n++] = align;
    if (layout == HN_LAYOUT_ORDER && i % 2 == 1) out->flag[n++] = "-ffunction-sections";
    if (layout <= HN_LAYOUT_CODE) {
        char path[4096];
        hone_rc rc = write_script(v, layout, i, path, sizeof path, err);
        if (rc) return rc;
        out->flag[n++] = hn_format(&side->arena, "-Wl,-T,%s", path);
    }
    for (size_t k = 0; k < r->n_flags; k++) out->flag[n++] = r->flag[k];
    out->n_flags = n;
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

/* Tries one layout: two variants as probes (with and without another order of functions), then the rest. */
static hone_rc try_layout(const hn_variants *v, hn_side *side, hn_layout layout, bool *fits, hone_err *err) {
    size_t probe = side->n < 3 ? side->n : 3, last = side->n;
    hone_rc rc = HONE_OK;
    *fits = false;
    for (size_t i = 1; !rc && i < last; i++) rc = vary(v, side, layout, i, err);
    if (!rc && probe > 1) rc = build_some(v, side, 1, probe, err);
    if (rc) return rc;
    bool fine = all_built(side, 1, probe) && (layout == HN_LAYOUT_NONE || any_other_object(side, 1, probe));
    for (size_t i = 1; fine && layout < HN_LAYOUT_NONE && i < probe; i++) {
        rc = still_works(v, side, i, &fine, err);
        if (rc) break;
    }
    if (!rc && fine && probe < last) rc = build_some(v, side, probe, last, err);
    fine = !rc && fine && all_built(side, 1, last);
    if (!fine) drop_some(side, 1, last);
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

hone_rc hn_side_vary(const hn_variants *v, hn_side *side, hn_layout at_least, hone_err *err) {
    bool fits = false;
    hone_rc rc = HONE_OK;
    for (int layout = (int)at_least; !rc && !fits && layout < HN_N_LAYOUTS; layout++) {
        rc = try_layout(v, side, (hn_layout)layout, &fits, err);
        if (fits) side->layout = (hn_layout)layout;
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
