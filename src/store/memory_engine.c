/* Three sorted arrays of pointers. Every change records how to undo it; commit discards these
 * records. Nothing here can fail except memory allocation, which aborts. */
#include "store/engine.h"

#include <stdlib.h>

#include "base/memory.h"
#include "store/request.h"

typedef struct MemoryKey {
    KeyRow row; /* the key is in the same allocation */
} MemoryKey;

typedef struct MemoryChange {
    ChangeRow row; /* key and value are in the same allocation */
    size_t bytes;
} MemoryChange;

typedef struct MemoryLease {
    int64_t id, ttl_s;
} MemoryLease;

typedef struct SortedArray {
    void **items;
    size_t count, cap;
} SortedArray;

typedef enum UndoKind {
    UNDO_KEY, /* restore the previous row; NULL in `key`: delete the row with the same name as `now` */
    UNDO_ADD,    /* remove change `id` */
    UNDO_DROP,   /* restore `change` */
    UNDO_GRANT,  /* remove lease `id` */
    UNDO_REVOKE, /* restore the lease */
    UNDO_STATE,
} UndoKind;

typedef struct Undo {
    UndoKind kind;
    MemoryKey *key, *now;
    MemoryChange *change;
    MemoryLease *lease;
    int64_t id;
    EngineState state;
} Undo;

typedef struct MemoryEngine {
    Engine engine;
    SortedArray keys, changes, leases;
    EngineState state;
    size_t bytes;
    Undo *undos;
    size_t undo_count, undo_cap;
    size_t mark;
} MemoryEngine;

static void *allocate(size_t size)
{
    void *memory = malloc(size);
    if (memory == NULL) {
        memory_exhausted(size);
    }
    return memory;
}

static void *grow(void *items, size_t *cap, size_t size)
{
    *cap = *cap == 0 ? 16 : *cap * 2;
    void *grown = reallocarray(items, *cap, size);
    if (grown == NULL) {
        memory_exhausted(*cap * size);
    }
    return grown;
}

static void sorted_insert(SortedArray *sorted, size_t at, void *item)
{
    if (sorted->count == sorted->cap) {
        sorted->items = grow(sorted->items, &sorted->cap, sizeof(void *));
    }
    memmove(sorted->items + at + 1, sorted->items + at, (sorted->count - at) * sizeof(void *));
    sorted->items[at] = item;
    sorted->count++;
}

static void *sorted_remove(SortedArray *sorted, size_t at)
{
    void *item = sorted->items[at];
    sorted->count--;
    memmove(sorted->items + at, sorted->items + at + 1, (sorted->count - at) * sizeof(void *));
    return item;
}

/* Index of the first item that is not smaller; keys are compared by name, others by ID. */
static size_t key_index(const MemoryEngine *memory, Str key, bool *found)
{
    size_t low = 0, high = memory->keys.count;
    *found = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = str_compare(((MemoryKey *)memory->keys.items[middle])->row.key, key);
        *found |= order == 0;
        *(order < 0 ? &low : &high) = order < 0 ? middle + 1 : middle;
    }
    return low;
}

static size_t change_index(const MemoryEngine *memory, int64_t id, bool *found)
{
    size_t low = 0, high = memory->changes.count;
    *found = false;
    /* Usually the newest change. */
    if (high > 0 && ((MemoryChange *)memory->changes.items[high - 1])->row.id < id) {
        return high;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int64_t other = ((MemoryChange *)memory->changes.items[middle])->row.id;
        *found |= other == id;
        *(other < id ? &low : &high) = other < id ? middle + 1 : middle;
    }
    return low;
}

static size_t lease_index(const MemoryEngine *memory, int64_t id, bool *found)
{
    size_t low = 0, high = memory->leases.count;
    *found = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int64_t other = ((MemoryLease *)memory->leases.items[middle])->id;
        *found |= other == id;
        *(other < id ? &low : &high) = other < id ? middle + 1 : middle;
    }
    return low;
}

static void record_undo(MemoryEngine *memory, Undo undo)
{
    if (memory->undo_count == memory->undo_cap) {
        memory->undos = grow(memory->undos, &memory->undo_cap, sizeof(Undo));
    }
    memory->undos[memory->undo_count++] = undo;
}

/* --- Transactions ---------------------------------------------------------------------------- */

static void undo_one(MemoryEngine *memory, Undo *undo)
{
    bool found;
    switch (undo->kind) {
    case UNDO_KEY: {
        Str key = undo->now != NULL ? undo->now->row.key : undo->key->row.key;
        size_t at = key_index(memory, key, &found);
        if (found) {
            sorted_remove(&memory->keys, at);
        }
        if (undo->key != NULL) {
            sorted_insert(&memory->keys, at, undo->key);
        }
        free(undo->now);
        break;
    }
    case UNDO_ADD: {
        MemoryChange *change =
            sorted_remove(&memory->changes, change_index(memory, undo->id, &found));
        memory->bytes -= change->bytes;
        free(change);
        break;
    }
    case UNDO_DROP:
        memory->bytes += undo->change->bytes;
        sorted_insert(&memory->changes, change_index(memory, undo->change->row.id, &found),
                      undo->change);
        break;
    case UNDO_GRANT:
        free(sorted_remove(&memory->leases, lease_index(memory, undo->id, &found)));
        break;
    case UNDO_REVOKE:
        sorted_insert(&memory->leases, lease_index(memory, undo->lease->id, &found), undo->lease);
        break;
    case UNDO_STATE: memory->state = undo->state; break;
    }
}

static void undo_to(MemoryEngine *memory, size_t count)
{
    while (memory->undo_count > count) {
        undo_one(memory, &memory->undos[--memory->undo_count]);
    }
}

static bool memory_begin(Engine *engine, bool writing, Error *err)
{
    return true;
}

static bool memory_commit(Engine *engine, Error *err)
{
    MemoryEngine *memory = (MemoryEngine *)engine;
    for (size_t i = 0; i < memory->undo_count; i++) {
        Undo *undo = &memory->undos[i];
        free(undo->kind == UNDO_KEY ? (void *)undo->key : NULL);
        free(undo->kind == UNDO_DROP ? (void *)undo->change : NULL);
        free(undo->kind == UNDO_REVOKE ? (void *)undo->lease : NULL);
    }
    memory->undo_count = 0;
    return true;
}

static void memory_rollback(Engine *engine)
{
    undo_to((MemoryEngine *)engine, 0);
}

static bool memory_mark(Engine *engine, Error *err)
{
    MemoryEngine *memory = (MemoryEngine *)engine;
    memory->mark = memory->undo_count;
    return true;
}

static bool memory_keep(Engine *engine, Error *err)
{
    return true;
}

static bool memory_undo(Engine *engine, Error *err)
{
    MemoryEngine *memory = (MemoryEngine *)engine;
    undo_to(memory, memory->mark);
    return true;
}

/* --- State ----------------------------------------------------------------------------------- */

static bool memory_get_state(Engine *engine, EngineState *out, Error *err)
{
    MemoryEngine *memory = (MemoryEngine *)engine;
    *out = memory->state;
    out->revision = 0;
    if (memory->changes.count > 0) {
        const MemoryChange *last = memory->changes.items[memory->changes.count - 1];
        out->revision = id_revision(last->row.id);
    }
    return true;
}

static bool memory_set_state(Engine *engine, const EngineState *state, Error *err)
{
    MemoryEngine *memory = (MemoryEngine *)engine;
    record_undo(memory, (Undo){ UNDO_STATE, .state = memory->state });
    memory->state = *state;
    return true;
}

/* --- Keys ------------------------------------------------------------------------------------ */

static bool memory_find_key(Engine *engine, Str key, KeyRow *out, Error *err)
{
    MemoryEngine *memory = (MemoryEngine *)engine;
    bool found;
    size_t at = key_index(memory, key, &found);
    *out = found ? ((MemoryKey *)memory->keys.items[at])->row : (KeyRow){ 0 };
    out->key = key;
    return true;
}

static bool memory_walk_keys(Engine *engine, const KeyWalk *walk, KeyVisit *visit, void *context,
                             Error *err)
{
    MemoryEngine *memory = (MemoryEngine *)engine;
    bool found;
    size_t first = walk->lease != 0 ? 0 : key_index(memory, walk->key, &found);
    size_t end = memory->keys.count;
    if (walk->lease == 0 && !str_eq(walk->end, STORE_ALL)) {
        end = key_index(memory, walk->end, &found);
    }
    for (size_t i = first; i < end; i++) {
        const MemoryKey *key = memory->keys.items[walk->descending ? first + end - 1 - i : i];
        if (walk->lease != 0 && key->row.lease != walk->lease) {
            continue;
        }
        if (!visit(context, &key->row)) {
            break;
        }
    }
    return true;
}

static bool memory_set_key(Engine *engine, const KeyRow *row, Error *err)
{
    MemoryEngine *memory = (MemoryEngine *)engine;
    MemoryKey *key = allocate(sizeof *key + row->key.len);
    key->row = *row;
    key->row.key = str_from((char *)(key + 1), row->key.len);
    memcpy(key + 1, row->key.data, row->key.len);
    bool found;
    size_t at = key_index(memory, row->key, &found);
    Undo undo = { UNDO_KEY, .key = found ? memory->keys.items[at] : NULL, .now = key };
    if (found) {
        memory->keys.items[at] = key;
    } else {
        sorted_insert(&memory->keys, at, key);
    }
    record_undo(memory, undo);
    return true;
}

static bool memory_drop_key(Engine *engine, Str key, Error *err)
{
    MemoryEngine *memory = (MemoryEngine *)engine;
    bool found;
    size_t at = key_index(memory, key, &found);
    if (found) {
        record_undo(memory, (Undo){ UNDO_KEY, .key = sorted_remove(&memory->keys, at) });
    }
    return true;
}

/* --- Changes --------------------------------------------------------------------------------- */

static bool memory_get_change(Engine *engine, int64_t id, ChangeRow *out, Error *err)
{
    MemoryEngine *memory = (MemoryEngine *)engine;
    bool found;
    size_t at = change_index(memory, id, &found);
    *out = found ? ((MemoryChange *)memory->changes.items[at])->row : (ChangeRow){ 0 };
    return true;
}

static bool memory_walk_changes(Engine *engine, int64_t from_id, ChangeVisit *visit, void *context,
                                Error *err)
{
    MemoryEngine *memory = (MemoryEngine *)engine;
    bool found;
    for (size_t i = change_index(memory, from_id, &found); i < memory->changes.count; i++) {
        if (!visit(context, &((MemoryChange *)memory->changes.items[i])->row)) {
            break;
        }
    }
    return true;
}

static bool memory_walk_sizes(Engine *engine, int64_t from_id, SizeVisit *visit, void *context,
                              Error *err)
{
    MemoryEngine *memory = (MemoryEngine *)engine;
    bool found;
    for (size_t i = change_index(memory, from_id, &found); i < memory->changes.count; i++) {
        const ChangeRow *row = &((MemoryChange *)memory->changes.items[i])->row;
        if (!visit(context, row->id, (int64_t)(row->key.len + row->value.len) + CHANGE_OVERHEAD)) {
            break;
        }
    }
    return true;
}

static bool memory_add_change(Engine *engine, const ChangeRow *row, Error *err)
{
    MemoryEngine *memory = (MemoryEngine *)engine;
    size_t bytes = sizeof(MemoryChange) + row->key.len + row->value.len;
    MemoryChange *change = allocate(bytes);
    char *text = (char *)(change + 1);
    change->row = *row;
    change->bytes = bytes;
    change->row.key = str_from(text, row->key.len);
    memcpy(text, row->key.data, row->key.len);
    change->row.value = str_from(text + row->key.len, row->value.len);
    if (row->value.len > 0) {
        memcpy(text + row->key.len, row->value.data, row->value.len);
    }
    bool found;
    sorted_insert(&memory->changes, change_index(memory, row->id, &found), change);
    memory->bytes += bytes;
    record_undo(memory, (Undo){ UNDO_ADD, .id = row->id });
    return true;
}

static bool memory_drop_change(Engine *engine, int64_t id, Error *err)
{
    MemoryEngine *memory = (MemoryEngine *)engine;
    bool found;
    size_t at = change_index(memory, id, &found);
    if (found) {
        MemoryChange *change = sorted_remove(&memory->changes, at);
        memory->bytes -= change->bytes;
        record_undo(memory, (Undo){ UNDO_DROP, .change = change });
    }
    return true;
}

/* --- Leases ---------------------------------------------------------------------------------- */

static bool memory_has_lease(Engine *engine, int64_t id, bool *out, Error *err)
{
    lease_index((MemoryEngine *)engine, id, out);
    return true;
}

static bool memory_add_lease(Engine *engine, int64_t id, int64_t ttl_s, Error *err)
{
    MemoryEngine *memory = (MemoryEngine *)engine;
    MemoryLease *lease = allocate(sizeof *lease);
    *lease = (MemoryLease){ id, ttl_s };
    bool found;
    sorted_insert(&memory->leases, lease_index(memory, id, &found), lease);
    record_undo(memory, (Undo){ UNDO_GRANT, .id = id });
    return true;
}

static bool memory_drop_lease(Engine *engine, int64_t id, Error *err)
{
    MemoryEngine *memory = (MemoryEngine *)engine;
    bool found;
    size_t at = lease_index(memory, id, &found);
    if (found) {
        record_undo(memory, (Undo){ UNDO_REVOKE, .lease = sorted_remove(&memory->leases, at) });
    }
    return true;
}

static bool memory_walk_leases(Engine *engine, LeaseVisit *visit, void *context, Error *err)
{
    MemoryEngine *memory = (MemoryEngine *)engine;
    for (size_t i = 0; i < memory->leases.count; i++) {
        const MemoryLease *lease = memory->leases.items[i];
        visit(context, lease->id, lease->ttl_s);
    }
    return true;
}

/* --- Lifecycle ------------------------------------------------------------------------------- */

static void memory_trim(Engine *engine)
{
}

static int64_t memory_free_bytes(Engine *engine)
{
    return 0;
}

static int64_t memory_bytes(Engine *engine)
{
    return (int64_t)((MemoryEngine *)engine)->bytes;
}

static void sorted_clear(SortedArray *sorted)
{
    for (size_t i = 0; i < sorted->count; i++) {
        free(sorted->items[i]);
    }
    free(sorted->items);
}

static void memory_close(Engine *engine)
{
    MemoryEngine *memory = (MemoryEngine *)engine;
    undo_to(memory, 0);
    sorted_clear(&memory->keys);
    sorted_clear(&memory->changes);
    sorted_clear(&memory->leases);
    free(memory->undos);
    free(memory);
}

static const EngineKind memory_kind = {
    .begin = memory_begin,
    .commit = memory_commit,
    .rollback = memory_rollback,
    .mark = memory_mark,
    .keep = memory_keep,
    .undo = memory_undo,
    .get_state = memory_get_state,
    .set_state = memory_set_state,
    .find_key = memory_find_key,
    .walk_keys = memory_walk_keys,
    .set_key = memory_set_key,
    .drop_key = memory_drop_key,
    .get_change = memory_get_change,
    .walk_changes = memory_walk_changes,
    .walk_sizes = memory_walk_sizes,
    .add_change = memory_add_change,
    .drop_change = memory_drop_change,
    .has_lease = memory_has_lease,
    .add_lease = memory_add_lease,
    .drop_lease = memory_drop_lease,
    .walk_leases = memory_walk_leases,
    .trim = memory_trim,
    .bytes = memory_bytes,
    .free_bytes = memory_free_bytes,
    .close = memory_close,
};

Engine *memory_engine_new(void)
{
    MemoryEngine *memory = memory_new(sizeof *memory);
    memory->engine.kind = &memory_kind;
    return &memory->engine;
}
