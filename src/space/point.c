/* space/point.c — canonical form, legality, hash of points. The hot part of the room: no allocation, one pass. */
#include "base/err.h"
#include "base/str.h"
#include "space/space_int.h"

#include <math.h>
#include <string.h>

/* Nearest legal value of a parameter that owns one slot; x is not NAN. */
static inline double snapped(const hn_gene *g, double x) {
    if (x <= g->lo) return g->lo;
    if (x >= g->hi) return g->hi;
    if (g->step == 0) return x + 0.0;
    if (g->step == 1) {
        int64_t k = (int64_t)(x - g->lo + 0.5);
        return g->lo + (double)k;
    }
    return fmin(g->lo + g->step * floor((x - g->lo) / g->step + 0.5), g->hi);
}

/* A permutation's slots become one: items that are out of range or repeated are replaced by the missing ones in order.
 */
static void snap_permutation(const hn_gene *g, double *slot) {
    bool used[HN_MAX_PERMUTATION] = {false}, keep[HN_MAX_PERMUTATION] = {false};
    for (uint32_t k = 0; k < g->n_slots; k++) {
        double x = slot[k];
        if (!(x >= 0 && x <= g->hi) || x != floor(x) || used[(size_t)x]) continue;
        used[(size_t)x] = keep[k] = true;
        slot[k] = x + 0.0;
    }
    uint32_t missing = 0;
    for (uint32_t k = 0; k < g->n_slots; k++) {
        if (keep[k]) continue;
        while (used[missing]) missing++;
        slot[k] = missing++;
    }
}

static void set_absent(const hn_gene *g, double *point) {
    for (uint32_t k = 0; k < g->n_slots; k++) point[g->slot + k] = NAN;
}

static void set_default(const hn_gene *g, double *point) {
    double *slot = point + g->slot;
    if (g->kind != HONE_PERMUTATION || isnan(g->dflt))
        for (uint32_t k = 0; k < g->n_slots; k++) slot[k] = g->dflt;
    else
        for (uint32_t k = 0; k < g->n_slots; k++) slot[k] = k;
}

void hn_gene_default(const hone_space *space, size_t i, double *point) { set_default(&space->gene[i], point); }

static inline bool holds(double truth) { return truth == truth && truth != 0; }

/* Conditions in order: what is inactive becomes absent before a later condition reads it. */
static void apply_conditions(const hone_space *s, double *point) {
    for (size_t c = 0; c < s->n_conds; c++) {
        const hn_cond *cond = &s->cond[c];
        if (holds(hn_prog_eval(&cond->prog, point))) continue;
        for (size_t k = 0; k < cond->n_params; k++) set_absent(&s->gene[cond->param[k]], point);
    }
}

void hone_space_default(const hone_space *space, double *point) {
    for (size_t i = 0; i < space->n_params; i++) set_default(&space->gene[i], point);
    apply_conditions(space, point);
}

void hone_point_canon(const hone_space *space, double *point) {
    for (size_t i = 0; i < space->n_params; i++) {
        const hn_gene *g = &space->gene[i];
        double *x = &point[g->slot];
        if (*x != *x) {
            if (g->optional)
                set_absent(g, point);
            else
                set_default(g, point);
        } else if (g->kind == HONE_PERMUTATION) {
            snap_permutation(g, x);
        } else {
            *x = snapped(g, *x);
        }
    }
    apply_conditions(space, point);
}

bool hone_point_active(const hone_space *space, const double *point, size_t i) {
    uint32_t c = space->gene[i].cond;
    return c == HN_NO_COND || holds(hn_prog_eval(&space->cond[c].prog, point));
}

/* --- legality ------------------------------------------------------------------------------------------------ */

static bool is_permutation(const hn_gene *g, const double *slot) {
    double fixed[HN_MAX_PERMUTATION];
    memcpy(fixed, slot, g->n_slots * sizeof *fixed);
    snap_permutation(g, fixed);
    for (uint32_t k = 0; k < g->n_slots; k++)
        if (!(slot[k] == fixed[k])) return false;
    return true;
}

static inline bool in_domain(const hn_gene *g, const double *point) {
    double x = point[g->slot];
    if (g->kind == HONE_PERMUTATION) return is_permutation(g, point + g->slot);
    if (!(x >= g->lo && x <= g->hi)) return false;
    if (g->step == 1) return g->lo + (double)(int64_t)(x - g->lo) == x;
    return g->step == 0 || snapped(g, x) == x;
}

static bool is_absent(const hn_gene *g, const double *point) {
    for (uint32_t k = 0; k < g->n_slots; k++)
        if (!isnan(point[g->slot + k])) return false;
    return true;
}

static bool fail_active(const hone_space *s, size_t i, const double *point, hone_err *why) {
    char text[32];
    double x = point[s->gene[i].slot];
    if (why && isnan(x))
        hn_fail(why, HONE_E_INPUT, "parameter '%s' is active but absent", s->param[i].name);
    else if (why)
        hn_fail(why, HONE_E_INPUT, "parameter '%s': %s is not in its domain", s->param[i].name,
                hn_double_text(x, text));
    return false;
}

/* Says what is wrong with an active parameter; false when something is. */
static inline bool check_active(const hone_space *s, size_t i, const double *point, hone_err *why) {
    const hn_gene *g = &s->gene[i];
    if (point[g->slot] == point[g->slot] ? in_domain(g, point) : g->optional && is_absent(g, point)) return true;
    return fail_active(s, i, point, why);
}

static bool check_members(const hone_space *s, const hn_cond *cond, const double *point, hone_err *why) {
    bool active = holds(hn_prog_eval(&cond->prog, point));
    for (size_t k = 0; k < cond->n_params; k++) {
        size_t i = cond->param[k];
        if (active ? check_active(s, i, point, why) : is_absent(&s->gene[i], point)) continue;
        if (!active && why)
            hn_fail(why, HONE_E_INPUT, "parameter '%s' has a value but is inactive: '%.200s' does not hold",
                    s->param[i].name, cond->prog.source);
        return false;
    }
    return true;
}

size_t hn_point_broken(const hone_space *space, const double *point) {
    for (size_t i = 0; i < space->n_constraints; i++)
        if (!hn_constraint_holds(space, i, point)) return i;
    return SIZE_MAX;
}

bool hn_point_holds(const hone_space *space, const double *point) { return hn_point_broken(space, point) == SIZE_MAX; }

/* Values are checked before the conditions that read them: a table is never read outside its rows. */
bool hone_point_legal(const hone_space *space, const double *point, hone_err *why) {
    for (size_t i = 0; i < space->n_params; i++)
        if (space->gene[i].cond == HN_NO_COND && !check_active(space, i, point, why)) return false;
    for (size_t c = 0; c < space->n_conds; c++)
        if (!check_members(space, &space->cond[c], point, why)) return false;
    size_t broken = hn_point_broken(space, point);
    if (broken == SIZE_MAX) return true;
    hn_fail(why, HONE_E_INPUT, "constraint '%.400s' is broken", space->constraint[broken]);
    return false;
}

/* --- hash, equality ------------------------------------------------------------------------------------------ */

static uint64_t value_key(const hn_gene *g, double x) {
    double v = x == 0 ? 0.0 : x;
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return hn_mix64(bits ^ g->key);
}

static uint64_t permutation_key(const hn_gene *g, const double *slot) {
    uint64_t h = g->key;
    for (uint32_t k = 0; k < g->n_slots; k++) h = hn_mix64(h ^ g->level_key[(size_t)slot[k]]);
    return h;
}

/* A sum over present parameters of hash(name, value): absent ones add nothing, so a point keeps its hash when
 * parameters absent in it join the space, and when parameters change places. */
uint64_t hone_point_hash(const hone_space *space, const double *point) {
    uint64_t h = 0;
    for (size_t i = 0; i < space->n_params; i++) {
        const hn_gene *g = &space->gene[i];
        double x = point[g->slot];
        if (x != x) continue;
        if (!g->level_key)
            h += value_key(g, x);
        else if (g->kind == HONE_PERMUTATION)
            h += permutation_key(g, point + g->slot);
        else
            h += g->level_key[(size_t)x];
    }
    return hn_mix64(h);
}

bool hone_point_equal(const hone_space *space, const double *a, const double *b) {
    for (size_t i = 0; i < space->n_slots; i++)
        if (!(a[i] == b[i] || (a[i] != a[i] && b[i] != b[i]))) return false;
    return true;
}
