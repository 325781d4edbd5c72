/* The one value tree for YAML, JSON and templates.
 *
 * A Value is 24 bytes, passed by value. Scalars live inside it; strings, lists, maps and objects
 * point into the arena of whoever made them. Values are never freed one by one.
 *
 * Place: a value read from a text knows its source (index into Sources) and the bytes it was
 * written as (`start`, `span`), so its original spelling (`0644`, `yes`) is source text sliced
 * there, and line and column follow from the offset. Computed values have source SOURCE_NONE.
 *
 * Secrets: VALUE_SECRET marks a value whose text must not be shown. The mark travels by these
 * rules, which every operation keeps:
 *   - an element or attribute taken from a secret container is secret;
 *   - an operator, filter or method whose input or argument holds a secret gives a secret result;
 *   - comparisons, tests, membership and length give plain results.
 * Rendering records the byte ranges of the output that came from secrets. */
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
    VALUE_STRING, /* with VALUE_MARKUP: text that is already safe for HTML */
    VALUE_LIST,
    VALUE_TUPLE,
    VALUE_MAP,
    VALUE_OBJECT,    /* callable, iterator, namespace, range, lazy map ...: see object.h */
    VALUE_UNDEFINED, /* an absent value; `undefined` says what was missing, NULL: "not given" */
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

/* The three words can also be written and copied as such: a value that is made of narrow stores
 * and then read by wide loads makes the processor wait. */
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
        List *list; /* also a tuple's items */
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
        uint64_t place;
    };
} Value;

/* kind, flags and len as they lie in `head`. */
#define VALUE_HEAD(kind, flags, len) \
    ((uint64_t)(kind) | (uint64_t)(flags) << 8 | (uint64_t)(uint32_t)(len) << 32)
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "VALUE_HEAD is for little endian");
_Static_assert(sizeof(Value) == 24, "values stay small");

/* Frozen containers belong to somebody else (a site's variables): methods that would change
 * them fail. What is frozen remembers whether it holds a secret. */
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

/* Keeps insertion order. Up to MAP_LINEAR entries are searched one by one; larger maps get an
 * index of (hash, position) pairs. Keys compare as in Python: 1, 1.0 and true are one key. */
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

/* What was looked for and not found; see template/undefined.h for how it is told. */
struct Undefined {
    Str name;       /* variable, attribute or element name; empty when `hint` says it all */
    Str hint;       /* a whole message instead of the one made from name and owner */
    Value owner;    /* the value that lacks it; VALUE_UNDEFINED with NULL for a variable */
    Value key;      /* the key for an element lookup */
    bool attribute; /* looked up as an attribute, not as an element */
    bool lenient;   /* behaves as in the default mode whatever the settings say */
};

static inline Value value_null(void)
{
    return (Value){ .head = VALUE_NULL, .payload = 0, .place = 0 };
}
static inline Value value_bool(bool boolean)
{
    return (Value){ .head = VALUE_BOOL, .payload = boolean, .place = 0 };
}
static inline Value value_int(int64_t integer)
{
    return (Value){ .head = VALUE_INT, .integer = integer, .place = 0 };
}
static inline Value value_float(double number)
{
    return (Value){ .head = VALUE_FLOAT, .number = number, .place = 0 };
}
/* The bytes are borrowed; at most VALUE_STRING_MAX of them. */
static inline Value value_string(Str s)
{
    return (Value){ .head = VALUE_HEAD(VALUE_STRING, 0, s.len), .text = s.data, .place = 0 };
}
static inline Value value_markup(Str s)
{
    return (
        Value){ .head = VALUE_HEAD(VALUE_STRING, VALUE_MARKUP, s.len), .text = s.data, .place = 0 };
}
static inline Value value_list(List *list)
{
    return (Value){ .head = VALUE_LIST, .list = list, .place = 0 };
}
static inline Value value_tuple(List *items)
{
    return (Value){ .head = VALUE_TUPLE, .list = items, .place = 0 };
}
static inline Value value_map(Map *map)
{
    return (Value){ .head = VALUE_MAP, .map = map, .place = 0 };
}
static inline Value value_object(Object *object)
{
    return (Value){ .head = VALUE_OBJECT, .object = object, .place = 0 };
}
/* "Not given": an optional argument that the caller left out, a slot not yet assigned. */
static inline Value value_missing(void)
{
    return (Value){ .head = VALUE_UNDEFINED, .payload = 0, .place = 0 };
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

/* As Python has it: null, false, zero and what is empty are false. Objects are true, undefined ones
 * false, whatever the template language says of them. */
bool value_is_true(Value v);

/* "null", "bool", "int", "float", "string", "list", "tuple", "map", "object", "undefined". */
const char *value_kind_name(ValueKind kind);
/* What Python calls the type: "NoneType", "str", "dict", ...; "object" for every object. */
const char *value_python_name(Value v);

enum {
    VALUE_DEPTH_MAX = 512,
    VALUE_VISITS_MAX = 1 << 22,
    VALUE_KEY_ITEMS_MAX = 10000
};

/* True when `v` or anything in it is secret. Frozen containers know; others are walked, at most
 * VALUE_DEPTH_MAX deep and VALUE_VISITS_MAX values in all: what lies beyond counts as secret. */
bool value_holds_secret(Value v);

List *list_new(Arena *arena, uint32_t cap);
void list_grow(Arena *arena, List *list);
/* The list holds at most 2^31 items; a caller that builds from input checks its budget first. */
static inline void list_push(Arena *arena, List *list, Value item)
{
    if (UNLIKELY(list->len == list->cap)) {
        list_grow(arena, list);
    }
    list->items[list->len++] = item;
}

Map *map_new(Arena *arena, uint32_t cap);
uint64_t value_hash(Value key);
/* Equality of keys: Python's for scalars and tuples; numbers compare across kinds. */
bool value_key_equal(Value a, Value b);
/* False for containers and objects, which cannot be keys, and for tuples of more than
 * VALUE_KEY_ITEMS_MAX items in all. Hashing and comparing keys is bounded because of it. */
bool value_is_key(Value v);

MapEntry *map_find(const Map *map, Value key); /* NULL when absent */
MapEntry *map_find_str(const Map *map, Str key);
/* With the hash_str() of the key known beforehand. */
MapEntry *map_find_str_hashed(const Map *map, Str key, uint64_t hash);
/* Maps in a list tend to have their keys in one order, so the place where the key was found last,
 * `*hint`, is looked at first. */
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
/* Appends or replaces the value under `key`; returns the entry. */
MapEntry *map_set(Arena *arena, Map *map, Value key, Value value);
static inline MapEntry *map_set_str(Arena *arena, Map *map, Str key, Value value)
{
    return map_set(arena, map, value_string(key), value);
}
/* Appends without looking: the caller knows that the key is not there yet. */
MapEntry *map_append(Arena *arena, Map *map, Value key, Value value);
/* Appends unless the key is there: then returns the entry that has it and changes nothing. */
MapEntry *map_add(Arena *arena, Map *map, Value key, Value value);
/* A map of these entries, or NULL when a key occurs twice: for readers that have all entries at
 * hand, several times faster than adding one by one. */
Map *map_from_entries(Arena *arena, const MapEntry *entries, uint32_t count);
/* True when the key was there. Takes time in proportion to the size of the map. */
bool map_remove(Map *map, Value key);
/* Makes the index of a map whose entries, more than MAP_LINEAR, were written in place. Returns
 * the position of the first one whose key stands before it already, or `len` when all differ. */
uint32_t map_index(Arena *arena, Map *map);

/* The value under a string key of a map, or NULL. */
const Value *value_get(Value map, Str key);
/* For what others wrote: a value that is not there, or of another kind, is an empty one of that kind,
 * and a map is null. */
Str value_get_text(Value map, const char *key);
int64_t value_get_int(Value map, const char *key);
bool value_get_bool(Value map, const char *key);
const List *value_get_list(Value map, const char *key);
Value value_get_map(Value map, const char *key);

/* The text that the value was written as, quotes included; empty for computed values. */
Str value_original(const Sources *sources, Value v);

/* A deep copy into `arena`; strings are copied too, objects are shared. What is nested deeper than
 * VALUE_DEPTH_MAX, or shared so often that it passes the budget, leaves the arena over budget and
 * the copy unfinished. */
Value value_copy(Arena *arena, Value v);
/* Marks every container below as frozen, and lets each know whether it holds a secret. */
void value_freeze(Value v);
