/* sketch/sketch.c — the table of sketches, and their text. */
#include "sketch/sketch.h"
#include "nest/schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- plain: the schedule that fits every nest */
static bool plain_fits(hn_nest *n, const hn_machine *m, hn_knobs *out) {
    (void)n, (void)m;
    out->n = 0;
    return true;
}

/* Does a lane, an iteration of the innermost loop, have an index of its own from data? v: of the loop around. */
static bool looks_up(const hn_nest *n, hn_st first, hn_var v) {
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_stmt *s = &n->st[id];
        if (s->kind == HN_ST_LOOP && looks_up(n, s->body, s->var)) return true;
        if (v && s->kind == HN_ST_LET && n->sv[s->value].kind == HN_SV_WRAP && hn_sv_depends(n, s->value, v))
            return true;
    }
    return false;
}

/* Elements per vector: by the widest float type in the nest, else by 32 bits; by 64 bits where lanes have indices,
 * which compilers else take apart. */
static int64_t lanes_of(const hn_nest *n, const hn_machine *m) {
    int64_t size_b = 4;
    for (hn_sv x = 1; x < n->n_sv; x++)
        if (n->sv[x].dtype == HONE_F64) size_b = 8;
    if (size_b == 4 && m->vector_b > 16 && looks_up(n, n->first, 0)) size_b = 8;
    return m->vector_b >= 2 * size_b ? m->vector_b / size_b : 1;
}
static bool plain_apply(hn_nest *n, const hn_machine *m, const int64_t *setting, const char **why) {
    (void)setting, (void)why;
    hn_schedule_default(n, lanes_of(n, m), m->registers);
    return true;
}

static const hn_sketch plain = {"plain", "vectors along memory, rows of register tiles, work items", plain_fits,
                                plain_apply};

const hn_sketch *const hn_sketches[] = {&hn_sketch_attention, &hn_sketch_conv, &hn_sketch_gemm,
                                        &hn_sketch_copy,      &plain,          NULL};

/* -- text */
const hn_sketch *hn_sketch_named(const char *name, size_t name_n) {
    for (size_t i = 0; hn_sketches[i]; i++)
        if (strlen(hn_sketches[i]->name) == name_n && !strncmp(hn_sketches[i]->name, name, name_n))
            return hn_sketches[i];
    return NULL;
}

static bool allowed(const hn_knob *k, int64_t value) {
    for (int i = 0; i < k->n; i++)
        if (k->value[i] == value) return true;
    return false;
}

/* One "knob=value" of n characters. */
static hone_rc read_knob(const char *word, size_t n, const hn_knobs *k, int64_t *setting, hone_err *err) {
    const char *equals = memchr(word, '=', n);
    for (int i = 0; equals && i < k->n; i++) {
        if (strlen(k->knob[i].name) != (size_t)(equals - word) ||
            strncmp(k->knob[i].name, word, (size_t)(equals - word)))
            continue;
        char *end;
        long long value = strtoll(equals + 1, &end, 10);
        if (end != word + n || end == equals + 1 || !allowed(&k->knob[i], value))
            return hn_fail(err, HONE_E_INPUT, "'%.*s': not a value that this knob has here", (int)n, word);
        setting[i] = value;
        return HONE_OK;
    }
    return hn_fail(err, HONE_E_INPUT, "'%.*s': the schedule has no such knob here; give knob=value", (int)n, word);
}

hone_rc hn_sketch_read(const char *text, const hn_sketch *s, const hn_knobs *k, int64_t setting[HN_KNOBS_MAX],
                       hone_err *err) {
    size_t n = strcspn(text, " ");
    if (strlen(s->name) != n || strncmp(s->name, text, n) != 0)
        return hn_fail(err, HONE_E_INPUT, "schedule '%.*s' is not '%s'", (int)n, text, s->name);
    for (int i = 0; i < k->n; i++) setting[i] = k->knob[i].model;
    for (const char *at = text + n; *at; at += n) {
        at += strspn(at, " ");
        n = strcspn(at, " ");
        hone_rc rc = n ? read_knob(at, n, k, setting, err) : HONE_OK;
        if (rc) return rc;
    }
    return HONE_OK;
}

void hn_knob_add(hn_knob *k, int64_t value) {
    int at = k->n;
    for (int i = 0; i < k->n; i++)
        if (k->value[i] == value) return;
    if (k->n == HN_KNOB_VALUES_MAX) return;
    while (at > 0 && k->value[at - 1] > value) k->value[at] = k->value[at - 1], at--;
    k->value[at] = value;
    k->n++;
}

void hn_sketch_text(const hn_sketch *s, const hn_knobs *k, const int64_t *setting, char text[HN_SKETCH_TEXT_MAX]) {
    size_t used = (size_t)snprintf(text, HN_SKETCH_TEXT_MAX, "%s", s->name);
    for (int i = 0; i < k->n && used < HN_SKETCH_TEXT_MAX; i++)
        used += (size_t)snprintf(text + used, HN_SKETCH_TEXT_MAX - used, " %s=%lld", k->knob[i].name,
                                 (long long)setting[i]);
}
