/* draft/project.h — what a project's build does, as its build system tells: compilations, archives, links; and what one
 * of its programs is made of.
 *
 * Nothing is built: make is asked with -n, ninja with -t commands, CMake's and Meson's files are read.
 * Owns: nothing; all lives in the arena.   Errors: E_NOTFOUND (no project, no such program), E_USAGE (which of several
 * programs?), E_INPUT, E_TOOL (make or ninja is missing or fails: its own words), E_IO, E_NOMEM.
 */
#ifndef HN_PROJECT_H
#define HN_PROJECT_H

#include "target/line.h"

typedef enum hn_project_kind {
    HN_PROJECT_MAKE,
    HN_PROJECT_COMPILE_DB,
    HN_PROJECT_NINJA,
    HN_PROJECT_CARGO,
    HN_PROJECT_CALLS /* a command that the user gave: plain calls of compilers */
} hn_project_kind;

typedef struct hn_project {
    hn_project_kind kind;
    const char *dir;  /* absolute, links resolved: where its build runs */
    const char *file; /* of make: -f FILE; else NULL */
    hn_line *line;
    size_t n, room;
} hn_project;

/* Which kind of project is at `path`: a folder, or one of the files by which build systems are known. */
hone_rc hn_project_find(hn_arena *a, const char *path, hn_project *out, hone_err *err);
/* Reads the commands of make, CMake, ninja into p->line. target: of make and ninja, NULL: the default one. */
hone_rc hn_project_read(hn_arena *a, hn_project *p, const char *target, hone_err *err);
/* Appends those of a text that a build printed. */
void hn_project_take(hn_arena *a, hn_project *p, const char *text, size_t n, const char *dir);

/* Takes a build command of plain calls of compilers and ar, run in the current folder. False: it does something else,
 * too, or something that only a shell understands. */
bool hn_project_take_calls(hn_arena *a, hn_project *p, const char *build);

/* One source and how it is compiled. */
typedef struct hn_draft_unit {
    const char *source;
    const hn_line *line;
} hn_draft_unit;

/* A program flattened: its units, wherever they were archived, and what its link needs besides them. */
typedef struct hn_made {
    const hn_line *link;
    hn_draft_unit *unit;
    size_t n, room;
    const hn_line_part **part; /* of the link, in order: what is no unit */
    size_t n_parts, parts_room;
} hn_made;

/* The program that is wanted: by name, by the words of a run (may be NULL), or the only one. */
hone_rc hn_project_choose(hn_arena *a, const hn_project *p, const char *name, const char *run, const hn_line **out,
                          hone_err *err);
hone_rc hn_project_flatten(hn_arena *a, const hn_project *p, const hn_line *link, hn_made *out, hone_err *err);

#endif
