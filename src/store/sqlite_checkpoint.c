/* Checkpoints: copying the write-ahead log into the database, so that the log can start over.
 *
 * A thread with its own connection copies while the writer keeps appending, then copies what was
 * appended meanwhile, until little is left. Once the log has a multiple of that length, the writer
 * copies the remainder between two groups: the log starts over with the first commit that finds
 * everything copied.
 *
 * SQLite before 3.51.3 can lose pages when one connection begins a checkpoint while another starts
 * the log over ("WAL-reset bug"). That cannot happen here: there is one checkpoint at a time, and
 * it begins only when the log has pages that were never copied, so the log cannot start over before
 * it is done.
 *
 * While the state is CHECKPOINT_RUNNING the connection belongs to the thread, otherwise to the
 * writer. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "store/sqlite_inner.h"
#include "sys/worker.h"

enum {
    WAIT_MS = 20, /* time to wait for readers when the log is large */
    /* the writer copies the remainder when the log exceeds its limit by this factor */
    WAIT_FACTOR = 4,
    /* the writer waits for the thread and for readers when the log exceeds its limit by this
     * factor */
    LARGE_FACTOR = 8,
    REMAINDER_PART = 10, /* fraction of the limit that may be left to the writer */
    TIGHT_PAGES = 64,    /* limit of the log while the disk is nearly full */
};

typedef enum CheckpointState {
    CHECKPOINT_IDLE,
    CHECKPOINT_RUNNING,
    CHECKPOINT_REMAINDER, /* the thread is done; the writer copies the remainder */
} CheckpointState;

struct Checkpoint {
    SqliteEngine *writer;
    SqliteEngine *connection; /* the thread's connection */
    Worker *worker;
    pthread_mutex_t mutex;
    pthread_cond_t done;
    CheckpointState state; /* protected by the mutex */
};

static void set_state(Checkpoint *checkpoint, CheckpointState state)
{
    pthread_mutex_lock(&checkpoint->mutex);
    checkpoint->state = state;
    pthread_cond_signal(&checkpoint->done);
    pthread_mutex_unlock(&checkpoint->mutex);
}

/* With `wait` the result is never CHECKPOINT_RUNNING. */
static CheckpointState get_state(Checkpoint *checkpoint, bool wait)
{
    pthread_mutex_lock(&checkpoint->mutex);
    while (wait && checkpoint->state == CHECKPOINT_RUNNING) {
        pthread_cond_wait(&checkpoint->done, &checkpoint->mutex);
    }
    CheckpointState state = checkpoint->state;
    pthread_mutex_unlock(&checkpoint->mutex);
    return state;
}

static bool copy_pages(SqliteEngine *sqlite, int mode, int *copied)
{
    sqlite3_busy_timeout(sqlite->db, WAIT_MS);
    int result = sqlite3_wal_checkpoint_v2(sqlite->db, NULL, mode, NULL, copied);
    sqlite3_busy_timeout(sqlite->db, STORE_BUSY_MS);
    if (result != SQLITE_OK && (result & 0xff) != SQLITE_BUSY && (result & 0xff) != SQLITE_LOCKED) {
        /* Nothing is lost, because everything is still in the log. Only a failed fsync stops
         * writing. */
        Error ignored;
        sqlite_failure(sqlite, result, &ignored);
    }
    return result == SQLITE_OK;
}

/* SQLite syncs the database when the entire log is copied, which only the writer does. This sync
 * does most of that work in advance. */
static bool sync_database(SqliteEngine *sqlite)
{
    sqlite3_file *file = NULL;
    int result = sqlite3_file_control(sqlite->db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (result == SQLITE_OK) {
        result = file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
    }
    return result == SQLITE_OK || sqlite_sync_failure(sqlite, result);
}

/* Ends when little is left, or when no progress is made because a reader needs the log. */
static void run_checkpoint(void *context)
{
    Checkpoint *checkpoint = context;
    const SqliteEngine *writer = checkpoint->writer;
    int64_t remaining = INT64_MAX, before;
    int copied;
    do {
        before = remaining;
        if (!copy_pages(checkpoint->connection, SQLITE_CHECKPOINT_PASSIVE, &copied) ||
            !sync_database(checkpoint->connection)) {
            break;
        }
        remaining = (int64_t)atomic_load(&writer->wal_pages) - copied;
    } while (remaining > writer->wal_limit / REMAINDER_PART && remaining < before);
    set_state(checkpoint, CHECKPOINT_REMAINDER);
}

static bool is_large(const SqliteEngine *sqlite)
{
    return atomic_load(&sqlite->wal_pages) >= LARGE_FACTOR * sqlite->wal_limit;
}

/* Runs on the writer's thread. A passive checkpoint does not wait for readers. If the log keeps
 * growing because there was always one, readers are waited for, but only briefly, since one of them
 * may be verifying every page. */
static void copy_remainder(SqliteEngine *sqlite, bool tight)
{
    int ignored,
        mode = tight || is_large(sqlite) ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE;
    copy_pages(sqlite, mode, &ignored);
    sqlite->next_checkpoint = atomic_load(&sqlite->wal_pages) + sqlite->wal_limit;
}

void checkpoint_record_failure(SqliteEngine *sqlite)
{
    Checkpoint *checkpoint = sqlite->checkpoint;
    if (checkpoint != NULL && get_state(checkpoint, false) != CHECKPOINT_RUNNING &&
        checkpoint->connection->engine.broken && !sqlite->engine.broken) {
        sqlite->engine.broken = true;
        snprintf(sqlite->engine.broken_text, sizeof sqlite->engine.broken_text, "%s",
                 checkpoint->connection->engine.broken_text);
    }
}

void checkpoint_trim(SqliteEngine *sqlite)
{
    Checkpoint *checkpoint = sqlite->checkpoint;
    /* Even if the thread is slow, the log must not grow without limit. */
    CheckpointState state =
        checkpoint == NULL ? CHECKPOINT_IDLE : get_state(checkpoint, is_large(sqlite));
    checkpoint_record_failure(sqlite);
    if (sqlite->engine.broken || state == CHECKPOINT_RUNNING) {
        return;
    }
    uint32_t pages = atomic_load(&sqlite->wal_pages);
    bool tight = sqlite->engine.is_low_on_space && pages >= TIGHT_PAGES;
    if (state == CHECKPOINT_REMAINDER) { /* possibly the entire log was copied */
        set_state(checkpoint, CHECKPOINT_IDLE);
        sqlite->next_checkpoint = pages + sqlite->wal_limit;
    }
    if (pages < sqlite->wal_limit) { /* the log has started over */
        sqlite->next_checkpoint = sqlite->wal_limit;
    }
    if (tight || (state == CHECKPOINT_REMAINDER && pages >= WAIT_FACTOR * sqlite->wal_limit) ||
        (checkpoint == NULL && pages >= sqlite->next_checkpoint)) {
        copy_remainder(sqlite, tight);
    } else if (pages >= sqlite->next_checkpoint) { /* the log has grown beyond all copied pages */
        set_state(checkpoint, CHECKPOINT_RUNNING);
        worker_wake(checkpoint->worker);
    }
}

bool sqlite_engine_start_checkpoints(Engine *engine, Error *err)
{
    SqliteEngine *sqlite = (SqliteEngine *)engine,
                 *connection = sqlite_open_secondary(sqlite->file, err);
    if (connection == NULL) {
        return false;
    }
    Checkpoint *checkpoint = memory_new(sizeof *checkpoint);
    checkpoint->writer = sqlite;
    checkpoint->connection = connection;
    pthread_mutex_init(&checkpoint->mutex, NULL);
    pthread_cond_init(&checkpoint->done, NULL);
    checkpoint->worker = worker_new(run_checkpoint, checkpoint);
    sqlite->checkpoint = checkpoint;
    return true;
}

void checkpoint_free(Checkpoint *checkpoint)
{
    if (checkpoint != NULL) {
        worker_free(checkpoint->worker);
        sqlite_kind.close(&checkpoint->connection->engine);
        pthread_cond_destroy(&checkpoint->done);
        pthread_mutex_destroy(&checkpoint->mutex);
        free(checkpoint);
    }
}
