#include "base/ascii_case.h"

#include <stdlib.h>

#include "unit.h"

/* A text of every length around whole chunks, at the end of its memory, so that a sanitizer detects
 * a read past it. */
static char *text_of(size_t len, const char *pattern)
{
    char *text = malloc(len == 0 ? 1 : len);
    for (size_t i = 0; i < len; i++) {
        text[i] = pattern[i % strlen(pattern)];
    }
    return text;
}

static void check_each_length(bool (*copy)(Str text, char *out), const char *pattern,
                              char (*expect)(char c, char before))
{
    for (size_t len = 0; len < 70; len++) {
        char *text = text_of(len, pattern);
        char *out = malloc(chunk_capacity(len) + 1);
        assert_true(copy(str_from(text, len), out));
        for (size_t i = 0; i < len; i++) {
            assert_int_equal(out[i], expect(text[i], i == 0 ? ' ' : text[i - 1]));
        }
        free(out);
        free(text);
    }
}

static char expect_lower(char c, char before)
{
    return ascii_lower(c);
}

static char expect_upper(char c, char before)
{
    return ascii_upper(c);
}

static char expect_title(char c, char before)
{
    bool ends = strchr("-({[< \t\n\v\f\r\x1c\x1d\x1e\x1f", before) != NULL && before != '\0';
    return ends ? ascii_upper(c) : ascii_lower(c);
}

/* Each ASCII character except NUL, and what is next to the letters. */
static const char *all_characters(char out[256])
{
    size_t len = 0;
    for (int c = 1; c < 128; c++) {
        out[len++] = (char)c;
        out[len++] = c % 2 == 0 ? 'x' : 'Y';
    }
    out[len] = '\0';
    return out;
}

static void changes_every_character_and_length(void **state)
{
    char all[256];
    const char *patterns[] = { "aZ", "@AZ[`az{", "foo-Bar (bAz) x{y[z<w'v", all_characters(all) };
    for (size_t i = 0; i < COUNT_OF(patterns); i++) {
        check_each_length(ascii_copy_lower, patterns[i], expect_lower);
        check_each_length(ascii_copy_upper, patterns[i], expect_upper);
        check_each_length(ascii_copy_title, patterns[i], expect_title);
    }
}

static void other_characters_are_unchanged(void **state)
{
    char out[80];
    for (size_t len = 1; len < 70; len++) {
        for (size_t at = 0; at < len; at++) {
            char *text = text_of(len, "ab c");
            text[at] = (char)0xc3;
            assert_false(ascii_copy_lower(str_from(text, len), out));
            assert_false(ascii_copy_upper(str_from(text, len), out));
            assert_false(ascii_copy_title(str_from(text, len), out));
            free(text);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_every_character_and_length),
        cmocka_unit_test(other_characters_are_unchanged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
