/* What requests do to an engine: the semantics of the store, the same for every backend. For the
 * thread that holds the engine, between its begin and commit. */
#pragma once

#include "base/vec.h"
#include "store/engine.h"
#include "store/history.h"
#include "store/store.h"

typedef VEC(StoreEvent) StoreEvents;

/* What a request has changed. */
typedef struct Changes {
    StoreEvents events;
    size_t bytes;
    bool cut; /* there are more than fit into memory: they are in the log only */
} Changes;

enum {
    CHANGES_BYTES = 4 * 1024 * 1024,
    SCAN_ROWS = 5000,
};

/* `state` goes on by one revision when something changed. After a failure the engine is to be
 * undone to where it was, and so is `state`. The answer lies in `arena`, and refers to `txn`. */
MUST_CHECK bool execute_txn(Engine *engine, EngineState *state, const StoreTxn *txn, Arena *arena,
                            StoreReply *reply, Changes *changes, Error *err);
/* The lease goes, and its keys with it. ERROR_NOT_FOUND when there is none. */
MUST_CHECK bool execute_revoke(Engine *engine, EngineState *state, int64_t lease, Arena *arena,
                               Changes *changes, Error *err);
MUST_CHECK bool execute_compact(Engine *engine, EngineState *state, int64_t revision, Error *err);
/* The same without reading what goes. */
MUST_CHECK bool execute_compact_to(Engine *engine, EngineState *state, const HistoryPoint *point,
                                   Error *err);
/* Sets `log_bytes`, and notes points all over the log. */
MUST_CHECK bool execute_measure(Engine *engine, EngineState *state, History *history,
                                int64_t now_ms, Error *err);
/* Whether there are rows that no request can reach any more, and removing up to `rows` of them. */
bool execute_can_purge(const EngineState *state);
MUST_CHECK bool execute_purge(Engine *engine, EngineState *state, uint32_t rows, Arena *arena,
                              Error *err);

/* The keys of a lease. */
MUST_CHECK bool execute_lease_keys(Engine *engine, int64_t lease, Arena *arena, const Str **keys,
                                   uint32_t *count, Error *err);

typedef struct LogScan {
    Str key, end;
    bool previous;
    int64_t from_id; /* the first change to look at */
    /* What it gives: */
    StoreEvents events;
    int64_t next_id; /* to go on from */
    bool resync;
    EngineState state;
} LogScan;

/* A batch of changes from the log, or less. */
MUST_CHECK bool execute_scan(Engine *engine, LogScan *scan, Arena *arena, Error *err);
