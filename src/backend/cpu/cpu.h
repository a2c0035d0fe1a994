/* backend/cpu/cpu.h — the CPU backend, whose targets are instruction sets: kernels as C with GNU vector types.
 *
 * kernel.c and nest_c*.c print nests, reference*.c bodies node by node, runtime.c carries the C text that both call
 * (rt/). Private to the folder.
 */
#ifndef HN_CPU_H
#define HN_CPU_H

#include "backend/backend.h"

/* The head of a kernel's definition (backend/backend.h), for one name. */
#define HN_KERNEL_HEAD                                                                                                 \
    "static void %s(void *const *buf, const int64_t *s, int64_t begin, int64_t end, char *scratch) {\n"

extern const hn_dialect *const hn_cpu_dialects[]; /* dialects.c */

/* Are products of pairs of bf16 faster by the instruction than by f32 multiply-adds? By the rates of the device's
 * table; where they were not measured, by who made the processor. */
bool hn_cpu_pairs_pay(const hone_device *d, bool amd);

/* The functions of hn_backend. */
hone_rc hn_cpu_print(hn_nest *n, const char *name, const hn_emit_how *how, hn_kernel_code *out, hone_err *err);
hone_rc hn_cpu_reference(hn_graph *g, hn_block body, const char *name, hn_arena *a, hn_kernel_code *out, hone_err *err);
hone_rc hn_cpu_whole(hn_graph *g, hn_block body, const char *name, const hn_emit_how *how, hn_arena *a,
                     hn_kernel_code *out, hone_err *err);
bool hn_cpu_whole_fit(const hn_graph *g, hn_block body, const hn_machine *m, hn_sketch_fit *out);
bool hn_cpu_add_runtime(hn_str *out, const char *names);

/* packed.c and reference_attend.c: kernels of whole.c. */
bool hn_cpu_is_packed(const hn_graph *g, hn_block body);
hone_rc hn_cpu_packed(hn_graph *g, hn_block body, const char *name, hn_arena *a, hn_kernel_code *out, hone_err *err);
void hn_cpu_attend_knobs(hn_knobs *out);
hone_rc hn_cpu_attend(hn_graph *g, hn_block body, const char *name, const int64_t *setting, hn_arena *a,
                      hn_kernel_code *out, hone_err *err);

/* winograd.c: likewise. *first: it is expected to be the fastest. `setting` of the knobs that fit gives; the body fits.
 */
bool hn_cpu_winograd_fit(const hn_graph *g, hn_block body, const hn_machine *m, hn_knobs *out, bool *first);
hone_rc hn_cpu_winograd(hn_graph *g, hn_block body, const char *name, const int64_t *setting, hn_arena *a,
                        hn_kernel_code *out, hone_err *err);

/* Text of the runtime (rt/NAME.h), carried in the library; NULL when there is no such part. */
const char *hn_runtime_text(const char *name);

/* For tests of parity alone: the same text with one arithmetic operation of the function's body turned into another (an
 * addition into a subtraction, a product into a sum, an accumulation dropped …), so that it computes something else.
 * `which` counts the operations that can be turned; NULL past the last. In the arena. */
const char *hn_emit_fault(const char *text, const char *name, unsigned which, hn_arena *a);

#endif
