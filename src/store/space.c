/* Reserved disk space, so that a full disk can be cleaned up.
 *
 * A file of a few MiB is stored next to the database. When a delete finds no space, that file is
 * shrunk and the delete is retried. Below a threshold, and until there is space for the full
 * reserve again, everything that needs space is rejected; deletes, compactions and urgent writes
 * (audit entries, revocations) are accepted. Free pages inside the database count as space, because
 * no other process can use them. */
#include <stdio.h>

#include "store/local_store.h"
#include "store/sqlite_engine.h"

#define RESERVE_FILE "store.reserve"

enum {
    PARTS = 4,    /* fractions of the remaining space to try */
    RELEASES = 8, /* number of steps until all is released */
    PAGE = 4096,
};

void space_init(LocalStore *store)
{
    int64_t disk = directory_disk_size(&store->directory);
    store->space.disk = disk == INT64_MAX ? 0 : disk;
    if (!store->settings.reserve) {
        return;
    }
    int64_t part = disk / 64;
    store->space.bytes = part > STORE_RESERVE_MAX   ? STORE_RESERVE_MAX
                         : part < STORE_RESERVE_MIN ? STORE_RESERVE_MIN
                                                    : part;
    /* The contents of the log must fit into the database, too. */
    uint32_t pages = (uint32_t)(store->space.bytes / 2 / 4096);
    if (store->settings.wal_pages == 0 && pages < STORE_WAL_PAGES) {
        store->settings.wal_pages = pages;
    }
}

/* Replaces the current reserve. */
static bool reserve(LocalStore *store, int64_t bytes)
{
    bool ok = directory_reserve(&store->directory, RESERVE_FILE, bytes);
    store->space.held = ok ? bytes : 0;
    return ok;
}

void space_open(LocalStore *store)
{
    StoreSpace *space = &store->space;
    space->held = 0;
    if (space->bytes == 0 || reserve(store, space->bytes)) {
        return;
    }
    int64_t free = directory_disk_free(&store->directory) / PAGE * PAGE;
    for (int64_t part = free / PARTS; part > 0 && free > 0; free -= part) {
        if (reserve(store, free < space->bytes ? free : space->bytes)) {
            return;
        }
    }
}

bool space_release_all(LocalStore *store)
{
    Error ignored;
    return store->settings.reserve && directory_remove(&store->directory, RESERVE_FILE, &ignored);
}

/* Space that must be free in addition to the reserve. */
static int64_t threshold(const StoreSpace *space)
{
    return space->bytes + space->bytes / 2;
}

bool space_is_low(const StoreSpace *space, int64_t free, int64_t free_bytes)
{
    return space->bytes > 0 && free + space->held + free_bytes < threshold(space);
}

void space_update(LocalStore *store)
{
    StoreSpace *space = &store->space;
    if (space->bytes == 0) {
        return;
    }
    int64_t free = directory_disk_free(&store->directory);
    if (space->held < space->bytes && free + space->held >= threshold(space)) {
        free += space->held;
        free -= reserve(store, space->bytes) ? space->bytes : 0;
    }
    space->free_bytes =
        space_is_low(space, free, 0) ? store->writer->kind->free_bytes(store->writer) : 0;
    space->is_low = space_is_low(space, free, space->free_bytes);
    store->writer->is_low_on_space = space->is_low || space->held < space->bytes;
}

/* Released in steps, because another process that fills the disk may use what is released. */
bool space_release(LocalStore *store)
{
    Error ignored;
    StoreSpace *space = &store->space;
    if (space->held == 0) {
        return false;
    }
    int64_t remaining = (space->held - space->bytes / RELEASES) / PAGE * PAGE;
    space->is_low = store->writer->is_low_on_space = true;
    if (remaining > 0 && reserve(store, remaining)) {
        return true;
    }
    space->held = 0;
    return directory_remove(&store->directory, RESERVE_FILE, &ignored);
}

static bool has_put(const StoreOp *ops, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (ops[i].kind == STORE_PUT) {
            return true;
        }
    }
    return false;
}

bool job_needs_space(const Job *job)
{
    const StoreTxn *txn = &job->txn;
    return job->kind == JOB_GRANT || (job->kind == JOB_TXN && !txn->urgent &&
                                      (has_put(txn->success, txn->success_count) ||
                                       has_put(txn->failure, txn->failure_count)));
}

bool space_refuses(const LocalStore *store, const Job *job, Error *err)
{
    /* A reserved lease may use free space, but not the reserve. */
    bool is_reserved = job->kind == JOB_GRANT && job->txn.urgent;
    if (!store->space.is_low || !job_needs_space(job) || is_reserved) {
        return false;
    }
    error_set(err, ERROR_UNAVAILABLE,
              "%.200s: the disk is full; only deletes are accepted until space is available again",
              store->path);
    return true;
}
