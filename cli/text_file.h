/* text_file.h — a text that a command reads or writes. */
#ifndef CLI_TEXT_FILE_H
#define CLI_TEXT_FILE_H

#include "cli.h"

/* A whole file, "-" being stdin; *text: free. E_EMPTY: there is nothing in it. */
hone_rc cli_read_bytes(const char *path, char **text, size_t *n, hone_err *err);
/* Whole file, or stdin for "-", NUL-terminated; E_INPUT when it holds a byte 0. */
hone_rc cli_read_text(const char *path, char **out, hone_err *err);
/* Whole or not at all: a reader of the file never sees half of it, and after a failure it is as it was. What is no
 * plain file (a pipe, a device, a link) is written through. */
hone_rc cli_write_text(const char *path, const char *text, hone_err *err);

#endif
