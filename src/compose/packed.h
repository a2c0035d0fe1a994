/* compose/packed.h — products and look-ups with weights that may be packed: a weight is any value [rows, columns];
 * where hn_unpack made it, its bytes are multiplied as they are. Errors: as in compose/compose.h. */
#ifndef HN_COMPOSE_PACKED_H
#define HN_COMPOSE_PACKED_H

#include "compose/compose.h"

struct hn_codec;
/* The elements, f32 of this shape, of packed bytes u8 [.., rows, bytes of a row]. int8: products round what they are
 * multiplied with to int8 in blocks of 32, where the codec allows it; else they are exact. */
hn_val hn_unpack(hn_builder *b, hn_val bytes, const struct hn_codec *c, size_t rank, const hn_dim *shape, bool int8);
bool hn_is_packed(const hn_builder *b, hn_val w);
/* x [.., k] times w [n, k], transposed: [.., n]. */
hn_val hn_weight_product(hn_builder *b, hn_val x, hn_val w);
/* x [rows, k], packed w [matrices, n, k], index [rows]: row i times matrix index[i], [rows, n]. 0 where w is not
 * packed. */
hn_val hn_weight_product_chosen(hn_builder *b, hn_val x, hn_val w, hn_val index);
/* Rows of w [n, k] at index [..]: [.., k]. */
hn_val hn_weight_rows(hn_builder *b, hn_val w, hn_val index);

#endif
