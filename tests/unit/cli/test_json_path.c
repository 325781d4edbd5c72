#include "cli/json_path.h"

#include "lang/json.h"
#include "scratch.h"

#define LIST                                                                            \
    "{\"items\":[{\"metadata\":{\"name\":\"a\",\"labels\":{\"x.y/z\":\"1\"}},\"n\":1}," \
    "{\"metadata\":{\"name\":\"b\"},\"n\":[true,null]}],\"empty\":[]}"

static const struct {
    const char *expression, *text; /* NULL: rejected */
} cases[] = {
    { "{.items[*].metadata.name}", "a b" },
    { ".items[*].metadata.name", "a b" },
    { "{$.items[0].metadata.name}", "a" },
    { "{.items[-1].metadata.name}", "b" },
    { "{.items[7].metadata.name}", "" },
    { "{.items[0]['n']}", "1" },
    { "{.items[1].n}", "[true,null]" },
    { "{.items[0].metadata.labels.x\\.y/z}", "1" },
    { "{.items[0].metadata.labels['x.y/z']}", "1" },
    { "{.items[0].metadata.labels.*}", "1" },
    { "{range .items[*]}{.metadata.name}={.n}{\"\\n\"}{end}", "a=1\nb=[true,null]\n" },
    { "{range .empty[*]}{.x}never{end}behind", "behind" },
    { "{range .items[*]}{range .n[*]}<{.}>{end};{end}", ";<true><null>;" },
    { "names: {.items[*].metadata.name}.", "names: a b." },
    { "{.none.of.this}", "" },
    { "plain {'text'}", "plain text" },
    { "{.items[0].metadata.name", NULL },
    { "{range .items[*]}{.metadata.name}", NULL },
    { "{end}", NULL },
    { "{items}", NULL },
    { "{.items[x]}", NULL },
    { "{.items[0}", NULL },
    { "{\"open}", NULL },
    { "", NULL },
    { "{}", NULL },
    { "{..}", NULL },
};

static void expressions_lead_to_parts(void **state)
{
    Scratch *scratch = *state;
    Value value;
    Error err;
    assert_true(json_parse_text(&scratch->arena, STR(LIST), NULL, &value, &err));
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Buf out = buf_make_in(&scratch->arena, BUF_UNLIMITED);
        bool ok =
            json_path_print(&scratch->arena, str_from_c(cases[i].expression), value, &out, &err);
        if (ok != (cases[i].text != NULL)) {
            fail_msg("%s", cases[i].expression);
        }
        /* For any value. */
        assert_int_equal(json_path_check(&scratch->arena, str_from_c(cases[i].expression), &err),
                         ok);
        if (ok) {
            assert_str(buf_str(&out), cases[i].text);
        } else {
            assert_int_equal(err.kind, ERROR_INVALID);
        }
    }
}

#define SCRATCH_TEST(f) cmocka_unit_test_setup_teardown(f, scratch_set_up, scratch_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(expressions_lead_to_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
