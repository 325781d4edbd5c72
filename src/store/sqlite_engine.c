/* Opening the file: schema, pragmas, and the meaning of SQLite's errors. */
#include "store/sqlite_engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/own.h"
#include "store/sqlite_inner.h"

enum {
    APPLICATION_ID = 0x6564656e, /* "eden" */
    /* number of VM instructions between two calls of the stop function */
    PROGRESS_STEPS = 10000,
};

#define RESTORE_HINT "restore a backup: 'eden backup restore FILE'"

/* Keys are in a table without rowids, because their rows are short and only found by key. Changes
 * are appended and found by id, which suits large values. The index only covers keys with a
 * lease. */
static const char schema[] = "CREATE TABLE keys ("
                             "    key BLOB PRIMARY KEY NOT NULL,"
                             "    id INTEGER NOT NULL,"
                             "    version INTEGER NOT NULL,"
                             "    create_revision INTEGER NOT NULL,"
                             "    lease INTEGER NOT NULL"
                             ") WITHOUT ROWID, STRICT;"
                             "CREATE INDEX keys_by_lease ON keys (lease) WHERE lease <> 0;"
                             "CREATE TABLE changes ("
                             "    id INTEGER PRIMARY KEY NOT NULL,"
                             "    key BLOB NOT NULL,"
                             "    value BLOB," /* NULL: deleted */
                             "    version INTEGER NOT NULL,"
                             "    create_revision INTEGER NOT NULL,"
                             "    lease INTEGER NOT NULL,"
                             "    before INTEGER NOT NULL"
                             ") STRICT;"
                             "CREATE TABLE leases ("
                             "    id INTEGER PRIMARY KEY NOT NULL,"
                             "    ttl_s INTEGER NOT NULL"
                             ") STRICT;"
                             "CREATE TABLE state ("
                             "    compacted INTEGER NOT NULL,"
                             "    purged INTEGER NOT NULL"
                             ") STRICT;"
                             "INSERT INTO state VALUES (0, 0);";

#define KEY_COLUMNS    "key, id, version, create_revision, lease"
#define CHANGE_COLUMNS "id, key, value, version, create_revision, lease, before"

static const char *const texts[SQL_STATEMENT_COUNT] = {
    [SQL_BEGIN_READ] = "BEGIN",
    [SQL_BEGIN_WRITE] = "BEGIN IMMEDIATE",
    [SQL_COMMIT] = "COMMIT",
    [SQL_ROLLBACK] = "ROLLBACK",
    [SQL_MARK] = "SAVEPOINT mark",
    [SQL_KEEP] = "RELEASE mark",
    [SQL_UNDO] = "ROLLBACK TO mark",
    [SQL_REVISION] = "SELECT id FROM changes ORDER BY id DESC LIMIT 1",
    [SQL_GET_STATE] = "SELECT compacted, purged FROM state",
    [SQL_SET_STATE] = "UPDATE state SET compacted = ?, purged = ?",
    [SQL_FIND_KEY] = "SELECT id, version, create_revision, lease FROM keys WHERE key = ?",
    [SQL_WALK_KEYS] = "SELECT " KEY_COLUMNS " FROM keys WHERE key >= ? AND key < ? ORDER BY key",
    [SQL_WALK_KEYS_OPEN] = "SELECT " KEY_COLUMNS " FROM keys WHERE key >= ? ORDER BY key",
    [SQL_WALK_KEYS_DOWN] = ("SELECT " KEY_COLUMNS " FROM keys WHERE key >= ? AND key < ?"
                            " ORDER BY key DESC"),
    [SQL_WALK_KEYS_OPEN_DOWN] = ("SELECT " KEY_COLUMNS " FROM keys WHERE key >= ?"
                                 " ORDER BY key DESC"),
    [SQL_WALK_LEASE] = "SELECT " KEY_COLUMNS " FROM keys WHERE lease = ? AND lease <> 0",
    [SQL_SET_KEY] = ("INSERT INTO keys (" KEY_COLUMNS ") VALUES (?, ?, ?, ?, ?)"
                     " ON CONFLICT (key) DO UPDATE SET id = excluded.id,"
                     " version = excluded.version, create_revision = excluded.create_revision,"
                     " lease = excluded.lease"),
    [SQL_DROP_KEY] = "DELETE FROM keys WHERE key = ?",
    [SQL_GET_CHANGE] = "SELECT " CHANGE_COLUMNS " FROM changes WHERE id = ?",
    [SQL_WALK_CHANGES] = "SELECT " CHANGE_COLUMNS " FROM changes WHERE id >= ? ORDER BY id",
    [SQL_WALK_SIZES] = ("SELECT id, length(key) + coalesce(length(value), 0) FROM changes"
                        " WHERE id >= ? ORDER BY id"),
    [SQL_ADD_CHANGE] = "INSERT INTO changes (" CHANGE_COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?)",
    [SQL_DROP_CHANGE] = "DELETE FROM changes WHERE id = ?",
    [SQL_HAS_LEASE] = "SELECT 1 FROM leases WHERE id = ?",
    [SQL_ADD_LEASE] = "INSERT INTO leases (id, ttl_s) VALUES (?, ?)",
    [SQL_DROP_LEASE] = "DELETE FROM leases WHERE id = ?",
    [SQL_WALK_LEASES] = "SELECT id, ttl_s FROM leases",
    [SQL_PAGES] = "PRAGMA page_count",
    [SQL_FREE_PAGES] = "PRAGMA freelist_count",
};

bool sqlite_sync_failure(SqliteEngine *sqlite, int code)
{
    sqlite->engine.broken = true;
    snprintf(sqlite->engine.broken_text, sizeof sqlite->engine.broken_text,
             "the disk failed to store written data (%s); writing resumes after a restart",
             sqlite3_errstr(code));
    return false;
}

/* The kernel's error that caused SQLITE_IOERR_*; 0 if unknown. That of a failed commit is kept only
 * by the file, normally by the log. */
static int kernel_error(sqlite3 *db, int code)
{
    int number = 0;
    sqlite3_file *log = NULL;
    if (code == SQLITE_IOERR_WRITE &&
        sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) == SQLITE_OK &&
        log->pMethods != NULL) {
        (void)log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &number);
    }
    return number != 0 ? number : sqlite3_system_errno(db);
}

bool sqlite_failure(SqliteEngine *sqlite, int result, Error *err)
{
    int code = sqlite->db == NULL ? result : sqlite3_extended_errcode(sqlite->db);
    const char *text = sqlite->db == NULL ? sqlite3_errstr(result) : sqlite3_errmsg(sqlite->db);
    int number = sqlite->db == NULL ? 0 : kernel_error(sqlite->db, code);
    /* From the kernel, because not every lack of space is SQLITE_FULL. */
    bool kernel = (code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN;
    if (kernel && (number == ENOSPC || number == EDQUOT)) {
        code = SQLITE_FULL;
    }
    switch (code & 0xff) {
    case SQLITE_NOMEM: memory_exhausted(0);
    case SQLITE_FULL:
        sqlite->engine.full = true;
        return error_set(err, ERROR_UNAVAILABLE, "%s: the disk is full", sqlite->path);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return error_set(err, ERROR_OS, "%s is damaged (%s); " RESTORE_HINT, sqlite->path, text);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return error_set(err, ERROR_CONFLICT, "%s is in use by another process", sqlite->path);
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN: return error_set(err, ERROR_DENIED, "%s: %s", sqlite->path, text);
    default: break;
    }
    /* An unreadable page is treated like a corrupted one. */
    if (code == SQLITE_IOERR_READ || code == SQLITE_IOERR_SHORT_READ ||
        code == SQLITE_IOERR_CORRUPTFS || code == SQLITE_IOERR_DATA) {
        return error_set(err, ERROR_OS, "%s cannot be read (%s); " RESTORE_HINT, sqlite->path,
                         number != 0 ? strerror(number) : sqlite3_errstr(code));
    }
    if (code == SQLITE_IOERR_FSYNC || code == SQLITE_IOERR_DIR_FSYNC) {
        sqlite_sync_failure(sqlite, code);
        return error_set(err, ERROR_UNAVAILABLE, "%s", sqlite->engine.broken_text);
    }
    return error_set(err, ERROR_UNAVAILABLE, "%s: %s%s%s%s", sqlite->path, sqlite3_errstr(code),
                     number != 0 ? " (" : "", number != 0 ? strerror(number) : "",
                     number != 0 ? ")" : "");
}

static bool run_text(SqliteEngine *sqlite, const char *text, Error *err)
{
    int result = sqlite3_exec(sqlite->db, text, NULL, NULL, NULL);
    return result == SQLITE_OK || sqlite_failure(sqlite, result, err);
}

static bool get_number(SqliteEngine *sqlite, const char *text, int64_t *out, Error *err)
{
    sqlite3_stmt *statement = NULL;
    int result = sqlite3_prepare_v2(sqlite->db, text, -1, &statement, NULL);
    if (result == SQLITE_OK) {
        result = sqlite3_step(statement);
    }
    bool found = result == SQLITE_ROW;
    if (found) {
        *out = sqlite3_column_int64(statement, 0);
    } else {
        sqlite_failure(sqlite, result, err);
    }
    sqlite3_finalize(statement);
    return found;
}

/* The result of a pragma must be `expected`. Otherwise fails with ERROR_OS: "PATH OTHERWISE
 * (RESULT)" and `hint`. */
static bool expect(SqliteEngine *sqlite, const char *text, const char *expected,
                   const char *otherwise, const char *hint, Error *err)
{
    sqlite3_stmt *statement = NULL;
    int result = sqlite3_prepare_v2(sqlite->db, text, -1, &statement, NULL);
    if (result == SQLITE_OK) {
        result = sqlite3_step(statement);
    }
    bool good = false;
    if (result == SQLITE_ROW) {
        const char *found = (const char *)sqlite3_column_text(statement, 0);
        good = str_eq_c(str_from_c(found), expected) ||
               error_set(err, ERROR_OS, "%s %s (%.120s)%s", sqlite->path, otherwise, found, hint);
    } else {
        sqlite_failure(sqlite, result, err);
    }
    sqlite3_finalize(statement);
    return good;
}

static int wal_has_grown(void *context, sqlite3 *db, const char *name, int pages)
{
    SqliteEngine *sqlite = context;
    atomic_store(&sqlite->wal_pages, (unsigned)pages);
    return SQLITE_OK;
}

static void free_half(SqliteEngine *sqlite)
{
    if (sqlite == NULL) {
        return;
    }
    for (int i = 0; i < SQL_STATEMENT_COUNT; i++) {
        sqlite3_finalize(sqlite->statements[i]);
    }
    sqlite3_close(sqlite->db);
    free(sqlite);
}
DEFINE_AUTO(SqliteEngine, free_half)

static SqliteEngine *make(const char *path)
{
    SqliteEngine *sqlite = memory_new(sizeof *sqlite);
    sqlite->engine.kind = &sqlite_kind;
    snprintf(sqlite->path, sizeof sqlite->path, "%s", path);
    return sqlite;
}

static bool connect(SqliteEngine *sqlite, const char *path, int flags, Error *err)
{
    int result = sqlite3_open_v2(path, &sqlite->db,
                                 flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
    if (result != SQLITE_OK) {
        return sqlite_failure(sqlite, result, err);
    }
    sqlite3_busy_timeout(sqlite->db, STORE_BUSY_MS);
    sqlite3_db_config(sqlite->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(sqlite->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    return run_text(sqlite, "PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY;", err);
}

/* Checks the application ID of a file, and returns its format; 0 for an empty file. */
static bool get_format(SqliteEngine *sqlite, int64_t *out, Error *err)
{
    int64_t application, pages;
    if (!get_number(sqlite, "PRAGMA page_count", &pages, err) ||
        !get_number(sqlite, "PRAGMA application_id", &application, err) ||
        !get_number(sqlite, "PRAGMA user_version", out, err)) {
        return false;
    }
    if (application != APPLICATION_ID && (pages > 1 || *out != 0)) {
        return error_set(err, ERROR_INVALID, "%s is not an eden store", sqlite->path);
    }
    if (*out > STORE_FORMAT) {
        return error_set(err, ERROR_INVALID,
                         "%s was written by a newer version of eden (format %lld; this version "
                         "supports up to %d)",
                         sqlite->path, (long long)*out, STORE_FORMAT);
    }
    return true;
}

static bool make_tables(SqliteEngine *sqlite, Error *err)
{
    char pragmas[120];
    snprintf(pragmas, sizeof pragmas, "PRAGMA application_id = %d; PRAGMA user_version = %d;",
             APPLICATION_ID, STORE_FORMAT);
    /* Creates the tables in one transaction, so that a file has all of them or none. */
    return run_text(sqlite, "BEGIN IMMEDIATE", err) && run_text(sqlite, schema, err) &&
           run_text(sqlite, pragmas, err) && run_text(sqlite, "COMMIT", err);
}

/* Returns the tables, indexes, views and triggers of the file as one string; NULL if unreadable. */
static char *schema_text(sqlite3 *db)
{
    static const char query[] = "SELECT group_concat(type || ' ' || name || ' ' || tbl_name || ' ' "
                                "|| coalesce(sql, ''), ';') "
                                "FROM (SELECT * FROM sqlite_schema ORDER BY type, name)";
    sqlite3_stmt *statement = NULL;
    char *text = NULL;
    if (sqlite3_prepare_v2(db, query, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW) {
        text = sqlite3_mprintf("%s", sqlite3_column_text(statement, 0));
    }
    sqlite3_finalize(statement);
    return text;
}

/* An added trigger or view could change the effect of any write. */
static bool check_schema(SqliteEngine *sqlite, Error *err)
{
    sqlite3 *empty = NULL;
    char *expected = NULL, *found = schema_text(sqlite->db);
    if (found == NULL) {
        return sqlite_failure(sqlite, sqlite3_errcode(sqlite->db), err);
    }
    if (sqlite3_open_v2(":memory:", &empty, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
        sqlite3_exec(empty, schema, NULL, NULL, NULL) == SQLITE_OK) {
        expected = schema_text(empty);
    }
    bool same = expected != NULL && strcmp(expected, found) == 0;
    sqlite3_free(expected);
    sqlite3_free(found);
    sqlite3_close(empty);
    return same ||
           error_set(err, ERROR_INVALID, "%s has tables, views or triggers that are not from eden",
                     sqlite->path);
}

static bool prepare(SqliteEngine *sqlite, Error *err)
{
    for (int i = 0; i < SQL_STATEMENT_COUNT; i++) {
        int result = sqlite3_prepare_v3(sqlite->db, texts[i], -1, SQLITE_PREPARE_PERSISTENT,
                                        &sqlite->statements[i], NULL);
        if (result != SQLITE_OK) {
            return sqlite_failure(sqlite, result, err);
        }
    }
    return true;
}

static bool mark_files(SqliteEngine *sqlite, Error *err)
{
    EngineState ignored; /* the first read of a state also opens the log */
    sqlite->file = sqlite3_db_filename(sqlite->db, "main");
    sqlite->log = sqlite3_filename_wal(sqlite->file);
    return sqlite_kind.get_state(&sqlite->engine, &ignored, err) &&
           file_identity_get(sqlite->file, &sqlite->file_identity, err) &&
           file_identity_get(sqlite->log, &sqlite->log_identity, err);
}

bool sqlite_engine_is_in_place(const Engine *engine, bool log)
{
    const SqliteEngine *sqlite = (const SqliteEngine *)engine;
    return sqlite->file == NULL ||
           (file_identity_matches(&sqlite->file_identity, sqlite->file) &&
            (!log || file_identity_matches(&sqlite->log_identity, sqlite->log)));
}

bool sqlite_engine_open(const char *path, uint32_t wal_pages, Engine **out, Error *err)
{
    AUTO(SqliteEngine) *sqlite = make(path);
    sqlite->wal_limit = wal_pages == 0 ? STORE_WAL_PAGES : wal_pages;
    int64_t format;
    if (!connect(sqlite, path, SQLITE_OPEN_READWRITE, err) || !get_format(sqlite, &format, err)) {
        return false;
    }
    if (!expect(sqlite, "PRAGMA journal_mode = WAL", "wal",
                "is on a file system without support for a write-ahead log", "", err) ||
        !run_text(sqlite, "PRAGMA synchronous = FULL; PRAGMA cache_size = -16384;", err) ||
        (format == 0 && !make_tables(sqlite, err)) || !check_schema(sqlite, err) ||
        !prepare(sqlite, err) || !mark_files(sqlite, err)) {
        return false;
    }
    sqlite3_wal_hook(sqlite->db, wal_has_grown, sqlite);
    *out = &TAKE(sqlite)->engine;
    return true;
}

bool sqlite_engine_open_reader(const char *path, Engine **out, Error *err)
{
    AUTO(SqliteEngine) *sqlite = make(path);
    if (!connect(sqlite, path, SQLITE_OPEN_READWRITE, err) || !prepare(sqlite, err) ||
        !run_text(sqlite, "PRAGMA query_only = ON; PRAGMA cache_size = -8192;", err)) {
        return false;
    }
    sqlite3_wal_autocheckpoint(sqlite->db, 0);
    *out = &TAKE(sqlite)->engine;
    return true;
}

bool sqlite_engine_open_closed(const char *path, Engine **out, Error *err)
{
    AUTO(SqliteEngine) *sqlite = make(path);
    if (!connect(sqlite, path, SQLITE_OPEN_READONLY, err) || !prepare(sqlite, err)) {
        return false;
    }
    *out = &TAKE(sqlite)->engine;
    return true;
}

static bool copy_into(SqliteEngine *sqlite, const char *to, Error *err)
{
    sqlite3_stmt *statement = NULL;
    int result = sqlite3_prepare_v2(sqlite->db, "VACUUM INTO ?", -1, &statement, NULL);
    if (result == SQLITE_OK) {
        sqlite3_bind_text(statement, 1, to, -1, SQLITE_STATIC);
        result = sqlite3_step(statement);
    }
    bool done = result == SQLITE_DONE;
    if (!done) {
        sqlite_failure(sqlite, result, err);
        error_wrap(err, "copying to %s", to);
    }
    sqlite3_finalize(statement);
    return done;
}

SqliteEngine *sqlite_open_secondary(const char *path, Error *err)
{
    AUTO(SqliteEngine) *sqlite = make(path);
    if (!connect(sqlite, path, SQLITE_OPEN_READWRITE, err) ||
        !run_text(sqlite, "PRAGMA synchronous = FULL", err)) {
        return NULL;
    }
    sqlite3_wal_autocheckpoint(sqlite->db, 0);
    return TAKE(sqlite);
}

bool sqlite_engine_copy(const char *path, const char *to, Error *err)
{
    AUTO(SqliteEngine) *sqlite = sqlite_open_secondary(path, err);
    return sqlite != NULL && copy_into(sqlite, to, err);
}

bool sqlite_engine_copy_open(Engine *engine, const char *to, Error *err)
{
    return copy_into((SqliteEngine *)engine, to, err);
}

bool sqlite_engine_check(const char *path, int (*stop)(void *context), void *context,
                         EngineState *out, Error *err)
{
    AUTO(SqliteEngine) *sqlite = make(path);
    int64_t format;
    if (!connect(sqlite, path, SQLITE_OPEN_READONLY, err) || !get_format(sqlite, &format, err)) {
        return false;
    }
    if (format == 0) {
        return error_set(err, ERROR_INVALID, "%s is not an eden store", path);
    }
    sqlite3_progress_handler(sqlite->db, stop == NULL ? 0 : PROGRESS_STEPS, stop, context);
    return expect(sqlite, "PRAGMA integrity_check(1)", "ok", "is damaged", "; " RESTORE_HINT,
                  err) &&
           check_schema(sqlite, err) && prepare(sqlite, err) &&
           sqlite->engine.kind->get_state(&sqlite->engine, out, err);
}
