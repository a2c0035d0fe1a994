/* Controls files: text and back, what is refused, seals, signatures, the pair of files. */
#include "base/fs.h"
#include "controls_fixture.h"
#include "record/controls_file.h"
#include "tap.h"

#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/hone-controls-XXXXXX";

static char *at(const char *name) {
    static char buf[4][200];
    static int k;
    k = (k + 1) % 4;
    snprintf(buf[k], sizeof buf[k], "%s/%s", dir, name);
    return buf[k];
}

static char *text_of(const hone_controls *c) {
    char *text = NULL;
    hone_err err;
    if (hone_controls_text(c, &text, &err)) printf("Bail out! %s\n", err.text), exit(1);
    return text;
}

static hone_rc parse(const char *text, hone_controls **out, hone_err *err) {
    return hone_controls_parse(text, strlen(text), "x.hone", out, err);
}

/* The text with its digest made right again. */
static char *resealed(const char *text) {
    hn_str s = {0};
    const char *end = strstr(text, "\ndigest: ");
    hn_str_add_n(&s, text, end ? (size_t)(end + 1 - text) : strlen(text));
    hn_seal_add_digest(&s);
    return hn_str_take(&s);
}

static char *replaced(const char *text, const char *from, const char *to) {
    hn_str s = {0};
    const char *hit = strstr(text, from);
    if (!hit) printf("Bail out! '%s' is not in the text\n", from), exit(1);
    hn_str_add_n(&s, text, (size_t)(hit - text));
    hn_str_add(&s, to);
    hn_str_add(&s, hit + strlen(from));
    return hn_str_take(&s);
}

/* --- text ----------------------------------------------------------------------------------------------------------
 */

static bool same_text(const char *a, const char *b) { return !strcmp(a ? a : "", b ? b : ""); }

static void test_round_trip(void) {
    hone_controls c = fixture(), *back = NULL;
    hone_err err = {0};
    char *text = text_of(&c);
    ok(!parse(text, &back, &err), "controls/text_parses (%s)", err.text);
    char *again = text_of(back);
    is_text(again, text, "controls/text_parse_text_same_bytes");
    is_text(back->point, c.point, "controls/point_kept");
    ok(back->n_controls == 3 && same_text(back->control[0].name, "-O") && same_text(back->control[0].value, "3"),
       "controls/controls_without_prefix");
    ok(back->n_parameters == 5 && same_text(back->parameter[1].value, "0.125") &&
           same_text(back->parameter[3].value, "[\"b\",\"a\"]"),
       "controls/parameters_as_text");
    ok(back->n_flags == 6 && same_text(back->flag[4], "-DNAME=\"a b\"") && same_text(back->flag[5], ""),
       "controls/flags_kept");
    ok(back->n_rows == 3 && back->row[0].tuned.n == 120 && back->row[0].tuned.p50 == 2.7 && back->row[1].held_out &&
           isnan(back->row[2].gain.mid),
       "controls/rows_kept");
    ok(back->n_shares == 2 && back->share[0].gain.hi == 1.04 && isnan(back->share[1].gain.lo), "controls/shares_kept");
    ok(back->session == 12 && back->n_before == 63 && back->claimed == 1.12 && back->n_pairs == 120 && !*back->signer,
       "controls/numbers_kept");
    is_text(strstr(text, "\nverdict: ") ? "there" : "", "there", "controls/verdict_in_the_file");
    hone_controls_free(back);
    free(text);
    free(again);
}

static void test_least(void) {
    hone_controls c = {.format = 1,
                       .name = "x",
                       .version = "",
                       .created = "",
                       .compiler = "gcc",
                       .floating_point = "strict",
                       .point = "{}",
                       .workload = "",
                       .workload_hash = "",
                       .space_hash = "",
                       .baseline = "",
                       .verdict = "",
                       .claimed = NAN};
    hone_controls *back = NULL;
    char *text = text_of(&c);
    ok(!parse(text, &back, NULL) && !back->n_flags && !back->n_rows && isnan(back->claimed), "controls/least_reads");
    hone_controls_free(back);
    free(text);
    hone_err err = {0};
    c.name = "latin1 \xe9";
    ok(hone_controls_text(&c, &text, &err) == HONE_E_INPUT && strstr(err.text, "cannot be written"),
       "controls/no_utf8_is_refused (%s)", err.text);
    c.name = "x";
    c.point = "[1]";
    ok(hone_controls_text(&c, &text, &err) == HONE_E_INPUT, "controls/point_no_object_is_refused");
}

static void test_hard_texts(void) {
    static const char *const hard[] = {"",     " ",         "a: b",
                                       "- x",  "#c",        "null",
                                       "~",    "3",         "1e5",
                                       "yes",  "\"q\"",     "'s'",
                                       "a\nb", "tab\t",     "\xc3\xa9\xe2\x80\xa8",
                                       "\\",   "digest: 0", "x\ndigest: 1\nsignature:\n",
                                       "{}",   "[",         "%",
                                       "@a",   "!t",        "&a",
                                       "*a",   "|",         ">"};
    for (size_t i = 0; i < sizeof hard / sizeof *hard; i++) {
        hone_controls c = fixture(), *back = NULL;
        hone_pair odd[] = {{*hard[i] ? hard[i] : "k", hard[i]}};
        const char *flag[] = {hard[i]};
        c.verdict = c.name = hard[i];
        c.source = odd;
        c.n_sources = 1;
        c.flag = flag;
        c.n_flags = 1;
        char *text = text_of(&c), *again = NULL;
        hone_err err = {0};
        bool fine = !parse(text, &back, &err) && same_text(back->verdict, hard[i]) &&
                    same_text(back->flag[0], hard[i]) && same_text(back->source[0].value, hard[i]) &&
                    same_text(back->source[0].name, odd[0].name);
        if (fine) again = text_of(back);
        ok(fine && same_text(again, text), "controls/hard_text_%zu_kept (%s)", i, err.text);
        free(again);
        free(text);
        hone_controls_free(back);
    }
}

/* --- refusals -------------------------------------------------------------------------------------------------------
 */

static const struct {
    const char *name, *from, *to, *message;
} refused[] = {
    {"later_format", "format: 1\n", "format: 2\n", "written by a newer hone: controls format 2"},
    {"format_zero", "format: 1\n", "format: 0\n", "no controls format 0"},
    {"format_no_number", "format: 1\n", "format: one\n", "expected a whole number"},
    {"unknown_key", "created:", "creatde:", "did you mean 'created'"},
    {"unknown_key_in_key", "  space_hash:", "  space_hsah:", "did you mean 'space_hash'"},
    {"unknown_key_in_proof", "  variants:", "  varients:", "did you mean 'variants'"},
    {"unknown_key_in_result", "      held_out:", "      heldout:", "did you mean 'held_out'"},
    {"key_missing", "name: softmax\n", "", "'name' is missing"},
    {"flags_no_list", "flags:\n  - \"-O3\"\n", "flags: x\nz:\n", "unknown key 'z'"},
    {"pgo_no_bool", "profile_guided: false", "profile_guided: 7", "expected true or false"},
    {"choice_unknown", "  - compiler\n", "  - compilr\n", "unknown choice"},
    {"interval_short", "[1.0711, 1.0832, 1.0954]", "[1.0711, 1.0832]", "expected an interval"},
    {"interval_no_number", "[1.0711, 1.0832, 1.0954]", "[1, x, 3]", "expected a number"},
    {"distribution_cut", ", sd: 0.2}", "}", "'sd' is missing"},
    {"count_negative", "pairs: 120", "pairs: -1", "'pairs' is negative"},
    {"pairs_no_map", "  machine:\n", "  machine: x\n  z:\n", "unknown key 'z'"},
    {"duplicate_key", "name: softmax\n", "name: softmax\nname: softmax\n", "name"},
    {"gene_nested", "  TILE: 32\n", "  TILE: {a: 1}\n", "expected a value"},
    {"control_among_parameters", "  TILE: 32", "  gcc-12.-x: 32", "belongs under 'controls'"},
    {"choice_twice", "  - compiler\n", "  - compiler\n  - compiler\n", "is given twice"},
    {"no_yaml", "name: softmax\n", "name: [\n", "x.hone:"},
};

static void test_refused(void) {
    hone_controls c = fixture();
    char *text = text_of(&c);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        hone_controls *back = NULL;
        hone_err err = {0};
        char *bad = replaced(text, refused[i].from, refused[i].to), *sealed = resealed(bad);
        hone_rc rc = parse(sealed, &back, &err);
        ok(rc == HONE_E_INPUT && !back && strstr(err.text, refused[i].message), "controls/refuses_%s (%s)",
           refused[i].name, err.text);
        rc = parse(bad, &back, &err);
        ok(rc && !back, "controls/refuses_%s_unsealed", refused[i].name);
        free(bad);
        free(sealed);
    }
    free(text);
}

static void test_cut_and_flipped(void) {
    hone_controls c = fixture(), *back = NULL;
    char *text = text_of(&c);
    size_t n = strlen(text), bad = 0;
    for (size_t i = 0; i < n; i++) {
        hone_err err = {0};
        char *cut = malloc(i + 1); /* of its very size, so that reading behind it is found */
        memcpy(cut, text, i);
        cut = realloc(cut, i ? i : 1);
        hone_rc rc = hone_controls_parse(cut, i, "x", &back, &err);
        bad += rc != HONE_E_INPUT || back != NULL || !strstr(err.text, "cut short");
        free(cut);
    }
    ok(bad == 0, "controls/every_cut_is_named (%zu of %zu are not)", bad, n);
    bad = 0;
    for (size_t i = 0; i < n; i++) {
        hone_err err = {0};
        text[i] ^= 1;
        bad += parse(text, &back, &err) == HONE_OK;
        text[i] ^= 1;
    }
    ok(bad == 0, "controls/no_flipped_bit_passes (%zu of %zu do)", bad, n);
    hone_err err = {0};
    ok(hone_controls_parse("a\0b", 3, "x", &back, &err) == HONE_E_INPUT && strstr(err.text, "binary"),
       "controls/binary_is_named (%s)", err.text);
    free(text);
}

/* --- files and signatures --------------------------------------------------------------------------------------------
 */

static void test_write(void) {
    hone_controls c = fixture(), *back = NULL;
    hone_err err = {0};
    char *rsp = NULL;
    size_t n = 0;
    ok(!hone_controls_write(&c, at("a.hone"), &err), "controls/written (%s)", err.text);
    ok(!hone_controls_read(at("a.hone"), &back, &err) && strlen(back->response_hash) == 32, "controls/read_back");
    ok(!hn_read_file(at("a.rsp"), &rsp, &n, NULL), "controls/response_file_beside");
    is_text(rsp, "-O3\n-march=native\n-fno-tree-slp-vectorize\n-DTILE=32\n-DNAME=\\\"a\\ b\\\"\n\"\"\n",
            "controls/response_file_quoted");
    ok(!hn_rsp_check(back, at("a.hone"), NULL), "controls/response_file_fits");
    free(rsp);
    hone_controls rust = fixture();
    rust.compiler = "rustc";
    rust.n_tool = 0;
    ok(!hone_controls_rsp(&rust, &rsp, NULL) && strstr(rsp, "-DNAME=\"a b\"\n"),
       "controls/response_file_as_rustc_reads_it");
    free(rsp);
    hone_controls_free(back);
    ok(hone_controls_write(&c, at("a.txt"), &err) == HONE_E_INPUT && !hn_exists(at("a.txt")),
       "controls/other_ending_refused (%s)", err.text);
    hn_make_dirs(at("folder.hone"), NULL);
    ok(hone_controls_write(&c, at("folder.hone"), &err) == HONE_E_IO && !hn_exists(at("folder.rsp")),
       "controls/both_or_neither (%s)", err.text);
    ok(hone_controls_read(at("folder.hone"), &back, &err) == HONE_E_IO && strstr(err.text, "folder"),
       "controls/folder_is_named (%s)", err.text);
    ok(hone_controls_read(at("none.hone"), &back, &err) == HONE_E_IO, "controls/missing_is_named (%s)", err.text);
}

static void test_keys(void) {
    hone_err err = {0};
    struct stat st;
    ok(!hone_key_generate(at("k"), "ci of acme", &err), "keygen/makes_two (%s)", err.text);
    ok(!stat(at("k"), &st) && (st.st_mode & 0777) == 0600, "keygen/secret_is_private");
    ok(!stat(at("k.pub"), &st) && (st.st_mode & 0777) == 0644, "keygen/public_is_public");
    ok(hone_key_generate(at("k"), NULL, &err) == HONE_E_IO && strstr(err.text, "never replaced"),
       "keygen/never_replaces (%s)", err.text);
    rename(at("k"), at("moved"));
    ok(hone_key_generate(at("k"), NULL, &err) == HONE_E_IO && !hn_exists(at("k")), "keygen/never_replaces_public");
    rename(at("moved"), at("k"));
    ok(!hone_key_generate(at("other"), NULL, NULL), "keygen/no_comment");
    ok(hone_key_generate(at("no/such/k"), NULL, &err) == HONE_E_IO, "keygen/no_folder (%s)", err.text);
    ok(hone_key_generate(at("c"), "two\nlines", &err) == HONE_E_INPUT && !hn_exists(at("c")),
       "keygen/comment_one_line");
}

static void test_sign(void) {
    hone_err err = {0};
    hone_controls c = fixture(), *back = NULL;
    hone_controls_write(&c, at("s.hone"), NULL);
    ok(hone_controls_verify(at("s.hone"), NULL, &err) == HONE_E_NOTFOUND && strstr(err.text, "not signed"),
       "sign/unsigned_is_named (%s)", err.text);
    ok(hone_controls_sign(at("s.hone"), at("k.pub"), &err) == HONE_E_INPUT && strstr(err.text, "public key"),
       "sign/public_key_refused (%s)", err.text);
    ok(hone_controls_sign(at("s.hone"), at("s.hone"), &err) == HONE_E_INPUT && strstr(err.text, "no key file"),
       "sign/no_key_refused (%s)", err.text);
    ok(hone_controls_sign(at("s.hone"), at("nokey"), &err) == HONE_E_IO, "sign/missing_key_is_named (%s)", err.text);
    ok(!hone_controls_sign(at("s.hone"), at("k"), &err), "sign/signs (%s)", err.text);
    ok(!hone_controls_verify(at("s.hone"), at("k.pub"), &err), "sign/verifies (%s)", err.text);
    ok(!hone_controls_verify(at("s.hone"), NULL, &err), "sign/verifies_against_its_own_key");
    ok(hone_controls_verify(at("s.hone"), at("other.pub"), &err) == HONE_E_MISMATCH && strstr(err.text, "another key"),
       "sign/other_key_is_named (%s)", err.text);
    ok(hone_controls_verify(at("s.hone"), at("k"), &err) == HONE_E_INPUT && strstr(err.text, "secret key"),
       "sign/secret_key_refused_for_verifying (%s)", err.text);
    ok(!hone_controls_read(at("s.hone"), &back, NULL) && strlen(back->signer) == 44, "sign/signer_is_read");
    hone_controls_free(back);
    ok(!hone_controls_sign(at("s.hone"), at("other"), &err) &&
           !hone_controls_verify(at("s.hone"), at("other.pub"), NULL),
       "sign/signs_again");
    hn_write_file(at("s.rsp"), "-O0\n", 4, NULL);
    ok(hone_controls_verify(at("s.hone"), at("other.pub"), &err) == HONE_E_TAMPERED && strstr(err.text, "s.rsp"),
       "sign/changed_response_file_is_named (%s)", err.text);
    ok(hone_controls_sign(at("s.hone"), at("k"), &err) == HONE_E_TAMPERED, "sign/refuses_to_sign_a_changed_one");
    unlink(at("s.rsp"));
    ok(hone_controls_verify(at("s.hone"), at("other.pub"), &err) == HONE_E_IO && strstr(err.text, "missing"),
       "sign/missing_response_file_is_named (%s)", err.text);
}

/* Any flipped byte of a signed file is tampered: each bit of each byte, and each byte replaced by a likely other. */
static void test_signed_flips(void) {
    hone_controls c = fixture(), *back = NULL;
    char *text, *cut;
    size_t n, bad = 0, bad_cut = 0;
    hone_controls_write(&c, at("f.hone"), NULL);
    hone_controls_sign(at("f.hone"), at("k"), NULL);
    if (hn_read_file(at("f.hone"), &text, &n, NULL)) exit(1);
    ok(!parse(text, &back, NULL), "sign/signed_file_reads");
    hone_controls_free(back);
    back = NULL;
    for (size_t i = 0; i < n; i++)
        for (int bit = 0; bit < 8; bit++) {
            hone_err err = {0};
            text[i] = (char)(text[i] ^ (1 << bit));
            bad += hone_controls_parse(text, n, "x", &back, &err) != HONE_E_TAMPERED;
            text[i] = (char)(text[i] ^ (1 << bit));
        }
    ok(bad == 0, "sign/every_flipped_bit_is_tampered (%zu of %zu are not)", bad, 8 * n);
    size_t whole = 0;
    for (size_t i = 0; i < n; i++) {
        hone_err err = {0};
        cut = strndup(text, i);
        hone_rc rc = parse(cut, &back, &err);
        whole += rc == HONE_OK;
        bad_cut += rc != HONE_OK && rc != HONE_E_INPUT && rc != HONE_E_TAMPERED;
        if (!rc) hone_controls_free(back);
        free(cut);
    }
    ok(bad_cut == 0 && whole == 1, "sign/cut_before_the_signature_alone_reads_and_is_unsigned");
    free(text);
}

int main(void) {
    if (!mkdtemp(dir)) return 1;
    test_round_trip();
    test_least();
    test_hard_texts();
    test_refused();
    test_cut_and_flipped();
    test_write();
    test_keys();
    test_sign();
    test_signed_flips();
    hn_remove_tree(dir, NULL);
    return done_testing();
}
