/* target/sass.c — machine code for NVIDIA's devices as `cuobjdump -sass` lists it: a line "Function : NAME", then an
 * instruction a line, between its address and its bytes in comments. */
#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"
#include "target/nvidia.h"

#include <stdlib.h>
#include <string.h>

typedef struct reader {
    hn_arena *a;
    hn_function *f;
    size_t n, room;
    hn_str listing;
    hn_hash hash;
    bool failed;
} reader;

static void close_function(reader *r) {
    if (!r->n) return;
    hn_function *f = &r->f[r->n - 1];
    hn_hash_end(&r->hash, f->shape);
    f->listing = hn_strdup(r->a, r->listing.text ? r->listing.text : "");
    f->count[HN_CODE_BYTES] = 16 * f->count[HN_CODE_INSTRUCTIONS];
    r->failed |= r->listing.failed;
    hn_str_free(&r->listing);
}

static void open_function(reader *r, const char *name, size_t n) {
    close_function(r);
    if (r->n == r->room) {
        size_t room = r->room ? 2 * r->room : 8;
        hn_function *f = HN_NEW_N(r->a, hn_function, room);
        if (!f) return;
        if (r->n) memcpy(f, r->f, r->n * sizeof *f);
        r->f = f;
        r->room = room;
    }
    r->f[r->n] = (hn_function){.name = hn_strndup(r->a, name, n), .start = r->n};
    hn_hash_begin(&r->hash);
    r->n++;
}

/* What stands between the address in a comment and the semicolon. */
static void add_instruction(reader *r, const char *line, size_t n) {
    const char *at = memmem(line, n, "*/", 2), *end = memchr(line, ';', n);
    if (!r->n || !at || !end || end < at + 2) return;
    at += 2;
    at += strspn(at, " \t");
    while (end > at && (end[-1] == ' ' || end[-1] == '\t')) end--;
    if (end <= at) return;
    char *text = hn_strndup(r->a, at, (size_t)(end - at));
    if (!text) return;
    hn_str_addf(&r->listing, "%s\n", text);
    hn_hash_text(&r->hash, text);
    r->f[r->n - 1].count[HN_CODE_INSTRUCTIONS]++;
}

static hone_rc read_sass(const char *text, size_t n, hn_arena *a, hn_disassembly *out, hone_err *err) {
    static const char key[] = "Function : ";
    reader r = {.a = a};
    for (size_t at = 0; at < n && hn_arena_ok(a) && !r.failed;) {
        const char *line = text + at, *nl = memchr(line, '\n', n - at);
        size_t len = nl ? (size_t)(nl - line) : n - at;
        const char *name = memmem(line, len, key, sizeof key - 1);
        size_t blank = strspn(line, " \t");
        if (name)
            open_function(&r, name + sizeof key - 1, len - (size_t)(name + sizeof key - 1 - line));
        else if (len > blank + 2 && !strncmp(line + blank, "/*", 2) && line[blank + 3] != 'x')
            add_instruction(&r, line, len);
        at += len + 1;
    }
    close_function(&r);
    if (r.failed || !hn_arena_ok(a)) return hn_fail(err, HONE_E_NOMEM, "out of memory reading a disassembly");
    *out = (hn_disassembly){r.f, r.n};
    return HONE_OK;
}

static const char *const cuobjdump[] = {"cuobjdump", "-sass", NULL};
const hn_listing hn_listing_sass = {cuobjdump, "nvidia-cuda-cuobjdump of PyPI (tools/cuda-tools.sh)", read_sass};
