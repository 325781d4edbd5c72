#include "lang/yaml.h"

#include "base/utf8.h"
#include "lang/yaml_fixture.h"

/* Parses `text` and prints it again in the style. */
static void check_printed(const char *text, const YamlStyle *style, const char *expected)
{
    AUTO_CLEAR(Loaded) loaded;
    loaded_read(&loaded, str_from_c(text), NULL);
    assert_true(loaded.ok);
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    Error err;
    assert_true(yaml_print_all(&out, loaded.documents, style, &err));
    assert_str(buf_str(&out), expected);
}

static void blocks_are_the_default(void **state)
{
    check_printed("{a: {b: 1, c: [x, {d: e, f: g}, [1, 2], [], {}]}, h: null}", NULL,
                  "a:\n"
                  "  b: 1\n"
                  "  c:\n"
                  "    - x\n"
                  "    - d: e\n"
                  "      f: g\n"
                  "    - - 1\n"
                  "      - 2\n"
                  "    - []\n"
                  "    - {}\n"
                  "h: null\n");
    check_printed("[]", NULL, "[]\n");
    check_printed("a\n---\nb\n---\n", NULL, "a\n---\nb\n---\nnull\n");
}

static void a_style_can_match_pyyaml(void **state)
{
    static const char text[] =
        "b: {c: [{x: 1, y: [1, {z: 2}], l: [[1, 2], [3]]}]}\na: [1, 2]\ne: []";
    check_printed(text,
                  &(YamlStyle){ .flow = YAML_FLOW_LEAVES, .flush_lists = true, .sort_keys = true },
                  "a: [1, 2]\n"
                  "b:\n"
                  "  c:\n"
                  "  - l:\n"
                  "    - [1, 2]\n"
                  "    - [3]\n"
                  "    x: 1\n"
                  "    y:\n"
                  "    - 1\n"
                  "    - {z: 2}\n"
                  "e: []\n");
    check_printed(text, &(YamlStyle){ .indent = 4, .flush_lists = true, .sort_keys = true },
                  "a:\n"
                  "- 1\n"
                  "- 2\n"
                  "b:\n"
                  "    c:\n"
                  "    -   l:\n"
                  "        -   - 1\n"
                  "            - 2\n"
                  "        -   - 3\n"
                  "        x: 1\n"
                  "        y:\n"
                  "        - 1\n"
                  "        -   z: 2\n"
                  "e: []\n");
    check_printed("- a: [1, 'b, c', '?', ':x', '-']\n  d: e", &(YamlStyle){ .flow = YAML_FLOW_ALL },
                  "[{a: [1, 'b, c', '?', ':x', '-'], d: e}]\n");
}

static void long_lines_are_broken_at_the_width(void **state)
{
    const YamlStyle style = { .width = 20, .flow = YAML_FLOW_LEAVES };
    check_printed("a: [one, two, three, four, five, six]\n"
                  "b: the quick brown fox jumps over the lazy dog\n"
                  "c: '# the quick brown fox jumps over  it'\n"
                  "d: {}\n",
                  &style,
                  "a: [one, two, three, four,\n"
                  "  five, six]\n"
                  "b: the quick brown fox\n"
                  "  jumps over the lazy\n"
                  "  dog\n"
                  "c: '# the quick brown\n"
                  "  fox jumps over  it'\n"
                  "d: {}\n");
}

static void strings_are_quoted_only_when_needed(void **state)
{
    const struct {
        const char *text;
        const char *printed;
        const char *in_brackets; /* NULL: the same */
    } rows[] = {
        { "plain", "plain", NULL },
        { "two words", "two words", NULL },
        { "", "''", NULL },
        { "null", "'null'", NULL },
        { "~", "'~'", NULL },
        { "True", "'True'", NULL },
        { "tRue", "tRue", NULL },
        { "12", "'12'", NULL },
        { "-1.5", "'-1.5'", NULL },
        { "1e3", "'1e3'", NULL },
        { "0x1f", "'0x1f'", NULL },
        { "0o17", "'0o17'", NULL },
        { ".inf", "'.inf'", NULL },
        { ".NaN", "'.NaN'", NULL },
        { "yes", "'yes'", NULL },
        { "Off", "'Off'", NULL },
        { "y", "y", NULL },
        { "0644", "'0644'", NULL },
        { "1:30", "'1:30'", NULL },
        { "12:30:45.5", "'12:30:45.5'", NULL },
        { "1_000", "'1_000'", NULL },
        { "0b11", "'0b11'", NULL },
        { "-0x1f", "'-0x1f'", NULL },
        { "2001-02-03", "'2001-02-03'", NULL },
        { "2001-02-03T04:05:06Z", "'2001-02-03T04:05:06Z'", NULL },
        { "10.0.0.1", "10.0.0.1", NULL },
        { "1.2.3-rc1", "1.2.3-rc1", NULL },
        { "2001-02-03-04", "2001-02-03-04", NULL },
        { "<<", "'<<'", NULL },
        { "=", "'='", NULL },
        { "a: b", "'a: b'", NULL },
        { "a:", "'a:'", NULL },
        { "a:b", "a:b", NULL },
        { "http://x/y#z", "http://x/y#z", NULL },
        { "a #b", "'a #b'", NULL },
        { "#a", "'#a'", NULL },
        { "- a", "'- a'", NULL },
        { "-", "'-'", NULL },
        { "-a", "-a", NULL },
        { "--- a", "'--- a'", NULL },
        { "...", "'...'", NULL },
        { "?a", "?a", "'?a'" },
        { ":a", ":a", "':a'" },
        { "a:?", "a:?", "'a:?'" },
        { "a, b", "a, b", "'a, b'" },
        { "a[0]", "a[0]", "'a[0]'" },
        { "[a]", "'[a]'", NULL },
        { "{{ x }}", "'{{ x }}'", NULL },
        { "&a", "'&a'", NULL },
        { "*a", "'*a'", NULL },
        { "!a", "'!a'", NULL },
        { "|", "'|'", NULL },
        { ">", "'>'", NULL },
        { "%a", "'%a'", NULL },
        { "@a", "'@a'", NULL },
        { "`a", "'`a'", NULL },
        { "'a", "'''a'", NULL },
        { "it's", "it's", NULL },
        { "\"a\"", "'\"a\"'", NULL },
        { " a", "' a'", NULL },
        { "a ", "'a '", NULL },
        { "C:\\x", "C:\\x", NULL },
        { "é☺😀", "é☺😀", NULL },
        { "a\tb", "\"a\\tb\"", NULL },
        { "\x1b[0m\x7f", "\"\\e[0m\\x7F\"", NULL },
        { "\xc2\x85\xe2\x80\xa8\xef\xbb\xbf", "\"\\N\\L\\uFEFF\"", NULL },
        { "\\\"\n ", "\"\\\\\\\"\\n \"", NULL },
        { "\xff", "\"\xef\xbf\xbd\"", NULL },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
        AUTO_CLEAR(Buf) flow = buf_make(BUF_UNLIMITED);
        Value v = value_string(str_from_c(rows[i].text));
        List list = { .items = &v, .len = 1 };
        Error err;
        assert_true(yaml_print(&out, v, NULL, &err));
        assert_true(
            yaml_print(&flow, value_list(&list), &(YamlStyle){ .flow = YAML_FLOW_ALL }, &err));
        const char *inner = rows[i].in_brackets == NULL ? rows[i].printed : rows[i].in_brackets;
        char expected[64];
        snprintf(expected, sizeof expected, "%s\n", rows[i].printed);
        assert_str(buf_str(&out), expected);
        snprintf(expected, sizeof expected, "[%s]\n", inner);
        assert_str(buf_str(&flow), expected);
    }
}

static void multiple_lines_become_a_block(void **state)
{
    const struct {
        const char *text;
        const char *printed;
    } rows[] = {
        { "a\nb\n", "k: |\n  a\n  b\n" },
        { "a\nb", "k: |-\n  a\n  b\n" },
        { "a\n\n", "k: |+\n  a\n\n" },
        { "a\n\n  b\n", "k: |\n  a\n\n    b\n" },
        { "# a: b\n- c\n", "k: |\n  # a: b\n  - c\n" },
        { "\na", "k: \"\\na\"\n" },
        { " a\n", "k: \" a\\n\"\n" },
        { "\n", "k: \"\\n\"\n" },
        { "a\n ", "k: \"a\\n \"\n" },
        { "a\tb\n", "k: \"a\\tb\\n\"\n" },
        { "a\r\nb", "k: \"a\\r\\nb\"\n" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
        MapEntry entry = { value_string(STR("k")), value_string(str_from_c(rows[i].text)) };
        Map map = { .entries = &entry, .len = 1 };
        Error err;
        assert_true(yaml_print(&out, value_map(&map), NULL, &err));
        assert_str(buf_str(&out), rows[i].printed);
    }
}

static void numbers_are_preserved(void **state)
{
    check_printed("[1, -5, 1.0, 1e16, 1e-7, 0.1, .inf, -.inf, .nan, -0.0, true, null]",
                  &(YamlStyle){ .flow = YAML_FLOW_ALL },
                  "[1, -5, 1.0, 1.0e+16, 1.0e-07, 0.1, .inf, -.inf, .nan, -0.0, true, null]\n");
}

static void keys_of_every_kind_are_printed_and_sorted(void **state)
{
    check_printed("{b: 1, [1, x]: 2, true: 3, 10: 4, 2.5: 5, null: 6, a: 7, '2': 8, '': 9}",
                  &(YamlStyle){ .sort_keys = true },
                  "null: 6\ntrue: 3\n2.5: 5\n10: 4\n'': 9\n'2': 8\na: 7\nb: 1\n[1, x]: 2\n");
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    buf_put_c(&text, "? ");
    buf_put_repeat(&text, 'k', 1500);
    buf_put_c(&text, "\n: - 1\n");
    AUTO_CLEAR(Buf) expected = buf_make(BUF_UNLIMITED);
    buf_put(&expected, str_slice(buf_str(&text), 0, 1502));
    buf_put_c(&expected, "\n:\n  - 1\n");
    check_printed(buf_c(&text), NULL, buf_c(&expected));
}

static void values_without_a_yaml_form_are_errors(void **state)
{
    Error err;
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    Value missing = value_missing();
    List list = { .items = &missing, .len = 1 };
    assert_false(yaml_print(&out, value_list(&list), NULL, &err));
    assert_int_equal(err.kind, ERROR_INVALID);

    List loop = { .len = 1 };
    Value self = value_list(&loop);
    loop.items = &self;
    assert_false(yaml_print(&out, self, NULL, &err));
    assert_int_equal(err.kind, ERROR_LIMIT);
    assert_false(yaml_print(&out, self, &(YamlStyle){ .flow = YAML_FLOW_ALL }, &err));
    assert_int_equal(err.kind, ERROR_LIMIT);

    AUTO_CLEAR(Buf) small = buf_make(8);
    assert_false(yaml_print(&small, value_string(STR("longer than 8")), NULL, &err));
    assert_int_equal(err.kind, ERROR_LIMIT);
}

static bool replace_missing(void *context, Value v, Value *out, Error *err)
{
    *out = value_int(*(int *)context);
    return true;
}

static void a_caller_can_replace_unsupported_values(void **state)
{
    int number = 7;
    Value missing = value_missing();
    List list = { .items = &missing, .len = 1 };
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    Error err;
    YamlStyle style = { .replace = replace_missing, .context = &number };
    assert_true(yaml_print(&out, value_list(&list), &style, &err));
    assert_true(yaml_print(&out, missing, &style, &err));
    assert_str(buf_str(&out), "- 7\n7\n");
}

/* --- Random values print and read back ----------------------------------------------------- */

typedef struct Random {
    uint64_t state;
    Arena arena;
} Random;

static uint32_t below(Random *random, uint32_t limit)
{
    random->state ^= random->state << 13;
    random->state ^= random->state >> 7;
    random->state ^= random->state << 17;
    return (uint32_t)((random->state >> 32) % limit);
}

/* Strings made of fragments that confuse parsers. */
static Value random_string(Random *random)
{
    static const char *const chunks[] = {
        " ",  "  ",   "\n",  "\n\n",  "\t",    ":",    ": ",  " #",  "#",        "-",
        "- ", "?",    "? ",  ",",     "[",     "]",    "{",   "}",   "&",        "*",
        "!",  "|",    ">",   "'",     "\"",    "%",    "@",   "`",   "\\",       "<<",
        "=",  "null", "yes", "true",  "0",     "12",   ".",   "e3",  "_",        "0x",
        "a",  "word", "é",   "☺",     "\x01",  "\r",   "---", "...", "\xc2\x85", "\xe2\x80\xa8",
        "~",  ".inf", "+",   "2001-", "01-02", "{{ x", " }}", "$",   "\x7f",     "\xef\xbb\xbf",
    };
    Buf buf = buf_make(BUF_UNLIMITED);
    for (uint32_t count = below(random, 6); count > 0; count--) {
        buf_put_c(&buf, chunks[below(random, COUNT_OF(chunks))]);
    }
    if (below(random, 200) == 0) {
        buf_put_repeat(&buf, 'x', 1100);
    }
    Value v = value_string(arena_copy(&random->arena, buf_str(&buf)));
    buf_clear(&buf);
    return v;
}

static Value random_scalar(Random *random)
{
    static const double floats[] = { 0.0, -0.0, 1.0, 1e16, 1e-9, 0.1, INFINITY, -INFINITY };
    switch (below(random, 8)) {
    case 0: return value_null();
    case 1: return value_bool(below(random, 2) == 1);
    case 2: return value_int((int64_t)below(random, 1000) - 500);
    case 3: return value_float(floats[below(random, COUNT_OF(floats))]);
    default: return random_string(random);
    }
}

static Value random_value(Random *random, unsigned depth)
{
    uint32_t choice = depth == 0 ? 9 : below(random, 10);
    if (choice > 5) {
        return random_scalar(random);
    }
    uint32_t count = below(random, choice == 0 ? 12 : 4);
    if (choice < 3) {
        List *list = list_new(&random->arena, 0);
        for (uint32_t i = 0; i < count; i++) {
            list_push(&random->arena, list, random_value(random, depth - 1));
        }
        return value_list(list);
    }
    Map *map = map_new(&random->arena, 0);
    for (uint32_t i = 0; i < count; i++) {
        Value key = random_scalar(random);
        if (below(random, 8) == 0) {
            List *items = list_new(&random->arena, 0);
            list_push(&random->arena, items, random_scalar(random));
            list_push(&random->arena, items, random_scalar(random));
            key = value_tuple(items);
        }
        map_set(&random->arena, map, key, random_value(random, depth - 1));
    }
    return value_map(map);
}

static void random_values_read_back_the_same(void **state)
{
    Random random = { .state = 0x2545f4914f6cdd1d };
    arena_init(&random.arena, ARENA_UNLIMITED);
    for (unsigned i = 0; i < 20000; i++) {
        uint64_t seed = random.state;
        Value v = random_value(&random, 4);
        YamlStyle style = {
            .indent = (uint8_t)(2 + below(&random, 4)),
            .width = below(&random, 3) == 0 ? 30 : 0,
            .flow = (YamlFlow)below(&random, 3),
            .flush_lists = below(&random, 2) == 0,
            .ascii = below(&random, 4) == 0,
        };
        AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
        Error err;
        assert_true(yaml_print(&out, v, &style, &err));
        AUTO_CLEAR(Loaded) loaded;
        loaded_read(&loaded, buf_str(&out), NULL);
        if (!loaded.ok || loaded.documents->len != 1 ||
            !same_value(v, loaded.documents->items[0])) {
            AUTO_CLEAR(Buf) reported = buf_make(BUF_UNLIMITED);
            problems_print(&loaded.problems, (ProblemStyle){ 0 }, &reported);
            buf_put_c(&reported, "wanted ");
            dump_value(v, &reported);
            fail_msg("seed %llx:\n%s\n%s", (unsigned long long)seed, buf_c(&out), buf_c(&reported));
        }
        arena_clear(&random.arena);
    }
    arena_clear(&random.arena);
}

static void secrets_keep_their_tag_on_request(void **state)
{
    static const char text[] = "!secret k: 1\n"
                               "p: !secret x\n"
                               "m: !secret\n"
                               "  a: 1\n"
                               "  b:\n"
                               "    - 2\n"
                               "l:\n"
                               "  - !secret\n"
                               "    - 1\n"
                               "  - !secret {}\n"
                               "  - !secret |\n"
                               "    a\n"
                               "    b\n"
                               "  - plain\n"
                               "---\n"
                               "!secret\n"
                               "- 1\n"
                               "---\n"
                               "!secret null\n";
    check_printed(text, &(YamlStyle){ .tag_secrets = true }, text);
    check_printed(text, &(YamlStyle){ .tag_secrets = true, .flow = YAML_FLOW_ALL },
                  "{!secret k: 1, p: !secret x, m: !secret {a: 1, b: [2]}, "
                  "l: [!secret [1], !secret {}, !secret \"a\\nb\\n\", plain]}\n"
                  "---\n!secret [1]\n---\n!secret null\n");
    check_printed("a: !secret b\n", NULL, "a: b\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_the_default),
        cmocka_unit_test(a_style_can_match_pyyaml),
        cmocka_unit_test(long_lines_are_broken_at_the_width),
        cmocka_unit_test(strings_are_quoted_only_when_needed),
        cmocka_unit_test(multiple_lines_become_a_block),
        cmocka_unit_test(numbers_are_preserved),
        cmocka_unit_test(keys_of_every_kind_are_printed_and_sorted),
        cmocka_unit_test(secrets_keep_their_tag_on_request),
        cmocka_unit_test(values_without_a_yaml_form_are_errors),
        cmocka_unit_test(a_caller_can_replace_unsupported_values),
        cmocka_unit_test(random_values_read_back_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
