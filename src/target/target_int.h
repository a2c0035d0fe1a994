/* target/target_int.h — the inside of a target: controls, families, and what flows between discovery and space.
 *
 * A control is one gene: its name is stored in records and tells how it is written on a command line (render.c):
 *     -fNAME, -mNAME        on: as is; off: -fno-NAME; another value: NAME=VALUE
 *     --param=NAME          --param=NAME=VALUE
 *     -mllvm=NAME           -mllvm -NAME=VALUE
 *     -O                    -OVALUE
 *     -march, lto, pgo      by the family
 * Invariants: 1 value[] of a HN_CHOICE has n_values >= 1 once offered;  2 lo <= hi, both finite, for a HN_RANGE.
 */
#ifndef HN_TARGET_INT_H
#define HN_TARGET_INT_H

#include "base/arena.h"
#include "target/help.h"

#include <hone/target.h>

/* Raise when discovery, classification or probing changes: older caches are then probed again. */
#define HN_TARGET_TABLES 6

typedef enum hn_class { HN_CODEGEN, HN_NUMERIC, HN_UNSAFE, HN_IRRELEVANT, HN_N_CLASSES } hn_class;
enum { HN_WAY_ON = 1, HN_WAY_OFF = 2, HN_WAY_BOTH = 3 };

typedef struct hn_rule {
    const char *pattern;
    hn_class cls;
    unsigned ways;
    const char *why;
} hn_rule;

typedef enum hn_form { HN_CHOICE, HN_RANGE } hn_form;
typedef struct hn_control {
    const char *name, *doc;
    hn_form form;
    hn_class cls;
    const char **value; /* HN_CHOICE */
    size_t n_values;
    double lo, hi, dflt; /* HN_RANGE: dflt is the compiler's own where known, else NAN */
} hn_control;
typedef struct hn_controls {
    hn_control *item;
    size_t n, room;
} hn_controls;

/* A name with its values, separated by |; a combination of genes, "NAME VALUE; NAME VALUE". */
typedef struct hn_value_row {
    const char *name, *values;
} hn_value_row;

struct hn_flags;

/* A family of compilers: one file, one row in hn_families. All functions are pure but for running the compiler. */
typedef struct hn_family {
    int version;
    const char *name, *summary; /* the name is stored in fingerprints: never rename */
    /* Is this what `--version` of a member prints? */
    bool (*recognise)(const char *version_text);
    /* Files beyond the driver whose contents decide about the code: one path a line (those that exist count). */
    hone_rc (*code_files)(hone_target *t, char **lines, hone_err *err);
    /* What -march=native resolves to: the processor's name, and " +avx2 -xop …"; "" where it is not understood. */
    hone_rc (*native)(hone_target *t, const char **cpu, const char **features, hone_err *err);
    /* All controls with their class; those never offered too, for the statistics. */
    hone_rc (*discover)(hone_target *t, hn_arena *a, bool all, hn_controls *out, hone_err *err);
    /* Class and ways of an option (takes_value: NAME=VALUE). */
    hn_rule (*classify)(const char *name, bool takes_value);
    /* Flags of the contract, of link-time optimisation; profile flags as format strings. */
    const char *const *contract[HONE_N_FP];
    const char *pgo_generate, *pgo_use, *const *pgo_extra;
    const char *probe_level;   /* level under which controls are probed */
    const char *command;       /* base name of its commands: NAME, NAME-VERSION */
    const char *lto[3];        /* flag sets to try for link-time optimisation, the preferred first */
    const char *profile_tool;  /* needed by PGO, as -print-prog-name gives it; NULL: none */
    const char *const *levels; /* plain levels, the fastest first; for this machine where that is offered */
    const char *const *seeds;
} hn_family;
extern const hn_family *const hn_families[]; /* NULL-terminated */
extern const hn_family hn_family_gcc, hn_family_clang;

struct hone_target {
    hn_arena arena;
    const hn_family *family;
    const char *exec; /* as found in PATH, links not followed: their names may choose the mode */
    hone_fingerprint print;
    char *cache_dir;
    bool cache_must;         /* the caller named the folder: failing to write it is an error */
    const char *features;    /* of -march=native: " +avx2 -xop …" */
    const char *lto_flags;   /* "-flto", "-flto -fuse-ld=lld"; NULL: does not link. Known once probed */
    const char *cpuid_flags; /* what -march's value "cpuid" stands for; NULL: not offered */
    hone_target_stats stats;
};

/* controls.c */
hn_control *hn_control_add(hn_arena *a, hn_controls *list, const char *name, const char *doc, hn_class cls);
void hn_control_values(hn_arena *a, hn_control *c, const char *text, char separator); /* "a|b|c" */
/* A range around what is known: printed bounds (NAN: none) and the default (NAN: none). */
void hn_control_range(hn_control *c, double lo, double hi, double dflt);
hn_rule hn_rule_find(const hn_rule *rules, size_t n, const char *name, bool takes_value);
bool hn_glob(const char *pattern, const char *text); /* * matches any text */

/* run.c — the compiler as a child process: LC_ALL=C, limits. */
typedef struct hn_tool {
    char *out;        /* stdout, NUL-terminated; free with hn_tool_free */
    char errors[600]; /* head of stderr */
    bool ok;          /* exit code 0 */
    double user_s;    /* processor time */
    char what[160];   /* how it ended, for messages */
} hn_tool;
hone_rc hn_tool_run(const char *const *argv, double wall_s, hn_tool *out, hone_err *err);
/* As hn_tool_run, with stderr in `out` too; at most 34 words. */
hone_rc hn_tool_run_errors(const char *const *argv, double wall_s, hn_tool *out, hone_err *err);
void hn_tool_free(hn_tool *run);
/* Runs the target with these arguments (NULL-terminated); E_TOOL when it fails. */
hone_rc hn_tool_ask(hone_target *t, const char *const *args, char **out, hone_err *err);

/* flags.c — a growing list of words. */
typedef struct hn_flags {
    hn_arena *a;
    const char **word;
    size_t n, room;
} hn_flags;
void hn_flags_add(hn_flags *f, const char *word);
void hn_flags_words(hn_flags *f, const char *text); /* split at blanks */
/* The words of one gene but lto and pgo; value as in the space ("on", "16", …). -march's "cpuid" gives cpuid_flags. */
void hn_flags_gene(hn_flags *f, const char *name, const char *value, const char *cpuid_flags);

/* cpu.c */
typedef struct hn_cpu {
    int level;            /* best x86-64 level this processor and system run, 1..4; 0 = not x86-64 */
    bool wide;            /* 512-bit vectors */
    const char *flag[64]; /* features as the compilers name them: "avx2", "avx512vnni"; static texts */
    size_t n_flags;
} hn_cpu;
void hn_cpu_parse(const char *cpuinfo, hn_cpu *out); /* text of /proc/cpuinfo */
void hn_cpu_get(hn_cpu *out);

/* identity.c */
hone_rc hn_target_identify(hone_target *t, hone_err *err);

/* probe.c — removes from `list` what the compiler does not accept; sets t->lto_flags. *complete is false when the
 * time for it ran out (the rest is then not offered). */
hone_rc hn_target_probe(hone_target *t, hn_arena *a, hn_controls *list, const hone_target_options *options,
                        bool *complete, hone_err *err);

/* pgo.c — the tool that merges profiles, malloc'ed; NULL when the family needs none or it is missing. */
char *hn_profile_tool(hone_target *t);

/* target_cache.c */
bool hn_cache_read(hone_target *t, hn_arena *a, bool all, hn_controls *list);
hone_rc hn_cache_write(hone_target *t, bool all, const hn_controls *list, hone_err *err);
char *hn_cache_file(const hone_target *t, const char *name); /* malloc'ed */
/* "path \t size \t mtime ns \t inode \t", malloc'ed: changes whenever the file does. NULL: no such file. */
char *hn_file_state(const char *path);

/* target_space.c */
hone_rc hn_target_build_space(hone_target *t, const hn_controls *list, const hone_target_options *options,
                              hone_space **out, hone_err *err);

#endif
