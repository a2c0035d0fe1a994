/* base/seal.c — digest and signature at a text's end, checked byte by byte before the text is parsed, so that a change
 * anywhere is found. */
#include "base/seal.h"

#include "base/err.h"
#include "base/fs.h"
#include "base/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char digest_word[] = "digest: ", signature_word[] = "signature:\n";
enum { HEX = 32 };

/* Last line of the text that starts with `word`; NULL if none does. */
static const char *last_line(const char *text, size_t n, const char *word) {
    size_t len = strlen(word);
    for (const char *at = text + n; at > text;) {
        at = memrchr(text, '\n', (size_t)(at - text));
        if (!at) break;
        if ((size_t)(text + n - at) > len && !memcmp(at + 1, word, len)) return at + 1;
    }
    return NULL;
}

bool hn_seal_looks_signed(const char *text, size_t n) {
    return memmem(text, n, "\nsignature:", strlen("\nsignature:")) != NULL;
}

bool hn_seal_is_there(const char *text, size_t n) {
    return last_line(text, n, digest_word) || hn_seal_looks_signed(text, n);
}

static void digest_of(const char *text, size_t n, char hex[33]) {
    hn_hash h;
    hn_hash_begin(&h);
    hn_hash_add(&h, text, n);
    hn_hash_end(&h, hex);
}

void hn_seal_add_digest(hn_str *s) {
    char hex[33];
    if (s->failed || !s->text) return;
    digest_of(s->text, s->n, hex);
    hn_str_addf(s, "%s%s\n", digest_word, hex);
}

static void add_block(hn_str *s, const char *key, const char *value) {
    hn_str_addf(s, "%s  key: %s\n  value: %s\n", signature_word, key, value);
}

hone_rc hn_seal_add_signature(hn_str *s, const char *secret, hone_err *err) {
    char key[HN_KEY_TEXT], value[HN_SIGNATURE_TEXT];
    if (s->failed) return hn_fail(err, HONE_E_NOMEM, "out of memory");
    hone_rc rc = hn_sign(secret, s->text ? s->text : "", s->n, key, value, err);
    if (!rc) add_block(s, key, value);
    return rc;
}

typedef struct reader {
    const char *label;
    const hn_seal_kind *kind;
    hone_err *err;
} reader;

static hone_rc tampered(const reader *r, const char *what) {
    return hn_fail(r->err, HONE_E_TAMPERED, "'%s' was changed after it was written: %s; %s", r->label, what,
                   r->kind->remedy);
}

static hone_rc cut(const reader *r, const char *where) {
    return hn_fail(r->err, HONE_E_INPUT, "'%s' %s: it was cut short, or is no %s; take the whole file", r->label, where,
                   r->kind->name);
}

/* Reads key and value of the block; false when they are missing. The exact form is compared later. */
static bool split_block(const char *rest, size_t n, char key[HN_KEY_TEXT], char value[HN_SIGNATURE_TEXT]) {
    char copy[256];
    if (n >= sizeof copy) return false;
    memcpy(copy, rest, n);
    copy[n] = 0;
    return sscanf(copy, "signature:\n key: %44s\n value: %88s\n", key, value) == 2;
}

/* Is `rest` the start of a block, which ends too early? */
static bool is_cut_block(const char *rest, size_t n) {
    char key[HN_KEY_TEXT], value[HN_SIGNATURE_TEXT];
    memset(key, 'A', sizeof key - 1);
    memset(value, 'A', sizeof value - 1);
    key[sizeof key - 1] = value[sizeof value - 1] = 0;
    hn_str s = {0};
    add_block(&s, key, value);
    bool same = !s.failed && n < s.n;
    for (size_t i = 0; same && i < n; i++) same = rest[i] == s.text[i] || s.text[i] == 'A';
    hn_str_free(&s);
    return same;
}

static hone_rc read_signature(const reader *r, const char *text, size_t n, hn_seal *seal) {
    const char *rest = text + seal->n_signed;
    size_t n_rest = n - seal->n_signed;
    char key[HN_KEY_TEXT], value[HN_SIGNATURE_TEXT];
    if (is_cut_block(rest, n_rest)) return cut(r, "ends in the middle of its signature");
    if (!split_block(rest, n_rest, key, value)) return tampered(r, "what follows its digest is no signature");
    hn_str s = {0};
    add_block(&s, key, value);
    bool same = !s.failed && s.n == n_rest && !memcmp(s.text, rest, n_rest);
    bool no_memory = s.failed;
    hn_str_free(&s);
    if (no_memory) return hn_fail(r->err, HONE_E_NOMEM, "out of memory reading '%s'", r->label);
    if (!same) return tampered(r, "its signature is not as hone writes it");
    if (!hn_sign_holds(key, value, text, seal->n_signed)) return tampered(r, "the signature does not fit the contents");
    seal->has_signature = true;
    memcpy(seal->key, key, sizeof key);
    return HONE_OK;
}

static bool is_hex(const char *text, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!memchr("0123456789abcdef", text[i], 16)) return false;
    return true;
}

hone_rc hn_seal_read(const char *text, size_t n, const char *label, const hn_seal_kind *kind, hn_seal *out,
                     hone_err *err) {
    const reader reading = {label, kind, err}, *r = &reading;
    hn_seal seal = {0};
    char hex[33];
    size_t len = strlen(digest_word);
    if (!n) return cut(r, "is empty");
    const char *line = last_line(text, n, digest_word);
    if (!line && hn_seal_looks_signed(text, n)) return tampered(r, "it is signed, but its digest is gone");
    if (!line) return cut(r, "has no digest at its end");
    seal.n_body = (size_t)(line - text);
    size_t left = n - seal.n_body;
    if (left < len + HEX + 1) {
        if (is_hex(line + len, left - len)) return cut(r, "ends in the middle of its digest");
        return tampered(r, "its digest is damaged");
    }
    digest_of(text, seal.n_body, hex);
    if (memcmp(line + len, hex, HEX) != 0) return tampered(r, "contents and digest differ");
    if (line[len + HEX] != '\n') return tampered(r, "its digest is damaged");
    seal.n_signed = seal.n_body + len + HEX + 1;
    hone_rc rc = seal.n_signed < n ? read_signature(r, text, n, &seal) : HONE_OK;
    if (!rc) *out = seal;
    return rc;
}

hone_rc hn_seal_sign(const char *path, const char *text, size_t n, const hn_seal_kind *kind, const char *secret,
                     hone_err *err) {
    hn_seal seal;
    hn_str s = {0};
    hone_rc rc = hn_seal_read(text, n, path, kind, &seal, err);
    if (rc) return rc;
    hn_str_add_n(&s, text, seal.n_signed);
    rc = hn_seal_add_signature(&s, secret, err);
    if (!rc && s.failed) rc = hn_fail(err, HONE_E_NOMEM, "out of memory signing '%s'", path);
    if (!rc) rc = hn_write_file(path, s.text, s.n, err);
    hn_str_free(&s);
    return rc;
}

hone_rc hn_seal_check_signer(const char *signer, const char *path, const char *public_key_path, hone_err *err) {
    char key[HN_KEY_TEXT] = "";
    hone_rc rc = public_key_path ? hn_key_file_public(public_key_path, key, err) : HONE_OK;
    if (rc) return rc;
    if (!*signer) return hn_fail(err, HONE_E_NOTFOUND, "'%s' is not signed; `hone sign` signs it", path);
    if (*key && strcmp(key, signer) != 0)
        return hn_fail(err, HONE_E_MISMATCH, "'%s' is signed with another key: %s, not %s of '%s'", path, signer, key,
                       public_key_path);
    return HONE_OK;
}
