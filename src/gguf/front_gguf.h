/* gguf/front_gguf.h — the front end of GGUF files. Weights of any type become f32 constants; see compose/decoder.h for
 * the graph that comes of it. */
#ifndef HN_FRONT_GGUF_H
#define HN_FRONT_GGUF_H

#include "front/front.h"

extern const hn_front hn_front_gguf;

#endif
