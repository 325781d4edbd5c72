#include "base/enum_names.h"

#include "unit.h"

typedef enum Color {
    COLOR_RED,
    COLOR_GREEN,
    COLOR_UNNAMED,
    COLOR_BLUE
} Color;

DECLARE_ENUM_NAMES(Color, color)
DEFINE_ENUM_NAMES(Color, color, [COLOR_RED] = "red", [COLOR_GREEN] = "green", [COLOR_BLUE] = "blue")

static void names_map_in_both_directions(void **state)
{
    assert_string_equal(color_name(COLOR_BLUE), "blue");
    Color color;
    assert_true(color_from_name(STR("green"), &color));
    assert_int_equal(color, COLOR_GREEN);
    assert_true(color_from_name(str_slice(STR("reddish"), 0, 3), &color));
    assert_int_equal(color, COLOR_RED);
}

static void an_unknown_name_is_rejected(void **state)
{
    Color color = COLOR_BLUE;
    assert_false(color_from_name(STR("Red"), &color));
    assert_false(color_from_name(STR("re"), &color));
    assert_false(color_from_name(STR_EMPTY, &color));
    assert_int_equal(color, COLOR_BLUE);
}

static void a_constant_without_name_is_a_bug(void **state)
{
    assert_bug(color_name(COLOR_UNNAMED));
    assert_bug(color_name((Color)4));
    assert_bug(color_name((Color)-1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_map_in_both_directions),
        cmocka_unit_test(an_unknown_name_is_rejected),
        cmocka_unit_test(a_constant_without_name_is_a_bug),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
