/* Helpers shared by the YAML tests: a loaded text, and values as one line of text. */
#pragma once

#include <math.h>

#include "lang/number.h"
#include "lang/yaml.h"
#include "unit.h"

typedef struct Loaded {
    Arena arena;
    Sources sources;
    Problems problems;
    List *documents;
    bool ok;
    uint16_t source;
} Loaded;

static inline void loaded_clear(Loaded *loaded)
{
    arena_clear(&loaded->arena);
}
DEFINE_AUTO_CLEAR(Loaded, loaded_clear)

static inline void loaded_read(Loaded *loaded, Str text, const YamlOptions *options)
{
    arena_init(&loaded->arena, ARENA_UNLIMITED);
    sources_init(&loaded->sources, &loaded->arena);
    problems_init(&loaded->problems, &loaded->arena);
    loaded->source = sources_add(&loaded->sources, STR("test.yaml"), text);
    loaded->ok = yaml_load_all(&loaded->arena, &loaded->sources, loaded->source, options,
                               &loaded->documents, &loaded->problems);
}

/* Python-like: strings in single quotes, tuples in parentheses, `!` before secrets. */
static inline void dump_value(Value v, Buf *out)
{
    if (value_is_secret(v)) {
        buf_put_char(out, '!');
    }
    switch ((ValueKind)v.kind) {
    case VALUE_NULL: buf_put_c(out, "null"); break;
    case VALUE_BOOL: buf_put_c(out, v.boolean ? "true" : "false"); break;
    case VALUE_INT: number_put_int(out, v.integer); break;
    case VALUE_FLOAT: number_put_repr(out, v.number); break;
    case VALUE_STRING: buf_put_format(out, "'%" STR_FMT "'", STR_ARG(value_str(v))); break;
    case VALUE_LIST:
    case VALUE_TUPLE:
        buf_put_char(out, v.kind == VALUE_LIST ? '[' : '(');
        for (uint32_t i = 0; i < v.list->len; i++) {
            buf_put_c(out, i == 0 ? "" : ", ");
            dump_value(v.list->items[i], out);
        }
        buf_put_char(out, v.kind == VALUE_LIST ? ']' : ')');
        break;
    case VALUE_MAP:
        buf_put_char(out, '{');
        for (uint32_t i = 0; i < v.map->len; i++) {
            buf_put_c(out, i == 0 ? "" : ", ");
            dump_value(v.map->entries[i].key, out);
            buf_put_c(out, ": ");
            dump_value(v.map->entries[i].value, out);
        }
        buf_put_char(out, '}');
        break;
    case VALUE_OBJECT:
    case VALUE_UNDEFINED: buf_put_c(out, "?"); break;
    }
}

/* The same kinds and contents recursively; positions and flags do not count. */
static inline bool same_value(Value a, Value b)
{
    if (a.kind != b.kind) {
        return false;
    }
    if (value_is_sequence(a)) {
        bool same = a.list->len == b.list->len;
        for (uint32_t i = 0; same && i < a.list->len; i++) {
            same = same_value(a.list->items[i], b.list->items[i]);
        }
        return same;
    }
    if (a.kind == VALUE_MAP) {
        bool same = a.map->len == b.map->len;
        for (uint32_t i = 0; same && i < a.map->len; i++) {
            same = same_value(a.map->entries[i].key, b.map->entries[i].key) &&
                   same_value(a.map->entries[i].value, b.map->entries[i].value);
        }
        return same;
    }
    if (a.kind == VALUE_FLOAT) {
        return isnan(a.number) ? isnan(b.number)
                               : a.number == b.number && signbit(a.number) == signbit(b.number);
    }
    return value_key_equal(a, b);
}
