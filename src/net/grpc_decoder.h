/* Messages out of the bytes of a gRPC stream: each has a flag, its length in four bytes, and
 * itself. Bytes come in any pieces. Pure. */
#pragma once

#include "base/buf.h"
#include "base/error.h"

enum {
    GRPC_PREFIX = 5
};

typedef struct GrpcDecoder {
    uint32_t message_max;
    uint32_t wanted; /* bytes of the message under way, once its prefix is complete */
    uint8_t prefix_len;
    bool failed;
    char prefix[GRPC_PREFIX];
    Buf message; /* what is there of it */
} GrpcDecoder;

void grpc_decoder_init(GrpcDecoder *decoder, uint32_t message_max);
void grpc_decoder_clear(GrpcDecoder *decoder);
DEFINE_AUTO_CLEAR(GrpcDecoder, grpc_decoder_clear)

/* Takes from the front of `input` up to the end of one message. `complete` says whether there is
 * one; if not, the input is used up. The message is valid until the next call, as long as the input
 * is. Fails, for good, with ERROR_LIMIT for a message that is too large, before memory is taken for
 * it, and with ERROR_INVALID for one that is compressed, which is never offered. */
MUST_CHECK bool grpc_decoder_next(GrpcDecoder *decoder, Str *input, bool *complete, Str *message,
                                  Error *err);
/* Bytes held. */
static inline size_t grpc_decoder_held(const GrpcDecoder *decoder)
{
    return decoder->message.len;
}
/* Whether a message has begun and not ended. */
static inline bool grpc_decoder_is_inside(const GrpcDecoder *decoder)
{
    return decoder->prefix_len > 0;
}

/* The bytes before a message of this length. */
void grpc_prefix_put(uint32_t len, char out[GRPC_PREFIX]);
