/* The installed clang-19: what it offers compiles, and under the strict contract changes no result. The cache is
 * shared with other tests, so that a compiler is probed once; not in the long run. */
#include "compiler.h"

int main(void) {
    const char *cache = getenv("HONE_LONG") ? NULL : getenv("HONE_CACHE");
    return test_compiler(&in_c, "clang-19", cache, 150, 300, 1000, "-mllvm=inline-threshold");
}
