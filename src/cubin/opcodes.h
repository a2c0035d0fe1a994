/* cubin/opcodes.h — opcodes by encoding, as nvdisasm told them before, so that code of a known kind needs no second
 * run.
 *
 * nvdisasm takes 0.3 s of CPU to start and compilers write few kinds of instructions: after the first candidates of a
 * search nearly none are new. A kind is an encoding without its registers, immediates and control word. Where two
 * encodings of one kind were of different classes, the kind is never recalled. Files lie in the cache folder, one for
 * each architecture and each nvdisasm.   Threads: one at a time. */
#ifndef HN_CUBIN_OPCODES_H
#define HN_CUBIN_OPCODES_H

#include "cubin/cubin.h"

typedef struct hn_opcode_kind {
    uint64_t key;
    const char *opcode; /* "IMAD.WIDE.U32"; "?": of several classes */
} hn_opcode_kind;
typedef struct hn_opcodes {
    hn_arena *a;
    const char *path; /* NULL: kept nowhere */
    hn_opcode_kind *kind;
    size_t n, room;
    bool changed;
} hn_opcodes;

/* What is kept about an architecture. Whatever is wrong with the file: nothing is known. */
void hn_opcodes_open(unsigned sm, hn_arena *a, hn_opcodes *out);
/* A file's text into the memo; any text is safe. */
void hn_opcodes_read(const char *text, size_t n, hn_opcodes *io);
/* The instructions of n bytes of code, their texts being opcodes alone; false where one is of no known kind. */
bool hn_opcodes_recall(const hn_opcodes *m, const char *code, size_t n, hn_sass **line);
void hn_opcodes_learn(hn_opcodes *m, const hn_sass *line, size_t n);
/* Writes the file where something was learnt. That it cannot be written is no error. */
void hn_opcodes_keep(hn_opcodes *m);

#endif
