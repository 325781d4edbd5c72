/* Input: a session message of either side. Invariants: it is rejected, or it can be written, read
 * again, and gives the same bytes. */
#include "base/bug.h"
#include "rpc/session_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void node_again(Arena *arena, Str bytes)
{
    Error err;
    NodeMessage message;
    if (!node_message_decode(arena, bytes, &message, &err)) {
        BUG_IF(err.kind != ERROR_INVALID && err.kind != ERROR_LIMIT);
        return;
    }
    Buf first = buf_make_in(arena, BUF_UNLIMITED), second = buf_make_in(arena, BUF_UNLIMITED);
    node_message_encode(&message, &first);
    BUG_IF(!node_message_decode(arena, buf_str(&first), &message, &err));
    node_message_encode(&message, &second);
    BUG_IF(!str_eq(buf_str(&first), buf_str(&second)));
}

static void server_again(Arena *arena, Str bytes)
{
    Error err;
    ServerMessage message;
    if (!server_message_decode(arena, bytes, &message, &err)) {
        BUG_IF(err.kind != ERROR_INVALID && err.kind != ERROR_LIMIT);
        return;
    }
    Buf first = buf_make_in(arena, BUF_UNLIMITED), second = buf_make_in(arena, BUF_UNLIMITED);
    server_message_encode(&message, &first);
    BUG_IF(!server_message_decode(arena, buf_str(&first), &message, &err));
    server_message_encode(&message, &second);
    BUG_IF(!str_eq(buf_str(&first), buf_str(&second)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str bytes = str_from((const char *)data, size);
    node_again(&arena, bytes);
    server_again(&arena, bytes);
    return 0;
}
