/* target/line.h — commands as a build prints them, taken apart: what is compiled, archived or linked, and with what.
 *
 * Only the command lines of gcc and clang are understood, and those of ar; what else a build does is HN_LINE_OTHER.
 * Paths are made absolute by the folder that the command runs in; no file is looked at, but for response files.
 * Owns: nothing; all texts live in the caller's arena, whose failure is sticky.
 */
#ifndef HN_LINE_H
#define HN_LINE_H

#include "target/family.h"

typedef enum hn_line_makes {
    HN_LINE_OTHER,
    HN_LINE_OBJECT,  /* compiled, not linked; from several files several objects */
    HN_LINE_ARCHIVE, /* objects gathered */
    HN_LINE_SHARED,  /* a shared library */
    HN_LINE_PROGRAM,
} hn_line_makes;

typedef enum hn_part_kind {
    HN_PART_BOTH,    /* compiling and linking need it */
    HN_PART_COMPILE, /* compiling alone: macros, folders of headers, warnings, the language's version */
    HN_PART_LINK,    /* linking alone */
    HN_PART_TUNE,    /* hone chooses it */
    HN_PART_INPUT,   /* a file: source, object, library */
    HN_PART_LIBRARY, /* a library by its name; `lead` is the whole word, `name` its name */
    HN_PART_LIBDIR,  /* where libraries are looked for */
} hn_part_kind;

/* One option with its argument, or one file. Written as lead, then (as the next word when `apart`) path. */
typedef struct hn_line_part {
    hn_part_kind kind;
    const char *lead; /* "" for a file */
    const char *path; /* absolute; NULL: there is none */
    const char *name; /* an argument that is no path, or a library's name; NULL: none */
    bool apart;
} hn_line_part;

typedef struct hn_line {
    hn_line_makes makes;
    const char *dir, *compiler; /* compiler: as written; NULL: ar */
    const hn_family *family;
    const char *output; /* absolute; NULL for objects named after their sources */
    hn_line_part *part;
    size_t n, room;
} hn_line;

/* word: without quotes, n of them. */
void hn_line_read(hn_arena *a, const char *dir, const char *const *word, size_t n, hn_line *out);
/* The object that compiling `source` leaves in this line when none is named. */
const char *hn_line_object(hn_arena *a, const hn_line *line, const char *source);
/* dir/path without "." and ".."; links are not followed. */
const char *hn_line_path(hn_arena *a, const char *dir, const char *path);
/* Is it a file that such a compiler makes an object of: of a language it knows, or assembly? */
bool hn_line_is_source(const char *path);
/* Does this compiler take the file for another language than the command's own (C for g++)? Then the words that say
 * so; else NULL. */
const char *hn_line_language(const char *compiler, const char *path);
/* The plain command that means the same program as one that a build wrote ("/usr/bin/cc": "gcc"), so that a workload
 * can name it; as written where there is none. */
const char *hn_line_command(hn_arena *a, const char *written);
/* The words that turn that off for the files that follow. */
const char *hn_line_no_language(void);

#endif
