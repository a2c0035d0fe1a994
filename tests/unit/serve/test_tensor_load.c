/* Random inputs for a model of tensors: sizes, types and their ranges, the same again from the same seed, failing
 * allocations. */
#include "serve/tensor_load.h"

#include "failalloc.h"
#include "tap.h"

#include <math.h>

static const char *const model = "{\"inputs\": [{\"name\": \"x\", \"datatype\": \"FP32\", \"shape\": [-1, 4]},"
                                 " {\"name\": \"h\", \"datatype\": \"FP16\", \"shape\": [-1, -1]},"
                                 " {\"name\": \"i\", \"datatype\": \"INT32\", \"shape\": [50]},"
                                 " {\"name\": \"t\", \"datatype\": \"BOOL\", \"shape\": [50]}]}";

static void test_sizes(void) {
    static const struct {
        const char *text;
        size_t n;
        int64_t last;
    } cases[] = {{NULL, 1, 1},
                 {"8", 1, 8},
                 {"8,128", 2, 128},
                 {"", 0, 0},
                 {"0", 0, 0},
                 {"-1", 0, 0},
                 {"1,", 0, 0},
                 {"1,x", 0, 0},
                 {"1 2", 0, 0},
                 {"99999999999999999999", 0, 0},
                 {"1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2", 16, 2},
                 {"1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1", 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t size[HN_TENSOR_SIZES] = {0};
        size_t n = hn_tensor_sizes(cases[i].text, size);
        ok(n == cases[i].n && (!n || size[n - 1] == cases[i].last), "tensor_load/sizes_%zu", i);
    }
}

static void test_body(void) {
    static const int64_t size[] = {3, 5};
    json_t *m = json_loads(model, 0, NULL);
    hn_tensor_body a = {0}, b = {0}, c = {0};
    hone_err err = {0};
    ok(!hn_tensor_body_make(m, size, 2, 1 << 20, 7, 1, &a, &err), "tensor_load/body: %s", err.text);
    const char *data = a.bytes + a.n_json;
    const size_t n_x = 12, n_h = 15, n_i = 50, n_t = 50;
    ok(a.n - a.n_json == 4 * n_x + 2 * n_h + 4 * n_i + n_t, "tensor_load/size_of_the_data");
    bool good = true, some = false;
    for (size_t i = 0; i < n_x; i++) {
        float x;
        memcpy(&x, data + 4 * i, sizeof x);
        good &= x >= -1 && x <= 1, some |= x != 0;
    }
    ok(good && some, "tensor_load/floats_lie_between_minus_one_and_one");
    good = true;
    for (size_t i = 0; i < n_h; i++) {
        uint16_t h;
        memcpy(&h, data + 4 * n_x + 2 * i, sizeof h);
        good &= (h >> 10 & 31) >= 1 && (h >> 10 & 31) <= 14;
    }
    ok(good, "tensor_load/halves_are_below_one");
    good = true;
    for (size_t i = 0; i < n_i; i++) {
        int32_t x;
        memcpy(&x, data + 4 * n_x + 2 * n_h + 4 * i, sizeof x);
        good &= x >= 0 && x < 10;
    }
    for (size_t i = 0; i < n_t; i++) good &= (unsigned char)data[4 * n_x + 2 * n_h + 4 * n_i + i] < 2;
    ok(good, "tensor_load/whole_numbers_are_digits");
    hn_tensor_body_make(m, size, 2, 1 << 20, 7, 1, &b, NULL);
    hn_tensor_body_make(m, size, 2, 1 << 20, 7, 2, &c, NULL);
    ok(a.n == b.n && !memcmp(a.bytes, b.bytes, a.n), "tensor_load/the_same_from_the_same_seed");
    ok(a.n == c.n && memcmp(a.bytes, c.bytes, a.n), "tensor_load/another_of_another_index");
    free(a.bytes), free(b.bytes), free(c.bytes);
    ok(hn_tensor_body_make(m, size, 2, 100, 7, 1, &a, &err) == HONE_E_LIMIT, "tensor_load/too_large: %s", err.text);
    json_decref(m);
}

static hone_rc body_again(void *ctx) {
    static const int64_t size[] = {2};
    hn_tensor_body b = {0};
    hone_rc rc = hn_tensor_body_make(ctx, size, 1, 1 << 20, 1, 1, &b, NULL);
    if (!rc) free(b.bytes);
    return rc;
}

int main(void) {
    test_sizes();
    test_body();
    json_t *m = json_loads(model, 0, NULL);
    sweep_allocations("tensor_load/nth_allocation_fails", body_again, m);
    json_decref(m);
    return done_testing();
}
