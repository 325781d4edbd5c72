/* Decodes messages from the bytes of a gRPC stream: each has a flag, its length in four bytes, and
 * its content. The input may be split anywhere. Pure. */
#pragma once

#include "base/buf.h"
#include "base/error.h"

enum {
    GRPC_PREFIX = 5
};

typedef struct GrpcDecoder {
    uint32_t message_max;
    uint32_t message_size; /* size of the current message, once its prefix is complete */
    uint8_t prefix_len;
    bool failed;
    char prefix[GRPC_PREFIX];
    Buf message; /* received part of it */
} GrpcDecoder;

void grpc_decoder_init(GrpcDecoder *decoder, uint32_t message_max);
void grpc_decoder_clear(GrpcDecoder *decoder);
DEFINE_AUTO_CLEAR(GrpcDecoder, grpc_decoder_clear)

/* Consumes input up to the end of one message. Sets `complete` if there is one; otherwise all input
 * is consumed. The message is valid until the next call, as long as the input is. Fails permanently
 * with ERROR_LIMIT for a message that is too large, before allocating memory for it, and with
 * ERROR_INVALID for a compressed one, since we never offer compression. */
MUST_CHECK bool grpc_decoder_next(GrpcDecoder *decoder, Str *input, bool *complete, Str *message,
                                  Error *err);
/* Discards the last message, which is complete: otherwise its memory is held until the next one. */
void grpc_decoder_discard(GrpcDecoder *decoder);
/* Bytes buffered. */
static inline size_t grpc_decoder_buffered(const GrpcDecoder *decoder)
{
    return decoder->message.len;
}
/* Whether a message is incomplete. */
static inline bool grpc_decoder_has_partial(const GrpcDecoder *decoder)
{
    return decoder->prefix_len > 0;
}

/* Writes the prefix of a message of this length. */
void grpc_prefix_put(uint32_t len, char out[GRPC_PREFIX]);
