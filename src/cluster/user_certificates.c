#include "cluster/user_certificates.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/hex.h"
#include "base/json_text.h"
#include "cluster/change.h"
#include "cluster/cluster_keys.h"
#include "pki/ca.h"
#include "pki/csr.h"
#include "pki/json_fields.h"

#define FORMAT "eden.user-certificate/1"

enum {
    RECORD_MAX = 8 << 10,
    RECORD_NODES = 64,
};

static void *make(size_t size)
{
    void *made = calloc(1, size);
    if (made == NULL) {
        memory_exhausted(size);
    }
    return made;
}

/* --- Records --------------------------------------------------------------------------------- */

void user_certificate_record_print(const UserCertificateRecord *record, Buf *out)
{
    buf_put_format(out, "{\"format\":\"" FORMAT "\",\"serial\":\"%s\",\"user\":\"%s\",\"roles\":",
                   record->serial, record->user);
    role_names_print(record->roles.text, out);
    buf_put_c(out, ",\"made_by\":");
    json_text_put(out, str_from_c(record->made_by));
    buf_put_format(out, ",\"created_ms\":%lld,\"expires_ms\":%lld}", (long long)record->created_ms,
                   (long long)record->expires_ms);
}

static bool check_serial(Str serial, Error *err)
{
    return (serial.len == SERIAL_OURS && hex_is(serial)) ||
           error_set(err, ERROR_INVALID, "a serial number is written with %d digits (0-9, a-f)",
                     SERIAL_OURS);
}

bool user_certificate_record_read(Arena *arena, Str text, UserCertificateRecord *out, Error *err)
{
    Value object, said, serial, user, roles, made_by, created, expires;
    const JsonField fields[] = {
        { "format", VALUE_STRING, false, &said },     { "serial", VALUE_STRING, false, &serial },
        { "user", VALUE_STRING, false, &user },       { "roles", VALUE_LIST, false, &roles },
        { "made_by", VALUE_STRING, false, &made_by }, { "created_ms", VALUE_INT, false, &created },
        { "expires_ms", VALUE_INT, false, &expires },
    };
    UserCertificateRecord record = { 0 };
    if (!json_object_read(arena, text, RECORD_MAX, RECORD_NODES, &object, err) ||
        !json_format_check(object, FORMAT, err) ||
        !json_fields_read(object, fields, COUNT_OF(fields), err) ||
        !check_serial(value_str(serial), err) || !user_name_check(value_str(user), err) ||
        !role_names_read(roles, &record.roles, err)) {
        return error_wrap(err, "the record of a user's certificate");
    }
    if (!json_copy(serial, record.serial, sizeof record.serial) ||
        !json_copy(user, record.user, sizeof record.user) ||
        !json_copy(made_by, record.made_by, sizeof record.made_by) || created.integer < 0 ||
        expires.integer < created.integer) {
        return error_set(err, ERROR_INVALID,
                         "the record of a user's certificate: a field is out of its range");
    }
    record.created_ms = created.integer;
    record.expires_ms = expires.integer;
    *out = record;
    return true;
}

/* --- Issuing --------------------------------------------------------------------------------- */

typedef struct Issuing {
    Arena arena;
    Certificate own;
    Certified certified;
    UserCertificateRecord record;
    UserCertificateIssued *done;
    void *context;
} Issuing;

static void issuing_end(Issuing *issuing, const Error *err)
{
    bool ok = err == NULL;
    issuing->done(issuing->context, ok ? &issuing->certified : NULL, ok ? &issuing->record : NULL,
                  err);
    arena_clear(&issuing->arena);
    free(issuing);
}

static bool issuing_decide(void *context, Change *change, Error *err)
{
    const Issuing *issuing = context;
    if (change_count(change) >= USER_CERTIFICATES_MAX) {
        return error_set(err, ERROR_LIMIT, "there are %d certificates of users already",
                         USER_CERTIFICATES_MAX);
    }
    Buf text = buf_make_in(change_arena(change), BUF_UNLIMITED);
    user_certificate_record_print(&issuing->record, &text);
    change_put(change, change_key(change, 0), buf_str(&text), 0);
    return true;
}

static void issuing_done(void *context, Change *change, const Error *err)
{
    issuing_end(context, err);
}

static bool issue(const CertifySettings *settings, const UserCertificateWish *wish,
                  Issuing *issuing, Error *err)
{
    Arena *arena = &issuing->arena;
    UserCertificateRecord *record = &issuing->record;
    UserGrant grant = { .now_ms = loop_wall_ms(settings->at.loop), .life_ms = wish->life_ms };
    if (settings->cas == NULL) {
        return error_set(err, ERROR_UNAVAILABLE, "the server stops");
    }
    if (!role_names_make(wish->roles, wish->role_count, &record->roles, err) ||
        !user_identity_make(settings->cluster, wish->user, &grant.identity, err) ||
        !csr_read(wish->csr, &grant.key, err) ||
        !ca_issue_user(arena, settings->cas->issuer, &grant, &issuing->own, err)) {
        return false;
    }
    Buf bundle = buf_make_in(arena, BUF_UNLIMITED);
    for (uint32_t i = 0; i < settings->cas->trusted.count; i++) {
        buf_put(&bundle, certificate_pem(arena, &settings->cas->trusted.items[i]));
    }
    issuing->certified = (Certified){ .certificate = certificate_pem(arena, &issuing->own),
                                      .bundle = buf_str(&bundle),
                                      .own = &issuing->own };
    memcpy(record->serial, issuing->own.serial, sizeof record->serial);
    memcpy(record->user, grant.identity.user, sizeof record->user);
    snprintf(record->made_by, sizeof record->made_by, "%" STR_FMT, STR_ARG(wish->made_by));
    record->created_ms = grant.now_ms;
    record->expires_ms = issuing->own.not_after_ms;
    return true;
}

void user_certificate_issue(const CertifySettings *settings, const UserCertificateWish *wish,
                            UserCertificateIssued *done, void *context)
{
    AUTO_CLEAR(Arena) arena;
    Issuing *issuing = make(sizeof *issuing);
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    arena_init(&issuing->arena, ARENA_UNLIMITED);
    issuing->done = done;
    issuing->context = context;
    if (!issue(settings, wish, issuing, &err)) {
        issuing_end(issuing, &err);
        return;
    }
    Str prefix = settings->at.prefix;
    Str key = cluster_key_user_certificate(&arena, prefix, str_from_c(issuing->record.serial));
    Change *change;
    change_start(&(ChangeSpec){ .store = settings->at.store,
                                .keys = &key,
                                .key_count = 1,
                                .counted = cluster_key_user_certificate_all(&arena, prefix),
                                .decide = issuing_decide,
                                .done = issuing_done,
                                .context = issuing },
                 &change);
}

/* --- Listing --------------------------------------------------------------------------------- */

typedef struct Listing {
    char serial[SERIAL_TEXT + 1]; /* the only one; empty: a page */
    UserCertificatesDone *done;
    void *context;
} Listing;

static void listing_end(Listing *listing, const UserCertificatesListed *listed, const Error *err)
{
    listing->done(listing->context, listed, err);
    free(listing);
}

static bool read_record(Arena *arena, const StoreKv *kv, UserCertificateRecord *out)
{
    Error err;
    return user_certificate_record_read(arena, kv->value, out, &err) &&
           str_ends(kv->key, str_from_c(out->serial));
}

static void listed(void *context, const StoreReply *reply, const Error *err)
{
    Listing *listing = context;
    AUTO_CLEAR(Arena) arena;
    Error missing;
    arena_init(&arena, ARENA_UNLIMITED);
    if (err == NULL && listing->serial[0] != '\0' && reply->ops[0].kv_count == 0) {
        error_set(&missing, ERROR_NOT_FOUND, "no user has a certificate with the serial number %s",
                  listing->serial);
        err = &missing;
    }
    if (err != NULL) {
        listing_end(listing, NULL, err);
        return;
    }
    const StoreOpReply *range = &reply->ops[0];
    UserCertificateRecord *records = ARENA_ARRAY(&arena, UserCertificateRecord, range->kv_count);
    int64_t *revisions = ARENA_ARRAY(&arena, int64_t, range->kv_count);
    UserCertificatesListed found = { .records = records,
                                     .revisions = revisions,
                                     .revision = reply->revision };
    for (uint32_t i = 0; i < range->kv_count; i++) {
        if (read_record(&arena, &range->kvs[i], &records[found.count])) {
            revisions[found.count++] = range->kvs[i].mod_revision;
        } else {
            found.unreadable++;
        }
    }
    if (listing->serial[0] != '\0' && found.count == 0) {
        error_set(&missing, ERROR_INVALID,
                  "the record of the certificate %s cannot be read; revoke it", listing->serial);
        listing_end(listing, NULL, &missing);
        return;
    }
    if (range->more && range->kv_count > 0) {
        Str last = range->kvs[range->kv_count - 1].key;
        found.next = str_from_offset(last, str_find_last(last, STR("/")) + 1);
    }
    listing_end(listing, &found, NULL);
}

static void list(const ClusterStore *at, const StoreOp *op, Str serial, UserCertificatesDone *done,
                 void *context)
{
    Listing *listing = make(sizeof *listing);
    Error err;
    listing->done = done;
    listing->context = context;
    snprintf(listing->serial, sizeof listing->serial, "%" STR_FMT, STR_ARG(serial));
    if (!store_op(at->store, op, listed, listing, &err)) {
        listing_end(listing, NULL, &err);
    }
}

void user_certificates_list(const ClusterStore *at, Str after, uint32_t limit,
                            UserCertificatesDone *done, void *context)
{
    AUTO_CLEAR(Arena) arena;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    if (limit == 0 || limit > USER_CERTIFICATES_PAGE_MAX) {
        error_set(&err, ERROR_INVALID, "a page has 1 to %d certificates",
                  USER_CERTIFICATES_PAGE_MAX);
        done(context, NULL, &err);
        return;
    }
    Str all = cluster_key_user_certificate_all(&arena, at->prefix);
    Str from = after.len == 0
                   ? all
                   : arena_join(&arena, cluster_key_user_certificate(&arena, at->prefix, after),
                                STR("\0"), STR_EMPTY);
    StoreOp op = {
        .kind = STORE_RANGE, .key = from, .end = store_prefix_end(&arena, all), .limit = limit
    };
    list(at, &op, STR_EMPTY, done, context);
}

void user_certificates_get(const ClusterStore *at, Str serial, UserCertificatesDone *done,
                           void *context)
{
    AUTO_CLEAR(Arena) arena;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    if (!check_serial(serial, &err)) {
        done(context, NULL, &err);
        return;
    }
    StoreOp op = { .kind = STORE_RANGE,
                   .key = cluster_key_user_certificate(&arena, at->prefix, serial) };
    list(at, &op, serial, done, context);
}

/* --- Taking back ----------------------------------------------------------------------------- */

typedef struct Revoking {
    char serial[SERIAL_TEXT + 1];
    ClusterDone *done;
    void *context;
} Revoking;

static bool revoking_decide(void *context, Change *change, Error *err)
{
    const Revoking *revoking = context;
    if (!change_has(change, 0)) {
        return error_set(err, ERROR_NOT_FOUND,
                         "no user has a certificate with the serial number %s", revoking->serial);
    }
    change_delete(change, change_key(change, 0));
    return true;
}

static void revoking_done(void *context, Change *change, const Error *err)
{
    Revoking *revoking = context;
    revoking->done(revoking->context, err);
    free(revoking);
}

void user_certificate_revoke(const ClusterStore *at, Str serial, ClusterDone *done, void *context)
{
    AUTO_CLEAR(Arena) arena;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    if (!check_serial(serial, &err)) {
        done(context, &err);
        return;
    }
    Revoking *revoking = make(sizeof *revoking);
    memcpy(revoking->serial, serial.data, serial.len);
    revoking->done = done;
    revoking->context = context;
    Change *change;
    Str key = cluster_key_user_certificate(&arena, at->prefix, serial);
    change_start(&(ChangeSpec){ .store = at->store,
                                .keys = &key,
                                .key_count = 1,
                                .decide = revoking_decide,
                                .done = revoking_done,
                                .context = revoking },
                 &change);
}
