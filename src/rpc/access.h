/* Which caller may call which method: one decision, in one place. Pure. */
#pragma once

#include "base/identity.h"
#include "rpc/methods.h"

/* What is known of whoever calls: from the kernel or from a verified certificate, and from the
 * record of the node. Nothing of it is from a message. */
typedef struct Caller {
    bool is_local;    /* by the Unix socket */
    bool is_operator; /* then: root, or in the group of operators */

    bool has_identity; /* the certificate is one of a node */
    Identity identity;
    bool is_ours;     /* of this cluster */
    bool is_approved; /* the record of the node says so, for the enrolment of this certificate */
    bool is_revoked;
    bool is_server;
} Caller;

/* `row` is NULL for a method that does not exist: then whether the caller may learn that. Fails with
 * ERROR_DENIED and the reason. `only_self`: the message must be about the caller. */
MUST_CHECK bool access_check(const MethodRow *row, const Caller *caller, bool *only_self,
                             Error *err);
/* Whether a request is about this node: every field 1 in it, if there is one, is its name or empty.
 * Fails with ERROR_DENIED, and with ERROR_INVALID for what is no message. */
MUST_CHECK bool access_check_self(Str message, const char *node, Error *err);

/* Of the header field "eden-protocol". Fails with ERROR_INVALID and a text that names both. */
MUST_CHECK bool access_check_protocol(Str header, Error *err);
#define PROTOCOL_HEADER "eden-protocol"
