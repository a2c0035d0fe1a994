/* Parts of a winner: what differs from the baseline, what it goes back to, what goes along. */
#include "reduce/parts.h"

#include <math.h>

#include "tap.h"

static const char space_text[] =
    "hone-space: 1\nname: joined\n"
    "parameters:\n"
    "  tile: {type: int, range: [1, 64], default: 8}\n"
    "  variant: {type: choice, values: [plain, packed], default: plain}\n"
    "  pack: {type: int, range: [1, 9], default: 2, when: \"variant == 'packed'\"}\n"
    "  compiler: {type: choice, values: [gcc, clang], default: gcc}\n"
    "  gcc.-O: {type: choice, values: ['2', '3'], default: '3', when: compiler == 'gcc'}\n"
    "  gcc.-march: {type: choice, values: [generic, native], optional: true, when: compiler == 'gcc'}\n"
    "  gcc.-fa: {type: flag, optional: true, when: compiler == 'gcc'}\n"
    "  clang.-O: {type: choice, values: ['3', '2'], default: '2', when: compiler == 'clang'}\n"
    "  clang.-march: {type: choice, values: [native, generic], optional: true, when: compiler == 'clang'}\n"
    "  clang.-x: {type: int, range: [0, 9], optional: true, when: compiler == 'clang'}\n";
static const char *const prefix[] = {"gcc", "clang"};

typedef struct fixture {
    hone_space *space;
    hn_arena a;
    double base[32], winner[32];
    hn_parts parts;
    bool keep[16];
} fixture;

static void open_fixture(fixture *f, const char *base, const char *winner) {
    hone_err err = {0};
    *f = (fixture){0};
    hone_rc rc = hone_space_parse(space_text, strlen(space_text), "test", &f->space, &err);
    if (!rc) rc = hone_point_from_json(f->space, base, f->base, &err);
    if (!rc) rc = hone_point_from_json(f->space, winner, f->winner, &err);
    if (!rc) rc = hn_parts_find(f->space, f->base, f->winner, prefix, 2, &f->a, &f->parts, &err);
    if (rc) printf("# %s\n", err.text);
    for (size_t i = 0; i < 16; i++) f->keep[i] = true;
}
static void close_fixture(fixture *f) {
    hone_space_free(f->space);
    hn_arena_free(&f->a);
}

/* "tile variant" */
static const char *names(const fixture *f, char *buf, size_t n) {
    *buf = 0;
    for (size_t i = 0; i < f->parts.n; i++) {
        size_t at = strlen(buf);
        snprintf(buf + at, n - at, "%s%s", i ? " " : "", hone_space_param(f->space, f->parts.param[i])->name);
    }
    return buf;
}

static size_t part(const fixture *f, const char *name) {
    size_t i = 0;
    while (i < f->parts.n && strcmp(hone_space_param(f->space, f->parts.param[i])->name, name) != 0) i++;
    return i;
}

static void is_point(fixture *f, const char *want, const char *name) {
    double point[32];
    char *json = NULL;
    hn_parts_point(&f->parts, f->keep, point);
    hone_point_to_json(f->space, point, &json, NULL);
    is_text(json, want, name);
    ok(hone_point_legal(f->space, point, NULL), "%s_is_legal", name);
    hone_free(json);
}

#define BASE "{\"tile\":8,\"variant\":\"plain\",\"compiler\":\"gcc\",\"gcc.-O\":\"3\",\"gcc.-march\":\"native\"}"

static void test_one_compiler(void) {
    fixture f;
    char text[200];
    open_fixture(
        &f, BASE,
        "{\"tile\":16,\"variant\":\"packed\",\"pack\":5,\"compiler\":\"gcc\",\"gcc.-O\":\"3\",\"gcc.-fa\":true}");
    is_text(names(&f, text, sizeof text), "tile variant pack gcc.-march gcc.-fa", "parts/what_differs");
    ok(f.parts.parent[part(&f, "pack")] == part(&f, "variant") && f.parts.parent[0] == SIZE_MAX, "parts/parent");
    f.keep[part(&f, "variant")] = false;
    is_point(&f, "{\"tile\": 16, \"variant\": \"plain\", \"compiler\": \"gcc\", \"gcc.-O\": 3, \"gcc.-fa\": true}",
             "parts/a_child_goes_along");
    memset(f.keep, 0, sizeof f.keep);
    f.keep[part(&f, "gcc.-march")] = true; /* its value at the winner: left out */
    is_point(&f, "{\"tile\": 8, \"variant\": \"plain\", \"compiler\": \"gcc\", \"gcc.-O\": 3}",
             "parts/a_control_left_out_is_a_part");
    close_fixture(&f);
}

static void test_another_compiler(void) {
    fixture f;
    char text[200];
    open_fixture(&f, BASE,
                 "{\"tile\":8,\"variant\":\"plain\",\"compiler\":\"clang\",\"clang.-O\":\"2\",\"clang.-march\":"
                 "\"native\",\"clang.-x\":4}");
    is_text(names(&f, text, sizeof text), "compiler clang.-O clang.-x", "parts/of_another_compiler");
    ok(f.parts.parent[1] == 0 && f.parts.parent[2] == 0, "parts/controls_need_their_compiler");
    f.keep[1] = f.keep[2] = false;
    is_point(&f,
             "{\"tile\": 8, \"variant\": \"plain\", \"compiler\": \"clang\", \"clang.-O\": 3, \"clang.-march\": "
             "\"native\"}",
             "parts/values_of_the_baselines_compiler_are_carried_over");
    f.keep[0] = false;
    f.keep[1] = f.keep[2] = true;
    is_point(&f,
             "{\"tile\": 8, \"variant\": \"plain\", \"compiler\": \"gcc\", \"gcc.-O\": 3, \"gcc.-march\": \"native\"}",
             "parts/back_to_the_baselines_compiler");
    close_fixture(&f);
}

static void test_baseline(void) {
    fixture f;
    open_fixture(&f, BASE, BASE);
    ok(f.parts.n == 0, "parts/the_baseline_has_none");
    is_point(&f,
             "{\"tile\": 8, \"variant\": \"plain\", \"compiler\": \"gcc\", \"gcc.-O\": 3, \"gcc.-march\": \"native\"}",
             "parts/the_baseline_again");
    close_fixture(&f);
}

int main(void) {
    test_one_compiler();
    test_another_compiler();
    test_baseline();
    return done_testing();
}
