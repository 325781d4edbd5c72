#include "cluster/record_check.h"

#include "cluster/access_token.h"
#include "cluster/audit_entry.h"
#include "cluster/browser_session.h"
#include "cluster/joining_record.h"
#include "cluster/node_record.h"
#include "cluster/stored_object.h"
#include "cluster/user_certificates.h"
#include "pki/revocation.h"
#include "pki/rotation.h"
#include "pki/token.h"
#include "pki/trust_notice.h"
#include "store/keys.h"

typedef bool Check(Arena *arena, Str text, Error *err);

/* NAME_is: `reader` reads a `type`. */
#define CHECK_BY(name, type, reader)                     \
    static bool name(Arena *arena, Str text, Error *err) \
    {                                                    \
        type record;                                     \
        return reader(arena, text, &record, err);        \
    }
CHECK_BY(check_node, NodeRecord, node_record_read)
CHECK_BY(check_joining, JoiningRecord, joining_record_read)
CHECK_BY(check_token, TokenRecord, token_record_read)
CHECK_BY(check_revocations, RevocationList, revocation_read)
CHECK_BY(check_rotation, Rotation, rotation_read)
CHECK_BY(check_report, TrustReport, trust_report_read)
CHECK_BY(check_access_token, AccessTokenRecord, access_token_record_read)
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
    const char *object, *name; /* of KEY_OBJECT; NULL: any */
    Check *check;
} CheckRow;

static const CheckRow rows[] = {
    { KEY_NODE, NULL, NULL, check_node },
    { KEY_TRUST, NULL, NULL, check_report },
    { KEY_BROWSER, NULL, NULL, check_browser },
    { KEY_AUDIT, NULL, NULL, check_entry },
    { KEY_AUDIT_HEAD, NULL, NULL, check_head },
    { KEY_OBJECT, "joining", NULL, check_joining },
    { KEY_OBJECT, "token", NULL, check_token },
    { KEY_OBJECT, "pki", "revocations", check_revocations },
    { KEY_OBJECT, "pki", "rotation", check_rotation },
    { KEY_OBJECT, "pki", "trust", check_notice },
    { KEY_OBJECT, "access-token", NULL, check_access_token },
    { KEY_OBJECT, "user-certificate", NULL, check_user_certificate },
    { KEY_OBJECT, "role", NULL, check_object },
};

bool record_check(Arena *arena, Str prefix, Str key, Str value, Error *err)
{
    Str parts[KEYS_PARTS_MAX];
    KeyKind kind;
    if (!key_parse(arena, prefix, key, &kind, parts)) {
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
