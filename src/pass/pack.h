/* pass/pack.h — what the files of pass `pack` share. */
#ifndef HN_PACK_H
#define HN_PACK_H

#include "pass/rewrite.h"

hn_val hn_pack_conv(hn_rewriter *r, const hn_node *node); /* a rule (pass/rewrite.h) for convolutions */

#endif
