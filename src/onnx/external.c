/* external.c — see external.h. Format: ONNX's "External Data" document (keys location, offset, length). */
#include "onnx/external.h"
#include "base/err.h"
#include "base/fs.h"

#include <errno.h>
#include <onnx.pb-c.h>
#include <stdlib.h>
#include <string.h>

typedef struct place {
    const char *location;
    uint64_t offset, length;
    bool has_length;
} place;

static bool decimal(const char *text, uint64_t *out) {
    uint64_t x = 0;
    if (!*text) return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || x > (UINT64_MAX - 9) / 10) return false;
        x = 10 * x + (uint64_t)(*text - '0');
    }
    *out = x;
    return true;
}

static hone_rc read_place(hn_onnx *m, const HnOnnx__Tensor *t, const char *what, place *out, hone_err *err) {
    *out = (place){0};
    for (size_t i = 0; i < t->n_external_data; i++) {
        const HnOnnx__Entry *e = t->external_data[i];
        const char *key = e->key ? e->key : "", *value = e->value ? e->value : "";
        bool good = true;
        if (!strcmp(key, "location"))
            out->location = value;
        else if (!strcmp(key, "offset"))
            good = decimal(value, &out->offset);
        else if (!strcmp(key, "length"))
            good = out->has_length = decimal(value, &out->length);
        if (!good)
            return hn_fail(err, HONE_E_INPUT, "%s: the %s '%s' of its external data is no number", what, key,
                           hn_shown(&m->arena, value));
    }
    if (!out->location || !out->location[0])
        return hn_fail(err, HONE_E_INPUT, "%s has external data without a location", what);
    return HONE_OK;
}

/* Relative, and no element is `..`. */
static bool stays_inside(const char *path) {
    if (path[0] == '/') return false;
    for (const char *p = path; p; p = strchr(p, '/')) {
        p += *p == '/';
        if (p[0] == '.' && p[1] == '.' && (p[2] == '/' || !p[2])) return false;
    }
    return true;
}

static hone_rc map_external(hn_onnx *m, const char *location, const char *what, hn_external **out, hone_err *err) {
    for (hn_external *e = m->external; e; e = e->next)
        if (!strcmp(e->location, location)) return *out = e, HONE_OK;
    const char *shown = hn_shown(&m->arena, location);
    if (!stays_inside(location))
        return hn_fail(err, HONE_E_INPUT, "%s: external data '%s' lies outside the model's folder", what, shown);
    char *path = hn_path_join(m->dir, location), *real = path ? realpath(path, NULL) : NULL;
    free(path);
    if (!real) return hn_fail(err, HONE_E_IO, "%s: cannot find external data '%s': %s", what, shown, strerror(errno));
    size_t n = strlen(m->dir);
    bool inside = !strncmp(real, m->dir, n) && (real[n] == '/' || n == 1);
    hn_external *e = HN_NEW(&m->arena, hn_external);
    hone_rc rc = !inside ? hn_fail(err, HONE_E_INPUT, "%s: external data '%s' is a link that leaves the model's folder",
                                   what, shown)
                 : !e    ? hn_fail(err, HONE_E_NOMEM, "out of memory")
                         : hn_map_file(real, &e->map, err);
    free(real);
    if (rc) return rc;
    e->location = location;
    e->next = m->external;
    *out = m->external = e;
    return HONE_OK;
}

hone_rc hn_external_bytes(hn_onnx *m, const HnOnnx__Tensor *t, const char *what, uint64_t need_b, const void **out,
                          hone_err *err) {
    place p;
    hn_external *e = NULL;
    hone_rc rc = read_place(m, t, what, &p, err);
    if (rc) return rc;
    if (!m->dir) return hn_fail(err, HONE_E_INPUT, "%s has external data, which a model in memory cannot have", what);
    if (p.has_length && p.length != need_b)
        return hn_fail(err, HONE_E_INPUT, "%s: its type takes %llu bytes, but its external data has %llu", what,
                       (unsigned long long)need_b, (unsigned long long)p.length);
    if ((rc = map_external(m, p.location, what, &e, err))) return rc;
    if (p.offset > e->map.n || need_b > e->map.n - p.offset)
        return hn_fail(err, HONE_E_INPUT, "%s: bytes %llu to %llu of external data '%s' are needed, but it has %zu",
                       what, (unsigned long long)p.offset, (unsigned long long)(p.offset + need_b),
                       hn_shown(&m->arena, p.location), e->map.n);
    *out = need_b ? (const char *)e->map.at + p.offset : "";
    return HONE_OK;
}
