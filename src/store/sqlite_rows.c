/* Access to the rows of the three tables. Statements are prepared once per engine; each function
 * resets the one that it uses before binding. */
/* Access to the rows of the three tables. */
#include <stdio.h>
#include <stdlib.h>

#include "base/bug.h"
#include "store/sqlite_inner.h"
#include "store/store.h"

enum {
    PAGE_BYTES = 4096,
};

/* Returns the prepared statement, reset. */
static sqlite3_stmt *sqlite_ready(SqliteEngine *sqlite, SqlStatement text)
{
    sqlite3_stmt *statement = sqlite->statements[text];
    sqlite3_reset(statement);
    return statement;
}

/* Runs a statement that returns no rows. */
static bool sqlite_run(SqliteEngine *sqlite, SqlStatement text, Error *err)
{
    sqlite3_stmt *statement = sqlite->statements[text];
    int result = sqlite3_step(statement);
    bool done = result == SQLITE_DONE || result == SQLITE_ROW;
    if (!done) {
        sqlite_failure(sqlite, result, err);
    }
    sqlite3_reset(statement);
    return done;
}

/* Never binds NULL, which would mean a deletion. The bytes must be valid until the statement has
 * run. */
static void bind_bytes(sqlite3_stmt *statement, int at, Str bytes)
{
    sqlite3_bind_blob(statement, at, bytes.len == 0 ? "" : bytes.data, (int)bytes.len,
                      SQLITE_STATIC);
}

static Str column_bytes(sqlite3_stmt *statement, int at)
{
    const char *data = sqlite3_column_blob(statement, at);
    int len = sqlite3_column_bytes(statement, at);
    return data == NULL ? STR_EMPTY : str_from(data, (size_t)len);
}

/* Returns at most one row; the statement stays on it. */
static bool step(SqliteEngine *sqlite, sqlite3_stmt *statement, bool *row, Error *err)
{
    int result = sqlite3_step(statement);
    if (result != SQLITE_ROW && result != SQLITE_DONE) {
        sqlite_failure(sqlite, result, err);
        sqlite3_reset(statement);
        return false;
    }
    *row = result == SQLITE_ROW;
    return true;
}

/* --- Transactions ---------------------------------------------------------------------------- */

/* Data written to a file or log without a name would be lost when this process exits. */
static bool check_files(Engine *engine, Error *err)
{
    checkpoint_record_failure((SqliteEngine *)engine);
    if (!engine->broken && !sqlite_engine_is_in_place(engine, true)) {
        engine->broken = engine->lost = true;
        snprintf(engine->broken_text, sizeof engine->broken_text,
                 "the store of this cluster is lost: its file or its log was removed or replaced "
                 "while it was open; no more data is written");
    }
    return !engine->broken || error_set(err, ERROR_UNAVAILABLE, "%s", engine->broken_text);
}

static bool sqlite_begin(Engine *engine, bool writing, Error *err)
{
    SqliteEngine *sqlite = (SqliteEngine *)engine;
    if (writing && !check_files(engine, err)) {
        return false;
    }
    return sqlite_run(sqlite, writing ? SQL_BEGIN_WRITE : SQL_BEGIN_READ, err);
}

static void sqlite_rollback(Engine *engine)
{
    SqliteEngine *sqlite = (SqliteEngine *)engine;
    sqlite3_reset(sqlite->statements[SQL_GET_CHANGE]);
    /* Some failures have already rolled back the transaction. */
    if (!sqlite3_get_autocommit(sqlite->db)) {
        Error ignored;
        (void)!sqlite_run(sqlite, SQL_ROLLBACK, &ignored);
    }
}

static bool sqlite_commit(Engine *engine, Error *err)
{
    SqliteEngine *sqlite = (SqliteEngine *)engine;
    sqlite3_reset(sqlite->statements[SQL_GET_CHANGE]);
    if (!sqlite_run(sqlite, SQL_COMMIT, err)) {
        sqlite_rollback(engine);
        return false;
    }
    /* Checked before acknowledging, so that no acknowledged write is lost if the files are removed
     * or replaced. */
    return check_files(engine, err);
}

static bool sqlite_mark(Engine *engine, Error *err)
{
    return sqlite_run((SqliteEngine *)engine, SQL_MARK, err);
}

static bool sqlite_keep(Engine *engine, Error *err)
{
    return sqlite_run((SqliteEngine *)engine, SQL_KEEP, err);
}

static bool sqlite_undo(Engine *engine, Error *err)
{
    SqliteEngine *sqlite = (SqliteEngine *)engine;
    sqlite3_reset(sqlite->statements[SQL_GET_CHANGE]);
    return sqlite_run(sqlite, SQL_UNDO, err) && sqlite_run(sqlite, SQL_KEEP, err);
}

/* --- State ----------------------------------------------------------------------------------- */

static bool sqlite_get_state(Engine *engine, EngineState *out, Error *err)
{
    SqliteEngine *sqlite = (SqliteEngine *)engine;
    sqlite3_stmt *last = sqlite_ready(sqlite, SQL_REVISION);
    sqlite3_stmt *state = sqlite_ready(sqlite, SQL_GET_STATE);
    bool has_last, has_state;
    if (!step(sqlite, last, &has_last, err) || !step(sqlite, state, &has_state, err)) {
        return false;
    }
    if (!has_state) {
        error_set(err, ERROR_OS, "%s is damaged: it has no state", sqlite->path);
    } else {
        out->revision = has_last ? id_revision(sqlite3_column_int64(last, 0)) : 0;
        out->compacted = sqlite3_column_int64(state, 0);
        out->purged = sqlite3_column_int64(state, 1);
        out->log_bytes = out->log_start = 0;
    }
    sqlite3_reset(last);
    sqlite3_reset(state);
    return has_state;
}

static bool sqlite_set_state(Engine *engine, const EngineState *state, Error *err)
{
    SqliteEngine *sqlite = (SqliteEngine *)engine;
    sqlite3_stmt *statement = sqlite_ready(sqlite, SQL_SET_STATE);
    sqlite3_bind_int64(statement, 1, state->compacted);
    sqlite3_bind_int64(statement, 2, state->purged);
    return sqlite_run(sqlite, SQL_SET_STATE, err);
}

/* --- Keys ------------------------------------------------------------------------------------ */

static bool sqlite_find_key(Engine *engine, Str key, KeyRow *out, Error *err)
{
    SqliteEngine *sqlite = (SqliteEngine *)engine;
    sqlite3_stmt *statement = sqlite_ready(sqlite, SQL_FIND_KEY);
    bind_bytes(statement, 1, key);
    bool found;
    if (!step(sqlite, statement, &found, err)) {
        return false;
    }
    *out = (KeyRow){ .key = key };
    if (found) {
        out->id = sqlite3_column_int64(statement, 0);
        out->version = sqlite3_column_int64(statement, 1);
        out->create_revision = sqlite3_column_int64(statement, 2);
        out->lease = sqlite3_column_int64(statement, 3);
    }
    sqlite3_reset(statement);
    return true;
}

static SqlStatement walk_text(const KeyWalk *walk)
{
    if (walk->lease != 0) {
        return SQL_WALK_LEASE;
    }
    if (str_eq(walk->end, STORE_ALL)) {
        return walk->descending ? SQL_WALK_KEYS_OPEN_DOWN : SQL_WALK_KEYS_OPEN;
    }
    return walk->descending ? SQL_WALK_KEYS_DOWN : SQL_WALK_KEYS;
}

static bool sqlite_walk_keys(Engine *engine, const KeyWalk *walk, KeyVisit *visit, void *context,
                             Error *err)
{
    SqliteEngine *sqlite = (SqliteEngine *)engine;
    SqlStatement text = walk_text(walk);
    sqlite3_stmt *statement = sqlite_ready(sqlite, text);
    if (text == SQL_WALK_LEASE) {
        sqlite3_bind_int64(statement, 1, walk->lease);
    } else {
        bind_bytes(statement, 1, walk->key);
    }
    if (text == SQL_WALK_KEYS || text == SQL_WALK_KEYS_DOWN) {
        bind_bytes(statement, 2, walk->end);
    }
    for (bool found = true;;) {
        if (!step(sqlite, statement, &found, err)) {
            return false;
        }
        if (!found) {
            break;
        }
        KeyRow row = {
            .key = column_bytes(statement, 0),
            .id = sqlite3_column_int64(statement, 1),
            .version = sqlite3_column_int64(statement, 2),
            .create_revision = sqlite3_column_int64(statement, 3),
            .lease = sqlite3_column_int64(statement, 4),
        };
        if (!visit(context, &row)) {
            break;
        }
    }
    sqlite3_reset(statement);
    return true;
}

static bool sqlite_set_key(Engine *engine, const KeyRow *row, Error *err)
{
    SqliteEngine *sqlite = (SqliteEngine *)engine;
    sqlite3_stmt *statement = sqlite_ready(sqlite, SQL_SET_KEY);
    bind_bytes(statement, 1, row->key);
    sqlite3_bind_int64(statement, 2, row->id);
    sqlite3_bind_int64(statement, 3, row->version);
    sqlite3_bind_int64(statement, 4, row->create_revision);
    sqlite3_bind_int64(statement, 5, row->lease);
    return sqlite_run(sqlite, SQL_SET_KEY, err);
}

static bool sqlite_drop_key(Engine *engine, Str key, Error *err)
{
    SqliteEngine *sqlite = (SqliteEngine *)engine;
    bind_bytes(sqlite_ready(sqlite, SQL_DROP_KEY), 1, key);
    return sqlite_run(sqlite, SQL_DROP_KEY, err);
}

/* --- Changes --------------------------------------------------------------------------------- */

static ChangeRow change_row(sqlite3_stmt *statement)
{
    return (ChangeRow){
        .id = sqlite3_column_int64(statement, 0),
        .key = column_bytes(statement, 1),
        .value = column_bytes(statement, 2),
        .deleted = sqlite3_column_type(statement, 2) == SQLITE_NULL,
        .version = sqlite3_column_int64(statement, 3),
        .create_revision = sqlite3_column_int64(statement, 4),
        .lease = sqlite3_column_int64(statement, 5),
        .before = sqlite3_column_int64(statement, 6),
    };
}

static bool sqlite_get_change(Engine *engine, int64_t id, ChangeRow *out, Error *err)
{
    SqliteEngine *sqlite = (SqliteEngine *)engine;
    sqlite3_stmt *statement = sqlite_ready(sqlite, SQL_GET_CHANGE);
    sqlite3_bind_int64(statement, 1, id);
    bool found;
    if (!step(sqlite, statement, &found, err)) {
        return false;
    }
    *out = found ? change_row(statement) : (ChangeRow){ 0 };
    return true;
}

static bool sqlite_walk_changes(Engine *engine, int64_t from_id, ChangeVisit *visit, void *context,
                                Error *err)
{
    SqliteEngine *sqlite = (SqliteEngine *)engine;
    sqlite3_stmt *statement = sqlite_ready(sqlite, SQL_WALK_CHANGES);
    sqlite3_bind_int64(statement, 1, from_id);
    for (bool found = true;;) {
        if (!step(sqlite, statement, &found, err)) {
            return false;
        }
        if (!found) {
            break;
        }
        ChangeRow row = change_row(statement);
        if (!visit(context, &row)) {
            break;
        }
    }
    sqlite3_reset(statement);
    return true;
}

static bool sqlite_walk_sizes(Engine *engine, int64_t from_id, SizeVisit *visit, void *context,
                              Error *err)
{
    SqliteEngine *sqlite = (SqliteEngine *)engine;
    sqlite3_stmt *statement = sqlite_ready(sqlite, SQL_WALK_SIZES);
    sqlite3_bind_int64(statement, 1, from_id);
    for (bool found = true;;) {
        if (!step(sqlite, statement, &found, err)) {
            return false;
        }
        if (!found || !visit(context, sqlite3_column_int64(statement, 0),
                             sqlite3_column_int64(statement, 1) + CHANGE_OVERHEAD)) {
            break;
        }
    }
    sqlite3_reset(statement);
    return true;
}

static bool sqlite_add_change(Engine *engine, const ChangeRow *row, Error *err)
{
    SqliteEngine *sqlite = (SqliteEngine *)engine;
    sqlite3_stmt *statement = sqlite_ready(sqlite, SQL_ADD_CHANGE);
    sqlite3_bind_int64(statement, 1, row->id);
    bind_bytes(statement, 2, row->key);
    if (row->deleted) {
        sqlite3_bind_null(statement, 3);
    } else {
        bind_bytes(statement, 3, row->value);
    }
    sqlite3_bind_int64(statement, 4, row->version);
    sqlite3_bind_int64(statement, 5, row->create_revision);
    sqlite3_bind_int64(statement, 6, row->lease);
    sqlite3_bind_int64(statement, 7, row->before);
    return sqlite_run(sqlite, SQL_ADD_CHANGE, err);
}

static bool sqlite_drop_change(Engine *engine, int64_t id, Error *err)
{
    SqliteEngine *sqlite = (SqliteEngine *)engine;
    sqlite3_bind_int64(sqlite_ready(sqlite, SQL_DROP_CHANGE), 1, id);
    return sqlite_run(sqlite, SQL_DROP_CHANGE, err);
}

/* --- Leases ---------------------------------------------------------------------------------- */

static bool sqlite_has_lease(Engine *engine, int64_t id, bool *out, Error *err)
{
    SqliteEngine *sqlite = (SqliteEngine *)engine;
    sqlite3_stmt *statement = sqlite_ready(sqlite, SQL_HAS_LEASE);
    sqlite3_bind_int64(statement, 1, id);
    bool ok = step(sqlite, statement, out, err);
    sqlite3_reset(statement);
    return ok;
}

static bool sqlite_add_lease(Engine *engine, int64_t id, int64_t ttl_s, Error *err)
{
    SqliteEngine *sqlite = (SqliteEngine *)engine;
    sqlite3_stmt *statement = sqlite_ready(sqlite, SQL_ADD_LEASE);
    sqlite3_bind_int64(statement, 1, id);
    sqlite3_bind_int64(statement, 2, ttl_s);
    return sqlite_run(sqlite, SQL_ADD_LEASE, err);
}

static bool sqlite_drop_lease(Engine *engine, int64_t id, Error *err)
{
    SqliteEngine *sqlite = (SqliteEngine *)engine;
    sqlite3_bind_int64(sqlite_ready(sqlite, SQL_DROP_LEASE), 1, id);
    return sqlite_run(sqlite, SQL_DROP_LEASE, err);
}

static bool sqlite_walk_leases(Engine *engine, LeaseVisit *visit, void *context, Error *err)
{
    SqliteEngine *sqlite = (SqliteEngine *)engine;
    sqlite3_stmt *statement = sqlite_ready(sqlite, SQL_WALK_LEASES);
    for (bool found = true;;) {
        if (!step(sqlite, statement, &found, err)) {
            return false;
        }
        if (!found) {
            break;
        }
        visit(context, sqlite3_column_int64(statement, 0), sqlite3_column_int64(statement, 1));
    }
    sqlite3_reset(statement);
    return true;
}

/* --- Lifecycle ------------------------------------------------------------------------------- */

static void sqlite_trim(Engine *engine)
{
    checkpoint_trim((SqliteEngine *)engine);
}

static int64_t count_pages(SqliteEngine *sqlite, SqlStatement text)
{
    sqlite3_stmt *statement = sqlite_ready(sqlite, text);
    int64_t pages = sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
    sqlite3_reset(statement);
    return pages;
}

static int64_t sqlite_bytes(Engine *engine)
{
    SqliteEngine *sqlite = (SqliteEngine *)engine;
    return (count_pages(sqlite, SQL_PAGES) + sqlite->wal_pages) * PAGE_BYTES;
}

static int64_t sqlite_free_bytes(Engine *engine)
{
    return count_pages((SqliteEngine *)engine, SQL_FREE_PAGES) * PAGE_BYTES;
}

static void sqlite_close(Engine *engine)
{
    SqliteEngine *sqlite = (SqliteEngine *)engine;
    for (int i = 0; i < SQL_STATEMENT_COUNT; i++) {
        sqlite3_finalize(sqlite->statements[i]);
    }
    checkpoint_free(sqlite->checkpoint);
    BUG_IF(sqlite3_close(sqlite->db) != SQLITE_OK);
    free(sqlite);
}

const EngineKind sqlite_kind = {
    .begin = sqlite_begin,
    .commit = sqlite_commit,
    .rollback = sqlite_rollback,
    .mark = sqlite_mark,
    .keep = sqlite_keep,
    .undo = sqlite_undo,
    .get_state = sqlite_get_state,
    .set_state = sqlite_set_state,
    .find_key = sqlite_find_key,
    .walk_keys = sqlite_walk_keys,
    .set_key = sqlite_set_key,
    .drop_key = sqlite_drop_key,
    .get_change = sqlite_get_change,
    .walk_changes = sqlite_walk_changes,
    .walk_sizes = sqlite_walk_sizes,
    .add_change = sqlite_add_change,
    .drop_change = sqlite_drop_change,
    .has_lease = sqlite_has_lease,
    .add_lease = sqlite_add_lease,
    .drop_lease = sqlite_drop_lease,
    .walk_leases = sqlite_walk_leases,
    .trim = sqlite_trim,
    .bytes = sqlite_bytes,
    .free_bytes = sqlite_free_bytes,
    .close = sqlite_close,
};
