/* backend/gpu/print_tile.c — copies from global to shared memory, and on to other blocks of a cluster, products of
 * tiles by the threads of a warp, and gates at which roles wait for each other. */
#include "backend/gpu/print.h"
#include "nest/mma.h"

void hn_gp_copy(hn_gp *c, const hn_stmt *s) {
    int64_t size = s->count * (int64_t)hn_dtype_of(c->n->buf[s->buf].dtype)->size_b;
    int known = s->n_guard ? hn_gp_known_guards(c, s->n_guard, s->guard) : 1;
    hn_str to = {0}, from = {0}, holds = {0};
    hn_gp_access(c, &to, s->buf, s->at);
    hn_gp_access(c, &from, s->from[0], s->from_at[0]);
    if (known < 0)
        hn_gp_guards(c, &holds, s->n_guard, s->guard);
    else
        hn_str_add(&holds, known ? "1" : "0");
    hn_gp_line(c, "HNR_COPY(%lld, &%s, &%s, %s);", (long long)size, to.text ? to.text : "", from.text ? from.text : "",
               holds.text ? holds.text : "1");
    hn_str_free(&to);
    hn_str_free(&from);
    hn_str_free(&holds);
}

void hn_gp_push(hn_gp *c, const hn_stmt *s) {
    hn_str at = {0};
    hn_gp_access(c, &at, s->buf, s->at);
    hn_gp_line(c, "HNR_PUSH(%lld, %lld, &%s);", (long long)(s->count * hn_dtype_of(c->n->buf[s->buf].dtype)->size_b),
               (long long)c->cluster, at.text ? at.text : "");
    hn_str_free(&at);
}

/* Element i of the registers that operand k of the product begins at. */
static void fragment(hn_gp *c, hn_str *out, const hn_stmt *s, int k, int i) {
    hn_ix at = k == HN_MMA_OF_D ? s->at : s->from_at[k - 1];
    hn_gp_reg(c, out, k == HN_MMA_OF_D ? s->buf : s->from[k - 1], hn_ix_add(c->n, at, hn_ix_int(c->n, i)));
}

/* Operands as words of 32 bits: one element, or two halves, the first one lowest. */
static void words(hn_gp *c, hn_str *out, const hn_stmt *s, int k, const hn_mma *m) {
    int each = hn_is_half(m->dtype) ? 2 : 1;
    for (int i = 0; i < m->map[k].registers; i += each) {
        hn_str x[2] = {{0}, {0}};
        for (int e = 0; e < each; e++) fragment(c, &x[e], s, k, i + e);
        const char *name = hn_dtype_of(m->dtype)->text;
        if (i) hn_str_add(out, ", ");
        if (each == 1)
            hn_str_addf(out, "hnr_float_bits(%s)", x[0].text ? x[0].text : "0");
        else
            hn_str_addf(out, "hnr_float_%s(%s) | (uint32_t)hnr_float_%s(%s) << 16", name, x[0].text ? x[0].text : "0",
                        name, x[1].text ? x[1].text : "0");
        for (int e = 0; e < each; e++) hn_str_free(&x[e]);
    }
}

void hn_gp_mma(hn_gp *c, const hn_stmt *s) {
    const hn_mma *m = hn_mma_at((size_t)s->count);
    hn_str d = {0}, a = {0}, b = {0};
    if (!c->mma) {
        c->why = "products of tiles, which the target has not";
        return;
    }
    for (int i = 0; i < m->map[HN_MMA_OF_D].registers; i++) {
        if (i) hn_str_add(&d, ", ");
        fragment(c, &d, s, HN_MMA_OF_D, i);
    }
    words(c, &a, s, HN_MMA_OF_A, m);
    words(c, &b, s, HN_MMA_OF_B, m);
    hn_gp_line(c, "{");
    c->indent++;
    hn_gp_line(c, "float d_[] = {%s};", d.text ? d.text : "0");
    hn_gp_line(c, "const uint32_t a_[] = {%s}, b_[] = {%s};", a.text ? a.text : "0", b.text ? b.text : "0");
    hn_gp_line(c, "hnr_mma_%s(d_, a_, b_);", m->name);
    for (int i = 0; i < m->map[HN_MMA_OF_D].registers; i++) {
        hn_str to = {0};
        fragment(c, &to, s, HN_MMA_OF_D, i);
        hn_gp_line(c, "%s = d_[%d];", to.text ? to.text : "", i);
        hn_str_free(&to);
    }
    c->indent--;
    hn_gp_line(c, "}");
    hn_str_free(&d);
    hn_str_free(&a);
    hn_str_free(&b);
}

void hn_gp_gate(hn_gp *c, const hn_stmt *s) {
    hn_str at = {0}, phase = {0};
    if (!c->mma) {
        c->why = "gates between roles, which the target has not";
        return;
    }
    hn_gp_access(c, &at, s->buf, s->at);
    if (s->from_at[0]) hn_gp_ix(c, &phase, s->from_at[0]);
    if (s->kind == HN_ST_AWAIT)
        hn_gp_line(c, "HNR_AWAIT(&%s, %s);", at.text ? at.text : "", phase.text ? phase.text : "0");
    else
        hn_gp_line(c, "HNR_ARRIVE%s(&%s);", s->count ? "_COPIES" : "", at.text ? at.text : "");
    hn_str_free(&at);
    hn_str_free(&phase);
}

/* By the first thread, for every slot. */
static void each_slot(hn_gp *c, const char *what, bool with_arrivals) {
    for (hn_buf b = 1; b < c->n->n_buf; b++) {
        int64_t slots = 0;
        if (c->n->buf[b].space != HN_GATE || !hn_dim_is_int(c->n->dims, c->n->buf[b].size, &slots)) continue;
        hn_gp_line(c, "if (HNR_THREAD == 0)");
        if (with_arrivals)
            hn_gp_line(c, "    for (int k = 0; k < %lld; k++) %s(&g%u[k], %lld);", (long long)slots, what,
                       c->n->buf[b].index, (long long)hn_gate_arrivals(c->n, b));
        else
            hn_gp_line(c, "    for (int k = 0; k < %lld; k++) %s(&g%u[k]);", (long long)slots, what,
                       c->n->buf[b].index);
    }
}

static bool has_gates(const hn_nest *n) {
    for (hn_buf b = 1; b < n->n_buf; b++)
        if (n->buf[b].space == HN_GATE) return true;
    return false;
}

void hn_gp_gates_open(hn_gp *c) {
    if (!has_gates(c->n)) return;
    each_slot(c, "HNR_GATE_OPEN", true);
    hn_gp_line(c, "HNR_BARRIER();");
}
void hn_gp_gates_close(hn_gp *c) {
    if (has_gates(c->n)) each_slot(c, "HNR_GATE_CLOSE", false);
}
