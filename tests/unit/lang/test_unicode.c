#include "lang/unicode.h"

#include "unit.h"

static void check_map(uint32_t code, CaseMapping mapping, uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t expected[] = { a, b, c }, mapped[UNICODE_MAPPED_MAX] = { 0 };
    unsigned count = unicode_map(code, mapping, mapped);
    assert_int_equal(count, c != 0 ? 3 : b != 0 ? 2 : 1);
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(mapped[i], expected[i]);
    }
}

static void characters_are_mapped(void **state)
{
    check_map('a', CASE_UPPER, 'A', 0, 0);
    check_map('A', CASE_LOWER, 'a', 0, 0);
    check_map('1', CASE_UPPER, '1', 0, 0);
    check_map(0xdf, CASE_UPPER, 'S', 'S', 0); /* sharp s */
    check_map(0xdf, CASE_TITLE, 'S', 's', 0);
    check_map(0xdf, CASE_LOWER, 0xdf, 0, 0);
    check_map(0xdf, CASE_FOLD, 's', 's', 0);
    check_map(0x1c6, CASE_TITLE, 0x1c5, 0, 0); /* dz with caron */
    check_map(0x1c6, CASE_UPPER, 0x1c4, 0, 0);
    check_map(0x390, CASE_UPPER, 0x399, 0x308, 0x301); /* iota with two marks */
    check_map(0x130, CASE_LOWER, 'i', 0x307, 0);       /* capital i with dot */
    check_map(0x10400, CASE_LOWER, 0x10428, 0, 0);     /* beyond 16 bits */
    check_map(0x10ffff, CASE_LOWER, 0x10ffff, 0, 0);
    check_map(0x110000, CASE_LOWER, 0x110000, 0, 0);
    check_map(UINT32_MAX, CASE_UPPER, UINT32_MAX, 0, 0);
}

static void characters_have_classes(void **state)
{
    assert_true(unicode_is('a', UNICODE_ALPHA));
    assert_true(unicode_is('a', UNICODE_LOWER));
    assert_false(unicode_is('a', UNICODE_UPPER | UNICODE_DIGIT));
    assert_true(unicode_is('_', UNICODE_NAME_START));
    assert_false(unicode_is('1', UNICODE_NAME_START));
    assert_true(unicode_is('1', UNICODE_NAME_PART));
    assert_true(unicode_is(0xb2, UNICODE_DIGIT)); /* superscript two */
    assert_false(unicode_is(0xb2, UNICODE_DECIMAL));
    assert_true(unicode_is(0xbd, UNICODE_NUMERIC));  /* one half */
    assert_true(unicode_is(0x3000, UNICODE_SPACE));  /* ideographic space */
    assert_false(unicode_is(0x200b, UNICODE_SPACE)); /* zero width space */
    assert_false(unicode_is(0x200b, UNICODE_PRINTABLE));
    assert_true(unicode_is(0x1c5, UNICODE_TITLE));
    assert_true(unicode_is(0x4e2d, UNICODE_ALPHA | UNICODE_PRINTABLE));
    assert_false(unicode_is(0x378, UNICODE_PRINTABLE)); /* unassigned */
    assert_int_equal(unicode_flags(0x110000), 0);
    assert_int_equal(unicode_flags(UINT32_MAX), 0);
}

static void decimal_digits_have_values(void **state)
{
    unsigned count = 0;
    for (uint32_t code = 0; code <= 0x10ffff; code++) {
        if (unicode_is(code, UNICODE_DECIMAL)) {
            /* Every row starts with its zero: 0..9 are consecutive everywhere in Unicode. */
            assert_int_equal(unicode_decimal_value(code), count % 10);
            count++;
        }
    }
    assert_int_equal(count % 10, 0);
    assert_in_range(count, 600, 1000);
    assert_int_equal(unicode_decimal_value('7'), 7);
    assert_int_equal(unicode_decimal_value(0x663), 3);   /* Arabic */
    assert_int_equal(unicode_decimal_value(0x1d7db), 3); /* mathematical */
}

static void line_boundaries_match_python(void **state)
{
    for (uint32_t code = 0; code < 0x3000; code++) {
        bool expected = (code >= 0x0a && code <= 0x0d) || (code >= 0x1c && code <= 0x1e) ||
                        code == 0x85 || code == 0x2028 || code == 0x2029;
        assert_int_equal(unicode_is_line_end(code), expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(characters_are_mapped),
        cmocka_unit_test(characters_have_classes),
        cmocka_unit_test(decimal_digits_have_values),
        cmocka_unit_test(line_boundaries_match_python),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
