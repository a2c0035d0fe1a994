/* source.c — GGUF files and folders, seen alike. */
#include "quantize/source.h"
#include "base/fs.h"
#include "base/str.h"

#include <string.h>

hone_rc hn_model_source_open(const char *path, hn_model_source *out, hone_err *err) {
    *out = (hn_model_source){0};
    return hn_is_folder(path) ? hn_hf_gguf_open(path, &out->folder, err) : hn_gguf_open(path, &out->file, err);
}

void hn_model_source_close(hn_model_source *s) {
    hn_gguf_close(s->file);
    hn_hf_gguf_close(s->folder);
    *s = (hn_model_source){0};
}

size_t hn_model_source_tensors(const hn_model_source *s) {
    return s->file ? hn_gguf_tensors(s->file) : hn_hf_gguf_tensors(s->folder);
}

const hn_gguf_tensor *hn_model_source_at(const hn_model_source *s, size_t i) {
    return s->file ? hn_gguf_tensor_at(s->file, i) : &hn_hf_gguf_tensor_at(s->folder, i)->t;
}

uint64_t hn_model_source_head(const hn_model_source *s, size_t i) {
    return s->file ? 0 : hn_hf_gguf_tensor_at(s->folder, i)->head;
}

const hn_block_type *hn_model_source_kept(const hn_model_source *s, size_t i) {
    const hn_gguf_tensor *t = hn_model_source_at(s, i);
    return s->folder && t->rank < 2 ? hn_block_type_named("F32") : hn_block_type_of(t->type);
}

hn_mix_model hn_model_source_model(const hn_model_source *s) {
    if (s->file) return hn_mix_model_of(s->file);
    hn_mix_model m = {.layers = hn_hf_gguf_layers(s->folder)};
    for (size_t i = 0; i < hn_model_source_tensors(s); i++)
        m.has_output = m.has_output || !strcmp(hn_model_source_at(s, i)->name, "output.weight");
    return m;
}

uint64_t hn_model_source_size_b(const hn_model_source *s) {
    return s->file ? hn_gguf_size_b(s->file) : hn_hf_gguf_size_b(s->folder);
}

static bool written_anew(const char *key) {
    static const char *const whole[] = {"general.alignment", "general.file_type", "general.quantization_version"};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (!strcmp(key, whole[i])) return true;
    return hn_starts_with(key, "split.") || hn_starts_with(key, "quantize.imatrix.");
}

hone_rc hn_model_source_put_keys(const hn_model_source *s, hn_gguf_writer *w, hone_err *err) {
    if (s->folder) return hn_hf_gguf_put_keys(s->folder, w, err);
    for (size_t i = 0; i < hn_gguf_pairs(s->file); i++)
        if (!written_anew(hn_gguf_pair_at(s->file, i)->key)) hn_gguf_put_pair(w, hn_gguf_pair_at(s->file, i));
    return HONE_OK;
}
