/* utf8.c — one sequence at a time. */
#include "base/utf8.h"

size_t hn_utf8_next(const char *text, size_t n, uint32_t *code) {
    const unsigned char *s = (const unsigned char *)text;
    if (!n) return 0;
    size_t length = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;
    uint32_t c = length > 1 ? s[0] & (0x7fu >> length) : s[0];
    if (!length || length > n) return 0;
    for (size_t i = 1; i < length; i++) {
        if ((s[i] & 0xc0) != 0x80) return 0;
        c = c << 6 | (s[i] & 0x3f);
    }
    bool overlong = (length == 3 && c < 0x800) || (length == 4 && c < 0x10000);
    if (overlong || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff) return 0;
    if (code) *code = c;
    return length;
}

bool hn_utf8_valid(const char *s, size_t n) {
    while (n) {
        size_t k = hn_utf8_next(s, n, NULL);
        if (!k) return false;
        s += k;
        n -= k;
    }
    return true;
}

size_t hn_utf8_put(uint32_t code, char out[4]) {
    size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = length; i-- > 1; code >>= 6) out[i] = (char)(0x80 | (code & 0x3f));
    static const unsigned char head[5] = {0, 0, 0xc0, 0xe0, 0xf0};
    out[0] = (char)(head[length] | code);
    return length;
}
