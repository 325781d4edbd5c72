/* Webhooks of GitHub, GitLab and Gitea: what a request of such a service says, and whether it knows
 * the secret of the source. Pure.
 *
 * GitHub and Gitea sign the body with HMAC-SHA256; GitLab sends the secret itself. Nothing of the
 * body is used but the branch. */
#pragma once

#include "net/http1.h"
#include "sys/sha256.h"

enum {
    WEBHOOK_BODY_MAX = 1 << 20,
    WEBHOOK_ID_MAX = 100,  /* bytes; longer ids are ignored */
    WEBHOOK_REF_MAX = 300, /* bytes; longer ones are no branches that can be followed */
};

typedef enum WebhookEvent {
    WEBHOOK_PUSH, /* also if the service does not say what it is */
    WEBHOOK_PING,
    WEBHOOK_OTHER,
} WebhookEvent;

/* Of the headers of a request; borrowed. */
typedef struct WebhookHead {
    Str signature; /* 64 hexadecimal digits; empty: none */
    Str token;     /* of GitLab; empty: none */
    WebhookEvent event;
    Str delivery; /* unique, and the same when a delivery is repeated; empty: unknown */
} WebhookHead;

/* A signature that is malformed, or present twice, is none. */
WebhookHead webhook_head(const Http1Head *head);
/* Whether the request was made with this secret, in a time that depends only on the sizes. */
bool webhook_is_genuine(const WebhookHead *head, Str body, Str secret);

/* The "ref" of a push: "refs/heads/main". In the arena; empty if there is none. Fails with
 * ERROR_INVALID or ERROR_LIMIT if the body is not a JSON object. */
MUST_CHECK bool webhook_ref(Arena *arena, Str body, Str *out, Error *err);
/* Whether a push to this ref may change a source with this branch; empty: the default branch, which
 * can be any. */
bool webhook_concerns(Str ref, Str branch);
