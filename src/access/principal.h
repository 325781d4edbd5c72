/* The authenticated caller of an API request. Pure. */
#pragma once

#include "access/role_names.h"
#include "base/enum_names.h"
#include "base/identity.h"

typedef enum PrincipalKind {
    PRINCIPAL_LOCAL, /* root or a member of the operators' group, over the Unix socket */
    PRINCIPAL_TOKEN,
    PRINCIPAL_CERTIFICATE,
    PRINCIPAL_SESSION, /* a browser session */
    PRINCIPAL_NODE,    /* a member node, by its certificate; not in the API */
    PRINCIPAL_JOIN,    /* a joining machine, by its key and a token or approval; not in the API */
    PRINCIPAL_SOURCE,  /* the leader, acting on a commit in a repository; not in the API */
} PrincipalKind;
/* "local", "token", "certificate", "session", "node", "join", "source". */
DECLARE_ENUM_NAMES(PrincipalKind, principal_kind)

enum {
    CREDENTIAL_ID_MAX = 80,
    PRINCIPAL_NAME_MAX = 100,
    PRINCIPAL_WHO_MAX = 200,
};

/* A snapshot, which may become outdated; see credentials_check. */
typedef struct Principal {
    PrincipalKind kind;
    char name[PRINCIPAL_NAME_MAX + 1]; /* "ann"; for display only, never for authorization */
    /* for the audit log: starts with the kind, which no one can choose: "user:root (uid 0)",
     * "token:4l2ygazs \"ci\"" */
    char who[PRINCIPAL_WHO_MAX + 1];
    /* The credential: "local:0", "token:4l2ygazs", "certificate:5f…". That of a session is the one
     * it was created from. */
    char credential[CREDENTIAL_ID_MAX + 1];
    int64_t credential_created_ms; /* distinguishes it from an earlier one with the same id */
    char session[64 + 1];          /* hash of the session's secret; otherwise empty */
    char roles[ROLE_NAMES_TEXT + 1];
    int64_t expires_ms; /* invalid from then on; 0: never */
} Principal;

/* Sets `who`. `label` is the name that a user gave the credential, or empty. It is quoted, so that
 * it cannot be mistaken for anything else. */
void principal_set_label(const char *kind, const char *id, const char *label, Principal *out);
/* Describes an operator on the Unix socket, who has all permissions. `user` is the name of the uid,
 * or empty if unknown. */
void principal_local(Str user, uint32_t uid, Principal *out);
