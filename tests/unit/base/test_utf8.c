/* UTF-8: every code point there and back; every malformed form of the Unicode Standard's table 3-7. */
#include "base/utf8.h"
#include "tap.h"

#include <string.h>

static bool every_code_point(void) {
    for (uint32_t c = 0; c <= 0x10ffff; c++) {
        char s[4];
        uint32_t back = 0;
        size_t n = hn_utf8_put(c, s), got = hn_utf8_next(s, n, &back);
        bool surrogate = c >= 0xd800 && c < 0xe000;
        if (surrogate ? got != 0 : got != n || back != c) return false;
        if (n > 1 && hn_utf8_next(s, n - 1, NULL)) return false;
    }
    return true;
}

int main(void) {
    static const struct {
        const char *text;
        size_t n;
        bool valid;
    } cases[] = {
        {"", 0, true},
        {"plain", 5, true},
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9, true},
        {"\x80", 1, false},             /* a continuation alone */
        {"\xc0\xaf", 2, false},         /* overlong */
        {"\xc1\xbf", 2, false},         /* overlong */
        {"\xe0\x9f\xbf", 3, false},     /* overlong */
        {"\xf0\x8f\xbf\xbf", 4, false}, /* overlong */
        {"\xed\xa0\x80", 3, false},     /* a surrogate */
        {"\xf4\x90\x80\x80", 4, false}, /* beyond U+10FFFF */
        {"\xf5\x80\x80\x80", 4, false},
        {"\xe2\x82", 2, false}, /* cut short */
        {"a\xe2\x28\xa1", 4, false},
        {"\xff", 1, false},
    };
    ok(every_code_point(), "utf8/every_code_point");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ok(hn_utf8_valid(cases[i].text, cases[i].n) == cases[i].valid, "utf8/case_%zu", i);
    ok(hn_utf8_next("\xe2\x82", SIZE_MAX, NULL) == 0, "utf8/the_end_of_a_text_is_no_part_of_a_sequence");
    return done_testing();
}
