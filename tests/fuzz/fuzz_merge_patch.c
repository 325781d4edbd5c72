/* Input: two JSON texts separated by a line "===": an object and a merge patch (RFC 7396).
 * Invariants: applying a patch twice is the same as once; what it sets to null is removed, what it
 * sets is there, and all else is unchanged. As a body for each kind of object it gives a draft or
 * errors whose positions lie in the body. */
#include "api/object_draft.h"
#include "base/bug.h"
#include "lang/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A patch is inserted into an object, which is one level deeper. */
static bool read(Arena *arena, Str text, Value *out)
{
    const JsonOptions options = {
        .limits = { .size = 1 << 14, .depth = OBJECT_DEPTH_MAX - 1, .nodes = 1000 }
    };
    Error err;
    return json_parse_text(arena, text, &options, out, &err);
}

static bool is_same(Arena *arena, Value a, Value b)
{
    Buf first = buf_make_in(arena, BUF_UNLIMITED), second = buf_make_in(arena, BUF_UNLIMITED);
    Error err;
    bool ok = json_print(&first, a, NULL, &err) && json_print(&second, b, NULL, &err);
    BUG_IF(!ok);
    return str_eq(buf_str(&first), buf_str(&second));
}

static void check_patched(Arena *arena, Value target, Value patch, Value made)
{
    if (patch.kind != VALUE_MAP) {
        BUG_IF(!is_same(arena, patch, made));
        return;
    }
    BUG_IF(made.kind != VALUE_MAP);
    for (uint32_t i = 0; i < patch.map->len; i++) {
        const MapEntry *request = &patch.map->entries[i];
        const MapEntry *now = map_find(made.map, request->key);
        BUG_IF((request->value.kind == VALUE_NULL) != (now == NULL));
        const MapEntry *old = target.kind == VALUE_MAP ? map_find(target.map, request->key) : NULL;
        if (now != NULL) {
            check_patched(arena, old == NULL ? value_missing() : old->value, request->value,
                          now->value);
        }
    }
    for (uint32_t i = 0; target.kind == VALUE_MAP && i < target.map->len; i++) {
        const MapEntry *old = &target.map->entries[i];
        if (map_find(patch.map, old->key) == NULL) {
            const MapEntry *now = map_find(made.map, old->key);
            BUG_IF(now == NULL || !is_same(arena, old->value, now->value));
        }
    }
}

static void check_problems(const FieldProblems *problems)
{
    for (uint32_t i = 0; i < problems->count; i++) {
        BUG_IF(problems->items[i].text.len == 0);
        BUG_IF(problems->items[i].pointer.len > 0 && problems->items[i].pointer.data[0] != '/');
    }
}

static Value map_of(Value map, const char *name)
{
    const Value *value = map.kind == VALUE_MAP ? value_get(map, str_from_c(name)) : NULL;
    return value != NULL && value->kind == VALUE_MAP ? *value : value_missing();
}

/* The object has the form that a store keeps: its labels are strings. */
static Value texts_of(Arena *arena, Value map)
{
    Map *out = map_new(arena, 0);
    for (uint32_t i = 0; map.kind == VALUE_MAP && i < map.map->len; i++) {
        if (value_is_string(map.map->entries[i].value)) {
            map_set(arena, out, map.map->entries[i].key, map.map->entries[i].value);
        }
    }
    return value_map(out);
}

static void draft(Arena *arena, Value object, Str body)
{
    for (size_t i = 0; kinds[i] != NULL; i++) {
        FieldProblems problems = { .count = 0 };
        ObjectBody sent;
        KindDraft made;
        Error err;
        KindItem present = { .name = STR("web1"),
                             .revision = 7,
                             .labels = texts_of(arena, map_of(object, "labels")),
                             .annotations = texts_of(arena, map_of(object, "annotations")),
                             .spec = map_of(object, "spec") };
        if (!object_body_read(arena, kinds[i], body, &sent, &problems, &err)) {
            BUG_IF(err.text[0] == '\0');
            continue;
        }
        object_draft(arena, kinds[i], &sent, true, &present, &made, &problems);
        BUG_IF(made.labels.kind != VALUE_MAP || made.annotations.kind != VALUE_MAP ||
               made.spec.kind != VALUE_MAP);
        check_problems(&problems);
        problems.count = 0;
        object_draft(arena, kinds[i], &sent, false, &present, &made, &problems);
        BUG_IF(made.spec.kind != VALUE_MAP || !str_eq_c(made.name, "web1"));
        check_problems(&problems);
    }
}

/* The resulting specification of an object. A byte order mark is allowed at the start of a text,
 * but not where the patch is inserted here. */
static Value patched(Arena *arena, Value spec, Str patch)
{
    Str mark = STR("\xef\xbb\xbf");
    patch = str_starts(patch, mark) ? str_from_offset(patch, mark.len) : patch;
    Buf body = buf_make_in(arena, BUF_UNLIMITED);
    FieldProblems problems = { .count = 0 };
    KindItem present = { .name = STR("web1"), .revision = 7, .spec = spec };
    ObjectBody sent;
    KindDraft made;
    Error err;
    buf_put_format(&body, "{\"spec\":%" STR_FMT "}", STR_ARG(patch));
    bool ok = object_body_read(arena, kinds[0], buf_str(&body), &sent, &problems, &err);
    if (!ok) {
        BUG("%s", err.text);
    }
    object_draft(arena, kinds[0], &sent, true, &present, &made, &problems);
    return made.spec;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str text = str_from((const char *)data, size), between = STR("\n===\n");
    size_t end = str_find(text, between, 0);
    Str body = end == STR_NOT_FOUND ? text : str_from_offset(text, end + between.len);
    Value target, patch;
    if (end == STR_NOT_FOUND || !read(&arena, str_slice(text, 0, end), &target) ||
        target.kind != VALUE_MAP) {
        target = value_missing();
    }
    if (read(&arena, body, &patch) && patch.kind == VALUE_MAP) {
        Value made = patched(&arena, target, body);
        check_patched(&arena, target, patch, made);
        BUG_IF(!is_same(&arena, patched(&arena, made, body), made));
    }
    draft(&arena, target, body);
    return 0;
}
