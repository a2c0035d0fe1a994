/* sign.c — signatures of precision files. */
#include "precision/precision.h"

#include "base/err.h"
#include "base/fs.h"

#include <hone/precision.h>

#include <stdlib.h>
#include <string.h>

_Static_assert((int)HONE_SIGNER_TEXT == (int)HN_KEY_TEXT, "a signer is a key's text");

static hone_rc sign(const char *path, const char *text, size_t n, const char *secret, hone_err *err) {
    hn_narrow_plan plan;
    hn_str s = {0};
    hone_rc rc = hn_plan_parse(text, n, path, &plan, err);
    if (rc) return rc;
    hn_plan_free(&plan);
    hn_str_add_n(&s, text, n);
    if (!hn_seal_is_there(text, n)) {
        if (n && text[n - 1] != '\n') hn_str_add(&s, "\n");
        hn_seal_add_digest(&s);
    }
    rc = s.failed ? hn_fail(err, HONE_E_NOMEM, "out of memory signing '%s'", path)
                  : hn_seal_sign(path, s.text, s.n, &hn_plan_kind, secret, err);
    hn_str_free(&s);
    return rc;
}

hone_rc hone_precision_sign(const char *path, const char *secret_key_path, hone_err *err) {
    char key[HN_KEY_TEXT], *text = NULL;
    size_t n;
    hone_rc rc = hn_key_file_secret(secret_key_path, key, err);
    if (rc) return rc;
    rc = hn_read_file(path, &text, &n, err);
    if (!rc) rc = sign(path, text, n, key, err);
    for (volatile char *p = key; p < key + sizeof key; p++) *p = 0;
    free(text);
    return rc;
}

hone_rc hone_precision_verify(const char *text, const char *label, const char *public_key_path,
                              char signer[HONE_SIGNER_TEXT], hone_err *err) {
    hn_narrow_plan plan;
    if (signer) *signer = 0;
    hone_rc rc = hn_plan_parse(text, strlen(text), label, &plan, err);
    if (rc) return rc;
    const char *who = plan.signer ? plan.signer : "";
    if (signer) memcpy(signer, who, strlen(who) + 1);
    rc = hn_seal_check_signer(who, label, public_key_path, err);
    hn_plan_free(&plan);
    return rc;
}
