/* emit/dialects.c — one row per instruction set. A row says which vectors the emitter writes and which flags the C
 * compiler gets; nothing keys on a processor's name.
 *
 * All rows: signed arithmetic wraps (the IR's integers do), no multiply and add is contracted on the compiler's own
 * account (one rounding per operation; where a fused one is wanted the text says so), errno is nobody's business.
 */
#include "emit/emit.h"

#include <hone/device.h>

#include <string.h>

#define COMMON                                                                                                         \
    "-fwrapv", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fno-strict-aliasing", "-Wno-psabi"

static const char *const plain[] = {COMMON, NULL};
static const char *const v3[] = {COMMON, "-march=x86-64-v3", NULL};
static const char *const v4[] = {COMMON, "-march=x86-64-v4", "-mprefer-vector-width=512", NULL};
static const char *const arm[] = {COMMON, "-march=armv8-a", NULL};

static const hn_dialect scalar_row = {"scalar", "C without vectors, for any compiler", 0, 0, false, plain};
static const hn_dialect generic_row = {"generic", "vectors of 16 bytes, no instruction set assumed", 16, 16, false,
                                       plain};
static const hn_dialect v3_row = {"x86-64-v3", "AVX2 and FMA", 32, 16, true, v3};
static const hn_dialect v4_row = {"x86-64-v4", "AVX-512 (F, BW, CD, DQ, VL)", 64, 32, true, v4};
static const hn_dialect arm_row = {"aarch64", "Armv8 with Advanced SIMD", 16, 32, true, arm};

const hn_dialect *const hn_dialects[] = {&generic_row, &v3_row, &v4_row, &arm_row, &scalar_row, NULL};

const hn_dialect *hn_dialect_named(const char *name) {
    hone_device here;
    if (!name || !strcmp(name, "native")) {
        hone_device_detect(&here);
        name = here.isa;
    }
    for (size_t i = 0; hn_dialects[i]; i++)
        if (!strcmp(hn_dialects[i]->name, name)) return hn_dialects[i];
    return NULL;
}
