#include "base/utf8.h"

#include <stdlib.h>

#include "unit.h"

/* A Str in memory of exactly its size, so that AddressSanitizer detects any read past its end. */
static Str exact(Str s)
{
    char *copy = malloc(s.len == 0 ? 1 : s.len);
    memcpy(copy, s.data, s.len);
    return str_from(copy, s.len);
}

static void every_code_point_survives_a_round_trip(void **state)
{
    for (uint32_t code = 0; code <= 0x10ffff; code++) {
        if (code >= 0xd800 && code <= 0xdfff) {
            continue;
        }
        char bytes[UTF8_BYTES_MAX];
        size_t len = utf8_encode(code, bytes);
        size_t expected = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
        uint32_t back = 0;
        if (len != expected || utf8_decode(bytes, len, &back) != len || back != code ||
            !utf8_is_valid(str_from(bytes, len)) || utf8_count(str_from(bytes, len)) != 1) {
            fail_msg("U+%04X", code);
        }
        for (size_t part = 0; part < len; part++) {
            if (utf8_decode(bytes, part, &back) != 0) {
                fail_msg("U+%04X cut to %zu bytes", code, part);
            }
        }
    }
}

static void invalid_code_points_are_replaced(void **state)
{
    const uint32_t bad[] = { 0xd800, 0xdbff, 0xdc00, 0xdfff, 0x110000, UINT32_MAX };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        AUTO_CLEAR(Buf) out = buf_make(16);
        utf8_put(&out, bad[i]);
        assert_str(buf_str(&out), "\xef\xbf\xbd");
    }
}

static void malformed_bytes_are_found_at_their_position(void **state)
{
    const struct {
        Str text;
        size_t valid;
    } rows[] = {
        { STR("\x80"), 0 },                          /* stray continuation */
        { STR("ab\xbf"), 2 },                        /* the same after text */
        { STR("\xc0\xaf"), 0 },                      /* overlong slash */
        { STR("\xc1\xbf"), 0 },                      /* overlong */
        { STR("\xe0\x80\xaf"), 0 },                  /* overlong in three */
        { STR("\xe0\x9f\xbf"), 0 },                  /* overlong in three, largest */
        { STR("\xf0\x80\x80\xaf"), 0 },              /* overlong in four */
        { STR("\xf0\x8f\xbf\xbf"), 0 },              /* overlong in four, largest */
        { STR("\xed\xa0\x80"), 0 },                  /* first surrogate */
        { STR("\xed\xbf\xbf"), 0 },                  /* last surrogate */
        { STR("\xf4\x90\x80\x80"), 0 },              /* U+110000 */
        { STR("\xf5\x80\x80\x80"), 0 },              /* not a valid first byte */
        { STR("\xff"), 0 },                          /* never used */
        { STR("x\xc3"), 1 },                         /* ends inside */
        { STR("x\xe2\x82"), 1 },                     /* ends inside */
        { STR("x\xf0\x9f\x98"), 1 },                 /* ends inside */
        { STR("\xe2\x28\xa1"), 0 },                  /* second byte is not a continuation */
        { STR("\xe2\x82\x28"), 0 },                  /* third byte is not a continuation */
        { STR("\xf0\x9f\x98\x28"), 0 },              /* fourth byte is not a continuation */
        { STR("0123456789abcdef\xc3\xa9\xfe"), 18 }, /* after whole words */
        { STR("01234567890123456789012345678901234\xfe"), 35 },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        Str text = exact(rows[i].text);
        assert_int_equal(utf8_valid_prefix(text), rows[i].valid);
        assert_false(utf8_is_valid(text));
        free((char *)text.data);
    }
    assert_true(utf8_is_valid(STR_EMPTY));
    assert_true(utf8_is_valid((Str){ NULL, 0 }));
    assert_true(utf8_is_valid(STR("\xf4\x8f\xbf\xbf \xed\x9f\xbf \xee\x80\x80")));
}

/* A bad byte at any distance from the start and the end, so that no word loop skips it. */
static void an_invalid_byte_is_found_at_every_position(void **state)
{
    char text[100];
    for (size_t len = 1; len <= sizeof text; len++) {
        for (size_t bad = 0; bad < len; bad++) {
            memset(text, 'a', len);
            text[bad] = (char)0xff;
            Str s = exact(str_from(text, len));
            assert_int_equal(utf8_valid_prefix(s), bad);
            assert_int_equal(utf8_ascii_prefix(s), bad);
            free((char *)s.data);
        }
    }
}

static void forward_and_backward_iteration_agree(void **state)
{
    Str text = STR("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z");
    const uint32_t codes[] = { 'a', 0xe9, 0x20ac, 0x1f600, 'z' };
    size_t at = 0;
    for (size_t i = 0; i < COUNT_OF(codes); i++) {
        assert_int_equal(utf8_next(text, &at), codes[i]);
    }
    assert_int_equal(at, text.len);
    for (size_t i = COUNT_OF(codes); i-- > 0;) {
        assert_int_equal(utf8_previous(text, &at), codes[i]);
    }
    assert_int_equal(at, 0);
}

static void iteration_over_malformed_text_terminates(void **state)
{
    Str text = exact(STR("\x80\x80\x80\x80\x80\xe2\x82\xf0"));
    size_t at = 0;
    size_t steps = 0;
    while (at < text.len) {
        assert_int_equal(utf8_next(text, &at), UTF8_REPLACEMENT);
        steps++;
    }
    assert_int_equal(steps, text.len);
    while (at > 0) {
        size_t before = at;
        assert_int_equal(utf8_previous(text, &at), UTF8_REPLACEMENT);
        assert_int_equal(at, before - 1);
    }
    free((char *)text.data);
    Str mixed = STR("\xc3\xa9\xa9");
    at = mixed.len;
    assert_int_equal(utf8_previous(mixed, &at), UTF8_REPLACEMENT);
    assert_int_equal(utf8_previous(mixed, &at), 0xe9);
    assert_int_equal(at, 0);
}

static void counting_and_indexing_agree_with_iteration(void **state)
{
    const char *chunks[] = { "a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80" };
    /* Every text of up to seven of the fragments passes each offset at which a word can begin or
     * end. */
    for (unsigned number = 0; number < 1u << 14; number++) {
        char bytes[64];
        size_t offsets[9];
        size_t len = 0;
        size_t count = 0;
        for (unsigned rest = number; rest > 0; rest >>= 2) {
            const char *chunk = chunks[rest & 3];
            offsets[count++] = len;
            memcpy(bytes + len, chunk, strlen(chunk));
            len += strlen(chunk);
        }
        Str text = str_from(bytes, len);
        if (utf8_count(text) != count || !utf8_is_valid(text)) {
            fail_msg("count of text %u", number);
        }
        for (size_t i = 0; i < count; i++) {
            if (utf8_index_to_offset(text, i) != offsets[i]) {
                fail_msg("index %zu of text %u", i, number);
            }
        }
        assert_int_equal(utf8_index_to_offset(text, count), len);
        assert_int_equal(utf8_index_to_offset(text, SIZE_MAX), len);
    }
    assert_int_equal(utf8_count(STR_EMPTY), 0);
    assert_int_equal(utf8_index_to_offset(STR_EMPTY, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_point_survives_a_round_trip),
        cmocka_unit_test(invalid_code_points_are_replaced),
        cmocka_unit_test(malformed_bytes_are_found_at_their_position),
        cmocka_unit_test(an_invalid_byte_is_found_at_every_position),
        cmocka_unit_test(forward_and_backward_iteration_agree),
        cmocka_unit_test(iteration_over_malformed_text_terminates),
        cmocka_unit_test(counting_and_indexing_agree_with_iteration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
