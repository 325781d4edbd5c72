/* Writes a dump in pieces. For each piece: read a page of keys at the pinned revision, look up the
 * TTL of leases among them that are not known yet, then print the records and their checksum. Keys
 * whose lease has expired since then are omitted. */
#include "store/dump.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/memory.h"
#include "store/dump_format.h"

enum {
    KEYS_INITIAL = 8, /* for the first piece, when sizes are unknown */
    KEYS_MAX = 2000,
    PIECE = 256 << 10, /* target size of a piece in bytes */
};

typedef struct LeaseTime {
    int64_t id;
    int64_t ttl_s; /* 0: expired */
} LeaseTime;

struct StoreDump {
    StoreDumpSpec spec;
    StoreDumpHead head;
    StoreDumpEnd end;
    StoreHold *hold;
    Buf out;
    Buf next_key; /* first key of the next piece; empty: the start of the store */
    Sha256 content, digest;
    uint32_t limit; /* number of keys to read for the next piece */
    bool is_started, is_ended;
    bool is_last; /* no keys follow those that were read */

    /* Records that wait for the TTLs of their leases: */
    Arena arena;
    StoreKv *kvs;
    uint32_t kv_count;
    LeaseTime *leases;
    uint32_t lease_count;
    uint32_t lease_queried; /* the last lease that was queried */
    uint32_t pending_calls; /* number of pending calls */
    bool is_dropped;        /* the owner has freed it */
};

StoreDump *store_dump_new(const StoreDumpSpec *spec)
{
    StoreDump *dump = memory_new(sizeof *dump);
    BUG_IF(spec->store_id.len == 0 || spec->store_id.len > STORE_DUMP_ID_MAX);
    dump->spec = *spec;
    memcpy(dump->head.store_id, spec->store_id.data, spec->store_id.len);
    dump->out = buf_make(BUF_UNLIMITED);
    dump->next_key = buf_make(BUF_UNLIMITED);
    dump->limit = KEYS_INITIAL;
    arena_init(&dump->arena, ARENA_UNLIMITED);
    sha256_start(&dump->content);
    sha256_start(&dump->digest);
    return dump;
}

static void destroy(StoreDump *dump)
{
    buf_clear(&dump->out);
    buf_clear(&dump->next_key);
    arena_clear(&dump->arena);
    free(dump);
}

void store_dump_free(StoreDump *dump)
{
    if (dump == NULL) {
        return;
    }
    store_release(TAKE(dump->hold));
    dump->is_dropped = true;
    if (dump->pending_calls == 0) {
        destroy(dump);
    }
}

/* --- Writing --------------------------------------------------------------------------------- */

static void put_head(StoreDump *dump)
{
    Str id = str_from_c(dump->head.store_id);
    buf_put(&dump->out, STORE_DUMP_MAGIC);
    dump_put_number(&dump->out, 8, (uint64_t)dump->head.revision);
    buf_put_char(&dump->out, (char)id.len);
    buf_put(&dump->out, id);
    sha256_add(&dump->digest, buf_str(&dump->out));
}

static void put_record(StoreDump *dump, const StoreKv *kv, int64_t ttl_s)
{
    buf_put_char(&dump->out, ttl_s > 0 ? DUMP_LEASED : DUMP_KEY);
    dump_put_number(&dump->out, 4, kv->key.len);
    dump_put_number(&dump->out, 4, kv->value.len);
    if (ttl_s > 0) {
        dump_put_number(&dump->out, 8, (uint64_t)kv->lease);
        dump_put_number(&dump->out, 8, (uint64_t)ttl_s);
    }
    buf_put(&dump->out, kv->key);
    buf_put(&dump->out, kv->value);
    dump->end.count++;
}

static void put_end(StoreDump *dump)
{
    StoreDumpEnd *end = &dump->end;
    sha256_finish(&dump->content, end->content);
    size_t start = dump->out.len + 1;
    buf_put_char(&dump->out, DUMP_END);
    dump_put_number(&dump->out, 8, (uint64_t)end->count);
    buf_put_c(&dump->out, end->content);
    sha256_add(&dump->digest, str_from_offset(buf_str(&dump->out), start));
    sha256_finish(&dump->digest, end->digest);
    buf_put_c(&dump->out, end->digest);
}

void store_dump_put_failure(Buf *out, const Error *why)
{
    Str text = str_slice(str_from_c(why->text), 0, STORE_DUMP_REASON_MAX);
    buf_put_char(out, DUMP_FAILURE);
    dump_put_number(out, 2, text.len);
    for (size_t i = 0; i < text.len; i++) {
        buf_put_char(out, dump_is_text(text.data[i]) ? text.data[i] : '?');
    }
}

/* --- Pieces ---------------------------------------------------------------------------------- */

/* The callback may free the dump or request the next piece. */
static void deliver(StoreDump *dump, const Error *err)
{
    StoreDumpPiece piece = { .bytes = buf_str(&dump->out),
                             .head = &dump->head,
                             .end = dump->is_ended && err == NULL ? &dump->end : NULL };
    if (err != NULL || dump->is_ended) {
        dump->is_ended = true;
        store_release(TAKE(dump->hold));
    }
    dump->pending_calls++; /* keeps the dump alive until the end of this function */
    dump->spec.done(dump->spec.context, err == NULL ? &piece : NULL, err);
    dump->pending_calls--;
    if (dump->is_dropped && dump->pending_calls == 0) {
        destroy(dump);
    }
}

/* Estimates the number of keys for the next piece from the previous ones, cautiously, because the
 * next may be larger. */
static void set_limit(StoreDump *dump, size_t bytes)
{
    size_t average = dump->kv_count == 0 ? 1 : bytes / dump->kv_count + 1;
    size_t fitting = PIECE / average + 1;
    size_t max = (size_t)dump->limit * 4 < KEYS_MAX ? (size_t)dump->limit * 4 : KEYS_MAX;
    dump->limit = (uint32_t)(fitting < max ? fitting : max);
}

static int64_t ttl_of(const StoreDump *dump, int64_t lease)
{
    for (uint32_t i = 0; i < dump->lease_count; i++) {
        if (dump->leases[i].id == lease) {
            return dump->leases[i].ttl_s;
        }
    }
    return 0;
}

/* The keys of a lease that has expired since then are deleted as well. */
static void finish_piece(StoreDump *dump)
{
    size_t start = dump->out.len;
    for (uint32_t i = 0; i < dump->kv_count; i++) {
        const StoreKv *kv = &dump->kvs[i];
        int64_t ttl_s = kv->lease == 0 ? 0 : ttl_of(dump, kv->lease);
        if (kv->lease == 0 || ttl_s > 0) {
            put_record(dump, kv, ttl_s);
        }
    }
    sha256_add(&dump->content, str_from_offset(buf_str(&dump->out), start));
    set_limit(dump, dump->out.len - start);
    dump->is_ended = dump->is_last;
    if (dump->is_last) {
        put_end(dump);
    }
    bool is_empty = dump->out.len == 0;
    dump->end.bytes += (int64_t)dump->out.len;
    dump->kvs = NULL;
    dump->leases = NULL;
    dump->kv_count = dump->lease_count = 0;
    arena_reset(&dump->arena);
    Error err;
    if (!is_empty) {
        deliver(dump, NULL);
    } else if (!store_dump_next(dump, &err)) { /* all of its keys were omitted */
        deliver(dump, &err);
    }
}

/* --- Leases ---------------------------------------------------------------------------------- */

static void query_leases(StoreDump *dump);

static void on_lease(void *context, const StoreLease *lease, const Error *err)
{
    StoreDump *dump = context;
    dump->pending_calls--;
    if (dump->is_dropped) {
        destroy(dump);
    } else if (err != NULL && err->kind != ERROR_NOT_FOUND) {
        deliver(dump, err);
    } else {
        dump->leases[dump->lease_queried - 1].ttl_s =
            err == NULL && lease->remaining_s > 0 ? lease->ttl_s : 0;
        query_leases(dump);
    }
}

static void query_leases(StoreDump *dump)
{
    Error err;
    if (dump->lease_queried == dump->lease_count) {
        finish_piece(dump);
        return;
    }
    int64_t id = dump->leases[dump->lease_queried++].id;
    if (store_lease_time_to_live(dump->spec.store, id, false, on_lease, dump, &err)) {
        dump->pending_calls++;
    } else {
        deliver(dump, &err);
    }
}

/* --- Keys ------------------------------------------------------------------------------------ */

static void add_lease(StoreDump *dump, int64_t lease)
{
    for (uint32_t i = 0; i < dump->lease_count; i++) {
        if (dump->leases[i].id == lease) {
            return;
        }
    }
    dump->leases[dump->lease_count++] = (LeaseTime){ .id = lease };
}

static void collect_keys(StoreDump *dump, const StoreOpReply *reply)
{
    dump->kvs = ARENA_ARRAY(&dump->arena, StoreKv, reply->kv_count);
    dump->leases = ARENA_ARRAY(&dump->arena, LeaseTime, reply->kv_count);
    dump->lease_queried = 0;
    for (uint32_t i = 0; i < reply->kv_count; i++) {
        StoreKv kv = reply->kvs[i];
        if (kv.lease != 0) {
            if (dump->spec.omits != NULL && dump->spec.omits(dump->spec.context, kv.key)) {
                continue;
            }
            add_lease(dump, kv.lease);
        }
        kv.key = arena_copy(&dump->arena, kv.key);
        kv.value = arena_copy(&dump->arena, kv.value);
        dump->kvs[dump->kv_count++] = kv;
    }
}

/* The next key is `last` and a NUL, unless that would exceed the maximum length. */
static void set_next(StoreDump *dump, Str last)
{
    bool is_longest = last.len == STORE_KEY_MAX;
    buf_reset(&dump->next_key);
    buf_put(&dump->next_key, is_longest ? store_prefix_end(&dump->arena, last) : last);
    if (!is_longest) {
        buf_put_char(&dump->next_key, '\0');
    }
}

static void begin(StoreDump *dump, int64_t revision)
{
    dump->is_started = true;
    dump->head.revision = revision;
    dump->hold = store_hold(dump->spec.store, revision);
    put_head(dump);
}

static void fail(StoreDump *dump, const Error *err)
{
    Error why = *err;
    if (dump->is_started && err->kind == ERROR_NOT_FOUND) {
        error_set(&why, ERROR_UNAVAILABLE,
                  "the history of the store was compacted beyond revision %lld during the backup; "
                  "try again",
                  (long long)dump->head.revision);
    }
    deliver(dump, &why);
}

static void on_keys(void *context, const StoreReply *reply, const Error *err)
{
    StoreDump *dump = context;
    dump->pending_calls--;
    if (dump->is_dropped) {
        destroy(dump);
        return;
    }
    if (err != NULL) {
        fail(dump, err);
        return;
    }
    const StoreOpReply *range = &reply->ops[0];
    if (!dump->is_started) {
        begin(dump, reply->revision);
    }
    dump->is_last = !range->more;
    if (range->more) {
        set_next(dump, range->kvs[range->kv_count - 1].key);
    }
    collect_keys(dump, range);
    query_leases(dump);
}

bool store_dump_next(StoreDump *dump, Error *err)
{
    BUG_IF(dump->is_ended);
    StoreOp op = { .kind = STORE_RANGE,
                   .key = dump->next_key.len > 0 ? buf_str(&dump->next_key) : STORE_ALL,
                   .end = STORE_ALL,
                   .revision = dump->head.revision,
                   .limit = dump->limit };
    buf_reset(&dump->out);
    if (!store_op(dump->spec.store, &op, on_keys, dump, err)) {
        return false;
    }
    dump->pending_calls++;
    return true;
}
