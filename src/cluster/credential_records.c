#include "cluster/credential_records.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/memory.h"
#include "cluster/change.h"
#include "cluster/cluster_keys.h"

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
    CredentialsListed *listed;
    CredentialGot *got;
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

static bool tell_absent(const Asked *asked, Error *err)
{
    return error_set(err, ERROR_NOT_FOUND, "there is no %s '%" STR_FMT "'", asked->row->one,
                     STR_ARG(asked->id));
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
                                .store = asked->at.store,
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
static bool read_entry(Asked *asked, const StoreKv *kv, CredentialEntry *out)
{
    Arena *arena = &asked->arena;
    Str parts[KEYS_PARTS_MAX];
    KeyKind kind;
    Error err;
    const CredentialRecords *row = asked->row;
    if (!key_parse(arena, asked->at.prefix, kv->key, &kind, parts) || kind != KEY_OBJECT ||
        !row->check(parts[1], &err)) {
        return false;
    }
    *out = (CredentialEntry){ .id = arena_copy(arena, parts[1]), .revision = kv->mod_revision };
    void *record = arena_alloc_zero(arena, row->size);
    bool is_read = row->read(arena, kv->value, record, &err);
    if (is_read && str_eq_c(parts[1], (const char *)record + row->id)) {
        out->record = record;
        return true;
    }
    if (is_read) {
        error_set(&err, ERROR_INVALID, "it is the record of another %s", row->one);
    }
    error_wrap(&err, "%" STR_FMT, STR_ARG(kv->key));
    out->error = arena_copy(arena, str_from_c(err.text));
    return true;
}

static void list_came(void *context, const StoreReply *reply, const Error *err)
{
    Asked *asked = context;
    CredentialPage page = { 0 };
    if (err == NULL) {
        const StoreOpReply *range = &reply->ops[0];
        CredentialEntry *entries = ARENA_ARRAY(&asked->arena, CredentialEntry, range->kv_count);
        for (uint32_t i = 0; i < range->kv_count; i++) {
            page.count += read_entry(asked, &range->kvs[i], &entries[page.count]) ? 1 : 0;
        }
        page.entries = entries;
        page.revision = reply->revision;
        if (range->more && range->kv_count > 0) {
            page.next = str_from_offset(range->kvs[range->kv_count - 1].key,
                                        asked->row->all(&asked->arena, asked->at.prefix).len);
        }
    }
    asked->listed(asked->context, err == NULL ? &page : NULL, err);
    asked_free(asked);
}

void credential_records_list(const ClusterStore *at, const CredentialRecords *row, Str after,
                             uint32_t limit, CredentialsListed *done, void *context)
{
    Error err;
    if (limit == 0 || limit > CREDENTIAL_PAGE_MAX) {
        error_set(&err, ERROR_INVALID, "a page has 1 to %d %s", CREDENTIAL_PAGE_MAX, row->many);
        done(context, NULL, &err);
        return;
    }
    Asked *asked = asked_new(at, row, STR_EMPTY, context);
    Arena *arena = &asked->arena;
    asked->listed = done;
    Str all = row->all(arena, at->prefix), from = all;
    if (after.len > 0) {
        from = arena_join(arena, all, after, STR("\0"));
    }
    StoreOp op = {
        .kind = STORE_RANGE, .key = from, .end = store_prefix_end(arena, all), .limit = limit
    };
    if (!store_op(at->store, &op, list_came, asked, &err)) {
        list_came(asked, NULL, &err);
    }
}

static void one_came(void *context, const StoreReply *reply, const Error *err)
{
    Asked *asked = context;
    CredentialEntry entry;
    Error absent;
    if (err == NULL &&
        (reply->ops[0].kv_count == 0 || !read_entry(asked, &reply->ops[0].kvs[0], &entry))) {
        tell_absent(asked, &absent);
        err = &absent;
    }
    asked->got(asked->context, err == NULL ? &entry : NULL, err);
    asked_free(asked);
}

void credential_records_get(const ClusterStore *at, const CredentialRecords *row, Str id,
                            CredentialGot *done, void *context)
{
    Error err;
    if (!row->check(id, &err)) {
        done(context, NULL, &err);
        return;
    }
    Asked *asked = asked_new(at, row, id, context);
    asked->got = done;
    if (!store_get(at->store, row->key(&asked->arena, at->prefix, id), one_came, asked, &err)) {
        one_came(asked, NULL, &err);
    }
}

/* --- Adding ---------------------------------------------------------------------------------- */

static void sweep(Asked *asked, Str after);

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
            return error_set(err, ERROR_INVALID, "there is no role '%" STR_FMT "'",
                             STR_ARG(asked->roles[i]));
        }
    }
    if (asked->role_count > 0) {
        change_put(change, asked->row->grants(arena, asked->at.prefix),
                   arena_format(arena, "{\"format\":\"eden.grants/1\",\"last\":\"%" STR_FMT "\"}",
                                STR_ARG(asked->id)),
                   0);
    }
    return true;
}

static bool add_decide(void *context, Change *change, Error *err)
{
    Asked *asked = context;
    if (change_has(change, SEEN_RECORD)) {
        return error_set(err, ERROR_CONFLICT, "another %s has drawn the same id; try again",
                         asked->row->one);
    }
    asked->is_full = change_count(change, 0) >= asked->row->max;
    if (asked->is_full) {
        return error_set(err, ERROR_LIMIT, "there are %u %s already; revoke some", asked->row->max,
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
        sweep(asked, STR_EMPTY);
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

/* Whether or not somebody else was quicker, there may be room now. */
static void swept(void *context, const StoreReply *reply, const Error *err)
{
    if (err != NULL) {
        add_end(context, 0, err);
    } else {
        change_it(context, add_decide, added);
    }
}

/* Those of a page that have run out go; when it has none, those of the next one. */
static void sweep_page(void *context, const CredentialPage *page, const Error *err)
{
    Asked *asked = context;
    const CredentialRecords *row = asked->row;
    StoreOp ops[STORE_OPS_MAX];
    StoreCompare compares[STORE_OPS_MAX];
    StoreTxn txn = { .compares = compares, .success = ops };
    Error failure;
    if (err != NULL) {
        add_end(asked, 0, err);
        return;
    }
    for (uint32_t i = 0; i < page->count && txn.success_count < STORE_OPS_MAX; i++) {
        const CredentialEntry *entry = &page->entries[i];
        int64_t expires_ms = INT64_MAX;
        if (entry->record != NULL) {
            memcpy(&expires_ms, (const char *)entry->record + row->expires_ms, sizeof expires_ms);
        }
        if (expires_ms <= loop_wall_ms(asked->at.loop)) {
            Str key = row->key(&asked->arena, asked->at.prefix, entry->id);
            compares[txn.compare_count++] = (StoreCompare){ .target = STORE_MOD_REVISION,
                                                            .relation = STORE_EQUAL,
                                                            .key = key,
                                                            .number = entry->revision };
            ops[txn.success_count++] = (StoreOp){ .kind = STORE_DELETE, .key = key };
        }
    }
    if (txn.success_count == 0 && page->next.len > 0) {
        sweep(asked, page->next);
    } else if (txn.success_count == 0) {
        change_it(asked, add_decide, added); /* which finds that it is full */
    } else if (!store_txn(asked->at.store, &txn, swept, asked, &failure)) {
        add_end(asked, 0, &failure);
    }
}

static void sweep(Asked *asked, Str after)
{
    credential_records_list(&asked->at, asked->row, after, CREDENTIAL_PAGE_MAX, sweep_page, asked);
}

/* --- Taking back ----------------------------------------------------------------------------- */

/* The record is not looked at, so that a damaged one can go too. */
static bool revoke_decide(void *context, Change *change, Error *err)
{
    const Asked *asked = context;
    if (!change_has(change, SEEN_RECORD)) {
        return tell_absent(asked, err);
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
