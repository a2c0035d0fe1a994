/* cmd_sign.c — `hone sign`: signs controls files and precision files in place. */
#include "controls_files.h"

#include <hone/controls.h>
#include <hone/precision.h>

#include <stdlib.h>

static hone_rc sign_all(cli *c, const cli_paths *files, const char *key, hone_err *err) {
    cli_json j = {0};
    hone_rc rc = HONE_OK;
    size_t n = 0;
    for (; n < files->n && !rc; n += !rc) {
        rc = (cli_is_precision_file(files->path[n]) ? hone_precision_sign : hone_controls_sign)(files->path[n], key,
                                                                                                err);
        if (!rc && !c->json) printf("%s: signed\n", files->path[n]);
    }
    if (rc || !c->json) return rc;
    j = cli_json_begin(c, false);
    cli_json_object(&j);
    cli_json_key(&j, "signed");
    cli_json_array(&j);
    for (size_t i = 0; i < n; i++) cli_json_text(&j, files->path[i]);
    cli_json_end(&j);
    return HONE_OK;
}

static hone_rc run_sign(cli *c, hone_err *err) {
    cli_paths files;
    const char *key = cli_text(c, "key", NULL);
    if (!key) return cli_fail(err, HONE_E_USAGE, "name the secret key with --key; `hone keygen` makes one");
    hone_rc rc = cli_signed_files(c, &files, err);
    if (rc) return rc;
    rc = sign_all(c, &files, key, err);
    cli_paths_free(&files);
    return rc;
}

static const cli_option options[] = {
    {"key", 'k', CLI_TEXT, "SECRET", 0, 0, "the secret key, as `hone keygen` wrote it"},
    {0},
};

const cli_command cli_cmd_sign = {
    "sign",
    "Keep",
    "FILE...",
    "sign controls files and precision files",
    "Signs each controls file in place with Ed25519: a block at its end, over every byte before it, the hash of the "
    "response file among them. An earlier signature is replaced. A file that was changed since it was written, or "
    "whose "
    "response file was, is refused. A precision file (of `hone compile --precision`) is signed by the same keys. Once "
    "signed it is used only as it was signed: to edit it, remove its last lines from `digest:` on. A folder stands for "
    "all "
    "`*.hone` and `*.precision` below it.",
    options,
    "hone sign softmax.hone --key ~/.config/hone/team\tone file\n"
    "hone sign kernels --key ~/.config/hone/team\tall below a folder\n"
    "hone sign build/model.precision --key ~/.config/hone/team\twhich products are in bytes\n",
    1,
    -1,
    run_sign,
};
