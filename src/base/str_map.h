/* A map from strings to pointers that preserves insertion order, in an arena.
 *
 * Keys are borrowed: their bytes must live as long as the map (arena_copy them if in doubt). Values
 * belong to the caller; NULL is a valid value. Removal preserves the order and costs as much as a
 * lookup. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

typedef struct StrMapEntry {
    Str key; /* data is NULL in the hole left by a removed entry */
    void *value;
    uint64_t hash;
} StrMapEntry;

typedef struct StrMap {
    Arena *arena;
    StrMapEntry *entries;
    uint32_t *slots; /* position + 1 in entries; 0 is free */
    uint32_t count;  /* number of keys */
    uint32_t used;   /* number of entries, including holes */
    uint32_t cap;    /* capacity of entries; there are twice as many slots */
} StrMap;

void str_map_init(StrMap *map, Arena *arena);

/* Sets the value of `key`; returns true if the key is new. New keys are appended, existing ones
 * keep their position. */
bool str_map_put(StrMap *map, Str key, void *value);

/* The value, or NULL if the key is absent. */
void *str_map_find(const StrMap *map, Str key);
bool str_map_has(const StrMap *map, Str key);
bool str_map_remove(StrMap *map, Str key); /* returns whether it was in the map */

/* Iterates in insertion order: start with `*pos` 0; returns NULL at the end. No keys may be added
 * during the iteration, but the current entry may be removed. */
StrMapEntry *str_map_next(const StrMap *map, uint32_t *pos);
