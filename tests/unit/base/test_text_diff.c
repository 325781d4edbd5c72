#include "base/text_diff.h"

#include <stdlib.h>

#include "unit.h"

static void check_diff(const char *old_text, const char *new_text, const char *expected)
{
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    text_diff(str_from_c(old_text), str_from_c(new_text), STR("a"), STR("b"), &out);
    assert_str(buf_str(&out), expected);
}

static void equal_texts_have_no_diff(void **state)
{
    check_diff("", "", "");
    check_diff("x\n", "x\n", "");
}

static void new_and_removed_files_are_shown_completely(void **state)
{
    check_diff("", "one\ntwo\n", "--- a\n+++ b\n@@ -0,0 +1,2 @@\n+one\n+two\n");
    check_diff("one\n", "", "--- a\n+++ b\n@@ -1 +0,0 @@\n-one\n");
}

static void names_cannot_forge_lines(void **state)
{
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    text_diff(STR(""), STR("x\n"), STR("/dev/null"), STR("/a\n-b \"c\""), &out);
    assert_str(buf_str(&out), "--- /dev/null\n+++ \"/a\\n-b \\\"c\\\"\"\n@@ -0,0 +1 @@\n+x\n");
}

static void changes_have_three_lines_of_context(void **state)
{
    check_diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n",
               "--- a\n+++ b\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
}

static void adjacent_changes_share_a_hunk(void **state)
{
    check_diff("a\n1\n2\n3\n4\n5\n6\nb\n", "A\n1\n2\n3\n4\n5\n6\nB\n",
               "--- a\n+++ b\n@@ -1,8 +1,8 @@\n-a\n+A\n 1\n 2\n 3\n 4\n 5\n 6\n-b\n+B\n");
    check_diff("a\n1\n2\n3\n4\n5\n6\n7\nb\n", "A\n1\n2\n3\n4\n5\n6\n7\nB\n",
               "--- a\n+++ b\n@@ -1,4 +1,4 @@\n-a\n+A\n 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n 7\n"
               "-b\n+B\n");
}

static void a_missing_final_newline_is_shown(void **state)
{
    check_diff("a", "a\n", "--- a\n+++ b\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n");
}

static void the_shortest_edit_is_found(void **state)
{
    check_diff("a\nb\nc\na\nb\nb\na\n", "c\nb\na\nb\na\nc\n",
               "--- a\n+++ b\n@@ -1,7 +1,6 @@\n-a\n-b\n c\n+b\n a\n b\n-b\n a\n+c\n");
}

/* Applies a diff to the old text, as patch would. */
static void apply(Str old_text, Str diff, Buf *out)
{
    Str line;
    size_t at = 0;
    uint64_t number = 1;
    str_split_next(&diff, '\n', &line);
    str_split_next(&diff, '\n', &line);
    while (diff.len > 0 && str_split_next(&diff, '\n', &line)) {
        if (line.data[0] == '@') {
            uint64_t start = strtoull(line.data + 4, NULL, 10);
            bool none = str_find(line, STR(",0 +"), 0) != STR_NOT_FOUND;
            for (uint64_t end = none ? start + 1 : start; number < end; number++) {
                size_t next = str_find(old_text, STR("\n"), at) + 1;
                buf_put(out, str_slice(old_text, at, next));
                at = next;
            }
            continue;
        }
        if (line.data[0] != '-') {
            buf_put(out, str_from_offset(line, 1));
            buf_put_char(out, '\n');
        }
        if (line.data[0] != '+') {
            at = str_find(old_text, STR("\n"), at) + 1;
            number++;
        }
    }
    buf_put(out, str_from_offset(old_text, at));
}

static void applying_a_diff_gives_the_new_text(void **state)
{
    srand(7);
    for (int round = 0; round < 300; round++) {
        AUTO_CLEAR(Buf) a = buf_make(BUF_UNLIMITED);
        AUTO_CLEAR(Buf) b = buf_make(BUF_UNLIMITED);
        AUTO_CLEAR(Buf) diff = buf_make(BUF_UNLIMITED);
        AUTO_CLEAR(Buf) result = buf_make(BUF_UNLIMITED);
        int letters = 2 + rand() % 20, lines = rand() % (round < 290 ? 60 : 3000);
        for (int i = 0; i < lines; i++) {
            int letter = 'a' + rand() % letters;
            if (rand() % 5 != 0) {
                buf_put_format(&a, "%c\n", letter);
            }
            if (rand() % 5 != 0) {
                buf_put_format(&b, "%c\n", rand() % 4 != 0 ? letter : 'a' + rand() % letters);
            }
        }
        text_diff(buf_str(&a), buf_str(&b), STR("a"), STR("b"), &diff);
        apply(buf_str(&a), buf_str(&diff), &result);
        if (!str_eq(buf_str(&result), buf_str(&b))) {
            fail_msg("round %d:\n%s", round, buf_c(&diff));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_texts_have_no_diff),
        cmocka_unit_test(new_and_removed_files_are_shown_completely),
        cmocka_unit_test(names_cannot_forge_lines),
        cmocka_unit_test(changes_have_three_lines_of_context),
        cmocka_unit_test(adjacent_changes_share_a_hunk),
        cmocka_unit_test(a_missing_final_newline_is_shown),
        cmocka_unit_test(the_shortest_edit_is_found),
        cmocka_unit_test(applying_a_diff_gives_the_new_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
