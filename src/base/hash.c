/* base/hash.c — BLAKE2b-128 through libsodium. */
#include "base/hash.h"

#include "base/err.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>

_Static_assert(sizeof(crypto_generichash_state) <= sizeof(((hn_hash *)0)->state), "hn_hash is too small");

enum { DIGEST_B = 16 };

static crypto_generichash_state *state(hn_hash *h) { return (crypto_generichash_state *)(void *)h->state; }

void hn_hash_begin(hn_hash *h) { crypto_generichash_init(state(h), NULL, 0, DIGEST_B); }

void hn_hash_add(hn_hash *h, const void *data, size_t n) { crypto_generichash_update(state(h), data, n); }

void hn_hash_text(hn_hash *h, const char *text) {
    uint64_t n = text ? strlen(text) : UINT64_MAX;
    unsigned char frame[8];
    for (int i = 0; i < 8; i++) frame[i] = (unsigned char)(n >> (8 * i));
    hn_hash_add(h, frame, sizeof frame);
    if (text) hn_hash_add(h, text, (size_t)n);
}

void hn_hash_end(hn_hash *h, char hex[33]) {
    unsigned char digest[DIGEST_B];
    crypto_generichash_final(state(h), digest, sizeof digest);
    sodium_bin2hex(hex, 33, digest, sizeof digest);
}

hone_rc hn_hash_file(const char *path, char hex[33], hone_err *err) {
    FILE *f = fopen(path, "rbe");
    if (!f) return hn_fail(err, HONE_E_IO, "cannot open '%s': %s", path, strerror(errno));
    hn_hash h;
    hn_hash_begin(&h);
    char buf[65536];
    size_t n;
    while ((n = fread(buf, 1, sizeof buf, f)) > 0) hn_hash_add(&h, buf, n);
    bool bad = ferror(f) != 0;
    int why = errno;
    fclose(f);
    if (bad) return hn_fail(err, HONE_E_IO, "cannot read '%s': %s", path, strerror(why));
    hn_hash_end(&h, hex);
    return HONE_OK;
}
