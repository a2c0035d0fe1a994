/* shown.c — names out of models, made harmless for messages. */
#include "onnx/onnx.h"

#include <string.h>

enum { SHOWN_MAX = 120 };

/* Length of the UTF-8 sequence at s, 0 where there is none or a control character (RFC 3629; C0, DEL, C1). */
static size_t sequence(const unsigned char *s) {
    if (s[0] < 0x80) return s[0] >= 0x20 && s[0] != 0x7f;
    size_t n = s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : s[0] >= 0xe0 && s[0] < 0xf0 ? 3 : s[0] >= 0xf0 && s[0] < 0xf5 ? 4 : 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    if (n == 2 && s[0] == 0xc2 && s[1] < 0xa0) return 0;
    if (n == 3 && ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0))) return 0;
    if (n == 4 && ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90))) return 0;
    return n;
}

const char *hn_shown(hn_arena *a, const char *name) {
    hn_str s = {0};
    const unsigned char *p = (const unsigned char *)(name ? name : "");
    while (*p && s.n < SHOWN_MAX) {
        size_t n = sequence(p);
        if (n)
            hn_str_add_n(&s, (const char *)p, n);
        else
            hn_str_addf(&s, "\\x%02x", *p);
        p += n ? n : 1;
    }
    if (*p) hn_str_add(&s, "...");
    const char *out = s.failed ? NULL : hn_strdup(a, s.text ? s.text : "");
    hn_str_free(&s);
    return out ? out : "?";
}
