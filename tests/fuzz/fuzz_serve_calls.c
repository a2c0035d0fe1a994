/* tests/fuzz/fuzz_serve_calls.c — calls of tools in an answer's text: those read have a name, an id and arguments,
 * what is certain never shrinks as the text grows, and what is certain is no part of a call. The first byte says
 * how the model writes calls. */
#include "language/language_int.h"
#include "serve/http.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_calls(const json_t *calls) {
    const json_t *call;
    size_t i;
    if (!json_array_size(calls)) abort();
    json_array_foreach((json_t *)calls, i, call) {
        const json_t *f = json_object_get(call, "function");
        if (!json_is_string(json_object_get(f, "name")) || !json_is_string(json_object_get(call, "id")) ||
            !json_is_string(json_object_get(f, "arguments")))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hn_http_call c = {.id = "req-fuzz"};
    size_t front, certain = 0;
    if (!size) return 0;
    c.tools = (hn_tool_style)(data[0] % 4);
    c.body = json_pack("{s:[{s:s, s:{s:s}}]}", "tools", "type", "function", "function", "name", "f");
    char *text = malloc(size);
    if (!text) return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = 0;
    front = size - 1;
    json_t *calls = hn_tools_calls(&c, 0, text, size - 1, &front);
    if (front > size - 1) abort();
    if (calls) check_calls(calls);
    for (size_t n = 0; c.tools != HN_TOOLS_NONE && n < size && n < 512; n++) {
        size_t now = hn_tools_certain(&c, text, n);
        if (now > n || now < certain) abort();
        certain = now;
    }
    if (calls && c.tools == HN_TOOLS_TAGGED && size <= 512 && certain > front) abort();
    json_decref(calls);
    free(text);
    json_decref(c.body);
    return 0;
}
