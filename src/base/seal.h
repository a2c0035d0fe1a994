/* base/seal.h — the end of a file that shows changes: a digest and, where it was signed, a signature.
 *
 *     … body …
 *     digest: 32 hex digits            BLAKE2b-128 of the body
 *     signature:                       optional: Ed25519 of all before it
 *       key: base64
 *       value: base64
 *
 * A key file is one line, "hone-secret-key BASE64 comment" or "hone-public-key BASE64 comment". Secret keys are not
 * encrypted: keep them where a build system keeps its other secrets.
 * Threads: re-entrant.   Errors: E_INPUT (cut short; no key file), E_TAMPERED (digest or signature does not fit),
 * E_NOTFOUND (not signed), E_MISMATCH (signed with another key), E_IO, E_NOMEM.
 */
#ifndef HN_SEAL_H
#define HN_SEAL_H

#include "base/sign.h"
#include "base/str.h"

/* What messages call the file, and what is to be done when it was changed. */
typedef struct hn_seal_kind {
    const char *name, *remedy;
} hn_seal_kind;

typedef struct hn_seal {
    size_t n_body, n_signed; /* bytes: without digest line; with it, without signature */
    bool has_signature;
    char key[HN_KEY_TEXT]; /* whose the signature is; "" without one */
} hn_seal;
/* Checks the end of a text. */
hone_rc hn_seal_read(const char *text, size_t n, const char *label, const hn_seal_kind *kind, hn_seal *out,
                     hone_err *err);
/* Does it contain a signature block, even a damaged one? And that or a line that begins as a digest does? */
bool hn_seal_looks_signed(const char *text, size_t n);
bool hn_seal_is_there(const char *text, size_t n);
/* Appends the digest line for what is in s. */
void hn_seal_add_digest(hn_str *s);
/* Appends a signature of all that is in s. */
hone_rc hn_seal_add_signature(hn_str *s, const char *secret, hone_err *err);
/* Writes the text, sealed already, with a signature to the path; an earlier one is replaced. */
hone_rc hn_seal_sign(const char *path, const char *text, size_t n, const hn_seal_kind *kind, const char *secret,
                     hone_err *err);
/* Is `signer` ("": nobody) that of the public key file (NULL: anybody)? path: the signed file, for messages. */
hone_rc hn_seal_check_signer(const char *signer, const char *path, const char *public_key_path, hone_err *err);

/* key_file.c: writes `path` (mode 0600) and `path`.pub, neither of which may exist (E_IO). comment: one line. */
hone_rc hn_key_file_make(const char *path, const char *comment, hone_err *err);
hone_rc hn_key_file_secret(const char *path, char key[HN_KEY_TEXT], hone_err *err);
hone_rc hn_key_file_public(const char *path, char key[HN_KEY_TEXT], hone_err *err);

#endif
