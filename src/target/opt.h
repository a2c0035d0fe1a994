/* target/opt.h — LLVM's passes run by `opt` in a compilation's middle: whether it is here, its pipeline of -O3 as text,
 * and a compilation in three stages: clang makes bitcode without passes, opt runs an edited pipeline, clang makes code.
 *
 * The pipeline is what opt prints for default<O3>. Parameters that opt does not print are lost in it, so an unedited
 * pipeline is a candidate like any other and not what clang does itself. Numbers of passes mean something in one
 * pipeline alone, which its hash names.
 * Owns: texts, in the arena given.   Errors: E_INPUT (no such edit), E_UNSUPPORTED (words that passes of opt's own
 * cannot serve), E_NOMEM.
 */
#ifndef HN_OPT_H
#define HN_OPT_H

#include "target/family.h"
#include "target/pipeline.h"

typedef struct hn_opt {
    const char *path, *command;   /* as people call it: "opt-19", else its path */
    const char *version, *hash;   /* "19.1.7", the compiler's too; of the file */
    const char *text, *text_hash; /* of the pipeline */
    hn_pipeline pipeline;
} hn_opt;

/* Of the same LLVM as this compiler (a command or a path); *why says what is missing or what differs. What was found is
 * remembered until one of the files changes that it was asked of (opt_kept.c). */
bool hn_opt_find(hn_arena *a, const char *compiler, hn_opt *out, const char **why);

/* Where opt is looked for, in this order: the i-th name or path; NULL: none. */
enum { HN_OPT_CANDIDATES = 3 };
const char *hn_opt_candidate(hn_arena *a, const char *compiler_path, const char *version, int i);
/* Takes what opt printed as its pipeline, in `a`; false: it is none. */
bool hn_opt_take(hn_arena *a, hn_opt *opt, const char *text);

/* opt_kept.c: what was found for the compiler with this path, while all files are as they were; false: nothing. */
bool hn_opt_recall(hn_arena *a, const char *compiler_path, hn_opt *out);
void hn_opt_remember(hn_arena *a, const char *compiler_path, const hn_opt *opt);

/* The pipeline's text with edits, in `a`. */
hone_rc hn_opt_pipeline(const hn_opt *opt, const char *edits, hn_arena *a, const char **text, hone_err *err);

/* A compilation without -c, -o and its source. */
typedef struct hn_opt_call {
    const char *cc;
    const char *const *word;
    size_t n;
    const char *source, *output; /* output.bc, output.opt.part and output.opt.bc lie beside it for a while */
    bool has_bitcode;            /* output.bc is there: it follows from the source and the words alone */
    bool keeps_bitcode;          /* output.bc is left there */
    bool tells;                  /* what fails calls HN_OPT_FAILED, which does not come back */
} hn_opt_call;

/* A function of the shell: exit status, number of the stage, what failed, the command that repeats it. */
#define HN_OPT_FAILED "hone_failed"

/* In which stage a compilation in `dir` is, or stopped, by what lies there: for people. */
const char *hn_opt_stage(const char *dir, const char *output);

/* Why the words cannot be served: they ask for something that clang adds to its own pipeline, or for another output.
 * NULL: they can. */
const char *hn_opt_declines(hn_arena *a, const char *const *word, size_t n);
/* The three stages, as a command for sh; pipeline: a text of opt's. */
void hn_opt_compile(hn_str *shell, const hn_opt *opt, const hn_opt_call *call, const char *pipeline);

/* Does this call of the compiler (its name first) compile a file? */
bool hn_opt_compiles(const char *const *word, size_t n);
/* Such a call in stages, as a command for sh: one file with -c, or files that are compiled and linked. E_UNSUPPORTED:
 * it cannot be made so. */
hone_rc hn_opt_stages(const hn_opt *opt, const char *pipeline, const char *const *word, size_t n, hn_arena *a,
                      hn_str *out, hone_err *err);

#endif
