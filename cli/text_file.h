/* text_file.h — a text that a command reads. */
#ifndef CLI_TEXT_FILE_H
#define CLI_TEXT_FILE_H

#include "cli.h"

/* A whole file, "-" being stdin; *text: free. E_EMPTY: there is nothing in it. */
hone_rc cli_read_bytes(const char *path, char **text, size_t *n, hone_err *err);

#endif
