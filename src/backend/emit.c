/* backend/emit.c — a kernel's body as code, as far as all backends share it: lowered to a loop nest, scheduled by a
 * sketch, verified, handed to the backend's printer. */
#include "backend/backend.h"
#include "base/err.h"
#include "nest/barrier.h"
#include "nest/schedule.h"

#include <string.h>

/* Result 0 may take the memory of a parameter of its type that is read only at the element being written. */
static uint64_t in_place(const hn_nest *n, hn_graph *g, hn_block body) {
    const hn_blk *b = &g->block[body];
    uint64_t may = 0;
    hn_ix at = 0;
    if (b->n_result != 1) return 0;
    for (hn_st s = 1; s < n->n_st; s++) {
        if (n->st[s].kind != HN_ST_STORE || n->buf[n->st[s].buf].space != HN_RESULT) continue;
        if (at && at != n->st[s].at) return 0;
        at = n->st[s].at;
    }
    for (uint32_t p = 0; p < b->n_param && p < 64; p++) {
        if (!hn_type_same(g, hn_type_of(g, b->param[p]), hn_type_of(g, b->result[0]))) continue;
        bool same = true;
        for (hn_sv x = 1; x < n->n_sv && same; x++)
            if (n->sv[x].kind == HN_SV_LOAD && hn_nest_constant(n, n->sv[x].buf) && n->buf[n->sv[x].buf].index == p)
                same = n->sv[x].at == at && n->sv[x].buf == p + 1;
        if (same) may |= UINT64_C(1) << p;
    }
    return may;
}

static void find_work(hn_nest *n, hn_kernel_code *out) {
    hn_dim work = hn_dim_int(n->dims, 1), e, *by = HN_NEW_N(n->a, hn_dim, HN_RANK_MAX + 4);
    uint32_t n_by = 0;
    hn_st at = n->first;
    while (at && (n->st[at].kind != HN_ST_LOOP || n->st[at].loop != HN_PARALLEL)) at = n->st[at].next;
    while (at) {
        if (n->st[at].kind == HN_ST_LET) {
            at = n->st[at].next;
            continue;
        }
        if (n->st[at].kind != HN_ST_LOOP || n->st[at].loop != HN_PARALLEL) break;
        if (hn_ix_is_dim(n, n->extent[n->st[at].var], &e)) {
            work = hn_dim_mul(n->dims, work, e);
            if (by && n_by < HN_RANK_MAX + 4) by[n_by++] = e;
        }
        at = n->st[at].body;
    }
    out->work = work;
    out->work_by = by;
    out->n_work_by = n_by;
}

/* Has the nest only such loops and buffers as the backend takes? */
static bool takes(const hn_backend *b, const hn_nest *n) {
    for (hn_st s = 1; s < n->n_st; s++)
        if (n->st[s].kind == HN_ST_LOOP && !(b->loops & HN_BIT(n->st[s].loop))) return false;
    for (hn_buf i = 1; i < n->n_buf; i++)
        if (!(b->spaces & HN_BIT(n->buf[i].space))) return false;
    return true;
}

/* A body's nest as the target's kernels take it. */
static hone_rc lower(hn_graph *g, hn_block body, const char *kind, const hn_emit_how *how, hn_arena *a, hn_nest **out,
                     hone_err *err) {
    hone_rc rc = hn_nest_lower(g, body, kind, a, out, err);
    if (!rc && hn_takes_pairs(how->dialect)) hn_nest_take_pairs(*out, (*out)->first);
    return rc;
}

/* What every sketch has where products of pairs of bf16 are to be multiplied: by the instruction, where the target has
 * it, or one by one. */
#define PAIRS "pairs"
static bool fit(const hn_sketch *s, hn_nest *n, const hn_emit_how *how, hn_knobs *out) {
    if (!s->fits(n, &how->machine, out)) return false;
    if (hn_nest_has_pairs(n) && out->n < HN_KNOBS_MAX)
        out->knob[out->n++] =
            (hn_knob){.name = PAIRS, .n = how->dialect->pairs ? 2 : 1, .value = {0, 1}, .model = how->machine.pairs};
    return true;
}

static bool apply(const hn_sketch *s, hn_nest *n, const hn_machine *m, const hn_knobs *k, const int64_t *setting,
                  const char **why) {
    bool has = k->n && !strcmp(k->knob[k->n - 1].name, PAIRS);
    if (!s->apply(n, m, setting, why)) return false;
    if (has && !setting[k->n - 1]) hn_nest_part_pairs(n, n->first);
    return true;
}

/* One try: lowered, scheduled, checked, written. E_UNSUPPORTED: another sketch may do. */
static hone_rc emit_with(hn_graph *g, hn_block body, const char *kind, const char *name, const hn_emit_how *how,
                         const hn_sketch *s, hn_arena *a, hn_kernel_code *out, hone_err *err) {
    const hn_backend *b = how->dialect->backend;
    hn_nest *n;
    hn_kernel_code code = {0};
    hn_knobs knobs = {0};
    int64_t setting[HN_KNOBS_MAX] = {0};
    char text[HN_SKETCH_TEXT_MAX];
    const char *why = "";
    hone_rc rc = lower(g, body, kind, how, a, &n, err);
    if (rc) return rc;
    bool fits = fit(s, n, how, &knobs);
    if (!fits) return hn_fail(err, how->schedule ? HONE_E_INPUT : HONE_E_UNSUPPORTED, "'%s' does not fit", s->name);
    if ((rc = hn_sketch_read(how->schedule ? how->schedule : s->name, s, &knobs, setting, err))) return rc;
    code.in_place = in_place(n, g, body);
    if (!apply(s, n, &how->machine, &knobs, setting, &why))
        return hn_fail(err, HONE_E_UNSUPPORTED, "%s: %s", s->name, why);
    if (b->sum_block) hn_nest_block_sums(n, b->sum_block);
    if (!takes(b, n)) return hn_fail(err, HONE_E_UNSUPPORTED, "backend '%s' takes no such nest", b->name);
    if (n->repeats) code.in_place = 0;
    if (!(rc = hn_nest_barriers(n, err))) rc = hn_nest_verify_device(n, &how->machine, err);
    if (rc == HONE_E_INPUT) rc = HONE_E_UNSUPPORTED; /* a defect of hone: the reference is used */
    if (rc) return rc;
    hn_sketch_text(s, &knobs, setting, text);
    if ((rc = b->print(n, name, how, &code, err))) return rc;
    if (how->nest) hn_nest_print(n, how->nest);
    code.schedule = hn_strdup(a, text);
    find_work(n, &code);
    *out = code;
    return HONE_OK;
}

/* The backend's sketch of that name. */
static const hn_sketch *sketch_of(const hn_backend *b, const char *name, size_t n) {
    const hn_sketch *const *s = b->sketches;
    while (*s && (strlen((*s)->name) != n || memcmp((*s)->name, name, n) != 0)) s++;
    return *s;
}

hone_rc hn_emit_kernel(hn_graph *g, hn_block body, const char *kind, const char *name, const hn_emit_how *how,
                       hn_arena *a, hn_kernel_code *out, hone_err *err) {
    const hn_backend *b = how->dialect->backend;
    const char *want = how->schedule;
    if (!b->print) return hn_fail(err, HONE_E_UNSUPPORTED, "backend '%s' takes no nests", b->name);
    if (b->whole) {
        hone_rc whole = b->whole(g, body, name, how, a, out, err);
        if (whole != HONE_E_UNSUPPORTED) return whole;
    }
    if (want) {
        const hn_sketch *s = sketch_of(b, want, strcspn(want, " "));
        if (!s) return hn_fail(err, HONE_E_INPUT, "there is no schedule '%.*s'", (int)strcspn(want, " "), want);
        return emit_with(g, body, kind, name, how, s, a, out, err);
    }
    hone_rc rc = HONE_E_UNSUPPORTED;
    for (size_t i = 0; b->sketches[i] && rc == HONE_E_UNSUPPORTED; i++)
        rc = emit_with(g, body, kind, name, how, b->sketches[i], a, out, err);
    return rc;
}

hone_rc hn_emit_reference(hn_graph *g, hn_block body, const char *name, const hn_dialect *d, hn_arena *a,
                          hn_kernel_code *out, hone_err *err) {
    return d->backend->reference(g, body, name, a, out, err);
}

size_t hn_emit_sketches(hn_graph *g, hn_block body, const char *kind, const hn_emit_how *how, hn_arena *a,
                        hn_sketch_fit *list, size_t room) {
    size_t count = 0;
    hone_err ignored = {0};
    const hn_backend *b = how->dialect->backend;
    hn_nest *n;
    hn_sketch_fit whole = {0};
    if (room && b->whole_fit && b->whole_fit(g, body, &how->machine, &whole)) {
        list[count] = whole;
        if (!whole.beside || whole.first) count++;
        if (!whole.beside) return count;
    }
    if (!b->print || lower(g, body, kind, how, a, &n, &ignored)) return count;
    for (size_t i = 0; b->sketches[i] && count < room; i++) {
        list[count] = (hn_sketch_fit){.sketch = b->sketches[i]};
        if (fit(b->sketches[i], n, how, &list[count].knobs)) count++;
    }
    if (whole.beside && !whole.first && count < room) list[count++] = whole;
    return count;
}

bool hn_is_winograd(const char *schedule) {
    const size_t n = strlen(HN_WINOGRAD_SCHEDULE);
    return schedule && !strncmp(schedule, HN_WINOGRAD_SCHEDULE, n) && (!schedule[n] || schedule[n] == ' ');
}

/* --- symbols that a node defines -----------------------------------------------------------------------------------
 */

bool hn_defines_sizes(const hn_node *n) {
    return n->op == HN_OP_NONZERO || n->op == HN_OP_UNIQUE || n->op == HN_OP_NMS;
}

/* The most elements that output k of a symbol-defining node can have. */
hn_dim hn_most_elements(hn_graph *g, const hn_node *n, size_t k) {
    hn_dims *t = g->dims;
    const hn_type *in = hn_type_of(g, n->in[n->op == HN_OP_NMS]);
    hn_dim all = hn_type_count(g, in);
    if (n->op == HN_OP_NONZERO) return hn_dim_mul(t, all, hn_dim_int(t, in->rank));
    if (n->op == HN_OP_NMS) return hn_dim_mul(t, all, hn_dim_int(t, 3));
    return k == 0 ? all : in->dim[hn_attr_i(n, HN_A_AXIS, 0)];
}

hn_dim hn_kernel_room(hn_graph *g, hn_block body, size_t index) {
    hn_val v = g->block[body].result[index];
    const hn_node *n = hn_def(g, v);
    return n && hn_defines_sizes(n) ? hn_most_elements(g, n, g->value[v].index) : 0;
}
