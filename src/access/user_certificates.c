/* Issuing user certificates. The record is written before the certificate is returned: without it,
 * the certificate is not valid. */
#include "access/user_certificates.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hex.h"
#include "base/json_out.h"
#include "base/memory.h"
#include "cluster/cluster_keys.h"
#include "pki/ca.h"
#include "pki/csr.h"

enum {
    RECORD_MAX = 8 << 10, /* maximum size of the JSON */
};

/* --- Records --------------------------------------------------------------------------------- */

static bool check_serial(Str serial, Error *err)
{
    return (serial.len == SERIAL_DIGITS && hex_is_valid(serial)) ||
           error_set(err, ERROR_INVALID, "a serial number must have %d digits (0-9, a-f)",
                     SERIAL_DIGITS);
}

static bool check_record(const void *record, Error *err)
{
    const UserCertificateRecord *certificate = record;
    return certificate->expires_ms >= certificate->created_ms ||
           error_set(err, ERROR_INVALID, "'expires_ms': must not be earlier than 'created_ms'");
}

/* Written once: additional fields of a newer server stay in the store. */
static const RecordField certificate_fields[] = {
    { "serial", RECORD_TEXT, RECORD_CHARS_AT(UserCertificateRecord, serial), .is_required = true,
      .check_text = check_serial, .help = "serial number" },
    { "user", RECORD_TEXT, RECORD_CHARS_AT(UserCertificateRecord, user), .is_required = true,
      .check_text = user_name_check, .help = "name of the user" },
    { "roles", RECORD_TEXT,
      RECORD_CODED_AT(UserCertificateRecord, roles, RoleNames, role_names_codec),
      .shape = RECORD_LIST, .is_required = true, .help = "roles of the user" },
    { "made_by", RECORD_TEXT, RECORD_CHARS_AT(UserCertificateRecord, created_by),
      .is_required = true, .help = "who created it" },
    { "created_ms", RECORD_INT, RECORD_INT_AT(UserCertificateRecord, created_ms),
      .is_required = true, .max = INT64_MAX, .help = "when it was created" },
    { "expires_ms", RECORD_INT, RECORD_INT_AT(UserCertificateRecord, expires_ms),
      .is_required = true, .max = INT64_MAX, .help = "when it expires" },
    { 0 },
};

static const RecordFormat certificate_format = {
    .format = "eden.user-certificate/1",
    .what = "the record of a user's certificate",
    .fields = certificate_fields,
    .size = sizeof(UserCertificateRecord),
    .text_max = RECORD_MAX,
    .check = check_record,
};

bool user_certificate_record_read(Arena *arena, Str text, UserCertificateRecord *out, Error *err)
{
    return record_read(&certificate_format, arena, text, RECORD_STORED, out, err);
}

static bool read_record(Arena *arena, Str text, void *out, Error *err)
{
    return user_certificate_record_read(arena, text, out, err);
}

const CredentialRecords user_certificate_records = {
    .singular = "user certificate",
    .plural = "user certificates",
    .max = USER_CERTIFICATES_MAX,
    .size = sizeof(UserCertificateRecord),
    .id = offsetof(UserCertificateRecord, serial),
    .expires_ms = offsetof(UserCertificateRecord, expires_ms),
    .key = cluster_key_user_certificate,
    .key_prefix = cluster_key_user_certificate_all,
    .check = check_serial,
    .read = read_record,
    .grants = cluster_key_user_certificate_grants,
};

/* --- Issuing --------------------------------------------------------------------------------- */

typedef struct Issuance {
    Arena arena;
    Certificate certificate;
    Certified certified;
    UserCertificateRecord record;
    UserCertificateIssued *done;
    void *context;
} Issuance;

static void issuance_end(void *context, int64_t revision, const Error *err)
{
    Issuance *issuance = context;
    bool ok = err == NULL;
    CredentialEntry entry = { .id = str_from_c(issuance->record.serial),
                              .revision = revision,
                              .record = &issuance->record };
    issuance->done(issuance->context, ok ? &issuance->certified : NULL, ok ? &entry : NULL, err);
    arena_clear(&issuance->arena);
    free(issuance);
}

static bool issue(const CertifySettings *settings, const UserCertificateRequest *request,
                  Issuance *issuance, Error *err)
{
    Arena *arena = &issuance->arena;
    UserCertificateRecord *record = &issuance->record;
    UserCertificateSpec grant = { .now_ms = loop_wall_ms(settings->cluster_store.loop),
                                  .lifetime_ms = request->lifetime_ms };
    if (settings->cas == NULL) {
        return error_set(err, ERROR_UNAVAILABLE, "the server is stopping");
    }
    if (!role_names_make(request->roles, request->role_count, &record->roles, err) ||
        !user_identity_make(settings->cluster, request->user, &grant.identity, err) ||
        !csr_read(request->csr, &grant.key, err) ||
        !ca_issue_user(arena, settings->cas->issuer, &grant, &issuance->certificate, err)) {
        return false;
    }
    Buf bundle = buf_make_in(arena, BUF_UNLIMITED);
    for (uint32_t i = 0; i < settings->cas->trusted.count; i++) {
        buf_put(&bundle, certificate_pem(arena, &settings->cas->trusted.items[i]));
    }
    issuance->certified =
        (Certified){ .certificate = certificate_pem(arena, &issuance->certificate),
                     .bundle = buf_str(&bundle),
                     .leaf = &issuance->certificate };
    memcpy(record->serial, issuance->certificate.serial, sizeof record->serial);
    memcpy(record->user, grant.identity.user, sizeof record->user);
    snprintf(record->created_by, sizeof record->created_by, "%" STR_FMT,
             STR_ARG(request->created_by));
    record->created_ms = grant.now_ms;
    record->expires_ms = issuance->certificate.not_after_ms;
    return true;
}

void user_certificate_issue(const CertifySettings *settings, const UserCertificateRequest *request,
                            UserCertificateIssued *done, void *context)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    Issuance *issuance = memory_new(sizeof *issuance);
    Error err;
    arena_init(&issuance->arena, ARENA_UNLIMITED);
    issuance->done = done;
    issuance->context = context;
    if (!issue(settings, request, issuance, &err)) {
        issuance_end(issuance, 0, &err);
        return;
    }
    record_print(&certificate_format, &issuance->record, &text);
    credential_records_add(&settings->cluster_store, &user_certificate_records,
                           &(NewCredential){ .id = str_from_c(issuance->record.serial),
                                             .text = buf_str(&text),
                                             .roles = &issuance->record.roles },
                           issuance_end, issuance);
}
