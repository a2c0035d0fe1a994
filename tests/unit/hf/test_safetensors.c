/* Files that are whole, and files that are not: each fault is an error that names the tensor. */
#include "hf/safetensors.h"
#include "tap.h"

#include <stdlib.h>

/* A file with this header and so many bytes of data, in memory of exactly its size. */
static uint8_t *file_of(const char *header, size_t n_data, size_t *n) {
    size_t h = strlen(header);
    uint8_t *at = malloc(8 + h + n_data + 1);
    if (!at) abort();
    for (size_t i = 0; i < 8; i++) at[i] = (uint8_t)(h >> 8 * i);
    memcpy(at + 8, header, h);
    for (size_t i = 0; i < n_data; i++) at[8 + h + i] = (uint8_t)i;
    *n = 8 + h + n_data;
    return at;
}

static void fails(const char *name, const char *header, size_t n_data, hone_rc rc, const char *part) {
    size_t n;
    uint8_t *at = file_of(header, n_data, &n);
    hn_safetensors *s = NULL;
    hone_err err = {0};
    hone_rc got = hn_safetensors_open_memory(at, n, &s, &err);
    if (!ok(got == rc && !s && strstr(err.text, part), "safetensors/%s", name))
        printf("#   got %d: %s\n", got, err.text);
    hn_safetensors_close(s);
    free(at);
}

#define A "\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]}"
#define B(FROM, TO) "\"b\":{\"dtype\":\"I8\",\"shape\":[4],\"data_offsets\":[" #FROM "," #TO "]}"

static void test_whole(void) {
    static const char header[] = "{\"__metadata__\":{\"format\":\"pt\"}," B(24, 28) "," A "}   ";
    size_t n;
    uint8_t *at = file_of(header, 28, &n);
    hn_safetensors *s = NULL;
    hone_err err = {0};
    ok(hn_safetensors_sniff(at, n) && !hn_safetensors_sniff("GGUFGGUF{}", 10), "safetensors/is_known_by_its_beginning");
    ok(!hn_safetensors_open_memory(at, n, &s, &err) && hn_safetensors_count(s) == 2, "safetensors/opens");
    const hn_st_tensor *a = hn_safetensors_named(s, "a"), *b = hn_safetensors_named(s, "b");
    ok(a && a->rank == 2 && a->dim[0] == 2 && a->dim[1] == 3 && a->n_elements == 6 && a->size_b == 24 &&
           a->data[5] == 5,
       "safetensors/a_tensor");
    ok(b && !strcmp(b->type, "I8") && b->data[0] == 24 && !hn_safetensors_named(s, "c"), "safetensors/another");
    ok(hn_safetensors_size_b(s) == n && !hn_safetensors_at(s, 2), "safetensors/sizes");
    hn_safetensors_close(s);
    free(at);
}

static void test_faults(void) {
    uint8_t big[16] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, '{', '}'};
    hn_safetensors *s = NULL;
    hone_err err = {0};
    ok(hn_safetensors_open_memory(big, sizeof big, &s, &err) == HONE_E_LIMIT, "safetensors/a_header_beyond_the_cap");
    big[7] = big[6] = big[5] = big[4] = big[3] = 0;
    ok(hn_safetensors_open_memory(big, sizeof big, &s, &err) == HONE_E_INPUT && strstr(err.text, "cut short"),
       "safetensors/a_header_beyond_the_file");
    ok(hn_safetensors_open_memory(big, 7, &s, &err) == HONE_E_INPUT, "safetensors/seven_bytes");
    fails("no_json", "{\"a\":", 0, HONE_E_INPUT, "damaged");
    fails("no_object", "[]", 0, HONE_E_INPUT, "no JSON object");
    fails("a_name_twice", "{" A "," A "}", 24, HONE_E_INPUT, "duplicate");
    fails("no_tensor", "{\"a\":7}", 0, HONE_E_INPUT, "'a'");
    fails("no_type", "{\"a\":{\"shape\":[1],\"data_offsets\":[0,1]}}", 1, HONE_E_INPUT, "dtype");
    fails("an_unknown_type", "{\"a\":{\"dtype\":\"Q9\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1, HONE_E_UNSUPPORTED,
          "Q9");
    fails("no_shape", "{\"a\":{\"dtype\":\"I8\",\"data_offsets\":[0,1]}}", 1, HONE_E_INPUT, "shape");
    fails("a_negative_extent", "{\"a\":{\"dtype\":\"I8\",\"shape\":[-1],\"data_offsets\":[0,1]}}", 1, HONE_E_INPUT,
          "extent");
    fails("extents_that_overflow",
          "{\"a\":{\"dtype\":\"I8\",\"shape\":[9007199254740993,9007199254740993],\"data_offsets\":[0,1]}}", 1,
          HONE_E_INPUT, "too large");
    fails("nine_dimensions", "{\"a\":{\"dtype\":\"I8\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,1]}}", 1,
          HONE_E_UNSUPPORTED, "9 dimensions");
    fails("offsets_turned_round", "{\"a\":{\"dtype\":\"I8\",\"shape\":[1],\"data_offsets\":[1,0]}}", 1, HONE_E_INPUT,
          "data_offsets");
    fails("another_length", "{" B(0, 3) "}", 3, HONE_E_INPUT, "has 3 bytes, but its type and shape ask for 4");
    fails("beyond_the_file", "{" A "}", 20, HONE_E_INPUT, "only 20");
    fails("bytes_in_common", "{" A "," B(20, 24) "}", 24, HONE_E_INPUT, "share bytes");
    fails("a_hole", "{" A "," B(26, 30) "}", 30, HONE_E_INPUT, "belong to no tensor");
    fails("bytes_behind", "{" A "}", 25, HONE_E_INPUT, "last 1 bytes");
}

int main(void) {
    test_whole();
    test_faults();
    return done_testing();
}
