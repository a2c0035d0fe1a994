/* text_file.c — a file or stdin, whole. */
#include "text_file.h"

#include <string.h>

hone_rc cli_read_bytes(const char *path, char **out, size_t *n, hone_err *err) {
    FILE *f = strcmp(path, "-") ? fopen(path, "rb") : stdin;
    size_t room = 0;
    if (!f) return cli_fail(err, HONE_E_IO, "cannot open '%s'", path);
    for (int k; (k = getc(f)) != EOF;) {
        *out = cli_grow(*out, &room, *n, 1);
        (*out)[(*n)++] = (char)k;
    }
    if (f != stdin) fclose(f);
    return *n ? HONE_OK : cli_fail(err, HONE_E_EMPTY, "'%s' is empty", path);
}
