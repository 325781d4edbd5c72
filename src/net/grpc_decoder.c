#include "net/grpc_decoder.h"

#include "base/bug.h"

enum {
    RETAINED_MAX = 4 << 10 /* capacity that is retained for the next message */
};

void grpc_decoder_init(GrpcDecoder *decoder, uint32_t message_max)
{
    *decoder = (GrpcDecoder){ .message_max = message_max, .message = buf_make(message_max) };
}

void grpc_decoder_clear(GrpcDecoder *decoder)
{
    buf_clear(&decoder->message);
}

void grpc_decoder_discard(GrpcDecoder *decoder)
{
    if (decoder->message.cap > RETAINED_MAX) {
        buf_clear(&decoder->message);
    } else {
        buf_reset(&decoder->message);
    }
}

static bool read_prefix(GrpcDecoder *decoder, Str *input, Error *err)
{
    while (decoder->prefix_len < GRPC_PREFIX && input->len > 0) {
        decoder->prefix[decoder->prefix_len++] = input->data[0];
        *input = str_from_offset(*input, 1);
    }
    if (decoder->prefix_len < GRPC_PREFIX) {
        return true;
    }
    decoder->message_size = 0;
    for (int i = 1; i < GRPC_PREFIX; i++) {
        decoder->message_size = decoder->message_size << 8 | (uint8_t)decoder->prefix[i];
    }
    if (decoder->prefix[0] != 0) {
        return error_set(err, ERROR_INVALID, "compressed messages are not supported");
    }
    if (decoder->message_size > decoder->message_max) {
        return error_set(err, ERROR_LIMIT,
                         "message of %u bytes is too large; at most %u are accepted",
                         decoder->message_size, decoder->message_max);
    }
    return true;
}

bool grpc_decoder_next(GrpcDecoder *decoder, Str *input, bool *complete, Str *message, Error *err)
{
    *complete = false;
    if (decoder->failed) {
        return error_set(err, ERROR_INVALID, "an earlier message was rejected");
    }
    if (decoder->prefix_len < GRPC_PREFIX) {
        if (decoder->prefix_len == 0) {
            grpc_decoder_discard(decoder);
        }
        if (!read_prefix(decoder, input, err)) {
            decoder->failed = true;
            return false;
        }
        if (decoder->prefix_len < GRPC_PREFIX) {
            return true;
        }
    }
    size_t missing = decoder->message_size - decoder->message.len;
    if (input->len < missing) {
        buf_put(&decoder->message, *input);
        BUG_IF(decoder->message.overflow);
        *input = STR_EMPTY;
        return true;
    }
    if (decoder->message.len == 0) {
        *message = str_slice(*input, 0, missing);
    } else {
        buf_put(&decoder->message, str_slice(*input, 0, missing));
        *message = buf_str(&decoder->message);
    }
    *input = str_from_offset(*input, missing);
    decoder->prefix_len = 0;
    *complete = true;
    return true;
}

void grpc_prefix_put(uint32_t len, char out[GRPC_PREFIX])
{
    out[0] = 0;
    out[1] = (char)(len >> 24);
    out[2] = (char)(len >> 16);
    out[3] = (char)(len >> 8);
    out[4] = (char)len;
}
