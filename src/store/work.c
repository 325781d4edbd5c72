/* What the threads do: one writes, in groups, one reads, one copies. */
#include <stdio.h>

#include "store/sqlite_engine.h"
#include "store/store_inner.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/file_settle.h"

enum {
    GROUP_JOBS = 256,
    GROUP_BYTES = 4 * 1024 * 1024,
    GROUP_ANSWERS = 32 * 1024 * 1024,
    GATHER_US = 1000, /* at most */
};

/* --- Writing --------------------------------------------------------------------------------- */

/* The request is at fault, not the disk: others of its group go on. */
static bool is_refused(const Error *err)
{
    return err->kind == ERROR_INVALID || err->kind == ERROR_NOT_FOUND || err->kind == ERROR_LIMIT ||
           err->kind == ERROR_CONFLICT;
}

static bool perform_grant(Engine *engine, const Job *job, Error *err)
{
    bool there;
    if (!engine->kind->has_lease(engine, job->lease, &there, err)) {
        return false;
    }
    if (there) {
        return error_set(err, ERROR_CONFLICT, "there is a lease %lld", (long long)job->lease);
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

/* Whether it might be refused after it has changed something. */
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

static bool perform_apart(const Store *store, EngineState *state, Job *job, Error *err)
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
    if (!is_refused(&job->err)) {
        *err = job->err;
        return false;
    }
    return !mark || kind->undo(engine, err);
}

/* All of them in one transaction of the disk, or none. When their answers grow large, only the
 * first ones, and `*count` tells how many. */
static bool try_group(Store *store, Job *const *jobs, uint32_t *count, Error *err)
{
    Engine *engine = store->writer;
    EngineState state = store->writer_state;
    engine->full = false;
    if (damage_refuses(store, err) || !engine->kind->begin(engine, true, err)) {
        return false;
    }
    size_t bytes = 0;
    uint32_t done = 0;
    while (done < *count && bytes <= GROUP_ANSWERS) {
        if (!perform_apart(store, &state, jobs[done], err)) {
            engine->kind->rollback(engine);
            return false;
        }
        bytes += jobs[done++]->arena.held;
    }
    if (!engine->kind->commit(engine, err)) {
        return false;
    }
    *count = done;
    store->writer_state = state;
    store->writer_news.commits++;
    damage_acknowledge(store, state.revision);
    return true;
}

static void note_damage(Store *store, const Error *err)
{
    if (err->kind == ERROR_OS) {
        damage_note(store, err);
    }
}

static void note_outcome(Store *store, bool done, const Error *err)
{
    WriterNews *news = &store->writer_news;
    if (!done) {
        note_damage(store, err);
    }
    news->writable = done;
    snprintf(news->reason, sizeof news->reason, "%.*s", (int)sizeof news->reason - 1,
             done ? "" : err->text);
}

/* With the room that was kept back, when a delete finds none. */
static bool try_with_reserve(Store *store, Job *const *jobs, uint32_t *count, Error *err)
{
    bool frees = false;
    for (uint32_t i = 0; i < *count; i++) {
        frees = frees || !space_needs_room(jobs[i]);
    }
    return store->writer->full && frees && space_release(store) &&
           try_group(store, jobs, count, err);
}

/* Gives how many of them were dealt with. */
static uint32_t write_group(Store *store, Job *const *jobs, uint32_t count)
{
    Error err;
    uint32_t one = 1;
    space_look(store);
    if (try_group(store, jobs, &count, &err) || try_with_reserve(store, jobs, &count, &err)) {
        note_outcome(store, true, NULL);
        return count;
    }
    /* One that has no room must not take the others with it. */
    for (uint32_t i = 0; i < count; i++) {
        bool done = count > 1 && try_group(store, &jobs[i], &one, &err);
        if (!done) {
            jobs[i]->ok = false;
            jobs[i]->err = err;
        }
        note_outcome(store, done, &err);
    }
    return count;
}

/* With the mutex held. */
static bool may_work(const Store *store)
{
    return !store->closing && store->answer_bytes <= ANSWERS_BYTES;
}

static uint32_t take_group(Store *store, Job **jobs)
{
    uint32_t count = 0;
    size_t bytes = 0;
    pthread_mutex_lock(&store->mutex);
    while (may_work(store) && store->writes.first != NULL && count < GROUP_JOBS &&
           bytes < GROUP_BYTES) {
        jobs[count] = job_list_take(&store->writes);
        store->write_count -= store->threaded;
        bytes += jobs[count++]->bytes;
    }
    pthread_mutex_unlock(&store->mutex);
    return count;
}

static void publish(Store *store, JobList *list, Job *const *jobs, uint32_t count)
{
    pthread_mutex_lock(&store->mutex);
    for (uint32_t i = 0; i < count; i++) {
        job_list_add(list, jobs[i]);
        store->answer_bytes += jobs[i]->arena.held;
    }
    if (list == &store->written) {
        store->writer_news.compacted = store->writer_state.compacted;
        store->writer_news.log_bytes = store->writer_state.log_bytes;
        store->writer_news.space = store->space;
        store->news = store->writer_news;
    }
    pthread_mutex_unlock(&store->mutex);
    if (store->threaded) {
        loop_post(store->loop, &store->deliver_task);
    }
}

/* Up to where the log goes by the rules: too many revisions, too many bytes, no room on the disk. */
static bool compact_by_rule(Store *store, EngineState *state, Error *err)
{
    Engine *engine = store->writer;
    int64_t keep = store->settings.keep_revisions, bytes = store->settings.keep_bytes;
    int64_t to = state->compacted, least = 0;
    if (keep >= 0 && state->revision - state->compacted > keep + keep / 8) {
        to = state->revision - keep;
    }
    if (bytes >= 0 && state->log_bytes > bytes &&
        !execute_find_bytes(engine, state, state->log_bytes - bytes / 4 * 3, &least, err)) {
        return false;
    }
    to = least > to ? least : to;
    to = store->space.is_short && keep >= 0 ? state->revision : to;
    return to <= state->compacted || execute_compact(engine, state, to, err);
}

static bool upkeep_within(Store *store, EngineState *state, Error *err)
{
    Engine *engine = store->writer;
    if (!compact_by_rule(store, state, err)) {
        return false;
    }
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    return !execute_can_purge(state) || execute_purge(engine, state, &arena, err);
}

/* Compacts by the rule, and takes away a piece of what was compacted. False when there is nothing
 * of that, or it fails: then it is tried again after the next write. */
static bool upkeep(Store *store)
{
    int64_t keep = store->settings.keep_revisions, bytes = store->settings.keep_bytes;
    EngineState state = store->writer_state;
    bool compact = (keep >= 0 && state.revision - state.compacted > keep + keep / 8) ||
                   (bytes >= 0 && state.log_bytes > bytes) ||
                   (keep >= 0 && store->space.is_short && state.revision > state.compacted);
    if (!compact && !execute_can_purge(&state)) {
        return false;
    }
    Engine *engine = store->writer;
    Error err;
    engine->full = false;
    if (damage_refuses(store, &err) || !engine->kind->begin(engine, true, &err)) {
        return false;
    }
    if (!upkeep_within(store, &state, &err)) {
        engine->kind->rollback(engine);
        note_damage(store, &err);
        return engine->full && space_release(store);
    }
    if (!engine->kind->commit(engine, &err)) {
        return engine->full && space_release(store);
    }
    store->writer_state = state;
    store->writer_news.commits++;
    return true;
}

static bool is_closing(Store *store)
{
    pthread_mutex_lock(&store->mutex);
    bool closing = store->closing;
    pthread_mutex_unlock(&store->mutex);
    return closing;
}

/* Those who were just answered are about to call again, while others wait already. Without a
 * moment's patience the two would take turns for ever, each in groups half as large as they could
 * be. It costs an eighth of what a commit takes, and nothing when nobody else waits. */
static void gather(Store *store, uint32_t answered, int64_t commit_us)
{
    pthread_mutex_lock(&store->mutex);
    uint32_t goal = store->write_count + answered;
    bool patient = store->threaded && store->write_count > 0 && !store->closing;
    store->write_goal = !patient ? 0 : goal < GROUP_JOBS ? goal : GROUP_JOBS;
    pthread_mutex_unlock(&store->mutex);
    if (!patient) {
        return;
    }
    worker_rest(store->write_worker, commit_us / 8 < GATHER_US ? commit_us / 8 : GATHER_US);
    pthread_mutex_lock(&store->mutex);
    store->write_goal = 0;
    pthread_mutex_unlock(&store->mutex);
}

void work_write(void *context)
{
    Store *store = context;
    Job *jobs[GROUP_JOBS];
    bool kept = false;
    for (;;) {
        uint32_t count = take_group(store, jobs);
        if (count > 0) {
            int64_t started_us = clock_monotonic_us();
            for (uint32_t done = 0, part; done < count; done += part) {
                part = write_group(store, jobs + done, count - done);
                publish(store, &store->written, jobs + done, part);
            }
            gather(store, count, clock_monotonic_us() - started_us);
        }
        bool more = !is_closing(store) && upkeep(store);
        kept |= more;
        store->writer->kind->tidy(store->writer);
        damage_sync_mark(store);
        if (count == 0 && !more) {
            break;
        }
    }
    if (store->writer->lost && !store->writer_news.loss.is_saved) {
        rescue_run(store->writer, store->path, &store->writer_news.loss);
        kept = true;
    }
    store->writer_news.bytes = store->writer->kind->bytes(store->writer);
    if (kept) {
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

static Job *take(Store *store, JobList *list)
{
    pthread_mutex_lock(&store->mutex);
    Job *job = may_work(store) ? job_list_take(list) : NULL;
    pthread_mutex_unlock(&store->mutex);
    return job;
}

void work_read(void *context)
{
    Store *store = context;
    Engine *engine = store->reader;
    for (Job *job; (job = take(store, &store->reads)) != NULL;) {
        job->ok =
            engine->kind->begin(engine, false, &job->err) && perform_read(engine, job, &job->err);
        engine->kind->rollback(engine);
        if (!job->ok) {
            note_damage(store, &job->err);
        }
        publish(store, &store->read, &job, 1);
    }
}

/* --- Copying --------------------------------------------------------------------------------- */

/* What is in memory as a file, by way of an engine for it. */
static bool write_memory(Engine *from, const char *path, Error *err)
{
    Engine *to;
    if (!sqlite_engine_open(path, 0, &to, err)) {
        return false;
    }
    bool done = to->kind->begin(to, true, err);
    if (done) {
        done = execute_copy(from, to, err);
        if (done) {
            done = to->kind->commit(to, err);
        } else {
            to->kind->rollback(to);
        }
    }
    to->kind->close(to);
    return done;
}

/* What is there under its name may be another one's. */
static bool check_place(const Store *store, Error *err)
{
    return sqlite_engine_is_in_place(store->writer, true) ||
           error_set(err, ERROR_UNAVAILABLE,
                     "the store of this cluster is lost: its file was removed or replaced while it "
                     "was open");
}

static bool copy_to(Store *store, const char *draft, Arena *arena, Error *err)
{
    if (store->path != NULL) {
        bool ok = check_place(store, err) && sqlite_engine_copy(store->path, draft, err) &&
                  check_place(store, err);
        if (!ok) {
            note_damage(store, err);
        }
        return ok;
    }
    const char *first = arena_format(arena, "%s.memory%c", draft, '\0').data;
    bool done = file_write_private(first, STR_EMPTY, err) &&
                write_memory(store->writer, first, err) && sqlite_engine_copy(first, draft, err);
    file_remove(first);
    return done;
}

static bool perform_copy(Store *store, Job *job, Error *err)
{
    const char *draft = arena_format(&job->arena, "%s.new%c", job->path, '\0').data;
    EngineState state;
    StoreSnapshot *snapshot = &job->snapshot;
    bool done = file_write_private(draft, STR_EMPTY, err) &&
                copy_to(store, draft, &job->arena, err) &&
                sqlite_engine_check(draft, NULL, NULL, &state, err) &&
                file_digest(draft, snapshot->digest, &snapshot->bytes, err) &&
                file_settle(draft, job->path, err);
    if (!done) {
        file_remove(draft);
        return error_wrap(err, "snapshot");
    }
    snapshot->revision = state.revision;
    return true;
}

static int asks_to_stop(void *context)
{
    return is_closing(context);
}

static bool perform_verify(Store *store, Error *err)
{
    EngineState state;
    bool ok = store->path == NULL || !sqlite_engine_is_in_place(store->writer, false) ||
              sqlite_engine_check(store->path, asks_to_stop, store, &state, err);
    if (!ok) {
        note_damage(store, err);
    }
    return ok;
}

void work_copy(void *context)
{
    Store *store = context;
    for (Job *job; (job = take(store, &store->copies)) != NULL;) {
        job->ok = job->kind == JOB_VERIFY ? perform_verify(store, &job->err)
                                          : perform_copy(store, job, &job->err);
        publish(store, &store->copied, &job, 1);
    }
}
