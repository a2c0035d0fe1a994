/* ir/types_control.c — type rules of what defines symbols and of what has regions. */
#include "ir/types_int.h"

#include <inttypes.h>
#include <string.h>

/* --- sizes that depend on data ----------------------------------------------------------------------------------- */

void hn_rule_none(hn_typing *c) {
    const hn_attr *a = hn_type_attr(c, HN_A_DEFINES);
    hn_type_want(c, 0, HONE_I64);
    hn_type_rank(c, 0, 1, 1);
    if (c->rc) return;
    hn_type_equal(c, c->in[0]->dim[0], hn_dim_int(c->d, a->n), "number of symbols");
    for (size_t i = 0; i < a->n; i++) hn_type_symbol(c, i);
}

static void vector_of(hn_typing *c, hn_type *t, hone_dtype dtype, hn_dim n) {
    *t = (hn_type){.dtype = dtype};
    hn_type_push(c, t, n);
}

void hn_rule_nonzero(hn_typing *c) {
    vector_of(c, c->out, HONE_I64, hn_dim_int(c->d, c->in[0]->rank));
    hn_type_push(c, c->out, hn_type_symbol(c, 0));
}

void hn_rule_unique(hn_typing *c) {
    size_t axis = hn_type_axis(c, c->in[0]->rank);
    hn_dim s = hn_type_symbol(c, 0);
    hn_type_int(c, HN_A_SORTED, 0, 1);
    if (c->rc) return;
    c->out[0] = *c->in[0];
    c->out[0].dim[axis] = s;
    vector_of(c, &c->out[1], HONE_I64, s);
    vector_of(c, &c->out[2], HONE_I64, c->in[0]->dim[axis]);
    vector_of(c, &c->out[3], HONE_I64, s);
}

void hn_rule_nms(hn_typing *c) {
    static const hone_dtype want[] = {HONE_F32, HONE_F32, HONE_I64, HONE_F32, HONE_F32};
    const hn_type *boxes = c->in[0], *scores = c->in[1];
    for (size_t i = 0; i < 5; i++) {
        hn_type_want(c, i, want[i]);
        hn_type_rank(c, i, i < 2 ? 3 : 0, i < 2 ? 3 : 0);
    }
    hn_type_int(c, HN_A_CENTER, 0, 1);
    if (c->rc) return;
    hn_type_equal(c, boxes->dim[0], scores->dim[0], "batches of boxes and scores");
    hn_type_equal(c, boxes->dim[1], scores->dim[2], "numbers of boxes and scores");
    hn_type_equal(c, boxes->dim[2], hn_dim_int(c->d, 4), "coordinates of a box");
    vector_of(c, c->out, HONE_I64, hn_type_symbol(c, 0));
    hn_type_push(c, c->out, hn_dim_int(c->d, 3));
}

/* --- regions ----------------------------------------------------------------------------------------------------- */

/* Block i of `body`, which must have n of them; NULL after a failure. */
static const hn_blk *body_block(hn_typing *c, size_t i, size_t n) {
    const hn_attr *a = hn_type_attr(c, HN_A_BODY);
    if (a && a->n != n) hn_type_wrong(c, "it has %" PRIu32 " regions instead of %zu", a->n, n);
    if (a && !c->rc && (!a->blocks[i] || a->blocks[i] >= c->g->n_block))
        hn_type_wrong(c, "region %zu does not exist", i);
    return c->rc ? NULL : &c->g->block[a->blocks[i]];
}

static const hn_type *result_type(hn_typing *c, const hn_blk *b, size_t i) {
    static const hn_type none;
    hn_val v = b->result[i];
    if (v && v < c->g->n_value) return &c->g->value[v].type;
    hn_type_wrong(c, "result %zu of the region is missing", i);
    return &none;
}

static bool one_type(hn_typing *c, const hn_type *a, const hn_type *b, const char *what, size_t i) {
    if (a->dtype != b->dtype)
        hn_type_wrong(c, "%s %zu: %s differs from %s", what, i, hone_dtype_name(a->dtype), hone_dtype_name(b->dtype));
    if (a->rank != b->rank) hn_type_wrong(c, "%s %zu: rank %u differs from %u", what, i, a->rank, b->rank);
    return !c->rc;
}

void hn_rule_if(hn_typing *c) {
    const hn_blk *yes = body_block(c, 0, 2), *no = body_block(c, 1, 2);
    size_t used = 0;
    hn_type_want(c, 0, HONE_BOOL);
    hn_type_rank(c, 0, 0, 0);
    if (c->rc) return;
    if (yes->n_param || no->n_param) hn_type_wrong(c, "its regions take no parameters");
    if (yes->n_result != c->n_out || no->n_result != c->n_out)
        hn_type_wrong(c, "its regions give %" PRIu32 " and %" PRIu32 " results instead of %zu", yes->n_result,
                      no->n_result, c->n_out);
    for (size_t i = 0; i < c->n_out && !c->rc; i++) {
        const hn_type *a = result_type(c, yes, i), *b = result_type(c, no, i);
        if (!one_type(c, a, b, "result", i)) return;
        c->out[i] = *a;
        for (size_t k = 0; k < a->rank; k++)
            if (hn_dim_equal(c->d, a->dim[k], b->dim[k]) != HN_EQUAL) c->out[i].dim[k] = hn_type_symbol(c, used++);
    }
}

/* True where d is one of the symbols behind the first of `defines`: the size of a carried value, different in every
 * iteration. */
static bool changes(hn_typing *c, hn_dim d) {
    const hn_attr *a = hn_type_attr_maybe(c, HN_A_DEFINES);
    hn_symbol x, y;
    if (!a || !hn_dim_is_symbol(c->d, d, &x)) return false;
    for (size_t i = 1; i < a->n; i++)
        if (hn_dim_is_symbol(c->d, a->dims[i], &y) && x == y) return true;
    return false;
}

static void check_carried(hn_typing *c, const hn_blk *body, size_t i) {
    const hn_type *from = c->in[2 + i], *here = &c->g->value[body->param[2 + i]].type;
    const hn_type *next = result_type(c, body, 1 + i);
    if (!one_type(c, from, here, "carried value", i) || !one_type(c, next, here, "carried value", i)) return;
    for (size_t k = 0; k < here->rank; k++) {
        if (changes(c, here->dim[k])) continue;
        hn_type_equal(c, from->dim[k], here->dim[k], "carried value at the start");
        hn_type_equal(c, next->dim[k], here->dim[k], "carried value after an iteration");
    }
    c->out[i] = *here;
}

static bool loop_fits(hn_typing *c, const hn_blk *body, size_t carried, size_t scans) {
    if (c->rc) return false;
    hn_type_want(c, 0, HONE_I64);
    hn_type_want(c, 1, HONE_BOOL);
    hn_type_rank(c, 0, 0, 0);
    hn_type_rank(c, 1, 0, 0);
    if (body->n_param != 2 + carried || body->n_result != 1 + carried + scans)
        hn_type_wrong(c, "its region has %" PRIu32 " parameters and %" PRIu32 " results instead of %zu and %zu",
                      body->n_param, body->n_result, 2 + carried, 1 + carried + scans);
    if (c->n_out != carried + scans) hn_type_wrong(c, "it has %zu results instead of %zu", c->n_out, carried + scans);
    if (c->rc) return false;
    const hn_type *i = &c->g->value[body->param[0]].type, *go = &c->g->value[body->param[1]].type;
    const hn_type *again = result_type(c, body, 0);
    if (i->dtype != HONE_I64 || i->rank || go->dtype != HONE_BOOL || go->rank || again->dtype != HONE_BOOL ||
        again->rank)
        hn_type_wrong(c, "its region starts with (i64, bool) and gives a bool, all scalars");
    return !c->rc;
}

void hn_rule_loop(hn_typing *c) {
    const hn_blk *body = body_block(c, 0, 1);
    size_t carried = c->n_in - 2, scans = (size_t)hn_type_int(c, HN_A_COUNT, 0, UINT16_MAX);
    if (!loop_fits(c, body, carried, scans)) return;
    for (size_t i = 0; i < carried && !c->rc; i++) check_carried(c, body, i);
    for (size_t i = 0; i < scans && !c->rc; i++) {
        const hn_type *each = result_type(c, body, 1 + carried + i);
        hn_type *out = &c->out[carried + i];
        vector_of(c, out, each->dtype, hn_type_symbol(c, 0));
        for (size_t k = 0; k < each->rank; k++) hn_type_push(c, out, each->dim[k]);
    }
}

void hn_rule_block(hn_typing *c) {
    const hn_blk *body = body_block(c, 0, 1);
    if (c->rc) return;
    if (body->n_param != c->n_in || body->n_result != c->n_out) {
        hn_type_wrong(c, "its region has %" PRIu32 " parameters and %" PRIu32 " results instead of %zu and %zu",
                      body->n_param, body->n_result, c->n_in, c->n_out);
        return;
    }
    for (size_t i = 0; i < c->n_in && !c->rc; i++) {
        const hn_type *param = &c->g->value[body->param[i]].type;
        if (one_type(c, c->in[i], param, "input", i)) hn_type_one_shape(c, c->in[i], param, "shape of a parameter");
    }
    for (size_t i = 0; i < c->n_out && !c->rc; i++) c->out[i] = *result_type(c, body, i);
}
