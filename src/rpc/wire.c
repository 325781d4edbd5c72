/* Memory for protobuf-c: allocations come from the caller's arena and are charged against a budget,
 * because a small message can decode into much more memory than its own size. */
#include "rpc/wire.h"

enum {
    /* Memory that decoding may use per byte of input. An empty message in a list takes two bytes
     * encoded and about fifty decoded. */
    WIRE_FACTOR = 32,
    WIRE_MIN = 64 * 1024,
};

typedef struct WireMemory {
    Arena *arena;
    size_t left;
} WireMemory;

static void *memory_allocate(void *context, size_t size)
{
    WireMemory *memory = context;
    size_t rounded = (size + 15) & ~(size_t)15;
    if (rounded > memory->left) {
        return NULL;
    }
    void *taken = arena_try_alloc(memory->arena, rounded > 0 ? rounded : 1);
    if (taken != NULL) {
        memory->left -= rounded;
    }
    return taken;
}

/* The arena owns all memory. */
static void memory_free_noop(void *context, void *block)
{
    (void)context;
    (void)block;
}

ProtobufCMessage *wire_unpack(Arena *arena, const ProtobufCMessageDescriptor *descriptor, Str bytes,
                              Error *err)
{
    WireMemory memory = { arena, bytes.len * WIRE_FACTOR + WIRE_MIN };
    ProtobufCAllocator allocator = { memory_allocate, memory_free_noop, &memory };
    ProtobufCMessage *message = protobuf_c_message_unpack(
        descriptor, &allocator, bytes.len, (const uint8_t *)(bytes.len > 0 ? bytes.data : ""));
    if (message == NULL) {
        error_set(err, ERROR_INVALID, "not a message of type %s", descriptor->name);
    }
    return message;
}

void wire_pack(const ProtobufCMessage *message, Buf *out)
{
    size_t size = protobuf_c_message_get_packed_size(message);
    if (buf_reserve(out, size)) {
        out->len += protobuf_c_message_pack(message, (uint8_t *)out->data + out->len);
    }
}
