#include "base/base64.h"

#include "unit.h"

static void bytes_survive_a_round_trip(void **state)
{
    static const struct {
        const char *text, *bytes; /* NULL: invalid */
    } cases[] = {
        { "", "" },           { "Zg==", "f" },       { "Zm8=", "fo" },           { "Zm9v", "foo" },
        { "Zm9vYg", "foob" }, { " Zm\n9v ", "foo" }, { "+/+/", "\373\377\277" }, { "Z", NULL },
        { "Zg==Zg==", NULL }, { "Zm9v!", NULL },     { "-_-_", NULL },
    };
    Arena arena;
    arena_init(&arena, ARENA_UNLIMITED);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Str bytes;
        bool ok = base64_decode(&arena, str_from_c(cases[i].text), &bytes);
        assert_int_equal(ok, cases[i].bytes != NULL);
        if (ok) {
            assert_str(bytes, cases[i].bytes);
        }
    }
    arena_clear(&arena);
}

static void bytes_are_written(void **state)
{
    static const struct {
        Str bytes;
        const char *text;
    } cases[] = {
        { STR(""), "" },        { STR("f"), "Zg==" },      { STR("fo"), "Zm8=" },
        { STR("foo"), "Zm9v" }, { STR("\0\xff"), "AP8=" }, { STR("\373\377\277"), "+/+/" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Buf text = buf_make(BUF_UNLIMITED);
        base64_encode(&text, cases[i].bytes);
        assert_str(buf_str(&text), cases[i].text);
        buf_clear(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_survive_a_round_trip),
        cmocka_unit_test(bytes_are_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
