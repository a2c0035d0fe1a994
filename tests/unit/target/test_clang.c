/* The installed clang-19: what it offers compiles, and under the strict contract changes no result. */
#include "compiler.h"

int main(void) { return test_compiler("clang-19", 150, 300, 1000, "-mllvm=inline-threshold"); }
