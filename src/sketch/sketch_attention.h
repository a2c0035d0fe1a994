/* sketch/sketch_attention.h — what the files of the sketch "attention" share. */
#ifndef HN_SKETCH_ATTENTION_H
#define HN_SKETCH_ATTENTION_H

#include "nest/writer.h"

enum { HN_ATTENTION_LOOPS = HN_RANK_MAX + 2, HN_STAGED_MAX = 4, HN_MASKS_MAX = 4, HN_FEW_MAX = 8 };

/* Attention in a nest as lowered: per query a row of scores, its softmax, its product with the values. */
typedef struct hn_attention {
    hn_var outer[HN_ATTENTION_LOOPS]; /* batches and heads: loops around, without the queries' */
    int n_outer;
    hn_var query;
    hn_var key, depth;    /* of the scores: over the keys, over what is summed */
    hn_sv q, k;           /* the factors of their product */
    hn_sv sum, score;     /* the finished sum, and what becomes of it by scale and mask */
    hn_var column, key_v; /* of the product with the values: result columns, keys */
    hn_sv v;              /* the value's factor */
    hn_sv mixed, out;     /* the finished sum, and what becomes of it */
    hn_buf result;
    hn_ix out_at;
} hn_attention;

/* sketch_attention_match.c. False: the nest is something else. */
bool hn_attention_match(hn_nest *n, hn_attention *out);

typedef struct hn_staged { /* a load of the scores that differs from query to query */
    hn_sv load;
    hn_buf to; /* [key][query], or [query] */
    bool by_key;
} hn_staged;

typedef enum hn_mask_kind {
    HN_MASK_ADDED, /* to the score */
    HN_MASK_SHOWS, /* where it is true the score counts, else a number that hides it */
    HN_MASK_HIDES
} hn_mask_kind;
typedef struct hn_mask {
    hn_sv by;
    hn_mask_kind kind;
} hn_mask;

/* What is known before anything is written: lengths, and what the scores are made of besides the product. */
typedef struct hn_attention_size {
    int64_t lanes, vectors, group; /* group = vectors * lanes: queries that are computed side by side */
    int64_t depth, columns;        /* of the scores' sum, of the result */
} hn_attention_size;
typedef struct hn_attention_inputs {
    hn_staged staged[HN_STAGED_MAX];
    int n_staged;
    hn_mask mask[HN_MASKS_MAX]; /* on the scores, the last applied first; none where no key can be left out */
    int n_mask;
    hn_sv scale; /* operation on the finished sum that the queries take over; 0: none */
} hn_attention_inputs;
/* Heads that share keys and values: their queries are queries like others. */
typedef struct hn_attention_fold {
    hn_var heads;     /* 0, or the outer loop of which `fold` iterations share keys and values */
    int64_t fold;     /* then the queries are head * queries + query of that group of heads */
    hn_ix group_head; /* its first head */
} hn_attention_fold;
/* The values of the knobs. */
typedef struct hn_attention_how {
    int64_t rows, block;      /* queries of an item, keys of a block */
    int64_t tile, query_tile; /* keys of the scores' register tile, queries of the values' */
    bool few;                 /* queries are not lanes (sketch_attention_few.c) */
    bool pack, online;        /* keys and values are copied; there may be several blocks */
    bool skip;                /* keys that are hidden from all queries of a group are left out */
} hn_attention_how;
/* Local memory, allocated once per item. */
typedef struct hn_attention_memory {
    hn_buf queries;           /* [group of the item][depth][lane] */
    hn_buf scores;            /* [key][lane] */
    hn_buf keys, values;      /* copies: [key][depth], [key][column] */
    hn_buf tops, sums, mixed; /* online, per query of the item: [query], [query], [query][column] */
    hn_buf keep;              /* online, of the group: what earlier sums are multiplied by */
} hn_attention_memory;
/* Where the writing is: set by the loops over items, groups and blocks (sketch_attention.c), and from and n_key by
 * sketch_attention_skip.c. */
typedef struct hn_attention_place {
    hn_ix item, here;      /* first query of the item, how many it has */
    hn_ix group_at, first; /* the group's place in the item, its first query */
    hn_ix valid;           /* queries it has */
    hn_ix key0, n_key;     /* the block's first key, how many keys are taken */
    hn_ix from;            /* the first of them, counted in the block */
    hn_sv moderate;        /* the block's keys and values are (sketch_attention_skip.c) */
} hn_attention_place;

/* The nest being written. An item's queries are groups of lanes; its keys come in blocks. */
typedef struct hn_attention_sketch {
    hn_nest *n;
    hn_writer w;
    hn_attention x;
    hn_attention_size size;
    hn_attention_inputs in;
    hn_attention_fold folded;
    hn_attention_how how;
    hn_attention_memory mem;
    hn_attention_place at;
} hn_attention_sketch;

static inline hn_ix hn_at_times(hn_attention_sketch *t, hn_ix i, int64_t by) {
    return hn_ix_scale(t->n, i, hn_dim_int(t->n->dims, by));
}
static inline hn_ix hn_at_plus(hn_attention_sketch *t, hn_ix a, hn_ix b) { return hn_ix_add(t->n, a, b); }
static inline hn_ix hn_at_div(hn_attention_sketch *t, hn_ix a, int64_t by) {
    return hn_ix_div(t->n, a, hn_dim_int(t->n->dims, by));
}
static inline hn_ix hn_at_mod(hn_attention_sketch *t, hn_ix a, int64_t by) {
    return hn_ix_mod(t->n, a, hn_dim_int(t->n->dims, by));
}
static inline hn_sv hn_at_number(hn_attention_sketch *t, double x) {
    return hn_write_scalar(&t->w, &(hn_scalar){.kind = HN_SV_CONST, .dtype = HONE_F32, .f = x});
}

bool hn_attend_unit_stride(hn_nest *n, hn_sv x, hn_var v); /* x is a load whose address grows by one with v */

/* Queries and heads folded into them. */
bool hn_attend_by_query(hn_attention_sketch *t, hn_sv x);  /* does x differ from query to query? */
void hn_attend_set_query(hn_attention_sketch *t, hn_ix i); /* what is copied from here on is of query i */
void hn_attend_no_query(hn_attention_sketch *t);           /* … is the same for all queries */
hn_ix hn_attend_key(hn_attention_sketch *t, hn_ix k);      /* key k of those taken, counted in the block */
/* Copies made from here on are for key k of those taken and the lane: staged values are read from their place. */
void hn_attend_at(hn_attention_sketch *t, hn_ix k, hn_ix lane);

/* sketch_attention_stage.c */
bool hn_attend_find_staged(hn_attention_sketch *t, hn_sv v); /* false: too many, or of a form that cannot be staged */
void hn_attend_stage_queries(hn_attention_sketch *t);        /* of one group */
hn_sv hn_attend_query_number(hn_attention_sketch *t, hn_ix query, hn_ix d); /* scaled */
void hn_attend_stage_masks(hn_attention_sketch *t);                         /* of one group and block */
void hn_attend_pack(hn_attention_sketch *t);                                /* keys and values of one block */
/* sketch_attention_few.c */
bool hn_few_pays(const hn_attention_sketch *t, int64_t queries);
void hn_few_queries(hn_attention_sketch *t);
void hn_few_scores(hn_attention_sketch *t);
void hn_few_softmax(hn_attention_sketch *t);
/* sketch_attention_skip.c */
void hn_attend_find_masks(hn_attention_sketch *t);
void hn_attend_size(hn_attention_sketch *t); /* of one block: are its keys and values of moderate size? */
void hn_attend_skip(hn_attention_sketch *t); /* of one group and block: sets from and n_key */
/* sketch_attention_tile.c: of one group and block */
hn_sv hn_attend_key_number(hn_attention_sketch *t, hn_ix k, hn_ix d); /* of key k of those taken */
hn_sv hn_attend_value_number(hn_attention_sketch *t, hn_ix k, hn_ix column);
void hn_attend_scores(hn_attention_sketch *t);
void hn_attend_softmax(hn_attention_sketch *t);
hn_sv hn_attend_exponential(hn_attention_sketch *t, hn_sv x); /* of x <= 0 */
/* Online: queries at `at` (`lane` of the group) with the largest score `old` so far and *top now. What the exponentials
 * are taken relative to goes to *top; returns the sum so far relative to it. */
hn_sv hn_attend_rescale(hn_attention_sketch *t, hn_ix at, hn_ix lane, hn_sv old, hn_sv *top);
void hn_attend_values(hn_attention_sketch *t);
void hn_attend_begin(hn_attention_sketch *t);  /* online: no keys yet, for all groups */
void hn_attend_finish(hn_attention_sketch *t); /* online: the results of one group */

#endif
