/* An engine on an SQLite file with a write-ahead log. Every commit is on disk before it is
 * acknowledged.
 *
 * One engine writes, others may read concurrently; each has one connection and belongs to one
 * thread at a time. The caller must ensure that no other process writes (with a lock). */
#pragma once

#include "store/engine.h"

enum {
    STORE_FORMAT = 1, /* schema version; files with a higher one are rejected */
    STORE_WAL_PAGES = 2000,
};

/* The file must exist; an empty one becomes a store. */
MUST_CHECK bool sqlite_engine_open(const char *path, uint32_t wal_pages, Engine **out, Error *err);
/* Starts a thread that copies the log of this engine into the database. */
MUST_CHECK bool sqlite_engine_start_checkpoints(Engine *engine, Error *err);
/* Opens the database for reading while another engine writes to it. */
MUST_CHECK bool sqlite_engine_open_reader(const char *path, Engine **out, Error *err);
/* Opens a file for reading that no process has open, without modifying it. */
MUST_CHECK bool sqlite_engine_open_closed(const char *path, Engine **out, Error *err);

/* Copies the current content to an empty file, without fsync. */
MUST_CHECK bool sqlite_engine_copy(const char *path, const char *to, Error *err);
/* The same for the open files of a writing engine, even if they were moved or deleted. */
MUST_CHECK bool sqlite_engine_copy_open(Engine *engine, const char *to, Error *err);
/* Whether the paths of a writing engine still refer to its open files; always true for readers.
 * `log` includes the log. Any thread. */
bool sqlite_engine_is_in_place(const Engine *engine, bool log);
/* Verifies every page and row of a file. ERROR_OS: damaged; ERROR_INVALID: not a store, or a newer
 * format. `stop`, which may be NULL, is called periodically and ends it with ERROR_UNAVAILABLE. */
MUST_CHECK bool sqlite_engine_check(const char *path, int (*stop)(void *context), void *context,
                                    EngineState *out, Error *err);
