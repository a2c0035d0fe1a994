/* render TEMPLATE CONTEXT.json: a chat template rendered, on stdout. An error goes to stderr, exit status 1. */
#include "base/fs.h"
#include "text/template.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    char *text = NULL;
    size_t n = 0;
    hn_str out = {0};
    hone_err err = {0};
    json_t *context = argc > 2 ? json_load_file(argv[2], 0, NULL) : NULL;
    if (!context) return 2;
    hone_rc rc = hn_read_file(argv[1], &text, &n, &err);
    if (!rc) rc = hn_template_render(text, n, context, 0, &out, &err);
    if (rc)
        fprintf(stderr, "%s\n", err.text);
    else
        fwrite(out.text ? out.text : "", 1, out.n, stdout);
    hn_str_free(&out);
    free(text);
    json_decref(context);
    return rc != HONE_OK;
}
