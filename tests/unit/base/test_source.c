#include "base/source.h"

#include "unit.h"

static void assert_location(Str text, uint32_t offset, uint32_t line, uint32_t column)
{
    Source source = { .name = STR("t"), .text = text, .first_line = 1 };
    LineColumn place = source_location(&source, offset);
    if (place.line != line || place.column != column) {
        fail_msg("offset %u: %u:%u instead of %u:%u", offset, place.line, place.column, line,
                 column);
    }
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    SourceLines lines = source_lines(&arena, &source);
    assert_int_equal(source_lines_at(&lines, offset), line);
}

static void assert_line(Str text, uint32_t offset, const char *expected)
{
    Source source = { .name = STR("t"), .text = text, .first_line = 1 };
    assert_str(source_line_at(&source, offset), expected);
}

static void every_kind_of_newline_starts_a_line(void **state)
{
    Str text = STR("ab\ncd\r\nef\rgh");
    assert_location(text, 0, 1, 1);
    assert_location(text, 2, 1, 3); /* the line end belongs to its line */
    assert_location(text, 3, 2, 1);
    assert_location(text, 5, 2, 3);
    assert_location(text, 6, 2, 3); /* between the two bytes of CRLF */
    assert_location(text, 7, 3, 1);
    assert_location(text, 10, 4, 1);
    assert_location(text, 12, 4, 3); /* just after the text */
    assert_location(text, UINT32_MAX, 4, 3);
    assert_line(text, 0, "ab");
    assert_line(text, 2, "ab");
    assert_line(text, 3, "cd");
    assert_line(text, 5, "cd");
    assert_line(text, 6, "cd");
    assert_line(text, 7, "ef");
    assert_line(text, 9, "ef");
    assert_line(text, 10, "gh");
    assert_line(text, UINT32_MAX, "gh");
}

static void columns_count_characters(void **state)
{
    Str text = STR("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80x\n\xc3\xa9y");
    assert_location(text, 2, 1, 2);
    assert_location(text, 5, 1, 3);
    assert_location(text, 7, 1, 3); /* inside the third character */
    assert_location(text, 9, 1, 4);
    assert_location(text, 13, 2, 2);
    assert_line(text, 12, "\xc3\xa9y");
}

static void empty_texts_and_lines_have_positions(void **state)
{
    assert_location(STR_EMPTY, 0, 1, 1);
    assert_location(STR_EMPTY, 9, 1, 1);
    assert_location((Str){ NULL, 0 }, 9, 1, 1);
    assert_line((Str){ NULL, 0 }, 0, "");
    assert_line(STR("\n\n"), 1, "");
    assert_location(STR("\n\n"), 1, 2, 1);
    assert_location(STR("\n\n"), 2, 3, 1);
    assert_line(STR("a\n"), 2, "");
    assert_location(STR("\r\r\n"), 1, 2, 1);
    assert_location(STR("\r\r\n"), 3, 3, 1);
}

/* The slow and obvious way, to which the word-wise one is compared. */
static LineColumn counted_place(Str text, size_t offset)
{
    LineColumn place = { 1, 1 };
    for (size_t at = 0; at < offset; at++) {
        if (text.data[at] == '\n') {
            place.line++;
            place.column = 1;
        } else {
            place.column++;
        }
    }
    return place;
}

static void positions_match_counting_in_long_texts(void **state)
{
    char text[300];
    for (size_t i = 0; i < sizeof text; i++) {
        text[i] = i % 37 == 5 || i % 64 == 0 || i % 51 == 50 ? '\n' : i % 11 == 0 ? '\t' : 'a';
    }
    for (uint32_t offset = 0; offset <= sizeof text; offset++) {
        LineColumn place = counted_place(str_from(text, sizeof text), offset);
        assert_location(str_from(text, sizeof text), offset, place.line, place.column);
    }
}

static void a_source_can_start_inside_a_file(void **state)
{
    Source source = { .name = STR("t"), .text = STR("a\nb"), .first_line = 40 };
    assert_int_equal(source_location(&source, 0).line, 40);
    assert_int_equal(source_location(&source, 2).line, 41);
}

static void the_table_assigns_numbers_from_one(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Sources sources;
    sources_init(&sources, &arena);
    assert_null(sources_get(&sources, SOURCE_NONE));
    assert_null(sources_get(&sources, 1));
    const Source *first = NULL;
    for (uint32_t i = 1; i <= SOURCES_MAX; i++) {
        assert_int_equal(sources_add(&sources, STR("name"), STR("text")), i);
        if (i == 1) {
            first = sources_get(&sources, 1);
        }
    }
    assert_int_equal(sources_add(&sources, STR("one"), STR("too many")), SOURCE_NONE);
    assert_ptr_equal(sources_get(&sources, 1), first); /* growing the table moves no source */
    assert_str(sources_get(&sources, SOURCES_MAX)->name, "name");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_newline_starts_a_line),
        cmocka_unit_test(columns_count_characters),
        cmocka_unit_test(empty_texts_and_lines_have_positions),
        cmocka_unit_test(positions_match_counting_in_long_texts),
        cmocka_unit_test(a_source_can_start_inside_a_file),
        cmocka_unit_test(the_table_assigns_numbers_from_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
