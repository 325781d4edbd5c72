/* Opening and closing the local backend, transactions, and completions. */
#include "store/local_store.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/log.h"
#include "base/memory.h"
#include "store/engine.h"
#include "store/request.h"
#include "store/sqlite_engine.h"
#include "sys/file.h"
#include "sys/file_commit.h"

#define STORE_LOCK "store.lock"

#define FULL_TEXT "the disk is full; only deletes are accepted until space is available again"
#define LOST_TEXT                                    \
    "the store of this cluster is lost: " STORE_FILE \
    " or its log was removed or replaced while it was open"

/* --- Completions ----------------------------------------------------------------------------- */

static void deliver_write(LocalStore *store, Job *job)
{
    store->writes_completed++;
    job_uncount(store, job);
    if (job->ok) {
        store->durable_ms = loop_now_ms(store->base.loop);
    }
    if (job->ok && job->kind == JOB_COMPACT) {
        store->state.compacted = job->compact_to;
    }
    if (job->revision > 0) {
        store->state.revision = job->revision;
    }
    leases_job_done(store, job);
    job_complete(job);
    watches_write_done(store, job);
}

static void deliver_read(LocalStore *store, Job *job)
{
    job_uncount(store, job);
    store->verifying = store->verifying && job->kind != JOB_VERIFY;
    if (job->kind == JOB_SCAN) {
        watches_scanned(store, job);
        return;
    }
    if (job->ok && job->reply.revision > store->newest) {
        store->newest = job->reply.revision;
    }
    leases_job_done(store, job);
    job_complete(job);
    job_free(job);
}

static size_t deliver_completed(LocalStore *store, JobList *written, JobList *read,
                                JobList *checked)
{
    pthread_mutex_lock(&store->mutex);
    *written = store->written;
    *read = store->read;
    *checked = store->checked;
    store->written = store->read = store->checked = (JobList){ 0 };
    store->notified = store->status_update;
    store->notified_damage = store->damage;
    size_t bytes = store->completed_bytes;
    pthread_mutex_unlock(&store->mutex);
    if (store->notified.compacted > store->state.compacted) {
        store->state.compacted = store->notified.compacted;
    }
    return bytes;
}

/* Wakes the threads, if they were waiting for responses to be delivered. */
static void delivered(LocalStore *store, size_t bytes)
{
    pthread_mutex_lock(&store->mutex);
    bool waited = store->completed_bytes > COMPLETED_BYTES;
    store->completed_bytes -= bytes;
    pthread_mutex_unlock(&store->mutex);
    if (waited && store->threaded && !store->closing) {
        worker_wake(store->write_worker);
        worker_wake(store->read_worker);
        if (store->verify_worker != NULL) {
            worker_wake(store->verify_worker);
        }
    } else if (waited && !store->closing) {
        loop_defer(store->base.loop, &store->deliver_task);
    }
}

static void deliver_done(LocalStore *store)
{
    JobList written, read, checked;
    size_t bytes = deliver_completed(store, &written, &read, &checked);
    Job *job;
    while ((job = job_list_take(&written)) != NULL) {
        deliver_write(store, job);
    }
    while ((job = job_list_take(&read)) != NULL) {
        deliver_read(store, job);
    }
    while ((job = job_list_take(&checked)) != NULL) {
        deliver_read(store, job);
    }
    delivered(store, bytes);
}

/* The owner may close the store from here. */
static void report_loss(LocalStore *store)
{
    const StoreLostFile *loss = &store->notified.loss;
    bool is_new =
        (loss->is_lost && !store->loss_reported) || (loss->is_saved && !store->save_reported);
    store->loss_reported = loss->is_lost;
    store->save_reported = loss->is_saved;
    if (is_new && store->settings.lost != NULL) {
        store->settings.lost(store->settings.context, loss);
    }
}

/* The owner may close the store from here. */
static void report_damage(LocalStore *store)
{
    if (store->notified_damage.exists && !store->damage_reported) {
        store->damage_reported = true;
        if (store->settings.damaged != NULL) {
            store->settings.damaged(store->settings.context, store->notified_damage.text);
        }
    }
}

static void deliver(void *context)
{
    LocalStore *store = context;
    if (!store->threaded) {
        work_write(store);
        work_read(store);
        work_verify(store);
    }
    deliver_done(store);
    store_release_reads(store);
    report_damage(store);
    report_loss(store);
}

static void deliver_all(void *context)
{
    LocalStore *store = context;
    JobList completed = store->completed;
    store->completed = (JobList){ 0 };
    for (Job *job; (job = job_list_take(&completed)) != NULL;) {
        deliver_read(store, job);
    }
}

/* Verifies rarely read pages regularly, so that damage is found while a good backup still
 * exists. */
static void verify(void *context)
{
    LocalStore *store = context;
    if (!store->verifying) {
        store->verifying = true;
        store_start_verify(store, job_new(JOB_VERIFY));
    }
    loop_timer_start(&store->verify, store->settings.verify_ms);
}

/* --- Lifecycle ------------------------------------------------------------------------------- */

static LocalStore *local_store_new(Loop *loop, const StoreSettings *settings)
{
    LocalStore *store = memory_new(sizeof *store);
    store->base.loop = loop;
    store->settings = settings == NULL ? (StoreSettings){ 0 } : *settings;
    const StoreSettings *keep = &store->settings;
    store->history = (History){
        .keep_revisions = keep->keep_revisions == 0 ? STORE_KEEP_REVISIONS : keep->keep_revisions,
        .keep_bytes = keep->keep_bytes == 0 ? STORE_KEEP_BYTES : keep->keep_bytes,
        .keep_ms = keep->keep_ms == 0 ? STORE_KEEP_MS : keep->keep_ms,
    };
    if (store->settings.progress_ms <= 0) {
        store->settings.progress_ms = STORE_PROGRESS_MS;
    }
    store->directory.descriptor = -1;
    store->lock.descriptor = -1;
    store->mark.file.descriptor = -1;
    store->writer_status.writable = true;
    store->held_revision = INT64_MAX;
    pthread_mutex_init(&store->mutex, NULL);
    loop_task_init(&store->deliver_task, deliver, store);
    loop_task_init(&store->completion_task, deliver_all, store);
    loop_timer_init(&store->verify, loop, verify, store);
    return store;
}

static void local_store_free(LocalStore *store)
{
    leases_clear(store);
    history_clear(&store->history);
    if (store->reader != NULL && store->reader != store->writer) {
        store->reader->kind->close(store->reader);
    }
    if (store->writer != NULL) {
        store->writer->kind->close(store->writer);
    }
    damage_close(store);
    file_lock_release(&store->lock);
    directory_close(&store->directory);
    pthread_mutex_destroy(&store->mutex);
    free(store->path);
    free(store);
}

/* The engines are open; nothing can fail from here on. */
static bool start(LocalStore *store, Error *err)
{
    Engine *engine = store->reader;
    if (!engine->kind->get_state(engine, &store->state, err) || !leases_load(store, err) ||
        !damage_open(store, err)) {
        return false;
    }
    if (!execute_measure(engine, &store->state, &store->history, loop_now_ms(store->base.loop),
                         err)) {
        if (err->kind != ERROR_OS) {
            return false;
        }
        damage_record(store, err); /* the undamaged part can still be read */
    }
    space_open(store);
    if (store->state.revision == 0) {
        store->state.revision = store->settings.after;
    }
    store->writer_state = store->state;
    store->writer_status.log_bytes = store->state.log_bytes;
    store->writer_status.space = store->space;
    store->writer_status.compacted = store->state.compacted;
    store->writer_status.bytes = store->writer->kind->bytes(store->writer);
    store->status_update = store->notified = store->writer_status;
    store->durable_ms = loop_now_ms(store->base.loop);
    watches_init(store);
    return true;
}

static void refuse_all(LocalStore *store, JobList *list)
{
    for (Job *job; (job = job_list_take(list)) != NULL;) {
        job->ok = error_set(&job->err, ERROR_UNAVAILABLE, "the store is closing");
        job_uncount(store, job);
        job_complete(job);
        job_free(job);
    }
}

/* The last opportunity to save the data. */
static void rescue_lost_file(LocalStore *store)
{
    if (store->path != NULL && !store->writer_status.loss.is_saved &&
        !sqlite_engine_is_in_place(store->writer, true)) {
        rescue_run(store->writer, store->path, &store->writer_status.loss);
        log_error("store was lost while it was open",
                  LOG_C("error", store->writer_status.loss.why.text));
    }
}

static void local_close(Store *base)
{
    LocalStore *store = (LocalStore *)base;
    pthread_mutex_lock(&store->mutex);
    store->closing = true;
    pthread_mutex_unlock(&store->mutex);
    loop_timer_stop(&store->verify);
    worker_free(store->write_worker);
    worker_free(store->read_worker);
    worker_free(store->verify_worker);
    deliver_done(store);
    deliver_all(store);
    refuse_all(store, &store->writes);
    refuse_all(store, &store->reads);
    refuse_all(store, &store->checks);
    refuse_all(store, &store->held);
    loop_task_stop(store->base.loop, &store->deliver_task);
    loop_task_stop(store->base.loop, &store->completion_task);
    watches_clear(store);
    rescue_lost_file(store);
    local_store_free(store);
}

/* --- Calls ----------------------------------------------------------------------------------- */

static bool local_txn(Store *base, const StoreTxn *txn, size_t bytes, StoreDone *done,
                      void *context, Error *err)
{
    LocalStore *store = (LocalStore *)base;
    bytes += sizeof(Job);
    if (!job_admit(store, bytes, err)) {
        return false;
    }
    bool writes = request_writes(txn);
    Job *job = job_new(writes ? JOB_TXN : JOB_READ);
    job->bytes = bytes;
    job->txn = request_copy_txn(&job->arena, txn);
    job->done = done;
    job->context = context;
    if (writes) {
        store_start_write(store, job);
    } else {
        job->after = txn->relaxed ? 0 : store->writes_called;
        store_start_read(store, job);
    }
    return true;
}

/* An empty read, because every response contains the revision. */
static bool local_revision(Store *base, StoreDone *done, void *context, Error *err)
{
    return local_txn(base, &(StoreTxn){ 0 }, 0, done, context, err);
}

static bool local_compact(Store *base, int64_t revision, StoreDone *done, void *context, Error *err)
{
    LocalStore *store = (LocalStore *)base;
    if (!job_admit(store, sizeof(Job), err)) {
        return false;
    }
    Job *job = job_new(JOB_COMPACT);
    job->bytes = sizeof *job;
    job->compact_to = revision;
    job->done = done;
    job->context = context;
    store_start_write(store, job);
    return true;
}

static void local_hold(Store *base, int64_t revision)
{
    LocalStore *store = (LocalStore *)base;
    pthread_mutex_lock(&store->mutex);
    store->held_revision = revision;
    pthread_mutex_unlock(&store->mutex);
}

static StoreStatus known_status(const LocalStore *store)
{
    StoreStatus status = {
        .revision = store->state.revision,
        .compacted = store->state.compacted,
        .bytes = store->notified.bytes,
        .log_bytes = store->notified.log_bytes,
        .disk_bytes = store->notified.space.disk,
        .has_reserve = store->notified.space.held > 0,
        .pending = store->pending,
        .watches = store->watches.count,
        .watches_behind = store->watches.behind_count,
        .leases = store->leases.count,
        .durable_ms = store->durable_ms,
        .commits = store->notified.commits,
        .writes = store->writes_completed,
    };
    status.condition = store->notified_damage.exists  ? STORE_DAMAGED
                       : store->notified.loss.is_lost ? STORE_LOST
                       : store->notified.space.is_low ? STORE_FULL
                       : !store->notified.writable    ? STORE_UNWRITABLE
                                                      : STORE_OK;
    status.writable = status.condition == STORE_OK;
    snprintf(status.reason, sizeof status.reason, "%s",
             status.condition == STORE_DAMAGED ? store->notified_damage.text
             : status.condition == STORE_FULL  ? FULL_TEXT
                                               : store->notified.reason);
    return status;
}

static StoreStatus local_status(const Store *base, bool check_disk)
{
    const LocalStore *store = (const LocalStore *)base;
    StoreStatus status = known_status(store);
    if (!check_disk || store->path == NULL) {
        return status;
    }
    if (!sqlite_engine_is_in_place(store->writer, true)) {
        status.condition = STORE_LOST;
        status.writable = false;
        snprintf(status.reason, sizeof status.reason, "%s", LOST_TEXT);
    } else if (status.condition == STORE_OK &&
               space_is_low(&store->notified.space, directory_disk_free(&store->directory),
                            store->notified.space.free_bytes)) {
        status.condition = STORE_FULL;
        status.writable = false;
        snprintf(status.reason, sizeof status.reason, "%s", FULL_TEXT);
    }
    return status;
}

static const StoreBackend local_backend = {
    .close = local_close,
    .txn = local_txn,
    .revision = local_revision,
    .compact = local_compact,
    .lease_grant = local_lease_grant,
    .lease_keep_alive = local_lease_keep_alive,
    .lease_revoke = local_lease_revoke,
    .lease_time_to_live = local_lease_time_to_live,
    .lease_list = local_lease_list,
    .watch = local_watch,
    .watch_ack = local_watch_ack,
    .watch_cancel = local_watch_cancel,
    .hold = local_hold,
    .status = local_status,
};

/* --- Opening --------------------------------------------------------------------------------- */

Store *store_open_memory(Loop *loop, const StoreSettings *settings)
{
    LocalStore *store = local_store_new(loop, settings);
    Error err;
    store->base.backend = &local_backend;
    store->writer = store->reader = memory_engine_new();
    if (!start(store, &err)) {
        BUG("%s", err.text);
    }
    return &store->base;
}

static char *path_in(const char *directory)
{
    size_t room = strlen(directory) + sizeof "/" STORE_FILE;
    char *path = memory_new(room);
    snprintf(path, room, "%s/%s", directory, STORE_FILE);
    return path;
}

/* Opens the directory, takes its lock, and sets the path of the database. */
static bool open_directory(LocalStore *store, const char *directory, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str found = STR_EMPTY;
    if (store->settings.existing && !store_exists(directory)) {
        return error_set(err, ERROR_NOT_FOUND, "%s/" STORE_FILE " is missing", directory);
    }
    if (!directory_make(directory, &store->directory, err)) {
        return false;
    }
    if (!file_lock_take(&store->directory, STORE_LOCK, STR("a store\n"), &arena, &store->lock,
                        &found, err)) {
        if (err->kind == ERROR_CONFLICT) {
            error_set(err, ERROR_CONFLICT, "%s: another process has this store open", directory);
        }
        return false;
    }
    store->path = path_in(directory);
    return true;
}

/* Adopts the data that a server saved after it lost its file. */
static bool adopt_rescued(const LocalStore *store, Error *err)
{
    if (!store->settings.existing || !rescue_exists(store->path)) {
        return true;
    }
    return file_exists(store->path) ? rescue_refuse(store->path, err)
                                    : rescue_adopt(store->path, err);
}

static bool open_file(LocalStore *store, Error *err)
{
    /* SQLite would create it readable by other users. Its other files inherit the mode. */
    if (!directory_has(&store->directory, STORE_FILE) &&
        !directory_write(&store->directory, STORE_FILE, STR_EMPTY, true, err)) {
        return false;
    }
    return (store->writer != NULL ||
            sqlite_engine_open(store->path, store->settings.wal_pages, &store->writer, err)) &&
           sqlite_engine_open_reader(store->path, &store->reader, err);
}

bool store_open_sqlite(Loop *loop, const char *directory, const StoreSettings *settings,
                       Store **out, Error *err)
{
    LocalStore *store = local_store_new(loop, settings);
    store->base.backend = &local_backend;
    bool is_entered = open_directory(store, directory, err) && adopt_rescued(store, err);
    if (is_entered) {
        space_init(store);
    }
    if (!is_entered ||
        (!open_file(store, err) && (!space_release_all(store) || !open_file(store, err))) ||
        !start(store, err) ||
        (!loop_is_virtual(loop) && !sqlite_engine_start_checkpoints(store->writer, err))) {
        local_store_free(store);
        return false;
    }
    store->threaded = !loop_is_virtual(loop);
    if (store->threaded) {
        store->write_worker = worker_new(work_write, store);
        store->read_worker = worker_new(work_read, store);
    }
    if (store->damage.exists) {
        loop_defer(loop, &store->deliver_task);
    }
    if (store->settings.verify_ms > 0) {
        loop_timer_start(&store->verify, 0);
    }
    *out = &store->base;
    return true;
}

static bool check_snapshot(const char *path, Str digest, Error *err)
{
    char found[SHA256_HEX + 1];
    int64_t bytes;
    EngineState state;
    if (!file_digest(path, found, &bytes, err)) {
        return false;
    }
    if (digest.len > 0 && !str_eq_c(digest, found)) {
        return error_set(err, ERROR_OS, "%s does not have the expected checksum: it is %s", path,
                         found);
    }
    return sqlite_engine_check(path, NULL, NULL, &state, err);
}

bool store_restore(const char *directory, const char *path, Str digest, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    LocalStore *store = local_store_new(NULL, NULL);
    bool done = open_directory(store, directory, err);
    if (done && directory_has(&store->directory, STORE_FILE)) {
        done = error_set(err, ERROR_CONFLICT, "%s: a store already exists", directory);
    } else if (done) {
        const char *temporary = arena_format(&arena, "%s.new%c", store->path, '\0').data;
        done = check_snapshot(path, digest, err) && file_write_private(temporary, STR_EMPTY, err);
        if (done) {
            done = sqlite_engine_copy(path, temporary, err) &&
                   file_commit(temporary, store->path, err);
        }
        if (!done) {
            file_remove(temporary);
        }
    }
    local_store_free(store);
    return done;
}

bool store_exists(const char *directory)
{
    AUTO_CLEAR(Directory) open = { .descriptor = -1 };
    AUTO_CLEAR(Arena) arena;
    Str nothing;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    if (!directory_open(directory, &open, &err)) {
        return err.kind != ERROR_NOT_FOUND;
    }
    /* A file with content would exceed a limit of 0. */
    return (!directory_read(&open, &arena, STORE_FILE, 0, &nothing, &err) &&
            err.kind != ERROR_NOT_FOUND) ||
           rescue_exists(arena_format(&arena, "%s/" STORE_FILE "%c", directory, '\0').data);
}

bool store_is_open(const char *directory)
{
    AUTO_CLEAR(Directory) open = { .descriptor = -1 };
    Error err;
    return directory_open(directory, &open, &err) && file_lock_is_held(&open, STORE_LOCK);
}

bool store_release_reserve(const char *directory, Error *err)
{
    LocalStore *store = local_store_new(NULL, &(StoreSettings){ .reserve = true });
    bool ok = !store_exists(directory) || open_directory(store, directory, err);
    if (ok && store->path != NULL) {
        (void)space_release_all(store);
    }
    local_store_free(store);
    return ok;
}

void store_keep_reserve(const char *directory)
{
    LocalStore *store = local_store_new(NULL, &(StoreSettings){ .reserve = true });
    Error ignored;
    if (store_exists(directory) && open_directory(store, directory, &ignored)) {
        space_init(store);
        space_open(store);
    }
    local_store_free(store);
}

bool store_check(const char *directory, Error *err)
{
    LocalStore *store = local_store_new(NULL, NULL);
    EngineState state;
    bool ok = directory_open(directory, &store->directory, err);
    if (ok && file_lock_is_held(&store->directory, STORE_LOCK)) {
        ok = error_set(err, ERROR_CONFLICT, "%s: another process has this store open", directory);
    } else if (ok && !directory_has(&store->directory, STORE_FILE)) {
        ok = error_set(err, ERROR_NOT_FOUND, "%s: no store found", directory);
    } else if (ok) {
        store->path = path_in(directory);
        ok = sqlite_engine_check(store->path, NULL, NULL, &state, err) &&
             damage_check(store, state.revision, err);
    }
    local_store_free(store);
    return ok;
}

bool store_can_accept(const char *directory, Error *err)
{
    LocalStore *store = local_store_new(NULL, NULL);
    StoreAccepted ignored;
    bool ok = store_exists(directory)
                  ? open_directory(store, directory, err) && damage_find_loss(store, &ignored, err)
                  : error_set(err, ERROR_NOT_FOUND, "%s: no store found", directory);
    local_store_free(store);
    return ok;
}

bool store_accept(const char *directory, Str key, Str value, StoreAccepted *out, Error *err)
{
    LocalStore *store = local_store_new(NULL, NULL);
    bool ok =
        store_exists(directory)
            ? open_directory(store, directory, err) && damage_accept(store, key, value, out, err)
            : error_set(err, ERROR_NOT_FOUND, "%s: no store found", directory);
    local_store_free(store);
    return ok;
}
