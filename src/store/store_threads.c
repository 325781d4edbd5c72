/* The threads of the store: the writer, the reader and the verifier.
 *
 * The writer takes all queued writes and commits them as one group, so that many callers share one
 * fsync. A group that fails is retried one by one, so that a bad request affects only itself.
 * History is compacted and purged between groups, or in small portions with a group under constant
 * load. */
#include <stdio.h>

#include "store/local_store.h"
#include "store/sqlite_engine.h"
#include "sys/clock.h"

enum {
    GROUP_JOBS = 256,
    GROUP_BYTES = 4 * 1024 * 1024,
    GROUP_REPLY_BYTES = 32 * 1024 * 1024,
    GATHER_US = 1000, /* maximum delay to gather a group */
    PAUSE_US = 20000, /* a pause is this long without a write */
    REST_US = 1000,
    PURGE_ROWS = 200, /* rows purged at once while nothing is queued */
    PURGE_FACTOR = 2, /* rows purged per written change under load */
    HELD_FACTOR = 2,  /* compact even held history if the log exceeds its limit by this factor */
};

static void record_damage(LocalStore *store, const Error *err)
{
    if (err->kind == ERROR_OS) {
        damage_record(store, err);
    }
}

/* --- Maintenance ----------------------------------------------------------------------------- */

/* The time that is recorded with revisions. */
static int64_t time_ms(const LocalStore *store)
{
    return store->threaded ? clock_monotonic_us() / 1000 : loop_now_ms(store->base.loop);
}

/* The revision up to which to compact now, or NULL for none. Held history is retained, but not
 * without limit. */
static const HistoryPoint *due_now(LocalStore *store, const EngineState *state)
{
    const HistoryPoint *due = history_due(&store->history, state, time_ms(store));
    int64_t keep = store->history.keep_bytes;
    if (due == NULL || (keep >= 0 && state->log_bytes / HELD_FACTOR > keep)) {
        return due;
    }
    pthread_mutex_lock(&store->mutex);
    int64_t held = store->held_revision;
    pthread_mutex_unlock(&store->mutex);
    return due->revision > held ? NULL : due;
}

/* When disk space is low, all history is removed, since it is not needed to continue. */
static bool compact_by_rule(LocalStore *store, EngineState *state, Error *err)
{
    if (store->space.is_low && store->history.keep_revisions >= 0) {
        return state->revision == state->compacted ||
               execute_compact(store->writer, state, state->revision, err);
    }
    const HistoryPoint *due = due_now(store, state);
    return due == NULL || execute_compact_to(store->writer, state, due, err);
}

static bool needs_compaction(LocalStore *store, const EngineState *state)
{
    return (store->space.is_low && store->history.keep_revisions >= 0 &&
            state->revision > state->compacted) ||
           due_now(store, state) != NULL;
}

/* Compacts according to the rules, and removes up to `rows` compacted rows. */
static bool maintain_in_group(LocalStore *store, EngineState *state, uint32_t rows, Error *err)
{
    if (!compact_by_rule(store, state, err)) {
        return false;
    }
    if (!execute_can_purge(state)) {
        return true;
    }
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    return execute_purge(store->writer, state, rows, &arena, err);
}

static bool needs_maintenance(LocalStore *store)
{
    return needs_compaction(store, &store->writer_state) || execute_can_purge(&store->writer_state);
}

/* Called outside of a group. Returns false if maintenance failed; it is retried with the next
 * write. */
static bool maintain(LocalStore *store)
{
    EngineState state = store->writer_state;
    Engine *engine = store->writer;
    Error err;
    engine->full = false;
    if (damage_refuses(store, &err) || !engine->kind->begin(engine, true, &err)) {
        return false;
    }
    if (!maintain_in_group(store, &state, PURGE_ROWS, &err)) {
        engine->kind->rollback(engine);
        record_damage(store, &err);
        return engine->full && space_release(store);
    }
    if (!engine->kind->commit(engine, &err)) {
        return engine->full && space_release(store);
    }
    store->writer_state = state;
    store->writer_status.commits++;
    return true;
}

/* --- Writing --------------------------------------------------------------------------------- */

/* Whether the request is at fault rather than the disk; then the rest of its group continues. */
static bool is_request_error(const Error *err)
{
    return err->kind == ERROR_INVALID || err->kind == ERROR_NOT_FOUND || err->kind == ERROR_LIMIT ||
           err->kind == ERROR_CONFLICT;
}

static bool perform_grant(Engine *engine, const Job *job, Error *err)
{
    bool exists;
    if (!engine->kind->has_lease(engine, job->lease, &exists, err)) {
        return false;
    }
    if (exists) {
        return error_set(err, ERROR_CONFLICT, "lease %lld already exists", (long long)job->lease);
    }
    return engine->kind->add_lease(engine, job->lease, job->ttl_s, err);
}

static bool perform(Engine *engine, EngineState *state, Job *job)
{
    job->changes = (Changes){ 0 };
    bool done = false;
    switch (job->kind) {
    case JOB_TXN:
        done = execute_txn(engine, state, &job->txn, &job->arena, &job->reply, &job->changes,
                           &job->err);
        break;
    case JOB_GRANT: done = perform_grant(engine, job, &job->err); break;
    case JOB_REVOKE:
        done = execute_revoke(engine, state, job->lease, &job->arena, &job->changes, &job->err);
        break;
    case JOB_COMPACT: done = execute_compact(engine, state, job->compact_to, &job->err); break;
    default: break;
    }
    job->reply.revision = state->revision;
    return done;
}

/* Whether the job may be rejected after it has changed something. */
static bool needs_mark(const Job *job)
{
    const StoreTxn *txn = &job->txn;
    if (job->kind != JOB_TXN) {
        return job->kind == JOB_REVOKE;
    }
    bool range = (txn->success_count == 1 && txn->success[0].end.len > 0) ||
                 (txn->failure_count == 1 && txn->failure[0].end.len > 0);
    return txn->success_count > 1 || txn->failure_count > 1 || range;
}

static bool perform_with_mark(const LocalStore *store, EngineState *state, Job *job, Error *err)
{
    Engine *engine = store->writer;
    const EngineKind *kind = engine->kind;
    EngineState before = *state;
    bool mark = needs_mark(job);
    job->revision = 0;
    job->ok = !space_refuses(store, job, &job->err);
    if (!job->ok) {
        return true;
    }
    if (mark && !kind->mark(engine, err)) {
        return false;
    }
    job->ok = perform(engine, state, job);
    job->revision = job->ok && state->revision > before.revision ? state->revision : 0;
    if (job->ok) {
        return !mark || kind->keep(engine, err);
    }
    *state = before;
    if (!is_request_error(&job->err)) {
        *err = job->err;
        return false;
    }
    return !mark || kind->undo(engine, err);
}

/* Executes all jobs in one disk transaction, or none of them. If their responses get large, only
 * the first ones; `*count` returns how many. With `maintains` the transaction also removes slightly
 * more history than it adds: a small portion, which costs no additional fsync. */
static bool try_group(LocalStore *store, Job *const *jobs, uint32_t *count, bool maintains,
                      Error *err)
{
    Engine *engine = store->writer;
    EngineState state = store->writer_state;
    engine->full = false;
    if (damage_refuses(store, err) || !engine->kind->begin(engine, true, err)) {
        return false;
    }
    size_t bytes = 0;
    uint32_t done = 0, changes = 1;
    int64_t now_ms = time_ms(store);
    bool ok = true;
    while (ok && done < *count && bytes <= GROUP_REPLY_BYTES) {
        ok = perform_with_mark(store, &state, jobs[done], err);
        history_add_point(&store->history, &state, now_ms);
        changes += jobs[done]->changes.events.len;
        bytes += jobs[done++]->arena.chunk_bytes;
    }
    ok = ok && (!maintains || maintain_in_group(store, &state, PURGE_FACTOR * changes, err));
    if (!ok) {
        engine->kind->rollback(engine);
    }
    if (!ok || !engine->kind->commit(engine, err)) {
        history_drop_after(&store->history, store->writer_state.revision);
        return false;
    }
    *count = done;
    store->writer_state = state;
    store->writer_status.commits++;
    damage_acknowledge(store, state.revision);
    return true;
}

static void record_outcome(LocalStore *store, bool done, const Error *err)
{
    WriterStatus *status_update = &store->writer_status;
    if (!done) {
        record_damage(store, err);
    }
    status_update->writable = done;
    snprintf(status_update->reason, sizeof status_update->reason, "%.*s",
             (int)sizeof status_update->reason - 1, done ? "" : err->text);
}

/* Retries with the reserved space if a delete runs out of space. */
static bool try_with_reserve(LocalStore *store, Job *const *jobs, uint32_t *count, Error *err)
{
    bool frees_space = false;
    for (uint32_t i = 0; i < *count; i++) {
        frees_space = frees_space || !job_needs_space(jobs[i]);
    }
    while (store->writer->full && frees_space && space_release(store)) {
        if (try_group(store, jobs, count, false, err)) {
            return true;
        }
    }
    return false;
}

/* Returns how many jobs were processed. */
static uint32_t write_group(LocalStore *store, Job *const *jobs, uint32_t count)
{
    Error err;
    uint32_t one = 1;
    space_update(store);
    if (try_group(store, jobs, &count, true, &err) || try_with_reserve(store, jobs, &count, &err)) {
        record_outcome(store, true, NULL);
        return count;
    }
    /* A request that lacks disk space must not make the others fail. */
    for (uint32_t i = 0; i < count; i++) {
        bool done = try_group(store, &jobs[i], &one, false, &err);
        if (!done) {
            jobs[i]->ok = false;
            jobs[i]->err = err;
        }
        record_outcome(store, done, &err);
    }
    return count;
}

/* Requires the mutex. */
static bool has_work(const LocalStore *store)
{
    return !store->closing && store->completed_bytes <= COMPLETED_BYTES;
}

static uint32_t next_group(LocalStore *store, Job **jobs)
{
    uint32_t count = 0;
    size_t bytes = 0;
    pthread_mutex_lock(&store->mutex);
    while (has_work(store) && store->writes.first != NULL && count < GROUP_JOBS &&
           bytes < GROUP_BYTES) {
        jobs[count] = job_list_take(&store->writes);
        store->write_count -= store->threaded;
        bytes += jobs[count++]->bytes;
    }
    pthread_mutex_unlock(&store->mutex);
    return count;
}

static void publish(LocalStore *store, JobList *list, Job *const *jobs, uint32_t count)
{
    pthread_mutex_lock(&store->mutex);
    for (uint32_t i = 0; i < count; i++) {
        job_list_add(list, jobs[i]);
        store->completed_bytes += jobs[i]->arena.chunk_bytes;
    }
    if (list == &store->written) {
        store->writer_status.compacted = store->writer_state.compacted;
        store->writer_status.log_bytes = store->writer_state.log_bytes;
        store->writer_status.space = store->space;
        store->status_update = store->writer_status;
    }
    pthread_mutex_unlock(&store->mutex);
    if (store->threaded) {
        loop_post(store->base.loop, &store->deliver_task);
    }
}

static bool is_closing(LocalStore *store)
{
    pthread_mutex_lock(&store->mutex);
    bool closing = store->closing;
    pthread_mutex_unlock(&store->mutex);
    return closing;
}

/* Callers that were just answered are about to call again, while others are already waiting.
 * Without a short delay the two would alternate forever, in groups of half the possible size. It
 * costs an eighth of the time of a commit, and nothing if no other caller is waiting. */
static void gather(LocalStore *store, uint32_t answered_count, int64_t commit_us)
{
    pthread_mutex_lock(&store->mutex);
    uint32_t wake_count = store->write_count + answered_count;
    bool may_wait = store->threaded && store->write_count > 0 && !store->closing;
    store->wake_count = !may_wait ? 0 : wake_count < GROUP_JOBS ? wake_count : GROUP_JOBS;
    pthread_mutex_unlock(&store->mutex);
    if (!may_wait) {
        return;
    }
    worker_sleep(store->write_worker, commit_us / 8 < GATHER_US ? commit_us / 8 : GATHER_US);
    pthread_mutex_lock(&store->mutex);
    store->wake_count = 0;
    pthread_mutex_unlock(&store->mutex);
}

/* Whether writes have paused. Under load there is no pause, and the next write must not wait for
 * maintenance. */
static bool has_paused(LocalStore *store, int64_t last_us)
{
    if (!store->threaded || clock_monotonic_us() - last_us >= PAUSE_US) {
        return true;
    }
    worker_sleep(store->write_worker, REST_US);
    return false;
}

void work_write(void *context)
{
    LocalStore *store = context;
    Job *jobs[GROUP_JOBS];
    bool has_more = false;
    int64_t last_us = 0;
    for (;;) {
        uint32_t count = next_group(store, jobs);
        if (count > 0) {
            int64_t started_us = last_us = clock_monotonic_us();
            for (uint32_t done = 0, part; done < count; done += part) {
                part = write_group(store, jobs + done, count - done);
                publish(store, &store->written, jobs + done, part);
            }
            gather(store, count, clock_monotonic_us() - started_us);
        }
        /* A successful group has included its part of the maintenance. */
        bool failed = !store->writer_status.writable;
        bool more = (count == 0 || failed) && !is_closing(store) && needs_maintenance(store);
        if (more && (failed || has_paused(store, last_us))) {
            more = maintain(store);
            has_more |= more;
        }
        store->writer->kind->trim(store->writer);
        damage_sync_mark(store);
        if (count == 0 && !more) {
            break;
        }
    }
    if (store->writer->lost && !store->writer_status.loss.is_saved) {
        rescue_run(store->writer, store->path, &store->writer_status.loss);
        has_more = true;
    }
    store->writer_status.bytes = store->writer->kind->bytes(store->writer);
    if (has_more) {
        publish(store, &store->written, NULL, 0);
    }
}

/* --- Reading --------------------------------------------------------------------------------- */

static bool perform_read(Engine *engine, Job *job, Error *err)
{
    EngineState state;
    switch (job->kind) {
    case JOB_READ:
        return engine->kind->get_state(engine, &state, err) &&
               execute_txn(engine, &state, &job->txn, &job->arena, &job->reply, &job->changes, err);
    case JOB_LEASE_KEYS:
        if (!engine->kind->get_state(engine, &state, err)) {
            return false;
        }
        job->reply.revision = state.revision;
        return execute_lease_keys(engine, job->lease, &job->arena, &job->keys, &job->key_count,
                                  err);
    case JOB_SCAN: return execute_scan(engine, &job->scan, &job->arena, err);
    default: return true;
    }
}

static Job *next_job(LocalStore *store, JobList *list)
{
    pthread_mutex_lock(&store->mutex);
    Job *job = has_work(store) ? job_list_take(list) : NULL;
    pthread_mutex_unlock(&store->mutex);
    return job;
}

void work_read(void *context)
{
    LocalStore *store = context;
    Engine *engine = store->reader;
    for (Job *job; (job = next_job(store, &store->reads)) != NULL;) {
        job->ok =
            engine->kind->begin(engine, false, &job->err) && perform_read(engine, job, &job->err);
        engine->kind->rollback(engine);
        if (!job->ok) {
            record_damage(store, &job->err);
        }
        publish(store, &store->read, &job, 1);
    }
}

/* --- Verifying ------------------------------------------------------------------------------- */

static int is_stopping(void *context)
{
    return is_closing(context);
}

static bool perform_verify(LocalStore *store, Error *err)
{
    EngineState state;
    bool ok = store->path == NULL || !sqlite_engine_is_in_place(store->writer, false) ||
              sqlite_engine_check(store->path, is_stopping, store, &state, err);
    if (!ok) {
        record_damage(store, err);
    }
    return ok;
}

void work_verify(void *context)
{
    LocalStore *store = context;
    for (Job *job; (job = next_job(store, &store->checks)) != NULL;) {
        job->ok = perform_verify(store, &job->err);
        publish(store, &store->checked, &job, 1);
    }
}
