/* Requests that may be sent twice but must be executed once: the result
 * of the first one is kept for a day, by caller and key. Loop thread.
 *
 * Claim, execute, then finish or forget. Each function calls `done`
 * exactly once, in a later turn or within, also when the store closes. */
#pragma once

#include "base/enum_names.h"
#include "cluster/cluster_store.h"
#include "sys/sha256.h"

enum {
    IDEMPOTENCY_KEY_MAX = 255,         /* bytes */
    IDEMPOTENCY_BODY_MAX = 128 * 1024, /* a longer answer is not kept */
    IDEMPOTENCY_MAX = 20000,           /* at a time */
    IDEMPOTENCY_OWN_MAX = 2000,        /* of them by one principal, so that none shuts out others */
    IDEMPOTENCY_WHO_TEXT = 16,
    IDEMPOTENCY_PENDING_S = 600, /* then whoever had it under way is taken for dead */
    IDEMPOTENCY_KEPT_S = 24 * 3600,
};

typedef enum IdempotencyState {
    IDEMPOTENCY_NEW,       /* it is the caller's: go on */
    IDEMPOTENCY_IN_FLIGHT, /* somebody is doing it: 409 */
    IDEMPOTENCY_REPLAY,    /* done: answer the same */
    IDEMPOTENCY_OTHER,     /* the key was given to another request: 422 */
    IDEMPOTENCY_UNKEPT,    /* done, and its answer is not kept, as it held a secret: 409 */
} IdempotencyState;
DECLARE_ENUM_NAMES(IdempotencyState, idempotency_state)
/* What whoever asks is told; NULL for IDEMPOTENCY_NEW and IDEMPOTENCY_REPLAY. */
const char *idempotency_state_text(IdempotencyState state);

/* Which request it is of which principal. */
typedef struct IdempotentRequest {
    char name[SHA256_HEX + 1]; /* IDEMPOTENCY_WHO_TEXT digits of the principal; of it and the key */
    char digest[SHA256_HEX + 1]; /* of what is asked */
} IdempotentRequest;

/* ERROR_INVALID for a key that is empty, too long, or not of visible ASCII characters. `credential`
 * is Principal.credential; `target` the path with its query. */
MUST_CHECK bool idempotent_request_make(Str credential, Str key, Str method, Str target, Str body,
                                        IdempotentRequest *out, Error *err);

/* Borrowed for the call. */
typedef struct IdempotencyAnswer {
    int status;
    Str body;
    Str etag, location; /* fields of its head; empty: none */
} IdempotencyAnswer;

typedef void IdempotencyDone(void *context, IdempotencyState state, const IdempotencyAnswer *answer,
                             const Error *err);
/* ERROR_LIMIT when too many are kept, of all or of the principal. */
void idempotency_claim(const ClusterStore *at, const IdempotentRequest *request,
                       IdempotencyDone *done, void *context);
/* What came of it. `holds_secret`: only that it is done is kept. */
void idempotency_finish(const ClusterStore *at, const IdempotentRequest *request,
                        const IdempotencyAnswer *answer, bool holds_secret, ClusterDone *done,
                        void *context);
/* Nothing came of it: it may be tried again. */
void idempotency_forget(const ClusterStore *at, const IdempotentRequest *request, ClusterDone *done,
                        void *context);
