/* The example of docs/how-to-add-a-schedule.md compiles, is quoted exactly, and works. */
#include "base/str.h"
#include "quoted.h"

#include "../../../docs/code/strips.c"

static const hn_machine machine = {.vector_b = 16, .registers = 16, .cores = 1};

/* text: of the nest; schedule: NULL for the cost model's; want: the nest after it, NULL where it must not fit. */
static void check(const char *name, const char *text, const char *schedule, const char *want) {
    hn_arena a = {0};
    hn_dims *dims = hn_dims_new(&a);
    hn_nest *n = NULL;
    hn_knobs knobs = {0};
    int64_t setting[HN_KNOBS_MAX] = {0};
    hone_err err = {0};
    hn_str got = {0};
    const char *why = "";
    const hn_sketch *s = &hn_sketch_strips;
    if (!ok(!hn_nest_parse(text, &a, dims, &n, &err), "%s_reads (%s)", name, err.text)) return;
    bool fits = s->fits(n, &machine, &knobs);
    ok(fits == (want != NULL), "%s_fits", name);
    if (fits && want) {
        hone_rc rc = hn_sketch_read(schedule ? schedule : "strips", s, &knobs, setting, &err);
        ok(!rc && s->apply(n, &machine, setting, &why), "%s_applies (%s%s)", name, err.text, why);
        ok(!hn_nest_verify(n, &err), "%s_verifies (%s)", name, err.text);
        hn_nest_print(n, &got);
        is_text(got.text, want, name);
    }
    hn_str_free(&got);
    hn_arena_free(&a);
}

int main(void) {
    check_quoted("docs/how-to-add-a-schedule.md", "docs/code/strips.c");
    const char *copy =
        "param p0 f32 16\nresult r0 f32 16\nfor i0 < 16 {\n  %0 = load f32 p0[i0]\n  store r0[i0] %0\n}\n";
    check("strips/default", copy, NULL,
          "param p0 f32 16\nresult r0 f32 16\nfor i0 < 2 {\n  unroll i1 < 2 {\n    vector i2 < 4 {\n"
          "      %0 = load f32 p0[8*i0 + 4*i1 + i2]\n      store r0[8*i0 + 4*i1 + i2] %0\n    }\n  }\n}\n");
    check("strips/knob", copy, "strips unroll=4",
          "param p0 f32 16\nresult r0 f32 16\nunroll i0 < 4 {\n  vector i1 < 4 {\n"
          "    %0 = load f32 p0[4*i0 + i1]\n    store r0[4*i0 + i1] %0\n  }\n}\n");
    check("strips/strided",
          "param p0 f32 32\nresult r0 f32 16\nfor i0 < 16 {\n  %0 = load f32 p0[2*i0]\n  store r0[i0] %0\n}\n", NULL,
          NULL);
    return done_testing();
}
