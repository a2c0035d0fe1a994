/* backend/cpu/dialects.c — the instruction sets as targets: device/isa.def, and for each which flags the C compiler
 * gets. Nothing keys on a processor's name.
 *
 * All: signed integers wrap, as those of the IR; the compiler fuses no multiplication with an addition (where a fused
 * one is wanted the text has it), but in relaxed mode; mathematical functions do not set errno.
 */
#include "backend/cpu/cpu.h"

#define COMMON                                                                                                         \
    "-fwrapv", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fno-strict-aliasing", "-Wno-psabi"

#define FUSED "-ffp-contract=fast"

extern const hn_backend hn_backend_cpu;

static const char *const flags_GENERIC[] = {COMMON, NULL};
static const char *const flags_V3[] = {COMMON, "-march=x86-64-v3", NULL};
static const char *const flags_V4[] = {COMMON, "-march=x86-64-v4", "-mprefer-vector-width=512", NULL};
static const char *const flags_V4_VNNI[] = {COMMON, "-march=x86-64-v4", "-mavx512vnni", "-mprefer-vector-width=512",
                                            NULL};
static const char *const flags_V4_BF16[] = {COMMON,         "-march=x86-64-v4",          "-mavx512vnni",
                                            "-mavx512bf16", "-mprefer-vector-width=512", NULL};
static const char *const flags_AARCH64[] = {COMMON, "-march=armv8-a", NULL};

/* Does the processor offer what flags of a rank let the compiler use? C, of device/cpu.def: the features up to the
 * rank. */
#define NO(flag)
#define CPU(flag) " && __builtin_cpu_supports(\"" flag "\")"
#define NEW(flag) "\n#if !defined(__clang__) || __clang_major__ >= 18\n" CPU(flag) "\n#endif\n"
#define HN_CPU(rank, asked, linux, flag) UP_TO_##rank(asked(flag))
#define UP_TO_0(x)
#define UP_TO_1(x) x
#define UP_TO_2(x) x
#define UP_TO_3(x) x
#define UP_TO_4(x)
#define UP_TO_5(x)
#define UP_TO_6(x)
static const char offered_V3[] = "1"
#include "device/cpu.def"
    ;
#undef UP_TO_4
#define UP_TO_4(x) x
static const char offered_V4[] = "1"
#include "device/cpu.def"
    ;
#undef UP_TO_5
#define UP_TO_5(x) x
static const char offered_V4_VNNI[] = "1"
#include "device/cpu.def"
    ;
#undef UP_TO_6
#define UP_TO_6(x) x
static const char offered_V4_BF16[] = "1"
#include "device/cpu.def"
    ;
static const char offered_GENERIC[] = "1";
static const char offered_AARCH64[] = "(getauxval(AT_HWCAP) & HWCAP_ASIMD) != 0";

/* Columns of a family: its machine code, and how other machines compile and run it. */
#define ANY NULL, NULL, NULL
#define X86 "x86-64", NULL, NULL
#define ARM "aarch64", "aarch64-linux-gnu-gcc", "qemu-aarch64"
#define FAMILY(processor_, compiler_, emulator_) .processor = processor_, .compiler = compiler_, .emulator = emulator_
#define EXPANDED(...) FAMILY(__VA_ARGS__)
static const hn_dialect rows[] = {
#define HN_ISA(family, id, name_, rank_, vector, registers, fma_, bytes_, pairs_, text)                                \
    {.backend = &hn_backend_cpu,                                                                                       \
     .name = name_,                                                                                                    \
     .summary = text,                                                                                                  \
     .vector_b = vector,                                                                                               \
     .n_registers = registers,                                                                                         \
     .fma = fma_,                                                                                                      \
     .bytes = bytes_,                                                                                                  \
     .pairs = pairs_,                                                                                                  \
     .flags = flags_##id,                                                                                              \
     .relaxed_flag = FUSED,                                                                                            \
     .rank = rank_,                                                                                                    \
     .offered = offered_##id,                                                                                          \
     EXPANDED(family)},
#include "device/isa.def"
};
static const hn_dialect scalar_row = {.backend = &hn_backend_cpu,
                                      .name = "scalar",
                                      .summary = "C without vectors, for any compiler",
                                      .flags = flags_GENERIC,
                                      .relaxed_flag = FUSED,
                                      .rank = -1,
                                      .offered = "1"};

#undef HN_ISA
enum {
#define HN_ISA(family, id, ...) AT_##id,
#include "device/isa.def"
};
#undef HN_ISA
const hn_dialect *const hn_cpu_dialects[] = {
#define HN_ISA(family, id, ...) &rows[AT_##id],
#include "device/isa.def"
    &scalar_row, NULL};
