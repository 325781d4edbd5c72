#include "lang/record.h"

#include "base/enum_names.h"
#include "base/hex.h"
#include "lang/json.h"
#include "unit.h"

static Arena arena;

static int set_up(void **state)
{
    arena_init(&arena, ARENA_UNLIMITED);
    return 0;
}

static int tear_down(void **state)
{
    arena_clear(&arena);
    return 0;
}

typedef struct Spoke {
    int64_t length;
    char metal[8];
    Value unknown;
} Spoke;

typedef enum Metal {
    METAL_STEEL,
    METAL_BRASS
} Metal;
DECLARE_ENUM_NAMES(Metal, metal)
DEFINE_ENUM_NAMES(Metal, metal, [METAL_STEEL] = "steel", [METAL_BRASS] = "brass")

typedef struct Color {
    uint8_t red, green, blue;
} Color;

typedef struct Wheel {
    char name[9];
    Str note;
    int64_t made_ms;
    bool is_spare;
    Color color;
    Value labels;
    Spoke spokes[3];
    uint32_t spoke_count;
    Spoke best;
    Metal rim;
    uint16_t size;
    uint32_t turns;
    int balance;
    Spoke *spares;
    uint32_t spare_count;
    Value unknown;
} Wheel;

static bool color_read(Arena *into, Value value, void *member, Error *err)
{
    Str text = value_str(value);
    unsigned char bytes[3];
    Color *color = member;
    if (text.len != 6 || !hex_is_valid(text)) {
        return error_set(err, ERROR_INVALID, "must be six hexadecimal digits");
    }
    hex_decode(text.data, sizeof bytes, bytes);
    *color = (Color){ bytes[0], bytes[1], bytes[2] };
    return true;
}

static void color_print(const void *member, Buf *out)
{
    const Color *color = member;
    buf_put_format(out, "\"%02x%02x%02x\"", color->red, color->green, color->blue);
}

static bool color_is_black(const void *member)
{
    const Color *color = member;
    return color->red == 0 && color->green == 0 && color->blue == 0;
}

static const RecordCodec color_codec = { color_read, color_print, NULL };
static const RecordCodec paint_codec = { color_read, color_print, color_is_black };

static bool name_check(Str name, Error *err)
{
    return !str_starts(name, STR("-")) ||
           error_set(err, ERROR_INVALID, "must not start with a hyphen");
}

static bool wheel_check(const void *record, Error *err)
{
    const Wheel *wheel = record;
    return !wheel->is_spare || wheel->spoke_count > 0 ||
           error_set(err, ERROR_INVALID, "a spare wheel has spokes");
}

static const RecordField spoke_fields[] = {
    { "length", RECORD_INT, RECORD_INT_AT(Spoke, length), .is_required = true, .max = 100 },
    { "metal", RECORD_CHOICE, RECORD_CHARS_AT(Spoke, metal), .choices = "steel|brass" },
    { RECORD_UNKNOWN_AT(Spoke, unknown) },
    { 0 },
};

static const RecordField wheel_fields[] = {
    { "name", RECORD_TEXT, RECORD_CHARS_AT(Wheel, name), .is_required = true,
      .check_text = name_check, .help = "name of the wheel" },
    { "note", RECORD_TEXT, RECORD_STR_AT(Wheel, note), .is_plain = true, .help = "any text" },
    { "made_ms", RECORD_INT, RECORD_INT_AT(Wheel, made_ms), .help = "when it was made" },
    { "spare", RECORD_BOOL, RECORD_BOOL_AT(Wheel, is_spare), .is_required = true, .help = "x" },
    { "color", RECORD_TEXT, RECORD_CODED_AT(Wheel, color, Color, color_codec), .help = "x" },
    { "labels", RECORD_TEXT, RECORD_VALUE_AT(Wheel, labels), .shape = RECORD_MAP, .help = "x" },
    { "spokes", RECORD_OBJECT,
      RECORD_STRUCT_ARRAY_AT(Wheel, spokes, spoke_count, Spoke, spoke_fields), .help = "x" },
    { "best", RECORD_OBJECT, RECORD_STRUCT_AT(Wheel, best, Spoke, spoke_fields), .help = "x" },
    { "rim", RECORD_CHOICE, RECORD_ENUM_AT(Wheel, rim, metal), .help = "x" },
    { "size", RECORD_INT, RECORD_INT_AT(Wheel, size), .help = "x" },
    { "turns", RECORD_INT, RECORD_INT_AT(Wheel, turns), .help = "x" },
    { "balance", RECORD_INT, RECORD_INT_AT(Wheel, balance), .help = "x" },
    { "spares", RECORD_OBJECT,
      RECORD_POINTER_AT(Wheel, spares, spare_count, 2, Spoke, spoke_fields), .help = "x" },
    { RECORD_UNKNOWN_AT(Wheel, unknown) },
    { 0 },
};

static const RecordFormat wheel_format = {
    .format = "test.wheel/1",
    .what = "the record of a wheel",
    .fields = wheel_fields,
    .size = sizeof(Wheel),
    .text_max = 1000,
    .check = wheel_check,
};

#define START "{\"format\":\"test.wheel/1\",\"name\":\"front\""
#define COLOR ",\"color\":\"0a0b0c\""
#define BEST  ",\"best\":{\"length\":3}"

static Str printed(const Wheel *wheel)
{
    Buf out = buf_make_in(&arena, BUF_UNLIMITED);
    record_print(&wheel_format, wheel, &out);
    return buf_str(&out);
}

static Wheel wheel_read(const char *text)
{
    Wheel wheel;
    Error err;
    if (!record_read(&wheel_format, &arena, str_from_c(text), RECORD_STORED, &wheel, &err)) {
        fail_msg("%s", err.text);
    }
    return wheel;
}

static void a_record_survives_a_round_trip(void **state)
{
    const char *text = START ",\"note\":\"a \\\"b\\\"\",\"made_ms\":7,\"spare\":true" COLOR
                             ",\"labels\":{\"a\":\"b\"},\"spokes\":[{\"length\":1,\"metal\":"
                             "\"steel\"},{\"length\":2}]" BEST
                             ",\"rim\":\"brass\",\"size\":65535,\"turns\":4294967295,"
                             "\"balance\":-7,\"spares\":[{\"length\":8,\"new\":1}]}";
    Wheel wheel = wheel_read(text);
    assert_string_equal(wheel.name, "front");
    assert_str(wheel.note, "a \"b\"");
    assert_int_equal(wheel.made_ms, 7);
    assert_true(wheel.is_spare);
    assert_int_equal(wheel.color.blue, 12);
    assert_str(value_str(*value_get(wheel.labels, STR("a"))), "b");
    assert_int_equal(wheel.spoke_count, 2);
    assert_string_equal(wheel.spokes[0].metal, "steel");
    assert_int_equal(wheel.spokes[1].length, 2);
    assert_int_equal(wheel.best.length, 3);
    assert_int_equal(wheel.rim, METAL_BRASS);
    assert_int_equal(wheel.size, 65535);
    assert_int_equal(wheel.turns, UINT32_MAX);
    assert_int_equal(wheel.balance, -7);
    assert_int_equal(wheel.spare_count, 1);
    assert_int_equal(wheel.spares[0].length, 8);
    assert_str(printed(&wheel), text);
}

static void absent_fields_are_empty_and_not_printed(void **state)
{
    const char *text = START ",\"spare\":false,\"color\":\"000000\"" BEST "}";
    Wheel wheel = wheel_read(text);
    assert_int_equal(wheel.note.len, 0);
    assert_int_equal(wheel.labels.kind, VALUE_MAP);
    assert_int_equal(wheel.labels.map->len, 0);
    assert_int_equal(wheel.spoke_count, 0);
    assert_str(printed(&wheel), text);
    wheel = wheel_read(START ",\"spare\":false,\"note\":null,\"labels\":null" COLOR BEST "}");
    assert_int_equal(wheel.note.len, 0);
    assert_int_equal(wheel.labels.kind, VALUE_MAP);
    assert_int_equal(wheel.labels.map->len, 0);
}

static void unknown_fields_of_stored_records_are_preserved_at_every_level(void **state)
{
    const char *text =
        START ",\"spare\":false" COLOR ",\"spokes\":[{\"length\":1,\"new\":[1,{\"x\":null}]}]" BEST
              ",\"later\":{\"deep\":[true]},\"\":1.5}";
    Wheel wheel = wheel_read(text);
    assert_str(printed(&wheel), text);
}

static void errors_name_the_field(void **state)
{
    static const struct {
        const char *text;
        RecordOrigin origin;
        const char *error;
    } rows[] = {
        { "[", RECORD_STORED, "the record of a wheel: line 1, column 1: " },
        { "[]", RECORD_STORED, "the record of a wheel: must be an object" },
        { "{}", RECORD_STORED, "'format' is missing; expected 'test.wheel/1'" },
        { "{\"format\":\"test.wheel/2\"}", RECORD_STORED,
          "format 'test.wheel/2' is not supported; expected 'test.wheel/1'" },
        { "{\"format\":\"\\u001b[1m\"}", RECORD_STORED, "format '?' is not supported" },
        { START "}", RECORD_STORED, "'spare': is required" },
        { START ",\"spare\":null}", RECORD_STORED, "'spare': is required" },
        { START ",\"spare\":1}", RECORD_STORED, "'spare': must be true or false" },
        { "{\"format\":\"test.wheel/1\",\"name\":\"-x\",\"spare\":false}", RECORD_STORED,
          "'name': must not start with a hyphen" },
        { "{\"format\":\"test.wheel/1\",\"name\":\"far too long\",\"spare\":false}", RECORD_STORED,
          "'name': longer than the limit of 8 bytes" },
        { "{\"format\":\"test.wheel/1\",\"name\":\"a\\u0000b\",\"spare\":false}", RECORD_STORED,
          "'name': must not contain control characters" },
        { START ",\"spare\":false,\"note\":\"\\n\"}", RECORD_STORED,
          "'note': must not contain control characters" },
        { START ",\"spare\":false,\"color\":\"red\"}", RECORD_STORED,
          "'color': must be six hexadecimal digits" },
        { START ",\"spare\":false,\"labels\":{\"a\":1}}", RECORD_STORED,
          "'labels/a': must be a string" },
        { START ",\"spare\":false,\"spokes\":[{\"length\":1},{\"length\":101}]}", RECORD_STORED,
          "'spokes/1/length': must be from 0 to 100" },
        { START ",\"spare\":false,\"spokes\":[{\"length\":1,\"metal\":\"stel\"}]}", RECORD_STORED,
          "'spokes/0/metal': must be one of steel|brass; did you mean 'steel'?" },
        { START ",\"spare\":false,\"spokes\":[{\"length\":1},{\"length\":1},{\"length\":1},"
                "{\"length\":1}]}",
          RECORD_STORED, "'spokes': has 4 items; at most 3 are allowed" },
        { START ",\"spare\":false,\"spokes\":{}}", RECORD_STORED, "'spokes': must be a list" },
        { START ",\"spare\":false,\"rim\":\"bras\"}", RECORD_STORED,
          "'rim': must be one of steel|brass; did you mean 'brass'?" },
        { START ",\"spare\":false,\"size\":65536}", RECORD_STORED,
          "'size': must be from 0 to 65535" },
        { START ",\"spare\":false,\"turns\":-1}", RECORD_STORED,
          "'turns': must be from 0 to 4294967295" },
        { START ",\"spare\":false,\"balance\":2147483648}", RECORD_STORED,
          "'balance': must be from -2147483648 to 2147483647" },
        { START ",\"spare\":false,\"spares\":[{\"length\":1},{\"length\":1},{\"length\":1}]}",
          RECORD_STORED, "'spares': has 3 items; at most 2 are allowed" },
        { START ",\"spare\":true}", RECORD_STORED, "a spare wheel has spokes" },
        { START ",\"spare\":false,\"colour\":\"red\"}", RECORD_EXTERNAL,
          "'colour': unknown field; did you mean 'color'?" },
        { START ",\"spare\":false,\"best\":{\"length\":1,\"format\":\"x\"}}", RECORD_EXTERNAL,
          "'best/format': unknown field" },
        { START ",\"spare\":false,\"\\u001b[1m\":1}", RECORD_EXTERNAL, "'?': unknown field" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        Wheel wheel = { .made_ms = 99 };
        Error err;
        assert_false(record_read(&wheel_format, &arena, str_from_c(rows[i].text), rows[i].origin,
                                 &wheel, &err));
        if (strstr(err.text, rows[i].error) == NULL) {
            fail_msg("'%s' is not in '%s'", rows[i].error, err.text);
        }
        assert_true(str_starts(str_from_c(err.text), STR("the record of a wheel: ")));
        assert_int_equal(err.kind, ERROR_INVALID);
        assert_int_equal(wheel.made_ms, 99);
    }
}

/* Parts that a wheel lacks. */
typedef struct Frame {
    Color stripes[2];
    uint32_t stripe_count;
    Color paint;
    Spoke bar;
    const Str *names;
    uint32_t name_count;
} Frame;

static const RecordField frame_fields[] = {
    { "stripes", RECORD_TEXT,
      RECORD_CODED_ARRAY_AT(Frame, stripes, stripe_count, Color, color_codec), .help = "x" },
    { "paint", RECORD_TEXT, RECORD_CODED_AT(Frame, paint, Color, paint_codec), .help = "x" },
    { "bar", RECORD_OBJECT, RECORD_STRUCT_AT(Frame, bar, Spoke, spoke_fields), .help = "x" },
    { "names", RECORD_TEXT, RECORD_POINTER_AT(Frame, names, name_count, 2, Str, NULL),
      .check_text = name_check, .help = "x" },
    { 0 },
};

static const RecordFormat frame_format = {
    .format = "test.frame/1",
    .what = "frame.json",
    .fields = frame_fields,
    .size = sizeof(Frame),
    .text_max = 1000,
};

static bool frame_read(const char *text, Frame *out, Error *err)
{
    return record_read(&frame_format, &arena, str_from_c(text), RECORD_EXTERNAL, out, err);
}

static void lists_of_strings_and_coded_items_survive_a_round_trip(void **state)
{
    const char *text = "{\"format\":\"test.frame/1\",\"stripes\":[\"010203\",\"040506\"],"
                       "\"paint\":\"0a0b0c\",\"bar\":{\"length\":2},\"names\":[\"a\",\"b\"]}";
    Frame frame;
    Error err;
    Buf out = buf_make_in(&arena, BUF_UNLIMITED);
    assert_true(frame_read(text, &frame, &err));
    assert_int_equal(frame.stripes[1].blue, 6);
    assert_str(frame.names[1], "b");
    record_print(&frame_format, &frame, &out);
    assert_str(buf_str(&out), text);
}

static void a_struct_of_empty_fields_is_not_printed(void **state)
{
    Buf out = buf_make_in(&arena, BUF_UNLIMITED);
    record_print(&frame_format, &(Frame){ 0 }, &out);
    assert_str(buf_str(&out), "{\"format\":\"test.frame/1\"}");
}

static void files_have_a_line_for_each_field(void **state)
{
    const Str names[] = { STR("a") };
    Frame frame = { .bar = { .length = 2 }, .names = names, .name_count = 1 };
    Buf out = buf_make_in(&arena, BUF_UNLIMITED);
    record_print_file(&frame_format, &frame, &out);
    assert_str(buf_str(&out),
               "{\n  \"format\": \"test.frame/1\",\n  \"bar\": {\n    \"length\": 2\n  },\n"
               "  \"names\": [\n    \"a\"\n  ]\n}\n");
}

static void errors_in_files_name_the_line(void **state)
{
    static const struct {
        const char *text, *error;
    } rows[] = {
        { "{\n \"format\": \"test.frame/1\",\n \"nmes\": 1\n}",
          "frame.json: line 3: 'nmes': unknown field; did you mean 'names'?" },
        { "{ \"format\": \"test.frame/1\",\n \"names\": [\"a\",\n\"-b\"]\n}",
          "frame.json: line 2: 'names/1': must not start with a hyphen" },
        { "{ \"format\": \"test.frame/1\",\n \"bar\": {\n\"length\": 101}}",
          "frame.json: line 3: 'bar/length': must be from 0 to 100" },
        { "{ \"format\": \"test.frame/1\",\n \"bar\": {}}",
          "frame.json: 'bar/length': is required" },
        { "{ \"format\": \"test.frame/1\", \"nmes\": 1}", "frame.json: 'nmes': unknown field" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        Frame frame;
        Error err;
        assert_false(frame_read(rows[i].text, &frame, &err));
        if (strstr(err.text, rows[i].error) == NULL) {
            fail_msg("'%s' is not in '%s'", rows[i].error, err.text);
        }
    }
}

static void records_from_outside_can_name_their_format(void **state)
{
    Wheel wheel;
    Error err;
    assert_true(record_read(&wheel_format, &arena, STR(START ",\"spare\":false}"), RECORD_EXTERNAL,
                            &wheel, &err));
}

static void a_record_over_the_limit_is_rejected(void **state)
{
    Wheel wheel;
    Error err;
    char *text = arena_alloc(&arena, 1001);
    memset(text, ' ', 1001);
    assert_false(
        record_read(&wheel_format, &arena, str_from(text, 1001), RECORD_STORED, &wheel, &err));
    assert_int_equal(err.kind, ERROR_LIMIT);
}

static void a_schema_describes_the_fields(void **state)
{
    Buf out = buf_make_in(&arena, BUF_UNLIMITED);
    buf_put_char(&out, '{');
    fields_schema(&out, wheel_fields);
    buf_put_char(&out, '}');
    Value schema;
    Error err;
    assert_true(json_parse_text(&arena, buf_str(&out), NULL, &schema, &err));
    const Value *properties = value_get(schema, STR("properties"));
    assert_non_null(properties);
    assert_int_equal(properties->map->len, COUNT_OF(wheel_fields) - 2);
    assert_non_null(value_get(*properties, STR("spokes")));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_record_survives_a_round_trip),
        TEST(absent_fields_are_empty_and_not_printed),
        TEST(unknown_fields_of_stored_records_are_preserved_at_every_level),
        TEST(errors_name_the_field),
        TEST(lists_of_strings_and_coded_items_survive_a_round_trip),
        TEST(a_struct_of_empty_fields_is_not_printed),
        TEST(files_have_a_line_for_each_field),
        TEST(errors_in_files_name_the_line),
        TEST(records_from_outside_can_name_their_format),
        TEST(a_record_over_the_limit_is_rejected),
        TEST(a_schema_describes_the_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
