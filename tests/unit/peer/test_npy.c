/* NumPy's array files: round trips, both orders, what is refused. */
#include <hone/npy.h>

#include "tap.h"

#define HEAD(text) "\x93NUMPY\x01\x00" text

typedef struct refusal {
    const char *name, *text;
    size_t n;
} refusal;
#define TEXT(s) s, sizeof s - 1

static void test_refusals(void) {
    static const refusal list[] = {
        {"empty", TEXT("")},
        {"no_magic", TEXT("NUMPY\x01\x00\x10\x00{'descr': '<f4'}")},
        {"cut_head", TEXT("\x93NUMPY\x01\x00\xff\x00{'descr'")},
        {"version_9", TEXT("\x93NUMPY\x09\x00\x10\x00{'descr': '<f4'}")},
        {"big_endian", TEXT(HEAD("\x3a\x00") "{'descr': '>f4', 'fortran_order': False, 'shape': (1,), } \n\0\0\0\0")},
        {"text_elements",
         TEXT(HEAD("\x3a\x00") "{'descr': '<U4', 'fortran_order': False, 'shape': (1,), } \n\0\0\0\0")},
        {"no_shape", TEXT(HEAD("\x2a\x00") "{'descr': '<f4', 'fortran_order': False, }")},
        {"twice", TEXT(HEAD("\x26\x00") "{'descr': '<f4', 'descr': '<f4',     }")},
        {"other_key", TEXT(HEAD("\x12\x00") "{'__import__': 1 }")},
        {"too_short", TEXT(HEAD("\x3a\x00") "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), } \n\0\0\0\0")},
        {"overflow",
         TEXT(HEAD("\x52\x00") "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 4), }\n\0")},
        {"rank_17", TEXT(HEAD("\x63\x00") "{'descr': '|u1', 'fortran_order': False, 'shape': "
                                          "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1), }            \0")},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        hone_array a = {.rank = 77};
        hone_err err = {0};
        hone_rc rc = hone_npy_parse(list[i].text, list[i].n, "x.npy", &a, &err);
        ok(rc == HONE_E_INPUT && strstr(err.text, "x.npy") && a.rank == 77, "npy/%s_is_refused", list[i].name);
    }
}

static void test_round_trip(void) {
    static const hone_dtype types[] = {HONE_F32, HONE_F64, HONE_F16, HONE_I8, HONE_I64, HONE_U16, HONE_BOOL};
    unsigned char data[48];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)(i % 2);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        hone_array a = {.dtype = types[i], .rank = 2, .dim = {2, 3}, .data = data}, b = {0};
        void *file = NULL;
        size_t n = 0;
        int good = !hone_npy_format(&a, &file, &n, NULL) && !hone_npy_parse(file, n, "x", &b, NULL);
        ok(good && b.dtype == a.dtype && b.rank == 2 && b.dim[0] == 2 && b.dim[1] == 3 &&
               !memcmp(b.data, data, 6 * hone_dtype_size_b(types[i])),
           "npy/%s_round_trip", hone_dtype_name(types[i]));
        hone_free(file), hone_free(b.data);
    }
    hone_array a = {.dtype = HONE_BF16, .data = data}, b = {0};
    void *file = NULL;
    size_t n = 0;
    ok(!hone_npy_format(&a, &file, &n, NULL) && n % 64 == 2 && !hone_npy_parse(file, n, "x", &b, NULL) &&
           b.dtype == HONE_U16 && b.rank == 0,
       "npy/scalar_of_a_type_that_numpy_lacks");
    hone_free(file), hone_free(b.data);
}

static void test_fortran(void) {
    static const char text[] =
        HEAD("\x3f\x00") "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }    \n\1\4\2\5\3\6";
    static const unsigned char want[] = {1, 2, 3, 4, 5, 6};
    hone_array a = {0};
    hone_err err = {0};
    if (!ok(!hone_npy_parse(text, sizeof text - 1, "x", &a, &err) && !memcmp(a.data, want, 6),
            "npy/fortran_order_is_turned"))
        printf("#   %s\n", err.text);
    hone_free(a.data);
}

static void test_compare(void) {
    float x[] = {1, 2, 3}, y[] = {1, 2.5f, 3};
    hone_array a = {.dtype = HONE_F32, .rank = 1, .dim = {3}, .data = x}, b = a, c = a;
    hone_array_difference d;
    b.data = y;
    c.dim[0] = 2;
    ok(!hone_array_compare(&a, &a, 0, 0, &d, NULL) && d.same, "compare/same");
    ok(!hone_array_compare(&a, &b, 1e-3, 1e-3, &d, NULL) && !d.same && d.n_wrong == 1 && d.at == 1,
       "compare/one_differs");
    ok(!hone_array_compare(&a, &c, 0, 0, &d, NULL) && !d.same && d.at == -1, "compare/other_shape");
}

int main(void) {
    test_refusals();
    test_round_trip();
    test_fortran();
    test_compare();
    return done_testing();
}
