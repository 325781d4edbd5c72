#include "net/grpc_status.h"

#include "unit.h"

static void messages_survive_a_round_trip(void **state)
{
    static const char *const texts[] = { "", "plain text", "100% \n\t\x7f",
                                         "\xc3\xa4 \xf0\x9f\x8c\xb1", "%41 %zz %" };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        AUTO_CLEAR(Buf) escaped = buf_make(1000), back = buf_make(1000);
        grpc_text_escape(str_from_c(texts[i]), &escaped);
        for (size_t j = 0; j < escaped.len; j++) {
            assert_in_range(escaped.data[j], 0x20, 0x7e);
        }
        grpc_text_unescape(buf_str(&escaped), &back);
        assert_str(buf_str(&back), texts[i]);
    }
    AUTO_CLEAR(Buf) odd = buf_make(1000);
    grpc_text_unescape(STR("%4 %g1 a%"), &odd);
    assert_str(buf_str(&odd), "%4 %g1 a%");
}

static void timeouts_are_read(void **state)
{
    static const struct {
        const char *text;
        int64_t ms;
    } rows[] = {
        { "1S", 1000 },
        { "100m", 100 },
        { "1u", 1 },
        { "1000001n", 2 },
        { "2M", 120000 },
        { "1H", 3600000 },
        { "0S", 0 },
        { "99999999m", 99999999 },
        { "99999999H", GRPC_TIMEOUT_MAX_MS },
        { "99999999S", GRPC_TIMEOUT_MAX_MS },
    };
    int64_t ms;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_true(grpc_timeout_parse(str_from_c(rows[i].text), &ms));
        assert_int_equal(ms, rows[i].ms);
    }
    static const char *const wrong[] = { "", "S", "1", "1s", "-1S", "1.5S", "123456789S", " 1S" };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        assert_false(grpc_timeout_parse(str_from_c(wrong[i]), &ms));
    }
}

static void timeouts_are_written_so_that_they_can_be_read(void **state)
{
    static const int64_t rows[] = { 1, 999, 99999999, 100000000, 86400000LL * 300 };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[16];
        int64_t back;
        grpc_timeout_format(rows[i], text);
        assert_true(grpc_timeout_parse(str_from_c(text), &back));
        assert_in_range(rows[i] - back, 0, 999);
    }
    char text[16];
    grpc_timeout_format(-5, text);
    assert_string_equal(text, "1m");
}

static void every_kind_of_error_has_a_status(void **state)
{
    for (ErrorKind kind = ERROR_INVALID; kind <= ERROR_BUG; kind++) {
        assert_true(grpc_status_from_error(kind) != GRPC_OK);
    }
    for (GrpcStatus status = GRPC_CANCELLED; status <= GRPC_UNAUTHENTICATED; status++) {
        assert_true(grpc_status_kind(status) != ERROR_NONE);
        assert_non_null(grpc_status_name(status));
    }
    assert_int_equal(grpc_status_kind(grpc_status_from_error(ERROR_LIMIT)), ERROR_LIMIT);
    assert_int_equal(grpc_status_from_http(STR("503")), GRPC_UNAVAILABLE);
    assert_int_equal(grpc_status_from_http(STR("418")), GRPC_UNKNOWN);
    assert_int_equal(grpc_status_from_reset(8), GRPC_CANCELLED);
    assert_int_equal(grpc_status_from_reset(1), GRPC_INTERNAL);
    assert_int_equal(grpc_status_from_reset(UINT32_MAX), GRPC_INTERNAL);
    GrpcStatus status;
    assert_true(grpc_status_parse(STR("16"), &status));
    assert_int_equal(status, GRPC_UNAUTHENTICATED);
    assert_true(grpc_status_parse(STR("17"), &status));
    assert_int_equal(status, GRPC_UNKNOWN);
    assert_false(grpc_status_parse(STR("-1"), &status));
    assert_false(grpc_status_parse(STR(""), &status));
    assert_false(grpc_status_parse(STR("1x"), &status));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_survive_a_round_trip),
        cmocka_unit_test(timeouts_are_read),
        cmocka_unit_test(timeouts_are_written_so_that_they_can_be_read),
        cmocka_unit_test(every_kind_of_error_has_a_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
