/* Programs: the text and back, and every invariant of program.h seen to fail on a planted fault. */
#include "program/program.h"
#include "tap.h"

/* A model of everything: sizes, checks, launches in place, a branch, a loop that stacks, a read, a library's call. */
static const char good[] = "program \"all\"\n"
                           "symbol n 1 .. 8\n"
                           "symbol k 0 ..\n"
                           "symbol t 0 ..\n"
                           "symbol p 0 ..\n"
                           "kernel 0 \"k0\" \"map\" host over 0\n"
                           "kernel 1 \"k1\" \"map\" host\n"
                           "arena bounded 576\n"
                           "item 0 size 128 at 0 alive 0 .. 3\n"
                           "item 1 size 128 at 0 alive 3 .. 9 shares 0\n"
                           "item 2 size 8 at 128 alive 4 .. 9\n"
                           "item 3 size 1 at 192 alive 4 .. 9\n"
                           "item 4 size 128 at 256 alive 4 .. 9\n"
                           "item 5 size 8 at 384 alive 4 .. 9\n"
                           "item 6 size 128 at 448 alive 4 .. 9\n"
                           "%1 = f32[n, 4] host input 0 \"x\"\n"
                           "%2 = bool[] host input 1 \"c\"\n"
                           "%3 = f32[4] host weights 0\n"
                           "%4 = f32[n, 4] host arena 0\n"
                           "%5 = f32[n, 4] host arena 1\n"
                           "%6 = f32[4*n] host view %5\n"
                           "%7 = i64[] host arena 2\n"
                           "%8 = bool[] host arena 3\n"
                           "%9 = f32[n, 4] host arena 4\n"
                           "%10 = f32[t, n, 4] host grown 0\n"
                           "%11 = i64[1] host arena 5\n"
                           "%12 = f32[n, 4] host arena 6 or output 0\n"
                           "%13 = f32[k] host grown 1 room 4*n\n"
                           "%14 = f32[p, 4] host state 0\n"
                           "%15 = f32[n + p, 4] host state 0\n"
                           "%16 = f32[n, 4] host state 1\n"
                           "%18 = f32[n, 4] host state 2\n"
                           "%19 = f32[n, 4] host next 2\n"
                           "output 0 \"y\" = %12\n"
                           "output 1 \"z\" = %10\n"
                           "output 2 \"w\" = %13\n"
                           "state 0 \"past\" \"present\" = %14 -> %15\n"
                           "state 1 \"h\" \"h2\" = %16 -> %16\n"
                           "state 2 \"c\" \"c2\" = %18 -> %19\n"
                           "sizes {\n"
                           "    size n = %1[0]\n"
                           "    size p = %14[0]\n"
                           "    check size %1[0] n \"batch\"\n"
                           "    check divisible n by 1\n"
                           "}\n"
                           "steps {\n"
                           "    launch 0 (%1, %3) -> (%4) work 4*n cost ? scratch 0\n"
                           "    launch 0 (%4, none) -> (%5) product n, 4 cost 4*n scratch 64\n"
                           "    store %11 = (n)\n"
                           "    state %15 = %14, %5\n"
                           "    launch 0 (%16, %14) -> (%16) work n cost n scratch 0\n"
                           "    launch 1 (%18) -> (%19) work n cost n scratch 0\n"
                           "    if %2 {\n"
                           "        copy %9 = %6\n"
                           "    } else {\n"
                           "        launch 1 (%5) -> (%9) work n cost n scratch 0\n"
                           "    }\n"
                           "    loop %7, %8 turns %11 while none counts t {\n"
                           "        launch 1 (%9) -> (%5) work n cost n scratch 0\n"
                           "        again %8\n"
                           "        stack %10 = %5\n"
                           "        copy %9 = %5\n"
                           "    }\n"
                           "    launch 1 (%9) -> (%13) defines k work 1 cost n scratch 0\n"
                           "    check inside 0, k, 4*n by 1\n"
                           "    check padding k\n"
                           "    check equal k, k\n"
                           "    read k = %11[0]\n"
                           "    bind k = 4*n\n"
                           "    call \"sort\" (%9) -> (%12)\n"
                           "}\n";

static hone_rc check(const char *text, hone_err *err) {
    hn_program p;
    hone_rc rc = hn_program_parse(text, strlen(text), "t", &p, err);
    if (!rc) rc = hn_program_verify(&p, err);
    hn_program_free(&p);
    return rc;
}

/* The text with its first `from` replaced. */
static char *with(const char *text, const char *from, const char *to) {
    const char *at = strstr(text, from);
    hn_str s = {0};
    if (!at) return NULL;
    hn_str_add_n(&s, text, (size_t)(at - text));
    hn_str_add(&s, to);
    hn_str_add(&s, at + strlen(from));
    return hn_str_take(&s);
}

static void test_text(void) {
    hn_program p;
    hn_str out = {0};
    hone_err err = {0};
    hone_rc rc = hn_program_parse(good, strlen(good), "t", &p, &err);
    ok(!rc, "program/text_is_read");
    if (rc) printf("# %s\n", err.text);
    rc = hn_program_check(&p, &err);
    if (!ok(!rc, "program/good_one_passes")) printf("# %s\n", err.text);
    hn_program_print(&p, &out);
    is_text(out.text, good, "program/text_is_printed_as_it_was");
    ok(hn_program_count(&p, HN_STEP_COPY) == 2 && hn_program_count(&p, HN_STEP_LAUNCH) == 7,
       "program/steps_are_counted");
    hn_str_free(&out);
    hn_program_free(&p);
}

static const struct {
    const char *name, *from, *to;
    int invariant;
} fault[] = {
    {"value_unknown", "launch 0 (%1, %3)", "launch 0 (%1, %30)", 1},
    {"view_of_a_view", "%7 = i64[] host arena 2\n", "%17 = f32[4*n] host view %6\n%7 = i64[] host arena 2\n", 1},
    {"view_of_other_elements", "f32[4*n] host view", "f32[4*n + 1] host view", 1},
    {"element_unknown", "read k = %11[0]", "read k = %11[1]", 1},
    {"symbol_before_its_definition", "store %11 = (n)", "store %11 = (k)", 2},
    {"symbol_of_one_branch", "        copy %9 = %6\n    } else {\n",
     "        copy %9 = %6\n        bind k = 1\n    } else {\n", 0},
    {"symbol_of_one_branch_used",
     "        copy %9 = %6\n    } else {\n        launch 1 (%5) -> (%9) work n cost n scratch 0\n    }\n",
     "        copy %9 = %6\n        bind k = 1\n    } else {\n        copy %9 = %6\n    }\n    check padding k\n", 2},
    {"turns_used_inside", "again %8", "again %8\n        check padding t", 2},
    {"read_before_write", "launch 0 (%1, %3) -> (%4)", "launch 0 (%9, %3) -> (%4)", 3},
    {"written_in_one_branch", "        launch 1 (%5) -> (%9) work n cost n scratch 0\n    }", "    }", 3},
    {"over_a_live_value", "item 5 size 8 at 384", "item 5 size 8 at 0", 4},
    {"over_what_a_turn_reads_again", "        launch 1 (%9) -> (%5) work n cost n scratch 0\n        again",
     "        launch 1 (%4) -> (%5) work n cost n scratch 0\n        again", 4},
    {"loop_variable_over_a_live_value", "item 2 size 8 at 128", "item 2 size 8 at 256", 4},
    {"grown_twice", "grown 1 room", "grown 0 room", 4},
    {"kernel_of_another_space", "kernel 1 \"k1\" \"map\" host", "kernel 1 \"k1\" \"map\" device 1", 5},
    {"condition_on_a_device", "%2 = bool[] host input 1", "%2 = bool[] device 1 input 1", 5},
    {"condition_of_another_type", "%2 = bool[] host", "%2 = f32[] host", 5},
    {"weights_written", "store %11 = (n)", "copy %3 = %3", 6},
    {"launch_in_sizes", "    check divisible n by 1\n", "    launch 1 (%1) -> (%4) work n cost n scratch 0\n", 7},
    {"loop_without_again", "        again %8\n", "", 7},
    {"again_outside", "    store %11 = (n)\n", "    again %2\n", 7},
    {"stack_in_a_branch", "copy %9 = %6", "stack %10 = %6", 7},
    {"size_of_no_input", "size n = %1[0]", "size n = %4[0]", 7},
    {"kernel_unknown", "launch 0 (%1", "launch 2 (%1", 8},
    {"in_place_without_leave", "kernel 0 \"k0\" \"map\" host over 0", "kernel 0 \"k0\" \"map\" host", 8},
    {"output_not_written", "    call \"sort\" (%9) -> (%12)\n", "", 9},
    {"output_taken_twice", "%9 = f32[n, 4] host arena 4", "%9 = f32[n, 4] host arena 4 or output 0", 9},
    {"output_of_grown_memory", "grown 0\n", "grown 0 or output 1\n", 9},
    {"copy_of_another_size", "copy %9 = %6", "copy %9 = %3", 0},
    {"copy_of_another_type", "copy %9 = %6", "copy %9 = %2", 10},
    {"copy_of_more_elements", "%6 = f32[4*n] host view %5", "%6 = f32[2] host weights 1", 10},
    {"item_outside", "item 6 size 128 at 448", "item 6 size 128 at 512", 11},
    {"item_too_small", "item 6 size 128", "item 6 size 64", 11},
    {"item_of_two_values", "%9 = f32[n, 4] host arena 4", "%9 = f32[n, 4] host arena 0", 11},
    {"state_unknown", "%16 = f32[n, 4] host state 1", "%16 = f32[n, 4] host state 3", 12},
    {"state_elsewhere", "= %14 -> %15", "= %14 -> %16", 12},
    {"rows_of_another_width", "    state %15 = %14, %5\n", "    state %15 = %14, %6\n", 12},
    {"rows_of_another_number", "%15 = f32[n + p, 4]", "%15 = f32[2*n + p, 4]", 12},
    {"new_value_not_written", "    state %15 = %14, %5\n", "", 12},
    {"old_value_written", "    store %11 = (n)\n", "    store %11 = (n)\n    copy %14 = %14\n", 12},
    {"old_value_read_when_it_is_gone", "    call \"sort\" (%9) -> (%12)\n",
     "    call \"sort\" (%9) -> (%12)\n    launch 1 (%14) -> (%9) work n cost n scratch 0\n    launch 1 (%9) -> (%15) "
     "work n "
     "cost n scratch 0\n    launch 1 (%14) -> (%12) work n cost n scratch 0\n",
     4},
    {"second_buffer_of_no_state", "host next 2", "host next 3", 12},
    {"second_buffer_of_another_value", "%16 = f32[n, 4] host state 1",
     "%17 = f32[n, 4] host next 1\n%16 = f32[n, 4] host state 1", 12},
    {"second_buffer_of_a_late_size", "%19 = f32[n, 4]", "%19 = f32[k, 4]", 2},
    {"second_buffer_not_written", "    launch 1 (%18) -> (%19) work n cost n scratch 0\n", "", 12},
    {"state_written_without_leave", "kernel 0 \"k0\" \"map\" host over 0", "kernel 0 \"k0\" \"map\" host over 1", 8},
    {"items_in_a_circle", "alive 0 .. 3\n", "alive 0 .. 3 shares 1\n", 11},
};

static void test_faults(void) {
    for (size_t i = 0; i < sizeof fault / sizeof *fault; i++) {
        char *text = with(good, fault[i].from, fault[i].to), want[40];
        hone_err err = {0};
        hone_rc rc = text ? check(text, &err) : HONE_E_INPUT;
        snprintf(want, sizeof want, "breaks invariant %d: ", fault[i].invariant);
        bool as_said = fault[i].invariant ? rc == HONE_E_FAILED && strstr(err.text, want) : !rc;
        if (!ok(as_said, "program/%s", fault[i].name)) printf("# %s\n", err.text);
        free(text);
    }
}

/* Of open sizes nobody knows offsets: what is alive at once must not share, and its spans must meet. */
static void test_open(void) {
    char *open = with(good, "arena bounded 576", "arena open 0"), *apart, *shared;
    hone_err err = {0};
    ok(!check(open, &err), "program/open_sizes_pass");
    apart = with(open, "at 384 alive 4 .. 9", "at 384 alive 1 .. 2");
    ok(check(apart, &err) && strstr(err.text, "invariant 4"), "program/spans_that_do_not_meet");
    shared = with(open, "at 448 alive 4 .. 9", "at 448 alive 4 .. 9 shares 4");
    ok(check(shared, &err) && strstr(err.text, "invariant 8"), "program/shared_without_leave");
    free(open), free(apart), free(shared);
}

static void test_refused(void) {
    static const char *const bad[][3] = {
        {"nothing", "program \"all\"", "graph \"all\""},
        {"symbol_twice", "symbol k 0 ..", "symbol n 0 .."},
        {"value_twice", "%2 = bool", "%1 = bool"},
        {"step_unknown", "store %11", "fetch %11"},
        {"block_open", "    call \"sort\" (%9) -> (%12)\n}", "    call \"sort\" (%9) -> (%12)\n"},
        {"symbol_unknown", "f32[n, 4] host arena 4", "f32[m, 4] host arena 4"},
        {"item_out_of_order", "item 1 size", "item 2 size"},
        {"step_of_0", "4*n by 1", "4*n by 0"},
        {"text_behind", "    call \"sort\" (%9) -> (%12)\n}", "    call \"sort\" (%9) -> (%12)\n} more"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char *text = with(good, bad[i][1], bad[i][2]);
        hone_err err = {0};
        if (!ok(text && check(text, &err) == HONE_E_INPUT && !strncmp(err.text, "t:", 2), "program/refuses_%s",
                bad[i][0]))
            printf("# %s\n", err.text);
        free(text);
    }
}

static const char *symbol_of(void *arg, uint32_t kernel) { return kernel ? "second" : (const char *)arg; }

static void test_c(void) {
    hn_program p;
    hn_str out = {0};
    hone_rc rc = hn_program_parse(good, strlen(good), "t", &p, NULL);
    char first[] = "first";
    const hn_program_c how = {.arg = first, .symbol = symbol_of};
    if (!rc) hn_program_print_c(&p, &how, &out);
    const char *text = out.text ? out.text : "";
    ok(strstr(text, "hnm_launch(m, first, b, ((4*S_0)), INT32_MAX, 0)"), "program/c_launches");
    ok(strstr(text, "v[5]") && !strstr(text, "v[6]"), "program/c_knows_no_views");
    ok(strstr(text, "R(sort(b, m->s));"), "program/c_calls_a_library");
    ok(strstr(text, "R(hnm_state_next(m, 2, 19, ") && strstr(text, "hnm_state_swap(m, 2);") &&
           !strstr(text, "hnm_state_swap(m, 1);"),
       "program/c_exchanges_buffers_of_a_state");
    ok(strstr(text, "if (out[0].data) v[12] = out[0].data;"), "program/c_takes_the_buffer_of_an_output");
    hn_str_free(&out);
    hn_program_free(&p);
}

int main(void) {
    test_text();
    test_faults();
    test_open();
    test_refused();
    test_c();
    return done_testing();
}
