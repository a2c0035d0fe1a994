/* onnx.c — opening a model file; external data beside it. */
#include "onnx/onnx.h"
#include "base/err.h"
#include "base/fs.h"
#include "onnx/external.h"
#include "onnx/wire.h"

#include <errno.h>
#include <limits.h>
#include <onnx.pb-c.h>
#include <stdlib.h>
#include <string.h>

void hn_onnx_close(hn_onnx *m) {
    if (!m) return;
    for (hn_external *e = m->external; e; e = e->next) hn_unmap(&e->map);
    free(m->dir);
    hn_arena_free(&m->arena);
    free(m);
}

const struct HnOnnx__Model *hn_onnx_model(const hn_onnx *m) { return m->model; }
hn_arena *hn_onnx_arena(hn_onnx *m) { return &m->arena; }

static hone_rc check_model(const HnOnnx__Model *m, const char *what, hone_err *err) {
    if (!m->graph) return hn_fail(err, HONE_E_INPUT, "'%s' has no graph; is it an ONNX model?", what);
    if (!m->n_opset_import)
        return hn_fail(err, HONE_E_INPUT, "'%s' imports no operator set; is it an ONNX model?", what);
    return HONE_OK;
}

static hone_rc parse(const void *data, size_t n, const char *what, hn_onnx **out, hone_err *err) {
    ProtobufCMessage *message;
    hn_onnx *m = calloc(1, sizeof *m);
    if (!m) return hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", what);
    m->file_b = n;
    hone_rc rc = hn_wire_read(&m->arena, &hn_onnx__model__descriptor, data, n, what, &message, err);
    if (!rc) rc = check_model((const HnOnnx__Model *)message, what, err);
    if (rc) {
        hn_onnx_close(m);
        return rc;
    }
    m->model = (const HnOnnx__Model *)message;
    *out = m;
    return HONE_OK;
}

/* The folder that external data must stay in, resolved. */
static hone_rc folder_of(const char *path, char **out, hone_err *err) {
    const char *slash = strrchr(path, '/');
    char *dir = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
    char *real = dir ? realpath(dir, NULL) : NULL;
    free(dir);
    if (!real) return hn_fail(err, HONE_E_IO, "cannot find the folder of '%s': %s", path, strerror(errno));
    *out = real;
    return HONE_OK;
}

static hone_rc open_file(const char *path, hn_onnx **out, hone_err *err) {
    hn_mapping map = {0};
    hn_onnx *m;
    hone_rc rc = hn_map_file(path, &map, err);
    if (!rc) rc = parse(map.at, map.n, path, &m, err);
    hn_unmap(&map);
    if (rc) return rc;
    rc = folder_of(path, &m->dir, err);
    if (rc)
        hn_onnx_close(m);
    else
        *out = m;
    return rc;
}

hone_rc hn_onnx_open(const hn_front_source *from, hn_onnx **out, hone_err *err) {
    if (from->path) return open_file(from->path, out, err);
    return parse(from->data, from->n, hn_front_label(from), out, err);
}
