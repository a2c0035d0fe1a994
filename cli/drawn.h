/* drawn.h — random inputs of a model file: which sizes were chosen, what integers and masks look like. */
#ifndef CLI_DRAWN_H
#define CLI_DRAWN_H

#include "model_io.h"

typedef struct cli_drawn {
    char *sizes;  /* "batch=1,seq=128"; "": there are none */
    char *said;   /* a line for each input that is not plain */
    bool partial; /* some of the sizes were not given */
} cli_drawn;

/* Draws inputs; path: the model file, or a library, which is asked which usual sizes it takes. */
hone_rc cli_drawn_arrays(const cli *c, const char *path, const hone_model *m, uint64_t seed, cli_arrays *in,
                         cli_drawn *out, hone_err *err);
/* As above with the graph there already. */
hone_rc cli_drawn_of(const cli *c, const hone_graph *g, const hone_model *m, uint64_t seed, cli_arrays *in,
                     cli_drawn *out, hone_err *err);
void cli_drawn_put(const cli *c, const cli_drawn *d);
void cli_drawn_json(cli_json *j, const cli_drawn *d); /* members `sizes` and `drawn` of an object */
void cli_drawn_free(cli_drawn *d);

#endif
