#include "pki/base32.h"

#include "unit.h"

/* RFC 4648, 10, in lowercase and without padding. */
static void encodings_match_the_standard(void **state)
{
    static const char *const rows[][2] = {
        { "", "" },
        { "f", "my" },
        { "fo", "mzxq" },
        { "foo", "mzxw6" },
        { "foob", "mzxw6yq" },
        { "fooba", "mzxw6ytb" },
        { "foobar", "mzxw6ytboi" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[32], back[32] = "";
        size_t count = strlen(rows[i][0]);
        base32_write((const unsigned char *)rows[i][0], count, text);
        assert_string_equal(text, rows[i][1]);
        assert_int_equal(strlen(text), BASE32_TEXT(count));
        assert_true(base32_read(str_from_c(text), (unsigned char *)back, count));
        assert_string_equal(back, rows[i][0]);
    }
}

static void every_byte_survives_a_round_trip(void **state)
{
    for (unsigned byte = 0; byte < 256; byte++) {
        unsigned char bytes[] = { (unsigned char)byte, (unsigned char)~byte, 0, 77, 255 };
        unsigned char back[sizeof bytes];
        char text[BASE32_TEXT(sizeof bytes) + 1];
        base32_write(bytes, sizeof bytes, text);
        assert_true(base32_read(str_from_c(text), back, sizeof back));
        assert_memory_equal(bytes, back, sizeof bytes);
    }
}

static void encodings_are_unique(void **state)
{
    unsigned char out[5];
    static const char *const wrong[] = {
        "", "mzxw6yt", "mzxw6ytbo", "MZXW6YTB", "mzxw6yt1", "mzxw6yt0", "mzxw6yt8", "mzxw6yt=",
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        assert_false(base32_read(str_from_c(wrong[i]), out, 5));
    }
    /* Bits after the last byte. */
    assert_true(base32_read(STR("my"), out, 1));
    assert_false(base32_read(STR("mz"), out, 1));
    for (unsigned c = 0; c < 256; c++) {
        char text[] = { (char)c, 'a' };
        bool good = (c >= 'a' && c <= 'z') || (c >= '2' && c <= '7');
        assert_int_equal(base32_read(str_from(text, 2), out, 1), good);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encodings_match_the_standard),
        cmocka_unit_test(every_byte_survives_a_round_trip),
        cmocka_unit_test(encodings_are_unique),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
