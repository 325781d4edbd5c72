#include "document_cases.h"

static const DocumentFormat *const json = &document_json;

#define PLAIN "{\n  \"a\": 1,\n  \"b\": {\n    \"c\": [1, 2],\n    \"d\": null\n  }\n}\n"

static void a_value_is_changed_in_place(void **state)
{
    CHECK(json, { "{\"a\": 1, \"b\": 2}", "a", "5", "{\"a\": 5, \"b\": 2}" },
          { "{\"a\": 1}", "a", "1", NULL }, { "{\"a\": 1}", "a", "1.0", "{\"a\": 1.0}" },
          { "{\"a\": 1.50}", "a", "1.5", NULL },
          { "{ \"a\" : \"x\" }", "a", "\"y\\n\\u00e4\"", "{ \"a\" : \"y\\n\xc3\xa4\" }" },
          { "[1,2,3]", "1", "7", "[1,7,3]" }, { "5", "", "6", "6" },
          { PLAIN, "b.c.1", "7",
            "{\n  \"a\": 1,\n  \"b\": {\n    \"c\": [1, 7],\n    \"d\": null\n  }\n}\n" },
          { "{\"a.b\": 1, \"c/d\": {\"\": 2}}", "/c~1d/", "3", "{\"a.b\": 1, \"c/d\": {\"\": 3}}" },
          { "{\"a.b\": 1}", "[\"a.b\"]", "3", "{\"a.b\": 3}" },
          { "{\"80\": 1}", "80", "3", "{\"80\": 3}" });
}

static void a_new_key_is_formatted_like_the_others(void **state)
{
    CHECK(json, { "{\"a\": 1}", "b", "2", "{\"a\": 1, \"b\": 2}" },
          { "{\"a\":1}", "b", "2", "{\"a\":1,\"b\":2}" },
          { "{ \"a\" : 1 }", "b", "2", "{ \"a\" : 1, \"b\" : 2 }" },
          { "{\"a\": 1,\"b\": 2}", "c", "3", "{\"a\": 1,\"b\": 2,\"c\": 3}" },
          { "{\n\t\"a\": 1\n}\n", "b", "{\"c\": [1]}",
            "{\n\t\"a\": 1,\n\t\"b\": {\n\t\t\"c\": [\n\t\t\t1\n\t\t]\n\t}\n}\n" },
          { "{\r\n  \"a\": 1\r\n}\r\n", "b", "[1]",
            "{\r\n  \"a\": 1,\r\n  \"b\": [\r\n    1\r\n  ]\r\n}\r\n" },
          { "{\"a\": 1}", "b", "{\"c\": [1, 2]}", "{\"a\": 1, \"b\": {\"c\": [1, 2]}}" },
          { "{\n  \"a\": 1,\n\n  \"b\": 2\n}", "c", "3",
            "{\n  \"a\": 1,\n\n  \"b\": 2,\n\n  \"c\": 3\n}" },
          { PLAIN, "b.e", "true",
            "{\n  \"a\": 1,\n  \"b\": {\n    \"c\": [1, 2],\n    \"d\": null,\n    \"e\": true\n  "
            "}\n}\n" });
}

static void missing_parents_are_created(void **state)
{
    CHECK(json, { "", "a.b", "1", "{\n  \"a\": {\n    \"b\": 1\n  }\n}\n" },
          { " \n", "[\"a\", 0]", "1", "{\n  \"a\": [\n    1\n  ]\n}\n" },
          { "\xef\xbb\xbf", "a", "1", "\xef\xbb\xbf{\n  \"a\": 1\n}\n" },
          { "{}", "a", "1", "{\n  \"a\": 1\n}" }, { "{}\n", "80", "1", "{\n  \"80\": 1\n}\n" },
          { "{\"a\": {}}", "a.b.c", "1", "{\"a\": {\"b\": {\"c\": 1}}}" },
          { "{\"a\": null}", "a.b", "1", "{\"a\": {\"b\": 1}}" },
          { "{\n    \"a\": {},\n    \"b\": 1\n}", "a.c", "1",
            "{\n    \"a\": {\n        \"c\": 1\n    },\n    \"b\": 1\n}" },
          { "null", "a", "[]", "{\n  \"a\": []\n}" });
}

static void items_of_lists(void **state)
{
    CHECK(json, { "[1, 2]", "-", "3", "[1, 2, 3]" }, { "[1, 2]", "-", "2", NULL },
          { "[1]", "-", "{\"a\": 1}", "[1, {\"a\": 1}]" }, { "[]", "-", "1", "[\n  1\n]" },
          { "[1]", "1", "2", "[1, 2]" },
          { "{\"a\": {}}", "a.b.-", "\"x\"", "{\"a\": {\"b\": [\"x\"]}}" },
          { "[1, 2, 1, 3]", "-", "- 1", "[2, 3]" }, { "[1]", "-", "- 1", "[]" },
          { "[\n  1\n]\n", "-", "2", "[\n  1,\n  2\n]\n" }, { "{\"a\": 1}", "b.-", "- 1", NULL });
}

static void values_can_be_removed(void **state)
{
    CHECK(json, { "{\"a\": 1, \"b\": 2}", "a", NULL, "{\"b\": 2}" },
          { "{\"a\": 1, \"b\": 2}", "b", NULL, "{\"a\": 1}" },
          { "{\"a\": 1, \"b\": 2, \"c\": 3}", "b", NULL, "{\"a\": 1, \"c\": 3}" },
          { "{\n  \"a\": 1,\n  \"b\": 2\n}\n", "b", NULL, "{\n  \"a\": 1\n}\n" },
          { "{\n  \"a\": 1,\n  \"b\": 2\n}\n", "a", NULL, "{\n  \"b\": 2\n}\n" },
          { "{\n  \"a\": 1\n}\n", "a", NULL, "{}\n" }, { "[1, 2]", "2", NULL, NULL },
          { "[1, 2]", "3", NULL, NULL }, { "{\"a\": 1}", "a.b.c", NULL, NULL },
          { "", "a", NULL, NULL }, { "{\"a\": null}", "a", NULL, "{}" });
}

static void only_differences_are_changed(void **state)
{
    CHECK(json,
          { "{\"a\": {\"x\" :1,  \"y\":2}, \"b\":3}", "a", "{\"y\": 2, \"x\": 5}",
            "{\"a\": {\"x\" :5,  \"y\":2}, \"b\":3}" },
          { "{\"a\": {\"x\":1,  \"y\":2}}", "", "{\"a\": {\"y\": 3}}", "{\"a\": {\"y\":3}}" },
          { "{\"a\": {\"x\": 1}}", "a", "{\"x\": 1}", NULL },
          { "{\"a\": {\"x\": 1}}", "a", "{\"z\": 1}", "{\"a\": {\"z\": 1}}" },
          { "[1,  2,  3,  4]", "", "[1, 2, 4]", "[1,  2,  4]" },
          { "[1,  2]", "", "[1, 5, {}]", "[1,  5,  {}]" }, { "[1,  2]", "", "[]", "[]" },
          { "{\"a\": [1]}", "a", "{\"b\": 1}", "{\"a\": {\"b\": 1}}" });
}

static void large_changes_rewrite_the_document(void **state)
{
    Arena arena;
    Error err;
    Buf before = buf_make(BUF_UNLIMITED), after = buf_make(BUF_UNLIMITED);
    arena_init(&arena, ARENA_UNLIMITED);
    for (int i = 0; i < 3000; i++) {
        buf_put_format(&before, "%s%d", i == 0 ? "[" : ",", i);
        buf_put_format(&after, "%s%d", i == 0 ? "[" : ", ", i + 1);
    }
    buf_put_c(&before, "]");
    buf_put_c(&after, "]");
    const Case one = { buf_c(&before), "", buf_c(&after), NULL };
    DocumentChange change;
    assert_true(case_edit(&arena, json, buf_str(&before), &one, &change, &err));
    assert_str(change.text, buf_c(&after));
    buf_clear(&before);
    buf_clear(&after);
    arena_clear(&arena);
}

static void impossible_changes_are_rejected(void **state)
{
    check_refused(json, (Case){ "{\"a\": 1}", "a.b", "1" },
                  "'a' is an int, which cannot contain 'b'");
    check_refused(json, (Case){ "[1]", "b", "1" },
                  "the document is a list, which cannot contain 'b'");
    check_refused(json, (Case){ "[1]", "5", "1" },
                  "the document is a list of 1, which cannot contain '5'");
    check_refused(json, (Case){ "{}", "a.0", "1" },
                  "'path': a does not exist, and '0' may be a key or an index; write a list of "
                  "keys, with the number or a quoted string");
    check_refused(json, (Case){ "{\"a\": 1}", "[0]", "1" }, "keys in JSON are strings; quote 0");
    check_refused(json, (Case){ "[[1]]", "-.0", "1" },
                  "'path': '-' is only allowed as the last segment");
    check_refused(json, (Case){ "{\"a\": 1}", "-", "1" },
                  "the document is a map, which cannot contain '-'");
    check_refused(json, (Case){ "{}", "", NULL },
                  "cannot remove the entire document; use file.absent to remove files");
    check_refused(json, (Case){ "{\"a\": 1}", "a", "- 1" },
                  "'value' is not allowed with 'state: absent', unless 'path' ends with '-'");
    check_refused(json, (Case){ "[1, 2]", "0", NULL },
                  "cannot remove a list index, because the next item would move there; end 'path' "
                  "with '-' and pass the item as 'value'");
    check_refused(json, (Case){ "{\"a\": 1,}", "a", "2" }, "file:1:8: trailing comma before '}'");
    check_refused(json, (Case){ "{\"a\": 1, \"a\": 2}", "a", "2" }, "file:1:10: duplicate key 'a'");
    check_refused(json, (Case){ "// hi\n{}", "a", "2" }, "file:1:1: JSON has no comments");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_is_changed_in_place),
        cmocka_unit_test(a_new_key_is_formatted_like_the_others),
        cmocka_unit_test(missing_parents_are_created),
        cmocka_unit_test(items_of_lists),
        cmocka_unit_test(values_can_be_removed),
        cmocka_unit_test(only_differences_are_changed),
        cmocka_unit_test(large_changes_rewrite_the_document),
        cmocka_unit_test(impossible_changes_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
