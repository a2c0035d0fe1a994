/* target/driver/driver.h — the program `hone-nvrtc`, `hone-clang-cuda`, `hone-opencl`: compilers that are libraries, or
 * need another one behind them, as commands with an input, -o and options.
 *
 * Built apart and carried inside the library (target/carried.c), which writes it out with settings at its end:
 * "key=value" lines, then their length in 16 digits and "HONE-GPU-CC\n". Key `mode` says which of them it is.
 * Nothing is freed: it runs for one compilation.
 */
#ifndef HN_DRIVER_H
#define HN_DRIVER_H

#include <stdbool.h>
#include <stddef.h>

typedef struct hn_words {
    const char **word; /* NULL-terminated */
    size_t n, room;
} hn_words;
void hn_words_add(hn_words *w, const char *text);
/* "FORMATted" texts; ends the program where memory is short. */
char *hn_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

typedef struct hn_job {
    const char *name;               /* "hone-nvrtc": begins every message */
    const char *input, *out, *arch; /* arch: "sm_90" */
    bool ptx;                       /* text instead of machine code */
    hn_words options, ptxas;        /* as given; what goes to ptxas alone */
    bool version, where;
} hn_job;

/* A setting of this copy; NULL: it has none. */
const char *hn_setting(const char *key);
/* Prints "NAME: …" and gives 1. */
int hn_complain(const hn_job *job, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The whole file, NUL-terminated; NULL after a complaint. */
char *hn_slurp(const hn_job *job, const char *path, size_t *n);
int hn_store(const hn_job *job, const char *path, const void *data, size_t n);

int hn_nvrtc(hn_job *job);
int hn_clang_cuda(hn_job *job);
int hn_opencl(hn_job *job);

#endif
