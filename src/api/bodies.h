/* Request bodies, as JSON. Pure. Strings are borrowed from the body or the
 * arena. All fail with ERROR_INVALID, or ERROR_LIMIT if something is too large. */
#pragma once

#include "membership/nodes.h"
#include "membership/own_certificates.h"
#include "membership/ssh_verifier.h"
#include "source/git_proposal.h"
#include "source/versions.h"

/* The subject of a request: the name in an object's metadata, or the machine, certificate or serial
 * number named in the body. Empty if there is none or the body is malformed. In the arena. */
Str body_subject(Arena *arena, Str body);

/* {"token":"eden_..."} */
MUST_CHECK bool session_body_read(Arena *arena, Str body, Str *token, Error *err);
typedef struct ApproveRequest {
    Str key; /* empty: verify over SSH */
    SshTarget target;
    SshTrust trust;
} ApproveRequest;

/* {"key":"sha256:..."} or {"ssh":{"target":"root@10.0.0.7:22","host_keys":["ssh-ed25519
 * AAAA..."]}}, where "accept_new_host_key":true may replace "host_keys". */
MUST_CHECK bool approve_body_read(Arena *arena, Str body, ApproveRequest *out, Error *err);
/* {"name":"web1","csr":"-----BEGIN ..."} */
MUST_CHECK bool issue_body_read(Arena *arena, Str body, Str *name, Str *csr, Error *err);
/* {"node":"web1"} or {"serial":"4a..."}; the other result is empty. */
MUST_CHECK bool revoke_body_read(Arena *arena, Str body, Str *node, Str *serial, Error *err);
/* {"certificate":"serving"} or "server" */
MUST_CHECK bool renew_body_read(Arena *arena, Str body, OwnCertificateKind *out, Error *err);

typedef enum RotateAction {
    ROTATE_BEGIN,
    ROTATE_ABORT,
    ROTATE_SKIP_NODE, /* continue without a node */
} RotateAction;
/* {"action":"begin"}, {"action":"abort"} or {"action":"without","node":"web1"} */
MUST_CHECK bool rotate_body_read(Arena *arena, Str body, RotateAction *out, Str *node, Error *err);
/* {"hash":"9f..."} of an audit log entry */
MUST_CHECK bool archive_body_read(Arena *arena, Str body, Str *hash, Error *err);
/* {"value":"text"} or {"value_base64":"..."} */
MUST_CHECK bool value_body_read(Arena *arena, Str body, Str *value, Error *err);

/* {"blobs":["9f86...", ...]} */
MUST_CHECK bool blobs_body_read(Arena *arena, Str body, Str **ids, uint32_t *count, Error *err);
/* {"commit":"9f86..."} or {"branch":"next"}; both are optional */
MUST_CHECK bool propose_body_read(Arena *arena, Str body, GitProposal *out, Error *err);
/* {"pin":true,"run":false}, both optional */
MUST_CHECK bool activate_body_read(Arena *arena, Str body, VersionActivation *out, Error *err);
