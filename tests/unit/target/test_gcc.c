/* The installed gcc: what it offers compiles, and under the strict contract changes no result. The cache is
 * shared with other tests, so that a compiler is probed once; not in the long run. */
#include "compiler.h"

int main(void) {
    const char *cache = getenv("HONE_LONG") ? NULL : getenv("HONE_CACHE");
    return test_compiler(&in_c, "gcc", cache, 300, 600, 350, "--param=max-unroll-times");
}
