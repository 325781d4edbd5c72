/* Authentication: tokens, user certificates, browser sessions, and the roles that define their
 * permissions. A view of the state (cluster/state.h), so that no request has to wait for it. Loop
 * thread only.
 *
 * An unreadable record is skipped and logged: it admits no one, and locks out no one else. */
#pragma once

#include "access/access_rules.h"
#include "access/browser_session.h"
#include "access/principal.h"
#include "cluster/cluster_store.h"
#include "cluster/state.h"

typedef struct Credentials Credentials;

typedef struct CredentialsEvents {
    /* A credential or role was changed or deleted: long-lived responses must call
     * credentials_check() again. Not called for new ones. */
    void (*changed)(void *context);
    void *context;
} CredentialsEvents;

/* The state must be ready. `cluster_store` is copied, including its prefix. No callback runs during
 * this call. */
Credentials *credentials_new(const ClusterStore *cluster_store, State *state, Str cluster,
                             const CredentialsEvents *events);
void credentials_free(Credentials *credentials); /* before the state; NULL is allowed */
DEFINE_AUTO(Credentials, credentials_free)

/* --- Authentication -------------------------------------------------------------------------- */

/* These functions fail with ERROR_DENIED and a message for the caller. `now_ms` is Unix time. */

/* "eden_ID_SECRET". An unknown ID and a wrong secret get the same response; that a token has
 * expired is only revealed to a caller with its secret. */
MUST_CHECK bool credentials_by_token(const Credentials *credentials, Str bearer, int64_t now_ms,
                                     Principal *out, Error *err);

/* A certificate that TLS has verified against the CAs of the cluster. */
typedef struct PresentedUser {
    bool has_user; /* the certificate identifies a user */
    UserIdentity user;
    Str serial; /* lowercase hexadecimal */
    int64_t not_before_ms, not_after_ms;
} PresentedUser;
MUST_CHECK bool credentials_by_certificate(const Credentials *credentials,
                                           const PresentedUser *presented, int64_t now_ms,
                                           Principal *out, Error *err);

/* Restarts the idle time of the session. */
MUST_CHECK bool credentials_by_session(Credentials *credentials, const BrowserSecret *secret,
                                       int64_t now_ms, Principal *out, Error *err);

/* Whether the principal is still valid, and updates it. For long-lived responses. */
MUST_CHECK bool credentials_check(const Credentials *credentials, Principal *principal,
                                  int64_t now_ms, Error *err);

/* --- Authorization --------------------------------------------------------------------------- */

/* Uses the current roles; a deleted one allows nothing. The selectors of `out` are valid until the
 * next iteration of the loop: then decide again. */
void credentials_decide(const Credentials *credentials, const Principal *principal, Str verb,
                        Str kind, AccessDecision *out);
/* Whether the principal may create a token or certificate with these roles: no one can grant more
 * than they have. ERROR_INVALID if there is no such role, with a suggestion; ERROR_DENIED. */
MUST_CHECK bool credentials_may_grant(const Credentials *credentials, const Principal *principal,
                                      const Str *roles, uint32_t count, Error *err);
/* The same for a role that is to be created or changed. */
MUST_CHECK bool credentials_may_define(const Credentials *credentials, const Principal *principal,
                                       const AccessRole *role, Error *err);

/* A role in use must not be deleted: a later role of the same name would be granted to all its
 * holders. So a deletion must compare these keys in its transaction: */
enum {
    CREDENTIALS_GRANT_KEYS = 2
};
void credentials_grant_keys(Arena *arena, Str prefix, Str out[CREDENTIALS_GRANT_KEYS]);
/* and call this with their revisions, 0 for missing ones. ERROR_CONFLICT if unexpired tokens or
 * certificates have the role, or if some were created that have not been seen here yet. */
MUST_CHECK bool credentials_role_unused(const Credentials *credentials, Str role,
                                        const int64_t revisions[CREDENTIALS_GRANT_KEYS],
                                        int64_t now_ms, Error *err);

typedef struct CredentialsCounts {
    uint32_t tokens, certificates, sessions, roles; /* roles: without the built-in ones */
    uint32_t unreadable;                            /* unreadable records found so far */
} CredentialsCounts;
CredentialsCounts credentials_counts(const Credentials *credentials);
