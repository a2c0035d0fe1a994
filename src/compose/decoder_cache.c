/* decoder_cache.c — keys and values in blocks of a pool, as f32, f16, bf16 or int8, and attention over them.
 *
 * The pool of a layer is a state: the new rows are put into it in place, each where input `slot` says, and attention
 * finds a sequence's rows through input `table`. Blocks of keys lie transposed, [kv heads, size, block], as the
 * products with them read them (docs/ir.md, `attend`). int8 rows have one scale per token and head: the largest
 * magnitude becomes 127.
 */
#include "base/err.h"
#include "compose/decoder_int.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    hone_dtype type;
} kinds[] = {[HN_CACHE_F32] = {"f32", HONE_F32},
             [HN_CACHE_F16] = {"f16", HONE_F16},
             [HN_CACHE_BF16] = {"bf16", HONE_BF16},
             [HN_CACHE_Q8] = {"q8", HONE_I8}};

hone_rc hn_cache_named(const char *name, hn_cache *out, hone_err *err) {
    *out = HN_CACHE_GROWN;
    if (!name) return HONE_OK;
    for (size_t i = HN_CACHE_F32; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(name, kinds[i].name)) {
            *out = (hn_cache)i;
            return HONE_OK;
        }
    return hn_fail(err, HONE_E_USAGE, "keys and values cannot be kept as '%s'; give f32, f16, bf16 or q8", name);
}

static hn_val input(step *s, const char *name, size_t rank, hn_dim a, hn_dim b) {
    hn_type t = {HONE_I64, (uint8_t)rank, {a, b}};
    return hn_param(s->b.g, 0, name, &t);
}

void hn_step_blocks(step *s) {
    hn_dims *t = s->b.g->dims;
    int64_t most = (s->d->context + HN_CACHE_BLOCK - 1) / HN_CACHE_BLOCK;
    char name[64] = "blocks";
    bool all = s->d->window > 0;
    for (int64_t l = 0; l < s->d->layers; l++) all = all && hn_step_has_window(s->d, l);
    if (all) snprintf(name, sizeof name, HN_CACHE_WINDOW "%" PRId64, s->d->window);
    hn_dim sequences = hn_dim_symbol(t, "sequences", 1, 1024);
    hn_dim blocks = hn_dim_symbol(t, hn_strdup(&s->b.g->arena, name), 1, most);
    s->rows = hn_dim_symbol(t, "rows", 2 * HN_CACHE_BLOCK, INT64_C(1) << 28);
    s->position = input(s, "position", 1, s->tokens, 0);
    s->sequence = input(s, "sequence", 1, s->tokens, 0);
    s->slot = input(s, "slot", 1, s->tokens, 0);
    s->table = input(s, "table", 2, sequences, blocks);
}

/* The pool past.WHAT.L with rows [tokens, kv heads, ...] in their slots, which is output present.WHAT.L. turned: blocks
 * lie transposed. */
static hn_val put(step *s, const char *what, int64_t l, hn_val rows, bool turned) {
    hn_builder *b = &s->b;
    char name[64];
    if (!rows) return 0;
    hn_type t = *hn_type_of(b->g, rows);
    hn_dim column[2] = {s->tokens, hn_lit(b, 1)};
    t.dim[0] = s->rows;
    snprintf(name, sizeof name, "past.%s.%" PRId64, what, l);
    hn_val in[3] = {hn_param(b->g, 0, hn_strdup(&b->g->arena, name), &t), hn_reshape(b, s->slot, 2, column), rows};
    hn_attr attr[] = {hn_a_word(HN_A_MODE, "set"), hn_a_int(HN_A_BLOCK, HN_CACHE_BLOCK)};
    hn_val all = hn_emit(b->g, b->b, HN_OP_SCATTER_ND, 3, in, turned ? 2 : 1, attr, 1);
    snprintf(name, sizeof name, "present.%s.%" PRId64, what, l);
    if (all) hn_result(b->g, 0, all, hn_strdup(&b->g->arena, name));
    return all;
}

/* Rows as int8, and their scales. */
static hn_val rounded(step *s, hn_val x, hn_val *scale) {
    hn_builder *b = &s->b;
    if (!x) return 0;
    hn_val most = hn_reduce1(b, HN_OP_RMAX, hn_un(b, HN_OP_ABS, x), 2, true);
    hn_val by = hn_bin_f(b, HN_OP_DIV, most, 127);
    hn_val safe = hn_where(b, hn_bin(b, HN_OP_LT, hn_const_f(b, HONE_F32, 0), by), by, hn_const_f(b, HONE_F32, 1));
    *scale = hn_squeeze(b, by, 2);
    return hn_cast(b, hn_un(b, HN_OP_ROUND, hn_bin(b, HN_OP_DIV, x, safe)), HONE_I8);
}

hn_val hn_step_attend_blocks(step *s, int64_t l, hn_val q, hn_val k, hn_val v, int64_t window) {
    hn_builder *b = &s->b;
    const hn_decoder *d = s->d;
    bool q8 = d->cache == HN_CACHE_Q8;
    hn_val scale[2] = {0, 0};
    if (!q || !k || !v) return 0;
    q = hn_bin_f(b, HN_OP_MUL, q, d->attention_scale > 0 ? d->attention_scale : 1 / sqrt((double)d->head_size));
    k = q8 ? rounded(s, k, &scale[0]) : hn_cast(b, k, kinds[d->cache].type);
    v = q8 ? rounded(s, v, &scale[1]) : hn_cast(b, v, kinds[d->cache].type);
    hn_val in[8] = {q, put(s, "key", l, k, true), put(s, "value", l, v, false)};
    in[3] = s->table, in[4] = s->sequence, in[5] = s->position;
    if (q8) {
        in[6] = put(s, "key_scale", l, scale[0], false);
        in[7] = put(s, "value_scale", l, scale[1], false);
    }
    hn_attr cap = {.id = HN_A_SOFTCAP, .kind = HN_K_FLOAT, .f = d->attention_softcap};
    hn_attr attr[3] = {hn_a_int(HN_A_BLOCK, HN_CACHE_BLOCK), cap, hn_a_int(HN_A_WINDOW, window)};
    return hn_emit(b->g, b->b, HN_OP_ATTEND, q8 ? 8 : 6, in, 3, attr, 1);
}
