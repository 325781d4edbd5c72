/* Storage of credentials. Adding one also writes the "grants" marker of its kind and compares the
 * roles it names, so that it conflicts with a concurrent deletion of a role. When the limit is
 * reached, expired records are deleted first and adding is tried once more. */
#include "access/credential_records.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/memory.h"
#include "cluster/change.h"
#include "cluster/cluster_keys.h"
#include "cluster/state.h"

/* Indexes of the keys that a change reads. */
enum {
    READ_RECORD,
    READ_ROLES /* the first of these keys, one per role */
};
_Static_assert(READ_ROLES + ROLES_MAX <= CHANGE_KEYS_MAX, "all roles are read at once");

/* A pending operation. */
typedef struct RecordOperation {
    Arena arena; /* holds the strings of the operation */
    ClusterStore cluster_store;
    const CredentialRecords *row;
    Str id, text;
    Str roles[ROLES_MAX]; /* the roles that are not built in */
    uint32_t role_count;
    int64_t revision;
    bool is_full, has_swept;
    ClusterDone *done;
    CredentialAdded *added;
    void *context;
} RecordOperation;

static RecordOperation *operation_new(const ClusterStore *cluster_store,
                                      const CredentialRecords *row, Str id, void *context)
{
    RecordOperation *operation = memory_new(sizeof *operation);
    arena_init(&operation->arena, ARENA_UNLIMITED);
    operation->cluster_store = *cluster_store;
    operation->row = row;
    operation->id = arena_copy(&operation->arena, id);
    operation->context = context;
    return operation;
}

static void operation_free(RecordOperation *operation)
{
    arena_clear(&operation->arena);
    free(operation);
}

static void operation_end(RecordOperation *operation, const Error *err)
{
    operation->done(operation->context, err);
    operation_free(operation);
}

static bool not_found(const CredentialRecords *row, Str id, Error *err)
{
    return error_set(err, ERROR_NOT_FOUND, "%s '%" STR_FMT "' not found", row->singular,
                     STR_ARG(id));
}

static void start_change(RecordOperation *operation, bool (*decide)(void *, Change *, Error *),
                         void (*decided)(void *, Change *, const Error *))
{
    Arena *arena = &operation->arena;
    Str prefix = operation->cluster_store.prefix, keys[READ_ROLES + ROLES_MAX];
    Change *change;
    keys[READ_RECORD] = operation->row->key(arena, prefix, operation->id);
    for (uint32_t i = 0; i < operation->role_count; i++) {
        keys[READ_ROLES + i] = cluster_key_role(arena, prefix, operation->roles[i]);
    }
    change_start(&(ChangeSpec){ .urgent = true,
                                .cluster_store = operation->cluster_store,
                                .keys = keys,
                                .key_count = READ_ROLES + operation->role_count,
                                .counted = { operation->row->key_prefix(arena, prefix) },
                                .decide = decide,
                                .done = decided,
                                .context = operation },
                 &change);
}

/* --- Listing --------------------------------------------------------------------------------- */

/* Returns false for a key that this program does not write. */
static bool read_entry(Arena *arena, const CredentialRecords *row, const StateEntry *from,
                       CredentialEntry *out)
{
    Str id = from->parts[1];
    Error err;
    if (from->kind != KEY_INTERNAL || !row->check(id, &err)) {
        return false;
    }
    *out = (CredentialEntry){ .id = arena_copy(arena, id), .revision = from->mod_revision };
    void *record = arena_alloc_zero(arena, row->size);
    bool is_read = row->read(arena, from->value, record, &err);
    if (is_read && str_eq_c(id, (const char *)record + row->id)) {
        out->record = record;
        return true;
    }
    if (is_read) {
        error_set(&err, ERROR_INVALID, "the record belongs to a different %s", row->singular);
    }
    error_wrap(&err, "%" STR_FMT, STR_ARG(from->key));
    out->error = arena_copy(arena, str_from_c(err.text));
    return true;
}

bool credential_records_list(Arena *arena, const ClusterStore *cluster_store,
                             const CredentialRecords *row, Str after, uint32_t limit,
                             CredentialPage *out, Error *err)
{
    if (limit == 0 || limit > CREDENTIAL_PAGE_MAX) {
        return error_set(err, ERROR_INVALID, "the page size must be between 1 and %d",
                         CREDENTIAL_PAGE_MAX);
    }
    Str all = row->key_prefix(arena, cluster_store->prefix);
    Str start_key = after.len == 0 ? STR_EMPTY : arena_join(arena, all, after, STR_EMPTY);
    StateRange range = state_range(cluster_store->state, all, start_key);
    CredentialEntry *entries = ARENA_ARRAY(arena, CredentialEntry, limit);
    *out = (CredentialPage){ .entries = entries,
                             .revision = state_age(cluster_store->state).revision };
    for (const StateEntry *entry; (entry = state_next(&range)) != NULL;) {
        if (out->count == limit) {
            out->next = entries[limit - 1].id;
            break;
        }
        out->count += read_entry(arena, row, entry, &entries[out->count]) ? 1 : 0;
    }
    return true;
}

bool credential_records_get(Arena *arena, const ClusterStore *cluster_store,
                            const CredentialRecords *row, Str id, CredentialEntry *out, Error *err)
{
    if (!row->check(id, err)) {
        return false;
    }
    const StateEntry *entry =
        state_find(cluster_store->state, row->key(arena, cluster_store->prefix, id));
    return (entry != NULL && read_entry(arena, row, entry, out)) || not_found(row, id, err);
}

/* --- Adding ---------------------------------------------------------------------------------- */

static void sweep(RecordOperation *operation);

static void add_end(RecordOperation *operation, int64_t revision, const Error *err)
{
    operation->added(operation->context, revision, err);
    operation_free(operation);
}

/* Checks that the roles exist. A concurrent deletion of a role conflicts with this change. */
static bool grant_roles(const RecordOperation *operation, Change *change, Error *err)
{
    Arena *arena = change_arena(change);
    for (uint32_t i = 0; i < operation->role_count; i++) {
        if (!change_has(change, READ_ROLES + i)) {
            return error_set(err, ERROR_INVALID, "role '%" STR_FMT "' not found",
                             STR_ARG(operation->roles[i]));
        }
    }
    if (operation->role_count > 0) {
        change_put(change, operation->row->grants(arena, operation->cluster_store.prefix),
                   grants_record(arena, operation->id), 0);
    }
    return true;
}

static bool add_decide(void *context, Change *change, Error *err)
{
    RecordOperation *operation = context;
    if (change_has(change, READ_RECORD)) {
        return error_set(err, ERROR_CONFLICT, "another %s was assigned the same ID; try again",
                         operation->row->singular);
    }
    operation->is_full = change_count(change, 0) >= operation->row->max;
    if (operation->is_full) {
        return error_set(err, ERROR_LIMIT, "there are already %u %s; revoke some",
                         operation->row->max, operation->row->plural);
    }
    change_put(change, change_key(change, READ_RECORD), operation->text, 0);
    return grant_roles(operation, change, err);
}

static void added(void *context, Change *change, const Error *err)
{
    RecordOperation *operation = context;
    if (err != NULL && operation->is_full && !operation->has_swept) {
        operation->has_swept = true;
        sweep(operation);
    } else {
        add_end(operation, change_written(change), err);
    }
}

void credential_records_add(const ClusterStore *cluster_store, const CredentialRecords *row,
                            const NewCredential *credential, CredentialAdded *done, void *context)
{
    RecordOperation *operation = operation_new(cluster_store, row, credential->id, context);
    Str rest = credential->roles == NULL ? STR_EMPTY : str_from_c(credential->roles->text), role;
    while (role_names_next(&rest, &role)) {
        if (access_role_builtin(role) == NULL) {
            operation->roles[operation->role_count++] = arena_copy(&operation->arena, role);
        }
    }
    BUG_IF(operation->role_count > 0 && row->grants == NULL);
    operation->text = arena_copy(&operation->arena, credential->text);
    operation->added = done;
    start_change(operation, add_decide, added);
}

/* There may be space now, even if another server was faster. Whether the sweep was written does not
 * matter for the record to add. */
static void swept(void *context, const StoreReply *reply, const Error *err)
{
    if (err != NULL && err->kind != ERROR_UNKNOWN) {
        add_end(context, 0, err);
    } else {
        start_change(context, add_decide, added);
    }
}

static int64_t expires_of(const CredentialRecords *row, const CredentialEntry *entry)
{
    int64_t expires_ms = INT64_MAX;
    if (entry->record != NULL) {
        memcpy(&expires_ms, (const char *)entry->record + row->expires_ms, sizeof expires_ms);
    }
    return expires_ms;
}

/* Deletes expired records, as many as fit in a transaction. */
static void sweep(RecordOperation *operation)
{
    const CredentialRecords *row = operation->row;
    Arena *arena = &operation->arena;
    StoreOp ops[STORE_OPS_MAX];
    StoreCompare compares[STORE_OPS_MAX];
    StoreTxn txn = { .compares = compares, .success = ops };
    CredentialEntry entry;
    Error err;
    StateRange range =
        state_range(operation->cluster_store.state,
                    row->key_prefix(arena, operation->cluster_store.prefix), STR_EMPTY);
    for (const StateEntry *from;
         txn.success_count < STORE_OPS_MAX && (from = state_next(&range)) != NULL;) {
        if (read_entry(arena, row, from, &entry) &&
            expires_of(row, &entry) <= loop_wall_ms(operation->cluster_store.loop)) {
            Str key = arena_copy(arena, from->key);
            compares[txn.compare_count++] = (StoreCompare){ .target = STORE_MOD_REVISION,
                                                            .relation = STORE_EQUAL,
                                                            .key = key,
                                                            .number = entry.revision };
            ops[txn.success_count++] = (StoreOp){ .kind = STORE_DELETE, .key = key };
        }
    }
    if (txn.success_count == 0) {
        start_change(operation, add_decide, added); /* fails again if the limit is still reached */
    } else if (!store_txn_confirmed(operation->cluster_store.store, &txn, swept, operation, &err)) {
        add_end(operation, 0, &err);
    }
}

/* --- Revoking -------------------------------------------------------------------------------- */

/* The record is not parsed, so that a damaged one can be deleted too. */
static bool revoke_decide(void *context, Change *change, Error *err)
{
    const RecordOperation *operation = context;
    if (!change_has(change, READ_RECORD)) {
        return not_found(operation->row, operation->id, err);
    }
    if (operation->revision != 0 && change_revision(change, READ_RECORD) != operation->revision) {
        return error_set(err, ERROR_CONFLICT, "it was modified by another request; read it again");
    }
    change_delete(change, change_key(change, READ_RECORD));
    return true;
}

static void revoked(void *context, Change *change, const Error *err)
{
    operation_end(context, err);
}

void credential_records_revoke(const ClusterStore *cluster_store, const CredentialRecords *row,
                               Str id, int64_t revision, ClusterDone *done, void *context)
{
    Error err;
    if (!row->check(id, &err)) {
        done(context, &err);
        return;
    }
    RecordOperation *operation = operation_new(cluster_store, row, id, context);
    operation->revision = revision;
    operation->done = done;
    start_change(operation, revoke_decide, revoked);
}
