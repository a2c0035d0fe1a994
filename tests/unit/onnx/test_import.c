/* test_import.c — reading models: what is damaged, lying or unsupported is said; what is right becomes a graph. */
#include "onnx_memory.h"
#include "onnx_write.h"
#include "tap.h"

#include <hone/import.h>
#include <hone/onnx.h>

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct outcome {
    hone_rc rc;
    char text[1000], *report, *graph;
} outcome;

static outcome import(const pb *m) {
    outcome o = {.rc = HONE_OK};
    hone_graph *g = NULL;
    hone_err err = {0};
    o.rc = onnx_import(m->b, m->n, NULL, &g, &o.report, &err);
    strcpy(o.text, err.text);
    if (!o.rc) hone_graph_print(g, &o.graph, NULL);
    hone_graph_free(g);
    return o;
}

static void drop(outcome *o) {
    hone_free(o->report);
    hone_free(o->graph);
}

/* The import fails with rc and a text that holds `part`. */
static void fails(const pb *m, hone_rc rc, const char *part, const char *name) {
    outcome o = import(m);
    if (!ok(o.rc == rc && strstr(o.text, part), "import/%s", name)) printf("#   got %d: %s\n", o.rc, o.text);
    drop(&o);
}

static void gives(const pb *m, const char *part, const char *name) {
    outcome o = import(m);
    if (!ok(!o.rc && o.graph && strstr(o.graph, part), "import/%s", name))
        printf("#   got %d: %s\n#   %s\n", o.rc, o.text, o.graph ? o.graph : "");
    drop(&o);
}

/* A graph x -> y of f32[3] with these nodes. */
static pb chain(const char *const *node, size_t n) {
    pb g = {.n = 0};
    onnx_add_input(&g, "x", 1, "3");
    onnx_add_output(&g, "y", 1, NULL);
    for (size_t i = 0; i < n; i++) onnx_add_node(&g, node[i]);
    return g;
}

/* --- structure ---------------------------------------------------------------------------------------------------- */

static void test_samples(void) {
    for (unsigned i = 0; onnx_sample(i).n; i++) {
        pb m = onnx_sample(i);
        outcome o = import(&m);
        if (!ok(!o.rc && o.graph, "import/sample_%u_becomes_a_graph", i)) printf("#   %s\n", o.text);
        drop(&o);
    }
}

static void test_structure(void) {
    static const struct {
        const char *name, *node[3];
        size_t n;
        hone_rc rc;
        const char *part;
    } cases[] = {
        {"cycle_is_an_error", {"Add: x b -> a", "Neg: a -> b", "Neg: b -> y"}, 3, HONE_E_INPUT, "form a cycle"},
        {"disorder_is_an_error", {"Neg: a -> y", "Neg: x -> a"}, 2, HONE_E_INPUT, "not in order"},
        {"own_output_is_an_error", {"Neg: y -> y"}, 1, HONE_E_INPUT, "this very node"},
        {"undefined_value_is_named", {"Neg: nowhere -> y"}, 1, HONE_E_INPUT, "'nowhere', which nothing defines"},
        {"second_definition_is_an_error", {"Neg: x -> y", "Abs: x -> y"}, 2, HONE_E_INPUT, "'y' is defined twice"},
        {"missing_output_is_an_error", {"Neg: x -> z"}, 1, HONE_E_INPUT, "output 'y'"},
        {"missing_input_is_an_error", {"Add: x x -> z", "Concat: z _ -> y"}, 2, HONE_E_INPUT, "is missing"},
        {"unknown_operator_is_refused", {"Frob: x -> y"}, 1, HONE_E_UNSUPPORTED, "(Frob), opset 17 of ai.onnx"},
        {"later_operator_is_refused", {"Swish: x -> y"}, 1, HONE_E_UNSUPPORTED, "opsets 24 to 27"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pb g = chain(cases[i].node, cases[i].n), m = onnx_model(&g, 17);
        fails(&m, cases[i].rc, cases[i].part, cases[i].name);
    }
}

static void test_all_refusals_at_once(void) {
    static const char *const node[] = {"Frob: x -> a", "Abs: a -> b", "Knob: b -> c", "If: c -> y"};
    pb g = chain(node, 3), branch = {.n = 0}, n = onnx_node(node[3]), m;
    onnx_add_node(&branch, "Inner: x -> p");
    onnx_add_output(&branch, "p", 1, NULL);
    onnx_attr_graph(&n, "then_branch", &branch);
    onnx_attr_graph(&n, "else_branch", &branch);
    pb_put(&g, 1, &n);
    m = onnx_model(&g, 17);
    outcome o = import(&m);
    ok(o.rc == HONE_E_UNSUPPORTED && strstr(o.report, "Frob") && strstr(o.report, "Knob") && strstr(o.report, "Inner"),
       "import/every_refusal_is_listed_at_once");
    ok(o.report && !strstr(o.report, "(Abs)"), "import/what_is_known_is_not_listed");
    drop(&o);
}

static void test_names_are_harmless(void) {
    pb g = chain(NULL, 0), n = onnx_node("Frob: x -> y"), m;
    pb_text(&n, 3, "a\nb\x1b[31m\xff");
    pb_put(&g, 1, &n);
    m = onnx_model(&g, 17);
    fails(&m, HONE_E_UNSUPPORTED, "a\\x0ab\\x1b[31m\\xff", "control_bytes_in_names_are_escaped");
}

static void test_no_model(void) {
    pb m = {.n = 0}, g = chain(NULL, 0);
    fails(&m, HONE_E_INPUT, "empty", "nothing_is_no_model");
    pb_int(&m, 1, 8);
    fails(&m, HONE_E_INPUT, "no graph", "model_without_graph_is_an_error");
    pb_put(&m, 7, &g);
    fails(&m, HONE_E_INPUT, "no operator set", "model_without_opset_is_an_error");
    onnx_add_opset(&m, 8, "", 99);
    onnx_add_node(&g, "Abs: x -> y");
    m = onnx_model(&g, 99);
    fails(&m, HONE_E_UNSUPPORTED, "opsets up to 27", "future_opset_is_refused");
}

/* --- damage ---------------------------------------------------------------------------------------------------------
 */

static void test_truncation(void) {
    int survived = 1;
    for (unsigned i = 0; onnx_sample(i).n; i++) {
        pb whole = onnx_sample(i);
        for (size_t n = 0; n < whole.n; n++) {
            unsigned char *exact = malloc(n ? n : 1); /* so that ASan sees a read beyond */
            hone_graph *g = NULL;
            hone_err err = {0};
            if (!exact) abort();
            memcpy(exact, whole.b, n);
            hone_rc rc = onnx_import(exact, n, NULL, &g, NULL, &err);
            if (rc && !err.text[0]) survived = 0;
            hone_graph_free(g);
            free(exact);
        }
    }
    ok(survived, "import/every_prefix_of_a_model_is_an_error_or_a_model");
}

static void test_flips(void) {
    int survived = 1;
    for (unsigned i = 0; onnx_sample(i).n; i++) {
        pb m = onnx_sample(i);
        for (size_t bit = 0; bit < 8 * m.n; bit++) {
            m.b[bit / 8] ^= (unsigned char)(1u << bit % 8);
            outcome o = import(&m);
            if (o.rc ? !o.text[0] : !o.graph) survived = 0;
            drop(&o);
            m.b[bit / 8] ^= (unsigned char)(1u << bit % 8);
        }
    }
    ok(survived, "import/every_flipped_bit_gives_an_error_or_a_graph");
}

static void test_depth(void) {
    pb inner = {.n = 0}, m;
    onnx_add_output(&inner, "y", 1, NULL);
    for (int i = 0; i < 60; i++) {
        pb n = onnx_node("If: c -> y"), outer = {.n = 0};
        onnx_attr_graph(&n, "then_branch", &inner);
        pb_put(&outer, 1, &n);
        inner = outer;
    }
    m = onnx_model(&inner, 17);
    fails(&m, HONE_E_INPUT, "100 levels", "deep_nesting_is_an_error");
}

static void test_wire(void) {
    static const struct {
        const char *name, *bytes;
        size_t n;
        const char *part;
    } cases[] = {
        {"length_beyond_the_file", "\x3a\x7f\x01", 3, "reaches beyond"},
        {"length_of_two_gigabytes", "\x3a\xff\xff\xff\xff\x0f", 6, "reaches beyond"},
        {"endless_number", "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12, "does not end"},
        {"field_zero", "\x00\x01", 2, "no field"},
        {"group", "\x0b\x01", 2, "unknown kind"},
        {"short_float", "\x0d\x01", 2, "ends inside"},
        {"two_graphs", "\x3a\x00\x3a\x00", 4, "is given twice"},
        {"text", "hello, this is no model", 23, "'model in memory'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pb m = {.n = cases[i].n};
        memcpy(m.b, cases[i].bytes, cases[i].n);
        fails(&m, HONE_E_INPUT, cases[i].part, cases[i].name);
    }
}

/* --- tensors ---------------------------------------------------------------------------------------------------------
 */

/* y = initialiser t, whose name is "w". */
static pb with_tensor(const pb *t) {
    pb g = {.n = 0};
    onnx_add_tensor(&g, t);
    onnx_add_output(&g, "y", 0, NULL);
    onnx_add_node(&g, "Identity: w -> y");
    return onnx_model(&g, 25);
}

static void test_raw_tensors(void) {
    static const int64_t three[1] = {3}, five[1] = {5}, huge[2] = {INT64_MAX, 4}, minus[1] = {-1};
    static const struct {
        const char *name;
        int type;
        const int64_t *dim;
        size_t rank;
        const char *bytes;
        size_t n;
        const char *want; /* in the graph; NULL: an error that holds `part` */
        const char *part;
    } cases[] = {
        {"raw_i16", 5, three, 1, "\x01\0\xff\xff\x00\x80", 6, "i16[3] (1, -1, -32768)", NULL},
        {"raw_u4_is_unpacked", 21, three, 1, "\x21\x0f", 2, "u4[3] (1, 2, 15)", NULL},
        {"raw_i4_is_sign_extended", 22, three, 1, "\x8f\x07", 2, "i4[3] (-1, -8, 7)", NULL},
        {"raw_i2_is_unpacked", 26, five, 1, "\xe4\x02", 2, "i2[5] (0, 1, -2, -1, -2)", NULL},
        {"raw_bool_is_normalised", 9, three, 1, "\x00\x07\x80", 3, "bool[3] (false, true, true)", NULL},
        {"raw_too_short", 1, three, 1, "\0\0\0\0", 4, NULL, "takes 12 bytes, but its raw_data has 4"},
        {"raw_too_long", 2, three, 1, "\0\0\0\0", 4, NULL, "takes 3 bytes"},
        {"sizes_overflow", 1, huge, 2, "", 0, NULL, "too large"},
        {"negative_size", 1, minus, 1, "", 0, NULL, "negative"},
        {"unknown_type", 77, three, 1, "", 0, NULL, "unknown (77)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pb t = onnx_tensor("w", cases[i].type, cases[i].rank, cases[i].dim, cases[i].bytes, cases[i].n);
        pb m = with_tensor(&t);
        if (cases[i].want)
            gives(&m, cases[i].want, cases[i].name);
        else
            fails(&m, HONE_E_INPUT, cases[i].part, cases[i].name);
    }
}

static void test_typed_tensors(void) {
    static const struct {
        const char *name;
        int type;
        unsigned field;
        int64_t value[2];
        const char *want;
    } cases[] = {
        {"int32_data_carries_u8", 2, 5, {200, 1}, "u8[2] (200, 1)"},
        {"int32_data_carries_f16", 10, 5, {0x3c00, 0xc000}, "f16[2] (0x1p+0, -0x1p+1)"},
        {"int32_data_carries_bool", 9, 5, {1, 0}, "bool[2] (true, false)"},
        {"int64_data", 7, 7, {-5, 5}, "i64[2] (-5, 5)"},
        {"uint64_data_carries_u32", 12, 11, {4294967295, 7}, "u32[2] (4294967295, 7)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        static const int64_t two[1] = {2};
        pb t = onnx_tensor("w", cases[i].type, 1, two, NULL, 0), list = {.n = 0};
        for (size_t k = 0; k < 2; k++) pb_raw_varint(&list, (uint64_t)cases[i].value[k]);
        pb_put(&t, cases[i].field, &list);
        pb m = with_tensor(&t);
        gives(&m, cases[i].want, cases[i].name);
    }
}

static void test_odd_tensors(void) {
    static const int64_t two[1] = {2}, at[2] = {5, 1}, shape[2] = {2, 3};
    static const float v[2] = {7, 8};
    pb t = onnx_tensor("w", 8, 1, two, NULL, 0), m = with_tensor(&t);
    fails(&m, HONE_E_UNSUPPORTED, "string", "string_tensor_is_refused");
    t = onnx_tensor("w", 1, 1, two, v, sizeof v);
    pb segment = {.n = 0};
    pb_put(&t, 3, &segment);
    m = with_tensor(&t);
    fails(&m, HONE_E_UNSUPPORTED, "segments", "segment_is_refused");
    for (int lying = 0; lying < 2; lying++) {
        pb g = {.n = 0}, s = {.n = 0}, values = onnx_tensor("w", 1, 1, two, v, sizeof v);
        pb indices = onnx_tensor("i", 7, 1, two, at, sizeof at);
        pb_put(&s, 1, &values);
        pb_put(&s, 2, &indices);
        pb_int(&s, 3, shape[0]);
        pb_int(&s, 3, lying ? 2 : shape[1]);
        pb_put(&g, 15, &s);
        onnx_add_output(&g, "y", 1, NULL);
        onnx_add_node(&g, "Identity: w -> y");
        m = onnx_model(&g, 17);
        if (lying)
            fails(&m, HONE_E_INPUT, "outside its shape", "sparse_index_outside");
        else
            gives(&m, "f32[2, 3] (0x0p+0, 0x1p+3, 0x0p+0, 0x0p+0, 0x0p+0, 0x1.cp+2)", "sparse_becomes_dense");
    }
}

/* --- external data ------------------------------------------------------------------------------------------------ */

static void write_file(const char *dir, const char *name, const void *data, size_t n) {
    char path[700];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, n, f) != n || fclose(f)) abort();
}

static hone_rc import_external(const char *dir, const char *location, const char *offset, const char *length,
                               char text[1000]) {
    static const int64_t two[1] = {2};
    static const char *const key[] = {"location", "offset", "length"};
    const char *value[] = {location, offset, length};
    pb t = onnx_tensor("w", 1, 1, two, NULL, 0);
    hone_graph *g = NULL;
    hone_err err = {0};
    char path[700];
    for (size_t i = 0; i < 3; i++) {
        pb e = {.n = 0};
        if (!value[i]) continue;
        pb_text(&e, 1, key[i]);
        pb_text(&e, 2, value[i]);
        pb_put(&t, 13, &e);
    }
    pb_int(&t, 14, 1);
    pb m = with_tensor(&t);
    write_file(dir, "m.onnx", m.b, m.n);
    snprintf(path, sizeof path, "%s/m.onnx", dir);
    hone_rc rc = hone_import_model(path, NULL, &g, NULL, &err);
    char *graph = NULL;
    if (!rc) hone_graph_print(g, &graph, NULL);
    snprintf(text, 1000, "%s", rc ? err.text : graph);
    hone_free(graph);
    hone_graph_free(g);
    return rc;
}

static void test_external(void) {
    static const float w[4] = {1, 2, 3, 4};
    static const struct {
        const char *name, *location, *offset, *length, *part;
        hone_rc rc;
    } cases[] = {
        {"external_data_is_read", "w.bin", "8", "8", "(0x1.8p+1, 0x1p+2)", HONE_OK},
        {"external_offset_need_not_be_aligned", "odd.bin", "1", NULL, "(0x1p+0, 0x1p+1)", HONE_OK},
        {"external_in_a_subfolder", "sub/w.bin", NULL, NULL, "(0x1p+0, 0x1p+1)", HONE_OK},
        {"external_beyond_the_end", "w.bin", "12", "8", "bytes 12 to 20", HONE_E_INPUT},
        {"external_offset_overflows", "w.bin", "18446744073709551615", NULL, "is no number", HONE_E_INPUT},
        {"external_wrong_length", "w.bin", "0", "12", "takes 8 bytes, but its external data has 12", HONE_E_INPUT},
        {"external_upwards", "../w.bin", NULL, NULL, "outside the model's folder", HONE_E_INPUT},
        {"external_upwards_inside", "sub/../../w.bin", NULL, NULL, "outside the model's folder", HONE_E_INPUT},
        {"external_absolute", "/etc/passwd", NULL, NULL, "outside the model's folder", HONE_E_INPUT},
        {"external_link_out", "link", NULL, NULL, "leaves the model's folder", HONE_E_INPUT},
        {"external_missing", "nothing.bin", NULL, NULL, "cannot find", HONE_E_IO},
        {"external_folder", "sub", NULL, NULL, "no regular file", HONE_E_IO},
        {"external_without_location", NULL, "0", NULL, "without a location", HONE_E_INPUT},
    };
    char dir[500], path[700], text[1000];
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/hone-import.XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(dir)) abort();
    write_file(dir, "w.bin", w, sizeof w);
    write_file(dir, "odd.bin", "x\0\0\x80\x3f\0\0\0\x40", 9);
    snprintf(path, sizeof path, "%s/sub", dir);
    if (mkdir(path, 0700)) abort();
    write_file(path, "w.bin", w, sizeof w);
    snprintf(path, sizeof path, "%s/link", dir);
    if (symlink("/etc/hostname", path)) abort();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hone_rc rc = import_external(dir, cases[i].location, cases[i].offset, cases[i].length, text);
        if (!ok(rc == cases[i].rc && strstr(text, cases[i].part), "import/%s", cases[i].name))
            printf("#   got %d: %s\n", rc, text);
    }
    static const char *const made[] = {"w.bin", "odd.bin", "m.onnx", "link", "sub/w.bin"};
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, made[i]);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/sub", dir);
    rmdir(path);
    rmdir(dir);
}

/* --- functions, symbols ------------------------------------------------------------------------------------------- */

static void test_functions(void) {
    pb m = onnx_sample_function(), f = {.n = 0}, g = chain(NULL, 0), call = onnx_node("Loopy: x -> y");
    gives(&m, "0x1p-1", "attribute_of_a_call_reaches_the_body");
    pb inner = onnx_node("Loopy: a -> b");
    pb_text(&inner, 7, "mine");
    pb_text(&call, 7, "mine");
    pb_text(&f, 1, "Loopy");
    pb_text(&f, 4, "a");
    pb_text(&f, 5, "b");
    pb_put(&f, 7, &inner);
    pb_text(&f, 10, "mine");
    pb_put(&g, 1, &call);
    m = onnx_model(&g, 17);
    onnx_add_opset(&m, 8, "mine", 1);
    pb_put(&m, 25, &f);
    fails(&m, HONE_E_INPUT, "calls itself", "recursion_is_an_error");
}

/* Each function calls the next one twice: 2^30 nodes. */
static void test_function_bomb(void) {
    pb g = chain(NULL, 0), m, call = onnx_node("F0: x -> y");
    pb_text(&call, 7, "mine");
    pb_put(&g, 1, &call);
    m = onnx_model(&g, 17);
    onnx_add_opset(&m, 8, "mine", 1);
    for (int i = 0; i < 30; i++) {
        char name[16], text[64];
        pb f = {.n = 0};
        snprintf(name, sizeof name, "F%d", i);
        pb_text(&f, 1, name);
        pb_text(&f, 4, "a");
        pb_text(&f, 5, "c");
        for (int k = 0; k < 2; k++) {
            snprintf(text, sizeof text, "F%d: %s -> %s", i + 1, k ? "b" : "a", k ? "c" : "b");
            pb n = onnx_node(text);
            if (i < 29) pb_text(&n, 7, "mine");
            if (i == 29) n = onnx_node(k ? "Neg: b -> c" : "Neg: a -> b");
            pb_put(&f, 7, &n);
        }
        onnx_add_opset(&f, 9, "", 17);
        onnx_add_opset(&f, 9, "mine", 1);
        pb_text(&f, 10, "mine");
        pb_put(&m, 25, &f);
    }
    fails(&m, HONE_E_LIMIT, "once functions are expanded", "exponential_functions_are_stopped");
}

static void test_symbols(void) {
    static const struct {
        const char *name, *option;
        hone_rc rc;
        const char *part;
    } cases[] = {
        {"symbol_is_bounded", "n=1:64", HONE_OK, "symbol n in 1..64"},
        {"symbol_is_fixed", "n=8", HONE_OK, "f32[8, 3]"},
        {"symbol_without_upper_bound", "n=2:", HONE_OK, "symbol n in 2.."},
        {"unknown_symbol_names_the_nearest", "m=8", HONE_E_USAGE, "'n'"},
        {"symbol_without_size", "n=", HONE_E_USAGE, "name=size"},
        {"symbol_range_is_empty", "n=9:3", HONE_E_USAGE, "smallest:largest"},
    };
    pb m = onnx_sample_plain();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hone_import_options o = {.size = sizeof(hone_import_options), .symbol = &cases[i].option, .n_symbol = 1};
        hone_graph *g = NULL;
        hone_err err = {0};
        char *text = NULL;
        hone_rc rc = onnx_import(m.b, m.n, &o, &g, NULL, &err);
        if (!rc) hone_graph_print(g, &text, NULL);
        if (!ok(rc == cases[i].rc && strstr(rc ? err.text : text, cases[i].part), "import/%s", cases[i].name))
            printf("#   got %d: %s\n", rc, rc ? err.text : text);
        hone_free(text);
        hone_graph_free(g);
    }
}

static void test_tensor_file(void) {
    static const int64_t two[1] = {2};
    static const float v[2] = {7, 8};
    char dir[500], path[700];
    const char *tmp = getenv("TMPDIR");
    hone_array a = {0};
    hone_err err = {0};
    snprintf(dir, sizeof dir, "%s/hone-tensor.XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(dir)) abort();
    pb t = onnx_tensor("w", 1, 1, two, v, sizeof v);
    write_file(dir, "t.pb", t.b, t.n);
    snprintf(path, sizeof path, "%s/t.pb", dir);
    hone_rc rc = hone_import_tensor(path, &a, &err);
    ok(!rc && a.dtype == HONE_F32 && a.rank == 1 && a.dim[0] == 2 && ((float *)a.data)[1] == 8, "import/tensor_file");
    hone_free(a.data);
    unlink(path);
    ok(hone_import_tensor(path, &a, &err) == HONE_E_IO && strstr(err.text, "t.pb"), "import/tensor_file_missing");
    rmdir(dir);
}

int main(void) {
    test_samples();
    test_structure();
    test_all_refusals_at_once();
    test_names_are_harmless();
    test_no_model();
    test_truncation();
    test_flips();
    test_depth();
    test_wire();
    test_raw_tensors();
    test_typed_tensors();
    test_odd_tensors();
    test_external();
    test_functions();
    test_function_bomb();
    test_symbols();
    test_tensor_file();
    return done_testing();
}
