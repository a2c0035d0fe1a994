/* Whole outputs held against the interpreter, where values pass through few bits: roundings that flip are forgiven,
 * faults are not. The judge's graph differs from the program's: by a shift so small that it only flips roundings, or by
 * a fault. */
#include "base/fs.h"
#include "tap.h"

#include <hone/compile.h>
#include <hone/verify.h>

#include <string.h>
#include <unistd.h>

/* y = f32(f16(x + 8 + shift)) - 8, then `fault`: neighbours are 2^-7 apart. */
#define AT_8(shift, type, fault, y)                                                                                    \
    "ir 1\ninput %x : f32[1024] \"x\"\n%c = const {value = f32[] (8)}\n"                                               \
    "%b = broadcast %c {shape = [1024], map = []}\n%e = const {value = f32[] (" shift ")}\n"                           \
    "%d = broadcast %e {shape = [1024], map = []}\n%s = add %x, %d\n%h = cast %s {dtype = " type "}\n"                 \
    "%f = cast %h {dtype = f32}\n%y = sub %f, %b\n" fault "output " y " \"y\"\n"
/* y = (f32(u8(round(32 x + 128 + shift))) - 128) / 32, besides the u8. */
#define STEPS(shift, fault, y)                                                                                         \
    "ir 1\ninput %x : f32[1024] \"x\"\n%c = const {value = f32[] (128)}\n%w = const {value = f32[] (32)}\n"            \
    "%b = broadcast %c {shape = [1024], map = []}\n%v = broadcast %w {shape = [1024], map = []}\n"                     \
    "%e = const {value = f32[] (" shift ")}\n%d = broadcast %e {shape = [1024], map = []}\n%m = mul %x, %v\n"          \
    "%s = add %m, %d\n%r = round %s\n%q = cast %r {dtype = u8, saturate = 1}\n%f = cast %q {dtype = f32}\n"            \
    "%g = sub %f, %b\n%y = div %g, %v\n" fault "output " y " \"y\"\noutput %q \"q\"\n"
/* y = x times weights that are stored in halves. */
#define WEIGHTS(w)                                                                                                     \
    "ir 1\ninput %x : f32[1024] \"x\"\n%c = const {value = f16[] (" w ")}\n%h = cast %c {dtype = f32}\n"               \
    "%b = broadcast %h {shape = [1024], map = []}\n%y = mul %x, %b\noutput %y \"y\"\n"
/* The narrow part inside a region. */
#define REGION(shift)                                                                                                  \
    "ir 1\ninput %x : f32[1024] \"x\"\n%c = const {value = f32[] (" shift ")}\n"                                       \
    "%b = broadcast %c {shape = [1024], map = []}\n%k = const {value = bool[] (true)}\n%y = if %k do () {\n"           \
    "%s = add %x, %b\n%h = cast %s {dtype = f16}\n%f = cast %h {dtype = f32}\nyield %f\n} do () {\nyield %x\n}\n"      \
    "output %y \"y\"\n"

#define PLUS(x) "%p = const {value = f32[] (" x ")}\n%p1 = broadcast %p {shape = [1024], map = []}\n%z = add %y, %p1\n"
/* Element 77 alone. */
#define ONE(x)                                                                                                         \
    PLUS(x)                                                                                                            \
    "%i = iota {shape = [1024], dtype = i64, axis = 0}\n%j = const {value = i64[] (77)}\n"                             \
    "%j1 = broadcast %j {shape = [1024], map = []}\n%t = eq %i, %j1\n%o = select %t, %z, %y\n"
#define SHIFTED                                                                                                        \
    "%a = slice %y {shape = [1023], start = [1], step = [1]}\n%l = slice %y {shape = [1], start = [0], step = [1]}\n"  \
    "%z = concat %a, %l {axis = 0}\n"

typedef struct row {
    const char *name, *program, *judge;
    hone_dtype through;
    bool same, outside; /* outside: single elements are */
} row;
static const row rows[] = {
    {"f16/flips", AT_8("8", "f16", "", "%y"), AT_8("0x1.0008p+3", "f16", "", "%y"), HONE_F16, true, false},
    {"f16/element", AT_8("8", "f16", "", "%y"), AT_8("8", "f16", ONE("0.02"), "%o"), HONE_F16, false, true},
    {"f16/off_by_one", AT_8("8", "f16", "", "%y"), AT_8("8", "f16", SHIFTED, "%z"), HONE_F16, false, true},
    {"f16/bias", AT_8("8", "f16", "", "%y"), AT_8("8", "f16", PLUS("0.006"), "%z"), HONE_F16, false, false},
    {"bf16/flips", AT_8("8", "bf16", "", "%y"), AT_8("0x1.004p+3", "bf16", "", "%y"), HONE_BF16, true, false},
    {"u8/flips", STEPS("128", "", "%y"), STEPS("128.1", "", "%y"), HONE_U8, true, false},
    {"u8/element", STEPS("128", "", "%y"), STEPS("128", ONE("0.15"), "%o"), HONE_U8, false, true},
    {"u8/bias", STEPS("128", "", "%y"), STEPS("128", PLUS("0.05"), "%z"), HONE_U8, false, false},
    {"f16/weights_are_exact", WEIGHTS("1"), WEIGHTS("0x1.008p+0"), HONE_F32, false, true},
    {"f16/region", REGION("0"), REGION("0"), HONE_F16, true, false},
    {"f32/flips", AT_8("8", "f32", "", "%y"), AT_8("0x1.0008p+3", "f32", "", "%y"), HONE_F32, false, true},
};

static char folder[] = "/tmp/hone-test-verify-XXXXXX";

static hone_rc load(const char *text, hone_artifact **out, hone_err *err) {
    char path[2][300];
    hone_graph *g = NULL;
    snprintf(path[0], sizeof path[0], "%s/model", folder);
    snprintf(path[1], sizeof path[1], "%s/model.so", folder);
    hone_compile_options options = {
        .size = sizeof(hone_compile_options), .output = path[0], .target = "generic", .no_parity = true};
    hone_rc rc = hone_graph_parse(text, strlen(text), &g, err);
    if (!rc) rc = hone_compile_graph(g, "model", &options, NULL, err);
    hone_graph_free(g);
    return rc ? rc
              : hone_artifact_load(
                    path[1], &(hone_artifact_options){.size = sizeof(hone_artifact_options), .n_threads = 1}, out, err);
}

static void check(const row *r) {
    hone_artifact *p = NULL;
    hone_graph *g = NULL;
    hone_err err = {0};
    hone_verify_output v[2] = {0};
    bool same = !r->same;
    if (!ok(!load(r->program, &p, &err) && !hone_graph_parse(r->judge, strlen(r->judge), &g, &err),
            "verify/%s builds %s", r->name, err.text))
        return;
    hone_verify_options o = {.size = sizeof(hone_verify_options), .graph = g, .n_inputs = 2, .rtol = -1, .atol = -1};
    hone_rc rc = hone_verify_run(p, &o, v, &same, &err);
    ok(!rc && same == r->same && v[0].worst.same == same, "verify/%s %g %g %s", r->name, v[0].of_largest, v[0].of_rms,
       err.text);
    ok(v[0].through == r->through && (v[0].tolerance > 0) == (r->through != HONE_F32), "verify/%s_through", r->name);
    ok((v[0].worst.n_wrong > 0) == r->outside, "verify/%s_elements %lld", r->name, (long long)v[0].worst.n_wrong);
    o.rtol = 1e-3;
    ok(!hone_verify_run(p, &o, v, &same, &err) && v[0].tolerance == 0 && same == (v[0].worst.max_abs == 0),
       "verify/%s_given_tolerances_are_the_only_ones", r->name);
    hone_artifact_free(p);
    hone_graph_free(g);
}

/* Another shape than the reference's is said to be that, not an error of 0. */
static void check_shape(void) {
    hone_artifact *p = NULL;
    hone_graph *g = NULL;
    hone_err err = {0};
    hone_verify_output v[2] = {0};
    char *shape[2] = {0};
    bool same = true;
    const char *program = "ir 1\ninput %x : f32[6] \"x\"\n%y = neg %x\noutput %y \"y\"\n";
    const char *judge =
        "ir 1\ninput %x : f32[6] \"x\"\n%n = neg %x\n%y = reshape %n {shape = [2, 3]}\noutput %y \"y\"\n";
    hone_verify_options o = hone_verify_defaults();
    if (!ok(!load(program, &p, &err) && !hone_graph_parse(judge, strlen(judge), &g, &err), "verify/shape %s", err.text))
        return;
    o.graph = g, o.shape = shape;
    ok(!hone_verify_run(p, &o, v, &same, &err) && !same && v[0].worst.at < 0, "verify/shape_differs");
    ok(shape[0] && !strcmp(shape[0], "f32[6], not f32[2, 3]"), "verify/shape_said");
    hone_free(shape[0]);
    hone_artifact_free(p);
    hone_graph_free(g);
}

int main(void) {
    if (!mkdtemp(folder)) return 1;
    check_shape();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) check(&rows[i]);
    hn_remove_tree(folder, NULL);
    return done_testing();
}
