/* tests/fuzz/fuzz_template.c — a chat template on one conversation: it gives a text, or an error with a text, and it
 * ends. */
#include "text/template.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char conversation[] =
    "{\"messages\": [{\"role\": \"system\", \"content\": \"be brief\"}, {\"role\": \"user\", \"content\": \" hi "
    "\\u00e9\"},"
    " {\"role\": \"assistant\", \"content\": \"\", \"tool_calls\": [{\"function\": {\"name\": \"f\", \"arguments\":"
    " {\"x\": [1, 2.5, null, true]}}}]}], \"bos_token\": \"<s>\", \"eos_token\": \"</s>\","
    " \"add_generation_prompt\": true, \"tools\": [{\"name\": \"f\"}]}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    json_t *context = json_loads(conversation, 0, NULL);
    hn_str out = {0};
    hone_err err = {0};
    if (!context) abort();
    if (hn_template_render((const char *)data, size, context, 0, &out, &err) && !err.text[0]) abort();
    hn_str_free(&out);
    json_decref(context);
    return 0;
}
