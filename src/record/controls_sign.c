/* record/controls_sign.c — key files; signing and verifying controls files.
 *
 * A key file is one line, "hone-secret-key BASE64 comment" or "hone-public-key BASE64 comment". Secret keys are not
 * encrypted: keep them where a build system keeps its other secrets. */
#include "record/controls_file.h"

#include "base/err.h"
#include "base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char secret_word[] = "hone-secret-key", public_word[] = "hone-public-key";
enum { KEY_FILE_MAX = 4096 };

/* Wipes and frees: a secret must not linger in freed memory. */
static void wipe(char *text, size_t n) {
    volatile char *p = text;
    for (size_t i = 0; text && i < n; i++) p[i] = 0;
    free(text);
}

/* --- key files ------------------------------------------------------------------------------------------------- */

/* A new file; E_IO when there is one already. */
static hone_rc create(const char *path, const char *text, mode_t mode, hone_err *err) {
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    if (fd < 0 && errno == EEXIST)
        return hn_fail(err, HONE_E_IO, "'%s' exists; a key is never replaced: choose another name or move it away",
                       path);
    if (fd < 0) return hn_fail(err, HONE_E_IO, "cannot create '%s': %s", path, strerror(errno));
    size_t n = strlen(text);
    bool bad = fchmod(fd, mode) || write(fd, text, n) != (ssize_t)n || fsync(fd);
    int why = errno;
    if (close(fd) && !bad) bad = true, why = errno;
    if (!bad) return HONE_OK;
    unlink(path);
    return hn_fail(err, HONE_E_IO, "cannot write '%s': %s", path, strerror(why));
}

static hone_rc write_pair(const char *path, const char *comment, const char *secret, const char *public,
                          hone_err *err) {
    hn_str pub_path = {0}, s = {0}, p = {0};
    const char *gap = *comment ? " " : "";
    hn_str_addf(&pub_path, "%s.pub", path);
    hn_str_addf(&s, "%s %s%s%s\n", secret_word, secret, gap, comment);
    hn_str_addf(&p, "%s %s%s%s\n", public_word, public, gap, comment);
    hone_rc rc = HONE_OK;
    if (pub_path.failed || s.failed || p.failed)
        rc = hn_fail(err, HONE_E_NOMEM, "out of memory");
    else if (hn_exists(pub_path.text))
        rc = hn_fail(err, HONE_E_IO, "'%s' exists; a key is never replaced: choose another name or move it away",
                     pub_path.text);
    if (!rc) rc = create(path, s.text, 0600, err);
    if (!rc && (rc = create(pub_path.text, p.text, 0644, err))) unlink(path);
    hn_str_free(&pub_path);
    hn_str_free(&p);
    wipe(s.text, s.n);
    return rc;
}

hone_rc hone_key_generate(const char *path, const char *comment, hone_err *err) {
    char secret[HN_KEY_TEXT], public[HN_KEY_TEXT];
    if (!path || !*path) return hn_fail(err, HONE_E_INPUT, "a key file needs a name");
    for (const char *c = comment; c && *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return hn_fail(err, HONE_E_INPUT, "the comment of a key is one line without control characters");
    if (comment && strlen(comment) > KEY_FILE_MAX / 2)
        return hn_fail(err, HONE_E_INPUT, "the comment of a key is too long");
    hone_rc rc = hn_sign_keypair(secret, public, err);
    if (!rc) rc = write_pair(path, comment ? comment : "", secret, public, err);
    for (volatile char *p = secret; p < secret + sizeof secret; p++) *p = 0;
    return rc;
}

static hone_rc read_key(const char *path, const char *word, const char *other, char key[HN_KEY_TEXT], hone_err *err) {
    char *text, found[32], base64[64];
    size_t n;
    hone_rc rc = hn_read_file(path, &text, &n, err);
    if (rc) return rc;
    int got = n <= KEY_FILE_MAX ? sscanf(text, "%31s %63s", found, base64) : 0;
    bool secret = !strcmp(word, secret_word);
    if (got == 2 && !strcmp(found, other))
        rc = hn_fail(err, HONE_E_INPUT, "'%s' is a %s key; %s", path, secret ? "public" : "secret",
                     secret ? "signing needs the secret one" : "give the public one, which ends in .pub");
    else if (got != 2 || strcmp(found, word) != 0 || !hn_is_key(base64))
        rc = hn_fail(err, HONE_E_INPUT, "'%s' is no key file; `hone keygen` makes them", path);
    else
        memcpy(key, base64, HN_KEY_TEXT);
    wipe(text, n);
    for (volatile char *p = base64; p < base64 + sizeof base64; p++) *p = 0;
    return rc;
}

/* --- signing --------------------------------------------------------------------------------------------------- */

static hone_rc sign_text(const char *path, const char *text, size_t n, const char *secret, hone_err *err) {
    hn_seal seal;
    hn_str s = {0};
    hone_rc rc = hn_seal_read(text, n, path, &seal, err);
    if (rc) return rc;
    hn_str_add_n(&s, text, seal.n_signed);
    rc = hn_seal_add_signature(&s, secret, err);
    if (!rc && s.failed) rc = hn_fail(err, HONE_E_NOMEM, "out of memory signing '%s'", path);
    if (!rc) rc = hn_write_file(path, s.text, s.n, err);
    hn_str_free(&s);
    return rc;
}

hone_rc hn_signer_check(const hone_controls *c, const char *path, const char *public_key_path, hone_err *err) {
    char key[HN_KEY_TEXT] = "";
    hone_rc rc = public_key_path ? read_key(public_key_path, public_word, secret_word, key, err) : HONE_OK;
    if (rc) return rc;
    if (!*c->signer) return hn_fail(err, HONE_E_NOTFOUND, "'%s' is not signed; `hone sign` signs it", path);
    if (*key && strcmp(key, c->signer) != 0)
        return hn_fail(err, HONE_E_MISMATCH, "'%s' is signed with another key: %s, not %s of '%s'", path, c->signer,
                       key, public_key_path);
    return HONE_OK;
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
    hone_rc rc = read_key(secret_key_path, secret_word, public_word, key, err);
    if (rc) return rc;
    rc = hone_controls_read(path, &c, err);
    if (!rc) rc = response_fits(c, path, err);
    if (!rc) rc = hn_read_file(path, &text, &n, err);
    if (!rc) rc = sign_text(path, text, n, key, err);
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
