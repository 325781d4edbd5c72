#include "base/suggest.h"

#include "unit.h"

static const Str names[] = {
    { "upper", 5 },   { "lower", 5 },   { "capitalize", 10 },     { "to_json", 7 },
    { "to_yaml", 7 }, { "default", 7 }, { "install vnstat", 14 }, { "e", 1 },
    { "map", 3 },     { "max", 3 },     { "größe", 7 },
};

static const char *best(const char *wanted)
{
    static char text[64];
    Str found;
    if (!suggest_best(str_from_c(wanted), names, COUNT_OF(names), &found)) {
        return "";
    }
    snprintf(text, sizeof text, "%" STR_FMT, STR_ARG(found));
    return text;
}

static void each_kind_of_typing_error_finds_the_name(void **state)
{
    assert_string_equal(best("uper"), "upper");   /* missing */
    assert_string_equal(best("uppper"), "upper"); /* too many */
    assert_string_equal(best("upqer"), "upper");  /* another */
    assert_string_equal(best("uppre"), "upper");  /* swapped */
    assert_string_equal(best("pupre"), "");       /* two errors in five characters */
    assert_string_equal(best("instal vnstat"), "install vnstat");
    assert_string_equal(best("grösse"), "größe"); /* two errors in six characters */
    assert_string_equal(best("gröse"), "größe");  /* characters count, not bytes */
    assert_string_equal(best("dfault"), "default");
}

static void case_and_dashes_are_closer_than_other_errors(void **state)
{
    assert_string_equal(best("to-json"), "to_json");
    assert_string_equal(best("UPPER"), ""); /* five half errors are more than one */
    assert_string_equal(best("Upper"), "upper");
    assert_string_equal(best("E"), "e");
    assert_string_equal(best("mAp"), "map"); /* not "max", which is as close if case is ignored */
}

static void a_prefix_finds_the_full_name(void **state)
{
    assert_string_equal(best("capital"), "capitalize");
    assert_string_equal(best("capi"), "capitalize");
    assert_string_equal(best("install"), "install vnstat");
    assert_string_equal(best("ca"), "");
    assert_string_equal(best("defaultvalue"), ""); /* but not vice versa */
}

static void distant_names_are_not_suggested(void **state)
{
    assert_string_equal(best("x"), "");
    assert_string_equal(best("zzzzz"), "");
    assert_string_equal(best(""), "");
    assert_string_equal(best("ma"), "map"); /* one error in three; the first of equals wins */
    assert_string_equal(best("upper"), ""); /* the name itself */
}

static void long_names_and_endless_offers_are_bounded(void **state)
{
    char name[SUGGEST_LENGTH_MAX + 2];
    memset(name, 'n', sizeof name);
    Str fits = str_from(name, SUGGEST_LENGTH_MAX);
    Str shorter = str_from(name, SUGGEST_LENGTH_MAX - 1);
    Str too_long = str_from(name, SUGGEST_LENGTH_MAX + 1);
    Str found;
    assert_true(suggest_best(shorter, &fits, 1, &found));
    assert_true(suggest_best(fits, &shorter, 1, &found));
    assert_false(suggest_best(fits, &too_long, 1, &found));
    assert_false(suggest_best(too_long, &fits, 1, &found));

    Suggest suggest = suggest_make(STR("upper"));
    for (unsigned i = 0; i < SUGGEST_OFFERS_MAX; i++) {
        suggest_offer(&suggest, STR("something else"));
    }
    suggest_offer(&suggest, STR("uppe"));
    assert_false(suggest_found(&suggest, &found));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_of_typing_error_finds_the_name),
        cmocka_unit_test(case_and_dashes_are_closer_than_other_errors),
        cmocka_unit_test(a_prefix_finds_the_full_name),
        cmocka_unit_test(distant_names_are_not_suggested),
        cmocka_unit_test(long_names_and_endless_offers_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
