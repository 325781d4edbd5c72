#include "lang/yaml.h"

#include <stdlib.h>

#include "lang/yaml_fixture.h"

typedef struct Row {
    const char *text;
    const char *value; /* documents one after another, separated by " | " */
} Row;

static void check_rows(const Row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        AUTO_CLEAR(Loaded) loaded;
        loaded_read(&loaded, str_from_c(rows[i].text), NULL);
        AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
        for (uint32_t j = 0; j < loaded.documents->len; j++) {
            buf_put_c(&out, j == 0 ? "" : " | ");
            dump_value(loaded.documents->items[j], &out);
        }
        if (!loaded.ok || !str_eq_c(buf_str(&out), rows[i].value)) {
            fail_msg("%s\ngives %s (%s) instead of %s", rows[i].text, buf_c(&out),
                     loaded.ok ? "ok" : "failed", rows[i].value);
        }
    }
}

static void plain_scalars_follow_the_core_schema(void **state)
{
    static const Row rows[] = {
        { "[null, Null, NULL, ~, '', nULL, NUll]", "[null, null, null, null, '', 'nULL', 'NUll']" },
        { "[true, True, TRUE, tRUE, TRue]", "[true, true, true, 'tRUE', 'TRue']" },
        { "[false, False, FALSE, fALSE, falsee]", "[false, false, false, 'fALSE', 'falsee']" },
        { "[yes, no, on, off, y, n, Yes, NO]",
          "['yes', 'no', 'on', 'off', 'y', 'n', 'Yes', 'NO']" },
        { "[0, 12, -7, +5, 0644, 00, -0]", "[0, 12, -7, 5, 644, 0, 0]" },
        { "[0o17, 0x1F, 0xff, 0o8, 0xg, 0o, 0x, -0x1, 0x-1, 0b1]",
          "[15, 31, 255, '0o8', '0xg', '0o', '0x', '-0x1', '0x-1', '0b1']" },
        { "[9223372036854775807, -9223372036854775808]",
          "[9223372036854775807, -9223372036854775808]" },
        { "[1.5, -0.25, .5, 1., 1e3, 1E+2, 1.5e-3, +.5]",
          "[1.5, -0.25, 0.5, 1.0, 1000.0, 100.0, 0.0015, 0.5]" },
        { "[.inf, -.inf, +.INF, .Inf, .nan, .NaN, .NAN]", "[inf, -inf, inf, inf, nan, nan, nan]" },
        { "[1_000, 1:30, 12:30:00, 2001-01-01, 1 2]",
          "['1_000', '1:30', '12:30:00', '2001-01-01', '1 2']" },
        { "- -.nan\n- .iNF\n- inf\n- .\n- -\n- +\n- e3\n- 1e\n- 1e+\n- .e3\n- 1.2.3",
          "['-.nan', '.iNF', 'inf', '.', [null], '+', 'e3', '1e', '1e+', '.e3', '1.2.3']" },
    };
    check_rows(rows, COUNT_OF(rows));
}

static void quoted_and_block_scalars_are_strings(void **state)
{
    static const Row rows[] = {
        { "['1', \"true\", 'it''s', \"a\\tb\\x41\\u263a\"]", "['1', 'true', 'it's', 'a\tbA☺']" },
        { "a: |\n  one\n  two\n", "{'a': 'one\ntwo\n'}" },
        { "a: |-\n  12\nb: >+\n  x\n  y\n\n", "{'a': '12', 'b': 'x y\n\n'}" },
        { "a: |2\n    x\n", "{'a': '  x\n'}" },
        { "a: 'one\n  two\n\n  three'\n", "{'a': 'one two\nthree'}" },
        { "a: one\n  two\n", "{'a': 'one two'}" },
    };
    check_rows(rows, COUNT_OF(rows));
}

static void tags_determine_the_type(void **state)
{
    static const Row rows[] = {
        { "[!!str 12, !!str, ! 12, !!int '12', !!float 3, !!bool 'true', !!null '']",
          "['12', '', '12', 12, 3.0, true, null]" },
        { "[!!float 123456789012345678901234567890]", "[1.2345678901234568e+29]" },
        { "[!local 12, !local '12', !local {a: 1}, !e/x [1]]", "[12, '12', {'a': 1}, [1]]" },
        { "!!set {a, b}", "{'a': null, 'b': null}" },
        { "!!omap [a: 1]", "[{'a': 1}]" },
        { "!!binary aGVsbG8=", "'aGVsbG8='" },
        { "%TAG !y! tag:yaml.org,2002:\n---\n!y!str 1", "'1'" },
        { "a: !secret x\nb: !secret [1, {c: d}]\nc: !secret\nd: 1",
          "{'a': !'x', 'b': ![!1, !{!'c': !'d'}], 'c': !null, 'd': 1}" },
    };
    check_rows(rows, COUNT_OF(rows));
}

static void anchors_aliases_and_merge_keys_are_resolved(void **state)
{
    static const Row rows[] = {
        { "a: &x 1\nb: *x\nc: &x 2\nd: *x", "{'a': 1, 'b': 1, 'c': 2, 'd': 2}" },
        { "a: &x [1]\nb: [*x, *x]", "{'a': [1], 'b': [[1], [1]]}" },
        { "&k a: b\nc: *k", "{'a': 'b', 'c': 'a'}" },
        { "- &m\n  &k a: b\n- *m\n- *k", "[{'a': 'b'}, {'a': 'b'}, 'a']" },
        { "- &m !!map # c\n  !!str &k 1: b\n- *m\n- *k", "[{'1': 'b'}, {'1': 'b'}, '1']" },
        { "- !!map &m\n  !!str 1: b\n- *m", "[{'1': 'b'}, {'1': 'b'}]" },
        { "b: &b {x: 1, y: 2}\nc:\n  z: 4\n  <<: *b\n  y: 3",
          "{'b': {'x': 1, 'y': 2}, 'c': {'x': 1, 'y': 3, 'z': 4}}" },
        { "- &a {x: 1, y: 1}\n- &b {y: 2, z: 2}\n- <<: [*a, *b]\n  w: 0",
          "[{'x': 1, 'y': 1}, {'y': 2, 'z': 2}, {'x': 1, 'y': 1, 'z': 2, 'w': 0}]" },
        { "{<<: {a: 1}, b: 2}", "{'a': 1, 'b': 2}" },
        { "{'<<': 1, <: 2, <<<: 3}", "{'<<': 1, '<': 2, '<<<': 3}" },
        { "- &a !secret {x: 1}\n- {<<: *a}", "[!{!'x': !1}, {!'x': !1}]" },
        { "- &a 1\n- !secret [*a]", "[1, ![!1]]" },
    };
    check_rows(rows, COUNT_OF(rows));
}

static void keys_are_scalars_or_tuples(void **state)
{
    static const Row rows[] = {
        { "{2: a, 2.5: b, true: c, null: d, '1': e}",
          "{2: 'a', 2.5: 'b', true: 'c', null: 'd', '1': 'e'}" },
        { "8080: web", "{8080: 'web'}" },
        { "[1, [a, b]]: x\n[]: y", "{(1, ('a', 'b')): 'x', (): 'y'}" },
        { "a: &l [1]\n*l : x", "{'a': [1], (1): 'x'}" },
        { "? a\n? b\n: c", "{'a': null, 'b': 'c'}" },
    };
    check_rows(rows, COUNT_OF(rows));
}

static void streams_hold_any_number_of_documents(void **state)
{
    static const Row rows[] = {
        { "", "" },
        { "# nothing\n", "" },
        { "---\n", "null" },
        { "a\n---\nb\n...\n---\nc", "'a' | 'b' | 'c'" },
        { "\xef\xbb\xbf"
          "a: b",
          "{'a': 'b'}" },
        { "a: &x 1\n---\nb: &x 2\nc: *x\n", "{'a': 1} | {'b': 2, 'c': 2}" },
    };
    check_rows(rows, COUNT_OF(rows));
}

static Str repeated(Buf *buf, const char *before, const char *text, unsigned count,
                    const char *after)
{
    buf_put_c(buf, before);
    for (unsigned i = 0; i < count; i++) {
        buf_put_c(buf, text);
    }
    buf_put_c(buf, after);
    return buf_str(buf);
}

/* libyaml alone rejects all of these or reads them differently. */
static void texts_that_trip_libyaml_are_loaded(void **state)
{
    static const Row rows[] = {
        /* directives and markers */
        { "%HELLO world\n%YAML 1.9\n---\na: 1\n", "{'a': 1}" },
        { "a\n...\n%HELLO\n---\nb\n", "'a' | 'b'" },
        { "...\n# nothing\n", "" },
        { "a: 1\n...\n# between\n...\nb: 2\n...\nc: 3\n", "{'a': 1} | {'b': 2} | {'c': 3}" },
        /* tabs as separators */
        { "-\ta\n-\t\tb # c\n", "['a', 'b']" },
        { "a:\n  \tb\n\t\nc: d\n\t# e\nf: g\n", "{'a': 'b', 'c': 'd', 'f': 'g'}" },
        { "\t{a: 1}\n", "{'a': 1}" },
        { "?\ta\n:\tb\n", "{'a': 'b'}" },
        /* block scalars */
        { "a: |\n  \tx\n   y\nb: 1\n", "{'a': '\tx\n y\n', 'b': 1}" },
        { "a: >-\n \tx\n y\n z\n\n w\nb: ü\n", "{'a': '\tx\ny z\nw', 'b': 'ü'}" },
        { "--- |\nx\n y\n\n# ü\n--- >\na\nb\n\nc\n", "'x\n y\n\n# ü\n' | 'a b\nc\n'" },
        { "--- |+\nx\n\n...\n--- |-\n%x\n", "'x\n\n' | '%x'" },
        { "a: |+\n  x\n ", "{'a': 'x\n\n'}" },
        { "a: |\n  x\n   ", "{'a': 'x\n \n'}" },
        /* flow maps */
        { "{a\n: b, \"c d\" # why\n :e}", "{'a': 'b', 'c d': 'e'}" },
        { "{one\n  two: 1, 'three\n\n four': 2}", "{'one two': 1, 'three\nfour': 2}" },
        { "[:a, ::b, ?c, {?d: :e, \"f\"::g}]", "[':a', '::b', '?c', {'?d': ':e', 'f': ':g'}]" },
        { "[:ü\n  x, ?y\n z]", "[':ü x', '?y z']" },
        /* anchors */
        { "- &a:b 1\n- &é [2]\n- *a:b\n- *é\n- &c: 3\n- *c:\n", "[1, [2], 1, [2], 3, 3]" },
        { "a: &x 1\nb:\n  *x: y\n", "{'a': 1, 'b': {1: 'y'}}" },
        { "é: 'ü'\n-x: [:ß, ö]\nz: 'ä'\n", "{'é': 'ü', '-x': [':ß', 'ö'], 'z': 'ä'}" },
    };
    check_rows(rows, COUNT_OF(rows));
}

static void only_line_feeds_and_returns_break_lines(void **state)
{
    static const Row rows[] = {
        { "# a\xc2\x85x: 1\nb: 2 # c\xe2\x80\xa8y: 3\n", "{'b': 2}" },
        { "a: x\xe2\x80\xa9y\nb: 'p\xc2\x85q'\nc: \"\\N\xe2\x80\xa8\"\n",
          "{'a': 'x\xe2\x80\xa9y', 'b': 'p\xc2\x85q', 'c': '\xc2\x85\xe2\x80\xa8'}" },
        { "a: |\n  x\xe2\x80\xa8\n  \xee\x80\x80\n", "{'a': 'x\xe2\x80\xa8\n\xee\x80\x80\n'}" },
        { "\xef\xbb\xbf[:\xc2\x85, 'b\n  c\xe2\x80\xa8']", "[':\xc2\x85', 'b c\xe2\x80\xa8']" },
        { "a: 1\rb: 2\r\nc: 3\n", "{'a': 1, 'b': 2, 'c': 3}" },
    };
    check_rows(rows, COUNT_OF(rows));
}

static void repaired_texts_keep_their_positions(void **state)
{
    AUTO_CLEAR(Loaded) loaded;
    loaded_read(&loaded, STR("a: [:ü, 'é']\nb: |\n  \tö\nc: &x:y ☺\nd: {k\n  l: m}\n"), NULL);
    assert_true(loaded.ok);
    const Map *map = loaded.documents->items[0].map;
    static const char *const originals[] = { "[:ü, 'é']", "|\n  \tö\n", "☺", "{k\n  l: m}" };
    for (uint32_t i = 0; i < COUNT_OF(originals); i++) {
        assert_str(value_original(&loaded.sources, map->entries[i].value), originals[i]);
    }
}

static void repairs_are_bounded(void **state)
{
    AUTO_CLEAR(Buf) buf = buf_make(BUF_UNLIMITED);
    AUTO_CLEAR(Loaded) many;
    loaded_read(&many, repeated(&buf, "", "-\ta\n", 1000, ""), NULL);
    assert_false(many.ok);
    assert_int_equal(many.problems.count, 1);
    assert_str(many.problems.items[0].code, "E0107");
    buf_reset(&buf);
    AUTO_CLEAR(Loaded) large;
    loaded_read(&large, repeated(&buf, "", "- some more text\n", 300000, "-\ta\n"), NULL);
    assert_false(large.ok);
    assert_str(large.problems.items[0].code, "E0107");
    assert_int_equal(large.problems.items[0].line, 300001);
}

static void a_single_document_is_loaded(void **state)
{
    const struct {
        const char *text;
        bool ok;
        ValueKind kind;
    } rows[] = {
        { "", true, VALUE_NULL },
        { "[1]", true, VALUE_LIST },
        { "a: 1\n---\nb: 2\n", false, VALUE_MAP },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_CLEAR(Loaded) loaded;
        loaded_read(&loaded, STR(""), NULL);
        uint16_t source = sources_add(&loaded.sources, STR("one.yaml"), str_from_c(rows[i].text));
        Value v;
        assert_int_equal(
            yaml_load(&loaded.arena, &loaded.sources, source, NULL, &v, &loaded.problems),
            rows[i].ok);
        assert_int_equal(v.kind, rows[i].kind);
        assert_int_equal(v.source, source);
        if (!rows[i].ok) {
            assert_str(loaded.problems.items[0].code, "E0116");
            assert_int_equal(loaded.problems.items[0].line, 2);
        }
    }
}

/* The value found by walking down: a number is a list index, anything else a key. */
static Value at_path(Value v, const char *path)
{
    Str rest = str_from_c(path), part;
    while (str_split_next(&rest, '/', &part)) {
        int64_t index;
        if (v.kind == VALUE_LIST && str_to_i64(part, &index)) {
            v = v.list->items[index];
        } else {
            const Value *found = value_get(v, part);
            assert_non_null(found);
            v = *found;
        }
    }
    return v;
}

static void every_value_has_a_position_and_spelling(void **state)
{
    static const char text[] = "# é ü ☺\n"
                               "mode: 0644\n"
                               "ü: &anchor !!str 'quöted' # c\n"
                               "list:\n"
                               "  - ☺x\n"
                               "  - {k: [1, 2], e: }\n"
                               "block: |\n"
                               "  ö\n"
                               "\n"
                               "ref: *anchor\n"
                               "map: &m\n"
                               "  # why\n"
                               "  in: yes\n"
                               "empty:\n";
    const struct {
        const char *path;
        const char *original;
        uint32_t line;
        uint32_t column;
    } rows[] = {
        { "mode", "0644", 2, 7 },
        { "ü", "'quöted'", 3, 18 },
        { "list", "- ☺x\n  - {k: [1, 2], e: }", 5, 3 },
        { "list/0", "☺x", 5, 5 },
        { "list/1", "{k: [1, 2], e: }", 6, 5 },
        { "list/1/k", "[1, 2]", 6, 9 },
        { "list/1/k/1", "2", 6, 13 },
        { "block", "|\n  ö\n\n", 7, 8 },
        { "ref", "'quöted'", 3, 18 },
        { "map", "in: yes", 13, 3 },
        { "map/in", "yes", 13, 7 },
        { "empty", "", 14, 7 },
    };
    AUTO_CLEAR(Loaded) loaded;
    loaded_read(&loaded, str_from_c(text), NULL);
    assert_true(loaded.ok);
    const Source *source = sources_get(&loaded.sources, loaded.source);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        Value v = at_path(loaded.documents->items[0], rows[i].path);
        assert_str(value_original(&loaded.sources, v), rows[i].original);
        LineColumn place = source_location(source, v.start);
        if (place.line != rows[i].line || place.column != rows[i].column) {
            fail_msg("%s is at %u:%u", rows[i].path, place.line, place.column);
        }
    }
}

static void quoting_is_remembered(void **state)
{
    AUTO_CLEAR(Loaded) block;
    loaded_read(&block, STR("- |\n  a\n- >\n  b\n- c\n"), NULL);
    assert_true(block.ok);
    const Value *items = block.documents->items[0].list->items;
    assert_true(items[0].flags & VALUE_QUOTED);
    assert_true(items[1].flags & VALUE_QUOTED);
    assert_false(items[2].flags & VALUE_QUOTED);
    AUTO_CLEAR(Loaded) flow;
    loaded_read(&flow, STR("[a, 'b', \"c\"]"), NULL);
    items = flow.documents->items[0].list->items;
    assert_false(items[0].flags & VALUE_QUOTED);
    assert_true(items[1].flags & VALUE_QUOTED);
    assert_true(items[2].flags & VALUE_QUOTED);
}

static void large_maps_find_their_keys(void **state)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    for (int i = 0; i < 1000; i++) {
        buf_put_format(&text, "key%d: %d\n", i, i);
    }
    AUTO_CLEAR(Loaded) loaded;
    loaded_read(&loaded, buf_str(&text), NULL);
    assert_true(loaded.ok);
    Value map = loaded.documents->items[0];
    assert_int_equal(map.map->len, 1000);
    for (int i = 0; i < 1000; i++) {
        char key[16];
        snprintf(key, sizeof key, "key%d", i);
        assert_int_equal(value_get(map, str_from_c(key))->integer, i);
    }
}

static void limits_cause_a_clear_error(void **state)
{
    const struct {
        const char *before;
        const char *text;
        unsigned count;
        const char *after;
        bool ok;
    } rows[] = {
        { "", "[", 64, "", false }, /* never closed, but that is not the limit */
        { "", "[", 100000, "", false },
        { "", "[\n", 100000, "", false },
        { "", "{a: ", 100000, "", false },
        { "", "- ", 100000, "", false },
        { "", "? ", 100000, "", false },
        { "a: &a x\nb: [", "*a, ", 1000000, "]", false },
        { "a: &a x\nb:\n", "- *a\n", 99999, "", true },
        { "", "%TAG !a! x\n", 100000, "--- a", false },
        { "a0: &a0 [x, x]\n", "", 0,
          "a1: &a1 [*a0,*a0,*a0,*a0,*a0,*a0,*a0,*a0,*a0,*a0]\n"
          "a2: &a2 [*a1,*a1,*a1,*a1,*a1,*a1,*a1,*a1,*a1,*a1]\n"
          "a3: &a3 [*a2,*a2,*a2,*a2,*a2,*a2,*a2,*a2,*a2,*a2]\n"
          "a4: &a4 [*a3,*a3,*a3,*a3,*a3,*a3,*a3,*a3,*a3,*a3]\n"
          "a5: &a5 [*a4,*a4,*a4,*a4,*a4,*a4,*a4,*a4,*a4,*a4]\n"
          "a6: &a6 [*a5,*a5,*a5,*a5,*a5,*a5,*a5,*a5,*a5,*a5]\n",
          false },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_CLEAR(Buf) buf = buf_make(BUF_UNLIMITED);
        Str text = repeated(&buf, rows[i].before, rows[i].text, rows[i].count, rows[i].after);
        AUTO_CLEAR(Loaded) loaded;
        loaded_read(&loaded, text, NULL);
        assert_int_equal(loaded.ok, rows[i].ok);
        if (!rows[i].ok) {
            assert_int_equal(loaded.problems.count, 1);
            assert_str(loaded.problems.items[0].code, i == 0 ? "E0110" : "E0105");
        }
    }
}

static void each_limit_holds_exactly(void **state)
{
    const YamlOptions base = yaml_options_default;
    YamlOptions depth = base, nodes = base, size = base, scalar = base, expanded = base;
    depth.limits.depth = 2;
    nodes.limits.nodes = 4;
    size.limits.size = 5;
    scalar.limits.scalar = 3;
    expanded.limits.expanded = 6;
    const struct {
        const YamlOptions *options;
        const char *good;
        const char *bad;
    } rows[] = {
        { &depth, "[[1]]", "[[[1]]]" },
        { &depth, "- &a [1]\n- *a", "- &a [1]\n- [*a]" },
        { &nodes, "[1, 2, 3]", "[1, 2, 3, 4]" },
        { &size, "abcde", "abcdef" },
        { &scalar, "[abc]", "[abcd]" },
        { &expanded, "- &a [1, 2]\n- *a\n- *a", "- &a [1, 2]\n- *a\n- *a\n- *a" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_CLEAR(Loaded) good;
        loaded_read(&good, str_from_c(rows[i].good), rows[i].options);
        assert_true(good.ok);
        AUTO_CLEAR(Loaded) bad;
        loaded_read(&bad, str_from_c(rows[i].bad), rows[i].options);
        assert_false(bad.ok);
        assert_str(bad.problems.items[0].code, "E0105");
    }
}

static void the_arena_budget_limits_a_load(void **state)
{
    AUTO_CLEAR(Buf) buf = buf_make(BUF_UNLIMITED);
    Str text = repeated(&buf, "", "- some text\n", 100000, "");
    Arena arena;
    arena_init(&arena, 1 << 20);
    Sources sources;
    sources_init(&sources, &arena);
    Problems problems;
    problems_init(&problems, &arena);
    Value v;
    assert_false(
        yaml_load(&arena, &sources, sources_add(&sources, STR("x"), text), NULL, &v, &problems));
    assert_str(problems.items[0].code, "E0105");
    assert_true(arena.chunk_bytes < 2 << 20);
    arena_clear(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_scalars_follow_the_core_schema),
        cmocka_unit_test(quoted_and_block_scalars_are_strings),
        cmocka_unit_test(tags_determine_the_type),
        cmocka_unit_test(anchors_aliases_and_merge_keys_are_resolved),
        cmocka_unit_test(keys_are_scalars_or_tuples),
        cmocka_unit_test(streams_hold_any_number_of_documents),
        cmocka_unit_test(texts_that_trip_libyaml_are_loaded),
        cmocka_unit_test(only_line_feeds_and_returns_break_lines),
        cmocka_unit_test(repaired_texts_keep_their_positions),
        cmocka_unit_test(repairs_are_bounded),
        cmocka_unit_test(a_single_document_is_loaded),
        cmocka_unit_test(every_value_has_a_position_and_spelling),
        cmocka_unit_test(quoting_is_remembered),
        cmocka_unit_test(large_maps_find_their_keys),
        cmocka_unit_test(limits_cause_a_clear_error),
        cmocka_unit_test(each_limit_holds_exactly),
        cmocka_unit_test(the_arena_budget_limits_a_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
