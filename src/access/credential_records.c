#include "access/credential_records.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/memory.h"
#include "cluster/change.h"
#include "cluster/cluster_keys.h"
#include "cluster/state.h"

/* The keys that a change reads. */
enum {
    SEEN_RECORD,
    SEEN_ROLES /* as many as there are */
};
_Static_assert(SEEN_ROLES + ROLES_MAX <= CHANGE_KEYS_MAX, "all roles are read at once");

/* One thing that was asked for. */
typedef struct Asked {
    Arena arena; /* of the texts */
    ClusterStore at;
    const CredentialRecords *row;
    Str id, text;
    Str roles[ROLES_MAX]; /* that are not built in */
    uint32_t role_count;
    int64_t revision;
    bool is_full, has_swept;
    ClusterDone *done;
    CredentialAdded *added;
    void *context;
} Asked;

static Asked *asked_new(const ClusterStore *at, const CredentialRecords *row, Str id, void *context)
{
    Asked *asked = memory_new(sizeof *asked);
    arena_init(&asked->arena, ARENA_UNLIMITED);
    asked->at = *at;
    asked->row = row;
    asked->id = arena_copy(&asked->arena, id);
    asked->context = context;
    return asked;
}

static void asked_free(Asked *asked)
{
    arena_clear(&asked->arena);
    free(asked);
}

static void asked_end(Asked *asked, const Error *err)
{
    asked->done(asked->context, err);
    asked_free(asked);
}

static bool tell_absent(const CredentialRecords *row, Str id, Error *err)
{
    return error_set(err, ERROR_NOT_FOUND, "%s '%" STR_FMT "' not found", row->one, STR_ARG(id));
}

static void change_it(Asked *asked, bool (*decide)(void *, Change *, Error *),
                      void (*decided)(void *, Change *, const Error *))
{
    Arena *arena = &asked->arena;
    Str prefix = asked->at.prefix, keys[SEEN_ROLES + ROLES_MAX];
    Change *change;
    keys[SEEN_RECORD] = asked->row->key(arena, prefix, asked->id);
    for (uint32_t i = 0; i < asked->role_count; i++) {
        keys[SEEN_ROLES + i] = cluster_key_role(arena, prefix, asked->roles[i]);
    }
    change_start(&(ChangeSpec){ .urgent = true,
                                .at = asked->at,
                                .keys = keys,
                                .key_count = SEEN_ROLES + asked->role_count,
                                .counted = { asked->row->all(arena, prefix) },
                                .decide = decide,
                                .done = decided,
                                .context = asked },
                 &change);
}

/* --- Listing --------------------------------------------------------------------------------- */

/* False: the key is none that we make. */
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
        error_set(&err, ERROR_INVALID, "it is the record of another %s", row->one);
    }
    error_wrap(&err, "%" STR_FMT, STR_ARG(from->key));
    out->error = arena_copy(arena, str_from_c(err.text));
    return true;
}

bool credential_records_list(Arena *arena, const ClusterStore *at, const CredentialRecords *row,
                             Str after, uint32_t limit, CredentialPage *out, Error *err)
{
    if (limit == 0 || limit > CREDENTIAL_PAGE_MAX) {
        return error_set(err, ERROR_INVALID, "a page must have 1 to %d %s", CREDENTIAL_PAGE_MAX,
                         row->many);
    }
    Str all = row->all(arena, at->prefix);
    Str behind = after.len == 0 ? STR_EMPTY : arena_join(arena, all, after, STR_EMPTY);
    StateRange range = state_range(at->state, all, behind);
    CredentialEntry *entries = ARENA_ARRAY(arena, CredentialEntry, limit);
    *out = (CredentialPage){ .entries = entries, .revision = state_age(at->state).revision };
    for (const StateEntry *entry; (entry = state_next(&range)) != NULL;) {
        if (out->count == limit) {
            out->next = entries[limit - 1].id;
            break;
        }
        out->count += read_entry(arena, row, entry, &entries[out->count]) ? 1 : 0;
    }
    return true;
}

bool credential_records_get(Arena *arena, const ClusterStore *at, const CredentialRecords *row,
                            Str id, CredentialEntry *out, Error *err)
{
    if (!row->check(id, err)) {
        return false;
    }
    const StateEntry *entry = state_find(at->state, row->key(arena, at->prefix, id));
    return (entry != NULL && read_entry(arena, row, entry, out)) || tell_absent(row, id, err);
}

/* --- Adding ---------------------------------------------------------------------------------- */

static void sweep(Asked *asked);

static void add_end(Asked *asked, int64_t revision, const Error *err)
{
    asked->added(asked->context, revision, err);
    asked_free(asked);
}

/* False: one is not there. Whoever deletes one meanwhile finds that it was given. */
static bool grant_roles(const Asked *asked, Change *change, Error *err)
{
    Arena *arena = change_arena(change);
    for (uint32_t i = 0; i < asked->role_count; i++) {
        if (!change_has(change, SEEN_ROLES + i)) {
            return error_set(err, ERROR_INVALID, "role '%" STR_FMT "' not found",
                             STR_ARG(asked->roles[i]));
        }
    }
    if (asked->role_count > 0) {
        change_put(change, asked->row->grants(arena, asked->at.prefix),
                   grants_record(arena, asked->id), 0);
    }
    return true;
}

static bool add_decide(void *context, Change *change, Error *err)
{
    Asked *asked = context;
    if (change_has(change, SEEN_RECORD)) {
        return error_set(err, ERROR_CONFLICT, "another %s was assigned the same ID; try again",
                         asked->row->one);
    }
    asked->is_full = change_count(change, 0) >= asked->row->max;
    if (asked->is_full) {
        return error_set(err, ERROR_LIMIT, "there are already %u %s; revoke some", asked->row->max,
                         asked->row->many);
    }
    change_put(change, change_key(change, SEEN_RECORD), asked->text, 0);
    return grant_roles(asked, change, err);
}

static void added(void *context, Change *change, const Error *err)
{
    Asked *asked = context;
    if (err != NULL && asked->is_full && !asked->has_swept) {
        asked->has_swept = true;
        sweep(asked);
    } else {
        add_end(asked, change_written(change), err);
    }
}

void credential_records_add(const ClusterStore *at, const CredentialRecords *row,
                            const CredentialDraft *draft, CredentialAdded *done, void *context)
{
    Asked *asked = asked_new(at, row, draft->id, context);
    Str rest = draft->roles == NULL ? STR_EMPTY : str_from_c(draft->roles->text), role;
    while (role_names_next(&rest, &role)) {
        if (access_role_builtin(role) == NULL) {
            asked->roles[asked->role_count++] = arena_copy(&asked->arena, role);
        }
    }
    BUG_IF(asked->role_count > 0 && row->grants == NULL);
    asked->text = arena_copy(&asked->arena, draft->text);
    asked->added = done;
    change_it(asked, add_decide, added);
}

/* Whether or not somebody else was quicker, there may be room now; also when nobody knows whether they are
 * gone, which says nothing of the one that is to be added. */
static void swept(void *context, const StoreReply *reply, const Error *err)
{
    if (err != NULL && err->kind != ERROR_UNKNOWN) {
        add_end(context, 0, err);
    } else {
        change_it(context, add_decide, added);
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

/* Those that have run out go, as many as a transaction takes. */
static void sweep(Asked *asked)
{
    const CredentialRecords *row = asked->row;
    Arena *arena = &asked->arena;
    StoreOp ops[STORE_OPS_MAX];
    StoreCompare compares[STORE_OPS_MAX];
    StoreTxn txn = { .compares = compares, .success = ops };
    CredentialEntry entry;
    Error err;
    StateRange range = state_range(asked->at.state, row->all(arena, asked->at.prefix), STR_EMPTY);
    for (const StateEntry *from;
         txn.success_count < STORE_OPS_MAX && (from = state_next(&range)) != NULL;) {
        if (read_entry(arena, row, from, &entry) &&
            expires_of(row, &entry) <= loop_wall_ms(asked->at.loop)) {
            Str key = arena_copy(arena, from->key);
            compares[txn.compare_count++] = (StoreCompare){ .target = STORE_MOD_REVISION,
                                                            .relation = STORE_EQUAL,
                                                            .key = key,
                                                            .number = entry.revision };
            ops[txn.success_count++] = (StoreOp){ .kind = STORE_DELETE, .key = key };
        }
    }
    if (txn.success_count == 0) {
        change_it(asked, add_decide, added); /* which finds that it is full */
    } else if (!store_txn_sure(asked->at.store, &txn, swept, asked, &err)) {
        add_end(asked, 0, &err);
    }
}

/* --- Taking back ----------------------------------------------------------------------------- */

/* The record is not looked at, so that a damaged one can go too. */
static bool revoke_decide(void *context, Change *change, Error *err)
{
    const Asked *asked = context;
    if (!change_has(change, SEEN_RECORD)) {
        return tell_absent(asked->row, asked->id, err);
    }
    if (asked->revision != 0 && change_revision(change, SEEN_RECORD) != asked->revision) {
        return error_set(err, ERROR_CONFLICT, "it was changed in the meantime; read it again");
    }
    change_delete(change, change_key(change, SEEN_RECORD));
    return true;
}

static void revoked(void *context, Change *change, const Error *err)
{
    asked_end(context, err);
}

void credential_records_revoke(const ClusterStore *at, const CredentialRecords *row, Str id,
                               int64_t revision, ClusterDone *done, void *context)
{
    Error err;
    if (!row->check(id, &err)) {
        done(context, &err);
        return;
    }
    Asked *asked = asked_new(at, row, id, context);
    asked->revision = revision;
    asked->done = done;
    change_it(asked, revoke_decide, revoked);
}
