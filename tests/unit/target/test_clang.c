/* The installed clang-19: what it offers compiles, and under the strict contract changes no result. */
#include "compiler.h"

int main(void) { return test_compiler(&in_c, "clang-19", NULL, 150, 300, 1000, "-mllvm=inline-threshold"); }
