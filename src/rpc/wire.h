/* Decodes untrusted bytes with protobuf-c, with bounded memory. For codecs. */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"

/* Decodes a message into `arena`; nothing refers to `bytes` afterwards. Returns NULL and sets `err`
 * if the message is invalid or would use much more memory than its length. */
ProtobufCMessage *wire_unpack(Arena *arena, const ProtobufCMessageDescriptor *descriptor, Str bytes,
                              Error *err);
/* Appends the encoded message; sets the overflow flag of a buffer that is too small. */
void wire_pack(const ProtobufCMessage *message, Buf *out);

static inline Str wire_bytes(ProtobufCBinaryData data)
{
    return str_from((const char *)data.data, data.len);
}
/* Casts away const for protobuf-c, which never writes through the pointer. */
static inline ProtobufCBinaryData wire_data(Str s)
{
    return (ProtobufCBinaryData){ .len = s.len, .data = (uint8_t *)(uintptr_t)s.data };
}
