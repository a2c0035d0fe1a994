/* target/bolt.h — LLVM's BOLT, which lays a linked program out anew by a profile of its branches: whether it is here,
 * which of its options it takes, and the commands of the stage. The profile is made by instrumentation, which every
 * processor can do.
 *
 * The stage works in a folder of its own, on "./prog", whose linked form it keeps as "./prog.linked"; profiles are
 * "./prog.fdata.PID" of each process and "./prog.profile", merged. Names of options are stored in records.
 * Owns: texts, in the arena given.
 */
#ifndef HN_BOLT_H
#define HN_BOLT_H

#include "base/str.h"
#include "target/family.h"

#define HN_BOLT_PROFILE "prog.profile"

typedef struct hn_bolt {
    const char *path, *merge; /* llvm-bolt and merge-fdata: their own files, since it looks for its libraries beside */
    const char *command;      /* as people call it: "llvm-bolt-19" */
    const char *version, *hash; /* "19.1.7"; of the file */
    const char *help;
} hn_bolt;

/* The newest that is installed; *why says what is missing where there is none. */
bool hn_bolt_find(hn_arena *a, hn_bolt *out, const char **why);

enum { HN_BOLT_VALUES = 8 };
typedef struct hn_bolt_option {
    const char *name, *under, *doc;
    const char *value[HN_BOLT_VALUES];
    size_t n_values; /* 0: it is on or off */
} hn_bolt_option;
/* Options that this BOLT has, from 0 until false; values in `a`. */
bool hn_bolt_option_at(const hn_bolt *bolt, size_t i, hn_arena *a, hn_bolt_option *out);
/* The option as a word, in `a`; value: NULL where it is on or off. */
const char *hn_bolt_word(hn_arena *a, const char *name, const char *value);
/* Combinations known to pay, from 0 until NULL: "NAME=VALUE NAME …"; a value that is not offered stands for the first
 * one that is. */
const char *hn_bolt_seed(size_t i);

/* Does it change calls of libraries only in a program that is bound when it starts? */
bool hn_bolt_needs_binding(const char *name);
/* What a build needs for it: words in the arena, NULL-terminated; bound: calls are bound when the program starts.
 * NULL: this compiler's family has no such words. */
const char *const *hn_bolt_link_words(hn_arena *a, const hone_target *t, bool bound);

/* The instrumented program takes the place of ./prog. */
void hn_bolt_instrument(hn_str *shell, const hn_bolt *bolt);
/* ./prog by the profile; merge: the profile is not merged yet. options: words for the shell. */
void hn_bolt_optimise(hn_str *shell, const hn_bolt *bolt, const char *options, bool merge);
/* The same for people: what to do with PROGRAM, as lines that begin with `head`. */
void hn_bolt_recipe(hn_str *s, const char *head, const char *command, const char *options);
/* The message of BOLT in what it printed, in `a`; the text itself where there is none. */
const char *hn_bolt_reason(hn_arena *a, const char *printed);

#endif
