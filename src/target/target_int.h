/* target/target_int.h — the inside of a target: controls, families, and what flows between discovery and space.
 *
 * A control is one gene: its name is stored in records; its family knows how it is written on a command line.
 * Invariants: 1 value[] of a HN_CHOICE has n_values >= 1 once offered;  2 lo <= hi, both finite, for a HN_RANGE.
 */
#ifndef HN_TARGET_INT_H
#define HN_TARGET_INT_H

#include "base/arena.h"
#include "target/family.h"
#include "target/help.h"

typedef enum hn_form { HN_CHOICE, HN_RANGE } hn_form;
typedef struct hn_control {
    const char *name, *doc;
    hn_form form;
    hn_class cls;
    const char **value; /* HN_CHOICE */
    size_t n_values;
    double lo, hi, dflt; /* HN_RANGE: dflt is the compiler's own where known, else NAN */
} hn_control;
/* The only value of a control that takes a file: the caller's files stand there when a space is made. */
#define HN_FILE_VALUE "{file}"
bool hn_control_takes_file(const hn_control *c);
typedef struct hn_controls {
    hn_control *item;
    size_t n, room;
} hn_controls;

/* A name with its values, separated by |; a combination of genes, "NAME VALUE; NAME VALUE". */
typedef struct hn_value_row {
    const char *name, *values;
} hn_value_row;

struct hone_target {
    hn_arena arena;
    const hn_family *family;
    const char *exec; /* as found in PATH, links not resolved: a program may choose its mode by the link's name */
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

/* probe.c — removes from `list` what the compiler does not accept; sets t->lto_flags. *complete is false when its time
 * ran out (controls not probed are then not offered). */
hone_rc hn_target_probe(hone_target *t, hn_arena *a, hn_controls *list, const hone_target_options *options,
                        bool *complete, hone_err *err);

/* pgo.c — the tool of this name in PATH (NAME-MAJOR, NAME), or at `first` (may be NULL), if it is of LLVM `major`; 0:
 * any. Malloc'ed; NULL: there is none. */
char *hn_llvm_tool(const char *first, const char *name, long major);
/* The number after `key` in the text; 0: none. */
long hn_number_after(const char *text, const char *key);

/* target_cache.c */
bool hn_cache_read(hone_target *t, hn_arena *a, bool all, hn_controls *list);
hone_rc hn_cache_write(hone_target *t, bool all, const hn_controls *list, hone_err *err);
char *hn_cache_file(const hone_target *t, const char *name); /* malloc'ed */
/* Waits while another process, or thread, probes the same compiler. */
typedef struct hn_cache_lock {
    int fd; /* -1: none */
    char *path;
} hn_cache_lock;
hn_cache_lock hn_cache_lock_take(const hone_target *t, bool all);
void hn_cache_lock_free(hn_cache_lock *l);
/* "path \t size \t mtime ns \t inode \t", malloc'ed: changes whenever the file does. NULL: no such file. */
char *hn_file_state(const char *path);

/* quick.c — files whose states say that an answer is still right, a line each. */
char *hn_next_line(char **at);                  /* cuts the line at *at off and moves behind it; NULL at the end */
bool hn_state_holds(const char *line);          /* does the file still have this state? */
bool hn_state_add(hn_str *s, const char *path); /* false: there is no such file */
bool hn_is_elf(const char *path);               /* no script, which may start anything while it stays the same */

/* target_space.c */
hone_rc hn_target_build_space(hone_target *t, const hn_controls *list, const hone_target_options *options,
                              hone_space **out, hone_err *err);

#endif
