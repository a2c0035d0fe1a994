/* docs/code/try_operation.c — the example of docs/how-to-add-an-operation.md: an operation of one number. */
#include <hone/ir.h>

#include <stdio.h>
#include <string.h>

/* *y = operation(x) as the interpreter computes it in f32. operation: "exp", or with a second input, "max". */
static hone_rc try_operation(const char *operation, int n_in, float x, float *y, hone_err *err) {
    char text[200];
    hone_graph *g;
    hone_array in = {.dtype = HONE_F32, .data = &x}, out;
    snprintf(text, sizeof text, "ir 1\ninput %%x : f32[] \"x\"\n%%y = %s %%x%s\noutput %%y \"y\"\n", operation,
             n_in == 2 ? ", %x" : "");
    hone_rc rc = hone_graph_parse(text, strlen(text), &g, err);
    if (rc) return rc;
    rc = hone_graph_run(g, &in, 1, &out, 1, err);
    if (!rc) {
        memcpy(y, out.data, sizeof *y);
        hone_free(out.data);
    }
    hone_graph_free(g);
    return rc;
}
