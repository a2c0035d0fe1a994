/* tests/fuzz/fuzz_pipeline.c — pipelines of passes and edits of them, a line each: what is read prints as it was; edits
 * that are taken leave what reads back; what is refused has a text. */
#include "target/pipeline.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_edits(hn_pipeline *p, const char *edits, hn_arena *a) {
    hone_err err = {0};
    hn_str s = {0};
    hn_pipeline again;
    hone_rc rc = hn_pipeline_apply(p, edits, a, &err);
    if (rc && !err.text[0]) abort();
    if (!rc) hn_pipeline_print(p->root, &s);
    if (!rc && s.n && (hn_pipeline_parse(s.text, a, &again, &err) || again.n != hn_pipeline_count(p->root))) abort();
    hn_str_free(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    hn_arena a = {0};
    hn_str s = {0};
    hn_pipeline p;
    hone_err err = {0};
    char *text = malloc(size + 1);
    if (!text || size > 20000) {
        free(text);
        return 0;
    }
    memcpy(text, data, size);
    text[size] = 0;
    char *edits = strchr(text, '\n');
    if (edits) *edits++ = 0;
    hone_rc rc = hn_pipeline_parse(text, &a, &p, &err);
    if (rc && !err.text[0]) abort();
    if (!rc) hn_pipeline_print(p.root, &s);
    if (!rc && (!s.text || strcmp(s.text, text))) abort();
    if (!rc && edits) check_edits(&p, edits, &a);
    hn_str_free(&s);
    free(text);
    hn_arena_free(&a);
    return 0;
}
