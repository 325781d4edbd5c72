/* The semantics of transactions on an engine. Compares are evaluated first, then one branch runs;
 * all changes of a transaction get the same revision and consecutive numbers in it. Whatever can
 * fail is checked before the first change, because a rollback to a savepoint is expensive. See
 * engine.h for how ids make a history. */
#include "store/execute.h"

#include "store/request.h"

enum {
    DELETE_PIECE = 1000 /* number of keys that are collected before they are deleted */
};

typedef struct Execution {
    Engine *engine;
    EngineState *state;
    Arena *arena;
    Changes *changes;
    int64_t next_number; /* number of the next change; 0: no change yet */
    size_t reply_bytes;
    Error *err;
} Execution;

/* --- Reading --------------------------------------------------------------------------------- */

static bool charge(Execution *x, size_t bytes)
{
    x->reply_bytes += bytes;
    return x->reply_bytes <= STORE_REPLY_MAX;
}

static bool too_large(Execution *x)
{
    return error_set(x->err, ERROR_LIMIT, "the response exceeds %d bytes; narrow the request",
                     STORE_REPLY_MAX);
}

static bool check_revision(Execution *x, int64_t revision)
{
    if (revision > x->state->revision) {
        return error_set(x->err, ERROR_INVALID,
                         "revision %lld does not exist yet; the newest is %lld",
                         (long long)revision, (long long)x->state->revision);
    }
    if (revision < x->state->compacted) {
        return error_set(x->err, ERROR_NOT_FOUND, "revision %lld was compacted; the oldest is %lld",
                         (long long)revision, (long long)x->state->compacted);
    }
    return true;
}

/* The last change up to `revision`; its id is 0 if the key did not exist then. */
static bool change_as_of(Execution *x, int64_t id, int64_t revision, ChangeRow *out)
{
    *out = (ChangeRow){ 0 };
    while (id != 0) {
        if (!x->engine->kind->get_change(x->engine, id, out, x->err)) {
            return false;
        }
        if (out->id == 0 || id_revision(out->id) <= revision) {
            break;
        }
        id = out->before;
        *out = (ChangeRow){ 0 };
    }
    if (out->deleted) {
        *out = (ChangeRow){ 0 };
    }
    return true;
}

typedef struct RangeWalk {
    Execution *x;
    const StoreOp *op;
    VEC(StoreKv) kvs;
    int64_t count;
    bool more;
    bool failed;
} RangeWalk;

static StoreKv kv_of_change(Arena *arena, const ChangeRow *row, bool with_value)
{
    return (StoreKv){
        .key = arena_copy(arena, row->key),
        .value = with_value ? arena_copy(arena, row->value) : STR_EMPTY,
        .create_revision = row->create_revision,
        .mod_revision = id_revision(row->id),
        .version = row->version,
        .lease = row->lease,
    };
}

/* The change that a range operation returns for a key; ID 0 means none. */
static bool find_visible(RangeWalk *range_walk, const KeyRow *row, ChangeRow *out)
{
    Execution *x = range_walk->x;
    const StoreOp *op = range_walk->op;
    if (op->revision != 0) {
        return change_as_of(x, row->id, op->revision, out);
    }
    *out = (ChangeRow){ 0 };
    if (row->version == 0) {
        return true;
    }
    if (!op->keys_only && !op->count_only) {
        return x->engine->kind->get_change(x->engine, row->id, out, x->err);
    }
    *out = (ChangeRow){ .id = row->id,
                        .key = row->key,
                        .version = row->version,
                        .create_revision = row->create_revision,
                        .lease = row->lease };
    return true;
}

static bool range_visit(void *context, const KeyRow *row)
{
    RangeWalk *range_walk = context;
    Execution *x = range_walk->x;
    const StoreOp *op = range_walk->op;
    ChangeRow change;
    if (!find_visible(range_walk, row, &change)) {
        range_walk->failed = true;
        return false;
    }
    if (change.id == 0) {
        return true;
    }
    if (op->count_only) {
        range_walk->count++;
        return true;
    }
    if (op->limit > 0 && range_walk->kvs.len == op->limit) {
        range_walk->more = true;
        return false;
    }
    size_t bytes = change.key.len + (op->keys_only ? 0 : change.value.len) + sizeof(StoreKv);
    if (!charge(x, bytes)) {
        if (op->limit > 0 && range_walk->kvs.len > 0) {
            x->reply_bytes -= bytes;
            range_walk->more = true;
        } else {
            range_walk->failed = true;
            too_large(x);
        }
        return false;
    }
    VEC_PUSH(x->arena, &range_walk->kvs, kv_of_change(x->arena, &change, !op->keys_only));
    range_walk->count++;
    return true;
}

static bool execute_range(Execution *x, const StoreOp *op, StoreOpReply *reply)
{
    RangeWalk range_walk = { .x = x, .op = op };
    if (op->end.len == 0) {
        KeyRow row;
        if (!x->engine->kind->find_key(x->engine, op->key, &row, x->err)) {
            return false;
        }
        if (row.id != 0) {
            range_visit(&range_walk, &row);
        }
    } else {
        KeyWalk walk = { .key = op->key, .end = op->end, .descending = op->descending };
        if (!x->engine->kind->walk_keys(x->engine, &walk, range_visit, &range_walk, x->err)) {
            return false;
        }
    }
    *reply = (StoreOpReply){
        .kind = STORE_RANGE,
        .kvs = range_walk.kvs.items,
        .kv_count = range_walk.kvs.len,
        .count = range_walk.count,
        .more = range_walk.more,
    };
    return !range_walk.failed;
}

/* --- Changes --------------------------------------------------------------------------------- */

static bool next_id(Execution *x, int64_t *out)
{
    if (x->next_number == INT64_C(1) << ID_BITS) {
        return error_set(x->err, ERROR_LIMIT, "a transaction can change at most %lld keys",
                         1LL << ID_BITS);
    }
    *out = id_make(x->state->revision + 1, x->next_number++);
    return true;
}

/* Copies the previous value, for events and responses. */
static bool previous_of(Execution *x, const KeyRow *row, StoreKv *out)
{
    ChangeRow change;
    if (!x->engine->kind->get_change(x->engine, row->id, &change, x->err)) {
        return false;
    }
    if (change.id == 0) {
        return error_set(x->err, ERROR_OS, "the store is damaged: a key has no value");
    }
    *out = kv_of_change(x->arena, &change, true);
    return true;
}

static void add_event(Execution *x, const StoreEvent *event)
{
    Changes *changes = x->changes;
    changes->bytes += sizeof *event + event->kv.key.len + event->kv.value.len +
                      event->previous.key.len + event->previous.value.len;
    if (changes->bytes > CHANGES_BYTES) {
        changes->cut = true;
    }
    if (!changes->cut) {
        VEC_PUSH(x->arena, &changes->events, *event);
    }
}

/* Assigns an id to a change of `row` and writes both. `event` is complete except for the previous
 * value. */
static bool change(Execution *x, const KeyRow *row, ChangeRow *to, StoreEvent *event)
{
    Engine *engine = x->engine;
    int64_t id = 0;
    if (!next_id(x, &id)) {
        return false;
    }
    /* Beyond the limit on changes in memory, the previous value is not needed. */
    event->has_previous = row->version > 0;
    if (event->has_previous && !x->changes->cut && !previous_of(x, row, &event->previous)) {
        return false;
    }
    to->id = id;
    to->before = row->id;
    KeyRow now = { to->key, id, to->version, to->create_revision, to->lease };
    if (!engine->kind->add_change(engine, to, x->err) ||
        !engine->kind->set_key(engine, &now, x->err)) {
        return false;
    }
    x->state->log_bytes += (int64_t)(to->key.len + to->value.len) + CHANGE_OVERHEAD;
    event->kv.mod_revision = id_revision(id);
    add_event(x, event);
    return true;
}

/* Copies the previous value for a response. */
static bool reply_previous(Execution *x, const KeyRow *row, StoreKv *out)
{
    return previous_of(x, row, out) &&
           (charge(x, out->key.len + out->value.len + sizeof *out) || too_large(x));
}

static bool execute_put(Execution *x, const StoreOp *op, StoreOpReply *reply)
{
    KeyRow row;
    if (!x->engine->kind->find_key(x->engine, op->key, &row, x->err)) {
        return false;
    }
    ChangeRow to = {
        .key = op->key,
        .value = op->value,
        .version = row.version + 1,
        .create_revision = row.version == 0 ? x->state->revision + 1 : row.create_revision,
        .lease = op->lease,
    };
    StoreEvent event = { .kv = { op->key, op->value, to.create_revision, 0, to.version,
                                 op->lease } };
    *reply = (StoreOpReply){ .kind = STORE_PUT };
    if (op->previous && row.version > 0) {
        StoreKv *previous = ARENA_NEW(x->arena, StoreKv);
        if (!reply_previous(x, &row, previous)) {
            return false;
        }
        reply->kvs = previous;
        reply->kv_count = 1;
    }
    return change(x, &row, &to, &event);
}

typedef struct CollectWalk {
    Arena *arena;
    VEC(KeyRow) rows;
    uint32_t max;
    size_t bytes;
} CollectWalk;

static bool collect_visit(void *context, const KeyRow *row)
{
    CollectWalk *collecting = context;
    if (row->version > 0) {
        KeyRow copy = *row;
        copy.key = arena_copy(collecting->arena, row->key);
        VEC_PUSH(collecting->arena, &collecting->rows, copy);
        collecting->bytes += sizeof copy + copy.key.len;
    }
    return collecting->rows.len < collecting->max && collecting->bytes <= STORE_REPLY_MAX;
}

typedef VEC(StoreKv) StoreKvs;

static bool delete_rows(Execution *x, const CollectWalk *rows, StoreKvs *previous)
{
    for (uint32_t i = 0; i < rows->rows.len; i++) {
        const KeyRow *row = &rows->rows.items[i];
        StoreKv before = { 0 };
        if (previous != NULL) {
            if (!reply_previous(x, row, &before)) {
                return false;
            }
            VEC_PUSH(x->arena, previous, before);
        }
        ChangeRow to = { .key = row->key, .deleted = true };
        StoreEvent event = { .deleted = true, .kv.key = row->key };
        if (!change(x, row, &to, &event)) {
            return false;
        }
    }
    return true;
}

/* Deletes the keys of a range in batches, which bounds memory use. */
static bool delete_walk(Execution *x, KeyWalk walk, StoreKvs *previous, int64_t *count)
{
    for (;;) {
        CollectWalk piece = { .arena = x->arena, .max = DELETE_PIECE };
        if (!x->engine->kind->walk_keys(x->engine, &walk, collect_visit, &piece, x->err) ||
            !delete_rows(x, &piece, previous)) {
            return false;
        }
        *count += piece.rows.len;
        if (piece.rows.len == 0) {
            return true;
        }
        if (walk.lease == 0) {
            walk.key = arena_join(x->arena, VEC_LAST(&piece.rows).key, STR("\0"), STR_EMPTY);
        }
    }
}

static bool execute_delete(Execution *x, const StoreOp *op, StoreOpReply *reply)
{
    *reply = (StoreOpReply){ .kind = STORE_DELETE };
    StoreKvs previous = { 0 };
    if (op->end.len > 0) {
        KeyWalk walk = { .key = op->key, .end = op->end };
        if (!delete_walk(x, walk, op->previous ? &previous : NULL, &reply->count)) {
            return false;
        }
    } else {
        CollectWalk single = { .arena = x->arena, .max = 1 };
        KeyRow row;
        if (!x->engine->kind->find_key(x->engine, op->key, &row, x->err)) {
            return false;
        }
        collect_visit(&single, &row);
        if (!delete_rows(x, &single, op->previous ? &previous : NULL)) {
            return false;
        }
        reply->count = single.rows.len;
    }
    reply->kvs = previous.items;
    reply->kv_count = previous.len;
    return true;
}

/* --- Transactions ---------------------------------------------------------------------------- */

static bool relation_holds(StoreRelation relation, int64_t order)
{
    switch (relation) {
    case STORE_EQUAL: return order == 0;
    case STORE_NOT_EQUAL: return order != 0;
    case STORE_LESS: return order < 0;
    case STORE_GREATER: return order > 0;
    }
    return false;
}

static int order_of(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static bool compare_holds(Execution *x, const StoreCompare *compare, bool *out)
{
    KeyRow row;
    if (!x->engine->kind->find_key(x->engine, compare->key, &row, x->err)) {
        return false;
    }
    bool exists = row.version > 0;
    int order = 0;
    switch (compare->target) {
    case STORE_VERSION: order = order_of(row.version, compare->number); break;
    case STORE_CREATE_REVISION: order = order_of(row.create_revision, compare->number); break;
    case STORE_MOD_REVISION:
        order = order_of(exists ? id_revision(row.id) : 0, compare->number);
        break;
    case STORE_LEASE: order = order_of(row.lease, compare->number); break;
    case STORE_VALUE: {
        ChangeRow change;
        if (!exists) {
            *out = false;
            return true;
        }
        if (!x->engine->kind->get_change(x->engine, row.id, &change, x->err)) {
            return false;
        }
        order = str_compare(change.value, compare->value);
        break;
    }
    }
    *out = relation_holds(compare->relation, order);
    return true;
}

/* Everything that can fail is checked before the first change, so a rollback is rarely needed. */
static bool check_ops(Execution *x, const StoreOp *ops, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const StoreOp *op = &ops[i];
        if (op->kind == STORE_RANGE && op->revision != 0 && !check_revision(x, op->revision)) {
            return false;
        }
        bool exists = true;
        if (op->kind == STORE_PUT && op->lease != 0 &&
            !x->engine->kind->has_lease(x->engine, op->lease, &exists, x->err)) {
            return false;
        }
        if (!exists) {
            return error_set(x->err, ERROR_NOT_FOUND, "lease %lld not found", (long long)op->lease);
        }
    }
    return true;
}

static bool execute_op(Execution *x, const StoreOp *op, StoreOpReply *reply)
{
    switch (op->kind) {
    case STORE_RANGE: return execute_range(x, op, reply);
    case STORE_PUT: return execute_put(x, op, reply);
    case STORE_DELETE: return execute_delete(x, op, reply);
    }
    return true;
}

bool execute_txn(Engine *engine, EngineState *state, const StoreTxn *txn, Arena *arena,
                 StoreReply *reply, Changes *changes, Error *err)
{
    Execution x = { engine, state, arena, changes, .err = err };
    bool all = true;
    for (uint32_t i = 0; i < txn->compare_count && all; i++) {
        if (!compare_holds(&x, &txn->compares[i], &all)) {
            return false;
        }
    }
    const StoreOp *ops = all ? txn->success : txn->failure;
    uint32_t count = all ? txn->success_count : txn->failure_count;
    if (!check_ops(&x, ops, count)) {
        return false;
    }
    StoreOpReply *replies = ARENA_ARRAY(arena, StoreOpReply, count);
    for (uint32_t i = 0; i < count; i++) {
        if (!execute_op(&x, &ops[i], &replies[i])) {
            return false;
        }
    }
    if (x.next_number > 0) {
        state->revision++;
    }
    *reply = (StoreReply){ state->revision, all, replies, count };
    return true;
}

bool execute_revoke(Engine *engine, EngineState *state, int64_t lease, Arena *arena,
                    Changes *changes, Error *err)
{
    Execution x = { engine, state, arena, changes, .err = err };
    bool exists;
    if (!engine->kind->has_lease(engine, lease, &exists, err)) {
        return false;
    }
    if (!exists) {
        return error_set(err, ERROR_NOT_FOUND, "lease %lld not found", (long long)lease);
    }
    int64_t count = 0;
    if (!delete_walk(&x, (KeyWalk){ .lease = lease }, NULL, &count) ||
        !engine->kind->drop_lease(engine, lease, err)) {
        return false;
    }
    if (x.next_number > 0) {
        state->revision++;
    }
    return true;
}

bool execute_lease_keys(Engine *engine, int64_t lease, Arena *arena, const Str **keys,
                        uint32_t *count, Error *err)
{
    CollectWalk all = { .arena = arena, .max = UINT32_MAX };
    KeyWalk walk = { .lease = lease };
    if (!engine->kind->walk_keys(engine, &walk, collect_visit, &all, err)) {
        return false;
    }
    if (all.bytes > STORE_REPLY_MAX) {
        return error_set(err, ERROR_LIMIT, "the lease has too many keys for one response");
    }
    Str *list = ARENA_ARRAY(arena, Str, all.rows.len);
    for (uint32_t i = 0; i < all.rows.len; i++) {
        list[i] = all.rows.items[i].key;
    }
    *keys = list;
    *count = all.rows.len;
    return true;
}
