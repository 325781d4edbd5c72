/* Decodes untrusted bytes with protobuf-c, with bounded memory. For codecs. */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"

/* The message, in `arena` and borrowing nothing; NULL when the bytes are no such message or would
 * take much more memory than they are long: then `err` is set. */
ProtobufCMessage *wire_unpack(Arena *arena, const ProtobufCMessageDescriptor *descriptor, Str bytes,
                              Error *err);
/* Appends the message; a buffer that is too small overflows. */
void wire_pack(const ProtobufCMessage *message, Buf *out);

static inline Str wire_bytes(ProtobufCBinaryData data)
{
    return str_from((const char *)data.data, data.len);
}
/* protobuf-c never writes through it. */
static inline ProtobufCBinaryData wire_data(Str s)
{
    return (ProtobufCBinaryData){ .len = s.len, .data = (uint8_t *)(uintptr_t)s.data };
}
