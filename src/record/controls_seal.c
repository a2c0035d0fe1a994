/* record/controls_seal.c — the end of a controls file: digest and signature, checked byte by byte before the text is
 * parsed, so that a change anywhere is found. */
#include "record/controls_file.h"

#include "base/err.h"
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

int hn_seal_format(const char *text, size_t n) {
    static const char word[] = "\nformat: ";
    const char *at =
        n > strlen(word) && !memcmp(text, word + 1, strlen(word) - 1) ? text - 1 : memmem(text, n, word, strlen(word));
    if (!at) return 0;
    char number[12] = "";
    size_t left = (size_t)(text + n - (at + strlen(word)));
    memcpy(number, at + strlen(word), left < sizeof number - 1 ? left : sizeof number - 1);
    long v = strtol(number, NULL, 10);
    return v > 0 && v < 1000000 ? (int)v : 0;
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

static hone_rc tampered(const char *label, const char *what, hone_err *err) {
    return hn_fail(
        err, HONE_E_TAMPERED,
        "'%s' was changed after it was written: %s; take the file as it was recorded, or make a new one with "
        "hone",
        label, what);
}

static hone_rc cut(const char *label, const char *where, hone_err *err) {
    return hn_fail(err, HONE_E_INPUT, "'%s' %s: it was cut short, or is no controls file; take the whole file", label,
                   where);
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

static hone_rc read_signature(const char *text, size_t n, const char *label, hn_seal *seal, hone_err *err) {
    const char *rest = text + seal->n_signed;
    size_t n_rest = n - seal->n_signed;
    char key[HN_KEY_TEXT], value[HN_SIGNATURE_TEXT];
    if (is_cut_block(rest, n_rest)) return cut(label, "ends in the middle of its signature", err);
    if (!split_block(rest, n_rest, key, value)) return tampered(label, "what follows its digest is no signature", err);
    hn_str s = {0};
    add_block(&s, key, value);
    bool same = !s.failed && s.n == n_rest && !memcmp(s.text, rest, n_rest);
    bool no_memory = s.failed;
    hn_str_free(&s);
    if (no_memory) return hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", label);
    if (!same) return tampered(label, "its signature is not as hone writes it", err);
    if (!hn_sign_holds(key, value, text, seal->n_signed))
        return tampered(label, "the signature does not fit the contents", err);
    seal->has_signature = true;
    memcpy(seal->key, key, sizeof key);
    return HONE_OK;
}

static bool is_hex(const char *text, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!memchr("0123456789abcdef", text[i], 16)) return false;
    return true;
}

hone_rc hn_seal_read(const char *text, size_t n, const char *label, hn_seal *out, hone_err *err) {
    hn_seal seal = {0};
    char hex[33];
    size_t len = strlen(digest_word);
    if (!n) return cut(label, "is empty", err);
    const char *line = last_line(text, n, digest_word);
    if (!line && hn_seal_looks_signed(text, n)) return tampered(label, "it is signed, but its digest is gone", err);
    if (!line) return cut(label, "has no digest at its end", err);
    seal.n_body = (size_t)(line - text);
    size_t left = n - seal.n_body;
    if (left < len + HEX + 1) {
        if (is_hex(line + len, left - len)) return cut(label, "ends in the middle of its digest", err);
        return tampered(label, "its digest is damaged", err);
    }
    digest_of(text, seal.n_body, hex);
    if (memcmp(line + len, hex, HEX) != 0) return tampered(label, "contents and digest differ", err);
    if (line[len + HEX] != '\n') return tampered(label, "its digest is damaged", err);
    seal.n_signed = seal.n_body + len + HEX + 1;
    hone_rc rc = seal.n_signed < n ? read_signature(text, n, label, &seal, err) : HONE_OK;
    if (!rc) *out = seal;
    return rc;
}
