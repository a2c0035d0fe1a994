/* tune/plan.h — a workload made searchable: its compilers opened, their controls joined with its own parameters into
 * one space, and points of that space turned into build recipes.
 *
 * The joined space, in this order: the workload's parameters under their own names; `compiler` (a choice, when several
 * are offered); `fp` (the floating-point contract, when more than one is offered); then each compiler's controls under
 * the prefix of its command ("gcc-12.-O"), active when that compiler is chosen.
 *
 * The words of the baseline's flags that are controls become the point `base`; the others ("-DNDEBUG") are not hone's
 * to tune and go to every candidate unchanged, as do those the code may rely on ("-fwrapv").
 *
 * Owns: targets, spaces, strings.   Borrows: the workload.   Errors: E_TOOL, E_INPUT, E_NOMEM.
 */
#ifndef HN_PLAN_H
#define HN_PLAN_H

#include "measure/readers.h"
#include "target/bolt.h"
#include "target/family.h"
#include "target/opt.h"
#include "tune/workload.h"

/* Who reads errno or the floating-point environment (unread.h). */
typedef struct hn_unread_finding {
    hn_reading reading;
    const char *symbol, *place, *why; /* as of hn_onlooker; place: "kernel.c:12", "" where no source shows it */
} hn_unread_finding;

/* A part of the space, of one target: controls of single files (by_file.h), passes (pass_order.h). */
typedef struct hn_own_space {
    hone_space *control; /* of one file, without names of files; NULL for passes */
    hone_space *space;   /* of all files; of passes */
    size_t first;        /* its first parameter in the plan's space */
} hn_own_space;
/* What names of parameters of the order of passes begin with (pass_order.h). */
#define HN_PASSES "passes."
enum { HN_FILES_MOST = HN_PER_FILE_MOST };

/* What one file has behind the program's flags. */
typedef struct hn_file_flags {
    const char *name; /* as the build command has it */
    const char **flag;
    size_t n_flags;
} hn_file_flags;

enum { HN_N_ALLOCATORS = 3 }; /* that tune/environment.c knows */

typedef struct hn_plan {
    hn_arena arena;
    const hone_workload *w;
    size_t n_targets;
    hone_target **target;
    hone_space **part;       /* each target's own space */
    const char **prefix;     /* each target's prefix */
    hone_space *space;       /* the joined one */
    size_t i_compiler, i_fp; /* parameter indices; SIZE_MAX when there is no such gene */
    size_t n_app;            /* the first n_app parameters are the workload's own */
    const char **base_word;  /* the baseline's flags, as words */
    size_t n_base_words;
    const char **keep; /* those of them that every candidate gets */
    size_t n_keep;
    bool odd_level;       /* the baseline has a level of optimisation that no point has: -O0, -Og, or none stated */
    bool contract_stated; /* the baseline says which floating-point contract it keeps */
    double *base;         /* the baseline as a point of the joined space */
    unsigned offered;     /* HONE_UNREAD_*: what controls may leave out */
    bool unread_known;    /* it was looked at */
    hn_unread_finding unread[HN_N_STATES];
    hn_bolt bolt;             /* found, where the workload asks for it; path NULL: not */
    bool post_link;           /* the stage is offered */
    const char *no_post_link; /* why not; NULL: it is, or nobody asked */
    const char **file;        /* those with controls of their own (hot_files.h), as the build command has them */
    size_t n_files;
    const char *no_files;                   /* why there are none; NULL: there are, or nobody asked */
    hn_own_space *own;                      /* of each target; NULL: no file has controls of its own */
    hn_opt *opt;                            /* of each target, path NULL: none; NULL: no passes are offered */
    const char *no_passes;                  /* why not; NULL: they are, or nobody asked */
    hn_own_space *pass;                     /* of each target; NULL as opt */
    size_t first_pass_slot;                 /* in the space, where they are offered */
    hone_space *global;                     /* the space without files and passes; NULL: it is all */
    const char *allocator[HN_N_ALLOCATORS]; /* libraries of tune/environment.c's allocators; NULL: not here */
} hn_plan;

/* What to build: everything of a point but the folder it is built in. */
typedef struct hn_recipe {
    hn_arena arena;
    hone_target *target; /* the plan's; NULL: it is not installed, and no command names it */
    const char *cc;
    const char **flag; /* words, without those of PGO */
    size_t n_flags;
    const char *const *env;
    const char *defines;   /* shell text */
    const char **app_name; /* the workload's parameters that are active, and their texts */
    const char **app_text;
    bool *app_defined; /* rendered in `defines` */
    size_t n_app;
    bool pgo;
    const char *pgo_generate, *pgo_use; /* see hone_command */
    const hn_bolt *bolt;                /* the plan's: the program that was linked goes through it; NULL: not */
    const char *bolt_options;           /* as words for the shell */
    const hn_opt *opt;                  /* the plan's, which runs the passes; NULL: the compiler does */
    const char *edits, *pipeline;       /* of passes: words, and the text that they make; NULL as opt */
    hn_file_flags *file;                /* of files that have flags of their own */
    size_t n_files;
} hn_recipe;

/* progress: of probing; may be NULL. */
hone_rc hn_plan_open(const hone_workload *w, const hone_tune_options *options, const hone_progress *progress,
                     hn_plan **out, hone_err *err);
void hn_plan_close(hn_plan *plan);

/* The parameter of target t's control whose name is the first n bytes; SIZE_MAX: it has none of that name. */
size_t hn_plan_control(const hn_plan *plan, size_t t, const char *name);

/* Sets a parameter of the joined space by its text; false: it has no such value. i may be SIZE_MAX. */
bool hn_plan_set(const hone_space *s, double *point, size_t i, const char *text);

/* --- points of a target in the joined space (seeds.c) ------------------------------------------------------------- */

/* Points of one target, in its own space. */
typedef struct hn_part_points {
    double *point;
    size_t n;
} hn_part_points;
/* What a function such as hone_target_levels gives, for each target. Free with hn_plan_free_parts. */
typedef hone_rc hn_part_source(const hone_target *, const hone_space *, double **, size_t *, hone_err *);
hone_rc hn_plan_parts(const hn_plan *plan, hn_part_source *of, hn_part_points **out, hone_err *err);
void hn_plan_free_parts(const hn_plan *plan, hn_part_points *part);
const double *hn_plan_part(const hn_plan *plan, const hn_part_points *part, size_t t, size_t k);
/* A plain level in the joined space. Options that it sets besides the level, such as the processor, take the
 * baseline's value where the baseline sets them. */
void hn_plan_level(const hn_plan *plan, size_t t, const double *level, double *point);

/* Rule seeds of the targets in turn, laid over `from`, the best point so far: its contract, and, for the compiler that
 * it has, its controls where a rule says nothing; up to most_learned that were learned come first. Where the workload
 * has parameters of its own, a point drawn for those follows each, with every control as in `from`. */
typedef struct hn_seeds {
    double *point; /* n * slots, of the joined space, all different and none `from` */
    size_t n;
} hn_seeds;
/* most_rules: of the rule seeds. Free with hn_seeds_free. */
hone_rc hn_plan_rules(const hn_plan *plan, const double *from, size_t most_rules, size_t most_learned, hn_seeds *out,
                      hone_err *err);
void hn_seeds_free(hn_seeds *seeds);

/* The recipe of a point; of the baseline when point is NULL. Free with hn_recipe_free. */
hone_rc hn_plan_recipe(const hn_plan *plan, const double *point, hn_recipe *out, hone_err *err);
/* The same under another floating-point contract than the point's. */
hone_rc hn_plan_recipe_under(const hn_plan *plan, const double *point, hone_fp fp, hn_recipe *out, hone_err *err);
void hn_recipe_free(hn_recipe *recipe);
/* The word that defines the i-th of the workload's parameters, in `a`. */
const char *hn_recipe_definition(const hn_recipe *recipe, size_t i, hn_arena *a);

/* The flags as one shell-quoted line, the compiler first when with_cc. Free with free. */
char *hn_recipe_line(const hn_recipe *recipe, bool with_cc);

#endif
