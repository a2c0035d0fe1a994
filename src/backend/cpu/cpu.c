/* backend/cpu/cpu.c — the row of the CPU backend. */
#include "backend/cpu/cpu.h"
#include "sketch/constants.h"

#include <string.h>

/* Are a device's figures those of a dialect's code? Of its own, and of those that lack single instructions. */
static bool fits_device(const hn_dialect *d, const hone_device *device) {
    const hn_dialect *own = hn_dialect_named(device->isa);
    if (own == d) return true;
    return own && own->processor && d->processor && !strcmp(own->processor, d->processor) &&
           own->vector_b == d->vector_b;
}

bool hn_cpu_pairs_pay(const hone_device *d, bool amd) {
    if (d->bf16_flops <= 0 || d->f32_flops <= 0) return amd ? HN_PAIRS_OF_AMD : HN_PAIRS_OF_OTHERS;
    return d->bf16_flops >= HN_PAIRS_GAIN * d->f32_flops;
}

static bool made_by_amd(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    return __builtin_cpu_is("amd") != 0;
#else
    return false;
#endif
}

static hn_machine machine(const hn_dialect *d, const hone_device *device) {
    bool same = fits_device(d, device);
    hn_machine m = {.vector_b = d->vector_b, .registers = d->n_registers, .cores = device->n_cores};
    m.line_b = same && device->line_b ? (int64_t)device->line_b : 64;
    m.l1d_b = same && device->l1d_b ? (int64_t)device->l1d_b : 32 << 10;
    m.l1d_ways = same && device->l1d_ways ? (int64_t)device->l1d_ways : 8;
    m.l2_b = same && device->l2_b ? (int64_t)device->l2_b : 512 << 10;
    m.l3_b = same && device->l3_b ? (int64_t)device->l3_b : 8 << 20;
    m.f32_flops = same ? device->f32_flops : 0;
    m.l2_bps = same ? device->l2_bps : 0;
    m.l3_bps = same ? device->l3_bps : 0;
    m.memory_bps = same ? device->memory_bps : 0;
    m.fma = d->fma;
    m.pairs = d->pairs && same && hn_cpu_pairs_pay(device, made_by_amd());
    return m;
}

const hn_backend hn_backend_cpu = {
    .version = HN_BACKEND_VERSION,
    .name = "cpu",
    .summary = "C for one core's vector registers; work items go to threads",
    .dialects = hn_cpu_dialects,
    .loops = HN_BIT(HN_SERIAL) | HN_BIT(HN_PARALLEL) | HN_BIT(HN_VECTOR) | HN_BIT(HN_UNROLL),
    .spaces = HN_BIT(HN_PARAM) | HN_BIT(HN_RESULT) | HN_BIT(HN_LOCAL) | HN_BIT(HN_REG) | HN_BIT(HN_WORDS),
    .sketches = hn_sketches,
    .sum_block = HN_SUM_BLOCK,
    .print = hn_cpu_print,
    .whole = hn_cpu_whole,
    .whole_fit = hn_cpu_whole_fit,
    .reference = hn_cpu_reference,
    .add_runtime = hn_cpu_add_runtime,
    .here = &hn_place_here,
    .emulated = &hn_place_emulated,
    .machine = machine,
};
