/* The value tree shared by YAML, JSON and templates.
 *
 * A Value is 24 bytes, passed by value. Scalars are stored inline; strings, lists, maps and objects
 * point into the arena of their creator. Values are never freed individually.
 *
 * Location: a value parsed from a text has its source (index into Sources) and its range of bytes
 * (`start`, `span`), so its original spelling (`0644`, `yes`) can be sliced from the source, and
 * line and column follow from the offset. Computed values have source SOURCE_NONE.
 *
 * Secrets: VALUE_SECRET marks a value whose text must not be shown. All operations propagate the
 * mark by these rules:
 *   - an element or attribute of a secret container is secret;
 *   - an operator, filter or method with a secret in its input or arguments has a secret result;
 *   - comparisons, tests, membership and length have plain results.
 *
 * Rendering records the byte ranges of the output that come from secrets. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/source.h"
#include "base/str.h"

typedef enum ValueKind {
    VALUE_NULL,
    VALUE_BOOL,
    VALUE_INT,
    VALUE_FLOAT,
    VALUE_STRING, /* with VALUE_MARKUP: already safe for HTML */
    VALUE_LIST,
    VALUE_TUPLE,
    VALUE_MAP,
    VALUE_OBJECT, /* callable, iterator, namespace, range, lazy map ...: see object.h */
    /* an absent value; `undefined` describes what is missing, NULL: "not passed" */
    VALUE_UNDEFINED,
} ValueKind;

enum ValueFlag {
    VALUE_SECRET = 1 << 0,
    VALUE_MARKUP = 1 << 1,
    VALUE_QUOTED = 1 << 2, /* a string that was quoted, or in block style, in its source */
    VALUE_GROUP = 1 << 3,  /* a tuple of the groupby filter: its items are `grouper` and `list` */
};

typedef struct List List;
typedef struct Map Map;
typedef struct Object Object;
typedef struct Undefined Undefined;

/* The three words can also be written and copied directly: reading a value by wide loads after
 * narrow stores stalls the processor. */
typedef struct Value {
    union {
        struct {
            uint8_t kind;    /* ValueKind */
            uint8_t flags;   /* ValueFlag */
            uint16_t source; /* index into Sources */
            uint32_t len;    /* bytes of a string */
        };
        uint64_t head;
    };
    union {
        bool boolean;
        int64_t integer;
        double number;
        const char *text;
        List *list; /* also the items of a tuple */
        Map *map;
        Object *object;
        const Undefined *undefined;
        uint64_t payload;
    };
    union {
        struct {
            uint32_t start; /* byte offset in the source */
            uint32_t span;  /* bytes in the source */
        };
        uint64_t location;
    };
} Value;

/* kind, flags and len as stored in `head`. */
#define VALUE_HEAD(kind, flags, len) \
    ((uint64_t)(kind) | (uint64_t)(flags) << 8 | (uint64_t)(uint32_t)(len) << 32)
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "VALUE_HEAD is for little endian");
_Static_assert(sizeof(Value) == 24, "values stay small");

/* Frozen containers are shared (variables of a site): methods that would change them fail. Frozen
 * containers cache whether they contain a secret. */
typedef enum SecretMemo {
    SECRETS_UNKNOWN,
    SECRETS_ABSENT,
    SECRETS_PRESENT
} SecretMemo;

struct List {
    Value *items;
    uint32_t len;
    uint32_t cap;
    bool frozen;
    uint8_t secrets; /* SecretMemo */
};

typedef struct MapEntry {
    Value key; /* null, bool, int, float, string or a tuple of these */
    Value value;
} MapEntry;

/* Preserves insertion order. Up to MAP_LINEAR entries are searched linearly; larger maps have an
 * index of (hash, position) pairs. Keys compare as in Python: 1, 1.0 and true are the same key. */
struct Map {
    MapEntry *entries;
    uint64_t *index; /* upper half hash, lower half position + 1; 0 is free */
    uint32_t len;
    uint32_t cap;
    uint32_t index_mask;
    bool frozen;
    uint8_t secrets; /* SecretMemo */
};

enum {
    MAP_LINEAR = 8,
    VALUE_STRING_MAX = INT32_MAX
};

/* A failed lookup; template/undefined.c builds the message. */
struct Undefined {
    /* name of the variable, attribute or element; empty if `hint` is the entire message */
    Str name;
    Str hint;       /* a complete message instead of the one built from name and owner */
    Value owner;    /* the value that lacks it; VALUE_UNDEFINED with NULL for a variable */
    Value key;      /* the key of an element lookup */
    bool attribute; /* an attribute lookup, not an element lookup */
    bool lenient;   /* uses the default mode regardless of the settings */
};

static inline Value value_null(void)
{
    return (Value){ .head = VALUE_NULL, .payload = 0, .location = 0 };
}
static inline Value value_bool(bool boolean)
{
    return (Value){ .head = VALUE_BOOL, .payload = boolean, .location = 0 };
}
static inline Value value_int(int64_t integer)
{
    return (Value){ .head = VALUE_INT, .integer = integer, .location = 0 };
}
static inline Value value_float(double number)
{
    return (Value){ .head = VALUE_FLOAT, .number = number, .location = 0 };
}
/* The bytes are borrowed; at most VALUE_STRING_MAX. */
static inline Value value_string(Str s)
{
    return (Value){ .head = VALUE_HEAD(VALUE_STRING, 0, s.len), .text = s.data, .location = 0 };
}
static inline Value value_markup(Str s)
{
    return (Value){ .head = VALUE_HEAD(VALUE_STRING, VALUE_MARKUP, s.len),
                    .text = s.data,
                    .location = 0 };
}
static inline Value value_list(List *list)
{
    return (Value){ .head = VALUE_LIST, .list = list, .location = 0 };
}
static inline Value value_tuple(List *items)
{
    return (Value){ .head = VALUE_TUPLE, .list = items, .location = 0 };
}
static inline Value value_map(Map *map)
{
    return (Value){ .head = VALUE_MAP, .map = map, .location = 0 };
}
static inline Value value_object(Object *object)
{
    return (Value){ .head = VALUE_OBJECT, .object = object, .location = 0 };
}
/* "Not passed": an omitted optional argument, or an unassigned slot. */
static inline Value value_missing(void)
{
    return (Value){ .head = VALUE_UNDEFINED, .payload = 0, .location = 0 };
}
static inline bool value_is_missing(Value v)
{
    return v.kind == VALUE_UNDEFINED && v.undefined == NULL;
}

static inline Str value_str(Value v)
{
    return str_from(v.text, v.len);
}
static inline bool value_is_string(Value v)
{
    return v.kind == VALUE_STRING;
}
static inline bool value_is_markup(Value v)
{
    return v.kind == VALUE_STRING && (v.flags & VALUE_MARKUP) != 0;
}
static inline bool value_is_sequence(Value v)
{
    return v.kind == VALUE_LIST || v.kind == VALUE_TUPLE;
}
static inline bool value_is_secret(Value v)
{
    return (v.flags & VALUE_SECRET) != 0;
}
static inline Value value_with_secret(Value v)
{
    v.flags |= VALUE_SECRET;
    return v;
}

/* Python's truth: null, false, zero and empty values are false. Objects are true and undefined
 * values false, regardless of the template language. */
bool value_is_true(Value v);

/* "null", "bool", "int", "float", "string", "list", "tuple", "map", "object", "undefined". */
const char *value_kind_name(ValueKind kind);
/* The name of the type in Python: "NoneType", "str", "dict", ...; "object" for every object. */
const char *value_python_name(Value v);

enum {
    VALUE_DEPTH_MAX = 512,
    VALUE_VISITS_MAX = 1 << 22,
    VALUE_KEY_ITEMS_MAX = 10000
};

/* Whether `v` or anything in it is secret. Cached in frozen containers; others are walked, up to a
 * depth of VALUE_DEPTH_MAX and VALUE_VISITS_MAX values in total: what is beyond counts as
 * secret. */
bool value_holds_secret(Value v);

List *list_new(Arena *arena, uint32_t cap);
void list_grow(Arena *arena, List *list);
/* A list has at most 2^31 items; callers that build one from input must check their budget
 * first. */
static inline void list_push(Arena *arena, List *list, Value item)
{
    if (UNLIKELY(list->len == list->cap)) {
        list_grow(arena, list);
    }
    list->items[list->len++] = item;
}

Map *map_new(Arena *arena, uint32_t cap);
uint64_t value_hash(Value key);
/* Equality of keys: Python's for scalars and tuples; numbers compare across types. */
bool value_key_equal(Value a, Value b);
/* Returns false for containers and objects, which cannot be keys, and for tuples with more than
 * VALUE_KEY_ITEMS_MAX items in total. This bounds hashing and comparing of keys. */
bool value_is_key(Value v);

MapEntry *map_find(const Map *map, Value key); /* NULL if absent */
MapEntry *map_find_str(const Map *map, Str key);
/* With a precomputed hash_str() of the key. */
MapEntry *map_find_str_hashed(const Map *map, Str key, uint64_t hash);
/* Maps in a list tend to have their keys in the same order, so the index of the last match,
 * `*hint`, is tried first. */
static inline MapEntry *map_find_near(const Map *map, Str key, uint32_t *hint)
{
    if (LIKELY(*hint < map->len)) {
        MapEntry *entry = &map->entries[*hint];
        if (LIKELY(entry->key.kind == VALUE_STRING && entry->key.len == key.len &&
                   bytes_equal(entry->key.text, key.data, key.len))) {
            return entry;
        }
    }
    MapEntry *entry = map_find_str(map, key);
    if (entry != NULL) {
        *hint = (uint32_t)(entry - map->entries);
    }
    return entry;
}
/* Appends or replaces the value of `key`; returns the entry. */
MapEntry *map_set(Arena *arena, Map *map, Value key, Value value);
static inline MapEntry *map_set_str(Arena *arena, Map *map, Str key, Value value)
{
    return map_set(arena, map, value_string(key), value);
}
/* Appends without a lookup: the caller ensures that the key is not in the map. */
MapEntry *map_append(Arena *arena, Map *map, Value key, Value value);
/* Appends unless the key exists: then returns the existing entry unchanged. */
MapEntry *map_add(Arena *arena, Map *map, Value key, Value value);
/* A map of these entries, or NULL if a key occurs twice. Several times faster than adding entries
 * one by one, if all are available at once. */
Map *map_from_entries(Arena *arena, const MapEntry *entries, uint32_t count);
/* Returns whether the key was in the map. Takes time proportional to the size of the map. */
bool map_remove(Map *map, Value key);
/* Builds the index of a map with more than MAP_LINEAR entries that were written in place. Returns
 * the position of the first duplicate key, or `len` if there is none. */
uint32_t map_index(Arena *arena, Map *map);

/* The value of a string key in a map, or NULL. */
const Value *value_get(Value map, Str key);
/* For external input: a value that is missing or of a different type is returned as an empty one of
 * the type, and a map as null. */
Str value_get_text(Value map, const char *key);
int64_t value_get_int(Value map, const char *key);
bool value_get_bool(Value map, const char *key);
const List *value_get_list(Value map, const char *key);
Value value_get_map(Value map, const char *key);

/* The original spelling of the value, including quotes; empty for computed values. */
Str value_original(const Sources *sources, Value v);

/* A deep copy into `arena`; strings are copied too, objects are shared. If the value is nested
 * deeper than VALUE_DEPTH_MAX, or shared so often that it exceeds the budget, the arena ends up
 * over budget and the copy is incomplete. */
Value value_copy(Arena *arena, Value v);
/* Freezes every container in the value, and caches in each whether it contains a secret. */
void value_freeze(Value v);
