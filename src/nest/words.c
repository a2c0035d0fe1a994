/* nest/words.c — products of bytes, four at a time, and of bf16, two at a time.
 *
 * A reduction that adds products of unsigned and signed bytes, both of which lie four and four next to each other along
 * it, reads words of them instead; processors multiply the bytes of two words and add them up in one instruction. The
 * sum is one of integers, so that it is the same. Likewise of bf16 in pairs, whose products are exact in f32 and whose
 * sum is rounded once for each.
 */
#include "nest/nest_int.h"
#include "nest/schedule.h"

enum { WORD_B = 4 };

/* The body of the loop: what it defines, and the update. */
typedef struct words_loop {
    bool pairs;   /* of bf16; else of bytes */
    int64_t each; /* elements of a word */
    hn_var var;
    int64_t length;
    hn_sv sum;     /* what is added: the product, or that picked against 0 */
    hn_sv product; /* of the two casts */
    hn_sv load[2]; /* of bytes: unsigned, signed */
    hn_ix at[2];   /* their words' indices, of the new variable */
} words_loop;

/* cast i32 (load u8 or i8), cast f32 (load bf16): the load; 0: it is another definition. */
static hn_sv element_of(const hn_nest *n, const words_loop *b, hn_sv x) {
    const hn_scalar *cast = &n->sv[x];
    if (cast->kind != HN_SV_OP || cast->op != HN_OP_CAST || cast->dtype != (b->pairs ? HONE_F32 : HONE_I32)) return 0;
    const hn_scalar *load = &n->sv[cast->arg[0]];
    bool fits = b->pairs ? load->dtype == HONE_BF16 : load->dtype == HONE_U8 || load->dtype == HONE_I8;
    return fits && load->kind == HN_SV_LOAD && n->buf[load->buf].space == HN_PARAM ? cast->arg[0] : 0;
}

/* The sum that is added: a product, or one picked against 0 under conditions that hold for all iterations
 * of a word or none. */
static bool read_sum(hn_nest *n, words_loop *b) {
    const hn_scalar s = n->sv[b->sum];
    b->product = b->sum;
    if (s.kind != HN_SV_PICK) return true;
    const hn_scalar *other = &n->sv[s.arg[1]];
    b->product = s.arg[0];
    for (uint32_t k = 0; k < s.n_guard; k++)
        if (hn_ix_depends(n, s.guard[k], b->var)) return false;
    return other->kind == HN_SV_CONST && other->i == 0 && other->f == 0;
}

static bool read_product(hn_nest *n, words_loop *b) {
    const hn_scalar *p = &n->sv[b->product];
    if (p->kind != HN_SV_OP || p->op != HN_OP_MUL || !p->fused || p->dtype != (b->pairs ? HONE_F32 : HONE_I32))
        return false;
    hn_sv one = element_of(n, b, p->arg[0]), other = element_of(n, b, p->arg[1]);
    if (!one || !other || one == other || (!b->pairs && n->sv[one].dtype == n->sv[other].dtype)) return false;
    bool in_order = b->pairs || n->sv[one].dtype == HONE_U8;
    b->load[0] = in_order ? one : other;
    b->load[1] = in_order ? other : one;
    return true;
}

/* Nothing but what an update that adds such a product needs, and that update. */
static bool read_body(hn_nest *n, hn_st loop, words_loop *b) {
    hn_st id = n->st[loop].body;
    int found = 0, others = 0;
    while (id && n->st[id].kind == HN_ST_LET) id = n->st[id].next;
    if (!id || n->st[id].next || n->st[id].kind != HN_ST_UPDATE || n->st[id].op != HN_OP_ADD) return false;
    b->sum = n->st[id].value;
    if (!read_sum(n, b) || !read_product(n, b)) return false;
    for (id = n->st[loop].body; n->st[id].kind == HN_ST_LET; id = n->st[id].next) {
        hn_sv x = n->st[id].value;
        if (x == b->load[0] || x == b->load[1])
            found++;
        else
            others += x != b->product && x != b->sum && !element_of(n, b, x) && n->sv[x].kind != HN_SV_CONST;
    }
    return found == 2 && !others;
}

/* The index of i with the loop's variable at each*var + t. */
static hn_ix index_at(hn_nest *n, hn_ix i, const words_loop *b, hn_var var, int64_t t) {
    hn_ix *to = HN_NEW_N(n->a, hn_ix, n->n_var);
    if (!to) return 0;
    to[b->var] = hn_ix_add(n, hn_ix_scale(n, hn_ix_var(n, var), hn_dim_int(n->dims, b->each)), hn_ix_int(n, t));
    return hn_ix_subst(n, i, &(hn_subst){.var = to, .n_var = n->n_var});
}

/* Are the elements of so many iterations one word? Its index, of var. */
static bool is_word(hn_nest *n, const words_loop *b, hn_sv load, hn_var var, hn_ix *word) {
    const hn_scalar x = n->sv[load];
    hn_ix first = index_at(n, x.at, b, var, 0);
    for (int64_t t = 1, apart; t < b->each; t++) {
        hn_ix next = hn_ix_sub(n, index_at(n, x.at, b, var, t), first);
        if (!hn_ix_is_int(n, next, &apart) || apart != t) return false;
    }
    for (uint32_t k = 0; k < x.n_guard; k++)
        if (hn_ix_depends(n, x.guard[k], b->var)) return false;
    *word = hn_ix_div(n, first, hn_dim_int(n->dims, b->each));
    return hn_ix_scale(n, *word, hn_dim_int(n->dims, b->each)) == first;
}

/* The product of words where that of elements stood; the casts are gone. */
static void rewrite(hn_nest *n, hn_st loop, const words_loop *b, hn_var var) {
    const hn_sv cast[2] = {n->sv[b->product].arg[0], n->sv[b->product].arg[1]};
    for (hn_st *link = &n->st[loop].body; *link;) {
        const hn_stmt s = n->st[*link];
        if (s.kind == HN_ST_LET && (s.value == cast[0] || s.value == cast[1]))
            *link = s.next;
        else
            link = &n->st[*link].next;
    }
    for (int k = 0; k < 2; k++) {
        hn_buf words = hn_nest_words(n, n->sv[b->load[k]].buf);
        hn_scalar *x = &n->sv[b->load[k]];
        x->dtype = HONE_I32;
        x->buf = words;
        x->at = b->at[k];
        n->sv[b->product].arg[k] = b->load[k];
    }
    n->sv[b->product].bytes = !b->pairs;
    n->sv[b->product].pairs = b->pairs ? HN_PAIRS_BOTH : HN_PAIRS_NONE;
    n->st[loop].var = var;
}

static bool take(hn_nest *n, hn_st loop, bool pairs, const char **why) {
    words_loop b = {.pairs = pairs, .each = pairs ? 2 : WORD_B, .var = n->st[loop].var};
    if (n->st[loop].loop != HN_SERIAL || !read_body(n, loop, &b))
        return hn_loop_no(why,
                          pairs ? "it adds no products of bf16" : "it adds no products of unsigned and signed bytes");
    if (!hn_ix_is_int(n, n->extent[b.var], &b.length) || b.length < b.each || b.length % b.each)
        return hn_loop_no(why, pairs ? "the length is no multiple of two" : "the length is no multiple of four");
    hn_var var = hn_nest_var(n, hn_ix_int(n, b.length / b.each));
    for (int k = 0; k < 2; k++)
        if (!is_word(n, &b, b.load[k], var, &b.at[k]))
            return hn_loop_no(why, pairs ? "bf16 do not lie two and two next to each other"
                                         : "bytes do not lie four and four next to each other");
    rewrite(n, loop, &b, var);
    return true;
}

bool hn_loop_words(hn_nest *n, hn_st loop, const char **why) { return take(n, loop, false, why); }
bool hn_loop_pairs(hn_nest *n, hn_st loop, const char **why) { return take(n, loop, true, why); }

static void take_all(hn_nest *n, hn_st first, bool pairs) {
    for (hn_st id = first; id; id = n->st[id].next) {
        if (n->st[id].kind != HN_ST_LOOP) continue;
        take_all(n, n->st[id].body, pairs);
        take(n, id, pairs, NULL);
    }
}

void hn_nest_take_words(hn_nest *n, hn_st first) { take_all(n, first, false); }
void hn_nest_take_pairs(hn_nest *n, hn_st first) { take_all(n, first, true); }

bool hn_nest_has_pairs(const hn_nest *n) {
    for (hn_sv x = 1; x < n->n_sv; x++)
        if (n->sv[x].pairs) return true;
    return false;
}

/* The same definition with another product; a choice (pick) chooses it. */
static hn_st define_part(hn_nest *n, hn_st behind, const hn_scalar *x, hn_sv *id) {
    *id = hn_nest_scalar(n, x);
    hn_st let = hn_nest_stmt(n, &(hn_stmt){.kind = HN_ST_LET, .value = *id});
    if (!let || !*id) return 0;
    n->st[let].next = n->st[behind].next;
    return n->st[behind].next = let;
}

/* An update that adds the products of both becomes two: of the low ones, then of the high ones. */
static void part_update(hn_nest *n, hn_st update) {
    const hn_sv sum = n->st[update].value, product = n->sv[sum].kind == HN_SV_PICK ? n->sv[sum].arg[0] : sum;
    hn_stmt again = n->st[update];
    hn_scalar high = n->sv[product], pick = n->sv[sum];
    if (n->sv[product].pairs != HN_PAIRS_BOTH) return;
    hn_st at = update;
    high.pairs = HN_PAIRS_HIGH;
    at = define_part(n, at, &high, &again.value);
    if (at && pick.kind == HN_SV_PICK) {
        pick.arg[0] = again.value;
        at = define_part(n, at, &pick, &again.value);
    }
    if (!at) return;
    again.next = n->st[at].next;
    hn_st second = hn_nest_stmt(n, &again);
    if (!second) return;
    n->st[at].next = second;
    n->sv[product].pairs = HN_PAIRS_LOW;
}

void hn_nest_part_pairs(hn_nest *n, hn_st first) {
    for (hn_st id = first; id; id = n->st[id].next) {
        if (n->st[id].kind == HN_ST_LOOP) hn_nest_part_pairs(n, n->st[id].body);
        if (n->st[id].kind == HN_ST_UPDATE) part_update(n, id);
    }
}
