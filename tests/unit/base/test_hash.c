/* Hashes: vectors from Python's hashlib.blake2b(digest_size=16) and an independent model of splitmix64. */
#include "base/fs.h"
#include "base/hash.h"
#include "tap.h"

#include <math.h>
#include <unistd.h>

static void test_blake2b(void) {
    static unsigned char ramp[256], many[1000000];
    for (int i = 0; i < 256; i++) ramp[i] = (unsigned char)i;
    memset(many, 'a', sizeof many);
    const struct {
        const char *name;
        const void *data;
        size_t n;
        const char *want;
    } cases[] = {
        {"hash/blake2b_empty", "", 0, "cae66941d9efbd404e4d88758ea67670"},
        {"hash/blake2b_abc", "abc", 3, "cf4ab791c62b8d2b2109c90275287816"},
        {"hash/blake2b_all_bytes", ramp, sizeof ramp, "c2472c0ac37a8dbdb25f05ada0d82643"},
        {"hash/blake2b_million", many, sizeof many, "7b704218d19f31b3a0fb7e4336822ae1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hn_hash whole, parts;
        char hex[33], again[33];
        hn_hash_begin(&whole);
        hn_hash_add(&whole, cases[i].data, cases[i].n);
        hn_hash_end(&whole, hex);
        is_text(hex, cases[i].want, cases[i].name);
        hn_hash_begin(&parts);
        for (size_t at = 0, step = 1; at < cases[i].n; at += step, step = step * 3 % 1009 + 1) {
            size_t left = cases[i].n - at;
            hn_hash_add(&parts, (const char *)cases[i].data + at, step < left ? step : left);
        }
        hn_hash_end(&parts, again);
        ok(!strcmp(hex, again), "%s_in_parts", cases[i].name);
    }
}

static void text_pair(const char *a, const char *b, char hex[33]) {
    hn_hash h;
    hn_hash_begin(&h);
    hn_hash_text(&h, a);
    if (b) hn_hash_text(&h, b);
    hn_hash_end(&h, hex);
}

static void test_framing(void) {
    char hex[33];
    text_pair("ab", "c", hex);
    is_text(hex, "4826ed043ab3cdec576d8541fa5d5a80", "hash/texts_are_framed_ab_c");
    text_pair("a", "bc", hex);
    is_text(hex, "f14abc19c330e936bb9c8506d69bac9b", "hash/texts_are_framed_a_bc");
    text_pair("", NULL, hex);
    is_text(hex, "c804ce198ec337e3dc762bdd1a09aece", "hash/empty_text");
    text_pair(NULL, NULL, hex);
    is_text(hex, "c9af5328349644b9d508d8aced3c4f9f", "hash/null_differs_from_empty");
}

static void test_file(void) {
    char path[] = "/tmp/hone-hash-XXXXXX", hex[33] = "untouched";
    int fd = mkstemp(path);
    ok(fd >= 0 && write(fd, "abc", 3) == 3 && close(fd) == 0, "hash/fixture");
    ok(hn_hash_file(path, hex, NULL) == HONE_OK, "hash/file");
    is_text(hex, "cf4ab791c62b8d2b2109c90275287816", "hash/file_equals_its_bytes");
    unlink(path);
    strcpy(hex, "untouched");
    hone_err err;
    ok(hn_hash_file(path, hex, &err) == HONE_E_IO && strstr(err.text, path), "hash/missing_file_is_named");
    ok(hn_hash_file("/", hex, &err) == HONE_E_IO && strstr(err.text, "directory"), "hash/folder_is_an_error");
    is_text(hex, "untouched", "hash/failure_leaves_the_output");
}

static void test_hash64(void) {
    ok(hn_mix64(0) == 0xe220a8397b1dcdafu && hn_mix64(1) == 0x910a2dec89025cc1u, "hash/mix64_is_splitmix64");
    ok(hn_mix64(UINT64_MAX) == 0xe4d971771b652c20u, "hash/mix64_of_the_largest");
    const double x[] = {1.0, -0.0, NAN, -2.5}, zero[] = {1.0, 0.0, -NAN, -2.5}, other[] = {1.0, 0.0, NAN, 2.5};
    ok(hn_hash64(7, x, 4) == 0xab1dfe8b17d0955bu, "hash/hash64_vector");
    ok(hn_hash64(7, x, 4) == hn_hash64(7, zero, 4), "hash/hash64_zeros_and_nans_are_one");
    ok(hn_hash64(7, x, 4) != hn_hash64(7, other, 4), "hash/hash64_differs_by_value");
    ok(hn_hash64(7, x, 4) != hn_hash64(8, x, 4) && hn_hash64(7, x, 3) != hn_hash64(7, x, 4), "hash/hash64_seed_length");
    ok(hn_hash64(7, NULL, 0) == 7, "hash/hash64_of_nothing_is_the_seed");
}

int main(void) {
    test_blake2b();
    test_framing();
    test_file();
    test_hash64();
    return done_testing();
}
