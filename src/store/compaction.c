/* Maintenance of the log: compacting, purging, and reading batches of it.
 *
 * Compacting only moves a revision in the state, which is cheap; rows that no request can reach are
 * purged later, a few with each write. The last change is never purged, because the current
 * revision is derived from it. */
#include "store/execute.h"
#include "store/request.h"

typedef struct MeasureWalk {
    History *history; /* NULL: only count sizes */
    EngineState state;
    int64_t end; /* changes from this id on are not counted */
    int64_t now_ms;
} MeasureWalk;

static bool measure_visit(void *context, int64_t id, int64_t bytes)
{
    MeasureWalk *measure = context;
    if (id >= measure->end) {
        return false;
    }
    if (measure->history != NULL && id_revision(id) > measure->state.revision) {
        history_add_point(measure->history, &measure->state, measure->now_ms);
    }
    measure->state.revision = id_revision(id);
    measure->state.log_bytes += bytes;
    return true;
}

bool execute_measure(Engine *engine, EngineState *state, History *history, int64_t now_ms,
                     Error *err)
{
    MeasureWalk measure = {
        .history = history,
        .state = { .revision = state->compacted, .compacted = state->compacted },
        .end = INT64_MAX,
        .now_ms = now_ms,
    };
    if (!engine->kind->walk_sizes(engine, id_make(state->compacted + 1, 0), measure_visit, &measure,
                                  err)) {
        return false;
    }
    state->log_bytes = measure.state.log_bytes;
    history_add_point(history, state, now_ms);
    return true;
}

static bool set_compacted(Engine *engine, EngineState *state, int64_t revision, int64_t bytes,
                          Error *err)
{
    state->log_bytes -= bytes;
    state->log_start += bytes;
    state->compacted = revision;
    return engine->kind->set_state(engine, state, err);
}

bool execute_compact(Engine *engine, EngineState *state, int64_t revision, Error *err)
{
    if (revision > state->revision) {
        return error_set(err, ERROR_INVALID, "revision %lld does not exist yet; the newest is %lld",
                         (long long)revision, (long long)state->revision);
    }
    if (revision <= state->compacted) {
        return error_set(err, ERROR_NOT_FOUND, "revision %lld is already compacted",
                         (long long)revision);
    }
    MeasureWalk removed = { .state.log_bytes = state->log_bytes, .end = id_make(revision + 1, 0) };
    if (revision < state->revision) {
        removed.state.log_bytes = 0;
        if (!engine->kind->walk_sizes(engine, id_make(state->compacted + 1, 0), measure_visit,
                                      &removed, err)) {
            return false;
        }
    }
    return set_compacted(engine, state, revision, removed.state.log_bytes, err);
}

bool execute_compact_to(Engine *engine, EngineState *state, const HistoryPoint *point, Error *err)
{
    return set_compacted(engine, state, point->revision, point->bytes - state->log_start, err);
}

/* The last change is retained, because the current revision is derived from it. */
static int64_t purge_end(const EngineState *state)
{
    int64_t last = state->compacted < state->revision ? state->compacted : state->revision - 1;
    return id_make(last + 1, 0);
}

bool execute_can_purge(const EngineState *state)
{
    return state->purged + 1 < purge_end(state);
}

typedef struct PurgeWalk {
    Arena *arena;
    int64_t end;
    uint32_t max;
    VEC(ChangeRow) rows;
} PurgeWalk;

static bool purge_visit(void *context, const ChangeRow *row)
{
    PurgeWalk *purging = context;
    if (row->id >= purging->end || purging->rows.len == purging->max) {
        return false;
    }
    ChangeRow copy = *row;
    copy.key = row->deleted ? arena_copy(purging->arena, row->key) : STR_EMPTY;
    copy.value = STR_EMPTY;
    VEC_PUSH(purging->arena, &purging->rows, copy);
    return true;
}

/* The value before this change was compacted, and so is the effect of a deletion. */
static bool purge_row(Engine *engine, const ChangeRow *row, Error *err)
{
    if (row->before != 0 && !engine->kind->drop_change(engine, row->before, err)) {
        return false;
    }
    if (!row->deleted) {
        return true;
    }
    KeyRow key;
    if (!engine->kind->drop_change(engine, row->id, err) ||
        !engine->kind->find_key(engine, row->key, &key, err)) {
        return false;
    }
    return key.id != row->id || engine->kind->drop_key(engine, row->key, err);
}

bool execute_purge(Engine *engine, EngineState *state, uint32_t rows, Arena *arena, Error *err)
{
    PurgeWalk purging = { .arena = arena, .end = purge_end(state), .max = rows };
    if (!engine->kind->walk_changes(engine, state->purged + 1, purge_visit, &purging, err)) {
        return false;
    }
    for (uint32_t i = 0; i < purging.rows.len; i++) {
        if (!purge_row(engine, &purging.rows.items[i], err)) {
            return false;
        }
    }
    bool done = purging.rows.len < rows;
    state->purged = done ? purging.end - 1 : VEC_LAST(&purging.rows).id;
    return engine->kind->set_state(engine, state, err);
}

/* --- Reading batches ------------------------------------------------------------------------- */

typedef struct ScanWalk {
    Engine *engine;
    LogScan *scan;
    Arena *arena;
    uint32_t rows;
    size_t bytes;
    Error *err;
    bool failed;
} ScanWalk;

static StoreKv copy_kv(Arena *arena, const ChangeRow *row)
{
    return (StoreKv){ arena_copy(arena, row->key),
                      arena_copy(arena, row->value),
                      row->create_revision,
                      id_revision(row->id),
                      row->version,
                      row->lease };
}

static bool scan_visit(void *context, const ChangeRow *row)
{
    ScanWalk *scanning = context;
    LogScan *scan = scanning->scan;
    bool in_range = range_has(scan->key, scan->end, row->key);
    bool full = scan->events.len == STORE_BATCH_EVENTS || scanning->bytes >= STORE_BATCH_BYTES;
    if (scanning->rows == SCAN_ROWS || (in_range && full)) {
        scan->next_id = row->id;
        return false;
    }
    scanning->rows++;
    if (!in_range) {
        return true;
    }
    StoreEvent event = { .deleted = row->deleted, .kv = copy_kv(scanning->arena, row) };
    if (scan->previous && row->before != 0) {
        ChangeRow before;
        if (!scanning->engine->kind->get_change(scanning->engine, row->before, &before,
                                                scanning->err)) {
            scanning->failed = true;
            return false;
        }
        event.has_previous = before.id != 0 && !before.deleted;
        if (event.has_previous) {
            event.previous = copy_kv(scanning->arena, &before);
        }
    }
    scanning->bytes += event.kv.key.len + event.kv.value.len + event.previous.value.len;
    VEC_PUSH(scanning->arena, &scan->events, event);
    return true;
}

bool execute_scan(Engine *engine, LogScan *scan, Arena *arena, Error *err)
{
    if (!engine->kind->get_state(engine, &scan->state, err)) {
        return false;
    }
    if (id_revision(scan->from_id) <= scan->state.compacted) {
        scan->resync = true;
        return true;
    }
    scan->next_id = id_make(scan->state.revision + 1, 0);
    ScanWalk scanning = { .engine = engine, .scan = scan, .arena = arena, .err = err };
    return engine->kind->walk_changes(engine, scan->from_id, scan_visit, &scanning, err) &&
           !scanning.failed;
}
