/* Arena: alignment, zeroing, marks, sticky failure. */
#include "base/arena.h"
#include "failalloc.h"

static void test_basics(void) {
    hn_arena a = {0};
    void *none = hn_alloc(&a, 0);
    ok(none != NULL, "arena/zero_bytes_give_a_pointer");
    bool aligned = true, zeroed = true;
    for (size_t n = 1; n < 300; n += 7) {
        unsigned char *p = hn_alloc(&a, n);
        aligned = aligned && (uintptr_t)p % 16 == 0;
        for (size_t i = 0; i < n; i++) zeroed = zeroed && p[i] == 0;
        memset(p, 0xff, n);
    }
    ok(aligned, "arena/pointers_are_aligned_to_16");
    ok(zeroed, "arena/memory_is_zeroed");
    unsigned char *big = hn_alloc(&a, 5 << 20);
    ok(big && !big[0] && !big[(5 << 20) - 1], "arena/allocation_larger_than_a_block");
    hn_arena_free(&a);
    ok(!a.top && a.total_b == 0, "arena/free_leaves_an_empty_arena");
    ok(hn_alloc(&a, 8) != NULL, "arena/usable_after_free");
    hn_arena_free(&a);
}

static void test_texts(void) {
    hn_arena a = {0};
    is_text(hn_strdup(&a, "word"), "word", "arena/strdup");
    is_text(hn_strndup(&a, "word", 2), "wo", "arena/strndup");
    ok(hn_strdup(&a, NULL) == NULL && hn_arena_ok(&a), "arena/strdup_of_null_is_null_and_no_failure");
    is_text(hn_format(&a, "%s-%d", "x", 42), "x-42", "arena/format");
    is_text(hn_format(&a, "%s", ""), "", "arena/format_empty");
    char *lone = hn_format(&a, "%0*d", 9000, 7);
    ok(lone && strlen(lone) == 9000 && lone[8999] == '7', "arena/format_longer_than_a_block");
    hn_arena_free(&a);
}

static void test_marks(void) {
    hn_arena a = {0};
    hn_mark empty = hn_arena_mark(&a);
    char *keep = hn_strdup(&a, "keep");
    hn_mark m = hn_arena_mark(&a);
    char *first = hn_alloc(&a, 100);
    for (int i = 0; i < 100; i++) hn_alloc(&a, 1000);
    memset(first, 1, 100);
    hn_arena_release(&a, m);
    is_text(keep, "keep", "arena/release_keeps_what_is_older_than_the_mark");
    char *again = hn_alloc(&a, 100);
    ok(again == first && again[0] == 0, "arena/release_gives_the_memory_back_zeroed");
    size_t before = a.total_b;
    for (int i = 0; i < 1000; i++) {
        hn_mark inner = hn_arena_mark(&a);
        hn_alloc(&a, 3000);
        hn_arena_release(&a, inner);
    }
    ok(a.total_b == before, "arena/scratch_does_not_grow");
    hn_arena_release(&a, empty);
    ok(!a.top, "arena/release_to_the_mark_of_an_empty_arena");
    hn_arena_free(&a);
}

static void test_overflow(void) {
    static const struct {
        const char *name;
        size_t count, size;
    } cases[] = {
        {"arena/count_times_size_overflows", SIZE_MAX / 2, 3},
        {"arena/count_times_size_wraps_to_zero", SIZE_MAX / 16 + 1, 16},
        {"arena/size_max", SIZE_MAX, 1},
        {"arena/half_of_size_max", SIZE_MAX / 2, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hn_arena a = {0};
        char *kept = hn_strdup(&a, "kept");
        void *p = hn_alloc_n(&a, cases[i].count, cases[i].size);
        bool sticky = !hn_alloc(&a, 1) && !hn_strdup(&a, "x") && !hn_format(&a, "x") && !hn_strndup(&a, "x", 1);
        ok(!p && !hn_arena_ok(&a) && sticky && !strcmp(kept, "kept"), "%s", cases[i].name);
        hn_arena_free(&a);
        ok(hn_arena_ok(&a), "%s_then_free_clears_the_failure", cases[i].name);
    }
    hn_arena a = {0};
    ok(!hn_strndup(&a, "x", SIZE_MAX) && !hn_arena_ok(&a), "arena/strndup_of_size_max_bytes_fails");
    hn_arena_free(&a);
}

static hone_rc build(void *ctx) {
    hn_arena a = {0};
    (void)ctx;
    for (int i = 0; i < 50; i++) hn_format(&a, "text %d", i), hn_alloc(&a, 1000);
    hone_rc rc = hn_arena_ok(&a) ? HONE_OK : HONE_E_NOMEM;
    hn_arena_free(&a);
    return rc;
}

static void test_grow(void) {
    hn_arena a = {0};
    size_t room = 0, n = 0;
    int *list = NULL;
    bool same = true;
    for (int i = 0; i < 100; i++) {
        int *grown = hn_arena_grow(&a, list, n, &room, sizeof *grown);
        if (!grown) break;
        list = grown;
        list[n++] = i;
    }
    for (size_t i = 0; i < n; i++) same &= list[i] == (int)i;
    ok(n == 100 && same && room == 128, "grow/keeps_what_is_there");
    size_t huge = SIZE_MAX / 2 + 1;
    ok(!hn_arena_grow(&a, list, huge, &huge, 8) && !hn_arena_ok(&a), "grow/an_overflow_fails");
    hn_arena_free(&a);
}

int main(void) {
    test_basics();
    test_texts();
    test_marks();
    test_overflow();
    test_grow();
    ok(sweep_allocations("arena/nth_allocation_fails", build, NULL) > 3, "arena/sweep_met_every_block");
    return done_testing();
}
