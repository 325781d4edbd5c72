/* Requests that may be sent twice but must be executed once: the result of the first one is stored
 * for a day, by caller and key. Loop thread only.
 *
 * Claim, execute, then finish or forget. Each function calls `done` exactly once, later or within
 * the call, even if the store is closing. */
#pragma once

#include "base/enum_names.h"
#include "cluster/cluster_store.h"
#include "sys/sha256.h"

enum {
    IDEMPOTENCY_KEY_MAX = 255,         /* bytes */
    IDEMPOTENCY_BODY_MAX = 128 * 1024, /* longer responses are not stored */
    IDEMPOTENCY_MAX = 20000,           /* total number */
    /* maximum number per principal, so that none can lock out the others */
    IDEMPOTENCY_OWN_MAX = 2000,
    IDEMPOTENCY_WHO_TEXT = 16,
    IDEMPOTENCY_PENDING_S = 600, /* time after which a request in progress is considered dead */
    IDEMPOTENCY_RETAINED_S = 24 * 3600,
};

typedef enum IdempotencyState {
    IDEMPOTENCY_NEW,        /* claimed by this caller: continue */
    IDEMPOTENCY_IN_FLIGHT,  /* another request is executing it: 409 */
    IDEMPOTENCY_REPLAY,     /* completed: send the stored response */
    IDEMPOTENCY_OTHER,      /* the key was used for another request: 422 */
    IDEMPOTENCY_NOT_STORED, /* completed, but its response is not stored because of a secret: 409 */
} IdempotencyState;
DECLARE_ENUM_NAMES(IdempotencyState, idempotency_state)
/* Message for the client; NULL for IDEMPOTENCY_NEW and IDEMPOTENCY_REPLAY. */
const char *idempotency_state_text(IdempotencyState state);

/* Identifies a request of a principal. */
typedef struct IdempotentRequest {
    /* IDEMPOTENCY_WHO_TEXT digits of a hash of the principal, then those of a hash of principal and
     * key */
    char name[SHA256_HEX + 1];
    char digest[SHA256_HEX + 1]; /* of the content of the request */
} IdempotentRequest;

/* Fails with ERROR_INVALID for a key that is empty, too long, or not visible ASCII. `credential` is
 * Principal.credential; `target` is the path with its query. */
MUST_CHECK bool idempotent_request_make(Str credential, Str key, Str method, Str target, Str body,
                                        IdempotentRequest *out, Error *err);

/* Valid during the call. */
typedef struct IdempotentResponse {
    int status;
    Str body;
    Str etag, location; /* response headers; empty: not set */
} IdempotentResponse;

typedef void IdempotencyDone(void *context, IdempotencyState state,
                             const IdempotentResponse *response, const Error *err);
/* Fails with ERROR_LIMIT if too many are stored, in total or for this principal. */
void idempotency_claim(const ClusterStore *cluster_store, const IdempotentRequest *request,
                       IdempotencyDone *done, void *context);
/* Stores the result. With `holds_secret`, only that it has completed. */
void idempotency_finish(const ClusterStore *cluster_store, const IdempotentRequest *request,
                        const IdempotentResponse *response, bool holds_secret, ClusterDone *done,
                        void *context);
/* Deletes the claim of a request that had no effect, so that it may be sent again. */
void idempotency_forget(const ClusterStore *cluster_store, const IdempotentRequest *request,
                        ClusterDone *done, void *context);
