/* Entries are in an array in insertion order; a table of positions with linear probing finds them.
 * A removed entry leaves a hole that its slot still points to, so that probing skips it; holes are
 * dropped when the table is full and has to be rebuilt anyway. */
#include "base/str_map.h"

#include "base/bug.h"
#include "base/hash.h"

const char hash_anchor = 0;

enum {
    FIRST_CAPACITY = 8
};

void str_map_init(StrMap *map, Arena *arena)
{
    *map = (StrMap){ .arena = arena };
}

static bool is_hole(const StrMapEntry *entry)
{
    return entry->key.data == NULL;
}

static void slot_put(StrMap *map, uint64_t hash, uint32_t position)
{
    uint32_t mask = map->cap * 2 - 1;
    uint32_t slot = (uint32_t)hash & mask;
    while (map->slots[slot] != 0) {
        slot = (slot + 1) & mask;
    }
    map->slots[slot] = position + 1;
}

/* Removes holes, and doubles the capacity unless that is sufficient. */
static void rebuild(StrMap *map)
{
    if (map->count >= map->cap / 2) {
        BUG_IF(map->cap > UINT32_MAX / 4);
        uint32_t cap = map->cap == 0 ? FIRST_CAPACITY : map->cap * 2;
        StrMapEntry *entries = ARENA_ARRAY(map->arena, StrMapEntry, cap);
        if (map->used > 0) {
            memcpy(entries, map->entries, map->used * sizeof *entries);
        }
        map->entries = entries;
        map->slots = ARENA_ARRAY(map->arena, uint32_t, (size_t)cap * 2);
        map->cap = cap;
    }
    memset(map->slots, 0, (size_t)map->cap * 2 * sizeof *map->slots);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < map->used; i++) {
        if (!is_hole(&map->entries[i])) {
            map->entries[kept] = map->entries[i];
            slot_put(map, map->entries[kept].hash, kept);
            kept++;
        }
    }
    map->used = kept;
}

static StrMapEntry *find(const StrMap *map, uint64_t hash, Str key)
{
    if (map->cap == 0) {
        return NULL;
    }
    uint32_t mask = map->cap * 2 - 1;
    for (uint32_t slot = (uint32_t)hash & mask; map->slots[slot] != 0; slot = (slot + 1) & mask) {
        StrMapEntry *entry = &map->entries[map->slots[slot] - 1];
        if (entry->hash == hash && !is_hole(entry) && str_eq(entry->key, key)) {
            return entry;
        }
    }
    return NULL;
}

bool str_map_put(StrMap *map, Str key, void *value)
{
    uint64_t hash = hash_str(key);
    StrMapEntry *entry = find(map, hash, key);
    if (entry != NULL) {
        entry->value = value;
        return false;
    }
    if (map->used == map->cap) {
        rebuild(map);
    }
    if (key.data == NULL) {
        key = STR_EMPTY; /* must not look like a hole */
    }
    map->entries[map->used] = (StrMapEntry){ .key = key, .value = value, .hash = hash };
    slot_put(map, hash, map->used);
    map->used++;
    map->count++;
    return true;
}

void *str_map_find(const StrMap *map, Str key)
{
    StrMapEntry *entry = find(map, hash_str(key), key);
    return entry == NULL ? NULL : entry->value;
}

bool str_map_has(const StrMap *map, Str key)
{
    return find(map, hash_str(key), key) != NULL;
}

bool str_map_remove(StrMap *map, Str key)
{
    StrMapEntry *entry = find(map, hash_str(key), key);
    if (entry == NULL) {
        return false;
    }
    *entry = (StrMapEntry){ .hash = entry->hash };
    map->count--;
    return true;
}

StrMapEntry *str_map_next(const StrMap *map, uint32_t *pos)
{
    while (*pos < map->used) {
        StrMapEntry *entry = &map->entries[(*pos)++];
        if (!is_hole(entry)) {
            return entry;
        }
    }
    return NULL;
}
