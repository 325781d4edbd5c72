/* Authentication: tokens, user certificates, browser sessions, and the
 * roles that define their permissions. A view of the state
 * (cluster/state.h), so that no request has to wait for it. Loop thread.
 *
 * A record that cannot be read is skipped and logged: it admits no one,
 * and locks out no one else. */
#pragma once

#include "access/access_rules.h"
#include "access/browser_session.h"
#include "access/principal.h"
#include "cluster/cluster_store.h"
#include "cluster/state.h"

typedef struct Credentials Credentials;

typedef struct CredentialsEvents {
    /* Something that authenticates, or a role, is no longer what it was: whoever serves somebody for
     * longer asks credentials_check() again. Never for what is only new. */
    void (*changed)(void *context);
    void *context;
} CredentialsEvents;

/* Of a state that is ready; `at` is copied, its prefix too. Nothing is called within. */
Credentials *credentials_new(const ClusterStore *at, State *state, Str cluster,
                             const CredentialsEvents *events);
void credentials_free(Credentials *credentials); /* before the state; NULL is allowed */
DEFINE_AUTO(Credentials, credentials_free)

/* --- Who is it ------------------------------------------------------------------------------- */

/* All fail with ERROR_DENIED and a text for whoever asks. `now_ms` is since 1970. */

/* "eden_ID_SECRET". An id that nobody has and a wrong secret get the same answer; that a token has
 * expired is told only to who has its secret. */
MUST_CHECK bool credentials_by_token(const Credentials *credentials, Str bearer, int64_t now_ms,
                                     Principal *out, Error *err);

/* A certificate that TLS has verified against the CAs of the cluster. */
typedef struct ShownUser {
    bool has_user; /* it is one of a user */
    UserIdentity user;
    Str serial; /* lower-case digits */
    int64_t not_before_ms, not_after_ms;
} ShownUser;
MUST_CHECK bool credentials_by_certificate(const Credentials *credentials, const ShownUser *shown,
                                           int64_t now_ms, Principal *out, Error *err);

/* Lets the idle time of the session begin anew. */
MUST_CHECK bool credentials_by_session(Credentials *credentials, const BrowserSecret *secret,
                                       int64_t now_ms, Principal *out, Error *err);

/* Whether the principal is still who it was, and fills in what has changed: for whoever is served
 * over time. */
MUST_CHECK bool credentials_check(const Credentials *credentials, Principal *principal,
                                  int64_t now_ms, Error *err);

/* --- What may they do ------------------------------------------------------------------------ */

/* By the roles as they are now; one that is gone allows nothing. The selectors of `out` are valid
 * until the loop's next turn: decide again then. */
void credentials_decide(const Credentials *credentials, const Principal *principal, Str verb,
                        Str kind, AccessDecision *out);
/* Whether the principal may make a token or certificate with these roles: nobody gives away what they
 * do not have. ERROR_INVALID when there is no such role, with the one that may be meant;
 * ERROR_DENIED. */
MUST_CHECK bool credentials_may_grant(const Credentials *credentials, const Principal *principal,
                                      const Str *roles, uint32_t count, Error *err);
/* The same for a role that is to be made or changed to this. */
MUST_CHECK bool credentials_may_define(const Credentials *credentials, const Principal *principal,
                                       const AccessRole *role, Error *err);

/* A role that somebody has must not be deleted: whoever made another of that name later would give it
 * to all of them. So who deletes one does it in a transaction that compares these keys: */
enum {
    CREDENTIALS_GRANT_KEYS = 2
};
void credentials_grant_keys(Arena *arena, Str prefix, Str out[CREDENTIALS_GRANT_KEYS]);
/* and asks in it, with their revisions, 0 for none. ERROR_CONFLICT when tokens or certificates that
 * have not expired have the role, or some were made that are not known here yet. */
MUST_CHECK bool credentials_role_unused(const Credentials *credentials, Str role,
                                        const int64_t revisions[CREDENTIALS_GRANT_KEYS],
                                        int64_t now_ms, Error *err);

typedef struct CredentialsCounts {
    uint32_t tokens, certificates, sessions, roles; /* roles: without those built in */
    uint32_t unreadable;                            /* records, met so far */
} CredentialsCounts;
CredentialsCounts credentials_counts(const Credentials *credentials);
