/* Internal declarations of the SQLite engine. */
#pragma once

#include <sqlite3.h>
#include <stdatomic.h>

#include "store/sqlite_engine.h"
#include "sys/file_mark.h"

enum {
    STORE_BUSY_MS = 10000 /* how long others are waited for */
};

typedef enum SqliteText {
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
    SQL_SPARE,
    SQL_TEXTS
} SqliteText;

typedef struct Checkpoint Checkpoint;

typedef struct SqliteEngine {
    Engine engine;
    sqlite3 *db;
    sqlite3_stmt *statements[SQL_TEXTS];
    atomic_uint wal_pages;    /* in the write-ahead log as of the last commit */
    uint32_t wal_limit;       /* written into the database at that many */
    uint32_t next_checkpoint; /* when there are so many */
    Checkpoint *checkpoint;   /* with a thread; NULL: the writer does it */
    char path[300];           /* for messages, cut when longer */
    /* Of one that writes: its database and the log of that, which SQLite has open. */
    const char *file, *log;
    FileMark file_mark, log_mark;
} SqliteEngine;

extern const EngineKind sqlite_kind;

/* What SQLite says of its last failure, as an error. Always false. */
bool sqlite_failure(SqliteEngine *sqlite, int result, Error *err);

/* A failed fsync ends writing: which of the pages that were to be flushed are lost is not known, and a
 * second fsync would report success. The file is read again when it is opened. Always false. */
bool sqlite_sync_failure(SqliteEngine *sqlite, int code);

/* A connection beside the one that writes, without statements; NULL when it fails. */
SqliteEngine *sqlite_open_beside(const char *path, Error *err);

/* --- sqlite_checkpoint.c: the writer's ------------------------------------------------------- */

/* Between groups: begins a checkpoint when the log is long enough, or does the rest of one. */
void checkpoint_tidy(SqliteEngine *sqlite);
/* A disk that failed the thread ends writing. */
void checkpoint_note_failure(SqliteEngine *sqlite);
void checkpoint_free(Checkpoint *checkpoint); /* waits for the thread; NULL is allowed */
