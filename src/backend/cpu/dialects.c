/* backend/cpu/dialects.c — one row per instruction set. A row says which vectors the emitter writes and which flags the
 * C compiler gets; nothing keys on a processor's name.
 *
 * All rows: signed integers wrap, as those of the IR; the compiler fuses no multiplication with an addition (where a
 * fused one is wanted the text has it), but in relaxed mode; mathematical functions do not set errno.
 */
#include "backend/cpu/cpu.h"

#define COMMON                                                                                                         \
    "-fwrapv", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fno-strict-aliasing", "-Wno-psabi"

extern const hn_backend hn_backend_cpu;

#define FUSED "-ffp-contract=fast"

static const char *const plain[] = {COMMON, NULL};
static const char *const v3[] = {COMMON, "-march=x86-64-v3", NULL};
static const char *const v4[] = {COMMON, "-march=x86-64-v4", "-mprefer-vector-width=512", NULL};
static const char *const v4_vnni[] = {COMMON, "-march=x86-64-v4", "-mavx512vnni", "-mprefer-vector-width=512", NULL};
static const char *const arm[] = {COMMON, "-march=armv8-a", NULL};

#define X86_V3                                                                                                         \
    "__builtin_cpu_supports(\"avx2\") && __builtin_cpu_supports(\"fma\") && __builtin_cpu_supports(\"bmi\") && "       \
    "__builtin_cpu_supports(\"bmi2\")"
#define X86_V4                                                                                                         \
    X86_V3 " && __builtin_cpu_supports(\"avx512f\") && __builtin_cpu_supports(\"avx512bw\") && "                       \
           "__builtin_cpu_supports(\"avx512cd\") && __builtin_cpu_supports(\"avx512dq\") && "                          \
           "__builtin_cpu_supports(\"avx512vl\")"

static const hn_dialect scalar_row = {.backend = &hn_backend_cpu,
                                      .name = "scalar",
                                      .summary = "C without vectors, for any compiler",
                                      .flags = plain,
                                      .relaxed_flag = FUSED,
                                      .rank = -1,
                                      .offered = "1"};
static const hn_dialect generic_row = {.backend = &hn_backend_cpu,
                                       .name = "generic",
                                       .summary = "vectors of 16 bytes, no instruction set assumed",
                                       .vector_b = 16,
                                       .n_registers = 16,
                                       .flags = plain,
                                       .relaxed_flag = FUSED,
                                       .offered = "1"};
static const hn_dialect v3_row = {.backend = &hn_backend_cpu,
                                  .name = "x86-64-v3",
                                  .summary = "AVX2 and FMA",
                                  .vector_b = 32,
                                  .n_registers = 16,
                                  .fma = true,
                                  .flags = v3,
                                  .relaxed_flag = FUSED,
                                  .processor = "x86-64",
                                  .rank = 3,
                                  .offered = X86_V3};
static const hn_dialect v4_row = {.backend = &hn_backend_cpu,
                                  .name = "x86-64-v4",
                                  .summary = "AVX-512 (F, BW, CD, DQ, VL)",
                                  .vector_b = 64,
                                  .n_registers = 32,
                                  .fma = true,
                                  .flags = v4,
                                  .relaxed_flag = FUSED,
                                  .processor = "x86-64",
                                  .rank = 4,
                                  .offered = X86_V4};
static const hn_dialect v4_vnni_row = {.backend = &hn_backend_cpu,
                                       .name = "x86-64-v4-vnni",
                                       .summary = "AVX-512 with products of bytes (VNNI)",
                                       .vector_b = 64,
                                       .n_registers = 32,
                                       .fma = true,
                                       .bytes = true,
                                       .flags = v4_vnni,
                                       .relaxed_flag = FUSED,
                                       .processor = "x86-64",
                                       .rank = 5,
                                       .offered = X86_V4 " && __builtin_cpu_supports(\"avx512vnni\")"};
static const hn_dialect arm_row = {.backend = &hn_backend_cpu,
                                   .name = "aarch64",
                                   .summary = "Armv8 with Advanced SIMD",
                                   .vector_b = 16,
                                   .n_registers = 32,
                                   .fma = true,
                                   .flags = arm,
                                   .relaxed_flag = FUSED,
                                   .processor = "aarch64",
                                   .rank = 1,
                                   .offered = "(getauxval(AT_HWCAP) & HWCAP_ASIMD) != 0",
                                   .compiler = "aarch64-linux-gnu-gcc",
                                   .emulator = "qemu-aarch64"};

const hn_dialect *const hn_cpu_dialects[] = {&generic_row, &v3_row, &v4_row, &v4_vnni_row, &arm_row, &scalar_row, NULL};
