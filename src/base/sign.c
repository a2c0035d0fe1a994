/* base/sign.c — Ed25519 through libsodium. */
#include "base/sign.h"

#include "base/err.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(crypto_sign_SEEDBYTES == 32 && crypto_sign_PUBLICKEYBYTES == 32, "HN_KEY_TEXT holds 32 bytes");
_Static_assert(crypto_sign_BYTES == 64, "HN_SIGNATURE_TEXT holds 64 bytes");

enum { VARIANT = sodium_base64_VARIANT_ORIGINAL };

/* Canonical base64 of exactly n bytes. */
static bool decode(const char *text, unsigned char *out, size_t n) {
    char back[HN_SIGNATURE_TEXT];
    size_t got, len = strlen(text);
    if (len >= sizeof back || sodium_base642bin(out, n, text, len, NULL, &got, NULL, VARIANT) || got != n) return false;
    sodium_bin2base64(back, sizeof back, out, n, VARIANT);
    return !strcmp(back, text);
}

bool hn_is_key(const char *text) {
    unsigned char key[32];
    bool yes = decode(text, key, sizeof key);
    sodium_memzero(key, sizeof key);
    return yes;
}

hone_rc hn_sign_keypair(char secret[HN_KEY_TEXT], char public[HN_KEY_TEXT], hone_err *err) {
    unsigned char seed[crypto_sign_SEEDBYTES], pk[crypto_sign_PUBLICKEYBYTES], sk[crypto_sign_SECRETKEYBYTES];
    if (sodium_init() < 0) return hn_fail(err, HONE_E_FAILED, "libsodium finds no source of randomness");
    randombytes_buf(seed, sizeof seed);
    crypto_sign_seed_keypair(pk, sk, seed);
    sodium_bin2base64(secret, HN_KEY_TEXT, seed, sizeof seed, VARIANT);
    sodium_bin2base64(public, HN_KEY_TEXT, pk, sizeof pk, VARIANT);
    sodium_memzero(seed, sizeof seed);
    sodium_memzero(sk, sizeof sk);
    return HONE_OK;
}

hone_rc hn_sign(const char *secret, const void *data, size_t n, char public[HN_KEY_TEXT],
                char signature[HN_SIGNATURE_TEXT], hone_err *err) {
    unsigned char seed[crypto_sign_SEEDBYTES], pk[crypto_sign_PUBLICKEYBYTES], sk[crypto_sign_SECRETKEYBYTES];
    unsigned char raw[crypto_sign_BYTES];
    if (!decode(secret, seed, sizeof seed)) return hn_fail(err, HONE_E_INPUT, "the text of the secret key is damaged");
    crypto_sign_seed_keypair(pk, sk, seed);
    crypto_sign_detached(raw, NULL, data, n, sk);
    sodium_bin2base64(public, HN_KEY_TEXT, pk, sizeof pk, VARIANT);
    sodium_bin2base64(signature, HN_SIGNATURE_TEXT, raw, sizeof raw, VARIANT);
    sodium_memzero(seed, sizeof seed);
    sodium_memzero(sk, sizeof sk);
    return HONE_OK;
}

bool hn_sign_holds(const char *public, const char *signature, const void *data, size_t n) {
    unsigned char pk[crypto_sign_PUBLICKEYBYTES], raw[crypto_sign_BYTES];
    if (!decode(public, pk, sizeof pk) || !decode(signature, raw, sizeof raw)) return false;
    return crypto_sign_verify_detached(raw, data, n, pk) == 0;
}

char *hn_base64(const void *data, size_t n) {
    size_t room = sodium_base64_ENCODED_LEN(n, VARIANT);
    char *text = malloc(room);
    return text ? sodium_bin2base64(text, room, data, n, VARIANT) : NULL;
}
