/* Ranges of values, plans as text, plans put into graphs. */
#include "../tap.h"
#include "base/rng.h"
#include "precision/precision.h"

#include <math.h>

/* --- ranges --------------------------------------------------------------------------------------------------------
 */

static hn_value_bins bins;

/* n normal values, those of them below 0 as 0 where `cut`, and one outlier. */
static void fill(int n, bool cut, double outlier) {
    hn_value_bins_begin(&bins, cut ? 0 : -outlier, outlier);
    hn_rng rng = hn_rng_make(1, 1);
    for (int i = 0; i < n; i++) {
        double x = hn_rng_normal(&rng);
        hn_value_bins_add(&bins, cut && x < 0 ? 0 : x);
    }
    hn_value_bins_add(&bins, outlier);
    hn_value_bins_add(&bins, INFINITY);
    hn_value_bins_add(&bins, NAN);
}

static void test_ranges(void) {
    fill(100000, true, 50);
    ok(bins.n == 100001 && bins.zeros > 45000 && bins.zeros < 55000, "range/what_is_no_number_does_not_count");
    hn_byte_range all = hn_span_choose(&bins, HN_CALIBRATE_MINMAX, 0);
    ok(all.low == 0 && all.high == 50, "range/minmax_is_everything");
    hn_byte_range p = hn_span_choose(&bins, HN_CALIBRATE_PERCENTILE, 99.9);
    ok(p.low == 0 && p.high > 2.9 && p.high < 3.6, "range/percentile_cuts_the_tail: %g", p.high);
    hn_byte_range e = hn_span_choose(&bins, HN_CALIBRATE_ENTROPY, 0);
    ok(e.low == 0 && e.high < 15, "range/entropy_cuts_the_outlier: %g", e.high);
    fill(1000000, true, 12);
    hn_byte_range m = hn_span_choose(&bins, HN_CALIBRATE_MSE, 0);
    ok(m.low == 0 && m.high > 3 && m.high < 8, "range/least_error_cuts_the_outlier: %g", m.high);
    all = hn_span_choose(&bins, HN_CALIBRATE_MINMAX, 0);
    ok(hn_span_error(&bins, m) < hn_span_error(&bins, all), "range/least_error_is_less_than_that_of_everything");
    fill(100000, false, 6);
    m = hn_span_choose(&bins, HN_CALIBRATE_MSE, 0);
    ok(m.low < -2 && m.high > 2, "range/both_ends");
    hn_value_bins_begin(&bins, 0, 0);
    for (hn_calibration how = 0; how < HN_N_CALIBRATIONS; how++) {
        hn_byte_range none = hn_span_choose(&bins, how, 99);
        ok(none.low == 0 && none.high == 0, "range/nothing_seen: %s", hn_calibration_name[how]);
    }
}

static void test_steps(void) {
    hn_byte_steps s = hn_steps_of((hn_byte_range){-1, 3});
    ok(s.zero == 64 && fabs((double)s.scale - 4. / 255) < 1e-7, "steps/zero_point");
    s = hn_steps_of((hn_byte_range){0, 0});
    ok(s.scale == 1 && s.zero == 0, "steps/of_nothing");
    s = hn_steps_of((hn_byte_range){-2, 0});
    ok(s.zero == 255, "steps/all_below_zero");
    float w[] = {1, -3, .5f, 100, 2, -100};
    ok(hn_weight_scale(w, 6, 3, 1, false) == (float)(3. / 127), "steps/of_weights_by_the_largest");
    ok(hn_weight_scale(w, 3, 1, 2, false) == (float)(100. / 127), "steps/of_weights_in_blocks");
    static float many[10000];
    hn_rng rng = hn_rng_make(2, 1);
    for (int i = 0; i < 10000; i++) many[i] = (float)hn_rng_normal(&rng);
    many[7] = 8;
    ok(hn_weight_scale(many, 10000, 10000, 1, true) < hn_weight_scale(many, 10000, 10000, 1, false),
       "steps/of_weights_by_least_error");
}

/* --- text ----------------------------------------------------------------------------------------------------------
 */

#define HEAD "precision: 1\nkind: \"int8\"\ncalibrate: \"mse\"\ndata: \"ab\"\nsamples: 3\nweights: least_error\n"
#define PRODUCT                                                                                                        \
    "products:\n  - name: \"fc\"\n    weights: 64x64\n    hash: \"0f\"\n    type: int8\n    scale: 0.5\n    zero: 8\n"

static void test_text(void) {
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"", "no 'precision'"},
        {"precision: 2\n", "from 1 to 1"},
        {HEAD, "'products' is a list"},
        {HEAD "products: []\nwidth: 3\n", "width"},
        {HEAD "products: [3]\n", "a product is a map"},
        {HEAD "products:\n  - name: \"fc\"\n", "no 'weights'"},
        {HEAD "products:\n  - {name: a, weights: 2x2, type: int7, scale: 1, zero: 0}\n", "int8, bf16 or f32"},
        {HEAD "products:\n  - {name: a, weights: 2x2, type: int8, scale: 0, zero: 0}\n", "above 0"},
        {HEAD "products:\n  - {name: a, weights: 2x2, type: int8, scale: 1e-60, zero: 0}\n", "above 0"},
        {HEAD "products:\n  - {name: a, weights: 2x2, type: int8, scale: 1, zero: 256}\n", "from 0 to 255"},
        {HEAD PRODUCT "    smooth: [1, 99]\n", "smoothing"},
        {HEAD "products:\n  - {name: a, weights: 2x2, type: bf16, smooth: [1, 2]}\n", "'smooth' is for bytes"},
        {HEAD "products:\n  - {name: a, weights: 2x2, type: int8}\n", "no 'scale'"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        hn_narrow_plan p;
        hone_err err = {0};
        hone_rc rc = hn_plan_parse(bad[i].text, strlen(bad[i].text), "p", &p, &err);
        ok(rc == HONE_E_INPUT && strstr(err.text, bad[i].says), "plan/refused: %s", err.text);
    }
    static const char good[] = HEAD PRODUCT "    smooth: [0, -2, 3]\n";
    hn_narrow_plan p, again;
    hn_str a = {0}, b = {0};
    ok(hn_plan_parse(good, strlen(good), "p", &p, NULL) == HONE_OK && p.n == 1 && p.choice[0].narrow &&
           p.choice[0].smooth[1] == -2 && p.least,
       "plan/read");
    hn_plan_print(&p, &a);
    ok(hn_plan_parse(a.text, a.n, "p", &again, NULL) == HONE_OK, "plan/what_is_written_is_read");
    hn_plan_print(&again, &b);
    is_text(b.text, a.text, "plan/and_the_same");
    hn_str_free(&a), hn_str_free(&b);
    hn_plan_free(&p), hn_plan_free(&again);
}

/* bf16 needs no range, and f32 none. */
static void test_halves(void) {
    static const char text[] = HEAD "products:\n  - {name: a, weights: 2x2, type: bf16}\n"
                                    "  - {name: b, weights: 2x2, type: f32}\n"
                                    "  - {name: c, weights: 2x2, type: int8, scale: 1, zero: 3}\n";
    hn_narrow_plan p, again;
    hone_err err = {0};
    hn_str s = {0};
    if (!ok(!hn_plan_parse(text, strlen(text), "p", &p, &err), "halves/read (%s)", err.text)) return;
    ok(hn_plan_narrow(&p) == 2 && hn_plan_halves(&p) == 1 && p.choice[0].half && !p.choice[1].narrow,
       "halves/are_narrow");
    hn_plan_print(&p, &s);
    ok(!hn_plan_parse(s.text, s.n, "p", &again, &err) && hn_plan_halves(&again) == 1 && hn_plan_narrow(&again) == 2,
       "halves/what_is_written_is_read (%s)", err.text);
    hn_str_free(&s);
    hn_plan_free(&p), hn_plan_free(&again);
}

static hone_rc read_n(const char *text, size_t n, hone_err *err) {
    hn_narrow_plan p;
    hone_rc rc = hn_plan_parse(text, n, "p", &p, err);
    if (!rc) hn_plan_free(&p);
    return rc;
}

/* A text as it is, with a digest, and signed: any bit that flips is found, and one that is cut is never a signed one.
 */
static void test_seal(void) {
    static const char body[] = HEAD PRODUCT;
    char secret[HN_KEY_TEXT], public[HN_KEY_TEXT];
    hn_str s = {0};
    hn_narrow_plan p;
    hone_err err = {0};
    size_t bad = 0, taken = 0;
    hn_str_add(&s, body);
    hn_seal_add_digest(&s);
    ok(!read_n(s.text, s.n, &err), "seal/of_a_digest_alone (%s)", err.text);
    size_t n_digest = s.n;
    if (hn_sign_keypair(secret, public, NULL) || hn_seal_add_signature(&s, secret, NULL)) exit(1);
    if (ok(!hn_plan_parse(s.text, s.n, "p", &p, &err), "seal/signed (%s)", err.text)) {
        is_text(p.signer, public, "seal/signer");
        ok(p.n == 1, "seal/contents_are_read");
        hn_plan_free(&p);
    }
    for (size_t i = 0; i < s.n; i++)
        for (int bit = 0; bit < 8; bit++) {
            s.text[i] = (char)(s.text[i] ^ (1 << bit));
            bad += read_n(s.text, s.n, &err) != HONE_E_TAMPERED;
            s.text[i] = (char)(s.text[i] ^ (1 << bit));
        }
    ok(bad == 0, "seal/every_flipped_bit_is_tampered (%zu of %zu are not)", bad, 8 * s.n);
    for (size_t i = sizeof body; i < s.n; i++) taken += !read_n(s.text, i, &err);
    ok(taken == 1, "seal/what_is_cut_is_read_behind_its_digest_alone (%zu)", taken);
    s.text[3]++;
    ok(read_n(s.text, s.n, &err) == HONE_E_TAMPERED && strstr(err.text, "remove all from 'digest:' on"),
       "seal/says_what_to_do: %s", err.text);
    s.text[3]--;
    s.text[n_digest - 1] = 'x';
    ok(read_n(s.text, n_digest, &err) == HONE_E_TAMPERED, "seal/damaged_digest (%s)", err.text);
    hn_str_free(&s);
}

/* --- graphs --------------------------------------------------------------------------------------------------------
 */

#define GRAPH                                                                                                          \
    "ir 1\ninput %0 : f32[2, 64] \"x\"\n%1 = const {value = f32[] (0x1p-3)}\n"                                         \
    "%2 = iota {shape = [64, 64], axis = 1, dtype = f32}\n"                                                            \
    "%3 = broadcast %1 {shape = [64, 64], map = []}\n%4 = mul %2, %3\n"                                                \
    "%5 = contract %0, %4 {lhs = [0, 1], rhs = [1, 2], out = [0, 2], dtype = f32}\noutput %5 \"y\"\n"

static uint32_t count(const hn_graph *g, hn_op op) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->block[0].n_node; i++) n += g->node[g->block[0].node[i]].op == op;
    return n;
}

static hn_graph *parsed(void) {
    hone_graph *g = NULL;
    hone_err err = {0};
    if (hone_graph_parse(GRAPH, strlen(GRAPH), &g, &err)) printf("# %s\n", err.text);
    return g;
}

static void test_graph(void) {
    static const char plan_text[] =
        HEAD "products:\n  - {name: product, weights: 64x64, type: int8, scale: 0.5, zero: 8}\n";
    hn_graph *g = parsed(), *narrow = NULL;
    hn_narrow_plan plan;
    hone_err err = {0};
    if (!ok(g != NULL, "apply/graph")) return;
    if (ok(hn_plan_graph(plan_text, g, &plan, &narrow, &err) == HONE_OK, "apply/plan: %s", err.text)) {
        ok(hone_graph_verify(narrow, NULL) == HONE_OK && count(narrow, HN_OP_ROUND) == 1, "apply/the_input_is_rounded");
        ok(hn_run_passes(narrow, "bytes", (hn_pass_how){.bytes = true}, NULL, NULL, &err) == HONE_OK, "apply/passes");
        bool bytes = false;
        for (uint32_t i = 0; i < narrow->block[0].n_node; i++) {
            const hn_node *n = &narrow->node[narrow->block[0].node[i]];
            bytes = bytes || (n->op == HN_OP_CONTRACT && hn_multiplies_bytes(narrow, n));
        }
        ok(bytes, "apply/it_becomes_a_product_of_bytes");
        hn_plan_free(&plan);
        hone_graph_free(narrow);
    }
    static const struct {
        const char *product, *says;
    } other[] = {
        {"{name: fc, weights: 64x64, type: int8, scale: 1, zero: 0}", "no product 'fc'"},
        {"{name: product, weights: 64x65, type: int8, scale: 1, zero: 0}", "64x64, not 64x65"},
        {"{name: product, weights: 64x64, type: int8, scale: 1, zero: 0, smooth: [1, 2]}", "smoothed"},
        {"{name: product, weights: 64x64, hash: ab, type: f32, scale: 1, zero: 0}", "'product' has other weights"}};
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        char text[400];
        snprintf(text, sizeof text, HEAD "products:\n  - %s\n", other[i].product);
        ok(hn_plan_graph(text, g, &plan, &narrow, &err) == HONE_E_MISMATCH && strstr(err.text, other[i].says),
           "apply/of_another_model: %s", err.text);
    }
    hone_graph_free(g);
}

/* Three products of one image: 1 x 1 with few weights, with channels that each have weights of their own, and 3 x 3.
 * The first two pay in bytes, not in bf16. */
#define WEIGHTS(iota, factor, value, shape)                                                                            \
    iota " = iota {shape = " shape ", axis = 0, dtype = f32}\n" factor " = broadcast %1 {shape = " shape               \
         ", map = []}\n" value " = mul " iota ", " factor "\n"
#define IMAGE                                                                                                          \
    "ir 1\ninput %0 : f32[1, 16, 16, 17] \"x\"\n%1 = const {value = f32[] (0x1p-3)}\n" WEIGHTS("%2", "%3", "%4",       \
                                                                                               "[16, 16, 1, 1]")       \
        WEIGHTS("%5", "%6", "%7", "[16, 1, 3, 3]") WEIGHTS("%8", "%9", "%10", "[32, 16, 3, 3]") CONVS
#define CONVS                                                                                                          \
    "%11 = conv %0, %4 " HOW("1", "0") "%12 = conv %0, %7 " HOW("16", "1") "%13 = conv %0, %10 " HOW(                  \
        "1", "1") "output %11 \"a\"\noutput %12 \"b\"\noutput %13 \"c\"\n"
#define HOW(groups, pad)                                                                                               \
    "{stride = [1, 1], dilation = [1, 1], inflate = [1, 1], groups = " groups ", low = [" pad ", " pad                 \
    "], high = [" pad ", " pad "], dtype = f32}\n"

static hone_rc apply_one(const hn_graph *g, const char *product, hone_err *err) {
    char text[400];
    hn_narrow_plan plan;
    hn_graph *narrow = NULL;
    snprintf(text, sizeof text, HEAD "products:\n  - {%s}\n", product);
    hone_rc rc = hn_plan_graph(text, g, &plan, &narrow, err);
    if (!rc) hn_plan_free(&plan), hone_graph_free(narrow);
    return rc;
}

static void test_few_weights(void) {
    static const struct {
        const char *name, *weights;
        bool bf16;
    } want[] = {{"product", "16x16x1x1", false}, {"product#2", "16x1x3x3", false}, {"product#3", "32x16x3x3", true}};
    hone_graph *g = NULL;
    hone_err err = {0};
    hn_narrow_plan plan;
    if (!ok(!hone_graph_parse(IMAGE, strlen(IMAGE), &g, &err), "few/graph (%s)", err.text)) return;
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        char text[200];
        snprintf(text, sizeof text, "name: %s, weights: %s, type: int8, scale: 1, zero: 0", want[i].name,
                 want[i].weights);
        ok(!apply_one(g, text, &err), "few/%s_in_bytes (%s)", want[i].weights, err.text);
        snprintf(text, sizeof text, "name: %s, weights: %s, type: bf16", want[i].name, want[i].weights);
        err.text[0] = 0;
        hone_rc rc = apply_one(g, text, &err);
        bool refused = rc == HONE_E_MISMATCH && strstr(err.text, "can be int8 or f32, not bf16");
        ok(want[i].bf16 ? !rc : refused, "few/%s_in_bf16_is_%s (%s)", want[i].weights,
           want[i].bf16 ? "taken" : "refused", err.text);
    }
    hone_rc rc = hn_products_prepare(g, &err);
    if (!rc) rc = hn_plan_half(g, &plan, &err);
    if (ok(!rc && plan.n == 1 && plan.choice[0].half, "few/left_out_of_bf16 (%s)", err.text))
        is_text(plan.choice[0].name, "product#3", "few/the_other_one_is_taken");
    if (!rc) hn_plan_free(&plan);
    hone_graph_free(g);
}

int main(void) {
    test_ranges();
    test_steps();
    test_text();
    test_halves();
    test_seal();
    test_graph();
    test_few_weights();
    return done_testing();
}
