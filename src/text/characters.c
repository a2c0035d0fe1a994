/* characters.c — see characters.h. */
#include "text/characters.h"
#include "base/err.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

bool hn_char_is_space(uint32_t c) {
    return (c >= 9 && c <= 13) || c == 0x20 || c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) ||
           c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

static utf8proc_category_t category(uint32_t c) { return utf8proc_category((utf8proc_int32_t)c); }

static bool is_mark(uint32_t c) {
    utf8proc_category_t k = category(c);
    return k == UTF8PROC_CATEGORY_MN || k == UTF8PROC_CATEGORY_MC || k == UTF8PROC_CATEGORY_ME;
}

bool hn_char_is_word(uint32_t c) {
    utf8proc_category_t k = category(c);
    return (k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_NL) || k == UTF8PROC_CATEGORY_PC;
}

bool hn_char_is_punctuation(uint32_t c) {
    utf8proc_category_t k = category(c);
    bool ascii =
        (c >= 0x21 && c <= 0x2f) || (c >= 0x3a && c <= 0x40) || (c >= 0x5b && c <= 0x60) || (c >= 0x7b && c <= 0x7e);
    return ascii || (k >= UTF8PROC_CATEGORY_PC && k <= UTF8PROC_CATEGORY_PO);
}

typedef struct range {
    uint32_t first, last;
} range;
static const range late_mark[] = {
#define HN_LATE_MARK(FIRST, LAST) {FIRST, LAST},
#define HN_LATE_ACCENT(FIRST, LAST)
#include "text/late.def"
#undef HN_LATE_MARK
#undef HN_LATE_ACCENT
};
static const range late_accent[] = {
#define HN_LATE_MARK(FIRST, LAST)
#define HN_LATE_ACCENT(FIRST, LAST) {FIRST, LAST},
#include "text/late.def"
#undef HN_LATE_MARK
#undef HN_LATE_ACCENT
};
static const range late_control[] = {
    {0x890, 0x891}, {0x8e2, 0x8e2}, {0x110cd, 0x110cd}, {0x13430, 0x13438}, {0x13439, 0x1343f}};

static bool is_in(const range *r, size_t n, uint32_t c) {
    for (size_t i = 0; i < n && r[i].first <= c; i++)
        if (c <= r[i].last) return true;
    return false;
}
#define IS_IN(TABLE, C) is_in(TABLE, sizeof TABLE / sizeof *TABLE, C)

/* --- character by character ------------------------------------------------------------------------------------------
 */

static void put(hn_str *out, uint32_t c) {
    char text[4];
    hn_str_add_n(out, text, hn_utf8_put(c, text));
}

static bool is_chinese(uint32_t c) {
    return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) || (c >= 0x20000 && c <= 0x2a6df) ||
           (c >= 0x2a700 && c <= 0x2b73f) || (c >= 0x2b740 && c <= 0x2b81f) || (c >= 0x2b920 && c <= 0x2ceaf) ||
           (c >= 0xf900 && c <= 0xfaff) || (c >= 0x2f800 && c <= 0x2fa1f);
}

static void clean(hn_str *out, uint32_t c) {
    utf8proc_category_t k = category(c);
    bool blank = c == '\t' || c == '\n' || c == '\r' || hn_char_is_space(c);
    bool control = k == UTF8PROC_CATEGORY_CC || k == UTF8PROC_CATEGORY_CF || k == UTF8PROC_CATEGORY_CO;
    control &= !IS_IN(late_control, c);
    if (c == 0 || c == 0xfffd || (control && c != '\t' && c != '\n' && c != '\r')) return;
    put(out, blank ? ' ' : c);
}

static void nmt(hn_str *out, uint32_t c) {
    bool gone = (c >= 1 && c <= 8) || c == 0xb || (c >= 0xe && c <= 0x1f) || c == 0x7f || c == 0x8f || c == 0x9f;
    bool blank = c == 9 || c == 10 || c == 12 || c == 13 || c == 0x1680 || (c >= 0x200b && c <= 0x200f) ||
                 c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xfeff || c == 0xfffd;
    if (!gone) put(out, blank ? ' ' : c);
}

static void one(hn_text_step_kind kind, hn_str *out, uint32_t c) {
    switch (kind) {
    case HN_STEP_LOWERCASE:
        if (c == 0x130)
            hn_str_add(out, "i\xcc\x87"); /* the one character whose small form is two */
        else
            put(out, (uint32_t)utf8proc_tolower((utf8proc_int32_t)c));
        break;
    case HN_STEP_DROP_MARKS:
        if (!(is_mark(c) && !IS_IN(late_mark, c)) && c != 0x1cf2 && c != 0x1cf3) put(out, c);
        break;
    case HN_STEP_DROP_ACCENTS:
        if ((category(c) != UTF8PROC_CATEGORY_MN || IS_IN(late_accent, c)) && c != 0x1734) put(out, c);
        break;
    case HN_STEP_CLEAN: clean(out, c); break;
    case HN_STEP_SPACE_CHINESE:
        if (is_chinese(c)) put(out, ' ');
        put(out, c);
        if (is_chinese(c)) put(out, ' ');
        break;
    case HN_STEP_NMT: nmt(out, c); break;
    default: put(out, c);
    }
}

/* --- normal forms ----------------------------------------------------------------------------------------------------
 */

static hone_rc add_form(utf8proc_option_t options, const char *text, size_t n, hn_str *out, hone_err *err) {
    utf8proc_uint8_t *form = NULL;
    if (!n) return HONE_OK;
    utf8proc_ssize_t got = utf8proc_map((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)n, &form, options);
    if (got < 0) return hn_fail(err, HONE_E_NOMEM, "normalising %zu bytes: %s", n, utf8proc_errmsg(got));
    hn_str_add_n(out, (const char *)form, (size_t)got);
    free(form);
    return HONE_OK;
}

/* Valid parts one by one; what is no UTF-8 stays as it is. */
static hone_rc normal_form(utf8proc_option_t options, const char *text, size_t n, hn_str *out, hone_err *err) {
    hone_rc rc = HONE_OK;
    size_t from = 0, at = 0;
    bool ascii = true;
    while (!rc && at < n) {
        size_t k = hn_utf8_next(text + at, n - at, NULL);
        ascii &= k == 1;
        if (!k) {
            rc = add_form(options, text + from, at - from, out, err);
            hn_str_add_n(out, text + at, 1);
            from = at + 1;
        }
        at += k ? k : 1;
    }
    if (rc) return rc;
    if (!ascii) return add_form(options, text + from, n - from, out, err);
    hn_str_add_n(out, text + from, n - from);
    return HONE_OK;
}

hone_rc hn_characters_apply(hn_text_step_kind kind, const char *text, size_t n, hn_str *out, hone_err *err) {
    static const utf8proc_option_t form[] = {
        [HN_STEP_NFC] = UTF8PROC_STABLE | UTF8PROC_COMPOSE,
        [HN_STEP_NFD] = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE,
        [HN_STEP_NFKC] = UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT,
        [HN_STEP_NFKD] = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT,
    };
    if ((size_t)kind < sizeof form / sizeof *form && form[kind]) return normal_form(form[kind], text, n, out, err);
    for (size_t at = 0; at < n;) {
        uint32_t c = 0;
        size_t k = hn_utf8_next(text + at, n - at, &c);
        if (k)
            one(kind, out, c);
        else
            hn_str_add_n(out, text + at, 1);
        at += k ? k : 1;
    }
    return HONE_OK;
}
