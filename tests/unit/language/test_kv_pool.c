/* Blocks of keys and values: taken, shared, filed under their tokens, found again, and given up in order of age. */
#include "language/kv_pool.h"
#include "tap.h"

#include <stdlib.h>

static int32_t token[4][HN_CACHE_BLOCK];

static void filing(hn_kv_pool *p) {
    int32_t a = hn_kv_take(p), b = hn_kv_take(p), c = hn_kv_take(p);
    ok(a >= 0 && b >= 0 && c >= 0 && a != b && b != c && a != c, "kv_pool/blocks_differ");
    ok(hn_kv_take(p) == HN_NO_BLOCK, "kv_pool/all_in_use");
    ok(!hn_kv_fixed(p, a), "kv_pool/own_block_may_be_written");
    hn_kv_file(p, b, a, token[1], HN_CACHE_BLOCK);
    ok(hn_kv_find(p, HN_NO_BLOCK, token[1]) == HN_NO_BLOCK && !hn_kv_fixed(p, b), "kv_pool/not_filed_behind_unfiled");
    hn_kv_file(p, a, HN_NO_BLOCK, token[0], HN_CACHE_BLOCK);
    hn_kv_file(p, b, a, token[1], HN_CACHE_BLOCK);
    hn_kv_file(p, c, HN_NO_BLOCK, token[1], HN_CACHE_BLOCK);
    ok(hn_kv_fixed(p, a) && hn_kv_fixed(p, b), "kv_pool/filed_blocks_are_fixed");
    ok(hn_kv_find(p, HN_NO_BLOCK, token[0]) == a && hn_kv_find(p, a, token[1]) == b, "kv_pool/found_in_order");
    ok(hn_kv_find(p, HN_NO_BLOCK, token[1]) == c, "kv_pool/what_stands_in_front_counts");
    ok(hn_kv_find(p, b, token[1]) == HN_NO_BLOCK && hn_kv_find(p, a, token[2]) == HN_NO_BLOCK, "kv_pool/not_there");
    ok(hn_kv_used(p) == 3 && p->block[a].users == 2, "kv_pool/users");
    for (int i = 0; i < 2; i++) hn_kv_give(p, a), hn_kv_give(p, b), hn_kv_give(p, c);
    ok(hn_kv_used(p) == 0, "kv_pool/given_back");
    ok(hn_kv_find(p, HN_NO_BLOCK, token[0]) == a, "kv_pool/found_though_nobody_has_it");
    hn_kv_give(p, a);
    ok(hn_kv_take(p) == b && hn_kv_find(p, a, token[1]) == HN_NO_BLOCK, "kv_pool/oldest_is_given_up");
    ok(hn_kv_find(p, HN_NO_BLOCK, token[0]) == a && hn_kv_take(p) == c, "kv_pool/then_the_next");
}

/* A pool that is to keep what is filed grows before it takes it; the beginning of a block is found. */
static void keeping(void) {
    hn_kv_pool p = {.most = 4, .keep = 2};
    hone_err err;
    int32_t other[HN_CACHE_BLOCK], a = HN_NO_BLOCK;
    size_t n = HN_CACHE_BLOCK;
    ok(!hn_kv_grow(&p, 1, &err) && (a = hn_kv_take(&p)) == 0, "kv_pool/one_block");
    hn_kv_file(&p, a, HN_NO_BLOCK, token[0], HN_CACHE_BLOCK);
    hn_kv_give(&p, a);
    ok(hn_kv_take(&p) == HN_NO_BLOCK, "kv_pool/what_is_filed_is_kept");
    ok(!hn_kv_grow(&p, 2, &err) && hn_kv_take(&p) == 1, "kv_pool/while_it_may_grow");
    for (int i = 0; i < HN_CACHE_BLOCK; i++) other[i] = i < 9 ? token[0][i] : -1;
    ok(hn_kv_find_part(&p, HN_NO_BLOCK, other, 10, &n) == HN_NO_BLOCK && n == 9, "kv_pool/too_few_are_alike");
    n = HN_CACHE_BLOCK;
    ok(hn_kv_find_part(&p, HN_NO_BLOCK, other, 4, &n) == a && n == 9 && p.block[a].users == 1,
       "kv_pool/a_beginning_is_found");
    n = 5;
    ok(hn_kv_find_part(&p, HN_NO_BLOCK, token[0], 4, &n) == a && n == 5, "kv_pool/as_many_as_are_asked_for");
    n = HN_CACHE_BLOCK;
    ok(hn_kv_find_part(&p, a, token[0], 4, &n) == HN_NO_BLOCK, "kv_pool/not_behind_another");
    hn_kv_give(&p, a), hn_kv_give(&p, a);
    ok(hn_kv_take(&p) == a, "kv_pool/then_it_is_given_up");
    free(p.block);
}

/* A block that is not full is found by its beginning alone. */
static void rests(void) {
    hn_kv_pool p = {.most = 2};
    hone_err err;
    int32_t a = HN_NO_BLOCK;
    size_t n = HN_CACHE_BLOCK;
    ok(!hn_kv_grow(&p, 2, &err) && (a = hn_kv_take(&p)) == 0, "kv_pool/a_block_for_a_rest");
    hn_kv_file(&p, a, HN_NO_BLOCK, token[0], 7);
    ok(hn_kv_fixed(&p, a) && hn_kv_find(&p, HN_NO_BLOCK, token[0]) == HN_NO_BLOCK, "kv_pool/a_rest_is_no_full_block");
    ok(hn_kv_find_part(&p, HN_NO_BLOCK, token[0], 4, &n) == a && n == 7, "kv_pool/a_rest_is_found");
    n = 9;
    ok(hn_kv_find_part(&p, HN_NO_BLOCK, token[0], 8, &n) == HN_NO_BLOCK, "kv_pool/a_rest_has_no_more");
    free(p.block);
}

int main(void) {
    hn_kv_pool p = {.most = 4};
    hone_err err;
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < HN_CACHE_BLOCK; i++) token[k][i] = k == 2 && i == HN_CACHE_BLOCK - 1 ? 9 : k % 2 * 50 + i;
    ok(hn_kv_take(&p) == HN_NO_BLOCK && hn_kv_used(&p) == 0, "kv_pool/empty");
    ok(!hn_kv_grow(&p, 3, &err) && p.n == 3, "kv_pool/grows");
    filing(&p);
    ok(!hn_kv_grow(&p, 4, &err) && hn_kv_take(&p) == 3 && p.block[0].users, "kv_pool/growing_keeps");
    hn_kv_forget(&p);
    ok(hn_kv_used(&p) == 0 && hn_kv_find(&p, HN_NO_BLOCK, token[0]) == HN_NO_BLOCK, "kv_pool/forgets");
    free(p.block);
    keeping();
    rests();
    return done_testing();
}
