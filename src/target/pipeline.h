/* target/pipeline.h — LLVM's pipelines of passes as trees: read from the text of `opt -passes=`, edited, printed.
 *
 * A pipeline is a list of passes; one with parentheses ("function<eager-inv>(sroa,gvn)") holds a list of its own.
 * Passes without a list are numbered from 1 in the order of the text. Passes of one list are of one kind (module,
 * cgscc, function, loop), so edits within a list keep the text legal for opt in nearly all cases; what opt refuses is a
 * failed build, no error of ours.
 *
 * An edit is a word: "-17" cuts pass 17, "+17@20" repeats it in front of pass 20, "17~18" swaps both. Numbers are those
 * of the text that was read, and a set of edits has one meaning in any order: swaps first, then repeats, then cuts,
 * each by its numbers. A list that is left without passes goes. Words of edits are stored in records. Owns: nodes lie
 * in the arena handed in.   Errors: E_INPUT (parentheses, brackets, an empty name, too deep; no such edit), E_NOMEM.
 * Invariant: the text of what was read is what was read.
 */
#ifndef HN_PIPELINE_H
#define HN_PIPELINE_H

#include "base/arena.h"
#include "base/str.h"

typedef struct hn_pass_node {
    const char *name; /* with its options in angle brackets */
    struct hn_pass_node **kid, *parent;
    size_t n_kids, n_room;
    size_t number; /* from 1; 0: it holds a list, or repeats another */
    bool is_list;  /* has parentheses, whatever stands in them */
} hn_pass_node;

enum { HN_PIPELINE_DEPTH = 32, HN_PIPELINE_PASSES = 4096 };

typedef struct hn_pipeline {
    hn_pass_node *root;  /* without a name */
    hn_pass_node **pass; /* by number - 1 */
    size_t n;
} hn_pipeline;

/* text: as opt takes and prints it. */
hone_rc hn_pipeline_parse(const char *text, hn_arena *a, hn_pipeline *out, hone_err *err);
void hn_pipeline_print(const hn_pass_node *root, hn_str *s);
/* Passes that hold no list, repeated ones too. */
size_t hn_pipeline_count(const hn_pass_node *root);

/* The edits that begin with this pass, as words in `a`: its cut, its repetitions, its swaps with later ones. */
hone_rc hn_pipeline_edits(const hn_pipeline *p, size_t number, hn_arena *a, const char *const **word, size_t *n,
                          hone_err *err);
/* Applies a set of edits, in place; words with blanks between. On error the pipeline is not to be used. */
hone_rc hn_pipeline_apply(hn_pipeline *p, const char *edits, hn_arena *a, hone_err *err);

#endif
