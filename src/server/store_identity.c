/* Compares the store's ID with the one in the settings before anything else is read from the
 * store. */
#include "server/store_identity.h"

#include "base/log.h"
#include "cluster/cluster_keys.h"
#include "cluster/key_migration.h"
#include "membership/node_record.h"
#include "server/create_cluster.h"

enum {
    OP_ID,
    OP_NODE,
    OP_COUNT,
    ID_SHOWN = 40, /* number of bytes of an ID that messages show */
};

#define LOCATION "%s/" SERVER_DIRECTORY "/" SERVER_STORE

bool store_identity_lost(const char *state_dir, Error *err)
{
    return error_set(err, ERROR_NOT_FOUND,
                     "the store of this cluster is lost: nothing found in " LOCATION
                     "/store.db. Put it back, or run 'eden backup restore FILE --state-dir %s'. "
                     "Without a backup the cluster cannot be recovered: move the state directory "
                     "away, and run 'eden init' to create a new one that every node must join",
                     state_dir, state_dir);
}

static bool reject_foreign(const StoreIdentity *identity, Str found, Error *err)
{
    Str found_id = found.len == 0 ? STR("none") : str_slice(found, 0, ID_SHOWN);
    if (server_settings_use_etcd(identity->settings)) {
        return error_set(
            err, ERROR_INVALID,
            "etcd at %" STR_FMT " contains a different store: its ID is %" STR_FMT
            ", and this server expects %s. Correct 'etcd_endpoints' in " SERVER_SETTINGS_FILE
            ", or restore a backup",
            STR_ARG(identity->settings->etcd[0]), STR_ARG(found_id), identity->settings->store_id);
    }
    return error_set(err, ERROR_INVALID,
                     "the store in " LOCATION " is a different one: its ID is %" STR_FMT
                     ", and this server expects %s. Move it away and put the right one there, or "
                     "run 'eden backup restore FILE --state-dir %s'",
                     identity->state_dir, STR_ARG(found_id), identity->settings->store_id,
                     identity->state_dir);
}

static void identity_stored(void *context, const StoreReply *reply, const Error *err)
{
    if (err != NULL) {
        log_warning("cannot write the ID of the store", LOG_C("error", err->text));
    }
}

static bool is_text(Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (!ascii_is_name(text.data[i]) && text.data[i] != '-') {
            return false;
        }
    }
    return true;
}

static bool check_identity(const StoreIdentity *identity, const StoreReply *reply, Error *err)
{
    const StoreOpReply *id = &reply->ops[OP_ID];
    Str expected = str_from_c(identity->settings->store_id);
    if (id->kv_count > 0) {
        Str found = id->kvs[0].value;
        return str_eq(found, expected) ||
               reject_foreign(identity, is_text(found) ? found : STR("?"), err);
    }
    if (reply->ops[OP_NODE].kv_count == 0) {
        return reject_foreign(identity, STR_EMPTY, err);
    }
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str key = cluster_key_store_id(&arena, identity->cluster_store.prefix);
    Error ignored;
    if (!store_put(identity->cluster_store.store, key, expected, 0, identity_stored, NULL,
                   &ignored)) {
        identity_stored(NULL, NULL, &ignored);
    }
    return true;
}

static void read_enrollment(StoreIdentity *identity, const StoreOpReply *node)
{
    AUTO_CLEAR(Arena) arena;
    NodeRecord record;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    if (node->kv_count > 0 && node_record_read(&arena, node->kvs[0].value, &record, &err)) {
        memcpy(identity->enrollment, record.enrollment, sizeof identity->enrollment);
    }
}

static void moved(void *context, const Error *err)
{
    StoreIdentity *identity = context;
    identity->done(identity->context, err);
}

static void read(void *context, const StoreReply *reply, const Error *err)
{
    StoreIdentity *identity = context;
    Error why;
    if (err != NULL) {
        identity->done(identity->context, err);
        return;
    }
    read_enrollment(identity, &reply->ops[OP_NODE]);
    if (check_identity(identity, reply, &why)) {
        key_migration_run(&identity->cluster_store, moved, identity);
    } else {
        identity->done(identity->context, &why);
    }
}

bool store_identity_check(StoreIdentity *identity, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str prefix = identity->cluster_store.prefix, node = str_from_c(identity->settings->node);
    const StoreOp ops[OP_COUNT] = {
        [OP_ID] = { .kind = STORE_RANGE, .key = cluster_key_store_id(&arena, prefix) },
        [OP_NODE] = { .kind = STORE_RANGE, .key = cluster_key_node(&arena, prefix, node) },
    };
    StoreTxn txn = { .success = ops, .success_count = OP_COUNT };
    return store_txn(identity->cluster_store.store, &txn, read, identity, err);
}
