/* tests/fuzz/fuzz_serve_infer.c — bodies of /v2/models/NAME/infer with binary tensors behind the JSON: inputs of the
 * bytes that their shapes say, or a refusal with a message. The first byte says whether the header with the JSON's
 * length is there; the first line holds it. */
#include "serve/http.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const hone_model_port input[] = {
    {.name = "x", .dtype = HONE_F32, .rank = 2, .dim = {-1, 4}, .shape = "[batch, 4]"},
    {.name = "index", .dtype = HONE_I64, .rank = 1, .dim = {-1}, .shape = "[batch]"},
    {.name = "flag", .dtype = HONE_BOOL, .rank = 1, .dim = {-1}, .shape = "[n]"},
};
static const hone_model_port output[] = {{.name = "y", .dtype = HONE_F32, .rank = 1, .dim = {-1}, .shape = "[n]"}};

/* Every byte that a shape says is there. */
static void look_at(const hn_task *j, size_t most_b) {
    volatile unsigned sum = 0;
    for (size_t k = 0; k < j->n_in; k++) {
        size_t n = hone_dtype_size_b(j->in[k].dtype);
        for (uint32_t d = 0; d < j->in[k].rank; d++) n *= (size_t)j->in[k].dim[d];
        if (!j->in[k].data || n > 8 * most_b) abort();
        for (size_t i = 0; i < n; i++) sum += ((const unsigned char *)j->in[k].data)[i];
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hone_model model = {
        .n_inputs = data && size ? 1 + data[0] / 2 % 3 : 1, .n_outputs = 1, .input = input, .output = output};
    hn_served served = {.name = (char *)(uintptr_t) "fuzz", .model = &model};
    hn_server server = {.o = {.max_body_b = 4096}};
    hn_http_call c = {.server = &server, .model = &served, .form = HN_FORM_TENSOR};
    hone_err err = {0};
    char length[32] = "";
    const uint8_t *line = size > 1 ? memchr(data + 1, '\n', size - 1) : NULL;
    if (!line || (size_t)(line - data) - 1 >= sizeof length) return 0;
    memcpy(length, data + 1, (size_t)(line - data) - 1);
    const char *body = (const char *)line + 1;
    hone_rc rc = hn_tensors_read(&c, body, size - (size_t)(line + 1 - data), data[0] & 1 ? length : NULL, &err);
    if (rc && !err.text[0]) abort();
    if (!rc) look_at(c.job[0], server.o.max_body_b);
    for (size_t i = 0; i < c.n_job; i++) {
        for (size_t k = 0; k < c.job[i]->n_in; k++) free(c.job[i]->in[k].data);
        free(c.job[i]->in);
        free(c.job[i]->out);
        free(c.job[i]);
    }
    free(c.job);
    free(c.choice);
    json_decref(c.body);
    return 0;
}
