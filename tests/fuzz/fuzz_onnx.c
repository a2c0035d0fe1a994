/* tests/fuzz/fuzz_onnx.c — the ONNX front end. The first byte says what the model is: 0 (or '0'): the bytes that
 * follow; k: sample k of onnx_write.h with edits of four bytes each (what, where, where, with). What is imported must
 * be a graph that verifies and prints; anything else must be an error with a text. */
#include "../unit/onnx/onnx_memory.h"
#include "../unit/onnx/onnx_write.h"

#include <hone/import.h>
#include <hone/ir.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void edit(pb *m, const uint8_t *e) {
    if (!m->n) return;
    size_t at = (size_t)(e[1] << 8 | e[2]) % m->n, n = e[3];
    switch (e[0] % 7) {
    case 0: m->b[at] = e[3]; break;
    case 1: m->b[at] ^= (unsigned char)(1u << (e[3] & 7)); break;
    case 2: m->n = at; break;
    case 3: /* take out */
        if (n > m->n - at) n = m->n - at;
        memmove(m->b + at, m->b + at + n, m->n - at - n);
        m->n -= n;
        break;
    case 4: /* double */
        if (n > m->n - at) n = m->n - at;
        if (m->n + n > sizeof m->b) return;
        memmove(m->b + at + n, m->b + at, m->n - at);
        m->n += n;
        break;
    case 5: m->b[at] = (unsigned char)(m->b[at] + 1); break;
    default: m->b[at] = 0xff; break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hone_graph *g = NULL;
    hone_err err = {0};
    char *report = NULL, *text = NULL;
    if (!size) return 0;
    unsigned kind = data[0] >= '0' ? (unsigned)(data[0] - '0') % 6 : data[0] % 6u;
    pb m = {.n = 0};
    if (kind) {
        m = onnx_sample(kind - 1);
        for (size_t i = 1; i + 4 <= size && i < 400; i += 4) edit(&m, data + i);
    }
    const void *bytes = kind ? m.b : data + 1;
    size_t n = kind ? m.n : size - 1;
    void *head = malloc(n ? n : 1); /* so that a read beyond is seen */
    if (!head) return 0;
    if (n) memcpy(head, bytes, n);
    hn_front_onnx.sniff(head, n);
    free(head);
    hone_rc rc = onnx_import(bytes, n, NULL, &g, &report, &err);
    if (rc ? !err.text[0] || g : !g) abort();
    if (!rc && (hone_graph_verify(g, &err) || hone_graph_print(g, &text, &err))) abort();
    hone_free(text);
    hone_free(report);
    hone_graph_free(g);
    return 0;
}
