/* Webhooks of GitHub, GitLab and Gitea: parses requests of these services, and verifies that they
 * know the secret of the source. Pure.
 *
 * GitHub and Gitea sign the body with HMAC-SHA256; GitLab sends the secret itself. Only the branch
 * is read from the body. */
#pragma once

#include "net/http1.h"
#include "sys/sha256.h"

enum {
    WEBHOOK_BODY_MAX = 1 << 20,
    WEBHOOK_ID_MAX = 100,  /* maximum length in bytes; longer IDs are ignored */
    WEBHOOK_REF_MAX = 300, /* maximum length in bytes; no branch that can be followed is longer */
};

typedef enum WebhookEvent {
    WEBHOOK_PUSH, /* even if the service does not specify the event */
    WEBHOOK_PING,
    WEBHOOK_OTHER,
} WebhookEvent;

/* Parsed from the headers of a request; borrowed. */
typedef struct WebhookHead {
    Str signature; /* 64 hexadecimal digits; empty: none */
    Str token;     /* sent by GitLab; empty: none */
    WebhookEvent event;
    Str delivery; /* unique, but the same when a delivery is repeated; empty: unknown */
} WebhookHead;

/* A signature that is malformed, or present twice, is treated as missing. */
WebhookHead webhook_head(const Http1Head *head);
/* Whether the request was authenticated with this secret, in a time that depends only on the
 * sizes. */
bool webhook_is_authentic(const WebhookHead *head, Str body, Str secret);

/* Returns the "ref" of a push, such as "refs/heads/main", in the arena; empty if there is none.
 * Fails with ERROR_INVALID or ERROR_LIMIT if the body is not a JSON object. */
MUST_CHECK bool webhook_ref(Arena *arena, Str body, Str *out, Error *err);
/* Whether a push to this ref may change a source with this branch; empty: the default branch, which
 * can have any name. */
bool webhook_affects(Str ref, Str branch);
