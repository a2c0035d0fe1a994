/* Programs with memory spaces: the copies that placing puts in, each of them needed. */
#include "program/program.h"
#include "tap.h"

/* Kernels of a device, one of the host's, a branch, a loop that stacks, sizes that are stored and read, states. */
static const char whole[] = "program \"all\"\n"
                            "symbol n 1 .. 8\n"
                            "symbol k 0 ..\n"
                            "symbol t 0 ..\n"
                            "symbol p 0 ..\n"
                            "kernel 0 \"k0\" \"map\" device 1\n"
                            "kernel 1 \"k1\" \"map\" host\n"
                            "kernel 2 \"k2\" \"map\" device 1\n"
                            "arena bounded 768\n"
                            "item 0 size 128 at 0 alive 0 .. 9\n"
                            "item 1 size 128 at 128 alive 0 .. 9\n"
                            "item 2 size 8 at 256 alive 0 .. 9\n"
                            "item 3 size 1 at 320 alive 0 .. 9\n"
                            "item 4 size 128 at 384 alive 0 .. 9\n"
                            "item 5 size 8 at 512 alive 0 .. 9\n"
                            "item 6 size 128 at 576 alive 0 .. 9\n"
                            "item 7 size 1 at 704 alive 0 .. 9\n"
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
                            "%13 = bool[] host arena 7\n"
                            "%14 = f32[p, 4] host state 0\n"
                            "%15 = f32[n + p, 4] host state 0\n"
                            "output 0 \"y\" = %12\n"
                            "output 1 \"z\" = %10\n"
                            "state 0 \"past\" \"present\" = %14 -> %15\n"
                            "sizes {\n"
                            "    size n = %1[0]\n"
                            "    size p = %14[0]\n"
                            "}\n"
                            "steps {\n"
                            "    launch 0 (%1, %3) -> (%4) work 4*n cost 4*n scratch 0\n"
                            "    launch 1 (%4) -> (%5) work 4*n cost 4*n scratch 0\n"
                            "    store %11 = (n)\n"
                            "    launch 0 (%6, %11) -> (%9) work n cost n scratch 0\n"
                            "    state %15 = %14, %9\n"
                            "    launch 2 (%9) -> (%13) work 1 cost 1 scratch 0\n"
                            "    if %2 {\n"
                            "        copy %12 = %6\n"
                            "    } else {\n"
                            "        copy %12 = %9\n"
                            "    }\n"
                            "    loop %7, %8 turns none while %13 counts t {\n"
                            "        launch 2 (%7, %9) -> (%13) work 1 cost 1 scratch 0\n"
                            "        again %13\n"
                            "        stack %10 = %9\n"
                            "    }\n"
                            "}\n";

static bool place(hn_program *p, hone_err *err) {
    return !hn_program_parse(whole, strlen(whole), "t", p, err) && !hn_program_place(p, err) &&
           !hn_program_check(p, err);
}

static int32_t space(const hn_program *p, hn_val v) { return p->value[v].space; }

static void test_places(void) {
    hone_err err = {0};
    hn_program p = {0};
    hn_str out = {0};
    if (!ok(place(&p, &err), "spaces/a_placed_program_passes: %s", err.text)) {
        hn_program_print(&p, &out);
        printf("# %s\n", out.text ? out.text : "");
        hn_str_free(&out);
    }
    ok(space(&p, 1) == HN_HOST && space(&p, 3) == HN_DEVICE && space(&p, 4) == HN_DEVICE && space(&p, 5) == HN_HOST &&
           space(&p, 6) == HN_HOST && space(&p, 11) == HN_HOST && space(&p, 14) == HN_DEVICE,
       "spaces/homes_are_where_values_are_made");
    ok(space(&p, p.output[0].value) == HN_HOST && p.value[p.output[0].value].output == 0 && p.value[12].output < 0,
       "spaces/outputs_come_to_the_host");
    ok(hn_program_crossings(&p, NULL, 0) > 7, "spaces/copies_are_counted: %u", hn_program_crossings(&p, NULL, 0));
    hn_program_free(&p);
}

/* Takes crossing number `which` out of block b. */
static bool drop(hn_program *p, uint32_t which) {
    const hn_step *list[64];
    uint32_t n = hn_program_crossings(p, list, 64);
    if (which >= n) return false;
    for (uint32_t b = 0; b < p->n_block; b++)
        for (uint32_t i = 0; i < p->block[b].n; i++) {
            if (&p->block[b].step[i] != list[which]) continue;
            memmove(&p->block[b].step[i], &p->block[b].step[i + 1], (p->block[b].n - i - 1) * sizeof *p->block[b].step);
            p->block[b].n--;
            return true;
        }
    return false;
}

/* The verifier misses each of them, but a second one of a value in a loop, whose first stands before it. */
static void test_needed(void) {
    uint32_t n_missed = 0, n = 0;
    for (uint32_t i = 0; i < 64; i++) {
        hone_err err = {0};
        hn_program p = {0};
        if (!place(&p, &err) || !drop(&p, i)) {
            hn_program_free(&p);
            break;
        }
        n++;
        n_missed += hn_program_verify(&p, &err) == HONE_OK;
        hn_program_free(&p);
    }
    ok(n > 7 && n_missed <= 1, "spaces/each_copy_is_needed: %u of %u are not missed", n_missed, n);
}

static void test_faults(void) {
    hone_err err = {0};
    hn_program p = {0};
    ok(place(&p, &err), "spaces/placed_again");
    p.value[4].space = HN_HOST;
    ok(hn_program_verify(&p, &err) && strstr(err.text, "invariant"), "spaces/a_wrong_space_is_seen: %s", err.text);
    hn_program_free(&p);
}

static const char *symbol_of(void *arg, uint32_t kernel) {
    (void)kernel;
    return arg;
}

static void test_c(void) {
    static char fn[] = "fn";
    hone_err err = {0};
    hn_program p = {0};
    hn_str out = {0};
    const hn_program_c how = {.arg = fn, .symbol = symbol_of};
    if (place(&p, &err)) hn_program_print_c(&p, &how, &out);
    const char *text = out.text ? out.text : "";
    ok(strstr(text, "R(hnm_launch_device(m, fn, b, ") && strstr(text, "R(hnm_launch(m, fn, b, "), "spaces/c_launches");
    ok(strstr(text, "hnm_take_input(m, ") && strstr(text, "hnm_put(m, ") && strstr(text, "hnm_get(m, "),
       "spaces/c_copies");
    ok(strstr(text, "hnm_stack_device(m, ") && strstr(text, "hnm_give_output_device(m, &out[0], "),
       "spaces/c_stacks_and_gives");
    hn_str_free(&out);
    hn_program_free(&p);
}

int main(void) {
    test_places();
    test_needed();
    test_faults();
    test_c();
    return done_testing();
}
