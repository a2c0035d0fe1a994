/* hone/target.h — compilers as targets: discover their controls, probe them, render a point to a command line.
 *
 * A target is one installed compiler (a family such as "gcc" plus a binary). Its space holds, in this order:
 *     -O            choice   the optimisation level
 *     -march …      choice   architecture, tuning, preferred vector width (what this CPU can run)
 *     lto, pgo      flag     link-time optimisation; profile-guided optimisation (a training run in the build)
 *     -fNAME -mNAME choice   {on, off}, optional: absent leaves it to the level
 *     --param=NAME  int      optional, with the printed range        (clang: -mllvm NAME)
 * each tagged `codegen` (same results), `numeric` (may change floating point; only with options.numeric), `unread`
 * (same results, without what options.unread says that nobody reads) or never offered at all when it changes semantics
 * (`unsafe`).
 *
 * Owns: its strings, until close.   Threads: one at a time.
 * Errors: E_TOOL (missing, unusable, not recognised: the text quotes the compiler), E_IO (cache), E_NOMEM.
 */
#ifndef HONE_TARGET_H
#define HONE_TARGET_H

#include <hone/space.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_target hone_target;

/* Opens a compiler by command name or path ("gcc", "gcc-12", "/opt/llvm/bin/clang"); the family is detected from the
 * binary's output, not from its name. cache_dir holds discovery and probe results keyed by the binary's hash (NULL:
 * $XDG_CACHE_HOME/hone, else ~/.cache/hone). */
HONE_API hone_rc hone_target_open(const char *name, const char *cache_dir, hone_target **out, hone_err *err);
HONE_API void hone_target_close(hone_target *target);

/* What identifies a compiler exactly. Strings belong to the target. */
typedef struct hone_fingerprint {
    const char *family;  /* "gcc", "clang": stored, never renamed */
    const char *command; /* as opened */
    const char *path;    /* resolved binary */
    const char *version; /* first line of --version */
    const char *hash;    /* BLAKE2b-128 of the binaries that generate code (driver, cc1 / LLVM library), 32 hex */
    const char *march;   /* what -march=native resolves to, with its flags' hash, e.g. "icelake-server+3fa1" */
} hone_fingerprint;
HONE_API const hone_fingerprint *hone_target_fingerprint(const hone_target *target);

/* The parts of a fingerprint that identify the compiler, for callers that ask repeatedly: cached until a file that
 * generates code changes (size, time or inode), without running the compiler. */
typedef struct hone_identity {
    char family[16], version[201], hash[33];
} hone_identity;
HONE_API hone_rc hone_target_identity(const char *name, const char *cache_dir, hone_identity *out, hone_err *err);

/* Ordered from strictest to loosest. strict: results as written (-ffp-contract=off); contract: fused
 * multiply-add allowed; fast: reassociation, NaN and signed zeros not preserved (-ffast-math and related flags). */
typedef enum hone_fp { HONE_FP_STRICT, HONE_FP_CONTRACT, HONE_FP_FAST, HONE_N_FP } hone_fp;
HONE_API const char *hone_fp_name(hone_fp fp); /* "strict", "contract", "fast": stored */

/* What mathematical functions and operations leave behind besides their results. */
enum { HONE_UNREAD_ERRNO = 1, HONE_UNREAD_FENV = 2 /* flags, traps and rounding */ };

typedef struct hone_target_options {
    size_t size;            /* hone_target_defaults() sets it */
    bool numeric;           /* offer controls tagged numeric */
    bool all;               /* clang: every discovered control, not the curated set */
    bool no_probe;          /* offer unprobed controls (tests only) */
    bool pgo, lto;          /* offer these genes (the build supports them) */
    hone_progress progress; /* of probing */
    /* Files of controls that a compiler may be told to apply, as the build finds them; only where it takes such files.
     */
    const char *const *files;
    size_t n_files;
    /* What no part of the program reads, HONE_UNREAD_*: controls that leave just that out are offered without
     * `numeric`, tagged `unread`, with the value that leaves it out alone. */
    unsigned unread;
    bool own; /* of a single file, over what the program has: each may be absent, and none is of the whole program */
} hone_target_options;
static inline hone_target_options hone_target_defaults(void) {
    hone_target_options o = HONE_ZERO;
    o.size = sizeof o;
    return o;
}

/* The space of this compiler's controls; discovered and probed on the first call, then read from the cache.
 * *out is sealed; free with hone_space_free. The default point is the plain level -O3 (-O2 when the family calls
 * that the default) with everything else absent. */
HONE_API hone_rc hone_target_space(hone_target *target, const hone_target_options *options, hone_space **out,
                                   hone_err *err);
typedef struct hone_target_stats {
    size_t n_discovered, n_offered, n_unsafe, n_numeric, n_rejected; /* rejected by probing */
    double probe_s;                                                  /* time the probing took (when it took place) */
} hone_target_stats;
HONE_API void hone_target_get_stats(const hone_target *target, hone_target_stats *out);

/* Rule seeds: combinations known to give gains (e.g. -O2 with unrolling, full vector width, clang's vectoriser knobs).
 * *points: n * slots doubles over `space` (the target's own), free with hone_free. */
HONE_API hone_rc hone_target_seeds(const hone_target *target, const hone_space *space, double **points, size_t *n,
                                   hone_err *err);

/* The same for an objective: before them come at most three combinations that were learned for it on many programs.
 * They say what is tried first and exclude nothing. NULL, or one that nothing was learned for: as hone_target_seeds. */
#define HONE_SMALL "size" /* bytes of code */
HONE_API hone_rc hone_target_seeds_for(const hone_target *target, const hone_space *space, const char *objective,
                                       double **points, size_t *n, hone_err *err);

/* The plain levels of optimisation, the fastest first, for this machine, everything else absent; as hone_target_seeds.
 */
HONE_API hone_rc hone_target_levels(const hone_target *target, const hone_space *space, double **points, size_t *n,
                                    hone_err *err);

/* A rendered point. All strings and arrays live in one block: free with hone_command_free. */
typedef struct hone_command {
    const char **argv; /* flags in order, without the compiler; NULL-terminated */
    size_t n_argv;
    const char **env; /* "NAME=value", NULL-terminated; usually empty */
    size_t n_env;
    bool rsp_lines;                     /* a response file holds one word a line, unquoted (rustc) */
    bool pgo;                           /* build twice around a training run; see the two flags below */
    const char *pgo_generate, *pgo_use; /* format strings with one %s: the profile folder or file */
    void *block;
    const char *post_link; /* the tool that the linked program goes through, and its options; NULL: none */
    const char *by_file;   /* "NAME: FLAGS" a line, of files that have flags of their own behind these; NULL: none */
    const char *passes;    /* edits of the passes that opt runs instead of the compiler; NULL: it does not */
} hone_command;
/* Renders `point`, a point of `space`, whose parameters of this target carry `prefix.` (NULL: none). Only active,
 * present genes give flags; parameters of other prefixes are ignored. Flags of the floating-point contract come
 * last but for genes tagged numeric. */
HONE_API hone_rc hone_target_render(const hone_target *target, const hone_space *space, const char *prefix,
                                    const double *point, hone_fp fp, hone_command *out, hone_err *err);
HONE_API void hone_command_free(hone_command *command);
/* The flags as a response file that the compiler reads with @file: one per line, quoted as it expects. Free with
 * hone_free. */
HONE_API hone_rc hone_command_rsp(const hone_command *command, char **text, hone_err *err);

/* Between the two builds of profile-guided optimisation: makes the raw profiles that the training left in `dir` (given
 * to pgo_generate) into what pgo_use reads, which is given the same folder. gcc: nothing to do. clang: llvm-profdata.
 * E_NOTFOUND when the training left no profile, E_TOOL when the tool is missing or fails. */
HONE_API hone_rc hone_target_profile_merge(hone_target *target, const char *dir, hone_err *err);

/* Families known (i from 0 until false) and the compilers of a family found in PATH ("gcc", "gcc-12", ...;
 * NULL-terminated, links to one binary listed once, free with hone_free). */
typedef struct hone_family_info {
    const char *name, *summary;
} hone_family_info;
HONE_API bool hone_family_at(size_t i, hone_family_info *out);
/* Is it a plain command of a family, which PATH decides about: "gcc", "clang-19"? */
HONE_API bool hone_family_is_command(const char *command);
/* Flags that give the same results by other code, NULL-terminated, for tuning generated C one by one; NULL: the family
 * compiles no C. */
HONE_API const char *const *hone_family_kernel_flags(const char *family);
/* The flag by which this command makes code for another processor ("aarch64"); NULL: it needs none. */
HONE_API const char *hone_family_cross_flag(const char *command, const char *processor);
HONE_API hone_rc hone_family_installed(const char *family, char ***names, size_t *n, hone_err *err);

/* The tool of a stage behind the linker ("bolt"), as `post_link` of a workload would take it. E_TOOL says what is
 * missing, E_NOTFOUND that there is no such stage. */
typedef struct hone_post_link_tool {
    char command[32], version[32], path[512];
} hone_post_link_tool;
HONE_API hone_rc hone_target_post_link(const char *stage, hone_post_link_tool *out, hone_err *err);
/* The `opt` that runs edited passes for this compiler (`controls: {passes: true}` of a workload). E_TOOL says what is
 * missing or which versions differ, E_UNSUPPORTED that the compiler is not made of LLVM's passes. */
HONE_API hone_rc hone_target_pass_tool(const char *compiler, hone_post_link_tool *out, hone_err *err);

#ifdef __cplusplus
}
#endif
#endif
