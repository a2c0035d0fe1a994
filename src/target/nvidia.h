/* target/nvidia.h — what NVIDIA's compilers have in common: nvcc, ptxas and NVRTC; clang for CUDA calls ptxas, too.
 *
 * A control is named as the compiler takes it: -dlcm of ptxas itself, -Xptxas=-dlcm of a compiler that passes it on.
 */
#ifndef HN_NVIDIA_H
#define HN_NVIDIA_H

#include "target/target_int.h"

/* Adds the level of optimisation, then the options of nvidia_options.def. `who`: a letter of that table. help, passed:
 * what the compiler, and the ptxas that it calls, print of themselves; NULL: not asked, their rows are left to probing.
 */
void hn_nv_discover(hn_arena *a, hn_controls *out, char who, const char *help, const char *passed, bool all);
/* Class of a control of that compiler. */
hn_rule hn_nv_classify(char who, const char *name);

/* NAME  on: NAME; else NAME=VALUE, and NAMEVALUE for levels: -Xptxas=-O3. */
void hn_nv_spell(hn_flags *f, const hone_target *t, const char *name, const char *value);
/* Long names and values in a word of their own are read as well. level: the gene. */
void hn_nv_read(const char *level, const char *const *word, size_t n, hn_said *out);

/* Of compilers whose level is that of the ptxas that they call. */
void hn_nv_read_passing(const hone_target *t, const char *const *word, size_t n, hn_said *out);

/* The command without its version, among CUDA's tools; malloc'ed. */
char *hn_nv_locate(const char *command);
/* Code for a device depends on no processor. */
hone_rc hn_nv_native(hone_target *t, const char **cpu, const char **features, hone_err *err);
/* The device, its driver and what that supports. */
const char *hn_nv_driver(hn_arena *a);
bool hn_nv_recognise(const char *version, const char *words);
bool hn_nv_is_cubin(const char *path);
hone_fp hn_nv_contract_of(const char *baseline, const char *build);
/* Paths, one a line: those that are installed beside `path`, by names separated by |. */
char *hn_nv_beside(const char *path, const char *names);
const char *hn_nv_source_name(hn_arena *a, const char *symbol);

extern const hn_listing hn_listing_sass;
extern const char *const hn_nv_strict[], *const hn_nv_fast[], *const hn_nv_none[];
extern const char hn_nv_kernel[]; /* CUDA C that needs no header: the program to probe */
extern const char *const hn_nv_levels[], *const hn_nv_seeds[],
                                             *const hn_nv_choices[]; /* of compilers that pass words to ptxas */

/* What nvcc and NVRTC share. */
#define HN_NV_PASSING                                                                                                  \
    .version = 1, .aliases = "", .version_key = "release ", .native = hn_nv_native, .driver = hn_nv_driver,            \
    .level = "-Xptxas=-O", .arch = "-arch", .levels = hn_nv_levels, .seeds = hn_nv_seeds, .choices = hn_nv_choices,    \
    .spell = hn_nv_spell, .read = hn_nv_read_passing, .define = hn_cc_define, .baseline = "-Xptxas=-O3",               \
    .plain = "-Xptxas=-O3", .worst = "-Xptxas=-O0",                                                                    \
    .tunable = "-Xptxas*|--ptxas-options*|-maxrregcount*|--maxrregcount*|-use_fast_math|--use_fast_math|-fmad*|"       \
               "--fmad*|-ftz*|--ftz*|-prec-*|--prec-*|-Ofc*|-jtd*",                                                    \
    .stays = "", .no_program = "-cubin|--cubin|-fatbin|-ptx|-c|-dc",                                                   \
    .contract = {[HONE_FP_STRICT] = hn_nv_strict, [HONE_FP_CONTRACT] = hn_nv_none, [HONE_FP_FAST] = hn_nv_fast},       \
    .contract_of = hn_nv_contract_of, .probe_level = "-arch=sm_80", .listing = &hn_listing_sass,                       \
    .source_name = hn_nv_source_name

#endif
