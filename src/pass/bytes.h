/* pass/bytes.h — products of bytes: what the passes that lay out their operands share. */
#ifndef HN_BYTES_H
#define HN_BYTES_H

#include "pass/rewrite.h"

/* Steps of a sum of such products that lie in one word (nest/words.c). */
enum { HN_WORD = 4 };

/* A contraction or convolution of unsigned bytes and constant signed ones, with sums in 32 bits? */
bool hn_multiplies_bytes(const hn_graph *g, const hn_node *n);

/* A convolution whose channels each have weights of their own, floats, of an image of unsigned bytes: sums in f32. */
bool hn_widens_bytes(const hn_graph *g, const hn_node *n);

/* A contraction or convolution of bf16 and constant ones, with sums in f32? Steps of a sum that lie in one word. */
bool hn_multiplies_halves(const hn_graph *g, const hn_node *n);
enum { HN_PAIR = 2 };

/* Where the columns of a product's weights are, and what it sums over: of the weights, of the other operand. */
typedef struct hn_byte_form {
    size_t axis, sum, x_sum;
    bool own;         /* each channel has weights of its own, which stay floats; sum, x_sum: the channels */
    bool bytes_alone; /* such, or of few weights: pays in bytes, not in bf16 */
} hn_byte_form;
/* A product of floats with constant weights that would be one of bytes if both were quantised? */
bool hn_could_multiply_bytes(const hn_graph *g, const hn_node *n, hn_byte_form *out);

#endif
