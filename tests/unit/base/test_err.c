/* Errors: the table, messages, and docs/errors.md, which lists the table. */
#include "base/err.h"
#include "tap.h"

static void test_table(void) {
    ok(hone_rc_exit(HONE_OK) == 0 && !strcmp(hone_rc_name(HONE_OK), "OK"), "err/ok_is_exit_0");
    bool distinct = true, texts = true;
    for (int a = 0; a <= HONE_E_INTERRUPTED; a++) {
        texts = texts && *hone_rc_text((hone_rc)a) && strcmp(hone_rc_name((hone_rc)a), "E_UNKNOWN") != 0;
        for (int b = 0; b < a; b++) distinct = distinct && hone_rc_exit((hone_rc)a) != hone_rc_exit((hone_rc)b);
    }
    ok(distinct, "err/exit_codes_are_distinct");
    ok(texts, "err/every_row_has_name_and_text");
    hone_rc beyond = (hone_rc)(HONE_E_INTERRUPTED + 1), below = (hone_rc)-1;
    is_text(hone_rc_name(beyond), "E_UNKNOWN", "err/unknown_name");
    ok(hone_rc_exit(beyond) == 1 && hone_rc_exit(below) == 1 && *hone_rc_text(below), "err/unknown_exit_and_text");
    is_text(hone_version(), HONE_VERSION, "err/version");
}

static void test_messages(void) {
    hone_err err = {HONE_OK, "old"};
    ok(hn_fail(NULL, HONE_E_IO, "x") == HONE_E_IO, "err/null_err_is_accepted");
    ok(hn_fail(&err, HONE_E_IO, "cannot open '%s'", "f") == HONE_E_IO && err.rc == HONE_E_IO, "err/fail_returns_rc");
    is_text(err.text, "cannot open 'f'", "err/fail_formats");
    ok(hn_context(&err, "reading '%s': ", "g") == HONE_E_IO, "err/context_returns_rc");
    is_text(err.text, "reading 'g': cannot open 'f'", "err/context_goes_in_front");
    hn_fail(&err, HONE_E_INPUT, "again: %s", err.text);
    is_text(err.text, "again: reading 'g': cannot open 'f'", "err/may_quote_its_own_text");
}

/* Texts longer than the room end at a whole character. */
static void test_cut(void) {
    hone_err err;
    for (size_t pad = 0; pad < 4; pad++) {
        char text[1200];
        memset(text, 'a', pad);
        size_t n = pad;
        while (n + 3 < sizeof text) n += (size_t)snprintf(text + n, 4, "\xe2\x82\xac"); /* the euro sign */
        hn_fail(&err, HONE_E_IO, "%s", text);
        size_t kept = strlen(err.text);
        ok(kept >= 996 && kept <= 999 && (kept - pad) % 3 == 0, "err/cut_at_a_whole_character_%zu", pad);
        hn_fail(&err, HONE_E_IO, "%.990s", "x");
        hn_context(&err, "%s", text);
        ok((strlen(err.text) - pad) % 3 <= 1, "err/long_context_fits_%zu", pad);
    }
}

/* Each row stands in docs/errors.md as `| E_X | exit | text |`, and nothing else does. */
static void test_docs(void) {
    const char *root = getenv("HONE_ROOT");
    char path[4096], line[1000], want[1000];
    snprintf(path, sizeof path, "%s/docs/errors.md", root ? root : ".");
    FILE *f = fopen(path, "r");
    if (!ok(f != NULL, "err/docs_page_exists")) return;
    int n = 0;
    while (fgets(line, sizeof line, f)) {
        if (strncmp(line, "| `", 3) != 0) continue;
        snprintf(want, sizeof want, "| `%s` | %d | %s |\n", hone_rc_name((hone_rc)n), hone_rc_exit((hone_rc)n),
                 hone_rc_text((hone_rc)n));
        is_text(line, want, "err/docs_row");
        n++;
    }
    fclose(f);
    ok(n == HONE_E_INTERRUPTED + 1, "err/docs_list_all_rows");
}

int main(void) {
    test_table();
    test_messages();
    test_cut();
    test_docs();
    return done_testing();
}
