/* Executes requests on an engine: the semantics of the store, the same for every backend. For the
 * thread that owns the engine, within a transaction. */
#pragma once

#include "base/vec.h"
#include "store/engine.h"
#include "store/history.h"
#include "store/store.h"

typedef VEC(StoreEvent) StoreEvents;

/* The changes of a request. */
typedef struct Changes {
    StoreEvents events;
    size_t bytes;
    bool cut; /* too many changes for memory: they are only in the log */
} Changes;

enum {
    CHANGES_BYTES = 4 * 1024 * 1024,
    SCAN_ROWS = 5000,
};

/* Increments the revision of `state` if something changed. After a failure the caller must roll
 * back the engine and restore `state`. The response is allocated in `arena` and refers to `txn`. */
MUST_CHECK bool execute_txn(Engine *engine, EngineState *state, const StoreTxn *txn, Arena *arena,
                            StoreReply *reply, Changes *changes, Error *err);
/* Deletes the lease and its keys. Fails with ERROR_NOT_FOUND if there is none. */
MUST_CHECK bool execute_revoke(Engine *engine, EngineState *state, int64_t lease, Arena *arena,
                               Changes *changes, Error *err);
MUST_CHECK bool execute_compact(Engine *engine, EngineState *state, int64_t revision, Error *err);
/* The same, without reading compacted changes. */
MUST_CHECK bool execute_compact_to(Engine *engine, EngineState *state, const HistoryPoint *point,
                                   Error *err);
/* Sets `log_bytes`, and records points of the entire log. */
MUST_CHECK bool execute_measure(Engine *engine, EngineState *state, History *history,
                                int64_t now_ms, Error *err);
/* Returns whether there are rows that no request can reach, and removes up to `rows` of them. */
bool execute_can_purge(const EngineState *state);
MUST_CHECK bool execute_purge(Engine *engine, EngineState *state, uint32_t rows, Arena *arena,
                              Error *err);

/* The keys of a lease. */
MUST_CHECK bool execute_lease_keys(Engine *engine, int64_t lease, Arena *arena, const Str **keys,
                                   uint32_t *count, Error *err);

typedef struct LogScan {
    Str key, end;
    bool previous;
    int64_t from_id; /* first change to read */
    /* Results: */
    StoreEvents events;
    int64_t next_id; /* where to continue */
    bool resync;
    EngineState state;
} LogScan;

/* Reads up to one batch of changes from the log. */
MUST_CHECK bool execute_scan(Engine *engine, LogScan *scan, Arena *arena, Error *err);
