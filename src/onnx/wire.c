/* wire.c — the check before the parse. protobuf-c recurses without a bound and takes a structure for every two bytes
 * of an empty message; both are bounded here. Format: protobuf's "Encoding" document. */
#include "onnx/wire.h"
#include "base/err.h"

#include <limits.h>
#include <protobuf-c/protobuf-c.h>

typedef struct walk {
    const uint8_t *start;
    const char *what;
    hone_err *err;
} walk;

static hone_rc bad(const walk *w, const uint8_t *at, const char *why) {
    return hn_fail(w->err, HONE_E_INPUT, "'%s': byte %zu: %s; the file is damaged or no ONNX file", w->what,
                   (size_t)(at - w->start), why);
}

/* One varint of at most ten bytes; NULL when it does not end. */
static const uint8_t *varint(const uint8_t *p, const uint8_t *end, uint64_t *out) {
    uint64_t x = 0;
    for (unsigned shift = 0; shift < 70 && p < end; shift += 7) {
        uint8_t b = *p++;
        if (shift < 64) x |= (uint64_t)(b & 127) << shift;
        if (!(b & 128)) {
            *out = x;
            return p;
        }
    }
    return NULL;
}

static hone_rc walk_message(const walk *w, const ProtobufCMessageDescriptor *kind, const uint8_t *p, const uint8_t *end,
                            unsigned depth);

/* The content of a length-delimited field. */
static hone_rc walk_content(const walk *w, const ProtobufCFieldDescriptor *f, const uint8_t *p, const uint8_t *end,
                            unsigned depth, uint64_t *seen) {
    if (!f || f->type != PROTOBUF_C_TYPE_MESSAGE) return HONE_OK;
    if (f->label != PROTOBUF_C_LABEL_REPEATED) {
        uint64_t bit = 1ull << (f->id & 63);
        if (*seen & bit) return bad(w, p, "a part that may occur once is given twice");
        *seen |= bit;
    }
    return walk_message(w, f->descriptor, p, end, depth + 1);
}

/* Skips the value of one field; *p is behind its key. */
static hone_rc walk_field(const walk *w, const ProtobufCFieldDescriptor *f, unsigned wire, const uint8_t **p,
                          const uint8_t *end, unsigned depth, uint64_t *seen) {
    uint64_t n = 0;
    const uint8_t *at = *p;
    switch (wire) {
    case 0:
        if (!(*p = varint(at, end, &n))) return bad(w, at, "a number does not end");
        return HONE_OK;
    case 1: n = 8; break;
    case 5: n = 4; break;
    case 2:
        if (!(*p = varint(at, end, &n))) return bad(w, at, "a length does not end");
        if (n > (uint64_t)(end - *p)) return bad(w, at, "a length reaches beyond what holds it");
        if (n > INT_MAX)
            return hn_fail(w->err, HONE_E_LIMIT,
                           "'%s' is larger than 2 GiB, which protobuf does not allow; store its "
                           "weights as external data",
                           w->what);
        *p += n;
        return walk_content(w, f, *p - n, *p, depth, seen);
    default: return bad(w, at, "an unknown kind of field");
    }
    if (n > (uint64_t)(end - at)) return bad(w, at, "the file ends inside a number");
    *p = at + n;
    return HONE_OK;
}

static hone_rc walk_message(const walk *w, const ProtobufCMessageDescriptor *kind, const uint8_t *p, const uint8_t *end,
                            unsigned depth) {
    uint64_t seen = 0;
    if (depth > HN_WIRE_DEPTH) return bad(w, p, "more than 100 levels of nesting");
    while (p < end) {
        uint64_t key;
        const uint8_t *at = p;
        if (!(p = varint(p, end, &key)) || key >> 3 == 0 || key >> 3 > (1u << 29) - 1)
            return bad(w, at, "this is no field");
        const ProtobufCFieldDescriptor *f = protobuf_c_message_descriptor_get_field(kind, (unsigned)(key >> 3));
        hone_rc rc = walk_field(w, f, (unsigned)(key & 7), &p, end, depth, &seen);
        if (rc) return rc;
    }
    return HONE_OK;
}

typedef struct quota {
    hn_arena *arena;
    size_t room_b;
    bool exceeded;
} quota;

static void *quota_alloc(void *data, size_t n) {
    quota *q = data;
    if (n > q->room_b) {
        q->exceeded = true;
        return NULL;
    }
    q->room_b -= n;
    return hn_alloc(q->arena, n);
}

static void quota_free(void *data, void *p) { (void)data, (void)p; }

hone_rc hn_wire_read(hn_arena *a, const struct ProtobufCMessageDescriptor *kind, const void *data, size_t n,
                     const char *what, struct ProtobufCMessage **out, hone_err *err) {
    walk w = {data, what, err};
    if (!n) return hn_fail(err, HONE_E_INPUT, "'%s' is empty", what);
    hone_rc rc = walk_message(&w, kind, data, (const uint8_t *)data + n, 0);
    if (rc) return rc;
    size_t room_b = ((size_t)64 << 20) + (n > SIZE_MAX / 64 ? SIZE_MAX / 2 : 32 * n);
    quota q = {a, room_b, false};
    ProtobufCAllocator allocator = {quota_alloc, quota_free, &q};
    ProtobufCMessage *m = protobuf_c_message_unpack(kind, &allocator, n, data);
    if (!hn_arena_ok(a)) return hn_fail(err, HONE_E_NOMEM, "out of memory reading '%s'", what);
    if (q.exceeded) return hn_fail(err, HONE_E_LIMIT, "'%s' holds far more empty parts than any model has", what);
    if (!m) return hn_fail(err, HONE_E_INPUT, "'%s' does not follow the format; the file is damaged", what);
    *out = m;
    return HONE_OK;
}
