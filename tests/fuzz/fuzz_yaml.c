/* Input: YAML. Invariants: the result is a value or errors; an accepted value can be printed, and
 * reads back the same. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/hash.h"
#include "lang/yaml.h"

enum {
    BUDGET = 64 << 20
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool same(Value a, Value b)
{
    if (a.kind != b.kind) {
        return false;
    }
    if (value_is_sequence(a)) {
        bool equal = a.list->len == b.list->len;
        for (uint32_t i = 0; equal && i < a.list->len; i++) {
            equal = same(a.list->items[i], b.list->items[i]);
        }
        return equal;
    }
    if (a.kind == VALUE_MAP) {
        bool equal = a.map->len == b.map->len;
        for (uint32_t i = 0; equal && i < a.map->len; i++) {
            equal = same(a.map->entries[i].key, b.map->entries[i].key) &&
                    same(a.map->entries[i].value, b.map->entries[i].value);
        }
        return equal;
    }
    if (a.kind == VALUE_FLOAT && isnan(a.number)) {
        return isnan(b.number);
    }
    return value_key_equal(a, b);
}

static void check_places(Value v, Str text)
{
    BUG_IF(v.start > text.len || v.span > text.len - v.start);
    if (value_is_sequence(v)) {
        for (uint32_t i = 0; i < v.list->len; i++) {
            check_places(v.list->items[i], text);
        }
    } else if (v.kind == VALUE_MAP) {
        for (uint32_t i = 0; i < v.map->len; i++) {
            check_places(v.map->entries[i].key, text);
            check_places(v.map->entries[i].value, text);
        }
    }
}

/* With its keys sorted, the first document has exactly one text. */
static void check_sorted(Arena *arena, Sources *sources, const List *documents, YamlStyle style,
                         Problems *problems)
{
    if (documents->len == 0) {
        return;
    }
    style.sort_keys = true;
    AUTO_CLEAR(Buf) once = buf_make(BUF_UNLIMITED);
    AUTO_CLEAR(Buf) twice = buf_make(BUF_UNLIMITED);
    Error err;
    Value v;
    BUG_IF(!yaml_print(&once, documents->items[0], &style, &err));
    uint16_t source = sources_add(sources, STR("sorted"), buf_str(&once));
    BUG_IF(!yaml_load(arena, sources, source, NULL, &v, problems));
    BUG_IF(!yaml_print(&twice, v, &style, &err));
    if (!str_eq(buf_str(&once), buf_str(&twice))) {
        BUG("sorted first\n%s\nthen\n%s", buf_c(&once), buf_c(&twice));
    }
}

/* Each input tests one style, derived from its bytes. */
static YamlStyle style_for(Str text)
{
    uint64_t bits = hash_str(text);
    return (YamlStyle){
        .indent = (uint8_t)(bits & 7),
        .width = bits & 8 ? 20 : 0,
        .flow = (YamlFlow)((bits >> 4 & 3) % 3),
        .flush_lists = (bits & 64) != 0,
        .ascii = (bits & 128) != 0,
        .tag_secrets = (bits & 256) != 0,
    };
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Str text = str_from((const char *)data, size);
    YamlStyle style = style_for(text);
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, BUDGET);
    Sources sources;
    sources_init(&sources, &arena);
    Problems problems;
    problems_init(&problems, &arena);
    YamlOptions options = {
        .limits = { .size = 1 << 20,
                    .scalar = 1 << 16,
                    .depth = 20,
                    .nodes = 20000,
                    .aliases = 200,
                    .expanded = 2000 },
        .lint = true,
    };
    List *documents;
    uint16_t source = sources_add(&sources, STR("fuzz"), text);
    bool ok = yaml_load_all(&arena, &sources, source, &options, &documents, &problems);
    BUG_IF(ok != (problems.errors == 0));
    BUG_IF(arena.chunk_bytes > 2 * (size_t)BUDGET);
    for (uint32_t i = 0; i < documents->len; i++) {
        check_places(documents->items[i], text);
    }
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    problems_print(&problems, (ProblemStyle){ .color = true }, &out);
    problems_print_json(&problems, &out);
    if (!ok) {
        return 0;
    }
    buf_reset(&out);
    Error err;
    BUG_IF(!yaml_print_all(&out, documents, &style, &err));
    uint16_t printed = sources_add(&sources, STR("printed"), buf_str(&out));
    options.limits = yaml_options_default.limits;
    List *again;
    if (!yaml_load_all(&arena, &sources, printed, &options, &again, &problems)) {
        BUG("does not read back:\n%s", buf_c(&out));
    }
    if (!same(value_list(documents), value_list(again))) {
        BUG("reads back as something else:\n%s", buf_c(&out));
    }
    check_sorted(&arena, &sources, again, style, &problems);
    return 0;
}
