/* A map from strings to pointers that keeps the order of insertion, in an arena.
 *
 * Keys are borrowed: their bytes must live as long as the map (arena_copy them when in doubt).
 * Values are the caller's; NULL is a value like any other. Removing keeps the order and costs
 * the same as finding. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

typedef struct StrMapEntry {
    Str key; /* data is NULL in the hole that a removed entry leaves */
    void *value;
    uint64_t hash;
} StrMapEntry;

typedef struct StrMap {
    Arena *arena;
    StrMapEntry *entries;
    uint32_t *slots; /* position + 1 in entries; 0 is free */
    uint32_t count;  /* keys in the map */
    uint32_t used;   /* entries in use, holes included */
    uint32_t cap;    /* of entries; slots are twice as many */
} StrMap;

void str_map_init(StrMap *map, Arena *arena);

/* Sets the value under `key`; true when the key is new. A new key goes to the end, a known one
 * keeps its position. */
bool str_map_put(StrMap *map, Str key, void *value);

/* The value, or NULL when the key is absent. */
void *str_map_find(const StrMap *map, Str key);
bool str_map_has(const StrMap *map, Str key);
bool str_map_remove(StrMap *map, Str key); /* true when it was there */

/* Walks in order of insertion: start with `*at` 0; NULL at the end. The map must not get new keys
 * meanwhile, but the entry just given may be removed. */
StrMapEntry *str_map_next(const StrMap *map, uint32_t *at);
