/* text_file.c — a file or stdin, whole. */
#include "text_file.h"

#include <stdlib.h>
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

hone_rc cli_read_text(const char *path, char **out, hone_err *err) {
    FILE *f = strcmp(path, "-") ? fopen(path, "rb") : stdin;
    size_t n = 0, room = 0;
    char *text = NULL;
    if (!f) return cli_fail(err, HONE_E_IO, "cannot open '%s'", path);
    for (int k; (k = getc(f)) != EOF;) {
        text = cli_grow(text, &room, n + 1, 1);
        text[n++] = (char)k;
    }
    bool broken = ferror(f);
    if (f != stdin) fclose(f);
    text = cli_grow(text, &room, n + 1, 1);
    text[n] = 0;
    hone_rc rc = broken              ? cli_fail(err, HONE_E_IO, "cannot read '%s'", path)
                 : strlen(text) == n ? HONE_OK
                                     : cli_fail(err, HONE_E_INPUT, "'%s' holds a byte 0; it is no text", path);
    if (rc)
        free(text);
    else
        *out = text;
    return rc;
}
