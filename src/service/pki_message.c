#include "service/pki_message.h"

#include "rpc/eden.pb-c.h"
#include "rpc/wire.h"

/* protobuf-c never modifies it. */
static char *wire_text(Arena *arena, Str text)
{
    return (char *)(uintptr_t)arena_format(arena, "%" STR_FMT, STR_ARG(text)).data;
}

void renew_request_encode(Str csr, Buf *out)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Eden__V1__RenewRequest message = EDEN__V1__RENEW_REQUEST__INIT;
    message.csr = wire_text(&arena, csr);
    wire_pack(&message.base, out);
}

bool renew_request_decode(Arena *arena, Str bytes, Str *csr, Error *err)
{
    const Eden__V1__RenewRequest *message = (const Eden__V1__RenewRequest *)wire_unpack(
        arena, &eden__v1__renew_request__descriptor, bytes, err);
    if (message == NULL) {
        return false;
    }
    *csr = str_from_c(message->csr);
    return true;
}

void renew_reply_encode(const RenewReply *reply, Buf *out)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Eden__V1__RenewReply message = EDEN__V1__RENEW_REPLY__INIT;
    message.certificate = wire_text(&arena, reply->certificate);
    message.bundle = wire_text(&arena, reply->bundle);
    wire_pack(&message.base, out);
}

bool renew_reply_decode(Arena *arena, Str bytes, RenewReply *out, Error *err)
{
    const Eden__V1__RenewReply *message = (const Eden__V1__RenewReply *)wire_unpack(
        arena, &eden__v1__renew_reply__descriptor, bytes, err);
    if (message == NULL) {
        return false;
    }
    *out = (RenewReply){ str_from_c(message->certificate), str_from_c(message->bundle) };
    return true;
}
