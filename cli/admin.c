/* admin.c — admin calls of a running server. */
#include "admin.h"

#include <hone/serve.h>

#include <stdlib.h>

hone_rc cli_admin_ask(const cli *c, const char *path, json_t *body, json_t **reply, hone_err *err) {
    char *usual = hone_serve_admin_path((uint16_t)cli_count(c, "port", 8000)), *answer = NULL;
    char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    const char *socket = cli_text(c, "admin", usual);
    hone_rc rc = !socket || (body && !text) ? cli_fail(err, HONE_E_NOMEM, "out of memory")
                                            : hone_serve_ask(socket, path, text, &answer, err);
    json_decref(body);
    if (!rc && !(*reply = json_loads(answer, 0, NULL)))
        rc = cli_fail(err, HONE_E_IO, "what answers at '%s' is no hone serve", socket);
    hone_free(usual);
    hone_free(answer);
    free(text);
    return rc;
}

void cli_admin_print(cli *c, const json_t *o) {
    char *text = json_dumps(o, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    cli_json j = cli_json_begin(c, false);
    cli_json_raw(&j, text);
    cli_json_end(&j);
    free(text);
}

const char *cli_admin_text(const json_t *o, const char *key) {
    const char *text = json_string_value(json_object_get(o, key));
    return text ? text : "";
}
