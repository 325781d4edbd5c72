/* Values and maps.
 *
 * A map is an array of entries in insertion order. Up to MAP_LINEAR entries are searched linearly;
 * larger maps have an index, an open-addressing hash table of (hash, position) with linear probing
 * that is at most half full. Removing an entry closes its gap in the array and in the probe chain,
 * so there are no tombstones.
 *
 * Containers may share children and, through template methods such as append(), even contain
 * themselves. So every recursive walk here is bounded in depth and number of visits, and what is
 * beyond the bound counts as secret. */
#include "lang/value.h"

#include <math.h>

#include "base/bug.h"

static const char *const kind_names[] = {
    [VALUE_NULL] = "null",           [VALUE_BOOL] = "bool",     [VALUE_INT] = "int",
    [VALUE_FLOAT] = "float",         [VALUE_STRING] = "string", [VALUE_LIST] = "list",
    [VALUE_TUPLE] = "tuple",         [VALUE_MAP] = "map",       [VALUE_OBJECT] = "object",
    [VALUE_UNDEFINED] = "undefined",
};

const char *value_python_name(Value v)
{
    static const char *const names[] = {
        [VALUE_NULL] = "NoneType",       [VALUE_BOOL] = "bool",  [VALUE_INT] = "int",
        [VALUE_FLOAT] = "float",         [VALUE_STRING] = "str", [VALUE_LIST] = "list",
        [VALUE_TUPLE] = "tuple",         [VALUE_MAP] = "dict",   [VALUE_OBJECT] = "object",
        [VALUE_UNDEFINED] = "Undefined",
    };
    BUG_IF((size_t)v.kind >= COUNT_OF(names));
    return value_is_markup(v) ? "Markup" : names[v.kind];
}

bool value_is_true(Value v)
{
    switch ((ValueKind)v.kind) {
    case VALUE_NULL:
    case VALUE_UNDEFINED: return false;
    case VALUE_BOOL: return v.boolean;
    case VALUE_INT: return v.integer != 0;
    case VALUE_FLOAT: return v.number != 0;
    case VALUE_STRING: return v.len > 0;
    case VALUE_LIST:
    case VALUE_TUPLE: return v.list->len > 0;
    case VALUE_MAP: return v.map->len > 0;
    case VALUE_OBJECT: return true;
    }
    return true;
}

const char *value_kind_name(ValueKind kind)
{
    BUG_IF((size_t)kind >= COUNT_OF(kind_names));
    return kind_names[kind];
}

/* Remaining budget of a walk: containers can share children and contain themselves, so neither
 * depth nor number of visits is bounded by memory. */
typedef struct Walk {
    uint32_t depth;
    uint32_t visits;
} Walk;

static bool holds_secret(Value v, Walk *walk);

static bool any_secret(const List *list, Walk *walk)
{
    for (uint32_t i = 0; i < list->len; i++) {
        if (holds_secret(list->items[i], walk)) {
            return true;
        }
    }
    return false;
}

static bool any_secret_entry(const Map *map, Walk *walk)
{
    for (uint32_t i = 0; i < map->len; i++) {
        if (holds_secret(map->entries[i].key, walk) || holds_secret(map->entries[i].value, walk)) {
            return true;
        }
    }
    return false;
}

static bool holds_secret(Value v, Walk *walk)
{
    if (value_is_secret(v)) {
        return true;
    }
    bool is_map = v.kind == VALUE_MAP;
    if (!is_map && !value_is_sequence(v)) {
        return false;
    }
    if (is_map ? v.map->frozen : v.list->frozen) {
        return (is_map ? v.map->secrets : v.list->secrets) != SECRETS_ABSENT;
    }
    uint32_t len = is_map ? v.map->len : v.list->len;
    if (walk->depth == 0 || walk->visits < len) {
        return true;
    }
    walk->depth--;
    walk->visits -= len;
    bool found = is_map ? any_secret_entry(v.map, walk) : any_secret(v.list, walk);
    walk->depth++;
    return found;
}

bool value_holds_secret(Value v)
{
    return holds_secret(v, &(Walk){ .depth = VALUE_DEPTH_MAX, .visits = VALUE_VISITS_MAX });
}

List *list_new(Arena *arena, uint32_t cap)
{
    List *list = arena_alloc(arena, sizeof *list);
    *list = (List){ .cap = cap };
    if (cap > 0) {
        list->items = ARENA_ARRAY(arena, Value, cap);
    }
    return list;
}

void list_grow(Arena *arena, List *list)
{
    BUG_IF(list->cap > UINT32_MAX / 2);
    uint32_t cap = list->cap == 0 ? 4 : list->cap * 2;
    list->items = arena_grow(arena, list->items, list->cap * sizeof(Value), cap * sizeof(Value));
    list->cap = cap;
}

Map *map_new(Arena *arena, uint32_t cap)
{
    Map *map = arena_alloc(arena, sizeof *map);
    *map = (Map){ .cap = cap };
    if (cap > 0) {
        map->entries = ARENA_ARRAY(arena, MapEntry, cap);
    }
    return map;
}

static uint64_t hash_integer(int64_t integer)
{
    return hash_u64((uint64_t)integer ^ hash_seed());
}

/* Equal numbers have equal hashes regardless of type, as map keys require. */
static uint64_t hash_number(double number)
{
    if (number >= -9223372036854775808.0 && number < 9223372036854775808.0 &&
        number == floor(number)) {
        return hash_integer((int64_t)number);
    }
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return hash_u64(bits ^ hash_seed());
}

uint64_t value_hash(Value key)
{
    switch (key.kind) {
    case VALUE_BOOL: return hash_integer(key.boolean);
    case VALUE_INT: return hash_integer(key.integer);
    case VALUE_FLOAT: return hash_number(key.number);
    case VALUE_STRING: return hash_bytes(key.text, key.len);
    case VALUE_TUPLE: {
        uint64_t hash = key.list->len;
        for (uint32_t i = 0; i < key.list->len; i++) {
            hash = hash_mix(hash ^ 0x9e3779b97f4a7c15u, value_hash(key.list->items[i]));
        }
        return hash;
    }
    default: return 0;
    }
}

/* Exact: an integer that a double cannot represent equals no double. */
static bool int_equals_float(int64_t integer, double number)
{
    return number >= -9223372036854775808.0 && number < 9223372036854775808.0 &&
           number == floor(number) && (int64_t)number == integer;
}

static bool is_integral(Value v)
{
    return v.kind == VALUE_INT || v.kind == VALUE_BOOL;
}

static int64_t integral(Value v)
{
    return v.kind == VALUE_BOOL ? v.boolean : v.integer;
}

bool value_key_equal(Value a, Value b)
{
    if (a.kind == VALUE_STRING || b.kind == VALUE_STRING) {
        return a.kind == b.kind && str_eq(value_str(a), value_str(b));
    }
    if (is_integral(a)) {
        return is_integral(b)          ? integral(a) == integral(b)
               : b.kind == VALUE_FLOAT ? int_equals_float(integral(a), b.number)
                                       : false;
    }
    if (a.kind == VALUE_FLOAT) {
        return b.kind == VALUE_FLOAT ? a.number == b.number
               : is_integral(b)      ? int_equals_float(integral(b), a.number)
                                     : false;
    }
    if (a.kind != b.kind) {
        return false;
    }
    if (a.kind == VALUE_NULL) {
        return true;
    }
    if (a.kind == VALUE_TUPLE) {
        if (a.list->len != b.list->len) {
            return false;
        }
        for (uint32_t i = 0; i < a.list->len; i++) {
            if (!value_key_equal(a.list->items[i], b.list->items[i])) {
                return false;
            }
        }
        return true;
    }
    return false;
}

static bool is_key(Value v, Walk *walk)
{
    if (v.kind <= VALUE_STRING) {
        return true;
    }
    if (v.kind != VALUE_TUPLE || walk->depth == 0 || walk->visits < v.list->len) {
        return false;
    }
    walk->depth--;
    walk->visits -= v.list->len;
    for (uint32_t i = 0; i < v.list->len; i++) {
        if (!is_key(v.list->items[i], walk)) {
            return false;
        }
    }
    walk->depth++;
    return true;
}

bool value_is_key(Value v)
{
    return is_key(v, &(Walk){ .depth = VALUE_DEPTH_MAX, .visits = VALUE_KEY_ITEMS_MAX });
}

static void index_put(Map *map, uint64_t hash, uint32_t position)
{
    uint32_t slot = (uint32_t)hash & map->index_mask;
    while (map->index[slot] != 0) {
        slot = (slot + 1) & map->index_mask;
    }
    map->index[slot] = (hash & 0xffffffff00000000u) | (position + 1);
}

static void index_build(Arena *arena, Map *map, uint32_t slots)
{
    map->index = ARENA_ARRAY(arena, uint64_t, slots);
    map->index_mask = slots - 1;
    memset(map->index, 0, slots * sizeof(uint64_t));
    for (uint32_t i = 0; i < map->len; i++) {
        index_put(map, value_hash(map->entries[i].key), i);
    }
}

static uint32_t home_slot(const Map *map, uint32_t position)
{
    return (uint32_t)value_hash(map->entries[position].key) & map->index_mask;
}

/* Frees the slot of an entry that is still in place. Later entries of the probe chain that may use
 * the freed slot move there, so that no search ends too early. Then the positions after the entry
 * are decremented. */
static void index_remove(Map *map, uint32_t position)
{
    uint32_t mask = map->index_mask;
    uint32_t hole = home_slot(map, position);
    while ((uint32_t)map->index[hole] != position + 1) {
        hole = (hole + 1) & mask;
    }
    for (uint32_t slot = (hole + 1) & mask; map->index[slot] != 0; slot = (slot + 1) & mask) {
        uint32_t home = home_slot(map, (uint32_t)map->index[slot] - 1);
        if (((slot - home) & mask) >= ((slot - hole) & mask)) {
            map->index[hole] = map->index[slot];
            hole = slot;
        }
    }
    map->index[hole] = 0;
    if (position + 1 < map->len) {
        for (uint32_t slot = 0; slot <= mask; slot++) {
            map->index[slot] -= (uint32_t)map->index[slot] > position + 1;
        }
    }
}

static MapEntry *find_hashed(const Map *map, uint64_t hash, Value key)
{
    uint32_t slot = (uint32_t)hash & map->index_mask;
    for (;; slot = (slot + 1) & map->index_mask) {
        uint64_t found = map->index[slot];
        if (found == 0) {
            return NULL;
        }
        if ((found ^ hash) >> 32 == 0) {
            MapEntry *entry = &map->entries[(uint32_t)found - 1];
            if (value_key_equal(entry->key, key)) {
                return entry;
            }
        }
    }
}

uint32_t map_index(Arena *arena, Map *map)
{
    uint32_t slots = 4 * MAP_LINEAR;
    while (slots < 2 * (uint64_t)map->len) {
        slots *= 2;
    }
    map->index = ARENA_ARRAY(arena, uint64_t, slots);
    map->index_mask = slots - 1;
    memset(map->index, 0, slots * sizeof(uint64_t));
    uint32_t duplicate = map->len;
    for (uint32_t i = 0; i < map->len; i++) {
        Value key = map->entries[i].key;
        uint64_t hash = value_hash(key);
        if (LIKELY(find_hashed(map, hash, key) == NULL)) {
            index_put(map, hash, i);
        } else if (duplicate == map->len) {
            duplicate = i;
        }
    }
    return duplicate;
}

static MapEntry *find_linear(const Map *map, Str key)
{
    for (uint32_t i = 0; i < map->len; i++) {
        const Value *own = &map->entries[i].key;
        if (own->kind == VALUE_STRING && own->len == key.len &&
            (own->text == key.data || str_eq(value_str(*own), key))) {
            return &map->entries[i];
        }
    }
    return NULL;
}

MapEntry *map_find_str(const Map *map, Str key)
{
    if (map->index != NULL) {
        return find_hashed(map, hash_str(key), value_string(key));
    }
    return find_linear(map, key);
}

MapEntry *map_find_str_hashed(const Map *map, Str key, uint64_t hash)
{
    if (map->index != NULL) {
        return find_hashed(map, hash, value_string(key));
    }
    return find_linear(map, key);
}

MapEntry *map_find(const Map *map, Value key)
{
    if (key.kind == VALUE_STRING) {
        return map_find_str(map, value_str(key));
    }
    if (map->index != NULL) {
        return find_hashed(map, value_hash(key), key);
    }
    for (uint32_t i = 0; i < map->len; i++) {
        if (value_key_equal(map->entries[i].key, key)) {
            return &map->entries[i];
        }
    }
    return NULL;
}

/* Sized for the full capacity: a map whose size is known in advance never builds its index
 * twice. */
static uint32_t index_slots(const Map *map)
{
    uint32_t slots = 4 * MAP_LINEAR;
    while (slots / 2 < map->cap) {
        slots *= 2;
    }
    return slots;
}

static MapEntry *append_entry(Arena *arena, Map *map, Value key, Value value)
{
    if (UNLIKELY(map->len == map->cap)) {
        BUG_IF(map->cap > UINT32_MAX / 8); /* the index has up to four slots per entry */
        uint32_t cap = map->cap == 0 ? 4 : map->cap * 2;
        map->entries =
            arena_grow(arena, map->entries, map->cap * sizeof(MapEntry), cap * sizeof(MapEntry));
        map->cap = cap;
    }
    MapEntry *entry = &map->entries[map->len++];
    *entry = (MapEntry){ key, value };
    return entry;
}

/* `hash` is that of the key, and used only if there is an index. */
static void index_append(Arena *arena, Map *map, uint64_t hash)
{
    if (map->index == NULL && map->len <= MAP_LINEAR) {
        return;
    }
    /* At most half full, so that probe chains stay short. */
    if (map->index == NULL || map->len * 2 > map->index_mask + 1) {
        index_build(arena, map, index_slots(map));
    } else {
        index_put(map, hash, map->len - 1);
    }
}

MapEntry *map_append(Arena *arena, Map *map, Value key, Value value)
{
    MapEntry *entry = append_entry(arena, map, key, value);
    index_append(arena, map, map->index == NULL ? 0 : value_hash(key));
    return entry;
}

MapEntry *map_add(Arena *arena, Map *map, Value key, Value value)
{
    uint64_t hash = map->index == NULL ? 0 : value_hash(key);
    MapEntry *found = map->index == NULL ? map_find(map, key) : find_hashed(map, hash, key);
    if (found == NULL) {
        append_entry(arena, map, key, value);
        index_append(arena, map, hash);
    }
    return found;
}

static bool keys_are_unique(const MapEntry *entries, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        Value key = entries[i].key;
        for (uint32_t j = 0; j < i; j++) {
            const Value *before = &entries[j].key;
            bool strings = key.kind == VALUE_STRING && before->kind == VALUE_STRING;
            if (strings ? before->len == key.len && memcmp(before->text, key.text, key.len) == 0
                        : value_key_equal(*before, key)) {
                return false;
            }
        }
    }
    return true;
}

/* Adds every entry to the new index; returns false at the first duplicate key. */
static bool index_unique(Map *map)
{
    for (uint32_t i = 0; i < map->len; i++) {
        Value key = map->entries[i].key;
        uint64_t hash = value_hash(key);
        uint32_t slot = (uint32_t)hash & map->index_mask;
        for (; map->index[slot] != 0; slot = (slot + 1) & map->index_mask) {
            uint64_t found = map->index[slot];
            if ((found ^ hash) >> 32 == 0 &&
                value_key_equal(map->entries[(uint32_t)found - 1].key, key)) {
                return false;
            }
        }
        map->index[slot] = (hash & 0xffffffff00000000u) | (i + 1);
    }
    return true;
}

Map *map_from_entries(Arena *arena, const MapEntry *entries, uint32_t count)
{
    Map *map = map_new(arena, count);
    if (count == 0) {
        return map;
    }
    memcpy(map->entries, entries, count * sizeof *entries);
    map->len = count;
    if (count <= MAP_LINEAR) {
        return keys_are_unique(map->entries, count) ? map : NULL;
    }
    uint32_t slots = index_slots(map);
    map->index = memset(ARENA_ARRAY(arena, uint64_t, slots), 0, slots * sizeof(uint64_t));
    map->index_mask = slots - 1;
    return index_unique(map) ? map : NULL;
}

MapEntry *map_set(Arena *arena, Map *map, Value key, Value value)
{
    MapEntry *entry = map_find(map, key);
    if (entry != NULL) {
        entry->value = value;
        return entry;
    }
    return map_append(arena, map, key, value);
}

bool map_remove(Map *map, Value key)
{
    MapEntry *entry = map_find(map, key);
    if (entry == NULL) {
        return false;
    }
    if (map->index != NULL) {
        index_remove(map, (uint32_t)(entry - map->entries));
    }
    size_t after = (size_t)(map->entries + map->len - (entry + 1));
    memmove(entry, entry + 1, after * sizeof *entry);
    map->len--;
    return true;
}

const Value *value_get(Value map, Str key)
{
    if (map.kind != VALUE_MAP) {
        return NULL;
    }
    const MapEntry *entry = map_find_str(map.map, key);
    return entry == NULL ? NULL : &entry->value;
}

static const Value *get_kind(Value map, const char *key, ValueKind kind)
{
    const Value *value = value_get(map, str_from_c(key));
    return value != NULL && value->kind == kind ? value : NULL;
}

Str value_get_text(Value map, const char *key)
{
    const Value *value = get_kind(map, key, VALUE_STRING);
    return value != NULL ? value_str(*value) : STR_EMPTY;
}

int64_t value_get_int(Value map, const char *key)
{
    const Value *value = get_kind(map, key, VALUE_INT);
    return value != NULL ? value->integer : 0;
}

bool value_get_bool(Value map, const char *key)
{
    const Value *value = get_kind(map, key, VALUE_BOOL);
    return value != NULL && value->boolean;
}

const List *value_get_list(Value map, const char *key)
{
    static const List none = { 0 };
    const Value *value = get_kind(map, key, VALUE_LIST);
    return value != NULL ? value->list : &none;
}

Value value_get_map(Value map, const char *key)
{
    const Value *value = get_kind(map, key, VALUE_MAP);
    return value != NULL ? *value : value_null();
}

Str value_original(const Sources *sources, Value v)
{
    const Source *source = sources_get(sources, v.source);
    if (source == NULL) {
        return STR_EMPTY;
    }
    return str_slice(source->text, v.start, (size_t)v.start + v.span);
}

/* Stops if the budget is exhausted: shared children are copied once per use, which may exceed any
 * amount of memory. */
static Value copy(Arena *arena, Value v, unsigned depth)
{
    if (depth > VALUE_DEPTH_MAX) {
        arena->over_budget = true;
    }
    if (arena_exceeded(arena)) {
        return value_null();
    }
    switch (v.kind) {
    case VALUE_STRING: v.text = arena_copy(arena, value_str(v)).data; return v;
    case VALUE_LIST:
    case VALUE_TUPLE: {
        List *list = list_new(arena, v.list->len);
        for (uint32_t i = 0; i < v.list->len && !arena_exceeded(arena); i++) {
            list_push(arena, list, copy(arena, v.list->items[i], depth + 1));
        }
        v.list = list;
        return v;
    }
    case VALUE_MAP: {
        Map *map = map_new(arena, v.map->len);
        for (uint32_t i = 0; i < v.map->len && !arena_exceeded(arena); i++) {
            map_append(arena, map, copy(arena, v.map->entries[i].key, depth + 1),
                       copy(arena, v.map->entries[i].value, depth + 1));
        }
        v.map = map;
        return v;
    }
    default: return v;
    }
}

Value value_copy(Arena *arena, Value v)
{
    return copy(arena, v, 0);
}

/* Both freeze a container and return whether it contains a secret. One that is visited again before
 * it is finished contains itself; it counts as secret, because that cannot be determined from
 * inside. */
static bool freeze(Value v, unsigned depth);

static bool freeze_list(List *list, unsigned depth)
{
    if (list->frozen) {
        return list->secrets != SECRETS_ABSENT;
    }
    list->frozen = true;
    list->secrets = SECRETS_UNKNOWN;
    bool found = false;
    for (uint32_t i = 0; i < list->len; i++) {
        found |= freeze(list->items[i], depth + 1);
    }
    list->secrets = found ? SECRETS_PRESENT : SECRETS_ABSENT;
    return found;
}

static bool freeze_map(Map *map, unsigned depth)
{
    if (map->frozen) {
        return map->secrets != SECRETS_ABSENT;
    }
    map->frozen = true;
    map->secrets = SECRETS_UNKNOWN;
    bool found = false;
    for (uint32_t i = 0; i < map->len; i++) {
        found |= freeze(map->entries[i].key, depth + 1);
        found |= freeze(map->entries[i].value, depth + 1);
    }
    map->secrets = found ? SECRETS_PRESENT : SECRETS_ABSENT;
    return found;
}

static bool freeze(Value v, unsigned depth)
{
    bool found = depth > VALUE_DEPTH_MAX ? true
                 : value_is_sequence(v)  ? freeze_list(v.list, depth)
                 : v.kind == VALUE_MAP   ? freeze_map(v.map, depth)
                                         : false;
    return found || value_is_secret(v);
}

void value_freeze(Value v)
{
    freeze(v, 0);
}
