#include "membership/node_record.h"

#include "base/buf.h"
#include "unit.h"

static Value many(Arena *arena, uint32_t count, Value value)
{
    Map *map = map_new(arena, count);
    for (uint32_t i = 0; i < count; i++) {
        map_set_str(arena, map, arena_format(arena, "k%u", i), value);
    }
    return value_map(map);
}

static Value one(Arena *arena, Str key, Value value)
{
    Map *map = map_new(arena, 1);
    map_set_str(arena, map, key, value);
    return value_map(map);
}

/* Writes the record of a node with these texts, and reads it; the error must contain `why`. */
static void check(Arena *arena, Value labels, Value annotations, const char *why)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    NodeRecord record = { .name = "web1", .labels = labels, .annotations = annotations }, again;
    Error err = { 0 };
    node_record_print(&record, &text);
    bool is_valid = node_record_read(arena, buf_str(&text), &again, &err);
    if (is_valid != (why == NULL) || (why != NULL && strstr(err.text, why) == NULL)) {
        fail_msg("%s: %s", buf_str(&text).data, err.text);
    }
}

static void annotations_are_limited(void **state)
{
    AUTO_CLEAR(Arena) arena;
    static char text[ANNOTATION_VALUE_MAX + 2];
    arena_init(&arena, ARENA_UNLIMITED);
    memset(text, 'x', sizeof text);
    Value none = value_map(map_new(&arena, 0)), x = value_string(STR("x"));
    Str key = { text, LABEL_NAME_MAX }, longer_key = { text, LABEL_NAME_MAX + 1 };
    Value value = value_string((Str){ text, ANNOTATION_VALUE_MAX });
    Value longer_value = value_string((Str){ text, ANNOTATION_VALUE_MAX + 1 });
    check(&arena, none, none, NULL);
    check(&arena, none, one(&arena, key, value), NULL);
    check(&arena, none, many(&arena, ANNOTATIONS_MAX, x), NULL);
    check(&arena, none, many(&arena, ANNOTATIONS_MAX + 1, x), "invalid annotation");
    check(&arena, none, one(&arena, longer_key, x), "invalid annotation");
    check(&arena, none, one(&arena, STR_EMPTY, x), "invalid annotation");
    check(&arena, none, one(&arena, key, longer_value), "invalid annotation");
    check(&arena, none, one(&arena, key, none), "");
}

static void labels_are_limited(void **state)
{
    AUTO_CLEAR(Arena) arena;
    static char text[LABEL_VALUE_MAX + 2];
    arena_init(&arena, ARENA_UNLIMITED);
    memset(text, 'x', sizeof text);
    Value none = value_map(map_new(&arena, 0)), x = value_string(STR("x"));
    Str key = { text, LABEL_NAME_MAX }, longer_key = { text, LABEL_NAME_MAX + 1 };
    Value value = value_string((Str){ text, LABEL_VALUE_MAX });
    Value longer_value = value_string((Str){ text, LABEL_VALUE_MAX + 1 });
    check(&arena, one(&arena, key, value), none, NULL);
    check(&arena, many(&arena, LABELS_MAX, x), none, NULL);
    check(&arena, many(&arena, LABELS_MAX + 1, x), none, "more than 64 labels");
    check(&arena, one(&arena, longer_key, x), none, "label");
    check(&arena, one(&arena, STR_EMPTY, x), none, "label");
    check(&arena, one(&arena, key, longer_value), none, "255 bytes");
    check(&arena, one(&arena, key, none), none, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(annotations_are_limited),
        cmocka_unit_test(labels_are_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
