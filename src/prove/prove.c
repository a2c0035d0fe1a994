/* prove/prove.c — what all of the room shares. */
#include <hone/prove.h>

hone_prove_options hone_prove_defaults(void) { return (hone_prove_options){.cpu = -1, .min_gain = -1}; }
