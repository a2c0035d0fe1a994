/* fronts.c — the table of front ends. A new one is a folder and a row here (docs/how-to-add-a-front-end.md). */
#include "import/fronts.h"

#include "gguf/front_gguf.h"
#include "hf/front_hf.h"
#include "import/graph_text.h"
#include "onnx/onnx.h"

#include <string.h>

/* ONNX has no mark of its own: it is asked last. */
static const hn_front *const fronts[] = {
    &hn_front_graph_text,
    &hn_front_gguf,
    &hn_front_hf,
    &hn_front_onnx,
};
enum { N_FRONTS = sizeof fronts / sizeof fronts[0] };

const hn_front *hn_front_at(size_t i) { return i < N_FRONTS ? fronts[i] : NULL; }

const hn_front *hn_front_of_folder(const char *path) {
    for (size_t i = 0; i < N_FRONTS; i++)
        if (fronts[i]->in_folder && fronts[i]->in_folder(path)) return fronts[i];
    return NULL;
}

static bool ends_with(const char *s, const char *end) {
    size_t n = strlen(s), m = strlen(end);
    return n > m && !strcmp(s + n - m, end);
}

const hn_front *hn_front_of(const void *head, size_t n, const char *path) {
    for (size_t i = 0; i < N_FRONTS; i++)
        if (fronts[i]->sniff(head, n < HN_SNIFF_B ? n : HN_SNIFF_B)) return fronts[i];
    for (size_t i = 0; i < N_FRONTS && path; i++)
        if (ends_with(path, fronts[i]->suffix)) return fronts[i];
    return NULL;
}
