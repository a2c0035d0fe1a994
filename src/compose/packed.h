/* compose/packed.h — products and look-ups with weights that may be packed: a weight is any value [rows, columns];
 * where hn_unpack made it, its bytes are multiplied as they are. Errors: as in compose/compose.h. */
#ifndef HN_COMPOSE_PACKED_H
#define HN_COMPOSE_PACKED_H

#include "compose/compose.h"

struct hn_codec;
/* What products with packed weights do with the other operand: nothing; round it to int8 in blocks of 32; to int8, and
 * words that stand out to two bytes an element; to two bytes. */
typedef enum hn_activations { HN_FLOAT, HN_INT8, HN_INT8_AUTO, HN_INT8X2 } hn_activations;
/* "float", "int8", "auto" or "int8x2"; NULL: float where `exact`, else the usual one. E_USAGE. */
hone_rc hn_activations_named(const char *name, bool exact, hn_activations *out, hone_err *err);
/* The elements, f32 of this shape, of packed bytes u8 [.., rows, bytes of a row]. how: of products with them, where the
 * codec allows it; else they are exact. */
hn_val hn_unpack(hn_builder *b, hn_val bytes, const struct hn_codec *c, size_t rank, const hn_dim *shape,
                 hn_activations how);
bool hn_is_packed(const hn_builder *b, hn_val w);
/* x [.., k] times w [n, k], transposed: [.., n]. */
hn_val hn_weight_product(hn_builder *b, hn_val x, hn_val w);
/* x [rows, k], packed w [matrices, n, k], index [rows]: row i times matrix index[i], [rows, n]. 0 where w is not
 * packed. */
hn_val hn_weight_product_chosen(hn_builder *b, hn_val x, hn_val w, hn_val index);
/* Rows of w [n, k] at index [..]: [.., k]. */
hn_val hn_weight_rows(hn_builder *b, hn_val w, hn_val index);

#endif
