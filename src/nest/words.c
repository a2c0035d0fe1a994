/* nest/words.c — products of bytes, four at a time.
 *
 * A reduction that adds products of unsigned and signed bytes, both of which lie four and four next to each other along
 * it, reads words of them instead; processors multiply the bytes of two words and add them up in one instruction. The
 * sum is one of integers, so that it is the same.
 */
#include "nest/nest_int.h"
#include "nest/schedule.h"

enum { BYTES = 4 };

/* The body of the loop: what it defines, and the update. */
typedef struct bytes_loop {
    hn_var var;
    int64_t length;
    hn_sv sum;     /* what is added: the product, or that picked against 0 */
    hn_sv product; /* of the two casts */
    hn_sv load[2]; /* unsigned, signed */
    hn_ix at[2];   /* their words' indices, of the new variable */
} bytes_loop;

/* cast i32 (load u8 or i8): the load; 0: it is another definition. */
static hn_sv byte_of(const hn_nest *n, hn_sv x) {
    const hn_scalar *cast = &n->sv[x];
    if (cast->kind != HN_SV_OP || cast->op != HN_OP_CAST || cast->dtype != HONE_I32) return 0;
    const hn_scalar *load = &n->sv[cast->arg[0]];
    bool byte = load->dtype == HONE_U8 || load->dtype == HONE_I8;
    return byte && load->kind == HN_SV_LOAD && n->buf[load->buf].space == HN_PARAM ? cast->arg[0] : 0;
}

/* The sum that is added: a product, or one picked against 0 under conditions that hold for all four iterations or none.
 */
static bool read_sum(hn_nest *n, bytes_loop *b) {
    const hn_scalar s = n->sv[b->sum];
    b->product = b->sum;
    if (s.kind != HN_SV_PICK) return true;
    const hn_scalar *other = &n->sv[s.arg[1]];
    b->product = s.arg[0];
    for (uint32_t k = 0; k < s.n_guard; k++)
        if (hn_ix_depends(n, s.guard[k], b->var)) return false;
    return other->kind == HN_SV_CONST && other->i == 0;
}

static bool read_product(hn_nest *n, bytes_loop *b) {
    const hn_scalar *p = &n->sv[b->product];
    if (p->kind != HN_SV_OP || p->op != HN_OP_MUL || !p->fused || p->dtype != HONE_I32) return false;
    hn_sv one = byte_of(n, p->arg[0]), other = byte_of(n, p->arg[1]);
    if (!one || !other || n->sv[one].dtype == n->sv[other].dtype) return false;
    bool in_order = n->sv[one].dtype == HONE_U8;
    b->load[0] = in_order ? one : other;
    b->load[1] = in_order ? other : one;
    return true;
}

/* Nothing but what an update that adds a product of bytes needs, and that update. */
static bool read_body(hn_nest *n, hn_st loop, bytes_loop *b) {
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
            others += x != b->product && x != b->sum && !byte_of(n, x) && n->sv[x].kind != HN_SV_CONST;
    }
    return found == 2 && !others;
}

/* The index of i with the loop's variable at 4*var + t. */
static hn_ix index_at(hn_nest *n, hn_ix i, hn_var from, hn_var var, int64_t t) {
    hn_ix *to = HN_NEW_N(n->a, hn_ix, n->n_var);
    if (!to) return 0;
    to[from] = hn_ix_add(n, hn_ix_scale(n, hn_ix_var(n, var), hn_dim_int(n->dims, BYTES)), hn_ix_int(n, t));
    return hn_ix_subst(n, i, &(hn_subst){.var = to, .n_var = n->n_var});
}

/* Are four iterations' bytes one word? Its index, of var. */
static bool is_word(hn_nest *n, const bytes_loop *b, hn_sv load, hn_var var, hn_ix *word) {
    const hn_scalar x = n->sv[load];
    hn_ix first = index_at(n, x.at, b->var, var, 0);
    for (int64_t t = 1, apart; t < BYTES; t++) {
        hn_ix next = hn_ix_sub(n, index_at(n, x.at, b->var, var, t), first);
        if (!hn_ix_is_int(n, next, &apart) || apart != t) return false;
    }
    for (uint32_t k = 0; k < x.n_guard; k++)
        if (hn_ix_depends(n, x.guard[k], b->var)) return false;
    *word = hn_ix_div(n, first, hn_dim_int(n->dims, BYTES));
    return hn_ix_scale(n, *word, hn_dim_int(n->dims, BYTES)) == first;
}

/* The product of words where that of bytes stood; the casts are gone. */
static void rewrite(hn_nest *n, hn_st loop, const bytes_loop *b, hn_var var) {
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
    n->sv[b->product].bytes = true;
    n->st[loop].var = var;
}

bool hn_loop_words(hn_nest *n, hn_st loop, const char **why) {
    bytes_loop b = {.var = n->st[loop].var};
    if (n->st[loop].loop != HN_SERIAL || !read_body(n, loop, &b))
        return hn_loop_no(why, "it adds no products of unsigned and signed bytes");
    if (!hn_ix_is_int(n, n->extent[b.var], &b.length) || b.length < BYTES || b.length % BYTES)
        return hn_loop_no(why, "the length is no multiple of four");
    hn_var var = hn_nest_var(n, hn_ix_int(n, b.length / BYTES));
    for (int k = 0; k < 2; k++)
        if (!is_word(n, &b, b.load[k], var, &b.at[k]))
            return hn_loop_no(why, "bytes do not lie four and four next to each other");
    rewrite(n, loop, &b, var);
    return true;
}

void hn_nest_take_words(hn_nest *n, hn_st first) {
    for (hn_st id = first; id; id = n->st[id].next) {
        if (n->st[id].kind != HN_ST_LOOP) continue;
        hn_nest_take_words(n, n->st[id].body);
        hn_loop_words(n, id, NULL);
    }
}
