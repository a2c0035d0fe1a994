/* record/controls_sign.c — signing and verifying controls files. */
#include "record/controls_file.h"

#include "base/err.h"
#include "base/fs.h"

#include <stdlib.h>

hone_rc hone_key_generate(const char *path, const char *comment, hone_err *err) {
    return hn_key_file_make(path, comment, err);
}

hone_rc hn_signer_check(const hone_controls *c, const char *path, const char *public_key_path, hone_err *err) {
    return hn_seal_check_signer(c->signer, path, public_key_path, err);
}

/* A missing response file must not be reported as "not signed" (E_NOTFOUND). */
static hone_rc response_fits(const hone_controls *c, const char *path, hone_err *err) {
    hone_err why = {0};
    hone_rc rc = hn_rsp_check(c, path, &why);
    return rc ? hn_fail(err, rc == HONE_E_NOTFOUND ? HONE_E_IO : rc, "%s", why.text) : HONE_OK;
}

hone_rc hone_controls_sign(const char *path, const char *secret_key_path, hone_err *err) {
    char key[HN_KEY_TEXT], *text = NULL;
    size_t n;
    hone_controls *c = NULL;
    hone_rc rc = hn_key_file_secret(secret_key_path, key, err);
    if (rc) return rc;
    rc = hone_controls_read(path, &c, err);
    if (!rc) rc = response_fits(c, path, err);
    if (!rc) rc = hn_read_file(path, &text, &n, err);
    if (!rc) rc = hn_seal_sign(path, text, n, &hn_controls_kind, key, err);
    for (volatile char *p = key; p < key + sizeof key; p++) *p = 0;
    free(text);
    hone_controls_free(c);
    return rc;
}

hone_rc hone_controls_verify(const char *path, const char *public_key_path, hone_err *err) {
    hone_controls *c = NULL;
    hone_rc rc = hone_controls_read(path, &c, err);
    if (rc) return rc;
    rc = hn_signer_check(c, path, public_key_path, err);
    if (!rc) rc = response_fits(c, path, err);
    hone_controls_free(c);
    return rc;
}
