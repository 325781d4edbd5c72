/* Names for shell completion: how they are cached, and that text from a server never becomes a
 * command. */
#include "cli/completion_names.h"

#include "lang/json.h"
#include "unit.h"

static void a_cache_file_survives_a_round_trip(void **state)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    int64_t made;
    Str names;
    completion_names_print(1800000000123, STR("web1\nweb2\n"), &text);
    assert_true(completion_names_read(buf_str(&text), &made, &names));
    assert_int_equal(made, 1800000000123);
    assert_str(names, "web1\nweb2\n");
    buf_reset(&text);
    completion_names_print(7, STR_EMPTY, &text);
    assert_true(completion_names_read(buf_str(&text), &made, &names));
    assert_int_equal(names.len, 0);
    assert_false(completion_names_read(STR_EMPTY, &made, &names));
    assert_false(completion_names_read(STR("web1\n"), &made, &names));
    assert_false(completion_names_read(STR("eden.names/1 x\n"), &made, &names));
}

static void only_plain_names_are_offered(void **state)
{
    static const char *const plain[] = { "web1", "4l2ygazs", "a.b-c_d", "ann@home", "x:y" };
    static const char *const others[] = { "",    "a b", "$(id)", "`id`",     "a;b", "-rf",  "a\n",
                                          "a'b", "a*",  "..",    "\xc3\xa4", "a/b", "~root" };
    for (size_t i = 0; i < COUNT_OF(plain); i++) {
        assert_true(completion_names_is_safe(str_from_c(plain[i])));
    }
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        assert_false(completion_names_is_safe(str_from_c(others[i])));
    }
    assert_false(completion_names_is_safe(STR("a\0b")));
}

static void names_are_read_from_every_kind_of_list(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    AUTO_CLEAR(Buf) names = buf_make(BUF_UNLIMITED);
    Value response;
    Error err;
    assert_true(json_parse_text(
        &arena,
        STR("{\"items\":[{\"metadata\":{\"name\":\"a\"}},{\"metadata\":{\"name\":\"$(b)\"}},7],"
            "\"nodes\":[{\"name\":\"c\"},{}],\"waiting\":[{\"name\":\"d\"}],"
            "\"tokens\":[{\"id\":\"e\"}]}"),
        NULL, &response, &err));
    completion_names_collect(response, &names);
    assert_str(buf_str(&names), "a\nc\nd\ne\n");
    buf_reset(&names);
    completion_names_collect(value_null(), &names);
    assert_int_equal(names.len, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cache_file_survives_a_round_trip),
        cmocka_unit_test(only_plain_names_are_offered),
        cmocka_unit_test(names_are_read_from_every_kind_of_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
