/* Every family in hn_families: complete, found by its names, and its words read back as the genes they were written
 * for. */
#include "target/layout.h"
#include "target/target_int.h"

#include "tap.h"

#include <stdio.h>
#include <string.h>

static bool is_family(const char *command, const hn_family *f) { return hn_family_of_command(command) == f; }

static void test_parts(const hn_family *f) {
    ok(f->version == 1 && f->name && f->summary && f->command && f->aliases, "families/%s_has_names", f->name);
    ok(strlen(f->name) < sizeof((hone_identity *)0)->family, "families/%s_name_fits_what_is_stored", f->name);
    ok(f->recognise && f->code_files && f->native && f->discover && f->classify, "families/%s_can_be_asked", f->name);
    ok(f->level && f->arch && f->levels && *f->levels && f->seeds && *f->seeds, "families/%s_has_seeds", f->name);
    ok(f->spell && f->read && f->define && f->baseline && f->plain && f->worst && f->tunable && f->stays &&
           f->no_program,
       "families/%s_has_words", f->name);
    ok(f->contract[HONE_FP_STRICT] && f->contract_of, "families/%s_has_a_strict_contract", f->name);
    ok(f->contract_of(f->baseline, "") < HONE_N_FP && f->contract[f->contract_of(f->baseline, "")],
       "families/%s_can_keep_its_baselines_contract", f->name);
    ok((!f->pgo_generate == !f->pgo_use) && (!f->pgo_generate || f->pgo_extra), "families/%s_links_and_profiles",
       f->name);
    ok(f->probe && f->probe->suffix && f->probe->source && f->probe->object && f->probe->accepts && f->probe_level,
       "families/%s_is_probed", f->name);
    ok(!f->probe->accepts("/dev/null") && !f->probe->accepts("/nonexistent"), "families/%s_accepts_no_empty_file",
       f->name);
    ok(f->listing && f->listing->package && f->source_name &&
           (f->listing->device ? !f->listing->argv && !f->listing->read : f->listing->argv[0] && f->listing->read),
       "families/%s_lists_machine_code", f->name);
    ok(hn_family_named(f->name) == f && hone_family_kernel_flags(f->name) == f->kernel_flags,
       "families/%s_is_found_by_name", f->name);
}

static void test_commands(const hn_family *f) {
    char text[200];
    ok(is_family(f->command, f) && hn_family_knows_command(f->command), "families/%s_command", f->name);
    snprintf(text, sizeof text, "/usr/bin/x86_64-linux-gnu-%s-12", f->command);
    ok(is_family(text, f), "families/%s_command_with_path_and_version", f->name);
    snprintf(text, sizeof text, "my%s", f->command);
    ok(!hn_family_knows_command(text), "families/%s_not_every_ending", f->name);
    snprintf(text, sizeof text, "%s-19", f->command);
    ok(hone_family_is_command(f->command) && hone_family_is_command(text), "families/%s_plain_command", f->name);
    snprintf(text, sizeof text, "./%s", f->command);
    ok(!hone_family_is_command(text), "families/%s_path_is_no_plain_command", f->name);
    for (size_t i = 0; f->languages && f->languages[i]; i++) {
        const hn_family *found;
        snprintf(text, sizeof text, "file%.*s", (int)strcspn(f->languages[i]->endings, "|"), f->languages[i]->endings);
        ok(hn_language_of(text, &found) == f->languages[i] && found == f, "families/%s_language %s", f->name, text);
        ok(is_family(f->languages[i]->command, f), "families/%s_compiles %s", f->name, text);
    }
}

/* A gene, spelt and read again; the words behind the first of a gene are companions, which a baseline would keep. */
static void round_trip(const hn_family *f, const char *name, const char *value) {
    hn_arena a = {0};
    hn_flags words = {.a = &a};
    hn_said said = {0};
    struct hone_target t = {.family = f};
    f->spell(&words, &t, name, value);
    f->read(NULL, words.word, words.n, &said);
    if (!ok(words.n && said.n_words <= words.n && !strcmp(said.name, name) && !strcmp(said.value, value),
            "families/%s_reads_what_it_writes %s=%s", f->name, name, value))
        printf("# %s → %s = %s\n", words.n ? words.word[0] : "", said.name, said.value);
    hn_arena_free(&a);
}

/* Each of "NAME VALUE; NAME VALUE". */
static void test_seed(const hn_family *f, const char *seed) {
    char name[128], value[64];
    int used;
    for (; sscanf(seed, " %127s %63[^; ]%n", name, value, &used) == 2; seed += used, seed += strspn(seed, "; "))
        if (strcmp(name, "lto") != 0 && strcmp(name, "pgo") != 0 && !strstr(name, "-mllvm="))
            round_trip(f, name, value);
}

static void test_words(const hn_family *f) {
    hn_arena a = {0};
    hn_flags words = {.a = &a};
    hn_said said = {0};
    hn_str define = {0};
    for (size_t i = 0; f->levels[i]; i++) test_seed(f, f->levels[i]);
    for (size_t i = 0; f->seeds[i]; i++) test_seed(f, f->seeds[i]);
    f->read(NULL, &f->worst, 1, &said);
    ok(said.level, "families/%s_worst_is_a_level", f->name);
    f->read(NULL, &f->plain, 1, &said);
    ok(said.level && hn_matches(f->tunable, f->plain), "families/%s_plain_is_a_level", f->name);
    hn_flags_words(&words, f->baseline);
    f->read(NULL, words.word, words.n, &said);
    ok(said.level && !strcmp(said.name, f->level), "families/%s_baseline_begins_with_the_level", f->name);
    f->define(&define, "NAME", "7");
    ok(strstr(define.text, "NAME") && strchr(define.text, '7') && !strchr(define.text, ' '),
       "families/%s_defines_in_one_word", f->name);
    for (int fp = 0; fp < HONE_N_FP; fp++)
        for (size_t i = 0; f->contract[fp] && f->contract[fp][i]; i++) {
            f->read(NULL, &f->contract[fp][i], 1, &said);
            ok(said.contract, "families/%s_knows_its_contract %s", f->name, f->contract[fp][i]);
        }
    hn_str_free(&define);
    hn_arena_free(&a);
}

static void test_layouts(const hn_family *f) {
    hn_arena a = {0};
    hn_flags none = {.a = &a}, most = {.a = &a};
    hn_placing still = {0}, moved = {.align = 32, .sections = true, .script = "layout.ld"};
    if (f->place) f->place(&none, &still), f->place(&most, &moved);
    ok(!none.n && (!f->place || most.n >= 2), "families/%s_places_code", f->name);
    ok(!strcmp(f->source_name(&a, "main"), "main") && !strcmp(f->source_name(&a, "f.cold"), "f"),
       "families/%s_names_of_the_source", f->name);
    hn_arena_free(&a);
}

static void test_rust_names(void) {
    static const char *const c[][2] = {{"_ZN1p6kernel17hd4e7abeb4510bfa1E", "p::kernel"},
                                       {"_ZN47_$LT$p..Shape$u20$as$u20$core..fmt..Display$GT$3fmt17h0123456789abcdefE",
                                        "<p::Shape as core::fmt::Display>::fmt"},
                                       {"_ZN3std2rt10lang_start28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE",
                                        "std::rt::lang_start::{{closure}}"},
                                       {"_ZN1a1bEv", "_ZN1a1bEv"},
                                       {"_ZN99a", "_ZN99a"},
                                       {"_ZN", "_ZN"},
                                       {"_RNvC1p6kernel", "_RNvC1p6kernel"}};
    hn_arena a = {0};
    for (size_t i = 0; i < sizeof c / sizeof *c; i++)
        is_text(hn_family_named("rustc")->source_name(&a, c[i][0]), c[i][1], c[i][0]);
    hn_arena_free(&a);
}

/* Two words for one option, and what is no gene. */
static void test_rust_words(void) {
    static const struct {
        const char *word[2];
        size_t n_words;
        const char *name, *value;
        bool level;
    } c[] = {{{"-C", "opt-level=3"}, 2, "-Copt-level", "3", true},
             {{"--codegen", "target-cpu=native"}, 2, "-Ctarget-cpu", "native", false},
             {{"--codegen=opt-level=s", ""}, 1, "-Copt-level", "s", true},
             {{"-O", "x"}, 1, "-Copt-level", "3", true},
             {{"-Cno-vectorize-loops", ""}, 1, "-Cno-vectorize-loops", "on", false},
             {{"-Cllvm-args=--unroll-threshold=9", ""}, 1, "-Cllvm-args=unroll-threshold", "9", false},
             {{"-g", ""}, 1, "", "", false}};
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        hn_said said;
        hn_family_named("rustc")->read(NULL, c[i].word, 2, &said);
        ok(said.n_words == c[i].n_words && !strcmp(said.name, c[i].name) && !strcmp(said.value, c[i].value) &&
               said.level == c[i].level,
           "families/rustc_reads %s %s", c[i].word[0], c[i].word[1]);
    }
}

int main(void) {
    for (size_t i = 0; hn_families[i]; i++) {
        test_parts(hn_families[i]);
        test_commands(hn_families[i]);
        test_words(hn_families[i]);
        test_layouts(hn_families[i]);
    }
    ok(hn_family_of_command(NULL) == hn_families[0] && hn_family_of_command("make") == hn_families[0],
       "families/the_first_stands_for_the_unknown");
    ok(!hn_language_of("notes.txt", NULL) && !hn_language_of("Makefile", NULL), "families/not_every_file_is_a_source");
    test_rust_names();
    test_rust_words();
    return done_testing();
}
