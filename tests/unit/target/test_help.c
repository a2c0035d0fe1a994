/* Help texts of several compiler versions, in excerpts written for these tests, as the rows that are read from them. */
#include "base/str.h"
#include "target/help.h"

#include "tap.h"

#include <math.h>

typedef void reader(hn_arena *a, const char *text, size_t n, hn_help *out);

/* One row a line: NAME[=] [lo..hi] [{a,b}] [<type>] rest */
static char *rows(reader *read, const char *text) {
    hn_arena a = {0};
    hn_help help = {0};
    hn_str s = {0};
    read(&a, text, strlen(text), &help);
    for (size_t i = 0; i < help.n; i++) {
        const hn_help_row *r = &help.row[i];
        hn_str_addf(&s, "%s%s", r->name, r->takes_value ? "=" : "");
        if (!isnan(r->lo)) hn_str_addf(&s, " %g..%g", r->lo, r->hi);
        for (size_t v = 0; v < r->n_values; v++) hn_str_addf(&s, "%s%s", v ? "," : " {", r->value[v]);
        hn_str_addf(&s, "%s", r->n_values ? "}" : "");
        if (r->type) hn_str_addf(&s, " <%s>", r->type);
        hn_str_addf(&s, "%s%s\n", *r->rest ? " " : "", r->rest);
    }
    hn_arena_free(&a);
    return hn_str_take(&s);
}

static const struct {
    const char *name;
    reader *read;
    const char *text, *want;
} cases[] = {
    {"help/gcc12_settings", hn_help_gcc,
     "The following options control optimizations:\n"
     "  -O<number>                  \t\t\n"
     "  -faggressive-loop-optimizations \t[enabled]\n"
     "  -falign-jumps=              \t\t16:11:8\n"
     "  -fdelete-null-pointer-checks \t\t\n"
     "  -fvect-cost-model=[unlimited|dynamic|cheap|very-cheap] \tvery-cheap\n"
     "  -flifetime-dse=<0,2>        \t\t2\n"
     "  -fpack-struct=<number>      \t\t\n"
     "  -fhandle-exceptions         \t\t-fexceptions\n"
     "  -frtti                      \t\t[available in C++, D, ObjC++]\n",
     "-faggressive-loop-optimizations [enabled]\n-falign-jumps= 16:11:8\n-fdelete-null-pointer-checks\n"
     "-fvect-cost-model= {unlimited,dynamic,cheap,very-cheap} very-cheap\n-flifetime-dse= 0..2 2\n-fpack-struct=\n"
     "-fhandle-exceptions -fexceptions\n-frtti [available in C++, D, ObjC++]\n"},
    {"help/gcc12_parameters", hn_help_gcc,
     "The following options control parameters:\n"
     "  --param=align-threshold=<1,65536> \t\t100\n"
     "  --param=vect-max-peeling-for-alignment=<0,64> \t-1\n"
     "  --param=max-gcse-memory=    \t\t131072\n"
     "  --param=parloops-schedule=[static|dynamic] \tstatic\n",
     "--param=align-threshold= 1..65536 100\n--param=vect-max-peeling-for-alignment= 0..64 -1\n"
     "--param=max-gcse-memory= 131072\n--param=parloops-schedule= {static,dynamic} static\n"},
    {"help/gcc12_descriptions_go_on", hn_help_gcc,
     "  -fassociative-math          Allow changes\n"
     "                              which reorder.\n"
     "  --param=evrp-mode=          --param=evrp-mode=[legacy|ranger|legacy-\n"
     "                              first] Specifies the mode.\n"
     "  -fasynchronous-unwind-tables Exact tables.\n",
     "-fassociative-math Allow changes which reorder.\n--param=evrp-mode= {legacy,ranger,legacy-first} Specifies the "
     "mode.\n-fasynchronous-unwind-tables Exact tables.\n"},
    {"help/gcc9_parameters", hn_help_gcc,
     "The following options control parameters:\n"
     "  predictable-branch-outcome  \tdefault 2 minimum 0 maximum 50\n"
     "  max-inline-insns-single     \tdefault 200 minimum 0 maximum 0\n"
     "  odd-one                     \tdefault\n",
     "--param=predictable-branch-outcome= 0..50 2\n--param=max-inline-insns-single= 200\n--param=odd-one= default\n"},
    {"help/gcc_target_lists", hn_help_gcc,
     "The following options are target specific:\n"
     "  -mavx2                      \t\t[disabled]\n"
     "  -mbranch-cost=<0,5>         \t\t3\n"
     "  -mstringop-strategy=        \t\t[default]\n"
     "\n"
     "  Valid arguments to -mstringop-strategy=:\n"
     "    byte_loop libcall\n"
     "    vector_loop\n"
     "\n"
     "  Known ABIs (for use with the -mabi= option):\n"
     "    ms sysv\n",
     "-mavx2 [disabled]\n-mbranch-cost= 0..5 3\n-mstringop-strategy= [default]\n"
     "-mstringop-strategy= {byte_loop,libcall,vector_loop}\n-mabi= {ms,sysv}\n"},
    {"help/gcc_windows_line_ends", hn_help_gcc, "  -fgcse \t[enabled]\r\n  -fweb \t[disabled]\r\n",
     "-fgcse [enabled]\n-fweb [disabled]\n"},
    {"help/gcc_unusable_lines_skipped", hn_help_gcc,
     "  -fdisable-[tree|rtl|ipa]-<pass>=range1+range2 \n  -\n  --param=\n  -f$x [enabled]\n  =5\n  -fx=<9,1> 3\n",
     "-fx= 3\n"},
    {"help/clang19_types", hn_help_clang,
     "USAGE: clang (LLVM option parsing) [options]\n\nOPTIONS:\n"
     "  --aarch64-enable-ccmp                    - Enable the CCMP pass\n"
     "  --inline-threshold=<int>                 - Control inlining (default = 225)\n"
     "  --regalloc=<value>                       - Register allocator to use\n"
     "    =pbqp                                  -   PBQP register allocator\n"
     "    =greedy                                -   greedy register allocator\n"
     "  Mode of the RegBankSelect pass\n"
     "      --regbankselect-fast                 - Run the Fast mode\n"
     "  --time-trace[=<file>]                    - Trace\n"
     "  --unroll-count=<uint>                    - \n",
     "aarch64-enable-ccmp Enable the CCMP pass\ninline-threshold= <int> Control inlining (default = 225)\n"
     "regalloc= {pbqp,greedy} <value> Register allocator to use\nunroll-count= <uint>\n"},
    {"help/clang11_single_dash", hn_help_clang, "  -unroll-count=<uint>  - Use this\n  -W   - Alias for --no-warn\n",
     "unroll-count= <uint> Use this\nW Alias for --no-warn\n"},
    {"help/clang_values", hn_help_clang_values,
     "  --inline-threshold          = 225      (default: 225)\n"
     "    --regalloc                = default  (default: default)\n"
     "  --unroll-runtime            = 0        (default: *no default*)\n"
     "  --rng-seed                  = *cannot print option value*\n"
     "nonsense = 3\n",
     "inline-threshold 225\nregalloc default\nunroll-runtime 0\nrng-seed\n"},
};

static void test_find(void) {
    static const char text[] = "  -fb \t[enabled]\n  -fb=<0,3> \t1\n  -fa \t[disabled]\n";
    hn_arena a = {0};
    hn_help help = {0};
    hn_help_gcc(&a, text, sizeof text - 1, &help);
    hn_help_sort(&help);
    const hn_help_row *r = hn_help_find(&help, "-fb", true);
    ok(r && r->hi == 3, "help/find_by_name_and_kind");
    ok(hn_help_find(&help, "-fa", false) != NULL, "help/find_flag");
    ok(!hn_help_find(&help, "-fa", true), "help/find_absent");
    hn_arena_free(&a);
}

static void test_many_rows(void) {
    hn_str s = {0};
    for (int i = 0; i < 5000; i++) hn_str_addf(&s, "  -fpass-%d \t[enabled]\n                 more words\n", i);
    hn_arena a = {0};
    hn_help help = {0};
    hn_help_gcc(&a, s.text, s.n, &help);
    ok(help.n == 5000 && !strcmp(help.row[4999].rest, "[enabled] more words"), "help/many_rows");
    hn_arena_free(&a);
    hn_str_free(&s);
}

int main(void) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *got = rows(cases[i].read, cases[i].text);
        is_text(got, cases[i].want, cases[i].name);
        free(got);
    }
    test_find();
    test_many_rows();
    return done_testing();
}
