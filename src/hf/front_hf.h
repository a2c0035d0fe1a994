/* hf/front_hf.h — the front end of Hugging Face folders. Weights become f32 constants; see compose/decoder.h for the
 * graph that comes of it. */
#ifndef HN_FRONT_HF_H
#define HN_FRONT_HF_H

#include "front/front.h"

extern const hn_front hn_front_hf;

#endif
