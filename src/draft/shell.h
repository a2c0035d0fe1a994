/* draft/shell.h — simple commands of a shell text: words without their quotes, and the folder each runs in.
 *
 * For what builds print: lists of commands with `cd`, `&&`, `;`, pipes, redirections, comments, and the messages of
 * make about folders that it enters and leaves. Nothing is run or expanded: of `…` and $(…) nothing is left, variables
 * stay as text, the bodies of loops count once. Owns: nothing; all lives in the arena, whose failure is sticky.
 */
#ifndef HN_SHELL_H
#define HN_SHELL_H

#include "base/arena.h"

typedef struct hn_simple {
    const char *dir; /* absolute where the first one was */
    const char **word;
    size_t n;
} hn_simple;

typedef struct hn_simples {
    hn_simple *command;
    size_t n, room;
} hn_simples;

/* Appends the commands of text[0..n). A line begins in `dir`, or in the folder that make said it entered. */
void hn_shell_commands(hn_arena *a, const char *text, size_t n, const char *dir, hn_simples *out);

#endif
