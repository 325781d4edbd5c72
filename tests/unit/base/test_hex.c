#include "base/hex.h"

#include "unit.h"

static void digits_survive_a_round_trip(void **state)
{
    unsigned char bytes[256], back[256];
    char digits[2 * sizeof bytes + 1];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (unsigned char)i;
    }
    hex_encode(bytes, sizeof bytes, digits);
    assert_int_equal(strlen(digits), 2 * sizeof bytes);
    assert_memory_equal(digits, "000102", 6);
    assert_true(hex_is_valid(str_from_c(digits)));
    hex_decode(digits, sizeof back, back);
    assert_memory_equal(bytes, back, sizeof bytes);
}

static void only_lowercase_digits_are_accepted(void **state)
{
    assert_true(hex_is_valid(STR("0123456789abcdef")));
    assert_true(hex_is_valid(STR("")));
    static const char others[] = { 'A', 'F', 'g', '/', ':', '`', ' ', '\0', '\xff' };
    for (size_t i = 0; i < sizeof others; i++) {
        char text[] = { '0', others[i], '0' };
        assert_false(hex_is_valid(str_from(text, sizeof text)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digits_survive_a_round_trip),
        cmocka_unit_test(only_lowercase_digits_are_accepted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
