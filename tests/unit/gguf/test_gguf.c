/* Files that are whole, and files that are not: each fault is an error that names it. */
#include "gguf/gguf.h"
#include "gguf_bytes.h"
#include "tap.h"

#include <hone/base.h>
#include <stdlib.h>

/* Two tensors, two keys; what `fault` says is planted. */
enum fault {
    NONE,
    MAGIC,
    VERSION_1,
    BIG_ENDIAN_FILE,
    COUNT_OF_KEYS,
    KEY_TWICE,
    KEY_NO_TEXT,
    VALUE_TYPE,
    ARRAY_TOO_LONG,
    TENSOR_TWICE,
    RANK,
    EXTENT_0,
    EXTENT_HUGE,
    ROW_NO_BLOCKS,
    TYPE_UNKNOWN,
    UNALIGNED,
    BEYOND,
    OVERLAP,
    ALIGNMENT,
};

static bytes model(enum fault f) {
    bytes b = {.n = 0};
    put_head(&b, f == VERSION_1 ? 1 : f == BIG_ENDIAN_FILE ? 0x03000000 : 3, 2, f == COUNT_OF_KEYS ? 1u << 30 : 3);
    if (f == MAGIC) b.b[0] = 'X';
    put_string(&b, f == KEY_NO_TEXT ? "general\xff" : "general.architecture", "llama");
    put_u32(&b,
            f == KEY_TWICE   ? "general.architecture"
            : f == ALIGNMENT ? "general.alignment"
                             : "llama.block_count",
            7);
    put_text(&b, "list");
    put(&b, f == VALUE_TYPE ? 13 : 9, 4);
    put(&b, 5, 4);
    put(&b, f == ARRAY_TOO_LONG ? UINT64_MAX / 2 : 2, 8);
    put(&b, 1, 4);
    put(&b, (uint64_t)-2, 4);
    size_t at = b.n;
    put_tensor(&b, "a",
               f == EXTENT_0      ? 0
               : f == EXTENT_HUGE ? UINT64_MAX
                                  : 2,
               f == ROW_NO_BLOCKS ? 33 : 32, f == TYPE_UNKNOWN ? 999 : 8, 0);
    if (f == RANK) b.b[at + 9] = 5;
    put_tensor(&b, f == TENSOR_TWICE ? "a" : "b", 1, 8, 0,
               f == UNALIGNED ? 97
               : f == OVERLAP ? 64
               : f == BEYOND  ? 128
                              : 96);
    put_data(&b, 68 + 28 + 32);
    return b;
}

static bool opens(const bytes *b, hone_err *err) {
    hn_gguf *g = NULL;
    hone_rc rc = hn_gguf_open_memory(b->b, b->n, &g, err);
    hn_gguf_close(g);
    return rc == HONE_OK;
}

static void whole(void) {
    bytes b = model(NONE);
    hn_gguf *g = NULL;
    hone_err err = {0};
    uint64_t n = 0;
    int64_t second = 0;
    double x;
    hn_gguf_text t = {0};
    ok(!hn_gguf_open_memory(b.b, b.n, &g, &err), "gguf/opens %s", err.text);
    ok(hn_gguf_u64(hn_gguf_find(g, "llama.block_count"), &n) && n == 7, "gguf/a_number");
    ok(hn_gguf_string(hn_gguf_find(g, "general.architecture"), &t) && t.n == 5 && !memcmp(t.text, "llama", 5),
       "gguf/a_text");
    ok(hn_gguf_item_i64(hn_gguf_find(g, "list"), 1, &second) && second == -2, "gguf/an_item");
    ok(!hn_gguf_item_f64(hn_gguf_find(g, "list"), 2, &x), "gguf/no_item_past_the_end");
    ok(!hn_gguf_find(g, "absent") && !hn_gguf_u64(hn_gguf_find(g, "absent"), &n), "gguf/an_absent_key");
    const hn_gguf_tensor *a = hn_gguf_tensor_named(g, "a"), *c = hn_gguf_tensor_named(g, "b");
    ok(a && a->dim[0] == 2 && a->dim[1] == 32 && a->size_b == 68 && c && c->data == a->data + 96, "gguf/tensors");
    hn_gguf_close(g);
}

static void cut_short(void) {
    bytes b = model(NONE);
    size_t n = b.n, refused = 0;
    hone_err err = {0};
    for (b.n = 0; b.n < n - 32; b.n++) refused += !opens(&b, &err) && err.text[0];
    ok(refused == n - 32, "gguf/every_shorter_file_is_refused: %zu of %zu", refused, n - 32);
}

int main(void) {
    static const struct {
        enum fault fault;
        const char *says;
    } cases[] = {
        {MAGIC, "does not begin with GGUF"},
        {VERSION_1, "version 1"},
        {BIG_ENDIAN_FILE, "little-endian"},
        {COUNT_OF_KEYS, "more keys"},
        {KEY_TWICE, "second key 'general.architecture'"},
        {KEY_NO_TEXT, "no text"},
        {VALUE_TYPE, "unknown type of value for key 'list'"},
        {ARRAY_TOO_LONG, "longer than the file"},
        {TENSOR_TWICE, "second tensor 'a'"},
        {RANK, "four dimensions"},
        {EXTENT_0, "extent of 0"},
        {EXTENT_HUGE, "tensor 'a'"},
        {ROW_NO_BLOCKS, "whole blocks"},
        {TYPE_UNKNOWN, "element type 999"},
        {UNALIGNED, "not aligned"},
        {BEYOND, "cut short"},
        {OVERLAP, "share bytes"},
        {ALIGNMENT, "power of two"},
    };
    whole();
    cut_short();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bytes b = model(cases[i].fault);
        hone_err err = {0};
        ok(!opens(&b, &err) && strstr(err.text, cases[i].says), "gguf/fault_%d: %s", (int)cases[i].fault, err.text);
    }
    return done_testing();
}
