/* controls_files.h — controls files, and other files that are signed, as commands name them: files, folders, patterns.
 */
#ifndef CLI_CONTROLS_FILES_H
#define CLI_CONTROLS_FILES_H

#include "cli.h"

typedef struct cli_paths {
    char **path;
    size_t n, room;
    bool precision; /* folders stand for precision files, too */
} cli_paths;

/* The controls files that the operands stand for, in order, none twice: a file as it is; of a folder (none given: the
 * current one) all "*.hone" in it and below, hidden folders left out; a pattern that the shell left alone. E_NOTFOUND
 * when an operand stands for none. Free with cli_paths_free. */
hone_rc cli_controls_files(const cli *c, cli_paths *out, hone_err *err);
/* As cli_controls_files, with all "*.precision" of folders, too. */
hone_rc cli_signed_files(const cli *c, cli_paths *out, hone_err *err);
/* By its name, or, where that ends in neither way, by its content. */
bool cli_is_precision_file(const char *path);
void cli_paths_free(cli_paths *p);

#endif
