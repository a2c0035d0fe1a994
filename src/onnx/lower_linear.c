/* lower_linear.c — MatMul, Gemm, Einsum, Det. */
#include "onnx/lower_fns.h"

void hn_lower_matmul(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val x = hn_in(c, 0), y = hn_in(c, 1);
    if (x && y) hn_out(c, 0, hn_matmul(b, x, y, hn_dt(b, x)));
}

/* alpha * op(A) op(B) + beta * C. Narrow floats: one rounding at the end. */
hn_val hn_gemm(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val x = hn_in(c, 0), y = hn_in(c, 1), z = hn_in(c, 2);
    double alpha = hn_float(c, "alpha", 1), beta = hn_float(c, "beta", 1);
    if (!x || !y) return 0;
    if (hn_rank(b, x) != 2 || hn_rank(b, y) != 2) {
        hn_wrong(c, "its inputs are no matrices");
        return 0;
    }
    hone_dtype t = hn_dt(b, x), w = hn_is_float(t) && hn_dtype_of(t)->bits < 32 ? HONE_F32 : t;
    int64_t lhs[] = {0, 1}, rhs[] = {1, 2}, out[] = {0, 2}, turned_lhs[] = {1, 0}, turned_rhs[] = {2, 1};
    hn_val r = hn_contract(b, x, y, hn_int(c, "transA", 0) ? turned_lhs : lhs,
                           hn_int(c, "transB", 0) ? turned_rhs : rhs, 2, out, w);
    if (alpha != 1) r = hn_bin_f(b, HN_OP_MUL, r, alpha);
    if (z && r) {
        hn_type rt = *hn_t(b, r);
        z = hn_cast(b, z, w);
        if (beta != 1) z = hn_bin_f(b, HN_OP_MUL, z, beta);
        r = hn_bin(b, HN_OP_ADD, r, hn_broadcast_to(b, z, rt.rank, rt.dim));
    }
    return r;
}

void hn_lower_gemm(hn_lower *c) {
    hn_val r = hn_gemm(c);
    if (r) hn_out_as(c, 0, r, hn_dt(hn_lower_builder(c), hn_in(c, 0)));
}

void hn_lower_einsum(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val in[HN_EINSUM_MOST];
    size_t n = hn_n_in(c);
    for (size_t i = 0; i < n && i < HN_EINSUM_MOST; i++) in[i] = hn_in(c, i);
    if (hn_lower_failed(c)) return;
    hn_val y = n && n <= HN_EINSUM_MOST ? hn_einsum(b, hn_string(c, "equation", ""), in, n) : 0;
    if (y)
        hn_out_as(c, 0, y, hn_dt(b, in[0]));
    else if (!hn_lower_failed(c))
        hn_wrong(c, "its equation is no einsum, or does not fit the inputs");
}

void hn_lower_det(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    hn_val x = hn_in(c, 0);
    if (x) hn_out(c, 0, hn_emit(b->g, b->b, HN_OP_DET, 1, &x, 0, NULL, 1));
}
