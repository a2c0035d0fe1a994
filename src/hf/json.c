/* json.c — see json.h. */
#include "hf/json.h"
#include "base/err.h"
#include "base/fs.h"

#include <stdlib.h>
#include <unistd.h>

hone_rc hn_json_parse(const char *text, size_t n, const char *label, json_t **out, hone_err *err) {
    json_error_t why;
    json_t *j = json_loadb(text, n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
    if (!j)
        return hn_fail(err, HONE_E_INPUT, "%s:%d:%d: %s; the file is damaged: fetch it again", label, why.line,
                       why.column, why.text);
    if (json_is_object(j)) {
        *out = j;
        return HONE_OK;
    }
    json_decref(j);
    return hn_fail(err, HONE_E_INPUT, "'%s' is no JSON object; the file is damaged: fetch it again", label);
}

hone_rc hn_json_read(const char *folder, const char *name, json_t **out, hone_err *err) {
    char *text = NULL, *path = hn_path_join(folder, name);
    size_t n = 0;
    if (!path) return hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", name);
    hone_rc rc = access(path, F_OK) ? hn_fail(err, HONE_E_NOTFOUND, "there is no '%s'", path)
                                    : hn_read_file(path, &text, &n, err);
    if (!rc) rc = hn_json_parse(text, n, path, out, err);
    free(text);
    free(path);
    return rc;
}
