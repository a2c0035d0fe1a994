/* gguf/arch.h — architectures: how a GGUF file's keys and tensors make a decoder. A new one is a row in arch.c. */
#ifndef HN_ARCH_H
#define HN_ARCH_H

#include "compose/decoder.h"
#include "gguf/gguf.h"

typedef struct hn_arch {
    const char *name; /* `general.architecture` */
    const char *summary;
    bool interleaved;      /* rotary pairs are neighbours */
    bool gelu;             /* the gate's function */
    bool scaled_embedding; /* times the square root of the width */
    int64_t window_every;  /* see hn_decoder; 0: the window, if any, is not used */
    double base_local;     /* see hn_decoder */
} hn_arch;

/* NULL past the end; NULL: not known. */
const hn_arch *hn_arch_at(size_t i);
const hn_arch *hn_arch_named(const char *name, size_t n);

/* Fills all of *out but `weight` and `arg` from the file's keys. E_INPUT: a key is missing or makes no sense (names
 * it); E_UNSUPPORTED: keys that say something which is not read. */
hone_rc hn_arch_read(const hn_arch *a, const hn_gguf *g, hn_decoder *out, hone_err *err);

/* The name of the tensor of a role; "" where there is none. layer is ignored by roles of the whole model. */
void hn_arch_tensor(hn_decoder_role role, int64_t layer, char *out, size_t room);

#endif
