/* The reduction, the parts of a point and the comparison of code while the nth allocation fails. */
#include "explain/explain_text.h"
#include "failalloc.h"
#include "planted.h"
#include "reduce/parts.h"

#include <hone/explain.h>

static hone_rc reduce(void *ctx) {
    (void)ctx;
    planted p = planted_make(8, 0.01, 1);
    p.effect[2] = 0.06;
    p.effect[5] = 0.03;
    p.identifies = true;
    p.dead[1] = p.dead[7] = true;
    hn_reduce_lab lab = planted_lab(&p);
    hn_reduce_rules rules = {.seed = 1};
    hn_reduced r = {.n_measured = 77};
    hn_arena a = {0};
    hone_rc rc = hn_reduce_point(&lab, &rules, &a, &r, NULL);
    if (rc && r.n_measured != 77) rc = HONE_E_FAILED; /* outputs are untouched on failure */
    hn_arena_free(&a);
    return rc;
}

static hone_rc compare(void *ctx) {
    static const char text[] =
        "0000000000000010 <f>:\n  10:\t90 \tmov    0x8(%rsp),%eax\n  11:\t75 fd \tjne    10 <f>\n"
        "  13:\te8 00 \tcall   30 <exp@plt>\n  15:\tc3 \tret\n",
                      other[] =
                          "0000000000000010 <f.part.0>:\n  10:\tc3 \tret\n0000000000000020 <g>:\n  20:\tc3 \tret\n";
    (void)ctx;
    hn_arena a = {0};
    hn_comparand c = {.compiler = {"gcc", "clang"}};
    hone_explanation x = {0};
    hone_rc rc = hn_objdump_read(text, sizeof text - 1, &a, &c.baseline, NULL);
    if (!rc) rc = hn_objdump_read(other, sizeof other - 1, &a, &c.tuned, NULL);
    if (!rc) rc = hn_explain_compare(&c, &a, &x, NULL);
    hn_arena_free(&a);
    return rc;
}

static hone_rc parts(void *ctx) {
    hone_space *s = ctx;
    double base[3] = {1, 2, 3}, winner[3] = {4, 5, 3};
    hn_arena a = {0};
    hn_parts p;
    hone_rc rc = hn_parts_find(s, base, winner, NULL, 0, &a, &p, NULL);
    hn_arena_free(&a);
    return rc;
}

int main(void) {
    static const char text[] = "hone-space: 1\nparameters:\n  a: {type: int, range: [0, 9]}\n"
                               "  b: {type: int, range: [0, 9]}\n  c: {type: int, range: [0, 9], when: a > 2}\n";
    hone_space *s = NULL;
    ok(hone_space_parse(text, sizeof text - 1, "test", &s, NULL) == HONE_OK, "reduce/space");
    sweep_allocations("reduce/nth_allocation_fails", reduce, NULL);
    sweep_allocations("explain/nth_allocation_fails", compare, NULL);
    sweep_allocations("parts/nth_allocation_fails", parts, s);
    hone_space_free(s);
    return done_testing();
}
