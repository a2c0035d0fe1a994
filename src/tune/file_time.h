/* tune/file_time.h — the time of a program by file, from texts alone: functions of each object as nm lists them,
 * samples as perf or gprof print them.
 *
 * A function that two files have counts for the first. A clone ("f.part.0") counts for its function.
 * Owns: nothing; everything lies in the arena, whose failure is sticky.   Borrows: the sources' names.
 */
#ifndef HN_FILE_TIME_H
#define HN_FILE_TIME_H

#include "base/arena.h"

typedef struct hn_file_symbol {
    const char *name;
    size_t file;
} hn_file_symbol;

typedef struct hn_file_time {
    hn_arena *arena;
    const char *const *source;
    size_t n;
    double *time; /* of each file: samples, seconds */
    hn_file_symbol *symbol;
    size_t n_symbols, room;
} hn_file_time;

/* False: out of memory. */
bool hn_file_time_open(hn_file_time *t, hn_arena *a, const char *const *source, size_t n);
/* Functions of one object, from `nm -P`: NAME TYPE … a line. */
void hn_file_time_symbols(hn_file_time *t, const char *text, size_t file);
/* Samples of `perf script -F ip,sym,dso`, of the program `prog` alone; the flat profile of `gprof -b -p`. */
void hn_file_time_perf(hn_file_time *t, const char *text);
void hn_file_time_gprof(hn_file_time *t, const char *text);
/* The hottest first, at most so many, each with 3 % of the time at least: "SHARE NAME" lines, "" where there are none.
 * Once: it uses the times up. NULL: out of memory. */
const char *hn_file_time_hottest(hn_file_time *t, size_t most, hn_arena *a);

#endif
