#include "document_cases.h"

static const DocumentFormat *const yaml = &document_yaml;

static void a_scalar_is_changed_in_place(void **state)
{
    CHECK(yaml, { "a: 1\nb: 2\n", "a", "5", "a: 5\nb: 2\n" }, { "a: 1\n", "a", "1", NULL },
          { "a:   1   # one\nb: 2\n", "a", "5", "a:   5   # one\nb: 2\n" },
          { "a: x\n", "a", "\"yes\"", "a: 'yes'\n" },
          { "a: 'x'\n", "a", "\"it's\"", "a: 'it''s'\n" },
          { "a: \"x\"\n", "a", "\"y\\nz\"", "a: \"y\\nz\"\n" },
          { "a: \"x\"\n", "a", "7", "a: 7\n" }, { "a: 0x10\n", "a", "16", NULL },
          { "a:\n  b: 1 # c\n  d: 2\n", "a.b", "3", "a:\n  b: 3 # c\n  d: 2\n" },
          { "a:\n", "a", "1", "a: 1\n" },
          { "a:   # none\nb: 1\n", "a", "1", "a: 1   # none\nb: 1\n" },
          { "a: ~\n", "a", "[]", "a: []\n" }, { "- 1\n- 2 # two\n", "1", "3", "- 1\n- 3 # two\n" },
          { "-\n- 2\n", "0", "3", "- 3\n- 2\n" },
          { "a: one\n  two\nb: 1\n", "a", "3", "a: 3\nb: 1\n" },
          { "a:\n  one\nb: 1\n", "a", "3", "a:\n  3\nb: 1\n" },
          { "{a: 1, b: 2}\n", "a", "\"x, y\"", "{a: 'x, y', b: 2}\n" },
          { "[1, [2, 3]]\n", "1.0", "5", "[1, [5, 3]]\n" },
          { "a: {b: [1, 2]} # c\n", "a.b.1", "{\"x\": 1}", "a: {b: [1, {x: 1}]} # c\n" },
          { "80: web\n", "80", "\"x\"", "80: x\n" }, { "'80': web\n", "80", "\"x\"", "'80': x\n" },
          { "\"a b\" : 1\n", "a b", "2", "\"a b\" : 2\n" }, { "--- 5\n", "", "6", "--- 6\n" },
          { "---\na: 1\n...\n", "a", "2", "---\na: 2\n...\n" }, { "a: 1", "a", "2", "a: 2" });
}

static void multi_line_strings(void **state)
{
    CHECK(yaml, { "a: |\n  x\n  y\n\nb: 1\n", "a", "\"z\"", "a: z\n\nb: 1\n" },
          { "a: |  # text\n  x\nb: 1\n", "a", "\"p\\nq\\n\"", "a: |  # text\n  p\n  q\nb: 1\n" },
          { "a: x # text\nb: 1\n", "a", "\"p\\nq\\n\"", "a: | # text\n  p\n  q\nb: 1\n" },
          { "a: >-\n  x\n  y\n", "a", "\"x y\"", NULL },
          { "a: >-\n  x\n  y\n", "a", "\"x\\ny\"", "a: |-\n  x\n  y\n" },
          { "- |\n  x\n- 1\n", "0", "\"p\\n\\nq\\n\"", "- |\n  p\n\n  q\n- 1\n" },
          { "a:\n  b: x\n", "a.b", "\"p\\nq\\n\"", "a:\n  b: |\n    p\n    q\n" },
          { "a: |+\n  x\n\n\nb: 1\n", "b", "2", "a: |+\n  x\n\n\nb: 2\n" },
          { "a: |+\n  x\n\n\n", "c", "2", "a: |+\n  x\n\n\nc: 2\n" },
          { "a: |\n  x\n\n\n", "c", "2", "a: |\n  x\nc: 2\n\n\n" },
          { "a: x", "a", "\"p\\nq\\n\"", "a: |\n  p\n  q\n" },
          { "{a: x}", "a", "\"p\\nq\\n\"", "{a: \"p\\nq\\n\"}" });
}

static void containers_replace_scalars_and_vice_versa(void **state)
{
    CHECK(yaml,
          { "a: 1 # c\nb: 2\n", "a", "{\"x\": [1, {\"y\": 2}]}",
            "a: # c\n  x:\n    - 1\n    - y: 2\nb: 2\n" },
          { "a: # c1\n  # c2\n  x: 1 # c3\n# c4\nb: 2\n", "a", "5", "a: 5 # c1\n# c4\nb: 2\n" },
          { "a:\n  - 1\n  - 2\nb: 2\n", "a", "5", "a: 5\nb: 2\n" },
          { "- a: 1\n  b: 2\n- 3\n", "0", "5", "- 5\n- 3\n" },
          { "- 1\n- 3\n", "0", "{\"a\": 1, \"b\": {\"c\": 2}}", "- a: 1\n  b:\n    c: 2\n- 3\n" },
          { "a: {x: 1}\n", "a", "5", "a: 5\n" }, { "a:\n  x: 1\n  y: 2\n", "a", "[]", "a: []\n" },
          { "a:\n    b:\n        c: 1\nd:\n- 1\ne: 1\n", "e", "{\"f\": {\"g\": [1]}}",
            "a:\n    b:\n        c: 1\nd:\n- 1\ne:\n    f:\n        g:\n        - 1\n" },
          { "a: &x 1\n", "a", "{\"b\": 1}", "a: &x\n  b: 1\n" },
          { "a: &x\n  b: 1\n", "a", "1", "a: &x 1\n" });
}

static void a_new_key_is_added_after_the_last(void **state)
{
    CHECK(yaml, { "a: 1\n", "b", "2", "a: 1\nb: 2\n" }, { "a: 1", "b", "2", "a: 1\nb: 2\n" },
          { "a: 1 # one\n# end\n", "b", "2", "a: 1 # one\nb: 2\n# end\n" },
          { "x:\n  a: 1\n\ny: 1\n", "x.b", "\"v\"", "x:\n  a: 1\n  b: v\n\ny: 1\n" },
          { "x:\n  a:\n    - 1\ny: 1\n", "x.b", "[2]", "x:\n  a:\n    - 1\n  b:\n    - 2\ny: 1\n" },
          { "- a: 1\n  b: 2\n- c\n", "0.d", "3", "- a: 1\n  b: 2\n  d: 3\n- c\n" },
          { "a:\n  b:\n", "a.c", "1", "a:\n  b:\n  c: 1\n" },
          { "a: {b: 1}\n", "a.c", "2", "a: {b: 1, c: 2}\n" },
          { "a: {\n  b: 1,\n  c: 2,\n}\n", "a.d", "3", "a: {\n  b: 1,\n  c: 2,\n  d: 3\n}\n" },
          { "a: {\n  b: 1\n  }\n", "a.c", "2", "a: {\n  b: 1,\n  c: 2\n  }\n" },
          { "a: &x 1\nb: *x\n", "c", "2", "a: &x 1\nb: *x\nc: 2\n" },
          { "a: 1\n", "on", "\"off\"", "a: 1\n'on': 'off'\n" },
          { "a: 1\n", "[80]", "2", "a: 1\n80: 2\n" }, { "a: 1\n", "80", "2", "a: 1\n'80': 2\n" },
          { "a: 1\r\n", "b", "{\"c\": 1}", "a: 1\r\nb:\r\n  c: 1\r\n" });
}

static void missing_parents_are_created(void **state)
{
    CHECK(yaml, { "", "a.b", "1", "a:\n  b: 1\n" },
          { "# only this\n", "a", "1", "# only this\na: 1\n" },
          { "---\n", "a", "1", "---\na: 1\n" },
          { "a:\nb: 1\n", "a.c.d", "1", "a:\n  c:\n    d: 1\nb: 1\n" },
          { "a: {}\nb: 1\n", "a.c", "1", "a:\n  c: 1\nb: 1\n" },
          { "a: [] # none\nb: 1\n", "a.-", "1", "a: # none\n  - 1\nb: 1\n" },
          { "{}\n", "a", "1", "a: 1\n" }, { "b: {a: {}}\n", "b.a.c", "1", "b: {a: {c: 1}}\n" },
          { "a: 1\n", "b.c", "{\"d\": 1}", "a: 1\nb:\n  c:\n    d: 1\n" },
          { "- a:\n- b\n", "0.a.c", "1", "- a:\n    c: 1\n- b\n" });
}

static void items_of_lists(void **state)
{
    CHECK(yaml, { "- 1\n- 2 # two\n# end\n", "-", "3", "- 1\n- 2 # two\n- 3\n# end\n" },
          { "a:\n  - 1\nb: 1\n", "a.-", "{\"x\": 1, \"y\": 2}",
            "a:\n  - 1\n  - x: 1\n    y: 2\nb: 1\n" },
          { "a:\n- 1\nb: 1\n", "a.1", "2", "a:\n- 1\n- 2\nb: 1\n" },
          { "a: [1, 2]\n", "a.-", "3", "a: [1, 2, 3]\n" }, { "a: [1, 2]\n", "a.-", "2", NULL },
          { "- - 1\n  - 2\n- 3\n", "0.-", "4", "- - 1\n  - 2\n  - 4\n- 3\n" },
          { "a: [1, 2, 1]\n", "a.-", "- 1", "a: [2]\n" },
          { "- 1\n# two\n- 2\n- 1\n", "-", "- 1", "# two\n- 2\n" },
          { "-\n\n-\n  - &a x\n- *a\n", "2", "\"y\"", "-\n\n-\n  - &a x\n- y\n" });
}

static void values_can_be_removed(void **state)
{
    CHECK(yaml, { "a: 1\nb: 2\n", "a", NULL, "b: 2\n" }, { "a: 1\nb: 2\n", "b", NULL, "a: 1\n" },
          { "# a\na: 1 # one\n\n# b\nb: 2\n", "a", NULL, "# a\n\n# b\nb: 2\n" },
          { "a:\n  x: 1\n  y:\n    - 1\n\nb: 2\n", "a", NULL, "\nb: 2\n" },
          { "a:\n  x: 1\n  y: 2\nb: 2\n", "a.y", NULL, "a:\n  x: 1\nb: 2\n" },
          { "a:\n  x: 1\nb: 2\n", "a.x", NULL, "a: {}\nb: 2\n" },
          { "- a: 1\n  b: 2\n", "0.a", NULL, "- b: 2\n" },
          { "- a: 1 # c\n  # about b\n  b: 2\n", "0.a", NULL, "-\n  # about b\n  b: 2\n" },
          { "- a: 1\n  b: 2\n", "0.b", NULL, "- a: 1\n" },
          { "{a: 1, b: 2}\n", "a", NULL, "{b: 2}\n" }, { "{a: 1, b: 2}\n", "b", NULL, "{a: 1}\n" },
          { "{a: 1}\n", "a", NULL, "{}\n" }, { "a: |\n  x\n\nb: 1\n", "a", NULL, "\nb: 1\n" },
          { "a: |\n  x\n\nb: 1\n", "c.d", NULL, NULL }, { "", "a", NULL, NULL },
          { "a: &x 1\nb: *x\nc: 2\n", "b", NULL, "a: &x 1\nc: 2\n" },
          { "a: 1\nb:\n", "b", NULL, "a: 1\n" }, { "a: 1\nb: 2", "b", NULL, "a: 1\n" });
}

static void only_differences_are_changed(void **state)
{
    CHECK(yaml,
          { "a:\n  # one\n  x: 1\n  # two\n  y: 2\n", "a", "{\"y\": 3, \"x\": 1, \"z\": 4}",
            "a:\n  # one\n  x: 1\n  # two\n  y: 3\n  z: 4\n" },
          { "a:\n  - 1 # one\n  - 2 # two\n  - 3 # three\n", "a", "[1, 3]",
            "a:\n  - 1 # one\n  - 3 # three\n" },
          { "a: {x: {p: 1, q: [1,2]}, y: 2}\n", "a.x", "{\"p\": 1, \"q\": [1, 3]}",
            "a: {x: {p: 1, q: [1,3]}, y: 2}\n" });
}

static void anchors_aliases_and_tags(void **state)
{
    CHECK(yaml, { "a: &x 1\nb: *x\n", "b", "2", "a: &x 1\nb: 2\n" },
          { "a: &x |\n  t\nb: *x # c\nd: 1\n", "b", "{\"p\": 1}",
            "a: &x |\n  t\nb: # c\n  p: 1\nd: 1\n" },
          { "a: ", "a.-", "3", "a: \n  - 3\n" },
          { "a: &x {p: 1}\nb:\n  <<: *x\n  q: 2\n", "b.p", "5",
            "a: &x {p: 1}\nb:\n  <<: *x\n  q: 2\n  p: 5\n" },
          { "a: &x {p: 1}\nb:\n  <<: *x\n  p: 2\n", "b.p", "5",
            "a: &x {p: 1}\nb:\n  <<: *x\n  p: 5\n" },
          { "a: &x 1\n", "a", "2", "a: &x 2\n" },
          { "a: !!str 5\n", "a", "\"6\"", "a: !!str '6'\n" },
          { "a: !!str 5\n", "a", "6", "a: 6\n" },
          { "a: !vault |\n  abc\nb: 1\n", "b", "2", "a: !vault |\n  abc\nb: 2\n" },
          { "[&a 1, *a, 2]\n", "1", "5", "[&a 1, 5, 2]\n" },
          { "[&a 1, *a, 2]\n", "2", "5", "[&a 1, *a, 5]\n" });
    check_refused(yaml, (Case){ "a: &x 1\nb: *x\n", "a", "2" },
                  "file: cannot change 'a' without touching other lines (because of an anchor, "
                  "alias, tag or unusual layout); change it by hand");
    check_refused(yaml, (Case){ "a: &x {p: 1}\nb: *x\n", "b.p", "2" },
                  "file: cannot change 'b.p' without touching other lines (because of an anchor, "
                  "alias, tag or unusual layout); change it by hand");
    check_refused(yaml, (Case){ "a: &x {p: 1}\nb:\n  <<: *x\n  q: 1\n", "b.p", NULL },
                  "file: cannot change 'b.p' without touching other lines (because of an anchor, "
                  "alias, tag or unusual layout); change it by hand");
}

static void impossible_changes_are_rejected(void **state)
{
    check_refused(yaml, (Case){ "? a\n: 1\n", "a", "2" },
                  "file: cannot change 'a' without touching other lines (because of an anchor, "
                  "alias, tag or unusual layout); change it by hand");
    check_refused(yaml, (Case){ "a: 1\n---\nb: 1\n", "a", "2" },
                  "file:2:1: a second document starts here");
    check_refused(yaml, (Case){ "a: 1\na: 2\n", "a", "2" }, "file:2:1: duplicate key 'a'");
    check_refused(yaml, (Case){ "a: [1\n", "a", "2" }, "file:1:4: this '[' is never closed");
    check_refused(yaml, (Case){ "a: text\n", "a.b", "2" },
                  "'a' is a string, which cannot contain 'b'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_scalar_is_changed_in_place),
        cmocka_unit_test(multi_line_strings),
        cmocka_unit_test(containers_replace_scalars_and_vice_versa),
        cmocka_unit_test(a_new_key_is_added_after_the_last),
        cmocka_unit_test(missing_parents_are_created),
        cmocka_unit_test(items_of_lists),
        cmocka_unit_test(values_can_be_removed),
        cmocka_unit_test(only_differences_are_changed),
        cmocka_unit_test(anchors_aliases_and_tags),
        cmocka_unit_test(impossible_changes_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
