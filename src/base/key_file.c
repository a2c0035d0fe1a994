/* base/key_file.c — key files of signatures. */
#include "base/seal.h"

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

hone_rc hn_key_file_make(const char *path, const char *comment, hone_err *err) {
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

hone_rc hn_key_file_secret(const char *path, char key[HN_KEY_TEXT], hone_err *err) {
    return read_key(path, secret_word, public_word, key, err);
}

hone_rc hn_key_file_public(const char *path, char key[HN_KEY_TEXT], hone_err *err) {
    return read_key(path, public_word, secret_word, key, err);
}
