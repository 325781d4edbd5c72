/* Room on the disk that is kept back, so that a full one can be emptied.
 *
 * A file of a few MiB lies beside the store. When a delete finds no room, the file goes and the delete is
 * done with its room. Below a threshold, and until there is room for the file again, whatever would take
 * room is refused; deletes, compactions and urgent writes (audit entries, revocations) are taken.
 * Free pages inside of the store count as room: nobody else can take them. */
#include <stdio.h>

#include "store/sqlite_engine.h"
#include "store/store_inner.h"

#define RESERVE_FILE "store.reserve"

void space_init(Store *store)
{
    if (!store->settings.reserve) {
        return;
    }
    int64_t part = directory_disk_size(&store->directory) / 64;
    store->space.bytes = part > STORE_RESERVE_MAX   ? STORE_RESERVE_MAX
                         : part < STORE_RESERVE_MIN ? STORE_RESERVE_MIN
                                                    : part;
    /* What is in the log has to fit into the database, too. */
    uint32_t pages = (uint32_t)(store->space.bytes / 2 / 4096);
    if (store->settings.wal_pages == 0 && pages < STORE_WAL_PAGES) {
        store->settings.wal_pages = pages;
    }
}

void space_open(Store *store)
{
    StoreSpace *space = &store->space;
    space->is_there =
        space->bytes > 0 && directory_reserve(&store->directory, RESERVE_FILE, space->bytes);
}

bool space_give_up(Store *store)
{
    Error ignored;
    return store->settings.reserve && directory_remove(&store->directory, RESERVE_FILE, &ignored);
}

/* What must be left beside the reserve. */
static int64_t threshold(const StoreSpace *space)
{
    return space->bytes + space->bytes / 2;
}

bool space_is_short(const StoreSpace *space, int64_t free, int64_t spare)
{
    return space->bytes > 0 &&
           free + (space->is_there ? space->bytes : 0) + spare < threshold(space);
}

void space_look(Store *store)
{
    StoreSpace *space = &store->space;
    if (space->bytes == 0) {
        return;
    }
    int64_t free = directory_disk_free(&store->directory);
    if (!space->is_there && free >= threshold(space)) {
        space->is_there = directory_reserve(&store->directory, RESERVE_FILE, space->bytes);
        free -= space->is_there ? space->bytes : 0;
    }
    space->spare = space_is_short(space, free, 0) ? store->writer->kind->spare(store->writer) : 0;
    space->is_short = space_is_short(space, free, space->spare);
    store->writer->tight = space->is_short || !space->is_there;
}

bool space_release(Store *store)
{
    Error ignored;
    StoreSpace *space = &store->space;
    if (!space->is_there) {
        return false;
    }
    space->is_there = false;
    space->is_short = store->writer->tight = true;
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

bool space_needs_room(const Job *job)
{
    const StoreTxn *txn = &job->txn;
    return job->kind == JOB_GRANT || (job->kind == JOB_TXN && !txn->urgent &&
                                      (has_put(txn->success, txn->success_count) ||
                                       has_put(txn->failure, txn->failure_count)));
}

bool space_refuses(const Store *store, const Job *job, Error *err)
{
    if (!store->space.is_short || !space_needs_room(job)) {
        return false;
    }
    error_set(err, ERROR_UNAVAILABLE,
              "%.200s: the disk is full; only deletes are taken until there is room again",
              store->path);
    return true;
}
