/* The YAML test suite, if available: every value as expected, every error an error, except for the
 * ids in docs/yaml-deviations.md; and in each of these libyaml itself deviates. */
#include <stdlib.h>
#include <yaml.h>

#include "lang/json.h"
#include "lang/yaml_fixture.h"

static const char vectors_path[] = "../shared/vectors/yaml.json";
static const char deviations_path[] = "docs/yaml-deviations.md";

static bool read_file(const char *path, Buf *out)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return false;
    }
    char block[65536];
    for (size_t got; (got = fread(block, 1, sizeof block, file)) > 0;) {
        buf_put(out, str_from(block, got));
    }
    fclose(file);
    return true;
}

/* Does libyaml itself accept the text? */
static bool bare_events_accept(Str text)
{
    yaml_parser_t parser;
    yaml_parser_initialize(&parser);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text.data, text.len);
    bool accepted = true, done = false;
    while (accepted && !done) {
        yaml_event_t event;
        accepted = yaml_parser_parse(&parser, &event) != 0;
        if (accepted) {
            done = event.type == YAML_STREAM_END_EVENT;
            yaml_event_delete(&event);
        }
    }
    yaml_parser_delete(&parser);
    return accepted;
}

static Str text_member(Value object, const char *name)
{
    const Value *v = value_get(object, str_from_c(name));
    return v == NULL ? STR_EMPTY : value_str(*v);
}

static double as_double(Value v)
{
    return v.kind == VALUE_INT ? (double)v.integer : v.number;
}

static bool is_number(Value v)
{
    return v.kind == VALUE_INT || v.kind == VALUE_FLOAT;
}

/* As in JSON: 450 and 450.0 are the same number, keys are strings, their order does not matter. */
static bool same_as_json(const Sources *sources, Value got, Value wanted)
{
    if (is_number(got) && is_number(wanted)) {
        return as_double(got) == as_double(wanted);
    }
    if (got.kind != wanted.kind) {
        return false;
    }
    if (got.kind == VALUE_LIST) {
        bool same = got.list->len == wanted.list->len;
        for (uint32_t i = 0; same && i < got.list->len; i++) {
            same = same_as_json(sources, got.list->items[i], wanted.list->items[i]);
        }
        return same;
    }
    if (got.kind == VALUE_MAP) {
        bool same = got.map->len == wanted.map->len;
        for (uint32_t i = 0; same && i < got.map->len; i++) {
            Value key = got.map->entries[i].key;
            const Value *other = value_get(
                wanted, value_is_string(key) ? value_str(key) : value_original(sources, key));
            same = other != NULL && same_as_json(sources, got.map->entries[i].value, *other);
        }
        return same;
    }
    return value_key_equal(got, wanted);
}

/* The member `json` holds one JSON text per document. */
static bool documents_match(Loaded *loaded, Str json)
{
    uint16_t source = sources_add(&loaded->sources, STR("json"), json);
    uint32_t count = 0;
    for (size_t at = 0; (at = json_skip_space(json, at)) < json.len; count++) {
        Value wanted;
        assert_true(json_parse_next(&loaded->arena, &loaded->sources, source, &at, NULL, &wanted,
                                    &loaded->problems));
        if (count >= loaded->documents->len ||
            !same_as_json(&loaded->sources, loaded->documents->items[count], wanted)) {
            return false;
        }
    }
    return count == loaded->documents->len;
}

/* Rows of the table start with "| ID |". */
static bool is_listed(Str table, Str id)
{
    char row[32];
    snprintf(row, sizeof row, "\n| %" STR_FMT " |", STR_ARG(id));
    return str_find(table, str_from_c(row), 0) != STR_NOT_FOUND;
}

static bool case_holds(Value test)
{
    AUTO_CLEAR(Loaded) loaded;
    loaded_read(&loaded, text_member(test, "yaml"), NULL);
    if (value_get(test, STR("fail"))->boolean) {
        return !loaded.ok;
    }
    const Value *json = value_get(test, STR("json"));
    return json == NULL || (loaded.ok && documents_match(&loaded, value_str(*json)));
}

static void the_suite_passes(void **state)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    AUTO_CLEAR(Buf) table = buf_make(BUF_UNLIMITED);
    if (!read_file(vectors_path, &text)) {
        print_message("%s is not here: skipped\n", vectors_path);
        skip();
    }
    assert_true(read_file(deviations_path, &table));
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Error err;
    Value cases;
    assert_true(json_parse_text(&arena, buf_str(&text), NULL, &cases, &err));
    assert_true(cases.list->len > 300);
    unsigned failed = 0, listed = 0;
    for (uint32_t i = 0; i < cases.list->len; i++) {
        Value test = cases.list->items[i];
        Str id = text_member(test, "id");
        bool must_fail = value_get(test, STR("fail"))->boolean;
        if (is_listed(buf_str(&table), id)) {
            listed++;
            if (bare_events_accept(text_member(test, "yaml")) != must_fail) {
                print_error("%" STR_FMT " is listed, but libyaml reads it well\n", STR_ARG(id));
                failed++;
            }
        } else if (!case_holds(test)) {
            print_error("%" STR_FMT " does not hold\n", STR_ARG(id));
            failed++;
        }
    }
    assert_int_equal(failed, 0);
    assert_true(listed <= 63);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_suite_passes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
