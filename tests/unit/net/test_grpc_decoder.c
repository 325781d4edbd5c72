#include "net/grpc_decoder.h"

#include "unit.h"

/* The messages in `bytes`, each followed by '|', received in chunks of `chunk` bytes. */
static bool decode(Str bytes, size_t chunk, uint32_t max, Buf *out, Error *err)
{
    AUTO_CLEAR(GrpcDecoder) decoder;
    grpc_decoder_init(&decoder, max);
    for (size_t at = 0; at < bytes.len; at += chunk) {
        Str input = str_slice(bytes, at, at + chunk);
        while (input.len > 0) {
            bool complete;
            Str message;
            if (!grpc_decoder_next(&decoder, &input, &complete, &message, err)) {
                bool again = grpc_decoder_next(&decoder, &input, &complete, &message, err);
                assert_false(again);
                return false;
            }
            if (complete) {
                buf_put(out, message);
                buf_put_char(out, '|');
            }
        }
    }
    return true;
}

static void messages_do_not_depend_on_the_chunk_size(void **state)
{
    Str bytes = STR("\0\0\0\0\3abc"
                    "\0\0\0\0\0"
                    "\0\0\0\0\1x"
                    "\0\0\0\0\5hello"
                    "\0\0\0\0\3no");
    for (size_t chunk = 1; chunk <= bytes.len; chunk++) {
        AUTO_CLEAR(Buf) out = buf_make(100);
        Error err = { 0 };
        assert_true(decode(bytes, chunk, 5, &out, &err));
        assert_str(buf_str(&out), "abc||x|hello|");
    }
}

static void large_or_compressed_messages_fail(void **state)
{
    for (size_t chunk = 1; chunk <= 11; chunk++) {
        AUTO_CLEAR(Buf) out = buf_make(100);
        Error err = { 0 };
        assert_false(decode(STR("\0\0\0\0\6hello!"), chunk, 5, &out, &err));
        assert_false(decode(STR("\0\xff\xff\xff\xffhello!"), chunk, 5, &out, &err));
        assert_false(decode(STR("\1\0\0\0\5hello"), chunk, 5, &out, &err));
        assert_int_equal(out.len, 0);
    }
    Error err = { 0 };
    AUTO_CLEAR(GrpcDecoder) decoder;
    bool complete;
    Str message, input = STR("\0\1\0\0\0");
    grpc_decoder_init(&decoder, 5);
    assert_false(grpc_decoder_next(&decoder, &input, &complete, &message, &err));
    assert_int_equal(err.kind, ERROR_LIMIT);
}

/* An announced length costs nothing before its bytes arrive. */
static void memory_follows_the_bytes(void **state)
{
    AUTO_CLEAR(GrpcDecoder) decoder;
    grpc_decoder_init(&decoder, 1 << 30);
    Str input = STR("\0\x3f\0\0\0abc");
    bool complete;
    Str message;
    Error err;
    assert_true(grpc_decoder_next(&decoder, &input, &complete, &message, &err));
    assert_false(complete);
    assert_int_equal(grpc_decoder_buffered(&decoder), 3);
    assert_true(decoder.message.cap < 4096);
    assert_true(grpc_decoder_has_partial(&decoder));
}

static void a_discarded_message_takes_no_memory(void **state)
{
    AUTO_CLEAR(GrpcDecoder) decoder;
    static const char text[64 << 10];
    char prefix[GRPC_PREFIX];
    bool complete;
    Str message;
    Error err;
    grpc_decoder_init(&decoder, sizeof text);
    grpc_prefix_put(sizeof text, prefix);
    Str inputs[] = { str_from(prefix, sizeof prefix), str_from(text, 1),
                     str_from(text + 1, sizeof text - 1) };
    for (size_t i = 0; i < COUNT_OF(inputs); i++) {
        assert_true(grpc_decoder_next(&decoder, &inputs[i], &complete, &message, &err));
    }
    assert_true(complete && message.len == sizeof text);
    grpc_decoder_discard(&decoder);
    assert_int_equal(grpc_decoder_buffered(&decoder), 0);
    assert_true(decoder.message.cap <= 4096);
}

static void a_prefix_survives_a_round_trip(void **state)
{
    char prefix[GRPC_PREFIX];
    grpc_prefix_put(0x01020304, prefix);
    assert_memory_equal(prefix, "\0\1\2\3\4", GRPC_PREFIX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_do_not_depend_on_the_chunk_size),
        cmocka_unit_test(large_or_compressed_messages_fail),
        cmocka_unit_test(memory_follows_the_bytes),
        cmocka_unit_test(a_discarded_message_takes_no_memory),
        cmocka_unit_test(a_prefix_survives_a_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
