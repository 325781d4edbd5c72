#include "lang/json.h"

#include <stdlib.h>

#include "unit.h"

/* Everything for one parse; the text is in memory of exactly its size, so that AddressSanitizer
 * detects any read past its end. */
typedef struct Parse {
    Arena arena;
    Sources sources;
    Problems problems;
    char *text;
    uint16_t source;
    Value value;
} Parse;

static Parse *parse_start(Str text)
{
    Parse *reading = calloc(1, sizeof *reading);
    arena_init(&reading->arena, ARENA_UNLIMITED);
    sources_init(&reading->sources, &reading->arena);
    problems_init(&reading->problems, &reading->arena);
    reading->text = malloc(text.len + (text.len == 0));
    memcpy(reading->text, text.data, text.len);
    reading->source =
        sources_add(&reading->sources, STR("in.json"), str_from(reading->text, text.len));
    return reading;
}

static void parse_end(Parse *reading)
{
    arena_clear(&reading->arena);
    free(reading->text);
    free(reading);
}
DEFINE_AUTO(Parse, parse_end)

static bool read_with(Parse *reading, const JsonOptions *options)
{
    return json_parse(&reading->arena, &reading->sources, reading->source, options, &reading->value,
                      &reading->problems);
}

static Value read_good(Parse *reading)
{
    if (!read_with(reading, NULL)) {
        fail_msg("refused: %s", arena_copy_c(&reading->arena, reading->problems.items[0].message));
    }
    return reading->value;
}

static void check_printed(Str text, const char *expected)
{
    AUTO(Parse) *reading = parse_start(text);
    Value v = read_good(reading);
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    Error err;
    assert_true(json_print(&out, v, NULL, &err));
    assert_str(buf_str(&out), expected);
}

static void documents_have_the_expected_values(void **state)
{
    const struct {
        const char *text;
        const char *printed;
    } rows[] = {
        { "null", "null" },
        { " \t\r\n true \n", "true" },
        { "false", "false" },
        { "0", "0" },
        { "-0", "0" },
        { "-0.0", "-0.0" },
        { "12", "12" },
        { "-1234567890", "-1234567890" },
        { "9223372036854775807", "9223372036854775807" },
        { "-9223372036854775808", "-9223372036854775808" },
        { "1.5", "1.5" },
        { "1e2", "100.0" },
        { "1E+2", "100.0" },
        { "123456789.123456789e-3", "123456.7891234568" },
        { "0.1e1", "1.0" },
        { "1e-400", "0.0" },
        { "12345678901234567890.5", "1.2345678901234567e+19" },
        { "\"\"", "\"\"" },
        { "\"a\"", "\"a\"" },
        { "\"exactly sixteen.\"", "\"exactly sixteen.\"" },
        { "\"caf\xc3\xa9 \xf0\x9f\x98\x80\"", "\"caf\xc3\xa9 \xf0\x9f\x98\x80\"" },
        { "\"\\\" \\\\ \\/ \\b\\f\\n\\r\\t\"", "\"\\\" \\\\ / \\b\\f\\n\\r\\t\"" },
        { "\"\\u0041\\u00e9\\u20AC\\uD83D\\uDE00\"", "\"A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"" },
        { "\"\\u0000\"", "\"\\u0000\"" },
        { "\"a long text before the escape\\n and a long one behind it\"",
          "\"a long text before the escape\\n and a long one behind it\"" },
        { "[]", "[]" },
        { "[ ]", "[]" },
        { "{}", "{}" },
        { "{ \n}", "{}" },
        { "[1 , 2,3]", "[1,2,3]" },
        { "[[],[[]],{}]", "[[],[[]],{}]" },
        { "{\"a\" : 1 , \"b\":{\"c\":[null]}}", "{\"a\":1,\"b\":{\"c\":[null]}}" },
        { "{\"\":0}", "{\"\":0}" },
        { "\xef\xbb\xbf[1]", "[1]" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        check_printed(str_from_c(rows[i].text), rows[i].printed);
    }
}

/* An invalid text, the code, and the position of the problem; column and span count characters. */
typedef struct BadRow {
    Str text;
    const char *code;
    uint32_t line, column, span;
    const char *hint; /* NULL: not checked */
} BadRow;

static void check_bad(const BadRow *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const BadRow *row = &rows[i];
        AUTO(Parse) *reading = parse_start(row->text);
        if (read_with(reading, NULL)) {
            fail_msg("taken: %.*s", (int)row->text.len, row->text.data);
        }
        if (reading->value.kind != VALUE_NULL || reading->problems.errors != 1) {
            fail_msg("%u errors: %.*s", reading->problems.errors, (int)row->text.len,
                     row->text.data);
        }
        const Problem *problem = &reading->problems.items[0];
        if (!str_eq_c(problem->code, row->code) || problem->line != row->line ||
            problem->column != row->column || problem->span != row->span ||
            (row->hint != NULL && !str_eq_c(problem->hint, row->hint))) {
            fail_msg("%.*s: %.*s at %u:%u+%u, %.*s (%.*s)", (int)row->text.len, row->text.data,
                     (int)problem->code.len, problem->code.data, problem->line, problem->column,
                     problem->span, (int)problem->message.len, problem->message.data,
                     (int)problem->hint.len, problem->hint.data);
        }
    }
}

static void syntax_errors_have_a_position_and_a_hint(void **state)
{
    const BadRow rows[] = {
        { STR("[1,2,]"), "E0150", 1, 5, 1, "remove this comma" },
        { STR("{\"a\":1 ,\n}"), "E0150", 1, 8, 1, "remove this comma" },
        { STR("[,1]"), "E0150", 1, 2, 1, "" },
        { STR("[1,,2]"), "E0150", 1, 4, 1, "" },
        { STR("{,}"), "E0150", 1, 2, 1, "" },
        { STR("{'a':1}"), "E0150", 1, 2, 1, "write \" instead of '" },
        { STR("['a']"), "E0150", 1, 2, 1, "write \" instead of '" },
        { STR("{name: 1}"), "E0150", 1, 2, 4, "put it in double quotes" },
        { STR("{\"a\":1,name: 1}"), "E0150", 1, 8, 4, "put it in double quotes" },
        { STR("{1: 1}"), "E0150", 1, 2, 1, "put it in double quotes" },
        { STR("[text]"), "E0150", 1, 2, 4, "put it in double quotes" },
        { STR("\xc3\xa9t\xc3\xa9"), "E0150", 1, 1, 3, "put it in double quotes" },
        { STR("[tru]"), "E0150", 1, 2, 3, NULL },
        { STR("[nul"), "E0150", 1, 2, 3, NULL },
        { STR("[True]"), "E0150", 1, 2, 4, "write true" },
        { STR("[False]"), "E0150", 1, 2, 5, "write false" },
        { STR("None"), "E0150", 1, 1, 4, "write null" },
        { STR("[NaN]"), "E0150", 1, 2, 3, "write null or a string" },
        { STR("[Infinity]"), "E0150", 1, 2, 8, "write null or a string" },
        { STR("[-Infinity]"), "E0150", 1, 2, 9, "write null or a string" },
        { STR("// c\n1"), "E0150", 1, 1, 1, "remove the comment" },
        { STR("[1, # c\n 2]"), "E0150", 1, 5, 1, "remove the comment" },
        { STR("[1 /* c */]"), "E0150", 1, 4, 1, "remove the comment" },
        { STR("{\"a\" = 1}"), "E0150", 1, 6, 1, "write ':' instead of '='" },
        { STR("{\"a\", 1}"), "E0150", 1, 5, 1, "" },
        { STR("{\"a\" \"b\"}"), "E0150", 1, 6, 1, "" },
        { STR("[1 2]"), "E0150", 1, 4, 1, "missing comma before this" },
        { STR("{\"a\":1\n\"b\":2}"), "E0150", 2, 1, 1, "missing comma before this" },
        { STR("[1}"), "E0150", 1, 3, 1, "a list ends with ']'" },
        { STR("[\"a\":1]"), "E0150", 1, 5, 1, "key-value pairs belong between '{' and '}'" },
        { STR("{\"a\":1]"), "E0150", 1, 7, 1, "an object ends with '}'" },
        { STR("]"), "E0150", 1, 1, 1, "" },
        { STR("[0x1f]"), "E0150", 1, 2, 4, "numbers in JSON are decimal" },
        { STR("truex"), "E0150", 1, 1, 5, "" },
        { STR("[+1]"), "E0150", 1, 2, 1, "remove the '+'" },
        { STR("[.5]"), "E0150", 1, 2, 2, "write 0 before the decimal point" },
        { STR("[\x01]"), "E0150", 1, 2, 1, "" },
        { STR("[\x0b]"), "E0150", 1, 2, 1, "" },
        { STR("1 2"), "E0158", 1, 3, 1, "" },
        { STR("{}]"), "E0158", 1, 3, 1, "" },
        { STR("null\x00"), "E0158", 1, 5, 1, "" },
        { STR("\xef\xbb\xbf\xef\xbb\xbf[]"), "E0150", 1, 2, 1, NULL },
    };
    check_bad(rows, COUNT_OF(rows));
}

static void truncated_documents_report_what_is_open(void **state)
{
    const BadRow rows[] = {
        { STR(""), "E0151", 1, 1, 1, "" },
        { STR(" \n "), "E0151", 2, 2, 1, "" },
        { STR("["), "E0151", 1, 1, 1, "" },
        { STR("{"), "E0151", 1, 1, 1, "" },
        { STR("[[1], [2"), "E0151", 1, 7, 1, "" },
        { STR("[1,"), "E0151", 1, 1, 1, "" },
        { STR("{\"a\""), "E0151", 1, 1, 1, "" },
        { STR("{\"a\":"), "E0151", 1, 1, 1, "" },
        { STR("{\"a\":1,\n"), "E0151", 1, 1, 1, "" },
        { STR("[\"abc"), "E0151", 1, 2, 1, "" },
        { STR("[\"a string with more than sixteen bytes"), "E0151", 1, 2, 1, "" },
        { STR("\"\\"), "E0151", 1, 1, 1, "" },
        { STR("\"ab\\\""), "E0151", 1, 1, 1, "" },
        { STR("\"ab\\n"), "E0151", 1, 1, 1, "" },
    };
    check_bad(rows, COUNT_OF(rows));
}

static void invalid_strings_and_numbers_are_rejected(void **state)
{
    const BadRow rows[] = {
        { STR("[\"a\nb\"]"), "E0152", 1, 2, 2, "write \\n, or close the string" },
        { STR("[\"a\tb\"]"), "E0152", 1, 4, 1, "write \\t" },
        { STR("[\"a\x1f\"]"), "E0152", 1, 4, 1, "" },
        { STR("[\"a\x00\"]"), "E0152", 1, 4, 1, "" },
        { STR("[\"\\n\x01\"]"), "E0152", 1, 5, 1, "" },
        { STR("[\"\\x41\"]"), "E0152", 1, 3, 2, "write \\\\ for a backslash" },
        { STR("[\"\\u12\"]"), "E0152", 1, 3, 2, "four hexadecimal digits must follow" },
        { STR("[\"\\u12g4\"]"), "E0152", 1, 3, 2, NULL },
        { STR("[\"\\ud800\"]"), "E0152", 1, 3, 6, NULL },
        { STR("[\"\\ud800x\"]"), "E0152", 1, 3, 6, NULL },
        { STR("[\"\\ud800\\n\"]"), "E0152", 1, 3, 6, NULL },
        { STR("[\"\\ud800\\ud800\"]"), "E0152", 1, 3, 6, NULL },
        { STR("[\"\\ud800\\u0041\"]"), "E0152", 1, 3, 6, NULL },
        { STR("[\"\\udc00\\ud800\"]"), "E0152", 1, 3, 6, NULL },
        { STR("\"a\xfe\""), "E0157", 1, 3, 1, "" },
        { STR("\"\xc3\""), "E0157", 1, 2, 1, "" },
        { STR("\"\xed\xa0\x80\""), "E0157", 1, 2, 1, "" },
        { STR("\"\\n\xff\""), "E0157", 1, 4, 1, "" },
        { STR("{\"\xff\":1}"), "E0157", 1, 3, 1, "" },
        { STR("[\xff]"), "E0157", 1, 2, 1, "" },
        { STR("[01]"), "E0153", 1, 2, 2, NULL },
        { STR("[-01]"), "E0153", 1, 2, 3, NULL },
        { STR("[00]"), "E0153", 1, 2, 2, NULL },
        { STR("[1.]"), "E0153", 1, 2, 2, NULL },
        { STR("[1.e5]"), "E0153", 1, 2, 4, NULL },
        { STR("[1e]"), "E0153", 1, 2, 2, NULL },
        { STR("[1e+]"), "E0153", 1, 2, 2, NULL },
        { STR("[-]"), "E0153", 1, 2, 1, NULL },
        { STR("[-a]"), "E0153", 1, 2, 2, NULL },
        { STR("-"), "E0153", 1, 1, 1, NULL },
        { STR("9223372036854775808"), "E0155", 1, 1, 19, NULL },
        { STR("-9223372036854775809"), "E0155", 1, 1, 20, NULL },
        { STR("18446744073709551617"), "E0155", 1, 1, 20, NULL },
        { STR("[1e309]"), "E0155", 1, 2, 5, NULL },
        { STR("[-1e309]"), "E0155", 1, 2, 6, NULL },
    };
    check_bad(rows, COUNT_OF(rows));
}

static void every_truncation_is_rejected(void **state)
{
    Str text =
        STR("{\"key\": [1, -2.5e3, true, \"t\\u00e9xt \xc3\xa9\", {\"a\": null}], \"b\": {}}");
    for (size_t len = 0; len < text.len; len++) {
        AUTO(Parse) *reading = parse_start(str_slice(text, 0, len));
        assert_false(read_with(reading, NULL));
        assert_int_equal(reading->problems.errors, 1);
    }
}

/* The value's range must be exactly the bytes that spell it. */
static void check_place(const Parse *reading, Value v, const char *spelling)
{
    assert_int_equal(v.source, reading->source);
    assert_str(str_from(reading->text + v.start, v.span), spelling);
}

static void values_have_positions(void **state)
{
    AUTO(Parse) *reading = parse_start(
        STR(" {\"key\" : [ -12.5 ,true, \"a\\n\" ], \"empty\": { }, \"n\":null, \"\": 7 } "));
    Value v = read_good(reading);
    check_place(reading, v,
                "{\"key\" : [ -12.5 ,true, \"a\\n\" ], \"empty\": { }, \"n\":null, \"\": 7 }");
    assert_int_equal(v.map->len, 4);
    MapEntry *entries = v.map->entries;
    check_place(reading, entries[0].key, "\"key\"");
    assert_str(value_str(entries[0].key), "key");
    assert_true((entries[0].key.flags & VALUE_QUOTED) != 0);
    check_place(reading, entries[0].value, "[ -12.5 ,true, \"a\\n\" ]");
    check_place(reading, entries[0].value.list->items[0], "-12.5");
    check_place(reading, entries[0].value.list->items[1], "true");
    check_place(reading, entries[0].value.list->items[2], "\"a\\n\"");
    check_place(reading, entries[1].value, "{ }");
    check_place(reading, entries[2].value, "null");
    check_place(reading, entries[3].key, "\"\"");
    check_place(reading, entries[3].value, "7");
}

static void plain_strings_borrow_from_the_text(void **state)
{
    AUTO(Parse) *reading = parse_start(STR("[\"plain\", \"esc\\u0061ped\"]"));
    List *list = read_good(reading).list;
    assert_ptr_equal(list->items[0].text, reading->text + 2);
    assert_str(value_str(list->items[1]), "escaped");
    assert_true(list->items[1].text < reading->text || list->items[1].text > reading->text + 25);
}

static void lists_and_maps_can_grow_afterwards(void **state)
{
    AUTO(Parse) *reading = parse_start(STR("[[1, 2], {\"a\": 1}]"));
    List *list = read_good(reading).list;
    List *inner = list->items[0].list;
    Map *map = list->items[1].map;
    for (int i = 0; i < 40; i++) {
        char name[16];
        snprintf(name, sizeof name, "k%d", i);
        list_push(&reading->arena, inner, value_int(i));
        map_set_str(&reading->arena, map, arena_copy(&reading->arena, str_from_c(name)),
                    value_int(i));
    }
    assert_int_equal(inner->len, 42);
    assert_int_equal(inner->items[1].integer, 2);
    assert_int_equal(map->len, 41);
    assert_int_equal(map_find_str(map, STR("a"))->value.integer, 1);
    assert_int_equal(map_find_str(map, STR("k39"))->value.integer, 39);
}

/* {"k0": 0, "k1": 1, ...} */
static void write_map(Buf *out, int count)
{
    buf_put_char(out, '{');
    for (int i = 0; i < count; i++) {
        buf_put_format(out, "%s\"k%d\": %d", i > 0 ? ", " : "", i, i);
    }
}

static void keys_are_found_in_maps_of_any_size(void **state)
{
    const int sizes[] = { 1, 7, 8, 9, 15, 16, 17, 31, 33, 100, 1000 };
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
        write_map(&text, sizes[i]);
        buf_put_char(&text, '}');
        AUTO(Parse) *reading = parse_start(buf_str(&text));
        Map *map = read_good(reading).map;
        assert_int_equal(map->len, sizes[i]);
        for (int k = 0; k < sizes[i]; k++) {
            char key[16];
            snprintf(key, sizeof key, "k%d", k);
            const MapEntry *entry = map_find_str(map, str_from_c(key));
            assert_non_null(entry);
            assert_int_equal(entry->value.integer, k);
        }
        assert_null(map_find_str(map, STR("k")));
    }
}

static void duplicate_keys_are_found_in_maps_of_any_size(void **state)
{
    const int sizes[] = { 1, 7, 8, 9, 15, 16, 17, 100 };
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
        write_map(&text, sizes[i]);
        buf_put_c(&text, ", \"k\\u0030\": -1}");
        AUTO(Parse) *reading = parse_start(buf_str(&text));
        assert_false(read_with(reading, NULL));
        assert_int_equal(reading->problems.errors, 1);
        assert_str(reading->problems.items[0].code, "E0154");
        assert_str(reading->problems.items[0].message, "duplicate key 'k\\u0030'");
        assert_str(reading->problems.items[0].hint, "first at line 1, column 2");

        JsonOptions options = json_options_default;
        options.allow_duplicates = true;
        AUTO(Parse) *again = parse_start(buf_str(&text));
        assert_true(read_with(again, &options));
        assert_int_equal(again->value.map->len, sizes[i]);
        assert_str(value_str(again->value.map->entries[0].key), "k0");
        assert_int_equal(map_find_str(again->value.map, STR("k0"))->value.integer, -1);
    }
}

static void duplicates_and_wide_integers_are_all_reported(void **state)
{
    AUTO(Parse) *reading =
        parse_start(STR("{\"a\": {\"b\": 1, \"b\": 2},\n \"a\": 99999999999999999999}"));
    assert_false(read_with(reading, NULL));
    assert_int_equal(reading->problems.count, 3);
    assert_str(reading->problems.items[0].code, "E0154");
    assert_int_equal(reading->problems.items[0].column, 16);
    assert_str(reading->problems.items[1].code, "E0155");
    assert_int_equal(reading->problems.items[1].line, 2);
    assert_str(reading->problems.items[2].code, "E0154");
}

/* Every problem costs a walk over the text, so a text full of them must not report all. */
static void the_number_of_problems_is_limited(void **state)
{
    const char *const repeated[] = { "{\"a\":1,\"a\":2},", "99999999999999999999," };
    for (size_t i = 0; i < COUNT_OF(repeated); i++) {
        AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
        buf_put_char(&text, '[');
        for (int k = 0; k < 1000; k++) {
            buf_put_c(&text, repeated[i]);
        }
        AUTO(Parse) *reading = parse_start(buf_str(&text));
        assert_false(read_with(reading, NULL));
        assert_int_equal(reading->problems.errors, 20);
    }
}

static void options_allow_more(void **state)
{
    JsonOptions options = json_options_default;
    options.wide_integers = true;
    options.python_constants = true;
    AUTO(Parse) *reading = parse_start(
        STR("[18446744073709551616, -9223372036854775809, 7, NaN, Infinity, -Infinity]"));
    assert_true(read_with(reading, &options));
    const Value *items = reading->value.list->items;
    assert_true(items[0].kind == VALUE_FLOAT && items[0].number == 0x1p64);
    assert_true(items[1].kind == VALUE_FLOAT && items[1].number == -0x1p63);
    assert_true(items[2].kind == VALUE_INT);
    assert_true(items[3].kind == VALUE_FLOAT && items[3].number != items[3].number);
    assert_true(items[4].number > 1e308 && items[5].number < -1e308);
    check_place(reading, items[5], "-Infinity");

    /* No integer becomes Infinity silently, however long. */
    AUTO_CLEAR(Buf) digits = buf_make(BUF_UNLIMITED);
    buf_put_repeat(&digits, '9', 400);
    AUTO(Parse) *wide = parse_start(buf_str(&digits));
    assert_false(read_with(wide, &options));
    assert_str(wide->problems.items[0].code, "E0155");
}

static void check_limit(Str text, JsonLimits limits, bool allowed)
{
    AUTO(Parse) *reading = parse_start(text);
    JsonOptions options = { .limits = limits };
    assert_int_equal(read_with(reading, &options), allowed);
    if (!allowed) {
        assert_str(reading->problems.items[0].code, "E0156");
    }
}

static void limits_hold(void **state)
{
    check_limit(STR("[1, 2]"), (JsonLimits){ .size = 6, .depth = 1, .nodes = 2 }, true);
    check_limit(STR("[1, 2]"), (JsonLimits){ .size = 5, .depth = 1, .nodes = 2 }, false);
    check_limit(STR("[1, 2]"), (JsonLimits){ .size = 6, .depth = 0, .nodes = 2 }, false);
    check_limit(STR("[1, 2]"), (JsonLimits){ .size = 6, .depth = 1, .nodes = 1 }, false);
    check_limit(STR("[[[]], []]"), (JsonLimits){ .size = 99, .depth = 3, .nodes = 3 }, true);
    check_limit(STR("[[[]], []]"), (JsonLimits){ .size = 99, .depth = 2, .nodes = 3 }, false);
    check_limit(STR("[[[]], []]"), (JsonLimits){ .size = 99, .depth = 3, .nodes = 2 }, false);
    check_limit(STR("{\"a\": 1}"), (JsonLimits){ .size = 99, .depth = 1, .nodes = 1 }, false);
}

static void deep_nesting_is_an_error_not_a_crash(void **state)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    buf_put_repeat(&text, '[', 100000);
    AUTO(Parse) *reading = parse_start(buf_str(&text));
    assert_false(read_with(reading, NULL));
    assert_str(reading->problems.items[0].code, "E0156");
    assert_int_equal(reading->problems.items[0].column, VALUE_DEPTH_MAX + 1);

    buf_reset(&text);
    buf_put_repeat(&text, '[', VALUE_DEPTH_MAX);
    buf_put_repeat(&text, ']', VALUE_DEPTH_MAX);
    AUTO(Parse) *fits = parse_start(buf_str(&text));
    assert_true(read_with(fits, NULL));
}

static void the_budget_of_the_arena_holds(void **state)
{
    AUTO_CLEAR(Buf) flat = buf_make(BUF_UNLIMITED);
    AUTO_CLEAR(Buf) nested = buf_make(BUF_UNLIMITED);
    AUTO_CLEAR(Buf) escaped = buf_make(BUF_UNLIMITED);
    buf_put_char(&flat, '[');
    buf_put_char(&nested, '[');
    buf_put_c(&escaped, "\"\\n");
    for (int i = 0; i < 200000; i++) {
        buf_put_c(&flat, "1,");
        buf_put_c(&nested, "[],");
        buf_put_c(&escaped, "12345678");
    }
    buf_put_c(&flat, "1]");
    buf_put_c(&nested, "1]");
    buf_put_c(&escaped, "\"");
    const Buf *texts[] = { &flat, &nested, &escaped };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        AUTO_CLEAR(Arena) arena;
        arena_init(&arena, 1 << 20);
        Value v;
        Error err;
        assert_false(json_parse_text(&arena, buf_str(texts[i]), NULL, &v, &err));
        assert_int_equal(err.kind, ERROR_LIMIT);
        assert_true(arena.chunk_bytes <= 2 << 20);
    }
}

static void consecutive_values(void **state)
{
    AUTO(Parse) *reading = parse_start(STR("{\"a\":1}\n[2] 3\"x\"null\n\n{bad\n"));
    Str text = str_from(reading->text, 28);
    int kinds[8], count = 0;
    size_t at = 0;
    bool good = true;
    while (good && (at = json_skip_space(text, at)) < text.len) {
        good = json_parse_next(&reading->arena, &reading->sources, reading->source, &at, NULL,
                               &reading->value, &reading->problems);
        if (good) {
            kinds[count++] = reading->value.kind;
        }
    }
    const int expected[] = { VALUE_MAP, VALUE_LIST, VALUE_INT, VALUE_STRING, VALUE_NULL };
    assert_int_equal(count, COUNT_OF(expected));
    assert_memory_equal(kinds, expected, sizeof expected);
    assert_false(good);
    assert_int_equal(reading->problems.items[0].line, 4);
    assert_int_equal(json_skip_space(STR(" \n"), 0), 2);
    assert_int_equal(json_skip_space(STR("x"), 5), 1);
}

static void without_a_source_errors_have_line_and_column(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Value v;
    Error err;
    assert_false(json_parse_text(&arena, STR("{\"a\": 1,\n 'b': 2}"), NULL, &v, &err));
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_string_equal(err.text,
                        "line 2, column 2: strings need double quotes (write \" instead of ')");
    assert_true(json_parse_text(&arena, STR("[1]"), NULL, &v, &err));
    assert_int_equal(v.source, SOURCE_NONE);
    assert_false(json_parse_text(&arena, STR_EMPTY, NULL, &v, &err));
    assert_string_equal(err.text, "line 1, column 1: unexpected end of input, expected a value");
}

/* Every special byte at every offset in the blocks in which strings are scanned. */
static void strings_of_every_length_and_alignment(void **state)
{
    static const struct {
        const char *raw;
        const char *decoded; /* NULL: rejected */
    } specials[] = {
        { "y", "y" },     { "\\n", "\n" },    { "\\u00e9", "\xc3\xa9" }, { "\xc3\xa9", "\xc3\xa9" },
        { "\x1f", NULL }, { "\x7f", "\x7f" }, { "\xc3", NULL },          { "\xff", NULL },
    };
    for (size_t i = 0; i < COUNT_OF(specials); i++) {
        for (size_t before = 0; before < 40; before++) {
            for (size_t behind = 0; behind < 40; behind += 13) {
                AUTO_CLEAR(Buf) text = buf_make(200), expected = buf_make(200);
                buf_put_char(&text, '"');
                buf_put_repeat(&text, 'a', before);
                buf_put_c(&text, specials[i].raw);
                buf_put_repeat(&text, 'b', behind);
                buf_put_char(&text, '"');
                buf_put_repeat(&expected, 'a', before);
                buf_put_c(&expected, specials[i].decoded);
                buf_put_repeat(&expected, 'b', behind);
                AUTO(Parse) *reading = parse_start(buf_str(&text));
                assert_int_equal(read_with(reading, NULL), specials[i].decoded != NULL);
                if (specials[i].decoded != NULL) {
                    assert_str(value_str(reading->value), buf_c(&expected));
                } else {
                    assert_int_equal(reading->problems.items[0].column, before + 2);
                }
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documents_have_the_expected_values),
        cmocka_unit_test(syntax_errors_have_a_position_and_a_hint),
        cmocka_unit_test(truncated_documents_report_what_is_open),
        cmocka_unit_test(invalid_strings_and_numbers_are_rejected),
        cmocka_unit_test(every_truncation_is_rejected),
        cmocka_unit_test(values_have_positions),
        cmocka_unit_test(plain_strings_borrow_from_the_text),
        cmocka_unit_test(lists_and_maps_can_grow_afterwards),
        cmocka_unit_test(keys_are_found_in_maps_of_any_size),
        cmocka_unit_test(duplicate_keys_are_found_in_maps_of_any_size),
        cmocka_unit_test(duplicates_and_wide_integers_are_all_reported),
        cmocka_unit_test(the_number_of_problems_is_limited),
        cmocka_unit_test(options_allow_more),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(deep_nesting_is_an_error_not_a_crash),
        cmocka_unit_test(the_budget_of_the_arena_holds),
        cmocka_unit_test(consecutive_values),
        cmocka_unit_test(without_a_source_errors_have_line_and_column),
        cmocka_unit_test(strings_of_every_length_and_alignment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
