/* base/sign.h — Ed25519 signatures (RFC 8032, libsodium underneath); keys and signatures are base64 texts.
 *
 * A secret key is its 32-byte seed. Texts are accepted only as this module writes them, so that no two texts stand for
 * one key or signature. Threads: re-entrant.
 */
#ifndef HN_SIGN_H
#define HN_SIGN_H

#include <hone/base.h>

enum { HN_KEY_TEXT = 45, HN_SIGNATURE_TEXT = 89 }; /* with the terminator */

/* A fresh pair of keys. E_FAILED when the system gives no randomness. */
hone_rc hn_sign_keypair(char secret[HN_KEY_TEXT], char public[HN_KEY_TEXT], hone_err *err);
/* Signs n bytes; gives the public key that belongs to the secret one too. E_INPUT: not a secret key. */
hone_rc hn_sign(const char *secret, const void *data, size_t n, char public[HN_KEY_TEXT],
                char signature[HN_SIGNATURE_TEXT], hone_err *err);
/* Does the signature fit? False, too, for texts that are no key or signature. */
bool hn_sign_holds(const char *public, const char *signature, const void *data, size_t n);
bool hn_is_key(const char *text);

/* Base64 of n bytes, to be freed; NULL: no memory. */
char *hn_base64(const void *data, size_t n);

#endif
