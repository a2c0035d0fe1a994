/* onnx/wire.h — protobuf messages from untrusted bytes.
 *
 * The bytes are walked once before anything is taken apart: lengths inside their message, known wire types, at most
 * HN_WIRE_DEPTH levels, no message twice where one is meant. The memory that a message may take is bounded by its size
 * on the wire.
 * Owns: everything is in the arena handed in.   Errors: E_INPUT names the byte, E_LIMIT, E_NOMEM.
 */
#ifndef HN_WIRE_H
#define HN_WIRE_H

#include "base/arena.h"

struct ProtobufCMessage;
struct ProtobufCMessageDescriptor;

enum { HN_WIRE_DEPTH = 100 }; /* what protobuf's own parsers allow */

/* `what` names the bytes in messages. */
hone_rc hn_wire_read(hn_arena *a, const struct ProtobufCMessageDescriptor *kind, const void *data, size_t n,
                     const char *what, struct ProtobufCMessage **out, hone_err *err);

#endif
