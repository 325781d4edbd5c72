#include "rpc/run_append.h"

#include "rpc/eden.pb-c.h"
#include "rpc/wire.h"

void run_append_encode(const RunAppend *request, Buf *out)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Eden__V1__AppendRequest message = EDEN__V1__APPEND_REQUEST__INIT;
    message.node = arena_copy_c(&arena, request->node);
    message.run = arena_copy_c(&arena, request->run);
    message.from = request->from;
    message.lines = wire_data(request->lines);
    wire_pack(&message.base, out);
}

bool run_append_decode(Arena *arena, Str bytes, RunAppend *out, Error *err)
{
    const Eden__V1__AppendRequest *message = (const Eden__V1__AppendRequest *)wire_unpack(
        arena, &eden__v1__append_request__descriptor, bytes, err);
    if (message == NULL) {
        return false;
    }
    if (message->lines.len > RUN_LINES_MAX) {
        return error_set(err, ERROR_LIMIT, "more than %d bytes of events", RUN_LINES_MAX);
    }
    *out = (RunAppend){ .node = str_from_c(message->node),
                        .run = str_from_c(message->run),
                        .from = message->from,
                        .lines = wire_bytes(message->lines) };
    return true;
}

void run_append_reply_encode(uint64_t next, Buf *out)
{
    Eden__V1__AppendReply message = EDEN__V1__APPEND_REPLY__INIT;
    message.next = next;
    wire_pack(&message.base, out);
}

bool run_append_reply_decode(Str bytes, uint64_t *next, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    const Eden__V1__AppendReply *message = (const Eden__V1__AppendReply *)wire_unpack(
        &arena, &eden__v1__append_reply__descriptor, bytes, err);
    if (message == NULL) {
        return false;
    }
    *next = message->next;
    return true;
}
