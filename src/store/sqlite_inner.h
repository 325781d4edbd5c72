/* Internal declarations of the SQLite engine. */
#pragma once

#include <sqlite3.h>
#include <stdatomic.h>

#include "store/sqlite_engine.h"
#include "sys/file_identity.h"

enum {
    STORE_BUSY_MS = 10000 /* timeout for locks of other connections */
};

typedef enum SqlStatement {
    SQL_BEGIN_READ,
    SQL_BEGIN_WRITE,
    SQL_COMMIT,
    SQL_ROLLBACK,
    SQL_MARK,
    SQL_KEEP,
    SQL_UNDO,
    SQL_REVISION,
    SQL_GET_STATE,
    SQL_SET_STATE,
    SQL_FIND_KEY,
    SQL_WALK_KEYS,
    SQL_WALK_KEYS_OPEN,
    SQL_WALK_KEYS_DOWN,
    SQL_WALK_KEYS_OPEN_DOWN,
    SQL_WALK_LEASE,
    SQL_SET_KEY,
    SQL_DROP_KEY,
    SQL_GET_CHANGE,
    SQL_WALK_CHANGES,
    SQL_WALK_SIZES,
    SQL_ADD_CHANGE,
    SQL_DROP_CHANGE,
    SQL_HAS_LEASE,
    SQL_ADD_LEASE,
    SQL_DROP_LEASE,
    SQL_WALK_LEASES,
    SQL_PAGES,
    SQL_FREE_PAGES,
    SQL_STATEMENT_COUNT
} SqlStatement;

typedef struct Checkpoint Checkpoint;

typedef struct SqliteEngine {
    Engine engine;
    sqlite3 *db;
    sqlite3_stmt *statements[SQL_STATEMENT_COUNT];
    atomic_uint wal_pages;    /* length of the write-ahead log after the last commit */
    uint32_t wal_limit;       /* length at which it is copied into the database */
    uint32_t next_checkpoint; /* length of the log that starts the next checkpoint */
    Checkpoint *checkpoint;   /* NULL: the writer makes checkpoints itself, without a thread */
    char path[300];           /* for messages; truncated if longer */
    /* The database and log that the SQLite of a writer has open. */
    const char *file, *log;
    FileIdentity file_identity, log_identity;
} SqliteEngine;

extern const EngineKind sqlite_kind;

/* Converts SQLite's last failure into an error. Always returns false. */
bool sqlite_failure(SqliteEngine *sqlite, int result, Error *err);

/* A failed fsync stops writing: it is unknown which of the pages to be flushed are lost, and a
 * second fsync would report success. The file is read again when it is reopened. Always returns
 * false. */
bool sqlite_sync_failure(SqliteEngine *sqlite, int code);

/* Another connection in addition to the writer's, without statements. NULL on failure. */
SqliteEngine *sqlite_open_secondary(const char *path, Error *err);

/* --- sqlite_checkpoint.c: only used by the writer -------------------------------------------- */

/* Called between groups: starts a checkpoint if the log is long enough, or completes one. */
void checkpoint_trim(SqliteEngine *sqlite);
/* If the thread's disk access failed, stops writing. */
void checkpoint_record_failure(SqliteEngine *sqlite);
void checkpoint_free(Checkpoint *checkpoint); /* waits for the thread; NULL is allowed */
