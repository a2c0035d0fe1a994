/* compile/winner.h — what tuning found, taken by a compilation.   Threads: one at a time. */
#ifndef HN_WINNER_H
#define HN_WINNER_H

#include "artifact/artifact.h"

hone_rc hn_winners_begin(hn_model *m, hone_err *err);
void hn_winners_end(hn_model *m);
/* Replaces k's code, which is the default, where there is a winner for it. */
void hn_winner_apply(hn_model *m, hn_kernel *k);
/* The parts of the key that all kernels share; E_TOOL: the compiler is not known. */
hone_rc hn_winner_key_begin(hn_model *m, hone_err *err);
/* Texts in m->arena; value: of all symbols. False: no memory. */
bool hn_winner_key(hn_model *m, const hn_kernel *k, const int64_t *value, uint32_t n_threads, hone_winner *out);
/* The winner that serves this kernel at these sizes: of as many threads as the model is to run on, else of one, else
 * the newest. E_NOTFOUND. */
hone_rc hn_winner_find(hn_model *m, const hn_kernel *k, const int64_t *value, hone_winner *out, hone_err *err);
/* How many of n_threads a call of the kernel can keep busy at these sizes, about. */
uint32_t hn_kernel_threads(const hn_model *m, const hn_kernel *k, const int64_t *value, uint32_t n_threads);
/* options' n_threads, or the processors of the calling thread. */
uint32_t hn_threads_of(const hone_compile_options *o);
void hn_usual_sizes(const hn_model *m, int64_t *value);
/* Which processor. */
const char *hn_device_text(hn_arena *a);
/* The hash of a kernel's C text without its name, and of what compiles it. */
void hn_code_hash(const hn_kernel_code *code, const char *name, const char *cc, const char *flags, char hex[33]);
bool hn_flags_known(const char *family, const char *flags);

#endif
