/* The storage of a backend: current keys, the log of all changes, leases. Functions block, and may
 * only be called by the thread that currently owns the engine.
 *
 * A change has an id: its revision and its number within the revision, so ids increase with time.
 * The row of a key has the id of its last change; a deleted key remains as a row with version 0
 * until its deletion is purged. Each change contains the id of the previous change to the same key.
 * So each value is stored once, and past values are read by following these ids. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

enum {
    ID_BITS = 20 /* the low bits of an ID are the number within the revision */
};

static inline int64_t id_make(int64_t revision, int64_t number)
{
    return revision << ID_BITS | number;
}
/* Approximate size of a change in addition to its key and value. */
enum {
    CHANGE_OVERHEAD = 64
};

static inline int64_t id_revision(int64_t id)
{
    return id >> ID_BITS;
}

typedef struct KeyRow {
    Str key;
    int64_t id; /* 0: no such row */
    int64_t version, create_revision, lease;
} KeyRow;

typedef struct ChangeRow {
    int64_t id;
    Str key;
    Str value;
    bool deleted;
    int64_t version, create_revision, lease;
    int64_t before; /* id of the previous change; 0: none. It may have been purged since */
} ChangeRow;

typedef struct EngineState {
    int64_t revision;
    int64_t compacted; /* earlier revisions can no longer be read or watched from */
    int64_t purged;    /* unreachable rows are removed up to this id */
    /* Only used by the writer: */
    int64_t log_bytes; /* size of the changes after `compacted` */
    int64_t log_start; /* size of the changes that were compacted since the store was opened */
} EngineState;

typedef struct KeyWalk {
    Str key, end; /* range of keys; see StoreOp */
    bool descending;
    int64_t lease; /* if not 0: all keys of this lease, in any order */
} KeyWalk;

/* Returns false to stop. Rows are valid during the call. It must not modify the engine. */
typedef bool KeyVisit(void *context, const KeyRow *row);
typedef bool ChangeVisit(void *context, const ChangeRow *row);
typedef bool SizeVisit(void *context, int64_t id, int64_t bytes);
typedef void LeaseVisit(void *context, int64_t id, int64_t ttl_s);

typedef struct Engine Engine;

typedef struct EngineKind {
    /* All functions below require a transaction (begin to commit or rollback), and see a consistent
     * snapshot. */
    bool (*begin)(Engine *engine, bool writing, Error *err);
    /* Durable if it returns true; otherwise nothing was changed. */
    bool (*commit)(Engine *engine, Error *err);
    void (*rollback)(Engine *engine);
    /* A savepoint, which can be rolled back separately. */
    bool (*mark)(Engine *engine, Error *err);
    bool (*keep)(Engine *engine, Error *err);
    bool (*undo)(Engine *engine, Error *err);

    bool (*get_state)(Engine *engine, EngineState *out, Error *err);
    /* Saves only `compacted` and `purged`: the revision is derived from the log. */
    bool (*set_state)(Engine *engine, const EngineState *state, Error *err);

    bool (*find_key)(Engine *engine, Str key, KeyRow *out, Error *err); /* `out->key` is `key` */
    bool (*walk_keys)(Engine *engine, const KeyWalk *walk, KeyVisit *visit, void *context,
                      Error *err);
    bool (*set_key)(Engine *engine, const KeyRow *row, Error *err);
    bool (*drop_key)(Engine *engine, Str key, Error *err);

    /* `out` is valid until the next get_change or write; its id is 0 if there is none. */
    bool (*get_change)(Engine *engine, int64_t id, ChangeRow *out, Error *err);
    bool (*walk_changes)(Engine *engine, int64_t from_id, ChangeVisit *visit, void *context,
                         Error *err);
    /* Sizes without reading values. */
    bool (*walk_sizes)(Engine *engine, int64_t from_id, SizeVisit *visit, void *context,
                       Error *err);
    bool (*add_change)(Engine *engine, const ChangeRow *row, Error *err);
    bool (*drop_change)(Engine *engine, int64_t id, Error *err);

    bool (*has_lease)(Engine *engine, int64_t id, bool *out, Error *err);
    bool (*add_lease)(Engine *engine, int64_t id, int64_t ttl_s, Error *err);
    bool (*drop_lease)(Engine *engine, int64_t id, Error *err);
    bool (*walk_leases)(Engine *engine, LeaseVisit *visit, void *context, Error *err);

    /* Called by the writer outside of transactions, once callers are notified. */
    void (*trim)(Engine *engine);
    int64_t (*bytes)(Engine *engine);
    int64_t (*free_bytes)(Engine *engine); /* free bytes inside its file */
    void (*close)(Engine *engine);
} EngineKind;

struct Engine {
    const EngineKind *kind;
    /* Writing is impossible until the store is reopened; the reason is in `broken_text`. */
    bool broken;
    bool full; /* the last failure was a full disk */
    /* The disk is nearly full, so files next to the database must stay small. */
    bool is_low_on_space;
    bool lost; /* the reason: its files were removed or replaced */
    char broken_text[200];
};

/* An in-memory engine, for simulation and tests. */
Engine *memory_engine_new(void);
