/* An engine in a file of SQLite's: write-ahead log, every commit on the disk before it is told.
 *
 * One engine writes, others may read beside it; each is one connection and belongs to one thread at
 * a time. That nobody else writes is for the caller to see to (a lock). */
#pragma once

#include "store/engine.h"

enum {
    STORE_FORMAT = 1, /* of the tables; a file with a higher one is refused */
    STORE_WAL_PAGES = 2000,
};

/* The file must be there; an empty one becomes a store. */
MUST_CHECK bool sqlite_engine_open(const char *path, uint32_t wal_pages, Engine **out, Error *err);
/* From now on a thread writes what has gathered in the log of this engine into the database. */
MUST_CHECK bool sqlite_engine_start_checkpoints(Engine *engine, Error *err);
/* For reading beside the one that writes. */
MUST_CHECK bool sqlite_engine_open_reader(const char *path, Engine **out, Error *err);
/* For reading a file that nobody has open, which stays as it is. */
MUST_CHECK bool sqlite_engine_open_closed(const char *path, Engine **out, Error *err);

/* A whole copy of what is there now, in an empty file. It is not on the disk yet. */
MUST_CHECK bool sqlite_engine_copy(const char *path, const char *to, Error *err);
/* The same of what an engine that writes has open, wherever that is by now. */
MUST_CHECK bool sqlite_engine_copy_open(Engine *engine, const char *to, Error *err);
/* Whether the files of an engine that writes are those that would be opened by their names; of one
 * that does not, true. `log`: that of its log too. Any thread. */
bool sqlite_engine_is_in_place(const Engine *engine, bool log);
/* Looks at every page and every row of a file: ERROR_OS when it is damaged, ERROR_INVALID when it is no
 * store, or a newer one. `stop` is asked now and then, and ends it with ERROR_UNAVAILABLE; may be NULL. */
MUST_CHECK bool sqlite_engine_check(const char *path, int (*stop)(void *context), void *context,
                                    EngineState *out, Error *err);
