/* cmd_verify.c — `hone verify`: whose signature is on controls and precision files? and: does a compiled model compute
 * what it should? */
#include "controls_files.h"
#include "text_file.h"
#include "verify_model.h"

#include <hone/controls.h>
#include <hone/precision.h>

#include <stdlib.h>
#include <string.h>

/* What a failure means for a file; others are hone's own. */
static const struct {
    hone_rc rc;
    const char *status;
} outcome[] = {
    {HONE_OK, "signed"},           {HONE_E_NOTFOUND, "unsigned"}, {HONE_E_MISMATCH, "other key"},
    {HONE_E_TAMPERED, "tampered"}, {HONE_E_INPUT, "unreadable"},  {HONE_E_IO, "unreadable"},
};

static const char *status_of(hone_rc rc) {
    for (size_t i = 0; i < sizeof outcome / sizeof *outcome; i++)
        if (outcome[i].rc == rc) return outcome[i].status;
    return "error";
}

typedef struct verified {
    const char *path;
    hone_rc rc;
    char *signer, *text;
} verified;

static void verify_precision(const char *path, const char *key, verified *out) {
    hone_err err = {0};
    char *text = NULL, signer[HONE_SIGNER_TEXT] = "";
    *out = (verified){.path = path, .rc = cli_read_text(path, &text, &err)};
    if (!out->rc) out->rc = hone_precision_verify(text, path, key, signer, &err);
    out->text = cli_strdup(out->rc ? err.text : "");
    out->signer = *signer ? cli_strdup(signer) : NULL;
    free(text);
}

static void verify_controls(const char *path, const char *key, verified *out) {
    hone_err err = {0};
    hone_controls *c;
    *out = (verified){.path = path, .rc = hone_controls_verify(path, key, &err)};
    out->text = cli_strdup(out->rc ? err.text : "");
    if (hone_controls_read(path, &c, NULL)) return;
    out->signer = *c->signer ? cli_strdup(c->signer) : NULL;
    hone_controls_free(c);
}

static void verify_one(const char *path, const char *key, verified *out) {
    (cli_is_precision_file(path) ? verify_precision : verify_controls)(path, key, out);
}

static void put_json(cli *c, const verified *list, size_t n) {
    cli_json j = cli_json_begin(c, false);
    cli_json_object(&j);
    cli_json_key(&j, "files");
    cli_json_array(&j);
    for (size_t i = 0; i < n; i++) {
        cli_json_object(&j);
        cli_json_ktext(&j, "file", list[i].path);
        cli_json_ktext(&j, "status", status_of(list[i].rc));
        cli_json_ktext(&j, "signer", list[i].signer);
        cli_json_ktext(&j, "text", list[i].text);
        cli_json_close(&j);
    }
    cli_json_end(&j);
}

static void put_text(const cli *c, const verified *x, bool key) {
    cli_put(c, stdout, x->path, 0);
    if (x->rc)
        printf(": %s: %s\n", status_of(x->rc), x->text);
    else
        printf(": signed by %s%s\n", x->signer, key ? "" : ", whoever that is: name the key you trust with --key");
}

static hone_rc verify_signed(cli *c, hone_err *err) {
    cli_paths files;
    const char *key = cli_text(c, "key", NULL);
    hone_rc rc = cli_signed_files(c, &files, err), worst = HONE_OK;
    if (rc) return rc;
    verified *list = cli_alloc(files.n + 1, sizeof *list);
    for (size_t i = 0; i < files.n; i++) {
        verify_one(files.path[i], key, &list[i]);
        if (hone_rc_exit(list[i].rc) > hone_rc_exit(worst)) worst = list[i].rc;
        if (!c->json) put_text(c, &list[i], key != NULL);
    }
    if (c->json) put_json(c, list, files.n);
    c->exit_code = hone_rc_exit(worst);
    for (size_t i = 0; i < files.n; i++) free(list[i].signer), free(list[i].text);
    free(list);
    cli_paths_free(&files);
    return HONE_OK;
}

/* By file kind: models one at a time, signed files as many as there are. */
static hone_rc run_verify(cli *c, hone_err *err) {
    bool any = false;
    for (size_t i = 0; i < c->n_args; i++) any = any || cli_is_model(c->arg[i]);
    if (!any) return verify_signed(c, err);
    if (c->n_args > 1) return cli_fail(err, HONE_E_USAGE, "name one model at a time");
    if (cli_given(c, "precision")) return cli_verify_precision(c, c->arg[0], err);
    return (cli_given(c, "exactness") ? cli_verify_exactness : cli_verify_model)(c, c->arg[0], err);
}

static const cli_option options[] = {
    {"key", 'k', CLI_TEXT, "PUB", 0, 0, "the public key you trust; without it, only damage is found"},
    CLI_VERIFY_MODEL_OPTIONS,
    CLI_PLACE_OPTION,
    CLI_COMPILE_OPTIONS,
    CLI_PRECISION_OPTIONS,
    CLI_STATE_OPTION,
    {0},
};

const cli_command cli_cmd_verify = {
    "verify",
    "Keep",
    "FILE...",
    "check the signatures of controls and precision files, or a compiled model",
    "Says for each controls file whether its signature fits the file, its response file and the key. Without --key the "
    "signature is checked against the key that the file names itself, which finds damage but says nothing of who "
    "signed. "
    "A "
    "folder stands for all `*.hone` and `*.precision` below it. Of a precision file it is the file alone.\n\n"
    "Exit status, the highest of all files: 0 signed, 3 and 4 unreadable or without its response file, 6 not signed, "
    "11 "
    "signed with another key, 20 changed since it was signed.\n\n"
    "A model file is compiled and run on random inputs, and every output is checked against the reference interpreter, "
    "or "
    "against ONNX Runtime. The exit status is 1 when an output is outside the tolerance: 1e-3 of an element and 1e-4, "
    "and "
    "without --rtol and --atol where values pass through fewer bits than f32 has, such as f16, eight units of that "
    "type "
    "in the output, by its largest element and in root mean square.\n\n"
    "With --exactness a model is evaluated in double, every value and constant of it, and what is told of each output "
    "is "
    "the difference of hone, of a peer (ONNX Runtime where it is installed), and of the model itself when its inputs "
    "move by one unit in the last place. A model that makes many roundings of one is called chaotic.\n\n"
    "A model with state (`--state`) is run for --steps steps from a reset on, on new inputs each; the reference is "
    "handed "
    "the state that its own last step left.",
    options,
    "hone verify softmax.hone --key team.pub\tis this what the team signed?\n"
    "hone verify kernels --key team.pub\tall below a folder\n"
    "hone verify bert.onnx --against onnxruntime\tis the compiled model right?\n"
    "hone verify bert.onnx --exactness\tdoes it round more than others?\n",
    1,
    -1,
    run_verify,
};
