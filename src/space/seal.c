/* space/seal.c — makes a space read-only: genes, programs, the order of conditions, components.
 *
 * Conditions are shared by text and ordered by Kahn's algorithm (1962); components are the connected components of the
 * relation "occurs in the same constraint, or in the condition of a parameter that does" (union-find).
 */
#include "base/err.h"
#include "base/str.h"
#include "space/space_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static hone_rc no_memory(const hone_space *s, hone_err *err) {
    return hn_fail(err, HONE_E_NOMEM, "out of memory sealing space '%s'", s->name);
}

/* --- genes --------------------------------------------------------------------------------------------------- */

static double factorial(size_t n) {
    double f = 1;
    for (size_t i = 2; i <= n; i++) f *= (double)i;
    return f;
}

static void set_range(const hone_param *p, hn_gene *g) {
    g->step = p->step > 0 ? p->step : p->kind == HONE_INT ? 1 : 0;
    g->lo = p->lo;
    g->hi = p->hi;
    g->log = p->log;
    g->levels = INFINITY;
    if (p->lo == p->hi && g->step == 0) g->step = 1;
    if (g->step > 0) {
        g->levels = floor((p->hi - p->lo) / g->step + 1e-9) + 1;
        g->hi = fmin(p->lo + (g->levels - 1) * g->step, p->hi);
    }
    g->has_seed = p->has_seed;
    if (!p->has_seed) return;
    g->seed_lo = p->seed_lo;
    g->seed_hi = p->seed_hi;
    if (g->step > 0) {
        g->seed_lo = g->lo + g->step * ceil((p->seed_lo - g->lo) / g->step - 1e-9);
        g->seed_hi = g->lo + g->step * floor((p->seed_hi - g->lo) / g->step + 1e-9);
    }
}

static hn_gene make_gene(hone_space *s, const hone_param *p) {
    hn_gene g = {.slot = (uint32_t)p->slot,
                 .n_slots = (uint32_t)p->n_slots,
                 .kind = p->kind,
                 .optional = p->optional,
                 .dflt = p->kind == HONE_PERMUTATION && !isnan(p->dflt) ? 0 : p->dflt,
                 .knockout = p->knockout,
                 .cond = HN_NO_COND,
                 .component = HN_NO_COMPONENT,
                 .key = hn_text_key(1, p->name)};
    if (p->kind == HONE_INT || p->kind == HONE_FLOAT) {
        set_range(p, &g);
        return g;
    }
    size_t n = p->kind == HONE_FLAG ? 2 : p->n_values;
    g.step = 1;
    g.hi = (double)(n - 1);
    g.levels = p->kind == HONE_PERMUTATION ? factorial(n) : (double)n;
    uint64_t *key = HN_NEW_N(&s->arena, uint64_t, n);
    for (size_t i = 0; key && i < n; i++)
        key[i] = hn_mix64(hn_text_key(2, p->kind == HONE_FLAG ? (i ? "on" : "off") : p->values[i]) ^ g.key);
    g.level_key = key;
    return g;
}

hone_rc hn_space_genes(hone_space *s, hone_err *err) {
    s->gene = HN_NEW_N(&s->arena, hn_gene, s->n_params);
    s->slot_param = HN_NEW_N(&s->arena, uint32_t, s->n_slots);
    if (!s->gene || !s->slot_param) return no_memory(s, err);
    for (size_t i = 0; i < s->n_params; i++) {
        s->gene[i] = make_gene(s, &s->param[i]);
        for (size_t k = 0; k < s->param[i].n_slots; k++) s->slot_param[s->param[i].slot + k] = (uint32_t)i;
    }
    return hn_arena_ok(&s->arena) ? HONE_OK : no_memory(s, err);
}

/* --- conditions ---------------------------------------------------------------------------------------------- */

/* Working memory of this file, freed as a whole. */
typedef struct sealing {
    hone_space *s;
    hn_arena scratch;
    hn_cond *cond; /* in order of appearance, then sorted into s->cond */
    size_t n_conds;
    hn_blame *blame;
    hone_err *err;
} sealing;

static hone_rc blame(sealing *w, hone_rc rc, int part, size_t index) {
    if (w->blame && rc) {
        w->blame->part = part;
        w->blame->index = index;
    }
    return rc;
}

static hone_rc compile_cond(sealing *w, size_t param, hn_prog *out) {
    const hone_param *p = &w->s->param[param];
    hone_rc rc = hn_prog_compile(&w->s->arena, w->s, p->when, out, w->err);
    if (rc && w->err && !w->blame) hn_context(w->err, "condition of '%s' ('%.200s'): ", p->name, p->when);
    return blame(w, rc, HN_BLAME_WHEN, param);
}

/* Gives every parameter its condition; equal texts share one. */
static hone_rc gather_conds(sealing *w) {
    hone_space *s = w->s;
    size_t room = 64;
    while (room < 2 * s->n_params) room *= 2;
    uint32_t *table = HN_NEW_N(&w->scratch, uint32_t, room);
    w->cond = HN_NEW_N(&w->scratch, hn_cond, s->n_params);
    if (!table || !w->cond) return no_memory(s, w->err);
    for (size_t i = 0; i < s->n_params; i++) {
        const char *when = s->param[i].when;
        if (!when) continue;
        size_t at = (size_t)hn_text_key(0, when) & (room - 1);
        while (table[at] && strcmp(w->cond[table[at] - 1].prog.source, when)) at = (at + 1) & (room - 1);
        if (!table[at]) {
            hone_rc rc = compile_cond(w, i, &w->cond[w->n_conds].prog);
            if (rc) return rc;
            table[at] = (uint32_t)++w->n_conds;
        }
        s->gene[i].cond = table[at] - 1;
    }
    return HONE_OK;
}

/* For each condition, the parameters under it, as one array cut into pieces. */
static hone_rc list_members(sealing *w) {
    hone_space *s = w->s;
    uint32_t *all = HN_NEW_N(&s->arena, uint32_t, s->n_params);
    uint32_t *start = HN_NEW_N(&w->scratch, uint32_t, w->n_conds + 1);
    if (!all || !start) return no_memory(s, w->err);
    for (size_t i = 0; i < s->n_params; i++)
        if (s->gene[i].cond != HN_NO_COND) start[s->gene[i].cond + 1]++;
    for (size_t c = 0; c < w->n_conds; c++) {
        w->cond[c].n_params = start[c + 1];
        start[c + 1] += start[c];
        w->cond[c].param = all + start[c];
    }
    for (size_t i = 0; i < s->n_params; i++)
        if (s->gene[i].cond != HN_NO_COND) all[start[s->gene[i].cond]++] = (uint32_t)i;
    return HONE_OK;
}

/* Puts the condition at place `from` to place `to` and keeps the genes' indices right. */
static void place_cond(sealing *w, size_t from, size_t to) {
    w->s->cond[to] = w->cond[from];
    for (size_t k = 0; k < w->cond[from].n_params; k++) w->s->gene[w->cond[from].param[k]].cond = (uint32_t)to;
}

static hone_rc report_cycle(sealing *w, const uint32_t *waits) {
    size_t c = 0;
    while (!waits[c]) c++;
    size_t i = w->cond[c].param[0];
    hone_rc rc = hn_fail(w->err, HONE_E_INPUT,
                         "the condition of '%s' ('%.200s') depends on itself through other conditions; break the cycle",
                         w->s->param[i].name, w->cond[c].prog.source);
    return blame(w, rc, HN_BLAME_WHEN, i);
}

/* Kahn: a condition is ready when every condition its parameters are under is placed. Edges are listed per
 * condition waited for; their number is bounded by the programs' lengths. */
static hone_rc sort_conds(sealing *w) {
    hone_space *s = w->s;
    size_t n = w->n_conds, n_edges = 0;
    for (size_t c = 0; c < n; c++) n_edges += w->cond[c].prog.n_params;
    uint32_t *waits = HN_NEW_N(&w->scratch, uint32_t, n), *head = HN_NEW_N(&w->scratch, uint32_t, n);
    uint32_t *to = HN_NEW_N(&w->scratch, uint32_t, n_edges), *link = HN_NEW_N(&w->scratch, uint32_t, n_edges);
    uint32_t *ready = HN_NEW_N(&w->scratch, uint32_t, n), *of = HN_NEW_N(&w->scratch, uint32_t, s->n_params);
    s->cond = HN_NEW_N(&s->arena, hn_cond, n);
    if (!waits || !head || !to || !link || !ready || !of || !s->cond) return no_memory(s, w->err);
    for (size_t i = 0; i < s->n_params; i++) of[i] = s->gene[i].cond;
    uint32_t e = 0;
    size_t n_ready = 0;
    for (uint32_t c = 0; c < n; c++)
        for (size_t k = 0; k < w->cond[c].prog.n_params; k++) {
            uint32_t before = of[w->cond[c].prog.param[k]];
            if (before == HN_NO_COND) continue;
            to[e] = c;
            link[e] = head[before]; /* 0 ends a list: edges are numbered from 1 */
            head[before] = ++e;
            waits[c]++;
        }
    for (uint32_t c = 0; c < n; c++)
        if (!waits[c]) ready[n_ready++] = c;
    for (size_t k = 0; k < n_ready; k++) {
        place_cond(w, ready[k], k);
        for (uint32_t at = head[ready[k]]; at; at = link[at - 1])
            if (!--waits[to[at - 1]]) ready[n_ready++] = to[at - 1];
    }
    s->n_conds = n;
    return n_ready == n ? HONE_OK : report_cycle(w, waits);
}

/* --- constraints --------------------------------------------------------------------------------------------- */

static hone_rc compile_rules(sealing *w) {
    hone_space *s = w->s;
    s->rule = HN_NEW_N(&s->arena, hn_prog, s->n_constraints);
    if (!s->rule) return no_memory(s, w->err);
    for (size_t i = 0; i < s->n_constraints; i++) {
        hone_rc rc = hn_prog_compile(&s->arena, s, s->constraint[i], &s->rule[i], w->err);
        if (rc && w->err && !w->blame) hn_context(w->err, "constraint '%.200s': ", s->constraint[i]);
        if (rc) return blame(w, rc, HN_BLAME_CONSTRAINT, i);
    }
    return HONE_OK;
}

/* For each parameter, the constraints that read it. */
static hone_rc index_rules(sealing *w) {
    hone_space *s = w->s;
    size_t n_edges = 0;
    for (size_t c = 0; c < s->n_constraints; c++) n_edges += s->rule[c].n_params;
    uint32_t *first = HN_NEW_N(&s->arena, uint32_t, s->n_params + 2);
    s->rules_of = HN_NEW_N(&s->arena, uint32_t, n_edges);
    if (!first || !s->rules_of) return no_memory(s, w->err);
    for (size_t c = 0; c < s->n_constraints; c++)
        for (size_t k = 0; k < s->rule[c].n_params; k++) first[s->rule[c].param[k] + 2]++;
    for (size_t i = 0; i < s->n_params; i++) first[i + 2] += first[i + 1];
    for (uint32_t c = 0; c < s->n_constraints; c++)
        for (size_t k = 0; k < s->rule[c].n_params; k++) s->rules_of[first[s->rule[c].param[k] + 1]++] = c;
    s->first_rule_of = first;
    return HONE_OK;
}

static hone_rc seal_parts(sealing *w) {
    hone_rc rc = hn_space_genes(w->s, w->err);
    if (!rc) rc = gather_conds(w);
    if (!rc) rc = list_members(w);
    if (!rc) rc = sort_conds(w);
    if (!rc) rc = compile_rules(w);
    if (!rc) rc = index_rules(w);
    if (!rc) rc = hn_space_components(w->s, w->err);
    return rc;
}

hone_rc hn_space_seal(hone_space *space, hn_blame *to_blame, hone_err *err) {
    if (space->sealed) return HONE_OK;
    if (to_blame) *to_blame = (hn_blame){HN_BLAME_NONE, 0};
    sealing w = {.s = space, .blame = to_blame, .err = err};
    hone_rc rc = seal_parts(&w);
    hn_arena_free(&w.scratch);
    if (!rc) {
        space->sealed = true;
        return HONE_OK;
    }
    space->gene = NULL;
    space->cond = NULL;
    space->rule = NULL;
    space->component = NULL;
    space->n_conds = space->n_components = 0;
    return rc;
}

hone_rc hone_space_seal(hone_space *space, hone_err *err) { return hn_space_seal(space, NULL, err); }
