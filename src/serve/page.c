/* page.c — the page at `/`: its text, its style and its script are carried in the library and sent as one file. What
 * the browser may run is named by its hash, and nothing else runs (Content Security Policy, level 3). */
#include "base/sign.h"
#include "base/str.h"
#include "serve/http.h"
#include "serve/tls.h"

#include <stdlib.h>
#include <string.h>

#define CARRY(symbol, path)                                                                                            \
    __asm__(".section .rodata\n"                                                                                       \
            ".hidden " #symbol "\n"                                                                                    \
            ".globl " #symbol "\n" #symbol ":\n"                                                                       \
            ".incbin \"" path "\"\n"                                                                                   \
            ".byte 0\n"                                                                                                \
            ".text\n")

CARRY(hn_chat_page_html, "src/serve/chat_page.html");
CARRY(hn_chat_page_css, "src/serve/chat_page.css");
CARRY(hn_chat_page_js, "src/serve/chat_page.js");
extern const char hn_chat_page_html[], hn_chat_page_css[], hn_chat_page_js[];

/* The text with its two places filled. */
static void page_text(hn_str *out) {
    static const char style[] = "@STYLE@", script[] = "@SCRIPT@";
    const char *a = strstr(hn_chat_page_html, style), *b = strstr(hn_chat_page_html, script);
    hn_str_add_n(out, hn_chat_page_html, (size_t)(a - hn_chat_page_html));
    hn_str_add(out, hn_chat_page_css);
    a += sizeof style - 1;
    hn_str_add_n(out, a, (size_t)(b - a));
    hn_str_add(out, hn_chat_page_js);
    hn_str_add(out, b + sizeof script - 1);
}

static char *hash_of(const char *text) {
    unsigned char hash[32];
    return hn_tls_sha256(text, strlen(text), hash) ? hn_base64(hash, sizeof hash) : NULL;
}

static void allow(struct evkeyvalq *head, const char *script, const char *style) {
    hn_str policy = {0};
    hn_str_addf(&policy,
                "default-src 'none'; script-src 'sha256-%s'; style-src 'sha256-%s'; connect-src 'self'; img-src data:; "
                "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
                script, style);
    evhttp_add_header(head, "Content-Security-Policy", policy.failed ? "default-src 'none'" : policy.text);
    evhttp_add_header(head, "X-Content-Type-Options", "nosniff");
    evhttp_add_header(head, "Referrer-Policy", "no-referrer");
    evhttp_add_header(head, "Cache-Control", "no-cache");
    hn_str_free(&policy);
}

void hn_page_call(hn_http_call *c) {
    hn_str text = {0};
    char *script = hash_of(hn_chat_page_js), *style = hash_of(hn_chat_page_css);
    struct evbuffer *data = evbuffer_new();
    page_text(&text);
    bool fine = script && style && data && !text.failed && !evbuffer_add(data, text.text, text.n);
    if (fine) allow(evhttp_request_get_output_headers(c->request), script, style);
    hn_str_free(&text);
    free(script);
    free(style);
    hn_http_reply_data(c, fine ? 200 : 500, "text/html; charset=utf-8", data);
}
