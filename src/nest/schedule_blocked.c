/* nest/schedule_blocked.c — long sums in blocks: every block adds up from zero in accumulators of its own, which are
 * then added to the sum's (Castaldo, Whaley and Chronopoulos 2008, "Reducing floating point error in dot product using
 * the superblock family of algorithms", section 3). The error of n additions grows with the length of a block and the
 * number of blocks, not with n; the cost is one load, addition and store for each accumulator and block. */
#include "nest/nest_int.h"
#include "nest/schedule.h"

enum { SUMS_MAX = 64 };
#define ENDLESS (INT64_C(1) << 40) /* additions whose number is not known */

/* The registers that a loop adds to, and does nothing else with. */
typedef struct totals {
    hn_buf reg[SUMS_MAX];
    int n;
} totals;

static bool declares(const hn_nest *n, hn_st first, hn_buf b) {
    for (hn_st id = first; id; id = n->st[id].next)
        if (n->st[id].kind == HN_ST_REG ? n->st[id].buf == b
                                        : n->st[id].kind == HN_ST_LOOP && declares(n, n->st[id].body, b))
            return true;
    return false;
}

/* Does the list read the register, or write it other than by adding? */
static bool otherwise(const hn_nest *n, hn_st first, hn_buf b) {
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_stmt *s = &n->st[id];
        if (s->kind == HN_ST_LOOP && otherwise(n, s->body, b)) return true;
        if (s->kind == HN_ST_LET && n->sv[s->value].kind == HN_SV_LOAD && n->sv[s->value].buf == b) return true;
        if (s->kind == HN_ST_MMA) return true;
        if (s->buf == b && (s->kind == HN_ST_STORE || (s->kind == HN_ST_UPDATE && s->op != HN_OP_ADD))) return true;
    }
    return false;
}

static void find_totals(const hn_nest *n, hn_st first, hn_st loop, totals *t) {
    for (hn_st id = first; id; id = n->st[id].next) {
        const hn_stmt *s = &n->st[id];
        int64_t size;
        if (s->kind == HN_ST_LOOP) find_totals(n, s->body, loop, t);
        if (s->kind != HN_ST_UPDATE || n->buf[s->buf].space != HN_REG || n->buf[s->buf].dtype != HONE_F32) continue;
        bool known = t->n == SUMS_MAX || !hn_dim_is_int(n->dims, n->buf[s->buf].size, &size) || size != 1;
        for (int i = 0; i < t->n && !known; i++) known = t->reg[i] == s->buf;
        if (known || declares(n, n->st[loop].body, s->buf) || otherwise(n, n->st[loop].body, s->buf)) continue;
        t->reg[t->n++] = s->buf;
    }
}

/* The most there can be: of a window that is cut at the edges of an image, its own length. */
static int64_t iterations(hn_nest *n, hn_st loop) {
    hn_dim most = hn_ix_high(n, n->extent[n->st[loop].var]);
    int64_t low, high = ENDLESS;
    if (most) hn_dim_range(n->dims, most, &low, &high);
    return high < 0 ? 0 : high < ENDLESS ? high : ENDLESS;
}

static int64_t times(int64_t a, int64_t b) { return a && b > ENDLESS / a ? ENDLESS : a * b; }

/* Additions to the register, one after the other, when the list is done once. A vector's lanes are folded first. */
static int64_t additions(hn_nest *n, hn_st first, hn_buf b) {
    int64_t all = 0;
    for (hn_st id = first; id && all < ENDLESS; id = n->st[id].next) {
        if (n->st[id].kind == HN_ST_UPDATE && n->st[id].buf == b) all++;
        if (n->st[id].kind != HN_ST_LOOP) continue;
        int64_t in = additions(n, n->st[id].body, b);
        all += n->st[id].loop == HN_VECTOR || !in ? in : times(in, iterations(n, id));
    }
    return all < ENDLESS ? all : ENDLESS;
}

/* Of the statements in front of `end`. */
static void rename_updates(hn_nest *n, hn_st first, hn_st end, hn_buf from, hn_buf to) {
    for (hn_st id = first; id != end; id = n->st[id].next) {
        if (n->st[id].kind == HN_ST_LOOP) rename_updates(n, n->st[id].body, 0, from, to);
        if (n->st[id].kind == HN_ST_UPDATE && n->st[id].buf == from) n->st[id].buf = to;
    }
}

/* first; … last; of a list  become  register = 0; first; … last, adding to it; total += register; and keep their place.
 */
static void own_sum(hn_nest *n, hn_st first, hn_st last, hn_buf total) {
    hn_buf part = hn_nest_buf(n, HN_REG, n->buf[total].dtype, n->buf[total].size);
    hn_ix at = hn_ix_int(n, 0);
    hn_sv zero = hn_nest_scalar(n, &(hn_scalar){.kind = HN_SV_CONST, .dtype = n->buf[total].dtype});
    hn_sv sum =
        hn_nest_scalar(n, &(hn_scalar){.kind = HN_SV_LOAD, .dtype = n->buf[total].dtype, .buf = part, .at = at});
    hn_st moved = hn_nest_stmt(n, &(hn_stmt){.kind = HN_ST_REG});
    hn_st define = hn_nest_stmt(n, &(hn_stmt){.kind = HN_ST_LET, .value = zero});
    hn_st start = hn_nest_store(n, part, at, zero, 0, NULL);
    hn_st read = hn_nest_stmt(n, &(hn_stmt){.kind = HN_ST_LET, .value = sum});
    hn_st add = hn_nest_update(n, total, at, HN_OP_ADD, sum, 0, NULL);
    if (!hn_arena_ok(n->a)) return;
    n->st[add].next = n->st[last].next;
    n->st[last].next = read;
    n->st[read].next = add;
    n->st[moved] = n->st[first];
    n->st[first] = (hn_stmt){.kind = HN_ST_REG, .buf = part, .next = define};
    n->st[define].next = start;
    n->st[start].next = moved;
    rename_updates(n, moved, read, total, part);
}

/* Iterations of a block: near `length` additions, and a divisor of the loop's length where there is one. */
static int64_t block_of(hn_nest *n, hn_st loop, int64_t length, int64_t each) {
    int64_t e, want = length / each > 1 ? length / each : 1;
    if (!hn_ix_is_int(n, n->extent[n->st[loop].var], &e)) return want;
    for (int64_t d = 0; d <= want / 3; d++) {
        if (e % (want - d) == 0) return want - d;
        if (e % (want + d) == 0) return want + d;
    }
    return want;
}

/* The loop's sums that are too long, *each: the additions of one iteration to the one that has most. */
static void keep_long(hn_nest *n, hn_st loop, int64_t length, totals *t, int64_t *each) {
    int kept = 0;
    *each = 0;
    for (int i = 0; i < t->n; i++) {
        int64_t a = additions(n, n->st[loop].body, t->reg[i]);
        if (times(a, iterations(n, loop)) <= length + length / 2) continue;
        if (a > *each) *each = a;
        t->reg[kept++] = t->reg[i];
    }
    t->n = kept;
}

static hn_st last_of(const hn_nest *n, hn_st first) {
    while (n->st[first].next) first = n->st[first].next;
    return first;
}

/* The loops of a body, one behind the other, that add a block's share each get sums of their own. */
static void block_children(hn_nest *n, hn_st first, int64_t length, hn_buf total) {
    for (hn_st id = first, next; id; id = next) {
        next = n->st[id].next;
        if (n->st[id].kind != HN_ST_LOOP || n->st[id].loop != HN_SERIAL) continue;
        if (3 * times(additions(n, n->st[id].body, total), iterations(n, id)) >= length) own_sum(n, id, id, total);
    }
}

static void block_loop(hn_nest *n, hn_st loop, int64_t length) {
    totals t = {.n = 0};
    int64_t each, all = iterations(n, loop);
    find_totals(n, n->st[loop].body, loop, &t);
    keep_long(n, loop, length, &t, &each);
    if (!t.n || all < 2) return;
    int64_t block = block_of(n, loop, length, each);
    if (block > 1 && !hn_loop_split(n, loop, block, NULL, NULL, NULL)) return;
    for (int i = 0; i < t.n; i++) {
        hn_st body = n->st[loop].body;
        if (block == 1 && each >= length)
            block_children(n, body, length, t.reg[i]);
        else
            own_sum(n, body, last_of(n, body), t.reg[i]);
    }
}

static void block_list(hn_nest *n, hn_st first, int64_t length) {
    for (hn_st id = first, next; id; id = next) {
        next = n->st[id].next; /* what is left of a loop that was cut needs no blocks */
        if (n->st[id].kind != HN_ST_LOOP) continue;
        block_list(n, n->st[id].body, length);
        if (n->st[id].loop == HN_SERIAL) block_loop(n, id, length);
    }
}

void hn_nest_block_sums(hn_nest *n, int64_t length) { block_list(n, n->first, length); }
