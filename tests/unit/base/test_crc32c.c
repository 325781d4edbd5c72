#include "base/crc32c.h"

#include "unit.h"

static void known_vectors(void **state)
{
    char zeros[32] = { 0 }, ones[32];
    memset(ones, 0xff, sizeof ones);
    /* From RFC 3720, B.4, and the check value of CRC catalogs. */
    assert_int_equal(crc32c(STR("123456789")), 0xe3069283);
    assert_int_equal(crc32c(str_from(zeros, 32)), 0x8a9136aa);
    assert_int_equal(crc32c(str_from(ones, 32)), 0x62a8ab43);
    assert_int_equal(crc32c(STR_EMPTY), 0);
}

static void every_bit_counts(void **state)
{
    char text[] = "a record of the journal";
    uint32_t whole = crc32c(str_from_c(text));
    for (size_t i = 0; i < sizeof text - 1; i++) {
        for (int bit = 0; bit < 8; bit++) {
            text[i] ^= (char)(1 << bit);
            assert_int_not_equal(crc32c(str_from(text, sizeof text - 1)), whole);
            text[i] ^= (char)(1 << bit);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_vectors),
        cmocka_unit_test(every_bit_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
