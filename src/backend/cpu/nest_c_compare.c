/* backend/cpu/nest_c_compare.c — comparisons of indices, in vectors of 32 bits.
 *
 * Indices are integers of 64 bits, of which a vector register holds few, and which no instruction set before AVX-512
 * compares well. But what is compared grows evenly from lane to lane: the difference in the first lane, brought near
 * zero, and small multiples of the step have the same sign in 32 bits.
 */
#include "backend/cpu/nest_c.h"
#include "backend/spelling.h"

enum { CONSTANT_MAX = 1 << 30, NEAR = 1 << 30, DEPTH_MAX = 16 };

/* Is x a sum of indices and small constants, which no sum takes beyond 64 bits? Then *at is that sum. */
static bool is_index(hn_c *c, hn_sv id, int depth, hn_ix *at) {
    const hn_scalar x = c->n->sv[id];
    hn_ix b;
    if (x.dtype != HONE_I64 || depth > DEPTH_MAX) return false;
    if (x.kind == HN_SV_INDEX) return *at = x.at, true;
    if (x.kind == HN_SV_CONST && x.i > -CONSTANT_MAX && x.i < CONSTANT_MAX) return *at = hn_ix_int(c->n, x.i), true;
    if (x.kind != HN_SV_OP || (x.op != HN_OP_ADD && x.op != HN_OP_SUB)) return false;
    if (!is_index(c, x.arg[0], depth + 1, at) || !is_index(c, x.arg[1], depth + 1, &b)) return false;
    *at = x.op == HN_OP_ADD ? hn_ix_add(c->n, *at, b) : hn_ix_sub(c->n, *at, b);
    return true;
}

static bool is_near(hn_c *c, hn_ix at) {
    hn_dim low = hn_ix_low(c->n, at), high = hn_ix_high(c->n, at);
    int64_t a, b;
    return low && high && hn_dim_is_int(c->n->dims, low, &a) && hn_dim_is_int(c->n->dims, high, &b) && a > -NEAR &&
           b < NEAR;
}

/* The lanes in which `at` compares so with 0; false: it does not grow evenly. */
static bool compared(hn_c *c, hn_str *out, hn_ix at, const char *how) {
    int64_t step;
    if (!hn_c_step(c, at, &step) || step > NEAR / c->width || step < -NEAR / c->width) return false;
    bool near = is_near(c, at);
    hn_str_addf(out, near ? "(hnk_dup_i32_x%d((int32_t)(" : "(hnk_dup_i32_x%d((int32_t)hn_max(hn_min(", c->width);
    hn_c_ix(c, out, at, "0");
    if (!near) hn_str_addf(out, ", %d), -%d", NEAR, NEAR);
    hn_str_addf(out, ")) + (hnk_i32_x%d){", c->width);
    for (int l = 0; l < c->width; l++) hn_str_addf(out, "%s%lld", l ? ", " : "", (long long)(l * step));
    hn_str_addf(out, "} %s 0)", how);
    return true;
}

bool hn_c_compare(hn_c *c, hn_str *out, const hn_scalar *x) {
    const char *how = hn_spellings[x->op].turned;
    hn_ix a, b;
    if (!how || !is_index(c, x->arg[0], 0, &a) || !is_index(c, x->arg[1], 0, &b)) return false;
    return compared(c, out, hn_ix_sub(c->n, b, a), how);
}

bool hn_c_guard_mask(hn_c *c, hn_str *out, uint32_t n, const hn_ix *guard) {
    for (uint32_t k = 0; k < n; k++) {
        if (k) hn_str_add(out, " & ");
        if (!compared(c, out, guard[k], ">=")) return false;
    }
    return n > 0;
}
