/* cmd_keygen.c — `hone keygen`: a pair of keys to sign controls files with. */
#include "cli.h"

#include <hone/controls.h>

#include <stdlib.h>

static hone_rc run_keygen(cli *c, hone_err *err) {
    const char *path = c->arg[0];
    hone_rc rc = hone_key_generate(path, cli_text(c, "comment", NULL), err);
    if (rc) return rc;
    char *pub = cli_format("%s.pub", path);
    if (c->json) {
        cli_json j = cli_json_begin(c, false);
        cli_json_object(&j);
        cli_json_ktext(&j, "secret", path);
        cli_json_ktext(&j, "public", pub);
        cli_json_end(&j);
    } else {
        printf("secret key: %s (keep it as you keep other secrets of your builds: it has no passphrase)\n"
               "public key: %s (commit it; `hone check --key %s` asks for it)\n",
               path, pub, pub);
    }
    free(pub);
    return HONE_OK;
}

static const cli_option options[] = {
    {"comment", 'C', CLI_TEXT, "TEXT", 0, 0, "one line kept in both files: whose key this is"},
    {0},
};

const cli_command cli_cmd_keygen = {
    "keygen",
    "Keep",
    "PATH",
    "make a pair of keys to sign controls files with",
    "Writes an Ed25519 key pair: the secret key to PATH, readable by its owner alone, the public key to PATH.pub. "
    "Existing files are never replaced. The secret key is not encrypted: there is no passphrase.",
    options,
    "hone keygen ~/.config/hone/team --comment \"kernels team\"\tteam and team.pub\n"
    "hone sign softmax.hone --key ~/.config/hone/team\tuse it\n",
    1,
    1,
    run_keygen,
};
