/* The installed gcc: what it offers compiles, and under the strict contract changes no result. */
#include "compiler.h"

int main(void) { return test_compiler(&in_c, "gcc", NULL, 300, 600, 350, "--param=max-unroll-times"); }
