/* Loads a dump into a store: parse a group of records, grant the leases among them, write them in a
 * few transactions, continue with the next group when the last call has completed. At the end the
 * history is compacted, because it contains only the load itself. */
#include "store/load.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/vec.h"
#include "store/dump_reader.h"

enum {
    PIECE = 64 << 10,
    BATCH = 1 << 20, /* size of a transaction in bytes, beyond which no further key is added */
    /* Limit on the records that are written at once, with one fsync. Each record may be a pending
     * call, and so may the records of another piece. */
    GROUP_RECORDS = 4000,
    GROUP_BYTES = 1 << 20,
};

struct StoreLoad {
    StoreLoadSpec spec;
    StoreDumpReader reader;
    Arena arena; /* holds the records of a group */
    VEC(StoreDumpRecord) records;
    size_t bytes;           /* size of the records */
    int64_t last_lease;     /* the last granted lease */
    uint32_t pending_calls; /* number of pending calls */
    bool is_ended;          /* end of input */
    Error err;              /* the first error */
    StoreLoaded loaded;
    char piece[PIECE];
};

static void load_next_group(StoreLoad *load);

static void finish(StoreLoad *load)
{
    const Error *err = load->err.kind == ERROR_NONE ? NULL : &load->err;
    load->loaded.head = load->reader.head;
    load->loaded.end = load->reader.end;
    load->spec.done(load->spec.context, err == NULL ? &load->loaded : NULL, err);
    store_dump_reader_clear(&load->reader);
    arena_clear(&load->arena);
    free(load);
}

static void record_error(StoreLoad *load, const Error *err)
{
    if (load->err.kind == ERROR_NONE) {
        load->err = *err;
    }
}

/* --- Writing --------------------------------------------------------------------------------- */

static void written(void *context, const StoreReply *reply, const Error *err)
{
    StoreLoad *load = context;
    load->pending_calls--;
    if (err != NULL) {
        record_error(load, err);
    } else if (reply->revision > load->loaded.revision) {
        load->loaded.revision = reply->revision;
    }
    if (load->pending_calls == 0) {
        load_next_group(load);
    }
}

static void put_batch(StoreLoad *load, const StoreOp *ops, uint32_t count)
{
    StoreTxn txn = { .success = ops, .success_count = count, .lane = 1 };
    Error err;
    if (count == 0) {
        return;
    }
    load->pending_calls++;
    if (!store_txn(load->spec.store, &txn, written, load, &err)) {
        load->pending_calls--;
        record_error(load, &err);
    }
}

/* Writes the group. When the last of its calls has completed, loading continues. */
static void put_records(StoreLoad *load)
{
    StoreOp ops[STORE_OPS_MAX];
    uint32_t count = 0;
    size_t bytes = 0;
    for (uint32_t i = 0; i < load->records.len && load->err.kind == ERROR_NONE; i++) {
        const StoreDumpRecord *record = &load->records.items[i];
        size_t more = record->key.len + record->value.len;
        if (count == STORE_OPS_MAX || (count > 0 && bytes + more > BATCH)) {
            put_batch(load, ops, count);
            count = 0;
            bytes = 0;
        }
        ops[count++] = (StoreOp){
            .kind = STORE_PUT, .key = record->key, .value = record->value, .lease = record->lease
        };
        bytes += more;
    }
    put_batch(load, ops, load->err.kind == ERROR_NONE ? count : 0);
    load->records.len = load->records.cap = 0;
    load->records.items = NULL;
    load->bytes = 0;
    arena_reset(&load->arena);
}

/* --- Leases ---------------------------------------------------------------------------------- */

static void leases_granted(StoreLoad *load)
{
    put_records(load);
    if (load->pending_calls == 0) {
        load_next_group(load);
    }
}

/* ERROR_CONFLICT: the lease was already granted, for an earlier key. */
static void granted(void *context, const StoreLease *lease, const Error *err)
{
    StoreLoad *load = context;
    load->pending_calls--;
    if (err != NULL && err->kind != ERROR_CONFLICT) {
        record_error(load, err);
    }
    if (load->pending_calls == 0) {
        leases_granted(load);
    }
}

static void grant_leases(StoreLoad *load)
{
    Error err;
    load->last_lease = 0; /* the lease that was granted last may have expired in the meantime */
    for (uint32_t i = 0; i < load->records.len; i++) {
        const StoreDumpRecord *record = &load->records.items[i];
        if (record->lease == 0 || record->lease == load->last_lease) {
            continue;
        }
        load->last_lease = record->lease;
        load->pending_calls++;
        if (!store_lease_grant(load->spec.store, record->ttl_s, record->lease, granted, load,
                               &err)) {
            load->pending_calls--;
            record_error(load, &err);
            break;
        }
    }
}

/* --- Reading --------------------------------------------------------------------------------- */

static bool take_record(void *context, const StoreDumpRecord *record, Error *err)
{
    StoreLoad *load = context;
    StoreDumpRecord copy = *record;
    copy.key = arena_copy(&load->arena, record->key);
    copy.value = arena_copy(&load->arena, record->value);
    VEC_PUSH(&load->arena, &load->records, copy);
    load->bytes += copy.key.len + copy.value.len;
    return true;
}

static bool read_piece(StoreLoad *load, Error *err)
{
    size_t read_size;
    if (!load->spec.read(load->spec.context, load->piece, sizeof load->piece, &read_size, err)) {
        return false;
    }
    Str bytes = str_from(load->piece, read_size);
    load->is_ended = read_size == 0;
    if (load->is_ended) {
        return store_dump_reader_finish(&load->reader, err);
    }
    return store_dump_reader_feed(&load->reader, &bytes, err) &&
           (bytes.len == 0 ||
            error_set(err, ERROR_INVALID, "damaged: trailing data after byte %lld",
                      (long long)load->reader.end.bytes));
}

static void compacted(void *context, const StoreReply *reply, const Error *err)
{
    StoreLoad *load = context;
    if (err != NULL) {
        record_error(load, err);
    }
    finish(load);
}

/* Clients that request earlier revisions are notified that these are compacted. */
static void compact(StoreLoad *load)
{
    Error err;
    if (load->loaded.revision == 0) {
        finish(load);
    } else if (!store_compact(load->spec.store, load->loaded.revision, compacted, load, &err)) {
        record_error(load, &err);
        finish(load);
    }
}

/* Called when no call is pending. */
static void load_next_group(StoreLoad *load)
{
    Error err;
    while (load->err.kind == ERROR_NONE && !load->is_ended && load->records.len < GROUP_RECORDS &&
           load->bytes < GROUP_BYTES) {
        if (!read_piece(load, &err)) {
            record_error(load, &err);
        }
    }
    if (load->err.kind != ERROR_NONE) {
        finish(load);
    } else if (load->records.len == 0) {
        compact(load);
    } else {
        grant_leases(load);
        if (load->pending_calls == 0) {
            leases_granted(load);
        }
    }
}

static void on_empty_check(void *context, const StoreReply *reply, const Error *err)
{
    StoreLoad *load = context;
    Error full;
    if (err == NULL && reply->ops[0].count > 0) {
        error_set(&full, ERROR_CONFLICT, "the store already has %lld keys",
                  (long long)reply->ops[0].count);
        err = &full;
    }
    if (err != NULL) {
        record_error(load, err);
    }
    load_next_group(load);
}

bool store_load(const StoreLoadSpec *spec, Error *err)
{
    StoreLoad *load = memory_new(sizeof *load);
    StoreOp all = { .kind = STORE_RANGE, .key = STORE_ALL, .end = STORE_ALL, .count_only = true };
    load->spec = *spec;
    arena_init(&load->arena, ARENA_UNLIMITED);
    store_dump_reader_init(&load->reader, &(StoreDumpSink){ NULL, take_record, load });
    if (!store_op(spec->store, &all, on_empty_check, load, err)) {
        store_dump_reader_clear(&load->reader);
        free(load);
        return false;
    }
    return true;
}
