/* shown.c — names from models, escaped for messages. */
#include "base/utf8.h"
#include "front/front.h"

#include <string.h>

enum { SHOWN_MAX = 120 };

/* Bytes of the character at s, 0 where there is none or a control character (C0, DEL, C1). */
static size_t printable(const char *s) {
    uint32_t c = 0;
    size_t n = hn_utf8_next(s, SIZE_MAX, &c);
    return c < 0x20 || (c >= 0x7f && c < 0xa0) ? 0 : n;
}

const char *hn_shown(hn_arena *a, const char *name) {
    hn_str s = {0};
    const char *p = name ? name : "";
    while (*p && s.n < SHOWN_MAX) {
        size_t n = printable(p);
        if (n)
            hn_str_add_n(&s, p, n);
        else
            hn_str_addf(&s, "\\x%02x", (unsigned char)*p);
        p += n ? n : 1;
    }
    if (*p) hn_str_add(&s, "...");
    const char *out = s.failed ? NULL : hn_strdup(a, s.text ? s.text : "");
    hn_str_free(&s);
    return out ? out : "?";
}
