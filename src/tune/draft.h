/* tune/draft.h — what a drafted workload file is made of, for those who find it out: from a build command here, from a
 * project's build system in the room draft.
 *
 * Owns: its hn_str members; hn_drafted_free.   Borrows: the other texts.
 */
#ifndef HN_DRAFT_H
#define HN_DRAFT_H

#include "target/family.h"

typedef struct hn_drafted {
    hn_str build, baseline;
    hn_str sources; /* one path a line, relative to the workload file or absolute */
    hn_str ask;     /* the compiler's call without its output, to ask what it reads; empty: it cannot be asked */
    hn_str note;    /* comment lines below the head, each with its '#' */
    const hn_family *family;
    const char *compiler, *program;
    const char *folder;   /* make -C folder */
    const char *run;      /* NULL: "{out} {input}" */
    const char *args;     /* of the one input; NULL: none is known */
    const char *controls; /* the value of `controls`; NULL: left out */
    bool linked;          /* not -c */
    bool wrapped;         /* make or a script: it may read any file */
} hn_drafted;

/* What a build command says; texts live in the arena. */
hone_rc hn_draft_read_build(hn_arena *a, const char *build, hn_drafted *d, hone_err *err);
hone_rc hn_draft_write(hn_drafted *d, char **text, hone_err *err);
void hn_drafted_free(hn_drafted *d);

/* Stands in drafts of code that nobody calls yet: they cannot be built. */
#define HN_DRAFT_NO_MAIN "The source has no main()"

/* Parts of a search that a draft shows as comments: those that can work for this program, with the tools installed. */
typedef struct hn_draft_offers {
    const hn_family *family;
    const char *compiler, *run;
    size_t n_files; /* into which the build is cut (cut_command.h) */
    bool passes;    /* they can be made with edited passes, and the draft has no `controls` yet */
} hn_draft_offers;
void hn_draft_add_offers(hn_str *s, const hn_draft_offers *o);
/* Floating-point contracts, with the rule of parity that they need. */
void hn_draft_add_contracts(hn_str *s, const hn_family *family);

/* A word quoted for the shell, as it has to stand in a template. */
void hn_draft_add_word(hn_str *s, const char *word);

#endif
