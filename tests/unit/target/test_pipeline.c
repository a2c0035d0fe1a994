/* Pipelines of passes: what is read is printed the same, what is malformed is refused with its place; opt's own text.
 */
#include "base/arena.h"
#include "tap.h"
#include "target/pipeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const good[] = {
    "sroa",
    "function(sroa,gvn<>),globaldce",
    "cgscc(devirt<4>(inline,function<eager-inv;no-rerun>(sroa<modify-cfg>,loop-mssa(licm<no-allowspeculation>))))",
    "function()",
    "require<globals-aa>,function(invalidate<aa>),simplifycfg<bonus-inst-threshold=1;no-forward-switch-cond>",
};
static const struct {
    const char *text, *why;
} bad[] = {{"", "no name"},          {"a,", "no name"},       {",a", "no name"},
           {"a(b", "without a ')'"}, {"a)", "without a '('"}, {"a<b", "without a '>'"},
           {"a>b", "without a '<'"}, {"f(a,)", "no name"},    {"f(a)g", "without a '('"}};

static void round_trip(const char *name, const char *text) {
    hn_arena a = {0};
    hn_str s = {0};
    hn_pipeline p = {0};
    hone_err e = {0};
    bool read = !hn_pipeline_parse(text, &a, &p, &e);
    if (read) hn_pipeline_print(p.root, &s);
    ok(read && s.text && !strcmp(s.text, text), "pipeline/%s (%zu passes)", name, p.n);
    hn_str_free(&s);
    hn_arena_free(&a);
}

/* Numbers:                    1        2    3   4         5    6      7 */
static const char edited[] = "a,function(b<x=1>,c,d),cgscc(e),loop(f),g";
static const struct {
    const char *name, *edits, *text;
} edit[] = {{"none", "", edited},
            {"cut", "-3", "a,function(b<x=1>,d),cgscc(e),loop(f),g"},
            {"cut_of_the_last_takes_its_list", "-5 -6", "a,function(b<x=1>,c,d),g"},
            {"repeat", "+2@4", "a,function(b<x=1>,c,b<x=1>,d),cgscc(e),loop(f),g"},
            {"repeat_in_front_of_itself", "+5@5", "a,function(b<x=1>,c,d),cgscc(e,e),loop(f),g"},
            {"swap_across_lists_of_one_list", "1~7", "g,function(b<x=1>,c,d),cgscc(e),loop(f),a"},
            {"swap_then_repeat_then_cut", "-2 +3@4 2~4", "a,function(c,d,c),cgscc(e),loop(f),g"},
            {"the_same_in_another_order", "2~4 -2 +3@4", "a,function(c,d,c),cgscc(e),loop(f),g"},
            {"the_same_twice", "-3  -3 ", "a,function(b<x=1>,d),cgscc(e),loop(f),g"},
            {"repeat_of_what_is_cut", "-3 +3@2", "a,function(c,b<x=1>,d),cgscc(e),loop(f),g"},
            {"cut_of_all", "-1 -2 -3 -4 -5 -6 -7", ""}};
static const struct {
    const char *edits, *why;
} no_edit[] = {{"-8", "has 7 passes"}, {"1~2", "in one list"},  {"+2@1", "in one list"},
               {"17", "is no edit"},   {"-0", "is no edit"},    {"-03", "is no edit"},
               {"+2", "is no edit"},   {"2~", "is no edit"},    {"-3x", "is no edit"},
               {"- 3", "is no edit"},  {"-3,-4", "is no edit"}, {"-99999999999999999999", "is no edit"}};

static void edits_apply(void) {
    for (size_t i = 0; i < sizeof edit / sizeof *edit; i++) {
        hn_arena a = {0};
        hn_str s = {0};
        hn_pipeline p;
        bool fine = !hn_pipeline_parse(edited, &a, &p, NULL) && !hn_pipeline_apply(&p, edit[i].edits, &a, NULL);
        if (fine) hn_pipeline_print(p.root, &s);
        ok(fine && !strcmp(s.text ? s.text : "", edit[i].text), "pipeline/edit_%s (%s)", edit[i].name,
           s.text ? s.text : "");
        hn_str_free(&s);
        hn_arena_free(&a);
    }
    for (size_t i = 0; i < sizeof no_edit / sizeof *no_edit; i++) {
        hn_arena a = {0};
        hn_pipeline p;
        hone_err e = {0};
        bool refused = !hn_pipeline_parse(edited, &a, &p, NULL) &&
                       hn_pipeline_apply(&p, no_edit[i].edits, &a, &e) == HONE_E_INPUT &&
                       strstr(e.text, no_edit[i].why);
        ok(refused, "pipeline/edit_refused_%zu (%s)", i, e.text);
        hn_arena_free(&a);
    }
}

static void edits_are_listed(void) {
    hn_arena a = {0};
    hn_pipeline p;
    hn_str s = {0};
    const char *const *word;
    size_t n = 0;
    bool fine = !hn_pipeline_parse(edited, &a, &p, NULL) && !hn_pipeline_edits(&p, 3, &a, &word, &n, NULL);
    for (size_t i = 0; fine && i < n; i++) hn_str_addf(&s, "%s ", word[i]);
    ok(fine && !strcmp(s.text, "-3 +3@2 +3@3 +3@4 3~4 "), "pipeline/edits_of_a_pass_stay_in_its_list (%s)", s.text);
    hn_str_free(&s);
    hn_arena_free(&a);
}

int main(void) {
    char name[40], text[20000] = "";
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        snprintf(name, sizeof name, "text_%zu_reads_back", i);
        round_trip(name, good[i]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        hn_arena a = {0};
        hn_pipeline p = {0};
        hone_err e = {0};
        bool refused = hn_pipeline_parse(bad[i].text, &a, &p, &e) == HONE_E_INPUT && strstr(e.text, bad[i].why);
        ok(refused && !p.root, "pipeline/malformed_%zu_is_refused (%s)", i, e.text);
        hn_arena_free(&a);
    }
    edits_apply();
    edits_are_listed();
    FILE *f = popen("opt-19 -passes='default<O3>' -print-pipeline-passes -disable-output /dev/null 2>/dev/null", "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) pclose(f);
    text[n] = 0;
    text[strcspn(text, "\n")] = 0;
    if (*text)
        round_trip("what_opt_prints_for_O3", text);
    else
        ok(true, "pipeline/what_opt_prints_for_O3 # SKIP needs opt-19");
    return done_testing();
}
