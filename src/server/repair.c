/* Offline check and repair. The store is opened as the server's user with a private loop, so every
 * call blocks until it has completed. A table maps each kind of key to the parser of its
 * records. */
#include "server/repair.h"

#include "access/browser_session.h"
#include "access/tokens.h"
#include "access/user_certificates.h"
#include "audit/audit_entry.h"
#include "base/vec.h"
#include "cluster/cluster_keys.h"
#include "cluster/cluster_store.h"
#include "cluster/key_migration.h"
#include "cluster/stored_object.h"
#include "membership/node_record.h"
#include "membership/pending_record.h"
#include "pki/ca.h"
#include "pki/revocation.h"
#include "pki/rotation.h"
#include "pki/token.h"
#include "pki/trust_notice.h"
#include "server/create_cluster.h"
#include "server/server_store.h"
#include "server/store_identity.h"
#include "store/keys.h"
#include "sys/directory.h"
#include "sys/file_lock.h"
#include "sys/loop.h"
#include "sys/privilege.h"
#include "sys/sha256.h"

/* prefix of files in the server's directory, followed by a digest of the key */
#define SAVED "repaired-"

enum {
    PAGE_KEYS = 500,
    DIGEST_SHOWN = 16,
};

typedef struct Repair {
    Arena *arena;
    const char *state_dir;
    const char *path; /* path of the store */
    Directory server;
    ServerSettings settings;
    Loop *loop;
    ServerStore opened;
    Store *store; /* of `opened` */
    Arena page;
    StoreReply reply; /* response of the last call, allocated in `page` */
    bool ok;
    Error err;
} Repair;

typedef bool RepairStep(Repair *repair, void *context, Error *err);

/* --- Store calls ----------------------------------------------------------------------------- */

static void reply_received(void *context, const StoreReply *reply, const Error *err)
{
    Repair *repair = context;
    repair->ok = err == NULL;
    if (err != NULL) {
        repair->err = *err;
    } else {
        /* a transaction with exactly one operation */
        StoreOpReply *op = ARENA_NEW(&repair->page, StoreOpReply);
        *op = reply->ops[0];
        StoreKv *kvs = ARENA_ARRAY(&repair->page, StoreKv, op->kv_count);
        for (uint32_t i = 0; i < op->kv_count; i++) {
            kvs[i] = op->kvs[i];
            kvs[i].key = arena_copy(&repair->page, kvs[i].key);
            kvs[i].value = arena_copy(&repair->page, kvs[i].value);
        }
        op->kvs = kvs;
        repair->reply = *reply;
        repair->reply.ops = op;
    }
    loop_stop(repair->loop);
}

static bool call_store(Repair *repair, const StoreOp *op, Error *err)
{
    if (!store_op(repair->store, op, reply_received, repair, err)) {
        return false;
    }
    arena_reset(&repair->page);
    loop_run(repair->loop);
    *err = repair->err;
    return repair->ok;
}

/* --- Running as the server ------------------------------------------------------------------- */

static bool read_settings(Repair *repair, Error *err)
{
    Str text;
    return directory_read(&repair->server, repair->arena, SERVER_SETTINGS_FILE, SERVER_SETTINGS_MAX,
                          &text, err) &&
           (server_settings_read(repair->arena, text, &repair->settings, err) ||
            error_wrap(err, "%s/" SERVER_SETTINGS_FILE, repair->server.path));
}

static bool open_store(Repair *repair, Error *err)
{
    const StoreSettings settings = { .existing = true, .keep_revisions = -1, .keep_bytes = -1 };
    repair->loop = loop_new();
    if (!server_store_open(repair->loop, repair->state_dir, &repair->settings, &settings,
                           &repair->opened, err)) {
        return false;
    }
    repair->store = repair->opened.store;
    return true;
}

/* Files that are created must belong to the user of the server. */
static bool as_server(Repair *repair, RepairStep *step, void *context, Error *err)
{
    uid_t user;
    gid_t group;
    repair->path =
        arena_format(repair->arena, "%s/" SERVER_DIRECTORY "/" SERVER_STORE, repair->state_dir)
            .data;
    const char *server_directory =
        arena_format(repair->arena, "%s/" SERVER_DIRECTORY, repair->state_dir).data;
    repair->server.descriptor = -1;
    arena_init(&repair->page, ARENA_UNLIMITED);
    if (!directory_open(server_directory, &repair->server, err)) {
        return err->kind == ERROR_NOT_FOUND
                   ? error_set(err, ERROR_NOT_FOUND, "no cluster in %s", repair->state_dir)
                   : false;
    }
    bool ok = directory_owner(&repair->server, &user, &group, err);
    bool lends_privileges = ok && running_as_root() && user != 0;
    if (lends_privileges && !privileges_lend(user, group, err)) {
        ok = lends_privileges = false;
    }
    /* On a full disk there is no other space, not even for opening the store. */
    ok = ok && read_settings(repair, err);
    bool is_file = ok && !server_settings_use_etcd(&repair->settings);
    bool released = is_file && store_release_reserve(repair->path, err);
    ok = ok && (released || !is_file) && step(repair, context, err);
    server_store_close(&repair->opened);
    loop_free(repair->loop);
    if (released) {
        store_keep_reserve(repair->path);
    }
    directory_close(&repair->server);
    arena_clear(&repair->page);
    if (lends_privileges) {
        privileges_return();
    }
    return ok;
}

/* --- Records --------------------------------------------------------------------------------- */

typedef bool Check(Arena *arena, Str text, Error *err);

/* A record of this type is read by `reader`. */
#define CHECK_BY(name, type, reader)                     \
    static bool name(Arena *arena, Str text, Error *err) \
    {                                                    \
        type record;                                     \
        return reader(arena, text, &record, err);        \
    }
CHECK_BY(check_node, NodeRecord, node_record_read)
CHECK_BY(check_joining, PendingRecord, pending_record_read)
CHECK_BY(check_join_token, TokenRecord, token_record_read)
CHECK_BY(check_revocations, RevocationList, revocation_read)
CHECK_BY(check_rotation, Rotation, rotation_read)
CHECK_BY(check_report, TrustReport, trust_report_read)
CHECK_BY(check_api_token, ApiTokenRecord, api_token_record_read)
CHECK_BY(check_user_certificate, UserCertificateRecord, user_certificate_record_read)
CHECK_BY(check_object, StoredObject, stored_object_read)
CHECK_BY(check_browser, BrowserRecord, browser_record_read)
CHECK_BY(check_entry, AuditEntry, audit_entry_read)
CHECK_BY(check_head, AuditHead, audit_head_read)

static bool check_notice(Arena *arena, Str text, Error *err)
{
    TrustNotice notice;
    CertificateSet bundle;
    return trust_notice_read(arena, text, &notice, &bundle, err);
}

typedef struct CheckRow {
    KeyKind kind;
    const char *object, *name; /* required parts of KEY_OBJECT and KEY_INTERNAL; NULL: any */
    Check *check;
} CheckRow;

static const CheckRow rows[] = {
    { KEY_NODE, NULL, NULL, check_node },
    { KEY_TRUST, NULL, NULL, check_report },
    { KEY_BROWSER, NULL, NULL, check_browser },
    { KEY_AUDIT, NULL, NULL, check_entry },
    { KEY_AUDIT_HEAD, NULL, NULL, check_head },
    { KEY_INTERNAL, "joining", NULL, check_joining },
    { KEY_INTERNAL, "token", NULL, check_join_token },
    { KEY_INTERNAL, "pki", "revocations", check_revocations },
    { KEY_INTERNAL, "pki", "rotation", check_rotation },
    { KEY_INTERNAL, "pki", "trust", check_notice },
    { KEY_INTERNAL, "access-token", NULL, check_api_token },
    { KEY_INTERNAL, "user-certificate", NULL, check_user_certificate },
    { KEY_OBJECT, "role", NULL, check_object },
};

/* Whether the record can be read by its users; true for keys whose values are not interpreted.
 * Fails like the record's reader. */
static bool check_record(Arena *arena, Str key, Str value, Error *err)
{
    Str parts[KEYS_PARTS_MAX], moved;
    KeyKind kind;
    /* Before the first start of this version, a record may be under the key that an earlier version
     * used. */
    Str present = key_migration_target(arena, KEYS_PREFIX, key, &moved) ? moved : key;
    if (!key_parse(arena, KEYS_PREFIX, present, &kind, parts)) {
        return true;
    }
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const CheckRow *row = &rows[i];
        if (row->kind == kind && (row->object == NULL || str_eq_c(parts[0], row->object)) &&
            (row->name == NULL || str_eq_c(parts[1], row->name))) {
            return row->check(arena, value, err);
        }
    }
    return true;
}

/* --- Inspection ------------------------------------------------------------------------------ */

typedef VEC(BadRecord) BadRecords;

/* Checks the records of one page; returns false if it is the last one. */
static bool check_page(Repair *repair, ClusterReport *report, BadRecords *bad)
{
    AUTO_CLEAR(Arena) scratch;
    arena_init(&scratch, ARENA_UNLIMITED);
    const StoreOpReply *page = &repair->reply.ops[0];
    for (uint32_t i = 0; i < page->kv_count; i++) {
        const StoreKv *kv = &page->kvs[i];
        Error why;
        if (check_record(&scratch, kv->key, kv->value, &why)) {
            continue;
        }
        if (bad->len == BAD_RECORDS_MAX) {
            report->has_more = true;
            return false;
        }
        BadRecord bad_record = { arena_copy(repair->arena, kv->key),
                                 arena_copy(repair->arena, str_from_c(why.text)) };
        VEC_PUSH(repair->arena, bad, bad_record);
    }
    report->keys += page->kv_count;
    report->revision = repair->reply.revision;
    return page->more && page->kv_count > 0;
}

static bool check_records(Repair *repair, ClusterReport *report, Error *err)
{
    BadRecords bad = { 0 };
    Str key = STORE_ALL;
    for (bool more = true; more;) {
        StoreOp op = { .kind = STORE_RANGE, .key = key, .end = STORE_ALL, .limit = PAGE_KEYS };
        if (!call_store(repair, &op, err)) {
            return false;
        }
        more = check_page(repair, report, &bad);
        if (more) {
            const StoreOpReply *page = &repair->reply.ops[0];
            key =
                arena_join(repair->arena, page->kvs[page->kv_count - 1].key, STR("\0"), STR_EMPTY);
        }
    }
    report->bad = bad.items;
    report->bad_count = bad.len;
    return true;
}

static bool inspect(Repair *repair, void *context, Error *err)
{
    ClusterReport *report = context;
    if (server_settings_use_etcd(&repair->settings)) {
        return open_store(repair, err) && check_records(repair, report, err);
    }
    if (!store_exists(repair->path)) {
        return store_identity_lost(repair->state_dir, err);
    }
    if (!store_check(repair->path, &report->damage) && report->damage.kind != ERROR_OS) {
        *err = report->damage;
        return false;
    }
    /* Reads as much as possible from a damaged store. */
    return (open_store(repair, err) && check_records(repair, report, err)) ||
           report->damage.kind != ERROR_NONE;
}

bool cluster_check(Arena *arena, const char *state_dir, ClusterReport *out, Error *err)
{
    Repair repair = { .arena = arena, .state_dir = state_dir };
    *out = (ClusterReport){ 0 };
    return as_server(&repair, inspect, out, err);
}

/* --- Accepting a loss ------------------------------------------------------------------------ */

/* The settings are written first: if a later step fails, the store is rejected as a foreign one,
 * and the same command can be repeated. */
static bool accept_loss(Repair *repair, void *context, Error *err)
{
    Buf text = buf_make_in(repair->arena, BUF_UNLIMITED);
    if (server_settings_use_etcd(&repair->settings)) {
        return error_set(err, ERROR_INVALID,
                         "the store is in etcd, which either has all acknowledged writes or does "
                         "not respond");
    }
    if (!store_can_accept(repair->path, err) || !cluster_id_make(repair->settings.store_id, err)) {
        return false;
    }
    server_settings_print(&repair->settings, &text);
    return directory_write(&repair->server, SERVER_SETTINGS_FILE, buf_str(&text), true, err) &&
           store_accept(repair->path, cluster_key_store_id(repair->arena, KEYS_PREFIX),
                        str_from_c(repair->settings.store_id), context, err);
}

bool cluster_accept_loss(Arena *arena, const char *state_dir, StoreAccepted *out, Error *err)
{
    Repair repair = { .arena = arena, .state_dir = state_dir };
    return as_server(&repair, accept_loss, out, err);
}

/* --- Repairing a record ---------------------------------------------------------------------- */

typedef struct RecordRepair {
    Str key;
    bool deletes;
    RepairedRecord *out;
} RecordRepair;

/* The newest readable value before `revision`; `*found` is 0 if there is none. */
static bool find_good(Repair *repair, Str key, int64_t revision, int64_t *found, Str *value,
                      Error *err)
{
    *found = 0;
    while (revision > 1) {
        StoreOp op = { .kind = STORE_RANGE, .key = key, .revision = revision - 1 };
        Error why;
        if (!call_store(repair, &op, err)) {
            return err->kind == ERROR_NOT_FOUND; /* compacted: the history ends here */
        }
        const StoreOpReply *then = &repair->reply.ops[0];
        if (then->kv_count == 0) {
            return true;
        }
        revision = then->kvs[0].mod_revision;
        if (check_record(repair->arena, key, then->kvs[0].value, &why)) {
            *found = revision;
            *value = arena_copy(repair->arena, then->kvs[0].value);
            return true;
        }
    }
    return true;
}

static bool save_bad_record(Repair *repair, Str key, Str value, RepairedRecord *out, Error *err)
{
    char digest[SHA256_HEX + 1];
    sha256_hex(key, digest);
    digest[DIGEST_SHOWN] = '\0';
    const char *name = arena_format(repair->arena, SAVED "%s", digest).data;
    out->saved = arena_format(repair->arena, "%s/%s", repair->server.path, name);
    return directory_write(&repair->server, name, value, true, err);
}

static bool repair_record(Repair *repair, void *context, Error *err)
{
    const RecordRepair *work = context;
    RepairedRecord *out = work->out;
    StoreOp op = { .kind = STORE_RANGE, .key = work->key };
    Str value;
    Error why;
    if (file_lock_is_held(&repair->server, SERVER_LOCK)) {
        return error_set(err, ERROR_CONFLICT, "a server is running in %s", repair->server.path);
    }
    if (!open_store(repair, err) || !call_store(repair, &op, err)) {
        return false;
    }
    if (repair->reply.ops[0].kv_count == 0) {
        return error_set(err, ERROR_NOT_FOUND, "key '%" STR_FMT "' not found", STR_ARG(work->key));
    }
    int64_t revision = repair->reply.ops[0].kvs[0].mod_revision;
    Str bad = arena_copy(repair->arena, repair->reply.ops[0].kvs[0].value);
    if (check_record(repair->arena, work->key, bad, &why)) {
        return error_set(err, ERROR_CONFLICT, "the record '%" STR_FMT "' is readable",
                         STR_ARG(work->key));
    }
    out->why = arena_copy(repair->arena, str_from_c(why.text));
    if (!find_good(repair, work->key, revision, &out->revision, &value, err)) {
        return false;
    }
    if (out->revision == 0 && !work->deletes) {
        return error_set(err, ERROR_NOT_FOUND,
                         "the record cannot be read (%.150s), and its history contains no readable "
                         "value; --delete deletes it",
                         why.text);
    }
    StoreOp change = out->revision != 0
                         ? (StoreOp){ .kind = STORE_PUT, .key = work->key, .value = value }
                         : (StoreOp){ .kind = STORE_DELETE, .key = work->key };
    return save_bad_record(repair, work->key, bad, out, err) && call_store(repair, &change, err);
}

bool cluster_repair_record(Arena *arena, const char *state_dir, Str key, bool deletes,
                           RepairedRecord *out, Error *err)
{
    Repair repair = { .arena = arena, .state_dir = state_dir };
    RecordRepair work = { key, deletes, out };
    *out = (RepairedRecord){ 0 };
    return as_server(&repair, repair_record, &work, err);
}
