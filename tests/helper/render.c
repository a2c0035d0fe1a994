/* render TEMPLATE CONTEXTS.json: a chat template rendered for each object of a list, on stdout: '+' and the text, or
 * '-' and the error, each ended by a byte 0. */
#include "base/fs.h"
#include "text/template.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    char *text = NULL;
    size_t n = 0, i;
    hone_err err = {0};
    json_t *list = argc > 2 ? json_load_file(argv[2], 0, NULL) : NULL, *context;
    if (!list || hn_read_file(argv[1], &text, &n, &err)) return 2;
    json_array_foreach(list, i, context) {
        hn_str out = {0};
        hone_rc rc = hn_template_render(text, n, context, 0, &out, &err);
        printf("%c", rc ? '-' : '+');
        if (rc)
            printf("%s", err.text);
        else
            fwrite(out.text ? out.text : "", 1, out.n, stdout);
        putchar(0);
        hn_str_free(&out);
    }
    free(text);
    json_decref(list);
    return 0;
}
