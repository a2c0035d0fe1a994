/* Loop nests as text: whatever is read verifies, prints, and what was printed reads and prints the same. Where barriers
 * can be placed, none is missing then. */
#include "base/str.h"
#include "nest/barrier.h"
#include "nest/schedule.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);

static char *printed(const char *text) {
    hn_arena a = {0};
    hn_dims *dims = hn_dims_new(&a);
    hn_nest *nest;
    hone_err err;
    hn_str out = {0};
    char *got = NULL;
    if (dims && hn_nest_parse(text, &a, dims, &nest, &err) == HONE_OK) {
        hn_nest_print(nest, &out);
        got = hn_str_take(&out);
        if (!hn_nest_barriers(nest, &err) && hn_arena_ok(&a) && hn_nest_verify_device(nest, NULL, &err)) abort();
    }
    hn_arena_free(&a);
    return got;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n) {
    char *text = malloc(n + 1);
    if (!text) return 0;
    memcpy(text, data, n);
    text[n] = 0;
    char *once = printed(text), *twice = once ? printed(once) : NULL;
    if (once && twice && strcmp(once, twice) != 0) abort();
    free(text);
    free(once);
    free(twice);
    return 0;
}
