/* Disassemblies read and compared: recorded texts, written for what each shows. */
#include "explain/explain_text.h"
#include "target/loops.h"

#include <math.h>

#include "tap.h"

#include <hone/explain.h>

/* --- loops ----------------------------------------------------------------------------------------------------------
 */

/* One letter an instruction, at addresses 32, 33 …: '.' goes on, 'r' returns, 'u' jumps to an unknown place; a digit
 * or capital jumps there if a condition holds (0 … 9, A = 10 …), after '!' always. */
static size_t flow_of(const char *text, hn_flow *f) {
    size_t n = 0;
    for (const char *p = text; *p; p++) {
        bool always = *p == '!';
        if (always) p++;
        hn_flow x = {.at = 32 + n};
        x.ends = always || *p == 'r' || *p == 'u';
        x.jumps = *p == 'u' || (*p >= '0' && *p <= '9') || (*p >= 'A' && *p <= 'Z');
        if (x.jumps && *p != 'u') x.target = 32 + (uint64_t)(*p <= '9' ? *p - '0' : *p - 'A' + 10);
        f[n++] = x;
    }
    return n;
}

static void test_loops(void) {
    static const struct {
        const char *name, *flow, *depth;
        size_t n, n_inner, largest;
    } c[] = {
        {"straight", "...r", "0000", 0, 0, 0},
        {"one", "..2r", "0020", 1, 1, 1},
        {"body", ".....2.r", "00222200", 1, 1, 4},
        {"nested", "..2.1r", "012110", 2, 1, 1},
        {"two_ways_back", "..1.1r", "022220", 1, 1, 4},
        {"moved_out_of_the_way", "4...r!1", "000000", 0, 0, 0},
        {"tail_in_the_loop", ".5..1!1r", "0222220", 1, 1, 5},
        {"switch_in_a_loop", "..u.!1..!1.r", "0222222200", 1, 1, 7},
        {"forward_only", "3..r", "0000", 0, 0, 0},
        {"target_between_instructions", "...Zr", "00000", 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        hn_flow f[40];
        unsigned char depth[40];
        char text[41] = "";
        hn_loops l;
        size_t n = flow_of(c[i].flow, f);
        bool fine = hn_find_loops(f, n, depth, &l) && l.n == c[i].n && l.n_inner == c[i].n_inner;
        ok(fine && l.largest_inner == c[i].largest, "loops/%s (%zu, %zu, %zu)", c[i].name, l.n, l.n_inner,
           l.largest_inner);
        for (size_t k = 0; k < n; k++) text[k] = (char)('0' + depth[k]);
        is_text(text, c[i].depth, "loops/depth");
    }
}

/* --- objdump --------------------------------------------------------------------------------------------------------
 */

static const char x86[] =
    "./prog:     file format elf64-x86-64\n\n"
    "Disassembly of section .text:\n\n"
    "0000000000001030 <memset@plt>:\n"
    "    1030:\tff 25 e2 2f 00 00    \tjmp    *0x2fe2(%rip)        # 4018 <memset@GLIBC_2.2.5>\n\n"
    "0000000000001040 <row.constprop.0>:\n"
    "    1040:\tc5 fc 28 05 b4 0f 00 00 \tvmovaps 0xfb4(%rip),%ymm0        # 2000 <half>\n"
    "    1048:\tc5 fa 10 0f          \tvmovss (%rdi),%xmm1\n"
    "    104c:\tc4 e2 7d b8 0c 07    \tvfmadd231ps (%rdi,%rax,1),%ymm0,%ymm1\n"
    "    1052:\tc5 fc 11 4c 24 20    \tvmovups %ymm1,0x20(%rsp)\n"
    "    1058:\t8b 44 84 10          \tmov    0x10(%rsp,%rax,4),%eax\n"
    "    105c:\t48 39 f0             \tcmp    %rsi,%rax\n"
    "    105f:\t75 eb                \tjne    104c <row.constprop.0+0xc>\n"
    "    1061:\te8 ca ff ff ff       \tcall   1030 <memset@plt>\n"
    "    1066:\tc3                   \tret\n"
    "    1067:\t66 0f 1f 84 00 00 00 00 00 \tnopw   0x0(%rax,%rax,1)\n\n"
    "0000000000001070 <main>:\n"
    "    1070:\tf3 48 ab             \trep stos %rax,%es:(%rdi)\n"
    "    1073:\teb cb                \tjmp    1040 <row.constprop.0>\n";

static hn_disassembly read_text(const char *text, hn_arena *a) {
    hn_disassembly d = {0};
    hone_err err;
    if (hn_objdump_read(text, strlen(text), a, &d, &err)) printf("# %s\n", err.text);
    return d;
}

static void test_x86(void) {
    hn_arena a = {0};
    hn_disassembly d = read_text(x86, &a);
    if (!ok(d.n == 3, "objdump/functions")) return;
    const hn_function *f = &d.function[1];
    const double *c = f->count;
    is_text(f->name, "row.constprop.0", "objdump/name");
    ok(c[HN_CODE_BYTES] == 39 && c[HN_CODE_INSTRUCTIONS] == 9, "objdump/size_without_padding (%g, %g)",
       c[HN_CODE_BYTES], c[HN_CODE_INSTRUCTIONS]);
    ok(c[HN_CODE_VECTOR_256] == 3 && c[HN_CODE_VECTOR_128] == 0 && c[HN_CODE_SCALAR_FP] == 1 && c[HN_CODE_FMA] == 1,
       "objdump/vectors_and_scalars");
    ok(c[HN_CODE_LOOPS] == 1 && c[HN_CODE_IN_LOOPS] == 5 && c[HN_CODE_VECTOR_IN_LOOPS] == 2, "objdump/loop");
    ok(c[HN_CODE_STACK_IN_LOOPS] == 1 && c[HN_CODE_STACK_IN_INNER] == 1, "objdump/spill_is_no_array");
    ok(f->n_callees == 1 && !strcmp(f->callee[0], "memset") && c[HN_CODE_CALLS] == 1, "objdump/callee");
    ok(strstr(f->listing, "vmovaps <half>(%rip),%ymm0\n") != NULL, "objdump/data_by_its_symbol");
    f = &d.function[2];
    ok(f->count[HN_CODE_CALLS] == 1 && f->count[HN_CODE_LOOPS] == 0 && !strcmp(f->callee[0], "row.constprop.0"),
       "objdump/jump_to_a_function_is_a_call");
    is_text(f->listing, "stos %rax,%es:(%rdi)\njmp <row.constprop.0>\n", "objdump/listing");
    hn_arena_free(&a);
}

static void test_kinds(void) {
    static const struct {
        const char *insn;
        hn_code_count what;
        double width;
    } c[] = {
        {"vaddss %xmm1,%xmm2,%xmm3", HN_CODE_SCALAR_FP, 0},
        {"cvtsi2sdl (%rax),%xmm0", HN_CODE_SCALAR_FP, 0},
        {"movq   %xmm0,%rax", HN_CODE_SCALAR_FP, 0},
        {"movdqa %xmm0,%xmm1", HN_CODE_VECTOR_128, 128},
        {"pabsd  %xmm0,%xmm1", HN_CODE_VECTOR_128, 128},
        {"vbroadcastss %xmm0,%xmm1", HN_CODE_VECTOR_128, 128},
        {"vpgatherdd %ymm1,(%rax,%ymm2,4),%ymm0", HN_CODE_GATHERS, 256},
        {"vscatterdps %zmm1,(%rax,%zmm2,4){%k1}", HN_CODE_SCATTERS, 512},
        {"vaddps %zmm1,%zmm2,%zmm3{%k1}{z}", HN_CODE_MASKED, 512},
        {"vfnmadd132sd %xmm1,%xmm2,%xmm3", HN_CODE_FMA, 0},
        {"prefetcht0 0x40(%rsi)", HN_CODE_PREFETCHES, 0},
        {"call   *%rax", HN_CODE_CALLS, 0},
    };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        hn_arena a = {0};
        char text[300];
        snprintf(text, sizeof text, "0000000000000010 <f>:\n  10:\t90 90 90 \t%s\n  13:\tc3 \tret\n", c[i].insn);
        hn_disassembly d = read_text(text, &a);
        ok(d.n == 1 && d.function[0].count[c[i].what] == 1 && d.function[0].count[HN_CODE_WIDEST] == c[i].width,
           "objdump/%.*s", (int)strcspn(c[i].insn, " "), c[i].insn);
        hn_arena_free(&a);
    }
}

static void test_arm(void) {
    static const char text[] = "prog:     file format elf64-littleaarch64\n\n0000000000000738 <sum>:\n"
                               " 738:\ta9be7bfd \tstp\tx29, x30, [sp, #-32]!\n"
                               " 73c:\t4cdf7801 \tld1\t{v1.4s}, [x0], #16\n"
                               " 740:\t4ea18400 \tfmla\tv0.4s, v0.4s, v1.4s\n"
                               " 744:\tf90007e0 \tstr\tx0, [sp, #8]\n"
                               " 748:\t54ffff81 \tb.ne\t73c <sum+0x4>  // b.any\n"
                               " 74c:\t94000010 \tbl\t790 <exp@plt>\n"
                               " 750:\td65f03c0 \tret\n";
    hn_arena a = {0};
    hn_disassembly d = read_text(text, &a);
    if (!ok(d.n == 1, "objdump/aarch64")) return;
    const double *c = d.function[0].count;
    ok(c[HN_CODE_BYTES] == 28 && c[HN_CODE_VECTOR_128] == 2 && c[HN_CODE_FMA] == 1, "objdump/aarch64_vectors");
    ok(c[HN_CODE_LOOPS] == 1 && c[HN_CODE_IN_LOOPS] == 4 && c[HN_CODE_STACK_IN_LOOPS] == 1, "objdump/aarch64_loop");
    ok(c[HN_CODE_CALLS] == 1 && !strcmp(d.function[0].callee[0], "exp"), "objdump/aarch64_call");
    hn_arena_free(&a);
}

static void test_names(void) {
    hn_arena a = {0};
    static const char *const c[][2] = {{"row", "row"},
                                       {"row.constprop.0.isra.0", "row"},
                                       {"main.cold", "main"},
                                       {"f.part.0.lto_priv.1", "f"},
                                       {"_ZN1a1bEv", "_ZN1a1bEv"},
                                       {".cold", ".cold"}};
    for (size_t i = 0; i < sizeof c / sizeof *c; i++)
        ok(!strcmp(hn_family_of_command("gcc")->source_name(&a, c[i][0]), c[i][1]), "objdump/source_name_%s", c[i][0]);
    hn_arena_free(&a);
}

/* --- comparison -----------------------------------------------------------------------------------------------------
 */

static const char tuned[] = "0000000000002000 <row>:\n"
                            "    2000:\t62 f1 7c 48 28 07    \tvmovaps (%rdi),%zmm0\n"
                            "    2006:\t62 f2 75 48 b8 0c 07 \tvfmadd231ps (%rdi,%rax,1),%zmm1,%zmm1\n"
                            "    200d:\t48 39 f0             \tcmp    %rsi,%rax\n"
                            "    2010:\t75 f4                \tjne    2006 <row+0x6>\n"
                            "    2012:\tc3                   \tret\n\n"
                            "0000000000002020 <extra>:\n"
                            "    2020:\tc3                   \tret\n";

static double fact(const hone_explanation *x, const char *function, const char *what, bool of_tuned) {
    for (size_t i = 0; i < x->n_facts; i++)
        if (!strcmp(x->fact[i].function, function) && !strcmp(x->fact[i].what, what))
            return of_tuned ? x->fact[i].tuned : x->fact[i].baseline;
    return -1;
}

static void test_compare(void) {
    hn_arena a = {0};
    hn_comparand c = {.compiler = {"gcc", "clang-19"}};
    hone_explanation x = {0};
    c.baseline = read_text(x86, &a);
    c.tuned = read_text(tuned, &a);
    if (!ok(hn_explain_compare(&c, &a, &x, NULL) == HONE_OK && x.n_sentences == 4, "explain/sentences")) return;
    is_text(x.sentence[0],
            "row: 512-bit vectors in its loops instead of 256; 1 stack access in inner loops gone; its largest "
            "inner loop has 3 instructions, 5 before; no longer calls memset; 39 -> 19 bytes",
            "explain/what_loops_most_comes_first");
    is_text(x.sentence[1], "main: inlined into its callers, or gone (5 bytes before)", "explain/gone");
    is_text(x.sentence[2], "extra: a function of its own now (1 byte); inlined or not there before", "explain/new");
    is_text(x.sentence[3],
            "compiled by clang-19 instead of gcc; 3 of 3 functions differ; 44 -> 20 bytes of code in 2 functions, 2 "
            "before",
            "explain/program");
    ok(fact(&x, "", "bytes", false) == 44 && fact(&x, "", "functions", true) == 2, "explain/facts_of_the_program");
    ok(fact(&x, "row", "widest vector in loops, bit", true) == 512 && isnan(fact(&x, "main", "bytes", true)),
       "explain/facts_of_functions");
    ok(x.function && !strcmp(x.function, "row") && strstr(x.listing[1], "vfmadd231ps"), "explain/listing");
    hn_arena_free(&a);
}

/* The same code elsewhere, with one foreign function that is alike. */
static void test_same(void) {
    static const char one[] = "0000000000000010 <f>:\n  10:\t75 fe \tjne    10 <f>\n  11:\t90 \tmov    0x8(%rip),%eax  "
                              "      # 20 <a+0x4>\n  12:\tc3 \tret\n"
                              "0000000000000020 <percentile>:\n  20:\tc3 \tret\n",
                      two[] = "0000000000000050 <percentile>:\n  50:\tc3 \tret\n"
                              "0000000000000060 <f>:\n  60:\t75 fe \tjne    60 <f>\n  61:\t90 \tmov    0x18(%rip),%eax "
                              "       # 80 <b>\n  62:\tc3 \tret\n";
    static const char *foreign[] = {"percentile"};
    hn_arena a = {0};
    hn_comparand c = {.foreign = foreign, .n_foreign = 1, .compiler = {"gcc", "gcc"}};
    hone_explanation x = {0};
    c.baseline = read_text(one, &a);
    c.tuned = read_text(two, &a);
    hn_explain_compare(&c, &a, &x, NULL);
    ok(x.n_sentences == 1 && !x.function && fact(&x, "", "functions", false) == 1, "explain/same_code_elsewhere");
    is_text(x.n_sentences ? x.sentence[0] : "",
            "the machine code is the same in 1 function; if the programs differ, then in the order, the alignment or "
            "the data",
            "explain/same");
    hn_arena_free(&a);
}

int main(void) {
    test_loops();
    test_x86();
    test_kinds();
    test_arm();
    test_names();
    test_compare();
    test_same();
    return done_testing();
}
