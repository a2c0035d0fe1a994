/* backend/cpu/nest_c_across.c — squares of floats, and of truth values, turned in registers.
 *
 * A load that is contiguous along an unrolled loop and strided along the vector loop, both of one length w, is w
 * vectors of w strided elements each. It is written as w contiguous loads and a transposition by log2(w) rounds of
 * shuffles. Of floats each exchanges one bit of the row's number with one of the lane's (Eklundh, "A fast computer
 * method for matrix transposing", IEEE Trans. Computers C-21, 1972). Of bytes each takes the elements of two rows that
 * lie half of the rows apart in turns, which processors have an instruction for (a mask read byte by byte was half
 * of the time of attention).
 */
#include "backend/cpu/nest_c.h"

#include <stdio.h>
#include <string.h>

static bool stride_of(hn_c *c, const hn_scalar *x, int lane, hn_dim *stride) {
    return hn_ix_stride(c->n, x->at, c->lane[lane].var, stride);
}

/* The unrolled loop along which x is contiguous; -1: x is no square. */
static int square(hn_c *c, const hn_scalar *x, uint32_t mask, hn_dim *stride) {
    int vector = hn_c_vector_lane(c);
    hn_dim along;
    int64_t one;
    if (x->kind != HN_SV_LOAD || x->n_guard || c->width < (x->dtype == HONE_BOOL ? 8 : 4)) return -1;
    if (x->dtype != HONE_BOOL && x->dtype != HONE_F32) return -1;
    if (c->n->buf[x->buf].space == HN_REG || vector < 0 || !(mask >> vector & 1)) return -1;
    if (!stride_of(c, x, vector, stride) || hn_c_unit_stride(c, x->at)) return -1;
    for (int k = 0; k < c->n_lane; k++)
        if (!c->lane[k].vector && mask >> k & 1 && c->lane[k].n == c->width && stride_of(c, x, k, &along) &&
            hn_dim_is_int(c->n->dims, along, &one) && one == 1)
            return k;
    return -1;
}

static void shuffle(hn_str *s, int w, int row, int bit, char from, char to) {
    int low = row & ~bit;
    hn_str_addf(s, "    const hnk_f32_x%d %c%d = __builtin_shufflevector(%c%d, %c%d", w, to, row, from, low, from,
                low | bit);
    for (int l = 0; l < w; l++) {
        bool second = (l & bit) != 0;
        hn_str_addf(s, ", %d", row & bit ? (second ? w + l : l + bit) : (second ? w + l - bit : l));
    }
    hn_str_add(s, ");\n");
}

/* Row `to` of a round: the elements of rows to / 2 and to / 2 + w / 2 in turns, of their lower halves or upper ones. */
static void in_turns(hn_str *s, int w, int to, char from) {
    hn_str_addf(s, "    const hnk_u8_x%d %c%d = __builtin_shufflevector(%c%d, %c%d", w, from + 1, to, from, to / 2,
                from, to / 2 + w / 2);
    for (int l = 0; l < w; l++) hn_str_addf(s, ", %d", (to % 2 * w + l) / 2 + (l % 2 ? w : 0));
    hn_str_add(s, ");\n");
}

static void function_of_bools(hn_c *c) {
    char head[32];
    int w = c->width;
    snprintf(head, sizeof head, "HNK_ACROSS_BOOL_X%d", w);
    if (!hn_c_once(c, head)) return;
    hn_str *s = c->folds;
    hn_str_addf(s, "HNR __attribute__((always_inline)) void hnk_across_bool_x%d(const hnr_bool *p, int64_t n, ", w);
    hn_str_addf(s, "hnk_i32_x%d *v) {\n", w);
    for (int r = 0; r < w; r++)
        hn_str_addf(s, "    const hnk_u8_x%d a%d = *(const hnk_u8_x%du *)(p + %d*n);\n", w, r, w, r);
    char from = 'a';
    for (int bit = 1; bit < w; bit *= 2, from++)
        for (int r = 0; r < w; r++) in_turns(s, w, r, from);
    for (int r = 0; r < w; r++) hn_str_addf(s, "    v[%d] = hnk_mask_u8_x%d(%c%d != 0);\n", r, w, from, r);
    hn_str_add(s, "}\n#endif\n");
}

static void function(hn_c *c) {
    char head[32];
    int w = c->width;
    snprintf(head, sizeof head, "HNK_ACROSS_X%d", w);
    if (!hn_c_once(c, head)) return;
    hn_str *s = c->folds;
    hn_str_addf(s,
                "HNR __attribute__((always_inline)) void hnk_across_f32_x%d(const float *p, int64_t n, hnk_f32_x%d *v) "
                "{\n",
                w, w);
    for (int r = 0; r < w; r++)
        hn_str_addf(s, "    const hnk_f32_x%d a%d = *(const hnk_f32_x%du *)(p + %d*n);\n", w, r, w, r);
    char from = 'a';
    for (int bit = 1; bit < w; bit *= 2, from++)
        for (int r = 0; r < w; r++) shuffle(s, w, r, bit, from, (char)(from + 1));
    for (int r = 0; r < w; r++) hn_str_addf(s, "    v[%d] = %c%d;\n", r, from, r);
    hn_str_add(s, "}\n#endif\n");
}

static void turned(hn_c *c, hn_sv id, int along, hn_dim stride) {
    const hn_scalar *x = &c->n->sv[id];
    hn_str at = {0}, step = {0}, name = {0};
    const hn_nbuf *b = &c->n->buf[x->buf];
    hn_lane *l = &c->lane[along];
    l->at = 0;
    hn_c_ix(c, &at, x->at, "0");
    hn_c_dim(c, &step, stride);
    hn_c_name(c, &name, id);
    const bool is_bool = x->dtype == HONE_BOOL;
    const char *type = is_bool ? "i32" : "f32";
    hn_c_line(c, "hnk_%s_x%d sq_%s[%d];", type, c->width, name.text, c->width);
    hn_c_line(c, "hnk_across_%s_x%d(&%c%u[%s], %s, sq_%s);", is_bool ? "bool" : "f32", c->width,
              b->space == HN_PARAM ? 'p' : 't', b->index, at.text, step.text, name.text);
    for (l->at = 0; l->at < l->n; l->at++) {
        hn_str one = {0};
        hn_c_name(c, &one, id);
        hn_c_line(c, "const hnk_%s_x%d %s = sq_%s[%lld];", type, c->width, one.text, name.text, (long long)l->at);
        hn_str_free(&one);
    }
    l->at = 0;
    hn_str_free(&at);
    hn_str_free(&step);
    hn_str_free(&name);
}

static void each(hn_c *c, hn_sv id, int k, int along, hn_dim stride) {
    if (k == c->n_lane) {
        turned(c, id, along, stride);
        return;
    }
    hn_lane *l = &c->lane[k];
    int64_t n = !l->vector && k != along && c->sv_mask[id] >> k & 1 ? l->n : 1;
    for (l->at = 0; l->at < n; l->at++) each(c, id, k + 1, along, stride);
    l->at = 0;
}

bool hn_c_across(hn_c *c, hn_sv id) {
    hn_dim stride;
    int along = square(c, &c->n->sv[id], c->sv_mask[id], &stride);
    if (along < 0) return false;
    c->n->sv[id].dtype == HONE_BOOL ? function_of_bools(c) : function(c);
    each(c, id, 0, along, stride);
    return true;
}
