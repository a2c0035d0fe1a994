/* front/about_decoder.h — what `hone inspect` says of language models, whatever their format. */
#ifndef HN_ABOUT_DECODER_H
#define HN_ABOUT_DECODER_H

#include "compose/decoder.h"
#include "front/summary.h"

/* Sizes, experts, and what a token costs, as facts and as lines. */
void hn_summary_decoder(hn_model_summary *s, const hn_decoder *d, const hn_decoder_cost *c);

#endif
