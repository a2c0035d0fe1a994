/* Signatures: the first test vectors of RFC 8032, section 7.1; texts that are no key or signature. */
#include "base/sign.h"
#include "tap.h"

static const struct {
    const char *secret, *public, *message, *signature;
    size_t n;
} vector[] = {
    {"nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=", "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=", "",
     "5VZDAMNgrHKQhuLMgG6CioSHfx645dl02HPgZSJJAVVfuIIVkKM7rMYeOXAc+bRr0lv18FlbviRlUUFDjnoQCw==", 0},
    {"TM0Imyj/ltqdtsNG7BFOD1uKMZ81q6Yk2oz27U+4pvs=", "PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=", "\x72",
     "kqAJqfDUyrhyDoILX2QlQKKye1QWUD+Ps3YiI+vbadoIWsHkPhWZbkWPNhPQ8R2MOHsurrQwKu6wDSkWErsMAA==", 1},
    {"xaqN9D+fg3vtt0QvMdy3sWbThTUHbwlLhc46LgtEWPc=", "/FHNjmIYoaONpH7QAjDwWAgW7RO6MwOsXeuRFUiQgCU=", "\xaf\x82",
     "YpHWV97sJAJIJ+acOr4BowzlSKKEdDpEXjaA19taw6wY/5tTjRbykK5n92CYTcZZSnwV6XFu0o3AJ77O6h7ECg==", 2},
};

static void test_vectors(void) {
    for (size_t i = 0; i < sizeof vector / sizeof *vector; i++) {
        char public[HN_KEY_TEXT], signature[HN_SIGNATURE_TEXT];
        hone_rc rc = hn_sign(vector[i].secret, vector[i].message, vector[i].n, public, signature, NULL);
        ok(!rc && !strcmp(public, vector[i].public) && !strcmp(signature, vector[i].signature),
           "sign/rfc_8032_test_%zu", i + 1);
        ok(hn_sign_holds(public, signature, vector[i].message, vector[i].n), "sign/rfc_8032_test_%zu_holds", i + 1);
        ok(!hn_sign_holds(public, signature, "other", 5), "sign/rfc_8032_test_%zu_of_another_message", i + 1);
        ok(!hn_sign_holds(vector[(i + 1) % 3].public, signature, vector[i].message, vector[i].n),
           "sign/rfc_8032_test_%zu_with_another_key", i + 1);
    }
}

/* The last digit before '=' of a key carries two bits that mean nothing: only zeros are taken for them. */
static void test_texts(void) {
    char key[HN_KEY_TEXT];
    static const char *const bad[] = {"",
                                      "=",
                                      "abc",
                                      "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
                                      " ",
                                      "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB=",
                                      "AAAAAAAAAAAAAAAAAAAA\nAAAAAAAAAAAAAAAAAAAAAAA=",
                                      "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==",
                                      "________________________________________AAA="};
    ok(hn_is_key("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="), "sign/key_text_is_taken");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) ok(!hn_is_key(bad[i]), "sign/bad_key_text_%zu_is_refused", i);
    hone_err err = {0};
    char public[HN_KEY_TEXT], signature[HN_SIGNATURE_TEXT];
    ok(hn_sign("nonsense", "x", 1, public, signature, &err) == HONE_E_INPUT, "sign/bad_secret_is_refused (%s)",
       err.text);
    ok(!hn_sign_holds("nonsense", vector[0].signature, "", 0) && !hn_sign_holds(vector[0].public, "nonsense", "", 0),
       "sign/bad_texts_do_not_hold");
    memcpy(key, vector[0].public, sizeof key);
    ok(!hn_sign_keypair(key, public, NULL) && hn_is_key(key) && hn_is_key(public) && strcmp(key, public) != 0,
       "sign/key_pair");
    char other[HN_KEY_TEXT], other_public[HN_KEY_TEXT];
    ok(!hn_sign_keypair(other, other_public, NULL) && strcmp(key, other) != 0, "sign/key_pairs_differ");
}

int main(void) {
    test_vectors();
    test_texts();
    return done_testing();
}
