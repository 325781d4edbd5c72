/* The log as such: compacting and purging it, reading batches of it, copying all of it. */
#include "store/execute.h"
#include "store/request.h"

typedef struct Measure {
    int64_t end;    /* ids from here on do not count */
    int64_t wanted; /* bytes */
    int64_t bytes;
    int64_t revision; /* of the last that was counted */
} Measure;

static bool measure_visit(void *context, int64_t id, int64_t bytes)
{
    Measure *measure = context;
    if (id >= measure->end ||
        (measure->bytes >= measure->wanted && id_revision(id) != measure->revision)) {
        return false;
    }
    measure->bytes += bytes;
    measure->revision = id_revision(id);
    return true;
}

bool execute_measure(Engine *engine, EngineState *state, Error *err)
{
    Measure measure = { .end = INT64_MAX, .wanted = INT64_MAX };
    if (!engine->kind->walk_sizes(engine, id_make(state->compacted + 1, 0), measure_visit, &measure,
                                  err)) {
        return false;
    }
    state->log_bytes = measure.bytes;
    return true;
}

bool execute_find_bytes(Engine *engine, const EngineState *state, int64_t bytes, int64_t *revision,
                        Error *err)
{
    Measure measure = { .end = INT64_MAX, .wanted = bytes, .revision = state->compacted };
    *revision = state->compacted;
    if (!engine->kind->walk_sizes(engine, id_make(state->compacted + 1, 0), measure_visit, &measure,
                                  err)) {
        return false;
    }
    *revision = measure.revision;
    return true;
}

bool execute_compact(Engine *engine, EngineState *state, int64_t revision, Error *err)
{
    if (revision > state->revision) {
        return error_set(err, ERROR_INVALID, "there is no revision %lld yet, only up to %lld",
                         (long long)revision, (long long)state->revision);
    }
    if (revision <= state->compacted) {
        return error_set(err, ERROR_NOT_FOUND, "revision %lld was compacted already",
                         (long long)revision);
    }
    Measure gone = { .end = id_make(revision + 1, 0), .wanted = INT64_MAX };
    if (!engine->kind->walk_sizes(engine, id_make(state->compacted + 1, 0), measure_visit, &gone,
                                  err)) {
        return false;
    }
    state->log_bytes -= gone.bytes;
    state->compacted = revision;
    return engine->kind->set_state(engine, state, err);
}

/* The last change stays: what the current revision is follows from it. */
static int64_t purge_end(const EngineState *state)
{
    int64_t last = state->compacted < state->revision ? state->compacted : state->revision - 1;
    return id_make(last + 1, 0);
}

bool execute_can_purge(const EngineState *state)
{
    return state->purged + 1 < purge_end(state);
}

typedef struct Purging {
    Arena *arena;
    int64_t end;
    VEC(ChangeRow) rows;
} Purging;

static bool purge_visit(void *context, const ChangeRow *row)
{
    Purging *purging = context;
    if (row->id >= purging->end || purging->rows.len == PURGE_ROWS) {
        return false;
    }
    ChangeRow copy = *row;
    copy.key = row->deleted ? arena_copy(purging->arena, row->key) : STR_EMPTY;
    copy.value = STR_EMPTY;
    VEC_PUSH(purging->arena, &purging->rows, copy);
    return true;
}

/* As of the compacted revision, what was there before this change is unknown, and so is that
 * something was deleted by it. */
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

bool execute_purge(Engine *engine, EngineState *state, Arena *arena, Error *err)
{
    Purging purging = { .arena = arena, .end = purge_end(state) };
    if (!engine->kind->walk_changes(engine, state->purged + 1, purge_visit, &purging, err)) {
        return false;
    }
    for (uint32_t i = 0; i < purging.rows.len; i++) {
        if (!purge_row(engine, &purging.rows.items[i], err)) {
            return false;
        }
    }
    bool done = purging.rows.len < PURGE_ROWS;
    state->purged = done ? purging.end - 1 : VEC_LAST(&purging.rows).id;
    return engine->kind->set_state(engine, state, err);
}

/* --- Reading batches ------------------------------------------------------------------------- */

typedef struct Scanning {
    Engine *engine;
    LogScan *scan;
    Arena *arena;
    uint32_t rows;
    size_t bytes;
    Error *err;
    bool failed;
} Scanning;

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
    Scanning *scanning = context;
    LogScan *scan = scanning->scan;
    bool wanted = range_has(scan->key, scan->end, row->key);
    bool full = scan->events.len == STORE_BATCH_EVENTS || scanning->bytes >= STORE_BATCH_BYTES;
    if (scanning->rows == SCAN_ROWS || (wanted && full)) {
        scan->next_id = row->id;
        return false;
    }
    scanning->rows++;
    if (!wanted) {
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
    Scanning scanning = { .engine = engine, .scan = scan, .arena = arena, .err = err };
    return engine->kind->walk_changes(engine, scan->from_id, scan_visit, &scanning, err) &&
           !scanning.failed;
}

/* --- Copying --------------------------------------------------------------------------------- */

typedef struct Copying {
    Engine *to;
    Error *err;
    bool failed;
} Copying;

static bool copy_key(void *context, const KeyRow *row)
{
    Copying *copying = context;
    copying->failed = !copying->to->kind->set_key(copying->to, row, copying->err);
    return !copying->failed;
}

static bool copy_change(void *context, const ChangeRow *row)
{
    Copying *copying = context;
    copying->failed = !copying->to->kind->add_change(copying->to, row, copying->err);
    return !copying->failed;
}

static void copy_lease(void *context, int64_t id, int64_t ttl_s)
{
    Copying *copying = context;
    copying->failed =
        copying->failed || !copying->to->kind->add_lease(copying->to, id, ttl_s, copying->err);
}

bool execute_copy(Engine *from, Engine *to, Error *err)
{
    Copying copying = { .to = to, .err = err };
    EngineState state;
    KeyWalk all = { .key = STORE_ALL, .end = STORE_ALL };
    return from->kind->get_state(from, &state, err) &&
           from->kind->walk_keys(from, &all, copy_key, &copying, err) && !copying.failed &&
           from->kind->walk_changes(from, 0, copy_change, &copying, err) && !copying.failed &&
           from->kind->walk_leases(from, copy_lease, &copying, err) && !copying.failed &&
           to->kind->set_state(to, &state, err);
}
