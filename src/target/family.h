/* target/family.h — compiler families. Everything hone knows about one kind of compiler is in its hn_family: one file,
 * its tables, and one row in hn_families (family.c).
 *
 * The rooms above ask a family; they name no flag, no compiler and no linker themselves (make lint).
 * A gene's name is stored in records; the family alone decides how it is written on a command line (spell, read).
 * Owns: nothing; families are constant.   Threads: any, but one at a time per target.
 */
#ifndef HN_FAMILY_H
#define HN_FAMILY_H

#include "base/arena.h"
#include "base/str.h"
#include "target/objdump.h"

#include <hone/target.h>

struct hn_controls;

/* A growing list of words; memory is sticky in the arena. */
typedef struct hn_flags {
    hn_arena *a;
    const char **word;
    size_t n, room;
} hn_flags;
void hn_flags_add(hn_flags *f, const char *word);
void hn_flags_words(hn_flags *f, const char *text); /* split at blanks */
/* The format with `text` for its %s. */
const char *hn_fill(hn_arena *a, const char *format, const char *text);

/* How likely a control is to change results; what is never offered counts in the statistics alone. */
typedef enum hn_class { HN_CODEGEN, HN_NUMERIC, HN_UNSAFE, HN_IRRELEVANT, HN_N_CLASSES } hn_class;
enum { HN_WAY_ON = 1, HN_WAY_OFF = 2, HN_WAY_BOTH = 3 };
typedef struct hn_rule {
    const char *pattern;
    hn_class cls;
    unsigned ways;
    const char *why;
} hn_rule;

/* A control that changes no result, but leaves out something that a program may read. */
typedef struct hn_unread {
    const char *name, *value; /* the control, and the value that leaves it out */
    unsigned what;            /* HONE_UNREAD_* */
    const char *promise;      /* stands in what the compiler says of the control, else it means something else there */
} hn_unread;

/* What one flag of a build says. Some flags take two words ("-C opt-level=3"). */
typedef struct hn_said {
    size_t n_words;
    bool level;                 /* a level of optimisation */
    bool contract;              /* a floating-point contract: the `fp` gene speaks for it */
    bool promise;               /* the build asks the compiler to assume less: no candidate goes without it */
    char name[256], value[128]; /* the gene and value that would be written like this; "": none */
} hn_said;

/* The options of compilations. */
typedef struct hn_cut_words {
    const char **word;
    bool *is_read; /* those that matter to the preprocessor alone */
    size_t n;
} hn_cut_words;

/* What calls of a compiler do, cut into compilations and the link. Words are those of the calls. */
typedef struct hn_cut {
    const char **source;       /* what is compiled */
    const char **object;       /* the name of what that leaves; NULL where the call links it at once */
    const hn_cut_words **with; /* the options of each */
    size_t n;
    const char **link; /* words of the link; NULL where an object stands, in the order of the sources */
    size_t n_link;     /* 0: nothing is linked */
} hn_cut;

/* A programming language that a family compiles, for drafts of workload files. */
typedef struct hn_language {
    const char *endings;                 /* of its files: ".cc|.cpp" */
    const char *command;                 /* that compiles it */
    bool harness;                        /* its programs can use hone's C harness */
    const char *math, *threads, *openmp; /* words that link what a source needs; "" */
    const char *device;                  /* of code for a device: its build, %s for the file; NULL: of a program */
    const char *others;                  /* other compilers of the same file, for a comment; "" */
    bool figures;                        /* of that code: registers and the like are known without running it */
} hn_language;

/* The program that controls are tried on. */
typedef struct hn_probe_program {
    const char *suffix, *source;
    const char *object;                /* words that compile it without linking */
    bool (*accepts)(const char *path); /* is this what such a compilation leaves? */
} hn_probe_program;

/* One variation of where code and data lie, for proofs. */
typedef struct hn_placing {
    unsigned align;     /* functions start at multiples of so many bytes; 0: as the compiler has it */
    bool sections;      /* each function in a section of its own */
    const char *script; /* for the linker (target/layout.h); NULL: none */
} hn_placing;

/* What a program's machine code is listed with. */
typedef struct hn_listing {
    const char *const *argv; /* the program's path comes last */
    const char *package;     /* that has the command */
    hone_rc (*read)(const char *text, size_t n, hn_arena *a, hn_disassembly *out, hone_err *err);
    bool device; /* code for a GPU: the room cubin reads it, and argv and read are NULL */
} hn_listing;

/* A combination of controls that paid on many programs (bench/learn-seeds.sh), and for what: HONE_SMALL. */
typedef struct hn_learned {
    const char *objective, *genes;
} hn_learned;
/* Learned rows that may come before the rules: what a wrong table costs a search, in evaluations. */
enum { HN_LEARNED_MOST = 3 };
/* So many of a search of `budget` evaluations (0: it is not known): a twentieth of them, which a wrong table costs at
 * most, but one from 8 on, where the last evaluation brings less than a learned row does (docs/figures.md). */
size_t hn_learned_most(size_t budget);
/* The order of a family's seeds for an objective (NULL: none): what was learned for it, at most `most` and
 * HN_LEARNED_MOST, then all rules. learned ends with a NULL objective, or is NULL. row: room for both and a NULL, which
 * ends it. Gives the number of learned ones. */
size_t hn_seeds_order(const hn_learned *learned, size_t most, const char *const *rule, const char *objective,
                      const char **row);
/* hone_target_seeds_for with at most so many learned ones. */
hone_rc hn_target_seeds(const hone_target *t, const hone_space *space, const char *objective, size_t most_learned,
                        double **points, size_t *n, hone_err *err);

/* All functions are pure but for running the compiler. May be NULL where it says so. */
typedef struct hn_family {
    int version;
    const char *name, *summary; /* the name is stored in fingerprints: never rename */

    /* --- which compiler --- */
    const char *command; /* base name of its commands: NAME, NAME-VERSION */
    const char *aliases; /* further names by which a build calls it: "g++|cc|c++"; "" */
    /* The program behind a command of this family ("ptxas", "ptxas-13"), malloc'ed, where others than PATH decide;
     * NULL: there is none here. NULL: PATH decides. */
    char *(*locate)(const char *command);
    /* Is this what `--version` of a member prints? */
    bool (*recognise)(const char *version_text);
    const char *version_key; /* stands in the line of it that says the version; NULL: the first line does */
    /* The binary that compiles, malloc'ed, where the command only starts it. NULL: the command itself. */
    char *(*binary)(hone_target *t);
    /* Files beyond the driver whose contents decide about the code: one path a line (those that exist count). */
    hone_rc (*code_files)(hone_target *t, char **lines, hone_err *err);
    /* What tuning for this processor resolves to: its name, and " +avx2 -xop …"; "" where it is not understood. */
    hone_rc (*native)(hone_target *t, const char **cpu, const char **features, hone_err *err);
    /* What else decides about the code that runs: the version of a device's driver, in `a`. NULL: nothing. */
    const char *(*driver)(hn_arena *a);

    /* --- its controls --- */
    /* All controls with their class; those never offered too, for the statistics. */
    hone_rc (*discover)(hone_target *t, hn_arena *a, bool all, struct hn_controls *out, hone_err *err);
    /* Class and ways of an option (takes_value: NAME=VALUE). */
    hn_rule (*classify)(const char *name, bool takes_value);
    const char *level, *arch;  /* the genes for the level of optimisation and for the processor */
    const char *const *levels; /* plain levels, the fastest first; for this machine where that is offered: as seeds */
    const char *const *seeds;  /* combinations known to pay: "NAME VALUE; NAME VALUE" */
    const hn_learned *learned; /* measured on many programs; a NULL objective ends them. NULL: none */
    /* Controls that may decide more than all others together, crossed with compilers, contracts and levels before
     * anything else is tried: "NAME VALUE|VALUE", of which the first two that are offered count. lto and pgo always
     * belong to them. NULL: none. */
    const char *const *choices;
    /* Numeric controls that are safe where nobody reads what they leave out; a NULL name ends them. NULL: none. */
    const hn_unread *unread;

    /* --- words of a command line --- */
    /* The words of one gene but lto and pgo; value as in the space ("on", "16", …). */
    void (*spell)(hn_flags *f, const hone_target *t, const char *name, const char *value);
    /* What the flag at word[0] says; n >= 1 words are there. t: may be NULL. */
    void (*read)(const hone_target *t, const char *const *word, size_t n, hn_said *out);
    /* A setting of the program's own, as one word. */
    void (*define)(hn_str *out, const char *name, const char *value);
    bool rsp_lines;         /* a response file holds one word a line, as it is; else words are quoted */
    const char *baseline;   /* of a workload that states none */
    const char *plain;      /* of a drafted build without flags that hone tunes */
    const char *worst;      /* turns optimisation off, whatever stands before it */
    const char *tunable;    /* flags of a build that become the baseline in a draft, but … */
    const char *stays;      /* … except those that choose the machine or the semantics: patterns, "-O*|-m*" */
    const char *no_program; /* words that make a build compile without linking: patterns */
    const char *profiled;   /* words of a profile-guided build, of its compilations and its link alike: patterns */
    /* Cuts one call; word[0] is the compiler. False: it does more than compile and link, or more than is understood.
     * NULL: calls of this compiler are not cut. */
    bool (*cut)(hn_arena *a, const char *const *word, size_t n, hn_cut *out);
    const char *compile_only, *preprocess_only; /* the words that make it do no more; the output is told by -o */
    bool passes;       /* its compilations can be cut in front of LLVM's passes, which `opt` then runs (target/opt.h) */
    const char *reads; /* words that make it print, as rules of make, which files a compilation reads; NULL: none */
    const hn_language *const *languages; /* NULL-terminated, the first family with a language drafts for it */

    /* --- floating point --- */
    const char *const *contract[HONE_N_FP]; /* flags of each; NULL: this compiler does not offer the contract */
    /* The contract that a baseline's flags and a build command amount to. */
    hone_fp (*contract_of)(const char *baseline, const char *build);

    /* --- linking and profiles --- */
    const char *linker;    /* word that chooses a linker: a format string with %s, its name; NULL: none */
    const char *to_linker; /* word that hands the linker an option: a format string with %s; NULL: none */
    const char *unsplit;   /* word that keeps each function in one piece; NULL: that is the default */
    const char *lto[3];    /* flag sets to try for link-time optimisation, the preferred first; none: NULL */
    const char *pgo_generate, *pgo_use, *const *pgo_extra; /* the first two: format strings with %s, the folder */
    /* Path of the tool that merges profiles, malloc'ed; NULL when it is missing. NULL: none is needed. */
    char *(*profile_tool)(hone_target *t);

    /* --- probing, proofs --- */
    const char *probe_level; /* under which controls are probed */
    const hn_probe_program *probe;
    /* Words that have the program read alone, which refuses most of what is refused; NULL: none. */
    const char *probe_read;
    /* Flags for this placement. NULL: layouts cannot be varied. */
    void (*place)(hn_flags *f, const hn_placing *how);
    const char *groups; /* patterns of symbols to order at random (target/layout.h); NULL: by their first letters */
    const hn_listing *listing;
    /* The function of the source behind a symbol: its name without what the compiler adds, in `a`. */
    const char *(*source_name)(hn_arena *a, const char *symbol);

    /* --- generated C --- */
    const char *const *kernel_flags; /* same results, other code: tried one by one on kernels. NULL: compiles no C */
    /* The word that makes code for another processor ("aarch64"); NULL: the command itself decides. */
    const char *(*cross)(const char *processor);
} hn_family;

extern const hn_family *const hn_families[]; /* NULL-terminated */

const hn_family *hn_family_named(const char *name); /* NULL: there is none */
/* By the command's name alone ("gcc", "/usr/bin/x86_64-linux-gnu-g++-12"); the first family where none is known. */
const hn_family *hn_family_of_command(const char *command);
/* The program that a command means, resolved, malloc'ed: a family's own place, else PATH; NULL: there is none. */
char *hn_family_locate(const char *command);
bool hn_family_knows_command(const char *word);
const hn_family *hn_target_family(const hone_target *t); /* of NULL: the first family */
/* What a command line calls it by: its command, or its path where a family's own place decides. */
const char *hn_target_program(const hone_target *t);
/* The language of a file's ending, and its family (may be NULL); NULL: none is known. */
const hn_language *hn_language_of(const char *path, const hn_family **family);
/* Does the text match one of the patterns, separated by |? */
bool hn_matches(const char *patterns, const char *text);

/* What the present genes under `prefix.` say, without level or contract of their own. */
void hn_target_words(const hone_target *t, const hone_space *space, const char *prefix, const double *point,
                     hn_flags *out);

#endif
