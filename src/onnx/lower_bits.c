/* onnx/lower_bits.c — com.microsoft MatMulNBits and GatherBlockQuantized. Constant weights in blocks of whole 32
 * elements stay packed (docs/packed-weights.md); with accuracy_level 4 the other operand is rounded to int8, else
 * nothing is. */
#include "compose/packed.h"
#include "ir/packed.h"
#include "onnx/lower_contrib_int.h"

#include <string.h>

static hn_val f32(hn_builder *b, hn_val v) { return hn_cast(b, v, HONE_F32); }

/* ---- MatMulNBits: weights of 2, 4 or 8 bits in blocks along K, low bits first ---- */

/* u8 [..., bytes] as i32 [..., bytes * 8 / bits]. */
static hn_val unpacked(hn_builder *b, hn_val v, int64_t bits) {
    hn_val part[4];
    size_t rank = hn_rank(b, v), n = (size_t)(8 / bits);
    hn_dim shape[HN_RANK_MAX];
    if (!v) return 0;
    for (size_t i = 0; i < n; i++) {
        hn_val x = hn_bin(b, HN_OP_SHR, v, hn_const_i(b, HONE_U8, (int64_t)i * bits));
        x = hn_bin(b, HN_OP_AND, x, hn_const_i(b, HONE_U8, (1 << bits) - 1));
        part[i] = hn_unsqueeze(b, hn_cast(b, x, HONE_I32), -1);
    }
    for (size_t i = 0; i < rank; i++) shape[i] = hn_dim_of(b, v, i);
    shape[rank - 1] = hn_dim_mul(b->g->dims, shape[rank - 1], hn_lit(b, (int64_t)n));
    return hn_reshape(b, n == 1 ? part[0] : hn_concat(b, n, part, -1), rank, shape);
}

typedef struct bits {
    int64_t k, n, bits, block, blocks;
} bits;

/* One per block, [n, blocks, 1] in f32: packed like the weights, floats as they are, or the middle of the range. */
static hn_val block_zero(hn_lower *c, const bits *s) {
    hn_builder *b = hn_lower_builder(c);
    hn_val v = hn_in(c, 3);
    hn_dim n = hn_lit(b, s->n), each = hn_lit(b, s->blocks), one = hn_lit(b, 1);
    if (!v) return hn_const_f(b, HONE_F32, (double)(1 << (s->bits - 1)));
    if (hn_dt(b, v) != HONE_U8) return f32(b, hn_reshape(b, v, 3, (hn_dim[]){n, each, one}));
    hn_dim bytes = hn_lit(b, (s->blocks * s->bits + 7) / 8);
    v = unpacked(b, hn_reshape(b, v, 2, (hn_dim[]){n, bytes}), s->bits);
    v = hn_slice_axis(b, v, 1, hn_lit(b, 0), each, 1);
    return f32(b, hn_reshape(b, v, 3, (hn_dim[]){n, each, one}));
}

static bool read_bits(hn_lower *c, bits *s) {
    s->k = hn_int(c, "K", 0);
    s->n = hn_int(c, "N", 0);
    s->bits = hn_int(c, "bits", 4);
    s->block = hn_int(c, "block_size", 0);
    if (s->bits != 2 && s->bits != 4 && s->bits != 8) {
        hn_refuse(c, "weights of %lld bits", (long long)s->bits);
        return false;
    }
    if (s->k < 1 || s->n < 1 || s->block < 1 || s->k > INT32_MAX || s->n > INT32_MAX || s->block > INT32_MAX ||
        s->block * s->bits % 8) {
        hn_wrong(c, "'K', 'N' and 'block_size' must be positive, a block whole bytes");
        return false;
    }
    if (hn_in(c, 4)) {
        hn_refuse(c, "g_idx");
        return false;
    }
    s->blocks = (s->k + s->block - 1) / s->block;
    return true;
}

/* --- weights that stay packed --------------------------------------------------------------------------------------
 */

static const hn_tensor *known(hn_lower *c, size_t i) {
    hn_builder *b = hn_lower_builder(c);
    const hn_node *n = hn_in(c, i) ? hn_def(b->g, hn_in(c, i)) : NULL;
    return n && n->op == HN_OP_CONST ? hn_attr_get(n, HN_A_VALUE)->tensor : hn_known_tensor(b, hn_in(c, i));
}

typedef struct blocks {
    const bits *s;
    const uint8_t *packed, *zeros;     /* zeros: packed by rows */
    const hn_tensor *scales, *zero_of; /* zero_of: as floats */
    int64_t zero_b;                    /* bytes of a row of zeros */
} blocks;

static int at_bits(const uint8_t *p, int64_t i, int64_t width) {
    return p[i * width / 8] >> (i * width % 8) & ((1 << width) - 1);
}

static double zero_at(const blocks *x, int64_t row, int64_t block) {
    if (x->zero_of) return hn_get_f(x->zero_of, row * x->s->blocks + block);
    return x->zeros ? at_bits(x->zeros + row * x->zero_b, block, x->s->bits) : 1 << (x->s->bits - 1);
}

/* A half float of this value; false: there is none. */
static bool as_half(float x, uint8_t out[2]) {
    hn_tensor one = {.dtype = HONE_F16, .data = out};
    hn_set_f(&one, 0, (double)x);
    return hn_get_f(&one, 0) == (double)x;
}

/* Are all scales half floats, and all zero points the middle? Then GGUF's codecs hold the blocks. */
static bool plain_blocks(const blocks *x) {
    uint8_t half[2];
    if (x->s->bits < 4) return false;
    for (int64_t r = 0; r < x->s->n; r++)
        for (int64_t k = 0; k < x->s->blocks; k++)
            if (zero_at(x, r, k) != (double)(1 << (x->s->bits - 1)) ||
                !as_half((float)hn_get_f(x->scales, r * x->s->blocks + k), half))
                return false;
    return true;
}

/* 32 elements from k on of a row in a codec's block. */
static void put_block(const blocks *x, bool plain, int64_t row, int64_t k, uint8_t *out) {
    int64_t block = k / x->s->block, row_b = x->s->blocks * x->s->block * x->s->bits / 8;
    const uint8_t *from = x->packed + row * row_b;
    float scale = (float)hn_get_f(x->scales, row * x->s->blocks + block);
    float low = -(scale * (float)zero_at(x, row, block));
    if (plain) {
        as_half(scale, out);
        out += 2;
    } else {
        memcpy(out, &scale, 4);
        memcpy(out + 4, &low, 4);
        out += 8;
    }
    for (int64_t i = 0; i < 32; i++) {
        int q = at_bits(from, k + i, x->s->bits);
        if (x->s->bits == 8)
            out[i] = (uint8_t)(plain ? q - 128 : q);
        else
            out[i % 16] = (uint8_t)(i < 16 ? q : out[i % 16] | q << 4);
    }
}

/* The weights as they are, repacked without rounding where a codec can hold them; 0: they become floats. */
static hn_val packed(hn_lower *c, const bits *s) {
    hn_builder *b = hn_lower_builder(c);
    const hn_tensor *w = known(c, 1), *zero = hn_in(c, 3) ? known(c, 3) : NULL;
    blocks x = {.s = s, .scales = known(c, 2), .zero_b = (s->blocks * s->bits + 7) / 8};
    if (!w || w->dtype != HONE_U8 || !x.scales || (hn_in(c, 3) && !zero) || s->block % 32 || s->k % 32) return 0;
    if (hn_tensor_n(w) != s->n * s->blocks * s->block * s->bits / 8 || hn_tensor_n(x.scales) != s->n * s->blocks)
        return 0;
    if (zero && hn_tensor_n(zero) != (zero->dtype == HONE_U8 ? s->n * x.zero_b : s->n * s->blocks)) return 0;
    if (zero && zero->dtype == HONE_U8) x.zeros = zero->data;
    if (zero && zero->dtype != HONE_U8) x.zero_of = zero;
    x.packed = w->data;
    bool plain = plain_blocks(&x);
    const hn_codec *codec = hn_codec_named(s->bits == 8 ? plain ? "q8_0" : "n8" : plain ? "q4_0" : "n4");
    int64_t row_b = hn_codec_row_b(codec, s->k), dim[2] = {s->n, row_b};
    hn_tensor out;
    if (!hn_tensor_new(&b->g->arena, HONE_U8, 2, dim, &out)) return 0;
    for (int64_t r = 0; r < s->n; r++)
        for (int64_t k = 0; k < s->k; k += 32)
            put_block(&x, plain, r, k, (uint8_t *)out.data + r * row_b + k / 32 * codec->size_b);
    const hn_dim shape[2] = {hn_lit(b, s->n), hn_lit(b, s->k)};
    return hn_unpack(b, hn_const(b, &out), codec, 2, shape, hn_int(c, "accuracy_level", 0) == 4 ? HN_INT8 : HN_FLOAT);
}

/* All elements as floats. */
static hn_val decoded(hn_lower *c, const bits *s) {
    hn_builder *b = hn_lower_builder(c);
    hn_dim n = hn_lit(b, s->n), each = hn_lit(b, s->blocks), flat[2] = {n, hn_lit(b, s->blocks * s->block)};
    hn_val w = hn_reshape(b, hn_in(c, 1), 3, (hn_dim[]){n, each, hn_lit(b, s->block * s->bits / 8)});
    w = hn_bin(b, HN_OP_SUB, f32(b, unpacked(b, w, s->bits)), block_zero(c, s));
    w = hn_bin(b, HN_OP_MUL, w, f32(b, hn_reshape(b, hn_in(c, 2), 3, (hn_dim[]){n, each, hn_lit(b, 1)})));
    return hn_slice_axis(b, hn_reshape(b, w, 2, flat), 1, hn_lit(b, 0), hn_lit(b, s->k), 1);
}

void hn_lower_matmul_bits(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    bits s;
    if (!hn_need(c, 3) || !read_bits(c, &s)) return;
    hn_val in = hn_in(c, 0), x = hn_work(b, in), w = hn_dt(b, x) == HONE_F32 ? packed(c, &s) : 0, y;
    if (w)
        y = hn_weight_product(b, x, w);
    else
        y = hn_matmul(b, x, hn_swap(b, decoded(c, &s), 0, 1), hn_dt(b, x));
    if (hn_in(c, 5)) y = hn_bin(b, HN_OP_ADD, y, hn_cast(b, hn_in(c, 5), hn_dt(b, y)));
    hn_out(c, 0, hn_cast(b, y, hn_dt(b, in)));
}

/* ---- GatherBlockQuantized: rows of an embedding in blocks; of u8 several elements a byte, as above ---- */

typedef struct gathered {
    int64_t bits, block;
    size_t along, axis; /* of the data: what is gathered, what the blocks lie along */
    bool bytes;         /* data are u8 */
} gathered;

static bool read_gathered(hn_lower *c, gathered *s) {
    hn_builder *b = hn_lower_builder(c);
    int64_t rank = (int64_t)hn_rank(b, hn_in(c, 0)), along = hn_int(c, "gather_axis", 0),
            axis = hn_int(c, "quantize_axis", 1);
    *s = (gathered){.bits = hn_int(c, "bits", 4), .block = hn_int(c, "block_size", 128)};
    s->bytes = hn_dt(b, hn_in(c, 0)) == HONE_U8;
    if (along < 0) along += rank;
    if (axis < 0) axis += rank;
    if (along < 0 || axis < 0 || along >= rank || axis >= rank || along == axis || s->block < 1 ||
        s->block > INT32_MAX) {
        hn_wrong(c, "'gather_axis' and 'quantize_axis' must be two dimensions of the data, 'block_size' positive");
        return false;
    }
    s->along = (size_t)along, s->axis = (size_t)axis;
    if (s->bytes && ((s->bits != 2 && s->bits != 4 && s->bits != 8) || axis != rank - 1)) {
        hn_refuse(c, "%lld bits along dimension %lld of %lld", (long long)s->bits, (long long)axis, (long long)rank);
        return false;
    }
    return true;
}

void hn_lower_gather_bits(hn_lower *c) {
    hn_builder *b = hn_lower_builder(c);
    gathered s;
    if (!hn_need(c, 3) || !read_gathered(c, &s)) return;
    hn_val scale = hn_in(c, 2), zero = hn_in(c, 3), y = hn_gather(b, hn_in(c, 0), hn_in(c, 1), (int64_t)s.along);
    hone_dtype t = hn_dt(b, scale);
    if (hn_rank(b, scale) != hn_rank(b, hn_in(c, 0)) || (zero && hn_rank(b, zero) != hn_rank(b, scale))) {
        hn_wrong(c, "data, scales and zero points must have the same number of dimensions");
        return;
    }
    size_t axis = s.axis < s.along ? s.axis : s.axis - 1 + hn_rank(b, hn_in(c, 1));
    scale = f32(b, hn_gather(b, scale, hn_in(c, 1), (int64_t)s.along));
    if (zero) zero = hn_gather(b, zero, hn_in(c, 1), (int64_t)s.along);
    y = f32(b, s.bytes ? unpacked(b, y, s.bits) : y);
    if (zero && s.bytes)
        zero = hn_slice_axis(b, unpacked(b, zero, s.bits), (int64_t)axis, hn_lit(b, 0), hn_dim_of(b, scale, axis), 1);
    if (zero)
        y = hn_bin(b, HN_OP_SUB, y, hn_spread_blocks(b, f32(b, zero), y, axis, s.block));
    else if (s.bytes)
        y = hn_bin_f(b, HN_OP_SUB, y, (double)(1 << (s.bits - 1)));
    hn_out(c, 0, hn_cast(b, hn_bin(b, HN_OP_MUL, y, hn_spread_blocks(b, scale, y, axis, s.block)), t));
}
