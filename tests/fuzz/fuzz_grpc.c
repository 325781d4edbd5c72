/* Input: the messages of a gRPC stream. Invariants: the messages do not depend on the chunk size,
 * and memory use never exceeds the number of bytes received. The same bytes are parsed as trailers,
 * timeouts and addresses. */
#include "base/bug.h"
#include "net/address.h"
#include "net/grpc_decoder.h"
#include "net/grpc_status.h"

enum {
    MESSAGE_MAX = 300
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The messages with their lengths, or the error. */
static void decode(Str bytes, size_t chunk, Buf *out)
{
    AUTO_CLEAR(GrpcDecoder) decoder;
    grpc_decoder_init(&decoder, MESSAGE_MAX);
    for (size_t at = 0; at < bytes.len; at += chunk) {
        Str input = str_slice(bytes, at, at + chunk);
        while (input.len > 0) {
            Error err = { 0 };
            bool complete;
            Str message;
            size_t before = input.len;
            if (!grpc_decoder_next(&decoder, &input, &complete, &message, &err)) {
                BUG_IF(err.kind != ERROR_LIMIT && err.kind != ERROR_INVALID);
                buf_put_format(out, "failed: %s", err.text);
                return;
            }
            BUG_IF(!complete && input.len != 0);
            BUG_IF(input.len >= before);
            BUG_IF(grpc_decoder_buffered(&decoder) > MESSAGE_MAX);
            if (complete) {
                BUG_IF(message.len > MESSAGE_MAX);
                buf_put_format(out, "%zu:", message.len);
                buf_put(out, message);
            }
        }
    }
    buf_put_format(out, "inside %d", grpc_decoder_has_partial(&decoder));
}

static void check_texts(Str text)
{
    AUTO_CLEAR(Buf) escaped = buf_make(BUF_UNLIMITED), back = buf_make(BUF_UNLIMITED);
    grpc_text_unescape(text, &back);
    buf_reset(&back);
    grpc_text_escape(text, &escaped);
    for (size_t i = 0; i < escaped.len; i++) {
        BUG_IF(escaped.data[i] < 0x20 || escaped.data[i] > 0x7e);
    }
    grpc_text_unescape(buf_str(&escaped), &back);
    BUG_IF(!str_eq(buf_str(&back), str_slice(text, 0, GRPC_TEXT_MAX)));
    int64_t timeout_ms, again_ms;
    if (grpc_timeout_parse(text, &timeout_ms)) {
        char printed[16];
        BUG_IF(timeout_ms < 0 || timeout_ms > GRPC_TIMEOUT_MAX_MS);
        grpc_timeout_format(timeout_ms, printed);
        BUG_IF(!grpc_timeout_parse(str_from_c(printed), &again_ms));
    }
    Address address, again;
    Error err;
    if (address_parse(text, 1337, &address, &err)) {
        AUTO_CLEAR(Buf) printed = buf_make(1000);
        address_format(&address, &printed);
        BUG_IF(!address_parse(buf_str(&printed), 1, &again, &err));
        BUG_IF(again.kind != address.kind || again.port != address.port ||
               strcmp(again.host, address.host) != 0);
        if (address.kind != ADDRESS_NAME) {
            address_to_socket(&address);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    Str bytes = str_from((const char *)data + 1, size - 1);
    AUTO_CLEAR(Buf) whole = buf_make(BUF_UNLIMITED), chunks = buf_make(BUF_UNLIMITED);
    decode(bytes, bytes.len + 1, &whole);
    decode(bytes, (size_t)data[0] + 1, &chunks);
    BUG_IF(!str_eq(buf_str(&whole), buf_str(&chunks)));
    check_texts(bytes);
    return 0;
}
