#include "cluster/user_certificates.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hex.h"
#include "base/json_text.h"
#include "base/memory.h"
#include "cluster/cluster_keys.h"
#include "pki/ca.h"
#include "pki/csr.h"
#include "pki/json_fields.h"

#define FORMAT "eden.user-certificate/1"

enum {
    RECORD_MAX = 8 << 10,
    RECORD_NODES = 64,
};

/* --- Records --------------------------------------------------------------------------------- */

static void user_certificate_record_print(const UserCertificateRecord *record, Buf *out)
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

static bool read_record(Arena *arena, Str text, void *out, Error *err)
{
    return user_certificate_record_read(arena, text, out, err);
}

const CredentialRecords user_certificate_records = {
    .one = "certificate of a user",
    .many = "certificates of users",
    .max = USER_CERTIFICATES_MAX,
    .size = sizeof(UserCertificateRecord),
    .id = offsetof(UserCertificateRecord, serial),
    .expires_ms = offsetof(UserCertificateRecord, expires_ms),
    .key = cluster_key_user_certificate,
    .all = cluster_key_user_certificate_all,
    .check = check_serial,
    .read = read_record,
    .grants = cluster_key_user_certificate_grants,
};

/* --- Issuing --------------------------------------------------------------------------------- */

typedef struct Issuing {
    Arena arena;
    Certificate own;
    Certified certified;
    UserCertificateRecord record;
    UserCertificateIssued *done;
    void *context;
} Issuing;

static void issuing_end(void *context, int64_t revision, const Error *err)
{
    Issuing *issuing = context;
    bool ok = err == NULL;
    CredentialEntry entry = { .id = str_from_c(issuing->record.serial),
                              .revision = revision,
                              .record = &issuing->record };
    issuing->done(issuing->context, ok ? &issuing->certified : NULL, ok ? &entry : NULL, err);
    arena_clear(&issuing->arena);
    free(issuing);
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
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    Issuing *issuing = memory_new(sizeof *issuing);
    Error err;
    arena_init(&issuing->arena, ARENA_UNLIMITED);
    issuing->done = done;
    issuing->context = context;
    if (!issue(settings, wish, issuing, &err)) {
        issuing_end(issuing, 0, &err);
        return;
    }
    user_certificate_record_print(&issuing->record, &text);
    credential_records_add(&settings->at, &user_certificate_records,
                           &(CredentialDraft){ .id = str_from_c(issuing->record.serial),
                                               .text = buf_str(&text),
                                               .roles = &issuing->record.roles },
                           issuing_end, issuing);
}
