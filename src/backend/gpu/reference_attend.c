/* backend/gpu/reference_attend.c — attention over keys and values in blocks of a pool, on a device: the work is in
 * src/backend/gpu/rt/c_attend.h, an item is a block of threads. */
#include "backend/cpu/reference_int.h"
#include "backend/gpu/gpu.h"

enum { THREADS = 128, HEADS = 4, SLAB = 512 }; /* HNR_ATTEND_THREADS, _HEADS, _SLAB */

static hn_dim lit(hn_ref *e, int64_t n) { return hn_dim_int(e->g->dims, n); }

hn_dim hn_gpu_attend_work(hn_ref *e, const hn_node *n) {
    hn_dims *t = e->g->dims;
    const hn_type *q = hn_ref_type(e, n->in[0]), *k = hn_ref_type(e, n->in[1]);
    hn_dim tiles = hn_dim_ceildiv(t, hn_dim_floordiv(t, q->dim[1], k->dim[1]), lit(e, HEADS));
    hn_dim each = hn_dim_mul(t, tiles, hn_dim_ceildiv(t, q->dim[2], lit(e, SLAB)));
    return hn_dim_mul(t, hn_dim_mul(t, q->dim[0], k->dim[1]), each);
}

static const char *type_of_keys(const hn_type *k) {
    return k->dtype == HONE_F32 ? "F32" : k->dtype == HONE_F16 ? "F16" : k->dtype == HONE_BF16 ? "BF16" : "I8";
}

void hn_gpu_attend(hn_ref *e) {
    const hn_val *in = e->n->in;
    const hn_type *q = hn_ref_type(e, in[0]), *k = hn_ref_type(e, in[1]), *table = hn_ref_type(e, in[3]);
    const hn_attr *cap = hn_attr_get(e->n, HN_A_SOFTCAP);
    if (!e->split) {
        hn_ref_decline(e, "attention over blocks of keys must be a kernel of its own");
        return;
    }
    e->threads = THREADS;
    e->shared_b = THREADS * (4 * HEADS + 8 + 4);
    e->shared = "HNR_SHARED float score[HNR_ATTEND_HEADS * HNR_ATTEND_THREADS];\n"
                "HNR_SHARED int64_t row_of[HNR_ATTEND_THREADS];\n"
                "HNR_SHARED float part[HNR_ATTEND_THREADS];\n";
    hn_ref_guard_equal(e, q->dim[2], k->dim[2]);
    hn_ref_guarded_open(e);
    hn_ref_add(e, "hnr_attend job;\nconst hnr_attend_room room = {score, row_of, part};\n");
    hn_ref_add(e, "job.q = (HNR_GLOBAL const float *)%s;\n", e->at[in[0]]);
    hn_ref_add(e, "job.keys = (HNR_GLOBAL const char *)%s;\n", e->at[in[1]]);
    hn_ref_add(e, "job.values = (HNR_GLOBAL const char *)%s;\n", e->at[in[2]]);
    bool scaled = e->n->n_in > 6;
    hn_ref_add(e, "job.key_scale = (HNR_GLOBAL const float *)%s;\n", e->at[in[scaled ? 6 : 0]]);
    hn_ref_add(e, "job.value_scale = (HNR_GLOBAL const float *)%s;\n", e->at[in[scaled ? 7 : 0]]);
    hn_ref_add(e, "job.table = %s;\njob.sequence = %s;\njob.position = %s;\n", e->at[in[3]], e->at[in[4]],
               e->at[in[5]]);
    hn_ref_add(e, "job.out = %s;\njob.s = s;\n", e->at[e->n->out[0]]);
    hn_ref_add(e, "job.heads = %s;\njob.kv_heads = %s;\njob.size = %s;\njob.rows = %s;\n", hn_ref_dim(e, q->dim[1]),
               hn_ref_dim(e, k->dim[1]), hn_ref_dim(e, q->dim[2]), hn_ref_dim(e, k->dim[0]));
    hn_ref_add(e, "job.sequences = %s;\njob.blocks = %s;\n", hn_ref_dim(e, table->dim[0]),
               hn_ref_dim(e, table->dim[1]));
    hn_ref_add(e, "job.block = %s;\njob.window = %s;\n", hn_ref_int(e, hn_attr_i(e->n, HN_A_BLOCK, 1)),
               hn_ref_int(e, hn_attr_i(e->n, HN_A_WINDOW, 0)));
    hn_ref_add(e, "job.cap = (float)%a;\njob.type = HNR_ATTEND_%s;\njob.scaled = %d;\n", cap ? cap->f : 0.0,
               type_of_keys(k), scaled);
    hn_ref_add(e, "hnr_attend_one(&job, begin, &room);\n}\n");
}
