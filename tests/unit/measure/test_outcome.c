/* From what a program left behind to samples, parity, hashes and sizes. */
#include "measure/outcome.h"

#include "base/bench_data.h"
#include "base/fs.h"
#include "base/str.h"
#include "proc/proc.h"

#include <hone/bench.h>

#include <math.h>
#include <unistd.h>

#include "tap.h"

static char dir[] = "/tmp/hone-test-outcome-XXXXXX";

static const char *in_dir(const char *name, char path[128]) {
    snprintf(path, 128, "%s/%s", dir, name);
    return path;
}

/* "name=v,v;name=v !bad" */
static void check_metrics(const char *name, const char *text, bool harness, const char *want) {
    hn_arena a = {0};
    hn_metrics m = {0};
    hn_str s = {0};
    size_t bad = 0;
    char buf[32];
    hone_rc rc = (harness ? hn_metrics_from_harness : hn_metrics_from_lines)(&a, text, strlen(text), &m, &bad, NULL);
    for (size_t i = 0; i < m.n; i++) {
        hn_str_addf(&s, "%s%s=", i ? ";" : "", m.metric[i].name);
        for (size_t k = 0; k < m.metric[i].n; k++)
            hn_str_addf(&s, "%s%s", k ? "," : "", hn_double_text(m.metric[i].sample[k], buf));
    }
    if (bad) hn_str_addf(&s, " !%zu", bad);
    char *got = hn_str_take(&s);
    is_text(rc ? "failed" : got, want, name);
    free(got);
    hn_arena_free(&a);
}

static void test_metrics(void) {
    static const struct {
        const char *name, *text, *want;
    } line[] =
        {
            {"lines/colon_and_unit", "latency: 2 ms\n", "latency=0.002"},
            {"lines/equals", "x=3\ny = 4.5e2\n", "x=3;y=450"},
            {"lines/spaced_needs_a_known_unit", "size 3 KiB\nwe did 3 things\nround 3\n", "size=3072"},
            {"lines/gathered", "t: 1 s\nother text\nt: 500 ms\n", "t=1,0.5"},
            {"lines/unknown_unit_is_kept_as_is", "rate: 12.5 GFLOP/s\n", "rate=12.5"},
            {"lines/nan_is_bad", "t: nan\nt: -inf s\n", " !2"},
            {"lines/junk_is_bad", "t: 3x\nt: 1 2 3\n", " !2"},
            {"lines/prose_is_not", "hello: world\n: 3\n= 4\n\n3: 4\n", ""},
            {"lines/crlf_and_no_newline", "t: 1 s\r\nt: 2 s", "t=1,2"},
            {"lines/glued_unit", "t: 5ms\nt=7us\n", "t=0.005,7e-06"},
            {"lines/microseconds", "t: 5 \xc2\xb5s\n", "t=5e-06"},
            {"lines/bytes", "m: 2 MiB\nm: 1 kB\n", "m=2097152,1000"},
            {"lines/rate_with_its_name", "iterations/s 1234\nloops/s 5 or so\n", "iterations/s=1234"},
            {"lines/rate_that_names_itself", "12.5 MB/s\n  3 ops/s \n7 MB/s more\n2 m/h\n9MB/s\n", "MB/s=12.5;ops/s=3"},
            {"lines/empty", "", ""},
        },
      harness[] = {
          {"harness/samples", "{\"hone-bench\":1,\"metric\":\"t\",\"unit\":\"s\",\"samples\":[1,2.5]}\n", "t=1,2.5"},
          {"harness/other_units", "{\"hone-bench\":1,\"metric\":\"t\",\"unit\":\"ms\",\"samples\":[1]}\n", "t=0.001"},
          {"harness/other_lines_are_not_ours", "hello\n{\"a\":1}\n", ""},
          {"harness/error_is_bad", "{\"hone-bench\":1,\"metric\":\"t\",\"error\":\"no\"}\n", " !1"},
          {"harness/broken_is_bad", "{\"hone-bench\":1,\"metric\":\"t\",\"samp\n", " !1"},
          {"harness/overflow_is_bad", "{\"hone-bench\":1,\"metric\":\"t\",\"samples\":[1e999]}\n", " !1"},
          {"harness/not_a_number", "{\"hone-bench\":1,\"metric\":\"t\",\"samples\":[1,\"x\"]}\n", "t=1 !1"},
          {"harness/version", "{\"hone-bench\":2,\"metric\":\"t\",\"samples\":[1]}\n", " !1"},
          {"harness/nothing", "{\"hone-bench\":1,\"metric\":\"t\",\"samples\":[]}\n", " !1"},
      };
    for (size_t i = 0; i < sizeof line / sizeof *line; i++)
        check_metrics(line[i].name, line[i].text, false, line[i].want);
    for (size_t i = 0; i < sizeof harness / sizeof *harness; i++)
        check_metrics(harness[i].name, harness[i].text, true, harness[i].want);
    hn_metrics m = {0};
    ok(hn_metrics_find(&m, "t") == NULL, "metrics/not_found");
}

static hn_parity_result parity(const void *e, size_t n_e, const void *a, size_t n_a, hn_parity_rule rule, double tol) {
    char pe[128], pa[128];
    hn_parity_result r = {.equal = false};
    hn_write_file(in_dir("expected", pe), e, n_e, NULL);
    hn_write_file(in_dir("actual", pa), a, n_a, NULL);
    hone_err err = {0};
    if (hn_parity_files(pe, pa, rule, tol, &r, &err)) snprintf(r.where, sizeof r.where, "error %.150s", err.text);
    return r;
}

static void test_text_parity(void) {
    static const struct {
        const char *name, *expected, *actual;
        hn_parity_rule rule;
        double tol;
        const char *where; /* NULL: equal */
    } c[] = {
        {"same", "a 1\n", "a 1\n", HN_SAME_BYTES, 0, NULL},
        {"bytes_differ", "a\nb 1\n", "a\nb 2\n", HN_SAME_BYTES, 0, "line 2: expected \"b 1\", got \"b 2\""},
        {"abs_within", "y: 1.00\n", "y: 1.01\n", HN_MAX_ABS, 0.02, NULL},
        {"abs_beyond", "y: 1.00\n", "y: 1.03\n", HN_MAX_ABS, 0.02, "line 1: expected 1.00, got 1.03 (abs 0.03)"},
        {"rel_within", "1000 -2e-3\n", "1001 -2.001e-3\n", HN_MAX_REL, 1e-3, NULL},
        {"rel_beyond", "0.25\n", "0.5\n", HN_MAX_REL, 0.5, "line 1: expected 0.25, got 0.5 (rel 1)"},
        {"rel_of_zero", "0\n", "0.1\n", HN_MAX_REL, 0.5, "line 1: expected 0, got 0.1 (rel inf)"},
        {"rel_flushed_denormal", "1e-310\n", "0.0\n", HN_MAX_REL, 1e-9, NULL},
        {"ulp_within", "1\n", "1.0000000000000002\n", HN_MAX_ULP, 1, NULL},
        {"ulp_beyond", "1.0\n", "1.0000000000000004\n", HN_MAX_ULP, 1,
         "line 1: expected 1.0, got 1.0000000000000004 (2 ulp)"},
        {"nan_is_nan", "nan\n", "-nan\n", HN_MAX_REL, 0, NULL},
        {"nan_is_no_number", "1\n", "nan\n", HN_MAX_ABS, 1e300, "line 1: expected 1, got nan (abs inf)"},
        {"number_is_no_nan", "nan\n", "1\n", HN_MAX_ABS, HUGE_VAL, "line 1: expected nan, got 1 (abs inf)"},
        {"inf_is_inf", "inf -inf\n", "inf -inf\n", HN_MAX_REL, 0, NULL},
        {"inf_has_a_sign", "inf\n", "-inf\n", HN_MAX_REL, 1, "line 1: expected inf, got -inf (rel inf)"},
        {"words_are_exact", "x1 ok\n", "x2 ok\n", HN_MAX_ABS, 9, "line 1: expected \"x1 ok\", got \"x2 ok\""},
        {"sign_moves_a_column", "y:  1e-20 end\n", "y: -1e-20 end\n", HN_MAX_ABS, 1e-9, NULL},
        {"blanks_at_the_end", "1 \n2\n", "1\n2\r\n", HN_MAX_ABS, 0, NULL},
        {"line_missing", "1\n2\n", "1\n", HN_MAX_ABS, 1, "line 2: expected \"2\", got \"\""},
        {"line_too_many", "1\n", "1\n2\n", HN_MAX_ABS, 1, "line 2: expected \"\", got \"2\""},
        {"words_like_numbers", "nano info\n", "nano info\n", HN_MAX_ABS, 0, NULL},
        {"large_integers", "9007199254740993\n", "9007199254740992\n", HN_MAX_ABS, 0.5,
         "line 1: expected 9007199254740993, got 9007199254740992 (abs 1)"},
        {"empty", "", "", HN_MAX_ABS, 0, NULL},
        {"nothing_printed", "1\n", "", HN_MAX_ABS, 0, "line 1: expected \"1\", got \"\""},
    };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        hn_parity_result r =
            parity(c[i].expected, strlen(c[i].expected), c[i].actual, strlen(c[i].actual), c[i].rule, c[i].tol);
        if (c[i].where)
            is_text(r.equal ? "equal" : r.where, c[i].where, c[i].name);
        else
            ok(r.equal, "parity/%s: %s", c[i].name, r.where);
    }
    char path[128];
    hn_parity_result r;
    ok(hn_parity_files("/no/such", "/no/such", HN_MAX_ABS, 0, &r, NULL) == HONE_E_IO, "parity/no_expectation_is_ours");
    ok(!hn_parity_files(in_dir("expected", path), "/no/such", HN_MAX_ABS, 0, &r, NULL) && !r.equal,
       "parity/no_output_is_theirs");
}

struct data {
    _Alignas(8) char text[4096];
    size_t n;
};

static void add(struct data *d, const void *p, size_t n) {
    memcpy(d->text + d->n, p, n);
    d->n += (n + 7) / 8 * 8;
}

static struct data make_data(const char *name, hone_bench_type type, const void *p, size_t n, size_t size) {
    struct data d = {.n = 0};
    add(&d, &(hn_data_head){HN_DATA_MAGIC, HN_DATA_ORDER, 0}, sizeof(hn_data_head));
    add(&d, &(hn_data_record){(uint32_t)strlen(name), (uint32_t)type, n}, sizeof(hn_data_record));
    add(&d, name, strlen(name));
    add(&d, p, n * size);
    add(&d, &(hn_data_record){0, HN_DATA_END, 1}, sizeof(hn_data_record));
    return d;
}

static void test_data_parity(void) {
    float x[3] = {1, 0.25F, -0.0F}, y[3] = {1, 0.5F, 0.0F}, z[3] = {nextafterf(1, 2), 0.25F, 0};
    double v[2] = {1, NAN}, w[2] = {1, 2};
    int64_t i[2] = {INT64_MIN, 5}, k[2] = {INT64_MIN + 1, 5};
    struct data dx = make_data("y", HONE_BENCH_F32, x, 3, 4), dy = make_data("y", HONE_BENCH_F32, y, 3, 4);
    struct data dz = make_data("y", HONE_BENCH_F32, z, 3, 4), dn = make_data("z", HONE_BENCH_F32, x, 3, 4);
    struct data dv = make_data("v", HONE_BENCH_F64, v, 2, 8), dw = make_data("v", HONE_BENCH_F64, w, 2, 8);
    struct data di = make_data("i", HONE_BENCH_I64, i, 2, 8), dk = make_data("i", HONE_BENCH_I64, k, 2, 8);
    hn_parity_result r = parity(dx.text, dx.n, dx.text, dx.n, HN_SAME_BYTES, 0);
    ok(r.equal && r.worst_abs == 0 && !*r.where, "data/same");
    r = parity(dx.text, dx.n, dy.text, dy.n, HN_MAX_REL, 1e-5);
    is_text(r.where, "y[1]: expected 0.25, got 0.5 (rel 1)", "data/where_it_differs");
    ok(!r.equal && r.worst_abs == 0.25 && r.worst_rel == 1 && r.worst_ulp == 1 << 23, "data/worst_errors");
    ok(parity(dx.text, dx.n, dz.text, dz.n, HN_MAX_ULP, 1).equal, "data/one_ulp_of_a_float");
    ok(!parity(dx.text, dx.n, dz.text, dz.n, HN_SAME_BYTES, 0).equal, "data/zeros_differ_in_bytes");
    ok(!parity(dv.text, dv.n, dw.text, dw.n, HN_MAX_ABS, 1e9).equal, "data/nan_is_no_number");
    ok(parity(dv.text, dv.n, dv.text, dv.n, HN_MAX_ABS, 0).equal, "data/nan_is_nan");
    ok(!parity(di.text, di.n, dk.text, dk.n, HN_MAX_ABS, 0.5).equal, "data/integers_are_exact");
    ok(parity(di.text, di.n, dk.text, dk.n, HN_MAX_ABS, 1).equal, "data/integers_within_one");
    is_text(parity(dx.text, dx.n, dn.text, dn.n, HN_MAX_ABS, 1).where, "expected output 'y', got 'z'", "data/names");
    is_text(parity(dx.text, dx.n, "text", 4, HN_MAX_ABS, 1).where, "expected harness data, got text", "data/and_text");
    for (size_t cut = sizeof(hn_data_head); cut < dx.n; cut += 8)
        ok(!parity(dx.text, dx.n, dx.text, cut, HN_MAX_ABS, 1).equal, "data/cut_at_%zu_is_unequal", cut);
    ok(strncmp(parity(dx.text, 40, dx.text, dx.n, HN_MAX_ABS, 1).where, "error", 5) == 0, "data/bad_expectation");
}

static bool compile(const char *flags, const char *source, const char *out) {
    char text[512];
    snprintf(text, sizeof text, "printf '%%s\\n' '%s' > t.c && cc %s t.c -o %s", source, flags, out);
    hn_proc_result r = {0};
    bool good = hn_proc_run(&(hn_proc_spec){.shell = text, .cwd = dir, .cpu = -1}, NULL, &r, NULL) == 0 &&
                r.end == HN_PROC_EXITED && r.code == 0;
    if (!good) printf("# %s\n", r.err_tail);
    hn_proc_result_free(&r);
    return good;
}

static void test_objects(void) {
    static const char *const source = "int g(int); int f(int x) { return g(x) + 3; }";
    char path[128], plain[33], same[33], other[33], callee[33], lto1[33], lto2[33];
    bool good = compile("-O2 -c", source, "a.o") && compile("-O2 -c -g", source, "b.o") &&
                compile("-O0 -c", source, "c.o") && compile("-O2 -c -Dg=h", source, "d.o") &&
                compile("-O2 -flto -c", source, "e.o") && compile("-O2 -flto -c -Df=k", source, "f.o");
    ok(good, "object/compiled");
    good = !hn_object_hash(in_dir("a.o", path), plain, NULL) && !hn_object_hash(in_dir("b.o", path), same, NULL) &&
           !hn_object_hash(in_dir("c.o", path), other, NULL) && !hn_object_hash(in_dir("d.o", path), callee, NULL) &&
           !hn_object_hash(in_dir("e.o", path), lto1, NULL) && !hn_object_hash(in_dir("f.o", path), lto2, NULL);
    ok(good, "object/hashed");
    is_text(same, plain, "object/debug_data_does_not_count");
    ok(strcmp(plain, other) != 0, "object/other_code_counts");
    ok(strcmp(plain, callee) != 0, "object/what_is_called_counts");
    ok(strcmp(lto1, lto2) != 0, "object/intermediate_code_counts");
    uint64_t code, file;
    ok(!hn_object_size(in_dir("a.o", path), &code, &file, NULL) && code > 8 && code < file, "object/size");
    ok(!hn_object_size(in_dir("t.c", path), &code, &file, NULL) && code == file, "object/size_of_text");
    ok(hn_object_hash("/no/such", plain, NULL) == HONE_E_IO, "object/missing_file");
}

/* Every truncation, and every byte of the headers changed: no fault, whatever the answer (ASan watches). */
static void test_broken_objects(void) {
    char path[128], bad[128], hex[33], *data;
    size_t n;
    uint64_t code, file;
    if (hn_read_file(in_dir("a.o", path), &data, &n, NULL)) return;
    in_dir("bad.o", bad);
    size_t from = n > 1200 ? n - 1200 : 0;
    for (size_t i = 0; i < n; i += i < 64 || i > from ? 3 : 64) {
        FILE *f = fopen(bad, "w");
        data[i] ^= (char)0xff;
        fwrite(data, 1, i % 2 ? n : i, f);
        data[i] ^= (char)0xff;
        fclose(f);
        if (hn_object_hash(bad, hex, NULL) || hn_object_size(bad, &code, &file, NULL)) break;
    }
    free(data);
    ok(true, "object/broken_files_are_safe");
}

int main(void) {
    if (!mkdtemp(dir)) return 1;
    test_metrics();
    test_text_parity();
    test_data_parity();
    test_objects();
    test_broken_objects();
    hn_remove_tree(dir, NULL);
    return done_testing();
}
