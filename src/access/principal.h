/* The authenticated caller of an API request. Pure. */
#pragma once

#include "access/role_names.h"
#include "base/enum_names.h"
#include "base/identity.h"

typedef enum PrincipalKind {
    PRINCIPAL_LOCAL, /* by the Unix socket: root, or in the group of operators */
    PRINCIPAL_TOKEN,
    PRINCIPAL_CERTIFICATE,
    PRINCIPAL_SESSION, /* of a browser */
    PRINCIPAL_NODE,    /* a member, by its certificate; not of the API */
    PRINCIPAL_JOIN,    /* a machine that joins, by its key and a token or an approval; nor this */
} PrincipalKind;
/* "local", "token", "certificate", "session", "node", "join". */
DECLARE_ENUM_NAMES(PrincipalKind, principal_kind)

enum {
    CREDENTIAL_ID_MAX = 80,
    PRINCIPAL_NAME_MAX = 100,
    PRINCIPAL_WHO_MAX = 200,
};

/* A plain value: what it says may have changed since (credentials_check). */
typedef struct Principal {
    PrincipalKind kind;
    char name[PRINCIPAL_NAME_MAX + 1]; /* "ann": for people; never a reason to allow anything */
    char who[PRINCIPAL_WHO_MAX + 1];   /* for the audit: begins with what it is, which nobody can
                                          choose: "user:root (uid 0)", "token:4l2ygazs \"ci\"" */
    /* What proves it: "local:0", "token:4l2ygazs", "certificate:5f…". That of a session is the one
     * it was made from. */
    char credential[CREDENTIAL_ID_MAX + 1];
    int64_t credential_made_ms; /* tells it from another that has had the same id */
    char session[64 + 1];       /* of a session its hash, else empty */
    char roles[ROLE_NAMES_TEXT + 1];
    int64_t expires_ms; /* from then on it is nobody; 0: never */
} Principal;

/* Fills in `who`. `said` is how somebody has called the credential, and may be empty: it stands in
 * quotes, so that it cannot pass for anything else. */
void principal_name_who(const char *kind, const char *id, const char *said, Principal *out);
/* An operator by the Unix socket, who may do everything. `user` is the name of the uid, empty when
 * nobody knows it. */
void principal_local(Str user, uint32_t uid, Principal *out);
